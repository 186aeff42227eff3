//! Measures the CPU time of each code family over the same lossy link, with real bytes.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example coding [-- LOSS ...]
//! ```
//!
//! A source sends packets of 1400 bytes at 75 % of what the link can carry after its losses, for ten seconds of virtual
//! time. The packets pass through the session types that the simulator and the daemon run. The link has 100 Mbit/s and
//! 20 ms, and loses the same packets for each family.
//!
//! - *coding* is the CPU time for combinations of bytes (encoding, decoding), both ends together, per gigabyte
//!   delivered.
//! - *session* is the CPU time for all calls of the two sessions, combinations included. Encryption, system calls and
//!   TCP do not count.
//! - *sent/useful* is the bytes sent forward per byte delivered.
//!
//! `block` is the bare code with K = 32 and the smallest N that leaves less than .1 % of the packets lost, without a
//! session. `xor` is the bare code of a relay: each packet is half of a pair, added once and separated once. Times are
//! wall-clock times of one thread: run the program on an idle machine.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the program measures time")]

use ripstop_base::{Fraction, Rate, Seed, Time};
use ripstop_codes::block::{BlockCode, BlockDecoder};
use ripstop_codes::xor::{KnownPackets, XorPacket};
use ripstop_codes::{Matrix, Payload, Symbol};
use ripstop_link::{Link, LinkConfig, Loss};
use ripstop_model::codes::PacketLosses;
use ripstop_model::codes::block::residual;
use ripstop_proto::packets::Gap;
use ripstop_proto::packets::symbol::frame;
use ripstop_proto::packets::{InnerPacket, Meta};
use ripstop_proto::session::tunnel::{Tunnel, TunnelConfig};
use ripstop_proto::session::{Received, Reception, Session};
use ripstop_proto::wire::SymbolKind;
use ripstop_schemes::lt::{Accepted, BlockSize, LtConfig, LtInner, LtMode, LtReceiver, LtSender};
use ripstop_schemes::nc::{Factor, NcConfig, NcReceiver, NcSender};
use ripstop_schemes::{lt, nc};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Bytes of an inner packet. Longer packets make the work per packet cheaper per byte.
const LEN: usize = 1400;
/// The rate of the link, bit/s.
const RATE: u64 = 100_000_000;
/// The delay of each direction.
const DELAY: Duration = Duration::from_millis(10);
/// Virtual time of a run.
const SPAN: Duration = Duration::from_secs(10);
/// The source's share of what the link can carry after its losses. With a larger share, a family with much redundancy
/// fills the link's queue, and families carry different traffic.
const LOAD: f64 = 0.75;

thread_local! {
    /// Time spent in combinations.
    static COMBINING: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words = if words.is_empty() { ["0", "1%", "5%", "10%", "20%"].map(str::to_owned).to_vec() } else { words };
    println!("loss    family      delivered  sent/useful  coding s/GB  session s/GB");
    for word in words {
        let loss: Fraction = word.parse().expect("LOSS must be a share, such as 5%");
        for (name, measure) in FAMILIES {
            // The first run warms up caches and pools. The quickest of the others counts: load can only slow a run
            // down.
            let mut best = measure(loss.get());
            for _ in 0..4 {
                let next = measure(loss.get());
                if next.session < best.session {
                    best = next;
                }
            }
            let per_gb = |time: Duration| time.as_secs_f64() / (best.delivered as f64 * LEN as f64 * 1e-9);
            println!(
                "{:<7} {name:<10} {:>9.4}  {:>11.3}  {:>11.3}  {:>12.3}",
                loss.to_string(),
                best.delivered as f64 / best.given as f64,
                best.sent_bytes as f64 / (best.delivered as f64 * LEN as f64),
                per_gb(best.coding),
                per_gb(best.session),
            );
        }
    }
}

type Family = (&'static str, fn(f64) -> Measured);

const FAMILIES: [Family; 6] = [
    ("window", tunnel),
    ("tcp-nc", tcp_nc),
    ("lt", |loss| gateway(loss, LtConfig::new(LtMode::Improved))),
    ("lt-mds", |loss| gateway(loss, LtConfig { code: lt::BlockCode::Mds, ..LtConfig::new(LtMode::Improved) })),
    ("block", block),
    ("xor", xor),
];

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    given: u64,
    delivered: u64,
    sent_bytes: u64,
    coding: Duration,
    session: Duration,
}

/// A symbol that adds the time for its combinations to [`COMBINING`].
#[derive(Clone, Debug)]
struct Timed(Symbol);

impl Timed {
    fn timed<T>(work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        COMBINING.set(COMBINING.get() + start.elapsed());
        done
    }
}

impl Payload for Timed {
    fn combine(coefficients: &Matrix, sources: &[&Timed]) -> Vec<Timed> {
        let sources: Vec<&Symbol> = sources.iter().map(|source| &source.0).collect();
        Timed::timed(|| Symbol::combine(coefficients, &sources)).into_iter().map(Timed).collect()
    }

