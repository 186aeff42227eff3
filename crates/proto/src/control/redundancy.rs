//! How much to send ahead of losses.
//!
//! What a receiver reports missing is repaired exactly, whatever is set here; proactive repairs
//! save the round trip that a report takes. They buy delay, not throughput, and cost bandwidth one for one.

use super::loss::Losses;
use ripstop_model::masking::unmasked_in_runs;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What is sent ahead of losses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Redundancy {
    /// As the measured loss of the path asks for; nothing on a clean path.
    #[default]
    Adaptive,
    /// R packets for each source packet, whatever the path is like (at least 1).
    Fixed(f64),
    /// Nothing: what is lost is repaired when it is reported.
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
                    "`{other}` is not a redundancy; write \"adaptive\", \"none\", or packets sent for each packet, 1 to 10, \
                     such as 1.25"
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

/// Bulk flows: a flight may be left undecodable, for want of repairs, with this probability.
const BULK_UNMASKED: f64 = 0.5;
/// Its newest part is guarded better, for what is missing there is not even asked for yet; but not that of a flight of fewer
/// packets than this, where it would cost much and a repair on request comes soon.
const RECENT_UNMASKED: f64 = 0.2;
const LARGE_FLIGHT: u32 = 25;
/// All of it, when next to nothing waits to be sent: repairs take no other packet's place then, and flows that do not
/// fill the path are held back by the delay of what is missing.
const IDLE_UNMASKED: f64 = 0.03;
/// And when nothing has followed for a while: what is missing now is found out late, and whoever waits for it may wait alone.
const TAIL_UNMASKED: f64 = 0.003;
/// So little of a round trip's packets waiting is next to nothing.
const IDLE: f64 = 0.05;
/// The newest part of the flight: so long, or so many packets of each step if these took longer. Fewer could not be guarded but at a high price.
pub const RECENT: Duration = Duration::from_millis(50);
/// See [`RECENT`].
pub const RECENT_PACKETS: usize = 100;

/// Interactive packets: both the packet and its repairs may be lost with this probability, so that
/// of 1000 requests and their 1000 answers two meet it: what 1 in 100 feels is the path's delay.
const INTERACTIVE_LOST: f64 = 0.001;
/// Never more repairs than this for one packet.
const INTERACTIVE_REPAIRS: u32 = 4;
/// Repairs of one packet follow each other by this, so that a short burst does not take them all.
pub const INTERACTIVE_STEP: Duration = Duration::from_millis(2);

/// A report and all its repetitions may be lost with this probability. They are so many at least and at most.
const REPORT_LOST: f64 = 0.01;
/// See [`report_repeats`].
pub const LEAST_REPEATS: u32 = 3;
const MOST_REPEATS: u32 = 48;

/// All packets that are sent into a silence at a time may be lost with this probability. They are so many at least and at most.
const PROBES_LOST: f64 = 0.1;
/// See [`silence_probes`].
pub const LEAST_PROBES: u32 = 3;
const MOST_PROBES: u32 = 32;

/// Symbols that a proactive repair spans, at most: more would cost more to combine than they bring.
pub const SPAN: u32 = 256;
/// On a path that holds many such spans they are taken from so many times as many symbols, at most.
const MOST_SPREAD: f64 = 16.0;

/// Repairs that one hole may ask for, at most.
const MOST_FOR_A_HOLE: u32 = 8;
/// Of all groups of holes that are being repaired, so many may be left with holes by the repairs in flight: a flow waits for the last of
/// them, and then for another round trip.
const GROUPS_UNMASKED: f64 = 0.5;
/// So many groups are repaired by turns, at most: a run of losses takes a little of each.
pub const INTERLEAVED: usize = 8;

/// Losses that differ by no more than this share are the same.
const SAME: f64 = 0.1;

impl Losses {
    /// The probability that `sources` and `repairs` in flight do not make up for their losses and `deficit` ones from before.
    fn unmasked(self, deficit: u32, sources: u32, repairs: u32) -> f64 {
        unmasked_in_runs(deficit, sources, repairs, self.share, self.burst)
    }

    /// How many packets bring the probability `lost` that nothing has arrived down to `limit`; `most` at most.
    fn copies(self, mut lost: f64, limit: f64, most: u32) -> u32 {
        // What follows a loss is lost with probability 1 - 1/burst.
        let again = (1.0 - 1.0 / self.burst.max(1.0)).max(self.share);
        let mut copies = 0;
        while lost > limit && copies < most {
            lost *= again;
            copies += 1;
        }
        copies
    }
}

/// Sources and proactive repairs in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// Symbols missing already, as reported.
    pub deficit: u32,
    /// Source symbols sent and not reported on.
    pub sources: u32,
    /// Repairs sent and not reported on.
    pub repairs: u32,
}

