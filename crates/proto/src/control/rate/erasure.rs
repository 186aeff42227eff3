//! Estimates the erasure floor p_e.
//!
//! The erasure floor is the share of packets lost while the path's queue is short and the sender
//! sends no faster than the path carries. The erasure floor contains random loss. It contains no
//! losses from congestion, and no drops of a policer (a rate limiter that drops packets instead of
//! queueing them).

use super::tuning::ErasureTuning;
use super::{GainClass, Settled};
use ripstop_base::Time;

/// The floor is never above this share of packets, whatever `erasure-cap` is: the rate is divided by 1 less the floor.
const MOST_FLOOR: f64 = 0.95;

/// Counts of packets. Old packets are forgotten exponentially.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: f64,
    lost: f64,
}

impl Count {
    fn add(&mut self, settled: Settled) {
        self.packets += f64::from(settled.packets);
        self.lost += f64::from(settled.lost);
    }

    fn fade(&mut self, keep: f64) {
        self.packets *= keep;
        self.lost *= keep;
    }
}

/// Estimator of the erasure floor.
#[derive(Clone, Debug, Default)]
pub(super) struct ErasureFloor {
    /// Packets sent at a pacing gain below 0.95 ([`GainClass::Below`]).
    below: Count,
    /// Packets sent at a pacing gain from 0.95 to 1.01 ([`GainClass::At`]), and packets of start-up
    /// rounds after which the rate grew.
    at: Count,
    /// The present estimate.
    floor: f64,
    /// Until then, only packets of the class [`GainClass::Below`] count, and packets sent at a rate below `wary_below`.
    wary_until: Time,
    /// See `wary_until`, byte/s.
    wary_below: f64,
}

impl ErasureFloor {
    /// An estimator without packets. Until `until`, the estimator counts only packets sent below the estimated rate, or
    /// at an estimated rate below `rate`, byte/s.
    pub(super) fn wary(until: Time, rate: f64) -> ErasureFloor {
        ErasureFloor { wary_until: until, wary_below: rate, ..ErasureFloor::default() }
    }

    /// Forgets a part of the counts after `dt` seconds, but keeps at least `erasure-packets` packets. `min_rtt`: the least
    /// round-trip time, s.
    pub(super) fn fade(&mut self, dt: f64, min_rtt: f64, tuning: &ErasureTuning) {
        let tau = tuning.memory + tuning.rounds * min_rtt;
        let packets = self.below.packets + self.at.packets;
        let keep = (-dt / tau).exp().max((tuning.packets / packets).min(1.0));
        self.below.fade(keep);
        self.at.fade(keep);
    }

    /// Counts packets of `class`. The caller knows that the path was not full: the queue was short,
    /// or the rate has grown since (in start-up). Packets of the class `Above` are ignored. The
    /// estimate does not change while fewer than 30 packets are remembered. `now` is the time of the report, and `rate`
    /// the estimated rate, byte/s.
    pub(super) fn add(&mut self, now: Time, class: GainClass, settled: Settled, rate: f64, tuning: &ErasureTuning) {
        match class {
            GainClass::Below => self.below.add(settled),
            GainClass::At if now >= self.wary_until => self.at.add(settled),
            GainClass::At if rate < self.wary_below => self.below.add(settled),
            GainClass::At | GainClass::Above => return,
        }
        let packets = self.below.packets + self.at.packets;
        if packets < 30.0 {
            return;
        }
        let mut floor = (self.below.lost + self.at.lost) / packets;
        if self.below.packets >= 20.0 {
            // The estimated rate may slightly exceed a policer's rate. The policer then drops
            // packets sent at the estimated rate, but not packets sent below that rate. Of the n0
            // packets sent below that rate, the share p0 is lost. So the floor is at most p0 plus
            // two standard deviations of p0. The product p0 (1 - p0) counts as at least .25 / n0.
            // Otherwise the deviation would be 0 if no packet was lost.
            let n0 = self.below.packets;
            let p0 = self.below.lost / n0;
            floor = floor.min(p0 + 2.0 * ((p0 * (1.0 - p0)).max(0.25 / n0) / n0).sqrt());
        }
        self.floor = floor.min(tuning.cap).min(MOST_FLOOR);
    }

    /// The erasure floor, 0 to `erasure-cap`.
    pub(super) fn get(&self) -> f64 {
        self.floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policer_does_not_raise_the_floor() {
        let tuning = ErasureTuning::default();
        let mut e = ErasureFloor::default();
        for _ in 0..20 {
            e.add(Time::ZERO, GainClass::At, Settled { packets: 100, lost: 20 }, 1e6, &tuning);
            e.add(Time::ZERO, GainClass::Below, Settled { packets: 30, lost: 0 }, 1e6, &tuning);
        }
        assert!(e.get() < 0.02, "{}", e.get());
    }

    #[test]
    fn a_wary_estimator_trusts_only_packets_below_the_rate() {
        let tuning = ErasureTuning::default();
        let until = Time::from_millis(1_000);
        let mut e = ErasureFloor::wary(until, 8e5);
        for _ in 0..20 {
            e.add(Time::ZERO, GainClass::At, Settled { packets: 100, lost: 20 }, 1e6, &tuning);
        }
        assert_eq!(e.get(), 0.0);
        e.add(Time::ZERO, GainClass::Below, Settled { packets: 100, lost: 5 }, 1e6, &tuning);
        assert!((e.get() - 0.05).abs() < 0.01, "{}", e.get());
        e.add(Time::ZERO, GainClass::At, Settled { packets: 100, lost: 5 }, 7e5, &tuning);
        assert!((e.get() - 0.05).abs() < 0.01, "{}", e.get());
        e.add(until, GainClass::At, Settled { packets: 100, lost: 9 }, 1e6, &tuning);
        assert!((e.get() - 0.063).abs() < 0.01, "{}", e.get());
    }

    #[test]
    fn a_slow_sender_learns_the_floor_too() {
        let tuning = ErasureTuning::default();
        let mut e = ErasureFloor::default();
        for _ in 0..60 {
            e.fade(0.5, 0.0, &tuning);
            e.add(Time::ZERO, GainClass::At, Settled { packets: 4, lost: 1 }, 1e6, &tuning);
        }
        assert!((e.get() - 0.25).abs() < 0.01, "{}", e.get());
    }

    #[test]
    fn random_loss_is_the_floor() {
        let tuning = ErasureTuning::default();
        let mut e = ErasureFloor::default();
        for _ in 0..20 {
            e.add(Time::ZERO, GainClass::At, Settled { packets: 100, lost: 20 }, 1e6, &tuning);
            e.add(Time::ZERO, GainClass::Below, Settled { packets: 30, lost: 6 }, 1e6, &tuning);
            e.add(Time::ZERO, GainClass::Above, Settled { packets: 100, lost: 90 }, 1e6, &tuning);
        }
        assert!((e.get() - 0.2).abs() < 0.01, "{}", e.get());
    }

    #[test]
    fn a_path_that_loses_everything_has_no_floor_of_one() {
        let tuning = ErasureTuning { cap: 1.2, ..ErasureTuning::default() };
        let mut e = ErasureFloor::default();
        e.add(Time::ZERO, GainClass::At, Settled { packets: 100, lost: 100 }, 1e6, &tuning);
        assert_eq!(e.get(), MOST_FLOOR);
    }
}
