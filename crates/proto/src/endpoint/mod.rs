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
mod liveness;
mod mtu;
mod path_packets;
mod peer_path;
mod routes;
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
use budget::{MemoryBudget, WorkBudget};
use datagrams::is_handshake;
use peer_path::PeerPath;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// While data waits for the socket, one answer to a handshake message is sent after this number of
/// data datagrams. Strangers can cause answers, so answers wait for data, but data must not keep new
/// peers out. With half the value, answers take up to an eighth of the datagrams of a busy socket.
/// With double the value, a peer waits twice as long for its response.
const DATA_PER_REPLY: u32 = 16;
/// Bytes of datagrams that a peer may send before the next peer's turn. The value is the largest number of bytes that
/// one send call takes: datagrams to one peer share a call. Half the value makes twice as many calls when several peers
/// are busy. Double the value makes no fewer calls, and a peer waits longer for its turn.
const TURN: usize = 65_507;

/// One end of the tunnel with all its peers.
pub struct Endpoint {
    config: EndpointConfig,
    secure: Peers,
    entropy: Box<dyn Entropy + Send>,
    /// The state of each peer, at the index of its [`PeerId`].
    paths: Vec<Option<Box<PeerPath>>>,
    routes: Routes<PeerId>,
    /// See [`Endpoint::set_inside`].
    inside: Routes<()>,
    /// Peers that may have something to send. They take turns.
    ready: VecDeque<PeerId>,
    /// Bytes that the first of these peers has sent in its turn.
    turn_bytes: usize,
    /// The next time-out of each peer.
    timers: BTreeSet<(Time, PeerId)>,
    /// The time of the last input.
    now: Time,
    /// Inner packets that the caller has not taken yet.
    delivered: VecDeque<(PeerId, Delivered<Symbol>)>,
    /// Number of peers with packets that are left for the next turns.
    undelivered: usize,
    events: VecDeque<EndpointEvent>,
    memory: MemoryBudget,
    work: WorkBudget,
    /// How many data datagrams were sent since the last handshake datagram.
    since_reply: u32,
    /// Whether this end closes: it begins no new sessions.
    closing: bool,
    /// See [`Endpoint::take_active_paths`].
    active: Option<ActivePaths>,
    counters: EndpointCounters,
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
            memory: MemoryBudget::new(config.memory),
            work: WorkBudget::new(config.work_per_second),
            config,
            secure,
            entropy,
            paths: Vec::new(),
            routes: Routes::default(),
            inside: Routes::default(),
            ready: VecDeque::new(),
            turn_bytes: 0,
            timers: BTreeSet::new(),
            now: Time::ZERO,
            delivered: VecDeque::new(),
            undelivered: 0,
            events: VecDeque::new(),
            since_reply: 0,
            closing: false,
            active: None,
            counters: EndpointCounters::default(),
        }
    }

    /// This end's public key.
    pub fn public(&self) -> PublicKey {
        self.secure.public()
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
        let id = self.secure.add(peer.public, peer.endpoint).ok_or(AddPeerError::Key(peer.public))?;
        self.secure.set_preshared(id, peer.preshared.clone());
        for prefix in &peer.allowed_ips {
            self.routes.insert(*prefix, id);
        }
        if self.paths.len() <= id.index() {
            self.paths.resize_with(id.index() + 1, || None);
        }
        let mut path = Box::new(PeerPath::new(id, now, self.config.acks));
        path.liveness.keepalive = peer.keepalive;
        path.calls = peer.endpoint.is_some();
        self.paths[id.index()] = Some(path);
        self.secure.set_keepalive(id, peer.keepalive);
        if peer.endpoint.is_some() {
            self.connect(now, id);
        }
        self.reschedule(now, id);
        Ok(id)
    }

    /// Removes a peer with its session and its routes. False if the peer is not known.
    pub fn remove_peer(&mut self, peer: PeerId) -> bool {
        let Some(mut path) = self.paths.get_mut(peer.index()).and_then(Option::take) else { return false };
        self.memory.note(path.memory, 0);
        self.undelivered -= usize::from(path.is_left);
        if let Some(at) = path.timer {
            self.timers.remove(&(at, peer));
        }
        self.routes.retain(|to| to != peer);
        self.ready.retain(|ready| *ready != peer);
        self.delivered.retain(|(from, _)| *from != peer);
        path.close();
        path.take_resets(&mut self.events);
        self.delivered.extend(std::iter::from_fn(|| path.poll_local()).map(|reset| (peer, reset)));
        self.secure.remove(peer)
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
        let Some(path) = get(&mut self.paths, peer) else { return };
        if std::mem::replace(&mut path.liveness.keepalive, keepalive) == keepalive {
            return;
        }
        let has_session = path.has_session();
        self.secure.set_keepalive(peer, keepalive);
        if has_session {
            self.connect(now, peer);
        }
        self.reschedule(now, peer);
    }

    /// Sets the key that this end shares with a peer, for later handshakes.
    pub fn set_preshared(&mut self, peer: PeerId, key: Option<PresharedKey>) {
        self.secure.set_preshared(peer, key);
    }

    /// Sets a peer's address, for example when the peer's host name resolves to another address.
    /// Starts a handshake if there is no session with the peer. A handshake that is under way is repeated at a new address
    /// at once.
    pub fn set_endpoint(&mut self, now: Time, peer: PeerId, endpoint: SocketAddr) {
        let before = self.secure.endpoint(peer);
        if !self.secure.set_endpoint(peer, endpoint) {
            return;
        }
        self.address_changed(now, peer, &endpoint);
        if before != Some(endpoint) {
            self.secure.hasten(now, peer);
        }
        let Some(path) = get(&mut self.paths, peer) else { return };
        path.calls = true;
        if path.closed.is_some() || self.secure.epoch(now, peer).is_none() {
            self.connect(now, peer);
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
        let part = |index: usize| parts.get(index).copied().unwrap_or_default();
        // The packet is copied one time, into the symbol that travels.
        let mut symbol = Symbol::from_parts(&[&[0], part(0), part(1)]);
        let (destination, head) = match Inner::parse(&symbol.as_slice()[1..]) {
            Ok(inner) => (inner.destination, Meta::of(&inner)),
            Err(_) => {
                self.counters.inner_malformed += 1;
                return;
            }
        };
        let Some(peer) = self.routes.find(destination) else {
            self.counters.inner_no_route += 1;
            return;
        };
        let Some(path) = get(&mut self.paths, peer) else { return };
        let len = head.0.len as usize;
        if symbol.as_slice().len() > 1 + len {
            // Bytes after the packet do not travel.
            symbol = Symbol::from_slice(&symbol.as_slice()[..1 + len]);
        }
        let mtu = path.inner_mtu(&self.config).min(65_535) as u16;
        if self.config.clamp_mss && head.0.is_syn {
            symbol.edit(|bytes| self.counters.mss_clamped += u64::from(clamp_mss(&mut bytes[1..], mtu)));
        }
        if len > usize::from(mtu) && !symbol.must_be_carried(head.0.len) {
            self.counters.inner_too_long += 1;
            let most = if destination.is_ipv6() { mtu.max(IPV6_LEAST_MTU) } else { mtu };
            if path.may_answer(now)
                && let Some(answer) =
                    too_big(&symbol.as_slice()[1..], most).and_then(|answer| delivery::answer(&answer))
            {
                self.counters.too_big_sent += 1;
                self.delivered.push_back((peer, answer));
            }
        }
        if !path.handle_inner(now, symbol, head, &self.config) {
            // There is no session. The packet waits, and a handshake starts.
            self.connect(now, peer);
        }
        self.account(peer);
        self.mark_ready(peer);
    }

    /// Processes a datagram from the outside, and decrypts it in place.
    pub fn handle_datagram(&mut self, now: Time, from: SocketAddr, datagram: &mut [u8], reception: Reception) {
        self.now = now;
        let bytes = datagram.len() as u32 + ip_udp_len(&from);
        self.counters.datagrams_received += 1;
        if self.closing && is_handshake(datagram) {
            // A session that begins now would end at once.
            return;
        }
        if self.is_inside(from.ip()) {
            self.counters.from_inside += 1;
            return;
        }
        match self.secure.handle_datagram(now, from, datagram) {
            Incoming::Transport { peer, epoch, number, kind, body } => {
                // The datagram may be the first under new keys. So the session for these keys
                // starts first, and then takes the datagram.
                self.handle_secure_events(now);
                if let Some(path) = get(&mut self.paths, peer) {
                    path.liveness.heard(now, kind.carries_packets());
                }
                self.handle_body(now, from, peer, epoch, number, kind, &datagram[body], bytes, reception);
                self.handle_secure_events(now);
                self.account(peer);
                self.mark_ready(peer);
            }
            Incoming::Handshake { peer } => {
                self.handle_secure_events(now);
                self.mark_ready(peer);
            }
            // A handshake that is refused may still be reported.
            Incoming::Rejected(_) => self.handle_secure_events(now),
        }
    }

    /// Does what is due at `now`: repeats handshakes, drops expired keys, and handles time-outs of
    /// sessions.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        self.secure.handle_timeout(now);
        self.handle_secure_events(now);
        while let Some((at, peer)) = self.timers.first().copied() {
            if at > now {
                break;
            }
            self.timers.pop_first();
            let Some(path) = get(&mut self.paths, peer) else { continue };
            path.timer = None;
            path.handle_timeout(now);
            path.charge(now, &mut self.work);
            if path.wants_handshake(now) {
                self.connect(now, peer);
            }
            self.check_liveness(now, peer);
            self.forget_closed(now, peer);
            self.check_calls(now, peer);
            // An idle caller may look at the memory before the outputs are taken.
            self.measure(peer);
            self.mark_ready(peer);
        }
    }

    /// Writes the next datagram that may leave now into `buffer`, and returns the datagram's length
    /// and destination. `buffer` must be at least as long as the largest path MTU.
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut [u8]) -> Option<Outgoing> {
        if let Some(initiation) = self.secure.poll_initiation() {
            return self.send_handshake(now, &initiation, buffer);
        }
        if self.since_reply >= DATA_PER_REPLY
            && let Some(reply) = self.secure.poll_reply()
        {
            return self.send_handshake(now, &reply, buffer);
        }
        while let Some(peer) = self.ready.front().copied() {
            match self.poll_peer(now, peer, buffer) {
                Some(outgoing) => {
                    self.turn_bytes += outgoing.len;
                    if self.turn_bytes + outgoing.len > TURN {
                        self.ready.rotate_left(1);
                        self.turn_bytes = 0;
                    }
                    self.counters.datagrams_sent += 1;
                    self.since_reply = self.since_reply.saturating_add(1);
                    return Some(outgoing);
                }
                None => {
                    self.ready.pop_front();
                    self.turn_bytes = 0;
                    if let Some(path) = get(&mut self.paths, peer) {
                        path.is_ready = false;
                    }
                    self.collect(now, peer);
                }
            }
        }
        // A peer that had nothing to send may have started a handshake just now.
        let handshake = self.secure.poll_transmit()?;
        self.send_handshake(now, &handshake, buffer)
    }

    /// The next event. [`Endpoint::poll_deliver`] collects the events, so call it first.
    pub fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.events.pop_front()
    }

    /// The next rejected datagram that an operator should know of. Few are kept: [`Endpoint::secure_counters`] has all.
    pub fn poll_rejection(&mut self) -> Option<secure::Rejection> {
        self.secure.poll_rejection()
    }

    /// When to call [`Endpoint::handle_timeout`] if no other input comes first. The result is right
    /// only after all outputs were taken.
    pub fn poll_timeout(&self) -> Option<Time> {
        let peers = self.timers.first().map(|(at, _)| *at);
        [peers, self.secure.poll_timeout()].into_iter().flatten().min()
    }

    /// The state of a peer; None for an unknown peer.
    pub fn peer_status(&self, peer: PeerId) -> Option<PeerStatus> {
        let path = self.paths.get(peer.index())?.as_deref()?;
        Some(path.status(self.secure.endpoint(peer), &self.config))
    }

    /// The address that datagrams to a peer go to; None for an unknown address or peer.
    pub fn peer_address(&self, peer: PeerId) -> Option<SocketAddr> {
        self.secure.endpoint(peer)
    }

    /// The number of packets in the send queue to a peer. None if there is no session.
    pub fn backlog_packets(&self, peer: PeerId) -> Option<usize> {
        let path = self.paths.get(peer.index())?.as_deref().filter(|path| path.has_session())?;
        Some(path.tunnel.as_ref()?.backlog_packets())
    }

    /// Bytes of source symbols sent to a peer in the current session. None if there is no session.
    pub fn sent_source_bytes(&self, peer: PeerId) -> Option<u64> {
        Some(self.paths.get(peer.index())?.as_deref()?.tunnel.as_ref()?.sent_source_bytes())
    }

    /// The peers, in the order in which they were added.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> + '_ {
        self.paths.iter().flatten().map(|path| path.id)
    }

    /// Memory that the sessions of all peers hold because of packets, bytes.
    pub fn memory(&self) -> usize {
        self.memory.total()
    }

    /// The counters, summed over all peers.
    pub fn counters(&self) -> EndpointCounters {
        self.counters
    }

    /// The counters of handshakes and keys.
    pub fn secure_counters(&self) -> &secure::SecureCounters {
        self.secure.counters()
    }

    fn mark_ready(&mut self, peer: PeerId) {
        let Some(path) = get(&mut self.paths, peer) else { return };
        path.is_collected = false;
        if !std::mem::replace(&mut path.is_ready, true) {
            self.ready.push_back(peer);
        }
    }

    /// Updates a peer's entry in the table of timers. Without a usable key, or without a proven address
    /// of the peer, nothing can be sent, and what is due stays due. So the session's own time-outs count
    /// only with both: otherwise the caller would be called again and again until the next handshake is
    /// complete, or until the peer answers a challenge.
    fn reschedule(&mut self, now: Time, peer: PeerId) {
        let Some(path) = get(&mut self.paths, peer) else { return };
        let reachable = path.has_path_packet() || self.secure.endpoint(peer).is_some();
        let usable =
            reachable && path.has_session() && path.epoch.is_some() && self.secure.epoch(now, peer) == path.epoch;
        let session = if usable { path.poll_timeout() } else { path.poll_timeout_without_key(now) };
        // What is left of this turn comes in the next one.
        let is_left = path.deliverable().is_some();
        let next_turn = is_left.then_some(now);
        let calls_end = path.calls_end(self.secure.calls_since(peer));
        let wanted = [session, next_turn, calls_end].into_iter().flatten().min();
        let was_left = std::mem::replace(&mut path.is_left, is_left);
        self.undelivered = self.undelivered + usize::from(is_left) - usize::from(was_left);
        if wanted != path.timer {
            if let Some(at) = path.timer {
                self.timers.remove(&(at, peer));
            }
            if let Some(at) = wanted {
                self.timers.insert((at, peer));
            }
            path.timer = wanted;
        }
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

fn get(paths: &mut [Option<Box<PeerPath>>], peer: PeerId) -> Option<&mut PeerPath> {
    paths.get_mut(peer.index())?.as_deref_mut()
}
