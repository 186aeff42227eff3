//! How [`Mode::Scavenge`](super::Mode::Scavenge) yields: to a standing queue, and after drops of a
//! queue that is too short to stand.

use super::path::PathState;
use ripstop_base::Time;
use std::time::Duration;

/// The pacing gain while others fill the queue.
///
/// Half the value measures the path less often. Double the value takes more from others.
pub(super) const LEAST_GAIN: f64 = 0.2;
/// Number of smoothed round trips without a short queue after which the gain is [`LEAST_GAIN`].
///
/// A probe's own queue drains sooner. Half the value yields to the queue of a probe. Double the
/// value takes more from others.
const LONG_FOR: f64 = 6.0;
/// The first back-off after drops lasts this number of smoothed round trips.
///
/// A CUBIC flow needs longer than this to fill a buffer again. Half the value takes more from a
/// CUBIC flow in front of a short buffer. Double the value uses a free path later.
const BACK_OFF: u32 = 40;
/// Limit on a back-off, in smoothed round trips. Each drop within the last back-off's length after
/// its end doubles the next back-off.
///
/// Half the value takes more beside a CUBIC flow. Double the value uses a free path later.
const MOST_BACK_OFF: u32 = 160;

/// A queue of this delay more than a short queue counts as short, s.
///
/// Bulk traffic leaves in quanta of up to 4 ms, and a receiver that pauses between its turns takes it up to 5 ms late. At
/// the start, single packets have shown a lower delay. With half the value, a tunnel alone has .83 of a link of 20 Mbit/s
/// instead of .91. Double the value takes more from a CUBIC flow in front of a short buffer.
const NOISE: f64 = 0.005;

/// The state of the mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scavenge {
    /// When the queue was last short.
    last_short: Time,
    /// Until then the sender backs off.
    until: Time,
    /// The length of the last back-off, in smoothed round trips.
    length: u32,
}

impl Scavenge {
    pub(super) fn new(now: Time) -> Scavenge {
        Scavenge { last_short: now, until: now, length: 0 }
    }

    /// Takes the queue of a report. `short`: the longest delay of a short queue, s.
    pub(super) fn observe(&mut self, now: Time, path: &PathState, short: f64) {
        if path.queue.delay() <= short + NOISE {
            self.last_short = now;
        }
    }

    /// Backs off because the queue has dropped packets. `srtt`: the round-trip time, s.
    pub(super) fn back_off(&mut self, now: Time, srtt: f64) {
        let trips = |n: u32| Duration::from_secs_f64(f64::from(n) * srtt);
        let again = self.length > 0 && now.since(self.until) < trips(self.length);
        self.length = if again { (2 * self.length).min(MOST_BACK_OFF) } else { BACK_OFF };
        self.until = now + trips(self.length);
    }

    /// Whether the sender backs off.
    pub(super) fn backs_off(&self, now: Time) -> bool {
        now < self.until
    }

    /// The pacing gain while a queue stands. `short`: the longest delay of a short queue, s.
    pub(super) fn gain(&self, now: Time, path: &PathState, short: f64) -> f64 {
        if now.since(self.last_short).as_secs_f64() > LONG_FOR * path.srtt {
            return LEAST_GAIN;
        }
        let queue = (path.queue.delay() - short - NOISE).max(0.0);
        (1.0 - 3.0 * queue / path.min_rtt.max(1e-6)).clamp(0.25, 1.0)
    }
}
