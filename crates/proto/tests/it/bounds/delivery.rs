//! A peer that makes a window of packets deliverable with one datagram: a turn delivers a bounded number of them.

use super::world::{address, inside, private, udp};
use ripstop_base::{Seed, Time};
use ripstop_codes::Symbol;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig, TURN_BYTES, TURN_PACKETS, inner_packet};
use ripstop_proto::packets::Gap;
use ripstop_proto::secure::{PeerId, Peers, SecureConfig, SecureEvent};
use ripstop_proto::session::Reception;
use ripstop_proto::wire::{HEADER_LEN, Kind, Packet, SymbolKind, TAG_LEN, Window, emit_body};
use std::time::Duration;

const HOSTILE: PeerId = PeerId::from_index(0);
const HONEST: PeerId = PeerId::from_index(1);
/// Packets that wait for symbol 0.
const HELD: u64 = 60_000;

/// A peer that sends what it likes under its keys.
struct Client {
    octet: u8,
    peers: Peers,
    epoch: Option<u64>,
    number: u64,
}

struct World {
    now: Time,
    server: Endpoint,
    clients: [Client; 2],
    /// The peer and the serial number of each packet that was delivered.
    delivered: Vec<(PeerId, u64)>,
    /// The most packets and bytes of one peer in one turn.
    most: (usize, usize),
}

impl World {
    fn new(config: EndpointConfig) -> World {
        let seed = Seed::new(5);
        let stream = |name: &str| Box::new(seed.stream(name));
        let server = Endpoint::new(private(seed, 1), config, stream("endpoint"), stream("secure"));
        let client = |octet: u8| {
            let mut peers = Peers::new(private(seed, octet), SecureConfig::default(), stream(&format!("peer/{octet}")));
            peers.add(private(seed, 1).public(), Some(address(1))).unwrap();
            Client { octet, peers, epoch: None, number: 0 }
        };
        let clients = [client(2), client(3)];
        let mut world = World { now: Time::from_millis(1), server, clients, delivered: Vec::new(), most: (0, 0) };
        for octet in [2, 3] {
            let peer = PeerConfig {
                public: private(seed, octet).public(),
                endpoint: None,
                allowed_ips: vec![format!("{}/32", inside(octet)).parse().unwrap()],
                keepalive: None,
                preshared: None,
            };
            world.server.add_peer(Time::ZERO, &peer).unwrap();
            world.connect(usize::from(octet) - 2);
        }
        world
    }

    /// The client begins a new session.
    fn connect(&mut self, client: usize) {
        let id = PeerId::from_index(0);
        self.clients[client].peers.forget(id);
        self.clients[client].peers.connect(self.now, id);
        let before = self.clients[client].epoch;
        for _ in 0..20 {
            self.now += Duration::from_millis(1);
            let Client { octet, peers, epoch, number } = &mut self.clients[client];
            while let Some(out) = peers.poll_transmit() {
                let mut bytes = out.contents.to_vec();
                self.server.handle_datagram(self.now, address(*octet), &mut bytes, Reception::default());
            }
            let mut buffer = [0; 2000];
            while let Some(out) = self.server.poll_transmit(self.now, &mut buffer) {
                if out.to == address(*octet) {
                    peers.handle_datagram(self.now, address(1), &mut buffer[..out.len]);
                }
            }
            while let Some(event) = peers.poll_event() {
                if let SecureEvent::Established { epoch: new, .. } = event
                    && epoch.replace(new) != Some(new)
                {
                    *number = 0;
                }
            }
        }
        assert_ne!(self.clients[client].epoch, before, "no session");
        self.send(client, &Packet::Probe { padding: 0 });
    }

    fn send(&mut self, client: usize, packet: &Packet<Symbol>) {
        let Client { octet, peers, epoch, number } = &mut self.clients[client];
        let mut buffer = vec![0; 9_000];
        let body = emit_body(packet, &mut buffer[HEADER_LEN..]).unwrap();
        buffer.truncate(HEADER_LEN + body + TAG_LEN);
        let id = PeerId::from_index(0);
        peers.seal(self.now, id, epoch.unwrap(), *number, Kind::of(packet), &mut buffer).unwrap();
        *number += 1;
        self.server.handle_datagram(self.now, address(*octet), &mut buffer, Reception::default());
    }

    /// Sends the packet `serial` of `len` bytes in symbol `id`.
    fn source(&mut self, client: usize, id: u64, serial: u64, len: usize) {
        let mut packet = udp(inside(client as u8 + 2), inside(1), len);
        packet[28..36].copy_from_slice(&serial.to_be_bytes());
        let gap = if id == 0 { Gap::NONE } else { Gap::ADJACENT };
        let payload = Symbol::from_parts(&[&[gap.nibble()], &packet]);
        self.send(client, &Packet::Source { id, kind: SymbolKind::Packet, payload });
    }

    /// Takes all outputs, as a caller does once in a turn. Returns the numbers of packets of the two peers.
    fn turn(&mut self) -> [usize; 2] {
        let now = self.now;
        if self.server.poll_timeout().is_some_and(|at| at <= now) {
            self.server.handle_timeout(now);
        }
        let mut buffer = [0; 2000];
        while self.server.poll_transmit(now, &mut buffer).is_some() {}
        let (mut packets, mut bytes) = ([0, 0], [0, 0]);
        while let Some((peer, delivered)) = self.server.poll_deliver() {
            let packet = inner_packet(&delivered);
            packets[peer.index()] += 1;
            bytes[peer.index()] += packet.len();
            let serial = packet[28..36].first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
            self.delivered.push((peer, serial.unwrap()));
        }
        while self.server.poll_event().is_some() {}
        let is_left = self.server.has_undelivered();
        assert!(!is_left || self.server.poll_timeout().is_some_and(|at| at <= now), "the caller would sleep");
        self.most = packets.into_iter().zip(bytes).fold(self.most, |most, one| (most.0.max(one.0), most.1.max(one.1)));
        packets
    }

