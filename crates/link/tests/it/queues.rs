//! Queue disciplines and marks: who waits, who is dropped or marked, and who goes first.

use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Seed, Span, Time};
use ripstop_link::{Discipline, DropReason, Fate, Link, LinkConfig, Mark, Packet};
use std::collections::BTreeMap;
use std::time::Duration;

/// 1000 bytes take 1 ms.
const RATE: Rate = Rate::from_bps(8_000_000);

fn link(config: LinkConfig) -> Link {
    Link::new(&LinkConfig { rate: RATE, ..config }, Seed::new(1), "link/0").unwrap()
}

fn ms(millis: u64) -> Span {
    Span::from(Duration::from_millis(millis))
}

/// A link with its caller: it keeps the packets that wait, and collects all fates by tag.
struct Caller {
    link: Link,
    /// When each waiting packet was offered.
    waiting: BTreeMap<u64, Time>,
    fates: BTreeMap<u64, Fate>,
    /// The waiting times of the packets that were sent, s, without their serialisation.
    waits: Vec<f64>,
    next_tag: u64,
}

impl Caller {
    fn new(config: LinkConfig) -> Caller {
        Caller { link: link(config), waiting: BTreeMap::new(), fates: BTreeMap::new(), waits: Vec::new(), next_tag: 0 }
    }

    /// Offers a packet of 1000 bytes of flow `flow`, after the link was polled up to `now`.
    fn offer(&mut self, now: Time, flow: u64, ect: bool) {
        self.poll(now);
        let tag = self.next_tag;
        self.next_tag += 1;
        match self.link.offer_packet(now, Packet { bytes: 1000, ect, flow, tag }) {
            Fate::Queued => assert!(self.waiting.insert(tag, now).is_none()),
            fate => self.note(tag, now, fate),
        }
    }

    fn poll(&mut self, now: Time) {
        while let Some(at) = self.link.poll_at().filter(|at| *at <= now) {
            while let Some((tag, fate)) = self.link.poll(at) {
                let since = self.waiting.remove(&tag).expect("the link told a fate twice");
                self.note(tag, since, fate);
            }
        }
    }

    fn note(&mut self, tag: u64, since: Time, fate: Fate) {
        assert_ne!(fate, Fate::Queued);
        if let Some(departure) = fate.departure() {
            self.waits.push(departure.since(since).as_secs_f64() - 1e-3);
        }
        assert!(self.fates.insert(tag, fate).is_none());
    }

    /// Polls until no packet waits. Every offered packet then has a fate.
    fn finish(&mut self) {
        self.poll(Time::from_millis(10_000_000));
        assert!(self.waiting.is_empty());
        assert_eq!(self.fates.len() as u64, self.next_tag);
    }

    fn mean_wait_ms(&self, from: usize) -> f64 {
        let waits = &self.waits[from..];
        1e3 * waits.iter().sum::<f64>() / waits.len() as f64
    }
}

/// Offers Poisson packets at `load` times the rate of the link for `seconds`.
fn overload(caller: &mut Caller, load: f64, seconds: f64, ect: bool) {
    let mut gaps = Seed::new(3).stream("gaps");
    let mut now = 0.0;
    while now < seconds {
        now += gaps.exponential(1e-3 / load);
        caller.offer(Time::from_secs_f64(now), 1, ect);
    }
}

#[test]
fn pie_holds_its_target_and_answers_at_once() {
    let mut caller = Caller::new(LinkConfig { queue_discipline: Discipline::pie(), ..LinkConfig::default() });
    assert!(caller.link.answers_at_once());
    assert_eq!(caller.link.unfired(), ["queue_discipline"]);
    overload(&mut caller, 1.1, 60.0, false);
    let mean = caller.mean_wait_ms(10_000);
    assert!((12.0..18.0).contains(&mean), "the packets waited {mean} ms in the mean, not 15 ms");
    let c = *caller.link.counters();
    let share = c.dropped_aqm as f64 / c.offered as f64;
    assert!((share - 0.1 / 1.1).abs() < 0.01, "a share of {share} was dropped");
    assert_eq!((c.offered, c.marked_aqm), (c.serialised + c.dropped_aqm, 0));
    assert!(caller.link.unfired().is_empty());
}

#[test]
fn codel_drops_more_and_more_of_a_load_that_does_not_react() {
    let codel = LinkConfig { queue_discipline: Discipline::codel(), ..LinkConfig::default() };
    let mut caller = Caller::new(codel.clone());
    assert!(!caller.link.answers_at_once());
    overload(&mut caller, 1.1, 60.0, false);
    let mean = caller.mean_wait_ms(caller.waits.len() - 5000);
    assert!(mean < 40.0, "the queue stands at {mean} ms, although 10 % must be dropped");
    caller.finish();
    let c = *caller.link.counters();
    assert!(c.dropped_aqm > 3000, "{c:?}");
    assert_eq!(c.offered, c.serialised + c.dropped_aqm);
    assert_eq!(c.overtaken_in_queue, 0);
    assert!(caller.link.unfired().is_empty());
    // A load below the rate has no standing queue.
    let mut calm = Caller::new(codel);
    overload(&mut calm, 0.5, 60.0, false);
    assert_eq!(calm.link.counters().dropped_aqm, 0);
    assert_eq!(calm.link.unfired(), ["queue_discipline"]);
}

