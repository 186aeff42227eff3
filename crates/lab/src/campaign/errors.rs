//! The measured errors of the planner's closed forms, as data:
//! `crates/model/data/plan-errors.toml`.
//!
//! `ripstop plan` shows these errors with its predictions. An error compares a predicted quantity,
//! called a figure here, with the mean of simulations. A campaign is a set of such simulations on
//! random links. `mod.rs` explains the terms of a campaign, such as scheme, family and kind of
//! losses.

use crate::error::{LabError, LabResult};
use ripstop_model::plan::campaign::CampaignRecord;
use ripstop_model::plan::{LossPattern, NetworkPath};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The key in [`PlanErrors::hits`] for all links together.
pub const ALL_LINKS: &str = "all";

/// The errors of all predicted quantities, and the numbers of good recommendations of the planner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanErrors {
    /// The campaign on which the errors were measured.
    pub campaign: CampaignRecord,
    /// The numbers of good recommendations: over all links (key [`ALL_LINKS`]), and for each kind
    /// of losses (key [`LossPattern::name`]).
    pub hits: BTreeMap<String, PlanHits>,
    /// The error of each predicted quantity. The outer key is the name of the quantity. For the
    /// goodput of a scheme, the outer key is the name of the scheme. The inner key is the kind of
    /// losses.
    error: BTreeMap<String, BTreeMap<String, RelativeError>>,
}

/// The error |predicted / simulated mean - 1|, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelativeError {
    /// The median over the links.
    pub median: f64,
    /// The 95th percentile over the links.
    pub p95: f64,
    /// The number of links.
    pub links: u64,
}

/// The numbers of links on which the recommended scheme or its family was good: its goodput was
/// within 3 % of the best scheme's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanHits {
    /// The number of links.
    pub links: u64,
    /// The number of links on which the goodput of the recommended scheme was within 3 % of the
    /// best scheme's.
    pub scheme: u64,
    /// The number of links on which a scheme of the recommended family (plain TCP or tunnel) has a
    /// goodput within 3 % of the best scheme's.
    pub family: u64,
}

impl PlanErrors {
    /// Data for `campaign` that has no errors yet.
    pub fn new(campaign: CampaignRecord) -> PlanErrors {
        PlanErrors { campaign, hits: BTreeMap::new(), error: BTreeMap::new() }
    }

    /// The error of `figure` on links with the same kind of losses as `path`.
    pub fn of(&self, figure: &str, path: &NetworkPath) -> Option<RelativeError> {
        self.error.get(figure)?.get(LossPattern::of(path).name()).copied()
    }

    /// Sets the error of `figure` on links with losses of `kind`.
    pub fn set(&mut self, figure: &str, kind: LossPattern, error: RelativeError) {
        self.error.entry(figure.to_owned()).or_default().insert(kind.name().to_owned(), error);
    }

    /// The text of the data file.
    ///
    /// # Errors
    /// One of the numbers cannot be written as TOML.
    pub fn to_toml(&self) -> LabResult<String> {
        let text = toml::to_string(self).map_err(|error| LabError::work("writing the errors", error))?;
        Ok(format!(
            "# Errors of the planner's closed forms (docs/plan-report.md). Written by `make plan-report`; do not edit.\n\n{text}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::data;
    use ripstop_model::plan::{NetworkPath, PlanScheme};

    #[test]
    fn every_scheme_has_committed_errors() {
        let errors = data::errors().unwrap();
        for scheme in PlanScheme::FITTED {
            assert!(errors.of(scheme.name(), &NetworkPath::default()).is_some(), "{}", scheme.name());
        }
        // The written file reads back as the same data.
        let again: super::PlanErrors = toml::from_str(&errors.to_toml().unwrap()).unwrap();
        assert_eq!(again, errors);
    }

    #[test]
    fn the_errors_are_of_links_that_nothing_was_fitted_to() {
        assert_ne!(data::errors().unwrap().campaign.seed, data::weights().unwrap().campaign.seed);
    }
}
