//! Runs cells with the lab's [`run::run_missing`], shows the progress on standard error, and stops
//! at Ctrl-C. A cell is one scenario with all its values: the unit that is run and stored.

use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::signals::Signals;
use ripstop_lab::cell::LabCell;
use ripstop_lab::run::{self, CellState, CellTask, RunEnd, RunOrder, RunProgress, StateCounts};
use ripstop_lab::store::ResultStore;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the cells of a command are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunStyle {
    /// The text before the progress, such as `sweeping`.
    pub(crate) what: &'static str,
    /// The largest number of threads to use.
    pub(crate) threads: usize,
    /// Whether the other cells are still run after a cell has failed.
    pub(crate) keep_going: bool,
}

/// Runs the cells whose state is missing, as [`run::run_missing`] does, and shows the progress on
/// standard error. `cell(k)` gives the cell of `tasks[k]`.
///
/// # Errors
/// An error of the store or of the system.
pub(crate) fn run_missing(
    tasks: &[CellTask],
    cell: impl FnMut(usize) -> Option<LabCell> + Send + 'static,
    states: &mut [CellState],
    store: &ResultStore,
    style: RunStyle,
) -> Outcome<RunEnd> {
    if !states.contains(&CellState::Missing) {
        return Ok(RunEnd::All);
    }
    // The signals are blocked before the first thread starts, so that all threads inherit the signal mask.
    let signals = Signals::block()?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            while matches!(signals.should_end(None), Ok(false)) {}
            stopped.store(true, Ordering::Relaxed);
        })
        .map_err(|error| Failure::work("starting threads", error))?;
    let progress = Progress::new();
    progress.begin(style.what.to_owned());
    let there = StateCounts::of(states).reused;
    let mut show = |at: RunProgress| progress.show(|| words(&at, there));
    let RunStyle { threads, keep_going, .. } = style;
    let order = RunOrder { threads, keep_going, stop: &stop, progress: &mut show };
    Ok(run::run_missing(tasks, cell, states, store, order)?)
}

fn words(at: &RunProgress, there: usize) -> String {
    let left = at.left_s().map_or_else(String::new, |left| format!(", about {} left", coarse(left)));
    let reused = if there > 0 { format!(" ({there} from the store)") } else { String::new() };
    format!("{} of {} cells{reused}{left}", at.done, at.to_do)
}

/// An estimated time, rounded, in words.
pub(crate) fn coarse(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".to_owned(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
