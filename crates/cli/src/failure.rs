//! The reasons for which a command fails, and the exit status for each reason.

use crate::output::note;
use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// The outcome of a command.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong flags or arguments: exit status 2.
    Usage(String),
    /// An invalid configuration or input file: exit status 2.
    Config(String),
    /// The work failed: exit status 1.
    Work(String),
    /// The reader of standard output is gone: exit status 1 and no message.
    OutputClosed,
    /// A failure whose message is in the log already: only the exit status remains.
    Logged(ExitCode),
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Usage(words) | Failure::Config(words) | Failure::Work(words) => f.write_str(words),
            Failure::OutputClosed => f.write_str("the reader of the output is gone"),
            Failure::Logged(_) => f.write_str("the log says why"),
        }
    }
}

impl Failure {
    /// The failure for a flag with an invalid value. `problem` says what is wrong and which value would be valid.
    pub(crate) fn flag(flag: &str, problem: impl Display) -> Failure {
        Failure::Usage(format!("{flag}: {problem}"))
    }

    /// The failure of the command's work. `what` names the step that failed. `why` is the reason.
    pub(crate) fn work(what: impl Display, why: impl Display) -> Failure {
        Failure::Work(format!("{what}: {why}"))
    }

    /// Prints the message and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match &self {
            Failure::Usage(words) => note(format_args!("error: {words}\n\nFor more information, try '--help'.")),
            Failure::Config(words) | Failure::Work(words) => note(format_args!("error: {words}")),
            Failure::OutputClosed | Failure::Logged(_) => {}
        }
        self.status()
    }

    /// The exit status.
    pub(crate) fn status(&self) -> ExitCode {
        match self {
            Failure::Usage(_) | Failure::Config(_) => ExitCode::from(2),
            Failure::Work(_) | Failure::OutputClosed => ExitCode::FAILURE,
            Failure::Logged(status) => *status,
        }
    }

    /// The failure for an error that occurred while the result was printed.
    pub(crate) fn printing(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::work("printing the result", error),
        }
    }
}

impl From<ripstop_lab::error::LabError> for Failure {
    fn from(error: ripstop_lab::error::LabError) -> Failure {
        use ripstop_lab::error::LabError;
        match error {
            LabError::Input(words) => Failure::Config(words),
            LabError::Work(words) => Failure::Work(words),
            LabError::OutputClosed => Failure::OutputClosed,
        }
    }
}

impl From<ripstop_net::os::netns::NetnsError> for Failure {
    fn from(error: ripstop_net::os::netns::NetnsError) -> Failure {
        Failure::Work(error.to_string())
    }
}

impl From<ripstop_net::emulate::EmulateError> for Failure {
    fn from(error: ripstop_net::emulate::EmulateError) -> Failure {
        Failure::Work(error.to_string())
    }
}

impl From<ripstop_net::testbed::TestbedError> for Failure {
    fn from(error: ripstop_net::testbed::TestbedError) -> Failure {
        Failure::Work(error.to_string())
    }
}

impl From<ripstop_net::daemon::DaemonConfigError> for Failure {
    fn from(error: ripstop_net::daemon::DaemonConfigError) -> Failure {
        Failure::Config(error.to_string())
    }
}

/// A flag with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrongFlag {
    /// The flag with its dashes; None when no flag is to blame.
    pub(crate) flag: Option<String>,
    /// What is wrong, and which value would be valid.
    pub(crate) problem: String,
}

impl WrongFlag {
    pub(crate) fn new(flag: &str, problem: impl Into<String>) -> WrongFlag {
        WrongFlag { flag: Some(flag.to_owned()), problem: problem.into() }
    }
}

impl From<WrongFlag> for Failure {
    fn from(wrong: WrongFlag) -> Failure {
        match wrong.flag {
            Some(flag) => Failure::flag(&flag, wrong.problem),
            None => Failure::Usage(wrong.problem),
        }
    }
}
