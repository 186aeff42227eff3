#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark holds the clock")]
//! Measures what a host pays for one datagram of each type, as a multiple of a probe of the same length. `make bench` runs
//! this program. A type whose multiple is high must be counted by the budget of work, or have a limit of its own
//! (`docs/security.md`); otherwise a hostile peer could take the processor with it.
//!
//! ```text
//! cargo run --release -p ripstop-proto --example packet-costs
//! ```
//!
//! The time of a datagram is the time from [`Endpoint::handle_datagram`] until all outputs are taken. It includes what the
//! host sends because of the datagram. The work is what the host counts for the datagram. A unit of work takes about 50 ps.

use ripstop_base::{Rate, Seed, Time};
use ripstop_codes::Symbol;
use ripstop_codes::window::{Coding, Members};
use ripstop_proto::coding::{BlockSettings, Code};
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig};
use ripstop_proto::packets::Gap;
use ripstop_proto::secure::{Incoming, PeerId, Peers, PrivateKey, SecureConfig, SecureEvent};
use ripstop_proto::session::Reception;
use ripstop_proto::wire::{
    Feedback, HEADER_LEN, Kind, Packet, PathReport, SymbolKind, SymbolReport, TAG_LEN, Window, emit_body,
};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The peer, as the host knows it, and the host, as the peer knows it.
const ID: PeerId = PeerId::from_index(0);
/// Datagrams of a case. With half the number, the figures vary by a tenth. Double the number only takes longer.
const DATAGRAMS: u64 = 2_000;
/// The time between two datagrams. Reports may come at this rate (`report_limit.rs`).
const STEP: Duration = Duration::from_millis(1);
/// Datagrams that the host sends to the peer before a case begins, for reports about them.
const SENT: u64 = 9_000;

/// A host and one peer, which makes datagrams of every type.
struct World {
    now: Time,
    host: Endpoint,
    peer: Peers,
    epoch: u64,
    number: u64,
    /// The numbers of the host's datagrams that have arrived.
    arrived: Vec<u64>,
    /// Handshake datagrams of the peer.
    ready: Vec<Vec<u8>>,
}

fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, n], 5182))
}

/// A UDP packet of `len` bytes from the network 10.0.0.`from`.
fn inner(from: u8, to: u8, len: usize) -> Vec<u8> {
    let mut packet = vec![0; len];
    (packet[0], packet[9]) = (0x45, 17);
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    packet[12..20].copy_from_slice(&[10, 0, 0, from, 10, 0, 0, to]);
    packet
}

fn symbol(len: usize) -> Symbol {
    Symbol::from_parts(&[&[Gap::ADJACENT.nibble()], &inner(1, 0, len)])
}

fn source(id: u64, len: usize) -> Packet<Symbol> {
    Packet::Source { id, kind: SymbolKind::Packet, payload: symbol(len) }
}

impl World {
    fn new(code: Code) -> World {
        // Neither the budget nor a limit refuses anything.
        World::with(code, 1 << 30)
    }

    /// A world whose host has used up its limits on handshakes and answers.
    fn flooded() -> World {
        World::with(Code::Window, 0)
    }

    fn with(code: Code, limit: u32) -> World {
        let seed = Seed::new(1);
        let stream = |name: &str| Box::new(seed.stream(name));
        let key = |name: &str| PrivateKey::generate(&mut seed.stream(name));
        let open = SecureConfig {
            handshakes_per_second: limit,
            handshakes_saved: 1 << 30,
            replies_per_second: limit,
            replies_per_prefix: limit,
            ..SecureConfig::default()
        };
        let mut config = EndpointConfig { secure: open.clone(), work_per_second: 1 << 60, ..EndpointConfig::default() };
        config.tunnel.code = code;
        config.tunnel.rate = RateMode::Fixed(Rate::from_bps(1_000_000_000));
        let mut host = Endpoint::new(key("host"), config, stream("endpoint"), stream("secure"));
        let mut peer = Peers::new(key("peer"), open, stream("peer"));
        let allowed_ips = vec!["10.0.0.1/32".parse().expect("a prefix")];
        let known = PeerConfig {
            public: peer.public(),
            preshared: None,
            endpoint: Some(address(1)),
            allowed_ips,
            keepalive: None,
        };
        host.add_peer(Time::ZERO, &known).expect("the only peer");
        peer.add(host.public(), Some(address(0)));
        let mut world =
            World { now: Time::ZERO, host, peer, epoch: 0, number: 0, arrived: Vec::new(), ready: Vec::new() };
        // The host has started a handshake.
        world.drain();
        while let Some(datagram) = world.ready.pop() {
            world.take(datagram);
        }
        world
    }

