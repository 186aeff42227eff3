//! Hosts, the links between them, and the daemons on them.

use ipnet::IpNet;
use ripstop_base::{Fraction, Rate, Seed};
use ripstop_link::LinkConfig;
use ripstop_net::daemon::{Daemon, DaemonConfig, DaemonPeerStatus, DaemonStatus, SessionStatus};
use ripstop_net::emulate::{Emulator, EmulatorConfig, EmulatorSide};
use ripstop_net::os::netns::Namespace;
use ripstop_proto::secure::PrivateKey;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

/// The seed of all tests.
const SEED: u64 = 7;
/// Limit of every wait: much longer than any wait takes.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The port of every daemon.
pub(crate) const PORT: u16 = 5182;

/// Waits until a condition is true.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < TIMEOUT, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The private key of host `number`.
pub(crate) fn key(number: u8) -> PrivateKey {
    PrivateKey::generate(&mut Seed::new(SEED).stream(&format!("key/{number}")))
}

/// Bytes that differ for every name.
pub(crate) fn noise(name: &str, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Seed::new(SEED).stream(name).fill(&mut bytes);
    bytes
}

/// A perfect link without a rate limit.
pub(crate) fn perfect() -> LinkConfig {
    LinkConfig::path(Rate::from_bps(0), Duration::from_millis(4), Fraction::ZERO)
}

/// A link that loses packets.
pub(crate) fn lossy(loss: f64) -> LinkConfig {
    LinkConfig::path(Rate::from_bps(100_000_000), Duration::from_millis(10), Fraction::new(loss).unwrap())
}

/// A host with a daemon's identity. The host's number determines its addresses and its key.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) namespace: Namespace,
    pub(crate) number: u8,
}

impl Host {
    pub(crate) fn new(number: u8) -> Host {
        Host { namespace: Namespace::create(&format!("host{number}")).unwrap(), number }
    }

    /// The host's IPv4 address inside the tunnel.
    pub(crate) fn v4(&self) -> IpAddr {
        [10, 77, 0, self.number].into()
    }

    /// The host's IPv6 address inside the tunnel.
    pub(crate) fn v6(&self) -> IpAddr {
        format!("fd77::{}", self.number).parse().unwrap()
    }

    /// Both addresses inside the tunnel.
    pub(crate) fn inside(&self) -> [IpAddr; 2] {
        [self.v4(), self.v6()]
    }

    /// Starts a daemon. `interface` and `peers` are added to the default configuration.
    pub(crate) fn up(&self, interface: &str, peers: &[String]) -> End {
        End { host: self.clone(), daemon: self.start(self.config(interface, peers)) }
    }

    pub(crate) fn start(&self, config: DaemonConfig) -> Daemon {
        self.namespace.run(|| Daemon::start(&config)).unwrap().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The configuration with which [`Host::up`] starts a daemon. There is no status socket, unless
    /// `interface` sets one.
    pub(crate) fn config(&self, interface: &str, peers: &[String]) -> DaemonConfig {
        let text = format!(
            "[interface]\nprivate-key = \"{}\"\naddress = [\"{}/24\", \"{}/64\"]\n{interface}\n{}",
            *key(self.number).to_base64(),
            self.v4(),
            self.v6(),
            peers.concat()
        );
        let config = DaemonConfig::parse(&text, Path::new("test.toml")).unwrap_or_else(|e| panic!("{e}\n{text}"));
        match interface.contains("status") {
            true => config,
            false => DaemonConfig { status: None, ..config },
        }
    }

    /// The `[[peer]]` section that other hosts use for this host, with the lines `more` added.
    pub(crate) fn as_peer(&self, more: &str) -> String {
        format!(
            "[[peer]]\nname = \"host{}\"\npublic-key = \"{}\"\nallowed-ips = [\"{}\", \"{}\"]\n{more}\n",
            self.number,
            key(self.number).public(),
            self.v4(),
            self.v6()
        )
    }
}

/// A host with its daemon.
pub(crate) struct End {
    pub(crate) host: Host,
    pub(crate) daemon: Daemon,
}

impl End {
    pub(crate) fn status(&self) -> DaemonStatus {
        self.daemon.status().expect("the daemon runs")
    }

    /// The status of the only peer.
    pub(crate) fn peer(&self) -> DaemonPeerStatus {
        self.status().peers.remove(0)
    }

    /// The session with the only peer.
    pub(crate) fn session(&self) -> SessionStatus {
        self.peer().session.expect("there is a session")
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.status().peers.iter().all(|peer| peer.connected)
    }

    /// How many datagrams were dropped for this reason.
    pub(crate) fn rejected(&self, reason: &str) -> u64 {
        self.status().rejected[reason]
    }

    /// How many datagrams were dropped for any reason.
    pub(crate) fn all_rejected(&self) -> u64 {
        self.status().rejected.values().sum()
    }
}

/// A link between two hosts. The link's devices and addresses contain `number`.
pub(crate) fn link(number: u8, left: &Host, right: &Host, path: &LinkConfig, mtu: u16) -> Emulator {
    let side = |end: u8| EmulatorSide {
        device: format!("wire{number}"),
        addresses: outer(number, end)
            .map(|address| IpNet::new(address, if address.is_ipv4() { 24 } else { 64 }).unwrap())
            .into(),
    };
    let config = EmulatorConfig {
        left: side(1),
        right: side(2),
        left_to_right: path.clone(),
        right_to_left: path.clone(),
        mtu,
        seed: Seed::new(SEED),
        fates: false,
    };
    Emulator::start(&config, &left.namespace, &right.namespace).unwrap()
}

/// Addresses of a link's left (1) or right (2) end.
fn outer(number: u8, end: u8) -> [IpAddr; 2] {
    [[198, 18, number, end].into(), format!("fd00:{number}::{end}").parse().unwrap()]
}

/// The IPv4 address on which the daemon at a link's end listens.
pub(crate) fn over_v4(number: u8, end: u8) -> SocketAddr {
    SocketAddr::new(outer(number, end)[0], PORT)
}

/// The IPv6 address on which the daemon at a link's end listens.
pub(crate) fn over_v6(number: u8, end: u8) -> SocketAddr {
    SocketAddr::new(outer(number, end)[1], PORT)
}

/// Two hosts, a link and a tunnel. The left host starts the handshake.
pub(crate) struct Pair {
    pub(crate) left: End,
    pub(crate) right: End,
    /// The link is dropped last, so that the daemons can still close their session over the link.
    pub(crate) link: Emulator,
}

impl Pair {
    /// A pair over IPv4. `interface` is added to the `[interface]` section of both hosts.
    pub(crate) fn raise(path: &LinkConfig, mtu: u16, interface: &str) -> Pair {
        Pair::raise_to(over_v4(1, 2), path, mtu, interface)
    }

    /// A pair whose left host connects to the address `called`.
    pub(crate) fn raise_to(called: SocketAddr, path: &LinkConfig, mtu: u16, interface: &str) -> Pair {
        let (left, right) = (Host::new(1), Host::new(2));
        let link = link(1, &left, &right, path, mtu);
        let right_end = right.up(interface, &[left.as_peer("")]);
        let left_end = left.up(interface, &[right.as_peer(&format!("endpoint = \"{called}\""))]);
        let pair = Pair { left: left_end, right: right_end, link };
        pair.connect();
        pair
    }

    /// Waits until both hosts have a session.
    pub(crate) fn connect(&self) {
        until("both ends have a session", || self.left.is_connected() && self.right.is_connected());
    }

    pub(crate) fn ends(&self) -> [&End; 2] {
        [&self.left, &self.right]
    }
}
