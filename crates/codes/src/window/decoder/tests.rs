//! Tests of the decoder in small cases whose results can be worked out by hand.

use super::*;
use crate::Symbol;
use crate::window::Encoder;

fn symbol(byte: u8) -> Symbol {
    Symbol::from_slice(&[byte; 5])
}

fn drain(decoder: &mut Decoder<Symbol>) -> Vec<(u64, u8)> {
    std::iter::from_fn(|| decoder.poll_decoded()).map(|(id, p)| (id, p.as_slice()[0])).collect()
}

/// Paper 000, fig. 1: p1+p2+p3 arrives, p1+2p2+p3 is lost, p1+2p2+2p3 arrives. Each arrival makes
/// one more packet *seen*, no matter which packet was lost.
#[test]
fn figure_1_of_paper_000() {
    let mut encoder = Encoder::new(1);
    for byte in [11, 22, 33] {
        encoder.push(symbol(byte));
    }
    let members = Members::range(1..4);
    let mut decoder = Decoder::new(1, Limits::default());
    let receive = |decoder: &mut Decoder<Symbol>, coefficients: [u8; 3]| {
        let payload = encoder.explicit(&members, &coefficients).unwrap();
        decoder.repair(&members, &Coding::Explicit(coefficients.to_vec()), payload)
    };

    assert_eq!(receive(&mut decoder, [1, 1, 1]), Arrival::Innovative);
    assert!(decoder.is_seen(1) && !decoder.is_seen(2) && !decoder.is_decoded(1));
    assert_eq!((decoder.next_unseen(), decoder.next_undecoded(), decoder.deficit()), (2, 1, 2));

    // p1 + 2 p2 + p3 is lost.
    assert_eq!(receive(&mut decoder, [1, 2, 2]), Arrival::Innovative);
    assert!(decoder.is_seen(2) && !decoder.is_seen(3) && !decoder.is_decoded(2));
    assert_eq!((decoder.next_unseen(), decoder.deficit()), (3, 1));
    assert_eq!(decoder.unseen().iter().collect::<Vec<_>>(), [3]);
    // The two combinations differ by a multiple of p2 + p3, so p1 is determined. The figure does
    // not mention this.
    assert_eq!(drain(&mut decoder), [(1, 11)]);
    assert_eq!((decoder.rows(), decoder.next_undecoded()), (1, 2));
    assert_eq!(receive(&mut decoder, [1, 7, 7]), Arrival::Redundant);

    assert_eq!(receive(&mut decoder, [1, 2, 1]), Arrival::Innovative);
    assert_eq!(drain(&mut decoder), [(2, 22), (3, 33)]);
    assert_eq!((decoder.next_unseen(), decoder.next_undecoded(), decoder.deficit()), (4, 4, 0));
}

fn encoder(first: u64, count: usize) -> Encoder<Symbol> {
    let mut encoder = Encoder::new(first);
    for i in 0..count {
        encoder.push(symbol(i as u8 ^ 0x5a));
    }
    encoder
}

fn repair(decoder: &mut Decoder<Symbol>, encoder: &Encoder<Symbol>, members: Members, seed: u16) -> Arrival {
    decoder.repair(&members, &Coding::Seed(seed), encoder.repair(&members, seed).unwrap())
}

#[test]
fn every_kernel_codes_the_same() {
    // The coders use the kernel that was chosen at run time. Every other kernel must give the same
    // repairs.
    use ripstop_gf256::{Kernel, ProductMode};
    let encoder = encoder(0, 40);
    let members = Members::range(3..37);
    let repairs = encoder.repairs(&members, &[1, 2, 3]).unwrap();
    let sources: Vec<&[u8]> = members.iter().map(|id| encoder.get(id).unwrap().as_slice()).collect();
    for kernel in Kernel::all() {
        for (repair, seed) in repairs.iter().zip([1, 2, 3]) {
            let mut sum = [0; 5];
            let coefficients = Coding::Seed(seed).all(&members);
            kernel.product(ProductMode::Overwrite, &coefficients, &mut [&mut sum[..]], &sources);
            assert_eq!(repair.as_slice(), sum, "{}", kernel.name());
        }
    }
}

