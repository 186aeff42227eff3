//! The command `ip` of iproute2, for what is done once and is no hot path: routes, further
//! addresses, rules.

use super::netns::{Namespace, NetnsError};
use std::io;
use std::process::Command;

/// Why `ip` did not do it.
#[derive(Debug, thiserror::Error)]
pub enum IpError {
    /// The command is not installed.
    #[error(
        "the command `ip` is missing; install it with `apt install iproute2` (Debian, Ubuntu), \
         `dnf install iproute` (Fedora) or `apk add iproute2` (Alpine)"
    )]
    Missing,
    /// It could not be started.
    #[error("`{command}` could not be started: {source}")]
    Start {
        /// The whole command.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ended with an error.
    #[error("`{command}` in namespace {namespace} failed: {words}")]
    Failed {
        /// The whole command.
        command: String,
        /// Where it ran.
        namespace: String,
        /// What it printed, or how it ended when it printed nothing.
        words: String,
    },
    /// The namespace could not be entered.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
}

/// Runs `ip` with `arguments` in `namespace`, for example `["route", "add", "default", "dev",
/// "tun0"]`, and returns what it printed.
///
/// # Errors
/// See [`IpError`]; what `ip` said is part of the error.
pub fn ip(namespace: &Namespace, arguments: &[&str]) -> Result<String, IpError> {
    let line = || format!("ip {}", arguments.join(" "));
    let mut command = Command::new("ip");
    command.args(arguments);
    // With an empty `PATH` of its own a daemon would not find it.
    if std::env::var_os("PATH").is_none() {
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    }
    let output = namespace.output(command).map_err(|error| match error {
        NetnsError::System { source, .. } if source.kind() == io::ErrorKind::NotFound => IpError::Missing,
        NetnsError::System { source, .. } => IpError::Start { command: line(), source },
        other => IpError::Namespace(other),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let words = if words.is_empty() { output.status.to_string() } else { words };
    Err(IpError::Failed { command: line(), namespace: namespace.to_string(), words })
}
