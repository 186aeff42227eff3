//! What a world records for the judge.

use ripstop_base::Time;
use ripstop_schemes::lt::{LtReceiverCounts, LtSenderCounts};

/// What happened in a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    /// TCP connections begun.
    pub(crate) connections: u64,
    /// Restarts of the sender and of the receiver.
    pub(crate) restarts: [u64; 2],
    /// Reports of a restart by the sender and by the receiver.
    pub(crate) reports: [u64; 2],
    /// The times of reports although the other end had not begun a new session.
    pub(crate) needless: Vec<Time>,
    /// Packets that the checksum rejected.
    pub(crate) damaged: u64,
    /// The faults in words.
    pub(crate) faults: Vec<String>,
}

/// The bounds of the memory, from the settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Packets that the sender holds.
    pub(crate) held: usize,
    /// Packets that the sender remembers.
    pub(crate) remembered: usize,
    /// Blocks at each end.
    pub(crate) blocks: usize,
}

/// The counters that the judge reads, summed over all sessions of a world.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    /// Packets delivered to TCP.
    pub(crate) delivered: u64,
    /// Innovative symbols.
    pub(crate) innovative: u64,
    /// Symbols that the receivers took or dropped.
    pub(crate) received: u64,
    /// Symbols sent.
    pub(crate) symbols: u64,
    /// LT-ACKs sent.
    pub(crate) lt_acks: u64,
    /// Mechanisms, each with the number of times that it acted.
    pub(crate) mechanisms: [(&'static str, u64); 17],
}

impl Sums {
    /// The sums over these sessions.
    pub(super) fn of(senders: &[LtSenderCounts], receivers: &[LtReceiverCounts]) -> Sums {
        let s = |field: fn(&LtSenderCounts) -> u64| senders.iter().map(field).sum::<u64>();
        let r = |field: fn(&LtReceiverCounts) -> u64| receivers.iter().map(field).sum::<u64>();
        Sums {
            delivered: r(|c| c.delivered),
            innovative: r(|c| c.innovative),
            received: r(|c| c.packets),
            symbols: s(|c| c.packets),
            lt_acks: r(|c| c.lt_acks),
            mechanisms: [
                ("sender.out_of_order", s(|c| c.out_of_order)),
                ("sender.refused", s(|c| c.refused)),
                ("sender.repeated", s(|c| c.repeated)),
                ("sender.flushed", s(|c| c.flushed)),
                ("sender.opens_again", s(|c| c.opens.saturating_sub(1))),
                ("sender.topped_up", s(|c| c.topped_up)),
                ("sender.invalid", s(|c| c.invalid)),
                ("sender.timeouts", s(|c| c.timeouts)),
                ("sender.repeated_acks", s(|c| c.repeated_acks)),
                ("sender.window_updates", s(|c| c.window_updates)),
                ("sender.clamped", s(|c| c.clamped)),
                ("receiver.redundant", r(|c| c.redundant)),
                ("receiver.late", r(|c| c.late)),
                ("receiver.refused", r(|c| c.refused)),
                ("receiver.timeouts", r(|c| c.timeouts)),
                ("receiver.unknown", r(|c| c.unknown)),
                ("receiver.stale", r(|c| c.stale)),
            ],
        }
    }
}
