//! Counters: how many times each mechanism of CUBIC, of BBR, and of the modern sender acted.

/// Defines the counters and the table of their names.
macro_rules! counters {
    ($(#[$about:meta])* struct $name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl $name {
            /// The counters by the names of their fields.
            pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field)),*].into_iter()
            }
        }
    };
}

counters! {
    /// How many times each mechanism of CUBIC, of BBR, and of the modern sender acted. All counters are 0 for the ns-2
    /// algorithms.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct Mechanisms {
        /// Packets that RACK marked lost.
        rack_losses,
        /// Packets that RACK marked lost although they had been retransmitted.
        rack_lost_again,
        /// Expirations of the reordering timer.
        reorder_timeouts,
        /// Packets that arrived after packets with higher numbers, and were sent only once.
        reordered,
        /// Tail loss probes.
        tail_probes,
        /// Losses that a tail loss probe repaired.
        tail_losses,
        /// Packets sent by proportional rate reduction in recoveries.
        proportional,
        /// Packets that the receiver reported as received twice.
        needless,
        /// Recoveries undone, because all their retransmissions were unnecessary.
        undone_recoveries,
        /// Time-outs undone, because the original packets arrived after all, or all retransmissions were unnecessary.
        undone_timeouts,
        /// Reductions of the window because the receiver echoed a mark (ECN). BBR counts echoes here too, one for each
        /// round trip, but does not react.
        ecn_reductions,
        /// Bursts that the pacing timer released.
        paced,
        /// Samples of the delivery rate that the application limited.
        app_limited,
        /// Reductions of the window after an idle time.
        idle_restarts,
        /// CUBIC: starts of conservative slow start, when the delay rose (RFC 9406).
        conservative_starts,
        /// CUBIC: returns from conservative slow start to slow start, when the delay fell.
        resumed_starts,
        /// CUBIC: slow starts that ended without a loss.
        hystart_exits,
        /// CUBIC: losses at which fast convergence gave room to other flows (RFC 9438, section 4.7).
        fast_convergences,
        /// CUBIC: acknowledgements at which the estimate of Reno's window exceeded the cubic (RFC 9438, section 4.3).
        reno_friendly,
        /// BBR: times that start-up found the path full.
        full_pipes,
        /// BBR: times that the queue left by start-up was drained.
        drains,
        /// BBR: phases of the gain cycle that began.
        gain_phases,
        /// BBR: times that the window was reduced to measure the round-trip time.
        rtt_probes,
        /// BBR: times that a policer was detected.
        policed,
        /// BBR: recoveries begun. In the first round of a recovery, the sender sends one packet for each packet
        /// delivered.
        conserved,
        /// BBR: acknowledgements that raised the estimate of how many packets are acknowledged together.
        aggregated,
    }
}