/// With `ecn`, capable packets are marked where other packets are dropped.
#[test]
fn capable_packets_are_marked_instead_of_dropped() {
    for discipline in [Discipline::codel(), Discipline::pie(), Discipline::fq()] {
        let config = LinkConfig { queue_discipline: discipline, ecn: true, ..LinkConfig::default() };
        for ect in [false, true] {
            let mut caller = Caller::new(config.clone());
            overload(&mut caller, 1.05, 3.0, ect);
            caller.finish();
            let c = *caller.link.counters();
            let marked = caller.fates.values().filter_map(Fate::delivery).filter(|d| d.congested).count() as u64;
            assert_eq!(c.marked_aqm, marked);
            // PIE also drops capable packets while its drop probability is above 10 %.
            let drops = !ect || discipline == Discipline::pie();
            assert_eq!((c.marked_aqm > 0, c.dropped_aqm > 0), (ect, drops), "{discipline:?}, capable {ect}: {c:?}");
            assert_eq!(c.congested, 0, "`mark` is not set");
            let unfired: &[&str] = if ect { &[] } else { &["ecn"] };
            assert_eq!(caller.link.unfired(), unfired);
        }
    }
    // Without `ecn` the link drops capable packets too.
    let mut caller = Caller::new(LinkConfig { queue_discipline: Discipline::codel(), ..LinkConfig::default() });
    overload(&mut caller, 1.05, 3.0, true);
    let c = caller.link.counters();
    assert!(c.dropped_aqm > 0 && c.marked_aqm == 0);
}

#[test]
fn fq_gives_equal_shares_and_keeps_the_order_of_a_flow() {
    let limit = Some(QueueLimit::Packets(100));
    let mut caller =
        Caller::new(LinkConfig { queue_discipline: Discipline::fq(), queue: limit, ..LinkConfig::default() });
    let mut flow_of = Vec::new();
    // Flow 1 offers five packets each millisecond, and flow 2 one: each more than its half.
    for k in 0..20_000u64 {
        let now = Time::from_millis(k);
        for flow in [1, 1, 1, 1, 1, 2] {
            caller.offer(now, flow, false);
            flow_of.push(flow);
        }
        // Flow 3 sends little, and waits for at most one packet of each other flow.
        if k % 10 == 0 {
            caller.offer(now, 3, false);
            flow_of.push(3);
        }
    }
    caller.finish();
    let mut sent: BTreeMap<u64, Vec<(u64, Time)>> = BTreeMap::new();
    for (tag, fate) in &caller.fates {
        if let Some(departure) = fate.departure() {
            sent.entry(flow_of[*tag as usize]).or_default().push((*tag, departure));
        }
    }
    for (flow, packets) in &sent {
        assert!(packets.is_sorted_by_key(|(_, departure)| *departure), "flow {flow} is not in order");
    }
    let counts: Vec<usize> = sent.values().map(Vec::len).collect();
    assert_eq!(counts[2], 2000, "the light flow lost packets");
    assert!(counts[0].abs_diff(counts[1]) < 200, "flows 1 and 2 sent {counts:?} packets");
    let c = *caller.link.counters();
    assert!(c.overtaken_in_queue > 0 && c.refused_queue > 0 && c.dropped_aqm > 0, "{c:?}");
    assert_eq!(c.offered, c.serialised + c.dropped_aqm + c.refused_queue);
    assert!(c.queue_max_packets <= 100 + 1);
}

/// A packet that is offered when the transmitter becomes free goes behind the packets that wait.
#[test]
fn a_waiting_packet_goes_before_a_new_one() {
    let mut link = link(LinkConfig { queue_discipline: Discipline::codel(), ..LinkConfig::default() });
    let packet = |tag| Packet { bytes: 1000, tag, ..Packet::default() };
    assert_eq!(link.poll_at(), None);
    assert_eq!(link.offer_packet(Time::ZERO, packet(0)).departure(), Some(Time::from_millis(1)));
    assert_eq!(link.offer_packet(Time::ZERO, packet(1)), Fate::Queued);
    assert_eq!((link.poll_at(), link.poll(Time::ZERO)), (Some(Time::from_millis(1)), None));
    assert_eq!(link.backlog(Time::ZERO).packets, 1);
    // The caller does not poll at 1 ms. The offer at 1 ms must not overtake.
    assert_eq!(link.offer_packet(Time::from_millis(1), packet(2)), Fate::Queued);
    let told = link.poll(Time::from_millis(1)).map(|(tag, fate)| (tag, fate.departure()));
    assert_eq!(told, Some((1, Some(Time::from_millis(2)))));
    assert_eq!(link.poll(Time::from_millis(1)), None);
    let told = link.poll(Time::from_millis(9)).map(|(tag, fate)| (tag, fate.departure()));
    assert_eq!(told, Some((2, Some(Time::from_millis(3)))), "a late poll must not change departures");
    assert_eq!(link.poll_at(), None);
    let c = link.counters();
    assert_eq!((c.queue_packet_ns, c.wait_max_ns), (2_000_000, 1_000_000));
}

