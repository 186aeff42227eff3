//! Ends and a network between them in virtual time. A run depends only on its seed.

pub(crate) use crate::network::{Flying, InFlight, ms, private, secs};
use ripstop_base::{Seed, Stream, Time};
use ripstop_proto::secure::*;
use ripstop_proto::wire::{HEADER_LEN, Kind, SymbolKind, TAG_LEN};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// The first peer that an end adds.
pub(crate) const FIRST: PeerId = PeerId::from_index(0);

/// The losses, repetitions and delays of the network.
#[derive(Clone, Debug)]
pub(crate) struct Weather {
    pub(crate) loss: f64,
    pub(crate) duplicate: f64,
    pub(crate) corrupt: f64,
    /// The bounds of the one-way delay, which is uniformly distributed. If the bounds differ,
    /// datagrams are reordered.
    pub(crate) delay: (Duration, Duration),
}

impl Weather {
    pub(crate) fn calm() -> Weather {
        let ms = Duration::from_millis;
        Weather { loss: 0.0, duplicate: 0.0, corrupt: 0.0, delay: (ms(20), ms(20)) }
    }
}

/// One end, and the datagram numbers that its session would keep.
pub(crate) struct End {
    pub(crate) peers: Peers,
    pub(crate) address: SocketAddr,
    /// How far this end's clock is ahead of the world's.
    pub(crate) clock_ahead: Duration,
    /// The next datagram number for each peer and epoch.
    next: BTreeMap<(PeerId, u64), u64>,
    /// The last epoch with each peer.
    epochs: BTreeMap<PeerId, u64>,
    /// The (epoch, number) of each decrypted datagram, by peer.
    pub(crate) opened: BTreeSet<(PeerId, u64, u64)>,
    pub(crate) bodies: Vec<Vec<u8>>,
    pub(crate) events: Vec<SecureEvent>,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) ends: Vec<End>,
    pub(crate) weather: Weather,
    pub(crate) rng: Stream,
    in_flight: InFlight,
    /// All datagrams sent since the test began to record them. None if the test does not record.
    pub(crate) record: Option<Vec<Flying>>,
    /// The sealed bodies, and how many times each was decrypted.
    pub(crate) bodies: BTreeMap<Vec<u8>, u32>,
}

pub(crate) fn address(n: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, (n >> 8) as u8, n as u8], 4000 + n))
}

impl World {
    /// Two ends that know each other's keys and addresses.
    pub(crate) fn pair(seed: Seed, config: &SecureConfig, weather: Weather) -> World {
        let mut world = World {
            now: Time::ZERO,
            ends: Vec::new(),
            weather,
            rng: seed.stream("world"),
            in_flight: InFlight::default(),
            record: None,
            bodies: BTreeMap::new(),
        };
        for n in 0..2 {
            let end = End::new(seed, n, config, 0);
            world.ends.push(end);
        }
        world
    }

    /// Runs the world for `span`. At intervals of `every`, each end seals a datagram for its first
    /// peer.
    pub(crate) fn run(&mut self, span: Duration, every: Option<Duration>) {
        let end = self.now + span;
        let mut traffic = every.map(|every| (self.now, every));
        self.drain_all();
        loop {
            let arrival = self.in_flight.next();
            let timeouts = self.ends.iter().filter_map(End::timeout);
            let due = traffic.map(|(at, _)| at);
            let next = timeouts.chain(arrival).chain(due).min().unwrap_or(Time::NEVER);
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            if let Some((at, every)) = traffic
                && at <= self.now
            {
                traffic = Some((at + every, every));
                (0..self.ends.len()).for_each(|n| {
                    // Without a session a datagram is not sealed, and a handshake starts.
                    let _ = self.seal(n, FIRST, None);
                });
            } else if arrival.is_some_and(|at| at <= self.now) {
                if let Some(flying) = self.in_flight.take() {
                    self.arrive(flying);
                }
            } else {
                for end in &mut self.ends {
                    let now = self.now + end.clock_ahead;
                    end.peers.handle_timeout(now);
                }
            }
            self.drain_all();
        }
    }

    /// Seals one datagram from end `n`, with a body that is never used again, and sends it.
    pub(crate) fn seal(&mut self, n: usize, peer: PeerId, kind: Option<Kind>) -> Result<u64, SealError> {
        let end = &mut self.ends[n];
        let now = self.now + end.clock_ahead;
        let last = end.epochs.get(&peer).copied().unwrap_or(0);
        let epoch = end.peers.epoch(now, peer).unwrap_or(last);
        end.epochs.insert(peer, epoch);
        let number = end.next.entry((peer, epoch)).or_insert(0);
        let mut body = vec![0; 16 + self.rng.below(64) as usize];
        self.rng.fill(&mut body);
        let mut datagram = vec![0; HEADER_LEN];
        datagram.extend_from_slice(&body);
        datagram.extend_from_slice(&[0; TAG_LEN]);
        let to = end.peers.seal(
            now,
            peer,
            epoch,
            *number,
            kind.unwrap_or(Kind::Source(SymbolKind::Packet)),
            &mut datagram,
        )?;
        let to = to.expect("the peer's address is proven");
        *number += 1;
        let number = *number - 1;
        let from = end.address;
        self.bodies.insert(body, 0);
        self.send(Flying { from, to, bytes: datagram });
        Ok(number)
    }

