//! Reno as in Linux: the window of RFC 5681 on the modern sender. The modern sender detects losses by time and by
//! selective acknowledgements. ns-2's Reno and SACK are in `reno` and `sack`.

use super::modern::{AckSummary, CongestionControl, FlowState};
use ripstop_base::Time;

/// The part of the congestion window that is kept after a loss. RFC 5681, equation (4), takes half of the data in
/// flight. This sender takes half of the window. With a larger value, a flow gets more of a shared path than a Reno
/// flow.
const BETA: f64 = 0.5;
/// The smallest slow-start threshold in packets (RFC 5681, equation (4)). This bound matters only when the window is
/// below about twice the bound.
const LEAST_THRESHOLD: f64 = 2.0;

#[derive(Clone, Debug, Default)]
pub(super) struct LinuxReno;

impl CongestionControl for LinuxReno {
    fn on_acked(&mut self, flow: &mut FlowState, _now: Time, acked: &AckSummary) {
        if !acked.in_order || acked.delivered == 0 || !flow.uses_window() {
            return;
        }
        let mut packets = acked.delivered as f64;
        if flow.cwnd < flow.ssthresh {
            let grown = (flow.cwnd + packets).min(flow.ssthresh);
            packets -= grown - flow.cwnd;
            flow.cwnd = grown;
        }
        // RFC 5681, equation (3), in packets: the window grows by one packet when a whole window is acknowledged.
        flow.cwnd += packets / flow.cwnd;
    }

    fn on_loss(&mut self, flow: &mut FlowState, _now: Time) {
        flow.ssthresh = (flow.cwnd * BETA).floor().max(LEAST_THRESHOLD);
    }
}
