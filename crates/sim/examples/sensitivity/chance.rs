//! What chance changes, and which changes stand out from it.

use crate::measure::{Figures, Known};
use std::collections::BTreeMap;

/// The least change of a group's figure that counts. Half the value shows changes that nobody notices. Double the value
/// hides changes of single cells.
const LEAST_CHANGE: f64 = 0.01;
/// Standard deviations by which a change stands out. A change is measured with two seeds, and must stand out with both in
/// the same direction. By chance this happens in one of 800 cases. With half the value, in one of 25. Double the value
/// hides changes of .05 in the groups that vary most.
const DEVIATIONS: f64 = 2.5;

/// The figure of a group with the defaults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    /// The mean over the seeds.
    pub(crate) mean: f64,
    /// Smaller changes are chance.
    pub(crate) chance: f64,
}

impl Usual {
    /// The change from the mean to `figure`. `None`: the change may be chance.
    pub(crate) fn change(&self, figure: f64) -> Option<f64> {
        let change = figure - self.mean;
        (change.abs() >= self.chance.max(LEAST_CHANGE)).then_some(change)
    }
}

/// The usual figure of each group, from the passes with the defaults. Empty: there are fewer than two passes.
pub(crate) fn usual(known: &Known) -> BTreeMap<String, Usual> {
    let passes: Vec<&Figures> = known.iter().filter(|(pass, _)| pass.starts_with("defaults")).map(|(_, f)| f).collect();
    if passes.len() < 2 {
        return BTreeMap::new();
    }
    let of = |group: &String| {
        let figures: Vec<f64> = passes.iter().filter_map(|figures| figures.get(group).copied()).collect();
        let n = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / n;
        let variance = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Usual { mean, chance: DEVIATIONS * variance.sqrt() }
    };
    passes[0].keys().map(|group| (group.clone(), of(group))).collect()
}
