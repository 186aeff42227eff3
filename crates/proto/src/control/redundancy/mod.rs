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

#[cfg(test)]
mod tests;
mod usefulness;

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

/// Limit on the probability that a bulk flight cannot be decoded without further repairs, while
/// sources wait to be sent.
///
/// Proactive repairs are added until the probability is at most this limit. Repairs displace
/// waiting sources, so the limit is loose: there are about as many repairs as losses. Half the
/// value costs more bandwidth and lowers the delay that losses cause. Double the value turns this
/// rule off.
const BULK_UNMASKED: f64 = 0.5;
/// Limit on the probability that the newest part of a flight ([`RECENT`]) cannot be decoded without
/// further repairs, while sources wait to be sent.
///
/// The limit is stricter than [`BULK_UNMASKED`], because the receiver has not even reported the
/// losses of this part yet. In an experiment at 20 % loss, half the value sent 1 % more bytes for
/// each useful byte. With double the value, more flights wait for exact repairs.
const RECENT_UNMASKED: f64 = 0.2;
/// The newest part of a flight is protected separately if the flight has at least this number of
/// sources. With a [`Spread`], the number of sources is first divided by the step of the spread.
///
/// In a smaller flight this protection costs much, and an exact repair would arrive soon. Half the
/// value costs more bandwidth on short paths. Double the value leaves more small flights to exact
/// repairs.
const LARGE_FLIGHT: u32 = 25;
/// Limit on the probability that a flight cannot be decoded, used while the ingress queue is nearly
/// empty ([`IDLE`]).
///
/// Repairs are free then, because they displace no other packet. An application-limited flow is
/// held back by the delay of each unrepaired loss. Half the value adds repairs; double the value
/// leaves twice as many flights to exact repairs. A path may hold n > 1 spans of [`SPAN`] symbols
/// in a round trip. Then the limit for each span is this value divided by n.
const IDLE_UNMASKED: f64 = 0.03;
/// Limit on the probability that a flight cannot be decoded, used after the end of a burst
/// ([`tail_wait`]).
///
/// A loss at the end of a burst is noticed late, because no later packet reveals it. Often the lost
/// packet is the only packet that a user waits for. Half the value adds repairs at the end of each
/// burst. Double the value makes it twice as likely that the user waits for an exact repair.
const TAIL_UNMASKED: f64 = 0.003;
/// The ingress queue counts as nearly empty when its backlog can be sent at the path's rate in less
/// than this number of round trips.
///
/// Half the value applies [`IDLE_UNMASKED`] to fewer flights. Double the value lets repairs
/// displace more waiting sources.
const IDLE: f64 = 0.05;
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
const MOST_REPEATS: u32 = 48;

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

/// Limit on the number of exact repairs for each hole of a group.
///
/// The limit bounds the cost when nearly all packets are lost. Half the value sends too few repairs
/// at very high loss. Double the value doubles the load on a path that may have failed.
const MOST_FOR_A_HOLE: u32 = 8;
/// Limit on the mean number of groups that cannot be decoded with the repairs in flight, while the
/// ingress queue is nearly empty.
///
/// A flow waits for the last of its groups, and a group that cannot be decoded waits for another
/// round trip. So the limit on the probability for one group is this number divided by the number
/// of groups, and at most [`IDLE_UNMASKED`]. Half the value adds repairs when there are many
/// groups. With double the value, flows wait for another round trip more often.
const GROUPS_UNMASKED: f64 = 0.5;
/// Limit on the number of groups of holes whose exact repairs take turns.
///
/// Because of the turns, a run of losses hits only a few repairs of each group. With half the value
/// a run hits twice as many repairs of one group. With double the value the oldest group is
/// repaired later.
pub const INTERLEAVED: usize = 8;

/// Losses that differ by at most this share count as the same, so that earlier results can be
/// reused.
///
/// The probabilities for runs of losses take long to compute. With half the value, the
/// probabilities are computed more often. With double the value the losses used are less up to
/// date.
const SAME: f64 = 0.1;

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
        Flight { deficit: deficit.div_ceil(self.step), sources: sources / self.step, repairs: repairs / self.step }
    }
}

/// The backlog in the ingress queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Backlog {
    /// The time to send the backlog at the path's rate, in round trips. The time may be 0.
    Waiting(f64),
    /// The ingress queue is empty, and no source has been sent for [`tail_wait`].
    Nothing,
}

