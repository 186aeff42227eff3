//! Counters of what a flow has done. The difference of two readings tells what the flow did between the readings.

use ripstop_base::DelayHistogram;

/// The delays of a flow since the delays were last taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowDelays {
    /// Delays of packets, from first transmission to delivery in order.
    pub packets: DelayHistogram,
    /// Durations of transfers: a file, an answer, or a request with its answer.
    pub transfers: DelayHistogram,
}

/// The counters of a flow since the beginning of the run.
///
/// A UDP source has no window, no SRTT, no retransmissions and no transfers. All its packets that arrive count,
/// whatever their order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowTotals {
    /// Packets with payload that arrived in order.
    pub packets: u64,
    /// Bytes of payload that arrived in order.
    pub bytes: u64,
    /// The integral of the window over time, packets times seconds. The window is the smaller of the congestion window
    /// and the receiver's window.
    pub window: f64,
    /// Sum of the smoothed round-trip times, s, and the number of summands. Each acknowledgement adds one smoothed
    /// round-trip time.
    pub srtt: (f64, u64),
    /// Sum of the delays from first transmission to delivery in order, s, and the number of packets.
    pub delay: (f64, u64),
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Recoveries begun by duplicate acknowledgements, or by RACK in the modern sender.
    pub fast_retransmits: u64,
    /// How long the flow was active, s: from its start until it stops or its file is complete.
    pub active: f64,
    /// Transfers begun: files, requests, answers.
    pub begun: u64,
    /// How many of the transfers begun are complete.
    pub completed: u64,
    /// Acknowledgements that were merged with the following acknowledgement
    /// ([`Hosts::Kernels`](super::Hosts::Kernels)).
    pub merged_acks: u64,
    /// Packets of a TCP that reached the receiver marked with Congestion Experienced.
    pub marked: u64,
}

impl FlowTotals {
    /// The counters between the reading `earlier` and this reading.
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
            marked: self.marked - earlier.marked,
        }
    }
}
