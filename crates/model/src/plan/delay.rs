//! Predicts the delay of a packet and the response time of a request.
//!
//! A request's response time is a round trip plus a weighted sum of eight ([`TIMES`]) times. A
//! packet's delay is half a round trip plus a weighted sum of eight other times. Each time stands
//! for one cause of delay, for example for the time to send a packet at the link's rate
//! (*serialisation*). The weights are fitted to simulations and stored in
//! `crates/model/data/plan-weights.toml`.

use super::path::NetworkPath;
use super::plain::RTO_MIN;
use super::scheme::PlanScheme;
use super::weights::{DelayWeights, TIMES, Weights};

/// The median and the 99th percentile of a delay, s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayQuantiles {
    /// The median, s: half of the delays are shorter.
    pub p50: f64,
    /// The 99th percentile, s: one delay in a hundred is longer.
    pub p99: f64,
}

/// The longest retransmission time-out, s (`TCP_RTO_MAX` of Linux). This value also limits the sum
/// of the time-outs of a request. Half the value halves the largest delay that can be predicted.
const RTO_MAX: f64 = 120.0;

/// The times that add to the round trip of a small request and its answer on the idle path, s.
///
/// p is the larger loss probability of the two directions, and B the mean burst length. The array
/// holds, in this order:
///
/// * the serialisation of a packet;
/// * the serialisation of repairs: the same time, times sqrt(p);
/// * a round trip times sqrt(p), for retransmissions after single losses;
/// * a round trip times p sqrt(B), for retransmissions after bursts;
/// * a round trip times p B, also for retransmissions after bursts;
/// * the smallest time-out times sqrt(p);
/// * the sum of successive time-outs if each retransmission is lost with probability p;
/// * the sum of successive time-outs if a retransmission continues the burst of losses.
///
/// Each of the last two sums is a quantile: a share `quantile` of the requests waits no longer than
/// this sum.
pub fn request_times(path: &NetworkPath, quantile: f64) -> [f64; TIMES] {
    let lost = path.loss.max(path.loss_back);
    let root = libm::sqrt(lost);
    let again = lost.max(1.0 - 1.0 / path.burst);
    [
        path.packet_time(),
        path.packet_time() * root,
        path.rtt * root,
        path.rtt * lost * libm::sqrt(path.burst),
        path.rtt * lost * path.burst,
        RTO_MIN * root,
        time_outs(path, lost, quantile),
        time_outs(path, again, quantile),
    ]
}

/// The sum of the time-outs for which a request waits, s, at most [`RTO_MAX`]. A share `quantile`
/// of the requests waits no longer than the result. Each time-out is twice as long as the time-out
/// before. `again` is the probability that a retransmission is lost.
fn time_outs(path: &NetworkPath, again: f64, quantile: f64) -> f64 {
    let mut open = 1.0 - (1.0 - path.loss) * (1.0 - path.loss_back);
    let (mut wait, mut next) = (0.0, path.rtt + RTO_MIN);
    while open > 1.0 - quantile && wait < RTO_MAX {
        wait += next;
        next *= 2.0;
        open *= again;
    }
    wait.min(RTO_MAX)
}

/// The delay of a small request and its answer on the idle path: a round trip, and the weighted sum
/// of [`request_times`].
///
/// Plain TCP retransmits a lost packet after a time-out, and the time-out doubles with each
/// retransmission. The tunnel sends up to four repairs after each packet of a request or an answer.
/// A burst may lose the repairs too.
pub fn request(path: &NetworkPath, tunnel: bool, weights: &Weights) -> DelayQuantiles {
    let DelayWeights { p50: median, p99: last } = if tunnel { weights.tunnel_requests } else { weights.plain_requests };
    let of = |weights: [f64; TIMES], quantile| {
        let times = request_times(path, quantile);
        path.rtt + weights.iter().zip(&times).map(|(weight, time)| weight * time).sum::<f64>()
    };
    let (p50, p99) = (of(median, 0.5), of(last, 0.99));
    DelayQuantiles { p50, p99: p99.max(p50) }
}

/// The times that add to half a round trip in the delay of a packet of a transfer, s.
///
/// p is the loss probability in the direction of the data, and B the mean burst length. The array
/// holds, in this order:
///
/// * the serialisation of a packet;
/// * the serialisation of repairs: the same time, times sqrt(p);
/// * a round trip;
/// * a round trip times sqrt(p), for the repair of losses;
/// * a round trip times p sqrt(B), for the repair of bursts;
/// * the time to send a full queue;
/// * the smaller of the time to send a full queue and the round-trip time;
/// * a constant of 5 ms.
pub fn packet_times(path: &NetworkPath) -> [f64; TIMES] {
    let queue = path.queue * 8.0 / path.rate;
    let root = libm::sqrt(path.loss);
    [
        path.packet_time(),
        path.packet_time() * root,
        path.rtt,
        path.rtt * root,
        path.rtt * path.loss * libm::sqrt(path.burst),
        queue,
        queue.min(path.rtt),
        0.005,
    ]
}

/// The delay of a packet of a transfer, from its first transmission to its delivery in order. The
/// delay is half a round trip plus the weighted sum of [`packet_times`].
pub fn bulk(path: &NetworkPath, scheme: PlanScheme, weights: &Weights) -> DelayQuantiles {
    let times = packet_times(path);
    let DelayWeights { p50, p99 } = weights.of(scheme).packets;
    let [p50, p99] = [p50, p99]
        .map(|weights| path.rtt / 2.0 + weights.iter().zip(&times).map(|(weight, time)| weight * time).sum::<f64>());
    // The two percentiles are fitted separately, so the fitted p99 could be below p50.
    DelayQuantiles { p50, p99: p99.max(p50) }
}
