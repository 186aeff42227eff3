//! Tunnels with a block code in virtual time: losses are recovered without any repetition, N is what was asked for, and
//! a peer that ignores block repairs is noticed.

use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::Symbol;
use ripstop_proto::coding::{BlockLength, BlockSettings, Code};
use ripstop_proto::control::loss::Losses;
use ripstop_proto::control::redundancy::Redundancy;
use ripstop_proto::session::tunnel::{Tunnel, TunnelConfig, TunnelEvent};
use ripstop_proto::session::{Received, Reception, Session, Transmit};
use ripstop_proto::wire::{Datagram, Packet};
use std::collections::BTreeMap;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);
const EVERY: Duration = Duration::from_millis(4);

/// Two tunnels. End 0 sends packets of 1000 bytes of one flow, and its datagrams may be lost.
struct World {
    ends: [Tunnel<Symbol>; 2],
    random: Stream,
    loss: f64,
    /// Whether end 1 ignores block repairs.
    is_old: bool,
    now: Time,
    flying: BTreeMap<(Time, u64), Flying>,
    count: u64,
    /// Packets sent, and the packets delivered.
    sent: u32,
    delivered: Vec<u32>,
    events: Vec<TunnelEvent>,
    /// Source symbols that end 0 has sent.
    sources: u64,
}

/// A datagram on the way, and the end that it goes to.
type Flying = (usize, Transmit<Datagram<Symbol>>);

fn block(k: u8, n: BlockLength) -> Code {
    Code::Block(BlockSettings { k, n })
}

/// A UDP packet with a number. All packets have the same addresses and ports.
fn packet(number: u32) -> Symbol {
    let mut bytes = vec![0; 1001];
    bytes[1] = 0x45;
    bytes[3..5].copy_from_slice(&1000u16.to_be_bytes());
    bytes[10] = 17;
    bytes[500..504].copy_from_slice(&number.to_be_bytes());
    Symbol::from_slice(&bytes)
}

impl World {
    fn new(seed: u64, code: Code, loss: f64) -> World {
        let config = |code| TunnelConfig { code, initial_rtt: Some(2 * DELAY), ..TunnelConfig::default() };
        World {
            ends: [code, Code::Window].map(|code| Tunnel::new(Time::ZERO, config(code), seed)),
            random: Seed::new(seed).stream("loss"),
            loss,
            is_old: false,
            now: Time::ZERO,
            flying: BTreeMap::new(),
            count: 0,
            sent: 0,
            delivered: Vec::new(),
            events: Vec::new(),
            sources: 0,
        }
    }

    /// Sends `packets` packets at equal distances, and then waits for 3 s.
    fn run(&mut self, packets: u32) {
        self.run_for(packets, packets * EVERY + Duration::from_secs(3));
    }

    /// Sends `packets` packets at equal distances. The whole run takes `time`.
    fn run_for(&mut self, packets: u32, time: Duration) {
        let mut next = self.now;
        let (end, until) = (self.now + time, self.sent + packets);
        self.drain();
        while self.now < end {
            let arrival = self.flying.keys().next().map_or(Time::NEVER, |(at, _)| *at);
            let timeout = self.ends.iter().filter_map(Session::poll_timeout).min().unwrap_or(Time::NEVER);
            let sending = if self.sent < until { next } else { Time::NEVER };
            self.now = arrival.min(timeout).min(sending).max(self.now).min(end);
            if sending <= self.now {
                next += EVERY;
                self.ends[0].handle_inner(self.now, packet(self.sent));
                self.sent += 1;
            }
            while let Some(first) = self.flying.first_entry().filter(|first| first.key().0 <= self.now) {
                let (to, Transmit { packet, bytes, .. }) = first.remove();
                if !(self.is_old && matches!(packet.packet, Packet::BlockRepair { .. })) {
                    self.ends[to]
                        .handle_datagram(self.now, Received { packet, bytes, reception: Reception::default() });
                }
            }
            self.ends.iter_mut().for_each(|end| end.handle_timeout(self.now));
            self.drain();
        }
    }

    fn drain(&mut self) {
        for n in 0..2 {
            while let Some(out) = self.ends[n].poll_transmit(self.now) {
                self.sources += u64::from(n == 0 && matches!(out.packet.packet, Packet::Source { .. }));
                if n == 0 && self.random.chance(self.loss) {
                    continue;
                }
                self.count += 1;
                self.flying.insert((self.now + DELAY, self.count), (1 - n, out));
            }
            self.events.extend(std::iter::from_fn(|| self.ends[n].poll_event()));
        }
        while let Some(delivered) = self.ends[1].poll_deliver() {
            let bytes = delivered.payload.as_slice();
            self.delivered.push(u32::from_be_bytes(bytes[500..504].try_into().unwrap()));
        }
    }
}

