//! What the memory of an endpoint really is, beside the figure that its budget counts. Hostile peers fill the memory with
//! small packets, which take much more memory than their bytes.
//!
//! This test is a separate binary, because it measures the resident memory of the whole process.

use ripstop_base::{Rate, Seed, Time};
use ripstop_codes::Symbol;
use ripstop_codes::window::{Coding, Members};
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig};
use ripstop_proto::packets::Gap;
use ripstop_proto::secure::{PeerId, Peers, PrivateKey, SecureConfig, SecureEvent};
use ripstop_proto::session::Reception;
use ripstop_proto::wire::{HEADER_LEN, Kind, Packet, SymbolKind, TAG_LEN, Window, emit_body};
use std::net::SocketAddr;
use std::time::Duration;

/// The memory budget of the host, bytes.
const MEMORY: usize = 32_000_000;
/// Number of hostile peers.
const PEERS: u8 = 12;
/// The length of an inner packet: an empty UDP packet, bytes.
const INNER: usize = 28;

fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, n], 5182))
}

fn key(n: u8) -> PrivateKey {
    PrivateKey::generate(&mut Seed::new(5).run(u64::from(n)).stream("key"))
}

/// An empty UDP packet of a flow. Number 0 is the host.
fn packet(from: u8, to: u8, flow: u16) -> [u8; INNER] {
    let mut packet = [0; INNER];
    (packet[0], packet[3], packet[9]) = (0x45, INNER as u8, 17);
    packet[12..20].copy_from_slice(&[10, 0, 0, from, 10, 0, 0, to]);
    packet[20..22].copy_from_slice(&flow.to_be_bytes());
    packet
}

/// The host and its hostile peers.
struct World {
    now: Time,
    host: Endpoint,
    peers: Vec<(Peers, u64, u64)>,
    /// The largest memory that the budget has counted.
    counted: usize,
    before: usize,
}

/// Resident memory of the process, bytes: now, and the most since the last reset.
fn resident() -> (usize, usize) {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).expect("a line");
        line.split_whitespace().nth(1).and_then(|kb| kb.parse::<usize>().ok()).expect("a number") * 1024
    };
    (line("VmRSS"), line("VmHWM"))
}

impl World {
    fn new() -> World {
        // The most since the last reset is the present memory.
        std::fs::write("/proc/self/clear_refs", "5").expect("the reset of the peak");
        let before = resident().0;
        let seed = Seed::new(6);
        let mut config = EndpointConfig { memory: MEMORY, ..EndpointConfig::default() };
        config.secure.handshakes_per_second = 1_000;
        config.tunnel.rate = RateMode::Fixed(Rate::from_bps(1_000_000_000));
        config.tunnel.deadline = Some(Duration::from_secs(30));
        let stream = |name: &str| Box::new(seed.stream(name));
        let host = Endpoint::new(key(0), config, stream("endpoint"), stream("secure"));
        let mut world = World { now: Time::ZERO, host, peers: Vec::new(), counted: 0, before };
        for n in 1..=PEERS {
            let mut peers =
                Peers::new(key(n), SecureConfig::default(), Box::new(seed.run(u64::from(n)).stream("peer")));
            let allowed_ips = vec![format!("10.0.0.{n}/32").parse().unwrap()];
            let known =
                PeerConfig { public: key(n).public(), preshared: None, endpoint: None, allowed_ips, keepalive: None };
            world.host.add_peer(Time::ZERO, &known).unwrap();
            let id = peers.add(key(0).public(), Some(address(0))).unwrap();
            peers.connect(Time::ZERO, id);
            world.peers.push((peers, 0, 0));
            world.exchange(n);
        }
        world
    }

    /// Completes the handshake of a peer.
    fn exchange(&mut self, n: u8) {
        while let Some(mut out) = self.peers[usize::from(n) - 1].0.poll_transmit() {
            self.host.handle_datagram(self.now, address(n), &mut out.contents, Reception::default());
            self.drain(n);
        }
        while let Some(event) = self.peers[usize::from(n) - 1].0.poll_event() {
            if let SecureEvent::Established { epoch, .. } = event {
                self.peers[usize::from(n) - 1].1 = epoch;
                self.send(n, &Packet::Probe { padding: 0 });
            }
        }
    }

    /// Peer `n` sends `packet`.
    fn send(&mut self, n: u8, packet: &Packet<Symbol>) {
        let (peers, epoch, number) = &mut self.peers[usize::from(n) - 1];
        let mut buffer = vec![0; 2048];
        let body = emit_body(packet, &mut buffer[HEADER_LEN..]).expect("a packet that the format carries");
        buffer.truncate(HEADER_LEN + body + TAG_LEN);
        peers.seal(self.now, PeerId::from_index(0), *epoch, *number, Kind::of(packet), &mut buffer).expect("sealed");
        *number += 1;
        self.host.handle_datagram(self.now, address(n), &mut buffer, Reception::default());
    }

    /// Takes the outputs of the host. Only peer `n` gets them: a handshake, or nothing of use.
    fn drain(&mut self, n: u8) {
        let mut buffer = [0; 2048];
        while let Some(out) = self.host.poll_transmit(self.now, &mut buffer) {
            if out.to == address(n) {
                self.peers[usize::from(n) - 1].0.handle_datagram(self.now, address(0), &mut buffer[..out.len]);
            }
        }
        while self.host.poll_deliver().is_some() {}
        while self.host.poll_event().is_some() {}
        self.counted = self.counted.max(self.host.memory());
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        if self.host.poll_timeout().is_some_and(|at| at <= self.now) {
            self.host.handle_timeout(self.now);
        }
    }

