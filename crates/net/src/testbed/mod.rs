//! Testbeds: two new hosts (network namespaces) and the lossy link between them, with or without a tunnel.
//!
//! [`measure`] runs the kernel's TCP over a testbed: requests, a bulk stream with requests at the
//! same time, and a file. Several tunnels and plain flows can share the link of one testbed
//! ([`Testbed::add_tunnel`], [`Testbed::plain_route`]).

pub mod measure;
mod other;
mod tunnel;

pub use other::{Ends, OtherCarrier, OtherPrograms, Program};

use crate::emulate::{EmulateError, Emulator, EmulatorConfig, EmulatorSnapshot};
use crate::os::netns::{Namespace, NetnsError};
use crate::workload::{Route, WorkloadError};
use ripstop_base::{Rate, Seed};
use ripstop_link::LinkConfig;
use ripstop_proto::session::tunnel::TunnelConfig;
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

/// How the transfers of a testbed are carried: with which TCP, and by what.
#[derive(Clone, Copy, Debug)]
pub struct Carriage<'a> {
    /// The name of the carriage in messages.
    pub name: &'static str,
    /// The congestion control of the transfers' sockets, by the kernel's name.
    pub congestion: &'static str,
    /// What carries the packets of the transfers.
    pub carrier: Carrier<'a>,
}

/// What carries the packets of the transfers between the two hosts.
#[derive(Clone, Copy, Debug)]
pub enum Carrier<'a> {
    /// The link alone.
    Link,
    /// The tunnel of this program, with its default settings.
    Ripstop,
    /// Other programs, for example another tunnel.
    Other(&'a dyn OtherCarrier),
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
    /// The tunnels are declared before the link. So the tunnels are dropped first, and can close their
    /// sessions over the link.
    tunnels: Vec<TunnelPair>,
    other: Option<OtherPrograms>,
    connect_limit: Duration,
    emulator: Emulator,
}

/// Address of the sending host on the link, from the range for benchmarks (RFC 2544).
const SENDER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Address of the receiving host on the link, from the same range.
const RECEIVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// MTU of the link, in bytes.
pub const MTU: u16 = 1500;

impl Testbed {
    /// Sets up a testbed. Links with equal seeds lose the same packets. `fates` tells whether to
    /// keep the fate of each packet: delivered, or lost and how.
    ///
    /// # Errors
    /// The step that the system does not allow, and what to do.
    pub fn set_up(carriage: Carriage<'_>, path: &TwoWayLink, seed: Seed, fates: bool) -> Result<Testbed, TestbedError> {
        let mut testbed = Testbed::bare(path, seed, fates)?;
        testbed.route.congestion = carriage.congestion;
        match carriage.carrier {
            Carrier::Link => {}
            Carrier::Ripstop => testbed.route.address = testbed.add_tunnel(TunnelConfig::default())?,
            Carrier::Other(other) => {
                let programs = other.start(&testbed.ends()).map_err(TestbedError::failed(carriage.name))?;
                testbed.route.address = programs.address;
                testbed.other = Some(programs);
            }
        }
        Ok(testbed)
    }

    /// Sets up the two hosts and the link without a tunnel. The route is the link itself, with CUBIC.
    ///
    /// # Errors
    /// See [`Testbed::set_up`].
    pub fn bare(path: &TwoWayLink, seed: Seed, fates: bool) -> Result<Testbed, TestbedError> {
        let (client, server) = (Namespace::create("sender")?, Namespace::create("receiver")?);
        for host in [&client, &server] {
            host.run(|| prepare(path))?;
        }
        let config = EmulatorConfig {
            mtu: MTU,
            fates,
            ..EmulatorConfig::new([SENDER, RECEIVER], path.forth.clone(), path.back.clone(), seed)
        };
        let emulator = Emulator::start(&config, &client, &server)?;
        let route = Route { client, server, address: RECEIVER.into(), congestion: "cubic" };
        Ok(Testbed { route, tunnels: Vec::new(), other: None, connect_limit: connect_limit(path), emulator })
    }

    /// Starts one more tunnel over the link, and waits until it has a session. The path's MTU is the link's. Returns
    /// the receiving host's address inside the tunnel.
    ///
    /// # Errors
    /// The step that the system does not allow, or a handshake that did not complete in time.
    pub fn add_tunnel(&mut self, config: TunnelConfig) -> Result<IpAddr, TestbedError> {
        let index = u8::try_from(self.tunnels.len()).unwrap_or(u8::MAX);
        let config = TunnelConfig { path_mtu: u32::from(MTU), ..config };
        let tunnel = TunnelPair::start(&self.ends(), index, &config)?;
        let address = tunnel.address();
        self.tunnels.push(tunnel);
        Ok(address)
    }

    /// The route to the receiving host over the link alone, beside all tunnels.
    pub fn plain_route(&self, congestion: &'static str) -> Route {
        Route { address: RECEIVER.into(), congestion, ..self.route.clone() }
    }

    /// The route to an address that [`Testbed::add_tunnel`] returned.
    pub fn tunnel_route(&self, address: IpAddr, congestion: &'static str) -> Route {
        Route { address, congestion, ..self.route.clone() }
    }

    /// Lets the TCP connections of both hosts use ECN.
    ///
    /// # Errors
    /// The kernel's setting cannot be written.
    pub fn enable_tcp_ecn(&self) -> Result<(), TestbedError> {
        for host in [&self.route.client, &self.route.server] {
            host.run(|| std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1"))?
                .map_err(|error| TestbedError::failed("turning on ECN of TCP")(error.to_string()))?;
        }
        Ok(())
    }

    fn ends(&self) -> Ends<'_> {
        Ends {
            sender: &self.route.client,
            receiver: &self.route.server,
            sender_address: SENDER.into(),
            receiver_address: RECEIVER.into(),
            limit: self.connect_limit,
        }
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

    /// CPU time of all tunnel daemons and other programs so far.
    pub fn tunnel_cpu(&self) -> Duration {
        let own: Duration = self.tunnels.iter().map(TunnelPair::cpu).sum();
        own + self.other.as_ref().map_or(Duration::ZERO, OtherPrograms::cpu)
    }

    /// How many lost packets of the data direction the first tunnel has recovered or given up; None
    /// without a tunnel.
    pub fn tunnel_repairs(&self) -> Option<TunnelRepairs> {
        self.tunnels.first().map(TunnelPair::repairs)
    }

    /// Removes the testbed and returns the last counters.
    ///
    /// # Errors
    /// A tunnel, another program or the link failed at some time, so the measurement is not valid.
    pub fn tear_down(self) -> Result<EmulatorSnapshot, TestbedError> {
        let broken = self.tunnels.iter().find_map(TunnelPair::error);
        let ended = self.other.and_then(|mut other| other.ended());
        drop(self.tunnels);
        let snapshot = self.emulator.stop();
        match (broken, ended, &snapshot.error) {
            (Some(error), _, _) => Err(TestbedError::failed("the tunnel failed")(error)),
            (_, Some(error), _) => Err(TestbedError::failed("a program ended early")(error)),
            (_, _, Some(error)) => Err(TestbedError::failed("the emulated link failed")(error.to_string())),
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
