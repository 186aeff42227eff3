//! One end of the tunnel with all its peers. The inputs and outputs of an endpoint are bytes: IP
//! packets on the inside, UDP datagrams on the outside.
//!
//! The *inside* is this host and its networks, where packets travel unencrypted. The *outside* is
//! the network between this end and its peers. An endpoint has
//!
//! - one [`crate::secure::Peers`], which encrypts and decrypts,
//! - one tunnel session for each peer ([`crate::session::tunnel`]),
//! - and the routes from inner addresses to peers.
//!
//! ```text
//!   Endpoint       the routes, and the packets that the caller has not taken yet
//!     Sessions     keys, events, budget of work: sessions begin, live and end
//!       Paths      turns to send, time-outs, budget of memory
//!         PeerPath         one peer: packets that wait, early acknowledgements, keep-alives
//!           PeerSession    one session: tunnel, epoch, search for the path's MTU
//! ```
//!
//! The caller repeats the three steps of [`Session`](crate::session::Session):
//!
//! 1. Give one input: call [`Endpoint::handle_inner`], [`Endpoint::handle_datagram`] or
//!    [`Endpoint::handle_timeout`].
//! 2. Take all outputs: call [`Endpoint::poll_transmit`], [`Endpoint::poll_deliver`] and
//!    [`Endpoint::poll_event`] until they return `None`.
//! 3. Wait for the next input, or until the time that [`Endpoint::poll_timeout`] returns.
//!
//! ```text
//!   inner packet -> routes -> tunnel of the peer -> encode (wire) -> seal -> datagram
//!   datagram -> open -> parse (wire) -> tunnel of the peer -> check of the source -> inner packet
//! ```
//!
//! The check of the source drops packets whose source is not in the peer's allowed IPs.
//! [`crate::secure`] explains *seal*, *open* and *epoch*.

mod budget;
mod config;
mod datagrams;
mod delivery;
mod ending;
mod events;
mod handshakes;
mod liveness;
mod mtu;
mod path_packets;
mod paths;
mod peer_path;
mod routes;
mod session;
mod sessions;
mod sharing;
mod waiting;

pub use config::{
    Acks, AddPeerError, EndpointConfig, EndpointCounters, EndpointEvent, Outgoing, PeerConfig, PeerStatus,
};
pub use delivery::{ActivePaths, TURN_BYTES, TURN_PACKETS, inner_packet};
pub use routes::{IpPrefix, PrefixError, Routes};

use crate::inner::{IPV6_LEAST_MTU, Inner, clamp_mss, too_big};
use crate::packets::{Delivered, InnerPacket, Meta};
use crate::secure::{self, Entropy, Incoming, PeerId, Peers, PresharedKey, PrivateKey, PublicKey};
use crate::session::Reception;
use crate::wire::{IPV4_UDP_LEN, IPV6_UDP_LEN};
use datagrams::is_handshake;
use peer_path::PeerPath;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use sessions::Sessions;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// One end of the tunnel with all its peers.
pub struct Endpoint {
    sessions: Sessions,
    routes: Routes<PeerId>,
    /// See [`Endpoint::set_inside`].
    inside: Routes<()>,
    /// The time of the last input.
    now: Time,
    /// Inner packets that the caller has not taken yet.
    delivered: VecDeque<(PeerId, Delivered<Symbol>)>,
    /// How many data datagrams were sent since the last handshake datagram.
    since_reply: u32,
    /// See [`Endpoint::take_active_paths`].
    active: Option<ActivePaths>,
}

impl Endpoint {
    /// An endpoint with the given private key and without peers. `for_keys` gives the random bytes
    /// for keys and cookies. `entropy` gives all other random bytes. On a real network, both must
    /// be the operating system's random generator.
    pub fn new(
        private: PrivateKey,
        config: EndpointConfig,
        entropy: Box<dyn Entropy + Send>,
        for_keys: Box<dyn Entropy + Send>,
    ) -> Endpoint {
        let secure = Peers::new(
            private,
            secure::SecureConfig { inner_mtu: config.tunnel.inner_mtu().min(65_535) as u16, ..config.secure.clone() },
            for_keys,
        );
        Endpoint {
            sessions: Sessions::new(config, secure, entropy),
            routes: Routes::default(),
            inside: Routes::default(),
            now: Time::ZERO,
            delivered: VecDeque::new(),
            since_reply: 0,
            active: None,
        }
    }

