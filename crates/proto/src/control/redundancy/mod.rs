//! Rules for the number of repairs. A repair is a linear combination of source symbols (sources):
//! the packets that the coder takes. The repair *spans* these symbols.
//!
//! * *Proactive repairs* are sent before a loss is known. They save the round trip that a report
//!   takes, so they lower delay. They do not raise throughput: each one takes the bandwidth of one
//!   packet.
//! * *Exact repairs* answer a report. They are sent with every setting of the redundancy. Each one
//!   is for a *group* of *holes*: lost symbols for which the receiver holds no repair yet.
//!
//! A *flight* is the sources and repairs in flight together. A flight is *masked* when it can very
//! probably be decoded without further repairs, so that TCP does not notice the losses. The rules
//! limit the probability that further repairs are needed. A *run* is a number of losses in a row.
//!
//! This file also has the rules for repeated reports and for probes in a silence (the time in which
//! no report arrives).

mod bulk;
mod exact;
mod explain;
#[cfg(test)]
mod tests;
mod usefulness;

pub use bulk::{Backlog, BulkRule, tail_wait};
pub use exact::{ExactRule, INTERLEAVED};
pub use explain::{ClassView, Explanation, Limit};
pub use usefulness::Usefulness;

use super::loss::Losses;
use ripstop_model::masking::unmasked_in_runs;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How many proactive repairs are sent.
///
/// The text form is `adaptive`, `none`, or the number of packets sent for each source packet, 1 to
/// 10.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Redundancy {
    /// The losses of the path decide the number of proactive repairs. On a clean path the number
    /// is 0.
    #[default]
    Adaptive,
    /// R, the number of packets sent for each source packet, has this value on every path. R is at
    /// least 1. With R = 1, no repairs are added.
    Fixed(f64),
    /// No proactive repairs. Losses are repaired when they are reported.
    None,
}

impl FromStr for Redundancy {
    type Err = String;

    fn from_str(text: &str) -> Result<Redundancy, String> {
        match text {
            "adaptive" => Ok(Redundancy::Adaptive),
            "none" => Ok(Redundancy::None),
            other => match other.parse::<f64>() {
                Ok(ratio) if (1.0..=10.0).contains(&ratio) => Ok(Redundancy::Fixed(ratio)),
                _ => Err(format!(
                    "`{other}` is not a redundancy; write \"adaptive\", \"none\", or the number of packets to send \
                     for each source packet, 1 to 10, such as 1.25"
                )),
            },
        }
    }
}

impl fmt::Display for Redundancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Redundancy::Adaptive => f.write_str("adaptive"),
            Redundancy::None => f.write_str("none"),
            Redundancy::Fixed(ratio) => ratio.fmt(f),
        }
    }
}

/// Limit on the probability that a flight cannot be decoded, used while the ingress queue is nearly
/// empty ([`IDLE`]).
///
/// Repairs are free then, because they displace no other packet. An application-limited flow is
/// held back by the delay of each unrepaired loss. Half the value adds repairs; double the value
/// leaves twice as many flights to exact repairs. A path may hold n > 1 spans of [`SPAN`] symbols
/// in a round trip. Then the limit for each span is this value divided by n.
const IDLE_UNMASKED: f64 = 0.03;
/// The ingress queue counts as nearly empty when its backlog can be sent at the path's rate in less
/// than this number of round trips: at 100 ms, in half a millisecond.
///
/// BBR inside keeps the ingress queue short, but not empty, and then repairs displace packets. With ten times the value,
/// BBR inside has .887 of the rate at 5 % loss instead of .896, and a megabyte takes 15 ms less. Half the value applies
/// [`IDLE_UNMASKED`] to fewer flights.
const IDLE: f64 = 0.005;
/// Length of the newest part of a flight, 50 ms.
///
/// If fewer than [`RECENT_PACKETS`] packets (times the step of [`Spread`]) were sent in this time,
/// the part is extended to that number of packets. Half the value protects a shorter part, with
/// more repairs for each packet. Double the value makes the rule more similar to the rule for the
/// whole flight.
pub const RECENT: Duration = Duration::from_millis(50);
/// Least number of packets in the newest part of a flight, for each step of [`Spread`].
///
/// To protect fewer packets would take more repairs for each packet, because the lost share of
/// fewer packets varies more. Half the value costs more repairs on slow paths. Double the value
/// protects the newest packets of slow paths less.
pub const RECENT_PACKETS: usize = 100;

