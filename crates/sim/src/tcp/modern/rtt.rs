//! The round-trip time, the retransmission time-out (RFC 6298), and a windowed maximum.

use crate::tcp::RtoConfig;
use ripstop_base::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// How long a minimum of the round-trip time is kept, in seconds (Linux's `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: u64 = 300;

/// Estimates the round-trip time.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Rtt {
    config: RtoConfig,
    smoothed: Option<Duration>,
    variation: Duration,
    /// Round-trip times in ns, negated, so that the maximum is the least round-trip time.
    negated_min: WindowedMax,
    /// How many times the time-out is doubled.
    back_off: u32,
}

impl Rtt {
    pub(super) fn new(config: RtoConfig) -> Rtt {
        Rtt {
            config,
            smoothed: None,
            variation: Duration::ZERO,
            negated_min: WindowedMax::new(MIN_RTT_WINDOW),
            back_off: 0,
        }
    }

    /// Takes a sample of a packet that was sent only once (Karn's algorithm).
    pub(super) fn sample(&mut self, rtt: Duration) {
        match &mut self.smoothed {
            None => (self.smoothed, self.variation) = (Some(rtt), rtt / 2),
            Some(smoothed) => {
                self.variation = (3 * self.variation + rtt.abs_diff(*smoothed)) / 4;
                *smoothed = (7 * *smoothed + rtt) / 8;
            }
        }
    }

    /// Takes a sample of the newest acknowledged packet, which waited least for its acknowledgement.
    pub(super) fn sample_least(&mut self, now: Time, rtt: Duration) {
        self.negated_min.push(now.as_nanos() / 1_000_000_000, -(rtt.as_nanos() as f64));
    }

    /// The smoothed round-trip time; None before the first sample.
    pub(in crate::tcp) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// The least round-trip time of the last five minutes; None before the first sample.
    pub(in crate::tcp) fn min(&self) -> Option<Duration> {
        self.negated_min.get().map(|nanos| Duration::from_nanos(-nanos as u64))
    }

    /// The retransmission time-out, back-off included. As in Linux, the floor applies to the variation alone: the
    /// time-out is at least the round-trip time plus 200 ms.
    pub(super) fn timeout(&self) -> Duration {
        let base = match self.smoothed {
            None => self.config.initial,
            Some(smoothed) => smoothed + (4 * self.variation).max(self.config.min),
        };
        base.saturating_mul(1 << self.back_off.min(31)).min(self.config.max)
    }

    /// The least time that the time-out adds to the round-trip time.
    pub(super) fn floor(&self) -> Duration {
        self.config.min
    }

    pub(super) fn back_off(&mut self) {
        self.back_off += 1;
    }

    pub(super) fn end_back_off(&mut self) {
        self.back_off = 0;
    }
}

/// The greatest value in a window of the last rounds or seconds. The caller chooses the unit. At most one entry per
/// round or second is kept.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct WindowedMax {
    window: u64,
    /// Pairs of round and value. From front to back, rounds rise and values fall.
    entries: VecDeque<(u64, f64)>,
}

impl WindowedMax {
    pub(in crate::tcp) fn new(window: u64) -> WindowedMax {
        WindowedMax { window, entries: VecDeque::with_capacity(16) }
    }

    /// Adds the `value` of round `at`. Rounds never decrease.
    pub(in crate::tcp) fn push(&mut self, at: u64, value: f64) {
        while self.entries.back().is_some_and(|(_, last)| value >= *last) {
            self.entries.pop_back();
        }
        if self.entries.back().is_none_or(|(round, _)| *round < at) {
            self.entries.push_back((at, value));
        }
        while self.entries.front().is_some_and(|(round, _)| round + self.window < at) {
            self.entries.pop_front();
        }
    }

    pub(in crate::tcp) fn get(&self) -> Option<f64> {
        self.entries.front().map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> RtoConfig {
        RtoConfig { initial: Duration::from_secs(1), max: Duration::from_secs(120), ..RtoConfig::default() }
    }

    #[test]
    fn the_time_out_is_at_least_the_round_trip_and_200_ms() {
        let mut rtt = Rtt::new(config());
        assert_eq!((rtt.timeout(), rtt.min()), (Duration::from_secs(1), None));
        rtt.sample(Duration::from_millis(100));
        assert_eq!(rtt.timeout(), Duration::from_millis(300));
        rtt.sample(Duration::from_millis(900));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(200)));
        assert_eq!(rtt.timeout(), Duration::from_millis(200 + 4 * 2375 / 10));
        (0..40).for_each(|_| rtt.back_off());
        assert_eq!(rtt.timeout(), Duration::from_secs(120));
        rtt.end_back_off();
        assert_eq!(rtt.timeout(), Duration::from_millis(1150));
    }

    #[test]
    fn a_maximum_expires_with_its_window() {
        let mut max = WindowedMax::new(10);
        let got: Vec<f64> = [(0, 5.0), (0, 7.0), (1, 3.0), (9, 4.0), (10, 1.0), (11, 2.0), (20, 0.5)]
            .into_iter()
            .map(|(at, value)| {
                max.push(at, value);
                max.get().unwrap()
            })
            .collect();
        assert_eq!(got, [5.0, 7.0, 7.0, 7.0, 7.0, 4.0, 2.0]);
        assert!(max.entries.len() <= 11);
    }
}
