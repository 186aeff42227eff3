//! Plain TCP over the link, by what bounds it: losses, or the link.

use super::path::Path;
use super::scheme::{Scheme, TCP_HEADERS};
use crate::tcp::{Tcp, TimeOutDuration, WindowReading};

/// Bytes of data in a full packet.
const PAYLOAD: f64 = super::PATH_MTU - TCP_HEADERS;
/// Linux: a time-out is no shorter than this beyond the round-trip time, s.
pub(super) const RTO_MIN: f64 = 0.2;

/// What losses leave of Reno, bit/s, each connection for itself: equation (16) of paper 000 for loss *events*. A run of losses is one
/// of them, since a sender with selective acknowledgements halves its window once for it.
pub fn reno_by_losses(path: &Path) -> f64 {
    let tcp = Tcp { rtt: path.rtt, time_out: 1.0 + RTO_MIN / path.rtt, window: f64::INFINITY };
    let pps =
        tcp.throughput_by(path.loss / path.burst, 1.0, WindowReading::Floor, TimeOutDuration::Conditional);
    f64::from(path.flows) * pps * PAYLOAD * 8.0
}

/// What losses leave of CUBIC, bit/s: the larger one of its own window and of the one that it has as Reno's friend (RFC 9438, section
/// 5.1 and figure 4), never below that of Reno.
pub fn cubic_by_losses(path: &Path) -> f64 {
    let events = path.loss / path.burst;
    if events == 0.0 {
        return f64::INFINITY;
    }
    // 1.054 (C = .4, beta = .7).
    let window = 1.054 * libm::pow(path.rtt, 0.75) / libm::pow(events, 0.75);
    let own = f64::from(path.flows) * window / path.rtt * PAYLOAD * 8.0 * (1.0 - path.loss);
    let friend = reno_by_losses(path);
    // Time-outs, which that window leaves out, are those of Reno.
    if window < 4.0 { friend } else { own.max(friend) }
}

/// What bounds a scheme before any wear, bit/s: its losses, where it takes them for congestion, and the link less headers.
pub fn bounds(scheme: Scheme, path: &Path) -> [f64; 2] {
    let by_losses = match scheme {
        Scheme::Reno => reno_by_losses(path),
        Scheme::Cubic => cubic_by_losses(path),
        _ => f64::INFINITY,
    };
    [by_losses, path.capacity() * scheme.ceiling()]
}
