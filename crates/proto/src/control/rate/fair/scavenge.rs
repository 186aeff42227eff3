//! How [`Mode::Scavenge`](super::Mode::Scavenge) yields: to a standing queue, and after drops of a
//! queue that is too short to stand.

use super::super::Tuning;
use super::path::PathState;
use ripstop_base::Time;
use std::time::Duration;

/// The state of the mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scavenge {
    /// When the queue was last short.
    last_short: Time,
    /// Until then the sender backs off.
    until: Time,
    /// The length of the last back-off, in smoothed round trips.
    length: f64,
}

impl Scavenge {
    pub(super) fn new(now: Time) -> Scavenge {
        Scavenge { last_short: now, until: now, length: 0.0 }
    }

    /// Takes the queue of a report.
    pub(super) fn observe(&mut self, now: Time, path: &PathState, tuning: &Tuning) {
        if path.queue.delay() <= path.short_queue(tuning) + tuning.scavenge.noise {
            self.last_short = now;
        }
    }

    /// Backs off because the queue has dropped packets. `srtt`: the round-trip time, s.
    pub(super) fn back_off(&mut self, now: Time, srtt: f64, tuning: &Tuning) {
        let trips = |n: f64| Duration::from_secs_f64(n * srtt);
        let again = self.length > 0.0 && now.since(self.until) < trips(self.length);
        self.length =
            if again { (2.0 * self.length).min(tuning.scavenge.most_back_off) } else { tuning.scavenge.back_off };
        self.until = now + trips(self.length);
    }

    /// Whether the sender backs off.
    pub(super) fn backs_off(&self, now: Time) -> bool {
        now < self.until
    }

    /// The pacing gain while a queue stands.
    pub(super) fn gain(&self, now: Time, path: &PathState, tuning: &Tuning) -> f64 {
        if now.since(self.last_short).as_secs_f64() > tuning.scavenge.long_for * path.srtt {
            return tuning.scavenge.least_gain;
        }
        let queue = (path.queue.delay() - path.short_queue(tuning) - tuning.scavenge.noise).max(0.0);
        (1.0 - 3.0 * queue / path.min_rtt.max(1e-6)).clamp(0.25, 1.0)
    }
}
