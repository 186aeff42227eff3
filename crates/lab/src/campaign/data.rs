//! The planner's committed data: `crates/model/data`, which `make plan-report` writes.

use super::errors::PlanErrors;
use crate::error::{LabError, LabResult};
use ripstop_model::plan::Weights;
use ripstop_model::plan::data::{ERRORS, WEIGHTS};
use serde::de::DeserializeOwned;

/// The weights of the closed forms.
///
/// # Errors
/// A file that was damaged before this program was built.
pub fn weights() -> LabResult<Weights> {
    read("crates/model/data/plan-weights.toml", WEIGHTS)
}

/// The errors of the closed forms.
///
/// # Errors
/// A file that was damaged before this program was built.
pub fn errors() -> LabResult<PlanErrors> {
    read("crates/model/data/plan-errors.toml", ERRORS)
}

/// The links of the report.
#[cfg(test)]
pub(super) fn report() -> LabResult<ripstop_model::plan::campaign::CampaignResults> {
    read("crates/model/data/plan-report.toml", ripstop_model::plan::data::REPORT)
}

fn read<T: DeserializeOwned>(name: &str, text: &str) -> LabResult<T> {
    toml::from_str(text).map_err(|error| LabError::work(name, error))
}