    /// This end's public key.
    pub fn public(&self) -> PublicKey {
        self.sessions.secure.public()
    }

    /// Adds a peer.
    ///
    /// # Errors
    /// The key is this end's own or another peer's, or another peer already has one of the
    /// prefixes.
    pub fn add_peer(&mut self, now: Time, peer: &PeerConfig) -> Result<PeerId, AddPeerError> {
        if let Some(taken) = peer.allowed_ips.iter().find(|prefix| self.routes.exact(**prefix).is_some()) {
            return Err(AddPeerError::Prefix(*taken));
        }
        let sessions = &mut self.sessions;
        let id = sessions.secure.add(peer.public, peer.endpoint).ok_or(AddPeerError::Key(peer.public))?;
        sessions.secure.set_preshared(id, peer.preshared.clone());
        for prefix in &peer.allowed_ips {
            self.routes.insert(*prefix, id);
        }
        let mut path = PeerPath::new(id, now, sessions.config.acks);
        path.liveness.keepalive = peer.keepalive;
        path.handshakes.has_address = peer.endpoint.is_some();
        sessions.paths.add(path);
        sessions.secure.set_keepalive(id, peer.keepalive);
        if peer.endpoint.is_some() {
            sessions.connect(now, id);
        }
        sessions.reschedule(now, id);
        Ok(id)
    }

    /// Removes a peer with its session and its routes. False if the peer is not known.
    pub fn remove_peer(&mut self, peer: PeerId) -> bool {
        let Some(mut path) = self.sessions.paths.remove(peer) else { return false };
        self.routes.retain(|to| to != peer);
        self.delivered.retain(|(from, _)| *from != peer);
        path.close();
        path.take_resets(&mut self.sessions.events);
        self.delivered.extend(std::iter::from_fn(|| path.poll_local()).map(|reset| (peer, reset)));
        self.sessions.secure.remove(peer)
    }

    /// Replaces all routes. `routes` has each prefix once.
    pub fn set_routes(&mut self, routes: impl IntoIterator<Item = (IpPrefix, PeerId)>) {
        self.routes = Routes::default();
        for (prefix, peer) in routes {
            self.routes.insert(prefix, peer);
        }
    }

    /// Sets the prefixes that this host routes into the tunnel, instead of the former ones. A datagram from an address in
    /// one of these prefixes is dropped ([`EndpointCounters::from_inside`]): an answer would enter the tunnel again, and a
    /// peer must not prove such an address. The allowed IPs of the peers do not count, because not all of them are routed.
    pub fn set_inside(&mut self, prefixes: impl IntoIterator<Item = IpPrefix>) {
        self.inside = Routes::default();
        for prefix in prefixes {
            self.inside.insert(prefix, ());
        }
    }

    /// Whether this host reaches an address through the tunnel ([`Endpoint::set_inside`]).
    pub fn is_inside(&self, address: IpAddr) -> bool {
        self.inside.find(address.to_canonical()).is_some()
    }

    /// Sets the interval of a peer's keep-alives. A handshake tells the peer about a change.
    pub fn set_keepalive(&mut self, now: Time, peer: PeerId, keepalive: Option<Duration>) {
        let sessions = &mut self.sessions;
        let Some(path) = sessions.paths.get_mut(peer) else { return };
        if std::mem::replace(&mut path.liveness.keepalive, keepalive) == keepalive {
            return;
        }
        let has_session = path.has_session();
        sessions.secure.set_keepalive(peer, keepalive);
        if has_session {
            sessions.connect(now, peer);
        }
        sessions.reschedule(now, peer);
    }

    /// Sets the key that this end shares with a peer, for later handshakes.
    pub fn set_preshared(&mut self, peer: PeerId, key: Option<PresharedKey>) {
        self.sessions.secure.set_preshared(peer, key);
    }

