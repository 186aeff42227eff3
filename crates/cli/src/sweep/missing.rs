//! The cells that are missing: run, and each result kept as soon as it is there.

use super::base::Base;
use super::cells::Cell;
use super::columns::State;
use super::plan::Plan;
use super::results::Counts;
use super::show;
use super::work::{Message, Pool};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::signals::Signals;
use crate::store::{Key, Store, VERSION};
use ripstop_sim::scenario::{Scenario, run_once};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How the running ended.
pub(super) enum Ended {
    /// Every cell has been tried.
    All,
    /// Somebody wanted the program to end.
    Stopped,
    /// A cell failed, by its position, and the others were not to be run then.
    Failed(usize),
}

/// Runs the cells that are missing, and keeps each result as soon as it is there.
pub(super) fn run_missing(
    plan: &Plan,
    base: &Base,
    cells: &[Cell],
    states: &mut [State],
    store: &Store,
    jobs: usize,
    keep_going: bool,
) -> Outcome<Ended> {
    // Cells that are the same in all respects are run once.
    let mut twins: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    let mut to_do = Vec::new();
    for (k, cell) in cells.iter().enumerate().filter(|(k, _)| states[*k] == State::Missing) {
        let Ok(key) = &cell.key else { continue };
        let same = twins.entry(*key).or_default();
        if same.is_empty() {
            to_do.push(k);
        }
        same.push(k);
    }
    if to_do.is_empty() {
        return Ok(Ended::All);
    }
    // Before the first thread is there.
    let signals = Signals::block()?;
    let (say, hear) = mpsc::sync_channel(2 * jobs);
    let all_runs: usize = to_do.iter().map(|k| cells[*k].runs as usize).fold(0, usize::saturating_add);
    let work_s: f64 = to_do.iter().map(|k| cells[*k].work_s).sum();
    let next = {
        let (plan, base, mut left) = (plan.clone(), base.clone(), to_do.clone().into_iter());
        let indices: Vec<usize> = cells.iter().map(|cell| cell.index).collect();
        move || -> Option<(usize, Scenario)> {
            left.find_map(|k| Some((k, base.resolve(&plan, &plan.cell(indices[k])).ok()?.scenario)))
        }
    };
    let began = Instant::now();
    let starting = |error| Failure::work("starting threads", error);
    let pool = Pool::start(jobs.min(all_runs), next, |scenario, k| run_once(scenario, k, &mut ()), &say)
        .map_err(starting)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            while matches!(signals.came_by(None), Ok(false)) {}
            let _ = say.send(Message::Stop);
        })
        .map_err(starting)?;
    let progress = Progress::new();
    progress.begin("sweeping".to_owned());
    let there = Counts::of(states).reused;
    let mut done = 0;
    while done < to_do.len() {
        match hear.recv_timeout(BEAT) {
            Ok(Message::Done(k, result)) => {
                let Ok(key) = &cells[k].key else { continue };
                store.put(key, VERSION, &result).map_err(|failure| with_what_is_there(failure, states))?;
                for (n, twin) in twins.remove(key).unwrap_or_default().into_iter().enumerate() {
                    states[twin] = if n == 0 { State::Run } else { State::Reused };
                }
                done += 1;
            }
            Ok(Message::Failed(k, problem)) => {
                let same = cells[k].key.as_ref().ok().and_then(|key| twins.remove(key)).unwrap_or_default();
                same.into_iter().for_each(|twin| states[twin] = State::Failed(problem.clone()));
                if !keep_going {
                    return Ok(Ended::Failed(k));
                }
                done += 1;
            }
            Ok(Message::Stop) => return Ok(Ended::Stopped),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::work("sweeping", "all threads have ended"));
            }
        }
        progress.show(|| {
            let part = pool.done_s() / work_s;
            let left = began.elapsed().as_secs_f64() * (1.0 - part) / part;
            let left =
                if part > 0.0 { format!(", about {} left", show::coarse(left)) } else { String::new() };
            let reused = if there > 0 { format!(" ({there} were there)") } else { String::new() };
            format!("{done} of {} cells{reused}{left}", to_do.len())
        });
    }
    Ok(Ended::All)
}

/// What could not be kept is lost; what was kept is not.
fn with_what_is_there(failure: Failure, states: &[State]) -> Failure {
    let there = states.iter().filter(|state| state.is_there()).count();
    match failure {
        Failure::Work(words) => Failure::Work(format!(
            "{words}; {there} of {} cells are there, the same command goes on from them",
            states.len()
        )),
        other => other,
    }
}

/// How often the time left is drawn anew.
const BEAT: Duration = Duration::from_millis(200);
