//! Runs a scenario: as often as it says, on as many cores as there are.

use super::build::build;
use super::{RunTotals, Scenario, ScenarioError, ScenarioReport};
use crate::engine::replicate;
use crate::world::Observer;
use ripstop_base::Seed;

/// Runs `scenario` and says what was measured. `threads` at most work on it; the result does not depend on how many.
/// `progress` is told of each run that is done.
///
/// # Errors
/// The setting that cannot be.
pub fn run(
    scenario: &Scenario,
    threads: usize,
    progress: impl Fn() + Sync,
) -> Result<ScenarioReport, ScenarioError> {
    Ok(ScenarioReport::new(scenario, &run_all(scenario, threads, progress)?))
}

/// As [`run`]; what each run did, in their order.
///
/// # Errors
/// The setting that cannot be.
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

/// Makes the `k`-th run of `scenario` with somebody looking on.
///
/// # Errors
/// The setting that cannot be.
pub fn run_once(
    scenario: &Scenario,
    k: u64,
    observer: &mut impl Observer,
) -> Result<RunTotals, ScenarioError> {
    let mut world = build(scenario, Seed::new(scenario.run.seed).run(k))?;
    Ok(RunTotals::of(scenario, &mut world, observer))
}
