//! Tests of the whole controller with reports made by hand. `crates/sim/tests/it/world/sharing.rs` tests the
//! controller beside other flows in virtual time.

use super::super::{GainClass, OneWayDelay, RateSample, Report, Settled};
use super::*;
use crate::control::loss::Losses;
use ripstop_base::Seed;
use std::time::Duration;

const PACKET: f64 = 1500.0;

/// A controller past its start-up on a path of 100 ms that carries `rate` byte/s, with the number of
/// the next datagram.
struct Driven {
    fair: Fair,
    now: Time,
    number: u64,
}

impl Driven {
    fn new(mode: Mode) -> Driven {
        let random = Seed::new(1).stream("rate");
        Driven { fair: Fair::new(Time::ZERO, mode, Tuning::default(), 1500, 0.1, random), now: Time::ZERO, number: 0 }
    }

    /// Gives `n` reports, one every 10 ms, on a path that carries `rate` byte/s. `queue`: the
    /// queueing delay, s. `lost` of 100 packets are lost. `ce`: marks in each report.
    fn reports(&mut self, n: u32, rate: f64, queue: f64, lost: u32, ce: u64) {
        for _ in 0..n {
            self.now += Duration::from_millis(10);
            let packets = (rate * 0.01 / PACKET).max(1.0) as u32;
            self.number += u64::from(packets);
            let in_flight = (rate * (0.1 + queue)) as u64;
            let mut settled = [Settled::default(); 3];
            settled[GainClass::of(self.fair.pacing_gain()) as usize] = Settled { packets, lost: packets * lost / 100 };
            let delivered = rate * f64::from(100 - lost) / 100.0;
            self.fair.on_report(&Report {
                now: self.now,
                rtt: Some(Duration::from_secs_f64(0.1 + queue)),
                srtt: Duration::from_secs_f64(0.1 + queue),
                one_way_delay: Some(OneWayDelay { mean: 0.05 + queue, most: 0.1 + queue }),
                in_flight_before: in_flight,
                in_flight,
                acked_bytes: u64::from(packets) * 1500,
                settled,
                rate: Some(RateSample { delivered, passed: rate, received: delivered, sent: rate, app_limited: false }),
                largest_acked: self.number,
                next_number: self.number + in_flight / 1500,
                report_every: Duration::from_millis(10),
                ce,
                spurious: 0,
                losses: Losses { share: f64::from(lost) / 100.0, burst: 1.0 },
                losses_back: Losses::default(),
            });
        }
    }
}

#[test]
fn a_mark_cuts_the_rate_for_a_round_trip() {
    let mut driven = Driven::new(Mode::Fair);
    driven.reports(200, 2.5e6, 0.0, 0, 0);
    let before = driven.fair.view().bandwidth;
    assert!((before / 2.5e6 - 1.0).abs() < 0.01, "{before}");
    driven.reports(1, 2.5e6, 0.0, 0, 1);
    // The next reports are about packets that were sent before the cut.
    driven.reports(9, 2.5e6, 0.0, 0, 0);
    let after = driven.fair.view().bandwidth;
    assert!((after / before - Tuning::default().evidence.cut).abs() < 0.01, "{before} {after}");
}

#[test]
fn a_mark_ends_the_start_up() {
    let mut driven = Driven::new(Mode::Fair);
    driven.reports(1, 2.5e6, 0.0, 0, 0);
    assert_eq!(driven.fair.view().state, "startup");
    driven.reports(1, 2.5e6, 0.0, 0, 1);
    assert_ne!(driven.fair.view().state, "startup");
}

#[test]
fn a_sender_whose_every_datagram_is_marked_slows_down_to_the_least_rate() {
    let mut driven = Driven::new(Mode::Scavenge);
    driven.reports(200, 2.5e6, 0.0, 0, 0);
    for _ in 0..2_000 {
        let rate = driven.fair.view().bandwidth;
        driven.reports(1, rate, 0.0, 0, 1);
    }
    assert!(driven.fair.view().bandwidth < 2.0 * Tuning::default().path.least_rate, "{}", driven.fair.view().bandwidth);
}

#[test]
fn a_loss_test_keeps_the_rate() {
    let mut driven = Driven::new(Mode::Fair);
    let in_test = |driven: &Driven| driven.fair.view().state == "loss test";
    while !in_test(&driven) {
        driven.reports(1, 2.5e6, 0.0, 20, 0);
    }
    let before = driven.fair.view().bandwidth;
    while in_test(&driven) {
        driven.reports(1, before * driven.fair.pacing_gain(), 0.0, 20, 0);
    }
    // The first samples after the test are about packets of the test.
    driven.reports(5, 0.5 * before, 0.0, 20, 0);
    let after = driven.fair.view();
    assert!(after.overloads == 0 && after.bandwidth > 0.95 * before, "{before} byte/s before the test, {after:?}");
}

#[test]
fn a_wrong_verdict_of_the_loss_test_costs_little() {
    let mut driven = Driven::new(Mode::Fair);
    let mut tests = 0;
    while driven.fair.view().overloads == 0 {
        let lowered = driven.fair.view().state == "loss test" && driven.fair.pacing_gain() < 0.9;
        let began = driven.fair.view().state == "loss test";
        driven.reports(1, 2.5e6, 0.0, if lowered { 0 } else { 20 }, 0);
        tests += u32::from(!began && driven.fair.view().state == "loss test");
    }
    assert_eq!(tests, 1, "the second test must follow the first at once");
    for _ in 0..1_000 {
        let rate = driven.fair.view().bandwidth * driven.fair.pacing_gain();
        driven.reports(1, rate.min(2.5e6), 0.0, 20, 0);
    }
    let rate = driven.fair.view().bandwidth;
    assert!(rate > 0.8 * 2.5e6, "{rate} byte/s 10 s after the verdict");
}

