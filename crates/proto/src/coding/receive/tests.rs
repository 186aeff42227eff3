//! Attacks of an authenticated peer on the receiver: each packet is well-formed. Memory and work
//! must stay in proportion to what arrived.

use super::*;
use crate::wire::Window;
use ripstop_codes::Length;
use std::time::Duration;

const LIMIT: u32 = 1 << 16;
const MATRIX: usize = 128_000_000;

/// Counts the symbols that have become known.
#[derive(Default)]
struct Taken(usize);

impl Recipient<Length> for Taken {
    fn take(&mut self, _: Time, id: u64, _: Length, missing: &IdRanges) {
        self.0 += 1;
        assert!(!missing.contains(id));
    }

    fn give_up_before(&mut self, base: u64, missing: &IdRanges) {
        assert!(missing.first().is_none_or(|first| first >= base));
    }
}

fn receiver() -> Receiver<Length> {
    Receiver::new(LIMIT, MATRIX)
}

fn window(base: u64) -> Window {
    Window { base, reach: 1024, report_every: Duration::from_millis(10), deadline: Duration::from_secs(1) }
}

#[test]
fn sources_far_ahead_take_no_memory() {
    let (mut receiver, mut taken) = (receiver(), Taken::default());
    // Each source is as far ahead of the highest symbol as the old check allowed.
    let mut id = 0;
    for _ in 0..500 {
        id += u64::from(LIMIT) - 1;
        receiver.source(Time::ZERO, id, Length(60), &mut taken);
    }
    assert_eq!(receiver.counts.beyond, 499, "only the first source is within the window");
    assert!(receiver.backlog().0 < LIMIT as usize);
    assert!(receiver.bytes() < 30_000, "{} bytes", receiver.bytes());
    assert_eq!(receiver.missing.ranges().count(), 1);
    // Repairs far ahead.
    for last in [1 << 17, 1 << 40, u64::MAX] {
        receiver.repair(Time::ZERO, &Members::one(last), &Coding::Seed(1), Length(60), &mut taken);
    }
    assert_eq!(receiver.counts.beyond, 502);
    assert!(receiver.bytes() < 30_000);
}

#[test]
fn a_window_that_jumps_takes_no_work_per_symbol() {
    let (mut receiver, mut taken) = (receiver(), Taken::default());
    let mut base = 0;
    for _ in 0..2_000 {
        base += 65_500;
        receiver.window(Time::ZERO, &window(base), &mut taken);
        assert_eq!((receiver.end(), receiver.backlog().0), (base, 0));
        assert!(receiver.bytes() < 30_000);
    }
    assert_eq!(receiver.counts.given_up, base);
    receiver.window(Time::ZERO, &window(base + u64::from(LIMIT) + 1), &mut taken);
    assert_eq!((receiver.end(), receiver.counts.beyond), (base, 1));
}

/// The work of the decoder alone.
fn eliminated(receiver: &Receiver<Length>) -> u64 {
    receiver.decoder.counters().work_bytes
}

/// Gaps and jumps count as work, and a peer in debt may not cause much of it.
#[test]
fn jumps_of_a_peer_in_debt_are_refused() {
    let (mut receiver, mut taken) = (receiver(), Taken::default());
    let at = |ms| Time::from_millis(ms);
    receiver.source(at(0), 40_000, Length(40), &mut taken);
    assert_eq!(receiver.work(), SKIP_WORK * 40_000);
    for id in (1..20_000).step_by(2) {
        receiver.source(at(0), id, Length(40), &mut taken);
    }
    assert!(receiver.work() > SKIP_WORK * 40_000 + SPLIT_WORK * 40_000_000, "{}", receiver.work());
    let (work, beyond) = (receiver.work(), receiver.counts.beyond);
    receiver.defer(at(500));
    receiver.source(at(1), 20_001, Length(40), &mut taken);
    receiver.source(at(1), 50_000, Length(40), &mut taken);
    receiver.window(at(1), &window(50_000), &mut taken);
    assert_eq!((receiver.work(), receiver.counts.beyond), (work, beyond + 3));
    // Short jumps are taken, and all jumps are when the debt is paid.
    receiver.source(at(1), 40_100, Length(40), &mut taken);
    receiver.source(at(500), 50_000, Length(40), &mut taken);
    receiver.window(at(500), &window(50_001), &mut taken);
    assert_eq!((receiver.counts.beyond, receiver.backlog().0), (beyond + 3, 0));
}

#[test]
fn a_repair_over_the_whole_window_is_refused() {
    let (mut receiver, mut taken) = (receiver(), Taken::default());
    let big = Window { reach: LIMIT, ..window(0) };
    receiver.window(Time::ZERO, &big, &mut taken);
    for id in (0..40_000).filter(|id| *id != 20_000) {
        receiver.source(Time::ZERO, id, Length(1400), &mut taken);
    }
    receiver.repair(Time::ZERO, &Members::range(0..40_000), &Coding::Seed(1), Length(1400), &mut taken);
    assert_eq!((receiver.counts.wide, eliminated(&receiver), receiver.backlog().0), (1, 0, 1));
    // A repair as an honest sender makes it recovers the symbol.
    receiver.repair(Time::ZERO, &Members::range(19_900..20_156), &Coding::Seed(1), Length(1400), &mut taken);
    assert_eq!((receiver.counts.recovered, receiver.backlog().0), (1, 0));
}

