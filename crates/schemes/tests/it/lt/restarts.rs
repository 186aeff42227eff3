//! Restarts of one end: the other end learns of them, also when late packets of the old session arrive.

use super::world::{World, content, mesh};
use super::{open, seconds};
use ripstop_base::Time;
use ripstop_codes::Symbol;
use ripstop_proto::session::{Received, Reception, Session};
use ripstop_schemes::lt::*;

/// Gives the receiver a packet, and returns the reports of its LT-ACKs, with their sessions.
fn take(receiver: &mut LtReceiver<Symbol>, packet: LtPacket<Symbol>) -> Vec<(u32, LtReport)> {
    receiver.handle_datagram(Time::ZERO, Received { packet, bytes: 500, reception: Reception::default() });
    while let Some(delivered) = receiver.poll_deliver() {
        if delivered == LtDelivered::Open {
            receiver.handle_inner(Time::ZERO, Accepted);
        }
    }
    std::iter::from_fn(|| receiver.poll_transmit(Time::ZERO))
        .map(|ack| (ack.packet.session, ack.packet.report))
        .collect()
}

/// The first symbol of a block of one packet.
fn symbol(session: u32, block: u64, oldest: u64) -> LtPacket<Symbol> {
    let payload = content(block);
    let (number, k, symbol, index, request) = (block, 1, 0, 0, true);
    LtPacket::Symbol(LtSymbol { session, number, oldest, block, k, symbol, index, request, payload })
}

/// Gives the sender a report, and returns what it reports to its caller.
fn answer(sender: &mut LtSender<Symbol>, report: LtReport) -> Option<LtEvent> {
    let packet = LtAck { session: 1, report, rate: None };
    sender.handle_datagram(Time::ZERO, Received { packet, bytes: 60, reception: Reception::default() });
    sender.poll_event()
}

/// An improved sender with blocks of one packet, of which eight are sent.
fn sender_of_eight_blocks() -> LtSender<Symbol> {
    let mut sender = open(LtConfig { block: BlockSize::Fixed(1), ..LtConfig::new(LtMode::Improved) });
    for number in 0..8 {
        sender.handle_inner(Time::ZERO, LtInner::Segment(Segment { number, payload: content(number) }));
        assert!(sender.poll_transmit(Time::ZERO).is_some());
    }
    sender
}

#[test]
fn a_restart_of_the_receiver_ends_the_session_with_an_event() {
    let config = LtConfig::new(LtMode::Improved);
    let mut world = World::new(config, mesh(0.1), mesh(0.1), 3);
    assert!(!world.run(1_000, seconds(5.0)));
    world.restart_receiver(config);
    assert!(!world.run(1_000, seconds(60.0)));
    assert!(world.events.contains(&LtEvent::PeerRestarted), "{:?}", world.events);
    assert_eq!(world.sender.poll_timeout(), None, "the session has ended");
}

#[test]
fn a_restart_of_the_sender_ends_the_session_with_an_event() {
    for mode in [LtMode::Repaired, LtMode::Improved] {
        let config = LtConfig::new(mode);
        let mut world = World::new(config, mesh(0.0), mesh(0.0), 3);
        assert!(!world.run(1_000, seconds(5.0)));
        let mut other = LtSender::new(config, 99).unwrap();
        if mode == LtMode::Improved {
            other.handle_inner(world.now, LtInner::Open);
        }
        for number in 0..16 {
            other.handle_inner(world.now, LtInner::Segment(Segment { number, payload: content(number) }));
        }
        let first = other.poll_transmit(world.now).unwrap();
        world.receiver.handle_datagram(
            world.now,
            Received { packet: first.packet, bytes: first.bytes, reception: Reception::default() },
        );
        assert_eq!(world.receiver.poll_event(), Some(LtEvent::PeerRestarted), "{mode:?}");
    }
}

/// A request that the path has delayed opens the session again at a receiver that has restarted. The symbols of later
/// blocks show that this receiver lacks what the first one had.
#[test]
fn a_late_request_after_a_restart_does_not_hide_the_restart() {
    let mut receiver = LtReceiver::new(LtConfig::new(LtMode::Improved)).unwrap();
    assert_eq!(take(&mut receiver, LtPacket::Open { session: 1 }), [(1, LtReport::Opened)]);
    assert_eq!(take(&mut receiver, symbol(1, 3, 3)), [(1, LtReport::Unknown)]);
    assert_eq!((receiver.counts().unknown, receiver.counts().delivered), (1, 0));
    // The same for the repaired mode, where the first symbols open the session.
    let mut receiver = LtReceiver::new(LtConfig::new(LtMode::Repaired)).unwrap();
    receiver
        .handle_datagram(Time::ZERO, Received { packet: symbol(1, 1, 0), bytes: 500, reception: Reception::default() });
    assert_eq!(take(&mut receiver, symbol(1, 3, 3)), [(1, LtReport::Unknown)]);
}

