//! Strategies for typed packets whose numbers lie near [`NEAR`].

use proptest::prelude::*;
use ripstop_codes::Symbol;
use ripstop_codes::window::{Coding, Members};
use ripstop_proto::wire::*;
use std::time::Duration;

/// The known numbers of the receiver. The packets' numbers lie near them.
pub(crate) const NEAR: WireContext = WireContext {
    id_near: 5_000_000,
    sent_id: 7_000_000,
    sent_number: 1 << 33,
    reported: PathTotals { largest_at_us: 1 << 40, received: 1 << 32, received_bytes: 1 << 41, ce: 1 << 31 },
    redundant: 1 << 32,
};

/// Any packet.
pub(crate) fn packets() -> impl Strategy<Value = Packet<Symbol>> {
    prop_oneof![sources(), repairs(), block_repairs(), feedbacks(), windows(), probes(), tokens(), Just(Packet::Close)]
}

fn sources() -> impl Strategy<Value = Packet<Symbol>> {
    (ids(), 0u8..32, bytes()).prop_map(|(id, first, payload)| {
        let kind = SymbolKind::of(first).unwrap_or(SymbolKind::Packet);
        Packet::Source { id, kind, payload: Symbol::from_parts(&[&[first], &payload]) }
    })
}

fn repairs() -> impl Strategy<Value = Packet<Symbol>> {
    prop_oneof![3 => listed_repairs(), 1 => stepped_repairs()]
}

/// Repairs with equally spaced members.
fn stepped_repairs() -> impl Strategy<Value = Packet<Symbol>> {
    (ids(), 1u32..=16, 3u64..=1024, any::<u16>(), bytes()).prop_map(|(first, log, count, seed, payload)| {
        let count = count.min((((1 << 19) - 1) >> log) + 1);
        let members = Members::stepped(first, 1 << log, count).unwrap();
        Packet::Repair { members, coding: Coding::Seed(seed), payload: Symbol::from_slice(&payload) }
    })
}

fn listed_repairs() -> impl Strategy<Value = Packet<Symbol>> {
    let steps = prop::collection::vec(1u64..2000, 0..=64);
    (ids(), steps, 1u64..300, 0u64..200, any::<Option<u16>>(), bytes()).prop_map(
        |(first, steps, apart, tail, seed, payload)| {
            let mut at = first;
            let mut singles: Vec<u64> = steps
                .iter()
                .map(|step| {
                    at += step;
                    at
                })
                .collect();
            let mut tail = at + apart..at + apart + tail;
            if seed.is_none() {
                singles.truncate(40);
                tail.end = tail.end.min(tail.start + 24);
            }
            if singles.is_empty() && tail.is_empty() {
                singles.push(first);
            }
            let members = Members::new(singles, tail).unwrap();
            let coding = seed.map_or_else(
                || Coding::Explicit((0..members.len()).map(|i| 1 + (i % 255) as u8).collect()),
                Coding::Seed,
            );
            Packet::Repair { members, coding, payload: Symbol::from_slice(&payload) }
        },
    )
}

fn block_repairs() -> impl Strategy<Value = Packet<Symbol>> {
    (ids(), 1..=MAX_BLOCK_SOURCES, 0..MAX_BLOCK_REPAIRS, bytes()).prop_map(|(first, k, number, payload)| {
        Packet::BlockRepair { first, k, number, payload: Symbol::from_slice(&payload) }
    })
}

fn windows() -> impl Strategy<Value = Packet<Symbol>> {
    (ids(), any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(base, reach, every, deadline)| {
        Packet::Window(Window {
            base,
            reach,
            report_every: Duration::from_micros(every.into()),
            deadline: Duration::from_micros(deadline.into()),
        })
    })
}

fn probes() -> impl Strategy<Value = Packet<Symbol>> {
    (0u16..1500).prop_map(|padding| Packet::Probe { padding })
}

fn tokens() -> impl Strategy<Value = Packet<Symbol>> {
    (any::<u64>(), any::<bool>()).prop_map(|(token, is_answer)| match is_answer {
        true => Packet::Answer { token },
        false => Packet::Challenge { token },
    })
}

fn feedbacks() -> impl Strategy<Value = Packet<Symbol>> {
    let largest = (1u64 << 33) - 100_000..(1u64 << 33) + 100_000;
    let batch = (0u32..5, 0u64..100_000, any::<i32>(), any::<i32>());
    let runs = || prop::collection::vec((1u64..40, 1u64..40), 0..60);
    let totals = (any::<u32>(), any::<u32>(), any::<u32>(), 0u64..1 << 30);
    (largest, any::<u32>(), batch, runs(), 0u64..50, runs(), totals).prop_map(
        |(largest, delay, batch, acked, beyond, unseen, totals)| {
            let mut at = largest + 1;
            let acked: Vec<_> = acked
                .iter()
                .enumerate()
                .map(|(i, (length, hole))| {
                    let end = if i == 0 { at } else { at - hole };
                    at = end - length;
                    at..end
                })
                .collect();
            let acked_from = if acked.is_empty() { at } else { at - beyond };
            let next_undecoded = 7_000_000 - 1000;
            let mut at = next_undecoded;
            let unseen: Vec<_> = unseen
                .iter()
                .enumerate()
                .map(|(i, (length, hole))| {
                    let start = if i == 0 { at + hole - 1 } else { at + hole };
                    at = start + length;
                    start..at
                })
                .collect();
            // One of three reports has only one of the parts.
            let (has_path, has_symbols) = (totals.0 % 6 != 0, totals.0 % 6 != 1);
            Packet::Feedback(Box::new(Feedback {
                path: has_path.then_some(PathReport {
                    largest,
                    largest_at_us: (1 << 40) + totals.3,
                    delay: Duration::from_micros(delay.into()),
                    received: (1 << 32) - totals.3,
                    received_bytes: (1 << 41) + totals.3,
                    batch: match batch.0 {
                        0 => Batch::default(),
                        count => Batch {
                            count,
                            lowest: largest - batch.1,
                            mean_before_us: batch.2,
                            lowest_before_us: batch.3,
                        },
                    },
                    acked,
                    acked_from,
                    ce: (1 << 31) + totals.3,
                }),
                symbols: has_symbols.then_some(SymbolReport {
                    next_undecoded,
                    end: at + beyond,
                    unseen,
                    deficit: totals.0,
                    undecoded: totals.1,
                    redundant: (1 << 32) + totals.3,
                }),
            }))
        },
    )
}

fn ids() -> impl Strategy<Value = u64> {
    5_000_000u64 - 1000..5_000_000 + 1000
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..100)
}
