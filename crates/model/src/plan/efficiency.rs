//! The efficiency of a scheme: the factor by which causes such as losses, bursts and short queues
//! reduce its goodput below the bounds of [`plain`](super::plain).
//!
//! efficiency = exp(-(w_1 phi_1 + w_2 phi_2 + ...)). Each phi is a product of powers of the path's
//! [`Causes`], and each weight w is fitted to simulations. A weight times its phi is a [`Term`]. So
//! each term gives one efficiency factor exp(-w phi), which is at most 1. The same form, with other
//! weights, predicts the bytes that a scheme sends.
//!
//! Every cause is larger on a path that is harder to use, and no weight is negative. Therefore the
//! predicted goodput never rises with the loss, and never exceeds the bounds.
//!
//! A *stall* is a period in which a sender waits for time-outs, because a burst of losses hit all
//! its packets in flight.

use super::path::NetworkPath;
use super::plain::RTO_MIN;
use serde::{Deserialize, Serialize};

/// The number of causes.
pub const CAUSES: usize = 12;

/// The causes that make a path hard to use. Each value is 0 or more. N is the bandwidth-delay
/// product in packets, Q the queue in packets, and B the mean burst length in packets. In a
/// [`Term`], the fields are the exponents of the causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Causes {
    /// p: the loss probability in the direction of the data. With losses, some repairs arrive that
    /// nothing needs, and a loss during the start of a transfer costs a round trip.
    pub loss: f64,
    /// B / 10. A burst also loses the repairs that were sent close to the lost packets.
    pub burst: f64,
    /// ln(1 + N) / 10. The number of times that the window doubles until the path is full grows
    /// with ln(1 + N).
    pub log_bdp: f64,
    /// 100 / (100 + N). If N is small, each repair changes the sending rate by a large step, and a
    /// sender has few packets to measure the path with.
    pub small_bdp: f64,
    /// 1 / (1 + Q). A small queue overflows at every burst of packets.
    pub small_queue: f64,
    /// 1 - Q/N, at least 0. A queue of less than the bandwidth-delay product overflows during the
    /// start of a transfer.
    pub queue_deficit: f64,
    /// 20 round-trip times divided by the time before the measurement begins
    /// ([`MEASURED_FROM_RTTS`](super::MEASURED_FROM_RTTS)), but at most 1. A larger value means
    /// that the measurement includes more of the start of a transfer.
    pub start_measured: f64,
    /// The round-trip time, s. With a longer round trip, BBR's probes for the round-trip time last
    /// longer, and CUBIC's window needs longer to grow.
    pub rtt: f64,
    /// B / (B + N): roughly the share of the packets in flight that a burst loses.
    pub burst_in_flight: f64,
    /// The loss probability in the direction of the acknowledgements. A sender that gets no
    /// acknowledgements stops sending.
    pub ack_loss: f64,
    /// ln(1 + x), where x is the mean length of a stall times the number of stalls per second.
    pub stall_time: f64,
    /// The mean length of a stall divided by the length of a run.
    pub stall_length: f64,
}

/// A weight w and its phi, a product of powers of causes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// w: the weight, 0 or more.
    pub weight: f64,
    /// The exponent of each cause in phi, 0 or more. An exponent of 0 leaves the cause out.
    pub powers: Causes,
}

impl Causes {
    /// No cause: every value is 0.
    pub const NONE: Causes = Causes {
        loss: 0.0,
        burst: 0.0,
        log_bdp: 0.0,
        small_bdp: 0.0,
        small_queue: 0.0,
        queue_deficit: 0.0,
        start_measured: 0.0,
        rtt: 0.0,
        burst_in_flight: 0.0,
        ack_loss: 0.0,
        stall_time: 0.0,
        stall_length: 0.0,
    };

    /// The names of the causes in the data files.
    pub const NAMES: [&str; CAUSES] = [
        "loss",
        "burst",
        "log-bdp",
        "small-bdp",
        "small-queue",
        "queue-deficit",
        "start-measured",
        "rtt",
        "burst-in-flight",
        "ack-loss",
        "stall-time",
        "stall-length",
    ];