    /// Sets a peer's address, for example when the peer's host name resolves to another address.
    /// Starts a handshake if there is no session with the peer. A handshake that is under way is repeated at a new address
    /// at once.
    pub fn set_endpoint(&mut self, now: Time, peer: PeerId, endpoint: SocketAddr) {
        let sessions = &mut self.sessions;
        let before = sessions.secure.endpoint(peer);
        if !sessions.secure.set_endpoint(peer, endpoint) {
            return;
        }
        sessions.address_changed(now, peer, &endpoint);
        if before != Some(endpoint) {
            sessions.secure.hasten(now, peer);
        }
        let Some(path) = sessions.paths.get_mut(peer) else { return };
        path.handshakes.has_address = true;
        if path.is_closed() || sessions.secure.epoch(now, peer).is_none() {
            sessions.connect(now, peer);
        }
    }

    /// Processes an IP packet from the inside.
    ///
    /// A TCP SYN whose MSS is too large for the tunnel is changed. The MTUs of peers differ. A packet
    /// that is too long for its peer is dropped, and its sender gets an ICMP message with the peer's
    /// MTU ([`too_big`]). [`Endpoint::poll_deliver`] returns this message. An IPv6 packet of at most 1280
    /// bytes is always carried, if need be in pieces: its sender makes no shorter packets.
    pub fn handle_inner(&mut self, now: Time, packet: &[u8]) {
        self.handle_inner_parts(now, &[packet]);
    }

    /// Processes an IP packet from the inside that consists of at most two parts, one after the other. See
    /// [`Endpoint::handle_inner`].
    pub fn handle_inner_parts(&mut self, now: Time, parts: &[&[u8]]) {
        self.now = now;
        let sessions = &mut self.sessions;
        let part = |index: usize| parts.get(index).copied().unwrap_or_default();
        // The packet is copied one time, into the symbol that travels.
        let mut symbol = Symbol::from_parts(&[&[0], part(0), part(1)]);
        let (destination, head) = match Inner::parse(&symbol.as_slice()[1..]) {
            Ok(inner) => (inner.destination, Meta::of(&inner)),
            Err(_) => {
                sessions.counters.inner_malformed += 1;
                return;
            }
        };
        let Some(peer) = self.routes.find(destination) else {
            sessions.counters.inner_no_route += 1;
            return;
        };
        let Some(path) = sessions.paths.get_mut(peer) else { return };
        let len = head.0.len as usize;
        if symbol.as_slice().len() > 1 + len {
            // Bytes after the packet do not travel.
            symbol = Symbol::from_slice(&symbol.as_slice()[..1 + len]);
        }
        let mtu = path.inner_mtu(&sessions.config).min(65_535) as u16;
        if sessions.config.clamp_mss && head.0.is_syn {
            symbol.edit(|bytes| sessions.counters.mss_clamped += u64::from(clamp_mss(&mut bytes[1..], mtu)));
        }
        if len > usize::from(mtu) && !symbol.must_be_carried(head.0.len) {
            sessions.counters.inner_too_long += 1;
            let most = if destination.is_ipv6() { mtu.max(IPV6_LEAST_MTU) } else { mtu };
            if path.may_answer(now)
                && let Some(answer) =
                    too_big(&symbol.as_slice()[1..], most).and_then(|answer| delivery::answer(&answer))
            {
                sessions.counters.too_big_sent += 1;
                self.delivered.push_back((peer, answer));
            }
        }
        if !path.handle_inner(now, symbol, head, &sessions.config) {
            // There is no session. The packet waits, and a handshake starts.
            sessions.connect(now, peer);
        }
        sessions.account(peer);
        sessions.paths.mark_ready(peer);
    }

