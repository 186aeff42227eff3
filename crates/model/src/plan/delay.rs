//! How long packets and requests take.

use super::path::NetworkPath;
use super::plain::RTO_MIN;
use super::scheme::PlanScheme;
use super::weights::{DelayWeights, TIMES, Weights};

/// The median and the 99th percentile of a delay, s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayQuantiles {
    /// Half of them are shorter.
    pub p50: f64,
    /// One in a hundred is longer.
    pub p99: f64,
}

/// A sender gives up waiting longer than this, s.
const RTO_MAX: f64 = 120.0;

/// What a small request and its answer may wait for beyond a round trip, s, on a link that carries nothing else, in all but
/// 1 - `quantile` of cases: the link to send them, and repairs at its pace; round trips in which something is sent again, and runs of
/// losses in them; time-outs, where losses do not know of each other, and where one follows the other.
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

/// The time-outs that a request goes through in all but 1 - `quantile` of cases, when what is sent again is lost with probability `again`:
/// each is twice the one before.
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

/// How long a small request takes with its answer, on a link that carries nothing else: a round trip, and fitted weights of what it may
/// wait for. Plain TCP sends what is lost again after a time-out, which doubles; the tunnel sends up to four repairs after each such
/// packet, but a run of losses takes them along.
pub fn request(path: &NetworkPath, tunnel: bool, weights: &Weights) -> DelayQuantiles {
    let DelayWeights { p50: median, p99: last } =
        if tunnel { weights.tunnel_requests } else { weights.plain_requests };
    let of = |weights: [f64; TIMES], quantile| {
        let times = request_times(path, quantile);
        path.rtt + weights.iter().zip(&times).map(|(weight, time)| weight * time).sum::<f64>()
    };
    let (p50, p99) = (of(median, 0.5), of(last, 0.99));
    DelayQuantiles { p50, p99: p99.max(p50) }
}

/// What a packet of a transfer may wait for, s: the link to send one, and repairs that are sent at its pace; something, round
/// trips, those in which losses are found and mended, and runs of them; the link's queue, and what of it a round trip fills; the
/// processor.
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

/// How long a packet of a transfer takes from its first transmission to its delivery in order, beside the other packets of its
/// connection: half a round trip, and fitted weights of what it may wait for.
pub fn bulk(path: &NetworkPath, scheme: PlanScheme, weights: &Weights) -> DelayQuantiles {
    let times = packet_times(path);
    let DelayWeights { p50, p99 } = weights.of(scheme).packets;
    let [p50, p99] = [p50, p99].map(|weights| {
        path.rtt / 2.0 + weights.iter().zip(&times).map(|(weight, time)| weight * time).sum::<f64>()
    });
    // Two fits do not know of each other.
    DelayQuantiles { p50, p99: p99.max(p50) }
}
