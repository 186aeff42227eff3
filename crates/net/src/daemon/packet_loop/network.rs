//! The network side of the daemon: the UDP sockets at the listening port and at the spare ports. Brings the endpoint's
//! datagrams to the kernel, and datagrams of peers to the endpoint.

use super::sources::{Port, Source};
use super::spare_ports::SparePorts;
use crate::daemon::DaemonError;
use crate::daemon::config::Listen;
use crate::os::clock::Clock;
use crate::os::epoll::{Interest, Reactor, Registration, Urgency};
use crate::os::udp::{DatagramBatch, ReceiveBuffers, Received, SendOutcome, Udp, UdpCounters};
use ripstop_proto::endpoint::Endpoint;
use std::io;
use std::net::SocketAddr;

/// The UDP sockets, and the datagrams that are collected for one send call.
#[derive(Debug)]
pub(in crate::daemon) struct Network {
    pub(super) udp: Udp,
    registration: Registration,
    pub(super) spare_ports: SparePorts,
    batch: DatagramBatch,
    /// The port whose socket had no room for `batch`. Sending continues when the socket is writable.
    blocked: Option<Port>,
    buffers: ReceiveBuffers,
    clock: Clock,
}

impl Network {
    /// Opens the listening port.
    pub(in crate::daemon) fn open(
        listen: &Listen,
        clock: Clock,
        reactor: &mut Reactor,
    ) -> Result<Network, DaemonError> {
        let udp = match listen {
            Listen::Everywhere(port) => Udp::bind_any(*port).map_err(DaemonError::system(format!(
                "listening on UDP port {port} (to use another port, set `port` in [interface])"
            )))?,
            Listen::At(address) => {
                let what = format!(
                    "listening on UDP {address} (`listen` in [interface]: the address must be one of this host's; `port` alone \
                     listens on all of them)"
                );
                address.resolve().and_then(Udp::bind).map_err(DaemonError::system(what))?
            }
        };
        let registration = reactor
            .register(&udp, Source::Socket(Port::Listening).token(), Interest::READ, Urgency::Bulk)
            .map_err(DaemonError::system("watching the UDP socket"))?;
        Ok(Network {
            udp,
            registration,
            spare_ports: SparePorts::new(listen.clone()),
            batch: DatagramBatch::default(),
            blocked: None,
            buffers: ReceiveBuffers::default(),
            clock,
        })
    }

    /// Drops datagrams that arrive through the device with this number from now on.
    pub(super) fn ignore_device(&mut self, index: u32) {
        self.udp.ignore_device(index);
        self.spare_ports.ignore_device(index);
    }

    /// Whether the kernel has no room for the next datagrams.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// Makes the reactor report when the blocked socket is writable again.
    pub(super) fn watch(&mut self, reactor: &mut Reactor) -> io::Result<()> {
        let interest = Interest { read: true, write: self.blocked == Some(Port::Listening) };
        reactor.set_interest(&self.udp, &mut self.registration, interest)?;
        self.spare_ports.watch(reactor, self.blocked)
    }

    /// All ports.
    pub(super) fn ports(&self) -> impl Iterator<Item = Port> + '_ {
        std::iter::once(Port::Listening).chain(self.spare_ports.all())
    }

    /// The sum of the counters of all sockets, closed ones included.
    pub(super) fn counters(&self) -> UdpCounters {
        self.spare_ports.counters(self.udp.counters())
    }

    /// Receives once from the socket at a port. None: the port was closed.
    ///
    /// # Errors
    /// See [`Udp::receive`].
    pub(super) fn receive(&mut self, port: Port, endpoint: &mut Endpoint) -> Option<io::Result<Received>> {
        let now = self.clock.now();
        let udp = match port {
            Port::Listening => &mut self.udp,
            Port::Spare(peer) => self.spare_ports.socket(peer)?,
        };
        Some(udp.receive(&mut self.buffers, |from, datagram, reception| {
            let before = authentic(endpoint);
            endpoint.handle_datagram(now, from, datagram, reception);
            authentic(endpoint) != before
        }))
    }

    /// Sends the endpoint's datagrams, until there is none or the kernel has no room.
    pub(super) fn transmit(&mut self, endpoint: &mut Endpoint) {
        if self.blocked.is_some() {
            self.send_batch();
        }
        let mut now = self.clock.now();
        while self.blocked.is_none() {
            let Some(out) = endpoint.poll_transmit(now, self.batch.room()) else { break };
            let segments = if out.is_test { 1 } else { self.udp.segments() };
            if !self.batch.push(out.to, out.len, out.ect, segments) {
                self.send_batch();
                now = self.clock.now();
            }
        }
        while self.blocked.is_none() && !self.batch.is_empty() {
            self.send_batch();
        }
    }

    /// Sends the collected datagrams from the port that is in use for their destination.
    fn send_batch(&mut self) {
        let spare = self.batch.destination().and_then(|to| self.spare_ports.socket_to(to));
        let (port, udp) = spare.unwrap_or((Port::Listening, &mut self.udp));
        self.blocked = (udp.send(&mut self.batch) == SendOutcome::Blocked).then_some(port);
    }

    /// Warns if no datagram can reach the configured address of a peer.
    pub(super) fn warn_if_out_of_reach(&self, peer: &str, address: Option<SocketAddr>) {
        if address.is_some_and(|address| !self.udp.reaches(&address)) {
            tracing::warn!(%peer, "no datagram can reach the peer: its address and this host's socket have different address families; change `endpoint` or `listen`");
        }
    }
}

/// How many datagrams of peers and handshakes have authenticated.
fn authentic(endpoint: &Endpoint) -> u64 {
    let counters = endpoint.secure_counters();
    counters.datagrams.opened + counters.responses + counters.responses_repeated + counters.established
}
