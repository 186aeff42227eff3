//! TCP/NC: its settings for a path, and its goodput by equation (20) and section VI-C of paper 000.
//!
//! The equation takes every loss for masked. With the redundancy that [`settings`] chooses, 6 % more than exactly enough, simulations agree only
//! where losses are few. Above 3.5 %, some simulated connections time out and bring next to nothing from then on. The likely reason: a window
//! whose combinations meet more losses than the spare 6 % makes up for stays closed. [`goodput`] refuses such paths, and two more kinds.

use super::efficiency::stalled_share;
use super::path::{NetworkPath, PATH_MTU};
use super::scheme::PLAIN_HEADERS;

/// The settings of TCP/NC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NcSettings {
    /// R: combinations sent for each segment.
    pub redundancy: f64,
    /// W: the receiver's window, packets. The window keeps TCP from overrunning the queue: TCP does not see the losses below the coding layer.
    pub window: u32,
}

impl NcSettings {
    /// The ceiling of TCP/NC: payload over bytes on the wire of a coded packet, a share of C (1-p).
    pub fn ceiling(&self) -> f64 {
        (PATH_MTU - PLAIN_HEADERS) / (PATH_MTU + f64::from(self.window))
    }
}

/// Why the goodput of TCP/NC is not predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NcUnpredictable {
    /// More is lost than [`MOST_LOSS`].
    Loss,
    /// The queue holds less than [`FEWEST_QUEUE`] packets or [`LEAST_QUEUE_BDPS`] of the bandwidth-delay product.
    Queue,
    /// Bursts of losses take whole windows too often: connections stall for more than [`MOST_STALLED`] of the time.
    Bursts,
}

/// The largest window: each packet in the window costs a byte of coefficients in the header, and time to decode.
pub const LARGEST_WINDOW: u32 = 255;
/// The most that may be lost. On 20 random links with .4 to 3.8 % of loss, simulations agreed with the equation within 10 %. On 21 of 26 links
/// with 4 to 10 %, simulations brought less than three quarters of the equation's goodput.
pub const MOST_LOSS: f64 = 0.035;
/// The smallest queue, packets. TCP/NC overruns a queue of two packets even without loss, and never recovers.
pub const FEWEST_QUEUE: f64 = 4.0;
/// The smallest queue, bandwidth-delay products. At .024 of the product (4 of 167 packets) and 3 % of loss a third of the goodput was left.
pub const LEAST_QUEUE_BDPS: f64 = 0.1;
/// The most time that stalls may take. At 3 % of loss in bursts of 4, a window of 3 packets stalls for 80 % of the time.
pub const MOST_STALLED: f64 = 0.05;

/// The redundancy over 1/(1-p). With less, combinations are seen at once and decoded much later; with more, less of the link is left.
const SPARE: f64 = 1.06;

/// R and W for a path: as many combinations as make up for the losses and 6 % more, and as many packets as fill the path with these.
pub fn settings(path: &NetworkPath) -> NcSettings {
    let exact = SPARE / (1.0 - path.loss);
    let redundancy = libm::ceil(exact * 100.0) / 100.0;
    let room = path.packets() + 1.0 + 0.5 * path.queue_packets().min(path.packets());
    let window = (room / redundancy).clamp(2.0, f64::from(LARGEST_WINDOW)) as u32;
    NcSettings { redundancy, window }
}

/// The goodput, bit/s: W packets a round trip by (20) with all losses masked, at most C/R.
///
/// # Errors
/// The reason why the equation is known to fail on this path.
pub fn goodput(path: &NetworkPath, nc: NcSettings) -> Result<f64, NcUnpredictable> {
    if path.loss.max(path.loss_back) > MOST_LOSS {
        return Err(NcUnpredictable::Loss);
    }
    if path.queue_packets() < FEWEST_QUEUE.max(LEAST_QUEUE_BDPS * path.packets()) {
        return Err(NcUnpredictable::Queue);
    }
    if stalled_share(path, f64::from(nc.window) * nc.redundancy) > MOST_STALLED {
        return Err(NcUnpredictable::Bursts);
    }
    let payload = 8.0 * (PATH_MTU - PLAIN_HEADERS);
    let wire = 8.0 * PATH_MTU + 8.0 * f64::from(nc.window);
    let arrives = (nc.redundancy * (1.0 - path.loss)).min(1.0);
    let round = path.rtt + nc.redundancy * wire / path.rate;
    let by_window = f64::from(path.flows) * f64::from(nc.window) * arrives * payload / round;
    let by_rate = path.rate / nc.redundancy * payload / wire;
    Ok(by_window.min(by_rate).min(path.capacity() * nc.ceiling()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_on_which_the_equation_fails_are_refused() {
        let good = NetworkPath { loss: 0.03, loss_back: 0.03, burst: 4.0, ..NetworkPath::default() };
        let of = |path: NetworkPath| goodput(&path, settings(&path));
        assert!(of(good).unwrap() > 0.75 * good.capacity());
        assert_eq!(of(NetworkPath { loss: 0.06, ..good }), Err(NcUnpredictable::Loss));
        assert_eq!(of(NetworkPath { loss_back: 0.06, ..good }), Err(NcUnpredictable::Loss));
        assert_eq!(of(NetworkPath { queue: 6000.0, ..good }), Err(NcUnpredictable::Queue));
        // 4 Mbit/s and 5 ms hold 1.7 packets: bursts of 4 take the whole window. By simulation .33 Mbit/s, where (20) says 3.5.
        let short = NetworkPath { rate: 4e6, rtt: 0.005, queue: 15e3, ..good };
        assert_eq!(of(short), Err(NcUnpredictable::Bursts));
        assert!(of(NetworkPath { burst: 1.0, ..short }).is_ok());
    }
}
