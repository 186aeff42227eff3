//! The error that names an invalid setting of a scenario.

/// An invalid setting of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {problem}")]
pub struct ScenarioError {
    /// The field, written as in a file: `flow[1].stop`, `link[0].forth.loss`.
    pub field: String,
    /// What is wrong with the field, and what would be right.
    pub problem: String,
}

impl ScenarioError {
    pub(super) fn new(field: impl Into<String>, problem: impl Into<String>) -> ScenarioError {
        ScenarioError { field: field.into(), problem: problem.into() }
    }
}

/// An error for `field`.
pub(super) fn refuse<T>(field: impl Into<String>, problem: impl Into<String>) -> Result<T, ScenarioError> {
    Err(ScenarioError::new(field, problem))
}
