//! A whole endpoint as a node: handshakes, keys, the search for the MTU, and sealed bytes on the links.

use super::inner_packet::{inner_packet, label_of};
use super::{Packed, SessionEnd, SessionNode};
use crate::world::World;
use crate::world::fabric::Fabric;
use crate::world::node::{Entering, Handoff, SessionId};
use crate::world::packet::{Body, SealedDatagram, UDP_IP_HEADERS};
use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::Symbol;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, EndpointEvent, PeerConfig, PeerStatus};
use ripstop_proto::secure::{PeerId, PrivateKey};
use ripstop_proto::session::tunnel::Delivered;
use ripstop_proto::session::{Received, Session, Transmit};
use std::net::{Ipv4Addr, SocketAddr};

/// Where endpoints listen.
const PORT: u16 = 5182;
/// The largest UDP datagram.
const MAX_DATAGRAM: usize = 65_536;

/// An endpoint by the contract of [`Session`].
pub(in crate::world) struct EndpointSession {
    pub(in crate::world) endpoint: Endpoint,
    /// Where datagrams are written.
    buffer: Box<[u8]>,
    /// The address that its datagrams come from.
    address: SocketAddr,
}

/// An endpoint and what it needs to start anew.
#[derive(Debug)]
pub(in crate::world) struct EndpointNode {
    pub(in crate::world) end: SessionEnd<EndpointSession>,
    number: u32,
    config: EndpointConfig,
    seed: Seed,
    peers: Vec<Peering>,
    /// What the endpoint said, and when.
    pub(in crate::world) events: Vec<(Time, EndpointEvent)>,
    /// The state of each peer when this endpoint restarted, each time.
    pub(in crate::world) before: Vec<PeerStatus>,
    last_datagram: Option<SealedDatagram>,
    restarts: u64,
}

/// Another endpoint that this one talks to.
#[derive(Debug)]
struct Peering {
    /// The number of the other endpoint.
    node: u32,
    id: PeerId,
    /// The route to it, and whether its way back leads there.
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

    fn handle_inner(&mut self, now: Time, mut inner: Vec<u8>) {
        self.endpoint.handle_inner(now, &mut inner);
    }

