//! The settings of a link: defaults, text form and checks.

mod discipline;
mod mark;
mod text;
mod trace;

pub use discipline::Discipline;
pub use mark::Mark;
pub use trace::RateTrace;

use crate::error::LinkConfigError;
use crate::fec::Fec;
use crate::field;
use crate::loss::Loss;
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Span};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use text::{BlackoutText, PolicerText};

/// One direction of a link. The default is a perfect link: no rate limit, no delay, no impairment.
///
/// A configuration file has quantities as people write them: `rate = "20Mbit/s"`,
/// `delay = "50ms"`, `loss = "5%"`. Every setting may be left out. Times in `blackouts` and
/// `schedule` have the same epoch as the moments given to [`crate::Link::offer`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// Rate in bit/s. The headers of the network layer count. 0: unlimited.
    #[serde(deserialize_with = "field::rate")]
    pub rate: Rate,
    /// The rate as a function of time, instead of `rate`.
    #[serde(deserialize_with = "field::rate_trace", skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<RateTrace>,
    /// The largest number of packets or bytes that may wait for serialisation; None: any amount.
    /// The packet being serialised is not counted, so a packet that finds the link idle needs no
    /// queue.
    #[serde(deserialize_with = "field::queue")]
    pub queue: Option<QueueLimit>,
    /// How the packets that wait for serialisation are managed. The schedule cannot change the
    /// discipline.
    #[serde(deserialize_with = "field::queue_discipline", skip_serializing_if = "is_fifo")]
    pub queue_discipline: Discipline,
    /// Whether the queue discipline marks ECN-capable packets with Congestion Experienced instead of
    /// dropping them (RFC 3168).
    #[serde(deserialize_with = "field::ecn", skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// Which packets meet congestion, whatever the queue discipline does. An ECN-capable packet that
    /// meets congestion is marked. None: no packet.
    #[serde(deserialize_with = "field::mark", skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// Propagation delay, from the departure of the last bit to the arrival.
    #[serde(deserialize_with = "field::delay")]
    pub delay: Span,
    /// A random delay of each packet, uniform on [0, jitter] and added to `delay`. Jitter keeps the
    /// order: a packet never arrives before an earlier one, unless `reorder` holds the earlier one
    /// back.
    #[serde(deserialize_with = "field::jitter")]
    pub jitter: Span,
    /// Packets larger than this are refused; None: any size passes.
    #[serde(deserialize_with = "field::mtu")]
    pub mtu: Option<Bytes>,
    /// Refuses packets above a rate, so that loss grows with the offered rate.
    #[serde(deserialize_with = "field::policer")]
    pub policer: Option<Policer>,
    /// The loss model of the channel. It applies after serialisation.
    #[serde(deserialize_with = "field::loss")]
    pub loss: Loss,
    /// A block code: packets cross the channel in units, and the channel loses units. `rate` is
    /// then the channel's rate; packets get the share K/N of it (see [`Fec`]). The schedule cannot
    /// change the code.
    #[serde(deserialize_with = "field::fec", skip_serializing_if = "Option::is_none")]
    pub fec: Option<Fec>,
    /// Holds some packets back, so that other packets overtake them.
    #[serde(deserialize_with = "field::reorder")]
    pub reorder: Option<Reorder>,
    /// Delivers some packets twice.
    #[serde(deserialize_with = "field::duplicate")]
    pub duplicate: Option<Duplicate>,
    /// Share of the delivered packets in which one bit, anywhere in the packet, is flipped.
    #[serde(deserialize_with = "field::corrupt")]
    pub corrupt: Fraction,
    /// Times in which every packet that leaves is lost.
    #[serde(deserialize_with = "field::blackouts")]
    pub blackouts: Vec<Blackout>,
    /// Settings that change at given times, in ascending order of time.
    #[serde(deserialize_with = "field::schedule")]
    pub schedule: Vec<Change>,
    /// The schedule repeats after this time: at each multiple of it, all settings return to their
    /// values before the first change. None: the schedule happens once.
    #[serde(deserialize_with = "field::schedule_period", skip_serializing_if = "Option::is_none")]
    pub schedule_period: Option<Span>,
}

