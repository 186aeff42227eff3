//! Why a class of packets has the present number of proactive repairs.

use super::bulk::{Backlog, bulk_limits};
use super::{Flight, INTERACTIVE_LOST, INTERACTIVE_REPAIRS, Redundancy, Spread, interactive_repairs};
use crate::control::loss::Losses;
use std::time::Duration;

/// What decides the number of proactive repairs of a class at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The setting of the redundancy.
    Setting,
    /// No loss is expected: the last loss is too long ago.
    CleanPath,
    /// The peer reports that repairs recover nothing, so they are suspended.
    Useless,
    /// The loss counts as congestion, in whole or in part. The sender answers congestion by slowing
    /// down, not by repairs.
    Congestion,
    /// Packets wait in the ingress queue, and an exact repair comes before the end of this queue.
    Backlog,
    /// The budget of repair bytes is used up.
    Budget,
    /// Each packet has the largest number of repairs, and the target needs more.
    MostRepairs,
    /// There are as many repairs as the target needs.
    Target,
}

impl Limit {
    /// The name in machine-readable outputs.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Setting => "setting",
            Limit::CleanPath => "clean-path",
            Limit::Useless => "useless",
            Limit::Congestion => "congestion",
            Limit::Backlog => "backlog",
            Limit::Budget => "budget",
            Limit::MostRepairs => "most-repairs",
            Limit::Target => "target",
        }
    }
}

/// The present number of proactive repairs of a class, and the reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Explanation {
    /// R: packets sent for each source packet, exact repairs excluded.
    pub ratio: f64,
    /// The losses that the repairs expect. The share is 0 on a clean path.
    pub losses: Losses,
    /// Limit on the probability that a packet (interactive) or a flight (bulk) stays undecoded
    /// without exact repairs. None if no losses decide the number of repairs.
    pub target: Option<f64>,
    /// By how much a backlog relaxes the target, 0 to 1.
    pub relaxation: f64,
    /// What decides the number.
    pub limit: Limit,
}

/// What an explanation follows from.
#[derive(Clone, Copy, Debug)]
pub struct ClassView {
    /// The setting.
    pub redundancy: Redundancy,
    /// Whether repairs are suspended because they recovered nothing.
    pub is_suspended: bool,
    /// The share of packets lost, from all causes.
    pub measured: f64,
    /// The losses that the repairs expect, congestion excluded.
    pub expected: Losses,
    /// Whether the budget leaves no room for a repair.
    pub is_over_budget: bool,
}

impl ClassView {
    /// The number of repairs for interactive packets, and the reason.
    pub fn interactive(&self) -> Explanation {
        let wanted = interactive_repairs(self.expected);
        let missed = self.expected.copies(self.expected.share, INTERACTIVE_LOST, INTERACTIVE_REPAIRS + 1);
        let limit = if missed > INTERACTIVE_REPAIRS { Limit::MostRepairs } else { Limit::Target };
        self.explain(1.0 + f64::from(wanted), INTERACTIVE_LOST, 0.0, limit)
    }

    /// The number of repairs for bulk packets, and the reason. `recent` is the newest part of the
    /// flight; see [`BulkRule::is_due`](super::BulkRule::is_due) for the other parameters.
    pub fn bulk(&self, recent: Flight, spread: Spread, ahead: Backlog, rtt: Duration) -> Explanation {
        let limits = bulk_limits(spread, ahead, rtt);
        let ratio = 1.0 + f64::from(recent.repairs) / f64::from(recent.sources.max(1));
        let limit = if limits.relaxation > 0.0 { Limit::Backlog } else { Limit::Target };
        self.explain(ratio, limits.whole, limits.relaxation, limit)
    }

    /// The explanation, if nothing but the losses decides: `ratio`, `target`, `relaxation` and
    /// `limit`. Otherwise, what decides comes first.
    fn explain(&self, ratio: f64, target: f64, relaxation: f64, limit: Limit) -> Explanation {
        let fixed = match self.redundancy {
            Redundancy::Adaptive => None,
            Redundancy::None => Some((1.0, Limit::Setting)),
            Redundancy::Fixed(ratio) if self.is_over_budget => Some((ratio, Limit::Budget)),
            Redundancy::Fixed(ratio) => Some((ratio, Limit::Setting)),
        };
        let none = match self.measured {
            _ if self.is_suspended => Some((1.0, Limit::Useless)),
            measured if measured <= 0.0 => Some((1.0, Limit::CleanPath)),
            _ if self.expected.share <= 0.0 => Some((1.0, Limit::Congestion)),
            _ => None,
        };
        if let Some((ratio, limit)) = fixed.or(none) {
            return Explanation { ratio, losses: self.expected, target: None, relaxation: 0.0, limit };
        }
        let limit = match limit {
            _ if self.is_over_budget => Limit::Budget,
            Limit::Target if self.expected.share < self.measured => Limit::Congestion,
            limit => limit,
        };
        Explanation { ratio, losses: self.expected, target: Some(target), relaxation, limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(measured: f64, expected: f64) -> ClassView {
        ClassView {
            redundancy: Redundancy::Adaptive,
            is_suspended: false,
            measured,
            expected: Losses { share: expected, burst: 1.0 },
            is_over_budget: false,
        }
    }

    #[test]
    fn the_reason_for_interactive_repairs_is_named() {
        let of = |view: ClassView| (view.interactive().ratio, view.interactive().limit);
        assert_eq!(of(view(0.05, 0.05)), (3.0, Limit::Target));
        assert_eq!([of(view(0.2, 0.2)), of(view(0.5, 0.5))], [(5.0, Limit::Target), (5.0, Limit::MostRepairs)]);
        assert_eq!(of(view(0.0, 0.0)), (1.0, Limit::CleanPath));
        assert_eq!(of(view(0.05, 0.0)), (1.0, Limit::Congestion));
        assert_eq!(of(view(0.2, 0.05)), (3.0, Limit::Congestion));
        assert_eq!(of(ClassView { is_suspended: true, ..view(0.05, 0.05) }), (1.0, Limit::Useless));
        assert_eq!(of(ClassView { is_over_budget: true, ..view(0.05, 0.05) }), (3.0, Limit::Budget));
        assert_eq!(of(ClassView { redundancy: Redundancy::Fixed(1.5), ..view(0.05, 0.05) }), (1.5, Limit::Setting));
        let fixed = ClassView { redundancy: Redundancy::Fixed(1.5), is_over_budget: true, ..view(0.05, 0.05) };
        assert_eq!(of(fixed), (1.5, Limit::Budget));
        assert_eq!(of(ClassView { redundancy: Redundancy::None, ..view(0.05, 0.05) }), (1.0, Limit::Setting));
    }

    #[test]
    fn a_backlog_relaxes_the_target_of_bulk_repairs() {
        let rtt = Duration::from_millis(100);
        let recent = Flight { deficit: 0, sources: 100, repairs: 5 };
        let spread = Spread::of(200.0, Losses { share: 0.05, burst: 1.0 });
        let of = |ahead| view(0.05, 0.05).bulk(recent, spread, ahead, rtt);
        let (empty, some, long) = (of(Backlog::Waiting(0.0)), of(Backlog::Waiting(1.0)), of(Backlog::Waiting(5.0)));
        assert_eq!((empty.ratio, empty.relaxation, empty.limit), (1.05, 0.0, Limit::Target));
        assert!(some.target > empty.target && some.limit == Limit::Backlog && some.relaxation == 0.25, "{some:?}");
        assert_eq!((long.target, long.relaxation), (Some(1.0), 1.0));
        assert!(of(Backlog::Nothing).target < empty.target);
    }
}
