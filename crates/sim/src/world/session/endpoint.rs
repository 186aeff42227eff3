//! A whole endpoint as a node: handshakes, keys, path MTU discovery, and sealed bytes on the links.

use super::inner_packet::{inner_packet, is_icmp, label_of};
use super::{Input, Packed, SessionEnd, SessionNode};
use crate::world::World;
use crate::world::fabric::Fabric;
use crate::world::node::{Entering, Handoff, SessionId};
use crate::world::packet::{Body, SealedDatagram, UDP_IP_HEADERS};
use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::Symbol;
use ripstop_proto::endpoint::{AddPeerError, Endpoint, EndpointConfig, EndpointEvent, PeerConfig, PeerStatus};
use ripstop_proto::packets::Delivered;
use ripstop_proto::secure::{PeerId, PresharedKey, PrivateKey, PublicKey};
use ripstop_proto::session::{Received, Reception, Session, Transmit};
use ripstop_proto::wire::handshake::INITIATION;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The UDP port on which each endpoint listens at the start. The value is arbitrary: every endpoint has an IP address
/// of its own.
const PORT: u16 = 5182;
/// The size of the buffer for one datagram, bytes. A UDP datagram has at most 65 535 bytes, so double the value changes
/// nothing. Half the value still exceeds any usual MTU.
const MAX_DATAGRAM: usize = 65_536;
/// How many initiations a stranger has recorded. An endpoint remembers 64 initiations that it has answered, so half the
/// value replays only these. Double the value takes longer and shows the same.
const RECORDED: usize = 100;
/// How many datagrams to hosts outside the world are kept until the caller takes them. Double the value only takes more
/// memory; half the value may lose a part of a large answer.
const KEPT: usize = 1000;

/// An endpoint that keeps the contract of [`Session`].
pub(in crate::world) struct EndpointSession {
    /// The shipped endpoint.
    pub(in crate::world) endpoint: Endpoint,
    /// The endpoint writes each outgoing datagram here.
    buffer: Box<[u8]>,
    /// The source address of the endpoint's datagrams. Roaming changes this address.
    pub(in crate::world) address: SocketAddr,
    /// How far the endpoint's clock is ahead of the world's clock.
    pub(in crate::world) ahead: Duration,
}

/// An endpoint, its peers, and the data that a restart of the endpoint needs.
#[derive(Debug)]
pub(in crate::world) struct EndpointNode {
    pub(in crate::world) end: SessionEnd<EndpointSession>,
    /// The endpoint's number among all endpoints of the world.
    number: u32,
    config: EndpointConfig,
    seed: Seed,
    peers: Vec<Peering>,
    /// The endpoint's events, with their times.
    pub(in crate::world) events: Vec<(Time, EndpointEvent)>,
    /// The state of each peer just before each restart of this endpoint.
    pub(in crate::world) before: Vec<PeerStatus>,
    outside: Outside,
    /// The last datagram that the endpoint received. A stranger may replay it.
    last_datagram: Option<SealedDatagram>,
    /// The last initiations that the endpoint received. A stranger may replay them.
    initiations: VecDeque<Box<[u8]>>,
    /// How many times the endpoint was restarted.
    restarts: u64,
}

/// What an endpoint exchanges with hosts outside the world.
#[derive(Debug, Default)]
struct Outside {
    /// Peers outside the world, and their ids since the last start of this endpoint.
    peers: Vec<(PeerConfig, PeerId)>,
    /// Datagrams to hosts outside the world.
    datagrams: VecDeque<(SocketAddr, Box<[u8]>)>,
    /// Packets that the endpoint delivered for these peers.
    delivered: u64,
}

/// Another endpoint to which this endpoint is connected.
#[derive(Debug)]
struct Peering {
    /// The number of the other endpoint.
    node: u32,
    /// The peer's id at this endpoint, since the last start of this endpoint.
    id: PeerId,
    /// The key that both ends share in addition to their static keys.
    preshared: Option<PresharedKey>,
    /// The route to the peer, and whether the route's way back leads to the peer.
    path: (u32, bool),
}

