//! Arbitrary sequences of segments, reports and times.

use super::*;
use proptest::prelude::*;

/// One event of a hostile sequence.
#[derive(Clone, Debug)]
enum Event {
    /// A segment of the local or of the remote TCP: port, sequence number, acknowledgement, window, length and flags.
    /// A byte of the packet may be damaged.
    Segment {
        local: bool,
        port: u16,
        seq: u32,
        ack: Option<u32>,
        window: u16,
        len: usize,
        flags: u8,
        damage: (u8, u8),
    },
    /// A report: next undecoded symbol, end, one unseen symbol, and the deficit.
    Report(u64, u64, u64, u32),
    GivenUp(u64),
    Pass(u64),
    NewSession,
    Limit(usize),
}

fn events() -> impl Strategy<Value = Event> {
    let near = |from: u32| from.wrapping_sub(5)..from + 60;
    let flags = prop_oneof![4 => Just(0u8), 2 => Just(1), 1 => Just(2), 1 => Just(4), 1 => 0u8..8];
    let segment = (
        any::<bool>(),
        0u16..3,
        prop_oneof![near(1000), near(9000), any::<u32>()],
        prop::option::of(prop_oneof![near(1000), near(9000), any::<u32>()]),
        any::<u16>(),
        0usize..40,
        flags,
        prop_oneof![3 => Just((0u8, 0u8)), 1 => any::<(u8, u8)>()],
    );
    prop_oneof![
        12 => segment.prop_map(|(local, port, seq, ack, window, len, flags, damage)| {
            Event::Segment { local, port, seq, ack, window, len, flags, damage }
        }),
        4 => (0u64..60, 0u64..60, 0u64..60, 0u32..4).prop_map(|(next, end, unseen, d)| Event::Report(next, end, unseen, d)),
        1 => (0u64..60).prop_map(Event::GivenUp),
        2 => (0u64..60_000).prop_map(Event::Pass),
        1 => Just(Event::NewSession),
        1 => (0usize..100_000).prop_map(Event::Limit),
    ]
}

proptest! {
    /// Whatever comes, nothing panics, memory is accounted for, and every packet that comes out is valid.
    #[test]
    fn hostile_sequences_are_harmless(events in prop::collection::vec(events(), 1..200)) {
        let mut acks = EarlyAcks::default();
        let (mut now, mut id) = (Time::ZERO, 0);
        for event in events {
            match event {
                Event::Segment { local, port, seq, ack, window, len, flags, damage: (at, xor) } => {
                    let (syn, fin, rst) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
                    let options = if syn { Seg::syn(0, None).options } else { Vec::new() };
                    let seg = Seg { seq, ack, window, len, syn, fin, rst, options, port, ..Seg::default() };
                    let mut packet = seg.packet(local);
                    let at = usize::from(at) % packet.len();
                    packet[at] ^= xor;
                    let mut symbol = Symbol::from_parts(&[&[0], &packet]);
                    if !local {
                        acks.take_remote(now, &mut symbol);
                    } else if acks.take_local(&packet) {
                        acks.sent(id, &symbol);
                        id += 1;
                    }
                }
                Event::Report(next_undecoded, end, unseen, deficit) => {
                    let end = end.max(next_undecoded);
                    let is_listed = unseen >= next_undecoded && unseen < end;
                    let unseen = is_listed.then_some(unseen..unseen + 1).into_iter().collect();
                    acks.report(now, &SymbolReport { next_undecoded, end, unseen, deficit, ..SymbolReport::default() });
                }
                Event::GivenUp(base) => acks.given_up(base),
                Event::Pass(ms) => {
                    now += Duration::from_millis(ms);
                    acks.handle_timeout(now, Some(Duration::from_millis(50)));
                }
                Event::NewSession => {
                    acks.new_session(now, Duration::from_millis(50));
                    id = 0;
                }
                Event::Limit(bytes) => acks.set_limit(Some(bytes)),
            }
            let stored: usize = acks.flows.values().map(|flow| flow.store.bytes()).sum();
            prop_assert_eq!(stored, acks.bytes);
            while let Some(symbol) = acks.poll_local() {
                read(&symbol);
            }
            while acks.poll_remote().is_some() || acks.poll_reset().is_some() {}
        }
    }
}
