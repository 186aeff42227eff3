//! Loss models. They decide which packets the channel loses.

use crate::error::LinkConfigError;
use ripstop_base::{Fraction, Seed, Stream};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;

/// How the channel loses packets.
///
/// A configuration gives a share (`"5%"`, independent losses) or a table with a `model`. An example
/// of a table is `{ model = "gilbert", mean = "5%", burst = 4 }`. A table of the Gilbert model may
/// also have `stay_bad = 0.75` instead of `burst`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum Loss {
    /// Nothing is lost.
    #[default]
    None,
    /// Every packet is lost with the same probability, independently.
    Bernoulli {
        /// Probability that a packet is lost.
        probability: Fraction,
    },
    /// Gilbert's two-state channel (paper 003, section 2.1), described by the losses that it
    /// causes. The channel is a chain that is in a good or a bad state. Every packet sent in the
    /// bad state is lost. No packet sent in the good state is lost. The first state is drawn from
    /// the chain's stationary distribution.
    Gilbert {
        /// Share of packets lost in the long run.
        mean: Fraction,
        /// Mean length of a run of losses, in packets; at least 1. If the length is 1/(1 - mean),
        /// the losses are independent.
        burst: f64,
    },
    /// Gilbert and Elliott's two-state channel, described by transition probabilities. For each
    /// packet, the chain first makes one step. Then the new state's loss probability applies. The
    /// first state is drawn from the chain's stationary distribution.
    GilbertElliott {
        /// Probability of a step from good to bad.
        to_bad: Fraction,
        /// Probability of a step from bad to good.
        to_good: Fraction,
        /// Loss probability in the good state.
        loss_good: Fraction,
        /// Loss probability in the bad state.
        loss_bad: Fraction,
    },
    /// Exactly the listed packets are lost. The first packet has index 0.
    Indices {
        /// Indices of the lost packets, in any order.
        lost: Vec<u64>,
        /// The list repeats after this many packets. None: the list applies once.
        period: Option<u64>,
    },
    /// A recorded sequence: `1` for a lost packet, `0` for a packet that passes. The sequence
    /// repeats for ever.
    Sequence {
        /// The sequence, for example `"0001"`.
        pattern: String,
    },
}

impl Loss {
    /// Gilbert's channel in paper 003's letters. `mean` is L, the share of packets lost. `stay_bad`
    /// is q, the probability that a loss follows a loss; q = 1 - 1/burst. With q = L the losses are
    /// independent.
    pub fn gilbert(mean: Fraction, stay_bad: Fraction) -> Loss {
        Loss::Gilbert { mean, burst: 1.0 / (1.0 - stay_bad.get()) }
    }

    /// Independent losses with the given probability.
    pub fn bernoulli(probability: Fraction) -> Loss {
        Loss::Bernoulli { probability }
    }

