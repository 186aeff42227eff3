//! Counters of what the mechanisms of CUBIC, BBR and the sender under them did.

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
    /// How often the mechanisms of CUBIC, BBR and the sender under them did their work. All zero for the older variants.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct Mechanisms {
        /// Packets that RACK took for lost.
        rack_losses,
        /// Of these, such as had been sent again already.
        rack_lost_again,
        /// Times that the reordering timer ran out.
        reorder_timeouts,
        /// Packets that were overtaken by later ones, and had not been sent again.
        reordered,
        /// Tail loss probes.
        tail_probes,
        /// Losses that such a probe repaired.
        tail_losses,
        /// Packets sent in proportion to what arrived, in recoveries.
        proportional,
        /// Packets that the receiver had twice, as it said.
        needless,
        /// Recoveries taken back, since all their retransmissions were needless.
        undone_recoveries,
        /// Time-outs taken back, since what had been sent before arrived after all.
        undone_timeouts,
        /// Departures that the pacing timer began.
        paced,
        /// Samples of the delivery rate that were limited by what there was to send.
        app_limited,
        /// Windows reduced after a pause.
        idle_restarts,
        /// CUBIC: times that rising delay turned slow start into conservative slow start (RFC 9406).
        conservative_starts,
        /// CUBIC: times that conservative slow start turned back, the delay having fallen.
        resumed_starts,
        /// CUBIC: slow starts that ended without a loss.
        hystart_exits,
        /// CUBIC: times that fast convergence gave room to others (RFC 9438, section 4.7).
        fast_convergences,
        /// CUBIC: acknowledgements after which the window was Reno's (RFC 9438, section 4.3).
        reno_friendly,
        /// BBR: times that start-up found the path full.
        full_pipes,
        /// BBR: times that the queue of the start-up was drained.
        drains,
        /// BBR: phases of the gain cycle that ended.
        gain_phases,
        /// BBR: times that the window was cut to measure the round-trip time.
        rtt_probes,
        /// BBR: times that the path was taken for policed.
        policed,
        /// BBR: first rounds of recoveries, which send what arrives.
        conserved,
        /// BBR: acknowledgements that widened the estimate of aggregation.
        aggregated,
    }
}