#[test]
fn a_constant_delay_is_accepted_and_a_shared_queue_is_not() {
    let mut driven = Driven::new(Mode::Fair);
    driven.reports(200, 2.5e6, 0.0, 0, 0);
    driven.reports(300, 2.5e6, 0.05, 0, 0);
    let view = driven.fair.view();
    assert_eq!((view.delays_accepted, view.competitions), (1, 0), "{view:?}");

    let mut driven = Driven::new(Mode::Fair);
    driven.reports(200, 2.5e6, 0.0, 0, 0);
    for _ in 0..300 {
        // Others keep a queue of 60 ms. The sender's own packets add to it.
        let queue = 0.06 + driven.fair.window().min(250_000) as f64 / 5e6;
        driven.reports(1, 2.5e6, queue, 0, 0);
    }
    let view = driven.fair.view();
    assert!(view.competitions > 0, "{view:?}");

    // Others keep a queue of 100 ms, and leave a tenth of the rate.
    let mut driven = Driven::new(Mode::Fair);
    driven.reports(200, 2.5e6, 0.0, 0, 0);
    for _ in 0..300 {
        let flight = driven.fair.window().min(30_000) as f64;
        driven.reports(1, 2.5e5, 0.1 + flight / 2.5e6, 0, 0);
    }
    let view = driven.fair.view();
    assert_eq!((view.delays_accepted, view.competitions > 0), (0, true), "{view:?}");

    // Others let the queue rise by 100 ms in a second. During the test it stays as long as it is.
    let mut driven = Driven::new(Mode::Fair);
    driven.reports(200, 2.5e6, 0.0, 0, 0);
    let mut queue = 0.0;
    for _ in 0..300 {
        queue += if driven.fair.view().state == "test" { 0.0 } else { 0.001 };
        driven.reports(1, 2.5e6, queue, 0, 0);
    }
    let view = driven.fair.view();
    assert_eq!((view.delays_accepted, view.competitions > 0), (0, true), "{view:?}");
}

#[test]
fn a_competition_in_a_short_queue_begins_with_a_small_window() {
    // The path carries four times the sender's rate. Others keep a queue of `others` s.
    let growth = |others: f64| {
        let mut driven = Driven::new(Mode::Fair);
        driven.reports(200, 2.5e6, 0.0, 0, 0);
        let mut queue = 0.0;
        for _ in 0..300 {
            if driven.fair.view().state == "compete" {
                break;
            }
            queue = others + driven.fair.window().min(250_000) as f64 / 1e7;
            driven.reports(1, 2.5e6, queue, 0, 0);
        }
        assert_eq!(driven.fair.view().competitions, 1);
        driven.fair.window() as f64 / (2.5e6 * (0.1 + queue))
    };
    let (short, long) = (growth(0.01), growth(0.3));
    assert!((1.3..1.75).contains(&short) && (1.8..2.2).contains(&long), "the window grows {short} and {long} times");
}

#[test]
fn a_mark_in_a_queue_test_cuts_the_window_of_the_competition() {
    let mut driven = Driven::new(Mode::Fair);
    driven.reports(200, 2.5e6, 0.05, 0, 0);
    let (now, window) = (driven.now, 500_000.0);
    driven.fair.compete(now, window);
    let test = QueueTest::new(window, &driven.fair.path, &driven.fair.tuning);
    driven.fair.enter(State::Test(test));
    let window = |driven: &Driven| driven.fair.competition.map(|competition| competition.cubic.get());
    // Two marks in a round trip cut the window one time.
    for ms in [1_000, 1_010] {
        driven.fair.on_ce(now + Duration::from_millis(ms));
    }
    let cut = window(&driven).unwrap() / 500_000.0;
    assert!((cut - Tuning::default().compete.cubic_beta).abs() < 0.01, "{cut}");
    assert!(matches!(driven.fair.state, State::Test(_)));
}

#[test]
fn a_report_of_many_packets_leaves_the_mean_loss_a_share() {
    let mut driven = Driven::new(Mode::Fair);
    // 6000 packets in each report.
    driven.reports(100, 9e8, 0.0, 3, 0);
    assert!((driven.fair.path.loss_mean - 0.03).abs() < 1e-6, "{}", driven.fair.path.loss_mean);
}

#[test]
fn a_smaller_mtu_makes_the_short_queue_shorter() {
    let mut driven = Driven::new(Mode::Fair);
    driven.reports(200, 1.25e6, 0.0, 0, 0);
    driven.fair.set_packet(9000);
    let long = driven.fair.path.short_queue(&driven.fair.tuning);
    driven.fair.set_packet(1500);
    let short = driven.fair.path.short_queue(&driven.fair.tuning);
    assert!(long > 0.0179 && short < 0.0031, "{long} {short}");
}

#[test]
fn a_path_without_delay_does_not_confuse_the_scavenger() {
    let mut path = Driven::new(Mode::Scavenge).fair.path;
    path.min_rtt = 0.0;
    assert_eq!(Scavenge::new(Time::ZERO).gain(Time::ZERO, &path, &Tuning::default()), 1.0);
}

#[test]
fn a_least_reduction_above_the_largest_does_not_panic() {
    let mut driven = Driven::new(Mode::Fair);
    driven.fair.tuning.set("down-least", 0.5).unwrap();
    driven.fair.state = State::Down;
    assert_eq!(driven.fair.pacing_gain(), 1.0 - Tuning::default().probe.down_most);
}
