//! The two hosts, their daemons, and the link between them.

use super::Outcome;
use ripstop_base::{Bytes, Fraction, Rate, Seed, Span, Stream};
use ripstop_link::{Change, LinkConfig, Loss};
use ripstop_net::daemon::DaemonStatus;
use ripstop_net::emulate::{Emulator, EmulatorConfig};
use ripstop_net::os::ip::ip;
use ripstop_net::os::netns::Namespace;
use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The UDP port of the daemons.
const PORT: u16 = 5182;
/// The last number of each host's address at the start. A host that has moved has a higher number.
const HOME: [u8; 2] = [1, 2];
/// How long a peer takes to follow a host that has moved: two keep-alives, and their losses. Half the value may move a
/// host before the peer has followed it. Double the value makes the mishap longer.
const FOLLOW: Duration = Duration::from_secs(3);
/// How long a daemon may take to open its device.
const START: Duration = Duration::from_secs(30);

/// The address of a host inside the tunnel.
pub(crate) fn inside(host: usize) -> IpAddr {
    IpAddr::from([10, 77, 0, 1 + host as u8])
}

/// Both hosts.
pub(crate) struct Hosts {
    program: String,
    directory: TempDir,
    namespaces: [Namespace; 2],
    daemons: [Child; 2],
    /// The last number of each host's address on the link.
    addresses: [u8; 2],
    link: Emulator,
    /// Counters of daemons that were killed.
    before: BTreeMap<&'static str, u64>,
    faults: Vec<String>,
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// A link of 20 Mbit/s and 40 ms. Loss, rate and MTU change every few seconds, and begin again after 40 s.
fn path() -> Outcome<LinkConfig> {
    let s = |seconds: u64| Span::from(Duration::from_secs(seconds));
    let share = |share: f64| Fraction::new(share).ok_or("a share is between 0 and 1");
    let loss = |value: f64| share(value).map(Loss::bernoulli);
    let rate = |mbps: u64| Some(Rate::from_bps(mbps * 1_000_000));
    Ok(LinkConfig {
        schedule: vec![
            Change { at: s(5), loss: Some(loss(0.02)?), ..Change::default() },
            Change { at: s(10), loss: Some(loss(0.1)?), mtu: Some(Bytes::new(1400)), ..Change::default() },
            Change { at: s(15), rate: rate(5), loss: Some(loss(0.01)?), ..Change::default() },
            Change { at: s(22), rate: rate(20), mtu: Some(Bytes::new(1500)), ..Change::default() },
            Change { at: s(27), loss: Some(Loss::Gilbert { mean: share(0.2)?, burst: 4.0 }), ..Change::default() },
            Change { at: s(32), loss: Some(Loss::None), ..Change::default() },
        ],
        schedule_period: Some(s(40)),
        jitter: Span::from(Duration::from_millis(3)),
        ..LinkConfig::path(Rate::from_bps(20_000_000), Duration::from_millis(40), Fraction::ZERO)
    })
}

impl Hosts {
    /// Makes the hosts and the link, and starts the daemons.
    pub(crate) fn set_up(program: &str, seed: Seed) -> Outcome<Hosts> {
        let namespaces = [Namespace::create("left")?, Namespace::create("right")?];
        let config = EmulatorConfig::new(HOME.map(|last| [198, 18, 0, last].into()), path()?, path()?, seed);
        let link = Emulator::start(&config, &namespaces[0], &namespaces[1])?;
        let directory = tempfile::tempdir()?;
        write_configurations(program, &directory)?;
        let daemons = [start(program, &directory, &namespaces[0], 0)?, start(program, &directory, &namespaces[1], 1)?];
        let (before, addresses) = (BTreeMap::new(), HOME);
        let program = program.to_owned();
        Ok(Hosts { program, directory, namespaces, daemons, addresses, link, before, faults: Vec::new() })
    }

    /// The namespace of a host.
    pub(crate) fn namespace(&self, host: usize) -> Namespace {
        self.namespaces[host].clone()
    }

    /// Kills a host's daemon with SIGKILL, and starts it again. The left daemon calls the right host's first address,
    /// so the right host first returns there.
    pub(crate) fn kill(&mut self, host: usize) -> Outcome<()> {
        if host == 0 {
            self.set_address(1, HOME[1])?;
        }
        self.keep_counters(host);
        self.daemons[host].kill()?;
        self.daemons[host].wait()?;
        self.daemons[host] = start(&self.program, &self.directory, &self.namespaces[host], host)?;
        Ok(())
    }

