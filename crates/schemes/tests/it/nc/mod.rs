//! TCP/NC in virtual time: all segments are delivered in order, byte for byte, on each path. Each option has an effect,
//! and a counter shows the effect.

mod hostile;
mod world;

use ripstop_base::{Fraction, Seed, Time};
use ripstop_codes::{Length, Symbol};
use ripstop_proto::session::Session;
use ripstop_schemes::nc::*;
use std::time::Duration;
use world::{Drive, Path, World};

const LOSSY: Path = Path { loss: 0.1, repeat: 0.0, jitter: 0 };
const CLEAN: Path = Path { loss: 0.0, repeat: 0.0, jitter: 0 };

fn factor(r: f64) -> NcConfig {
    NcConfig::with_factor(Factor::new(r).unwrap())
}

/// Sends 2000 segments in two runs: with payloads of bytes, and with payloads that are only lengths. Checks that both
/// runs are equal.
fn through(config: NcConfig, forward: Path, back: Path, relays: &[f64]) -> World<Symbol> {
    let mut bytes = World::<Symbol>::with_relays(config, 20, forward, back, 5, relays);
    let mut light = World::<Length>::with_relays(config, 20, forward, back, 5, relays);
    assert!(bytes.run(2_000, 400_000), "{config:?}: {} delivered", bytes.delivered);
    assert!(light.run(2_000, 400_000), "{config:?}: {} delivered", light.delivered);
    assert!(bytes.log == light.log, "{config:?}: the runs differ in acknowledgements or deliveries");
    assert_eq!(bytes.sender.counts(), light.sender.counts());
    let mut without_bytes = [bytes.receiver.counts(), light.receiver.counts()];
    if !relays.is_empty() {
        // With relays the lengths of combinations may differ: a decoded payload may end in zeros.
        without_bytes.iter_mut().for_each(|counts| counts.bytes = 0);
    }
    assert_eq!(without_bytes[0], without_bytes[1]);
    let counts = bytes.receiver.counts();
    assert_eq!((counts.decoded, counts.delivered, counts.refused), (2_000, 2_000, 0));
    assert_eq!(bytes.receiver.decode_delays().count(), 2_000);
    bytes
}

/// Paper 000, fig. 1: three combinations of three packets are sent, and the second combination is lost. Each
/// combination that arrives makes a packet *seen*. TCP gets an acknowledgement of each seen packet and notices no loss.
/// The sender releases seen packets. The receiver decodes the packets when a third combination arrives.
#[test]
fn figure_1_of_paper_000() {
    let (mut sender, mut receiver) =
        (NcSender::new(NcConfig::default(), Seed::new(1)).unwrap(), NcReceiver::new(NcConfig::default()).unwrap());
    let payload = |n: u64| Symbol::from_slice(&[n as u8 + 1; 100]);
    for number in 0..3 {
        sender.handle_inner(Time::ZERO, Segment { number, payload: payload(number) });
    }
    let mut packets: Vec<NcPacket<Symbol>> = std::iter::from_fn(|| sender.send()).collect();
    assert_eq!(packets.len(), 3);
    assert!(packets.iter().all(|p| p.members.len() == 3 && p.bytes == 140));
    packets.remove(1);
    for (packet, unseen) in packets.into_iter().zip([1, 2]) {
        receiver.take(Time::from_millis(unseen), packet);
        let ack = receiver.send().unwrap();
        assert_eq!((ack.first_unseen, ack.first_undecoded, ack.heard, ack.deficit), (unseen, 0, 3, 3 - unseen));
        assert_eq!(receiver.poll_deliver(), None, "a segment that is only seen must not be delivered");
        sender.take(Time::from_millis(unseen), ack);
        assert_eq!(sender.poll_deliver(), Some(unseen));
        assert_eq!(sender.held() as u64, 3 - unseen, "the sender must release seen segments");
    }
    assert_eq!(receiver.rows(), 2);
    // TCP's time-out causes a combination of the segments that the sender still holds.
    sender.handle_inner(Time::from_millis(9), Segment { number: 2, payload: payload(2) });
    let packet = sender.send().unwrap();
    assert!(packet.retransmission && packet.oldest == 2 && packet.members.len() == 1);
    receiver.take(Time::from_millis(10), packet);
    for number in 0..3 {
        assert_eq!(receiver.poll_deliver(), Some((number, payload(number))));
    }
    assert_eq!(receiver.send().unwrap().first_unseen, 3);
    let delays = receiver.decode_delays();
    assert_eq!(
        (delays.count(), delays.max()),
        (3, Some(Duration::from_millis(9))),
        "seen at 1, 2 and 10 ms, decoded at 10 ms"
    );
    assert!((delays.mean_s().unwrap() - 0.017 / 3.0).abs() < 1e-9);
    assert_eq!((receiver.rows(), receiver.counts().most_rows), (0, 2));
    assert!((receiver.mean_rows() - 17.0 / 9.0).abs() < 1e-9, "{}", receiver.mean_rows());
}

