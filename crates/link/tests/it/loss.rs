//! Tests the statistics of each loss model. Also tests that the k-th packet's fate depends only on
//! k.

use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Seed, Span, Time};
use ripstop_link::{Blackout, Change, DropReason, Duplicate, Link, LinkConfig, Loss, Reorder};
use std::time::Duration;

fn share(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

/// For each of `n` packets, sent 1 ms apart: whether the channel loses it.
fn losses(loss: &Loss, n: u64) -> Vec<bool> {
    let config = LinkConfig { loss: loss.clone(), ..LinkConfig::default() };
    let mut link = Link::new(&config, Seed::new(42), "link/0").unwrap();
    let lost: Vec<bool> =
        (0..n).map(|k| link.offer(Time::from_millis(k), 1000).reason() == Some(DropReason::Channel)).collect();
    assert_eq!(link.unfired().is_empty(), lost.contains(&true) || !loss.is_active());
    lost
}

/// The share of packets lost, and the mean length of a run of losses.
fn statistics(lost: &[bool]) -> (f64, f64) {
    let total = lost.iter().filter(|l| **l).count() as f64;
    let bursts = lost.iter().zip(std::iter::once(&false).chain(lost)).filter(|(now, before)| **now && !**before);
    (total / lost.len() as f64, total / bursts.count() as f64)
}

#[test]
fn bernoulli_loses_its_share_independently() {
    for p in [0.01, 0.05, 0.3, 0.6] {
        let (mean, burst) = statistics(&losses(&Loss::bernoulli(share(p)), 400_000));
        // The tolerance is four standard errors.
        let error = 4.0 * (p * (1.0 - p) / 400_000.0f64).sqrt();
        assert!((mean - p).abs() < error, "a share of {mean} was lost, not {p}");
        assert!((burst * (1.0 - p) - 1.0).abs() < 0.02, "mean burst {burst} at loss {p}");
    }
    assert!(losses(&Loss::bernoulli(share(1.0)), 1000).iter().all(|l| *l));
    assert!(!losses(&Loss::bernoulli(share(0.0)), 1000).contains(&true));
    assert!(!losses(&Loss::None, 1000).contains(&true));
}

#[test]
fn gilbert_loses_its_share_in_bursts_of_its_length() {
    for (mean, burst) in [(0.05, 4.0), (0.2, 10.0), (0.5, 1.5), (0.01, 1.0)] {
        let model = Loss::Gilbert { mean: share(mean), burst };
        let got = statistics(&losses(&model, 2_000_000));
        assert!((got.0 / mean - 1.0).abs() < 0.03, "measured {got:?}, not ({mean}, {burst})");
        assert!((got.1 / burst - 1.0).abs() < 0.03, "measured {got:?}, not ({mean}, {burst})");
        assert_eq!(model.mean(), mean);
    }
}

#[test]
fn gilbert_elliott_follows_its_chain() {
    let model =
        Loss::GilbertElliott { to_bad: share(0.02), to_good: share(0.1), loss_good: share(0.01), loss_bad: share(0.7) };
    let expected = 0.7 * (0.02 / 0.12) + 0.01 * (0.1 / 0.12);
    assert!((model.mean() - expected).abs() < 1e-12);
    let (mean, _) = statistics(&losses(&model, 2_000_000));
    assert!((mean / expected - 1.0).abs() < 0.02, "a share of {mean} was lost, not {expected}");

    // This is the same channel as Gilbert's, given by its transitions. It has exactly the same
    // losses.
    let simple = Loss::Gilbert { mean: share(0.2), burst: 5.0 };
    let written_out = Loss::GilbertElliott {
        to_bad: share(0.2 * 0.2 / 0.8),
        to_good: share(0.2),
        loss_good: share(0.0),
        loss_bad: share(1.0),
    };
    assert_eq!(losses(&simple, 10_000), losses(&written_out, 10_000));
}

#[test]
fn the_chain_starts_in_its_stationary_law() {
    let loss = Loss::Gilbert { mean: share(0.3), burst: 50.0 };
    let config = LinkConfig { loss, ..LinkConfig::default() };
    let first_lost = (0..10_000)
        .filter(|run| {
            let mut link = Link::new(&config, Seed::new(3).run(*run), "link/0").unwrap();
            link.offer(Time::ZERO, 100).arrival().is_none()
        })
        .count();
    assert!((2800..3200).contains(&first_lost), "{first_lost} of 10000 first packets were lost");
}

#[test]
fn traces_lose_exactly_what_they_list() {
    let which = |loss: Loss, n| -> Vec<usize> {
        losses(&loss, n).iter().enumerate().filter_map(|(k, l)| l.then_some(k)).collect()
    };
    assert_eq!(which(Loss::Indices { lost: vec![7, 2, 2], period: None }, 30), [2, 7]);
    let repeated = Loss::Indices { lost: vec![7, 2, 2], period: Some(10) };
    assert_eq!(repeated.mean(), 0.2);
    assert_eq!(which(repeated, 30), [2, 7, 12, 17, 22, 27]);
    let sequence = Loss::Sequence { pattern: "0100".into() };
    assert_eq!(sequence.mean(), 0.25);
    assert_eq!(which(sequence, 10), [1, 5, 9]);
}

/// Packet k draws the same numbers on two links that have only their seed and impairments in
/// common.
#[test]
fn random_draws_belong_to_the_index() {
    let impaired = |loss| LinkConfig {
        loss,
        jitter: Span::from(Duration::from_millis(3)),
        reorder: Some(Reorder { probability: share(0.1), extra_delay: Span::from(Duration::from_millis(9)) }),
        duplicate: Some(Duplicate { probability: share(0.1), extra_delay: Span::from(Duration::ZERO) }),
        corrupt: share(0.1),
        ..LinkConfig::default()
    };
    for loss in [Loss::bernoulli(share(0.2)), Loss::Gilbert { mean: share(0.2), burst: 4.0 }] {
        let free = impaired(loss.clone());
        // This link refuses many packets by its queue and its MTU. Packets are offered at other
        // times than on the first link.
        let narrow = LinkConfig {
            rate: Rate::from_bps(4_000_000),
            queue: Some(QueueLimit::Packets(5)),
            mtu: Some(Bytes::new(1400)),
            blackouts: vec![Blackout {
                at: Span::from(Duration::from_millis(300)),
                length: Span::from(Duration::from_millis(100)),
                every: None,
            }],
            schedule: vec![Change {
                at: Span::from(Duration::from_millis(700)),
                rate: Some(Rate::from_bps(1_000_000)),
                ..Change::default()
            }],
            ..free.clone()
        };
        let seed = Seed::new(9);
        let mut one = Link::new(&free, seed, "link/0").unwrap();
        let mut other = Link::new(&narrow, seed, "link/0").unwrap();
        let (mut passed, mut sizes) = (0, seed.stream("sizes"));
        for k in 0..2000u64 {
            let a = one.offer(Time::from_millis(k), 1400);
            let b = other.offer(Time::from_micros(k * 700), 1400 + (sizes.below(20) == 0) as usize);
            match b.reason() {
                Some(DropReason::Channel) => assert_eq!(a.reason(), Some(DropReason::Channel), "packet {k}"),
                Some(_) => {}
                None => {
                    let (a, b) = (a.delivery().unwrap(), b.delivery().unwrap());
                    assert_eq!(a.copy.is_some(), b.copy.is_some(), "packet {k}");
                    assert_eq!(a.corruption.is_some(), b.corruption.is_some(), "packet {k}");
                    passed += 1;
                }
            }
        }
        let c = other.counters();
        assert!(passed > 200 && c.refused_queue > 100 && c.refused_mtu > 10 && c.lost_blackout > 0, "{c:?}");
        assert!(one.unfired().is_empty() && other.unfired().is_empty());
    }
}

#[test]
fn equal_names_give_equal_links_and_others_others() {
    let config = LinkConfig { loss: Loss::bernoulli(share(0.5)), ..LinkConfig::default() };
    let pattern = |seed: Seed, name: &str| -> u64 {
        let mut link = Link::new(&config, seed, name).unwrap();
        (0..64).fold(0, |bits, k| bits << 1 | u64::from(link.offer(Time::from_millis(k), 1).arrival().is_none()))
    };
    let seed = Seed::new(1);
    assert_eq!(pattern(seed, "link/0"), pattern(seed, "link/0"));
    assert_ne!(pattern(seed, "link/0"), pattern(seed, "link/1"));
    assert_ne!(pattern(seed, "link/0"), pattern(seed.run(1), "link/0"));
}

#[test]
fn a_model_may_change_under_way() {
    let config = LinkConfig {
        schedule: vec![
            Change {
                at: Span::from(Duration::from_secs(1)),
                loss: Some(Loss::bernoulli(share(1.0))),
                ..Change::default()
            },
            Change { at: Span::from(Duration::from_secs(2)), loss: Some(Loss::None), ..Change::default() },
        ],
        ..LinkConfig::default()
    };
    let mut link = Link::new(&config, Seed::new(1), "link/0").unwrap();
    let lost: Vec<u64> = (0..3000).filter(|k| link.offer(Time::from_millis(*k), 100).arrival().is_none()).collect();
    assert_eq!(lost, (1000..2000).collect::<Vec<_>>());
    assert!(link.unfired().is_empty());
}