#[test]
fn holes_are_repaired_by_single_members() {
    let encoder = encoder(1000, 300);
    let mut decoder = Decoder::new(1000, Limits::default());
    for id in (1000..1300).filter(|id| id % 40 != 7) {
        assert_eq!(decoder.source(id, encoder.get(id).unwrap().clone()), Arrival::Innovative);
    }
    let holes: Vec<u64> = decoder.missing().collect();
    assert_eq!(holes, [1007, 1047, 1087, 1127, 1167, 1207, 1247, 1287]);
    assert_eq!((decoder.highest(), decoder.deficit()), (Some(1299), 8));
    for (i, chunk) in holes.chunks(4).enumerate() {
        let members = Members::from_ids(chunk).unwrap();
        for seed in 0..4 {
            assert_eq!(repair(&mut decoder, &encoder, members.clone(), seed), Arrival::Innovative);
        }
        assert_eq!(repair(&mut decoder, &encoder, members, 9), Arrival::Redundant);
        assert_eq!(drain(&mut decoder).len(), 4);
        assert_eq!(decoder.counters().decoded, 4 * (i as u64 + 1));
    }
    // Two batches of four rows with four payloads each; no other payload was combined.
    assert_eq!(decoder.counters().payload_combinations, 32);
}

#[test]
fn payloads_are_touched_once_however_many_rows_wait() {
    let encoder = encoder(0, 200);
    let mut decoder = Decoder::new(0, Limits::default());
    for seed in 0..190 {
        assert_eq!(repair(&mut decoder, &encoder, Members::range(0..200), seed), Arrival::Innovative);
    }
    assert_eq!((decoder.rows(), decoder.deficit(), decoder.next_unseen()), (190, 10, 190));
    assert_eq!(decoder.counters().payload_combinations, 0);
    let mut decoded = 0;
    for id in 190..200 {
        assert_eq!(decoder.source(id, encoder.get(id).unwrap().clone()), Arrival::Innovative);
        decoded += drain(&mut decoder).len();
    }
    assert_eq!((decoded, decoder.rows()), (190, 0));
    // Each decoded symbol combines the 190 payloads, and at most the 10 known symbols.
    assert!((190 * 190..=190 * 200).contains(&decoder.counters().payload_combinations));
}

#[test]
fn payloads_of_rows_given_up_do_not_pile_up() {
    let encoder = encoder(0, 120);
    let mut decoder = Decoder::new(0, Limits::default());
    for seed in 0..100 {
        repair(&mut decoder, &encoder, Members::range(0..120), seed);
    }
    for id in 0..95 {
        assert!(decoder.give_up(id) && !decoder.give_up(id));
    }
    // There were 120 unknown symbols and 100 rows. After 95 symbols were given up, 5 rows about 25
    // symbols are left.
    assert_eq!((decoder.rows(), decoder.deficit(), decoder.undecoded()), (5, 20, 25));
    assert!(decoder.current.raws.iter().flatten().count() < 80);
    assert!(decoder.counters().consolidations > 0);
    for id in 100..120 {
        decoder.source(id, encoder.get(id).unwrap().clone());
    }
    let recovered: Vec<(u64, u8)> = (95..100).map(|id| (id, id as u8 ^ 0x5a)).collect();
    assert_eq!(drain(&mut decoder), recovered);
    assert_eq!(decoder.counters().given_up, 95);
}

