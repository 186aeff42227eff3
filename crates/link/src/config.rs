//! What a link is: its settings, their defaults, their text form, and what is wrong with them.

use crate::fec::Fec;
use crate::loss::Loss;
use crate::text::{BlackoutText, PolicerText, field};
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Span};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One direction of a link. The default is a perfect one: no rate limit, no delay, no impairment.
///
/// In a configuration file quantities are written as people write them (`rate = "20Mbit/s"`,
/// `delay = "50ms"`, `loss = "5%"`) and everything may be left out. Durations in `blackouts` and
/// `schedule` count from the epoch of the moments given to [`crate::Link::offer`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// Bits the link carries in a second, headers of the network layer included; 0: unlimited.
    #[serde(deserialize_with = "field::rate")]
    pub rate: Rate,
    /// How much may wait for serialisation, the packet being serialised not counted; None: any
    /// amount. A packet that finds the link idle never needs the queue.
    #[serde(deserialize_with = "field::queue")]
    pub queue: Option<QueueLimit>,
    /// A packet that has to wait, and finds no room within this limit, meets congestion: the link marks it with Congestion
    /// Experienced when it is ECN-capable (RFC 3168). None: nothing is marked.
    #[serde(deserialize_with = "field::mark", skip_serializing_if = "Option::is_none")]
    pub mark: Option<QueueLimit>,
    /// Propagation delay: from the last bit's departure to the arrival.
    #[serde(deserialize_with = "field::delay")]
    pub delay: Span,
    /// A delay drawn per packet, uniform on [0, jitter], on top of `delay`. It keeps the order: a
    /// packet arrives no earlier than those before it.
    #[serde(deserialize_with = "field::jitter")]
    pub jitter: Span,
    /// Larger packets are refused; None: any size passes.
    #[serde(deserialize_with = "field::mtu")]
    pub mtu: Option<Bytes>,
    /// Refuses what exceeds a rate, so that loss grows with the rate offered.
    #[serde(deserialize_with = "field::policer")]
    pub policer: Option<Policer>,
    /// What the channel loses, after serialisation.
    #[serde(deserialize_with = "field::loss")]
    pub loss: Loss,
    /// Sends packets in units under a block code, and loses units; `rate` is then the channel's, of
    /// which packets get K/N. It does not change on schedule.
    #[serde(deserialize_with = "field::fec", skip_serializing_if = "Option::is_none")]
    pub fec: Option<Fec>,
    /// Holds some packets back, so that others overtake them.
    #[serde(deserialize_with = "field::reorder")]
    pub reorder: Option<Reorder>,
    /// Delivers some packets twice.
    #[serde(deserialize_with = "field::duplicate")]
    pub duplicate: Option<Duplicate>,
    /// Share of the delivered packets in which one bit, anywhere in the packet, is flipped.
    #[serde(deserialize_with = "field::corrupt")]
    pub corrupt: Fraction,
    /// Times when everything that leaves is lost.
    #[serde(deserialize_with = "field::blackouts")]
    pub blackouts: Vec<Blackout>,
    /// Settings that change at known times, in ascending order of time.
    #[serde(deserialize_with = "field::schedule")]
    pub schedule: Vec<Change>,
}

/// A token bucket at the entrance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PolicerText")]
pub struct Policer {
    /// Rate at which the bucket fills.
    pub rate: Rate,
    /// What the bucket holds when full, which it is at the start. Larger packets never pass. In files, [`Policer::new`]'s when left
    /// out.
    pub burst: Bytes,
}

impl Policer {
    /// A policer whose bucket holds 50 ms at `rate`, and at least ten packets of 1500 bytes.
    pub fn new(rate: Rate) -> Policer {
        Policer { rate, burst: Bytes::new((rate.bps() / 160).max(15_000)) }
    }
}

/// Packets held back on their way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Share of packets held back.
    #[serde(deserialize_with = "field::probability")]
    pub probability: Fraction,
    /// For how much longer than the others they travel.
    #[serde(deserialize_with = "field::extra_delay")]
    pub extra_delay: Span,
}