/// A burst has ended when no source has left for this time: 1/16 of the round-trip time, at least 2
/// ms and at most 10 ms.
///
/// A packet that follows within this time belongs to the same burst. With half the time, repairs
/// are sent into bursts that have not ended. With double the time, the repairs for the end of a
/// burst are sent later.
pub fn tail_wait(rtt: Duration) -> Duration {
    (rtt / 16).clamp(Duration::from_millis(2), Duration::from_millis(10))
}

/// With a backlog of this number of round trips, bulk flows need no proactive repairs.
///
/// The packets at the end of the queue wait for longer than an exact repair takes, so a proactive
/// repair saves the flow no time and costs the bandwidth of a packet. Below this backlog, the limits
/// on the probability rise in proportion to the backlog. At 20 Mbit/s, 100 ms and 20 % loss with CUBIC
/// inside, 1.7 % of the bytes are wasted, and the median delay is 412 ms. Half the value: 2.1 % and
/// 494 ms. Without the rule: 4.0 % and 264 ms.
const BACKLOG_WITHOUT_REPAIRS: f64 = 4.0;
/// On paths of up to this round-trip time, s, a backlog relaxes the limits in full. The effect fades
/// until [`RELAXED_RTT_END`].
///
/// On a long path, an exact repair comes so late that the receiver holds much data back. Half the
/// value wastes more on medium paths. Double the value delays packets for longer.
const RELAXED_RTT: f64 = 0.15;
/// From this round-trip time on, s, a backlog relaxes nothing. See [`RELAXED_RTT`].
const RELAXED_RTT_END: f64 = 1.0;
/// Steps of the relaxation, so that earlier results can be reused. Half or double the value changes
/// little.
const RELAXATION_STEPS: f64 = 8.0;

/// By how much the limits for bulk flows relax, 0 to 1, for a backlog of `rounds` round trips on a
/// path with the round-trip time `rtt`.
fn relaxation(rounds: f64, rtt: Duration) -> f64 {
    let fades = (RELAXED_RTT_END - rtt.as_secs_f64()) / (RELAXED_RTT_END - RELAXED_RTT);
    let relaxed = (rounds / BACKLOG_WITHOUT_REPAIRS).min(1.0) * fades.clamp(0.0, 1.0);
    (relaxed * RELAXATION_STEPS).round() / RELAXATION_STEPS
}

/// Decides whether a bulk flight needs another proactive repair.
///
/// The question is asked for every packet that leaves, so the rule remembers earlier results.
#[derive(Clone, Copy, Debug, Default)]
pub struct BulkRule {
    all: Guard,
    recent: Guard,
    /// The losses that `in_runs` used last.
    losses: Losses,
}

impl BulkRule {
    /// Whether a bulk flight needs another proactive repair.
    ///
    /// - `all` is the part of the flight that a repair can span.
    /// - `recent` is the newest part of the flight ([`RECENT`]), with the repairs sent in that
    ///   time.
    /// - `ahead` is the backlog in the ingress queue. While sources wait, the number of repairs
    ///   follows only the share of packets lost. While the ingress queue is nearly empty, repairs
    ///   are free, and their number also follows the length of runs of losses.
    /// - `rtt` is the smoothed round-trip time.
    /// - `dither` is a number of sources that is added to `all`, except after the end of a burst.
    ///   Without the dither, repairs would be sent at equal distances, and a queue that drops
    ///   packets at equal distances could drop every repair.
    #[expect(clippy::too_many_arguments, reason = "the view of one direction: flights, losses, backlog and path")]
    pub fn is_due(
        &mut self,
        all: Flight,
        recent: Flight,
        losses: Losses,
        spread: Spread,
        ahead: Backlog,
        rtt: Duration,
        dither: f64,
    ) -> bool {
        if losses.share <= 0.0 || all.sources == 0 {
            return false;
        }
        let (all, recent) = (spread.thin(all), spread.thin(recent));
        let losses = Losses { burst: (losses.burst / f64::from(spread.step)).max(1.0), ..losses };
        // A flow waits for the slowest of the spans in flight, so each span needs a smaller failure
        // probability than the flow does.
        let idle = IDLE_UNMASKED * spread.part;
        let (whole, newest, losses) = match ahead {
            Backlog::Nothing => (TAIL_UNMASKED, 1.0, self.in_runs(losses)),
            Backlog::Waiting(rounds) if rounds < IDLE => (idle, idle, self.in_runs(losses)),
            Backlog::Waiting(rounds) => {
                let relaxed = relaxation(rounds, rtt);
                let limit = |limit: f64| limit + (1.0 - limit) * relaxed;
                (limit(BULK_UNMASKED), limit(RECENT_UNMASKED), Losses { burst: 1.0, ..losses })
            }
        };
        let dither = if matches!(ahead, Backlog::Nothing) { 0.0 } else { dither };
        let sources = (f64::from(all.sources) + dither).max(0.0) as u32;
        !self.all.is_masked(Flight { sources, ..all }, losses, whole)
            || (all.sources >= LARGE_FLIGHT && !self.recent.is_masked(recent, losses, newest))
    }

