//! Reads the planner's committed data in `crates/model/data`, which `make plan-report` writes.
//!
//! The files are compiled into the program.

use super::errors::PlanErrors;
use crate::error::{LabError, LabResult};
use ripstop_model::plan::Weights;
use ripstop_model::plan::data::{ERRORS, WEIGHTS};
use serde::de::DeserializeOwned;

/// The committed weights of the closed forms.
///
/// # Errors
/// The file was already damaged when this program was built.
pub fn weights() -> LabResult<Weights> {
    read("crates/model/data/plan-weights.toml", WEIGHTS)
}

/// The committed errors of the closed forms.
///
/// # Errors
/// The file was already damaged when this program was built.
pub fn errors() -> LabResult<PlanErrors> {
    read("crates/model/data/plan-errors.toml", ERRORS)
}

/// The results of the campaign behind `docs/plan-report.md`.
#[cfg(test)]
pub(super) fn report() -> LabResult<ripstop_model::plan::campaign::CampaignResults> {
    read("crates/model/data/plan-report.toml", ripstop_model::plan::data::REPORT)
}

/// Parses the TOML of the file `name`.
fn read<T: DeserializeOwned>(name: &str, text: &str) -> LabResult<T> {
    toml::from_str(text).map_err(|error| LabError::work(name, error))
}
