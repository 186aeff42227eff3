//! The loss test finds out whether losses grow with the rate.
//!
//! Random loss takes the same share of the packets at every rate. A policer, or a buffer too small to show a queueing
//! delay, passes a fixed rate and drops the rest. At a rate above the path's rate, such drops look like random loss: a
//! controller that makes up for them sends as much as before. So when the erasure floor rises, the sender sends below
//! the estimated rate for some round trips, and compares.

use super::super::erasure::ErasureFloor;
use super::super::{Report, Settled};
use super::{Fair, State};
use std::time::Duration;

/// Pacing gain during a loss test.
///
/// With half the distance from 1, a test takes more packets to tell the two causes apart. Double the distance costs
/// twice as much of the rate for the length of the test.
const GAIN: f64 = 0.7;
/// A loss test follows when the erasure floor is above this share of packets.
///
/// Below it, losses cost less than a test of a slow path. Half the value tests paths of 3 % loss as well. Double the
/// value sends a tenth of the packets of a policed path in vain.
const FROM: f64 = 0.05;
/// A further test follows when the floor is above this multiple of the floor that the last test confirmed.
///
/// With half the excess over 1, chance starts tests. With double the excess, a policer that begins on a path with 10 %
/// random loss is noticed above 20 % only.
const AGAIN: f64 = 1.5;
/// Time constant with which the confirmed floor follows a lower floor, s.
///
/// Losses in runs make the floor vary by half of its value. With half the value, such a path is tested twice as often. With
/// double the value, a policer that begins after the random losses have ended is noticed a minute later.
const CONFIRMED: f64 = 60.0;
/// For this time after a test that found an overload, the erasure floor is learned only from packets sent below the
/// estimated rate.
///
/// A policer passes bursts, so the estimated rate may be a little too large, and packets sent at this rate show the
/// policer's drops. Half the value repeats tests behind a policer. Double the value trusts fewer packets for longer
/// after the policer has gone.
const WARY: Duration = Duration::from_secs(60);
/// During that time, packets at the estimated rate count as well once this rate is below this multiple of the rate that
/// the test has found.
///
/// So a wrong verdict costs no more of the rate. Without this rule, 2 of 32 connections over 3.5 Mbit/s and 62 ms with
/// 30 % random loss kept a tenth of the rate for a minute. With half the value, the rate halves before a wrong verdict
/// shows. Near 1, the drops of a policer count.
const WARY_BELOW: f64 = 0.8;
/// A test ends when the two causes differ by this number of standard deviations of the share lost.
///
/// The limit lies in the middle, so chance decides one of 23 tests wrongly, and two tests in a row one of 500 times. With
/// half the value, one of five tests. Double the value takes four times the packets.
const DEVIATIONS: f64 = 3.5;
/// Limit on the length of a test, smoothed round trips, or [`LONGEST_S`] if that is longer.
///
/// One round trip passes before a report speaks of the test. Half the value ends tests on long, slow paths without a
/// result. Double the value costs more of the rate there.
const LONGEST: f64 = 6.0;
/// Least number of packets in each phase. Half the value trusts a share of a few packets. Double the value matters only
/// at a loss near the limits.
const LEAST: f64 = 30.0;
/// See [`LONGEST`], s. Half the value ends tests on slow paths without a result. Double the value costs more of the
/// rate there.
const LONGEST_S: f64 = 3.0;

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
    pub(super) fn forget(&mut self, dt: f64, floor: f64) {
        let fall = (self.confirmed - floor).max(0.0);
        self.confirmed -= fall * (dt / CONFIRMED).min(1.0);
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
    pub(super) fn is_due(floor: f64, confirmed: f64) -> bool {
        floor > FROM.max(AGAIN * confirmed)
    }

    /// Whether a test can tell the causes apart within its time: at the floor `floor`, the dispersion `spread` and
    /// `per_s` packets per second. `srtt`: the smoothed round-trip time, s.
    fn can_end(floor: f64, spread: f64, per_s: f64, srtt: f64) -> bool {
        let phases = needed(floor, spread) / per_s * (1.0 + 1.0 / GAIN);
        phases + 1.1 * srtt <= longest(srtt)
    }

    /// The pacing gain.
    pub(super) fn gain(&self) -> f64 {
        if self.lowered.is_some() { GAIN } else { 1.0 }
    }

    /// Takes a report that came `spent` seconds after the beginning. `srtt`: the smoothed round-trip time, s. Returns
    /// the verdict when the test ends.
    pub(super) fn observe(&mut self, report: &Report, spent: f64, srtt: f64) -> Option<Cause> {
        let [below, at, _] = report.settled;
        let over = spent > longest(srtt);
        let spread = report.losses.dispersion();
        let Some(lowered) = self.lowered else {
            self.at += at;
            let share = lost_share(self.at);
            if needed(share, spread) <= f64::from(self.at.packets) {
                self.lowered = Some(spent);
                self.received = report.rate.map_or(0.0, |rate| rate.received);
            }
            return (over && self.lowered.is_none()).then_some(Cause::Random);
        };
        if spent > lowered + 1.1 * srtt {
            self.below += below;
        }
        let share = lost_share(self.at);
        let enough = f64::from(self.below.packets) >= needed(share, spread) && self.received > 0.0;
        if !enough && !over {
            return None;
        }
        let overload = enough && lost_share(self.below) < 0.5 * (share + at_lower_rate(share));
        Some(if overload { Cause::Overload } else { Cause::Random })
    }
}