    fn sum<'a>(first: &'a Timed, rest: impl Iterator<Item = &'a Timed> + Clone) -> Timed {
        Timed::timed(|| Timed(Symbol::sum(&first.0, rest.map(|source| &source.0))))
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

impl InnerPacket for Timed {
    fn set_gap(&mut self, gap: Gap) {
        self.0.set_gap(gap);
    }

    fn gap(&self) -> Gap {
        self.0.gap()
    }

    fn meta(&self) -> Option<Meta> {
        self.0.meta()
    }
}

/// The two directions of the path. The way back loses nothing, so that all families get the same feedback.
fn links(loss: f64) -> [Link; 2] {
    let probability = Fraction::new(loss).expect("a share");
    let config = LinkConfig::path(Rate::from_bps(RATE), 2 * DELAY, Fraction::ZERO);
    let forth = LinkConfig { loss: Loss::Bernoulli { probability }, ..config.clone() };
    [(forth, "link/0"), (config, "link/1")]
        .map(|(config, name)| Link::new(&config, Seed::new(1), name).expect("the link is valid"))
}

/// The time between two packets of the source.
fn gap(loss: f64) -> Duration {
    Duration::from_secs_f64(8.0 * LEN as f64 / (RATE as f64 * LOAD * (1.0 - loss)))
}

/// Carries packets from `a` to `b` until the source has ended and a second has passed. `enter` gives packet k to `a`.
/// `delivered` counts what `b` has delivered after a step.
fn carry<A, B, X, Y>(
    loss: f64,
    mut a: A,
    mut b: B,
    enter: impl Fn(u64) -> A::Inner,
    delivered: impl Fn(&mut B) -> u64,
) -> Measured
where
    A: Session<Outgoing = X, Incoming = Y>,
    B: Session<Outgoing = Y, Incoming = X>,
{
    let [mut forth, mut back] = links(loss);
    let mut to_b: BTreeMap<(Time, u64), Received<X>> = BTreeMap::new();
    let mut to_a: BTreeMap<(Time, u64), Received<Y>> = BTreeMap::new();
    let mut measured = Measured::default();
    let (gap, end) = (gap(loss), Time::ZERO + SPAN);
    let (mut due, mut now, mut order) = (Time::ZERO, Time::ZERO, 0u64);
    COMBINING.set(Duration::ZERO);
    while now < end + Duration::from_secs(1) {
        let start = Instant::now();
        let mut not_counted = Duration::ZERO;
        while due <= now && now < end {
            let inner = {
                let start = Instant::now();
                let inner = enter(measured.given);
                not_counted += start.elapsed();
                inner
            };
            a.handle_inner(now, inner);
            (measured.given, due) = (measured.given + 1, due + gap);
        }
        while let Some(entry) = to_b.first_entry().filter(|entry| entry.key().0 <= now) {
            b.handle_datagram(now, entry.remove());
        }
        while let Some(entry) = to_a.first_entry().filter(|entry| entry.key().0 <= now) {
            a.handle_datagram(now, entry.remove());
        }
        a.handle_timeout(now);
        b.handle_timeout(now);
        let sent: Vec<_> = std::iter::from_fn(|| a.poll_transmit(now)).collect();
        let answers: Vec<_> = std::iter::from_fn(|| b.poll_transmit(now)).collect();
        while a.poll_deliver().is_some() {}
        while a.poll_event().is_some() || b.poll_event().is_some() {}
        measured.delivered += delivered(&mut b);
        measured.session += start.elapsed() - not_counted;
        for transmit in sent {
            measured.sent_bytes += u64::from(transmit.bytes);
            if let Some(arrival) = forth.offer(now, transmit.bytes as usize).arrival() {
                to_b.insert(
                    (arrival, order),
                    Received { packet: transmit.packet, bytes: transmit.bytes, reception: Reception::default() },
                );
                order += 1;
            }
        }
        for transmit in answers {
            if let Some(arrival) = back.offer(now, transmit.bytes as usize).arrival() {
                to_a.insert(
                    (arrival, order),
                    Received { packet: transmit.packet, bytes: transmit.bytes, reception: Reception::default() },
                );
                order += 1;
            }
        }
        let arrivals = [to_b.first_key_value().map(|(key, _)| key.0), to_a.first_key_value().map(|(key, _)| key.0)];
        let timers = [a.poll_timeout(), b.poll_timeout()];
        let next = arrivals.into_iter().chain(timers).flatten().min().unwrap_or(Time::NEVER);
        let next = if now < end { next.min(due) } else { next };
        now = next.max(now + Duration::from_nanos(1)).min(end + Duration::from_secs(1));
    }
    measured.coding = COMBINING.get();
    measured
}

/// How many items a session has delivered since the last call.
fn count<S: Session>(session: &mut S) -> u64 {
    std::iter::from_fn(|| session.poll_deliver()).count() as u64
}

/// The content of packet `number`.
fn content(number: u64) -> Vec<u8> {
    let mut bytes = vec![number as u8; LEN];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn tunnel(loss: f64) -> Measured {
    let end = |entropy| {
        let config = TunnelConfig { initial_rtt: Some(2 * DELAY), ..TunnelConfig::default() };
        Tunnel::<Timed>::new(Time::ZERO, config, entropy)
    };
    // A UDP packet between two addresses, as the device hands it over.
    let enter = |number: u64| {
        let mut packet = content(number);
        packet[..20].fill(0);
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(LEN as u16).to_be_bytes());
        packet[9] = 17;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let mut framed = vec![0; LEN + 8];
        let len = frame(SymbolKind::Packet, Gap::ADJACENT, &packet, &mut framed).expect("the buffer is long enough");
        Timed(Symbol::from_slice(&framed[..len]))
    };
    carry(loss, end(1), end(2), enter, count)
}

fn tcp_nc(loss: f64) -> Measured {
    let factor = Factor::new(1.06 / (1.0 - loss)).expect("a valid redundancy");
    let config = NcConfig { coef_bytes: 1, ..NcConfig::with_factor(factor) };
    let sender = NcSender::<Timed>::new(config, Seed::new(1)).expect("valid settings");
    let receiver = NcReceiver::<Timed>::new(config).expect("valid settings");
    let enter = |number| nc::Segment { number, payload: Timed(Symbol::from_slice(&content(number))) };
    carry(loss, sender, receiver, enter, count)
}

fn gateway(loss: f64, config: LtConfig) -> Measured {
    let most = (2.0 * DELAY.as_secs_f64() * RATE as f64 / 8.0 / LEN as f64 * 1.5) as u32;
    let config = LtConfig { block: BlockSize::Fixed(16), window: most, buffer: most, ..config };
    let mut sender = LtSender::<Timed>::new(config, 1).expect("valid settings");
    sender.set_rate((RATE as f64 * (1.0 - loss)) as u64);
    let mut receiver = LtReceiver::<Timed>::new(config).expect("valid settings");
    sender.handle_inner(Time::ZERO, LtInner::Open);
    while let Some(open) = sender.poll_transmit(Time::ZERO) {
        receiver.handle_datagram(
            Time::ZERO,
            Received { packet: open.packet, bytes: open.bytes, reception: Reception::default() },
        );
    }
    receiver.handle_inner(Time::ZERO, Accepted);
    while let Some(opened) = receiver.poll_transmit(Time::ZERO) {
        sender.handle_datagram(
            Time::ZERO,
            Received { packet: opened.packet, bytes: opened.bytes, reception: Reception::default() },
        );
    }
    let enter = |number| LtInner::Segment(lt::Segment { number, payload: Timed(Symbol::from_slice(&content(number))) });
    carry(loss, sender, receiver, enter, count)
}

fn block(loss: f64) -> Measured {
    const K: usize = 32;
    let residual = |n: u32| residual(K as u32, n, PacketLosses::Independent(loss)).map_or(1.0, |found| found.loss);
    let n = (K as u32..=4 * K as u32).find(|n| residual(*n) < 1e-3).unwrap_or(4 * K as u32) as usize;
    let code = BlockCode::new(n, K).expect("a valid code");
    let mut decoder = BlockDecoder::<Symbol>::new(&code);
    let [mut link, _] = links(loss);
    let mut measured = Measured::default();
    let blocks = (SPAN.as_secs_f64() / gap(loss).as_secs_f64()) as u64 / K as u64;
    let mut now = Time::ZERO;
    for number in 0..blocks {
        let sources: Vec<Symbol> = (0..K as u64).map(|i| Symbol::from_slice(&content(number * K as u64 + i))).collect();
        let start = Instant::now();
        let mut repairs = Vec::new();
        code.encode_into(&sources, &mut repairs).expect("the block is complete");
        decoder.reset();
        measured.session += start.elapsed();
        for (index, symbol) in sources.into_iter().chain(repairs).enumerate() {
            // The headers of an IPv4 and UDP packet, and 12 bytes for the block and the index. The packets leave as fast
            // as the link takes them.
            let bytes = symbol.len() + 40;
            now += Duration::from_secs_f64(8.0 * bytes as f64 / RATE as f64);
            measured.sent_bytes += bytes as u64;
            if link.offer(now, bytes).arrival().is_some() {
                let start = Instant::now();
                decoder.symbol(index, symbol);
                measured.session += start.elapsed();
            }
        }
        measured.given += K as u64;
        measured.delivered += std::iter::from_fn(|| decoder.poll_source().map(|_| ())).count() as u64;
    }
    measured.coding = measured.session;
    measured
}

fn xor(_: f64) -> Measured {
    let mut known = KnownPackets::new(64);
    let mut measured = Measured::default();
    for number in 0..20_000u64 {
        let [left, right] = [0, 1].map(|side| (2 * number + side, Symbol::from_slice(&content(2 * number + side))));
        known.insert(left.0, left.1.clone());
        let start = Instant::now();
        let sum = XorPacket::new((left.0, &left.1), (right.0, &right.1));
        let decoded = sum.decode(&known).expect("one packet is known");
        measured.session += start.elapsed();
        assert_eq!(decoded.2, right.1);
        // Both neighbours decode, and each gets one packet. The relay adds once for both.
        measured.given += 1;
        measured.delivered += 1;
        measured.sent_bytes += sum.sum.len() as u64 / 2;
    }
    measured.coding = measured.session;
    measured
}
