//! What a scenario is expected to show, as it is written. `ripstop-lab` reads and decides the claims.

use serde::{Deserialize, Serialize};

/// A claim about the result, or a figure of the result with bounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExpectSpec {
    /// The claim, such as `flows[bulk1].delay_s.p99 <= 0.5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// The figure, by its place in the JSON result. The older way to write an expectation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The figure is this at least, in its own unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The figure is this at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}
