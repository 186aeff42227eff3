//! Tunnels with a block code in virtual time: any K of the N packets restore a block, losses are recovered without any
//! repetition, packets come in order, each at most once, and soon, N is what was asked for, and a peer that ignores block
//! repairs is noticed.

use proptest::prelude::*;
use ripstop_base::{Rate, Seed, Stream, Time};
use ripstop_codes::Symbol;
use ripstop_proto::coding::{BlockLength, BlockSettings, Code};
use ripstop_proto::control::loss::Losses;
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::control::redundancy::Redundancy;
use ripstop_proto::session::tunnel::{Tunnel, TunnelConfig, TunnelEvent};
use ripstop_proto::session::{Received, Reception, Session, Transmit};
use ripstop_proto::wire::{Datagram, MAX_BLOCK_REPAIRS, MAX_BLOCK_SOURCES, Packet, block_coding};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);
const EVERY: Duration = Duration::from_millis(4);

/// Two tunnels. End 0 sends packets of 1000 bytes of one flow, and its datagrams may be lost.
struct World {
    ends: [Tunnel<Symbol>; 2],
    random: Stream,
    loss: f64,
    /// The source symbols and the repairs of end 0 that are lost, each counted from 0 among all N packets of all blocks.
    lost: BTreeSet<u64>,
    /// How many source symbols and repairs end 0 has sent.
    coded: u64,
    /// Whether end 1 ignores block repairs.
    is_old: bool,
    now: Time,
    flying: BTreeMap<(Time, u64), Flying>,
    count: u64,
    /// Packets sent, and the packets delivered.
    sent: u32,
    delivered: Vec<u32>,
    /// The longest time from the entrance of a packet to its delivery.
    longest: Duration,
    events: Vec<TunnelEvent>,
    /// Source symbols that end 0 has sent.
    sources: u64,
}

/// A datagram on the way, and the end that it goes to.
type Flying = (usize, Transmit<Datagram<Symbol>>);

fn block(k: u8, n: BlockLength) -> Code {
    Code::Block(BlockSettings { k, n })
}

/// A UDP packet with a number, and with the time when it enters the tunnel. All packets have the same addresses and ports.
fn packet(number: u32, now: Time) -> Symbol {
    let mut bytes = vec![0; 1001];
    bytes[1] = 0x45;
    bytes[3..5].copy_from_slice(&1000u16.to_be_bytes());
    bytes[10] = 17;
    bytes[500..504].copy_from_slice(&number.to_be_bytes());
    bytes[504..512].copy_from_slice(&(now.since(Time::ZERO).as_nanos() as u64).to_be_bytes());
    Symbol::from_slice(&bytes)
}

