//! Estimates the delay of the bottleneck's queue from one-way delays.

use super::super::filter::WindowedMax;
use ripstop_base::Time;

/// Period over which the least one-way delay is taken, 30 s in nanoseconds.
///
/// The queueing delay is the one-way delay minus the least one. In this difference the clock offset
/// and the propagation delay cancel. Half the value takes a queue that stands for 15 s for a delay
/// of the path. Double the value is slower to notice a longer path and a drift of the clocks.
const BASE_WINDOW_NS: u64 = 30_000_000_000;

/// The queueing delay and its jitter, s.
#[derive(Clone, Debug)]
pub(super) struct QueueView {
    /// Negated one-way delays: their maximum is the least delay.
    base: WindowedMax,
    /// The last three queueing delays, newest first.
    last: [f64; 3],
    /// Number of samples so far.
    samples: u64,
    /// Smoothed jitter, s.
    jitter: f64,
}

impl QueueView {
    /// Creates an estimate without samples.
    pub(super) fn new() -> QueueView {
        QueueView { base: WindowedMax::new(BASE_WINDOW_NS), last: [0.0; 3], samples: 0, jitter: 0.0 }
    }

    /// Takes the mean one-way delay `delay` of one report, s. Jitter cancels in the mean, but not
    /// in the least delay.
    pub(super) fn offer(&mut self, now: Time, delay: f64) {
        let least = -self.base.offer(now.as_nanos(), -delay);
        let queue = delay - least;
        self.last = [queue, self.last[0], self.last[1]];
        self.samples += 1;
        if self.samples >= 3 {
            // The second difference responds to jitter, but not to the steady rise of a queue that
            // fills.
            let [q, q1, q2] = self.last;
            let bend = ((q - 2.0 * q1 + q2).abs() / 2.0).min(0.020);
            self.jitter += (bend - self.jitter) / 64.0;
        }
    }

    /// Takes the delay `more`, s, for a delay of the path instead of a queue.
    ///
    /// Such a delay arises when the path becomes longer. It also arises from jitter: the least
    /// delay of many sparse packets may be lower than dense packets ever see.
    pub(super) fn is_no_queue(&mut self, now: Time, more: f64) {
        let least = -self.base.get().unwrap_or(0.0) + more;
        self.base.reset(now.as_nanos(), -least);
        self.last = self.last.map(|queue| (queue - more).max(0.0));
    }

    /// Queueing delay by the last report, s.
    pub(super) fn delay(&self) -> f64 {
        self.last[0]
    }

    /// Mean jitter between reports, s.
    pub(super) fn jitter(&self) -> f64 {
        self.jitter
    }
}