/// The same late request, but the sender is the first to notice: a later report knows less.
#[test]
fn a_report_that_forgets_ends_the_session() {
    let all = |heard, received, decoded, blocks| LtReport::All { heard, received, decoded, blocks };
    let (had, lacks) = (BlockState::DECODED, BlockState::UNHEARD);
    for (first, later) in [
        (all(5, 5, 3, vec![]), all(6, 6, 2, vec![])),
        (all(5, 5, 0, vec![]), all(6, 1, 0, vec![])),
        (all(5, 2, 0, vec![lacks, had]), all(6, 2, 0, vec![had, lacks])),
        (all(5, 2, 0, vec![lacks, had]), all(6, 2, 0, vec![had])),
    ] {
        let mut sender = sender_of_eight_blocks();
        assert_eq!(answer(&mut sender, first.clone()), None);
        assert_eq!(answer(&mut sender, later), Some(LtEvent::PeerRestarted), "after {first:?}");
        assert_eq!((sender.poll_timeout(), sender.poll_transmit(Time::ZERO)), (None, None));
    }
    // An earlier report that was overtaken also knows less, and means nothing.
    let mut sender = sender_of_eight_blocks();
    assert_eq!(answer(&mut sender, all(6, 6, 3, vec![])), None);
    assert_eq!(answer(&mut sender, all(5, 5, 2, vec![])), None);
    assert_eq!(answer(&mut sender, all(6, 5, 2, vec![])), None);
}

/// The receiver of the next session knows the one that has ended. Its late packets are answered and change nothing.
#[test]
fn late_packets_of_an_ended_session_do_not_end_the_next_one() {
    for mode in [LtMode::Repaired, LtMode::Improved] {
        let first = |session| match mode {
            LtMode::Improved => LtPacket::Open { session },
            _ => symbol(session, 0, 0),
        };
        let mut old = LtReceiver::new(LtConfig::new(mode)).unwrap();
        take(&mut old, first(1));
        take(&mut old, first(2));
        assert_eq!(old.poll_event(), Some(LtEvent::PeerRestarted), "{mode:?}");
        let mut next = old.renewed();
        take(&mut next, first(2));
        assert_eq!(take(&mut next, first(1)), [(1, LtReport::Unknown)], "{mode:?}");
        assert_eq!(next.poll_event(), None, "{mode:?}");
        assert_eq!((next.counts().stale, next.counts().unknown), (1, 1));
        // If the old session has a sender after all, this sender learns that it has no receiver.
        assert_eq!(take(&mut next, symbol(1, 5, 4)), [(1, LtReport::Unknown)], "{mode:?}");
        assert_eq!(take(&mut next, symbol(7, 5, 4)), [(7, LtReport::Unknown)], "{mode:?}");
    }
}

/// A receiver may take a session for one that has ended although its sender has only begun. The sender must begin
/// again.
#[test]
fn a_sender_that_is_unknown_ends_in_each_state() {
    let mut asking = LtSender::<Symbol>::new(LtConfig::new(LtMode::Improved), 1).unwrap();
    asking.handle_inner(Time::ZERO, LtInner::Open);
    assert!(asking.poll_transmit(Time::ZERO).is_some());
    let mut repaired =
        LtSender::new(LtConfig { block: BlockSize::Fixed(1), ..LtConfig::new(LtMode::Repaired) }, 1).unwrap();
    repaired.handle_inner(Time::ZERO, LtInner::Segment(Segment { number: 0, payload: content(0) }));
    assert!(repaired.poll_transmit(Time::ZERO).is_some());
    for mut sender in [asking, repaired, sender_of_eight_blocks()] {
        assert_eq!(answer(&mut sender, LtReport::Unknown), Some(LtEvent::PeerRestarted));
        assert_eq!(answer(&mut sender, LtReport::Unknown), None, "one report for one restart");
        assert_eq!(sender.poll_timeout(), None);
    }
}
