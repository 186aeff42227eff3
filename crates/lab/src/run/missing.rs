//! Cells that are missing in a store: they are run, and each result is stored at once.

use super::pool::{Message, Pool, simulate};
use crate::cell::{CellKey, LabCell, SIMULATOR};
use crate::error::{LabError, LabResult};
use crate::store::ResultStore;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// What became of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellState {
    /// Its result was in the store.
    Reused,
    /// It was run now.
    Run,
    /// There is no result, and why.
    Failed(String),
    /// There is no result yet.
    Missing,
}

impl CellState {
    /// Whether there is a result.
    pub fn is_there(&self) -> bool {
        matches!(self, CellState::Reused | CellState::Run)
    }
}

/// How many cells there are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StateCounts {
    /// All of them.
    pub cells: usize,
    /// Run now.
    pub run: usize,
    /// Their result was there, or is that of an equal cell.
    pub reused: usize,
    /// They failed, or cannot be.
    pub failed: usize,
    /// Not run yet.
    pub missing: usize,
}

impl StateCounts {
    /// Counts `states`.
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

/// What the runner has to know of a cell before it is run.
#[derive(Clone, Debug)]
pub struct CellTask {
    /// Where its result is kept, or why it cannot be run.
    pub key: Result<CellKey, String>,
    /// Virtual time of all its runs, s.
    pub work_s: f64,
    /// Its runs.
    pub runs: u32,
}

impl CellTask {
    /// The task that a cell is.
    pub fn of(cell: &LabCell) -> CellTask {
        CellTask {
            key: Ok(cell.key(SIMULATOR)),
            work_s: cell.run_s() * f64::from(cell.runs()),
            runs: cell.runs(),
        }
    }
}

/// How the running ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Every cell has been tried.
    All,
    /// It was told to stop.
    Stopped,
    /// A cell failed, by its position, and the others were not to be run then.
    Failed(usize),
}

/// How far the running is.
#[derive(Clone, Copy, Debug)]
pub struct RunProgress {
    /// Cells that are done.
    pub done: usize,
    /// Cells that are to be run.
    pub to_do: usize,
    /// The share of the virtual time that is done, 0 to 1.
    pub share: f64,
    /// Time since the beginning.
    pub elapsed: Duration,
}

impl RunProgress {
    /// Time that is left if the rest goes on like this, s; None before the first run is done.
    pub fn left_s(&self) -> Option<f64> {
        (self.share > 0.0).then(|| self.elapsed.as_secs_f64() * (1.0 - self.share) / self.share)
    }
}

/// How cells are run.
pub struct RunOrder<'a> {
    /// Threads at most. The results do not depend on it.
    pub threads: usize,
    /// Whether the others are run when a cell fails.
    pub keep_going: bool,
    /// Set by somebody else when the running is to end.
    pub stop: &'a AtomicBool,
    /// Told a few times a second how far it is.
    pub progress: &'a mut dyn FnMut(RunProgress),
}

/// How long the runner waits for a result before it looks at [`RunOrder::stop`] and tells the progress.
const BEAT: Duration = Duration::from_millis(200);

/// What is known of each task in `store` before anything is run.
///
/// # Errors
/// What the store refused.
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

/// Runs the tasks whose state is [`CellState::Missing`], and keeps each result as soon as it is there.
///
/// `cell` makes the k-th cell; it is called once for each cell that is run, in their order.
///
/// # Errors
/// What the store or the system refused. What was stored before is still there.
pub fn run_missing(
    tasks: &[CellTask],
    mut cell: impl FnMut(usize) -> Option<LabCell> + Send + 'static,
    states: &mut [CellState],
    store: &ResultStore,
    order: RunOrder<'_>,
) -> LabResult<RunEnd> {
    // Cells that are equal in all respects are run once.
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
                store.put(key, SIMULATOR, &result).map_err(|error| with_what_is_there(error, states))?;
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

/// The result that could not be stored is lost; those stored before are not.
fn with_what_is_there(error: LabError, states: &[CellState]) -> LabError {
    let there = states.iter().filter(|state| state.is_there()).count();
    match error {
        LabError::Work(words) => LabError::Work(format!(
            "{words}; {there} of {} cells are there, the same command goes on from them",
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
        tasks.push(CellTask { key: Err("cannot be".to_owned()), work_s: 0.0, runs: 0 });
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
