//! The result of a cell: what `ripstop sim --json` prints, and what a store keeps.

use super::SIMULATOR;
use crate::expect::{ExpectVerdict, judge_expectations};
use ripstop_sim::scenario::{Scenario, ScenarioReport};
use serde::Serialize;
use serde_json::Value;

/// What the runs of a scenario gave, and what made them.
#[derive(Debug, Serialize)]
pub struct CellResult<'a> {
    /// What was run.
    pub scenario: &'a Scenario,
    /// Master seed.
    pub seed: u64,
    /// Independent runs.
    pub runs: u32,
    /// What was measured.
    #[serde(flatten)]
    pub report: &'a ScenarioReport,
    /// What became of the expectations.
    pub expectations: Vec<ExpectVerdict>,
    /// The record of the first run; left out where none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<&'a Value>,
    /// Each run's own figures; null when they were not asked for.
    pub per_run: Option<Vec<Value>>,
    /// The program's version.
    pub program_version: &'static str,
    /// The program's version and the hash of its simulator: equal simulators give equal results.
    pub simulator: &'static str,
    /// Time that passed while the runs were made, s.
    pub wall_s: f64,
    /// Processor time that the runs took, s.
    pub cpu_s: f64,
}

impl<'a> CellResult<'a> {
    /// The result of `scenario` with this report; nothing was traced, and no time is stated.
    pub fn new(scenario: &'a Scenario, report: &'a ScenarioReport) -> CellResult<'a> {
        CellResult {
            scenario,
            seed: scenario.run.seed,
            runs: scenario.run.runs,
            report,
            expectations: judge_expectations(scenario, report),
            trace: None,
            per_run: None,
            program_version: env!("CARGO_PKG_VERSION"),
            simulator: SIMULATOR,
            wall_s: 0.0,
            cpu_s: 0.0,
        }
    }
}