/// How the symbols that one proactive repair spans lie in a flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// How far apart they are: a power of two.
    pub step: u32,
    /// Which part of what the path holds in a round trip they are, all steps together.
    part: f64,
}

impl Spread {
    /// On a path that holds `packets` in a round trip. Where these are many spans, a run of losses takes a little of several repairs'
    /// symbols rather than much of one's: as many repairs mend longer runs, for the price of a delay that is small on such a path.
    pub fn of(packets: f64, losses: Losses) -> Spread {
        let spans = packets / f64::from(SPAN);
        let most = spans.min(losses.burst).clamp(1.0, MOST_SPREAD);
        let step = 1 << (most as u32).ilog2();
        Spread { step, part: (1.0 / spans).min(1.0) }
    }

    /// One step's part of a flight.
    fn thin(self, flight: Flight) -> Flight {
        let Flight { deficit, sources, repairs } = flight;
        Flight {
            deficit: deficit.div_ceil(self.step),
            sources: sources / self.step,
            repairs: repairs / self.step,
        }
    }
}

/// How much is left to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Backlog {
    /// So many round trips' worth waits.
    Waiting(f64),
    /// Nothing, and nothing has been sent for [`tail_wait`].
    Nothing,
}

/// What follows a packet within this time belongs to the same burst; after it the burst has ended.
pub fn tail_wait(rtt: Duration) -> Duration {
    (rtt / 16).clamp(Duration::from_millis(2), Duration::from_millis(10))
}

/// Whether bulk flights want another repair: asked of every packet that leaves, so that answers are remembered.
#[derive(Clone, Copy, Debug, Default)]
pub struct BulkRule {
    all: Guard,
    recent: Guard,
    losses: Losses,
}

impl BulkRule {
    /// Whether a bulk flight wants another repair: `all` of it that repairs span, and the `recent` part of what was sent (within
    /// [`RECENT`], with the repairs of that time). While sources wait, repairs are for the mean of the losses; when none do, they
    /// cost nothing, and are for runs of losses. `dither` sources are added to what is in flight, so that repairs do not fall into
    /// step with a queue's drops.
    pub fn is_due(
        &mut self,
        all: Flight,
        recent: Flight,
        losses: Losses,
        spread: Spread,
        ahead: Backlog,
        dither: f64,
    ) -> bool {
        if losses.share <= 0.0 || all.sources == 0 {
            return false;
        }
        let (all, recent) = (spread.thin(all), spread.thin(recent));
        let losses = Losses { burst: (losses.burst / f64::from(spread.step)).max(1.0), ..losses };
        // Of all spans that a round trip holds, for what one of them waits for, a flow waits for.
        let idle = IDLE_UNMASKED * spread.part;
        let (whole, newest, losses) = match ahead {
            Backlog::Nothing => (TAIL_UNMASKED, 1.0, self.in_runs(losses)),
            Backlog::Waiting(rounds) if rounds < IDLE => (idle, idle, self.in_runs(losses)),
            Backlog::Waiting(_) => (BULK_UNMASKED, RECENT_UNMASKED, Losses { burst: 1.0, ..losses }),
        };
        let dither = if matches!(ahead, Backlog::Nothing) { 0.0 } else { dither };
        let sources = (f64::from(all.sources) + dither).max(0.0) as u32;
        !self.all.is_masked(Flight { sources, ..all }, losses, whole)
            || (all.sources >= LARGE_FLIGHT && !self.recent.is_masked(recent, losses, newest))
    }