#[test]
fn a_stalled_symbol_does_not_stall_the_others() {
    let encoder = encoder(0, 4);
    let mut decoder = Decoder::new(0, Limits::default());
    decoder.source(3, encoder.get(3).unwrap().clone());
    repair(&mut decoder, &encoder, Members::range(0..4), 1);
    repair(&mut decoder, &encoder, Members::range(0..4), 2);
    repair(&mut decoder, &encoder, Members::new(vec![1], 2..4).unwrap(), 3);
    assert_eq!(drain(&mut decoder).len(), 3);

    let mut decoder = Decoder::new(0, Limits::default());
    repair(&mut decoder, &encoder, Members::range(0..4), 1);
    repair(&mut decoder, &encoder, Members::range(0..4), 2);
    decoder.advance_to(1);
    assert_eq!((decoder.rows(), decoder.next_unseen(), decoder.start()), (1, 2, 1));
    assert_eq!(decoder.source(0, symbol(1)), Arrival::Old);
    // The repair has member 0, which was given up.
    assert_eq!(repair(&mut decoder, &encoder, Members::range(0..4), 3), Arrival::Unusable);
    decoder.source(3, encoder.get(3).unwrap().clone());
    decoder.source(1, encoder.get(1).unwrap().clone());
    assert_eq!(drain(&mut decoder), [(2, 2 ^ 0x5a)]);
    assert_eq!((decoder.counters().given_up, decoder.counters().unusable), (1, 1));
}

#[test]
fn hostile_input_is_refused_before_it_costs_anything() {
    let limits = Limits { ahead: 100, history: 50, matrix: 3 * 192, unseen: 90, ..Limits::default() };
    let mut decoder = Decoder::new(1000, limits);
    let payload = symbol(1);
    let by_seed = Coding::Seed(1);
    let mut try_repair = |members: Members, coding: &Coding| decoder.repair(&members, coding, symbol(1));
    assert_eq!(try_repair(Members::range(0..u64::MAX), &by_seed), Arrival::Beyond);
    assert_eq!(try_repair(Members::range(1000..u64::MAX), &by_seed), Arrival::Beyond);
    assert_eq!(try_repair(Members::one(u64::MAX), &by_seed), Arrival::Beyond);
    assert_eq!(try_repair(Members::range(1000..1091), &by_seed), Arrival::Wide);
    assert_eq!(try_repair(Members::range(0..1050), &by_seed), Arrival::Unusable);
    assert_eq!(try_repair(Members::range(0..1000), &by_seed), Arrival::Old);
    assert_eq!(try_repair(Members::default(), &by_seed), Arrival::Unusable);
    assert_eq!(try_repair(Members::range(1000..1003), &Coding::Explicit(vec![1, 2])), Arrival::Unusable);
    assert_eq!(try_repair(Members::range(1000..1003), &Coding::Explicit(vec![1, 0, 2])), Arrival::Unusable);
    assert_eq!(decoder.source(1100, payload.clone()), Arrival::Beyond);
    assert_eq!(decoder.source(u64::MAX, payload.clone()), Arrival::Beyond);
    assert_eq!(decoder.source(999, payload.clone()), Arrival::Old);
    assert_eq!((decoder.highest(), decoder.deficit()), (None, 0));
    assert!(!decoder.give_up(1100) && !decoder.give_up(999));

    let encoder = encoder(1000, 90);
    for seed in 0..3 {
        assert_eq!(repair(&mut decoder, &encoder, Members::range(1000..1090), seed), Arrival::Innovative);
    }
    assert_eq!(repair(&mut decoder, &encoder, Members::range(1000..1090), 3), Arrival::Full);
    assert_eq!(decoder.rows(), 3);
    let counters = decoder.counters();
    assert_eq!((counters.beyond, counters.full, counters.wide), (5, 1, 1));
    assert_eq!((counters.old, counters.unusable), (2, 4));

    // A jump far ahead forgets everything. A window that starts at the last identifier accepts
    // nothing.
    decoder.advance_to(1 << 60);
    assert_eq!((decoder.rows(), decoder.undecoded(), decoder.start()), (0, 0, 1 << 60));
    assert_eq!(decoder.source(1 << 60, payload.clone()), Arrival::Innovative);
    decoder.advance_to(u64::MAX);
    assert_eq!(decoder.source(u64::MAX, payload), Arrival::Beyond);
}

#[test]
fn memory_stays_bounded_without_any_help() {
    let limits = Limits { ahead: 64, history: 64, matrix: 1 << 16, unseen: 64, ..Limits::default() };
    let mut decoder = Decoder::new(0, limits);
    for id in 0..10_000 {
        assert_eq!(decoder.source(id, symbol(id as u8)), Arrival::Innovative);
        assert!(decoder.symbols.end() - decoder.symbols.origin() <= 64 + 16 + 1);
    }
    assert!(decoder.get(9_999).is_some() && decoder.get(9_900).is_none());
    assert!(decoder.is_decoded(5) && decoder.is_decoded(9_999) && !decoder.is_decoded(10_000));
    assert_eq!(decoder.next_undecoded(), 10_000);
}

