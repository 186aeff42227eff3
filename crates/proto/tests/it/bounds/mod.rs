//! An authenticated peer attacks a server. The server's memory stays within bounds, and another
//! peer keeps at least 90 % of its goodput. `docs/security.md` lists the bounds.

mod corpus;
mod delivery;
mod mtu;
mod world;

use ripstop_base::Rate;
use ripstop_codes::Symbol;
use ripstop_codes::window::{Coding, Members};
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::endpoint::EndpointConfig;
use ripstop_proto::packets::{Gap, Piece};
use ripstop_proto::secure::Rejected;
use ripstop_proto::wire::{Feedback, Packet, PathReport, SymbolKind, SymbolReport, Window};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use world::{Attack, Outcome, Setting, run};

/// The inner packets of the attacker, as source symbols.
fn symbol(len: usize) -> Symbol {
    let packet = world::udp([10, 0, 0, 3].into(), [10, 0, 0, 1].into(), len);
    Symbol::from_parts(&[&[Gap::ADJACENT.nibble()], &packet])
}

fn source(id: u64, len: usize) -> Packet<Symbol> {
    Packet::Source { id, kind: SymbolKind::Packet, payload: symbol(len) }
}

fn repair(members: Members, seed: u16, len: usize) -> Packet<Symbol> {
    Packet::Repair { members, coding: Coding::Seed(seed), payload: Symbol::from_slice(&vec![7; len]) }
}

/// The goodput and the delay without an attack. Tests whose servers have equal settings and tasks share a run: the rate and
/// the numbers of an attacker that sends nothing change nothing.
fn calm(seed: u64, setting: &Setting) -> (u64, Duration) {
    type Run = Arc<OnceLock<(u64, Duration)>>;
    static RUNS: Mutex<BTreeMap<String, Run>> = Mutex::new(BTreeMap::new());
    let Setting { config, sessions, fed, loss, time, rate: _, step: _ } = setting;
    let key = format!("{seed} {config:?} {sessions} {fed:?} {loss:?} {time:?}");
    let known = Arc::clone(RUNS.lock().expect("a table without a panic").entry(key).or_default());
    *known.get_or_init(|| {
        let Outcome { goodput, delay, .. } = run(seed, setting, None);
        (goodput, delay)
    })
}

/// Runs the attack. The honest peer must keep 90 % of the goodput without an attack, and its packets may be on the way for
/// 10 ms longer.
fn attacked(setting: &Setting, attack: Attack) -> Outcome {
    let seed = 1;
    let (goodput, delay) = calm(seed, setting);
    let outcome = run(seed, setting, Some(attack));
    assert!(goodput > 5_000_000, "seed {seed}: {goodput} bytes without an attack");
    assert!(
        outcome.goodput as f64 >= 0.9 * goodput as f64,
        "seed {seed}: {} of {goodput} bytes; {:?}",
        outcome.goodput,
        outcome.server
    );
    let most = delay + Duration::from_millis(10);
    assert!(outcome.delay <= most, "seed {seed}: {:?} on the way, {delay:?} without an attack", outcome.delay);
    outcome
}

#[test]
fn sources_far_ahead() {
    let mut id = 0;
    let attack = move |_: &mut _| {
        id += 65_535;
        source(id, 32)
    };
    let outcome = attacked(&Setting::default(), Box::new(attack));
    let tunnel = outcome.attacker.tunnel.unwrap();
    assert!(tunnel.received.beyond > 20_000, "{:?}", tunnel.received);
    // A page of records for each of the 1024 places where symbols arrived.
    assert!(outcome.memory.1 < 3_000_000, "{:?}", outcome.memory);
}

#[test]
fn windows_that_jump() {
    let mut base = 0;
    let attack = move |_: &mut _| {
        base += 65_500;
        let ms = Duration::from_millis;
        Packet::Window(Window { base, reach: 1 << 16, report_every: ms(1), deadline: ms(60_000) })
    };
    let outcome = attacked(&Setting::default(), Box::new(attack));
    let received = outcome.attacker.tunnel.unwrap().received;
    assert!(received.given_up > 1_000_000_000, "{received:?}");
    assert!(outcome.memory.1 < 1_000_000, "{:?}", outcome.memory);
}

