//! Why the lab could not do what was asked of it.

use std::fmt::Display;

/// Why something was not done, in words for whoever asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    /// A file or a value that says what to do is wrong: where, what is wrong and what would be right.
    #[error("{0}")]
    Input(String),
    /// The work could not be done: what was tried and what was refused.
    #[error("{0}")]
    Work(String),
    /// Nobody reads the output any more.
    #[error("the output was closed")]
    OutputClosed,
}

/// What the lab answers.
pub type LabResult<T> = Result<T, LabError>;

impl LabError {
    /// What was tried, and why it failed.
    pub fn work(what: impl Display, why: impl Display) -> LabError {
        LabError::Work(format!("{what}: {why}"))
    }
}