/// The impairments of the channel apply to packets that waited, and the k-th packet is lost in any
/// discipline.
#[test]
fn losses_follow_the_packets_through_any_discipline() {
    let lost = |discipline| {
        let loss = ripstop_link::Loss::bernoulli(Fraction::new(0.2).unwrap());
        let config = LinkConfig { loss, queue_discipline: discipline, ..LinkConfig::default() };
        let mut caller = Caller::new(config);
        for k in 0..50 {
            for _ in 0..4 {
                caller.offer(Time::from_millis(5 * k), k % 3, false);
            }
        }
        caller.finish();
        let is_lost = |fate: &Fate| fate.reason() == Some(DropReason::Channel);
        caller.fates.into_iter().filter(|(_, fate)| is_lost(fate)).map(|(tag, _)| tag).collect::<Vec<_>>()
    };
    let plain = lost(Discipline::Fifo);
    assert!(plain.len() > 20);
    for discipline in [Discipline::codel(), Discipline::pie(), Discipline::fq()] {
        assert_eq!(lost(discipline), plain, "{discipline:?}");
    }
}

#[test]
fn marks_are_drawn_or_follow_the_wait() {
    let congested = |mark: Mark, discipline| {
        let mut caller =
            Caller::new(LinkConfig { mark: Some(mark), queue_discipline: discipline, ..LinkConfig::default() });
        assert!(caller.link.unfired().contains(&"mark"));
        for k in 0..200 {
            for _ in 0..10 {
                caller.offer(Time::from_millis(20 * k), 1, true);
            }
        }
        caller.finish();
        assert!(!caller.link.unfired().contains(&"mark"));
        let marked: Vec<u64> = caller
            .fates
            .iter()
            .filter(|(_, fate)| fate.delivery().is_some_and(|d| d.congested))
            .map(|(tag, _)| *tag)
            .collect();
        assert_eq!(marked.len() as u64, caller.link.counters().congested);
        marked
    };
    for discipline in [Discipline::Fifo, Discipline::codel()] {
        let all = congested(Mark::Share(Fraction::new(1.0).unwrap()), discipline);
        assert_eq!(all.len(), 2000);
        let some = congested(Mark::Share(Fraction::new(0.1).unwrap()), discipline);
        assert!((150..250).contains(&some.len()), "{} marks", some.len());
        // The k-th packet of a burst waits k ms.
        let late = congested(Mark::Wait(ms(7)), discipline);
        assert!(late.len() == 600 && late.iter().all(|tag| tag % 10 >= 7), "{late:?}");
        let long = congested(Mark::Queue(QueueLimit::Packets(4)), discipline);
        assert!(long.len() == 1000 && long.iter().all(|tag| tag % 10 >= 5), "{long:?}");
    }
    assert_eq!(
        congested(Mark::Share(Fraction::new(0.1).unwrap()), Discipline::Fifo),
        congested(Mark::Share(Fraction::new(0.1).unwrap()), Discipline::fq()),
        "the draws depend on the discipline"
    );
}

#[test]
fn a_full_queue_refuses_in_every_discipline() {
    for (discipline, victim) in [(Discipline::codel(), 3), (Discipline::pie(), 3), (Discipline::fq(), 1)] {
        let mut caller = Caller::new(LinkConfig {
            queue: Some(QueueLimit::Packets(2)),
            queue_discipline: discipline,
            mtu: Some(Bytes::new(1000)),
            ..LinkConfig::default()
        });
        for _ in 0..4 {
            caller.offer(Time::ZERO, 1, false);
        }
        let too_large = Packet { bytes: 1001, ..Packet::default() };
        let fate = caller.link.offer_packet(Time::ZERO, too_large);
        assert_eq!(fate, Fate::Refused { reason: DropReason::Mtu });
        caller.finish();
        assert_eq!(caller.fates[&victim].reason(), Some(DropReason::Queue), "{discipline:?}");
        let c = caller.link.counters();
        assert_eq!((c.refused_queue, c.refused_mtu, c.serialised), (1, 1, 3), "{discipline:?}");
    }
}
