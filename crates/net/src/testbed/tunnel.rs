//! The tunnel of a testbed: a daemon on each host, the same as `ripstop up` runs.

use super::{TestbedError, TunnelRepairs};
use crate::daemon::{self, Daemon, DaemonConfig, HostPort, Listen, PeerSettings};
use crate::os::netns::Namespace;
use ipnet::IpNet;
use ripstop_proto::endpoint::{Acks, IpPrefix};
use ripstop_proto::secure::{PrivateKey, PublicKey};
use ripstop_proto::session::tunnel::TunnelConfig;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

/// The sending host's address inside the tunnel.
const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
/// The receiving host's address inside the tunnel.
const RECEIVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
/// UDP port of both daemons.
const PORT: u16 = daemon::DEFAULT_PORT;

/// Both daemons of a tunnel. Dropping this value stops both daemons.
#[derive(Debug)]
pub(super) struct TunnelPair {
    sender: Daemon,
    receiver: Daemon,
}

impl TunnelPair {
    /// Starts both daemons and waits until both have a session, at most for `limit`.
    ///
    /// # Errors
    /// The step that the system does not allow, or a handshake that did not complete in time.
    pub(super) fn start(
        sender: (&Namespace, IpAddr),
        receiver: (&Namespace, IpAddr),
        mtu: u16,
        limit: Duration,
    ) -> Result<TunnelPair, TestbedError> {
        let key = || daemon::generate_key().map_err(|error| TestbedError::failed("making a key")(error.to_string()));
        let (here, there) = (key()?, key()?);
        let (public_here, public_there) = (here.public(), there.public());
        let start = |host: &Namespace, config: DaemonConfig| -> Result<Daemon, TestbedError> {
            let started = host.run(|| Daemon::start(&config))?;
            started.map_err(|error| TestbedError::failed("starting the tunnel")(error.to_string()))
        };
        // The receiver does not know the sender's address. It waits for the sender's handshake.
        let far = start(receiver.0, config(there, RECEIVER, mtu, public_here, SENDER, None))?;
        let near = start(sender.0, config(here, SENDER, mtu, public_there, RECEIVER, Some(receiver.1)))?;
        let tunnel = TunnelPair { sender: near, receiver: far };
        let end = Instant::now() + limit;
        while !tunnel.is_connected() {
            if let Some(error) = tunnel.sender.error().or(tunnel.receiver.error()) {
                return Err(TestbedError::failed("the tunnel failed")(error));
            }
            if Instant::now() >= end {
                return Err(TestbedError::NoHandshake(limit));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(tunnel)
    }

    /// The receiver's address inside the tunnel.
    pub(super) fn address(&self) -> IpAddr {
        RECEIVER
    }

    /// CPU time of both daemons so far.
    pub(super) fn cpu(&self) -> Duration {
        let spent = [&self.sender, &self.receiver].into_iter().filter_map(Daemon::status);
        Duration::from_secs_f64(spent.map(|status| status.interface.cpu_s).sum())
    }

    /// How many packets the receiver has recovered, and how many it has given up.
    pub(super) fn repairs(&self) -> TunnelRepairs {
        let session = self.receiver.status().and_then(|status| status.peers.into_iter().next()?.session);
        session.map_or(TunnelRepairs::default(), |session| TunnelRepairs {
            recovered: session.recovered,
            given_up: session.given_up,
        })
    }

    /// Why a daemon ended early.
    pub(super) fn error(&self) -> Option<String> {
        self.sender.error().or(self.receiver.error())
    }

    fn is_connected(&self) -> bool {
        let connected =
            |end: &Daemon| end.status().is_some_and(|status| status.peers.iter().all(|peer| peer.connected));
        connected(&self.sender) && connected(&self.receiver)
    }
}

fn config(
    private: PrivateKey,
    own: IpAddr,
    mtu: u16,
    peer: PublicKey,
    inside: IpAddr,
    endpoint: Option<IpAddr>,
) -> DaemonConfig {
    DaemonConfig {
        private,
        addresses: vec![IpNet::new_assert(own, 24)],
        listen: Listen::Everywhere(PORT),
        name: daemon::DEFAULT_NAME.to_owned(),
        tunnel: TunnelConfig { path_mtu: u32::from(mtu), ..TunnelConfig::default() },
        acks: Acks::EndToEnd,
        metrics: None,
        user: None,
        status: None,
        peers: vec![PeerSettings {
            public: peer,
            preshared: None,
            endpoint: endpoint.map(|host| HostPort { host: host.to_string(), port: PORT }),
            allowed_ips: IpPrefix::new(inside, if inside.is_ipv4() { 32 } else { 128 }).into_iter().collect(),
            keepalive: None,
            name: "peer".to_owned(),
        }],
        warnings: Vec::new(),
        exposed_keys: Vec::new(),
    }
}