/// Limit on the probability that an interactive packet and all its repairs are lost.
///
/// An exchange is a request and its answer. At this value, on average at most 2 of 1000 exchanges
/// lose a packet together with all repairs of this packet. So the 99th percentile of the exchanges'
/// delay is the delay of the path. Half the value adds repairs for each packet. Double the value
/// delays twice as many exchanges.
const INTERACTIVE_LOST: f64 = 0.001;
/// Limit on the number of repairs for one interactive packet.
///
/// The limit bounds the cost on paths with many losses. At 20 % loss in runs of 1.25 packets,
/// [`INTERACTIVE_LOST`] asks for 4 repairs, so half the value is too few. Double the value matters
/// only at higher loss or with longer runs.
const INTERACTIVE_REPAIRS: u32 = 4;
/// Time between two repairs of one interactive packet, 1 ms.
///
/// Because of this distance a short run of losses does not hit all repairs. With half the value a
/// run hits all repairs more often. Double the value further delays packets whose first repair is
/// lost.
pub const INTERACTIVE_STEP: Duration = Duration::from_millis(1);

/// Limit on the probability that a report and all its repetitions are lost.
///
/// Half the value adds repetitions where losses come in runs. Double the value removes repetitions.
/// At low loss without runs, [`LEAST_REPEATS`] sets the number instead.
const REPORT_LOST: f64 = 0.01;
/// Least number of repetitions of a report that no datagram follows. See [`report_repeats`].
///
/// With half the value there are fewer datagrams, but the sender waits for a lost report more
/// often. Double the value doubles the cost of reports at the end of bursts.
pub const LEAST_REPEATS: u32 = 3;
/// Limit on the number of repetitions of a report. See [`report_repeats`].
///
/// The limit bounds the cost when the losses look like an outage. Half the value is still enough
/// for 10 % loss in runs of 10 packets (22 repetitions). With double the value, repetitions cost up
/// to twice as much.
pub(crate) const MOST_REPEATS: u32 = 48;

/// Limit on the probability that all probes of one batch in a silence are lost, if the path still
/// works.
///
/// Half the value adds probes to each batch. With double the value, more batches are needed, and
/// each further batch comes after a wait.
const PROBES_LOST: f64 = 0.1;
/// Least number of probes in a batch. See [`silence_probes`].
///
/// With half the value, there are fewer probes, and a batch fails more often to find that the path
/// works again. With double the value, there are more probes, and a batch fails less often.
pub const LEAST_PROBES: u32 = 3;
/// Limit on the number of probes in a batch. See [`silence_probes`].
///
/// The limit bounds the load on a path that may have failed. Half the value is less than the 22
/// probes that runs of 10 packets need. Double the value doubles the load during an outage.
const MOST_PROBES: u32 = 32;

/// Limit on the number of symbols that a proactive repair spans.
///
/// With half the value, the same number of repairs recovers fewer runs of losses. Double the value
/// takes twice the computing time for each repair. The better recovery does not outweigh this cost.
pub const SPAN: u32 = 256;
/// Limit on the step of [`Spread`]: the distance between neighbouring symbols of one repair.
///
/// The step grows with the number of spans that the path holds and with the length of runs of
/// losses. With half the value, a long run of losses hits more symbols of each repair. Double the
/// value lets a repair reach further back, so the repair recovers symbols later.
const MOST_SPREAD: f64 = 16.0;

