//! A server with two peers in virtual time: an honest peer that sends through the tunnel, and an
//! attacker whose datagrams are authentic. A run depends only on its seed.
//!
//! The server's processor is part of the world. A datagram takes a fixed time, and time in
//! proportion to the work that the server counts for it ([`ripstop_proto::session::tunnel::Tunnel::work`]).
//! While the processor is busy, datagrams wait in the socket's buffer. What does not fit is lost.

use ripstop_base::{Rate, Seed, Stream, Time};
use ripstop_codes::Symbol;
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, EndpointCounters, PeerConfig, PeerStatus, inner_packet};
use ripstop_proto::secure::{Incoming, PeerId, Peers, PrivateKey, SecureConfig, SecureCounters, SecureEvent};
use ripstop_proto::session::Reception;
use ripstop_proto::session::tunnel::TunnelConfig;
use ripstop_proto::wire::{HEADER_LEN, Kind, Packet, TAG_LEN, emit_body};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The delay of each path.
const DELAY: Duration = Duration::from_millis(10);
/// The rate at which the honest peer's user sends, bit/s.
const OFFERED: u64 = 20_000_000;
/// The length of the honest peer's inner packets, bytes.
const INNER: usize = 1400;
/// The time that the processor takes for a datagram without further work.
const DATAGRAM: Duration = Duration::from_micros(4);
/// The work that the processor does in a second: a slow core.
const CORE: f64 = 10e9;
/// The bytes that fit into the socket's buffer.
const SOCKET: usize = 4_000_000;

pub(crate) const HONEST: PeerId = PeerId::from_index(0);
pub(crate) const ATTACKER: PeerId = PeerId::from_index(1);

/// What the attacker sends next.
pub(crate) type Attack = Box<dyn FnMut(&mut Known) -> Packet<Symbol>>;

/// What the attacker knows of the present session.
#[derive(Default)]
pub(crate) struct Known {
    /// The datagram numbers that have arrived.
    pub(crate) arrived: BTreeSet<u64>,
}

/// What a run shows.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Bytes of the honest peer's inner packets that the server delivered.
    pub(crate) goodput: u64,
    /// How long nine of ten of these packets were on the way at most.
    pub(crate) delay: Duration,
    /// The largest number of packets in the server's send queue to the attacker.
    pub(crate) queued: usize,
    /// The largest memory of all sessions at the server, and of the attacker's, bytes.
    pub(crate) memory: (usize, usize),
    pub(crate) attacker: PeerStatus,
    pub(crate) honest: PeerStatus,
    /// What the honest peer knows of the server.
    pub(crate) sender: PeerStatus,
    pub(crate) server: EndpointCounters,
    pub(crate) secure: SecureCounters,
}

enum Event {
    /// A datagram reaches the server.
    AtServer(SocketAddr, Vec<u8>),
    AtHonest(Vec<u8>),
    AtAttacker(Vec<u8>),
    /// The honest peer's user sends a packet.
    Offer,
    /// The attacker sends a datagram.
    Attack,
    /// The attacker begins a session.
    Begin,
    /// The server's user sends a packet to the attacker.
    Feed,
    /// An end or the processor must be looked at.
    Wake,
}

struct World {
    now: Time,
    events: BTreeMap<(Time, u64), Event>,
    serial: u64,
    random: Stream,
    server: Endpoint,
    honest: Endpoint,
    attacker: Attacker,
    /// Datagrams in the server's socket buffer.
    socket: VecDeque<(SocketAddr, Vec<u8>)>,
    socket_bytes: usize,
    busy_until: Time,
    delivered: u64,
    delays: Vec<Duration>,
    queued: usize,
    memory: (usize, usize),
    /// The share of the honest peer's datagrams that begin a run of losses, the length of a run, and how many more are
    /// lost now.
    loss: (f64, u32, u32),
}

struct Attacker {
    peers: Peers,
    epoch: Option<u64>,
    number: u64,
    /// Distance between the numbers of two datagrams.
    step: u64,
    attack: Option<Attack>,
    known: Known,
}

