//! A session with a peer: the tunnel under the keys of one epoch, and the search for the path's MTU.

use super::config::{EndpointConfig, EndpointEvent};
use super::mtu::MtuSearch;
use crate::path::{PathEvent, silence_limit};
use crate::secure::PeerId;
use crate::session::tunnel::{Tunnel, TunnelConfig, TunnelEvent};
use crate::session::{Session, Transmit};
use crate::wire::{Datagram, HEADER_LEN, TAG_LEN};
use ripstop_base::Time;
use ripstop_codes::Symbol;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// How long a session that the peer has closed takes in datagrams, 1 s: packets that the path has reordered, and packets
/// that wait for an earlier one of their flow. Half the value is below the usual deadline of a packet. Double the value
/// keeps the memory of the session longer.
const AFTER_CLOSE: Duration = Duration::from_secs(1);

/// A session with a peer.
pub(super) struct PeerSession {
    peer: PeerId,
    /// The epoch that the session belongs to. Each restart of an end begins a new epoch
    /// ([`crate::secure`]).
    pub(super) epoch: u64,
    pub(super) tunnel: Tunnel<Symbol>,
    mtu: MtuSearch,
    /// The largest inner packet that the peer accepts, bytes.
    peer_mtu: u32,
    /// Whether a datagram must be sent because new keys are in use: the peer uses the keys only
    /// after the first datagram under them. If no other datagram is to be sent, a probe is sent.
    pub(super) greet: bool,
    /// When the peer closed the session.
    closed: Option<Time>,
    /// Whether the session must end, because the peer has sent a false report.
    pub(super) must_end: bool,
}

impl PeerSession {
    /// A session that begins at `now`. `address` is the peer's, `rtt` a sample from the handshake.
    pub(super) fn new(
        now: Time,
        (peer, epoch): (PeerId, u64),
        peer_mtu: u16,
        address: Option<SocketAddr>,
        rtt: Option<Duration>,
        entropy: u64,
        config: &EndpointConfig,
    ) -> PeerSession {
        let header = address.map_or(config.tunnel.header, |a| super::ip_udp_len(&a));
        let mut tunnel = TunnelConfig { header, ..config.tunnel.clone() };
        // A value below 512 counts as 512.
        let peer_mtu = u32::from(peer_mtu).max(512);
        tunnel.path_mtu = most_path_mtu(peer_mtu, &tunnel);
        if let Some(rtt) = rtt {
            tunnel.initial_rtt = Some(rtt.max(Duration::from_micros(100)));
        }
        let mtu = MtuSearch::new(now, tunnel.path_mtu);
        let tunnel = Tunnel::new(now, tunnel, entropy);
        PeerSession { peer, epoch, tunnel, mtu, peer_mtu, greet: true, closed: None, must_end: false }
    }

    /// Whether the peer has not closed the session.
    pub(super) fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    /// When a session that the peer has closed takes in nothing more.
    pub(super) fn forget_due(&self) -> Option<Time> {
        self.closed.map(|closed| closed + AFTER_CLOSE)
    }

    /// Whether there is something to send.
    pub(super) fn has_work(&self) -> bool {
        if self.is_open() { !self.tunnel.is_idle() } else { self.tunnel.backlog_packets() > 0 }
    }

    /// Notes the address to which datagrams go from now on. If it has another address family than
    /// the last one, the IP header has another length. Then the search for the path's MTU begins
    /// anew.
    pub(super) fn address_changed(
        &mut self,
        now: Time,
        address: &SocketAddr,
        config: &EndpointConfig,
        events: &mut VecDeque<EndpointEvent>,
    ) {
        let header = super::ip_udp_len(address);
        if self.tunnel.header() == header {
            return;
        }
        let path_mtu = most_path_mtu(self.peer_mtu, &TunnelConfig { header, ..config.tunnel.clone() });
        self.tunnel.set_header(header);
        self.tunnel.set_path_mtu(path_mtu);
        let inner_mtu = self.tunnel.inner_mtu();
        events.push_back(EndpointEvent::Mtu { peer: self.peer, inner_mtu, is_found: false });
        self.mtu = MtuSearch::new(now, path_mtu);
    }

