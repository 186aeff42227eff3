//! Sequences of packets, times and restarts into both ends, which know nothing of each other's path.
//!
//! A sequence may give an end any packet, also one that the other end would not send. These properties hold after each
//! event:
//!
//! - The memory of both ends stays within the bounds of the settings.
//! - An event never causes endless output, and all outputs have fields that fit.
//! - Packets are delivered in order, and only accepted packets are acknowledged.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use ripstop_codes::lt::{LtCode, RobustSoliton};
use ripstop_proto::session::{Received, Reception, Session};
use ripstop_schemes::lt::*;
use std::collections::VecDeque;
use std::time::Duration;

/// The largest number of blocks in flight.
const BLOCKS: u32 = 8;
/// The largest number of packets that the sender holds in front of its blocks.
const HELD: u32 = 64;
/// More packets than an end may send at one time: a block has at most 64 symbols, and R is at most 10.
const ENDLESS: usize = 64 * 10 * (BLOCKS as usize + 2);

/// What happens to the two ends.
#[derive(Clone, Debug)]
enum Event {
    /// TCP opens the connection at the sender.
    Open,
    /// TCP gives the sender a packet of this length. The first number may name an earlier or a later packet.
    Segment(u64, usize),
    /// The sender gets an LT-ACK.
    Ack(LtAck),
    /// The receiver gets a packet.
    Packet(LtPacket<Symbol>),
    /// TCP accepts the connection at the receiver.
    Accept,
    /// The sender restarts with this session.
    RestartSender(u32),
    /// The receiver restarts, and may know which session has ended.
    RestartReceiver(bool),
    /// Only time passes.
    Wait,
}

/// The settings of a sequence, and its events. Each event has the time that passes before it, ms. It says whether the
/// sender's packets reach the receiver, and whether the receiver's LT-ACKs reach the sender.
type Sequence = (LtConfig, Vec<(u64, Event, [bool; 2])>);

fn config() -> impl Strategy<Value = LtConfig> {
    let soliton = LtCode::Soliton(RobustSoliton::default());
    let lt = [LtCode::Systematic, LtCode::Optimised, soliton].map(BlockCode::Lt);
    let codes = prop::sample::select([&lt[..], &[BlockCode::Rlnc, BlockCode::Mds]].concat());
    (any::<bool>(), codes, 0u8..=64, 1u32..=32).prop_map(|(is_improved, code, k, window)| {
        let mode = if is_improved { LtMode::Improved } else { LtMode::Repaired };
        let block = if k == 0 && is_improved { BlockSize::Auto } else { BlockSize::Fixed(k.max(1)) };
        LtConfig { code, block, window, most_blocks: BLOCKS, most_held: HELD, buffer: 16, ..LtConfig::new(mode) }
    })
}