    /// Whether the model can ever lose a packet.
    pub fn is_active(&self) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli { probability } => probability.get() > 0.0,
            Loss::Gilbert { mean, .. } => mean.get() > 0.0,
            Loss::GilbertElliott { loss_good, loss_bad, .. } => loss_good.get() > 0.0 || loss_bad.get() > 0.0,
            Loss::Indices { lost, .. } => !lost.is_empty(),
            Loss::Sequence { pattern } => pattern.contains('1'),
        }
    }

    /// The share of packets lost in the long run. 0 for a list of indices that is not repeated.
    pub fn mean(&self) -> f64 {
        match self {
            Loss::None => 0.0,
            Loss::Bernoulli { probability } => probability.get(),
            Loss::Gilbert { mean, .. } => mean.get(),
            Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let bad = stationary_bad(to_bad.get(), to_good.get());
                bad * loss_bad.get() + (1.0 - bad) * loss_good.get()
            }
            Loss::Indices { lost, period } => match period {
                Some(period) if *period > 0 => {
                    let mut once = lost.clone();
                    once.sort_unstable();
                    once.dedup();
                    once.len() as f64 / *period as f64
                }
                _ => 0.0,
            },
            Loss::Sequence { pattern } => {
                let ones = pattern.bytes().filter(|b| *b == b'1').count();
                if pattern.is_empty() { 0.0 } else { ones as f64 / pattern.len() as f64 }
            }
        }
    }

    /// Checks the parameters. `field` names the setting in the error. `unit` is the word for what
    /// is lost: "packet" or "unit".
    pub(crate) fn check(&self, field: &str, unit: &str) -> Result<(), LinkConfigError> {
        let wrong = |part: &str, problem: String| Err(LinkConfigError::new(format!("{field}.{part}"), problem));
        match self {
            Loss::None | Loss::Bernoulli { .. } | Loss::GilbertElliott { .. } => Ok(()),
            Loss::Gilbert { mean, burst } => {
                if !burst.is_finite() || *burst < 1.0 {
                    return wrong("burst", format!("{burst} is not a mean burst length; write 1 {unit} or more"));
                }
                let longest = burst / (1.0 + burst);
                if mean.get() > longest {
                    return wrong(
                        "mean",
                        format!(
                            "{mean} cannot be reached with bursts of {burst} {unit}s: \
                             write at most {longest:.4}, or a longer burst"
                        ),
                    );
                }
                Ok(())
            }
            Loss::Indices { lost, period } => {
                let Some(period) = period else { return Ok(()) };
                match lost.iter().find(|i| **i >= *period) {
                    _ if *period == 0 => wrong(
                        "period",
                        format!("a period of 0 {unit}s is not possible; write 1 or more, or leave out `period`"),
                    ),
                    Some(index) => wrong(
                        "lost",
                        format!(
                            "{index} is not below the period of {period} {unit}s; write a smaller index or a longer period"
                        ),
                    ),
                    None => Ok(()),
                }
            }
            Loss::Sequence { pattern } => {
                if pattern.is_empty() || pattern.bytes().any(|b| b != b'0' && b != b'1') {
                    return wrong(
                        "pattern",
                        "write one or more of the digits `0` (passes) and `1` (lost), and nothing else".into(),
                    );
                }
                Ok(())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Loss, D::Error> {
        struct Reader;
        impl<'de> de::Visitor<'de> for Reader {
            type Value = Loss;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a loss share such as `5%`, or a table with a `model`")
            }
            fn visit_str<E: de::Error>(self, s: &str) -> Result<Loss, E> {
                s.parse().map(Loss::bernoulli).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Loss, E> {
                self.visit_str(&n.to_string())
            }
            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Loss, E> {
                self.visit_str(&n.to_string())
            }
            fn visit_f64<E: de::Error>(self, n: f64) -> Result<Loss, E> {
                self.visit_str(&n.to_string())
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Loss, A::Error> {
                Table::deserialize(de::value::MapAccessDeserializer::new(map))?.loss().map_err(de::Error::custom)
            }
        }
        from.deserialize_any(Reader)
    }
}

/// [`Loss`] as a table in a configuration file: the same variants, with defaults for fields that
/// may be left out.
#[derive(Deserialize)]
#[serde(tag = "model", rename_all = "snake_case", deny_unknown_fields)]
enum Table {
    None,
    Bernoulli {
        probability: Fraction,
    },
    Gilbert {
        mean: Fraction,
        #[serde(default)]
        burst: Option<f64>,
        #[serde(default)]
        stay_bad: Option<Fraction>,
    },
    GilbertElliott {
        to_bad: Fraction,
        to_good: Fraction,
        #[serde(default = "nothing")]
        loss_good: Fraction,
        #[serde(default = "everything")]
        loss_bad: Fraction,
    },
    Indices {
        lost: Vec<u64>,
        #[serde(default)]
        period: Option<u64>,
    },
    Sequence {
        pattern: String,
    },
}

impl Table {
    fn loss(self) -> Result<Loss, &'static str> {
        Ok(match self {
            Table::None => Loss::None,
            Table::Bernoulli { probability } => Loss::Bernoulli { probability },
            Table::Gilbert { mean, burst: Some(burst), stay_bad: None } => Loss::Gilbert { mean, burst },
            Table::Gilbert { mean, burst: None, stay_bad: Some(q) } if q.get() < 1.0 => Loss::gilbert(mean, q),
            Table::Gilbert { burst: None, stay_bad: Some(_), .. } => {
                return Err("with a `stay_bad` of 100%, a burst never ends; write less, for example `0.75`");
            }
            Table::Gilbert { .. } => {
                return Err(
                    "the model `gilbert` needs either `burst` (a mean length such as `4`) or `stay_bad` (such as `0.75`)",
                );
            }
            Table::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad }
            }
            Table::Indices { lost, period } => Loss::Indices { lost, period },
            Table::Sequence { pattern } => Loss::Sequence { pattern },
        })
    }
}