    /// The next datagram to send. `is_quiet`: nothing was sent for so long that a keep-alive is due.
    pub(super) fn poll_transmit(&mut self, now: Time, is_quiet: bool) -> Option<Transmit<Datagram<Symbol>>> {
        if let Some(size) = self.mtu.poll_probe(now) {
            self.tunnel.request_probe(size.saturating_sub(self.overhead()).min(65_535) as u16);
        }
        let mut sent = self.tunnel.poll_transmit(now);
        if sent.is_none() && (self.greet || is_quiet) {
            self.tunnel.request_probe(0);
            sent = self.tunnel.poll_transmit(now);
        }
        self.greet &= sent.is_none();
        sent
    }

    /// Turns the tunnel's events into events of the endpoint, and passes the results of probes to
    /// the MTU search.
    pub(super) fn take_events(&mut self, now: Time, events: &mut VecDeque<EndpointEvent>) {
        let peer = self.peer;
        while let Some(event) = self.tunnel.poll_event() {
            if self.closed.is_some() {
                continue;
            }
            events.push_back(match event {
                TunnelEvent::Path(PathEvent::Silent) => EndpointEvent::Silent { peer },
                TunnelEvent::Path(PathEvent::Heard) => EndpointEvent::Heard { peer },
                TunnelEvent::Path(PathEvent::Closed) => {
                    self.closed = Some(now);
                    EndpointEvent::Closed { peer }
                }
                TunnelEvent::BlocksIgnored => EndpointEvent::BlocksIgnored { peer },
                TunnelEvent::Path(PathEvent::LargeLost) => {
                    self.mtu.doubt(now);
                    continue;
                }
                TunnelEvent::Path(PathEvent::LargeReceived) => {
                    self.mtu.prove(now);
                    continue;
                }
                TunnelEvent::Path(PathEvent::FalseReport) => {
                    // The first false report ends the session, so that there is one event.
                    if std::mem::replace(&mut self.must_end, true) {
                        continue;
                    }
                    EndpointEvent::FalseReport { peer }
                }
                TunnelEvent::Path(PathEvent::Probe { padding: 0, .. }) => continue,
                TunnelEvent::Path(PathEvent::Probe { padding, received }) => {
                    let size = padding + self.overhead();
                    if self.mtu.settled(now, size, received, self.tunnel.take_arrivals()) {
                        self.tunnel.set_path_mtu(self.mtu.current());
                    } else if !self.mtu.is_first_proof() {
                        continue;
                    }
                    self.mtu.note_announced();
                    EndpointEvent::Mtu { peer, inner_mtu: self.tunnel.inner_mtu(), is_found: true }
                }
            });
        }
    }

    /// When the peer has been silent for so long that a new handshake is due. None: the peer is not silent, or has closed the
    /// session.
    pub(super) fn silent_too_long(&self) -> Option<Time> {
        let since = self.tunnel.silent_since().filter(|_| self.is_open())?;
        Some(since + silence_limit(self.tunnel.srtt()))
    }

    /// The next time-out.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        [self.tunnel.poll_timeout(), self.mtu.next_probe()].into_iter().flatten().min()
    }

    /// Bytes of a datagram besides the padding of a probe.
    fn overhead(&self) -> u32 {
        self.tunnel.header() + (HEADER_LEN + TAG_LEN) as u32
    }
}

/// The largest datagram that the settings of the tunnel and the peer's MTU allow, bytes.
fn most_path_mtu(peer_mtu: u32, tunnel: &TunnelConfig) -> u32 {
    let overhead = tunnel.path_mtu - tunnel.inner_mtu();
    tunnel.path_mtu.min(peer_mtu + overhead)
}
