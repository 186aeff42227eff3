//! Estimates the delay of the bottleneck's queue from one-way delays.

use super::super::filter::WindowedMax;
use super::OneWayDelay;
use ripstop_base::Time;

/// Period over which the least one-way delay is taken, 30 s in nanoseconds.
///
/// The queueing delay is the one-way delay minus the least one-way delay. The clock offset of the
/// two ends and the propagation delay cancel in this difference. With half the value, a queue that
/// lasts for 15 s is mistaken for a delay of the path. With double the value, it takes longer to
/// notice that the path has become longer or that the clocks drift.
const BASE_WINDOW_NS: u64 = 30_000_000_000;
/// A delay without a queue lasts for this number of reports: the largest of their delays counts.
///
/// An empty queue stays empty for several reports. With jitter, single packets are early, above all when few packets are
/// sent. Measured from such a packet, the usual delay would be a queue. With half the value, CUBIC inside has .52 of a path
/// of 20 Mbit/s and 100 ms with 5 % loss and 50 ms of jitter, instead of .83 (1 report: .18). Double the value gives .87
/// there, but takes .75 instead of .61 beside CUBIC over a short queue (20 Mbit/s, 20 ms, a quarter of the bandwidth-delay
/// product), because a queue that others let drain for a moment no longer shows.
const LASTING: usize = 4;

/// How much longer than the time since the departure of its datagrams a queueing delay may seem, 10 ms in seconds. A
/// longer delay shows that a clock has jumped. Two clocks that differ by 300 ppm drift apart by 10 ms within
/// [`BASE_WINDOW_NS`]. Half the value takes the drift of poor clocks on a path of 1 ms for a jump. Double the value
/// leaves jumps by 20 ms unnoticed.
const CLOCK_TOLERANCE: f64 = 0.010;

/// The values of the last [`LASTING`] reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    /// Newest first. Only the first `known` values count.
    values: [f64; LASTING],
    known: usize,
}

impl Recent {
    /// Takes the value of a report. Returns the largest value, below which the values have not fallen for the whole time.
    pub(super) fn offer(&mut self, value: f64) -> f64 {
        self.values.rotate_right(1);
        self.values[0] = value;
        self.known = (self.known + 1).min(LASTING);
        self.known().iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    fn least(&self) -> f64 {
        self.known().iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn known(&self) -> &[f64] {
        &self.values[..self.known]
    }
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
    pub(super) fn new() -> QueueView {
        QueueView {
            base: WindowedMax::new(BASE_WINDOW_NS),
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
    /// [`LASTING`] reports.
    ///
    /// A queueing delay cannot be longer than the time since the departure. If the delay is longer, the clock of this end
    /// stood still or the clock of the peer jumped forward, and the earlier delays are forgotten. A jump the other way
    /// makes a new least delay.
    pub(super) fn offer(&mut self, now: Time, OneWayDelay { mean: delay, most }: OneWayDelay) {
        let queue = delay + self.base.get().unwrap_or(-delay);
        if queue > most + CLOCK_TOLERANCE {
            *self = QueueView { jumps: self.jumps + 1, jitter: self.jitter, ..QueueView::new() };
        }
        let lasting = self.last.offer(delay);
        self.samples += 1;
        if self.samples <= LASTING as u64 {
            // The first reports are too few to show a lasting delay.
            self.base.reset(now.as_nanos(), -lasting);
        }
        let least = -self.base.offer(now.as_nanos(), -lasting);
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

    /// The least queueing delay of the last [`LASTING`] reports, s.
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
        let mut queue = QueueView::new();
        let mut offer = |at: u64, delay| {
            queue.offer(Time::from_nanos(at * 10_000_000), OneWayDelay { mean: delay, most: 0.2 });
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
        let mut queue = QueueView::new();
        let mut offer = |at: u64, mean, most| {
            queue.offer(Time::from_nanos(at * 10_000_000), OneWayDelay { mean, most });
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