#[test]
fn stored_repairs_that_depend_on_each_other_are_bounded() {
    let (mut receiver, mut taken) = (receiver(), Taken::default());
    // A chain: each repair has one symbol in common with the next one.
    for id in 0..5_000 {
        receiver.repair(Time::ZERO, &Members::range(id..id + 2), &Coding::Seed(1), Length(1400), &mut taken);
    }
    let (_, rows) = receiver.backlog();
    assert!(receiver.counts.full > 0 && rows > 4_000, "{:?}", receiver.counts);
    assert!(receiver.bytes() < 30_000_000, "{} bytes", receiver.bytes());
    // The first symbol decodes the first chain.
    let before = receiver.work();
    receiver.source(Time::ZERO, 0, Length(1400), &mut taken);
    while receiver.next_due() == Some(Time::ZERO) {
        receiver.go_on(Time::ZERO, &mut taken);
    }
    let most = MAX_ROWS + MAX_ROWS / 4;
    assert_eq!(receiver.counts.recovered, most as u64 - 1, "{:?}", receiver.counts);
    assert!(receiver.work() - before < 11_000_000_000, "{}", receiver.work() - before);
    receiver.shrink();
    assert_eq!(receiver.backlog().1, 0);
    assert_eq!(receiver.counts().discarded + receiver.counts.recovered, rows as u64);
}

#[test]
fn a_refused_repair_shows_which_symbols_are_missing() {
    let (mut receiver, mut taken) = (receiver(), Taken::default());
    receiver.window(Time::ZERO, &window(0), &mut taken);
    for id in 0..2 {
        receiver.source(Time::ZERO, id, Length(60), &mut taken);
    }
    // The repair has more unknown members than the decoder takes.
    receiver.repair(Time::ZERO, &Members::range(0..300), &Coding::Seed(1), Length(60), &mut taken);
    assert_eq!(receiver.counts.wide, 1);
    let report = receiver.report();
    assert_eq!((report.end, report.next_undecoded, report.undecoded, report.deficit), (300, 2, 298, 298));
    assert_eq!(report.unseen, vec![2..300], "a symbol that is not listed counts as seen");
}

/// A peer in debt: its exact repairs become cheap, because costly stored repairs go.
#[test]
fn a_refused_exact_repair_discards_costly_stored_repairs() {
    let (mut receiver, mut taken) = (receiver(), Taken::default());
    let mut chain = |from: u64, rows: u64| {
        for id in from..from + rows {
            receiver.repair(Time::ZERO, &Members::range(id..id + 2), &Coding::Seed(1), Length(1400), &mut taken);
        }
    };
    let costly = COSTLY_ROWS as u64 + 1;
    chain(0, costly);
    chain(1000, costly - 1);
    let exact = |id| Members::new(vec![id, 2000], 0..0).unwrap();
    receiver.refuse(&Members::range(3..9));
    receiver.refuse(&exact(1003));
    receiver.refuse(&Members::new(vec![3, 5], 100..100 + MAX_MEMBERS as u64).unwrap());
    assert_eq!(receiver.backlog().1 as u64, 2 * costly - 1);
    receiver.refuse(&exact(3));
    assert_eq!((receiver.backlog().1 as u64, receiver.counts().discarded), (costly - 1, costly));
}

/// A peer in debt: its sources are delivered at once, and cost no work before the budget allows work again.
#[test]
fn sources_of_a_peer_in_debt_are_delivered_and_eliminated_later() {
    let (mut receiver, mut taken) = (receiver(), Taken::default());
    let at = |ms| Time::from_millis(ms);
    for pair in 0..200 {
        receiver.repair(
            Time::ZERO,
            &Members::range(2 * pair..2 * pair + 2),
            &Coding::Seed(1),
            Length(1400),
            &mut taken,
        );
    }
    let before = eliminated(&receiver);
    receiver.defer(at(500));
    for pair in 0..200 {
        receiver.source(at(1), 2 * pair, Length(1400), &mut taken);
    }
    assert_eq!((eliminated(&receiver), receiver.counts.sources, receiver.backlog().0), (before, 200, 200));
    assert_eq!(taken.0, 200);
    // The report does not ask for what has arrived.
    let report = receiver.report();
    assert_eq!((report.unseen.len(), report.deficit, report.undecoded), (0, 0, 200));
    // The window moves later, too. A source in the passed part is too old.
    receiver.window(at(3), &window(100), &mut taken);
    receiver.source(at(3), 99, Length(1400), &mut taken);
    assert_eq!((eliminated(&receiver), receiver.backlog().0), (before, 150));
    receiver.defer(at(500));
    assert_eq!(receiver.next_due(), Some(at(500)));
    receiver.go_on(at(500), &mut taken);
    assert!(eliminated(&receiver) > before && !receiver.decoder.is_unfinished());
    assert_eq!((receiver.backlog(), receiver.counts.recovered), ((0, 0), 150));
}
