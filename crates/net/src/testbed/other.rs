//! Other programs that carry the transfers of a testbed, for comparisons.

use crate::os::netns::Namespace;
use std::fmt;
use std::net::IpAddr;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The two hosts of a testbed and the link between them.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// The sending host.
    pub sender: &'a Namespace,
    /// The receiving host.
    pub receiver: &'a Namespace,
    /// The sending host's address on the link.
    pub sender_address: IpAddr,
    /// The receiving host's address on the link.
    pub receiver_address: IpAddr,
    /// Longest wait until the hosts are connected.
    pub limit: Duration,
}

/// A way to start other programs on a testbed.
pub trait OtherCarrier: fmt::Debug {
    /// Starts the programs on both hosts, and waits until they can carry data.
    ///
    /// # Errors
    /// The step that failed, and the reason.
    fn start(&self, ends: &Ends<'_>) -> Result<OtherPrograms, String>;
}

/// The running programs. Dropping this value ends them.
#[derive(Debug)]
pub struct OtherPrograms {
    /// The address at which the receiving host listens, and to which the sending host connects. A forwarder has the
    /// address 127.0.0.1 on both hosts.
    pub address: IpAddr,
    /// The programs.
    pub programs: Vec<Program>,
}

/// A running program. Dropping this value kills the program.
#[derive(Debug)]
pub struct Program {
    child: Child,
    name: String,
}

impl OtherPrograms {
    /// CPU time of all programs so far.
    pub(super) fn cpu(&self) -> Duration {
        self.programs.iter().map(Program::cpu).sum()
    }

    /// The name of a program that has ended; None while all run.
    pub(super) fn ended(&mut self) -> Option<String> {
        self.programs.iter_mut().find_map(|program| program.has_ended().then(|| program.name.clone()))
    }
}

impl Program {
    /// Starts `command` on `host`.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(host: &Namespace, command: Command) -> Result<Program, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = host.spawn(command).map_err(|error| error.to_string())?;
        Ok(Program { child, name })
    }

    /// CPU time of all threads so far, in user mode and in the kernel. The kernel counts in units of 10 ms. Zero after
    /// the end of the program.
    pub fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        // The second field, the program's name, may contain spaces. Fields 14 and 15 are user and system time.
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().skip(11).take(2));
        let ticks: u64 = fields.into_iter().flatten().filter_map(|field| field.parse::<u64>().ok()).sum();
        Duration::from_millis(10 * ticks)
    }

    /// Whether the program has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until `is_ready` returns true.
    ///
    /// # Errors
    /// The program ended, or was not ready within `limit`.
    pub fn wait_until(&mut self, limit: Duration, is_ready: impl Fn() -> bool) -> Result<(), String> {
        let end = Instant::now() + limit;
        while !is_ready() {
            if self.has_ended() {
                return Err(format!("{} ended before it was ready", self.name));
            }
            if Instant::now() >= end {
                return Err(format!("{} was not ready within {} s", self.name, limit.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(words: &[&str]) -> Program {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        Program::start(&Namespace::current().unwrap(), command).unwrap()
    }

    #[test]
    fn a_program_that_ends_is_not_ready() {
        let mut program = start(&["true"]);
        let error = program.wait_until(Duration::from_secs(60), || false).unwrap_err();
        assert_eq!(error, "true ended before it was ready");
        assert!(program.wait_until(Duration::ZERO, || true).is_ok());
    }

    #[test]
    fn dropping_a_program_kills_it() {
        let program = start(&["sleep", "1000"]);
        let process = format!("/proc/{}", program.child.id());
        assert!(std::path::Path::new(&process).exists());
        let mut both = OtherPrograms { address: IpAddr::from([127, 0, 0, 1]), programs: vec![program] };
        assert_eq!(both.ended(), None);
        drop(both);
        assert!(!std::path::Path::new(&process).exists());
    }

    #[test]
    fn the_time_of_a_busy_program_is_counted() {
        let mut program = start(&["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec sleep 1000"]);
        let least = Duration::from_millis(10);
        let pid = program.child.id();
        let is_asleep = || {
            let probe = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            probe.trim() == "sleep"
        };
        program.wait_until(Duration::from_secs(120), is_asleep).unwrap();
        assert!(program.cpu() >= least, "{:?}", program.cpu());
    }
}