impl World {
    fn new(seed: u64, code: Code, loss: f64) -> World {
        let config = |code| TunnelConfig { code, initial_rtt: Some(2 * DELAY), ..TunnelConfig::default() };
        World {
            lost: BTreeSet::new(),
            coded: 0,
            longest: Duration::ZERO,
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

    /// A world whose end 0 is told a rate that never limits it, so that blocks are as long as the source makes them. It
    /// loses the source symbols and the repairs of `lost`.
    fn losing(k: u8, n: u8, lost: impl IntoIterator<Item = u64>) -> World {
        let mut world = World::new(9, Code::Window, 0.0);
        let (code, rate) = (block(k, BlockLength::Fixed(n)), RateMode::Fixed(Rate::from_bps(50_000_000)));
        let config = TunnelConfig { code, rate, initial_rtt: Some(2 * DELAY), ..TunnelConfig::default() };
        world.ends[0] = Tunnel::new(Time::ZERO, config, 9);
        world.lost = lost.into_iter().collect();
        world
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
                self.ends[0].handle_inner(self.now, packet(self.sent, self.now));
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
                if n == 0 && matches!(out.packet.packet, Packet::Source { .. } | Packet::BlockRepair { .. }) {
                    self.sources += u64::from(matches!(out.packet.packet, Packet::Source { .. }));
                    self.coded += 1;
                    if self.lost.contains(&(self.coded - 1)) {
                        continue;
                    }
                }
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
            let (number, entered) = (&bytes[500..504], &bytes[504..512]);
            self.delivered.push(u32::from_be_bytes(number.try_into().unwrap()));
            let entered = Duration::from_nanos(u64::from_be_bytes(entered.try_into().unwrap()));
            self.longest = self.longest.max(self.now.since(Time::ZERO + entered));
        }
    }
}

#[test]
fn any_k_of_the_n_packets_restore_a_block() {
    let (k, n, blocks) = (8, 12, 100);
    let mut random = Seed::new(5).stream("places");
    // Of each block, four other packets are lost.
    let mut lost = BTreeSet::new();
    for block in 0..blocks {
        while lost.range(block * n..(block + 1) * n).count() < 4 {
            lost.insert(block * n + random.below(n));
        }
    }
    let lost_sources = lost.iter().filter(|at| *at % n < k).count() as u64;
    let mut world = World::losing(k as u8, n as u8, lost);
    world.run((blocks * k) as u32);
    let [sender, receiver] = world.ends.each_ref().map(Tunnel::status);
    assert_eq!(world.delivered, (0..(blocks * k) as u32).collect::<Vec<_>>());
    let sent = sender.blocks.unwrap();
    assert_eq!((sent.blocks, sent.flushed, sent.repairs), (blocks, 0, 4 * blocks));
    assert_eq!((receiver.received.recovered, receiver.received.given_up), (lost_sources, 0));
    // Nothing is sent again, and no report causes a repair.
    let repairs = sender.repairs;
    assert_eq!((world.sources, repairs.exact, repairs.bulk, repairs.interactive), (blocks * k, 0, 0, 0));
}

#[test]
fn a_block_that_lost_too_much_holds_its_flow_up_only_for_a_short_time() {
    // Block 1 is packets 10 to 19. It loses three of its source symbols, and two repairs arrive.
    let mut world = World::losing(8, 10, [12, 13, 16]);
    world.run(80);
    let expected: Vec<u32> = (0..80).filter(|number| ![10, 11, 14].contains(number)).collect();
    assert_eq!(world.delivered, expected, "all other packets come, in order, each once");
    let receiver = world.ends[1].status().received;
    assert_eq!((receiver.recovered, receiver.given_up), (0, 3));
    // The least wait for a block's end is 10 ms. The peer waits for two of them and 50 ms, and a quarter more.
    assert!(world.longest > DELAY + Duration::from_millis(60), "{:?}", world.longest);
    assert!(world.longest < DELAY + Duration::from_millis(150), "{:?}", world.longest);
}

#[test]
fn a_pause_ends_a_block_with_its_share_of_the_repairs() {
    // Two blocks of three packets, of which each gets one repair, and each loses its second packet.
    let mut world = World::losing(8, 10, [1, 5]);
    world.run(3);
    world.run(3);
    assert_eq!(world.delivered, [0, 1, 2, 3, 4, 5]);
    let sent = world.ends[0].status().blocks.unwrap();
    assert_eq!((sent.blocks, sent.flushed, sent.repairs), (2, 2, 2));
    assert_eq!(world.ends[1].status().received.recovered, 2);
}

#[test]
fn repairs_outside_the_limits_have_no_meaning() {
    let (most_k, most) = (MAX_BLOCK_SOURCES, MAX_BLOCK_REPAIRS);
    assert!(block_coding(7, 1, 0).is_some() && block_coding(7, most_k, most - 1).is_some());
    for (first, k, number) in [(7, 0, 0), (7, most_k + 1, 0), (7, 4, most), (u64::MAX - 2, 4, 0)] {
        assert!(block_coding(first, k, number).is_none(), "first {first}, K = {k}, repair {number}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever is lost, packets come in order, each at most once. If all blocks are full and no more than N - K packets
    /// are lost, all packets come.
    #[test]
    fn packets_come_in_order_and_few_losses_are_repaired(
        k in 1u8..20,
        repairs in 0u8..10,
        lost in prop::collection::btree_set(0u64..150, 0..40),
        pauses in prop::collection::vec(1u32..30, 0..4),
    ) {
        let is_bearable = lost.len() <= usize::from(repairs) && pauses.is_empty();
        let mut world = World::losing(k, k + repairs, lost);
        for packets in pauses {
            world.run_for(packets, packets * EVERY + Duration::from_millis(100));
        }
        let packets = u32::from(k) * (60 / u32::from(k));
        world.run(packets);
        prop_assert!(world.delivered.is_sorted_by(|a, b| a < b));
        let receiver = world.ends[1].status();
        prop_assert_eq!(receiver.order.delivered, world.delivered.len() as u64);
        prop_assert_eq!(world.sources, u64::from(world.sent));
        if is_bearable {
            prop_assert_eq!(world.delivered, (0..packets).collect::<Vec<_>>());
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
