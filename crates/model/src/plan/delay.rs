//! How long packets and requests take.

use super::path::Path;
use super::scheme::Scheme;

/// The median and the 99th percentile of a delay, s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delays {
    /// Half of them are shorter.
    pub p50: f64,
    /// One in a hundred is longer.
    pub p99: f64,
}

/// A first time-out without any measurement but the handshake's: Linux's floor beyond the round-trip time, s.
const RTO_MIN: f64 = 0.2;
/// By how much a packet's repairs in the tunnel follow it, s.
const REPAIR_STEP: f64 = 0.002;

/// How long a small request takes with its answer, on a link that carries nothing else.
///
/// Plain TCP sends what is lost again after a time-out, which doubles. The tunnel sends up to four repairs after
/// each such packet, so that one in a thousand is late at most.
pub fn request(path: &Path, scheme: Scheme) -> Delays {
    let idle = path.rtt + 2.0 * 8.0 * 200.0 / path.rate;
    let lost = 1.0 - (1.0 - path.loss) * (1.0 - path.loss_back);
    if scheme.is_tunnel() {
        // What is lost comes with its first repair that arrives: one step, or the rest of the burst.
        let burst = (path.burst - 1.0) * REPAIR_STEP;
        let late = |quantile: f64| {
            let mut steps = 0.0;
            let mut open = lost;
            while open > 1.0 - quantile && steps < 4.0 {
                steps += 1.0;
                open *= path.loss.max(path.loss_back);
            }
            if steps == 0.0 { 0.0 } else { steps * REPAIR_STEP + burst.min(4.0 * REPAIR_STEP) }
        };
        return Delays { p50: idle + late(0.5), p99: idle + late(0.99) };
    }
    let first = path.rtt + RTO_MIN;
    let late = |quantile: f64| {
        let (mut wait, mut open, mut next) = (0.0, lost, first);
        // Each further one is lost with the same probability; a link of 90 % loss ends after some hundred.
        while open > 1.0 - quantile && next < 120.0 {
            wait += next;
            next *= 2.0;
            open *= lost;
        }
        wait
    };
    Delays { p50: idle + late(0.5), p99: idle + late(0.99) }
}

/// How long a packet of a bulk transfer takes from its first transmission to its delivery in order, where the sender is the link's only
/// one: half a round trip, what waits before it, and the repairs.
pub fn bulk(path: &Path, scheme: Scheme) -> Delays {
    let way = path.rtt / 2.0 + path.packet_time();
    let queue = path.queue * 8.0 / path.rate;
    let lost = path.loss;
    // What is missing holds up a round trip's packets behind it.
    let window = path.packets().max(1.0);
    let struck = |times: i32| 1.0 - libm::pow(1.0 - libm::pow(lost, f64::from(times)), window);
    let rounds = |quantile: f64| {
        (1..40).find(|times| struck(*times) <= 1.0 - quantile).map_or(40.0, |times| f64::from(times) - 1.0)
    };
    let waits = match scheme {
        Scheme::Reno | Scheme::Cubic => queue.min(path.rtt + queue) * if lost > 0.0 { 0.05 } else { 0.9 },
        Scheme::Bbr => queue.min(path.rtt) * 0.3,
        Scheme::TunnelCubic | Scheme::TunnelBbr | Scheme::TcpNc(_) => queue.min(path.rtt * 0.1),
    };
    let of = |quantile: f64| {
        let late = match scheme.codes() {
            true => 0.5 * rounds(quantile) * path.rtt,
            false => 1.1 * rounds(quantile) * path.rtt,
        };
        way + waits + late
    };
    Delays { p50: of(0.5), p99: of(0.99) }
}
