//! The error type of this crate.
//!
//! The program shows the message of an error to the user, so every message is a full explanation.

use std::fmt::Display;

/// An error of this crate. The message of the error is written for the user of the program.
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
    /// The program that reads our output has closed the pipe. `head` does so after ten lines.
    #[error("the output was closed")]
    OutputClosed,
}

/// A result whose error is a [`LabError`].
pub type LabResult<T> = Result<T, LabError>;

impl LabError {
    /// A [`LabError::Work`]: `what` was tried, and `why` is the cause of the failure.
    pub fn work(what: impl Display, why: impl Display) -> LabError {
        LabError::Work(format!("{what}: {why}"))
    }
}
