//! Runs the cells whose results are not in the store yet.
//!
//! A cell is one complete scenario with its number of runs (see `cell/mod.rs`). [`find_states`]
//! looks up which results the store has. [`run_missing`] simulates the other cells on a pool of
//! threads. [`run_missing`] stores each result as soon as the result is complete, so another call
//! can continue an interrupted call.

use super::pool::{Message, Pool, simulate};
use crate::cell::{CellKey, LabCell};
use crate::error::{LabError, LabResult};
use crate::store::ResultStore;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Whether a cell has a result, and where the result came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellState {
    /// The result was already in the store, or an identical cell was simulated in this call.
    Reused,
    /// The cell was simulated in this call.
    Run,
    /// The cell has no result; the text says why.
    Failed(String),
    /// The cell has not been simulated yet.
    Missing,
}

impl CellState {
    /// Whether the cell has a result.
    pub fn is_there(&self) -> bool {
        matches!(self, CellState::Reused | CellState::Run)
    }
}

/// Number of cells in each [`CellState`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StateCounts {
    /// The number of all cells.
    pub cells: usize,
    /// Cells that were simulated in this call.
    pub run: usize,
    /// Cells whose result was in the store, or was taken from an identical cell of the same call.
    pub reused: usize,
    /// Cells that failed, or whose scenario is invalid.
    pub failed: usize,
    /// Cells that have not been simulated yet.
    pub missing: usize,
}

impl StateCounts {
    /// Counts the cells of `states` by state.
    pub fn of(states: &[CellState]) -> StateCounts {
        let mut counts = StateCounts { cells: states.len(), ..StateCounts::default() };
        for state in states {
            match state {
                CellState::Run => counts.run += 1,
                CellState::Reused => counts.reused += 1,
                CellState::Failed(_) => counts.failed += 1,
                CellState::Missing => counts.missing += 1,
            }
        }
        counts
    }
}

/// What [`run_missing`] needs to know about a cell before it simulates the cell.
#[derive(Clone, Debug)]
pub struct CellTask {
    /// The key of the cell's result in the store, or the reason why the cell cannot be run.
    pub key: Result<CellKey, String>,
    /// The identity of the code that the cell runs ([`crate::cell::identity`]).
    pub simulator: String,
    /// Simulated time of all runs of the cell together, s.
    pub work_s: f64,
    /// Number of runs of the cell.
    pub runs: u32,
}

impl CellTask {
    /// The task for `cell`. The key of the task is for results of this program.
    pub fn of(cell: &LabCell) -> CellTask {
        let work_s = cell.run_s() * f64::from(cell.runs());
        CellTask { key: Ok(cell.key()), simulator: cell.simulator().to_owned(), work_s, runs: cell.runs() }
    }
}

/// How a call of [`run_missing`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Every cell was tried.
    All,
    /// [`RunOrder::stop`] was set.
    Stopped,
    /// The cell at this position failed, and [`RunOrder::keep_going`] was false.
    Failed(usize),
}

/// Progress of a call of [`run_missing`].
#[derive(Clone, Copy, Debug)]
pub struct RunProgress {
    /// The number of cells that are complete or have failed.
    pub done: usize,
    /// The number of cells that this call has to simulate. Identical cells count as one cell.
    pub to_do: usize,
    /// The simulated time so far as a share of all time that must be simulated, from 0 to 1.
    pub share: f64,
    /// Wall-clock time since the call began.
    pub elapsed: Duration,
}

impl RunProgress {
    /// Estimated wall-clock time until the end, s. The estimate assumes that the remaining runs are
    /// simulated at the mean speed of the completed runs. None before the first run is complete.
    pub fn left_s(&self) -> Option<f64> {
        (self.share > 0.0).then(|| self.elapsed.as_secs_f64() * (1.0 - self.share) / self.share)
    }
}

/// Options for a call of [`run_missing`].
pub struct RunOrder<'a> {
    /// Largest number of threads. The results do not depend on the number of threads.
    pub threads: usize,
    /// Whether the other cells are still simulated after one cell has failed.
    pub keep_going: bool,
    /// Another thread sets this flag to end the call early.
    pub stop: &'a AtomicBool,
    /// Called after each result, and at least every 200 ms.
    pub progress: &'a mut dyn FnMut(RunProgress),
}

/// Longest time for which [`run_missing`] waits for a result before it checks [`RunOrder::stop`]
/// and reports progress. 200 ms is short enough for a person who presses Ctrl-C. Half the value
/// checks and reports twice as often. Twice the value reacts to a stop up to 0.4 s late. The
/// results of cells do not depend on this value.
const BEAT: Duration = Duration::from_millis(200);

/// The state of each task before anything is simulated.
///
/// A task is [`CellState::Reused`] if `store` has its result, and [`CellState::Failed`] if its cell
/// cannot be run. Without a store, every other task is [`CellState::Missing`].
///
/// # Errors
/// Fails when the store cannot be read.
pub fn find_states(tasks: &[CellTask], store: Option<&ResultStore>) -> LabResult<Vec<CellState>> {
    let there = match store {
        Some(store) => store.has(tasks.iter().map(|task| task.key.as_ref().ok()))?,
        None => vec![false; tasks.len()],
    };
    let state = |(task, there): (&CellTask, bool)| match &task.key {
        Err(problem) => CellState::Failed(problem.clone()),
        Ok(_) if there => CellState::Reused,
        Ok(_) => CellState::Missing,
    };
    Ok(tasks.iter().zip(there).map(state).collect())
}

