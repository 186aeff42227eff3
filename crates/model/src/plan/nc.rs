//! The planner's model of TCP/NC, the coded TCP of paper 000. [`settings`] chooses the redundancy
//! and the window for a path. [`goodput`] predicts the goodput by equation (20) and section VI-C of
//! the paper.
//!
//! TCP/NC sends R *combinations* (coded packets) for each segment of TCP. Equation (20) assumes
//! that coding masks every loss: TCP does not see the loss. [`settings`] chooses 6 % more
//! redundancy than the mean loss needs.
//!
//! With these settings, simulations agree with the equation only where losses are few. Above 3.5 %
//! of loss, some simulated connections time out and then deliver almost nothing. The likely reason
//! is a window that loses more combinations than the spare 6 % replaces. Such a window never moves
//! on. [`goodput`] returns an error for these paths, and for two more kinds (see
//! [`NcUnpredictable`]).

use super::efficiency::stalled_share;
use super::path::{NetworkPath, PATH_MTU};
use super::scheme::PLAIN_HEADERS;

/// The settings of TCP/NC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NcSettings {
    /// R, the redundancy: combinations sent for each segment.
    pub redundancy: f64,
    /// W: the receiver's window, packets. TCP does not see the losses below the coding layer, so
    /// only this window keeps TCP from overflowing the queue.
    pub window: u32,
}

impl NcSettings {
    /// The ceiling of TCP/NC: payload divided by bytes on the wire of a coded packet. The goodput
    /// cannot exceed this share of C (1-p), the link's rate less its losses.
    pub fn ceiling(&self) -> f64 {
        (PATH_MTU - PLAIN_HEADERS) / (PATH_MTU + f64::from(self.window))
    }
}

/// The reason why the goodput of TCP/NC is not predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NcUnpredictable {
    /// The loss is above [`MOST_LOSS`] in one of the directions.
    Loss,
    /// The queue is below [`FEWEST_QUEUE`] packets or below [`LEAST_QUEUE_BDPS`] bandwidth-delay
    /// products.
    Queue,
    /// Bursts lose all packets of a window too often: connections stall for more than
    /// [`MOST_STALLED`] of the time.
    Bursts,
}

/// The largest window, packets. Each packet in the window costs a byte in the header for its
/// coefficient, and time to decode. Half the value halves the goodput on paths whose
/// bandwidth-delay product exceeds the window.
pub const LARGEST_WINDOW: u32 = 255;
/// The largest loss probability for which a prediction is made. On 20 random links with .4 to 3.8 %
/// of loss, simulations agreed with equation (20) within 10 %. On 21 of 26 links with 4 to 10 %,
/// simulations had less than three quarters of the equation's goodput. So twice the value admits
/// wrong predictions, and half the value refuses correct predictions.
pub const MOST_LOSS: f64 = 0.035;
/// The smallest queue for which a prediction is made, packets. TCP/NC overflows a queue of two
/// packets even without loss, and never recovers. Half the value admits such a queue.
pub const FEWEST_QUEUE: f64 = 4.0;
/// The smallest queue for which a prediction is made, bandwidth-delay products. One simulation had
/// 3 % of loss, a queue of 4 packets and a product of 167 packets (a ratio of .024). Only a third
/// of the goodput was left. A larger value refuses more paths.
pub const LEAST_QUEUE_BDPS: f64 = 0.1;
/// The largest share of time in stalls for which a prediction is made. At 3 % of loss in bursts of
/// 4, a window of 3 packets stalls for 80 % of the time. A larger value admits paths with a larger
/// error.
pub const MOST_STALLED: f64 = 0.05;

/// R as a multiple of 1/(1-p), the redundancy that replaces the mean loss and no more. With a
/// smaller factor, the receiver acknowledges combinations at once but decodes these combinations
/// much later. With a larger factor, less of the link is left for new packets.
const SPARE: f64 = 1.06;

/// Chooses R and W for a path. R is 6 % larger than the mean loss needs, rounded up to a hundredth.
/// TCP/NC sends R W combinations for a window. W is chosen so that these combinations fill the
/// bandwidth-delay product, one packet more, and half of the queue. The part in the queue is at
/// most half a bandwidth-delay product. W is at least 2 and at most [`LARGEST_WINDOW`].
pub fn settings(path: &NetworkPath) -> NcSettings {
    let exact = SPARE / (1.0 - path.loss);
    let redundancy = libm::ceil(exact * 100.0) / 100.0;
    let room = path.packets() + 1.0 + 0.5 * path.queue_packets().min(path.packets());
    let window = (room / redundancy).clamp(2.0, f64::from(LARGEST_WINDOW)) as u32;
    NcSettings { redundancy, window }
}

/// The goodput, bit/s. It is the smallest of three bounds. C is the link's rate and p its loss
/// probability.
///
/// * W packets of each connection in a round trip, times the share min{1, R (1-p)} that arrives:
///   equation (20).
/// * C/R, less headers (section VI-C of paper 000).
/// * C (1-p) times the ceiling ([`NcSettings::ceiling`]).
///
/// # Errors
/// The equation is known to fail on this path. The error names the reason.
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
        // At 4 Mbit/s and 5 ms the path holds 1.7 packets, so a burst of 4 loses the whole window.
        // A simulation gave .33 Mbit/s, where equation (20) says 3.5 Mbit/s.
        let short = NetworkPath { rate: 4e6, rtt: 0.005, queue: 15e3, ..good };
        assert_eq!(of(short), Err(NcUnpredictable::Bursts));
        assert!(of(NetworkPath { burst: 1.0, ..short }).is_ok());
    }
}