    /// The values, in the order of [`Causes::NAMES`].
    pub fn values(&self) -> [f64; CAUSES] {
        [
            self.loss,
            self.burst,
            self.log_bdp,
            self.small_bdp,
            self.small_queue,
            self.queue_deficit,
            self.start_measured,
            self.rtt,
            self.burst_in_flight,
            self.ack_loss,
            self.stall_time,
            self.stall_length,
        ]
    }

    /// The causes of a path.
    pub fn of(path: &NetworkPath) -> Causes {
        let packets = path.packets();
        let queue = path.queue_packets();
        Causes {
            loss: path.loss,
            burst: path.burst / 10.0,
            log_bdp: libm::log1p(packets) / 10.0,
            small_bdp: 100.0 / (100.0 + packets),
            small_queue: 1.0 / (1.0 + queue),
            queue_deficit: (1.0 - queue / packets).max(0.0),
            start_measured: (10.0 * path.rtt).min(1.0),
            rtt: path.rtt,
            burst_in_flight: path.burst / (path.burst + packets),
            ack_loss: path.loss_back,
            stall_time: libm::log1p(stalls_per_second(path) * stall_seconds(path)),
            stall_length: stall_seconds(path) / path.measured().end,
        }
    }
}

impl Term {
    /// phi: the product of the causes, each raised to its power, without the weight.
    pub fn product(powers: &Causes, causes: &Causes) -> f64 {
        let each = causes.values().into_iter().zip(powers.values());
        each.filter(|(_, power)| *power != 0.0).map(|(cause, power)| libm::pow(cause, power)).product()
    }
}

/// The product of all efficiency factors, between 0 and 1.
pub fn efficiency(terms: &[Term], causes: &Causes) -> f64 {
    let sum: f64 = terms.iter().map(|term| term.weight * Term::product(&term.powers, causes)).sum();
    libm::exp(-sum)
}

/// The share of the time for which a sender with `flight` packets in flight stalls.
pub(super) fn stalled_share(path: &NetworkPath, flight: f64) -> f64 {
    let stalled = flights_lost_per_second(path, flight) * stall_seconds(path);
    stalled / (1.0 + stalled)
}

/// The smallest number of packets that a TCP has in flight. A path with a smaller bandwidth-delay
/// product needs fewer packets, but TCP still sends this number. BBR also has this number in flight
/// while it probes for the round-trip time.
///
/// A larger value predicts fewer stalls. Each further packet multiplies the probability of a stall
/// by the probability that the next packet is lost too.
const FEWEST_IN_FLIGHT: f64 = 4.0;
/// The duration of one of BBR's probes for the round-trip time, less a round trip, s (BBR's
/// `ProbeRTTDuration`). Twice the value predicts more stalls during probes.
const PROBE_SECONDS: f64 = 0.2;
/// The time between two of BBR's probes for the round-trip time, s (`ProbeRTTInterval`). Half the
/// value doubles the number of stalls during probes.
const PROBE_EVERY_SECONDS: f64 = 10.0;

/// The probability that the packet after a lost packet is lost too: 1 - 1/B in bursts, but at least
/// p, the probability for independent losses.
pub(super) fn next_lost(path: &NetworkPath) -> f64 {
    (1.0 - 1.0 / path.burst).max(path.loss)
}

/// The rate of bursts that lose all of `flight` packets in flight, 1/s. A burst begins at any given
/// packet with probability p/B.
fn flights_lost_per_second(path: &NetworkPath, flight: f64) -> f64 {
    path.loss / path.burst * libm::pow(next_lost(path), flight - 1.0) / path.packet_time()
}

