//! Properties that hold for every configuration and every sequence of offers.

use proptest::prelude::*;
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Seed, Span, Time};
use ripstop_link::{
    Blackout, Change, Discipline, Duplicate, Fate, Fec, Link, LinkConfig, Loss, Mark, Packet, Policer, RateTrace,
    Reorder,
};
use std::time::Duration;

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![0u64..100_000_000, any::<u64>()].prop_map(|ns| Span::from(Duration::from_nanos(ns)))
}

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![Just(0), 1u64..100, 1_000_000u64..1_000_000_000, any::<u64>()].prop_map(Rate::from_bps)
}

fn share() -> impl Strategy<Value = Fraction> {
    (0.0..=1.0f64).prop_map(|p| Fraction::new(p).unwrap())
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..3000, any::<u64>()]
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::None),
        share().prop_map(Loss::bernoulli),
        (share(), any::<f64>()).prop_map(|(mean, burst)| Loss::Gilbert { mean, burst }),
        (share(), 1.0..100.0f64).prop_map(|(mean, burst)| Loss::Gilbert { mean, burst }),
        (share(), share(), share(), share()).prop_map(|(to_bad, to_good, loss_good, loss_bad)| {
            Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad }
        }),
        (prop::collection::vec(0u64..50, 0..9), prop::option::of(0u64..90))
            .prop_map(|(lost, period)| Loss::Indices { lost, period }),
        "[01]{0,9}x?".prop_map(|pattern| Loss::Sequence { pattern }),
    ]
}

fn fec() -> impl Strategy<Value = Fec> {
    // Mostly valid codes, and sometimes units so small that a packet has many blocks.
    let code = prop_oneof![9 => (1u32..40, 0u32..20), 1 => (0u32..300, 0u32..300)];
    (code, prop_oneof![20u64..2000, Just(1u64), Just(0)], loss()).prop_map(|((k, spare), unit, loss)| Fec {
        k,
        n: k + spare,
        unit: Bytes::new(unit),
        loss,
    })
}

fn queue() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![(0u64..9).prop_map(QueueLimit::Packets), size().prop_map(QueueLimit::Bytes)]
}

fn mark() -> impl Strategy<Value = Mark> {
    prop_oneof![queue().prop_map(Mark::Queue), span().prop_map(Mark::Wait), share().prop_map(Mark::Share)]
}

fn discipline() -> impl Strategy<Value = (Discipline, bool)> {
    let fq = (span(), span(), size(), 0u32..5).prop_map(|(target, interval, quantum, flows)| Discipline::Fq {
        target,
        interval,
        quantum: Bytes::new(quantum),
        flows,
    });
    let named = prop_oneof![
        4 => Just(Discipline::Fifo),
        1 => Just(Discipline::codel()),
        1 => (span(), span()).prop_map(|(target, interval)| Discipline::Codel { target, interval }),
        1 => span().prop_map(|target| Discipline::Pie { target }),
        1 => Just(Discipline::fq()),
        1 => fq,
    ];
    (named, any::<bool>()).prop_map(|(discipline, ecn)| (discipline, ecn && discipline.is_aqm()))
}

fn change() -> impl Strategy<Value = Change> {
    let parts = (
        span(),
        prop::option::of(rate()),
        prop::option::of(queue()),
        prop::option::of(span()),
        prop::option::of(span()),
        prop::option::of(size().prop_map(Bytes::new)),
        prop::option::of(loss()),
        prop::option::of(share()),
    );
    parts.prop_map(|(at, rate, queue, delay, jitter, mtu, loss, corrupt)| Change {
        at,
        rate,
        queue,
        delay,
        jitter,
        mtu,
        loss,
        corrupt,
        ..Change::default()
    })
}

fn rate_trace() -> impl Strategy<Value = RateTrace> {
    (prop::collection::vec((span(), rate()), 0..5), prop::option::of(span())).prop_map(|(mut steps, period)| {
        steps.sort_by_key(|(at, _)| *at);
        if let Some((at, _)) = steps.first_mut() {
            *at = Span::from(Duration::ZERO);
        }
        RateTrace { steps, period, file: None }
    })
}

fn config() -> impl Strategy<Value = LinkConfig> {
    let limits = (
        rate(),
        (prop::option::of(queue()), prop::option::of(mark()), discipline()),
        span(),
        span(),
        prop::option::of(size().prop_map(Bytes::new)),
    );
    let impairments = (
        prop::option::of((rate(), size().prop_map(Bytes::new)).prop_map(|(rate, burst)| Policer { rate, burst })),
        (loss(), prop::option::weighted(0.3, fec())),
        prop::option::of((share(), span()).prop_map(|(probability, extra_delay)| Reorder { probability, extra_delay })),
        prop::option::of(
            (share(), span()).prop_map(|(probability, extra_delay)| Duplicate { probability, extra_delay }),
        ),
        share(),
    );
    let blackout =
        (span(), span(), prop::option::of(span())).prop_map(|(at, length, every)| Blackout { at, length, every });
    let times = (prop::option::weighted(0.3, rate_trace()), prop::option::weighted(0.3, span()));
    (limits, impairments, prop::collection::vec(blackout, 0..3), prop::collection::vec(change(), 0..4), times).prop_map(
        |(
            (rate, (queue, mark, (queue_discipline, ecn)), delay, jitter, mtu),
            (policer, (loss, fec), reorder, duplicate, corrupt),
            blackouts,
            mut schedule,
            (rate_trace, schedule_period),
        )| {
            if rate_trace.is_some() {
                schedule.iter_mut().for_each(|change| change.rate = None);
            }
            schedule.sort_by_key(|c| c.at);
            LinkConfig {
                rate: if rate_trace.is_some() { Rate::from_bps(0) } else { rate },
                rate_trace,
                queue,
                queue_discipline,
                ecn,
                mark,
                delay,
                jitter,
                mtu,
                policer,
                loss,
                fec,
                reorder,
                duplicate,
                corrupt,
                blackouts,
                schedule,
                schedule_period,
            }
        },
    )
}

