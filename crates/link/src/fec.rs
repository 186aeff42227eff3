//! Block codes below the network layer: a packet crosses the link in units, and a block that loses few of them is whole
//! (paper 003, section 2).

use crate::config::ConfigError;
use crate::counters::Counters;
use crate::loss::{Loss, Model, stationary_bad};
use crate::text::field;
use ripstop_base::{Bytes, Seed, Stream};
use serde::{Deserialize, Serialize};

/// An (N, K) block code on the link. A packet is cut into units; each block of K units is sent as N, and is whole when at
/// least K of them arrive. A packet whose blocks are not all whole is lost.
///
/// * A packet is a whole number of blocks: what is left over of the last one is padded and sent as N units too.
/// * [`crate::LinkConfig::rate`] is the channel's: a packet of B blocks takes the time of B N units, so packets get K/N of it.
///   Queue, MTU and policer stand before the coder and count the packet's own bytes.
/// * Units are lost by `loss`, in which "packet" reads "unit"; [`crate::LinkConfig::loss`] is drawn beside it for the packet as
///   a whole. Units follow one another without a gap while packets wait. A two-state chain steps once a unit, and goes on while
///   the link idles, a step in the time of a unit (at an unlimited rate that is no step). Traces count the units sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fec {
    /// K: source units of a block, 1 to 255.
    #[serde(deserialize_with = "field::k")]
    pub k: u32,
    /// N: units sent for a block, K to 255 (a code over GF(256) has no more).
    #[serde(deserialize_with = "field::n")]
    pub n: u32,
    /// What a unit carries, 1 to 65535 bytes; 53, an ATM cell, unless given.
    #[serde(deserialize_with = "field::unit", default = "cell")]
    pub unit: Bytes,
    /// What the channel does to units.
    #[serde(deserialize_with = "field::loss", default)]
    pub loss: Loss,
}

impl Fec {
    /// The code that sends each block of `k` units as `n`, over cells of 53 bytes that are lost by `loss`.
    pub fn new(n: u32, k: u32, loss: Loss) -> Fec {
        Fec { k, n, unit: cell(), loss }
    }

    /// Blocks that a packet of `bytes` bytes takes.
    pub fn blocks(&self, bytes: usize) -> u64 {
        let block = u64::from(self.k).saturating_mul(self.unit.get()).max(1);
        (bytes as u64).div_ceil(block)
    }

    /// Checks the parameters; `field` names the setting in the error.
    pub(crate) fn check(&self, field: &str) -> Result<(), ConfigError> {
        let wrong = |part: &str, problem: String| Err(ConfigError::new(format!("{field}.{part}"), problem));
        let (n, k, unit) = (self.n, self.k, self.unit.get());
        if k == 0 || k > LONGEST {
            return wrong("k", format!("{k} is no number of source units; write 1 to {LONGEST}"));
        }
        if n < k {
            return wrong("n", format!("{n} units cannot carry the {k} of a block; write {k} to {LONGEST}"));
        }
        if n > LONGEST {
            return wrong("n", format!("{n} units are more than a block has; write {k} to {LONGEST}"));
        }
        if unit == 0 || unit > LARGEST_UNIT {
            return wrong("unit", format!("{unit} is no size of a unit; write 1 to {LARGEST_UNIT} bytes"));
        }
        self.loss.check(&format!("{field}.loss"), "unit")
    }
}

/// An ATM cell, the unit of paper 003, section 4.3.
fn cell() -> Bytes {
    Bytes::new(53)
}

/// Units of a block at most: the length of a maximum-distance separable code over GF(256).
const LONGEST: u32 = 255;
const LARGEST_UNIT: u64 = 65_535;

/// So many units of a packet are looked at; any that lie beyond arrive. No packet of 64 kB has more, but in units of one or two
/// bytes, and the time that an offer takes stays bounded.
const WALKED: u64 = 1 << 20;

/// The coder, the channel of units and the decoder of one link.
#[derive(Clone, Debug)]
pub(crate) struct Codec {
    code: Fec,
    channel: Units,
    chances: Stream,
    /// Units sent so far: the place in a trace.
    sent: u64,
    /// State of the two-state chain at the last unit; None before the first.
    bad: Option<bool>,
    /// Steps of the chain since then.
    idle: u128,
    /// Time of the idle link that did not fill a step, in bit-nanoseconds.
    rest: u128,
    /// The packet length seen last, in units, and the probability that none of them is lost.
    clean: (u64, f64),
}

