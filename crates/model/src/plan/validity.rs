//! The domain of validity: the paths on which the closed forms were compared with the simulator.
//!
//! A campaign of simulations draws its links at random from these ranges. Outside the ranges the
//! closed forms extrapolate, and their errors are unknown. A wider range needs a new campaign.

use super::path::NetworkPath;
use std::ops::RangeInclusive;

/// Rates of the drawn links, bit/s.
pub const RATE_BPS: RangeInclusive<f64> = 0.5e6..=1e9;
/// Round-trip times of the drawn links, s.
pub const RTT_S: RangeInclusive<f64> = 0.005..=0.8;
/// Loss probabilities of the drawn links, in each direction.
pub const LOSS: RangeInclusive<f64> = 0.0..=0.3;
/// Mean burst lengths of the drawn links, packets.
pub const BURST_PACKETS: RangeInclusive<f64> = 1.0..=20.0;
/// Queue sizes of the drawn links, bandwidth-delay products.
pub const QUEUE_BDPS: RangeInclusive<f64> = 0.1..=4.0;
/// The smallest queue of a campaign, packets. A drawn queue with fewer packets is enlarged to this
/// size.
pub const FEWEST_QUEUE_PACKETS: f64 = 2.0;
/// The number of TCP connections on a drawn link.
pub const FLOWS: u32 = 1;

/// A quantity of a path that lies outside the domain of validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extrapolated {
    /// The rate.
    Rate,
    /// The round-trip time.
    Rtt,
    /// The loss probability, in either direction.
    Loss,
    /// The mean burst length.
    Burst,
    /// The queue.
    Queue,
    /// The number of connections.
    Flows,
}

/// Returns the quantities of `path` that lie outside the domain of validity.
pub fn extrapolated(path: &NetworkPath) -> Vec<Extrapolated> {
    // A drawn queue is rounded to whole bytes. So its ratio to the bandwidth-delay product may
    // exceed the range by a rounding error.
    let bdps = path.queue_packets() / path.packets();
    let queue = *QUEUE_BDPS.start() * 0.999..=*QUEUE_BDPS.end() * 1.001;
    let smallest = path.queue_packets() == FEWEST_QUEUE_PACKETS;
    let inside = [
        (Extrapolated::Rate, RATE_BPS.contains(&path.rate)),
        (Extrapolated::Rtt, RTT_S.contains(&path.rtt)),
        (Extrapolated::Loss, LOSS.contains(&path.loss) && LOSS.contains(&path.loss_back)),
        (Extrapolated::Burst, BURST_PACKETS.contains(&path.burst)),
        (Extrapolated::Queue, smallest || queue.contains(&bdps)),
        (Extrapolated::Flows, path.flows == FLOWS),
    ];
    inside.into_iter().filter(|(_, inside)| !inside).map(|(quantity, _)| quantity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_has_its_range() {
        let usual = NetworkPath::default();
        assert_eq!(extrapolated(&usual), []);
        let bdp = usual.rate * usual.rtt / 8.0;
        for (path, quantity) in [
            (NetworkPath { rate: 1e10, queue: 4e8, ..usual }, Extrapolated::Rate),
            (NetworkPath { rtt: 0.004, queue: 1e4, ..usual }, Extrapolated::Rtt),
            (NetworkPath { loss: 0.31, ..usual }, Extrapolated::Loss),
            (NetworkPath { loss_back: 0.31, ..usual }, Extrapolated::Loss),
            (NetworkPath { burst: 20.1, ..usual }, Extrapolated::Burst),
            (NetworkPath { queue: 0.09 * bdp, ..usual }, Extrapolated::Queue),
            (NetworkPath { queue: 4.1 * bdp, ..usual }, Extrapolated::Queue),
            (NetworkPath { flows: 2, ..usual }, Extrapolated::Flows),
        ] {
            assert_eq!(extrapolated(&path), [quantity], "wrong quantities for {path:?}");
        }
        // A queue of two packets is the smallest queue of a campaign. Its ratio to the
        // bandwidth-delay product does not matter.
        assert_eq!(extrapolated(&NetworkPath { rate: 5e5, rtt: 0.005, queue: 3000.0, ..usual }), []);
    }
}
