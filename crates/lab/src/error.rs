//! The error type of this crate.
//!
//! The caller shows its message to the user, so every message is a full explanation.

use std::fmt::Display;

/// An error of the lab. Its message is written for the user of the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    /// An input file or value is wrong. The text says where, what is wrong, and what would be
    /// right.
    #[error("{0}")]
    Input(String),
    /// The work failed although the input was valid. The text says what was tried and why it
    /// failed.
    #[error("{0}")]
    Work(String),
    /// The reader of the output has closed it, such as `head` at the end of a pipe.
    #[error("the output was closed")]
    OutputClosed,
}

/// A result with an error of the lab.
pub type LabResult<T> = Result<T, LabError>;

impl LabError {
    /// A [`LabError::Work`]: `what` was tried, and `why` is the cause of the failure.
    pub fn work(what: impl Display, why: impl Display) -> LabError {
        LabError::Work(format!("{what}: {why}"))
    }
}