impl std::fmt::Debug for EndpointSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndpointSession").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Session for EndpointSession {
    type Inner = Vec<u8>;
    type Incoming = SealedDatagram;
    type Outgoing = SealedDatagram;
    type Delivered = (PeerId, Delivered<Symbol>);
    type Event = EndpointEvent;

    fn handle_inner(&mut self, now: Time, inner: Vec<u8>) {
        self.endpoint.handle_inner(now + self.ahead, &inner);
    }

    /// Drops a datagram that is addressed to a port that the endpoint has left.
    fn handle_datagram(&mut self, now: Time, received: Received<SealedDatagram>) {
        let SealedDatagram { from, to, mut bytes } = received.packet;
        if to == self.address {
            self.endpoint.handle_datagram(now + self.ahead, from, &mut bytes, received.reception);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now + self.ahead);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<SealedDatagram>> {
        let outgoing = self.endpoint.poll_transmit(now + self.ahead, &mut self.buffer)?;
        let bytes: Box<[u8]> = self.buffer[..outgoing.len].into();
        let packet = SealedDatagram { from: self.address, to: outgoing.to, bytes };
        Some(Transmit { packet, bytes: outgoing.len as u32 + UDP_IP_HEADERS, ect: outgoing.ect })
    }

    fn poll_deliver(&mut self) -> Option<(PeerId, Delivered<Symbol>)> {
        self.endpoint.poll_deliver()
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.endpoint.poll_event()
    }

    fn poll_timeout(&self) -> Option<Time> {
        let due = self.endpoint.poll_timeout()?;
        Some(if due == Time::NEVER { due } else { Time::ZERO + due.since(Time::ZERO + self.ahead) })
    }
}

impl SessionNode for EndpointNode {
    type Session = EndpointSession;
    const BATCHES: bool = true;

    fn split(world: &mut World, number: u32) -> (&mut EndpointNode, &mut Fabric) {
        (&mut world.endpoints[number as usize], &mut world.fabric)
    }

    fn end(&mut self) -> &mut SessionEnd<EndpointSession> {
        &mut self.end
    }

    fn enter(&mut self, entering: Entering, fabric: &mut Fabric) -> Option<Vec<u8>> {
        let Entering { flow, back, to, bytes, immediate, flags, body } = entering;
        let SessionId::Endpoint(to) = to else { return None };
        let len = bytes.max(super::inner_packet::LEAST);
        let label = fabric.under_way.send(flow, back, len, immediate, flags, body);
        Some(inner_packet(label, inner_address(self.number), inner_address(to)))
    }

    fn unpack(&mut self, body: Body, _fabric: &mut Fabric) -> Option<Input<Self::Session>> {
        let Body::Sealed(sealed) = body else { return None };
        self.last_datagram = Some((*sealed).clone());
        if sealed.bytes.first() == Some(&INITIATION) {
            self.initiations.push_back(sealed.bytes.clone());
            self.initiations.drain(..self.initiations.len().saturating_sub(RECORDED));
        }
        Some(Input::Peer(*sealed))
    }

    fn pack(&mut self, packet: SealedDatagram, _fabric: &mut Fabric) -> Option<Packed> {
        let Some(peer) = self.peers.iter().find(|peer| outer_address(peer.node, PORT).ip() == packet.to.ip()) else {
            self.outside.datagrams.push_back((packet.to, packet.bytes));
            self.outside.datagrams.drain(..self.outside.datagrams.len().saturating_sub(KEPT));
            return None;
        };
        let (route, back) = peer.path;
        Some(Packed { route, back, hop: 0, body: Body::Sealed(Box::new(packet)) })
    }

