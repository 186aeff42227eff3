//! Spreads datagrams over time.

use ripstop_base::Time;
use std::time::Duration;

/// A timer waits for so much more than the next datagram: the few that are due then share one wake-up.
const BATCH: Duration = Duration::from_millis(1);
/// How much time that passed unused may be made up for: a batch, by a timer that was a little late.
const BURST: Duration = Duration::from_millis(2);
/// The same where a datagram waited for its time all along, so that the timer alone was late: on a busy machine it is, by many
/// milliseconds. If that were lost, the pace would be what the timer allows, the path would seem to deliver no more, and
/// the pace would follow.
const LATE: Duration = Duration::from_millis(25);

/// Lets a datagram go when its time has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    next: Time,
    /// A datagram waits for its time.
    held: bool,
}

impl Pacer {
    pub(super) fn new(now: Time) -> Pacer {
        Pacer { next: now, held: false }
    }

    /// Whether a datagram may leave now.
    pub(super) fn is_open(&self, now: Time) -> bool {
        self.next <= now
    }

    /// When to look again, if the pace does not allow a datagram now.
    pub(super) fn opens(&self) -> Time {
        self.next + BATCH
    }

    /// Whether there is a datagram that waits for its time, when there is none that leaves.
    pub(super) fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// A datagram of `bytes` leaves; the pace is `rate` byte/s. A burst is short beside the round-trip time `srtt`.
    pub(super) fn sent(&mut self, now: Time, bytes: u32, rate: f64, srtt: Duration) {
        // Time not used is lost, but for one burst.
        let most = if self.held { (srtt / 2).clamp(BURST, LATE) } else { BURST };
        let from = self.next.max(now - most);
        self.next = from + Duration::from_nanos((f64::from(bytes) / rate * 1e9) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn keeps_the_pace_over_late_timers() {
        let mut pacer = Pacer::new(Time::ZERO);
        let mut sent = 0;
        for tick in 0..1_000u64 {
            let now = Time::from_micros(tick * 700);
            while pacer.is_open(now) {
                pacer.sent(now, 1_000, 1e6, RTT);
                sent += 1;
            }
        }
        assert!((699..=703).contains(&sent), "{sent}");
    }

    #[test]
    fn a_very_late_timer_costs_nothing_while_something_waits() {
        for (held, srtt, least, most) in
            [(true, 100, 998, 1_003), (false, 100, 100, 160), (true, 10, 250, 310), (true, 1, 100, 160)]
        {
            let mut pacer = Pacer::new(Time::ZERO);
            let mut sent = 0;
            for tick in 0..=50u64 {
                let now = Time::from_millis(tick * 20);
                while pacer.is_open(now) {
                    pacer.sent(now, 1_000, 1e6, Duration::from_millis(srtt));
                    sent += 1;
                }
                pacer.hold(held);
            }
            assert!((least..=most).contains(&sent), "{held} {srtt}: {sent}");
        }
    }

    #[test]
    fn idle_time_is_not_saved_up() {
        let mut pacer = Pacer::new(Time::ZERO);
        let now = Time::from_millis(10_000);
        let mut sent = 0;
        while pacer.is_open(now) {
            pacer.sent(now, 1_000, 1e6, RTT);
            sent += 1;
        }
        assert_eq!(sent, 3);
    }
}