    /// Gives a datagram to the host and takes all outputs. Returns the time that the host took.
    fn take(&mut self, mut datagram: Vec<u8>) -> Duration {
        let mut sent: Vec<Vec<u8>> = Vec::new();
        let mut buffer = [0; 2048];
        let begin = Instant::now();
        self.host.handle_datagram(self.now, address(1), &mut datagram, Reception::default());
        while let Some(out) = self.host.poll_transmit(self.now, &mut buffer) {
            sent.push(buffer[..out.len].to_vec());
        }
        while self.host.poll_deliver().is_some() {}
        while self.host.poll_event().is_some() {}
        let took = begin.elapsed();
        self.receive(sent);
        took
    }

    /// Takes the host's outputs.
    fn drain(&mut self) {
        let (mut sent, mut buffer) = (Vec::new(), [0; 2048]);
        if self.host.poll_timeout().is_some_and(|at| at <= self.now) {
            self.host.handle_timeout(self.now);
        }
        while let Some(out) = self.host.poll_transmit(self.now, &mut buffer) {
            sent.push(buffer[..out.len].to_vec());
        }
        self.receive(sent);
    }

    /// The peer takes datagrams of the host.
    fn receive(&mut self, sent: Vec<Vec<u8>>) {
        for mut datagram in sent {
            if let Incoming::Transport { number, .. } = self.peer.handle_datagram(self.now, address(0), &mut datagram) {
                self.arrived.push(number);
            }
        }
        self.ready.extend(std::iter::from_fn(|| self.peer.poll_transmit()).map(|sent| sent.contents));
        while let Some(event) = self.peer.poll_event() {
            if let SecureEvent::Established { epoch, .. } = event {
                (self.epoch, self.number) = (epoch, if epoch == self.epoch { self.number } else { 0 });
            }
        }
    }

    /// A sealed datagram of the peer.
    fn seal(&mut self, packet: &Packet<Symbol>) -> Vec<u8> {
        let mut buffer = vec![0; 2048];
        let body = emit_body(packet, &mut buffer[HEADER_LEN..]).expect("a packet that the format carries");
        buffer.truncate(HEADER_LEN + body + TAG_LEN);
        self.peer.seal(self.now, ID, self.epoch, self.number, Kind::of(packet), &mut buffer).expect("sealed");
        self.number += 1;
        buffer
    }

    /// The host sends datagrams to the peer.
    fn send(&mut self, datagrams: u64) {
        let packet = inner(0, 1, 100);
        for _ in 0..datagrams {
            self.now += Duration::from_micros(50);
            self.host.handle_inner(self.now, &packet);
            self.drain();
        }
    }

    fn work(&self) -> u64 {
        self.host.peer_status(ID).map_or(0, |status| status.work)
    }

    /// A report that lists the datagrams of `arrived` for which `listed` is true.
    fn report(&self, serial: u64, listed: impl Fn(u64) -> bool) -> Packet<Symbol> {
        let largest = self.arrived.iter().copied().filter(|number| listed(*number)).max().unwrap_or(0);
        let mut acked: Vec<std::ops::Range<u64>> = Vec::new();
        for number in self.arrived.iter().rev().copied().filter(|number| listed(*number)) {
            match acked.last_mut() {
                Some(range) if range.start == number + 1 => range.start = number,
                _ => acked.push(number..number + 1),
            }
        }
        let acked_from = acked.last().map_or(0, |range| range.start);
        let received = self.arrived.len() as u64;
        // All symbols are known, so the host sends no repairs.
        let known = SENT - 100;
        let report = Feedback {
            path: Some(PathReport {
                largest,
                received,
                acked,
                acked_from,
                largest_at_us: serial,
                ..PathReport::default()
            }),
            symbols: Some(SymbolReport { next_undecoded: known, end: known, ..SymbolReport::default() }),
        };
        Packet::Feedback(Box::new(report.cut().0))
    }
}

/// Measures a case and prints its line. `next` makes the next datagram.
fn case(name: &str, code: Code, sent: u64, datagrams: u64, mut next: impl FnMut(&mut World, u64) -> Vec<u8>) {
    let mut world = World::new(code);
    world.send(sent);
    let (mut times, mut bytes, mut work) = (Vec::new(), 0, 0);
    for n in 0..datagrams {
        world.now += STEP;
        let datagram = next(&mut world, n);
        bytes = datagram.len();
        let before = world.work();
        times.push(world.take(datagram));
        work += world.work().saturating_sub(before);
    }
    let work = work / datagrams;
    let padding = bytes.saturating_sub(HEADER_LEN + TAG_LEN + 2) as u16;
    let mut world = World::new(Code::Window);
    let mut probes = Vec::new();
    for _ in 0..DATAGRAMS {
        world.now += STEP;
        let probe = world.seal(&Packet::Probe { padding });
        probes.push(world.take(probe));
    }
    // Medians, so that other load on the machine does not count.
    let us = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6
    };
    let (took, probe) = (us(times), us(probes));
    println!("| {name} | {bytes} | {took:.2} | {probe:.2} | {:.1} | {:.1} |", took / probe, work as f64 / 20e3);
}

