//! The body of the fuzz target `endpoint`: sequences of authentic datagrams from two peers into an endpoint, with
//! inner packets and times.
//!
//! The input is a list of events. Each event has a byte that selects it, a byte with the time that passes, and a byte
//! with the length of the bytes that follow. The bytes are the body of a datagram that a peer seals, the size of an
//! inner packet, or a datagram of a stranger. The body checks these properties:
//!
//! - The memory of all sessions stays within the budget.
//! - The work of a packet is at most proportional to what it recovers.
//! - A packet is delivered only from a peer that may send from its source address.
//! - An event never causes endless output.
//!
//! The target runs the body on inputs that it makes up. A test of the crate `ripstop-proto` runs the body on the
//! committed inputs. The test also checks that datagrams of each kind are accepted.

use super::kinds::common_kind;
use ripstop_base::{Seed, Time};
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig, inner_packet};
use ripstop_proto::inner::Inner;
use ripstop_proto::secure::{PeerId, Peers, PrivateKey, SecureConfig, SecureEvent};
use ripstop_proto::session::Reception;
use ripstop_proto::session::tunnel::TunnelConfig;
use ripstop_proto::wire::{HEADER_LEN, Kind, TAG_LEN};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

/// The budget of memory, bytes.
const MEMORY: usize = 300_000;
/// The most memory that one packet adds before the budget is checked, bytes.
const PACKET: usize = 100_000;
/// The coding window, symbols.
const WINDOW: u32 = 512;
/// Bytes of a coefficient matrix.
const MATRIX: usize = 1 << 18;
/// More outputs than one event may cause.
const ENDLESS: usize = 20_000;

struct World {
    endpoint: Endpoint,
    peers: [Peer; 2],
    now: Time,
    /// The type bytes of the datagrams of the input that were well-formed.
    accepted: BTreeSet<u8>,
}

/// The kind of datagram that an event of the input brings. None: the event brings no datagram of a peer.
fn kind_of(event: u8) -> Option<Kind> {
    match (event % 16, event >> 4) {
        (7, 12) => Some(Kind::RepairOfBlock),
        (7, _) => Some(Kind::Challenge),
        (13, _) => Some(Kind::Answer),
        // The lower halves 14 and 15 stand for 0 and 1.
        (14 | 15, _) => common_kind(event % 2),
        _ => common_kind(event),
    }
}

/// A peer that seals what the input says.
struct Peer {
    peers: Peers,
    address: SocketAddr,
    epoch: Option<u64>,
    number: u64,
}

/// Runs the events of an input. Returns the type bytes of its datagrams that were well-formed.
pub(crate) fn run(data: &[u8]) -> BTreeSet<u8> {
    let mut world = World::new();
    let mut events = data;
    while let Some((&[event, passes, len], rest)) = events.split_first_chunk::<3>() {
        let (bytes, rest) = rest.split_at(usize::from(len).min(rest.len()));
        events = rest;
        world.now += Duration::from_micros(200 * u64::from(passes) * u64::from(passes));
        let before = world.work();
        world.take(event, bytes);
        world.drain();
        world.check(before);
    }
    world.accepted
}

fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, n], 1))
}

impl World {
    fn new() -> World {
        let seed = Seed::new(1);
        let private = |n: u8| PrivateKey::generate(&mut seed.stream(&format!("key/{n}")));
        let tunnel = TunnelConfig {
            window_symbols: WINDOW,
            matrix_bytes: MATRIX,
            queue_bytes: 50_000,
            ..TunnelConfig::default()
        };
        let config = EndpointConfig { memory: MEMORY, work_per_second: 100_000_000, tunnel, ..Default::default() };
        let stream = |name: &str| Box::new(seed.stream(name));
        let mut endpoint = Endpoint::new(private(0), config, stream("endpoint"), stream("secure"));
        let peers = [1, 2].map(|n| {
            let allowed_ips = vec![format!("10.0.0.{n}/32").parse().expect("a prefix")];
            let peer = PeerConfig {
                public: private(n).public(),
                endpoint: None,
                allowed_ips,
                keepalive: None,
                preshared: None,
            };
            endpoint.add_peer(Time::ZERO, &peer).expect("a new peer");
            let mut peers = Peers::new(private(n), SecureConfig::default(), stream(&format!("peer/{n}")));
            let id = peers.add(private(0).public(), Some(address(9))).expect("a new peer");
            peers.connect(Time::ZERO, id);
            Peer { peers, address: address(n), epoch: None, number: 0 }
        });
        let mut world = World { endpoint, peers, now: Time::ZERO, accepted: BTreeSet::new() };
        world.drain();
        world
    }

