//! Compares the times at which packets leave and arrive with times computed by hand.

use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Seed, Span, Stream, Time};
use ripstop_link::{
    Blackout, Change, Discipline, DropReason, Duplicate, Fate, Link, LinkConfig, Loss, Mark, Policer, RateTrace,
    Reorder,
};
use std::time::Duration;

const MBIT: u64 = 1_000_000;

fn link(config: &LinkConfig) -> Link {
    Link::new(config, Seed::new(1), "link/0").unwrap()
}

fn share(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

fn ms(millis: u64) -> Span {
    Span::from(Duration::from_millis(millis))
}

fn at_us(micros: u64) -> Time {
    Time::from_micros(micros)
}

#[test]
fn a_burst_leaves_packet_by_packet() {
    // 1000 bytes at 8 Mbit/s take 1 ms each.
    let config = LinkConfig { rate: Rate::from_bps(8 * MBIT), delay: ms(30), ..LinkConfig::default() };
    let mut link = link(&config);
    for k in 1..=3 {
        let fate = link.offer(Time::ZERO, 1000);
        assert_eq!(fate.departure(), Some(Time::from_millis(k)));
        assert_eq!(fate.arrival(), Some(Time::from_millis(30 + k)));
    }
    // The link has become idle, so the next packet begins to leave immediately.
    assert_eq!(link.offer(Time::from_millis(10), 500).departure(), Some(at_us(10_500)));
    let c = link.counters();
    assert_eq!((c.offered, c.delivered, c.delivered_bytes), (4, 4, 3500));
    // The second packet waited 1 ms, the third packet 2 ms.
    assert_eq!((c.queue_packet_ns, c.queue_byte_ns), (3_000_000, 3_000_000_000));
    assert_eq!((c.queue_max_packets, c.queue_max_bytes, c.wait_max_ns), (2, 2000, 2_000_000));
    assert_eq!(c.mean_queue_packets(Duration::from_millis(10)), 0.3);
    assert_eq!(c.mean_wait(), Duration::from_micros(750));
}

#[test]
fn the_queue_limit_counts_what_waits() {
    let base = LinkConfig { rate: Rate::from_bps(8 * MBIT), ..LinkConfig::default() };
    for (limit, sizes, accepted) in [
        (QueueLimit::Packets(2), [1000; 5], [true, true, true, false, false]),
        (QueueLimit::Packets(0), [1000; 5], [true, false, false, false, false]),
        (QueueLimit::Bytes(2000), [1000; 5], [true, true, true, false, false]),
        (QueueLimit::Bytes(2000), [5000, 1500, 600, 500, 1], [true, true, false, true, false]),
        (QueueLimit::Bytes(0), [1000; 5], [true, false, false, false, false]),
    ] {
        let mut link = link(&LinkConfig { queue: Some(limit), ..base.clone() });
        let got = sizes.map(|size| link.offer(Time::ZERO, size).reason() != Some(DropReason::Queue));
        assert_eq!(got, accepted, "{limit:?}");
    }
}

#[test]
fn room_returns_when_serialisation_begins() {
    let config =
        LinkConfig { rate: Rate::from_bps(8 * MBIT), queue: Some(QueueLimit::Packets(1)), ..LinkConfig::default() };
    let mut link = link(&config);
    assert!(link.offer(Time::ZERO, 1000).arrival().is_some());
    assert!(link.offer(Time::ZERO, 1000).arrival().is_some());
    assert_eq!(link.offer(at_us(999), 1000), Fate::Refused { reason: DropReason::Queue });
    assert_eq!(link.backlog(at_us(999)).packets, 1);
    // At 1 ms the second packet begins to leave, and its place in the queue is free.
    assert_eq!(link.offer(at_us(1000), 1000).departure(), Some(at_us(3000)));
    assert_eq!(link.backlog(at_us(1000)).bytes, 1000);
    assert_eq!(link.backlog(at_us(2000)).bytes, 0);
    assert_eq!(link.free_at(), at_us(3000));
}

#[test]
fn a_lost_packet_has_used_its_slot_and_a_refused_one_has_not() {
    let config = LinkConfig {
        rate: Rate::from_bps(8 * MBIT),
        mtu: Some(Bytes::new(1000)),
        loss: Loss::Indices { lost: vec![0], period: None },
        ..LinkConfig::default()
    };
    let mut link = link(&config);
    let lost = Fate::Lost { departure: at_us(1000), reason: DropReason::Channel };
    assert_eq!(link.offer(Time::ZERO, 1000), lost);
    assert_eq!(link.offer(Time::ZERO, 1001), Fate::Refused { reason: DropReason::Mtu });
    assert_eq!(link.offer(Time::ZERO, 1000).departure(), Some(at_us(2000)));
    let c = link.counters();
    assert_eq!((c.serialised, c.lost_channel, c.refused_mtu, c.delivered), (2, 1, 1, 1));
    assert_eq!(c.not_delivered(), 2);
}

#[test]
fn a_rate_change_moves_what_already_waits() {
    // 8 Mbit/s, then 1 Mbit/s from 2.5 ms: the third packet is half sent and needs 4 ms more.
    let config = LinkConfig {
        rate: Rate::from_bps(8 * MBIT),
        delay: ms(10),
        schedule: vec![
            Change {
                at: Span::from(Duration::from_micros(2500)),
                rate: Some(Rate::from_bps(MBIT)),
                ..Change::default()
            },
            Change { at: ms(14), rate: Some(Rate::from_bps(8 * MBIT)), delay: Some(ms(1)), ..Change::default() },
        ],
        ..LinkConfig::default()
    };
    let mut link = link(&config);
    let departures: Vec<_> = (0..5).map(|_| link.offer(Time::ZERO, 1000).departure().unwrap()).collect();
    // After 7.5 ms of the fourth packet, the rate is 8 Mbit/s again. 7.5 of the packet's 8 kbit are
    // sent at 1 Mbit/s, then .5 kbit at 8 Mbit/s.
    assert_eq!(departures, [1000, 2000, 6500, 14_062, 15_062].map(|us| at_us(us) + fraction_of(us)));
    fn fraction_of(us: u64) -> Duration {
        Duration::from_nanos(if us > 14_000 { 500 } else { 0 })
    }
    assert_eq!(link.counters().changes_applied, 2);
    assert!(link.unfired().is_empty());
}

/// A trace gives the same departures as a schedule with the same rates, and then repeats.
#[test]
fn a_rate_trace_repeats_and_may_stop_the_link() {
    let rate = |mbit: u64| Rate::from_bps(mbit * MBIT);
    let steps = vec![(ms(0), rate(8)), (ms(3), rate(0)), (ms(6), rate(4))];
    let trace = RateTrace { steps, period: Some(ms(10)), file: None };
    for queue_discipline in [Discipline::Fifo, Discipline::codel()] {
        let config = LinkConfig { rate_trace: Some(trace.clone()), queue_discipline, ..LinkConfig::default() };
        let mut link = link(&config);
        assert!(link.unfired().contains(&"rate_trace"));
        let mut departures: Vec<_> = (0..12).filter_map(|_| link.offer(Time::ZERO, 1000).departure()).collect();
        while let Some(at) = link.poll_at() {
            departures.extend(std::iter::from_fn(|| link.poll(at)).filter_map(|(_, fate)| fate.departure()));
        }
        // 1000 bytes take 1 ms at 8 Mbit/s and 2 ms at 4 Mbit/s. Nothing is sent from 3 to 6 ms.
        assert_eq!(departures, [1, 2, 3, 8, 10, 11, 12, 13, 18, 20, 21, 22].map(Time::from_millis), "{config:?}");
        assert!(link.unfired().iter().all(|name| *name == "queue_discipline"));
        assert_eq!(link.counters().rate_steps, 6);
    }
    assert_eq!(LinkConfig { rate_trace: Some(trace), ..LinkConfig::default() }.mean_rate().bps(), 4 * MBIT);
}

/// At each multiple of the period, the settings return to their first values.
#[test]
fn a_schedule_repeats() {
    let config = LinkConfig {
        delay: ms(20),
        schedule: vec![Change { at: ms(100), delay: Some(ms(50)), ..Change::default() }],
        schedule_period: Some(ms(150)),
        ..LinkConfig::default()
    };
    let mut link = link(&config);
    assert_eq!(link.unfired(), ["schedule"]);
    let mut delay = |at| link.offer(Time::from_millis(at), 100).arrival().unwrap().since(Time::from_millis(at));
    let delays = [0, 99, 100, 119, 200, 250, 340].map(|at| delay(at).as_millis());
    assert_eq!(delays, [20, 20, 50, 50, 20, 50, 20], "no packet overtakes at 150 or 300 ms");
    assert!(link.unfired().is_empty());
}

#[test]
fn the_entrance_changes_for_what_is_offered_then() {
    let at = |millis, change: Change| Change { at: ms(millis), ..change };
    let policer = Policer { rate: Rate::from_bps(8 * MBIT), burst: Bytes::new(400) };
    let config = LinkConfig {
        rate: Rate::from_bps(8 * MBIT),
        queue: Some(QueueLimit::Packets(3)),
        schedule: vec![
            at(2, Change { queue: Some(QueueLimit::Packets(0)), ..Change::default() }),
            at(4, Change { mtu: Some(Bytes::new(500)), ..Change::default() }),
            at(9, Change { policer: Some(policer), ..Change::default() }),
        ],
        ..LinkConfig::default()
    };
    let mut link = link(&config);
    let mut reason = |millis, bytes| link.offer(Time::from_millis(millis), bytes).reason();
    assert_eq!([0; 5].map(|t| reason(t, 1000)), [None, None, None, None, Some(DropReason::Queue)]);
    // The limit is 0 now, but the packet that already waits stays.
    assert_eq!(reason(2, 1000), Some(DropReason::Queue));
    assert_eq!([reason(4, 501), reason(4, 500), reason(9, 501)], [Some(DropReason::Mtu), None, Some(DropReason::Mtu)]);
    assert_eq!([reason(9, 500), reason(9, 400)], [Some(DropReason::Policer), None]);
    let c = link.counters();
    assert_eq!((c.delivered, c.refused_queue, c.refused_mtu, c.refused_policer), (6, 2, 2, 1));
    assert_eq!(c.changes_applied, 3);
}

#[test]
fn a_shorter_delay_lets_nothing_overtake() {
    let config = LinkConfig {
        delay: ms(100),
        schedule: vec![Change { at: ms(10), delay: Some(ms(5)), ..Change::default() }],
        ..LinkConfig::default()
    };
    let mut link = link(&config);
    assert_eq!(link.offer(Time::from_millis(9), 100).arrival(), Some(Time::from_millis(109)));
    assert_eq!(link.offer(Time::from_millis(10), 100).arrival(), Some(Time::from_millis(109)));
    assert_eq!(link.offer(Time::from_millis(200), 100).arrival(), Some(Time::from_millis(205)));
    assert_eq!(link.counters().overtakes, 0);
}

#[test]
fn the_policer_passes_its_burst_and_then_its_rate() {
    let policer = Policer { rate: Rate::from_bps(8 * MBIT), burst: Bytes::new(3000) };
    let mut link = link(&LinkConfig { policer: Some(policer), ..LinkConfig::default() });
    let mut passes = |us, bytes| link.offer(at_us(us), bytes).arrival().is_some();
    assert_eq!([0; 4].map(|us| passes(us, 1000)), [true, true, true, false]);
    assert!(!passes(999, 1000));
    assert!(passes(1000, 1000));
    assert!(!passes(1_000_000, 3001), "a packet larger than the bucket never passes");
    // For a second, packets are offered at twice the policer's rate. The policer refuses half of
    // them.
    let passed = (0..2000).filter(|k| passes(2_000_000 + k * 500, 1000)).count();
    assert_eq!(passed, 1000 + 2, "a second at 1 packet/ms, and two more packets from the full bucket");
    assert_eq!(link.counters().refused_policer, 3 + 998);
}

#[test]
fn blackouts_take_what_leaves_in_them() {
    let config = LinkConfig {
        rate: Rate::from_bps(8 * MBIT),
        blackouts: vec![
            Blackout { at: ms(2), length: ms(1), every: None },
            Blackout { at: ms(10), length: ms(2), every: Some(ms(10)) },
        ],
        ..LinkConfig::default()
    };
    let mut link = link(&config);
    assert_eq!(link.unfired(), ["blackouts"]);
    let lost: Vec<u64> =
        (1..=42).filter(|_| link.offer(Time::ZERO, 1000).reason() == Some(DropReason::Blackout)).collect();
    assert_eq!(lost, [2, 10, 11, 20, 21, 30, 31, 40, 41], "wrong packets were lost; the k-th leaves at k ms");
    assert!(link.unfired().is_empty());
}

#[test]
fn jitter_keeps_order_and_reordering_does_not() {
    let jittered = LinkConfig { delay: ms(10), jitter: ms(5), ..LinkConfig::default() };
    let reordered =
        LinkConfig { reorder: Some(Reorder { probability: share(0.1), extra_delay: ms(3) }), ..jittered.clone() };
    let run = |config: &LinkConfig| {
        let mut link = link(config);
        let arrivals: Vec<Time> = (0..2000).map(|k| link.offer(at_us(k * 500), 100).arrival().unwrap()).collect();
        (arrivals, link)
    };
    let (arrivals, link) = run(&jittered);
    assert!(arrivals.is_sorted());
    assert!(link.counters().jittered > 1990 && link.counters().overtakes == 0);
    for (k, arrival) in arrivals.iter().enumerate() {
        let delay = arrival.since(at_us(k as u64 * 500));
        assert!(delay >= Duration::from_millis(10) && delay < Duration::from_millis(15));
    }
    let (arrivals, link) = run(&reordered);
    assert!(!arrivals.is_sorted());
    let c = link.counters();
    assert!((160..240).contains(&c.held_back), "{} packets were held back", c.held_back);
    let mut latest = Time::ZERO;
    let early = arrivals
        .iter()
        .filter(|t| {
            let is = **t < latest;
            latest = latest.max(**t);
            is
        })
        .count();
    assert_eq!(c.overtakes, early as u64);
    assert!(link.unfired().is_empty());
}

#[test]
fn copies_and_flipped_bits_are_reported() {
    let config = LinkConfig {
        delay: ms(1),
        duplicate: Some(Duplicate { probability: share(0.25), extra_delay: ms(2) }),
        corrupt: share(0.5),
        ..LinkConfig::default()
    };
    let mut link = link(&config);
    let (mut copies, mut bits) = (0, [0u32; 32]);
    for k in 0..4000 {
        let delivery = link.offer(Time::from_millis(k), 4).delivery().unwrap();
        if let Some(copy) = delivery.copy {
            assert_eq!(copy, delivery.arrival + Duration::from_millis(2));
            assert_eq!(delivery.arrivals().count(), 2);
            copies += 1;
        }
        if let Some(corruption) = delivery.corruption {
            let mut packet = [0u8; 4];
            corruption.apply(&mut packet);
            bits[u32::from_le_bytes(packet).trailing_zeros() as usize] += 1;
            assert_eq!(u32::from_le_bytes(packet).count_ones(), 1);
        }
    }
    assert!((900..1100).contains(&copies), "{copies} copies");
    assert_eq!(link.counters().duplicated, copies);
    assert_eq!(link.counters().corrupted, u64::from(bits.iter().sum::<u32>()));
    assert!(bits.iter().all(|n| (30..100).contains(n)), "bits are not hit equally often: {bits:?}");
    assert!(link.offer(Time::from_millis(5000), 0).delivery().unwrap().corruption.is_none());
}

#[test]
fn a_poisson_stream_waits_as_an_m_d_1_queue_does() {
    // Pollaczek-Khinchine for deterministic service: mean wait = rho s / (2 (1 - rho)).
    let (service, rho) = (1e-3, 0.7);
    let config = LinkConfig { rate: Rate::from_bps(8 * MBIT), ..LinkConfig::default() };
    let (mut link, mut gaps) = (link(&config), Seed::new(5).stream("arrivals"));
    offer_poisson(&mut link, &mut gaps, service / rho, 400_000);
    let expected = rho * service / (2.0 * (1.0 - rho));
    let measured = link.counters().mean_wait().as_secs_f64();
    assert!((measured / expected - 1.0).abs() < 0.02, "mean wait {measured}, not {expected}");
}

#[test]
fn without_a_queue_it_blocks_as_erlang_says() {
    // M/D/1/1 loses rho/(1 + rho), for any distribution of the service time (Erlang B, one server).
    let config =
        LinkConfig { rate: Rate::from_bps(8 * MBIT), queue: Some(QueueLimit::Packets(0)), ..LinkConfig::default() };
    let (mut link, mut gaps) = (link(&config), Seed::new(6).stream("arrivals"));
    offer_poisson(&mut link, &mut gaps, 1e-3 / 0.8, 200_000);
    let c = link.counters();
    let blocked = c.refused_queue as f64 / c.offered as f64;
    assert!((blocked - 0.8 / 1.8).abs() < 0.005, "a share of {blocked} was refused");
}

fn offer_poisson(link: &mut Link, gaps: &mut Stream, mean_gap: f64, packets: u32) {
    let mut now = 0.0;
    for _ in 0..packets {
        now += gaps.exponential(mean_gap);
        let _ = link.offer(Time::from_secs_f64(now), 1000);
    }
}

/// A packet that waits and finds no room within `mark` meets congestion. The queue limit is
/// separate.
#[test]
fn a_long_queue_is_reported_as_congestion() {
    let config = LinkConfig {
        rate: Rate::from_bps(8_000_000),
        queue: Some(QueueLimit::Packets(4)),
        mark: Some(Mark::Queue(QueueLimit::Packets(2))),
        ..LinkConfig::default()
    };
    let mut link = Link::new(&config, Seed::new(1), "link/0").unwrap();
    assert_eq!(link.unfired(), ["mark"]);
    // One packet is sent, two wait below the mark, two above it, and one finds the queue full.
    let told: Vec<Option<bool>> =
        (0..6).map(|_| link.offer(Time::ZERO, 1000).delivery().map(|delivery| delivery.congested)).collect();
    assert_eq!(told, [Some(false), Some(false), Some(false), Some(true), Some(true), None]);
    assert_eq!((link.counters().congested, link.counters().refused_queue), (2, 1));
    assert_eq!(link.unfired(), Vec::<&str>::new());
}
