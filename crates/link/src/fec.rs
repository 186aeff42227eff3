//! Block codes below the network layer (paper 003, section 2). A packet crosses the link in units,
//! and a block that loses only a few units is restored.
//!
//! Units are lost independently, by a list (a trace), or by a two-state chain. The chain is in a
//! good or a bad state and makes one step per unit; see [`Loss::Gilbert`] and
//! [`Loss::GilbertElliott`].

use crate::block_losses::BlockLosses;
use crate::counters::LinkCounters;
use crate::error::LinkConfigError;
use crate::field;
use crate::loss::{Loss, LossModel, stationary_bad};
use ripstop_base::{Bytes, Seed, Stream};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// An (N, K) block code on the link. A packet is cut into units. Each block of K units is sent as N
/// units and is restored when at least K of them arrive. A packet is lost when one of its blocks is
/// not restored.
///
/// * A packet is sent in whole blocks: the last block is padded and is also sent as N units.
/// * [`crate::LinkConfig::rate`] is the channel's rate. A packet of B blocks takes the time of B ×
///   N units, so packets get K/N of the rate. The queue, the MTU and the policer see the packet
///   before it is coded, and count the packet's own bytes.
/// * `loss` applies to units: in the description of [`Loss`], read "unit" for "packet".
///   [`crate::LinkConfig::loss`] applies in addition, to the packet as a whole.
/// * A two-state chain makes one step per unit. While the link is idle, the chain makes one step in
///   the time that a unit would take. At an unlimited rate the chain makes no steps while the link
///   is idle. The positions in a list or a sequence count only the units that are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fec {
    /// K: source units per block, 1 to 255.
    #[serde(deserialize_with = "field::k")]
    pub k: u32,
    /// N: units sent per block, K to 255 (a code over GF(256) cannot have more).
    #[serde(deserialize_with = "field::n")]
    pub n: u32,
    /// Size of a unit, 1 to 65535 bytes. Default: 53, an ATM cell.
    #[serde(deserialize_with = "field::unit", default = "cell")]
    pub unit: Bytes,
    /// The loss model for units.
    #[serde(deserialize_with = "field::loss", default)]
    pub loss: Loss,
}

impl Fec {
    /// The code that sends each block of `k` units as `n` units. Units are ATM cells of 53 bytes
    /// and are lost by `loss`.
    pub fn new(n: u32, k: u32, loss: Loss) -> Fec {
        Fec { k, n, unit: cell(), loss }
    }

    /// The number of blocks that a packet of `bytes` bytes takes.
    pub fn blocks(&self, bytes: usize) -> u64 {
        let block = u64::from(self.k).saturating_mul(self.unit.get()).max(1);
        (bytes as u64).div_ceil(block)
    }

    /// Checks the parameters; `field` names the setting in the error.
    pub(crate) fn check(&self, field: &str) -> Result<(), LinkConfigError> {
        let wrong = |part: &str, problem: String| Err(LinkConfigError::new(format!("{field}.{part}"), problem));
        let (n, k, unit) = (self.n, self.k, self.unit.get());
        if k == 0 || k > MAX_BLOCK_UNITS {
            return wrong("k", format!("a block cannot have {k} source units; write 1 to {MAX_BLOCK_UNITS}"));
        }
        if n < k {
            return wrong(
                "n",
                format!("{n} units cannot carry the {k} source units of a block; write {k} to {MAX_BLOCK_UNITS}"),
            );
        }
        if n > MAX_BLOCK_UNITS {
            return wrong("n", format!("a block cannot have {n} units; write {k} to {MAX_BLOCK_UNITS}"));
        }
        if unit == 0 || unit > MAX_UNIT_BYTES {
            return wrong("unit", format!("a unit cannot have {unit} bytes; write 1 to {MAX_UNIT_BYTES} bytes"));
        }
        self.loss.check(&format!("{field}.loss"), "unit")
    }
}

/// An ATM cell, the unit of paper 003, section 4.3.
fn cell() -> Bytes {
    Bytes::new(53)
}

/// The largest number of units in a block: the length of a maximum-distance separable code over
/// GF(256).
const MAX_BLOCK_UNITS: u32 = 255;
/// The largest unit in bytes: as large as the largest IP packet.
const MAX_UNIT_BYTES: u64 = 65_535;

/// Only the first 2^20 units of a packet can be lost. All later units arrive.
///
/// The limit bounds the time that one [`Link::offer`](crate::Link::offer) takes. With half the
/// value, the longest time is half as long. A packet of up to 64 kB has more units only if K units
/// together have fewer than 16 bytes.
const MAX_WALKED_UNITS: u64 = 1 << 20;

