//! Runs the points of experiments, and reads what they gave.

use super::experiment::{Experiment, Set};
use crate::failure::{Failure, Outcome};
use crate::run_cells::{RunStyle, run_missing};
use ripstop_lab::cell::{LabCell, read_result};
use ripstop_lab::run::{CellState, CellTask, RunEnd, StateCounts, find_states};
use ripstop_lab::store::ResultStore;
use serde_json::Value;
use std::path::PathBuf;

/// How points are run.
pub(super) struct Plan {
    /// With few runs, and without the sets that have no number for it.
    pub(super) quick: bool,
    /// At most so many at a time.
    pub(super) threads: usize,
}

impl Plan {
    /// How often each point of a set is run; None when the set is left out.
    fn runs(&self, set: &Set) -> Option<u32> {
        if self.quick { set.quick } else { Some(set.runs) }
    }
}

/// Results of experiments.
pub(super) struct Results {
    /// Of each experiment, of each set, of each point its result; null where the set is left out.
    pub(super) experiments: Vec<Vec<Vec<Value>>>,
    /// Points that were simulated now, and those that were there.
    pub(super) counts: StateCounts,
}

/// A point that is to be run.
struct PlannedPoint {
    name: String,
    cell: LabCell,
}

/// Runs all points of `experiments` whose results are not in the store.
///
/// # Errors
/// A scenario that cannot be, or a result that cannot be stored.
pub(super) fn run(experiments: &[&Experiment], plan: &Plan, store: &ResultStore) -> Outcome<Results> {
    let points = planned(experiments, plan)?;
    let tasks: Vec<CellTask> = points.iter().map(|point| CellTask::of(&point.cell)).collect();
    let mut states = find_states(&tasks, Some(store))?;
    let cells: Vec<LabCell> = points.iter().map(|point| point.cell.clone()).collect();
    let style = RunStyle { what: "simulating", threads: plan.threads, keep_going: false };
    match run_missing(&tasks, move |k| cells.get(k).cloned(), &mut states, store, style)? {
        RunEnd::All => {}
        RunEnd::Stopped => {
            let there = states.iter().filter(|state| state.is_there()).count();
            return Err(Failure::Work(format!(
                "stopped: {there} of {} points are there; the same command goes on from here",
                states.len()
            )));
        }
        RunEnd::Failed(k) => {
            let CellState::Failed(problem) = &states[k] else { return Err(Failure::OutputClosed) };
            return Err(Failure::work(&points[k].name, problem));
        }
    }
    let mut found = points.iter();
    let mut all = Vec::with_capacity(experiments.len());
    for experiment in experiments {
        let mut sets = Vec::with_capacity(experiment.sets.len());
        for (set, points) in experiment.sets.iter().zip(&experiment.points) {
            let there = plan.runs(set).is_some();
            let results = points.iter().map(|_| match found.next().filter(|_| there) {
                Some(point) => result(store, &point.cell),
                None => Ok(Value::Null),
            });
            sets.push(if there { results.collect::<Outcome<_>>()? } else { vec![Value::Null; points.len()] });
        }
        all.push(sets);
    }
    Ok(Results { experiments: all, counts: StateCounts::of(&states) })
}

/// The points of all sets that are not left out.
fn planned(experiments: &[&Experiment], plan: &Plan) -> Outcome<Vec<PlannedPoint>> {
    let mut all = Vec::new();
    for experiment in experiments {
        for (set, points) in experiment.sets.iter().zip(&experiment.points) {
            let Some(runs) = plan.runs(set) else { continue };
            for point in points {
                let name = format!("{}: {} {}", experiment.id, set.name.as_ref(), point.label());
                let mut scenario = point.scenario.clone();
                scenario.run.runs = runs;
                let cell = LabCell::new(&scenario, set.trace)
                    .map_err(|problem| Failure::Config(format!("{name}: {problem}")))?;
                all.push(PlannedPoint { name, cell });
            }
        }
    }
    Ok(all)
}

fn result(store: &ResultStore, cell: &LabCell) -> Outcome<Value> {
    let key = cell.key(ripstop_lab::cell::SIMULATOR);
    let text = store.get(&key)?.ok_or_else(|| Failure::work("the store", "a result is gone"))?;
    Ok(read_result(&text)?)
}

/// Where results are kept when nothing is said: the user's cache.
pub(super) fn usual_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("ripstop/papers.redb"))
}