    /// The losses that flights are guarded against: those of before as long as they have hardly changed, for what was found of
    /// flights holds for these, and the law of runs takes its time.
    fn in_runs(&mut self, losses: Losses) -> Losses {
        let differs = |a: f64, b: f64| (a - b).abs() > SAME * b;
        if differs(losses.share, self.losses.share) || differs(losses.burst, self.losses.burst) {
            self.losses = losses;
        }
        self.losses
    }
}

/// What was found of a flight: it holds for smaller ones with as many repairs.
#[derive(Clone, Copy, Debug, Default)]
struct Guard {
    /// The largest flight known to be masked, on a path with these losses and but for the probability `unmasked`.
    largest: Flight,
    losses: Losses,
    unmasked: f64,
}

impl Guard {
    /// Whether `losses` are masked in `flight`, but for the probability `unmasked`.
    fn is_masked(&mut self, flight: Flight, losses: Losses, unmasked: f64) -> bool {
        let Flight { deficit, sources, repairs } = flight;
        let same = (self.losses, self.unmasked) == (losses, unmasked);
        if same
            && (self.largest.deficit, self.largest.repairs) == (deficit, repairs)
            && sources <= self.largest.sources
        {
            return true;
        }
        // A little beyond, for those that come next.
        [sources + sources / 16, sources].into_iter().any(|sources| {
            let masked = losses.unmasked(deficit, sources, repairs) <= unmasked;
            if masked {
                *self = Guard { largest: Flight { sources, ..flight }, losses, unmasked };
            }
            masked
        })
    }
}

/// How many repairs a group of holes that a receiver has asked for wants, those in flight included.
#[derive(Clone, Debug)]
pub struct ExactRule {
    losses: Losses,
    /// A group may be left with holes with this probability.
    unmasked: f64,
    /// What was found for so many holes; 0: nothing yet.
    found: Vec<u32>,
}

impl ExactRule {
    /// For each of `groups` that are repaired by turns. It gets as many as arrive on average; as many as are as good as sure to when
    /// next to nothing waits to be sent (`waiting`, in round trips), for whoever sends no more may be waiting for this one, and the
    /// surer the more groups there are, for all that follows waits for the last of them.
    pub fn new(groups: usize, losses: Losses, waiting: f64) -> ExactRule {
        let turns = groups.clamp(1, INTERLEAVED) as f64;
        let unmasked = if waiting < IDLE {
            IDLE_UNMASKED.min(GROUPS_UNMASKED / groups.max(1) as f64)
        } else {
            BULK_UNMASKED
        };
        ExactRule {
            losses: Losses { burst: (losses.burst / turns).max(1.0), ..losses },
            unmasked,
            found: Vec::new(),
        }
    }