#[test]
fn datagram_numbers_that_jump() {
    let setting = Setting { step: 1 << 14, rate: 20_000, ..Setting::default() };
    let outcome = attacked(&setting, Box::new(|_| Packet::Probe { padding: 0 }));
    assert!(outcome.attacker.tunnel.unwrap().path.received.datagrams > 40_000);
}

#[test]
fn repairs_over_the_whole_window() {
    let mut sent = 0;
    let attack = move |_: &mut _| {
        sent += 1;
        match sent {
            1 => Packet::Window(Window {
                base: 0,
                reach: 1 << 16,
                report_every: Duration::from_millis(10),
                deadline: Duration::from_secs(60),
            }),
            2..20_000 if sent != 10_000 => source(sent, 1400),
            _ => repair(Members::range(3..19_000), sent as u16, 1400),
        }
    };
    let outcome = attacked(&Setting { rate: 20_000, ..Setting::default() }, Box::new(attack));
    let tunnel = outcome.attacker.tunnel.unwrap();
    assert!(tunnel.received.wide > 10_000, "{:?}", tunnel.received);
}

/// The attack of [`repairs_that_combine_as_much_as_allowed`].
fn costly_repairs() -> Attack {
    let (mut id, mut turn) = (0, 0);
    Box::new(move |_: &mut _| {
        // A hole, then a repair over the hole and the known symbols before it. Then the symbol
        // itself, in case the repair was refused.
        turn += 1;
        if turn < 1100 {
            id += 1;
            return source(id - 1, 1400);
        }
        match turn % 3 {
            0 => {
                id += 2;
                source(id, 1400)
            }
            1 => repair(Members::range(id - 1000..id + 1), turn as u16, 1400),
            _ => source(id - 1, 1400),
        }
    })
}

#[test]
fn repairs_that_combine_as_much_as_allowed() {
    let outcome = attacked(&Setting { rate: 20_000, ..Setting::default() }, costly_repairs());
    assert!(
        outcome.attacker.over_work > 400,
        "{} {:?}",
        outcome.attacker.work,
        outcome.attacker.tunnel.unwrap().received
    );
    assert_eq!(outcome.honest.over_work, 0);
}

#[test]
fn stored_repairs_that_depend_on_each_other() {
    let (mut first, mut at) = (0, 0);
    let attack = move |_: &mut _| {
        // A chain of repairs, each with one symbol in common with the next one. Then the first
        // symbol decodes the chain.
        at += 1;
        if at <= 1_000 {
            return repair(Members::range(first + at - 1..first + at + 1), at as u16, 1400);
        }
        if at == 1_001 {
            return source(first, 1400);
        }
        (first, at) = (first + 1_001, 0);
        let (report_every, deadline) = (Duration::from_millis(10), Duration::from_secs(60));
        Packet::Window(Window { base: first, reach: 1024, report_every, deadline })
    };
    let outcome = attacked(&Setting { rate: 20_000, ..Setting::default() }, Box::new(attack));
    let received = outcome.attacker.tunnel.unwrap().received;
    assert!(received.recovered > 500 && outcome.attacker.over_work > 1_000, "{received:?} {:?}", outcome.server);
    assert_eq!(outcome.honest.over_work, 0);
}

/// Thousands of stored repairs, each of two missing symbols and a thousand known ones. Then one symbol of each pair
/// arrives, and the rest of the known symbols are freed.
#[test]
fn sources_that_complete_stored_repairs() {
    const PAIRS: u64 = 4_000;
    let (mut first, mut at) = (0u64, 0u64);
    let attack = move |_: &mut _| {
        let (report_every, deadline) = (Duration::from_millis(10), Duration::from_secs(60));
        let window = |base, reach| Packet::Window(Window { base, reach, report_every, deadline });
        let (known, pairs) = (first + 2 * PAIRS, at.saturating_sub(1_001));
        at += 1;
        match at - 1 {
            0 => window(first, 1 << 16),
            1..=1_000 => source(known + at - 2, 1400),
            _ if pairs < PAIRS => {
                let singles = vec![first + 2 * pairs, first + 2 * pairs + 1];
                repair(Members::new(singles, known..known + 1_000).unwrap(), pairs as u16, 1400)
            }
            // Half of the repairs are completed. The others are stored when the known symbols are freed.
            _ if pairs < PAIRS + PAIRS / 2 => source(first + 2 * (pairs - PAIRS), 40),
            _ if pairs < PAIRS + PAIRS / 2 + 1_500 => source(known + 1_000 + pairs, 40),
            _ => {
                (first, at) = (known + 10_000, 0);
                window(known, 0)
            }
        }
    };
    let config = EndpointConfig { work_per_second: 400_000_000, ..EndpointConfig::default() };
    let outcome = attacked(&Setting { config, rate: 20_000, ..Setting::default() }, Box::new(attack));
    let received = outcome.attacker.tunnel.unwrap().received;
    // The budget of 3 s, the savings of 2 s, and a step. 4000 recovered symbols take 5.6 GB.
    assert!(outcome.attacker.work < 2_200_000_000, "{} {received:?}", outcome.attacker.work);
    assert!(received.recovered > 300 && received.sources > 12_000, "{received:?}");
    assert_eq!(outcome.honest.over_work, 0);
}