    /// An endpoint's own ICMP messages end here: the sources of a scenario do not change their packets' size.
    fn leave(&mut self, (from, delivered): (PeerId, Delivered<Symbol>), fabric: &mut Fabric) -> Option<Handoff> {
        if self.outside.peers.iter().any(|(_, id)| *id == from) {
            self.outside.delivered += 1;
            return None;
        }
        if is_icmp(&delivered.payload) {
            return None;
        }
        fabric.under_way.deliver(label_of(&delivered.payload))
    }

    fn note(&mut self, now: Time, event: EndpointEvent) {
        self.events.push((now, event));
    }

    /// None until the endpoint has a session with the peer. Without a session, the endpoint would drop a greedy
    /// source's packets.
    fn backlog(&self, to: SessionId) -> Option<usize> {
        let peer = self.peers.iter().find(|peer| SessionId::Endpoint(peer.node) == to)?;
        self.end.session.endpoint.backlog_packets(peer.id)
    }
}

impl EndpointNode {
    /// An endpoint without peers. `clock` has the endpoint's alarms.
    pub(in crate::world) fn new(number: u32, config: EndpointConfig, seed: Seed, clock: super::Clock) -> EndpointNode {
        let session = EndpointSession {
            endpoint: endpoint(number, &config, seed, 0),
            buffer: vec![0; MAX_DATAGRAM].into(),
            address: outer_address(number, PORT),
            ahead: Duration::ZERO,
        };
        EndpointNode {
            end: SessionEnd::new(session, Some(clock)),
            number,
            config,
            seed,
            peers: Vec::new(),
            events: Vec::new(),
            before: Vec::new(),
            outside: Outside::default(),
            last_datagram: None,
            initiations: VecDeque::new(),
            restarts: 0,
        }
    }

    /// Makes the endpoint `other` a peer, reached over `path`. The peer's configured address is the address at which
    /// `other` listens at the start.
    pub(in crate::world) fn add_peer(
        &mut self,
        now: Time,
        other: u32,
        preshared: Option<PresharedKey>,
        path: (u32, bool),
    ) {
        let id = add_peer(&mut self.end.session.endpoint, now, (other, &preshared), self.seed);
        self.peers.push(Peering { node: other, id, preshared, path });
    }

    /// Sets the address of the peer `other`, as a look-up of the peer's name does.
    pub(in crate::world) fn resolve(&mut self, now: Time, other: u32, address: SocketAddr) {
        let session = &mut self.end.session;
        if let Some(peer) = self.peers.iter().find(|peer| peer.node == other) {
            session.endpoint.set_endpoint(now + session.ahead, peer.id, address);
        }
    }

    /// Sets the wall clock that the endpoint reads at its next restart.
    pub(in crate::world) fn set_wall_clock(&mut self, wall_clock: Duration) {
        self.config.secure.wall_clock = wall_clock;
    }

    /// Adds a peer outside the world. The caller exchanges this peer's datagrams with the endpoint.
    ///
    /// # Errors
    /// As [`Endpoint::add_peer`].
    pub(in crate::world) fn add_outside_peer(&mut self, now: Time, peer: PeerConfig) -> Result<(), AddPeerError> {
        let session = &mut self.end.session;
        let id = session.endpoint.add_peer(now + session.ahead, &peer)?;
        self.outside.peers.push((peer, id));
        Ok(())
    }

    /// Gives the endpoint a datagram from outside the world.
    pub(in crate::world) fn inject(&mut self, now: Time, from: SocketAddr, bytes: &mut [u8]) {
        let session = &mut self.end.session;
        session.endpoint.handle_datagram(now + session.ahead, from, bytes, Reception::default());
    }

    /// Removes and returns the oldest datagram to a host outside the world, with its destination.
    pub(in crate::world) fn take_outside(&mut self) -> Option<(SocketAddr, Box<[u8]>)> {
        self.outside.datagrams.pop_front()
    }

    /// The state of peer `index` outside the world, and how many packets of such peers were delivered.
    pub(in crate::world) fn outside_status(&self, index: usize) -> Option<(PeerStatus, u64)> {
        let (_, id) = self.outside.peers.get(index)?;
        Some((self.end.session.endpoint.peer_status(*id)?, self.outside.delivered))
    }