#[test]
fn losses_are_recovered_without_repetition() {
    for seed in 0..4 {
        let mut world = World::new(seed, block(16, BlockLength::Fixed(24)), 0.05);
        world.run(3_000);
        let [sender, receiver] = world.ends.each_ref().map(Tunnel::status);
        assert!(world.delivered.is_sorted_by(|a, b| a < b), "seed {seed}: in order, each once");
        assert!(world.delivered.len() >= 2_995, "seed {seed}: {} delivered", world.delivered.len());
        assert!(receiver.received.recovered > 100, "seed {seed}: {:?}", receiver.received);
        assert_eq!(world.sources, 3_000, "seed {seed}: nothing is sent again");
        let repairs = sender.repairs;
        assert_eq!((repairs.exact, repairs.bulk, repairs.interactive), (0, 0, 0), "seed {seed}: {repairs:?}");
        let blocks = sender.blocks.unwrap();
        assert_eq!(blocks.shape, (16, 24));
        // 8 repairs for 16 packets.
        assert!((1_450..1_700).contains(&blocks.repairs) && blocks.blocks >= 187, "seed {seed}: {blocks:?}");
    }
}

#[test]
fn blocks_that_end_in_a_silence_get_their_repairs() {
    let mut world = World::new(7, block(4, BlockLength::Fixed(8)), 0.0);
    world.run_for(100, 100 * EVERY);
    world.loss = 1.0;
    world.run_for(200, 200 * EVERY);
    world.loss = 0.0;
    world.run(1_000);
    let sender = world.ends[0].status();
    assert!(sender.path.sent.silences > 0, "{:?}", sender.path.sent);
    let blocks = sender.blocks.unwrap();
    // Four repairs for each full block, and at least one for each other block.
    let least = 4 * (blocks.blocks - blocks.flushed) + blocks.flushed;
    assert!(blocks.blocks >= 250 && blocks.repairs >= least, "{blocks:?}");
}

#[test]
fn a_fixed_redundancy_lasts_for_packets_that_leave_alone() {
    let mut world = World::new(8, Code::Window, 0.0);
    let config = TunnelConfig { redundancy: Redundancy::Fixed(1.25), ..TunnelConfig::default() };
    world.ends[0] = Tunnel::new(Time::ZERO, config, 8);
    // One packet in 200 ms is far below the rate of a bulk flow.
    for _ in 0..500 {
        world.run_for(1, Duration::from_millis(200));
    }
    let repairs = world.ends[0].status().repairs;
    assert!((100..=130).contains(&repairs.bulk) && repairs.over_budget == 0, "{repairs:?}");
}

#[test]
fn without_repairs_nothing_is_recovered() {
    let mut world = World::new(1, block(16, BlockLength::Fixed(16)), 0.05);
    world.run(3_000);
    let [sender, receiver] = world.ends.each_ref().map(Tunnel::status);
    assert_eq!((receiver.received.recovered, receiver.received.repairs), (0, 0));
    assert_eq!((sender.blocks.unwrap().repairs, world.sources), (0, 3_000));
    // The losses of the path are those of the flow. The other packets arrive, in order.
    let lost = 3_000 - world.delivered.len();
    assert!((100..200).contains(&lost) && world.delivered.is_sorted_by(|a, b| a < b), "{lost} lost");
}

#[test]
fn n_is_chosen_by_the_model() {
    // For configured losses.
    let shape = |share, burst| {
        let mut world = World::new(2, block(16, BlockLength::For(Losses { share, burst })), 0.0);
        world.run(500);
        world.ends[0].status().blocks.unwrap().shape.1
    };
    let shapes = [shape(0.0, 1.0), shape(0.02, 1.0), shape(0.1, 1.0), shape(0.1, 3.0)];
    assert!(shapes[0] == 16 && shapes[1] > 16 && shapes[2] > shapes[1] && shapes[3] >= shapes[2], "{shapes:?}");
    // For measured losses: N follows the path.
    let mut world = World::new(3, block(16, BlockLength::Measured), 0.0);
    world.run(1_500);
    let clean = world.ends[0].status().blocks.unwrap();
    assert_eq!(clean.shape.1, 16, "a path without losses needs no repairs");
    world.loss = 0.1;
    world.run(1_500);
    let lossy = world.ends[0].status().blocks.unwrap();
    assert!(lossy.shape.1 > 17, "{lossy:?}");
    assert!(world.ends[1].status().received.recovered > 100);
}

#[test]
fn a_peer_that_ignores_block_repairs_is_noticed_once() {
    for is_old in [true, false] {
        let mut world = World::new(4, block(8, BlockLength::Fixed(12)), 0.02);
        world.is_old = is_old;
        world.run(1_000);
        let noticed = world.events.iter().filter(|event| **event == TunnelEvent::BlocksIgnored).count();
        assert_eq!(noticed, usize::from(is_old));
        assert_eq!(world.ends[1].status().received.recovered > 0, !is_old);
    }
}
