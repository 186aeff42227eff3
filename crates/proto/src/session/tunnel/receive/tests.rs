//! Attacks of an authenticated peer on the receiver: each packet is well-formed. Memory and work
//! must stay in proportion to what arrived.

use super::*;
use crate::session::tunnel::inner::Meta;
use crate::session::tunnel::inner::Order;
use crate::wire::Window;
use ripstop_codes::Length;

const LIMIT: u32 = 1 << 16;
const MATRIX: usize = 128_000_000;

impl InnerPacket for Length {
    fn set_gap(&mut self, _gap: Gap) {}
    fn gap(&self) -> Gap {
        Gap::ADJACENT
    }
    fn meta(&self) -> Option<Meta> {
        Some(Meta { flow: 1, order: Order::InOrder, len: self.0 as u32 - 1, ack: None })
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
    let mut receiver = receiver();
    // Each source is as far ahead of the highest symbol as the old check allowed.
    let mut id = 0;
    for _ in 0..500 {
        id += u64::from(LIMIT) - 1;
        receiver.source(Time::ZERO, id, Gap::ADJACENT, Length(60));
    }
    assert_eq!(receiver.counts.beyond, 499, "only the first source is within the window");
    assert!(receiver.backlog().0 < LIMIT as usize);
    assert!(receiver.bytes() < 30_000, "{} bytes", receiver.bytes());
    assert_eq!(receiver.missing.ranges().count(), 1);
    // Repairs far ahead.
    for last in [1 << 17, 1 << 40, u64::MAX] {
        receiver.repair(Time::ZERO, &Members::one(last), &Coding::Seed(1), Length(60));
    }
    assert_eq!(receiver.counts.beyond, 502);
    assert!(receiver.bytes() < 30_000);
}

#[test]
fn a_window_that_jumps_takes_no_work_per_symbol() {
    let mut receiver = receiver();
    let mut base = 0;
    for _ in 0..2_000 {
        base += 65_500;
        receiver.window(Time::ZERO, &window(base));
        assert_eq!((receiver.end(), receiver.backlog().0), (base, 0));
        assert!(receiver.bytes() < 30_000);
    }
    assert_eq!(receiver.counts.given_up, base);
    receiver.window(Time::ZERO, &window(base + u64::from(LIMIT) + 1));
    assert_eq!((receiver.end(), receiver.counts.beyond), (base, 1));
}

/// The symbol 2^64 - 1 is refused, and no number before it overflows.
#[test]
fn the_highest_symbol_numbers_are_harmless() {
    const BASE: u64 = u64::MAX - 9;
    let mut receiver = receiver();
    receiver.advance(Time::ZERO, BASE);
    // Every other number, so that symbols are missing and packets wait.
    for id in (BASE..u64::MAX).step_by(2).chain([u64::MAX]) {
        receiver.source(Time::ZERO, id, Gap::rounded(2), Length(60));
    }
    assert_eq!((receiver.end(), receiver.backlog().0, receiver.counts.sources), (u64::MAX, 4, 6));
    for members in [Members::one(u64::MAX), Members::range(BASE..u64::MAX), Members::one(u64::MAX - 2)] {
        receiver.repair(Time::ZERO, &members, &Coding::Seed(1), Length(60));
    }
    receiver.expire(Time::from_millis(90_000), Duration::ZERO);
    receiver.window(Time::ZERO, &window(u64::MAX));
    assert_eq!((receiver.backlog().0, receiver.order.waiting()), (0, 0));
    assert_eq!(
        std::iter::from_fn(|| receiver.poll(Time::ZERO, &mut DeliveryRoom::unlimited()))
            .map(|packet| packet.payload.0)
            .sum::<usize>(),
        5 * 60
    );
}

/// The work of the decoder alone.
fn eliminated(receiver: &Receiver<Length>) -> u64 {
    receiver.decoder.counters().work_bytes
}

/// Gaps and jumps count as work, and a peer in debt may not cause much of it.
#[test]
fn jumps_of_a_peer_in_debt_are_refused() {
    let mut receiver = receiver();
    let at = |ms| Time::from_millis(ms);
    receiver.source(at(0), 40_000, Gap::NONE, Length(40));
    assert_eq!(receiver.work(), SKIP_WORK * 40_000);
    for id in (1..20_000).step_by(2) {
        receiver.source(at(0), id, Gap::NONE, Length(40));
    }
    assert!(receiver.work() > SKIP_WORK * 40_000 + SPLIT_WORK * 40_000_000, "{}", receiver.work());
    let (work, beyond) = (receiver.work(), receiver.counts.beyond);
    receiver.defer(at(500));
    receiver.source(at(1), 20_001, Gap::NONE, Length(40));
    receiver.source(at(1), 50_000, Gap::NONE, Length(40));
    receiver.window(at(1), &window(50_000));
    assert_eq!((receiver.work(), receiver.counts.beyond), (work, beyond + 3));
    // Short jumps are taken, and all jumps are when the debt is paid.
    receiver.source(at(1), 40_100, Gap::NONE, Length(40));
    receiver.source(at(500), 50_000, Gap::NONE, Length(40));
    receiver.window(at(500), &window(50_001));
    assert_eq!((receiver.counts.beyond, receiver.backlog().0), (beyond + 3, 0));
}

#[test]
fn a_repair_over_the_whole_window_is_refused() {
    let mut receiver = receiver();
    let big = Window { reach: LIMIT, ..window(0) };
    receiver.window(Time::ZERO, &big);
    for id in (0..40_000).filter(|id| *id != 20_000) {
        receiver.source(Time::ZERO, id, Gap::NONE, Length(1400));
    }
    receiver.repair(Time::ZERO, &Members::range(0..40_000), &Coding::Seed(1), Length(1400));
    assert_eq!((receiver.counts.wide, eliminated(&receiver), receiver.backlog().0), (1, 0, 1));
    // A repair as an honest sender makes it recovers the symbol.
    receiver.repair(Time::ZERO, &Members::range(19_900..20_156), &Coding::Seed(1), Length(1400));
    assert_eq!((receiver.counts.recovered, receiver.backlog().0), (1, 0));
}

#[test]
fn stored_repairs_that_depend_on_each_other_are_bounded() {
    let mut receiver = receiver();
    // A chain: each repair has one symbol in common with the next one.
    for id in 0..5_000 {
        receiver.repair(Time::ZERO, &Members::range(id..id + 2), &Coding::Seed(1), Length(1400));
    }
    let (_, rows, _) = receiver.backlog();
    assert!(receiver.counts.full > 0 && rows > 4_000, "{:?}", receiver.counts);
    assert!(receiver.bytes() < 30_000_000, "{} bytes", receiver.bytes());
    // The first symbol decodes the first chain.
    let before = receiver.work();
    receiver.source(Time::ZERO, 0, Gap::NONE, Length(1400));
    while receiver.next_due(Duration::from_secs(9)) == Some(Time::ZERO) {
        receiver.expire(Time::ZERO, Duration::from_secs(9));
    }
    let most = MAX_ROWS + MAX_ROWS / 4;
    assert_eq!(receiver.counts.recovered, most as u64 - 1, "{:?}", receiver.counts);
    assert!(receiver.work() - before < 11_000_000_000, "{}", receiver.work() - before);
    receiver.shrink();
    assert_eq!(receiver.backlog().1, 0);
    assert_eq!(receiver.counts().0.discarded + receiver.counts.recovered, rows as u64);
}

#[test]
fn a_refused_repair_shows_which_symbols_are_missing() {
    let mut receiver = receiver();
    receiver.window(Time::ZERO, &window(0));
    for id in 0..2 {
        receiver.source(Time::ZERO, id, Gap::NONE, Length(60));
    }
    // The repair has more unknown members than the decoder takes.
    receiver.repair(Time::ZERO, &Members::range(0..300), &Coding::Seed(1), Length(60));
    assert_eq!(receiver.counts.wide, 1);
    let report = receiver.report();
    assert_eq!((report.end, report.next_undecoded, report.undecoded, report.deficit), (300, 2, 298, 298));
    assert_eq!(report.unseen, vec![2..300], "a symbol that is not listed counts as seen");
}

/// A peer in debt: its exact repairs become cheap, because costly stored repairs go.
#[test]
fn a_refused_exact_repair_discards_costly_stored_repairs() {
    let mut receiver = receiver();
    let mut chain = |from: u64, rows: u64| {
        for id in from..from + rows {
            receiver.repair(Time::ZERO, &Members::range(id..id + 2), &Coding::Seed(1), Length(1400));
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
    assert_eq!((receiver.backlog().1 as u64, receiver.counts().0.discarded), (costly - 1, costly));
}

/// A peer in debt: its sources are delivered at once, and cost no work before the budget allows work again.
#[test]
fn sources_of_a_peer_in_debt_are_delivered_and_eliminated_later() {
    let mut receiver = receiver();
    let at = |ms| Time::from_millis(ms);
    for pair in 0..200 {
        receiver.repair(Time::ZERO, &Members::range(2 * pair..2 * pair + 2), &Coding::Seed(1), Length(1400));
    }
    let before = eliminated(&receiver);
    receiver.defer(at(500));
    for pair in 0..200 {
        receiver.source(at(1), 2 * pair, Gap::NONE, Length(1400));
    }
    assert_eq!((eliminated(&receiver), receiver.counts.sources, receiver.backlog().0), (before, 200, 200));
    assert_eq!(std::iter::from_fn(|| receiver.poll(Time::ZERO, &mut DeliveryRoom::unlimited())).count(), 200);
    // The report does not ask for what has arrived.
    let report = receiver.report();
    assert_eq!((report.unseen.len(), report.deficit, report.undecoded), (0, 0, 200));
    // The window moves later, too. A source in the passed part is too old.
    receiver.window(at(3), &window(100));
    receiver.source(at(3), 99, Gap::NONE, Length(1400));
    assert_eq!((eliminated(&receiver), receiver.backlog().0), (before, 150));
    receiver.defer(at(500));
    assert_eq!(receiver.next_due(Duration::from_secs(9)), Some(at(500)));
    receiver.expire(at(500), Duration::from_secs(9));
    assert!(eliminated(&receiver) > before && !receiver.decoder.is_unfinished());
    assert_eq!((receiver.backlog().0, receiver.backlog().1, receiver.counts.recovered), (0, 0, 150));
}