    /// The losses from which the probabilities for runs of losses are computed. If `losses` differ
    /// little ([`SAME`]) from the losses that were used last, the result is the losses that were
    /// used last.
    ///
    /// The remembered results hold only for exactly the same losses, and the probabilities for runs
    /// take long to compute.
    fn in_runs(&mut self, losses: Losses) -> Losses {
        let differs = |a: f64, b: f64| (a - b).abs() > SAME * b;
        if differs(losses.share, self.losses.share) || differs(losses.burst, self.losses.burst) {
            self.losses = losses;
        }
        self.losses
    }
}

/// Remembers the last flight that needed no further repair.
///
/// The result also holds for flights with fewer sources, the same number of repairs and the same
/// deficit. A flight is *masked* when the probability that it cannot be decoded is at most
/// `unmasked`.
#[derive(Clone, Copy, Debug, Default)]
struct Guard {
    /// The largest flight known to be masked for `losses` and `unmasked`.
    largest: Flight,
    losses: Losses,
    unmasked: f64,
}

impl Guard {
    /// Whether the probability that `flight` cannot be decoded on a path with `losses` is at most
    /// `unmasked`.
    fn is_masked(&mut self, flight: Flight, losses: Losses, unmasked: f64) -> bool {
        let Flight { deficit, sources, repairs } = flight;
        let same = (self.losses, self.unmasked) == (losses, unmasked);
        if same && (self.largest.deficit, self.largest.repairs) == (deficit, repairs) && sources <= self.largest.sources
        {
            return true;
        }
        // First test a slightly larger flight, so that the result also holds for the next packets.
        [sources + sources / 16, sources].into_iter().any(|sources| {
            let masked = losses.unmasked(deficit, sources, repairs) <= unmasked;
            if masked {
                *self = Guard { largest: Flight { sources, ..flight }, losses, unmasked };
            }
            masked
        })
    }
}

/// Decides how many exact repairs a group of holes needs. This number includes the repairs that are
/// already in flight.
#[derive(Clone, Debug)]
pub struct ExactRule {
    losses: Losses,
    /// Limit on the probability that a group cannot be decoded.
    unmasked: f64,
    /// Number of repairs, indexed by the number of holes. 0: not computed yet.
    found: Vec<u32>,
}

impl ExactRule {
    /// Creates the rule that applies to each of `groups` groups of holes. The repairs of these
    /// groups take turns.
    ///
    /// `waiting` is the backlog in round trips. While sources wait, a group gets as many repairs as
    /// suffice on average. While the ingress queue is nearly empty, a group gets enough repairs to
    /// be decoded almost certainly: the user may be waiting for the group. While the queue is
    /// nearly empty, each group also gets more repairs if there are more groups: all later packets
    /// wait for the last group.
    pub fn new(groups: usize, losses: Losses, waiting: f64) -> ExactRule {
        let turns = groups.clamp(1, INTERLEAVED) as f64;
        let unmasked =
            if waiting < IDLE { IDLE_UNMASKED.min(GROUPS_UNMASKED / groups.max(1) as f64) } else { BULK_UNMASKED };
        ExactRule { losses: Losses { burst: (losses.burst / turns).max(1.0), ..losses }, unmasked, found: Vec::new() }
    }

    /// Number of repairs that a group with `holes` holes needs, at most 8 for each hole.
    pub fn wanted(&mut self, holes: u32) -> u32 {
        let at = holes as usize;
        if self.found.len() <= at {
            self.found.resize(at + 1, 0);
        }
        if self.found[at] == 0 {
            let most = holes * MOST_FOR_A_HOLE;
            let enough = |repairs: &u32| self.losses.unmasked(holes, 0, *repairs) <= self.unmasked;
            self.found[at] = (holes..most).find(enough).unwrap_or(most);
        }
        self.found[at]
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
