//! The error that names an invalid setting of a link.

/// An invalid setting: its name, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("link setting `{field}`: {problem}")]
pub struct LinkConfigError {
    /// The setting's name as in a configuration file, such as `schedule[2].loss.burst`.
    pub field: String,
    /// What is wrong with the setting, and what would be right.
    pub problem: String,
}

impl LinkConfigError {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> LinkConfigError {
        LinkConfigError { field: field.into(), problem: problem.into() }
    }
}