/// The block code of one link, and the channel that loses its units.
#[derive(Clone, Debug)]
pub(crate) struct Codec {
    code: Fec,
    channel: UnitLoss,
    /// One random number for each packet offered.
    draws: Stream,
    /// Units sent so far: the position in a list or sequence of lost units.
    sent: u64,
    /// Whether the two-state chain was in the bad state at the last unit; None before the first
    /// unit.
    bad: Option<bool>,
    /// Steps that the chain has made since the last unit, while no unit was sent.
    idle: u128,
    /// Idle time that did not fill a whole step. Unit: nanobits (10^-9 bit) that the link could
    /// have sent in this time.
    rest: u128,
    /// The length of the last packet in units, and the probability that a packet of this length
    /// loses no unit. With a chain, it is the probability that the chain stays in the good state
    /// for the whole packet. Both values are kept because most packets have the size of the packet
    /// before.
    clean: (u64, f64),
    /// The lost units of the latest packet, in ascending order. None if they are not kept.
    lost: Option<Vec<Range<u32>>>,
}

impl Codec {
    /// The codec of the link called `name`. `code` must be valid (see [`Fec::check`]).
    pub(crate) fn new(code: &Fec, seed: Seed, name: &str) -> Codec {
        Codec {
            channel: UnitLoss::new(&code.loss),
            code: code.clone(),
            draws: seed.stream(&format!("{name}/units")),
            sent: 0,
            bad: None,
            idle: 0,
            rest: 0,
            clean: (0, 1.0),
            lost: None,
        }
    }

    /// Keeps from now on which units of the latest packet were lost.
    pub(crate) fn keep_lost_units(&mut self) {
        self.lost = Some(Vec::new());
    }

    /// The lost units of the latest packet; see [`Link::lost_units`](crate::Link::lost_units).
    pub(crate) fn lost_units(&self) -> &[Range<u32>] {
        self.lost.as_deref().unwrap_or_default()
    }

    /// The number of bytes that a packet of `bytes` bytes takes on the link.
    pub(crate) fn wire_bytes(&self, bytes: usize) -> u128 {
        u128::from(self.units(bytes)) * u128::from(self.code.unit.get())
    }

    /// Makes the chain's steps for an idle time. The link could have sent `work` nanobits in this
    /// time.
    pub(crate) fn idles(&mut self, work: u128) {
        let unit = u128::from(self.code.unit.get()) * 8_000_000_000;
        let work = work.saturating_add(self.rest);
        // Both numbers nearly always fit 64 bits, where a division takes a tenth of the time.
        let steps = match (u64::try_from(work), u64::try_from(unit)) {
            (Ok(work), Ok(unit)) => u128::from(work / unit),
            _ => work / unit,
        };
        self.idle = self.idle.saturating_add(steps);
        self.rest = work - steps * unit;
    }

    /// Whether idle time changes the state of the channel.
    pub(crate) fn has_memory(&self) -> bool {
        matches!(self.channel, UnitLoss::Chain(_))
    }

    /// Draws the random number of a refused packet, so that each later packet gets the same random
    /// number as without the refusal.
    pub(crate) fn skip(&mut self) {
        let _ = self.draws.next_u64();
        self.lost.iter_mut().for_each(Vec::clear);
    }

