//! How much to send ahead of losses.
//!
//! What a receiver reports missing is repaired exactly, whatever is set here; proactive repairs
//! save the round trip that a report takes. They buy delay, not throughput, and cost bandwidth one for one.

use ripstop_model::masking::unmasked_probability;
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
/// The newest part of the flight: so long, or so many packets if these took longer. Fewer could not be guarded but at a high price.
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

/// How much is left to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ahead {
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
}

impl BulkRule {
    /// Whether a bulk flight wants another repair: `all` of it, and the `recent` part of what was sent (within
    /// [`RECENT`], with the repairs of that time), on a path with loss `p`. `dither` sources are added to what is in flight, so that
    /// repairs do not fall into step with a queue's drops.
    pub fn is_due(&mut self, all: Flight, recent: Flight, p: f64, ahead: Ahead, dither: f64) -> bool {
        if p <= 0.0 || all.sources == 0 {
            return false;
        }
        let (whole, newest) = match ahead {
            Ahead::Nothing => (TAIL_UNMASKED, 1.0),
            Ahead::Waiting(rounds) if rounds < IDLE => (IDLE_UNMASKED, IDLE_UNMASKED),
            Ahead::Waiting(_) => (BULK_UNMASKED, RECENT_UNMASKED),
        };
        let dither = if matches!(ahead, Ahead::Nothing) { 0.0 } else { dither };
        let sources = (f64::from(all.sources) + dither).max(0.0) as u32;
        !self.all.is_masked(Flight { sources, ..all }, p, whole)
            || (all.sources >= LARGE_FLIGHT && !self.recent.is_masked(recent, p, newest))
    }
}

/// What was found of a flight: it holds for smaller ones with as many repairs.
#[derive(Clone, Copy, Debug, Default)]
struct Guard {
    /// The largest flight known to be masked, on a path with loss `p` and but for the probability `unmasked`.
    largest: Flight,
    p: f64,
    unmasked: f64,
}

impl Guard {
    /// Whether the losses of `flight` are masked, on a path with loss `p`, but for the probability `unmasked`.
    fn is_masked(&mut self, flight: Flight, p: f64, unmasked: f64) -> bool {
        let Flight { deficit, sources, repairs } = flight;
        let same = (self.p, self.unmasked) == (p, unmasked);
        if same
            && (self.largest.deficit, self.largest.repairs) == (deficit, repairs)
            && sources <= self.largest.sources
        {
            return true;
        }
        // A little beyond, for those that come next.
        [sources + sources / 16, sources].into_iter().any(|sources| {
            let masked = unmasked_probability(deficit, sources, repairs, p) <= unmasked;
            if masked {
                *self = Guard { largest: Flight { sources, ..flight }, p, unmasked };
            }
            masked
        })
    }
}

/// Whether `holes` that a receiver has asked for want another repair beside those in flight, on a path with loss `p`: as
/// many as are to arrive on average; when next to nothing waits to be sent (`waiting`, in round trips), as many as are
/// as good as sure to, for whoever sends no more may be waiting for this one.
pub fn exact_repair_due(holes: u32, repairs: u32, p: f64, waiting: f64) -> bool {
    let short = f64::from(holes) - (1.0 - p) * f64::from(repairs) >= 0.5;
    short || waiting < IDLE && unmasked_probability(holes, 0, repairs, p) > IDLE_UNMASKED
}

/// How many repairs should follow an interactive packet when the loss is `p` and a burst of losses
/// has `mean_burst` packets on average.
pub fn interactive_repairs(p: f64, mean_burst: f64) -> u32 {
    // What follows a loss is lost with probability 1 - 1/burst.
    let again = (1.0 - 1.0 / mean_burst.max(1.0)).max(p);
    let mut lost = p;
    let mut repairs = 0;
    while lost > INTERACTIVE_LOST && repairs < INTERACTIVE_REPAIRS {
        lost *= again;
        repairs += 1;
    }
    repairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_path_gets_no_repair() {
        let all = Flight { deficit: 0, sources: 500, repairs: 0 };
        assert!(!BulkRule::default().is_due(all, all, 0.0, Ahead::Nothing, 0.0));
        assert_eq!(interactive_repairs(0.0, 1.0), 0);
    }

    #[test]
    fn the_steady_ratio_is_close_to_the_ideal() {
        for p in [0.01, 0.05, 0.2] {
            let n = 1_000;
            let repairs = |ahead| {
                let full = |r| Flight { deficit: 0, sources: n, repairs: r };
                f64::from(
                    (0..n).find(|r| !BulkRule::default().is_due(full(*r), full(*r), p, ahead, 0.0)).unwrap(),
                )
            };
            let ideal = f64::from(n) * p / (1.0 - p);
            // Two deviations of what is lost of sources and repairs.
            let margin = 1.0 + 2.0 * (f64::from(n) * p / (1.0 - p)).sqrt();
            let [busy, idle, tail] = [Ahead::Waiting(1.0), Ahead::Waiting(0.0), Ahead::Nothing].map(repairs);
            assert!((ideal..ideal + margin).contains(&busy), "p {p}: {busy} {ideal}");
            assert!(busy < idle && idle < tail, "p {p}: {busy} {idle} {tail}");
        }
    }

    #[test]
    fn what_is_remembered_changes_no_answer() {
        let mut random = ripstop_base::Seed::new(5).stream("guard");
        let (mut guard, mut masked) = (Guard::default(), 0);
        let mut flight = Flight { deficit: 0, sources: 100, repairs: 4 };
        let (mut p, mut limit) = (0.02, 0.2);
        for _ in 0..20_000 {
            flight.sources = (flight.sources + random.below(5) as u32).clamp(52, 302) - 2;
            match random.below(60) {
                0 => flight.repairs = random.below(9) as u32,
                1 => flight.deficit = random.below(3) as u32,
                2 => p = [0.02, 0.05][random.below(2) as usize],
                3 => limit = [0.2, 0.5][random.below(2) as usize],
                _ => {}
            }
            let is_masked = unmasked_probability(flight.deficit, flight.sources, flight.repairs, p) <= limit;
            assert_eq!(guard.is_masked(flight, p, limit), is_masked, "{flight:?} {p} {limit}");
            masked += u32::from(is_masked);
        }
        assert!((2_000..18_000).contains(&masked), "{masked}");
    }

    #[test]
    fn exact_repairs_are_as_good_as_sure_when_nothing_waits() {
        let wanted = |holes, p, waiting| (0..99).find(|r| !exact_repair_due(holes, *r, p, waiting)).unwrap();
        assert_eq!(wanted(1, 0.2, 1.0), 1);
        assert_eq!(wanted(1, 0.2, 0.0), 3);
        assert_eq!(wanted(4, 0.05, 1.0), 4);
        assert_eq!(wanted(4, 0.05, 0.0), 5);
        assert_eq!(wanted(1, 0.0, 0.0), 1);
        assert_eq!(wanted(0, 0.5, 0.0), 0);
    }

    #[test]
    fn interactive_packets_are_repeated_as_the_loss_asks() {
        assert_eq!(interactive_repairs(0.001, 1.0), 0);
        assert_eq!(interactive_repairs(0.002, 1.0), 1);
        assert_eq!(interactive_repairs(0.01, 1.01), 1);
        assert_eq!(interactive_repairs(0.05, 1.05), 2);
        assert_eq!(interactive_repairs(0.2, 1.25), 4);
        assert_eq!(interactive_repairs(0.05, 4.0), 4);
        assert_eq!(interactive_repairs(1.0, f64::NAN), 4);
    }
}
