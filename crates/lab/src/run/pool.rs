//! A pool of threads that simulates cells.
//!
//! A cell is one complete scenario with its number of runs (see `cell/mod.rs`). All runs of all
//! cells form one queue. Therefore all cores are busy with many cells of one run each, and also
//! with one cell of many runs.

use crate::cell::{CellResult, LabCell, RunRecorder};
use nix::time::{ClockId, clock_gettime};
use ripstop_sim::scenario::{RunTotals, ScenarioError, ScenarioReport, run_once};
use serde_json::Value;
use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The result of one run: its totals, and its trace if the run was traced (see `cell/record.rs`).
pub(super) type RunOutput = (RunTotals, Option<Value>);

/// A function that simulates the run of a cell with the given number, counted from 0.
pub(super) type Simulate = fn(&LabCell, u64) -> Result<RunOutput, ScenarioError>;

/// Simulates run `k` of `cell`. Run 0 of a traced cell also records a trace.
///
/// # Errors
/// Fails when a setting of the scenario is invalid; the error names the setting.
pub(super) fn simulate(cell: &LabCell, k: u64) -> Result<RunOutput, ScenarioError> {
    if k > 0 || !cell.is_traced() {
        return Ok((run_once(cell.run(), k, &mut ())?, None));
    }
    let mut recorder = RunRecorder::new(cell.run());
    let totals = run_once(cell.run(), k, &mut recorder)?;
    Ok((totals, Some(recorder.summary())))
}

/// A message from the pool about one cell. The first field is the cell's index, which the argument
/// `next` of [`Pool::start`] returned with the cell.
#[derive(Debug)]
pub(super) enum Message {
    /// The result of the cell, as JSON text like that of `ripstop sim --json`.
    Done(usize, String),
    /// The reason why the cell has no result.
    Failed(usize, String),
}

/// A running pool. The threads of the pool end when no cell is left, or when the receiver of
/// messages is dropped.
#[derive(Debug)]
pub(super) struct Pool {
    /// Simulated time of all completed runs, ns.
    done_ns: Arc<AtomicU64>,
}

impl Pool {
    /// Starts `threads` threads, which take cells from `next`.
    ///
    /// `next` returns an index and a cell, or None when no cell is left. Cells are started in the
    /// order in which `next` returns them. All runs of a cell are started before any run of the
    /// next cell. If a cell fails, the pool and the other cells continue.
    ///
    /// # Errors
    /// Fails when the operating system cannot start a thread.
    pub(super) fn start(
        threads: usize,
        next: impl FnMut() -> Option<(usize, LabCell)> + Send + 'static,
        simulate: Simulate,
        say: &SyncSender<Message>,
    ) -> std::io::Result<Pool> {
        let done_ns = Arc::new(AtomicU64::new(0));
        let queue = Arc::new(Mutex::new(Queue { next: Box::new(next), open: None }));
        for _ in 0..threads {
            let (queue, say, done_ns) = (Arc::clone(&queue), say.clone(), Arc::clone(&done_ns));
            thread::Builder::new().name("lab".to_owned()).spawn(move || {
                // `work` fails when the receiver is gone. In this case the program is about to end.
                let _ = work(&queue, simulate, &done_ns, &say);
            })?;
        }
        Ok(Pool { done_ns })
    }

    /// Simulated time of all completed runs, s.
    pub(super) fn done_s(&self) -> f64 {
        self.done_ns.load(Ordering::Relaxed) as f64 / 1e9
    }
}

/// The runs that have not been started yet.
struct Queue {
    next: Box<dyn FnMut() -> Option<(usize, LabCell)> + Send>,
    /// The cell whose runs are being handed out, and the number of its next run.
    open: Option<(Arc<Open>, u64)>,
}

/// A cell of which at least one run has been handed out to a thread.
struct Open {
    index: usize,
    cell: LabCell,
    began: Instant,
    so_far: Mutex<SoFar>,
}

/// The completed runs of a cell, until all its runs are complete.
#[derive(Default)]
struct SoFar {
    /// The number and the output of each completed run.
    runs: Vec<(u64, RunOutput)>,
    /// Processor time of these runs together.
    cpu: Duration,
    /// Whether a run has failed. The cell then has no result.
    failed: bool,
}

impl Queue {
    fn take(&mut self) -> Option<(Arc<Open>, u64)> {
        loop {
            if let Some((open, k)) = &mut self.open
                && *k < u64::from(open.cell.runs())
                && !lock(&open.so_far).failed
            {
                *k += 1;
                return Some((Arc::clone(open), *k - 1));
            }
            let (index, cell) = (self.next)()?;
            let open = Open { index, cell, began: Instant::now(), so_far: Mutex::default() };
            self.open = Some((Arc::new(open), 0));
        }
    }
}

