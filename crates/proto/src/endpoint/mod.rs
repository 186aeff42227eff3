//! One end of the tunnel with all its peers: [`crate::secure`] and a tunnel session a peer, and the routes
//! between them. IP packets and UDP datagrams as bytes in, the same out.
//!
//! It is driven by the contract of [`crate::session`]: one input ([`Endpoint::handle_inner`],
//! [`Endpoint::handle_datagram`], [`Endpoint::handle_timeout`]), then all outputs
//! ([`Endpoint::poll_transmit`], [`Endpoint::poll_deliver`], [`Endpoint::poll_event`]) until they are
//! empty, then [`Endpoint::poll_timeout`].
//!
//! ```text
//!   inner packet -> routes -> tunnel of the peer -> wire -> seal -> datagram
//!   datagram -> open -> wire -> tunnel of the peer -> source in the peer's allowed IPs? -> inner packet
//! ```

mod config;
mod link;
mod mtu;
mod routes;

pub use config::{
    AddPeerError, EndpointConfig, EndpointCounters, EndpointEvent, Outgoing, PeerConfig, PeerStatus,
};
pub use routes::{IpPrefix, PrefixError, Routes};

use crate::inner::{Inner, clamp_mss};
use crate::secure::{self, Entropy, Incoming, PeerId, Peers, PrivateKey, PublicKey, SecureEvent};
use crate::session::tunnel::Delivered;
use crate::session::{Session, Transmit};
use crate::wire::{HEADER_LEN, IPV4_UDP_LEN, IPV6_UDP_LEN, Kind, TAG_LEN, emit_body, parse_body};
use link::Link;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;

/// One end of the tunnel.
pub struct Endpoint {
    config: EndpointConfig,
    secure: Peers,
    entropy: Box<dyn Entropy + Send>,
    links: Vec<Option<Box<Link>>>,
    routes: Routes<PeerId>,
    /// Peers that may have something to send, in turn.
    ready: VecDeque<PeerId>,
    timers: BTreeSet<(Time, PeerId)>,
    delivered: VecDeque<(PeerId, Delivered<Symbol>)>,
    events: VecDeque<EndpointEvent>,
    counters: EndpointCounters,
}

impl Endpoint {
    /// An end with the given key and no peers yet. On the wire, both sources of entropy must be the operating system's.
    pub fn new(
        private: PrivateKey,
        config: EndpointConfig,
        entropy: Box<dyn Entropy + Send>,
        for_keys: Box<dyn Entropy + Send>,
    ) -> Endpoint {
        let secure = Peers::new(
            private,
            secure::SecureConfig {
                inner_mtu: config.tunnel.inner_mtu().min(65_535) as u16,
                ..config.secure.clone()
            },
            for_keys,
        );
        Endpoint {
            config,
            secure,
            entropy,
            links: Vec::new(),
            routes: Routes::default(),
            ready: VecDeque::new(),
            timers: BTreeSet::new(),
            delivered: VecDeque::new(),
            events: VecDeque::new(),
            counters: EndpointCounters::default(),
        }
    }

    /// Our public key.
    pub fn public(&self) -> PublicKey {
        self.secure.public()
    }

    /// Adds a peer.
    ///
    /// # Errors
    /// The key is our own or another peer's, or one of the prefixes belongs to another peer.
    pub fn add_peer(&mut self, now: Time, peer: &PeerConfig) -> Result<PeerId, AddPeerError> {
        if let Some(taken) = peer.allowed_ips.iter().find(|prefix| self.routes.exact(**prefix).is_some()) {
            return Err(AddPeerError::Prefix(*taken));
        }
        let id = self.secure.add(peer.public, peer.endpoint).ok_or(AddPeerError::Key(peer.public))?;
        for prefix in &peer.allowed_ips {
            self.routes.insert(*prefix, id);
        }
        if self.links.len() <= id.index() {
            self.links.resize_with(id.index() + 1, || None);
        }
        self.links[id.index()] = Some(Box::new(Link::new(id, now, peer.keepalive)));
        if peer.endpoint.is_some() {
            self.secure.connect(now, id);
        }
        self.reschedule(id);
        Ok(id)
    }

    /// Tells where a peer is, for example because its name resolves to another address now, and calls it there when
    /// there is no session with it.
    pub fn set_endpoint(&mut self, now: Time, peer: PeerId, endpoint: SocketAddr) {
        if self.secure.set_endpoint(peer, endpoint) && self.secure.epoch(now, peer).is_none() {
            self.secure.connect(now, peer);
        }
    }

    /// Takes an IP packet from the inside. It is changed in place where a TCP SYN offers segments that would not fit.
    pub fn handle_inner(&mut self, now: Time, packet: &mut [u8]) {
        let (destination, len) = match Inner::parse(packet) {
            Ok(inner) => (inner.destination, inner.bytes.len()),
            Err(_) => {
                self.counters.inner_malformed += 1;
                return;
            }
        };
        let Some(peer) = self.routes.find(destination) else {
            self.counters.inner_no_route += 1;
            return;
        };
        let Some(link) = get(&mut self.links, peer) else { return };
        let packet = &mut packet[..len];
        if self.config.clamp_mss && clamp_mss(packet, link.inner_mtu(&self.config).min(65_535) as u16) {
            self.counters.mss_clamped += 1;
        }
        let symbol = Symbol::from_parts(&[&[0], packet]);
        if !link.handle_inner(now, symbol, &self.config) {
            // Nobody to send it to yet: it waits, and calls.
            self.secure.connect(now, peer);
        }
        self.mark_ready(peer);
    }

