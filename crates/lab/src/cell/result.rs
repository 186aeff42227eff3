//! The result of a cell, as `ripstop sim --json` prints it and as a store keeps it.
//!
//! A cell is one complete scenario. The cell also says whether the first run is traced (see `mod.rs`). A store is a
//! file that keeps results. The key of a result is a hash of its cell and of the simulator that made the result (see
//! `store.rs`).

use super::identity;
use crate::expect::ExpectVerdict;
use ripstop_sim::scenario::{Scenario, ScenarioReport};
use serde::Serialize;
use serde_json::Value;

/// The measurements from the runs of a scenario, with the scenario and the version of the program.
#[derive(Debug, Serialize)]
pub struct CellResult<'a> {
    /// The scenario that was run.
    pub scenario: &'a Scenario,
    /// The master seed of all runs.
    pub seed: u64,
    /// The number of independent runs.
    pub runs: u32,
    /// The measurements.
    #[serde(flatten)]
    pub report: &'a ScenarioReport,
    /// The verdicts on the scenario's expectations: claims about its result (see `expect.rs`). Empty in
    /// a store, because expectations are judged when a result is read.
    pub expectations: Vec<ExpectVerdict>,
    /// The trace of the first run: the first flow's window and the number of lost packets. Left out
    /// of the JSON when the run was not traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<&'a Value>,
    /// The numbers of each single run. JSON `null` when they were not requested.
    pub per_run: Option<Vec<Value>>,
    /// The program's version.
    pub program_version: &'static str,
    /// The identity of the code that the scenario runs ([`identity`]). Programs with equal values give
    /// equal results for the same scenario.
    pub simulator: String,
    /// Wall-clock time for all runs, seconds.
    pub wall_s: f64,
    /// Processor time for all runs, seconds.
    pub cpu_s: f64,
}

impl<'a> CellResult<'a> {
    /// The result of `scenario` with the measurements in `report`. The result has no verdicts on
    /// expectations, no trace and no numbers of single runs. `wall_s` and `cpu_s` are 0.
    pub fn new(scenario: &'a Scenario, report: &'a ScenarioReport) -> CellResult<'a> {
        CellResult {
            scenario,
            seed: scenario.run.seed,
            runs: scenario.run.runs,
            report,
            expectations: Vec::new(),
            trace: None,
            per_run: None,
            program_version: env!("CARGO_PKG_VERSION"),
            simulator: identity(&scenario.parts()),
            wall_s: 0.0,
            cpu_s: 0.0,
        }
    }
}
