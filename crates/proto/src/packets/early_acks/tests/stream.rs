//! Whole connections in virtual time: a local TCP that never sends again what was acknowledged, a tunnel that restarts,
//! and losses behind the peer. All bytes must arrive, or both TCPs must get a RST.

use super::{SCALE, Seg, byte_at, read};
use crate::packets::early_acks::EarlyAcks;
use crate::packets::early_acks::recovery::GIVE_UP;
use crate::wire::SymbolReport;
use etherparse::TcpOptionElement;
use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::Symbol;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Bytes of the stream.
const LEN: u32 = 300_000;
/// Data of one segment.
const MSS: u32 = 1000;
/// Initial sequence numbers: those of the local TCP wrap around.
const FIRST: u32 = u32::MAX - 100_000;
const REMOTE_FIRST: u32 = 3_000_000_000;

/// What may go wrong.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    /// Loss behind the peer, per segment and direction.
    loss: f64,
    /// Probability that the tunnel gives a segment up, which the peer then has not seen.
    given_up: f64,
    /// Probability of a new session, per round.
    restart: f64,
    /// The remote TCP vanishes after this number of bytes.
    vanish_at: u32,
}

/// One connection. A round is 10 ms: the way through the tunnel takes one round in each direction.
struct World {
    acks: EarlyAcks,
    random: Stream,
    now: Time,
    trouble: Trouble,
    /// Symbols that the peer has not delivered.
    flying: VecDeque<(u64, Symbol)>,
    next_id: u64,
    /// The local TCP: next new byte, first byte not acknowledged, right edge.
    local_next: u32,
    local_una: u32,
    local_edge: u32,
    local_timer: Time,
    local_reset: bool,
    /// The remote TCP: next byte expected, segments after it, and the right edge that it has announced.
    remote_next: u32,
    /// TS.Recent of RFC 7323: segments with an older TSval are discarded.
    remote_recent: u32,
    discarded: u32,
    remote_held: BTreeMap<u32, u32>,
    remote_edge: u32,
    remote_reset: bool,
    remote_out: VecDeque<Seg>,
    resent: u32,
}

impl World {
    fn new(seed: u64, trouble: Trouble) -> World {
        let mut acks = EarlyAcks::default();
        let now = Time::ZERO;
        assert!(acks.take_local(&Seg::syn(FIRST, None).packet(true)));
        let answer = Seg::syn(REMOTE_FIRST, Some(FIRST.wrapping_add(1)));
        assert!(acks.take_remote(now, &mut answer.symbol(false)));
        let start = FIRST.wrapping_add(1);
        let edge = start.wrapping_add(12_800);
        World {
            acks,
            random: Seed::new(seed).stream("early acks"),
            now,
            trouble,
            flying: VecDeque::new(),
            next_id: 0,
            local_next: start,
            local_una: start,
            local_edge: edge,
            local_timer: now,
            local_reset: false,
            remote_next: start,
            remote_recent: 0,
            discarded: 0,
            remote_held: BTreeMap::new(),
            remote_edge: edge,
            remote_reset: false,
            remote_out: VecDeque::new(),
            resent: 0,
        }
    }

    fn arrived(&self) -> u32 {
        self.remote_next.wrapping_sub(FIRST.wrapping_add(1))
    }

    /// The local TCP's clock for timestamps, ms.
    fn clock(&self) -> u32 {
        (self.now.as_nanos() / 1_000_000) as u32
    }

    fn carry(&mut self, symbol: Symbol) {
        self.acks.sent(self.next_id, &symbol);
        self.flying.push_back((self.next_id, symbol));
        self.next_id += 1;
    }

    fn local_send(&mut self, seq: u32, len: u32) {
        let seg = Seg::new(seq, REMOTE_FIRST + 1, 500, len as usize).time(self.clock(), 1);
        if self.acks.take_local(&seg.packet(true)) {
            self.carry(seg.symbol(true));
        }
    }

    /// The local TCP takes a segment.
    fn local_take(&mut self, symbol: &Symbol) {
        let (tcp, _) = read(symbol);
        if tcp.rst {
            self.local_reset = true;
            return;
        }
        assert_eq!(tcp.sequence_number, REMOTE_FIRST + 1, "the local TCP accepts no other number");
        let ack = tcp.acknowledgment_number;
        let edge = ack.wrapping_add(u32::from(tcp.window_size) << SCALE);
        assert!(ack.wrapping_sub(self.local_una) < 1 << 30, "the acknowledgement went back");
        assert!(self.remote_edge.wrapping_sub(edge) < 1 << 30, "the window exceeds what the remote TCP announced");
        (self.local_una, self.local_edge) = (ack, edge);
        self.local_timer = self.now + Duration::from_secs(1);
    }

