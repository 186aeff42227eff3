//! A hostile peer of one end, and an intruder without a configured key. Both send from outside the world.
//!
//! The hostile peer has a key, so its datagrams authenticate. It sends what an honest peer never sends: symbols far
//! ahead, windows and numbers that jump, repairs of enormous spans, repairs that depend on each other, packets that
//! wait for ever, reports of datagrams that were never sent, challenges, closes, bodies of random bytes, and datagrams
//! from changing addresses. It also begins handshake after handshake, and announces a tiny MTU.

use super::scenario::{HostileWorld, Side};
use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::Symbol;
use ripstop_codes::window::{Coding, Members};
use ripstop_proto::endpoint::PeerConfig;
use ripstop_proto::packets::Gap;
use ripstop_proto::secure::{PeerId, Peers, PrivateKey, SecureConfig, SecureEvent};
use ripstop_proto::wire::{
    Feedback, HEADER_LEN, Kind, Packet, PathReport, SymbolKind, SymbolReport, TAG_LEN, Window, emit_body,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The time between two steps of the attacker. Half the value attacks more evenly and takes longer. Double the value
/// makes larger bursts.
pub(crate) const STEP: Duration = Duration::from_millis(10);
/// The time for which the attacker attacks in one way. Half the value changes more often. Double the value leaves some
/// ways out in short sessions.
const WAY_TIME: Duration = Duration::from_millis(500);
/// How often the attacker and the intruder begin a handshake, in steps. Each handshake costs the victim about 200 us of
/// CPU. Half the value makes sessions slow to simulate. Double the value attacks handshakes less.
const HANDSHAKE_STEPS: u64 = 50;

/// The inner address of the hostile peer.
const INSIDE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// The only peer that the attacker and the intruder know.
const VICTIM: PeerId = PeerId::from_index(0);

/// The settings of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttackPlan {
    /// The end that is attacked.
    pub(crate) victim: Side,
    /// Datagrams in each step of the attacker.
    pub(crate) per_step: u32,
    /// The largest number of bytes that the victim's sessions may hold.
    pub(crate) memory: usize,
}

/// A way to attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    SourcesAhead,
    Windows,
    Numbers,
    WideRepairs,
    Chains,
    Waiting,
    Reports,
    Challenges,
    Closes,
    Garbage,
    Addresses,
}

const WAYS: [Way; 11] = [
    Way::SourcesAhead,
    Way::Windows,
    Way::Numbers,
    Way::WideRepairs,
    Way::Chains,
    Way::Waiting,
    Way::Reports,
    Way::Challenges,
    Way::Closes,
    Way::Garbage,
    Way::Addresses,
];

/// A hostile peer, and an intruder.
pub(crate) struct Attacker {
    plan: AttackPlan,
    peers: Peers,
    intruder: Peers,
    random: Stream,
    epoch: Option<u64>,
    /// The next datagram number.
    number: u64,
    /// The next symbol.
    id: u64,
    way: Way,
    /// When the attacker changes its way.
    change: Time,
    steps: u64,
    /// Datagrams sent under a key.
    pub(crate) sent: u64,
    /// Whether the intruder got keys.
    pub(crate) let_in: bool,
}

/// The address of the hostile peer (1) or of the intruder (2).
fn address(n: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([198, 51, 100, n], port))
}

impl Attacker {
    /// Adds the hostile peer to its victim.
    pub(crate) fn new(plan: AttackPlan, world: &mut HostileWorld, seed: Seed) -> Attacker {
        let mut random = seed.stream("attacker");
        let private = [(); 2].map(|()| PrivateKey::generate(&mut random));
        let victim = plan.victim as usize;
        let peer = PeerConfig {
            public: private[0].public(),
            preshared: None,
            endpoint: None,
            allowed_ips: vec![format!("{INSIDE}/32").parse().expect("a prefix")],
            keepalive: None,
        };
        world.world.add_outside_peer(victim, peer).expect("a new peer");
        let key = world.world.public_key(victim);
        // Half of the attackers say that they accept only tiny packets.
        let inner_mtu = if random.chance(0.5) { 100 } else { 1436 };
        let [peers, intruder] = private.map(|private| {
            let config = SecureConfig { inner_mtu, ..SecureConfig::default() };
            let mut peers = Peers::new(private, config, Box::new(seed.stream("attacker/keys")));
            peers.add(key, Some(address(0, 0))).expect("the only peer");
            peers
        });
        Attacker {
            plan,
            peers,
            intruder,
            random,
            epoch: None,
            number: 0,
            id: 0,
            way: Way::SourcesAhead,
            change: Time::ZERO,
            steps: 0,
            sent: 0,
            let_in: false,
        }
    }

    /// Takes what the victim has sent, and attacks.
    pub(crate) fn act(&mut self, world: &mut HostileWorld) {
        let now = world.world.now();
        let victim = self.plan.victim as usize;
        if self.steps.is_multiple_of(HANDSHAKE_STEPS) {
            self.peers.connect(now, VICTIM);
            self.intruder.connect(now, VICTIM);
        }
        self.steps += 1;
        self.peers.handle_timeout(now);
        self.intruder.handle_timeout(now);
        self.exchange(world, now);
        if now >= self.change {
            self.way = WAYS[self.random.below(WAYS.len() as u64) as usize];
            self.change = now + WAY_TIME;
        }
        for _ in 0..self.plan.per_step {
            let Some(datagram) = self.datagram(now) else { break };
            let port = if self.way == Way::Addresses { 1 + self.random.below(5000) as u16 } else { 1 };
            world.world.inject(victim, address(1, port), datagram);
            self.sent += 1;
        }
        self.exchange(world, now);
    }