/// A token bucket in front of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PolicerText")]
pub struct Policer {
    /// The rate at which the bucket fills.
    pub rate: Rate,
    /// The capacity of the bucket, which is full at the start. Packets larger than this never pass.
    /// A file may leave out `burst`; [`Policer::new`] has the default.
    pub burst: Bytes,
}

impl Policer {
    /// A policer whose bucket holds 50 ms of `rate`, but at least ten packets of 1500 bytes.
    pub fn new(rate: Rate) -> Policer {
        Policer { rate, burst: Bytes::new((rate.bps() / 160).max(15_000)) }
    }
}

/// Reordering: some packets are held back on their way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Share of packets held back.
    #[serde(deserialize_with = "field::probability")]
    pub probability: Fraction,
    /// The time by which a held-back packet travels longer than other packets.
    #[serde(deserialize_with = "field::extra_delay")]
    pub extra_delay: Span,
}

/// Duplication: some packets are delivered twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duplicate {
    /// Share of packets delivered twice.
    #[serde(deserialize_with = "field::probability")]
    pub probability: Fraction,
    /// The time from the arrival of the first copy to the arrival of the second copy.
    #[serde(deserialize_with = "field::extra_delay", default = "no_time")]
    pub extra_delay: Span,
}

/// An interval of time. Every packet whose last bit leaves in this interval is lost.
///
/// A file gives a table with `at` and `length`, or with `from` and `to`. If the interval repeats,
/// the table also has `every`. A pair such as `["30s", "40s"]` is short for `from` and `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BlackoutText")]
pub struct Blackout {
    /// When the blackout begins, from the epoch (the time 0 of [`crate::Link::offer`]).
    pub at: Span,
    /// How long the blackout lasts.
    pub length: Span,
    /// Time from the beginning of one blackout to the beginning of the next; None: the blackout
    /// happens once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
}

/// New values for some settings. They apply from the moment `at` on. A setting that is None does
/// not change.
///
/// A new rate applies to all bits that leave after that moment: a packet that is partly sent
/// continues at the new rate. A new delay and new impairments apply to packets whose last bit
/// leaves at or after that moment. A new MTU, policer, queue limit or mark applies to packets
/// offered at or after that moment. Packets that already wait stay in the queue, even when the
/// queue limit shrinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When the change happens.
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
    pub mark: Option<Mark>,
    /// See [`LinkConfig::delay`]. A change to a shorter delay lets no packet overtake an earlier
    /// one.
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

impl Default for LinkConfig {
    fn default() -> LinkConfig {
        LinkConfig {
            rate: Rate::from_bps(0),
            rate_trace: None,
            queue: None,
            queue_discipline: Discipline::Fifo,
            ecn: false,
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
            schedule_period: None,
        }
    }
}

impl Default for Change {
    /// A change of nothing, at the epoch. Use it as the base of struct update syntax.
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
    /// One direction of a plain path. `rate` is in bit/s. The delay is half of the round-trip time
    /// `rtt`, serialisation not included. Losses are independent with probability `loss`. The
    /// drop-tail queue holds one bandwidth-delay product, but at least 3000 bytes. The queue has no
    /// limit if the rate has no limit.
    pub fn path(rate: Rate, rtt: Duration, loss: Fraction) -> LinkConfig {
        LinkConfig {
            rate,
            queue: (rate.bps() > 0).then(|| bdp(rate, rtt)),
            delay: Span::from(rtt / 2),
            loss: if loss.get() > 0.0 { Loss::bernoulli(loss) } else { Loss::None },
            ..LinkConfig::default()
        }
    }

    /// The mean rate of the link in bit/s before any change of the schedule; 0: unlimited.
    pub fn mean_rate(&self) -> Rate {
        self.rate_trace.as_ref().map_or(self.rate, RateTrace::mean)
    }