fn offers() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((prop_oneof![0u64..100_000_000, any::<u64>()], size()), 1..60)
}

/// A size that the link handles quickly. Under a block code, very large sizes take long. No real
/// packet has such a size; `fec.rs` tests them.
fn sized(config: &LinkConfig, bytes: u64) -> usize {
    (if config.fec.is_some() { bytes % 5000 } else { bytes }) as usize
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn the_books_balance_and_nothing_panics(config in config(), offers in offers(), seed in any::<u64>()) {
        let text = serde_json::to_string(&config).unwrap();
        let Ok(mut link) = Link::new(&config, Seed::new(seed), "link/0") else {
            prop_assert!(config.check().unwrap_err().to_string().starts_with("link setting `"), "{}", text);
            return Ok(());
        };
        let keeps_order = config.reorder.is_none_or(|r| r.probability == Fraction::ZERO);
        let (mut now, mut departed, mut arrived) = (Time::ZERO, Time::ZERO, Time::ZERO);
        let mut waiting = std::collections::BTreeSet::new();
        for (k, (at, bytes)) in offers.into_iter().enumerate() {
            now = now.max(Time::from_nanos(at));
            let bytes = sized(&config, bytes);
            let packet = Packet { bytes, ect: bytes % 2 == 1, flow: bytes as u64 % 7, tag: k as u64 };
            let fate = link.offer_packet(Time::from_nanos(at), packet);
            let mut fates = vec![];
            if fate == Fate::Queued {
                waiting.insert(k as u64);
            } else {
                fates.push((bytes, fate));
            }
            while let Some((tag, fate)) = link.poll(now) {
                prop_assert!(waiting.remove(&tag) && fate != Fate::Queued, "{}", text);
                fates.push((usize::MAX, fate));
            }
            // What left the queue left before the packet that was just offered.
            fates.sort_by_key(|(_, fate)| fate.departure());
            for (bytes, fate) in fates {
                if let Some(departure) = fate.departure() {
                    prop_assert!(departure >= departed, "{}", text);
                    departed = departure;
                }
                if let Fate::Delivered(d) = fate {
                    prop_assert!(d.arrival >= d.departure);
                    prop_assert!(d.copy.is_none_or(|copy| copy >= d.arrival));
                    prop_assert!(d.corruption.is_none_or(|c| c.byte < bytes && c.bit < 8));
                    prop_assert!(!keeps_order || d.arrival >= arrived, "{}", text);
                    arrived = d.arrival;
                }
            }
            let c = *link.counters();
            let refused = c.refused_mtu + c.refused_policer + c.refused_queue + c.dropped_aqm;
            prop_assert_eq!(c.offered, refused + c.serialised + waiting.len() as u64);
            prop_assert_eq!(c.serialised, c.lost_channel + c.lost_blackout + c.delivered);
            prop_assert!(c.marked_aqm <= c.serialised);
            prop_assert!(c.lost_fec <= c.lost_channel && c.lost_fec <= c.blocks_lost);
            prop_assert!(c.blocks_recovered + c.blocks_lost <= c.units_lost && c.units_lost <= c.units_sent);
            prop_assert!(link.backlog(now).packets <= c.queue_max_packets);
            prop_assert_eq!(link.answers_at_once(), !config.queue_discipline.is_scheduled());
            prop_assert!(link.answers_at_once() || link.backlog(now).packets == waiting.len() as u64);
            prop_assert_eq!(link.poll_at().is_some(), !waiting.is_empty());
        }
        let _ = link.unfired();
    }

    #[test]
    fn equal_seeds_give_equal_fates(config in config(), offers in offers(), seed in any::<u64>()) {
        let make = || Link::new(&config, Seed::new(seed), "link/0");
        let (Ok(mut one), Ok(mut two)) = (make(), make()) else { return Ok(()) };
        for (at, bytes) in offers {
            let (now, bytes) = (Time::from_nanos(at), sized(&config, bytes));
            prop_assert_eq!(one.offer(now, bytes), two.offer(now, bytes));
            // One caller polls, the other does not. The fates are the same.
            while one.poll(now).is_some() {}
        }
        while two.poll(Time::ZERO).is_some() {}
        prop_assert_eq!(one.counters(), two.counters());
    }

    /// A busy period ends exactly when all its bits are sent, no matter how the bits are divided
    /// into packets.
    #[test]
    fn serialisation_is_exact(sizes in prop::collection::vec(1u64..3000, 1..50), bps in 1u64..10_000_000_000) {
        let config = LinkConfig { rate: Rate::from_bps(bps), ..LinkConfig::default() };
        let mut link = Link::new(&config, Seed::new(1), "link/0").unwrap();
        let mut last = Time::ZERO;
        for size in &sizes {
            last = link.offer(Time::ZERO, *size as usize).departure().unwrap();
        }
        let bits = u128::from(sizes.iter().sum::<u64>()) * 8_000_000_000;
        prop_assert_eq!(u128::from(last.as_nanos()), bits.div_ceil(u128::from(bps)));
    }
}