/// The rate of stalls of a sender, 1/s. Most of the time, the sender has 2 N packets in flight, but
/// at least [`FEWEST_IN_FLIGHT`]. While BBR probes for the round-trip time, it has
/// [`FEWEST_IN_FLIGHT`] packets in flight.
fn stalls_per_second(path: &NetworkPath) -> f64 {
    let flight = (2.0 * path.packets()).max(FEWEST_IN_FLIGHT);
    let probes = (PROBE_SECONDS + path.rtt) / path.rtt / PROBE_EVERY_SECONDS;
    flights_lost_per_second(path, flight) + probes * path.loss * libm::pow(next_lost(path), FEWEST_IN_FLIGHT - 1.0)
}

/// The mean length of a stall, s.
///
/// A stalled sender sends one packet at each time-out, and each time-out is twice as long as the
/// time-out before. The simulated link draws bursts by packet and not by time. So each of these
/// packets is lost with probability q again, where q is [`next_lost`]. The mean length is the sum
/// of RTO (2q)^k for k = 0, 1, ..., over the time-outs that fit into a run. RTO is the first
/// time-out.
fn stall_seconds(path: &NetworkPath) -> f64 {
    let time_out = RTO_MIN + path.rtt + path.packet_time();
    let most = libm::log2(1.0 + path.measured().end / time_out);
    // The sum of (2q)^k for k from 0 to below `most`, as a geometric series. For 2q = 1, the limit
    // of the formula is `most`.
    let each = libm::log(2.0 * next_lost(path).max(1e-9));
    time_out * if each.abs() < 1e-9 { most } else { libm::expm1(each * most) / libm::expm1(each) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of 5 Mbit/s and 20 ms: 8 packets in a round trip, 417 in a second.
    const SHORT: NetworkPath =
        NetworkPath { rate: 5e6, rtt: 0.02, loss: 0.05, loss_back: 0.0, burst: 17.0, queue: 25e3, flows: 1 };

    #[test]
    fn a_stall_is_as_long_as_its_time_outs() {
        // The time-outs last .2224 s, .4448 s and so on. The fifth ends 6.9 s after the stall
        // began, and the sixth does not end in a run of 10 s.
        let (q, time_out): (f64, f64) = (16.0 / 17.0, 0.2 + 0.02 + 0.0024);
        let sum = |k: i32| (0..k).map(|k| (2.0 * q).powi(k)).sum::<f64>() * time_out;
        let stall = stall_seconds(&SHORT);
        assert!(stall > sum(5) && stall < sum(6), "a stall of {stall} s, not between {} and {}", sum(5), sum(6));
        // At q = 1/2 the function uses the limit of the sum.
        let half = NetworkPath { burst: 2.0, ..SHORT };
        let beside = NetworkPath { burst: 2.0 + 1e-6, ..SHORT };
        assert!((stall_seconds(&half) / stall_seconds(&beside) - 1.0).abs() < 1e-4);
        // If losses are independent, the packet after a loss usually arrives.
        let alone = stall_seconds(&NetworkPath { burst: 1.0, ..SHORT });
        assert!(alone > time_out && alone < 1.2 * time_out, "a stall of {alone} s after independent losses");
    }

    #[test]
    fn only_bursts_that_take_the_whole_flight_stall_a_sender() {
        assert_eq!(stalls_per_second(&NetworkPath { loss: 0.0, ..SHORT }), 0.0);
        assert!(stalls_per_second(&NetworkPath { loss: 0.1, ..SHORT }) > 1.99 * stalls_per_second(&SHORT));
        assert!(stalls_per_second(&NetworkPath { burst: 5.0, ..SHORT }) < 0.3 * stalls_per_second(&SHORT));
        // On a path of 1250 packets only the four packets in flight during a probe are lost
        // together.
        let long = NetworkPath { rate: 1e8, rtt: 0.15, ..SHORT };
        let probes = 0.35 / 0.15 / 10.0 * 0.05 * (16.0f64 / 17.0).powi(3);
        assert!((stalls_per_second(&long) / probes - 1.0).abs() < 1e-9);
    }
}