    /// A datagram for an address that the endpoint has left is lost.
    fn handle_datagram(&mut self, now: Time, received: Received<SealedDatagram>) {
        let SealedDatagram { from, to, mut bytes } = received.packet;
        if to == self.address {
            self.endpoint.handle_datagram(now, from, &mut bytes, received.ce);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<SealedDatagram>> {
        let outgoing = self.endpoint.poll_transmit(now, &mut self.buffer)?;
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
        self.endpoint.poll_timeout()
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
        let Entering { flow, back, to, bytes, immediate, body } = entering;
        let SessionId::Endpoint(to) = to else { return None };
        let len = bytes.max(super::inner_packet::LEAST);
        let label = fabric.under_way.send(flow, back, len, immediate, body);
        Some(inner_packet(label, inner_address(self.number), inner_address(to)))
    }

    fn unpack(&mut self, body: Body, _fabric: &mut Fabric) -> Option<SealedDatagram> {
        let Body::Sealed(sealed) = body else { return None };
        self.last_datagram = Some((*sealed).clone());
        Some(*sealed)
    }

    fn pack(&mut self, packet: SealedDatagram, _fabric: &mut Fabric) -> Option<Packed> {
        let peer = self.peers.iter().find(|peer| outer_address(peer.node, PORT).ip() == packet.to.ip())?;
        let (route, back) = peer.path;
        Some(Packed { route, back, hop: 0, body: Body::Sealed(Box::new(packet)) })
    }

    fn leave(&mut self, (_, delivered): (PeerId, Delivered<Symbol>), fabric: &mut Fabric) -> Option<Handoff> {
        let (flow, body) = fabric.under_way.deliver(label_of(&delivered.payload))?;
        Some(Handoff::Leave { flow, body })
    }

    fn note(&mut self, now: Time, event: EndpointEvent) {
        self.events.push((now, event));
    }

    /// Before there is a session nothing is taken in: a source that always has more would only see it dropped.
    fn backlog(&self, to: SessionId) -> Option<usize> {
        let peer = self.peers.iter().find(|peer| SessionId::Endpoint(peer.node) == to)?;
        self.end.session.endpoint.backlog_packets(peer.id)
    }
}

impl EndpointNode {
    /// An endpoint that knows nobody yet. `clock` has its alarms.
    pub(in crate::world) fn new(
        number: u32,
        config: EndpointConfig,
        seed: Seed,
        clock: super::Clock,
    ) -> EndpointNode {
        let session = EndpointSession {
            endpoint: endpoint(number, &config, seed, 0),
            buffer: vec![0; MAX_DATAGRAM].into(),
            address: outer_address(number, PORT),
        };
        EndpointNode {
            end: SessionEnd::new(session, Some(clock)),
            number,
            config,
            seed,
            peers: Vec::new(),
            events: Vec::new(),
            before: Vec::new(),
            last_datagram: None,
            restarts: 0,
        }
    }

    /// Makes the endpoint `other` a peer, which is reached by this route. Each knows where the other listens at the start.
    pub(in crate::world) fn add_peer(&mut self, now: Time, other: u32, path: (u32, bool)) {
        let id = add_peer(&mut self.end.session.endpoint, now, other, self.seed);
        self.peers.push(Peering { node: other, id, path });
    }

    /// The state of the peer `other`.
    pub(in crate::world) fn peer_status(&self, other: u32) -> Option<PeerStatus> {
        let peer = self.peers.iter().find(|peer| peer.node == other)?;
        self.end.session.endpoint.peer_status(peer.id)
    }

    /// The endpoint loses its memory, except for its keys, and starts anew.
    pub(in crate::world) fn restart(&mut self, now: Time) {
        let session = &mut self.end.session;
        self.before.extend(self.peers.iter().filter_map(|peer| session.endpoint.peer_status(peer.id)));
        self.restarts += 1;
        session.endpoint = endpoint(self.number, &self.config, self.seed, self.restarts);
        for peer in &mut self.peers {
            peer.id = add_peer(&mut session.endpoint, now, peer.node, self.seed);
        }
    }

    /// The endpoint's datagrams come from another address from now on.
    pub(in crate::world) fn roam(&mut self) {
        let session = &mut self.end.session;
        session.address = outer_address(self.number, session.address.port().wrapping_add(1).max(PORT));
    }

    /// A stranger sends the endpoint random bytes, and its peer's last datagram once more.
    pub(in crate::world) fn disturb(&mut self, now: Time, random: &mut Stream) {
        let from = SocketAddr::from(([203, 0, 113, 9], 9));
        let mut bytes = vec![0; random.below(200) as usize];
        random.fill(&mut bytes);
        let endpoint = &mut self.end.session.endpoint;
        endpoint.handle_datagram(now, from, &mut bytes, false);
        if let Some(mut replay) = self.last_datagram.clone() {
            endpoint.handle_datagram(now, from, &mut replay.bytes, false);
        }
    }
}

fn inner_address(node: u32) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, (node >> 8) as u8, 1 + node as u8)
}

fn outer_address(node: u32, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1 + node as u8], port))
}

fn private_key(node: u32, seed: Seed) -> PrivateKey {
    PrivateKey::generate(&mut seed.stream(&format!("key/{node}")))
}

/// The endpoint of a node when it starts for the `run`-th time.
fn endpoint(node: u32, config: &EndpointConfig, seed: Seed, run: u64) -> Endpoint {
    let stream = |name: &str| Box::new(seed.run(run).stream(&format!("{name}/{node}")));
    Endpoint::new(private_key(node, seed), config.clone(), stream("endpoint"), stream("secure"))
}

fn add_peer(endpoint: &mut Endpoint, now: Time, other: u32, seed: Seed) -> PeerId {
    let peer = PeerConfig {
        public: private_key(other, seed).public(),
        endpoint: Some(outer_address(other, PORT)),
        allowed_ips: vec![format!("{}/32", inner_address(other)).parse().expect("a prefix")],
        keepalive: None,
    };
    endpoint.add_peer(now, &peer).expect("a peer with another key and another address")
}