#[test]
fn a_clean_path_needs_nothing_more_than_the_segments() {
    let world = through(NcConfig::default(), CLEAN, CLEAN, &[]);
    let sent = world.sender.counts();
    assert_eq!((sent.combinations, sent.retransmissions, sent.repeated_acks), (2_000, 0, 0));
    assert_eq!(world.receiver.counts().innovative, 2_000);
    assert_eq!(world.receiver.decode_delays().max(), Some(Duration::ZERO));
}

#[test]
fn losses_are_hidden_from_tcp() {
    // With R = 1, only TCP's time-outs repair losses. R = 1.3 masks nearly all losses.
    let bare = through(NcConfig::default(), LOSSY, LOSSY, &[]).sender.counts();
    let world = through(factor(1.3), LOSSY, LOSSY, &[]);
    let masked = world.sender.counts();
    assert!(bare.retransmissions > 100, "{bare:?}");
    assert!(masked.retransmissions <= 2, "{masked:?}");
    assert_eq!(masked.combinations, (masked.segments * 13) / 10, "13 combinations for 10 segments");
    let counts = world.receiver.counts();
    assert!(counts.redundant > 100 && counts.repeated_acks == counts.redundant, "{counts:?}");
    assert!(masked.repeated_acks > 100 && masked.repeated_acks <= counts.repeated_acks, "{masked:?}");
    assert!(counts.most_rows > 1 && world.receiver.mean_rows() > 0.01);
    assert!(masked.most_held > 12 && world.receiver.decode_delays().max() > Some(Duration::ZERO));
}

#[test]
fn lost_acknowledgements_do_no_lasting_harm() {
    let back = Path { loss: 0.6, ..CLEAN };
    through(factor(1.3), LOSSY, back, &[]);
}

#[test]
fn reordered_and_repeated_packets_are_harmless() {
    let rough = Path { loss: 0.1, repeat: 0.2, jitter: 15 };
    let mut world = World::<Symbol>::new(factor(1.2), 20, rough, rough, 3);
    assert!(world.run(2_000, 400_000), "{}", world.delivered);
}

/// All acknowledgements of a flight are lost. TCP's retransmissions are not innovative, so a receiver that acknowledges
/// only innovative packets never sends an acknowledgement again.
#[test]
fn answering_innovative_packets_only_deadlocks() {
    let outcome = |acknowledge| {
        let config = NcConfig { acknowledge, ..NcConfig::default() };
        let mut sender = NcSender::new(config, Seed::new(1)).unwrap();
        let mut receiver = NcReceiver::new(config).unwrap();
        for number in 0..5 {
            sender.handle_inner(Time::ZERO, Segment { number, payload: Length(1000) });
            receiver.take(Time::ZERO, sender.send().unwrap());
        }
        while receiver.send().is_some() {}
        let mut una = 0;
        for round in 0..500 {
            sender.handle_inner(Time::from_millis(round), Segment { number: una, payload: Length(1000) });
            while let Some(packet) = sender.send() {
                receiver.take(Time::from_millis(round), packet);
            }
            while let Some(ack) = receiver.send() {
                sender.take(Time::from_millis(round), ack);
            }
            while let Some(ack) = sender.poll_deliver() {
                una = ack;
            }
            if una == 5 {
                break;
            }
        }
        (una, receiver.counts())
    };
    let (una, counts) = outcome(Acknowledge::Innovative);
    assert_eq!((una, counts.unanswered, counts.redundant), (0, 500, 500), "the deadlock must occur");
    let (una, counts) = outcome(Acknowledge::InnovativeOrRetransmission);
    assert_eq!((una, counts.unanswered, counts.answered_retransmissions), (5, 0, 1));
    assert_eq!(outcome(Acknowledge::EveryArrival).0, 5);
}

#[test]
fn answers_to_retransmissions_keep_the_innovative_only_rule_alive() {
    let config = NcConfig { acknowledge: Acknowledge::InnovativeOrRetransmission, ..factor(1.2) };
    let world = through(config, LOSSY, Path { loss: 0.5, ..CLEAN }, &[]);
    let counts = world.receiver.counts();
    assert!(counts.unanswered > 50, "{counts:?}");
    assert_eq!(counts.acks + counts.unanswered, counts.packets);
}

#[test]
fn retransmissions_may_be_sent_as_they_are() {
    let config = NcConfig { retransmissions: Retransmissions::AsTheyAre, ..factor(1.05) };
    let world = through(config, LOSSY, LOSSY, &[]);
    let counts = world.sender.counts();
    assert!(counts.as_they_are > 20 && counts.as_they_are == counts.retransmissions, "{counts:?}");
}

