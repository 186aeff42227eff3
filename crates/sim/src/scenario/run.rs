//! Runs a scenario `run.runs` times, on several threads.

use super::build::build;
use super::error::ScenarioError;
use super::report::ScenarioReport;
use super::spec::Scenario;
use super::totals::RunTotals;
use crate::engine::replicate;
use crate::world::Observer;
use ripstop_base::Seed;

/// Runs `scenario` on at most `threads` threads, and reports the measurements. The result does not depend on the number
/// of threads. `progress` is called after each run.
///
/// # Errors
/// If a setting is invalid.
pub fn run(scenario: &Scenario, threads: usize, progress: impl Fn() + Sync) -> Result<ScenarioReport, ScenarioError> {
    Ok(ScenarioReport::new(scenario, &run_all(scenario, threads, progress)?))
}

/// Like [`run()`], but returns the totals of each run, in order.
///
/// # Errors
/// If a setting is invalid.
pub fn run_all(
    scenario: &Scenario,
    threads: usize,
    progress: impl Fn() + Sync,
) -> Result<Vec<RunTotals>, ScenarioError> {
    scenario.check()?;
    let runs = replicate(u64::from(scenario.run.runs), threads, |k| {
        let totals = run_once(scenario, k, &mut ());
        progress();
        totals
    });
    runs.into_iter().collect()
}

/// Executes only run number `k` of `scenario`. The `observer` is told what happens in this run.
///
/// # Errors
/// If a setting is invalid.
pub fn run_once(scenario: &Scenario, k: u64, observer: &mut impl Observer) -> Result<RunTotals, ScenarioError> {
    let mut world = build(scenario, Seed::new(scenario.run.seed).run(k))?;
    Ok(RunTotals::of(scenario, &mut world, observer))
}
