//! What a scheme loses of what its headers leave, as a product of causes with fitted weights.
//!
//! share = ceiling exp(-sum of weight_i phi_i), where each phi is a product of powers of the [`Causes`] of a path. All of them
//! grow with what makes a path hard, and no weight is negative: what is predicted falls with the loss and never exceeds the ceiling.

use super::path::NetworkPath;
use super::plain::RTO_MIN;
use serde::{Deserialize, Serialize};

/// A sender has so many packets on the way at least, even if less fill the path.
const FEWEST_ON_THE_WAY: f64 = 4.0;
/// BBR has no more than those for so long and a round trip to see how short the way is, s.
const PROBE_SECONDS: f64 = 0.2;
/// It does so this often, s.
const PROBE_EVERY_SECONDS: f64 = 10.0;

/// How many causes there are.
pub const CAUSES: usize = 12;

/// What makes a path hard, each 0 or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Causes {
    /// p: what is lost in the direction of the data.
    pub loss: f64,
    /// A tenth of the mean run of losses: what is lost together cannot be mended by what was sent beside it.
    pub burst: f64,
    /// ln(1 + N) / 10 of the N packets of the bandwidth-delay product: how often a window must double.
    pub log_bdp: f64,
    /// 100 / (100 + N): how few packets there are to tell anything by.
    pub small_bdp: f64,
    /// 1 / (1 + Q) of a queue of Q packets.
    pub small_queue: f64,
    /// How much less than a bandwidth-delay product the queue holds: (1 - Q/N)+.
    pub queue_deficit: f64,
    /// 20 RTT over the time before the measurement begins, 1 at most: how much of the start is measured.
    pub start_measured: f64,
    /// The round-trip time in seconds: what BBR's search for it and CUBIC's way back take.
    pub rtt: f64,
    /// B/(B+N) of runs of B packets, N packets of the bandwidth-delay product: how much of a flight a run takes along.
    pub burst_in_flight: f64,
    /// What is lost on the way back: a sender that hears nothing stands still.
    pub ack_loss: f64,
    /// ln(1 + x) of the time x that stops take for each second between two of them. A connection stops when a run of losses takes all
    /// that it has on the way.
    pub stall_time: f64,
    /// The share of a run that a stop takes along: time-outs double, and each finds the run of losses not over.
    pub stall_length: f64,
}

impl Causes {
    /// None of them.
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

    /// Their names.
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

    /// All of them, in the order of their names.
    pub fn values(&self) -> [f64; CAUSES] {
        let Causes {
            loss,
            burst,
            log_bdp,
            small_bdp,
            small_queue,
            queue_deficit,
            start_measured,
            rtt,
            burst_in_flight,
            ack_loss,
            stall_time,
            stall_length,
        } = *self;
        [
            loss,
            burst,
            log_bdp,
            small_bdp,
            small_queue,
            queue_deficit,
            start_measured,
            rtt,
            burst_in_flight,
            ack_loss,
            stall_time,
            stall_length,
        ]
    }

    /// Those of a path.
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
            stall_time: libm::log1p(stops(path) * stop(path)),
            stall_length: stop(path) / path.measured().end,
        }
    }
}

/// The probability that a run of losses goes on with the next packet: 1 - 1/B, or p where losses are independent.
fn goes_on(path: &NetworkPath) -> f64 {
    (1.0 - 1.0 / path.burst).max(path.loss)
}

/// How often a run of losses takes all that a connection has on the way, 1/s: twice N packets mostly, runs of which begin p/B times a packet;
/// and four while BBR looks for the round-trip time, for 200 ms and a round trip every ten seconds.
fn stops(path: &NetworkPath) -> f64 {
    let flight = (2.0 * path.packets()).max(FEWEST_ON_THE_WAY);
    let whole = |packets: f64| libm::pow(goes_on(path), packets - 1.0);
    let probes = (PROBE_SECONDS + path.rtt) / path.rtt / PROBE_EVERY_SECONDS;
    path.loss / path.burst * whole(flight) / path.packet_time()
        + probes * path.loss * whole(FEWEST_ON_THE_WAY)
}