/// Simulates the tasks whose state is [`CellState::Missing`], and updates `states`. Each result is
/// stored as soon as it is complete.
///
/// `cell` makes the cell at a position of `tasks`. `cell` is called in the order of `tasks`, one
/// time for each cell that is simulated. Of identical cells, one is simulated.
///
/// # Errors
/// Fails when a result cannot be stored or a thread cannot be started. Results stored before the
/// error stay in the store.
pub fn run_missing(
    tasks: &[CellTask],
    mut cell: impl FnMut(usize) -> Option<LabCell> + Send + 'static,
    states: &mut [CellState],
    store: &ResultStore,
    order: RunOrder<'_>,
) -> LabResult<RunEnd> {
    // Identical cells have the same key. Only the first of these cells is simulated.
    let mut twins: BTreeMap<CellKey, Vec<usize>> = BTreeMap::new();
    let mut to_do = Vec::new();
    for (k, task) in tasks.iter().enumerate().filter(|(k, _)| states[*k] == CellState::Missing) {
        let Ok(key) = &task.key else { continue };
        let same = twins.entry(*key).or_default();
        if same.is_empty() {
            to_do.push(k);
        }
        same.push(k);
    }
    if to_do.is_empty() {
        return Ok(RunEnd::All);
    }
    let (say, hear) = mpsc::sync_channel(2 * order.threads);
    let all_runs: usize = to_do.iter().map(|k| tasks[*k].runs as usize).fold(0, usize::saturating_add);
    let work_s: f64 = to_do.iter().map(|k| tasks[*k].work_s).sum();
    let mut left = to_do.clone().into_iter();
    let next = move || left.find_map(|k| Some((k, cell(k)?)));
    let began = Instant::now();
    let pool = Pool::start(order.threads.min(all_runs), next, simulate, &say)
        .map_err(|error| LabError::work("starting threads", error))?;
    drop(say);
    let mut done = 0;
    while done < to_do.len() {
        if order.stop.load(Ordering::Relaxed) {
            return Ok(RunEnd::Stopped);
        }
        match hear.recv_timeout(BEAT) {
            Ok(Message::Done(k, result)) => {
                let Ok(key) = &tasks[k].key else { continue };
                store.put(key, &tasks[k].simulator, &result).map_err(|error| with_stored_count(error, states))?;
                for (n, twin) in twins.remove(key).unwrap_or_default().into_iter().enumerate() {
                    states[twin] = if n == 0 { CellState::Run } else { CellState::Reused };
                }
                done += 1;
            }
            Ok(Message::Failed(k, problem)) => {
                let same = tasks[k].key.as_ref().ok().and_then(|key| twins.remove(key)).unwrap_or_default();
                same.into_iter().for_each(|twin| states[twin] = CellState::Failed(problem.clone()));
                if !order.keep_going {
                    return Ok(RunEnd::Failed(k));
                }
                done += 1;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(LabError::work("running cells", "all threads have ended"));
            }
        }
        let (to_do, share) = (to_do.len(), pool.done_s() / work_s);
        (order.progress)(RunProgress { done, to_do, share, elapsed: began.elapsed() });
    }
    Ok(RunEnd::All)
}

/// Adds to `error` the number of cells that have a stored result. Only the result that could not be
/// stored is lost.
fn with_stored_count(error: LabError, states: &[CellState]) -> LabError {
    let there = states.iter().filter(|state| state.is_there()).count();
    match error {
        LabError::Work(words) => LabError::Work(format!(
            "{words}; {there} of {} cells have stored results, and the same command continues with the other cells",
            states.len()
        )),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_sim::scenario::Scenario;

    fn cell(seed: u64) -> LabCell {
        let text = format!(
            "[run]\nduration = \"5s\"\nruns = 1\nseed = {seed}\n[[link]]\nbetween = [\"a\", \"b\"]\n\
             forth = {{ rate = \"1Mbit/s\", delay = \"20ms\" }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        );
        LabCell::new(&Scenario::parse(&text).unwrap(), false).unwrap()
    }

    #[test]
    fn equal_cells_are_run_once_and_a_stop_is_obeyed() {
        let store = ResultStore::in_memory().unwrap();
        let seeds = [1, 2, 1, 3];
        let mut tasks: Vec<CellTask> = seeds.iter().map(|seed| CellTask::of(&cell(*seed))).collect();
        tasks.push(CellTask { key: Err("cannot be".to_owned()), simulator: String::new(), work_s: 0.0, runs: 0 });
        let mut states = find_states(&tasks, Some(&store)).unwrap();
        let run = |states: &mut [CellState], stop: bool| {
            let stop = AtomicBool::new(stop);
            let order = RunOrder { threads: 2, keep_going: true, stop: &stop, progress: &mut |_| {} };
            run_missing(&tasks, move |k| Some(cell(seeds[k])), states, &store, order).unwrap()
        };
        assert_eq!(run(&mut states, true), RunEnd::Stopped);
        assert_eq!(run(&mut states, false), RunEnd::All);
        let counts = StateCounts::of(&states);
        assert_eq!((counts.run, counts.reused, counts.failed), (3, 1, 1));
        let again = find_states(&tasks, Some(&store)).unwrap();
        assert_eq!(StateCounts::of(&again).reused, 4);
    }
}
