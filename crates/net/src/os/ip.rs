//! The `ip` command of iproute2, for settings that are rarely changed: routes, further addresses, rules.

use super::netns::{Namespace, NetnsError, in_namespace};
use std::io;
use std::process::Command;

/// Why `ip` failed.
#[derive(Debug, thiserror::Error)]
pub enum IpError {
    /// The command is not installed.
    #[error(
        "the command `ip` is missing; install it with `apt install iproute2` (Debian, Ubuntu), \
         `dnf install iproute` (Fedora) or `apk add iproute2` (Alpine)"
    )]
    Missing,
    /// The command could not be started.
    #[error("`{command}` could not be started: {source}")]
    Start {
        /// The whole command line.
        command: String,
        /// The system's error.
        source: io::Error,
    },
    /// The command reported an error.
    #[error("`{command}`{} failed: {words}", in_namespace(.namespace))]
    Failed {
        /// The whole command line.
        command: String,
        /// The namespace in which it ran.
        namespace: String,
        /// What the command printed, or its exit status if it printed nothing.
        words: String,
    },
    /// The namespace could not be entered.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
}

/// Runs `ip` with `arguments` in `namespace`, and returns what `ip` printed. An example of `arguments`: `["route",
/// "add", "default", "dev", "tun0"]`.
///
/// # Errors
/// See [`IpError`]. The message includes what `ip` printed.
pub fn ip(namespace: &Namespace, arguments: &[&str]) -> Result<String, IpError> {
    let line = || format!("ip {}", arguments.join(" "));
    let mut command = Command::new("ip");
    command.args(arguments);
    // A service manager may start a daemon without `PATH`.
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
