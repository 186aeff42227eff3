//! The virtual-time engine through its public interface: the scheduler, parallel runs, and
//! statistics.

use proptest::prelude::*;
use ripstop_base::{Seed, Time};
use ripstop_sim::engine::{Alarm, Sample, Scheduler, Statistic, percentile, replicate};

#[test]
fn alarms_ring_in_order_of_time_then_of_setting() {
    let mut scheduler = Scheduler::new();
    assert_eq!(scheduler.next_until(Time::NEVER), None);
    let alarms: Vec<Alarm> = (0..5).map(|_| scheduler.add()).collect();
    for (index, millis) in [(3, 5), (0, 1), (4, 5), (1, 3), (2, 5)] {
        scheduler.set(alarms[index], Time::from_millis(millis));
    }
    let rung: Vec<Alarm> = std::iter::from_fn(|| scheduler.next_until(Time::from_millis(1000))).collect();
    assert_eq!(rung, [0, 1, 2, 3, 4].map(|k| alarms[k]));
    assert_eq!((scheduler.now(), scheduler.rung()), (Time::from_millis(1000), 5));
    // Alarms for the same time ring in the order in which they were set.
    scheduler.set(alarms[4], Time::from_millis(2000));
    assert_eq!(scheduler.next_until(Time::from_millis(1100)), None);
    scheduler.set(alarms[2], Time::from_millis(2000));
    scheduler.set_since(alarms[1], Time::from_millis(2000), Time::from_millis(1050));
    let rung: Vec<Alarm> = std::iter::from_fn(|| scheduler.next_until(Time::from_millis(2000))).collect();
    assert_eq!(rung, [4, 1, 2].map(|k| alarms[k]));
    // An alarm in the past rings now, and the clock never goes back.
    scheduler.set(alarms[0], Time::from_millis(7));
    assert_eq!(scheduler.when(alarms[0]), Time::from_millis(2000));
    assert_eq!(scheduler.next_until(Time::from_millis(1)), None);
    assert_eq!(scheduler.next_until(Time::from_millis(2000)), Some(alarms[0]));
}

proptest! {
    /// The scheduler rings the same alarms as a plain list that is searched each time.
    #[test]
    fn agrees_with_a_list(steps in prop::collection::vec((0u8..4, 0usize..7, 0u64..50), 1..400)) {
        let mut scheduler = Scheduler::new();
        let alarms: Vec<Alarm> = (0..7).map(|_| scheduler.add()).collect();
        let mut list = [None; 7];
        for (what, which, nanos) in steps {
            match what {
                0 | 1 => {
                    let when = scheduler.now() + std::time::Duration::from_nanos(nanos);
                    scheduler.set(alarms[which], when);
                    list[which] = Some((when, scheduler.now(), which));
                }
                2 => {
                    scheduler.set(alarms[which], Time::NEVER);
                    list[which] = None;
                }
                _ => {
                    let first = (0..7).filter(|k| list[*k].is_some()).min_by_key(|k| list[*k]);
                    let when = first.and_then(|k| list[k].take()).map(|(when, ..)| when);
                    prop_assert_eq!(scheduler.next_until(Time::NEVER), first.map(|k| alarms[k]));
                    prop_assert!(when.is_none_or(|when| when == scheduler.now()));
                }
            }
            prop_assert!((0..7).all(|k| scheduler.when(alarms[k]) == list[k].map_or(Time::NEVER, |(when, ..)| when)));
        }
    }
}

#[test]
fn the_order_is_that_of_the_runs() {
    for threads in [1, 2, 7] {
        assert_eq!(replicate(100, threads, |k| k * k), (0..100).map(|k| k * k).collect::<Vec<_>>());
    }
    assert!(replicate(0, 4, |k| k).is_empty());
}

/// The statistic of these values.
fn of(values: &[f64]) -> Statistic {
    values.iter().copied().collect::<Sample>().statistic()
}

#[test]
fn a_worked_example() {
    // The mean is 5, s = sqrt(2.5), and t(4) = 2.776445, so the half width is 2.776445 * sqrt(2.5 /
    // 5).
    let got = of(&[3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!((got.mean, got.n), (Some(5.0), 5));
    assert!((got.ci95.unwrap() - 1.963243).abs() < 1e-6);
    // A large mean costs no precision.
    let far = of(&[3.0, 4.0, 5.0, 6.0, 7.0].map(|x| x + 1e9));
    assert!((far.ci95.unwrap() - got.ci95.unwrap()).abs() < 1e-6);
}

#[test]
fn what_is_not_known_is_null() {
    assert_eq!(of(&[]), Statistic { mean: None, ci95: None, n: 0 });
    assert_eq!(of(&[2.0]), Statistic { mean: Some(2.0), ci95: None, n: 1 });
    for strange in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let text = serde_json::to_string(&of(&[1.0, strange, 2.0])).unwrap();
        assert_eq!(text, r#"{"mean":null,"ci95":null,"n":3}"#);
    }
    assert_eq!(of(&[f64::MAX, -f64::MAX, f64::MAX]).ci95, None);
}

#[test]
fn the_interval_covers_the_mean_as_often_as_it_says() {
    let mut stream = Seed::new(11).stream("coverage");
    let covered = (0..4000)
        .filter(|_| {
            // The sum of twelve uniform numbers is nearly normal.
            let normal = |_| (0..12).map(|_| stream.unit()).sum::<f64>();
            let Statistic { mean, ci95, .. } = (0..6).map(normal).collect::<Sample>().statistic();
            (mean.unwrap() - 6.0).abs() <= ci95.unwrap()
        })
        .count();
    // The expected count is 3800, with a standard error of 13.8.
    assert!((3745..3855).contains(&covered), "{covered}");
}

#[test]
fn percentiles_are_values_that_occurred() {
    let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
    assert_eq!(percentile(&mut values, 50.0), Some(50.0));
    assert_eq!(percentile(&mut values, 99.0), Some(99.0));
    assert_eq!(percentile(&mut values, 100.0), Some(100.0));
    assert_eq!(percentile(&mut values, 0.0), Some(1.0));
    assert_eq!(percentile(&mut values, f64::NAN), Some(1.0));
    assert_eq!(percentile(&mut [7.0], 99.0), Some(7.0));
    assert_eq!(percentile(&mut [], 50.0), None);
    assert_eq!(percentile(&mut [1.0, f64::INFINITY], 99.0), None);
}