pub(crate) fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, n], 5182))
}

pub(crate) fn inside(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

pub(crate) fn private(seed: Seed, n: u8) -> PrivateKey {
    PrivateKey::generate(&mut seed.stream(&format!("key/{n}")))
}

/// A UDP packet of `len` bytes.
pub(crate) fn udp(from: Ipv4Addr, to: Ipv4Addr, len: usize) -> Vec<u8> {
    let mut packet = vec![0; len];
    (packet[0], packet[8], packet[9]) = (0x45, 64, 17);
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    packet[12..16].copy_from_slice(&from.octets());
    packet[16..20].copy_from_slice(&to.octets());
    packet
}

/// The settings of a run.
pub(crate) struct Setting {
    /// The settings of the server.
    pub(crate) config: EndpointConfig,
    /// Datagrams that the attacker sends per second.
    pub(crate) rate: u64,
    /// Distance between the numbers of two of these datagrams.
    pub(crate) step: u64,
    /// Sessions that the attacker begins per second, beside its datagrams.
    pub(crate) sessions: u64,
    /// Packets per second that the server's user sends to the attacker, and their length.
    pub(crate) fed: (u64, usize),
    /// The share of the honest peer's datagrams that is lost, in runs of this length.
    pub(crate) loss: (f64, u32),
    pub(crate) time: Duration,
}

impl Default for Setting {
    fn default() -> Setting {
        let (config, time) = (EndpointConfig::default(), Duration::from_secs(3));
        Setting { config, rate: 10_000, step: 1, sessions: 0, fed: (0, INNER), loss: (0.02, 1), time }
    }
}

/// Runs the world. Without an attack, the attacker only completes its handshake.
pub(crate) fn run(seed: u64, setting: &Setting, attack: Option<Attack>) -> Outcome {
    let seed = Seed::new(seed);
    let end = |n: u8, config: &EndpointConfig| {
        let stream = |name: &str| Box::new(seed.stream(&format!("{name}/{n}")));
        Endpoint::new(private(seed, n), config.clone(), stream("endpoint"), stream("secure"))
    };
    let peer = |n: u8| PeerConfig {
        public: private(seed, n).public(),
        endpoint: Some(address(n)),
        allowed_ips: vec![format!("{}/32", inside(n)).parse().unwrap()],
        keepalive: None,
        preshared: None,
    };
    let mut server = end(1, &setting.config);
    let rate = RateMode::Fixed(Rate::from_bps(2 * OFFERED));
    let tunnel = TunnelConfig { rate, ..TunnelConfig::default() };
    let mut honest = end(2, &EndpointConfig { tunnel, ..EndpointConfig::default() });
    // The attacker does not limit its own handshakes.
    let unlimited = SecureConfig { handshakes_per_peer: 1_000, handshakes_saved: 1_000, ..SecureConfig::default() };
    let mut peers = Peers::new(private(seed, 3), unlimited, Box::new(seed.stream("attacker")));
    let id = peers.add(private(seed, 1).public(), Some(address(1))).unwrap();
    peers.connect(Time::ZERO, id);
    honest.add_peer(Time::ZERO, &peer(1)).unwrap();
    assert_eq!(server.add_peer(Time::ZERO, &PeerConfig { endpoint: None, ..peer(2) }).unwrap(), HONEST);
    assert_eq!(server.add_peer(Time::ZERO, &PeerConfig { endpoint: None, ..peer(3) }).unwrap(), ATTACKER);
    let mut world = World {
        now: Time::ZERO,
        events: BTreeMap::new(),
        serial: 0,
        random: seed.stream("world"),
        server,
        honest,
        attacker: Attacker { peers, epoch: None, number: 0, step: setting.step, attack, known: Known::default() },
        socket: VecDeque::new(),
        socket_bytes: 0,
        busy_until: Time::ZERO,
        delivered: 0,
        delays: Vec::new(),
        queued: 0,
        memory: (0, 0),
        loss: (setting.loss.0 / f64::from(setting.loss.1), setting.loss.1, 0),
    };
    world.at(Duration::ZERO, Event::Offer);
    world.at(Duration::from_millis(500), Event::Attack);
    if setting.fed.0 > 0 {
        world.at(Duration::from_millis(100), Event::Feed);
    }
    if setting.sessions > 0 {
        world.at(Duration::from_millis(500), Event::Begin);
    }
    world.attacker_sends();
    world.drain_honest();
    let finish = Time::ZERO + setting.time;
    while let Some(((at, _), event)) = world.events.pop_first() {
        if at > finish {
            break;
        }
        world.now = at;
        world.take(event, setting);
    }
    world.delays.sort_unstable();
    Outcome {
        goodput: world.delivered,
        delay: world.delays[world.delays.len() * 9 / 10],
        queued: world.queued,
        memory: world.memory,
        attacker: world.server.peer_status(ATTACKER).unwrap(),
        honest: world.server.peer_status(HONEST).unwrap(),
        sender: world.honest.peer_status(PeerId::from_index(0)).unwrap(),
        server: world.server.counters(),
        secure: world.server.secure_counters().clone(),
    }
}

impl World {
    fn at(&mut self, delay: Duration, event: Event) {
        self.serial += 1;
        self.events.insert((self.now + delay, self.serial), event);
    }

    fn take(&mut self, event: Event, setting: &Setting) {
        let every = |rate: u64| Duration::from_nanos(1_000_000_000 / rate);
        match event {
            Event::Offer => {
                // The packet says when it left.
                let mut packet = udp(inside(2), inside(1), INNER);
                packet[28..36].copy_from_slice(&self.now.as_nanos().to_be_bytes());
                self.honest.handle_inner(self.now, &packet);
                self.at(every(OFFERED / 8 / INNER as u64), Event::Offer);
                self.drain_honest();
            }
            Event::Feed => {
                self.server.handle_inner(self.now, &udp(inside(1), inside(3), setting.fed.1));
                self.queued = self.queued.max(self.server.backlog_packets(ATTACKER).unwrap_or(0));
                self.at(every(setting.fed.0), Event::Feed);
                self.drain_server();
            }
            Event::Begin => {
                let id = PeerId::from_index(0);
                self.attacker.peers.forget(id);
                self.attacker.peers.connect(self.now, id);
                self.attacker_sends();
                self.at(every(setting.sessions), Event::Begin);
            }
            Event::Attack => {
                self.attack();
                self.at(every(setting.rate), Event::Attack);
            }
            Event::AtServer(from, datagram) => {
                if self.socket_bytes + datagram.len() <= SOCKET {
                    self.socket_bytes += datagram.len();
                    self.socket.push_back((from, datagram));
                }
                self.serve();
            }
            Event::AtHonest(mut datagram) => {
                self.honest.handle_datagram(self.now, address(1), &mut datagram, Reception::default());
                self.drain_honest();
            }
            Event::AtAttacker(mut datagram) => {
                let incoming = self.attacker.peers.handle_datagram(self.now, address(1), &mut datagram);
                if let Incoming::Transport { number, .. } = incoming {
                    self.attacker.known.arrived.insert(number);
                }
                self.attacker_sends();
            }
            Event::Wake => {
                self.serve();
                let now = self.now;
                if self.honest.poll_timeout().is_some_and(|at| at <= now) {
                    self.honest.handle_timeout(now);
                    self.drain_honest();
                }
            }
        }
    }

    /// The processor takes what is due, while it is not busy.
    fn serve(&mut self) {
        let now = self.now;
        if now < self.busy_until {
            return;
        }
        if self.server.poll_timeout().is_some_and(|at| at <= now) {
            self.server.handle_timeout(now);
        }
        if let Some((from, mut datagram)) = self.socket.pop_front() {
            self.socket_bytes -= datagram.len();
            let before = self.work();
            self.server.handle_datagram(now, from, &mut datagram, Reception::default());
            let work = self.work().saturating_sub(before) as f64 / CORE;
            self.busy_until = now + DATAGRAM + Duration::from_secs_f64(work);
            self.at(self.busy_until.since(now), Event::Wake);
            let attacker = self.server.peer_status(ATTACKER).map_or(0, |status| status.memory);
            self.memory = (self.memory.0.max(self.server.memory()), self.memory.1.max(attacker));
        }
        self.drain_server();
    }

    fn work(&self) -> u64 {
        [HONEST, ATTACKER].iter().filter_map(|peer| self.server.peer_status(*peer)).map(|status| status.work).sum()
    }

    fn drain_server(&mut self) {
        let mut buffer = [0; 2048];
        while let Some(out) = self.server.poll_transmit(self.now, &mut buffer) {
            let datagram = buffer[..out.len].to_vec();
            let arrival = if out.to == address(2) { Event::AtHonest(datagram) } else { Event::AtAttacker(datagram) };
            self.at(DELAY, arrival);
        }
        while let Some((peer, delivered)) = self.server.poll_deliver() {
            if peer == HONEST {
                self.delivered += u64::from(delivered.meta.len);
                let sent = inner_packet(&delivered)[28..36].first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
                self.delays.extend(sent.map(|at| self.now.since(Time::from_nanos(at))));
            }
        }
        while self.server.poll_event().is_some() {}
        if let Some(at) = self.server.poll_timeout() {
            self.at(at.since(self.now).max(self.busy_until.since(self.now)), Event::Wake);
        }
    }

    fn drain_honest(&mut self) {
        let mut buffer = [0; 2048];
        while let Some(out) = self.honest.poll_transmit(self.now, &mut buffer) {
            if !self.loses() {
                self.at(DELAY, Event::AtServer(address(2), buffer[..out.len].to_vec()));
            }
        }
        while self.honest.poll_deliver().is_some() {}
        while self.honest.poll_event().is_some() {}
        if let Some(at) = self.honest.poll_timeout() {
            self.at(at.since(self.now), Event::Wake);
        }
    }

    /// Whether the honest peer's next datagram is lost.
    fn loses(&mut self) -> bool {
        let (begins, length, left) = self.loss;
        let left = if left == 0 && self.random.chance(begins) { length } else { left };
        self.loss.2 = left.saturating_sub(1);
        left > 0
    }

    fn attacker_sends(&mut self) {
        while let Some(out) = self.attacker.peers.poll_transmit() {
            self.at(DELAY, Event::AtServer(address(3), out.contents));
        }
        while let Some(event) = self.attacker.peers.poll_event() {
            if let SecureEvent::Established { epoch, .. } = event {
                if self.attacker.epoch.replace(epoch) != Some(epoch) {
                    self.attacker.number = 0;
                    self.attacker.known = Known::default();
                }
                self.seal(&Packet::Probe { padding: 0 });
            }
        }
    }

    fn attack(&mut self) {
        if let Some(mut attack) = self.attacker.attack.take() {
            let packet = attack(&mut self.attacker.known);
            self.attacker.attack = Some(attack);
            self.seal(&packet);
        }
    }

    /// The attacker sends `packet`.
    fn seal(&mut self, packet: &Packet<Symbol>) {
        let Some(epoch) = self.attacker.epoch else { return };
        let mut buffer = vec![0; 2048];
        let body = emit_body(packet, &mut buffer[HEADER_LEN..]).expect("a packet that the format carries");
        buffer.truncate(HEADER_LEN + body + TAG_LEN);
        let id = PeerId::from_index(0);
        let (number, kind) = (self.attacker.number, Kind::of(packet));
        self.attacker.number += self.attacker.step;
        if self.attacker.peers.seal(self.now, id, epoch, number, kind, &mut buffer).is_ok() {
            self.at(DELAY, Event::AtServer(address(3), buffer));
        }
    }
}