    /// Gives each of the hosts another address.
    ///
    /// If both hosts move, they have lost each other, because neither knows the other by name. The right host then
    /// returns to the address at which the left host has heard it last.
    pub(crate) fn move_to(&mut self, hosts: &[usize], random: &mut Stream) -> Outcome<()> {
        let both = hosts.len() == 2;
        if both {
            self.set_address(1, HOME[1])?;
            std::thread::sleep(FOLLOW);
        }
        for host in hosts {
            let last = 10 + 100 * *host as u8 + random.below(90) as u8;
            self.set_address(*host, last)?;
        }
        if both {
            std::thread::sleep(FOLLOW);
            self.set_address(1, HOME[1])?;
        }
        Ok(())
    }

    /// Lets both daemons read their configurations again.
    pub(crate) fn reload(&mut self) -> Outcome<()> {
        for daemon in &self.daemons {
            signal(daemon, "HUP")?;
        }
        Ok(())
    }

    /// Takes the link down for a while.
    pub(crate) fn interrupt(&mut self, length: Duration) -> Outcome<()> {
        ip(&self.namespaces[0], &["link", "set", "wire0", "down"])?;
        std::thread::sleep(length);
        ip(&self.namespaces[0], &["link", "set", "wire0", "up"])?;
        Ok(())
    }

    /// Random datagrams to both daemons from another port. There must be no answer.
    pub(crate) fn disturb(&mut self, random: &mut Stream) -> Outcome<()> {
        for host in [0, 1] {
            let (there, last) = (1 - host, self.addresses[1 - host]);
            let socket = self.namespaces[host].run(|| UdpSocket::bind("0.0.0.0:0"))??;
            socket.set_read_timeout(Some(Duration::from_millis(200)))?;
            for _ in 0..200 {
                let mut bytes = vec![0; 1 + random.below(300) as usize];
                random.fill(&mut bytes);
                // The first byte is often that of a real message.
                bytes[0] = if random.chance(0.8) { random.below(0x19) as u8 } else { bytes[0] };
                // An address that has just changed may be out of reach.
                let _ = socket.send_to(&bytes, (IpAddr::from([198, 18, 0, last]), PORT));
            }
            if socket.recv(&mut [0; 2000]).is_ok() {
                self.faults.push(format!("host {there} answered a stranger"));
            }
        }
        Ok(())
    }

    /// Brings the hosts home for the last files, one after the other: the left end looks for the right end where it was
    /// last.
    pub(crate) fn calm(&mut self) -> Outcome<()> {
        self.set_address(1, HOME[1])?;
        std::thread::sleep(FOLLOW);
        self.set_address(0, HOME[0])
    }

    /// The faults since the last call: daemons that have ended by themselves, and answers to strangers.
    pub(crate) fn faults(&mut self) -> Vec<String> {
        let mut all = std::mem::take(&mut self.faults);
        for (host, daemon) in self.daemons.iter_mut().enumerate() {
            if let Ok(Some(status)) = daemon.try_wait() {
                all.push(format!("the daemon of host {host} has ended: {status}"));
            }
        }
        all
    }

    /// Counters of mechanisms that never acted, in words.
    pub(crate) fn unfired(&self) -> Vec<String> {
        let counters = self.counters();
        let idle = counters.iter().filter(|(_, count)| **count == 0);
        idle.map(|(name, _)| format!("the daemons' counter `{name}` is zero")).collect()
    }

    /// The counters of both daemons, in words.
    pub(crate) fn summary(&self) -> String {
        let counters = self.counters();
        counters.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    }

    /// The sums of the counters of both hosts, killed daemons included.
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        let mut all = self.before.clone();
        for host in [0, 1] {
            self.add_counters(host, &mut all);
        }
        all.insert("packets lost by the link", self.lost());
        all
    }

    fn lost(&self) -> u64 {
        let snapshot = self.link.snapshot();
        snapshot.left_to_right.link.lost_channel + snapshot.right_to_left.link.lost_channel
    }

    fn keep_counters(&mut self, host: usize) {
        let mut all = std::mem::take(&mut self.before);
        self.add_counters(host, &mut all);
        self.before = all;
    }

