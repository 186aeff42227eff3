//! The tunnel of a testbed: a daemon on each host, the same as `ripstop up` runs.

use super::{Ends, TestbedError, TunnelRepairs};
use crate::daemon::{self, Daemon, DaemonConfig, HostPort, Listen, PeerSettings};
use crate::os::netns::Namespace;
use ipnet::IpNet;
use ripstop_proto::endpoint::{Acks, EndpointConfig, IpPrefix};
use ripstop_proto::secure::{PrivateKey, PublicKey};
use ripstop_proto::session::tunnel::TunnelConfig;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

/// The address of a host inside tunnel `index` of a testbed. Host 1 sends, and host 2 receives.
fn inside(index: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 77, index, host))
}

/// Both daemons of a tunnel. Dropping this value stops both daemons.
#[derive(Debug)]
pub(super) struct TunnelPair {
    sender: Daemon,
    receiver: Daemon,
    address: IpAddr,
}

/// What one daemon of a tunnel is told.
struct Side<'a> {
    index: u8,
    private: PrivateKey,
    own: IpAddr,
    peer: PublicKey,
    inside: IpAddr,
    endpoint: Option<IpAddr>,
    tunnel: &'a TunnelConfig,
}

impl TunnelPair {
    /// Starts both daemons and waits until both have a session, at most for the limit of `ends`. Tunnels of one
    /// testbed differ in `index`.
    ///
    /// # Errors
    /// The step that the system does not allow, or a handshake that did not complete in time.
    pub(super) fn start(ends: &Ends<'_>, index: u8, tunnel: &TunnelConfig) -> Result<TunnelPair, TestbedError> {
        let key = || daemon::generate_key().map_err(|error| TestbedError::failed("making a key")(error.to_string()));
        let (here, there) = (key()?, key()?);
        let (public_here, public_there) = (here.public(), there.public());
        let start = |host: &Namespace, side: Side<'_>| -> Result<Daemon, TestbedError> {
            let started = host.run(|| Daemon::start(&side.config()))?;
            started.map_err(|error| TestbedError::failed("starting the tunnel")(error.to_string()))
        };
        let (sender, receiver) = (inside(index, 1), inside(index, 2));
        // The receiver does not know the sender's address. It waits for the sender's handshake.
        let far =
            Side { index, private: there, own: receiver, peer: public_here, inside: sender, endpoint: None, tunnel };
        let far = start(ends.receiver, far)?;
        let near = Side {
            index,
            private: here,
            own: sender,
            peer: public_there,
            inside: receiver,
            endpoint: Some(ends.receiver_address),
            tunnel,
        };
        let near = start(ends.sender, near)?;
        let limit = ends.limit;
        let tunnel = TunnelPair { sender: near, receiver: far, address: receiver };
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
        self.address
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
            recovered: session.received.recovered,
            given_up: session.received.given_up,
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

impl Side<'_> {
    fn config(self) -> DaemonConfig {
        // Tunnels of one testbed share the hosts, so each has its own port and device.
        let port = daemon::DEFAULT_PORT + u16::from(self.index);
        DaemonConfig {
            private: self.private,
            addresses: vec![IpNet::new_assert(self.own, 24)],
            listen: Listen::Everywhere(port),
            name: if self.index == 0 { daemon::DEFAULT_NAME.to_owned() } else { format!("rip{}", self.index) },
            tunnel: self.tunnel.clone(),
            acks: Acks::EndToEnd,
            memory: EndpointConfig::default().memory,
            work_per_second: EndpointConfig::default().work_per_second,
            metrics: None,
            user: None,
            status: None,
            peers: vec![PeerSettings {
                public: self.peer,
                preshared: None,
                endpoint: self.endpoint.map(|host| HostPort { host: host.to_string(), port }),
                allowed_ips: IpPrefix::new(self.inside, if self.inside.is_ipv4() { 32 } else { 128 })
                    .into_iter()
                    .collect(),
                keepalive: None,
                name: "peer".to_owned(),
            }],
            warnings: Vec::new(),
            insecure_files: Vec::new(),
        }
    }
}