#[test]
fn dropped_retransmissions_leave_tcp_hanging() {
    let config = NcConfig { retransmissions: Retransmissions::Dropped, ..NcConfig::default() };
    let mut world = World::<Length>::new(config, 20, LOSSY, CLEAN, 1);
    assert!(!world.run(2_000, 50_000), "the last segment of a window was lost, and nothing repairs it");
    assert!(world.sender.counts().dropped > 100);
}

#[test]
fn coding_windows_leave_segments_out() {
    let last = through(NcConfig { window: CodingWindow::Last(4), ..factor(1.25) }, LOSSY, LOSSY, &[]);
    assert!(last.sender.counts().passed_over > 1_000, "{:?}", last.sender.counts());
    let oldest = through(NcConfig { window: CodingWindow::Oldest(4), ..factor(1.25) }, LOSSY, LOSSY, &[]);
    assert!(oldest.sender.counts().held_back > 1_000, "{:?}", oldest.sender.counts());
    let whole = through(factor(1.25), LOSSY, LOSSY, &[]);
    assert_eq!((whole.sender.counts().passed_over, whole.sender.counts().held_back), (0, 0));
    // A short window leaves out segments before they are repaired; TCP must send them again.
    assert!(last.sender.counts().retransmissions > whole.sender.counts().retransmissions);
}

#[test]
fn coins_and_zeros_are_drawn() {
    let redundancy = CombinationRate::Fixed { factor: Factor::new(1.25).unwrap(), rounding: Rounding::CoinFlip };
    let counts = through(NcConfig { redundancy, ..NcConfig::default() }, LOSSY, LOSSY, &[]).sender.counts();
    assert!((400..650).contains(&counts.flips_won), "{counts:?}");
    assert_eq!(counts.combinations, counts.segments + counts.flips_won);
    let config = NcConfig { coefficients: Coefficients::AlsoZero, coef_bytes: 1, ..factor(1.25) };
    let world = through(config, LOSSY, LOSSY, &[]);
    let counts = world.sender.counts();
    assert!((50..500).contains(&counts.zeros), "{counts:?}");
}

#[test]
fn coefficients_are_charged_when_asked_for() {
    let mut config = factor(1.0);
    for (coef_bytes, bytes) in [(0, 3 * 1_040), (1, 3 * 1_040 + 1 + 2 + 3)] {
        config.coef_bytes = coef_bytes;
        let mut sender = NcSender::new(config, Seed::new(1)).unwrap();
        for number in 0..3 {
            sender.handle_inner(Time::ZERO, Segment { number, payload: Length(1_000) });
            sender.send().unwrap();
        }
        assert_eq!(sender.counts().bytes, bytes);
    }
}

#[test]
fn redundancy_follows_the_path_when_it_is_measured() {
    let (rounding, window) = (Rounding::Accumulator, 20);
    let rule_of =
        |loss| NcConfig { redundancy: CombinationRate::Rule { window, loss, rounding }, ..NcConfig::default() };
    let given = through(rule_of(MaskedLoss::Given(Fraction::new(0.1).unwrap())), LOSSY, CLEAN, &[]);
    assert_eq!(given.sender.factor(), Some(rule(0.1, 20)));
    let measured = through(rule_of(MaskedLoss::Estimated), LOSSY, CLEAN, &[]);
    let r = measured.sender.factor().unwrap().get();
    assert!((1.08..1.30).contains(&r), "{r}");
    let adaptive = NcConfig { redundancy: CombinationRate::Adaptive, ..NcConfig::default() };
    for (path, least, most) in [(CLEAN, 1.0, 1.01), (LOSSY, 1.1, 1.3)] {
        let counts = through(adaptive, path, path, &[]).sender.counts();
        let r = counts.combinations as f64 / counts.segments as f64;
        assert!((least..most).contains(&r), "{path:?}: {r}");
        assert!(counts.retransmissions < 20, "{path:?}: {counts:?}");
    }
}

#[test]
fn adapting_decodes_sooner_than_a_constant_factor_of_the_same_cost() {
    let run = |config| {
        let mut world = World::<Length>::new(config, 40, LOSSY, CLEAN, 8);
        assert!(world.run(20_000, 1_000_000));
        let counts = world.sender.counts();
        let delays = world.receiver.decode_delays();
        let r = counts.combinations as f64 / counts.segments as f64;
        (r, delays.mean_s().unwrap(), delays.quantile_s(0.99).unwrap())
    };
    let (r, mean, p99) = run(NcConfig { redundancy: CombinationRate::Adaptive, ..NcConfig::default() });
    let (constant, slower, late) = run(factor(r));
    println!("R {r:.3}: {mean} s, p99 {p99} s; constant {constant:.3}: {slower} s, p99 {late} s");
    assert!((r - constant).abs() < 0.002 && r < 1.2);
    assert!(mean < slower && 2.0 * p99 < late);
}

