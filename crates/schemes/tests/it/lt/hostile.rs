//! Random hostile paths, and random packets from a hostile peer.

use super::world::{Path, World, content, mesh};
use proptest::prelude::*;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use ripstop_codes::lt::LtCode;
use ripstop_proto::session::{Received, Reception, Session};
use ripstop_schemes::lt::*;
use std::time::Duration;

fn path() -> impl Strategy<Value = Path> {
    (0.0..0.6f64, 0u64..200, 0u64..60, 0.0..0.2f64, 5usize..60, prop::option::of((1u64..20, 1u64..20))).prop_map(
        |(loss, delay, jitter, repeat, queue, blackout)| Path {
            loss,
            delay: Duration::from_millis(delay),
            jitter: Duration::from_millis(jitter),
            repeat,
            queue,
            blackout: blackout
                .map(|(from, len)| (Time::from_millis(1000 * from), Time::from_millis(1000 * (from + len)))),
            ..mesh(0.0)
        },
    )
}

fn config() -> impl Strategy<Value = LtConfig> {
    let codes = prop_oneof![
        Just(BlockCode::Lt(LtCode::Systematic)),
        Just(BlockCode::Lt(LtCode::Optimised)),
        Just(BlockCode::Rlnc),
        Just(BlockCode::Mds),
    ];
    (any::<bool>(), codes, 1u8..=64, 1u32..80, 1u32..64, 1u32..80).prop_map(
        |(is_improved, code, k, window, most_blocks, buffer)| {
            let mode = if is_improved { LtMode::Improved } else { LtMode::Repaired };
            LtConfig { code, block: BlockSize::Fixed(k), window, most_blocks, buffer, ..LtConfig::new(mode) }
        },
    )
}

fn state() -> impl Strategy<Value = BlockState> {
    (any::<u8>(), any::<u64>()).prop_map(|(missing, known)| BlockState { missing, known })
}

fn report() -> impl Strategy<Value = LtReport> {
    prop_oneof![
        (0u64..20, 0u32..100, 0u32..100, any::<bool>())
            .prop_map(|(block, received, heard, is_decoded)| LtReport::Block { block, received, heard, is_decoded }),
        (0u64..100, 0u64..100, 0u64..20, prop::collection::vec(state(), 0..10))
            .prop_map(|(heard, received, decoded, blocks)| LtReport::All { heard, received, decoded, blocks }),
        (any::<u64>(), any::<u64>(), any::<u64>(), prop::collection::vec(state(), 0..10))
            .prop_map(|(heard, received, decoded, blocks)| LtReport::All { heard, received, decoded, blocks }),
        Just(LtReport::Opened),
    ]
}

proptest! {
    /// Bytes out equal bytes in, and the session goes on after a blackout.
    #[test]
    fn everything_arrives_over_hostile_paths(config in config(), there in path(), back in path(), seed: u64) {
        let mut world = World::new(config, there, back, seed);
        prop_assert!(
            world.run(120, Time::from_secs_f64(20_000.0)),
            "{} of 120 packets are delivered and {} acknowledged at {:?}", world.delivered, world.acknowledged, world.now
        );
        prop_assert!(world.events.is_empty());
        prop_assert!(world.receiver.counts().most_blocks <= u64::from(config.most_blocks));
    }

    /// LT-ACKs that no receiver would send do not panic, and do not acknowledge what is not accepted.
    #[test]
    fn a_sender_survives_any_lt_acks(config in config(), acks in prop::collection::vec((report(), prop::option::of(any::<u64>())), 0..40)) {
        let mut sender = LtSender::<Symbol>::new(config, 1).unwrap();
        sender.handle_inner(Time::ZERO, LtInner::Open);
        let mut now = Time::ZERO;
        for (number, (report, rate)) in acks.into_iter().enumerate() {
            now += Duration::from_millis(40);
            let number = number as u64;
            sender.handle_inner(now, LtInner::Segment(Segment { number, payload: content(number) }));
            let packet = LtAck { session: 1, report, rate };
            sender.handle_datagram(now, Received { packet, bytes: 60, reception: Reception::default() });
            sender.handle_timeout(now);
            let sent = std::iter::from_fn(|| sender.poll_transmit(now)).take(10_000).count();
            prop_assert!(sent < 10_000);
            while let Some(ack) = sender.poll_deliver() {
                prop_assert!(ack.next <= number + 1);
            }
            prop_assert!(sender.poll_timeout().is_none_or(|due| due >= Time::ZERO));
        }
    }

    /// Symbols that no sender would send do not panic, and cannot grow the memory beyond its bound.
    #[test]
    fn a_receiver_survives_any_symbols(
        config in config(),
        symbols in prop::collection::vec((0u64..80, any::<u8>(), any::<u32>(), any::<u32>(), any::<u64>(), any::<bool>()), 0..60),
    ) {
        let mut receiver = LtReceiver::<Symbol>::new(config).unwrap();
        receiver.handle_datagram(Time::ZERO, Received { packet: LtPacket::Open { session: 1 }, bytes: 45, reception: Reception::default() });
        receiver.handle_inner(Time::ZERO, Accepted);
        for (block, k, symbol, index, number, request) in symbols {
            let payload = content(number % 50);
            let symbol = LtSymbol { session: 1, number, oldest: 0, block, k, symbol: symbol % 200, index, request, payload };
            receiver.handle_datagram(Time::ZERO, Received { packet: LtPacket::Symbol(symbol), bytes: 900, reception: Reception::default() });
            receiver.handle_timeout(Time::from_millis(500));
            while receiver.poll_transmit(Time::ZERO).is_some() {}
        }
        prop_assert!(receiver.blocks() <= config.most_blocks as usize);
    }
}
