//! TCP/NC over random loss, reordering and repetition in both directions, and with forged packets.

use super::world::{Drive, Path, World};
use proptest::prelude::*;
use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::window::{Coding, Members};
use ripstop_codes::{Length, Symbol};
use ripstop_proto::session::Session;
use ripstop_schemes::nc::*;

fn path() -> impl Strategy<Value = Path> {
    (0.0..0.45, prop_oneof![Just(0.0), 0.0..0.3], prop_oneof![Just(0u64), 0..40u64])
        .prop_map(|(loss, repeat, jitter)| Path { loss, repeat, jitter })
}

fn config() -> impl Strategy<Value = NcConfig> {
    let rounding = prop_oneof![Just(Rounding::Accumulator), Just(Rounding::CoinFlip)];
    let redundancy = prop_oneof![
        (1.0..2.5, rounding)
            .prop_map(|(r, rounding)| CombinationRate::Fixed { factor: Factor::new(r).unwrap(), rounding }),
        Just(CombinationRate::Rule { window: 12, loss: MaskedLoss::Estimated, rounding: Rounding::Accumulator }),
        Just(CombinationRate::Adaptive),
    ];
    let window = prop_oneof![
        Just(CodingWindow::Whole),
        (1..15u32).prop_map(CodingWindow::Last),
        (1..15u32).prop_map(CodingWindow::Oldest)
    ];
    let retransmissions = prop_oneof![Just(Retransmissions::Coded), Just(Retransmissions::AsTheyAre)];
    let acknowledge = prop_oneof![Just(Acknowledge::EveryArrival), Just(Acknowledge::InnovativeOrRetransmission)];
    let coefficients = prop_oneof![Just(Coefficients::Nonzero), Just(Coefficients::AlsoZero)];
    (redundancy, window, retransmissions, acknowledge, coefficients, 24u32..200).prop_map(
        |(redundancy, window, retransmissions, acknowledge, coefficients, ahead)| NcConfig {
            redundancy,
            window,
            retransmissions,
            acknowledge,
            coefficients,
            ahead,
            ..NcConfig::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    /// No byte is wrong or missing. A run whose payloads are only lengths, not bytes, has the same
    /// log.
    #[test]
    fn everything_arrives(
        config in config(),
        forward in path(),
        back in path(),
        relays in prop::collection::vec(1.0..2.0, 0..3),
        seed: u64,
    ) {
        let mut bytes = World::<Symbol>::with_relays(config, 12, forward, back, seed, &relays);
        prop_assert!(bytes.run(150, 300_000), "{} delivered", bytes.delivered);
        let mut light = World::<Length>::with_relays(config, 12, forward, back, seed, &relays);
        prop_assert!(light.run(150, 300_000), "{} delivered", light.delivered);
        prop_assert!(bytes.log == light.log);
    }

    /// No packet causes a panic or large memory use.
    #[test]
    fn nonsense_is_survived(config in config(), seed: u64) {
        let mut random = Seed::new(seed).stream("nonsense");
        let mut sender = NcSender::new(config, Seed::new(seed)).unwrap();
        let mut receiver = NcReceiver::new(config).unwrap();
        let mut relay = NcRelay::new(config, Factor::new(1.5).unwrap(), Seed::new(seed)).unwrap();
        for step in 0..300 {
            let now = Time::from_nanos(random.next_u64() >> random.below(64));
            let packet = nonsense(&mut random);
            relay.take(now, packet.clone());
            receiver.take(now, packet);
            while let Some(packet) = relay.send() {
                receiver.take(now, packet);
            }
            while receiver.poll_deliver().is_some() {}
            sender.handle_inner(now, Segment { number: step, payload: Length(random.below(2_000) as usize) });
            sender.handle_inner(now, Segment { number: number(&mut random), payload: Length(1) });
            while sender.send().is_some() {}
            let mut ack = NcAck {
                first_unseen: number(&mut random),
                first_undecoded: number(&mut random),
                heard: number(&mut random),
                deficit: number(&mut random),
                highest: number(&mut random),
                received: number(&mut random),
            };
            sender.take(now, ack);
            ack.first_unseen = step / 2;
            ack.highest = step;
            sender.take(now, ack);
            while let Some(ack) = receiver.send() {
                sender.take(now, ack);
            }
            prop_assert!(receiver.rows() <= config.ahead as usize);
        }
        prop_assert!(sender.counts().invalid_acks > 0);
        // A relay forwards a packet that it cannot combine.
        prop_assert!(relay.counts().passed_on > 0 && receiver.counts().refused > 0);
    }
}

/// Any number; numbers near 0 and 2^64 come more often.
fn number(random: &mut Stream) -> u64 {
    match random.below(4) {
        0 => random.below(300),
        1 => u64::MAX - random.below(3),
        _ => random.next_u64() >> random.below(64),
    }
}

fn nonsense(random: &mut Stream) -> NcPacket<Length> {
    let mut ids: Vec<u64> = (0..random.below(90)).map(|_| number(random)).collect();
    ids.sort_unstable();
    ids.dedup();
    let start = number(random);
    let members = match random.below(4) {
        0 => Members::range(start..start.saturating_add(random.below(60))),
        1 => Members::range(start..number(random)),
        2 => Members::range(0..random.below(100)),
        _ => Members::unlimited(&ids).unwrap(),
    };
    let coding = match random.below(3) {
        0 => None,
        1 => Some(Coding::Explicit((0..random.below(70)).map(|_| random.next_u64() as u8).collect())),
        _ => Some(Coding::Seed(random.next_u64() as u16)),
    };
    NcPacket {
        number: number(random),
        oldest: number(random),
        retransmission: random.chance(0.5),
        members,
        coding,
        payload: Length(random.below(3_000) as usize),
        bytes: random.next_u64() as u32,
    }
}
