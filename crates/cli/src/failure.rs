//! Why a command did not do its work, and the exit status that says so.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// The outcome of a command.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked in the wrong words, or for what cannot be: exit status 2.
    Usage(String),
    /// A file that says what to do says it wrongly: exit status 2.
    Config(String),
    /// It could not: exit status 1.
    Work(String),
    /// Nobody reads the output any more: exit status 1, and nothing to say.
    OutputClosed,
}

impl Failure {
    /// A value that cannot be: which flag, what is wrong, what would be right.
    pub(crate) fn flag(flag: &str, problem: impl Display) -> Failure {
        Failure::Usage(format!("{flag}: {problem}"))
    }

    /// What was tried, and why it failed.
    pub(crate) fn work(what: impl Display, why: impl Display) -> Failure {
        Failure::Work(format!("{what}: {why}"))
    }

    /// Tells the user, and gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Failure::Usage(words) => {
                eprintln!("error: {words}\n\nFor more information, try '--help'.");
                ExitCode::from(2)
            }
            Failure::Config(words) => {
                eprintln!("error: {words}");
                ExitCode::from(2)
            }
            Failure::Work(words) => {
                eprintln!("error: {words}");
                ExitCode::FAILURE
            }
            Failure::OutputClosed => ExitCode::FAILURE,
        }
    }

    /// A failure to print.
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

impl From<ripstop_net::daemon::DaemonConfigError> for Failure {
    fn from(error: ripstop_net::daemon::DaemonConfigError) -> Failure {
        Failure::Config(error.to_string())
    }
}

/// A flag whose value cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrongFlag {
    /// With its dashes; None when it is not a flag's fault.
    pub(crate) flag: Option<String>,
    /// What is wrong and what would be right.
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
