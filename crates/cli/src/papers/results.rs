//! Runs the cells of experiments, and reads their results. A cell is one scenario with all its
//! values.

use crate::failure::{Failure, Outcome};
use crate::run_cells::{RunStyle, run_missing};
use ripstop_lab::cell::LabCell;
use ripstop_lab::run::{CellState, CellTask, RunEnd, StateCounts, find_states};
use ripstop_lab::store::ResultStore;
use ripstop_lab::study::{CellResults, PlannedCell, Study};
use serde_json::Value;
use std::path::PathBuf;

/// The results of several experiments.
pub(super) struct Results {
    /// For each experiment, the results of its cells.
    pub(super) studies: Vec<CellResults>,
    /// How many cells were simulated now, and how many results were already in the store.
    pub(super) counts: StateCounts,
}

/// Runs all cells of `studies` whose results are not in the store. If `quick` is true, only the sets
/// with a field `quick` are run. The value of this field is then the number of runs of each cell.
///
/// # Errors
/// A scenario is invalid, a cell fails, a signal stops the runs, or the store cannot be used.
pub(super) fn run(studies: &[&Study], quick: bool, threads: usize, store: &ResultStore) -> Outcome<Results> {
    let mut planned: Vec<Vec<Option<Vec<PlannedCell>>>> = Vec::with_capacity(studies.len());
    for study in studies {
        let sets = (0..study.experiment.sets().len()).map(|set| study.planned(set, quick));
        planned.push(sets.collect::<Result<_, _>>()?);
    }
    let points: Vec<&PlannedCell> = planned.iter().flatten().flatten().flatten().collect();
    let tasks: Vec<CellTask> = points.iter().map(|point| point.task()).collect();
    let mut states = find_states(&tasks, Some(store))?;
    let cells: Vec<LabCell> = points.iter().map(|point| point.cell.clone()).collect();
    let style = RunStyle { what: "simulating", threads, keep_going: false };
    match run_missing(&tasks, move |k| cells.get(k).cloned(), &mut states, store, style)? {
        RunEnd::All => {}
        RunEnd::Stopped => {
            let there = states.iter().filter(|state| state.is_there()).count();
            return Err(Failure::Work(format!(
                "stopped: {there} of {} points have results; repeat the command to continue",
                states.len()
            )));
        }
        RunEnd::Failed(k) => {
            let CellState::Failed(problem) = &states[k] else { return Err(Failure::OutputClosed) };
            return Err(Failure::work(&points[k].name, problem));
        }
    }
    let mut all = Vec::with_capacity(studies.len());
    for (study, sets) in studies.iter().zip(&planned) {
        let mut results = Vec::with_capacity(sets.len());
        for (set, cells) in sets.iter().enumerate() {
            results.push(match cells {
                Some(cells) => cells.iter().map(|cell| cell.result(store)).collect::<Result<_, _>>()?,
                None => vec![Value::Null; study.cells(set).len()],
            });
        }
        all.push(CellResults(results));
    }
    Ok(Results { studies: all, counts: StateCounts::of(&states) })
}

/// The file in the user's cache directory that keeps results by default. None if the user has no cache directory.
pub(crate) fn usual_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("ripstop/papers.redb"))
}
