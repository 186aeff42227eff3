//! Reads the planner's data from the files in `crates/model/data`. `make plan-report` writes these
//! files.
//!
//! The planner predicts goodput and delays by closed forms with fitted weights. The files hold
//! these weights, and the errors of the predictions relative to simulations. The files are compiled
//! into the program.

use super::errors::PlanErrors;
use crate::error::{LabError, LabResult};
use ripstop_model::plan::Weights;
use ripstop_model::plan::data::{ERRORS, REFIT, WEIGHTS};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// The weights of the planner's closed forms.
///
/// # Errors
/// The file was already damaged when this program was built.
pub fn weights() -> LabResult<Weights> {
    read("crates/model/data/plan-weights.toml", WEIGHTS)
}

/// The errors of the planner's closed forms.
///
/// # Errors
/// The file was already damaged when this program was built.
pub fn errors() -> LabResult<PlanErrors> {
    read("crates/model/data/plan-errors.toml", ERRORS)
}

/// The behaviour of this simulator for the schemes whose data were made with a simulator of another
/// behaviour and must be made anew. Empty: all data are of this simulator.
///
/// # Errors
/// The file was already damaged when this program was built.
pub fn refit_pending() -> LabResult<BTreeMap<String, String>> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Refit {
        #[serde(default)]
        behaviour: BTreeMap<String, String>,
    }
    read::<Refit>("crates/model/data/refit.toml", REFIT).map(|refit| refit.behaviour)
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