/// An honest peer loses a third of its datagrams, one by one or in runs, on a server with little time for it. Its savings
/// are enough for the recovery, also beside an attack.
#[test]
fn an_honest_peer_that_loses_much_is_not_refused() {
    for (length, attacked) in [(1, false), (60, false), (1, true), (60, true)] {
        let config = EndpointConfig { work_per_second: 120_000_000, ..EndpointConfig::default() };
        let setting = Setting { config, loss: (0.3, length), ..Setting::default() };
        let outcome = run(1, &setting, attacked.then(costly_repairs));
        assert_eq!(outcome.honest.over_work, 0, "runs of {length}: {}", outcome.honest.work);
        assert!(outcome.honest.work > 50_000_000, "runs of {length}: {}", outcome.honest.work);
        assert!(outcome.goodput > 6_000_000, "runs of {length}: {} bytes", outcome.goodput);
        assert!(!attacked || outcome.attacker.over_work > 100, "{}", outcome.attacker.over_work);
    }
}

/// What a server refuses for its work has arrived all the same: the sender must not take it for a loss of the path.
#[test]
fn refused_packets_are_acknowledged() {
    let config = EndpointConfig { work_per_second: 15_000_000, ..EndpointConfig::default() };
    let outcome = run(1, &Setting { config, loss: (0.3, 1), ..Setting::default() }, None);
    let (settled, lost) = outcome.sender.tunnel.as_ref().unwrap().path.settled;
    assert!(outcome.honest.over_work > 500, "{}", outcome.honest.over_work);
    assert!((lost as f64) < 0.33 * settled as f64, "{lost} of {settled} count as lost");
}

#[test]
fn packets_that_wait_for_ever() {
    // All packets wait for symbol 0, which never comes.
    let mut id = 0;
    let attack = move |_: &mut _| {
        id += 1;
        if id == 1 {
            let (report_every, deadline) = (Duration::from_millis(10), Duration::from_secs(60));
            return Packet::Window(Window { base: 0, reach: 1 << 16, report_every, deadline });
        }
        source(id, 1400)
    };
    let config = EndpointConfig { memory: 10_000_000, ..EndpointConfig::default() };
    let outcome = attacked(&Setting { config, rate: 20_000, ..Setting::default() }, Box::new(attack));
    assert!(outcome.memory.0 < 10_100_000 && outcome.attacker.shrunk > 0, "{:?}", outcome.memory);
    assert_eq!((outcome.honest.shrunk, outcome.server.shrunk), (0, outcome.attacker.shrunk));
}

/// All pieces but the last of packets of ever new flows. Zeros make the pieces as long as other symbols.
#[test]
fn packets_whose_last_piece_never_comes() {
    let mut sent = 0;
    let attack = move |_: &mut _| {
        sent += 1;
        let id = sent - 1;
        let piece = Piece { flow: (id / 14) as u16, index: (id % 14) as u8, count: 15, total: 15 };
        let payload = Symbol::from_parts(&[&[SymbolKind::Piece.first_byte(0)], &piece.header(), &[7; 1], &[0; 1_400]]);
        Packet::Source { id, kind: SymbolKind::Piece, payload }
    };
    let outcome = attacked(&Setting::default(), Box::new(attack));
    let pieces = outcome.attacker.tunnel.unwrap().pieces;
    assert!(pieces.taken > 20_000 && pieces.dropped + 500 > pieces.taken, "{pieces:?}");
    // The history of 1088 known symbols, and 448 pieces.
    assert!(outcome.memory.1 < 3_000_000, "{:?}", outcome.memory);
}