#[test]
fn any_enough_repairs_decode() {
    // Any n innovative combinations of n symbols decode these symbols, in any order.
    let encoder = encoder(77, 30);
    for start in 0..20 {
        let mut decoder = Decoder::new(77, Limits::default());
        let mut innovative = 0;
        for seed in start..start + 40 {
            if repair(&mut decoder, &encoder, Members::range(77..107), seed) == Arrival::Innovative {
                innovative += 1;
                assert_eq!(decoder.deficit(), 30 - innovative);
            }
            assert_eq!(decoder.next_undecoded() == 107, innovative == 30);
        }
        assert_eq!((drain(&mut decoder).len(), decoder.counters().redundant), (30, 10));
    }
}

#[test]
fn a_jump_takes_memory_for_what_arrived() {
    let limits = Limits { ahead: 1 << 16, history: 1 << 16, ..Limits::default() };
    let mut decoder: Decoder<Symbol> = Decoder::new(0, limits);
    let mut base = 0;
    for _ in 0..500 {
        assert_eq!(decoder.source(base + 65_535, symbol(1)), Arrival::Innovative);
        assert_eq!(decoder.unseen().ranges().count(), 1);
        assert_eq!(decoder.undecoded(), 65_535);
        base += 65_536;
        decoder.advance_to(base);
        decoder.keep_from(base);
    }
    // A list of empty pages, and a few pages.
    assert!(decoder.bytes() < 20_000, "{} bytes", decoder.bytes());
    assert_eq!((decoder.undecoded(), decoder.counters().given_up, decoder.start()), (0, 500 * 65_535, base));
    assert!(decoder.is_given_up(base - 2) || decoder.is_decoded(base - 2));
}

#[test]
fn freed_payloads_take_no_memory() {
    let limits = Limits { ahead: 1 << 16, history: 1 << 16, ..Limits::default() };
    let mut decoder: Decoder<Symbol> = Decoder::new(0, limits);
    // The first symbol is missing, so the records of all others stay.
    for id in 1..1 << 16 {
        assert_eq!(decoder.source(id, symbol(1)), Arrival::Innovative);
    }
    drain(&mut decoder);
    let held = decoder.bytes();
    decoder.keep_from(1 << 16);
    assert!(decoder.bytes() < 13 << 16 && decoder.bytes() < held / 4, "{} of {held} bytes", decoder.bytes());
    // The symbols are still known, and new payloads find their place.
    assert_eq!((decoder.undecoded(), decoder.source(40_000, symbol(1))), (1, Arrival::Duplicate));
    assert_eq!((decoder.source(0, symbol(1)), decoder.undecoded()), (Arrival::Innovative, 0));
    assert!(decoder.bytes() < 20_000, "{} bytes", decoder.bytes());
}

#[test]
fn given_up_symbols_leave_their_rows_alone() {
    for pivots in [Pivots::Lowest, Pivots::Highest] {
        let encoder = encoder(0, 3000);
        let mut decoder = Decoder::with_pivots(0, Limits::default(), pivots);
        // One row spans symbols on both sides of the window's new start, another lies after it.
        let members = |ids: &[u64]| Members::from_ids(ids).unwrap();
        repair(&mut decoder, &encoder, members(&[10, 2000]), 1);
        repair(&mut decoder, &encoder, members(&[2010, 2020]), 2);
        decoder.source(2999, encoder.get(2999).unwrap().clone());
        decoder.advance_to(1500);
        assert_eq!((decoder.rows(), decoder.undecoded()), (1, 1499), "{pivots:?}");
        assert_eq!(decoder.counters().given_up, 1500);
        assert!(decoder.is_given_up(10) && decoder.is_given_up(700) && !decoder.is_given_up(1500));
        decoder.source(2010, encoder.get(2010).unwrap().clone());
        assert_eq!(drain(&mut decoder), [(2020, encoder.get(2020).unwrap().as_slice()[0])]);
    }
}

