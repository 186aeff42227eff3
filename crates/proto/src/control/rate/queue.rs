//! Estimates the delay of the bottleneck's queue from one-way delays.

use super::super::filter::WindowedMax;
use super::OneWayDelay;
use super::tuning::QueueTuning;
use ripstop_base::Time;

/// Room for the values of twice the usual number of reports, so that `lasting` can be doubled.
const MOST_LASTING: usize = 8;

/// The values of the last `lasting` reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    /// Newest first. Only the first `known` values count.
    values: [f64; MOST_LASTING],
    known: usize,
}

impl Recent {
    /// Takes the value of a report. Returns the largest value, below which the values have not fallen for the whole time.
    pub(super) fn offer(&mut self, value: f64, tuning: &QueueTuning) -> f64 {
        self.values.rotate_right(1);
        self.values[0] = value;
        self.known = (self.known + 1).min(lasting(tuning));
        self.known().iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    fn least(&self) -> f64 {
        self.known().iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn known(&self) -> &[f64] {
        &self.values[..self.known]
    }
}

/// The number of reports for which a delay without a queue lasts.
fn lasting(tuning: &QueueTuning) -> usize {
    (tuning.lasting as usize).clamp(1, MOST_LASTING)
}

/// The queueing delay and its jitter, s.
#[derive(Clone, Debug)]
pub(super) struct QueueView {
    /// Negated one-way delays: their maximum is the least delay.
    base: WindowedMax,
    /// The last one-way delays.
    last: Recent,
    /// The last queueing delay.
    queue: f64,
    /// Number of samples so far.
    samples: u64,
    /// Jitter, s: a mean over about 64 samples.
    jitter: f64,
    /// How many times a clock has jumped.
    jumps: u64,
}

impl QueueView {
    /// Creates an estimate without samples.
    pub(super) fn new(tuning: &QueueTuning) -> QueueView {
        QueueView {
            base: WindowedMax::new((tuning.base_for * 1e9) as u64),
            last: Recent::default(),
            queue: 0.0,
            samples: 0,
            jitter: 0.0,
            jumps: 0,
        }
    }

    /// Takes the one-way delay of one report's datagrams.
    ///
    /// The mean over a report reduces jitter, but jitter still lowers the least delay. So the least delay is that of
    /// `lasting` reports.
    ///
    /// A queueing delay cannot be longer than the time since the departure. If the delay is longer, the clock of this end
    /// stood still or the clock of the peer jumped forward, and the earlier delays are forgotten. A jump the other way
    /// makes a new least delay.
    pub(super) fn offer(&mut self, now: Time, OneWayDelay { mean: delay, most }: OneWayDelay, tuning: &QueueTuning) {
        let queue = delay + self.base.get().unwrap_or(-delay);
        if queue > most + tuning.clock_tolerance {
            *self = QueueView { jumps: self.jumps + 1, jitter: self.jitter, ..QueueView::new(tuning) };
        }
        let most_recent = self.last.offer(delay, tuning);
        self.samples += 1;
        if self.samples <= lasting(tuning) as u64 {
            // The first reports are too few to show a lasting delay.
            self.base.reset(now.as_nanos(), -most_recent);
        }
        let least = -self.base.offer(now.as_nanos(), -most_recent);
        self.queue = (delay - least).max(0.0);
        if let [d, d1, d2, ..] = *self.last.known() {
            // The second difference of the delays responds to jitter. For a queue that fills at a
            // steady rate, the second difference is 0. A sample counts as at most 20 ms.
            let bend = ((d - 2.0 * d1 + d2).abs() / 2.0).min(0.020);
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
        self.queue = (self.queue - more).max(0.0);
    }

    /// Queueing delay according to the last report, s.
    pub(super) fn delay(&self) -> f64 {
        self.queue
    }

    /// The least queueing delay of the last `lasting` reports, s.
    pub(super) fn lasting(&self) -> f64 {
        let least = -self.base.get().unwrap_or(0.0);
        (self.last.least() - least).max(0.0)
    }

    /// How many times a clock of one of the ends has jumped, so that the delays began anew.
    pub(super) fn jumps(&self) -> u64 {
        self.jumps
    }

    /// Mean jitter between reports, s.
    pub(super) fn jitter(&self) -> f64 {
        self.jitter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_packet_is_not_the_least_delay() {
        let tuning = QueueTuning::default();
        let mut queue = QueueView::new(&tuning);
        let mut offer = |at: u64, delay| {
            queue.offer(Time::from_nanos(at * 10_000_000), OneWayDelay { mean: delay, most: 0.2 }, &tuning);
            queue.delay()
        };
        for at in 0..10 {
            assert_eq!(offer(at, 0.095), 0.0, "the first delays are no queue");
        }
        for at in 10..12 {
            assert_eq!(offer(at, 0.050), 0.0);
        }
        for at in 12..20 {
            assert_eq!(offer(at, 0.095), 0.0, "two early reports must not make the usual delay a queue");
        }
        for at in 20..24 {
            offer(at, 0.050);
        }
        assert_eq!(offer(24, 0.095), 0.045, "four reports show an empty queue");
    }

    /// The peer's clock jumps forward by 3 minutes. The datagrams left at most 600 ms ago, so there is no queue.
    #[test]
    fn a_jump_of_a_clock_is_no_queue() {
        let tuning = QueueTuning::default();
        let mut queue = QueueView::new(&tuning);
        let mut offer = |at: u64, mean, most| {
            queue.offer(Time::from_nanos(at * 10_000_000), OneWayDelay { mean, most }, &tuning);
            (queue.delay(), queue.jumps())
        };
        (0..10).for_each(|at| assert_eq!(offer(at, 0.05, 0.1), (0.0, 0)));
        assert_eq!(offer(10, 0.55, 0.6), (0.5, 0), "a queue of 500 ms is no jump");
        (11..20).for_each(|at| assert_eq!(offer(at, 180.05, 0.1), (0.0, 1)));
        let (delay, jumps) = offer(20, 180.15, 0.2);
        assert!(
            (delay - 0.1).abs() < 1e-9 && jumps == 1,
            "a queue after the jump counts from the new clock: {delay} s"
        );
    }
}