    /// Seals a challenge or an answer from end `n` and sends it.
    fn seal_token(&mut self, n: usize, peer: PeerId, kind: Kind, token: u64) {
        let end = &mut self.ends[n];
        let now = self.now + end.clock_ahead;
        let Some(epoch) = end.peers.epoch(now, peer) else { return };
        let number = end.next.entry((peer, epoch)).or_insert(0);
        let mut datagram = vec![0; HEADER_LEN];
        datagram.extend_from_slice(&token.to_be_bytes());
        datagram.extend_from_slice(&[0; TAG_LEN]);
        let to = end.peers.seal(now, peer, epoch, *number, kind, &mut datagram).unwrap();
        *number += 1;
        let to = end.peers.challenged_address(peer, token).filter(|_| kind == Kind::Challenge).or(to);
        let from = end.address;
        if let Some(to) = to {
            self.send(Flying { from, to, bytes: datagram });
        }
    }

    /// Puts a datagram on the network.
    pub(crate) fn send(&mut self, flying: Flying) {
        if let Some(record) = &mut self.record {
            record.push(flying.clone());
        }
        let copies = 1 + u32::from(self.rng.chance(self.weather.duplicate));
        for _ in 0..copies {
            let (lost, corrupted) = (self.rng.chance(self.weather.loss), self.rng.chance(self.weather.corrupt));
            let (shortest, longest) = self.weather.delay;
            let delay = shortest + (longest - shortest).mul_f64(self.rng.unit());
            let mut flying = flying.clone();
            if corrupted {
                let at = self.rng.below(flying.bytes.len() as u64) as usize;
                flying.bytes[at] ^= 1 << self.rng.below(8);
            }
            if !lost {
                self.in_flight.add(self.now + delay, flying);
            }
        }
    }

    /// Hands a datagram to the end with its destination address.
    pub(crate) fn arrive(&mut self, mut flying: Flying) -> Option<Incoming> {
        let n = self.ends.iter().position(|end| end.address == flying.to)?;
        let end = &mut self.ends[n];
        let now = self.now + end.clock_ahead;
        let incoming = end.peers.handle_datagram(now, flying.from, &mut flying.bytes);
        if let Incoming::Transport { peer, epoch, number, body, kind } = &incoming {
            assert!(end.opened.insert((*peer, *epoch, *number)), "number {number} was opened twice");
            if let (Kind::Challenge | Kind::Answer, Ok(token)) = (kind, flying.bytes[body.clone()].try_into()) {
                let token = u64::from_be_bytes(token);
                match kind {
                    Kind::Challenge => self.seal_token(n, *peer, Kind::Answer, token),
                    _ => end.peers.handle_answer(*peer, token),
                }
                return Some(incoming);
            }
            let body = flying.bytes[body.clone()].to_vec();
            let count = self.bodies.get_mut(&body).expect("a body that nobody sealed was opened");
            *count += 1;
            assert_eq!(*count, 1, "a body was opened twice");
            end.bodies.push(body);
        }
        Some(incoming)
    }

    /// Takes all outputs of all ends.
    pub(crate) fn drain_all(&mut self) {
        for n in 0..self.ends.len() {
            while let Some(transmit) = self.ends[n].peers.poll_transmit() {
                let from = self.ends[n].address;
                self.send(Flying { from, to: transmit.to, bytes: transmit.contents });
            }
            while let Some(event) = self.ends[n].peers.poll_event() {
                self.ends[n].events.push(event);
                match event {
                    SecureEvent::Established { peer, initiator: true, .. } => {
                        self.seal(n, peer, Some(Kind::Probe)).expect("a session that was just established");
                    }
                    SecureEvent::ChallengeDue { peer, token } => self.seal_token(n, peer, Kind::Challenge, token),
                    _ => {}
                }
            }
        }
    }

    /// Starts a handshake from end `n` to its first peer.
    pub(crate) fn connect(&mut self, n: usize) {
        let now = self.now + self.ends[n].clock_ahead;
        assert!(self.ends[n].peers.connect(now, FIRST));
        self.drain_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.ends.iter().all(|end| end.peers.epoch(self.now + end.clock_ahead, FIRST).is_some())
    }

    /// Delivers all datagrams in flight and forgets all sealed bodies.
    pub(crate) fn settle(&mut self) {
        self.run(Duration::from_secs(1), None);
        self.bodies.clear();
    }

    /// How many sealed bodies were never decrypted.
    pub(crate) fn unopened(&self) -> usize {
        self.bodies.values().filter(|count| **count == 0).count()
    }

    /// Restarts end `n` with the same key and no other state.
    pub(crate) fn restart(&mut self, seed: Seed, n: usize, config: &SecureConfig, life: u64) {
        let address = self.ends[n].address;
        self.ends[n] = End::new(seed, n, config, life);
        self.ends[n].address = address;
    }
}

impl End {
    /// End `n` of two after `life` restarts. The other end is its first peer.
    pub(crate) fn new(seed: Seed, n: usize, config: &SecureConfig, life: u64) -> End {
        let entropy = seed.stream(&format!("entropy/{n}/{life}"));
        let mut peers = Peers::new(private(seed, n), config.clone(), Box::new(entropy));
        let other = private(seed, 1 - n).public();
        assert_eq!(peers.add(other, Some(address(1 - n as u16))), Some(FIRST));
        End {
            peers,
            address: address(n as u16),
            // The two clocks are independent.
            clock_ahead: Duration::from_secs(86_400 * n as u64),
            next: BTreeMap::new(),
            epochs: BTreeMap::new(),
            opened: BTreeSet::new(),
            bodies: Vec::new(),
            events: Vec::new(),
        }
    }

    fn timeout(&self) -> Option<Time> {
        self.peers.poll_timeout().map(|at| at - self.clock_ahead)
    }

    pub(crate) fn rejected(&self, name: &str) -> u64 {
        let at = Rejected::NAMES.iter().position(|n| *n == name).expect("a reason");
        self.peers.counters().datagrams.rejected[at]
    }
}
