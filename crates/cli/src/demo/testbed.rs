//! The testbed of a contender: two new hosts and the lossy link between them.

use super::contenders::Contender;
use super::report::TunnelFacts;
use super::tunnel::Tunnel;
use crate::failure::{Failure, Outcome};
use ripstop_base::{Rate, Seed};
use ripstop_link::LinkConfig;
use ripstop_net::emulate::{EmulateError, Emulator, EmulatorConfig, EmulatorSide, EmulatorSnapshot};
use ripstop_net::os::netns::Namespace;
use ripstop_net::os::tun::TunError;
use ripstop_net::workload::Route;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// The settings of the link in both directions.
#[derive(Clone, Debug)]
pub(crate) struct TwoWayLink {
    /// The data direction.
    pub(crate) forth: LinkConfig,
    /// The way back.
    pub(crate) back: LinkConfig,
}

/// Two hosts and the link between them. Everything is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Testbed {
    /// How the workloads get from one host to the other.
    pub(crate) route: Route,
    /// Declared before the link, so that it is dropped first and can close its session.
    tunnel: Option<Tunnel>,
    emulator: Emulator,
}

/// Addresses of the link's ends, from the range for benchmarks (RFC 2544).
const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));
const RECEIVER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2));

/// MTU of the link, in bytes.
pub(crate) const MTU: u16 = 1500;

impl Testbed {
    /// Sets up a testbed for a `contender` that the kernel offers. Links with equal seeds lose the same
    /// packets. `fates` tells whether to keep the packets' fates.
    ///
    /// # Errors
    /// The step that the system does not allow, and what to do.
    pub(crate) fn set_up(
        contender: Contender,
        path: &TwoWayLink,
        seed: Seed,
        fates: bool,
    ) -> Outcome<Testbed> {
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
            // Nothing else has been tried yet, so this machine has no TUN devices or does not allow them.
            EmulateError::Tun(TunError::NoDriver | TunError::NotAllowed { .. }) => super::not_allowed(error),
            other => other.into(),
        })?;
        let tunnel = contender
            .is_tunnelled()
            .then(|| Tunnel::start((&client, SENDER), (&server, RECEIVER), MTU, connect_limit(path)))
            .transpose()?;
        let address = tunnel.as_ref().map_or(RECEIVER, Tunnel::address);
        let route = Route { client, server, address, congestion: contender.kernel_cc().unwrap_or("cubic") };
        Ok(Testbed { route, tunnel, emulator })
    }

    /// The link's counters now; `left_to_right` is the data direction.
    pub(crate) fn snapshot(&self) -> EmulatorSnapshot {
        self.emulator.snapshot()
    }

    /// Stops the link and returns the fate of each packet in the data direction and back.
    pub(crate) fn fates(&mut self) -> [Vec<u8>; 2] {
        self.emulator.halt();
        self.emulator.take_fates()
    }

    /// CPU time of the tunnel's two daemons so far; zero without a tunnel.
    pub(crate) fn tunnel_cpu(&self) -> Duration {
        self.tunnel.as_ref().map_or(Duration::ZERO, Tunnel::cpu)
    }

    /// What the tunnel has repaired in the data direction; None without a tunnel.
    pub(crate) fn tunnel_facts(&self) -> Option<TunnelFacts> {
        self.tunnel.as_ref().map(Tunnel::facts)
    }

    /// Removes the testbed and returns the last counters.
    ///
    /// # Errors
    /// The tunnel or the link had failed, so nothing was measured.
    pub(crate) fn tear_down(self) -> Outcome<EmulatorSnapshot> {
        let broken = self.tunnel.as_ref().and_then(Tunnel::error);
        drop(self.tunnel);
        let snapshot = self.emulator.stop();
        match (broken, &snapshot.error) {
            (Some(error), _) => Err(Failure::work("the tunnel failed", error)),
            (_, Some(error)) => Err(Failure::work("the emulated link failed", error)),
            _ => Ok(snapshot),
        }
    }
}

/// Longest wait for the tunnel's handshake. A lossy, long path needs many attempts.
fn connect_limit(path: &TwoWayLink) -> Duration {
    let rtt = path.forth.delay.duration() + path.back.delay.duration();
    (20 * rtt).max(Duration::from_secs(60))
}

/// Sets the TCP parameters of this thread's namespace. Where /proc/sys is read-only the kernel's defaults
/// remain; these are too small only for paths with a large bandwidth-delay product.
fn prepare(path: &TwoWayLink) {
    // A connection must not learn from an earlier one.
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

/// Four times what path and queue hold (one bandwidth-delay product each), because the kernel also counts its
/// own overhead; at most 1 GB.
fn buffer_bytes(path: &TwoWayLink) -> u64 {
    let rtt: Duration = path.forth.delay.duration() + path.back.delay.duration();
    let bytes = u128::from(path.forth.rate.max(Rate::from_bps(1)).bps()) * rtt.as_nanos() / 8_000_000_000;
    u64::try_from(8 * bytes).unwrap_or(u64::MAX).min(1_000_000_000)
}
