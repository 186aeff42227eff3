//! Finding and starting the other programs.

use super::Outcome;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use ripstop_net::os::netns::Namespace;
use ripstop_net::testbed::Program;
use ripstop_net::workload::{bulk, requests};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A directory for files of this process and its children. No other process sees these files.
const PRIVATE: &str = "/run";

/// The ports of the workload. A forwarder carries each of them.
pub(crate) const PORTS: [u16; 2] = [bulk::PORT, requests::PORT];

/// Where the other programs are found.
#[derive(Debug)]
pub(crate) struct Tools(Vec<PathBuf>);

/// Mounts a file system in memory over [`PRIVATE`], for this process and its children only. It disappears with them.
pub(crate) fn hide_files() -> Outcome<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(Some("tmpfs"), PRIVATE, Some("tmpfs"), MsFlags::empty(), none)?;
    Ok(())
}

impl Tools {
    /// Programs from `first`, or else from `PATH`.
    pub(crate) fn new(first: Option<PathBuf>) -> Tools {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Tools(first.into_iter().chain(std::env::split_paths(&path)).collect())
    }

    /// The path of a program.
    ///
    /// # Errors
    /// `install`, which says how to install the program.
    pub(crate) fn find(&self, program: &str, install: &str) -> Result<PathBuf, String> {
        let found = self.0.iter().map(|directory| directory.join(program)).find(|path| path.is_file());
        found.ok_or_else(|| format!("`{program}` is not installed; {install}"))
    }
}

/// What a program prints, without leading and trailing white space.
pub(crate) fn printed(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Starts a program on `host`, and waits until `is_ready` returns true. The error has the program's last line.
pub(crate) fn start(
    host: &Namespace,
    mut command: Command,
    limit: Duration,
    is_ready: impl Fn() -> bool,
) -> Result<Program, String> {
    let log = Path::new(PRIVATE).join("program.log");
    let file = File::create(&log).map_err(|error| error.to_string())?;
    let copy = file.try_clone().map_err(|error| error.to_string())?;
    command.stdin(Stdio::null()).stdout(file).stderr(copy);
    let mut program = Program::start(host, command)?;
    program.wait_until(limit, is_ready).map_err(|error| {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        format!("{error}: {}", text.lines().last().unwrap_or_default())
    })?;
    Ok(program)
}

/// Whether a socket of `host` listens on a port. `protocol` is `tcp` or `udp`.
pub(crate) fn listens(host: &Namespace, protocol: &str, port: u16) -> bool {
    // A TCP socket that listens has state 0A, and a UDP socket without a peer has state 07.
    let state = if protocol == "tcp" { "0A" } else { "07" };
    let lines = host.run(|| {
        let read = |file| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
        read(protocol.to_owned()) + &read(format!("{protocol}6"))
    });
    lines.unwrap_or_default().lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.len() > 3 && fields[1].ends_with(&format!(":{port:04X}")) && fields[3] == state
    })
}