#[test]
fn the_limits_bound_the_work_of_a_repair() {
    let encoder = encoder(0, 4000);
    let limits = Limits { members: 1000, rows: 20, ..Limits::default() };
    let mut decoder = Decoder::with_pivots(0, limits, Pivots::Highest);
    for id in (0..3000).filter(|id| *id != 1500) {
        decoder.source(id, encoder.get(id).unwrap().clone());
    }
    // A repair with one unknown member would combine all known members.
    assert_eq!(repair(&mut decoder, &encoder, Members::range(0..3000), 1), Arrival::Wide);
    assert_eq!(decoder.counters().work_bytes, 0);
    assert_eq!(repair(&mut decoder, &encoder, Members::range(1000..2000), 1), Arrival::Innovative);
    let work = decoder.counters().work_bytes;
    assert!((5_000..6_000).contains(&work), "{work} bytes for 1000 payloads of 5 bytes");
    // Rows that share unknown symbols: at most 20, or 25 unknown symbols.
    let mut arrivals = Vec::new();
    for first in 3000..3034 {
        arrivals.push(repair(&mut decoder, &encoder, Members::range(first..first + 2), 3));
    }
    assert_eq!(arrivals[..24], [Arrival::Innovative; 24]);
    assert_eq!(arrivals[24], Arrival::Full);
    assert_eq!(decoder.rows(), 33, "the repairs after the refused one begin another component");
}

#[test]
fn a_full_component_can_be_completed() {
    let encoder = encoder(0, 100);
    let limits = Limits { rows: 20, ..Limits::default() };
    let mut decoder = Decoder::with_pivots(0, limits, Pivots::Highest);
    // 24 unknown symbols: the rows above the limit of 20 complete the component.
    for n in 0..24 {
        assert_eq!(repair(&mut decoder, &encoder, Members::range(0..24), n + 1), Arrival::Innovative, "repair {n}");
    }
    assert_eq!((decoder.rows(), decoder.undecoded()), (0, 0));
    // A repair above the limit joins all components that contain its members.
    let mut decoder = Decoder::with_pivots(0, limits, Pivots::Highest);
    let parts = [(0..20, 19), (20..22, 1), (22..25, 2)];
    for (members, repairs) in parts {
        (0..repairs).for_each(|n| {
            repair(&mut decoder, &encoder, Members::range(members.clone()), n + 1);
        });
    }
    assert_eq!(decoder.rows(), 22);
    (0..3)
        .for_each(|n| assert_eq!(repair(&mut decoder, &encoder, Members::range(0..25), n + 100), Arrival::Innovative));
    let decoded: Vec<u64> = std::iter::from_fn(|| decoder.poll_decoded())
        .map(|(id, payload)| {
            assert_eq!(Some(&payload), encoder.get(id), "symbol {id}");
            id
        })
        .collect();
    assert_eq!((decoded, decoder.undecoded()), ((0..25).collect(), 0));
    // 30 unknown symbols are too many.
    let mut decoder = Decoder::with_pivots(0, limits, Pivots::Highest);
    let arrivals: Vec<Arrival> =
        (0..24).map(|n| repair(&mut decoder, &encoder, Members::range(30..60), n + 1)).collect();
    assert_eq!(arrivals[..20], [Arrival::Innovative; 20]);
    assert_eq!(arrivals[20..], [Arrival::Full; 4]);
}

