//! Other source ports for peers that do not answer.
//!
//! A NAT or a firewall on the way may keep a wrong entry for this host's port, for example after its own restart, and drop
//! everything from this port. Handshakes refresh the entry, so it does not expire. So a host that calls a peer tries another
//! source port while the peer is unreachable: in turn a new port and the port that it listens on. The peer follows, as it
//! follows a peer that roams. The listening port stays open for all others.

use super::peer_state::PeerState;
use super::sources::{Port, Source};
use crate::daemon::config::Listen;
use crate::os::epoll::{Interest, Reactor, Registration, Urgency};
use crate::os::udp::{Udp, UdpCounters};
use ripstop_base::{Counters, Time};
use ripstop_proto::secure::PeerId;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Time between two changes of the port to an unreachable peer, 8 s. Handshakes are repeated at least every 3.75 s, so each
/// port has two attempts. Half the value leaves one attempt, which a loss spoils. With double the value, a peer that is
/// reached again by the listening port only waits up to 16 s longer.
const PORT_INTERVAL: Duration = Duration::from_secs(8);
/// The largest number of spare ports. Each takes a descriptor. When all are in use, further peers keep the listening port.
/// Half the value suffices for a host that calls a few peers. Double the value takes 3 % of the usual 1024 descriptors.
const MOST_PORTS: usize = 16;

/// A socket for one peer.
#[derive(Debug)]
struct SparePort {
    peer: PeerId,
    /// The address of the peer. Datagrams to other addresses leave from the listening port.
    to: SocketAddr,
    udp: Udp,
    registration: Registration,
}

/// The spare ports, and when ports change.
#[derive(Debug)]
pub(super) struct SparePorts {
    /// Where the daemon listens.
    listen: Listen,
    /// The number of the device whose datagrams are dropped.
    ignored: Option<u32>,
    ports: Vec<SparePort>,
    /// The next changes, and the indices of the peers.
    due: BTreeSet<(Time, usize)>,
    /// Counters of the sockets that were closed.
    closed: UdpCounters,
}

impl SparePorts {
    /// No ports yet. Their sockets are at an address like `listen`.
    pub(super) fn new(listen: Listen) -> SparePorts {
        SparePorts { listen, ignored: None, ports: Vec::new(), due: BTreeSet::new(), closed: UdpCounters::default() }
    }

    /// Drops datagrams that arrive through the device with this number from now on.
    pub(super) fn ignore_device(&mut self, index: u32) {
        self.ignored = Some(index);
        self.ports.iter_mut().for_each(|port| port.udp.ignore_device(index));
    }

    /// When the next port changes.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The sum of `listening` and the counters of all spare ports.
    pub(super) fn counters(&self, listening: UdpCounters) -> UdpCounters {
        self.ports.iter().fold(listening.plus(&self.closed), |sum, port| sum.plus(&port.udp.counters()))
    }

    /// The spare port from which datagrams to the peer at `to` leave.
    pub(super) fn port_of(&self, peer: PeerId, to: SocketAddr) -> Option<u16> {
        let port = self.ports.iter().find(|port| port.peer == peer && port.to == to)?;
        port.udp.local_addr().ok().map(|address| address.port())
    }

    /// All spare ports.
    pub(super) fn all(&self) -> impl Iterator<Item = Port> + '_ {
        self.ports.iter().map(SparePort::name)
    }

    /// The socket of the spare port to the peer with this index; None: the port was closed.
    pub(super) fn socket(&mut self, peer: u32) -> Option<&mut Udp> {
        self.ports.iter_mut().find(|port| port.name() == Port::Spare(peer)).map(|port| &mut port.udp)
    }

    /// The spare port from which datagrams to this address leave, and its socket. None: they leave from the listening
    /// port.
    pub(super) fn socket_to(&mut self, to: SocketAddr) -> Option<(Port, &mut Udp)> {
        self.ports.iter_mut().find(|port| port.to == to).map(|port| (port.name(), &mut port.udp))
    }

    /// Makes the reactor report when the blocked port is writable again.
    pub(super) fn watch(&mut self, reactor: &mut Reactor, blocked: Option<Port>) -> io::Result<()> {
        self.ports.iter_mut().try_for_each(|port| {
            let interest = Interest { read: true, write: blocked == Some(port.name()) };
            reactor.set_interest(&port.udp, &mut port.registration, interest)
        })
    }

    /// The peers whose port is to be changed now, by their index.
    pub(super) fn take_due(&mut self, now: Time) -> Option<usize> {
        let (at, index) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        self.due.remove(&(at, index));
        Some(index)
    }

    /// Changes the port to an unreachable peer that this host calls: in turn a new port, and the listening port. `can_open`
    /// says whether a new port is of use. The next change follows.
    pub(super) fn change(
        &mut self,
        reactor: &mut Reactor,
        now: Time,
        peer: &mut PeerState,
        to: SocketAddr,
        can_open: bool,
    ) {
        self.due.insert((now + PORT_INTERVAL, peer.id.index()));
        let has_changed = if self.close(reactor, peer.id) {
            true
        } else if self.ports.len() < MOST_PORTS && can_open {
            let opened = self.open(reactor, peer.id, to);
            opened
                .inspect_err(|error| tracing::debug!(peer = %peer.name, %error, "no other port could be opened"))
                .is_ok()
        } else {
            false
        };
        peer.counts.port_changes += u64::from(has_changed);
        if has_changed {
            let port = self.port_of(peer.id, to);
            tracing::debug!(peer = %peer.name, ?port, "trying another source port");
        }
    }

    /// Keeps the port to a peer that answers again.
    pub(super) fn keep(&mut self, peer: PeerId) {
        self.due.retain(|(_, index)| *index != peer.index());
    }

    /// Opens a port for a peer.
    fn open(&mut self, reactor: &mut Reactor, peer: PeerId, to: SocketAddr) -> io::Result<()> {
        let mut udp = match &self.listen {
            Listen::Everywhere(_) => Udp::bind_any(0)?,
            Listen::At(address) => Udp::bind(SocketAddr::new(address.ip(), 0))?,
        };
        if let Some(index) = self.ignored {
            udp.ignore_device(index);
        }
        let token = Source::Socket(name_of(peer)).token();
        let registration = reactor.register(&udp, token, Interest::READ, Urgency::Bulk)?;
        self.ports.push(SparePort { peer, to, udp, registration });
        Ok(())
    }

    /// Closes the port of a peer: it is removed, has moved, or returns to the listening port. Returns whether there was
    /// one.
    pub(super) fn close(&mut self, reactor: &mut Reactor, peer: PeerId) -> bool {
        let Some(at) = self.ports.iter().position(|port| port.peer == peer) else { return false };
        let SparePort { udp, registration, .. } = self.ports.remove(at);
        self.closed = self.closed.plus(&udp.counters());
        // The socket is closed now, whatever the system says.
        let _ = reactor.deregister(&udp, registration);
        true
    }
}

impl SparePort {
    fn name(&self) -> Port {
        name_of(self.peer)
    }
}

fn name_of(peer: PeerId) -> Port {
    Port::Spare(peer.index() as u32)
}
