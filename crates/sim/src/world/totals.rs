//! What a flow has done, as counters whose differences tell what it did in between.

use ripstop_base::DelayHistogram;

/// The delays of a flow between two moments at which they were taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowDelays {
    /// Delays of packets, from first transmission to delivery in order.
    pub packets: DelayHistogram,
    /// Durations of transfers: a file, an answer, a request with its answer.
    pub transfers: DelayHistogram,
}

/// What a flow has done since the beginning of the run. A source of UDP datagrams has no window, no SRTT and no transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowTotals {
    /// Packets with payload that arrived in order.
    pub packets: u64,
    /// Bytes of payload that arrived in order.
    pub bytes: u64,
    /// The integral over time of the congestion window, limited by the receiver's window: packets times seconds.
    pub window: f64,
    /// Samples of the smoothed round-trip time (one for each acknowledgement), their sum in seconds, and their number.
    pub srtt: (f64, u64),
    /// From first transmission to delivery in order: sum in seconds, and the number of packets.
    pub delay: (f64, u64),
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Losses that duplicate acknowledgements told.
    pub fast_retransmits: u64,
    /// For how long the flow was to send, s: from its start until it stops, or its file is complete.
    pub active: f64,
    /// Transfers begun: files, requests, answers.
    pub begun: u64,
    /// Of these, complete.
    pub completed: u64,
    /// Acknowledgements that were merged with the one after them ([`Hosts::Kernels`](super::Hosts::Kernels)).
    pub merged_acks: u64,
}

impl FlowTotals {
    /// What was done between `earlier` and this.
    pub fn less(&self, earlier: &FlowTotals) -> FlowTotals {
        let pair = |a: (f64, u64), b: (f64, u64)| (a.0 - b.0, a.1 - b.1);
        FlowTotals {
            packets: self.packets - earlier.packets,
            bytes: self.bytes - earlier.bytes,
            window: self.window - earlier.window,
            srtt: pair(self.srtt, earlier.srtt),
            delay: pair(self.delay, earlier.delay),
            sent: self.sent - earlier.sent,
            retransmits: self.retransmits - earlier.retransmits,
            timeouts: self.timeouts - earlier.timeouts,
            fast_retransmits: self.fast_retransmits - earlier.fast_retransmits,
            active: self.active - earlier.active,
            begun: self.begun - earlier.begun,
            completed: self.completed - earlier.completed,
            merged_acks: self.merged_acks - earlier.merged_acks,
        }
    }
}