    fn take(&mut self, event: u8, bytes: &[u8]) {
        let now = self.now;
        let first = bytes.first().copied().unwrap_or(0);
        let n = usize::from(event >> 7);
        match event % 16 {
            // The inside sends packets to a peer.
            8 | 9 => {
                for _ in 0..1 + first % 16 {
                    let len = 28 + usize::from(bytes.get(1).copied().unwrap_or(first)) * 6;
                    let mut packet = vec![0; len];
                    (packet[0], packet[6], packet[9], packet[15], packet[19]) = (0x45, 0x40, 17, 7, 1 + n as u8);
                    (packet[12], packet[16]) = (10, 10);
                    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
                    self.endpoint.handle_inner(now, &packet);
                }
            }
            // A stranger's datagram.
            10 => self.endpoint.handle_datagram(
                now,
                address(200),
                &mut bytes.to_vec(),
                Reception { ce: first % 2 == 0, ..Reception::default() },
            ),
            // Time passes. The clock may also jump beyond the life of the keys.
            11 => {
                let (small, large) = (4 * u64::from(first), 20_000 * u64::from(first % 16));
                self.now += Duration::from_millis(if first < 0xf0 { small } else { large });
            }
            12 => {
                let id = PeerId::from_index(0);
                self.peers[n].peers.connect(now, id);
            }
            _ => {
                let Some(kind) = kind_of(event) else { return };
                let peer = &mut self.peers[n];
                // With the bit 0x40, the number jumps.
                peer.number += 1 + u64::from(event >> 6 & 1) * u64::from(first);
                let Some(epoch) = peer.epoch else { return };
                let mut datagram = vec![0; HEADER_LEN + bytes.len() + TAG_LEN];
                datagram[HEADER_LEN..][..bytes.len()].copy_from_slice(bytes);
                let id = PeerId::from_index(0);
                if peer.peers.seal(now, id, epoch, peer.number, kind, &mut datagram).is_ok() {
                    // With the bit 0x20, the peer sends from another port, where nobody answers a challenge.
                    let from = SocketAddr::new(peer.address.ip(), peer.address.port() + u16::from(event >> 5 & 1));
                    let refused = |endpoint: &Endpoint| {
                        let counters = endpoint.counters();
                        counters.body_malformed + counters.over_work + counters.unasked_reports
                    };
                    let before = refused(&self.endpoint);
                    self.endpoint.handle_datagram(
                        now,
                        from,
                        &mut datagram,
                        Reception { ce: first % 16 == 0, waited: Duration::from_millis(u64::from(first) % 8) },
                    );
                    if refused(&self.endpoint) == before {
                        self.accepted.insert(kind.byte());
                    }
                }
            }
        }
        self.endpoint.handle_timeout(now);
    }

    /// Takes all outputs, and passes handshakes on.
    fn drain(&mut self) {
        let mut buffer = [0; 2000];
        for _ in 0..ENDLESS {
            let mut moved = false;
            while let Some(out) = self.endpoint.poll_transmit(self.now, &mut buffer) {
                moved = true;
                let Some(peer) = self.peers.iter_mut().find(|peer| peer.address == out.to) else { continue };
                peer.peers.handle_datagram(self.now, address(9), &mut buffer[..out.len]);
            }
            for peer in &mut self.peers {
                while let Some(out) = peer.peers.poll_transmit() {
                    moved = true;
                    let mut contents = out.contents.to_vec();
                    self.endpoint.handle_datagram(self.now, peer.address, &mut contents, Reception::default());
                }
                while let Some(event) = peer.peers.poll_event() {
                    let SecureEvent::Established { epoch, .. } = event else { continue };
                    (peer.epoch, moved) = (Some(epoch), true);
                    peer.number += 1;
                    let mut datagram = vec![0; HEADER_LEN + TAG_LEN];
                    let id = PeerId::from_index(0);
                    if peer.peers.seal(self.now, id, epoch, peer.number, Kind::Probe, &mut datagram).is_ok() {
                        self.endpoint.handle_datagram(self.now, peer.address, &mut datagram, Reception::default());
                    }
                }
            }
            while let Some((from, delivered)) = self.endpoint.poll_deliver() {
                let inner = Inner::parse(inner_packet(&delivered)).expect("an inner packet");
                let from = format!("10.0.0.{}", 1 + from.index());
                assert_eq!(inner.source.to_string(), from);
            }
            while self.endpoint.poll_event().is_some() {}
            if !moved {
                return;
            }
        }
        panic!("endless output");
    }

    /// The work of both sessions, and the symbols that they have recovered.
    fn work(&self) -> (u64, u64) {
        let statuses = self.endpoint.peers().filter_map(|peer| self.endpoint.peer_status(peer));
        statuses.fold((0, 0), |(work, recovered), status| {
            (work + status.work, recovered + status.tunnel.map_or(0, |tunnel| tunnel.received.recovered))
        })
    }

    fn check(&self, before: (u64, u64)) {
        // A new session counts from zero.
        let (work, recovered) = self.work();
        let (work, recovered) = (work.saturating_sub(before.0), recovered.saturating_sub(before.1));
        // As in the body of the target `tunnel`.
        let most = 16 * MATRIX as u64 + (recovered + 1) * 4 * u64::from(WINDOW) * 1500 + 1_000_000;
        assert!(work <= most, "work {work}, at most {most}");
        let held = self.endpoint.memory();
        assert!(held <= MEMORY + PACKET, "{held} bytes");
        assert!(self.endpoint.poll_timeout().is_none_or(|due| due < Time::NEVER));
    }
}