impl Losses {
    /// The probability that a flight cannot be decoded without further repairs.
    ///
    /// `deficit` is the number of degrees of freedom still missing, according to the last report.
    /// Some of the `sources` and `repairs` in flight will be lost. The flight cannot be decoded
    /// when fewer repairs arrive than `deficit` plus the number of lost sources.
    fn unmasked(self, deficit: u32, sources: u32, repairs: u32) -> f64 {
        unmasked_in_runs(deficit, sources, repairs, self.share, self.burst)
    }

    /// How many further packets (copies) are needed until all packets are lost with a probability
    /// of at most `limit`. The result is at most `most`. Before the first copy, the probability
    /// that all packets are lost is `lost`.
    fn copies(self, mut lost: f64, limit: f64, most: u32) -> u32 {
        // A packet that follows a lost packet is lost with probability 1 - 1/burst, or `share` if
        // this is larger.
        let again = (1.0 - 1.0 / self.burst.max(1.0)).max(self.share);
        let mut copies = 0;
        while lost > limit && copies < most {
            lost *= again;
            copies += 1;
        }
        copies
    }
}

/// A flight: the source symbols and repairs in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// Number of degrees of freedom still missing, according to the last report.
    pub deficit: u32,
    /// Number of source symbols sent whose fate is unknown.
    pub sources: u32,
    /// Number of repairs sent whose fate is unknown.
    pub repairs: u32,
}

/// How the symbols that one proactive repair spans are spread over a flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Distance between neighbouring symbols: a power of two. 1: the symbols are consecutive.
    pub step: u32,
    /// Length of one span ([`SPAN`] packets), divided by the number of packets that the path holds
    /// in a round trip. At most 1.
    part: f64,
}

impl Spread {
    /// The spread for a path that holds `packets` in a round trip and has `losses`.
    ///
    /// If the path holds many spans ([`SPAN`]) and losses come in runs, the symbols of one repair
    /// lie apart. A run of losses then hits a few symbols of several repairs instead of many
    /// symbols of one repair. The same number of repairs recovers longer runs. This costs delay,
    /// which is small compared with the round trip of such a path. The step is the largest power of
    /// two that exceeds none of three numbers: the number of spans, the mean length of a run,
    /// and 16. The step is at least 1.
    pub fn of(packets: f64, losses: Losses) -> Spread {
        let spans = packets / f64::from(SPAN);
        let most = spans.min(losses.burst).clamp(1.0, MOST_SPREAD);
        let step = 1 << (most as u32).ilog2();
        Spread { step, part: (1.0 / spans).min(1.0) }
    }

    /// The part of `flight` that one repair concerns: every `step`-th symbol.
    fn thin(self, flight: Flight) -> Flight {
        let Flight { deficit, sources, repairs } = flight;
        // The step is a power of two, so shifts divide by it.
        let log = self.step.trailing_zeros();
        let up = deficit >> log << log < deficit;
        Flight { deficit: (deficit >> log) + u32::from(up), sources: sources >> log, repairs: repairs >> log }
    }
}

/// Number of repairs that should follow an interactive packet.
pub fn interactive_repairs(losses: Losses) -> u32 {
    losses.copies(losses.share, INTERACTIVE_LOST, INTERACTIVE_REPAIRS)
}

/// Number of times to repeat a report that no datagram follows.
///
/// With this number, the report and all its repetitions are lost with a probability of at most 1 %.
/// But the number is at most `affordable` and at most 48, and never less than [`LEAST_REPEATS`].
pub fn report_repeats(losses: Losses, affordable: u32) -> u32 {
    losses.copies(losses.share, REPORT_LOST, MOST_REPEATS).min(affordable).max(LEAST_REPEATS)
}

/// Number of probes in one batch during a silence.
///
/// One probe that arrives and is reported ends the silence. The run of losses that caused the
/// silence may still go on. So a batch has enough probes to outlast this run with a probability of
/// 90 %, but at least [`LEAST_PROBES`] and at most 32 probes.
pub fn silence_probes(losses: Losses) -> u32 {
    losses.copies(1.0, PROBES_LOST, MOST_PROBES).max(LEAST_PROBES)
}