/// The loop of each thread: takes runs from `queue`, simulates them, and sends the results of
/// completed cells. If the simulator panics in a run, only the cell of this run fails.
///
/// # Errors
/// Fails when the receiver of messages is gone.
fn work(
    queue: &Mutex<Queue>,
    simulate: Simulate,
    done_ns: &AtomicU64,
    say: &SyncSender<Message>,
) -> Result<(), std::sync::mpsc::SendError<Message>> {
    loop {
        let Some((open, k)) = lock(queue).take() else { return Ok(()) };
        let before = cpu_time_of_thread();
        let answer = panic::catch_unwind(AssertUnwindSafe(|| simulate(&open.cell, k)));
        let spent = cpu_time_of_thread().saturating_sub(before);
        let problem = match answer {
            Ok(Ok(output)) => {
                let nanos = u64::try_from(open.cell.scenario().run.duration.duration().as_nanos()).unwrap_or(u64::MAX);
                done_ns.fetch_add(nanos, Ordering::Relaxed);
                if let Some(text) = open.add(k, output, spent) {
                    say.send(Message::Done(open.index, text))?;
                }
                continue;
            }
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!(
                "the simulator failed in run {k}, seed {}: {}",
                open.cell.scenario().run.seed,
                words_of(panic.as_ref())
            ),
        };
        let first = !std::mem::replace(&mut lock(&open.so_far).failed, true);
        if first {
            say.send(Message::Failed(open.index, problem))?;
        }
    }
}

impl Open {
    /// Adds the output of run `k`. Returns the result of the cell if all its runs are complete.
    fn add(&self, k: u64, output: RunOutput, spent: Duration) -> Option<String> {
        let mut so_far = lock(&self.so_far);
        so_far.runs.push((k, output));
        so_far.cpu += spent;
        if so_far.failed || so_far.runs.len() < self.cell.runs() as usize {
            return None;
        }
        // Sort the runs, so that the result does not depend on which thread finished first.
        so_far.runs.sort_unstable_by_key(|(k, _)| *k);
        let (runs, records): (Vec<RunTotals>, Vec<Option<Value>>) =
            so_far.runs.drain(..).map(|(_, output)| output).unzip();
        let scenario = self.cell.run();
        let report = ScenarioReport::new(scenario, &runs);
        let result = CellResult {
            trace: records.iter().flatten().next(),
            wall_s: self.began.elapsed().as_secs_f64(),
            cpu_s: so_far.cpu.as_secs_f64(),
            ..CellResult::new(scenario, &report)
        };
        serde_json::to_string(&result).ok()
    }
}

/// Processor time that the calling thread has used.
fn cpu_time_of_thread() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("the panic has no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_sim::scenario::Scenario;
    use std::collections::BTreeMap;
    use std::sync::mpsc::sync_channel;

    fn cell(seed: u64, runs: u32, traced: bool) -> LabCell {
        let text = format!(
            "[run]\nduration = \"20s\"\nruns = {runs}\nseed = {seed}\n[[link]]\nbetween = [\"a\", \"b\"]\n\
             forth = {{ rate = \"1Mbit/s\", delay = \"20ms\", loss = \"2%\" }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        );
        LabCell::new(&Scenario::parse(&text).unwrap(), traced).unwrap()
    }

    /// Runs the pool on `cells` cells. Returns the last message about each cell, without its
    /// timings.
    fn run(threads: usize, cells: usize, runs: u32, simulate: Simulate) -> BTreeMap<usize, Result<String, String>> {
        let (say, hear) = sync_channel(4);
        let mut index = 0;
        let next = move || {
            index += 1;
            (index <= cells).then(|| (index - 1, cell(index as u64, runs, index % 2 == 0)))
        };
        let pool = Pool::start(threads, next, simulate, &say).unwrap();
        let mut words = BTreeMap::new();
        while words.len() < cells {
            let (index, word) = match hear.recv().unwrap() {
                Message::Done(index, text) => (index, Ok(text.split(",\"wall_s\"").next().unwrap().to_owned())),
                Message::Failed(index, problem) => (index, Err(problem)),
            };
            assert!(words.insert(index, word).is_none());
        }
        assert!(pool.done_s() > 0.0);
        words
    }

    #[test]
    fn results_do_not_depend_on_threads_or_on_their_order() {
        let one = run(1, 5, 3, simulate);
        assert!(one.values().all(Result::is_ok));
        // Every second cell is traced.
        let traced: Vec<bool> =
            one.values().map(|word| word.as_ref().is_ok_and(|text| text.contains("\"falls\""))).collect();
        assert_eq!(traced, [false, true, false, true, false]);
        assert_eq!(one, run(4, 5, 3, simulate));
        assert_eq!(run(3, 1, 7, simulate).len(), 1);
    }

    #[test]
    fn a_cell_that_fails_leaves_the_others_alone() {
        let faulty: Simulate = |cell, k| {
            assert!(!(cell.scenario().run.seed == 2 && k == 1), "a bug for the test");
            simulate(cell, k)
        };
        let words = run(2, 4, 3, faulty);
        let failed: Vec<usize> = words.iter().filter(|(_, word)| word.is_err()).map(|(k, _)| *k).collect();
        assert_eq!(failed, [1]);
        let problem = words[&1].as_ref().unwrap_err();
        assert!(problem.contains("run 1, seed 2: a bug for the test"), "{problem}");
    }
}