impl Codec {
    /// The codec of the link called `name`; the code has been checked.
    pub(crate) fn new(code: &Fec, seed: Seed, name: &str) -> Codec {
        Codec {
            channel: Units::new(&code.loss),
            code: code.clone(),
            chances: seed.stream(&format!("{name}/units")),
            sent: 0,
            bad: None,
            idle: 0,
            rest: 0,
            clean: (0, 1.0),
        }
    }

    /// What a packet of `bytes` takes on the link, in bytes.
    pub(crate) fn wire_bytes(&self, bytes: usize) -> u128 {
        u128::from(self.units(bytes)) * u128::from(self.code.unit.get())
    }

    /// The link could have sent `work` bit-nanoseconds more than it did: the chain goes on in fictive units.
    pub(crate) fn idles(&mut self, work: u128) {
        let unit = u128::from(self.code.unit.get()) * 8_000_000_000;
        let work = work.saturating_add(self.rest);
        // Most often both fit 64 bits, where dividing costs a tenth.
        let steps = match (u64::try_from(work), u64::try_from(unit)) {
            (Ok(work), Ok(unit)) => u128::from(work / unit),
            _ => work / unit,
        };
        self.idle = self.idle.saturating_add(steps);
        self.rest = work - steps * unit;
    }

    /// Whether idle time changes anything.
    pub(crate) fn has_memory(&self) -> bool {
        matches!(self.channel, Units::Chain(_))
    }

    /// A packet was refused: it spends its chance, so that the others keep theirs.
    pub(crate) fn skip(&mut self) {
        let _ = self.chances.next_u64();
    }

    /// Sends a packet of `bytes` and says whether it is lost; counts units and blocks.
    ///
    /// The packet has one number of the stream. It decides whether any unit is lost at all, which is most often all there is to
    /// know; if one is, the number is the seed of all that follows. So the chances of packet k depend on k alone.
    pub(crate) fn loses(&mut self, bytes: usize, counters: &mut Counters) -> bool {
        let chance = self.chances.next_u64();
        let luck = (chance >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        let units = self.units(bytes);
        let first = self.sent;
        self.sent = self.sent.saturating_add(units);
        counters.units_sent = counters.units_sent.saturating_add(units);
        let walked = units.min(WALKED);
        if walked == 0 {
            return false;
        }
        let mut blocks = Blocks::new(&self.code);
        match &self.channel {
            Units::None => {}
            Units::Trace(model) => {
                for at in 0..walked {
                    if model.lists(first.saturating_add(at)) {
                        blocks.lose(at, at + 1);
                    }
                }
            }
            Units::Alike(loss) => {
                if self.clean.0 != walked {
                    self.clean = (walked, loss.survives(walked));
                }
                // The run of good units before the first loss is at least as long as the packet.
                if 1.0 - luck > self.clean.1 {
                    let mut random = more(chance);
                    let mut at = loss.run(luck).min(walked - 1);
                    while at < walked {
                        blocks.lose(at, at + 1);
                        at = (at + 1).saturating_add(loss.run(random.unit()));
                    }
                }
            }
            Units::Chain(chain) => {
                if self.clean.0 != walked {
                    self.clean = (walked, chain.leaves[0].survives(walked - 1));
                }
                let p = chain.bad_after(self.bad, self.idle);
                let bad = luck < p;
                // What is left of the number, uniform again, tells how long the good state lasts.
                let rest = ((luck - p) / (1.0 - p)).clamp(0.0, 1.0);
                if !bad && chain.losses[0].never() && 1.0 - rest <= self.clean.1 {
                    self.bad = Some(false);
                } else {
                    let mut random = more(chance);
                    let first = (!bad && chain.losses[0].never()).then_some(rest);
                    self.bad = Some(chain.walk(bad, first, walked, &mut random, &mut blocks));
                }
            }
        }
        // Beyond what was walked the chain has gone on.
        self.idle = u128::from(units - walked);
        blocks.count(counters)
    }

    fn units(&self, bytes: usize) -> u64 {
        self.code.blocks(bytes).saturating_mul(u64::from(self.code.n))
    }
}

/// The stream that belongs to one packet.
fn more(chance: u64) -> Stream {
    Seed::new(chance).stream("units")
}

/// A loss model made ready to jump from loss to loss.
#[derive(Clone, Debug)]
enum Units {
    None,
    Alike(Trials),
    Chain(Chain),
    Trace(Model),
}

impl Units {
    fn new(loss: &Loss) -> Units {
        match Model::new(loss) {
            Model::None => Units::None,
            Model::Bernoulli(p) => Units::Alike(Trials::new(p)),
            Model::TwoState { to_bad, to_good, loss_good, loss_bad } => Units::Chain(Chain {
                leaves: [Trials::new(to_bad), Trials::new(to_good)],
                losses: [Trials::new(loss_good), Trials::new(loss_bad)],
                bad: stationary_bad(to_bad, to_good),
                memory: 1.0 - to_bad - to_good,
            }),
            trace @ (Model::Indices { .. } | Model::Sequence(_)) => Units::Trace(trace),
        }
    }
}

/// Independent trials, each a success with the same probability.
#[derive(Clone, Copy, Debug)]
struct Trials {
    p: f64,
    /// ln(1 - p).
    ln_fail: f64,
}

impl Trials {
    fn new(p: f64) -> Trials {
        Trials { p, ln_fail: libm::log1p(-p) }
    }

