//! TCP/LT in virtual time: all packets are delivered in order, byte for byte, in each mode. Each mechanism has a
//! counter, and a test that needs the mechanism.

mod hostile;
mod restarts;
mod sequences;
mod world;

use ripstop_base::Time;
use ripstop_codes::Symbol;
use ripstop_codes::lt::{LtCode, RobustSoliton};
use ripstop_proto::session::{Received, Reception, Session};
use ripstop_schemes::lt::*;
use ripstop_schemes::nc::Factor;
use std::time::Duration;
use world::{Path, World, content, mesh};

/// The path losses of three links that lose 0, .1 and .2 each.
const LOSSES: [f64; 3] = [0.0, 0.271, 0.488];

fn seconds(seconds: f64) -> Time {
    Time::from_secs_f64(seconds)
}

/// Sends `packets` packets over a path with this loss in both directions.
fn through(config: LtConfig, loss: f64, packets: u64) -> World {
    let mut world = World::new(config, mesh(loss), mesh(loss), 7);
    assert!(world.run(packets, seconds(2000.0)), "{config:?}, loss {loss}: {} delivered", world.delivered);
    assert_eq!(world.receiver.counts().delivered, packets);
    assert!(world.events.is_empty());
    world
}

/// An improved sender with an open connection.
fn open(config: LtConfig) -> LtSender<Symbol> {
    let mut sender = LtSender::new(config, 1).unwrap();
    sender.handle_inner(Time::ZERO, LtInner::Open);
    assert!(matches!(sender.poll_transmit(Time::ZERO).unwrap().packet, LtPacket::Open { session: 1 }));
    let packet = LtAck { session: 1, report: LtReport::Opened, rate: None };
    sender.handle_datagram(Time::ZERO, Received { packet, bytes: 45, reception: Reception::default() });
    assert_eq!(sender.poll_deliver(), Some(TcpAck { next: 0, room: Some(config.buffer) }));
    sender
}

#[test]
fn all_codes_and_modes_deliver_everything() {
    let soliton = LtCode::Soliton(RobustSoliton::default());
    let lt = [LtCode::Systematic, LtCode::Optimised, soliton].map(BlockCode::Lt);
    for code in lt.into_iter().chain([BlockCode::Rlnc, BlockCode::Mds]) {
        for mode in [LtMode::Repaired, LtMode::Improved] {
            for loss in LOSSES {
                let world = through(LtConfig { code, ..LtConfig::new(mode) }, loss, 300);
                let counts = world.receiver.counts();
                assert_eq!(counts.innovative, 300);
                if matches!(code, BlockCode::Rlnc | BlockCode::Mds) {
                    assert!(counts.redundant <= 3, "{code:?}: {counts:?}");
                }
            }
        }
    }
}

#[test]
fn blocks_of_all_sizes_deliver_everything() {
    for size in [1, 2, 7, 8, 16, 33, 64] {
        for mode in [LtMode::Repaired, LtMode::Improved] {
            let config = LtConfig { block: BlockSize::Fixed(size), ..LtConfig::new(mode) };
            let world = through(config, 0.271, 200);
            assert!(world.sender.counts().blocks >= 200 / u64::from(size));
        }
    }
    let auto = LtConfig { block: BlockSize::Auto, ..LtConfig::new(LtMode::Improved) };
    assert!(through(auto, 0.271, 200).sender.counts().blocks < 200);
}

/// Paper 004's algorithms as printed: the receiving timer ends one time, its LT-ACK is lost, and neither end sends
/// again.
#[test]
fn the_algorithms_as_printed_stop_for_ever_and_the_repaired_ones_do_not() {
    let mut world = World::new(LtConfig::new(LtMode::Paper), mesh(0.1), mesh(0.1), 7);
    assert!(!world.run(2_000, seconds(2000.0)));
    let stopped_at = world.delivered;
    assert!(stopped_at > 0, "the first blocks must pass");
    // Only TCP still has a timer, and its packets are in the gateway already.
    assert_eq!((world.sender.poll_timeout(), world.receiver.poll_timeout()), (None, None));
    assert!(world.sender.counts().repeated > 0);
    assert!(world.sender.blocks_in_flight() > 0);
    assert!(!world.run(2_000, seconds(4000.0)));
    assert_eq!(world.delivered, stopped_at);
    let repaired = through(LtConfig::new(LtMode::Repaired), 0.1, 2_000);
    let (sender, receiver) = (repaired.sender.counts(), repaired.receiver.counts());
    assert!(sender.timeouts > 0 && receiver.timeouts > 0 && receiver.late > 0, "{sender:?} {receiver:?}");
}

