//! Runs the cells of experiments, and reads their results. A cell is one scenario with all its
//! values.

use crate::failure::{Failure, Outcome};
use crate::run_cells::{RunStyle, run_missing};
use ripstop_lab::cell::LabCell;
use ripstop_lab::run::{CellState, CellTask, RunEnd, StateCounts, find_states};
use ripstop_lab::store::ResultStore;
use ripstop_lab::study::{CellResults, PlannedCell, Study};
use ripstop_lab::verify::{are_equal, is_drawn};
use serde_json::Value;
use std::path::PathBuf;

/// The results of several experiments.
pub(super) struct Results {
    /// For each experiment, the results of its cells.
    pub(super) studies: Vec<CellResults>,
    /// How many cells were simulated now, and how many results were already in the store.
    pub(super) counts: StateCounts,
    /// How many results from the store were simulated again for comparison.
    pub(super) verified: usize,
}

/// Which stored results are simulated again, and compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verification {
    /// The share of the stored results.
    pub(super) share: f64,
    /// The seed of the sample.
    pub(super) seed: u64,
}

/// Runs all cells of `studies` whose results are not in the store. If `quick` is true, only the sets
/// with a field `quick` are run. The value of this field is then the number of runs of each cell.
///
/// # Errors
/// A scenario is invalid, a cell fails, a signal stops the runs, the store cannot be used, or a stored result differs
/// from the same simulation now.
pub(super) fn run(
    studies: &[&Study],
    quick: bool,
    threads: usize,
    store: &ResultStore,
    verification: Option<Verification>,
) -> Outcome<Results> {
    let mut planned: Vec<Vec<Option<Vec<PlannedCell>>>> = Vec::with_capacity(studies.len());
    for study in studies {
        let sets = (0..study.experiment.sets().len()).map(|set| study.planned(set, quick));
        planned.push(sets.collect::<Result<_, _>>()?);
    }
    let points: Vec<&PlannedCell> = planned.iter().flatten().flatten().flatten().collect();
    let tasks: Vec<CellTask> = points.iter().map(|point| point.task()).collect();
    let mut states = find_states(&tasks, Some(store))?;
    let verified = match verification {
        Some(verification) => verify(&points, &tasks, &states, threads, store, verification)?,
        None => 0,
    };
    let style = RunStyle { what: "simulating", threads, keep_going: false };
    run_points(&points, &tasks, &mut states, store, style)?;
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
    Ok(Results { studies: all, counts: StateCounts::of(&states), verified })
}

/// Runs the points whose state is missing.
fn run_points(
    points: &[&PlannedCell],
    tasks: &[CellTask],
    states: &mut [CellState],
    store: &ResultStore,
    style: RunStyle,
) -> Outcome<()> {
    let cells: Vec<LabCell> = points.iter().map(|point| point.cell.clone()).collect();
    match run_missing(tasks, move |k| cells.get(k).cloned(), states, store, style)? {
        RunEnd::All => Ok(()),
        RunEnd::Stopped => {
            let there = states.iter().filter(|state| state.is_there()).count();
            Err(Failure::Work(format!(
                "stopped: {there} of {} points have results; repeat the command to continue",
                states.len()
            )))
        }
        RunEnd::Failed(k) => {
            let CellState::Failed(problem) = &states[k] else { return Err(Failure::OutputClosed) };
            Err(Failure::work(&points[k].name, problem))
        }
    }
}

/// Simulates a sample of the points with stored results again, and compares. Returns the number of results compared.
fn verify(
    points: &[&PlannedCell],
    tasks: &[CellTask],
    states: &[CellState],
    threads: usize,
    store: &ResultStore,
    Verification { share, seed }: Verification,
) -> Outcome<usize> {
    let stored = |k: &usize| states[*k] == CellState::Reused;
    let drawn = |k: &usize| tasks[*k].key.as_ref().is_ok_and(|key| is_drawn(key, share, seed));
    let sample: Vec<usize> = (0..points.len()).filter(stored).filter(drawn).collect();
    let (again, mut missing) = (ResultStore::in_memory()?, vec![CellState::Missing; sample.len()]);
    let (points, tasks): (Vec<&PlannedCell>, Vec<CellTask>) =
        sample.iter().map(|k| (points[*k], tasks[*k].clone())).unzip();
    let style = RunStyle { what: "simulating stored results again", threads, keep_going: false };
    run_points(&points, &tasks, &mut missing, &again, style)?;
    for (point, task) in points.iter().zip(&tasks) {
        let Ok(key) = &task.key else { continue };
        let (Some(then), Some(now)) = (store.get(key)?, again.get(key)?) else { continue };
        if !are_equal(&then, &now)? {
            return Err(Failure::Work(format!(
                "the stored result of {} differs from the same simulation now (seed of the sample: {seed}): correct the table \
                 crates/lab/build/parts.rs, which says which code decides which results, and compute all results again",
                point.name
            )));
        }
    }
    Ok(sample.len())
}

/// The file in the user's cache directory that keeps results by default. None if the user has no cache directory.
pub(crate) fn usual_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("ripstop/papers.redb"))
}