fn nothing() -> Fraction {
    Fraction::ZERO
}

fn everything() -> Fraction {
    Fraction::new(1.0).unwrap_or(Fraction::ZERO)
}

/// A loss model in the form that the link uses.
#[derive(Clone, Debug)]
pub(crate) enum LossModel {
    None,
    Bernoulli(f64),
    TwoState { to_bad: f64, to_good: f64, loss_good: f64, loss_bad: f64 },
    Indices { sorted: Vec<u64>, period: Option<u64> },
    Sequence(Vec<u8>),
}

impl LossModel {
    /// Prepares a description that [`Loss::check`] has accepted.
    pub(crate) fn new(loss: &Loss) -> LossModel {
        match loss {
            Loss::None => LossModel::None,
            Loss::Bernoulli { probability } => LossModel::Bernoulli(probability.get()),
            Loss::Gilbert { mean, burst } => {
                // The length of a burst is geometric with mean 1/to_good, and mean = to_bad/(to_bad
                // + to_good).
                let (mean, to_good) = (mean.get(), 1.0 / burst);
                let to_bad = (to_good * mean / (1.0 - mean)).min(1.0);
                LossModel::TwoState { to_bad, to_good, loss_good: 0.0, loss_bad: 1.0 }
            }
            Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => LossModel::TwoState {
                to_bad: to_bad.get(),
                to_good: to_good.get(),
                loss_good: loss_good.get(),
                loss_bad: loss_bad.get(),
            },
            Loss::Indices { lost, period } => {
                let mut sorted = lost.clone();
                sorted.sort_unstable();
                LossModel::Indices { sorted, period: *period }
            }
            Loss::Sequence { pattern } => LossModel::Sequence(pattern.as_bytes().to_vec()),
        }
    }

    /// Whether a trace (a list or a sequence) loses the packet with this index. False for other
    /// models.
    pub(crate) fn lists(&self, index: u64) -> bool {
        match self {
            LossModel::Indices { sorted, period } => {
                let index = period.map_or(index, |p| index.checked_rem(p).unwrap_or(index));
                sorted.binary_search(&index).is_ok()
            }
            LossModel::Sequence(pattern) => {
                let at = index.checked_rem(pattern.len() as u64).unwrap_or(0);
                pattern.get(at as usize) == Some(&b'1')
            }
            LossModel::None | LossModel::Bernoulli(_) | LossModel::TwoState { .. } => false,
        }
    }
}

/// The random streams of a loss model and the state of its two-state chain.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    loss: Stream,
    state: Stream,
    /// Whether the chain is in its bad state; None until the first packet under a two-state model.
    bad: Option<bool>,
}

impl Channel {
    /// The channel of the link called `name`.
    pub(crate) fn new(seed: Seed, name: &str) -> Channel {
        Channel {
            loss: seed.stream(&format!("{name}/loss")),
            state: seed.stream(&format!("{name}/loss-state")),
            bad: None,
        }
    }

    /// Draws 53 bits from the loss stream. Independent losses need nothing else, so the chain's
    /// stream is not used.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        self.loss.next_u64() >> 11
    }

    /// Whether the packet with this index is lost. Draws once from each stream under every model,
    /// so that the random numbers of packet k do not depend on the packets before it.
    pub(crate) fn loses(&mut self, model: &LossModel, index: u64) -> bool {
        let (luck, step) = (self.loss.unit(), self.state.unit());
        match model {
            LossModel::None => false,
            LossModel::Bernoulli(p) => luck < *p,
            LossModel::TwoState { to_bad, to_good, loss_good, loss_bad } => {
                let bad = match self.bad {
                    None => step < stationary_bad(*to_bad, *to_good),
                    Some(true) => step >= *to_good,
                    Some(false) => step < *to_bad,
                };
                self.bad = Some(bad);
                luck < if bad { *loss_bad } else { *loss_good }
            }
            LossModel::Indices { .. } | LossModel::Sequence(_) => model.lists(index),
        }
    }
}

/// The share of steps that the chain spends in the bad state in the long run; 0 for a chain that
/// never changes its state.
pub(crate) fn stationary_bad(to_bad: f64, to_good: f64) -> f64 {
    if to_bad + to_good > 0.0 { to_bad / (to_bad + to_good) } else { 0.0 }
}