/// Packets delivered twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duplicate {
    /// Share of packets delivered twice.
    #[serde(deserialize_with = "field::probability")]
    pub probability: Fraction,
    /// How long after the first copy the second one arrives.
    #[serde(deserialize_with = "field::extra_delay", default = "no_time")]
    pub extra_delay: Span,
}

/// An interval in which everything whose last bit leaves is lost.
///
/// In files: a table with `at` and `length`, or with `from` and `to`, and `every` if the interval repeats; or a pair, such as
/// `["30s", "40s"]`, from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BlackoutText")]
pub struct Blackout {
    /// When it begins.
    pub at: Span,
    /// How long it lasts.
    pub length: Span,
    /// The time from one beginning to the next; None: it happens once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
}

/// New values for some settings from a moment on; what is None stays as it was.
///
/// Rate, delay and impairments change for the bits and packets that leave from then on (a packet
/// half sent goes on at the new rate); MTU, policer and queue limit for the packets offered from
/// then on. Packets that already wait stay, even when the queue limit shrinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    #[serde(deserialize_with = "field::at")]
    pub at: Span,
    /// See [`LinkConfig::rate`].
    #[serde(deserialize_with = "field::rate", default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// See [`LinkConfig::queue`].
    #[serde(deserialize_with = "field::queue", default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueLimit>,
    /// See [`LinkConfig::mark`].
    #[serde(deserialize_with = "field::mark", default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<QueueLimit>,
    /// See [`LinkConfig::delay`]. A shorter delay lets no packet overtake.
    #[serde(deserialize_with = "field::delay", default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// See [`LinkConfig::jitter`].
    #[serde(deserialize_with = "field::jitter", default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Span>,
    /// See [`LinkConfig::mtu`].
    #[serde(deserialize_with = "field::mtu", default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// See [`LinkConfig::policer`].
    #[serde(deserialize_with = "field::policer", default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<Policer>,
    /// See [`LinkConfig::loss`]. The state of a two-state chain carries over.
    #[serde(deserialize_with = "field::loss", default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// See [`LinkConfig::reorder`].
    #[serde(deserialize_with = "field::reorder", default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// See [`LinkConfig::duplicate`].
    #[serde(deserialize_with = "field::duplicate", default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Duplicate>,
    /// See [`LinkConfig::corrupt`].
    #[serde(deserialize_with = "field::corrupt", default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<Fraction>,
}

/// A setting that cannot be: which one, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("link setting `{field}`: {problem}")]
pub struct ConfigError {
    /// The setting's name as in a configuration file, such as `schedule[2].loss.burst`.
    pub field: String,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl ConfigError {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> ConfigError {
        ConfigError { field: field.into(), problem: problem.into() }
    }
}

impl Default for LinkConfig {
    fn default() -> LinkConfig {
        LinkConfig {
            rate: Rate::from_bps(0),
            queue: None,
            mark: None,
            delay: no_time(),
            jitter: no_time(),
            mtu: None,
            policer: None,
            loss: Loss::None,
            fec: None,
            reorder: None,
            duplicate: None,
            corrupt: Fraction::ZERO,
            blackouts: Vec::new(),
            schedule: Vec::new(),
        }
    }
}

impl Default for Change {
    /// A change of nothing, at the epoch: a base for struct update syntax.
    fn default() -> Change {
        Change {
            at: no_time(),
            rate: None,
            queue: None,
            mark: None,
            delay: None,
            jitter: None,
            mtu: None,
            policer: None,
            loss: None,
            reorder: None,
            duplicate: None,
            corrupt: None,
        }
    }
}

impl LinkConfig {
    /// One direction of a plain path: `rate` (bit/s), half of the round-trip time `rtt` (without
    /// serialisation) as delay, independent `loss`, and a drop-tail queue of one bandwidth-delay
    /// product.
    pub fn path(rate: Rate, rtt: Duration, loss: Fraction) -> LinkConfig {
        LinkConfig {
            rate,
            queue: (rate.bps() > 0).then(|| bdp(rate, rtt)),
            delay: Span::from(rtt / 2),
            loss: if loss.get() > 0.0 { Loss::bernoulli(loss) } else { Loss::None },
            ..LinkConfig::default()
        }
    }

