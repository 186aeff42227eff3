//! The expectations of a scenario, as written in a file. `ripstop-lab` reads and judges them.

use serde::{Deserialize, Serialize};

/// A claim about the result, or a figure of the result with bounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExpectSpec {
    /// The claim, such as `flows[bulk1].delay_s.p99 <= 0.5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// The figure by its path in the JSON result. This is the older way to write an expectation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The least value of the figure, in its own unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The greatest value of the figure, in its own unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}