fn main() {
    println!("| datagram | bytes | us | us of a probe | ratio | us counted as work |");
    println!("|---|---|---|---|---|---|");
    let window = Code::Window;
    case("probe", window, 0, DATAGRAMS, |w, _| w.seal(&Packet::Probe { padding: 1_000 }));
    case("source", window, 0, DATAGRAMS, |w, n| w.seal(&source(n, 1_400)));
    case("source, short", window, 0, DATAGRAMS, |w, n| w.seal(&source(n, 28)));
    case("source, each in a gap", window, 0, 20_000, |w, n| {
        // First every other symbol, then those between, from both ends to the middle.
        w.seal(&source(if n < 10_000 { 2 * n } else { (n * 7_919 % 10_000) * 2 + 1 }, 28))
    });
    case("repair of a lost symbol and 255 known ones", window, 0, DATAGRAMS, |w, n| match n {
        0..500 => w.seal(&source(n, 1_400)),
        _ if n % 2 == 0 => w.seal(&source(n + 1, 1_400)),
        _ => w.seal(&Packet::Repair {
            members: Members::range(n - 255..n),
            coding: Coding::Seed(n as u16),
            payload: symbol(1_400),
        }),
    });
    case("repair of 64 listed symbols", window, 0, DATAGRAMS, |w, n| {
        let singles: Vec<u64> = (0..64).map(|at| 64 * n + at).step_by(2).collect();
        let coding = Coding::Explicit(vec![3; singles.len()]);
        let members = Members::new(singles, 0..0).expect("ascending");
        w.seal(&Packet::Repair { members, coding, payload: symbol(1_000) })
    });
    let block = Code::Block(BlockSettings::default());
    case("repair of a block", block, 0, DATAGRAMS, |w, n| {
        let (first, at) = (n / 64 * 64, n % 64);
        w.seal(&match at {
            0..32 => source(first + at, 1_400),
            _ => Packet::BlockRepair { first, k: 64, number: (at - 32) as u8, payload: symbol(1_400) },
        })
    });
    case("report, 1 range", window, SENT, DATAGRAMS, |w, n| {
        let report = w.report(n, |_| true);
        w.seal(&report)
    });
    let mut kept = None;
    case("report, most ranges", window, SENT, DATAGRAMS, |w, _| {
        let report = kept.get_or_insert_with(|| w.report(0, |number| number % 2 == 0)).clone();
        w.seal(&report)
    });
    case("report, most ranges, all new", window, 0, 9, |w, n| {
        *w = World::new(Code::Window);
        w.send(SENT);
        let report = w.report(n, |number| number % 2 == 0);
        w.seal(&report)
    });
    case("window", window, 0, DATAGRAMS, |w, n| {
        let (report_every, deadline) = (Duration::from_millis(10), Duration::from_secs(1));
        w.seal(&Packet::Window(Window { base: 60_000 * n, reach: 1 << 16, report_every, deadline }))
    });
    case("challenge", window, 0, DATAGRAMS, |w, n| w.seal(&Packet::Challenge { token: n }));
    case("answer", window, 0, DATAGRAMS, |w, n| w.seal(&Packet::Answer { token: n }));
    case("initiation", window, 0, 200, |w, _| {
        w.peer.forget(ID);
        w.peer.connect(w.now, ID);
        w.peer.poll_transmit().expect("an initiation").contents
    });
    case("response", window, 0, 200, |w, _| {
        w.host.set_endpoint(w.now, ID, address(1));
        // The session is given up, so the host begins the next one.
        let known = PeerConfig {
            public: w.peer.public(),
            preshared: None,
            endpoint: Some(address(1)),
            allowed_ips: vec!["10.0.0.1/32".parse().expect("a prefix")],
            keepalive: None,
        };
        for peer in w.host.peers().collect::<Vec<_>>() {
            w.host.remove_peer(peer);
        }
        w.peer.forget(ID);
        w.ready.clear();
        w.host.add_peer(w.now, &known).expect("the only peer");
        w.drain();
        w.ready.pop().expect("a response")
    });
    // The limits of a host that is flooded are used up.
    let mut forged = None;
    case("initiation, cookie demanded, not answered", window, 0, DATAGRAMS, |w, _| {
        if forged.is_none() {
            *w = World::flooded();
        }
        w.now = Time::ZERO;
        forged
            .get_or_insert_with(|| {
                w.peer.connect(w.now, ID);
                w.peer.poll_transmit().expect("an initiation").contents
            })
            .clone()
    });
    println!(
        "\nA handshake message has its own limits (100 a second without a cookie, 1000 with one, and 1 session a second for"
    );
    println!("each peer). The other types count as work where their ratio is high.");
}