    fn never(self) -> bool {
        self.p <= 0.0
    }

    /// How many trials fail before the first success, for a number `luck` uniform on [0, 1): geometric, by inversion.
    fn run(self, luck: f64) -> u64 {
        if self.never() {
            return u64::MAX;
        }
        // `as` saturates; where p = 1 this is 0 over minus infinity.
        (libm::log(1.0 - luck) / self.ln_fail) as u64
    }

    /// The probability that so many trials all fail.
    fn survives(self, trials: u64) -> f64 {
        if trials == 0 || self.never() { 1.0 } else { libm::exp(trials as f64 * self.ln_fail) }
    }
}

/// The two-state chain of units. Index 0 is the good state, 1 the bad one.
#[derive(Clone, Copy, Debug)]
struct Chain {
    /// Of leaving a state.
    leaves: [Trials; 2],
    /// Of losing a unit in it.
    losses: [Trials; 2],
    /// Share of the bad state in the long run.
    bad: f64,
    /// What a step leaves of the distance from that share: 1 - P(to bad) - P(to good).
    memory: f64,
}

impl Chain {
    /// Probability of the bad state at the first unit after `idle` steps, from the state before them: however many steps, the
    /// distance from the stationary law is a power.
    fn bad_after(&self, from: Option<bool>, idle: u128) -> f64 {
        let Some(from) = from else { return self.bad };
        let away = if from { 1.0 - self.bad } else { -self.bad };
        let left = if idle == 0 {
            self.memory
        } else {
            // The sign apart: the power of a large number that is odd as u128 may be even as f64.
            let size = libm::pow(self.memory.abs(), idle as f64 + 1.0);
            if self.memory < 0.0 && idle.is_multiple_of(2) { -size } else { size }
        };
        (self.bad + away * left).clamp(0.0, 1.0)
    }

    /// Goes through `units` units from the state of the first, loses some, and returns the state of the last. `first` tells the
    /// length of the first run in place of a number from `random`.
    fn walk(
        &self,
        mut bad: bool,
        mut first: Option<f64>,
        units: u64,
        random: &mut Stream,
        blocks: &mut Blocks,
    ) -> bool {
        let mut at: u64 = 0;
        loop {
            let luck = first.take().unwrap_or_else(|| random.unit());
            let end = (at + 1).saturating_add(self.leaves[usize::from(bad)].run(luck)).min(units);
            let loss = self.losses[usize::from(bad)];
            if loss.p >= 1.0 {
                blocks.lose(at, end);
            } else if !loss.never() {
                let mut next = at.saturating_add(loss.run(random.unit()));
                while next < end {
                    blocks.lose(next, next + 1);
                    next = (next + 1).saturating_add(loss.run(random.unit()));
                }
            }
            if end == units {
                return bad;
            }
            (at, bad) = (end, !bad);
        }
    }
}

/// Counts the losses of a packet's blocks. Losses come in ascending order.
#[derive(Clone, Copy, Debug)]
struct Blocks {
    n: u64,
    /// N - K.
    spare: u64,
    /// The end of the block that was hit last, and how many of its units were lost.
    end: u64,
    hits: u64,
    units_lost: u64,
    recovered: u64,
    lost: u64,
}

impl Blocks {
    fn new(code: &Fec) -> Blocks {
        let (n, k) = (u64::from(code.n.max(1)), u64::from(code.k));
        Blocks { n, spare: n.saturating_sub(k), end: n, hits: 0, units_lost: 0, recovered: 0, lost: 0 }
    }

