//! Testbeds: two new hosts (network namespaces) and the lossy link between them, with or without a tunnel.
//!
//! [`measure`] runs the kernel's TCP over a testbed: requests, a bulk stream with requests at the
//! same time, and a file.

pub mod measure;
mod tunnel;

use crate::emulate::{EmulateError, Emulator, EmulatorConfig, EmulatorSide, EmulatorSnapshot};
use crate::os::netns::{Namespace, NetnsError};
use crate::workload::{Route, WorkloadError};
use ripstop_base::{Rate, Seed};
use ripstop_link::LinkConfig;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use tunnel::TunnelPair;

/// The settings of the link in both directions.
#[derive(Clone, Debug)]
pub struct TwoWayLink {
    /// The data direction.
    pub forth: LinkConfig,
    /// The direction opposite to the data.
    pub back: LinkConfig,
}

/// How the transfers of a testbed are carried: with which TCP, and with or without the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carriage {
    /// The name of the carriage in messages.
    pub name: &'static str,
    /// The congestion control of the transfers' sockets, by the kernel's name.
    pub congestion: &'static str,
    /// Whether the transfers go through the tunnel.
    pub tunnelled: bool,
}

/// Lost packets of the data direction: how many the tunnel recovered, and how many it gave up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelRepairs {
    /// Lost packets that the tunnel recovered.
    pub recovered: u64,
    /// Lost packets that the tunnel gave up.
    pub given_up: u64,
}

/// Why a testbed or a measurement on it failed.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// A host could not be created or entered.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
    /// The link could not be set up.
    #[error(transparent)]
    Emulate(#[from] EmulateError),
    /// A part of the testbed failed.
    #[error("{what}: {why}")]
    Failed {
        /// The part and the step.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// The tunnel's hosts did not complete a handshake in time.
    #[error("the hosts did not complete a handshake within {} s", .0.as_secs_f64())]
    NoHandshake(Duration),
    /// A transfer failed.
    #[error("{name}: {source}")]
    Workload {
        /// The name of the carriage.
        name: &'static str,
        /// The error of the transfer.
        source: WorkloadError,
    },
}

impl TestbedError {
    pub(super) fn failed(what: &'static str) -> impl FnOnce(String) -> TestbedError {
        move |why| TestbedError::Failed { what, why }
    }
}

/// Two hosts and the link between them. When this value is dropped, the hosts and the link are
/// removed.
#[derive(Debug)]
pub struct Testbed {
    /// How the workloads get from one host to the other.
    pub route: Route,
    /// The tunnel is declared before the link. So the tunnel is dropped first, and can close its
    /// session over the link.
    tunnel: Option<TunnelPair>,
    emulator: Emulator,
}

/// Address of the sending host on the link, from the range for benchmarks (RFC 2544).
const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));
/// Address of the receiving host on the link, from the same range.
const RECEIVER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2));

/// MTU of the link, in bytes.
pub const MTU: u16 = 1500;

impl Testbed {
    /// Sets up a testbed. Links with equal seeds lose the same packets. `fates` tells whether to
    /// keep the fate of each packet: delivered, or lost and how.
    ///
    /// # Errors
    /// The step that the system does not allow, and what to do.
    pub fn set_up(carriage: Carriage, path: &TwoWayLink, seed: Seed, fates: bool) -> Result<Testbed, TestbedError> {
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
        let emulator = Emulator::start(&config, &client, &server)?;
        let tunnel = carriage
            .tunnelled
            .then(|| TunnelPair::start((&client, SENDER), (&server, RECEIVER), MTU, connect_limit(path)))
            .transpose()?;
        let address = tunnel.as_ref().map_or(RECEIVER, TunnelPair::address);
        let route = Route { client, server, address, congestion: carriage.congestion };
        Ok(Testbed { route, tunnel, emulator })
    }

    /// The link's counters now; `left_to_right` is the data direction.
    pub fn snapshot(&self) -> EmulatorSnapshot {
        self.emulator.snapshot()
    }

    /// Stops the link and returns the fate of each packet in the data direction and back.
    pub fn fates(&mut self) -> [Vec<u8>; 2] {
        self.emulator.halt();
        self.emulator.take_fates()
    }

    /// CPU time of the tunnel's two daemons so far; zero without a tunnel.
    pub fn tunnel_cpu(&self) -> Duration {
        self.tunnel.as_ref().map_or(Duration::ZERO, TunnelPair::cpu)
    }

    /// How many lost packets of the data direction the tunnel has recovered or given up; None
    /// without a tunnel.
    pub fn tunnel_repairs(&self) -> Option<TunnelRepairs> {
        self.tunnel.as_ref().map(TunnelPair::repairs)
    }

    /// Removes the testbed and returns the last counters.
    ///
    /// # Errors
    /// The tunnel or the link failed at some time, so the measurement is not valid.
    pub fn tear_down(self) -> Result<EmulatorSnapshot, TestbedError> {
        let broken = self.tunnel.as_ref().and_then(TunnelPair::error);
        drop(self.tunnel);
        let snapshot = self.emulator.stop();
        match (broken, &snapshot.error) {
            (Some(error), _) => Err(TestbedError::failed("the tunnel failed")(error)),
            (_, Some(error)) => Err(TestbedError::failed("the emulated link failed")(error.to_string())),
            _ => Ok(snapshot),
        }
    }
}

/// Longest wait for the tunnel's handshake. A lossy, long path needs many attempts.
fn connect_limit(path: &TwoWayLink) -> Duration {
    let rtt = path.forth.delay.duration() + path.back.delay.duration();
    (20 * rtt).max(Duration::from_secs(60))
}

/// Sets the TCP parameters of this thread's namespace. If /proc/sys is read-only, the kernel's defaults remain. These
/// are too small only for paths with a large bandwidth-delay product.
fn prepare(path: &TwoWayLink) {
    // Without this setting the kernel would start a connection with values that it learned from an
    // earlier connection.
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

/// The size of a TCP buffer in bytes: four times what path and queue hold, at most 1 GB. Path and
/// queue each count as one bandwidth-delay product. The factor of four is needed because the kernel
/// counts its own overhead too.
fn buffer_bytes(path: &TwoWayLink) -> u64 {
    let rtt: Duration = path.forth.delay.duration() + path.back.delay.duration();
    let bytes = u128::from(path.forth.rate.max(Rate::from_bps(1)).bps()) * rtt.as_nanos() / 8_000_000_000;
    u64::try_from(8 * bytes).unwrap_or(u64::MAX).min(1_000_000_000)
}