    /// The remote TCP takes a segment and answers.
    fn remote_take(&mut self, symbol: &Symbol) {
        let (tcp, data) = read(symbol);
        if self.arrived() >= self.trouble.vanish_at || self.random.chance(self.trouble.loss) {
            return;
        }
        if tcp.rst {
            self.remote_reset |= tcp.sequence_number == self.remote_next;
            return;
        }
        let seq = tcp.sequence_number;
        let value = tcp.options_iterator().find_map(|option| match option {
            Ok(TcpOptionElement::Timestamp(value, _)) => Some(value),
            _ => None,
        });
        let value = value.expect("the local TCP sends timestamps");
        if value < self.remote_recent {
            self.discarded += 1;
            return;
        }
        if self.remote_next.wrapping_sub(seq) < 1 << 30 {
            self.remote_recent = value;
        }
        assert!(data.iter().enumerate().all(|(at, byte)| *byte == byte_at(seq.wrapping_add(at as u32))));
        if seq.wrapping_sub(self.remote_next) < 1 << 30 {
            self.remote_held.insert(seq, data.len() as u32);
        }
        while let Some(len) = self.remote_held.remove(&self.remote_next) {
            self.remote_next = self.remote_next.wrapping_add(len);
        }
        let window = 40_000u32 >> SCALE;
        let edge = self.remote_next.wrapping_add(window << SCALE);
        if edge.wrapping_sub(self.remote_edge) < 1 << 30 {
            self.remote_edge = edge;
        }
        let window = (self.remote_edge.wrapping_sub(self.remote_next) >> SCALE) as u16;
        self.remote_out.push_back(Seg::new(REMOTE_FIRST + 1, self.remote_next, window, 0).time(1, 1));
    }

    fn round(&mut self) {
        self.now += Duration::from_millis(10);
        if self.random.chance(self.trouble.restart) {
            self.flying.clear();
            self.next_id = 0;
            self.acks.new_session(self.now, Duration::from_millis(20));
        }
        // The local TCP sends up to the right edge. Its timer repeats the first segment.
        let end = FIRST.wrapping_add(1).wrapping_add(LEN);
        while !self.local_reset && self.local_next != end && self.local_edge.wrapping_sub(self.local_next) >= MSS {
            if self.local_edge.wrapping_sub(self.local_next) > 1 << 30 {
                break;
            }
            self.local_send(self.local_next, MSS);
            self.local_next = self.local_next.wrapping_add(MSS);
        }
        if self.local_una != self.local_next && self.now >= self.local_timer && !self.local_reset {
            self.local_timer = self.now + Duration::from_secs(1);
            self.resent += 1;
            self.local_send(self.local_una, MSS);
        }
        // The peer delivers, and reports.
        for (id, symbol) in std::mem::take(&mut self.flying) {
            if self.random.chance(self.trouble.given_up) {
                self.acks.report(self.now, &SymbolReport { next_undecoded: id, end: id, ..SymbolReport::default() });
                self.acks.given_up(id + 1);
                continue;
            }
            self.remote_take(&symbol);
        }
        let report = SymbolReport { next_undecoded: self.next_id, end: self.next_id, ..SymbolReport::default() };
        self.acks.report(self.now, &report);
        self.acks.handle_timeout(self.now, Some(Duration::from_millis(20)));
        while let Some(symbol) = self.acks.poll_local() {
            self.local_take(&symbol);
        }
        for seg in std::mem::take(&mut self.remote_out) {
            let mut symbol = seg.symbol(false);
            if !self.random.chance(self.trouble.loss) && self.acks.take_remote(self.now, &mut symbol) {
                self.local_take(&symbol);
            }
        }
        while let Some(symbol) = self.acks.poll_remote() {
            self.carry(symbol);
        }
    }
}

#[test]
fn all_bytes_arrive_whatever_is_lost() {
    let (mut early, mut resent) = (0, 0);
    for seed in 0..60 {
        let trouble = Trouble {
            loss: [0.0, 0.01, 0.2][seed as usize % 3],
            given_up: [0.0, 0.02, 0.0, 0.1][seed as usize % 4],
            restart: [0.0, 0.05][seed as usize % 2],
            vanish_at: u32::MAX,
        };
        let mut world = World::new(seed, trouble);
        while world.arrived() < LEN {
            world.round();
            assert!(world.now < Time::from_millis(3_000_000), "seed {seed}, {trouble:?}: {} bytes", world.arrived());
            assert!(!world.local_reset, "seed {seed}: a reset");
        }
        assert_eq!((world.arrived(), world.discarded), (LEN, 0), "seed {seed}, {trouble:?}");
        let counts = world.acks.counts();
        assert!(
            trouble.loss + trouble.given_up + trouble.restart > 0.0 || counts.resent == 0,
            "seed {seed}: {counts:?}"
        );
        early += counts.sent;
        resent += counts.resent;
    }
    assert!(early > 500 && resent > 1_000, "{early} early acknowledgements, {resent} segments sent again");
}

#[test]
fn a_receiver_that_vanishes_gives_an_error() {
    for seed in 0..20 {
        let vanish_at = 10_000 + 5_000 * seed as u32;
        let mut world = World::new(seed, Trouble { loss: 0.01, given_up: 0.0, restart: 0.01, vanish_at });
        let mut rounds = 0;
        while !world.local_reset {
            world.round();
            rounds += 1;
            assert!(rounds < 12_000, "seed {seed}: the local TCP hangs");
        }
        assert!(world.now.since(Time::ZERO) >= GIVE_UP, "seed {seed}");
        assert_eq!(world.acks.counts().resets, 1, "seed {seed}");
        // The remote TCP comes back, with half the stream: it gets a RST too.
        world.trouble = Trouble { loss: 0.0, given_up: 0.0, restart: 0.0, vanish_at: u32::MAX };
        let alive = Seg::new(REMOTE_FIRST + 1, world.remote_next, 300, 0);
        assert!(!world.acks.take_remote(world.now, &mut alive.symbol(false)));
        world.round();
        world.round();
        assert!(world.remote_reset, "seed {seed}");
    }
}
