//! A cell: one scenario, complete, and how much of its result is kept.

mod record;
mod result;
mod text;

pub use result::CellResult;
pub use text::{CellDetail, CellText};

pub(crate) use record::RunRecorder;

use crate::error::{LabError, LabResult};
use crate::expect::check_scenario;
use ripstop_sim::scenario::Scenario;
use sha2::{Digest, Sha256};

/// The simulator in this program: its version, and a hash of the code that decides what a simulation gives. Results of another simulator
/// are not reused.
pub const SIMULATOR: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("RIPSTOP_SIMULATOR"));

/// By what a result is found: a hash of the simulator and of everything that decides the result.
pub type CellKey = [u8; 32];

/// The hash of `parts`.
pub fn hash_of(parts: &[&str]) -> CellKey {
    let mut hash = Sha256::new();
    for part in parts {
        // The length in front keeps neighbours apart.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// A hash in hexadecimal.
pub fn hexadecimal(key: &CellKey) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One scenario with its seed and its runs, and how much of the result is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct LabCell {
    scenario: Scenario,
    /// The scenario as JSON. What is hashed, stored and run is exactly this text.
    text: String,
    traced: bool,
}

impl LabCell {
    /// The cell of a scenario. With `traced` the first run is also recorded: its window, its losses.
    ///
    /// # Errors
    /// The setting of the scenario that cannot be.
    pub fn new(scenario: &Scenario, traced: bool) -> Result<LabCell, String> {
        let text = serde_json::to_string(scenario).map_err(|error| error.to_string())?;
        // A share that its text cannot hold is run as its text says: what is kept can be run again to the last bit.
        let scenario: Scenario = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        check_scenario(&scenario).map_err(|error| error.to_string())?;
        let text = serde_json::to_string(&scenario).map_err(|error| error.to_string())?;
        Ok(LabCell { scenario, text, traced })
    }

    /// What is simulated.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The scenario as JSON.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the first run is recorded.
    pub fn is_traced(&self) -> bool {
        self.traced
    }

    /// By what the result of `simulator` is found.
    pub fn key(&self, simulator: &str) -> CellKey {
        hash_of(&[simulator, if self.traced { "report, trace" } else { "report" }, &self.text])
    }

    /// Virtual time of one run, s.
    pub fn run_s(&self) -> f64 {
        self.scenario.run.duration.duration().as_secs_f64()
    }

    /// How many runs it has.
    pub fn runs(&self) -> u32 {
        self.scenario.run.runs
    }
}

/// Reads a stored result.
///
/// # Errors
/// A text that is no JSON.
pub fn read_result(text: &str) -> LabResult<serde_json::Value> {
    serde_json::from_str(text).map_err(|error| LabError::work("a result in the store", error))
}
