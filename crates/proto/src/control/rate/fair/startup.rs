//! Start-up: the rate doubles in each round trip until the path is full.

use super::super::tuning::StartTuning;
use super::super::{GainClass, Report, Settled, Tuning};
use super::path::PathState;
use super::rounds::Round;

/// The state of the start-up.
#[derive(Clone, Debug)]
pub(super) struct Startup {
    /// The first rate, used before any measurement, byte/s.
    pub(super) guess: f64,
    /// Least window, bytes.
    pub(super) window: f64,
    /// The largest delivered rate in the last round in which this rate grew by a quarter or more,
    /// byte/s.
    full_rate: f64,
    /// Number of rounds since the last round with growth by a quarter or more. A round in which too
    /// little was sent counts only if it shows an overshoot.
    flat_rounds: u32,
    /// Number of consecutive reports that showed a queue.
    queued_reports: u32,
    /// The datagrams settled in the last round. They count for the erasure floor if the rate grows
    /// further, which shows that the path was not full.
    unproven: Settled,
}

impl Startup {
    pub(super) fn new(packet: f64, rtt: f64, tuning: &Tuning) -> Startup {
        Startup {
            guess: tuning.start.initial_window * packet / rtt.max(tuning.start.fastest) / tuning.start.gain,
            window: tuning.start.initial_window * packet,
            full_rate: 0.0,
            flat_rounds: 0,
            queued_reports: 0,
            unproven: Settled::default(),
        }
    }

    /// Grows the least window. If the sender uses less than half of the window, the window does not
    /// grow (RFC 7661).
    pub(super) fn grow(&mut self, report: &Report) {
        if 2.0 * report.in_flight_before as f64 >= self.window {
            // An inner TCP doubles its window in each round trip, so this window must at least
            // double as well. Lost packets and repairs need room too, so the window grows by twice
            // the acknowledged bytes.
            self.window += 2.0 * report.acked_bytes as f64;
        }
    }

    /// The rate at which a burst of the inner traffic passes, byte/s, if `waiting` bytes wait.
    ///
    /// A CUBIC flow ends its slow start if its round trip grows by 1/8, or by `hystart` on a longer path. So a burst
    /// must not wait for longer there.
    pub(super) fn burst(&self, waiting: usize, path: &PathState, tuning: &StartTuning) -> f64 {
        if path.min_rtt < 8.0 * tuning.hystart {
            return 0.0;
        }
        (waiting as f64 / tuning.hystart).min(tuning.burst_gain * path.bandwidth)
    }

    /// Whether the reports show a queue, so that start-up ends.
    pub(super) fn queue_shows(&mut self, path: &PathState, tuning: &Tuning) -> bool {
        let short = (path.min_rtt / 2.0).min(tuning.start.queue);
        let limit = (tuning.start.queue_part * path.min_rtt).max(short);
        let queued = path.queue.delay() > limit + 2.0 * path.queue.jitter();
        self.queued_reports = if queued { self.queued_reports + 1 } else { 0 };
        self.queued_reports >= 3
    }

    /// Handles the end of a round. Returns whether start-up ends because the rate no longer grows.
    pub(super) fn end_round(&mut self, round: &Round, path: &mut PathState, tuning: &Tuning) -> bool {
        let grew = round.max_delivered >= tuning.start.growth * self.full_rate;
        let unproven = self.unproven;
        if grew && f64::from(unproven.lost) <= tuning.start.overshoot * f64::from(unproven.packets) {
            // The rate has grown, so the packets of the round before were sent below the path's
            // rate. The losses of that round are erasures, unless the first packets overflowed a short queue.
            path.erasure.add(round.began, GainClass::At, unproven, path.bandwidth, &tuning.erasure);
        }
        self.unproven = round.all;
        if grew {
            self.full_rate = round.max_delivered;
            self.flat_rounds = 0;
        } else if !round.app_limited || path.round_exceeds(round, tuning.start.overshoot) {
            self.flat_rounds += 1;
        }
        let overshot = !grew && path.round_exceeds(round, tuning.start.overshoot);
        overshot || self.flat_rounds >= 3 || (self.flat_rounds >= 2 && path.round_exceeds(round, 0.02))
    }
}