#[test]
fn stored_repairs_that_fill_the_memory() {
    let mut id = 0;
    let attack = move |_: &mut _| {
        id += 2;
        repair(Members::range(id..id + 2), 1, 1400)
    };
    let config = EndpointConfig { memory: 10_000_000, ..EndpointConfig::default() };
    let outcome = attacked(&Setting { config, rate: 20_000, ..Setting::default() }, Box::new(attack));
    assert!(outcome.memory.0 < 10_100_000 && outcome.attacker.shrunk > 0, "{:?}", outcome.memory);
    assert!(outcome.attacker.tunnel.unwrap().received.discarded > 0);
    assert_eq!(outcome.honest.shrunk, 0);
}

#[test]
fn reports_that_acknowledge_nothing_new() {
    // The server sends 1000 packets a second to the attacker, whose reports repeat that only the
    // first datagram has arrived.
    let mut reports = 0;
    let attack = move |_: &mut _| {
        reports += 1;
        let report = Feedback {
            path: Some(PathReport { received: 1, acked: std::iter::once(0..1).collect(), ..PathReport::default() }),
            symbols: Some(SymbolReport { end: 1 << 18, ..SymbolReport::default() }),
        };
        Packet::Feedback(Box::new(at(reports, report)))
    };
    let setting = Setting { rate: 5_000, fed: (1_000, 1_400), ..Setting::default() };
    let outcome = attacked(&setting, Box::new(attack));
    assert!(outcome.memory.1 < 40_000_000, "{:?}", outcome.memory);
}

#[test]
fn reports_that_acknowledge_every_other_datagram() {
    let mut largest = 0;
    let attack = move |_: &mut _| {
        largest += 2;
        let from = u64::max(largest, 4_000) - 4_000;
        let acked = (from..=largest).rev().step_by(2).map(|n| n..n + 1).collect();
        let report = Feedback {
            path: Some(PathReport { largest, received: largest / 2, acked, acked_from: from, ..PathReport::default() }),
            symbols: Some(SymbolReport::default()),
        };
        Packet::Feedback(Box::new(report))
    };
    let setting = Setting { rate: 2_000, fed: (1_000, 1_400), ..Setting::default() };
    let outcome = attacked(&setting, Box::new(attack));
    assert!(outcome.memory.1 < 40_000_000, "{:?}", outcome.memory);
}

/// Sessions one after the other, while tens of thousands of small packets wait for the attacker.
#[test]
fn sessions_that_begin_all_the_time() {
    let attack = |_: &mut _| Packet::Probe { padding: 0 };
    let setting = Setting { rate: 100, sessions: 30, fed: (25_000, 28), ..Setting::default() };
    let outcome = attacked(&setting, Box::new(attack));
    // 10 sessions were saved up, and one is earned in each of the 3 s.
    assert!((10..=14).contains(&outcome.attacker.sessions), "{}", outcome.attacker.sessions);
    assert!(outcome.secure.datagrams.rejected[Rejected::PeerLimit.index()] > 10, "{:?}", outcome.secure);
    // What waits is bounded, and what the sessions cost is charged: a million for the tables of each.
    assert!(outcome.queued == 32_768, "{}", outcome.queued);
    assert!(outcome.attacker.tunnel.unwrap().drops.full > 1_000);
    assert!(outcome.attacker.work > 10_000_000, "{}", outcome.attacker.work);
    assert_eq!(outcome.honest.over_work, 0);
}

/// The report, whose newest datagram has arrived at `largest_at_us`.
fn at(largest_at_us: u64, mut report: Feedback) -> Feedback {
    if let Some(path) = &mut report.path {
        path.largest_at_us = largest_at_us;
    }
    report
}

/// A report that lists every other datagram that has arrived, up to `most`, and as many as fit. None: nothing has arrived.
fn longest_report(known: &world::Known, most: usize) -> Option<Feedback> {
    let largest = known.arrived.last().copied()?;
    let every_other = known.arrived.iter().rev().filter(|number| **number % 2 == largest % 2);
    let acked: Vec<_> = every_other.take(most).map(|number| *number..*number + 1).collect();
    let acked_from = acked.last().map_or(0, |range| range.start);
    let received = known.arrived.len() as u64;
    Some(
        Feedback {
            path: Some(PathReport { largest, received, acked, acked_from, ..PathReport::default() }),
            symbols: Some(SymbolReport::default()),
        }
        .cut()
        .0,
    )
}

