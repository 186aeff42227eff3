//! Spreads datagrams over time.

use ripstop_base::Time;
use std::time::Duration;

/// A timer waits for so much more than the next datagram: the few that are due then share one wake-up.
const BATCH: Duration = Duration::from_millis(1);
/// How much time that passed unused may be made up for: a batch, by a timer that was late.
const BURST: Duration = Duration::from_millis(2);

/// Lets a datagram go when its time has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    next: Time,
}

impl Pacer {
    pub(super) fn new(now: Time) -> Pacer {
        Pacer { next: now }
    }

    /// Whether a datagram may leave now.
    pub(super) fn is_open(&self, now: Time) -> bool {
        self.next <= now
    }

    /// When to look again, if the pace does not allow a datagram now.
    pub(super) fn opens(&self) -> Time {
        self.next + BATCH
    }

    /// A datagram of `bytes` leaves; the pace is `rate` byte/s.
    pub(super) fn sent(&mut self, now: Time, bytes: u32, rate: f64) {
        // Time not used is lost, but for one burst.
        let from = self.next.max(now - BURST);
        self.next = from + Duration::from_nanos((f64::from(bytes) / rate * 1e9) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_pace_over_late_timers() {
        let mut pacer = Pacer::new(Time::ZERO);
        let mut sent = 0;
        for tick in 0..1_000u64 {
            let now = Time::from_micros(tick * 700);
            while pacer.is_open(now) {
                pacer.sent(now, 1_000, 1e6);
                sent += 1;
            }
        }
        assert!((699..=703).contains(&sent), "{sent}");
    }

    #[test]
    fn idle_time_is_not_saved_up() {
        let mut pacer = Pacer::new(Time::ZERO);
        let now = Time::from_millis(10_000);
        let mut sent = 0;
        while pacer.is_open(now) {
            pacer.sent(now, 1_000, 1e6);
            sent += 1;
        }
        assert_eq!(sent, 3);
    }
}