/// A number of a packet or a block: mostly small, so that it is often a possible one.
fn number(most: u64) -> impl Strategy<Value = u64> {
    prop_oneof![12 => 0..most, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn ack() -> impl Strategy<Value = LtAck> {
    let state = prop_oneof![
        Just(BlockState::DECODED),
        Just(BlockState::UNHEARD),
        (any::<u8>(), any::<u64>()).prop_map(|(missing, known)| BlockState { missing, known }),
    ];
    let report = prop_oneof![
        4 => (number(4), 0u32..70, 0u32..70, any::<bool>())
            .prop_map(|(block, received, heard, is_decoded)| LtReport::Block { block, received, heard, is_decoded }),
        4 => (number(70), number(70), number(4), prop::collection::vec(state, 0..6))
            .prop_map(|(heard, received, decoded, blocks)| LtReport::All { heard, received, decoded, blocks }),
        2 => Just(LtReport::Opened),
        1 => Just(LtReport::Unknown),
    ];
    let rate = prop::option::of(prop_oneof![1_000u64..10_000_000, any::<u64>()]);
    (prop_oneof![6 => Just(1u32), 1 => any::<u32>()], report, rate).prop_map(|(session, report, rate)| LtAck {
        session,
        report,
        rate,
    })
}

fn packet() -> impl Strategy<Value = LtPacket<Symbol>> {
    let session = || prop_oneof![6 => Just(1u32), 1 => 0u32..4, 1 => any::<u32>()];
    let ids = (session(), number(100), number(3), number(10));
    let coded = (any::<u8>(), prop_oneof![0u32..80, any::<u32>()], any::<u32>(), any::<bool>(), 0usize..60);
    prop_oneof![
        1 => session().prop_map(|session| LtPacket::Open { session }),
        4 => (ids, coded).prop_map(|((session, number, oldest, block), (k, symbol, index, request, len))| {
            let payload = Symbol::from_slice(&vec![k; len]);
            LtPacket::Symbol(LtSymbol { session, number, oldest, block, k, symbol, index, request, payload })
        }),
    ]
}

fn sequence() -> impl Strategy<Value = Sequence> {
    let jump = prop_oneof![8 => Just(1u64), 1 => 0u64..4];
    let event = prop_oneof![
        4 => Just(Event::Open),
        24 => (jump, 0usize..200).prop_map(|(jump, len)| Event::Segment(jump, len)),
        3 => ack().prop_map(Event::Ack),
        3 => packet().prop_map(Event::Packet),
        4 => Just(Event::Accept),
        1 => (0u32..32).prop_map(Event::RestartSender),
        1 => any::<bool>().prop_map(Event::RestartReceiver),
        8 => Just(Event::Wait),
    ];
    let passes = prop_oneof![4 => 0u64..20, 1 => 0u64..2_560];
    let arrives = [prop::bool::weighted(0.8), prop::bool::weighted(0.8)];
    (config(), prop::collection::vec((passes, event, arrives), 0..120))
}

/// Both ends, and what TCP knows at each of them.
struct Ends {
    config: LtConfig,
    sender: LtSender<Symbol>,
    receiver: LtReceiver<Symbol>,
    now: Time,
    /// The next packet that TCP gives to the sender.
    next: u64,
    /// What the sender has acknowledged.
    acknowledged: u64,
    /// The next packet that the receiver delivers.
    delivered: u64,
    /// The counters of ends before a restart.
    earlier: (Vec<LtSenderCounts>, Vec<LtReceiverCounts>),
    /// Reports of a restart, by the sender and by the receiver.
    reports: [u64; 2],
}

impl Ends {
    fn new(config: LtConfig) -> Ends {
        Ends {
            config,
            sender: LtSender::new(config, 1).unwrap(),
            receiver: LtReceiver::new(config).unwrap(),
            now: Time::ZERO,
            next: 0,
            acknowledged: 0,
            delivered: 0,
            earlier: Default::default(),
            reports: [0; 2],
        }
    }

    /// Both ends after a sequence.
    fn after((config, events): Sequence) -> Ends {
        let mut ends = Ends::new(config);
        for (passes, event, arrives) in events {
            ends.now += Duration::from_millis(passes);
            ends.take(event);
            ends.settle(arrives);
            ends.sender.handle_timeout(ends.now);
            ends.settle(arrives);
            ends.receiver.handle_timeout(ends.now);
            ends.settle(arrives);
            ends.check();
        }
        ends
    }

    /// Takes an event.
    fn take(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Open => self.sender.handle_inner(now, LtInner::Open),
            Event::Segment(jump, len) => {
                let number = (self.next + jump).saturating_sub(1);
                self.next = self.next.max(number + 1);
                let segment = Segment { number, payload: Symbol::from_slice(&vec![number as u8; len]) };
                self.sender.handle_inner(now, LtInner::Segment(segment));
            }
            Event::Ack(packet) => self.sender.handle_datagram(now, received(packet)),
            Event::Packet(packet) => self.receiver.handle_datagram(now, received(packet)),
            Event::Accept => self.receiver.handle_inner(now, Accepted),
            Event::RestartSender(session) => self.restart_sender(session),
            Event::RestartReceiver(knows) => self.restart_receiver(knows),
            Event::Wait => {}
        }
    }

    /// Takes all outputs of both ends, after each input anew. The packets of an end reach the other end if `arrives`
    /// says so.
    fn settle(&mut self, arrives: [bool; 2]) {
        let (mut there, mut back) = (VecDeque::new(), VecDeque::new());
        loop {
            let (sent, acks) = self.drain();
            there.extend(sent.into_iter().filter(|_| arrives[0]));
            back.extend(acks.into_iter().filter(|_| arrives[1]));
            if let Some(packet) = there.pop_front() {
                self.receiver.handle_datagram(self.now, received(packet));
            } else if let Some(packet) = back.pop_front() {
                self.sender.handle_datagram(self.now, received(packet));
            } else {
                return;
            }
        }
    }

    /// Takes all outputs of both ends. Returns their packets.
    fn drain(&mut self) -> (Vec<LtPacket<Symbol>>, Vec<LtAck>) {
        let now = self.now;
        let next = || self.sender.poll_transmit(now).map(|sent| sent.packet);
        let sent: Vec<_> = std::iter::from_fn(next).take(ENDLESS).collect();
        assert!(sent.len() < ENDLESS && sent.iter().all(|packet| packet.wrong_field().is_none()));
        let next = || self.receiver.poll_transmit(now).map(|sent| sent.packet);
        let acks: Vec<_> = std::iter::from_fn(next).take(ENDLESS).collect();
        assert!(acks.len() < ENDLESS && acks.iter().all(|ack| ack.wrong_field().is_none()));
        while let Some(TcpAck { next, .. }) = self.sender.poll_deliver() {
            assert!(next >= self.acknowledged && next <= self.sender.counts().accepted);
            self.acknowledged = next;
        }
        while let Some(delivered) = self.receiver.poll_deliver() {
            if let LtDelivered::Packet { number, .. } = delivered {
                assert_eq!(number, self.delivered);
                self.delivered += 1;
            }
        }
        if self.sender.poll_event().is_some() {
            assert_eq!(self.sender.poll_event(), None);
            self.reports[0] += 1;
            self.restart_sender(99);
        }
        if self.receiver.poll_event().is_some() {
            assert_eq!(self.receiver.poll_event(), None);
            self.reports[1] += 1;
            self.restart_receiver(true);
        }
        (sent, acks)
    }

    /// Checks the bounds of the memory.
    fn check(&self) {
        let in_blocks = self.config.block.most() * BLOCKS as usize;
        assert!(self.sender.held() <= HELD as usize + in_blocks);
        assert!(self.sender.blocks_in_flight() <= BLOCKS as usize && self.receiver.blocks() <= BLOCKS as usize);
        assert!(self.sender.remembered() <= self.config.most_remembered());
        assert!(self.sender.poll_timeout().is_none_or(|due| due < Time::NEVER));
        let counts = self.receiver.counts();
        assert_eq!(counts.packets, counts.innovative + counts.redundant + counts.late + counts.refused);
    }

    fn restart_sender(&mut self, session: u32) {
        self.earlier.0.push(self.sender.counts());
        self.sender = LtSender::new(self.config, session).unwrap();
        (self.next, self.acknowledged) = (0, 0);
    }

    /// With `knows`, the receiver knows which session has ended.
    fn restart_receiver(&mut self, knows: bool) {
        self.earlier.1.push(self.receiver.counts());
        self.receiver = if knows { self.receiver.renewed() } else { LtReceiver::new(self.config).unwrap() };
        self.delivered = 0;
    }
}

fn received<T>(packet: T) -> Received<T> {
    Received { packet, bytes: 60, reception: Reception::default() }
}

proptest! {
    #[test]
    fn any_sequence_keeps_all_properties(sequence in sequence()) {
        Ends::after(sequence);
    }
}

/// The sequences must lead to the states that the properties are about.
#[test]
fn sequences_reach_each_mechanism() {
    let mut runner = TestRunner::deterministic();
    let (mut senders, mut receivers, mut reports) = (vec![], vec![], [0; 2]);
    for _ in 0..400 {
        let mut ends = Ends::after(sequence().new_tree(&mut runner).unwrap().current());
        senders.append(&mut ends.earlier.0);
        senders.push(ends.sender.counts());
        receivers.append(&mut ends.earlier.1);
        receivers.push(ends.receiver.counts());
        reports = [0, 1].map(|end| reports[end] + ends.reports[end]);
    }
    let s = |field: fn(&LtSenderCounts) -> u64| senders.iter().map(field).sum::<u64>();
    let r = |field: fn(&LtReceiverCounts) -> u64| receivers.iter().map(field).sum::<u64>();
    let acted = [
        ("reports of the sender", reports[0]),
        ("reports of the receiver", reports[1]),
        ("accepted", s(|c| c.accepted)),
        ("out of order", s(|c| c.out_of_order)),
        ("refused by the sender", s(|c| c.refused)),
        ("topped up", s(|c| c.topped_up)),
        ("invalid LT-ACKs", s(|c| c.invalid)),
        ("valid LT-ACKs", s(|c| c.lt_acks)),
        ("time-outs of the sender", s(|c| c.timeouts)),
        ("decoded, as the sender knows", s(|c| c.decoded)),
        ("delivered", r(|c| c.delivered)),
        ("redundant", r(|c| c.redundant)),
        ("late", r(|c| c.late)),
        ("refused by the receiver", r(|c| c.refused)),
        ("unknown", r(|c| c.unknown)),
        ("stale", r(|c| c.stale)),
        ("time-outs of the receiver", r(|c| c.timeouts)),
    ];
    for (what, count) in acted {
        assert!(count > 10, "{what}: {count}; {acted:?}");
    }
}
