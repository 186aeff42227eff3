//! The report of ideal access: what the links of a medium did.

use crate::engine::{Sample, Statistic};
use crate::scenario::spec::MediumSpec;
use crate::scenario::totals::ActivitySpan;
use crate::wifi::ideal::{Activity, LinkActivity};
use serde::Serialize;
use std::time::Duration;

/// The measurements of ideal access, over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IdealReport {
    /// For each m from 0, the share of time in which exactly m links were active.
    pub together: Vec<Statistic>,
    /// Slots of scheduled access. 0 with CSMA.
    pub slots: Statistic,
    /// The links that were active at least once in a run.
    pub links: Vec<IdealLinkReport>,
}

/// The measurements of a link, over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IdealLinkReport {
    /// The names of the link's stations, such as `n0>n1`.
    pub name: String,
    /// Packets carried per second: theta of paper 002.
    pub packets_per_s: Statistic,
    /// The share of time in which the link was active: its load rho.
    pub load: Statistic,
    /// Exchanges begun.
    pub attempts: Statistic,
    /// With CSMA, back-offs that a link in conflict stopped. With scheduled access, slots in which the link had a
    /// packet, but had to leave the slot to a link in conflict.
    pub deferrals: Statistic,
}

impl IdealReport {
    /// The report of a medium over a span of `seconds` of each run. None without runs, as with the DCF.
    pub(super) fn new(spec: &MediumSpec, runs: &[&ActivitySpan], seconds: f64) -> Option<IdealReport> {
        let (_, last) = runs.last()?;
        let grown = |value: &dyn Fn(&Activity) -> f64| -> Statistic {
            runs.iter().map(|(start, end)| value(end) - value(start)).collect::<Sample>().statistic()
        };
        let share = |m: usize| grown(&|did| seconds_of(did.together.get(m)) / seconds);
        let most = runs.iter().map(|(_, end)| end.most_together()).max().unwrap_or(0);
        let was_active = |link: &usize| runs.iter().any(|(_, end)| end.links[*link].attempts > 0);
        let link = |k: usize| {
            let of_link = |value: &dyn Fn(&LinkActivity) -> f64| grown(&|did| value(&did.links[k]));
            let LinkActivity { from, to, .. } = last.links[k];
            let [from, to] = [from, to].map(|station| spec.stations[station as usize].name.as_str());
            IdealLinkReport {
                name: format!("{from}>{to}"),
                packets_per_s: of_link(&|link| link.exchanges as f64 / seconds),
                load: of_link(&|link| link.active.as_secs_f64() / seconds),
                attempts: of_link(&|link| link.attempts as f64),
                deferrals: of_link(&|link| link.deferrals as f64),
            }
        };
        Some(IdealReport {
            together: (0..=most).map(share).collect(),
            slots: grown(&|did| did.slots as f64),
            links: (0..last.links.len()).filter(was_active).map(link).collect(),
        })
    }
}

/// A time in seconds; 0 if there is none.
fn seconds_of(time: Option<&Duration>) -> f64 {
    time.map_or(0.0, Duration::as_secs_f64)
}
