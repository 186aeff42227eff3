//! Memory of components that have become small or empty, and the search for components.

use crate::Symbol;
use crate::window::{Arrival, Coding, Decoder, Limits, Members, Pivots};

/// Takes a repair of `members`. The content does not matter.
fn repair(decoder: &mut Decoder<Symbol>, members: Members, seed: u16) -> Arrival {
    decoder.repair(&members, &Coding::Seed(seed), Symbol::from_slice(&[1; 20]))
}

/// The memory of all components, bytes.
fn held(decoder: &Decoder<Symbol>) -> usize {
    decoder.current.held() + decoder.others.components.iter().map(super::Component::held).sum::<usize>()
}

/// One component after the other grows and shrinks. Each keeps one row, so that no later one uses its memory.
#[test]
fn components_that_were_large_hold_little_and_count_it() {
    let mut decoder: Decoder<Symbol> = Decoder::with_pivots(0, Limits::default(), Pivots::Highest);
    for part in 0..15 {
        let start = 1000 * part;
        for seed in 0..200 {
            assert_eq!(repair(&mut decoder, Members::range(start..start + 400), seed), Arrival::Innovative);
        }
        let grown = decoder.current.held();
        assert!(grown > 200 * 600 && decoder.bytes() >= grown + 200 * 20, "{} of {grown} bytes", decoder.bytes());
        if part % 2 == 0 {
            decoder.discard_rows_with(&Members::one(start), 0);
        } else {
            // All rows but one are lost with the symbols that are given up.
            (start..start + 199).for_each(|id| assert!(decoder.give_up(id)));
        }
        assert_eq!(repair(&mut decoder, Members::range(start + 990..start + 992), 1), Arrival::Innovative);
        assert_eq!(repair(&mut decoder, Members::range(start + 995..start + 997), 1), Arrival::Innovative);
        assert!(decoder.others.held + decoder.current.held() <= held(&decoder));
        assert!(decoder.bytes() + 5_000 >= held(&decoder), "{} of {} bytes", decoder.bytes(), held(&decoder));
    }
    assert_eq!(decoder.rows(), 15 * 2 + 7);
    assert!(held(&decoder) < 37 * 6_000, "{} bytes", held(&decoder));
    decoder.discard_rows();
    assert!(held(&decoder) < 10_000 && decoder.bytes() < 500_000, "{} {}", held(&decoder), decoder.bytes());
}

/// The search for the components of a repair that is refused is work.
#[test]
fn a_repair_that_joins_too_many_components_counts() {
    let limits = Limits { rows: 400, ..Limits::default() };
    let mut decoder: Decoder<Symbol> = Decoder::with_pivots(0, limits, Pivots::Highest);
    for at in 0..500 {
        assert_eq!(repair(&mut decoder, Members::range(2 * at..2 * at + 2), 1), Arrival::Innovative);
    }
    let before = decoder.counters().work_bytes;
    for seed in 0..10 {
        assert_eq!(repair(&mut decoder, Members::range(0..1000), seed), Arrival::Full);
    }
    let work = decoder.counters().work_bytes - before;
    assert!(work >= 10 * 900 * super::SEARCH_WORK, "work {work}");
    // A component is found once, however many of its symbols are members.
    let members = Members::new((0..8).collect(), 8..10).unwrap();
    assert_eq!(repair(&mut decoder, members, 9), Arrival::Innovative);
    assert_eq!((decoder.counters().joined, decoder.rows()), (4, 501));
}