/// The attacker's reports list as many ranges as fit.
fn longest_reports(setting: &Setting) -> Outcome {
    let (mut reports, mut report) = (0, Feedback::default());
    let attack = move |known: &mut world::Known| {
        if reports % 50 == 0 {
            let Some(longest) = longest_report(known, 4_000) else { return Packet::Probe { padding: 0 } };
            report = longest;
        }
        reports += 1;
        Packet::Feedback(Box::new(at(reports, report.clone())))
    };
    attacked(setting, Box::new(attack))
}

#[test]
fn reports_that_list_many_ranges() {
    let mut setting = Setting { rate: 2_000, fed: (4_000, 100), ..Setting::default() };
    setting.config.tunnel.rate = RateMode::Fixed(Rate::from_bps(100_000_000));
    setting.config.work_per_second = 1_000_000_000;
    let outcome = longest_reports(&setting);
    assert!(outcome.attacker.over_work > 1_000, "{} {}", outcome.attacker.over_work, outcome.attacker.work);
    assert_eq!((outcome.honest.over_work, outcome.server.false_reports), (0, 0));
}

/// A short path has reports every 2 ms, so 6000 reports a second may be taken. With this many ranges, they would take .4 of
/// a core: the budget of work stops them, and counts at least the time that they take.
#[test]
fn long_reports_at_the_highest_rate() {
    /// The ranges of each report.
    const RANGES: usize = 2_200;
    /// The time that a range takes on an idle core, s. See `RANGE_WORK`, `session/tunnel/bounds.rs`.
    const RANGE: f64 = 31.8e-9;
    /// The time that a unit of work takes, s.
    const UNIT: f64 = 50e-12;
    // The attack begins at .5 s. Then 4500 datagrams have arrived.
    let time = Duration::from_millis(2_200);
    let mut setting = Setting { rate: 12_000, fed: (8_000, 100), time, ..Setting::default() };
    setting.config.tunnel.rate = RateMode::Fixed(Rate::from_bps(100_000_000));
    let (mut long, sent) = (None, Rc::new(Cell::new(0)));
    let reports = Rc::clone(&sent);
    let attack = move |known: &mut world::Known| {
        if long.is_none() && known.arrived.len() > 4_500 {
            // The attacker says that it has almost all symbols, so the reports are compared with few lost ones.
            let end = known.arrived.len() as u64 - 200;
            long = longest_report(known, RANGES).map(|report| {
                let symbols = SymbolReport { next_undecoded: end, end, ..SymbolReport::default() };
                Feedback { symbols: Some(symbols), ..report }
            });
        }
        let Some(report) = long.clone() else { return Packet::Probe { padding: 0 } };
        reports.set(reports.get() + 1);
        Packet::Feedback(Box::new(at(reports.get(), report)))
    };
    let outcome = attacked(&setting, Box::new(attack));
    let attacker = &outcome.attacker;
    let taken = sent.get() - attacker.over_work - attacker.unasked_reports;
    assert!(sent.get() > 20_000 && attacker.over_work > 4_000 && attacker.unasked_reports > 2_000, "{attacker:?}");
    // The peer may have saved up 2 s, and all peers together .1 s.
    let most = setting.config.work_per_second as f64 * (1.7 + 2.1);
    assert!((attacker.work as f64) < most, "{}", attacker.work);
    let (takes, counted) = (taken as f64 * RANGES as f64 * RANGE, attacker.work as f64 * UNIT);
    assert!(takes < counted, "{taken} reports take {takes:.2} s, and count as {counted:.2} s");
    assert_eq!((outcome.honest.over_work, outcome.honest.unasked_reports, outcome.server.false_reports), (0, 0, 0));
}

#[test]
fn reports_that_nobody_asked_for() {
    // A slow path has reports every 20 ms.
    let mut setting = Setting { rate: 2_000, fed: (1_000, 100), ..Setting::default() };
    setting.config.tunnel.rate = RateMode::Fixed(Rate::from_bps(1_000_000));
    let outcome = longest_reports(&setting);
    assert!(outcome.attacker.unasked_reports > 2_000, "{}", outcome.attacker.unasked_reports);
    assert_eq!((outcome.honest.unasked_reports, outcome.sender.unasked_reports), (0, 0));
}