/// Relays lose no degree of freedom: over lossy hops the receiver sees at least as many segments as without relays.
#[test]
fn relays_keep_the_space() {
    let hop = Path { loss: 0.05, ..CLEAN };
    for relays in 1..=3 {
        let hops = relays as i32 + 1;
        // In the first world all redundancy comes from the sender. In the second world, each hop adds redundancy of its
        // own.
        let ends = through(factor(1.05 / 0.95f64.powi(hops)), hop, CLEAN, &vec![1.0; relays]);
        let each = through(factor(1.05 / 0.95), hop, CLEAN, &vec![1.0 / 0.95; relays]);
        for world in [&ends, &each] {
            for relay in &world.relays {
                let counts = relay.counts();
                assert!(counts.innovative > 1_900 && counts.passed_on == 0, "{relays}: {counts:?}");
                assert!(counts.combinations >= counts.packets && counts.most_rows > 0, "{relays}: {counts:?}");
            }
        }
        assert!(ends.relays.iter().all(|relay| relay.counts().added == 0));
        assert!(each.relays.iter().all(|relay| relay.counts().added > 50));
        // If each hop adds its own redundancy, fewer packets are sent on the first link.
        assert!(each.sender.counts().bytes < ends.sender.counts().bytes, "{relays}");
    }
}

/// No packet is lost behind the relay. For each packet that is innovative for the relay, the relay sends a packet that
/// is innovative for the receiver. About one in 255 random combinations is an exception.
#[test]
fn a_relay_hides_nothing() {
    let config = factor(1.2);
    let mut sender = NcSender::new(config, Seed::new(4)).unwrap();
    let mut relay = NcRelay::new(config, Factor::ONE, Seed::new(5)).unwrap();
    let mut receiver = NcReceiver::new(config).unwrap();
    let mut random = Seed::new(6).stream("loss");
    for number in 0..1_000 {
        sender.handle_inner(Time::ZERO, Segment { number, payload: Length(1_000) });
        while let Some(packet) = sender.send() {
            if !random.chance(0.1) {
                relay.take(Time::ZERO, packet);
            }
        }
        while let Some(packet) = relay.send() {
            receiver.take(Time::ZERO, packet);
        }
        if let Some(ack) = std::iter::from_fn(|| receiver.send()).last() {
            sender.take(Time::ZERO, ack);
        }
    }
    let (relay, receiver) = (relay.counts().innovative, receiver.counts().innovative);
    assert!(receiver <= relay && receiver + 3 >= relay, "{relay} {receiver}");
}

/// The receiver accepts 45 segments beyond the first undecoded segment, and the redundancy is too small. Without the
/// sender's limit, all later combinations would contain segments that the receiver does not accept.
#[test]
fn a_sender_waits_for_a_receiver_that_cannot_decode() {
    let config = NcConfig { ahead: 45, ..factor(1.1) };
    let world = through(config, LOSSY, LOSSY, &[]);
    assert!(world.sender.counts().held_back > 10, "{:?}", world.sender.counts());
    assert!(world.receiver.counts().most_rows <= 45);
}

#[test]
fn gaps_are_refused_and_late_retransmissions_are_acknowledged_again() {
    let mut sender = NcSender::new(NcConfig::default(), Seed::new(1)).unwrap();
    sender.handle_inner(Time::ZERO, Segment { number: 1, payload: Length(9) });
    assert_eq!((sender.counts().gaps, sender.send()), (1, None));
    sender.handle_inner(Time::ZERO, Segment { number: 0, payload: Length(9) });
    let packet = sender.send().unwrap();
    let mut receiver = NcReceiver::new(NcConfig::default()).unwrap();
    receiver.take(Time::ZERO, packet);
    sender.take(Time::ZERO, receiver.send().unwrap());
    assert_eq!(sender.poll_deliver(), Some(1));
    // TCP has no acknowledgement yet.
    sender.handle_inner(Time::ZERO, Segment { number: 0, payload: Length(9) });
    assert_eq!((sender.send(), sender.poll_deliver()), (None, Some(1)));
    assert_eq!(sender.counts().late, 1);
}

/// Like `a_sender_waits_for_a_receiver_that_cannot_decode`, with a relay and a coding window of the newest segment.
#[test]
fn a_sender_that_waits_does_not_run_ahead_at_a_relay_either() {
    let config = NcConfig { window: CodingWindow::Last(1), ahead: 24, ..factor(1.0) };
    let path = Path { loss: 0.4, ..CLEAN };
    let mut world = World::<Symbol>::with_relays(config, 12, path, CLEAN, 0, &[1.0]);
    assert!(world.run(150, 300_000), "{} delivered", world.delivered);
    assert!(world.sender.counts().held_back > 0 && world.receiver.counts().refused == 0);
}
