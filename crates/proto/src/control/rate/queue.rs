//! Estimates the delay of the bottleneck's queue from one-way delays.

use super::super::filter::WindowedMax;
use ripstop_base::Time;

/// Period over which the least one-way delay is taken, 30 s in nanoseconds.
///
/// The queueing delay is the one-way delay minus the least one-way delay. The clock offset of the
/// two ends and the propagation delay cancel in this difference. With half the value, a queue that
/// lasts for 15 s is mistaken for a delay of the path. With double the value, it takes longer to
/// notice that the path has become longer or that the clocks drift.
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
    /// Jitter, s: a mean over about 64 samples.
    jitter: f64,
}

impl QueueView {
    /// Creates an estimate without samples.
    pub(super) fn new() -> QueueView {
        QueueView { base: WindowedMax::new(BASE_WINDOW_NS), last: [0.0; 3], samples: 0, jitter: 0.0 }
    }

    /// Takes the mean one-way delay `delay` of one report's datagrams, s.
    ///
    /// The mean over a report reduces jitter, but jitter still lowers the least delay.
    pub(super) fn offer(&mut self, now: Time, delay: f64) {
        let least = -self.base.offer(now.as_nanos(), -delay);
        let queue = delay - least;
        self.last = [queue, self.last[0], self.last[1]];
        self.samples += 1;
        if self.samples >= 3 {
            // The second difference of the delays responds to jitter. For a queue that fills at a
            // steady rate, the second difference is 0. A sample counts as at most 20 ms.
            let [q, q1, q2] = self.last;
            let bend = ((q - 2.0 * q1 + q2).abs() / 2.0).min(0.020);
            self.jitter += (bend - self.jitter) / 64.0;
        }
    }

    /// Counts the queueing delay `more`, s, as a delay of the path from now on.
    ///
    /// Such a delay arises when the path becomes longer. It also arises from jitter: when packets
    /// are sent far apart, one packet of many may have a very low delay. This very low delay is
    /// then the least delay, although packets sent close together never have such a low delay.
    pub(super) fn accept_as_path_delay(&mut self, now: Time, more: f64) {
        let least = -self.base.get().unwrap_or(0.0) + more;
        self.base.reset(now.as_nanos(), -least);
        self.last = self.last.map(|queue| (queue - more).max(0.0));
    }

    /// Queueing delay according to the last report, s.
    pub(super) fn delay(&self) -> f64 {
        self.last[0]
    }

    /// Mean jitter between reports, s.
    pub(super) fn jitter(&self) -> f64 {
        self.jitter
    }
}