    /// Takes a datagram from the outside, which is opened in place. `ce`: it carried Congestion Experienced.
    pub fn handle_datagram(&mut self, now: Time, from: SocketAddr, datagram: &mut [u8], ce: bool) {
        let bytes = datagram.len() as u32 + ip_udp_len(&from);
        self.counters.datagrams_received += 1;
        match self.secure.handle_datagram(now, from, datagram) {
            Incoming::Transport { peer, epoch, number, kind, body } => {
                // What the handshake led to comes before what it let through.
                self.handle_secure_events(now);
                self.handle_body(now, peer, epoch, number, kind, &datagram[body], bytes, ce);
                self.mark_ready(peer);
            }
            Incoming::Handshake { peer } => {
                self.handle_secure_events(now);
                self.mark_ready(peer);
            }
            Incoming::Rejected(_) => {}
        }
    }

    /// The time asked for has come.
    pub fn handle_timeout(&mut self, now: Time) {
        self.secure.handle_timeout(now);
        self.handle_secure_events(now);
        while let Some((at, peer)) = self.timers.first().copied() {
            if at > now {
                break;
            }
            self.timers.pop_first();
            let Some(link) = get(&mut self.links, peer) else { continue };
            link.timer = None;
            link.handle_timeout(now);
            if link.wants_handshake(now) {
                self.secure.connect(now, peer);
            }
            self.mark_ready(peer);
        }
    }