    fn add_counters(&self, host: usize, all: &mut BTreeMap<&'static str, u64>) {
        let status = self.status(host);
        *all.entry("answers to `ripstop status`").or_default() += u64::from(status.is_some());
        let Some(status) = status else { return };
        let peers = || status.peers.iter();
        let recovered =
            peers().filter_map(|peer| peer.session.as_ref()).map(|session| session.received.recovered).sum();
        for (name, count) in [
            ("moves followed", status.totals.addresses.roamed),
            ("sessions", peers().map(|peer| peer.counts.sessions).sum()),
            ("restarts of the peer", peers().map(|peer| peer.counts.restarts).sum()),
            ("MTU changes", status.device.packets.mtu_changes),
            ("packets recovered", recovered),
            ("datagrams rejected", status.rejected.values().sum()),
        ] {
            *all.entry(name).or_default() += count;
        }
    }

    fn status(&self, host: usize) -> Option<DaemonStatus> {
        let socket = self.directory.path().join(format!("{host}.sock"));
        let output = Command::new(&self.program).args(["status", "--json", "--socket"]).arg(socket).output().ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    /// What the daemons say of their peers, and what the kernels say of their TCP connections: evidence for a fault.
    pub(crate) fn evidence(&self) -> String {
        let of = |host: usize| {
            let peers = self.status(host).and_then(|status| serde_json::to_string(&status.peers).ok());
            let list = || Command::new("ss").args(["--tcp", "--info", "--numeric"]).output().ok();
            let sockets = self.namespaces[host].run(list).ok().flatten();
            let sockets = sockets.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            format!("host {host}: {}\n{}", peers.unwrap_or_default(), sockets.unwrap_or_default())
        };
        [0, 1].map(of).join("\n")
    }

    /// Gives a host the address that ends in `last`.
    fn set_address(&mut self, host: usize, last: u8) -> Outcome<()> {
        let before = std::mem::replace(&mut self.addresses[host], last);
        if before != last {
            let namespace = &self.namespaces[host];
            ip(namespace, &["addr", "add", &format!("198.18.0.{last}/24"), "dev", "wire0"])?;
            ip(namespace, &["addr", "del", &format!("198.18.0.{before}/24"), "dev", "wire0"])?;
            ip(namespace, &["addr", "replace", &format!("198.18.0.{last}/24"), "dev", "wire0"])?;
        }
        Ok(())
    }
}

/// Makes keys, and writes a configuration for each host. Both ends have the same pre-shared key.
fn write_configurations(program: &str, directory: &TempDir) -> Outcome<()> {
    let keys = |arguments: &[&str]| -> Outcome<String> {
        let output = Command::new(program).arg("keys").args(arguments).current_dir(directory.path()).output()?;
        if !output.status.success() {
            return Err(format!("keys {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let public = [keys(&["new", "--out", "0.key"])?, keys(&["new", "--out", "1.key"])?];
    keys(&["psk", "--out", "shared.key"])?;
    for host in [0, 1] {
        let endpoint = if host == 0 { format!("endpoint = \"198.18.0.{}:{PORT}\"\n", HOME[1]) } else { String::new() };
        let text = format!(
            "[interface]\nprivate-key-file = \"{host}.key\"\naddress = [\"{}/24\"]\nstatus = \"{host}.sock\"\n\
             [[peer]]\npublic-key = \"{}\"\npreshared-key-file = \"shared.key\"\nallowed-ips = [\"{}/32\"]\nkeepalive = \"1s\"\n{endpoint}",
            inside(host),
            public[1 - host],
            inside(1 - host)
        );
        std::fs::write(directory.path().join(format!("{host}.toml")), text)?;
    }
    Ok(())
}

/// Starts a host's daemon, and waits until its device is up.
fn start(program: &str, directory: &TempDir, namespace: &Namespace, host: usize) -> Outcome<Child> {
    let mut command = Command::new(program);
    command.args(["up", "--log", "error"]).arg(directory.path().join(format!("{host}.toml"))).stdin(Stdio::null());
    let daemon = namespace.spawn(command)?;
    let (end, address) = (Instant::now() + START, format!("{}/24", inside(host)));
    while !ip(namespace, &["addr", "show", "up"]).is_ok_and(|text| text.contains(&address)) {
        if Instant::now() > end {
            return Err(format!("the daemon of host {host} did not start").into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(daemon)
}

/// Sends a daemon a signal.
fn signal(daemon: &Child, name: &str) -> Outcome<()> {
    let status = Command::new("kill").args([&format!("-{name}"), &daemon.id().to_string()]).status()?;
    if status.success() { Ok(()) } else { Err("a daemon got no signal".into()) }
}