#[test]
fn without_loss_the_algorithms_as_printed_work() {
    let config = LtConfig { code: BlockCode::Lt(LtCode::Systematic), ..LtConfig::new(LtMode::Paper) };
    let world = through(config, 0.0, 500);
    let counts = world.sender.counts();
    assert_eq!((counts.packets, counts.timeouts, world.receiver.counts().redundant), (500, 0, 0));
    assert!(counts.flushed > 0, "TCP begins with fewer packets than a block");
    assert_eq!(counts.tcp_acks, counts.blocks, "one acknowledgement for each block");
    let repaired = through(LtConfig { mode: LtMode::Repaired, ..config }, 0.0, 500);
    assert_eq!(repaired.sender.counts().tcp_acks, 500, "one acknowledgement for each packet");
}

/// Equation (11) gives 0 at a low rate. The bound of 1 block keeps the flow alive.
#[test]
fn equation_11_is_bounded_by_one_block() {
    let mut world = World::new(LtConfig::new(LtMode::Repaired), mesh(0.0), mesh(0.0), 7);
    world.sender.set_rate(8_000);
    assert!(world.run(200, seconds(2000.0)));
    assert!(world.sender.counts().clamped > 0);
}

#[test]
fn the_improved_mode_repairs_losses_with_symbols_that_are_lacking() {
    let world = through(LtConfig::new(LtMode::Improved), 0.271, 2_000);
    let (sender, receiver) = (world.sender.counts(), world.receiver.counts());
    assert!(sender.topped_up > 0 && sender.requests > 0 && sender.window_updates > 0 && sender.opens > 0);
    let waste = receiver.redundant + receiver.late;
    assert!(waste < 2_000 / 10, "{waste} of {} packets were of no use", receiver.packets);
    let repaired = through(LtConfig::new(LtMode::Repaired), 0.271, 2_000);
    assert!(world.now < repaired.now, "improved {:?}, repaired {:?}", world.now, repaired.now);
    // The bound of the path: one packet takes 28 ms or less, because packets have 470 bytes on average.
    assert!((world.sender.loss() - 0.271).abs() < 0.15, "{}", world.sender.loss());
    assert!(world.sender.block_time().is_some_and(|time| time > 0.0));
}

#[test]
fn the_memory_is_bounded_by_the_settings() {
    let config = LtConfig { most_blocks: 4, buffer: 8, most_held: 16, ..LtConfig::new(LtMode::Improved) };
    let world = through(config, 0.488, 500);
    assert!(world.receiver.counts().most_blocks <= 4);
    assert!(world.sender.counts().most_held <= 4 * 16 + 16);
    // A TCP that ignores the window does not grow the memory either.
    let mut sender = open(config);
    for number in 0..1000 {
        sender.handle_inner(Time::ZERO, LtInner::Segment(Segment { number, payload: content(number) }));
    }
    assert!(sender.held() <= 16 + 16);
    assert!(sender.counts().refused >= 1000 - 32);
}

/// In a blackout the sender sends probes and forgets none of them by itself. The lists of packets whose fate is unknown
/// must not grow with the length of the blackout.
#[test]
fn a_long_blackout_does_not_grow_the_memory() {
    for mode in [LtMode::Repaired, LtMode::Improved] {
        let config = LtConfig { window: 4, most_blocks: 2, ..LtConfig::new(mode) };
        let blackout = Some((seconds(2.0), seconds(20_000.0)));
        let mut world = World::new(config, Path { blackout, ..mesh(0.0) }, mesh(0.0), 7);
        assert!(!world.run(2_000, seconds(19_000.0)), "{mode:?}");
        let (most, remembered) = (config.most_remembered(), world.sender.remembered());
        assert!(remembered <= most, "{mode:?}: {remembered}");
        assert!(world.sender.counts().timeouts as usize > most, "{mode:?}: {:?}", world.sender.counts());
        assert!(world.run(2_000, seconds(30_000.0)), "{mode:?}: the session goes on");
    }
}