    /// Checks every setting. [`crate::Link::new`] calls this function.
    ///
    /// # Errors
    /// The first setting that is not valid.
    pub fn check(&self) -> Result<(), LinkConfigError> {
        self.check_values("")?;
        self.fec.as_ref().map_or(Ok(()), |fec| fec.check("fec"))?;
        self.check_discipline()?;
        for (i, b) in self.blackouts.iter().enumerate() {
            let length = b.length.duration();
            if length.is_zero() {
                return Err(LinkConfigError::new(
                    format!("blackouts[{i}].length"),
                    "a blackout of 0 s has no effect; write a longer time",
                ));
            }
            if b.every.is_some_and(|every| every.duration() <= length) {
                return Err(LinkConfigError::new(
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
                return Err(LinkConfigError::new(
                    format!("{name}.at"),
                    format!("{} is not later than the change before it; list the changes in order of time", change.at),
                ));
            }
            last = Some(change.at);
            if (Change { at: change.at, ..Change::default() }) == *change {
                return Err(LinkConfigError::new(
                    name,
                    "this change sets nothing; add a new value, or leave out the change",
                ));
            }
            settings.apply(change);
            settings.check_values(&format!("{name}."))?;
        }
        self.check_times(last)
    }

    /// Checks the rate trace and the period of the schedule. `last` is the time of the last change.
    fn check_times(&self, last: Option<Span>) -> Result<(), LinkConfigError> {
        let wrong = |field: String, problem: &str| Err(LinkConfigError::new(field, problem));
        if let Some(trace) = &self.rate_trace {
            trace.check("rate_trace")?;
            if self.rate.bps() > 0 {
                return wrong("rate".into(), "`rate_trace` gives the rate; remove `rate` or `rate_trace`");
            }
            if let Some(k) = self.schedule.iter().position(|change| change.rate.is_some()) {
                let problem = "`rate_trace` gives the rate; add the change to `rate_trace`";
                return wrong(format!("schedule[{k}].rate"), problem);
            }
        }
        match (self.schedule_period, last) {
            (Some(_), None) => {
                wrong("schedule_period".into(), "there is no `schedule` to repeat; add one, or remove the period")
            }
            (period, Some(last)) => trace::check_period(period, last)
                .map_or(Ok(()), |problem| Err(LinkConfigError::new("schedule_period", problem))),
            (None, None) => Ok(()),
        }
    }

    /// Copies the settings that `change` names into this configuration.
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

    fn check_discipline(&self) -> Result<(), LinkConfigError> {
        let discipline = &self.queue_discipline;
        discipline.check("queue_discipline")?;
        if self.ecn && !discipline.is_aqm() {
            let problem = "a drop-tail queue marks nothing; set `queue_discipline` to `codel`, `pie` or `fq`, or set `mark` instead of `ecn`";
            return Err(LinkConfigError::new("ecn", problem));
        }
        if self.fec.is_some() && discipline.is_scheduled() {
            let problem = format!(
                "`{}` decides the fate of a packet too late for a block code; write `pie` or `fifo`, or remove `fec`",
                discipline.name()
            );
            return Err(LinkConfigError::new("queue_discipline", problem));
        }
        Ok(())
    }

    fn check_values(&self, place: &str) -> Result<(), LinkConfigError> {
        let wrong = |field: &str, problem: &str| Err(LinkConfigError::new(format!("{place}{field}"), problem));
        self.loss.check(&format!("{place}loss"), "packet")?;
        self.mark.map_or(Ok(()), |mark| mark.check(&format!("{place}mark")))?;
        if self.mtu.is_some_and(|mtu| mtu.get() == 0) {
            return wrong("mtu", "0 lets nothing pass; write for example 1500, or leave out `mtu`");
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

fn is_fifo(discipline: &Discipline) -> bool {
    *discipline == Discipline::Fifo
}

fn no_time() -> Span {
    Span::from(Duration::ZERO)
}

/// One bandwidth-delay product, but at least two full packets.
fn bdp(rate: Rate, rtt: Duration) -> QueueLimit {
    let bytes = u128::from(rate.bps()) * rtt.as_nanos() / 8_000_000_000;
    QueueLimit::Bytes(u64::try_from(bytes).unwrap_or(u64::MAX).max(3000))
}