/// The limit on the length of a test, s, at the smoothed round-trip time `srtt`, s.
fn longest(srtt: f64) -> f64 {
    LONGEST_S.max(LONGEST * srtt)
}

fn lost_share(settled: Settled) -> f64 {
    f64::from(settled.lost) / f64::from(settled.packets.max(1))
}

/// The share of packets lost at the gain [`GAIN`] if the path carries a fixed rate, and loses `share` at the gain 1.
fn at_lower_rate(share: f64) -> f64 {
    (1.0 - (1.0 - share) / GAIN).max(0.0)
}

/// The number of packets that tells the two causes apart in each phase. `spread`: see [`Losses::dispersion`].
///
/// [`Losses::dispersion`]: crate::control::loss::Losses::dispersion
fn needed(share: f64, spread: f64) -> f64 {
    let difference = share - at_lower_rate(share);
    (share * (1.0 - share) * spread * (DEVIATIONS / difference.max(1e-3)).powi(2)).max(LEAST)
}

impl Fair {
    /// Begins a loss test if one is due.
    pub(super) fn begin_loss_test(&mut self, report: &Report) -> bool {
        let floor = self.path.erasure.get();
        let due = LossTest::is_due(floor, self.loss_tests.confirmed) && self.has_settled();
        let full = report.rate.is_some_and(|rate| !rate.app_limited);
        let per_s = self.path.bandwidth / self.path.packet;
        let begins = due && full && LossTest::can_end(floor, report.losses.dispersion(), per_s, self.path.srtt);
        if begins {
            self.enter(State::LossTest(LossTest::default()));
        }
        begins
    }

    /// Forgets the erasure floor, because losses grow with the rate. For [`WARY`], packets at the estimated rate count for
    /// the floor only below the rate `below`, byte/s.
    pub(super) fn forget_erasures(&mut self, below: f64) {
        self.loss_tests.overloads += 1;
        self.path.erasure = ErasureFloor::wary(self.last + WARY, below);
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
                self.forget_erasures(WARY_BELOW * self.path.bandwidth);
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
        let mut test = LossTest::default();
        (1..100).find_map(|i| {
            let settled = match test.gain() {
                1.0 => [Settled::default(), Settled { packets: 100, lost: lost_at }, Settled::default()],
                _ => [Settled { packets: 100, lost: lost_below }, Settled::default(), Settled::default()],
            };
            let rate = RateSample { delivered: 1e6, passed: 1e6, received: 1e6, sent: 1e6, app_limited: false };
            let report = Report { settled, rate: Some(rate), ..Report::default() };
            test.observe(&report, 0.05 * f64::from(i), 0.1)
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
        assert!(needed(0.2, runs.dispersion()) > 11.0 * needed(0.2, 1.0));
    }

    #[test]
    fn a_slow_path_with_long_runs_is_not_tested() {
        assert!(LossTest::can_end(0.2, 1.0, 400.0, 0.1) && !LossTest::can_end(0.2, 12.0, 200.0, 0.1));
    }

    #[test]
    fn a_test_without_packets_shows_nothing() {
        assert_eq!(LossTest::default().observe(&Report::default(), 3.1, 0.1), Some(Cause::Random));
    }

    #[test]
    fn a_confirmed_floor_needs_no_test() {
        assert!(LossTest::is_due(0.1, 0.0) && !LossTest::is_due(0.1, 0.1) && LossTest::is_due(0.2, 0.1));
        assert!(!LossTest::is_due(0.04, 0.0));
    }
}
