//! The settings of a link, in the form in which the link uses them.

use crate::config::{LinkConfig, Mark};
use crate::loss::LossModel;
use ripstop_base::{QueueLimit, Time};
use std::time::Duration;

/// The settings of one step of the schedule, in the form that the link uses.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(super) mtu: u64,
    pub(super) policer: Option<crate::config::Policer>,
    pub(super) queue: Option<QueueLimit>,
    pub(super) mark: Option<Mark>,
    pub(crate) loss: LossModel,
    pub(super) delay: Duration,
    pub(super) jitter_ns: f64,
    pub(super) reorder: f64,
    pub(super) reorder_delay: Duration,
    pub(super) duplicate: f64,
    pub(super) duplicate_delay: Duration,
    pub(super) corrupt: f64,
}

impl Settings {
    pub(super) fn new(config: &LinkConfig) -> Settings {
        Settings {
            mtu: config.mtu.map_or(u64::MAX, |mtu| mtu.get()),
            policer: config.policer,
            queue: config.queue,
            mark: config.mark,
            loss: LossModel::new(&config.loss),
            delay: config.delay.duration(),
            jitter_ns: config.jitter.duration().as_nanos() as f64,
            reorder: config.reorder.map_or(0.0, |r| r.probability.get()),
            reorder_delay: config.reorder.map_or(Duration::ZERO, |r| r.extra_delay.duration()),
            duplicate: config.duplicate.map_or(0.0, |d| d.probability.get()),
            duplicate_delay: config.duplicate.map_or(Duration::ZERO, |d| d.extra_delay.duration()),
            corrupt: config.corrupt.get(),
        }
    }
}

/// Whether each impairment is configured in any step of the schedule. Only configured impairments draw random
/// numbers.
#[derive(Clone, Debug)]
pub(super) struct Configured {
    pub(super) policer: bool,
    /// Whether a queue discipline may drop packets to keep the queue short.
    pub(super) aqm: bool,
    /// Whether this queue discipline marks ECN-capable packets.
    pub(super) ecn: bool,
    pub(super) mark: bool,
    /// Whether packets are marked by a draw.
    pub(super) mark_share: bool,
    pub(super) loss: bool,
    /// None: no units are lost. Otherwise whether the code has repair units (N > K).
    pub(super) fec: Option<bool>,
    pub(super) jitter: bool,
    pub(super) reorder: bool,
    pub(super) duplicate: bool,
    pub(super) corrupt: bool,
    pub(super) blackouts: bool,
    /// Whether a rate trace has more than one step.
    pub(super) rate_trace: bool,
}

impl Configured {
    pub(super) fn new(steps: &[(Time, Settings)], config: &LinkConfig) -> Configured {
        let some = |is: fn(&Settings) -> bool| steps.iter().any(|(_, s)| is(s));
        Configured {
            policer: some(|s| s.policer.is_some()),
            aqm: config.queue_discipline.is_aqm(),
            ecn: config.ecn,
            mark: some(|s| s.mark.is_some()),
            mark_share: some(|s| matches!(s.mark, Some(Mark::Share(_)))),
            loss: config.loss.is_active()
                || config.schedule.iter().any(|c| c.loss.as_ref().is_some_and(|l| l.is_active())),
            fec: config.fec.as_ref().filter(|fec| fec.loss.is_active()).map(|fec| fec.n > fec.k),
            jitter: some(|s| s.jitter_ns > 0.0),
            reorder: some(|s| s.reorder > 0.0),
            duplicate: some(|s| s.duplicate > 0.0),
            corrupt: some(|s| s.corrupt > 0.0),
            blackouts: !config.blackouts.is_empty(),
            rate_trace: config.rate_trace.as_ref().is_some_and(|trace| trace.steps.len() > 1),
        }
    }
}
