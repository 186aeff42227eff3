//! The loss test finds out whether losses grow with the rate.
//!
//! Random loss takes the same share of the packets at every rate. A policer, or a buffer too small to show a queueing
//! delay, passes a fixed rate and drops the rest. At a rate above the path's rate, such drops look like random loss: a
//! controller that makes up for them sends as much as before. So when the erasure floor rises, the sender sends below
//! the estimated rate for some round trips, and compares.

use super::super::erasure::ErasureFloor;
use super::super::tuning::LossTestTuning;
use super::super::{Report, Settled};
use super::{Fair, State};
use std::time::Duration;

/// A loss test that is going on. It has two phases: at the estimated rate, and below it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossTest {
    /// Packets sent at the estimated rate.
    at: Settled,
    /// Packets sent below the estimated rate.
    below: Settled,
    /// When the second phase began, s after the beginning. `None`: it has not begun.
    lowered: Option<f64>,
    /// The rate at which packets arrived at the end of the first phase, byte/s.
    pub(super) received: f64,
    /// Whether the test before this test found an overload. Only two such tests in a row count.
    again: bool,
}

/// What the loss tests so far have shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossTests {
    /// The erasure floor that the last test confirmed. It slowly follows a lower floor.
    confirmed: f64,
    /// Number of tests that found an overload.
    pub(super) overloads: u64,
}

impl LossTests {
    /// Lets the confirmed floor follow a lower floor. `dt`: time since the last report, s.
    pub(super) fn forget(&mut self, dt: f64, floor: f64, tuning: &LossTestTuning) {
        let fall = (self.confirmed - floor).max(0.0);
        self.confirmed -= fall * (dt / tuning.confirmed_memory).min(1.0);
    }
}

/// What a loss test has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The share of losses does not depend on the rate.
    Random,
    /// Fewer packets are lost at a lower rate.
    Overload,
}

impl LossTest {
    /// Whether a test is due: the erasure floor is now `floor`, and the last test confirmed `confirmed`.
    pub(super) fn is_due(floor: f64, confirmed: f64, tuning: &LossTestTuning) -> bool {
        floor > tuning.from.max(tuning.again * confirmed)
    }

    /// Whether a test can tell the causes apart within its time: at the floor `floor`, the dispersion `spread` and
    /// `per_s` packets per second. `srtt`: the smoothed round-trip time, s.
    fn can_end(floor: f64, spread: f64, per_s: f64, srtt: f64, tuning: &LossTestTuning) -> bool {
        let phases = needed(floor, spread, tuning) / per_s * (1.0 + 1.0 / tuning.gain);
        phases + 1.1 * srtt <= longest(srtt, tuning)
    }

    /// The pacing gain.
    pub(super) fn gain(&self, tuning: &LossTestTuning) -> f64 {
        if self.lowered.is_some() { tuning.gain } else { 1.0 }
    }

    /// Takes a report that came `spent` seconds after the beginning. `srtt`: the smoothed round-trip time, s. Returns
    /// the verdict when the test ends.
    pub(super) fn observe(&mut self, report: &Report, spent: f64, srtt: f64, tuning: &LossTestTuning) -> Option<Cause> {
        let [below, at, _] = report.settled;
        let over = spent > longest(srtt, tuning);
        let spread = report.losses.dispersion();
        let Some(lowered) = self.lowered else {
            self.at += at;
            let share = lost_share(self.at);
            if needed(share, spread, tuning) <= f64::from(self.at.packets) {
                self.lowered = Some(spent);
                self.received = report.rate.map_or(0.0, |rate| rate.received);
            }
            return (over && self.lowered.is_none()).then_some(Cause::Random);
        };
        if spent > lowered + 1.1 * srtt {
            self.below += below;
        }
        let share = lost_share(self.at);
        let enough = f64::from(self.below.packets) >= needed(share, spread, tuning) && self.received > 0.0;
        if !enough && !over {
            return None;
        }
        let overload = enough && lost_share(self.below) < 0.5 * (share + at_lower_rate(share, tuning));
        Some(if overload { Cause::Overload } else { Cause::Random })
    }
}

/// The limit on the length of a test, s, at the smoothed round-trip time `srtt`, s.
fn longest(srtt: f64, tuning: &LossTestTuning) -> f64 {
    tuning.longest.max(tuning.rounds * srtt)
}

fn lost_share(settled: Settled) -> f64 {
    f64::from(settled.lost) / f64::from(settled.packets.max(1))
}

/// The share of packets lost at the gain `loss-test-gain` if the path carries a fixed rate, and loses `share` at the gain 1.
fn at_lower_rate(share: f64, tuning: &LossTestTuning) -> f64 {
    (1.0 - (1.0 - share) / tuning.gain).max(0.0)
}

