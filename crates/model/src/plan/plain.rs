//! Two bounds of the goodput of a plain TCP (a TCP outside the tunnel): one by losses and one by
//! the link. The link's bound is lower if TCP leaves slow start early, because TCP then leaves the
//! link idle for a time.
//!
//! Goodput is measured only in a part of each run, the *measured time*. See
//! [`MEASURED_FROM_RTTS`](super::MEASURED_FROM_RTTS) for its limits.

use super::path::NetworkPath;
use super::scheme::{PlanScheme, TCP_HEADERS};
use crate::tcp::{Tcp, TimeOutDuration, WindowReading};
use std::ops::Range;

/// Bytes of payload in a full packet. Half the value halves the bounds by losses.
const PAYLOAD: f64 = super::PATH_MTU - TCP_HEADERS;
/// The shortest retransmission time-out is the round-trip time plus this value, s (`TCP_RTO_MIN` of
/// Linux). A smaller value shortens the predicted time-outs.
pub(super) const RTO_MIN: f64 = 0.2;

/// Steps of the numerical integration over the measured time in `filled`. More steps give a more
/// exact share of the link and take more time.
const STEPS: u32 = 64;

/// The throughput to which losses limit Reno, for all connections together, bit/s. This is equation
/// (16) of paper 000, with the rate of loss *events* in place of the rate of lost packets. A burst
/// is one event: a sender with selective acknowledgements halves its window one time for the whole
/// burst.
pub fn reno_by_losses(path: &NetworkPath) -> f64 {
    let tcp = Tcp { rtt: path.rtt, time_out: 1.0 + RTO_MIN / path.rtt, window: f64::INFINITY };
    let pps = tcp.throughput_by(path.loss / path.burst, 1.0, WindowReading::Floor, TimeOutDuration::Conditional);
    f64::from(path.flows) * pps * PAYLOAD * 8.0
}

/// The throughput to which losses limit CUBIC, for all connections together, bit/s. CUBIC uses the
/// larger of its own window and its Reno-friendly window (RFC 9438, section 5.1 and figure 4). So
/// the result is never below [`reno_by_losses`].
pub fn cubic_by_losses(path: &NetworkPath) -> f64 {
    let events = path.loss / path.burst;
    if events == 0.0 {
        return f64::INFINITY;
    }
    // The mean window in packets. RFC 9438 has the constant 1.054 for CUBIC's parameters C = .4 and
    // beta = .7. This C is not the link's rate.
    let window = 1.054 * libm::pow(path.rtt, 0.75) / libm::pow(events, 0.75);
    let own = f64::from(path.flows) * window / path.rtt * PAYLOAD * 8.0 * (1.0 - path.loss);
    let friend = reno_by_losses(path);
    // CUBIC's formula ignores time-outs. With a window below four packets, time-outs decide the
    // throughput, so use Reno's formula, which includes them.
    if window < 4.0 { friend } else { own.max(friend) }
}

/// The mean share of the link's rate that Reno or CUBIC uses in the measured time, without losses
/// other than the losses of slow start. For other schemes the share is 1.
///
/// Over a short queue, Reno and CUBIC leave slow start early. Q is the queue's size in packets.
/// Slow start sends two packets for each acknowledged packet, so a round of W packets puts W/2
/// packets into the queue. The queue overflows at W = 2 Q. The sender notices one round trip later,
/// at W = 4 Q (`overshoot` in the code).
///
/// Reno continues from half of 4 Q, and each connection adds a packet in each round trip. CUBIC
/// continues from .7 of 4 Q. CUBIC uses the larger of two windows, which its cubic function and its
/// Reno-friendly function give. RFC 9438, section 4, defines these functions, with the parameters C
/// = .4, beta = .7 and alpha = .53. While the window is smaller than the bandwidth-delay product,
/// the share is the window divided by this product.
fn filled(scheme: PlanScheme, path: &NetworkPath) -> f64 {
    let (packets, overshoot, flows) = (path.packets(), 4.0 * path.queue_packets(), f64::from(path.flows));
    let reno = |after: f64| 0.5 * overshoot + flows * after / path.rtt;
    let cubic = |after: f64| {
        let to_plateau = libm::cbrt(0.3 * overshoot / (0.4 * flows));
        let own = overshoot + 0.4 * flows * (after - to_plateau).powi(3);
        own.max(0.7 * overshoot + 0.53 * flows * after / path.rtt)
    };
    let window: &dyn Fn(f64) -> f64 = match scheme {
        PlanScheme::Reno => &reno,
        PlanScheme::Cubic => &cubic,
        _ => return 1.0,
    };
    let Range { start: from, end: to } = path.measured();
    let step = (to - from) / f64::from(STEPS);
    let share = |k: u32| (window(from + (f64::from(k) + 0.5) * step) / packets).min(1.0);
    (0..STEPS).map(share).sum::<f64>() / f64::from(STEPS)
}

/// The two bounds of a scheme's goodput, bit/s. Efficiency factors reduce the bounds further (see
/// [`efficiency`](super::efficiency)).
///
/// The first is the bound by losses. This bound is infinite for a scheme that does not slow down
/// for each loss. The second is the bound by the link. This bound is the link's rate less losses
/// and headers, times the share of the link that TCP uses after slow start.
pub fn bounds(scheme: PlanScheme, path: &NetworkPath) -> [f64; 2] {
    let by_losses = match scheme {
        PlanScheme::Reno => reno_by_losses(path),
        PlanScheme::Cubic => cubic_by_losses(path),
        _ => f64::INFINITY,
    };
    [by_losses, path.capacity() * scheme.ceiling() * filled(scheme, path)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares of the link's rate are results of `ripstop sim tandem` without loss. The queue
    /// holds 0.13 of a bandwidth-delay product or less.
    #[test]
    fn a_start_over_a_short_queue_leaves_the_link_idle() {
        let path = |rate: f64, rtt: f64, share: f64| {
            let queue = share * rate * rtt / 8.0;
            NetworkPath { rate, rtt, loss: 0.0, loss_back: 0.0, burst: 1.0, queue, flows: 1 }
        };
        let long = path(635.6e6, 0.327, 0.1314);
        let short = path(581.2e6, 0.016, 0.1);
        let simulated = [
            (PlanScheme::Reno, &long, 0.271),
            (PlanScheme::Cubic, &long, 0.500),
            (PlanScheme::Reno, &short, 0.647),
            (PlanScheme::Cubic, &short, 0.511),
        ];
        for (scheme, path, share) in simulated {
            let got = bounds(scheme, path)[1] / path.rate;
            assert!((got / share - 1.0).abs() < 0.2, "{scheme:?}, {path:?}: got share {got}, expected {share}");
        }
        // With a queue of half the bandwidth-delay product, Reno and CUBIC fill the link. For BBR a
        // smaller queue is enough, because losses do not end BBR's start.
        for (scheme, share) in [(PlanScheme::Reno, 0.5), (PlanScheme::Cubic, 0.5), (PlanScheme::Bbr, 0.1)] {
            let path = path(100e6, 0.1, share);
            assert!((bounds(scheme, &path)[1] / (scheme.ceiling() * path.rate) - 1.0).abs() < 1e-9);
        }
    }
}
