//! How long the bottleneck's queue is, seen from one-way delays.

use super::super::filter::WindowedMax;
use ripstop_base::Time;

/// Clock offset and propagation cancel in the difference to the least delay of so long.
const BASE_WINDOW_NS: u64 = 30_000_000_000;

/// Queueing delay and its jitter, s.
#[derive(Clone, Debug)]
pub(super) struct QueueView {
    /// Negated delays, so that the maximum is the least delay.
    base: WindowedMax,
    /// The last three queueing delays, newest first.
    last: [f64; 3],
    samples: u64,
    jitter: f64,
}

impl QueueView {
    pub(super) fn new() -> QueueView {
        QueueView { base: WindowedMax::new(BASE_WINDOW_NS), last: [0.0; 3], samples: 0, jitter: 0.0 }
    }

    /// Takes the mean one-way delay of one report. The mean, not the least: jitter cancels.
    pub(super) fn offer(&mut self, now: Time, delay: f64) {
        let least = -self.base.offer(now.as_nanos(), -delay);
        let queue = delay - least;
        self.last = [queue, self.last[0], self.last[1]];
        self.samples += 1;
        if self.samples >= 3 {
            // The second difference sees jitter but not the ramp of a queue that fills.
            let [q, q1, q2] = self.last;
            let bend = ((q - 2.0 * q1 + q2).abs() / 2.0).min(0.020);
            self.jitter += (bend - self.jitter) / 64.0;
        }
    }

    /// A delay of `more` that was taken for a queue is the path's own: sparse packets once saw less of its jitter than
    /// dense ones do, or its way has become longer.
    pub(super) fn is_no_queue(&mut self, now: Time, more: f64) {
        let least = -self.base.get().unwrap_or(0.0) + more;
        self.base.reset(now.as_nanos(), -least);
        self.last = self.last.map(|queue| (queue - more).max(0.0));
    }

    /// Queueing delay in the last report.
    pub(super) fn delay(&self) -> f64 {
        self.last[0]
    }

    /// Mean jitter between reports.
    pub(super) fn jitter(&self) -> f64 {
        self.jitter
    }
}
