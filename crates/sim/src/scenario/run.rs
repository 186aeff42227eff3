//! Runs a scenario the given number of times, on several threads.

use super::build::build;
use super::error::ScenarioError;
use super::report::ScenarioReport;
use super::spec::Scenario;
use super::totals::RunTotals;
use crate::engine::replicate;
use crate::world::Observer;
use ripstop_base::Seed;

/// Runs `scenario` and reports the measurements, on at most `threads` threads. The result does not depend on their number.
/// `progress` is called after each run.
///
/// # Errors
/// The invalid setting.
pub fn run(
    scenario: &Scenario,
    threads: usize,
    progress: impl Fn() + Sync,
) -> Result<ScenarioReport, ScenarioError> {
    Ok(ScenarioReport::new(scenario, &run_all(scenario, threads, progress)?))
}

/// As [`run`], but returns the totals of each run, in order.
///
/// # Errors
/// The invalid setting.
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

/// Makes the `k`-th run of `scenario` under an `observer`.
///
/// # Errors
/// The invalid setting.
pub fn run_once(
    scenario: &Scenario,
    k: u64,
    observer: &mut impl Observer,
) -> Result<RunTotals, ScenarioError> {
    let mut world = build(scenario, Seed::new(scenario.run.seed).run(k))?;
    Ok(RunTotals::of(scenario, &mut world, observer))
}