/// The symbols of a large block at a large redundancy need minutes at the rate that is assumed without a rate.
#[test]
fn the_repaired_mode_waits_for_feedback_for_a_bounded_time() {
    let first_round = FirstRound::Fixed(Factor::new(10.0).unwrap());
    let config = LtConfig { block: BlockSize::Fixed(64), first_round, ..LtConfig::new(LtMode::Repaired) };
    let mut sender = LtSender::<Symbol>::new(config, 1).unwrap();
    for number in 0..64 {
        sender.handle_inner(Time::ZERO, LtInner::Segment(Segment { number, payload: content(number) }));
    }
    assert_eq!(std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).count(), 640);
    let due = sender.poll_timeout().unwrap();
    assert!(seconds(20.0) < due && due < seconds(31.0), "{due:?}");
}

/// Packets that came early fill the sender's memory. The packet that they wait for must still find room.
#[test]
fn early_packets_leave_room_for_the_missing_one() {
    let config = LtConfig { most_held: 8, buffer: 8, ..LtConfig::new(LtMode::Improved) };
    let mut sender = open(config);
    for number in (1..20).chain([0]) {
        sender.handle_inner(Time::ZERO, LtInner::Segment(Segment { number, payload: content(number) }));
    }
    let counts = sender.counts();
    assert_eq!((counts.accepted, counts.out_of_order, counts.refused), (8, 7, 12));
}

/// A small buffer closes the window with each packet. The sender must open it again by itself, because TCP's window
/// probe comes only after a second.
#[test]
fn a_window_of_a_small_buffer_opens_again() {
    for buffer in [1, 2, 3, 4] {
        let config = LtConfig { buffer, ..LtConfig::new(LtMode::Improved) };
        let mut world = World::new(config, mesh(0.0), mesh(0.0), 7);
        assert!(world.run(100, seconds(10.0)), "buffer {buffer}: {} delivered at {:?}", world.delivered, world.now);
        assert!(world.sender.counts().window_updates > 0);
    }
}

#[test]
fn a_rate_is_not_larger_than_an_lt_ack_can_carry() {
    let mut receiver = LtReceiver::<Symbol>::new(LtConfig::new(LtMode::Improved)).unwrap();
    receiver.set_rate(u64::MAX);
    receiver.handle_datagram(
        Time::ZERO,
        Received { packet: LtPacket::Open { session: 1 }, bytes: 45, reception: Reception::default() },
    );
    receiver.handle_inner(Time::ZERO, Accepted);
    let ack = receiver.poll_transmit(Time::ZERO).unwrap().packet;
    assert_eq!(ack.rate, Some(MAX_RATE));
    assert_eq!(ack.wrong_field(), None);
}

#[test]
fn a_fixed_redundancy_decides_the_first_round() {
    let first_round = FirstRound::Fixed(Factor::new(1.5).unwrap());
    let world = through(LtConfig { first_round, ..LtConfig::new(LtMode::Repaired) }, 0.0, 160);
    let counts = world.sender.counts();
    assert!(counts.packets >= 240, "{counts:?}");
}

#[test]
fn packets_out_of_order_are_kept_and_the_gap_is_reported() {
    let mut sender = open(LtConfig::new(LtMode::Improved));
    let give = |sender: &mut LtSender<Symbol>, number| {
        let segment = Segment { number, payload: content(number) };
        sender.handle_inner(Time::ZERO, LtInner::Segment(segment));
        std::iter::from_fn(|| sender.poll_deliver()).map(|ack| ack.next).collect::<Vec<_>>()
    };
    assert_eq!(give(&mut sender, 0), [1]);
    assert_eq!(give(&mut sender, 2), [1], "a repeated acknowledgement");
    assert_eq!(give(&mut sender, 3), [1]);
    assert_eq!(give(&mut sender, 1), [2, 3, 4]);
    assert_eq!(give(&mut sender, 1), [4], "TCP sends a packet again that the sender has");
    let counts = sender.counts();
    assert_eq!((counts.out_of_order, counts.repeated_acks, counts.repeated), (2, 3, 1));
}