    /// Sends a packet of `bytes` bytes, counts its units and blocks, and returns whether the packet
    /// is lost.
    ///
    /// Each packet draws one random number. Most often this number shows that no unit is lost.
    /// Otherwise the number also seeds a stream for all further draws of this packet. So the random
    /// numbers of packet k depend only on the seed and on k.
    pub(crate) fn loses(&mut self, bytes: usize, counters: &mut LinkCounters) -> bool {
        let number = self.draws.next_u64();
        let luck = (number >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        let units = self.units(bytes);
        let first = self.sent;
        self.sent = self.sent.saturating_add(units);
        counters.units_sent = counters.units_sent.saturating_add(units);
        let walked = units.min(MAX_WALKED_UNITS);
        self.lost.iter_mut().for_each(Vec::clear);
        if walked == 0 {
            return false;
        }
        let mut blocks = BlockLosses::new(&self.code, self.lost.as_mut());
        match &self.channel {
            UnitLoss::None => {}
            UnitLoss::Trace(model) => {
                for at in 0..walked {
                    if model.lists(first.saturating_add(at)) {
                        blocks.lose(at, at + 1);
                    }
                }
            }
            UnitLoss::Alike(loss) => {
                if self.clean.0 != walked {
                    self.clean = (walked, loss.survives(walked));
                }
                // A unit is lost only if the first run of units that arrive is shorter than the
                // packet.
                if 1.0 - luck > self.clean.1 {
                    let mut random = packet_stream(number);
                    let mut at = loss.run(luck).min(walked - 1);
                    while at < walked {
                        blocks.lose(at, at + 1);
                        at = (at + 1).saturating_add(loss.run(random.unit()));
                    }
                }
            }
            UnitLoss::Chain(chain) => {
                if self.clean.0 != walked {
                    self.clean = (walked, chain.leaves[0].survives(walked - 1));
                }
                let p = chain.bad_after(self.bad, self.idle);
                let bad = luck < p;
                // If `luck` is at least p, then (luck - p)/(1 - p) is uniform on [0, 1). This value
                // gives the length of the first stay in the good state.
                let rest = ((luck - p) / (1.0 - p)).clamp(0.0, 1.0);
                if !bad && chain.losses[0].never() && 1.0 - rest <= self.clean.1 {
                    self.bad = Some(false);
                } else {
                    let mut random = packet_stream(number);
                    let first = (!bad && chain.losses[0].never()).then_some(rest);
                    self.bad = Some(chain.walk(bad, first, walked, &mut random, &mut blocks));
                }
            }
        }
        // The chain has also made a step for each unit beyond MAX_WALKED_UNITS. These steps count
        // as idle steps.
        self.idle = u128::from(units - walked);
        blocks.count(counters)
    }

    /// The number of units that a packet of `bytes` bytes takes.
    fn units(&self, bytes: usize) -> u64 {
        self.code.blocks(bytes).saturating_mul(u64::from(self.code.n))
    }
}

/// The random stream of one packet.
fn packet_stream(number: u64) -> Stream {
    Seed::new(number).stream("units")
}

/// A loss model in a form that allows jumping from one loss to the next.
#[derive(Clone, Debug)]
enum UnitLoss {
    None,
    Alike(Trials),
    Chain(Chain),
    Trace(LossModel),
}

impl UnitLoss {
    fn new(loss: &Loss) -> UnitLoss {
        match LossModel::new(loss) {
            LossModel::None => UnitLoss::None,
            LossModel::Bernoulli(p) => UnitLoss::Alike(Trials::new(p)),
            LossModel::TwoState { to_bad, to_good, loss_good, loss_bad } => UnitLoss::Chain(Chain {
                leaves: [Trials::new(to_bad), Trials::new(to_good)],
                losses: [Trials::new(loss_good), Trials::new(loss_bad)],
                bad: stationary_bad(to_bad, to_good),
                memory: 1.0 - to_bad - to_good,
            }),
            trace @ (LossModel::Indices { .. } | LossModel::Sequence(_)) => UnitLoss::Trace(trace),
        }
    }
}

/// Independent trials that succeed with the same probability.
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

    /// The number of failures before the first success. `luck` must be uniform on [0, 1); the
    /// result then has a geometric distribution (inversion method).
    fn run(self, luck: f64) -> u64 {
        if self.never() {
            return u64::MAX;
        }
        // `as` saturates. For p = 1 the divisor is minus infinity and the result is 0.
        (libm::log(1.0 - luck) / self.ln_fail) as u64
    }

    /// The probability that all of `trials` trials fail.
    fn survives(self, trials: u64) -> f64 {
        if trials == 0 || self.never() { 1.0 } else { libm::exp(trials as f64 * self.ln_fail) }
    }
}

/// The two-state chain of units. Index 0 is the good state, index 1 the bad state.
#[derive(Clone, Copy, Debug)]
struct Chain {
    /// For each state, trials that succeed when the chain leaves the state.
    leaves: [Trials; 2],
    /// For each state, trials that succeed when a unit sent in the state is lost.
    losses: [Trials; 2],
    /// Share of time in the bad state, in the long run.
    bad: f64,
    /// One step multiplies the distance between the probability of the bad state and `bad` by this
    /// factor: 1 - P(to bad) - P(to good).
    memory: f64,
}

impl Chain {
    /// Probability of the bad state at the next unit. The last unit was sent in state `from` (true:
    /// bad), and the chain has made `idle` steps since. One more step leads to the next unit. Each
    /// step multiplies the distance from the stationary probability by `memory`, so `idle` + 1
    /// steps multiply it by `memory`^(`idle` + 1).
    fn bad_after(&self, from: Option<bool>, idle: u128) -> f64 {
        let Some(from) = from else { return self.bad };
        let away = if from { 1.0 - self.bad } else { -self.bad };
        let left = if idle == 0 {
            self.memory
        } else {
            // The sign is computed separately: an odd u128 exponent may become even when it is
            // rounded to f64.
            let size = libm::pow(self.memory.abs(), idle as f64 + 1.0);
            if self.memory < 0.0 && idle.is_multiple_of(2) { -size } else { size }
        };
        (self.bad + away * left).clamp(0.0, 1.0)
    }

    /// Goes through a packet's `units` units, records the lost units in `blocks`, and returns the
    /// state at the last unit (true: bad). `bad` is the state at the first unit. `first`, if given,
    /// replaces the random number for the length of the first stay in a state.
    fn walk(
        &self,
        mut bad: bool,
        mut first: Option<f64>,
        units: u64,
        random: &mut Stream,
        blocks: &mut BlockLosses<'_>,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A Gilbert chain in paper 003's letters. `p` is the probability of a loss after a good unit.
    /// `q` is the probability of a loss after a lost unit.
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
        // After 2^60 steps the exponent exceeds f64's precision. Only a chain that alternates with
        // certainty still remembers its start.
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
}