    /// The endpoint's public key.
    pub(in crate::world) fn public(&self) -> PublicKey {
        self.end.session.endpoint.public()
    }

    /// The state of the peer `other`. None if `other` is no peer.
    pub(in crate::world) fn peer_status(&self, other: u32) -> Option<PeerStatus> {
        let peer = self.peers.iter().find(|peer| peer.node == other)?;
        self.end.session.endpoint.peer_status(peer.id)
    }

    /// Restarts the endpoint: it forgets everything except its keys.
    pub(in crate::world) fn restart(&mut self, now: Time) {
        let session = &mut self.end.session;
        self.before.extend(self.peers.iter().filter_map(|peer| session.endpoint.peer_status(peer.id)));
        self.restarts += 1;
        session.endpoint = endpoint(self.number, &self.config, self.seed, self.restarts);
        let now = now + session.ahead;
        for peer in &mut self.peers {
            peer.id = add_peer(&mut session.endpoint, now, (peer.node, &peer.preshared), self.seed);
        }
        for (peer, id) in &mut self.outside.peers {
            *id = session.endpoint.add_peer(now, peer).expect("the peer was added before");
        }
    }

    /// Moves the endpoint to the next UDP port.
    pub(in crate::world) fn roam(&mut self) {
        let session = &mut self.end.session;
        session.address = outer_address(self.number, session.address.port().wrapping_add(1).max(PORT));
    }

    /// Gives the endpoint random bytes from a stranger's address, and replays the last datagram and the recorded
    /// initiations that it received.
    pub(in crate::world) fn disturb(&mut self, now: Time, random: &mut Stream) {
        let from = SocketAddr::from(([203, 0, 113, 9], 9));
        let mut bytes = vec![0; random.below(200) as usize];
        random.fill(&mut bytes);
        let now = now + self.end.session.ahead;
        let endpoint = &mut self.end.session.endpoint;
        endpoint.handle_datagram(now, from, &mut bytes, Reception::default());
        let last = self.last_datagram.as_ref().map(|last| &last.bytes);
        for mut replay in self.initiations.iter().chain(last).cloned() {
            endpoint.handle_datagram(now, from, &mut replay, Reception::default());
        }
    }
}

/// The address of an endpoint's hosts inside the tunnel.
fn inner_address(node: u32) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, (node >> 8) as u8, 1 + node as u8)
}

/// The address of an endpoint on the network.
fn outer_address(node: u32, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1 + node as u8], port))
}

/// The private key of an endpoint. It stays the same through restarts.
fn private_key(node: u32, seed: Seed) -> PrivateKey {
    PrivateKey::generate(&mut seed.stream(&format!("key/{node}")))
}

/// The endpoint of node `node` after `run` restarts. Each start has random streams of its own.
fn endpoint(node: u32, config: &EndpointConfig, seed: Seed, run: u64) -> Endpoint {
    let stream = |name: &str| Box::new(seed.run(run).stream(&format!("{name}/{node}")));
    Endpoint::new(private_key(node, seed), config.clone(), stream("endpoint"), stream("secure"))
}

/// Adds the endpoint `other` as a peer of `endpoint`, with its public key, pre-shared key, address and inner address.
fn add_peer(
    endpoint: &mut Endpoint,
    now: Time,
    (other, preshared): (u32, &Option<PresharedKey>),
    seed: Seed,
) -> PeerId {
    let peer = PeerConfig {
        public: private_key(other, seed).public(),
        preshared: preshared.clone(),
        endpoint: Some(outer_address(other, PORT)),
        allowed_ips: vec![format!("{}/32", inner_address(other)).parse().expect("a valid prefix")],
        keepalive: None,
    };
    endpoint.add_peer(now, &peer).expect("each peer has a key and an inner address of its own")
}