/// A window of 24 packets asks in each sixth packet, and a window of 8 packets in each second one.
#[test]
fn a_small_window_asks_for_more_answers() {
    let packets_per_request = |window: u32| {
        let counts = through(LtConfig { window, ..LtConfig::new(LtMode::Improved) }, 0.0, 2_000).sender.counts();
        counts.packets as f64 / counts.requests as f64
    };
    let [large, small] = [24, 8].map(packets_per_request);
    assert!((3.0..=6.0).contains(&large) && (1.0..=2.0).contains(&small), "large {large}, small {small}");
}

/// Without any answer, the first four probes have one symbol, and each further probe has twice as many.
#[test]
fn probes_grow_after_four_without_an_answer() {
    let mut sender = open(LtConfig::new(LtMode::Improved));
    for number in 0..16 {
        sender.handle_inner(Time::ZERO, LtInner::Segment(Segment { number, payload: content(number) }));
    }
    while sender.poll_transmit(Time::ZERO).is_some() {}
    let mut probes = Vec::new();
    while probes.len() < 9 {
        let now = sender.poll_timeout().unwrap();
        let before = sender.counts();
        sender.handle_timeout(now);
        while sender.poll_transmit(now).is_some() {}
        let after = sender.counts();
        if after.timeouts > before.timeouts {
            probes.push(after.packets - before.packets);
        }
    }
    assert_eq!(probes, [1, 1, 1, 1, 2, 4, 8, 16, 16]);
}

#[test]
fn a_request_to_open_is_repeated_until_it_is_answered_or_too_old() {
    let config = LtConfig::new(LtMode::Improved);
    let mut sender = LtSender::<Symbol>::new(config, 1).unwrap();
    assert_eq!(sender.poll_timeout(), None);
    sender.handle_inner(Time::ZERO, LtInner::Open);
    let mut now = Time::ZERO;
    while let Some(due) = sender.poll_timeout() {
        now = due;
        sender.handle_timeout(now);
        while sender.poll_transmit(now).is_some() {}
    }
    // One copy, two, four, and eight at each later time.
    let copies = |times: u64| 1 + 2 + 4 + 8 * (times - 3);
    assert!((copies(25)..copies(40)).contains(&sender.counts().opens), "{:?}", sender.counts());
    assert!(seconds(57.0) < now && now < seconds(60.0));
    sender.handle_inner(Time::ZERO, LtInner::Segment(Segment { number: 0, payload: content(0) }));
    assert_eq!(sender.counts().refused, 1, "TCP sends no data before the connection is open");
    // TCP sends its SYN again.
    sender.handle_inner(seconds(70.0), LtInner::Open);
    assert!(sender.poll_timeout().is_some());
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let usual = LtConfig::new(LtMode::Improved);
    let wrong = [
        LtConfig { block: BlockSize::Fixed(0), ..usual },
        LtConfig { block: BlockSize::Fixed(65), ..usual },
        LtConfig { block: BlockSize::Auto, ..LtConfig::new(LtMode::Repaired) },
        LtConfig { packet_bytes: 0, ..usual },
        LtConfig { window: 0, ..usual },
        LtConfig { most_blocks: 1 << 20, ..usual },
        LtConfig { buffer: 64, most_held: 32, ..usual },
    ];
    for config in wrong {
        let error = LtSender::<Symbol>::new(config, 1).err().unwrap();
        assert_eq!(LtReceiver::<Symbol>::new(config).err(), Some(error), "{config:?}");
        assert!(error.to_string().len() > 20);
    }
    assert!(LtConfig { receiving_timer: Duration::from_millis(1), ..usual }.check().is_ok());
}

/// `ripstop plan` predicts the protocol, so it must know the protocol's numbers.
#[test]
fn the_planner_knows_the_protocol() {
    use ripstop_model::plan::lt as plan;
    assert_eq!(f64::from(REQUEST_EVERY), plan::REQUEST_EVERY);
    assert_eq!((LEAST_REQUESTS, PACE), (plan::LEAST_REQUESTS, plan::PACE));
    assert_eq!(MAX_BLOCK, plan::BLOCK as usize);
    let usual = LtConfig::new(LtMode::Improved);
    assert_eq!(usual.most_blocks, plan::BLOCKS);
    let with_window = |window| LtConfig { window, ..usual }.check();
    assert!(with_window(plan::LARGEST_WINDOW).is_ok() && with_window(plan::LARGEST_WINDOW + 1).is_err());
}