    /// Checks every setting; [`crate::Link::new`] does so too.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_values("")?;
        self.fec.as_ref().map_or(Ok(()), |fec| fec.check("fec"))?;
        for (i, b) in self.blackouts.iter().enumerate() {
            let length = b.length.duration();
            if length.is_zero() {
                return Err(ConfigError::new(
                    format!("blackouts[{i}].length"),
                    "0 s lasts no time; write a longer one",
                ));
            }
            if b.every.is_some_and(|every| every.duration() <= length) {
                return Err(ConfigError::new(
                    format!("blackouts[{i}].every"),
                    format!("must be longer than the blackout's length of {}", b.length),
                ));
            }
        }
        let mut settings = self.clone();
        let mut last = None;
        for (i, change) in self.schedule.iter().enumerate() {
            let name = format!("schedule[{i}]");
            if last.is_some_and(|last| change.at <= last) {
                return Err(ConfigError::new(
                    format!("{name}.at"),
                    format!("{} is not after the change before it; put changes in order of time", change.at),
                ));
            }
            last = Some(change.at);
            if (Change { at: change.at, ..Change::default() }) == *change {
                return Err(ConfigError::new(name, "changes nothing; give a new value or leave it out"));
            }
            settings.apply(change);
            settings.check_values(&format!("{name}."))?;
        }
        Ok(())
    }

    /// Makes the settings of `change` those of this configuration.
    pub(crate) fn apply(&mut self, change: &Change) {
        fn set<T: Clone>(to: &mut T, from: &Option<T>) {
            if let Some(value) = from {
                to.clone_from(value);
            }
        }
        set(&mut self.rate, &change.rate);
        set(&mut self.delay, &change.delay);
        set(&mut self.jitter, &change.jitter);
        set(&mut self.loss, &change.loss);
        set(&mut self.corrupt, &change.corrupt);
        self.queue = change.queue.or(self.queue);
        self.mark = change.mark.or(self.mark);
        self.mtu = change.mtu.or(self.mtu);
        self.policer = change.policer.or(self.policer);
        self.reorder = change.reorder.or(self.reorder);
        self.duplicate = change.duplicate.or(self.duplicate);
    }

    fn check_values(&self, place: &str) -> Result<(), ConfigError> {
        let wrong = |field: &str, problem: &str| Err(ConfigError::new(format!("{place}{field}"), problem));
        self.loss.check(&format!("{place}loss"), "packet")?;
        if self.mtu.is_some_and(|mtu| mtu.get() == 0) {
            return wrong("mtu", "0 lets nothing pass; write for example 1500, or leave it out");
        }
        if let Some(policer) = self.policer {
            if policer.rate.bps() == 0 {
                return wrong("policer.rate", "0 never fills the bucket; write for example `20Mbit/s`");
            }
            if policer.burst.get() == 0 {
                return wrong("policer.burst", "0 lets nothing pass; write at least the size of a packet");
            }
        }
        if self.reorder.is_some_and(|r| r.probability.get() > 0.0 && r.extra_delay.duration().is_zero()) {
            return wrong("reorder.extra_delay", "0 s reorders nothing; write for example `10ms`");
        }
        Ok(())
    }
}

fn no_time() -> Span {
    Span::from(Duration::ZERO)
}

/// One bandwidth-delay product, at least two full packets.
fn bdp(rate: Rate, rtt: Duration) -> QueueLimit {
    let bytes = u128::from(rate.bps()) * rtt.as_nanos() / 8_000_000_000;
    QueueLimit::Bytes(u64::try_from(bytes).unwrap_or(u64::MAX).max(3000))
}