    /// Compares the memory that was counted with the memory of the process.
    fn judge(self, what: &str) {
        let grown = resident().1 - self.before;
        println!("{what}: {} kB counted, {} kB resident", self.counted / 1000, grown / 1000);
        if std::env::var_os("LOOK").is_some() {
            return;
        }
        assert!(self.counted > MEMORY / 5, "{what}: {} counted", self.counted);
        assert!(grown < MEMORY * 13 / 10 + 20_000_000, "{what}: {grown} resident, {} counted", self.counted);
    }
}

/// A million small packets wait for peers that report nothing, in many flows.
fn queues() {
    let mut world = World::new();
    for round in 0..35_000u32 {
        for n in 1..=PEERS {
            world.host.handle_inner(world.now, &packet(0, n, (round / 64) as u16));
        }
        world.counted = world.counted.max(world.host.memory());
    }
    world.judge("queues");
}

/// Each peer fills its queue, closes its session, and is gone.
fn queues_of_closed_peers() {
    let mut world = World::new();
    for n in 1..=PEERS {
        for round in 0..35_000u32 {
            world.host.handle_inner(world.now, &packet(0, n, (round / 64) as u16));
        }
        world.counted = world.counted.max(world.host.memory());
        world.send(n, &Packet::Close);
        world.drain(0);
        world.pass(Duration::from_secs(2));
        world.drain(0);
    }
    assert!(world.counted < MEMORY * 17 / 16, "{} counted", world.counted);
    for _ in 0..40 {
        world.pass(Duration::from_secs(1));
        world.drain(0);
    }
    assert_eq!(world.host.memory(), 0, "bytes that remain");
    world.judge("queues of closed peers");
}

/// The queue of each flow was long once, one after the other.
fn queues_that_were_long() {
    let mut world = World::new();
    for flow in 0..100 {
        for _ in 0..8_000 {
            world.host.handle_inner(world.now, &packet(0, 1, flow));
        }
        for _ in 0..200 {
            world.pass(Duration::from_micros(500));
            world.drain(0);
        }
    }
    world.judge("queues that were long");
}

/// The host sends small packets to peers that report nothing.
fn windows() {
    let mut world = World::new();
    for round in 0..30_000u32 {
        for n in 1..=PEERS {
            world.host.handle_inner(world.now, &packet(0, n, round as u16));
        }
        if round % 8 == 0 {
            world.pass(Duration::from_micros(100));
            world.drain(0);
        }
    }
    world.judge("windows");
}

/// Small packets of many flows wait for symbol 0, which never comes. Every other symbol is missing.
fn waiting() {
    let mut world = World::new();
    let (report_every, deadline) = (Duration::from_millis(100), Duration::from_secs(60));
    for n in 1..=PEERS {
        world.send(n, &Packet::Window(Window { base: 0, reach: 1 << 16, report_every, deadline }));
    }
    for id in 1..16_000u64 {
        for n in 1..=PEERS {
            let payload = Symbol::from_parts(&[&[Gap::ADJACENT.nibble()], &packet(n, 0, id as u16)]);
            world.send(n, &Packet::Source { id: 2 * id, kind: SymbolKind::Packet, payload });
        }
        if id % 64 == 0 {
            world.pass(Duration::from_millis(1));
            world.drain(0);
        }
    }
    world.judge("waiting");
}

/// Short repairs are stored.
fn repairs() {
    let mut world = World::new();
    for id in 1..16_000u64 {
        for n in 1..=PEERS {
            let members = Members::range(2 * id..2 * id + 2);
            let payload = Symbol::from_slice(&[7; INNER + 1]);
            world.send(n, &Packet::Repair { members, coding: Coding::Seed(id as u16), payload });
        }
        if id % 64 == 0 {
            world.pass(Duration::from_millis(1));
            world.drain(0);
        }
    }
    world.judge("repairs");
}

/// The scenarios by name.
const SCENARIOS: [(&str, fn()); 6] = [
    ("queues", queues),
    ("queues of closed peers", queues_of_closed_peers),
    ("queues that were long", queues_that_were_long),
    ("windows", windows),
    ("waiting", waiting),
    ("repairs", repairs),
];

/// Each scenario has a process of its own: memory that a former one has freed may stay resident.
#[test]
fn small_packets_take_the_memory_that_is_counted() {
    const SCENARIO: &str = "RIPSTOP_TEST_SCENARIO";
    if let Ok(name) = std::env::var(SCENARIO) {
        let (_, scenario) = SCENARIOS.into_iter().find(|(known, _)| *known == name).expect("a scenario");
        return scenario();
    }
    for (name, _) in SCENARIOS {
        let program = std::env::current_exe().expect("this program");
        let run = std::process::Command::new(program).arg("--nocapture").env(SCENARIO, name).output().expect("a run");
        let text = String::from_utf8_lossy(&run.stdout);
        println!("{}", text.lines().filter(|line| line.contains("resident")).collect::<Vec<_>>().join("\n"));
        assert!(run.status.success(), "{name}: {text} {}", String::from_utf8_lossy(&run.stderr));
    }
}