    /// Writes the next datagram to send now into `buffer`, which must hold a path's MTU, and says where it goes.
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut [u8]) -> Option<Outgoing> {
        if let Some(handshake) = self.secure.poll_transmit() {
            let len = handshake.contents.len();
            let room = buffer.get_mut(..len)?;
            room.copy_from_slice(&handshake.contents);
            self.note_handshake(now, handshake.to);
            self.counters.datagrams_sent += 1;
            return Some(Outgoing { to: handshake.to, len, ect: false });
        }
        while let Some(peer) = self.ready.front().copied() {
            match self.poll_peer(now, peer, buffer) {
                Some(outgoing) => {
                    // The next datagram is another peer's.
                    self.ready.rotate_left(1);
                    self.counters.datagrams_sent += 1;
                    return Some(outgoing);
                }
                None => {
                    self.ready.pop_front();
                    if let Some(link) = get(&mut self.links, peer) {
                        link.is_ready = false;
                    }
                    self.collect(now, peer);
                    self.reschedule(peer);
                }
            }
        }
        None
    }

    /// The next packet for the inside, and who sent it. The packet is [`inner_packet`] of it.
    pub fn poll_deliver(&mut self) -> Option<(PeerId, Delivered<Symbol>)> {
        self.delivered.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.events.pop_front()
    }

    /// When [`Endpoint::handle_timeout`] wants to be called next, if nothing else happens. Ask once all outputs are taken.
    pub fn poll_timeout(&self) -> Option<Time> {
        let peers = self.timers.first().map(|(at, _)| *at);
        [peers, self.secure.poll_timeout()].into_iter().flatten().min()
    }

    /// What is going on with a peer.
    pub fn peer_status(&self, peer: PeerId) -> Option<PeerStatus> {
        let link = self.links.get(peer.index())?.as_deref()?;
        Some(link.status(self.secure.endpoint(peer), &self.config))
    }

    /// Packets waiting on the way to a peer; None when there is no session.
    pub fn backlog_packets(&self, peer: PeerId) -> Option<usize> {
        Some(self.links.get(peer.index())?.as_deref()?.tunnel.as_ref()?.backlog_packets())
    }

    /// The peers, in the order in which they were added.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> + '_ {
        self.links.iter().flatten().map(|link| link.id)
    }

    /// What happened so far, in all.
    pub fn counters(&self) -> EndpointCounters {
        self.counters
    }

    /// What the handshakes and keys went through.
    pub fn secure_counters(&self) -> &secure::SecureCounters {
        self.secure.counters()
    }

    /// Tells all peers that this end goes away; send what [`Endpoint::poll_transmit`] has then.
    pub fn close(&mut self) {
        let peers: Vec<PeerId> = self.peers().collect();
        for peer in peers {
            if let Some(tunnel) = get(&mut self.links, peer).and_then(|link| link.tunnel.as_mut()) {
                tunnel.close();
            }
            self.mark_ready(peer);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one opened datagram")]
    fn handle_body(
        &mut self,
        now: Time,
        peer: PeerId,
        epoch: u64,
        number: u64,
        kind: Kind,
        body: &[u8],
        bytes: u32,
        ce: bool,
    ) {
        let Some(link) = get(&mut self.links, peer) else { return };
        if link.epoch != Some(epoch) {
            return;
        }
        let Some(near) = link.expand() else { return };
        match parse_body(kind, body, &near) {
            Ok(packet) => link.handle_packet(now, number, packet, bytes, ce),
            // Authentic but wrong: a fault of the peer's.
            Err(_) => self.counters.body_malformed += 1,
        }
    }

    fn poll_peer(&mut self, now: Time, peer: PeerId, buffer: &mut [u8]) -> Option<Outgoing> {
        let link = get(&mut self.links, peer)?;
        // Without a usable key nothing may be taken from the tunnel.
        if link.epoch.is_none() || self.secure.epoch(now, peer) != link.epoch {
            if link.has_work() {
                self.secure.connect(now, peer);
            }
            return None;
        }
        let epoch = link.epoch?;
        let Transmit { packet: datagram, ect, .. } = link.poll_transmit(now)?;
        let end = buffer.len().checked_sub(TAG_LEN)?;
        let Ok(body) = emit_body(&datagram.packet, buffer.get_mut(HEADER_LEN..end)?) else {
            self.counters.unsendable += 1;
            return None;
        };
        let len = HEADER_LEN + body + TAG_LEN;
        let kind = Kind::of(&datagram.packet);
        match self.secure.seal(now, peer, epoch, datagram.number, kind, &mut buffer[..len]) {
            Ok(to) => Some(Outgoing { to, len, ect }),
            Err(_) => {
                self.counters.unsendable += 1;
                None
            }
        }
    }

    /// Takes what a peer's tunnel has to say and to deliver.
    fn collect(&mut self, now: Time, peer: PeerId) {
        let Some(link) = get(&mut self.links, peer) else { return };
        while let Some(delivered) = link.tunnel.as_mut().and_then(|tunnel| tunnel.poll_deliver()) {
            let source = Inner::parse(inner_packet(&delivered)).map(|inner| inner.source);
            if source.is_ok_and(|source| self.routes.find(source) == Some(peer)) {
                self.delivered.push_back((peer, delivered));
            } else {
                self.counters.wrong_source += 1;
            }
        }
        link.take_events(now, &mut self.events);
    }

    fn handle_secure_events(&mut self, now: Time) {
        while let Some(event) = self.secure.poll_event() {
            match event {
                SecureEvent::Established { peer, epoch, peer_mtu, .. } => {
                    let family = self.secure.endpoint(peer);
                    let Some(link) = get(&mut self.links, peer) else { continue };
                    let mut entropy = [0; 8];
                    self.entropy.fill(&mut entropy);
                    let entropy = u64::from_le_bytes(entropy);
                    link.established(now, epoch, peer_mtu, family, entropy, &self.config, &mut self.events);
                    self.mark_ready(peer);
                }
                SecureEvent::Unreachable { peer, silent_for } => {
                    self.events.push_back(EndpointEvent::Unreachable { peer, silent_for });
                }
                SecureEvent::Reachable { peer } => self.events.push_back(EndpointEvent::Reachable { peer }),
                SecureEvent::Roamed { peer, from, to } => {
                    self.events.push_back(EndpointEvent::Roamed { peer, from, to });
                }
            }
        }
    }

    /// The answer to a handshake message gives a first round-trip time.
    fn note_handshake(&mut self, now: Time, to: SocketAddr) {
        let secure = &self.secure;
        for link in self.links.iter_mut().flatten() {
            if secure.endpoint(link.id) == Some(to) {
                link.note_handshake(now);
            }
        }
    }

    fn mark_ready(&mut self, peer: PeerId) {
        if let Some(link) = get(&mut self.links, peer)
            && !std::mem::replace(&mut link.is_ready, true)
        {
            self.ready.push_back(peer);
        }
    }

    fn reschedule(&mut self, peer: PeerId) {
        let Some(link) = get(&mut self.links, peer) else { return };
        let wanted = link.poll_timeout();
        if wanted != link.timer {
            if let Some(at) = link.timer {
                self.timers.remove(&(at, peer));
            }
            if let Some(at) = wanted {
                self.timers.insert((at, peer));
            }
            link.timer = wanted;
        }
    }
}

/// The inner packet in what [`Endpoint::poll_deliver`] gives.
pub fn inner_packet(delivered: &Delivered<Symbol>) -> &[u8] {
    let bytes = delivered.payload.as_slice();
    // The tunnel has read the length from this very symbol.
    bytes.get(1..1 + delivered.meta.len as usize).unwrap_or(&[])
}

fn ip_udp_len(address: &SocketAddr) -> u32 {
    // An IPv4 peer of an IPv6 socket shows as ::ffff:a.b.c.d.
    match address {
        SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_none() => IPV6_UDP_LEN as u32,
        _ => IPV4_UDP_LEN as u32,
    }
}

fn get(links: &mut [Option<Box<Link>>], peer: PeerId) -> Option<&mut Link> {
    links.get_mut(peer.index())?.as_deref_mut()
}
