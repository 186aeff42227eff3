//! Where a contender performs: two fresh hosts, and the lossy link between them.

use super::contenders::Contender;
use super::report::TunnelFacts;
use super::tunnel::Tunnel;
use crate::failure::{Failure, Outcome};
use crate::workload::Route;
use ripstop_base::{Rate, Seed};
use ripstop_link::LinkConfig;
use ripstop_net::emulate::{EmulateError, Emulator, EmulatorConfig, EmulatorSide, EmulatorSnapshot};
use ripstop_net::os::netns::Namespace;
use ripstop_net::os::tun::TunError;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// What the link does, in both directions.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// The data direction.
    pub(crate) forth: LinkConfig,
    /// The way back.
    pub(crate) back: LinkConfig,
}

/// Two hosts and the link between them. Everything goes when it is dropped.
#[derive(Debug)]
pub(crate) struct Stage {
    /// How workloads get from one host to the other.
    pub(crate) route: Route,
    /// Before the link: it ends first, and says good-bye.
    tunnel: Option<Tunnel>,
    emulator: Emulator,
}

/// Addresses of the link's ends, from the range for benchmarks (RFC 2544).
const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));
const RECEIVER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2));

/// MTU of the link, in bytes.
pub(crate) const MTU: u16 = 1500;

impl Stage {
    /// Raises a stage for `contender`, which one of the kernel's TCPs plays. Equal seeds give links that lose the same packets;
    /// their fates are kept where `fates` says so.
    ///
    /// # Errors
    /// What the system does not allow, in words that say what to do.
    pub(crate) fn raise(contender: Contender, path: &Path, seed: Seed, fates: bool) -> Outcome<Stage> {
        let (client, server) = (Namespace::create("sender")?, Namespace::create("receiver")?);
        for host in [&client, &server] {
            host.run(|| prepare(path))?;
        }
        let side = |address| EmulatorSide {
            device: "wire0".to_owned(),
            addresses: vec![ipnet::IpNet::new_assert(address, 24)],
        };
        let config = EmulatorConfig {
            left: side(SENDER),
            right: side(RECEIVER),
            left_to_right: path.forth.clone(),
            right_to_left: path.back.clone(),
            mtu: MTU,
            seed,
            fates,
        };
        let emulator = Emulator::start(&config, &client, &server).map_err(|error| match error {
            // Before anything else has been tried: it is this machine that has or allows no devices.
            EmulateError::Tun(TunError::NoDriver | TunError::NotAllowed { .. }) => super::not_allowed(error),
            other => other.into(),
        })?;
        let tunnel = contender
            .is_tunnelled()
            .then(|| Tunnel::raise((&client, SENDER), (&server, RECEIVER), MTU, connect_limit(path)))
            .transpose()?;
        let address = tunnel.as_ref().map_or(RECEIVER, Tunnel::address);
        let route = Route { client, server, address, congestion: contender.kernel_cc().unwrap_or("cubic") };
        Ok(Stage { route, tunnel, emulator })
    }

    /// The link's counters at this moment; `left_to_right` is the data direction.
    pub(crate) fn snapshot(&self) -> EmulatorSnapshot {
        self.emulator.snapshot()
    }

    /// Ends the link, and says what became of each packet, there and back.
    pub(crate) fn fates(&mut self) -> [Vec<u8>; 2] {
        self.emulator.halt();
        self.emulator.take_fates()
    }

    /// CPU time that the tunnel's ends have used so far; zero without a tunnel.
    pub(crate) fn tunnel_cpu(&self) -> Duration {
        self.tunnel.as_ref().map_or(Duration::ZERO, Tunnel::cpu)
    }

    /// What the tunnel has repaired in the data direction; None without a tunnel.
    pub(crate) fn tunnel_facts(&self) -> Option<TunnelFacts> {
        self.tunnel.as_ref().map(Tunnel::facts)
    }

    /// Takes it down; returns the last counters.
    ///
    /// # Errors
    /// A tunnel or a link that had broken down before has measured nothing.
    pub(crate) fn strike(self) -> Outcome<EmulatorSnapshot> {
        let broken = self.tunnel.as_ref().and_then(Tunnel::error);
        drop(self.tunnel);
        let snapshot = self.emulator.stop();
        match (broken, &snapshot.error) {
            (Some(error), _) => Err(Failure::work("the tunnel broke down", error)),
            (_, Some(error)) => Err(Failure::work("the emulated link broke down", error)),
            _ => Ok(snapshot),
        }
    }
}

/// How long the tunnel's ends may look for each other: a lossy, long path wants many tries.
fn connect_limit(path: &Path) -> Duration {
    let rtt = path.forth.delay.duration() + path.back.delay.duration();
    (20 * rtt).max(Duration::from_secs(60))
}

/// Sets up the TCP of this thread's namespace. Where /proc/sys is read-only the kernel's defaults
/// stay, which are right for all but long fat paths.
fn prepare(path: &Path) {
    // One connection is not to learn from the one before it.
    let _ = std::fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
    for key in ["tcp_rmem", "tcp_wmem"] {
        let file = format!("/proc/sys/net/ipv4/{key}");
        let limits = std::fs::read_to_string(&file).unwrap_or_default();
        if let [Ok(least), Ok(start), Ok(most)] =
            limits.split_whitespace().map(str::parse::<u64>).collect::<Vec<_>>()[..]
            && most < buffer_bytes(path)
        {
            let _ = std::fs::write(&file, format!("{least} {start} {}", buffer_bytes(path)));
        }
    }
}

/// Room for four times what path and queue of one bandwidth-delay product hold, since the kernel
/// counts its own overhead too; at most 1 GB.
fn buffer_bytes(path: &Path) -> u64 {
    let rtt: Duration = path.forth.delay.duration() + path.back.delay.duration();
    let bytes = u128::from(path.forth.rate.max(Rate::from_bps(1)).bps()) * rtt.as_nanos() / 8_000_000_000;
    u64::try_from(8 * bytes).unwrap_or(u64::MAX).min(1_000_000_000)
}
