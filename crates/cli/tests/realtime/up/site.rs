//! Two hosts with a tunnel between them.

use super::private;
use crate::common::{json, ripstop, stdout};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ripstop_base::{Fraction, Rate, Seed};
use ripstop_link::LinkConfig;
use ripstop_net::emulate::{Emulator, EmulatorConfig};
use ripstop_net::os::ip::ip;
use ripstop_net::os::netns::Namespace;
use serde_json::Value;
use std::fs::{self, File};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "timed out: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Two hosts with keys and configurations, and the link between the hosts. The left host starts the handshake.
pub(crate) struct Site {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) hosts: [Namespace; 2],
    pub(crate) _link: Emulator,
}

/// A running daemon. The usual log of the daemon is in the site's directory.
pub(crate) struct Up {
    pub(crate) child: Child,
    pub(crate) log: PathBuf,
}

pub(crate) const LEFT: usize = 0;

pub(crate) const RIGHT: usize = 1;

impl Site {
    pub(crate) fn new() -> Site {
        let directory = tempfile::tempdir().unwrap();
        let hosts = ["left", "right"].map(|name| Namespace::create(name).unwrap());
        let path =
            LinkConfig::path(Rate::from_bps(50_000_000), Duration::from_millis(10), Fraction::new(0.02).unwrap());
        let addresses = [1, 2].map(|last| [198, 18, 0, last].into());
        let config = EmulatorConfig::new(addresses, path.clone(), path, Seed::new(7));
        let link = Emulator::start(&config, &hosts[LEFT], &hosts[RIGHT]).unwrap();
        let site = Site { directory, hosts, _link: link };
        let public = ["left", "right"].map(|name| {
            let output = ripstop().args(["keys", "new", "--out"]).arg(site.file(&format!("{name}.key"))).output();
            stdout(&output.unwrap()).trim().to_owned()
        });
        site.configure("left", 1, &format!("name = \"right\"\npublic-key = \"{}\"\nallowed-ips = [\"10.77.0.2\", \"fd77::2\"]\nendpoint = \"198.18.0.2:5182\"\n", public[RIGHT]));
        site.configure(
            "right",
            2,
            &format!(
                "name = \"left\"\npublic-key = \"{}\"\nallowed-ips = [\"10.77.0.1\", \"fd77::1\"]\n",
                public[LEFT]
            ),
        );
        site
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn configure(&self, name: &str, number: u8, peer: &str) {
        let text = format!(
            "[interface]\nprivate-key-file = \"{name}.key\"\naddress = [\"10.77.0.{number}/24\", \"fd77::{number}/64\"]\n\
             status = \"{name}.sock\"\n[[peer]]\n{peer}"
        );
        private(&self.file(&format!("{name}.toml")), &text);
    }

    /// Starts the daemon of a host and waits until its status socket answers. Its log is a file.
    pub(crate) fn up(&self, host: usize) -> Up {
        let log = File::options().create(true).append(true).open(self.log_of(host)).unwrap();
        self.up_with(host, log.into())
    }

    fn log_of(&self, host: usize) -> PathBuf {
        self.file(["left.log", "right.log"][host])
    }

    /// Starts the daemon of a host with this standard error, and waits until its status socket answers.
    pub(crate) fn up_with(&self, host: usize, stderr: Stdio) -> Up {
        self.spawn(host, Command::new(env!("CARGO_BIN_EXE_ripstop")), stderr)
    }

    /// Starts the daemon of a host from a shell: `script` runs the program `$0` with the arguments `"$@"`.
    pub(crate) fn up_from_shell(&self, host: usize, script: &str) -> Up {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_ripstop")]);
        self.spawn(host, command, Stdio::null())
    }

    fn spawn(&self, host: usize, mut command: Command, stderr: Stdio) -> Up {
        let config = self.file(["left.toml", "right.toml"][host]);
        command.arg("up").arg(config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let child = self.hosts[host].spawn(command).unwrap();
        let mut up = Up { child, log: self.log_of(host) };
        until("the daemon answers", || {
            assert!(up.child.try_wait().unwrap().is_none(), "{}", fs::read_to_string(&up.log).unwrap_or_default());
            self.status(host, &["--json"]).status.success()
        });
        up
    }

    pub(crate) fn status(&self, host: usize, words: &[&str]) -> std::process::Output {
        let socket = self.file(["left.sock", "right.sock"][host]);
        ripstop().args(["status", "--socket"]).arg(socket).args(words).output().unwrap()
    }

    pub(crate) fn peer(&self, host: usize) -> Value {
        json(&self.status(host, &["--json"]))["peers"][0].clone()
    }

    pub(crate) fn connected(&self) {
        until("both are connected", || [LEFT, RIGHT].iter().all(|host| self.peer(*host)["connected"] == true));
    }

    /// Sends from left to right and back until an answer arrives.
    pub(crate) fn reach(&self) {
        let bind = |host: usize, address: &str, patience: u64| {
            let socket = self.hosts[host].run(|| UdpSocket::bind(address)).unwrap().unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(patience))).unwrap();
            socket
        };
        for (left, right) in [("10.77.0.1:0", "10.77.0.2:7"), ("[fd77::1]:0", "[fd77::2]:7")] {
            let (client, server) = (bind(LEFT, left, 20), bind(RIGHT, right, 500));
            let mut packet = [0; 100];
            until("an echo through the tunnel", || {
                client.send_to(b"hello", right.parse::<SocketAddr>().unwrap()).unwrap();
                if let Ok((len, from)) = server.recv_from(&mut packet) {
                    server.send_to(&packet[..len], from).unwrap();
                }
                client.recv(&mut packet).is_ok_and(|len| packet[..len] == *b"hello")
            });
        }
    }

    pub(crate) fn has_device(&self, host: usize) -> bool {
        ip(&self.hosts[host], &["link", "show", "rip0"]).is_ok()
    }
}

/// The kernel ends a daemon with the test's process, but not a daemon that has changed its user.
impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Up {
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn count(&self, words: &str) -> usize {
        self.log().matches(words).count()
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> ExitStatus {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
        self.child.wait().unwrap()
    }
}