    /// Processes a datagram from the outside, and decrypts it in place.
    pub fn handle_datagram(&mut self, now: Time, from: SocketAddr, datagram: &mut [u8], reception: Reception) {
        self.now = now;
        let bytes = datagram.len() as u32 + ip_udp_len(&from);
        self.sessions.counters.datagrams_received += 1;
        if self.sessions.closing && is_handshake(datagram) {
            // A session that begins now would end at once.
            return;
        }
        if self.is_inside(from.ip()) {
            self.sessions.counters.from_inside += 1;
            return;
        }
        match self.sessions.secure.handle_datagram(now, from, datagram) {
            Incoming::Transport { peer, epoch, number, kind, body } => {
                // The datagram may be the first under new keys. So the session for these keys
                // starts first, and then takes the datagram.
                self.sessions.handle_secure_events(now);
                if let Some(path) = self.sessions.paths.get_mut(peer) {
                    path.liveness.heard(now, kind.carries_packets());
                }
                self.handle_body(now, from, peer, epoch, number, kind, &datagram[body], bytes, reception);
                self.sessions.handle_secure_events(now);
                self.sessions.account(peer);
                self.sessions.paths.mark_ready(peer);
            }
            Incoming::Handshake { peer } => {
                self.sessions.handle_secure_events(now);
                self.sessions.paths.mark_ready(peer);
            }
            // A handshake that is refused may still be reported.
            Incoming::Rejected(_) => self.sessions.handle_secure_events(now),
        }
    }

    /// Does what is due at `now`: repeats handshakes, drops expired keys, and handles time-outs of
    /// sessions.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        self.sessions.handle_timeout(now);
    }

    /// Ends all sessions, and begins no new ones. The next calls of [`Endpoint::poll_transmit`] return what waits in the
    /// send queues, and then the datagrams that announce the end to the peers.
    pub fn close(&mut self) {
        self.sessions.close();
    }

    /// Announces the end of sessions at once, after [`Endpoint::close`]: what waits in the send queues is given up.
    pub fn close_now(&mut self) {
        self.sessions.close_now();
    }

    /// The next event. [`Endpoint::poll_deliver`] collects the events, so call it first.
    pub fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.sessions.events.pop_front()
    }

    /// The next rejected datagram that an operator should know of. Few are kept: [`Endpoint::secure_counters`] has all.
    pub fn poll_rejection(&mut self) -> Option<secure::Rejection> {
        self.sessions.secure.poll_rejection()
    }

    /// When to call [`Endpoint::handle_timeout`] if no other input comes first. The result is right
    /// only after all outputs were taken.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.sessions.poll_timeout()
    }

    /// The state of a peer; None for an unknown peer.
    pub fn peer_status(&self, peer: PeerId) -> Option<PeerStatus> {
        let path = self.sessions.paths.get(peer)?;
        Some(path.status(self.peer_address(peer), &self.sessions.config))
    }

    /// The address that datagrams to a peer go to; None for an unknown address or peer.
    pub fn peer_address(&self, peer: PeerId) -> Option<SocketAddr> {
        self.sessions.secure.endpoint(peer)
    }

    /// The number of packets in the send queue to a peer. None if there is no session.
    pub fn backlog_packets(&self, peer: PeerId) -> Option<usize> {
        let path = self.sessions.paths.get(peer).filter(|path| path.has_session())?;
        Some(path.tunnel()?.backlog_packets())
    }

    /// Bytes of source symbols sent to a peer in the current session. None if there is no session.
    pub fn sent_source_bytes(&self, peer: PeerId) -> Option<u64> {
        Some(self.sessions.paths.get(peer)?.tunnel()?.sent_source_bytes())
    }

    /// The peers, in the order in which they were added.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> + '_ {
        self.sessions.paths.iter().map(|path| path.id)
    }

    /// Memory that the sessions of all peers hold because of packets, bytes.
    pub fn memory(&self) -> usize {
        self.sessions.paths.memory.total()
    }

    /// The counters, summed over all peers.
    pub fn counters(&self) -> EndpointCounters {
        self.sessions.counters
    }

    /// The counters of handshakes and keys.
    pub fn secure_counters(&self) -> &secure::SecureCounters {
        self.sessions.secure.counters()
    }
}

/// The length of the IP and UDP headers of datagrams to or from `address`, bytes.
fn ip_udp_len(address: &SocketAddr) -> u32 {
    // An IPv6 socket shows an IPv4 peer as ::ffff:a.b.c.d.
    match address {
        SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_none() => IPV6_UDP_LEN as u32,
        _ => IPV4_UDP_LEN as u32,
    }
}
