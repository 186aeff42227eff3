//! Runs cells on all cores.

use crate::cells::Cell;
use ripstop_sim::scenario::ScenarioReport;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `count` jobs on all cores, in their order. `job` gets the number of the job.
pub(crate) fn run(count: usize, job: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    #[expect(clippy::disallowed_methods, reason = "the example runs independent simulations on all cores")]
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    if k >= count {
                        return;
                    }
                    job(k);
                }
            });
        }
    });
}

/// Runs `cells`. The reports have the order of the cells.
pub(crate) fn reports(cells: &[Cell]) -> Vec<Result<ScenarioReport, String>> {
    let results: Vec<std::sync::Mutex<Option<_>>> = cells.iter().map(|_| std::sync::Mutex::new(None)).collect();
    run(cells.len(), |k| {
        if let Ok(mut slot) = results[k].lock() {
            *slot = Some(cells[k].run());
        }
    });
    let take = |slot: std::sync::Mutex<Option<_>>| slot.into_inner().ok().flatten();
    results.into_iter().map(|slot| take(slot).unwrap_or_else(|| Err("the cell did not run".to_owned()))).collect()
}