    /// What `holes` of one group want.
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

/// How many repairs should follow an interactive packet.
pub fn interactive_repairs(losses: Losses) -> u32 {
    losses.copies(losses.share, INTERACTIVE_LOST, INTERACTIVE_REPAIRS)
}

/// How often a report that nothing follows is repeated: until it is as good as sure that the sender has one of them, as far as it
/// is `affordable`.
pub fn report_repeats(losses: Losses, affordable: u32) -> u32 {
    losses.copies(losses.share, REPORT_LOST, MOST_REPEATS).min(affordable).max(LEAST_REPEATS)
}

/// How many packets go into a silence at a time: what ends it is one of them getting through, and the run of losses that took the
/// last ones may go on.
pub fn silence_probes(losses: Losses) -> u32 {
    losses.copies(1.0, PROBES_LOST, MOST_PROBES).max(LEAST_PROBES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(share: f64) -> Losses {
        Losses { share, burst: 1.0 }
    }

    #[test]
    fn a_clean_path_gets_no_repair() {
        let all = Flight { deficit: 0, sources: 500, repairs: 0 };
        assert!(!BulkRule::default().is_due(all, all, apart(0.0), SMALL, Backlog::Nothing, 0.0));
        assert_eq!(interactive_repairs(apart(0.0)), 0);
    }

    /// A path of one span.
    const SMALL: Spread = Spread { step: 1, part: 1.0 };

    /// Repairs that a flight of `n` sources gets.
    fn repairs(n: u32, losses: Losses, ahead: Backlog) -> u32 {
        let full = |repairs| Flight { deficit: 0, sources: n, repairs };
        (0..=10 * n)
            .find(|r| !BulkRule::default().is_due(full(*r), full(*r), losses, SMALL, ahead, 0.0))
            .expect("no more are due at some point")
    }

    #[test]
    fn the_steady_ratio_is_close_to_the_ideal() {
        for p in [0.01, 0.05, 0.2] {
            let n = 1_000;
            let ideal = f64::from(n) * p / (1.0 - p);
            // Two deviations of what is lost of sources and repairs.
            let margin = 1.0 + 2.0 * (f64::from(n) * p / (1.0 - p)).sqrt();
            let [busy, idle, tail] = [Backlog::Waiting(1.0), Backlog::Waiting(0.0), Backlog::Nothing]
                .map(|ahead| f64::from(repairs(n, apart(p), ahead)));
            assert!((ideal..ideal + margin).contains(&busy), "p {p}: {busy} {ideal}");
            assert!(busy < idle && idle < tail, "p {p}: {busy} {idle} {tail}");
        }
    }

    #[test]
    fn runs_of_losses_ask_for_more_only_when_nothing_waits() {
        for (n, p) in [(10, 0.05), (10, 0.2), (300, 0.05), (2_000, 0.2)] {
            let runs = Losses { share: p, burst: 10.0 };
            assert_eq!(repairs(n, runs, Backlog::Waiting(1.0)), repairs(n, apart(p), Backlog::Waiting(1.0)));
            for ahead in [Backlog::Waiting(0.0), Backlog::Nothing] {
                let (few, many) = (repairs(n, apart(p), ahead), repairs(n, runs, ahead));
                assert!(many > few, "{n} {p}: {many} {few}");
            }
        }
    }

    #[test]
    fn what_is_remembered_changes_no_answer() {
        let mut random = ripstop_base::Seed::new(5).stream("guard");
        let (mut guard, mut masked) = (Guard::default(), 0);
        let mut flight = Flight { deficit: 0, sources: 100, repairs: 4 };
        let (mut losses, mut limit) = (apart(0.02), 0.2);
        for _ in 0..20_000 {
            flight.sources = (flight.sources + random.below(5) as u32).clamp(52, 302) - 2;
            match random.below(60) {
                0 => flight.repairs = random.below(9) as u32,
                1 => flight.deficit = random.below(3) as u32,
                2 => losses.share = [0.02, 0.05][random.below(2) as usize],
                3 => limit = [0.2, 0.5][random.below(2) as usize],
                4 => losses.burst = [1.0, 4.0][random.below(2) as usize],
                _ => {}
            }
            let is_masked = losses.unmasked(flight.deficit, flight.sources, flight.repairs) <= limit;
            assert_eq!(guard.is_masked(flight, losses, limit), is_masked, "{flight:?} {losses:?} {limit}");
            masked += u32::from(is_masked);
        }
        assert!((2_000..18_000).contains(&masked), "{masked}");
    }

    #[test]
    fn exact_repairs_are_as_good_as_sure_when_nothing_waits() {
        let wanted = |holes, losses, waiting| ExactRule::new(1, losses, waiting).wanted(holes);
        assert_eq!(wanted(1, apart(0.2), 1.0), 1);
        assert_eq!(wanted(1, apart(0.2), 0.0), 3);
        assert_eq!(wanted(4, apart(0.05), 1.0), 4);
        assert_eq!(wanted(4, apart(0.05), 0.0), 5);
        assert_eq!(wanted(1, apart(0.0), 0.0), 1);
        assert_eq!(wanted(0, apart(0.5), 0.0), 0);
        assert_eq!(wanted(3, apart(1.0), 1.0), 24);
        // A run of losses may take all of them.
        let runs = Losses { share: 0.05, burst: 10.0 };
        assert_eq!(wanted(4, runs, 1.0), 4);
        assert!(wanted(4, runs, 0.0) > 8);
    }

    #[test]
    fn of_many_groups_each_is_surer_and_runs_take_less_of_it() {
        let wanted = |groups, losses| ExactRule::new(groups, losses, 0.0).wanted(20);
        assert_eq!(wanted(1, apart(0.2)), 30);
        assert_eq!(wanted(100, apart(0.2)), 33);
        let runs = Losses { share: 0.2, burst: 8.0 };
        assert_eq!(wanted(100, runs), wanted(100, apart(0.2)), "eight groups by turns");
        assert!(wanted(4, runs) > wanted(4, apart(0.2)));
        // While much waits, as many as arrive on average.
        assert_eq!(ExactRule::new(100, runs, 1.0).wanted(20), 25);
    }

    #[test]
    fn spans_are_spread_where_the_path_holds_many_and_losses_come_in_runs() {
        let step = |packets, burst| Spread::of(packets, Losses { share: 0.1, burst }).step;
        assert_eq!(
            (step(0.0, 9.0), step(500.0, 9.0), step(8_200.0, 1.0), step(1e9, f64::NAN)),
            (1, 1, 1, 16)
        );
        assert_eq!((step(8_200.0, 4.0), step(1_100.0, 9.0), step(66_000.0, 20.0)), (4, 4, 16));
        // A run of 8 packets is one loss to each of 8 repairs' symbols.
        let runs = Losses { share: 0.05, burst: 8.0 };
        let wanted = |losses, spread: Spread| {
            let all =
                |repairs| Flight { deficit: 0, sources: spread.step * SPAN, repairs: spread.step * repairs };
            let ahead = Backlog::Waiting(0.0);
            let due = |r: &u32| BulkRule::default().is_due(all(*r), all(*r), losses, spread, ahead, 0.0);
            (0..200).find(|repairs| !due(repairs)).expect("no more are due at some point")
        };
        let spread = Spread::of(8_200.0, runs);
        assert_eq!(wanted(runs, spread), wanted(apart(0.05), spread));
        assert!(wanted(runs, spread) * 3 < 2 * wanted(runs, Spread { step: 1, ..spread }));
        // Where the path holds many spans each is guarded better, for a flow waits for all of them.
        assert!(wanted(runs, SMALL) < wanted(runs, Spread { step: 1, ..spread }));
    }

    #[test]
    fn what_must_be_heard_is_repeated_as_the_runs_of_losses_ask() {
        let losses = |share, burst| Losses { share, burst };
        assert_eq!(report_repeats(apart(0.0), 99), LEAST_REPEATS);
        assert_eq!(report_repeats(apart(0.2), 99), LEAST_REPEATS);
        assert_eq!(report_repeats(losses(0.1, 10.0), 99), 22);
        assert_eq!(report_repeats(losses(0.1, 10.0), 7), 7);
        assert_eq!(report_repeats(losses(0.1, 10.0), 0), LEAST_REPEATS);
        assert_eq!(report_repeats(losses(1.0, f64::NAN), 99), MOST_REPEATS);
        assert_eq!(silence_probes(apart(0.05)), LEAST_PROBES);
        assert_eq!(silence_probes(losses(0.05, 10.0)), 22);
        assert_eq!(silence_probes(losses(1.0, 64.0)), MOST_PROBES);
    }

    #[test]
    fn interactive_packets_are_repeated_as_the_loss_asks() {
        let wanted = |share, burst| interactive_repairs(Losses { share, burst });
        assert_eq!(wanted(0.001, 1.0), 0);
        assert_eq!(wanted(0.002, 1.0), 1);
        assert_eq!(wanted(0.01, 1.01), 1);
        assert_eq!(wanted(0.05, 1.05), 2);
        assert_eq!(wanted(0.2, 1.25), 4);
        assert_eq!(wanted(0.05, 4.0), 4);
        assert_eq!(wanted(1.0, f64::NAN), 4);
    }
}
