//! How good the closed forms are, as data: `crates/model/data/plan-errors.toml`.

use crate::error::{LabError, LabResult};
use ripstop_model::plan::campaign::CampaignRecord;
use ripstop_model::plan::{LossPattern, NetworkPath};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The key of [`PlanErrors::hits`] for all links together.
pub const ALL_LINKS: &str = "all";

/// The errors of all figures, and how often the choice was right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanErrors {
    /// The campaign that the errors were measured on.
    pub campaign: CampaignRecord,
    /// How often the choice was right: over all links (key `all`), and by the kind of losses.
    pub hits: BTreeMap<String, PlanHits>,
    /// The error of each figure, such as a scheme's goodput, by the figure's name and the kind of losses.
    error: BTreeMap<String, BTreeMap<String, RelativeError>>,
}

/// By how much predictions differ from the simulated mean, relative to the mean.
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

/// How often the recommended scheme was within 3 % of the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanHits {
    /// The number of links.
    pub links: u64,
    /// Links on which the named scheme was within 3 % of the best.
    pub scheme: u64,
    /// Links on which the best scheme of the named family (plain TCP, tunnel) was.
    pub family: u64,
}

impl PlanErrors {
    /// No errors yet, for `campaign`.
    pub fn new(campaign: CampaignRecord) -> PlanErrors {
        PlanErrors { campaign, hits: BTreeMap::new(), error: BTreeMap::new() }
    }

    /// The error of `figure` on links with losses of the kind that `path` has.
    pub fn of(&self, figure: &str, path: &NetworkPath) -> Option<RelativeError> {
        self.error.get(figure)?.get(LossPattern::of(path).name()).copied()
    }

    /// Sets the error of `figure` on links of `kind`.
    pub fn set(&mut self, figure: &str, kind: LossPattern, error: RelativeError) {
        self.error.entry(figure.to_owned()).or_default().insert(kind.name().to_owned(), error);
    }

    /// The text of the file.
    ///
    /// # Errors
    /// A number that TOML cannot write.
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
        // Written again, the file is the same but for its heading.
        let again: super::PlanErrors = toml::from_str(&errors.to_toml().unwrap()).unwrap();
        assert_eq!(again, errors);
    }

    #[test]
    fn the_errors_are_of_links_that_nothing_was_fitted_to() {
        assert_ne!(data::errors().unwrap().campaign.seed, data::weights().unwrap().campaign.seed);
    }
}
