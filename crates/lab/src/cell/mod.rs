//! A cell: one complete scenario, and whether its first run is traced.
//!
//! Tracing a run records two things: each change of the first flow's window, and the number of lost
//! packets. This window is the smaller of the congestion window and the receiver's window.
//!
//! A cell is the unit of work: a machine runs a whole cell. The result of a cell is the unit of
//! storage. Results from several machines can be merged. The key of the result is a hash of three
//! things: the identity of the code that the cell runs, whether the cell is traced, and the
//! scenario's text. Expectations are judged when a result is read, so they are in no key.

mod identity;
mod record;
mod result;
mod text;

pub use identity::{identity, whole_simulator};
pub use result::CellResult;
pub use text::{CellDetail, CellText};

pub(crate) use record::RunRecorder;

use crate::error::{LabError, LabResult};
use crate::expect::{check_scenario, judge_expectations};
use ripstop_sim::scenario::Scenario;
use sha2::{Digest, Sha256};

/// The key of a stored result: SHA-256 of the identity of the code that makes the result, and of all
/// settings that decide the result.
pub type CellKey = [u8; 32];

/// SHA-256 of `parts`. The same characters, split into other parts, give another hash.
pub fn hash_of(parts: &[&str]) -> CellKey {
    let mut hash = Sha256::new();
    for part in parts {
        // Without the length, ["ab", "c"] and ["a", "bc"] would have the same hash.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// A hash as 64 hexadecimal digits.
pub fn hexadecimal(key: &CellKey) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One scenario, including its seed and its number of runs, and whether its first run is traced.
#[derive(Clone, Debug, PartialEq)]
pub struct LabCell {
    scenario: Scenario,
    /// The scenario as JSON.
    text: String,
    /// The scenario without its expectations. This scenario is run and stored.
    run: Scenario,
    /// `run` as JSON. This text is hashed.
    run_text: String,
    traced: bool,
    /// The identity of the code that the cell runs.
    simulator: String,
}

impl LabCell {
    /// The cell of a scenario. With `traced`, the first run also records the first flow's window
    /// and the number of lost packets.
    ///
    /// # Errors
    /// The setting of the scenario that is invalid, and why.
    pub fn new(scenario: &Scenario, traced: bool) -> Result<LabCell, String> {
        let json = |scenario: &Scenario| serde_json::to_string(scenario).map_err(|error| error.to_string());
        let text = json(scenario)?;
        // The text may write a fraction with fewer digits than the `f64` in memory has. The cell
        // runs the value in the text, so that the same text always gives the same result.
        let scenario: Scenario = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        check_scenario(&scenario).map_err(|error| error.to_string())?;
        let text = json(&scenario)?;
        let run = Scenario { expect: Vec::new(), ..scenario.clone() };
        let run_text = if scenario.expect.is_empty() { text.clone() } else { json(&run)? };
        let simulator = identity(&run.parts());
        Ok(LabCell { scenario, text, run, run_text, traced, simulator })
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The scenario without its expectations: what is run and stored.
    pub fn run(&self) -> &Scenario {
        &self.run
    }

    /// The scenario as JSON.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the first run records the first flow's window and the number of lost packets.
    pub fn is_traced(&self) -> bool {
        self.traced
    }

    /// The identity of this program's code that the cell runs, as [`identity`] gives it.
    pub fn simulator(&self) -> &str {
        &self.simulator
    }

    /// The key of this cell's result when this program makes the result.
    pub fn key(&self) -> CellKey {
        self.key_by(&self.simulator)
    }

    /// The key of this cell's result when the code with the identity `simulator` makes the result.
    pub fn key_by(&self, simulator: &str) -> CellKey {
        hash_of(&[simulator, if self.traced { "report, trace" } else { "report" }, &self.run_text])
    }

    /// Parses this cell's result from a store, and judges the cell's expectations by it.
    ///
    /// # Errors
    /// The text is not valid JSON.
    pub fn read(&self, text: &str) -> LabResult<serde_json::Value> {
        let mut result = read_result(text)?;
        if !self.scenario.expect.is_empty() {
            let unwritable = |error| LabError::work("a scenario", error);
            let verdicts = judge_expectations(&self.scenario, &result);
            result["expectations"] = serde_json::to_value(verdicts).map_err(unwritable)?;
            result["scenario"] = serde_json::to_value(&self.scenario).map_err(unwritable)?;
        }
        Ok(result)
    }

    /// The simulated time of one run, seconds.
    pub fn run_s(&self) -> f64 {
        self.run.run.duration.duration().as_secs_f64()
    }

    /// The number of runs.
    pub fn runs(&self) -> u32 {
        self.run.run.runs
    }
}

/// Parses a result from the store.
///
/// # Errors
/// The text is not valid JSON.
pub fn read_result(text: &str) -> LabResult<serde_json::Value> {
    serde_json::from_str(text).map_err(|error| LabError::work("a result in the store", error))
}