#[test]
fn rows_make_room_for_a_repair() {
    let encoder = encoder(0, 100);
    let mut decoder = Decoder::with_pivots(0, Limits { rows: 20, ..Limits::default() }, Pivots::Highest);
    // A full component of the symbols 0 to 59, and another component.
    (0..20).for_each(|n| assert_eq!(repair(&mut decoder, &encoder, Members::range(0..60), n + 1), Arrival::Innovative));
    assert_eq!(repair(&mut decoder, &encoder, Members::range(70..72), 1), Arrival::Innovative);
    let exact = Members::new(vec![3, 9], 0..0).unwrap();
    assert_eq!(repair(&mut decoder, &encoder, exact.clone(), 50), Arrival::Full);
    decoder.discard_rows_with(&exact, 20);
    assert_eq!(decoder.counters().discarded, 0, "no component has more than 20 rows");
    decoder.discard_rows_with(&exact, 19);
    assert_eq!((decoder.rows(), decoder.counters().discarded), (1, 20), "only the full component is discarded");
    assert_eq!(repair(&mut decoder, &encoder, exact.clone(), 50), Arrival::Innovative);
    assert_eq!(repair(&mut decoder, &encoder, exact, 51), Arrival::Innovative);
    assert_eq!(decoder.poll_decoded().map(|(id, payload)| (id, Some(&payload) == encoder.get(id))), Some((3, true)));
    assert_eq!(decoder.poll_decoded().map(|(id, payload)| (id, Some(&payload) == encoder.get(id))), Some((9, true)));
}

#[test]
fn discarded_rows_can_be_received_again() {
    let encoder = encoder(0, 100);
    let mut decoder = Decoder::with_pivots(0, Limits::default(), Pivots::Highest);
    for first in [0, 20, 40] {
        for seed in 0..5 {
            repair(&mut decoder, &encoder, Members::range(first..first + 10), seed);
        }
    }
    let before = decoder.bytes();
    assert_eq!((decoder.rows(), decoder.deficit(), decoder.discard_rows()), (15, 35, 15));
    assert!(decoder.bytes() < before);
    assert_eq!((decoder.rows(), decoder.deficit(), decoder.undecoded()), (0, 50, 50));
    for seed in 0..10 {
        assert_eq!(repair(&mut decoder, &encoder, Members::range(20..30), seed), Arrival::Innovative);
    }
    assert_eq!(drain(&mut decoder).len(), 10);
}

/// Whatever is refused, discarded or left for a later step: every symbol is decoded once, with its own payload.
#[test]
fn small_limits_never_give_a_wrong_payload() {
    let (mut refused, mut displaced, mut decoded) = (0, 0, 0);
    for run in 0..300 {
        let mut random = ripstop_base::Seed::new(12).run(run).stream("limits");
        let encoder = encoder(0, 80);
        let limits = Limits { rows: 4 + random.below(12) as usize, step: 200, ..Limits::default() };
        let mut decoder = Decoder::with_pivots(0, limits, Pivots::Highest);
        let mut known = std::collections::BTreeSet::new();
        for n in 0..200u64 {
            let start = random.below(79);
            let most = if random.chance(0.2) { 30 } else { 4 };
            let length = 1 + random.below(most);
            let tail = start..(start + length).min(80);
            if random.chance(0.1) {
                if decoder.source(start, encoder.get(start).unwrap().clone()) == Arrival::Innovative {
                    assert!(known.insert(start), "run {run}: symbol {start} twice");
                }
            } else {
                let single = random.below(tail.start + 1);
                let members = Members::new(if single < tail.start { vec![single] } else { vec![] }, tail).unwrap();
                if repair(&mut decoder, &encoder, members.clone(), n as u16 + 1) == Arrival::Full {
                    refused += 1;
                    if random.chance(0.3) {
                        decoder.discard_rows_with(&members, 0);
                        displaced += 1;
                        assert_ne!(repair(&mut decoder, &encoder, members, n as u16 + 1), Arrival::Full, "run {run}");
                    }
                }
            }
            if random.chance(0.5) {
                decoder.resume();
            }
            while let Some((id, payload)) = decoder.poll_decoded() {
                assert!(known.insert(id), "run {run}: symbol {id} twice");
                assert_eq!(Some(&payload), encoder.get(id), "run {run}: symbol {id}");
                decoded += 1;
            }
        }
        assert!(known.iter().all(|id| decoder.is_decoded(*id)), "run {run}");
        assert!(known.len() + decoder.undecoded() <= 80, "run {run}");
    }
    assert!(refused > 1_000 && displaced > 300 && decoded > 5_000, "{refused} {displaced} {decoded}");
}