/// The number of packets that tells the two causes apart in each phase. `spread`: see [`Losses::dispersion`].
///
/// [`Losses::dispersion`]: crate::control::loss::Losses::dispersion
fn needed(share: f64, spread: f64, tuning: &LossTestTuning) -> f64 {
    let difference = share - at_lower_rate(share, tuning);
    (share * (1.0 - share) * spread * (tuning.deviations / difference.max(1e-3)).powi(2)).max(tuning.packets)
}

impl Fair {
    /// Begins a loss test if one is due.
    pub(super) fn begin_loss_test(&mut self, report: &Report) -> bool {
        let floor = self.path.erasure.get();
        let due = LossTest::is_due(floor, self.loss_tests.confirmed, &self.tuning.loss_test) && self.has_settled();
        let full = report.rate.is_some_and(|rate| !rate.app_limited);
        let per_s = self.path.bandwidth / self.path.packet;
        let begins = due
            && full
            && LossTest::can_end(floor, report.losses.dispersion(), per_s, self.path.srtt, &self.tuning.loss_test);
        if begins {
            self.enter(State::LossTest(LossTest::default()));
        }
        begins
    }

    /// Forgets the erasure floor, because losses grow with the rate. For `wary-for`, packets at the estimated rate count for
    /// the floor only below the rate `below`, byte/s.
    pub(super) fn forget_erasures(&mut self, below: f64) {
        self.loss_tests.overloads += 1;
        self.path.erasure =
            ErasureFloor::wary(self.last + Duration::from_secs_f64(self.tuning.loss_test.wary_for), below);
    }

    pub(super) fn end_loss_test(&mut self, test: LossTest, cause: Cause) {
        match cause {
            Cause::Overload if !test.again => {
                self.enter(State::LossTest(LossTest { again: true, ..LossTest::default() }));
                return;
            }
            Cause::Random => {
                self.loss_tests.confirmed = self.path.erasure.get();
                // No sample counts during a test, so the filter must not forget the rate from before the test.
                self.set_bandwidth(self.path.bandwidth);
            }
            Cause::Overload => {
                self.set_bandwidth(test.received.min(self.path.bandwidth));
                self.forget_erasures(self.tuning.loss_test.wary_below * self.path.bandwidth);
            }
        }
        self.enter(State::Cruise);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::RateSample;
    use super::*;
    use crate::control::loss::Losses;

    fn verdict(lost_at: u32, lost_below: u32) -> Option<Cause> {
        let tuning = LossTestTuning::default();
        let mut test = LossTest::default();
        (1..100).find_map(|i| {
            let settled = match test.gain(&tuning) {
                1.0 => [Settled::default(), Settled { packets: 100, lost: lost_at }, Settled::default()],
                _ => [Settled { packets: 100, lost: lost_below }, Settled::default(), Settled::default()],
            };
            let rate = RateSample { delivered: 1e6, passed: 1e6, received: 1e6, sent: 1e6, app_limited: false };
            let report = Report { settled, rate: Some(rate), ..Report::default() };
            test.observe(&report, 0.05 * f64::from(i), 0.1, &tuning)
        })
    }

    #[test]
    fn a_policer_passes_more_at_a_lower_rate() {
        assert_eq!(verdict(20, 0), Some(Cause::Overload));
        assert_eq!(verdict(60, 43), Some(Cause::Overload));
    }

    #[test]
    fn random_loss_stays_the_same() {
        assert_eq!(verdict(20, 20), Some(Cause::Random));
        assert_eq!(verdict(60, 60), Some(Cause::Random));
    }

    #[test]
    fn losses_in_runs_need_more_packets() {
        let runs = Losses { share: 0.2, burst: 8.0 };
        let tuning = LossTestTuning::default();
        assert!(needed(0.2, runs.dispersion(), &tuning) > 11.0 * needed(0.2, 1.0, &tuning));
    }

    #[test]
    fn a_slow_path_with_long_runs_is_not_tested() {
        let tuning = LossTestTuning::default();
        assert!(LossTest::can_end(0.2, 1.0, 400.0, 0.1, &tuning));
        assert!(!LossTest::can_end(0.2, 12.0, 200.0, 0.1, &tuning));
    }

    #[test]
    fn a_test_without_packets_shows_nothing() {
        let cause = LossTest::default().observe(&Report::default(), 3.1, 0.1, &LossTestTuning::default());
        assert_eq!(cause, Some(Cause::Random));
    }

    #[test]
    fn a_confirmed_floor_needs_no_test() {
        let is_due = |floor, confirmed| LossTest::is_due(floor, confirmed, &LossTestTuning::default());
        assert!(is_due(0.1, 0.0) && !is_due(0.1, 0.1) && is_due(0.2, 0.1));
        assert!(!is_due(0.04, 0.0));
    }
}