    /// The hostile peer sends packets of `len` bytes with the serial numbers `serials`, which wait for symbol 0.
    fn hold(&mut self, serials: std::ops::Range<u64>, len: usize) {
        let (ms, begin) = (Duration::from_millis, serials.start);
        let window = Window { base: 0, reach: 1 << 16, report_every: ms(1_000), deadline: ms(60_000) };
        self.send(0, &Packet::Window(window));
        for serial in serials {
            self.source(0, serial - begin + 1, serial, len);
            if serial % 256 == 0 {
                self.now += ms(1);
                assert_eq!(self.turn()[0], 0);
            }
        }
    }

    /// Takes turns until nothing is left. In each turn, the honest peer sends a packet, which must be delivered at once.
    /// Returns how many turns that took.
    fn release(&mut self) -> u64 {
        for turn in 0.. {
            // No time passes. The server must ask for the next turn all the same.
            self.source(1, turn, turn, 40);
            let packets = self.turn();
            assert_eq!(packets[1], 1, "turn {turn}: the honest peer waits");
            if !self.server.has_undelivered() {
                return turn + 1;
            }
            assert!(packets[0] > 0 && turn < HELD, "turn {turn}: nothing was delivered");
        }
        0
    }

    /// The serial numbers of a peer's packets, in the order of delivery.
    fn of(&self, peer: PeerId) -> Vec<u64> {
        self.delivered.iter().filter(|(from, _)| *from == peer).map(|(_, serial)| *serial).collect()
    }
}

#[test]
fn a_filled_gap_is_delivered_in_many_turns() {
    let mut world = World::new(EndpointConfig::default());
    world.turn();
    world.hold(1..HELD, 40);
    let held = world.server.peer_status(HOSTILE).unwrap().memory;
    // Symbol 0 fills the gap.
    world.source(0, 0, 0, 40);
    world.turn();
    let left = world.server.peer_status(HOSTILE).unwrap().memory;
    assert!(left > held / 2, "{left} bytes of {held} are counted while packets are left");
    let turns = world.release();
    assert_eq!(world.most.0, TURN_PACKETS);
    assert!(turns >= HELD / TURN_PACKETS as u64, "{turns} turns");
    assert_eq!(world.of(HOSTILE), (0..HELD).collect::<Vec<_>>());
    assert_eq!(world.of(HONEST), (0..turns).collect::<Vec<_>>());
}

/// Two sessions end with packets that wait, and the last session has packets of its own.
#[test]
fn former_sessions_are_delivered_in_many_turns() {
    let mut world = World::new(EndpointConfig::default());
    world.turn();
    let empty = world.server.peer_status(HOSTILE).unwrap().memory;
    world.hold(0..HELD, 40);
    world.connect(0);
    // What the first session has held is delivered first.
    let (begin, middle) = (HELD, HELD + 5_000);
    let window =
        Window { base: 0, reach: 1 << 16, report_every: Duration::from_secs(1), deadline: Duration::from_secs(60) };
    world.send(0, &Packet::Window(window));
    for serial in begin..middle {
        world.source(0, serial - begin + 1, serial, 40);
    }
    world.connect(0);
    let end = middle + 100;
    for serial in middle..end {
        world.source(0, serial - middle, serial, 40);
    }
    let counted = world.server.peer_status(HOSTILE).unwrap().memory;
    assert!(counted > HELD as usize * 100, "{counted} bytes");
    let turns = world.release();
    assert_eq!(world.most.0, TURN_PACKETS);
    assert!(turns >= HELD / TURN_PACKETS as u64, "{turns} turns");
    assert_eq!(world.of(HOSTILE), (0..end).collect::<Vec<_>>());
    let left = world.server.peer_status(HOSTILE).unwrap().memory;
    assert!(left < empty + 200_000, "{left} bytes after the delivery, {empty} before");
}

#[test]
fn a_closed_session_is_delivered_in_many_turns() {
    let mut world = World::new(EndpointConfig::default());
    world.turn();
    world.hold(0..HELD, 40);
    world.send(0, &Packet::Close);
    assert_eq!(world.turn(), [0, 0]);
    // The session takes in packets for another second.
    world.now += Duration::from_millis(1_100);
    let turns = world.release();
    assert_eq!(world.most.0, TURN_PACKETS);
    assert!(turns >= HELD / TURN_PACKETS as u64, "{turns} turns");
    assert_eq!(world.of(HOSTILE), (0..HELD).collect::<Vec<_>>());
}

#[test]
fn long_packets_are_bounded_by_their_bytes() {
    const LONG: usize = 8_000;
    let mut world = World::new(EndpointConfig::default());
    world.turn();
    world.hold(1..1_000, LONG);
    world.source(0, 0, 0, LONG);
    let turns = world.release();
    assert!((TURN_BYTES..TURN_BYTES + LONG).contains(&world.most.1), "{:?}", world.most);
    assert_eq!((turns, world.of(HOSTILE)), (8, (0..1_000).collect()));
}