    /// Exchanges handshakes with the victim.
    fn exchange(&mut self, world: &mut HostileWorld, now: Time) {
        let victim = self.plan.victim as usize;
        let from = address(0, 0);
        while let Some((to, mut bytes)) = world.world.take_outside(victim) {
            if to.ip() == address(1, 0).ip() {
                self.peers.handle_datagram(now, from, &mut bytes);
            } else if to.ip() == address(2, 0).ip() {
                self.intruder.handle_datagram(now, from, &mut bytes);
            }
        }
        while let Some(out) = self.peers.poll_transmit() {
            world.world.inject(victim, address(1, 1), out.contents);
        }
        while let Some(out) = self.intruder.poll_transmit() {
            world.world.inject(victim, address(2, 1), out.contents);
        }
        while let Some(event) = self.peers.poll_event() {
            if let SecureEvent::Established { epoch, .. } = event {
                if self.epoch != Some(epoch) {
                    (self.epoch, self.number, self.id) = (Some(epoch), 0, 0);
                }
                if let Some(probe) = self.seal(now, &Packet::Probe { padding: 0 }) {
                    world.world.inject(victim, address(1, 1), probe);
                }
            }
        }
        while let Some(event) = self.intruder.poll_event() {
            self.let_in |= matches!(event, SecureEvent::Established { .. });
        }
    }

    /// The next datagram of the attack. None without a key.
    fn datagram(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.way == Way::Garbage {
            let mut body = vec![0; self.random.below(300) as usize];
            self.random.fill(&mut body);
            let kind = Kind::from_byte(0x10 + self.random.below(9) as u8).ok()?;
            return self.seal_body(now, kind, &body);
        }
        let packet = self.packet();
        self.seal(now, &packet)
    }

    fn packet(&mut self) -> Packet<Symbol> {
        let long = Duration::from_secs(60);
        let source = |id, len: usize| {
            let mut packet = vec![0; len];
            (packet[0], packet[8], packet[9]) = (0x45, 64, 17);
            packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            packet[12..16].copy_from_slice(&INSIDE.octets());
            let payload = Symbol::from_parts(&[&[Gap::ADJACENT.nibble()], &packet]);
            Packet::Source { id, kind: SymbolKind::Packet, payload }
        };
        let seed = self.random.below(1 << 16) as u16;
        let repair = |members| {
            let payload = Symbol::from_slice(&[7; 1400]);
            Packet::Repair { members, coding: Coding::Seed(seed), payload }
        };
        match self.way {
            Way::SourcesAhead => {
                self.id += 65_535;
                source(self.id, 32)
            }
            Way::Windows => {
                self.id += 65_500;
                Packet::Window(Window { base: self.id, reach: 1 << 16, report_every: long, deadline: long })
            }
            Way::Numbers => {
                self.number += 1 << 14;
                Packet::Probe { padding: 0 }
            }
            Way::WideRepairs => repair(Members::range(self.id..self.id + 1 + self.random.below(19_000))),
            Way::Chains => {
                self.id += 1;
                repair(Members::range(self.id..self.id + 2))
            }
            Way::Waiting | Way::Addresses => {
                self.id += 1;
                source(self.id, 1400)
            }
            Way::Reports => {
                let bits = self.random.below(20);
                let largest = self.random.below(1 << bits);
                let from = largest.saturating_sub(self.random.below(2000));
                Packet::Feedback(Box::new(Feedback {
                    path: Some(PathReport {
                        largest,
                        largest_at_us: self.random.below(1 << 40),
                        received: largest,
                        acked: std::iter::once(from..largest + 1).collect(),
                        acked_from: from,
                        ce: self.random.below(1 << 20),
                        ..PathReport::default()
                    }),
                    symbols: Some(SymbolReport { end: self.random.below(1 << 20), ..SymbolReport::default() }),
                }))
            }
            Way::Challenges => Packet::Challenge { token: self.random.below(u64::MAX) },
            Way::Closes => Packet::Close,
            Way::Garbage => Packet::Probe { padding: 0 },
        }
    }

    /// A sealed datagram with `packet`. None without a key, or if the wire cannot carry the packet.
    fn seal(&mut self, now: Time, packet: &Packet<Symbol>) -> Option<Vec<u8>> {
        let mut body = vec![0; 2048];
        let len = emit_body(packet, &mut body).ok()?;
        self.seal_body(now, Kind::of(packet), &body[..len])
    }

    fn seal_body(&mut self, now: Time, kind: Kind, body: &[u8]) -> Option<Vec<u8>> {
        let epoch = self.epoch?;
        let mut datagram = vec![0; HEADER_LEN + body.len() + TAG_LEN];
        datagram[HEADER_LEN..][..body.len()].copy_from_slice(body);
        let number = self.number;
        self.number += 1;
        self.peers.seal(now, VICTIM, epoch, number, kind, &mut datagram).ok()?;
        Some(datagram)
    }
}