    /// The units `from..to` are lost.
    fn lose(&mut self, mut from: u64, to: u64) {
        self.units_lost += to - from;
        while from < to {
            if from >= self.end {
                self.close();
                self.end = (from / self.n + 1) * self.n;
            }
            let until = to.min(self.end);
            self.hits += until - from;
            from = until;
        }
    }

    /// The block that was hit last is through.
    fn close(&mut self) {
        if self.hits > self.spare {
            self.lost += 1;
        } else if self.hits > 0 {
            self.recovered += 1;
        }
        self.hits = 0;
    }

    /// The packet is through: whether a block of it was lost.
    fn count(mut self, counters: &mut Counters) -> bool {
        if self.units_lost == 0 {
            return false;
        }
        self.close();
        counters.units_lost += self.units_lost;
        counters.blocks_recovered += self.recovered;
        counters.blocks_lost += self.lost;
        self.lost > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain by what it does, in paper 003's letters.
    fn chain(p: f64, q: f64) -> Chain {
        Chain {
            leaves: [Trials::new(p), Trials::new(1.0 - q)],
            losses: [Trials::new(0.0), Trials::new(1.0)],
            bad: stationary_bad(p, 1.0 - q),
            memory: q - p,
        }
    }

    #[test]
    fn idle_steps_are_the_chain_s_own() {
        for (p, q) in [(0.01, 0.9), (0.3, 0.2), (0.9, 0.05), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)] {
            let chain = chain(p, q);
            for from in [false, true] {
                let mut bad = f64::from(u8::from(from));
                for idle in 0..200u128 {
                    bad = bad * q + (1.0 - bad) * p;
                    let got = chain.bad_after(Some(from), idle);
                    assert!((got - bad).abs() < 1e-12, "p {p} q {q} from {from} after {idle}: {got} {bad}");
                }
            }
            assert_eq!(chain.bad_after(None, 7), chain.bad);
        }
        // Steps beyond the precision of a float: only a chain that alternates for certain still remembers.
        assert_eq!(chain(1.0, 0.0).bad_after(Some(true), (1 << 60) + 1), 1.0);
        assert_eq!(chain(1.0, 0.0).bad_after(Some(true), 1 << 60), 0.0);
        assert_eq!(chain(0.9, 0.05).bad_after(Some(true), u128::MAX), chain(0.9, 0.05).bad);
    }

    #[test]
    fn runs_are_geometric_and_total() {
        for (p, luck, want) in [
            (0.5, 0.0, 0),
            (0.5, 0.499, 0),
            (0.5, 0.5, 1),
            (0.5, 0.75, 2),
            (1.0, 0.0, 0),
            (1.0, 0.999, 0),
            (0.0, 0.5, u64::MAX),
            (f64::MIN_POSITIVE, 0.5, u64::MAX),
        ] {
            assert_eq!(Trials::new(p).run(luck), want, "{p} {luck}");
        }
    }

    #[test]
    fn losses_are_counted_block_by_block() {
        // Blocks of 4 that bear one loss: 3 of the first, none of the second, 1 of the third, 2 of the fourth.
        let mut blocks = Blocks::new(&Fec::new(4, 3, Loss::None));
        blocks.lose(0, 1);
        blocks.lose(2, 4);
        blocks.lose(11, 14);
        let mut counters = Counters::default();
        assert!(blocks.count(&mut counters));
        assert_eq!((counters.units_lost, counters.blocks_recovered, counters.blocks_lost), (6, 1, 2));
    }
}
