//! Pacing: spreads datagrams over time, so that they leave at the controller's rate.

use ripstop_base::Time;
use std::time::Duration;

/// Delay of the pacer's timer: the timer fires 1 ms after the next datagram is due.
///
/// All datagrams that become due within this time share one wake-up. Half the value wakes the
/// program more often. Double the value makes larger bursts. Double the value would also use up all
/// of [`BURST`], so that a late timer could lower the rate.
const BATCH: Duration = Duration::from_millis(1);
/// Limit on the unused sending time that is kept for the next datagrams if no datagram was waiting,
/// 2 ms. If a datagram was waiting, the limit is at least this time (see [`LATE`]).
///
/// The value covers one batch ([`BATCH`]) and a timer that is up to 1 ms late. With half the value,
/// late timers lower the rate. Double the value allows bursts of twice the size.
const BURST: Duration = Duration::from_millis(2);
/// Limit on the unused sending time that is kept for the next datagrams if a datagram was waiting,
/// 25 ms.
///
/// Up to half a round trip is kept, but not less than [`BURST`] and not more than this limit. If a
/// datagram was waiting, the time passed unused because the timer was late. On a busy machine a
/// timer may be late by many milliseconds. If the unused time were lost, the timer would limit the
/// rate. The rate controller would then measure a slower path and lower the rate further. Half the
/// value lowers the rate on machines whose timers are later. Double the value allows longer bursts
/// on paths with a round-trip time above 50 ms.
const LATE: Duration = Duration::from_millis(25);

/// Decides when the next datagram may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// When the next datagram may leave.
    next: Time,
    /// Whether a datagram was waiting for the pacer: the argument of the last call of
    /// [`Pacer::hold`].
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

    /// When to try again if no datagram may leave now: [`BATCH`] after the next datagram is due.
    pub(super) fn opens(&self) -> Time {
        self.next + BATCH
    }

    /// Call this function when no datagram leaves. `held`: a datagram waits, and only the pacer
    /// stops this datagram.
    pub(super) fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Records that a datagram of `bytes` bytes leaves. `rate` is the pacing rate, byte/s.
    ///
    /// Some of the sending time that passed unused is kept for the next datagrams. If a datagram
    /// was waiting, the limit on this time is half of the round-trip time `srtt`, but at least
    /// [`BURST`] and at most [`LATE`]. Otherwise the limit is [`BURST`].
    pub(super) fn sent(&mut self, now: Time, bytes: u32, rate: f64, srtt: Duration) {
        // Unused sending time before `now - most` is not kept.
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