/// How long a stop takes in the mean, s. A stopped connection sends a packet each time-out, and waits twice as long for the next. Runs are
/// drawn by packet, not by time, so the k-th is waited for with q^(k-1); no more are than fit into the run that is measured.
fn stop(path: &NetworkPath) -> f64 {
    let time_out = RTO_MIN + path.rtt + path.packet_time();
    let most = libm::log2(1.0 + path.measured().end / time_out);
    // The sum of (2q)^k for k from 0 to below `most`.
    let each = libm::log(2.0 * goes_on(path).max(1e-9));
    time_out * if each.abs() < 1e-9 { most } else { libm::expm1(each * most) / libm::expm1(each) }
}

/// A product of powers of causes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// Its weight, 0 or more.
    pub weight: f64,
    /// The exponent of each cause, 0 or more; 0 leaves the cause out.
    pub powers: Causes,
}

impl Term {
    /// The product, without its weight.
    pub fn product(powers: &Causes, causes: &Causes) -> f64 {
        let each = causes.values().into_iter().zip(powers.values());
        each.filter(|(_, power)| *power != 0.0).map(|(cause, power)| libm::pow(cause, power)).product()
    }
}

/// The share that is left: exp(-sum), between 0 and 1.
pub fn efficiency(terms: &[Term], causes: &Causes) -> f64 {
    let sum: f64 = terms.iter().map(|term| term.weight * Term::product(&term.powers, causes)).sum();
    libm::exp(-sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5 Mbit/s, 20 ms: 8 packets, 417 a second.
    const SHORT: NetworkPath =
        NetworkPath { rate: 5e6, rtt: 0.02, loss: 0.05, loss_back: 0.0, burst: 17.0, queue: 25e3, flows: 1 };

    #[test]
    fn a_stop_takes_as_long_as_its_time_outs() {
        // Of .2224, .4448, ... s: the fifth ends 6.9 s after the stop, and the sixth does not in a run of 10 s.
        let (q, time_out): (f64, f64) = (16.0 / 17.0, 0.2 + 0.02 + 0.0024);
        let whole = |k: i32| (0..k).map(|k| (2.0 * q).powi(k)).sum::<f64>() * time_out;
        assert!(
            stop(&SHORT) > whole(5) && stop(&SHORT) < whole(6),
            "{}, {} to {}",
            stop(&SHORT),
            whole(5),
            whole(6)
        );
        // At q = 1/2 the sum has another form.
        let half = NetworkPath { burst: 2.0, ..SHORT };
        let beside = NetworkPath { burst: 2.0 + 1e-6, ..SHORT };
        assert!((stop(&half) / stop(&beside) - 1.0).abs() < 1e-4);
        // Losses that are independent let the next packet through, mostly.
        let alone = stop(&NetworkPath { burst: 1.0, ..SHORT });
        assert!(alone > time_out && alone < 1.2 * time_out, "{alone}");
    }

    #[test]
    fn only_runs_that_take_all_that_is_on_the_way_stop_a_sender() {
        assert_eq!(stops(&NetworkPath { loss: 0.0, ..SHORT }), 0.0);
        assert!(stops(&NetworkPath { loss: 0.1, ..SHORT }) > 1.99 * stops(&SHORT));
        assert!(stops(&NetworkPath { burst: 5.0, ..SHORT }) < 0.3 * stops(&SHORT));
        // Of a path of 1250 packets only the four of a probe are lost together.
        let long = NetworkPath { rate: 1e8, rtt: 0.15, ..SHORT };
        let probes = 0.35 / 0.15 / 10.0 * 0.05 * (16.0f64 / 17.0).powi(3);
        assert!((stops(&long) / probes - 1.0).abs() < 1e-9);
    }
}
