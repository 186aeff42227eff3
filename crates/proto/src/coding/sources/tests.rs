use super::*;
use crate::wire::SymbolKind;
use ripstop_codes::Length;

/// Records what the window tells the supplier.
#[derive(Default)]
struct Told {
    released: Vec<u16>,
    settled: Vec<(u64, Fate)>,
}

impl Supplier<Length> for Told {
    fn supply(&mut self, _now: Time, _id: u64) -> Option<Supplied<Length>> {
        None
    }

    fn release(&mut self, tag: Tag) {
        self.released.push(tag.0);
    }

    fn settle(&mut self, id: u64, tag: Tag, fate: Fate) {
        assert_eq!(u64::from(tag.0), id);
        self.settled.push((id, fate));
    }
}

/// Adds a symbol of `bytes` bytes, whose tag is its number.
fn push(sources: &mut Sources<Length>, bytes: usize, interactive: bool) {
    let tag = Tag(sources.next() as u16);
    let supplied = Supplied { kind: SymbolKind::Packet, payload: Length(bytes), interactive, tag };
    sources.push(Time::from_millis(sources.next()), &supplied);
}

/// A window of `n` symbols. The symbols in `lost` are lost.
fn window(n: u64, lost: impl Iterator<Item = u64>) -> Sources<Length> {
    let mut sources = Sources::new();
    (0..n).for_each(|_| push(&mut sources, 41, false));
    lost.for_each(|id| sources.lost(id));
    sources
}

fn report(unseen: &[u64], deficit: u32, end: u64) -> SymbolReport {
    let unseen = unseen.iter().map(|id| *id..*id + 1).collect();
    SymbolReport { next_undecoded: 10, end, unseen, deficit, ..SymbolReport::default() }
}

#[test]
fn the_longest_of_a_range_is_found() {
    let mut sources = Sources::new();
    [40, 90, 30, 60, 50].into_iter().for_each(|bytes| push(&mut sources, bytes, false));
    assert_eq!([0..5, 2..5, 2..3, 4..99, 7..99, 3..3].map(|ids| sources.longest(ids)), [90, 60, 30, 50, 0, 0]);
    sources.give_up_oldest(&mut Told::default());
    assert_eq!([0..2, 0..1, 2..3].map(|ids| sources.longest(ids)), [90, 0, 30]);
}

/// The supplier learns each fate once, and learns before or together with it that later symbols need not wait.
#[test]
fn a_supplier_learns_what_became_of_its_symbols() {
    let (mut sources, mut told) = (Sources::new(), Told::default());
    (0..6).for_each(|id| push(&mut sources, 41, id == 2));
    sources.received(3, &mut told);
    sources.received(3, &mut told);
    assert_eq!((&told.released[..], &told.settled[..]), (&[3][..], &[(3, Fate::Arrived)][..]));
    // The peer holds a repair for symbol 2, and has decoded symbol 0. Symbol 1 is missing.
    (0..3).for_each(|id| sources.lost(id));
    let seen = SymbolReport { next_undecoded: 1, ..report(&[1], 1, 6) };
    assert_eq!(sources.take(&seen, &mut told), [1]);
    assert_eq!(told.released, [3, 0, 2], "a seen interactive symbol is all but decoded");
    assert_eq!(told.settled, [(3, Fate::Arrived), (0, Fate::Arrived)]);
    // Symbols 1 and 2 are given up; 3 has arrived; 4 arrives although it was declared lost.
    sources.lost(4);
    assert!(sources.expire(Time::from_millis(14), Duration::from_millis(10), &mut told));
    sources.received(4, &mut told);
    assert_eq!(told.released, [3, 0, 2, 1, 4]);
    assert_eq!(told.settled[2..], [(1, Fate::GivenUp), (2, Fate::GivenUp), (4, Fate::Arrived)]);
    assert!(!sources.expire(Time::from_millis(15), Duration::from_millis(10), &mut told), "symbol 4 has arrived");
    assert!(sources.give_up_longer(40, &mut told));
    assert_eq!((told.settled.len(), told.settled.last()), (6, Some(&(5, Fate::GivenUp))));
    assert_eq!((sources.len(), sources.held_bytes(), sources.in_flight()), (0, 0, 0));
}

#[test]
fn a_complete_list_names_the_holes() {
    let (mut sources, mut told) = (window(100, (10..100).step_by(10)), Told::default());
    // Symbols 30 and 50 are seen: the receiver holds repairs for these symbols, and the repairs
    // wait for the other symbols.
    assert_eq!(sources.take(&report(&[10, 20, 40, 60], 4, 70), &mut told), [10, 20, 40, 60, 70, 80, 90]);
    assert_eq!(sources.first(), 10);
}

#[test]
fn the_deficit_adds_holes_after_the_end_of_a_cut_list() {
    let lost: Vec<u64> = (10..100).step_by(10).collect();
    let (mut sources, mut told) = (window(100, lost.iter().copied()), Told::default());
    let mut take = |report: SymbolReport| sources.take(&report, &mut told);
    // The deficit is larger than the list by three. So the three oldest lost symbols after the
    // list count as holes.
    assert_eq!(take(report(&[10, 20], 5, 100)), [10, 20, 30, 40, 50]);
    // The list is complete up to its last symbol, so symbols 20 and 30 are not holes.
    assert_eq!(take(report(&[10, 40], 3, 100)), [10, 40, 50]);
    // The deficit exceeds the number of known losses. The other missing symbols are in flight,
    // or their loss will be noticed later.
    assert_eq!(take(report(&[10, 20], 1_000, 100)), lost);
    // Symbols that the receiver does not know to exist are not part of its deficit.
    assert_eq!(take(report(&[10], 2, 50)), [10, 20, 50, 60, 70, 80, 90]);
    // A deficit smaller than the list means that the list was not cut.
    assert_eq!(take(report(&[10, 20], 0, 100)), [10, 20]);
}
