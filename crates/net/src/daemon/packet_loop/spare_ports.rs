//! Other source ports for peers that do not answer.
//!
//! A NAT or a firewall on the way may keep a wrong entry for this host's port, for example after its own restart, and drop
//! everything from this port. Handshakes refresh the entry, so it does not expire. So a host that calls a peer tries another
//! source port while the peer is unreachable: in turn a new port and the port that it listens on. The peer follows, as it
//! follows a peer that roams. The listening port stays open for all others.

use super::PacketLoop;
use crate::daemon::config::Listen;
use crate::os::udp::{SendOutcome, Udp, UdpCounters};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use ripstop_base::Time;
use ripstop_proto::secure::PeerId;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
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
}

/// The spare ports, and when ports change.
#[derive(Debug)]
pub(super) struct SparePorts {
    ports: Vec<SparePort>,
    /// Becomes readable when one of the sockets is.
    epoll: Epoll,
    /// The next changes, and the indices of the peers.
    due: BTreeSet<(Time, usize)>,
    /// Counters of the sockets that were closed.
    closed: UdpCounters,
    /// Whether the kernel had no room in a spare socket.
    pub(super) blocked: bool,
}

impl SparePorts {
    pub(super) fn new() -> io::Result<SparePorts> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let (ports, due) = (Vec::new(), BTreeSet::new());
        Ok(SparePorts { ports, epoll, due, closed: UdpCounters::default(), blocked: false })
    }

    /// Becomes readable when a datagram has come to a spare port.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }

    /// When the next port changes.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The sum of `listening` and the counters of all spare ports.
    pub(super) fn counters(&self, listening: UdpCounters) -> UdpCounters {
        self.ports.iter().fold(listening + self.closed, |sum, port| sum + port.udp.counters())
    }

    /// The spare port from which datagrams to the peer at `to` leave.
    pub(super) fn port_of(&self, peer: PeerId, to: SocketAddr) -> Option<u16> {
        let port = self.ports.iter().find(|port| port.peer == peer && port.to == to)?;
        port.udp.local_addr().ok().map(|address| address.port())
    }

    /// The sockets of the spare ports.
    pub(super) fn sockets(&mut self) -> impl Iterator<Item = &mut Udp> {
        self.ports.iter_mut().map(|port| &mut port.udp)
    }

    /// Opens a port for a peer. Datagrams through the device `ignored` are dropped.
    fn open(&mut self, listen: &Listen, peer: PeerId, to: SocketAddr, ignored: u32) -> io::Result<()> {
        let mut udp = match listen {
            Listen::Everywhere(_) => Udp::bind_any(0)?,
            Listen::At(address) => Udp::bind(SocketAddr::new(address.ip(), 0))?,
        };
        udp.ignore_device(ignored);
        self.epoll.add(&udp, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        self.ports.push(SparePort { peer, to, udp });
        Ok(())
    }

    /// Closes the port of a peer. Returns whether there was one.
    fn close(&mut self, peer: PeerId) -> bool {
        let Some(at) = self.ports.iter().position(|port| port.peer == peer) else { return false };
        // The kernel removes a closed socket from the epoll instance.
        self.closed = self.closed + self.ports.remove(at).udp.counters();
        true
    }
}

impl PacketLoop {
    /// Changes the ports that are due.
    pub(super) fn change_ports(&mut self, now: Time) {
        while let Some((at, index)) = self.spare_ports.due.first().copied()
            && at <= now
        {
            self.spare_ports.due.pop_first();
            self.change_port(now, index);
        }
    }

    /// Begins to change the port to a peer that has become unreachable, if this host calls the peer.
    pub(super) fn peer_unreachable(&mut self, now: Time, peer: PeerId) {
        if self.peers.get(peer.index()).is_some_and(|peer| peer.configured.is_some()) {
            self.keep_port(peer);
            self.change_port(now, peer.index());
        }
    }

    /// The peer answers again, so its port stays.
    pub(super) fn keep_port(&mut self, peer: PeerId) {
        self.spare_ports.due.retain(|(_, index)| *index != peer.index());
    }

    /// Returns to the listening port: the peer was removed, or has moved.
    pub(super) fn use_listening_port(&mut self, peer: PeerId) {
        self.spare_ports.close(peer);
    }

    fn change_port(&mut self, now: Time, index: usize) {
        let Some(peer) = self.peers.get_mut(index).filter(|peer| !peer.removed && peer.configured.is_some()) else {
            return;
        };
        let Some(to) = self.endpoint.peer_status(peer.id).and_then(|status| status.endpoint) else { return };
        self.spare_ports.due.insert((now + PORT_INTERVAL, index));
        let has_changed = if self.spare_ports.close(peer.id) {
            true
        } else if self.spare_ports.ports.len() < MOST_PORTS && self.udp.reaches(&to) {
            let opened = self.spare_ports.open(&self.config.listen, peer.id, to, self.tun.index());
            opened
                .inspect_err(|error| tracing::debug!(peer = %peer.name, %error, "no other port could be opened"))
                .is_ok()
        } else {
            false
        };
        peer.port_changes += u64::from(has_changed);
        if has_changed {
            let port = self.spare_ports.port_of(peer.id, to);
            tracing::debug!(peer = %peer.name, ?port, "trying another source port");
        }
    }

    /// Sends the collected datagrams from the port that is in use for their destination.
    pub(super) fn send_batch(&mut self) -> SendOutcome {
        let to = self.batch.destination();
        let spare = self.spare_ports.ports.iter_mut().find(|port| Some(port.to) == to);
        let is_spare = spare.is_some();
        let udp = spare.map_or(&mut self.udp, |port| &mut port.udp);
        let outcome = udp.send(&mut self.batch);
        self.spare_ports.blocked = is_spare && outcome == SendOutcome::Blocked;
        outcome
    }
}
