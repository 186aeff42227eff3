//! Pacing: spreads datagrams over time, so that they leave at the controller's rate.

use ripstop_base::Time;
use std::time::Duration;

/// The *quantum* is the sending time of the datagrams that leave together. A quantum is a sixteenth of the round-trip
/// time, within the limits [`LEAST`] and [`MOST`].
///
/// All datagrams of a quantum share one wake-up and one system call. With double the number, bursts are half as long,
/// and there are twice as many wake-ups. With half the number, bursts are twice as long, which matters where the
/// queue of the bottleneck is shorter than an eighth of the round-trip time.
const RTT_PARTS: u32 = 16;
/// Shortest quantum, 1 ms.
///
/// Half the value wakes the program more often on paths with a round-trip time below 16 ms. Double the value makes
/// larger bursts on such paths, and a late timer could lower the rate.
const LEAST: Duration = Duration::from_millis(1);
/// Longest quantum, 4 ms: the bursts of a path of 20 Mbit/s have 7 full-size packets.
///
/// The initial window of TCP has 10 packets (RFC 6928), so bottlenecks accept such bursts. Double the value makes
/// bursts of 14 packets, and delays the packets of interactive flows by up to 8 ms. Half the value makes twice as many
/// wake-ups on paths with a round-trip time above 64 ms.
const MOST: Duration = Duration::from_millis(4);
/// Largest quantum, bytes, if the quantum is longer than [`LEAST`]. The value is the size of the largest send call.
///
/// Half the value makes more send calls on paths above 130 Mbit/s. Double the value makes bursts that no single call
/// can send.
const LARGEST: f64 = 65_536.0;
/// Limit on the unused sending time that is kept for the next datagrams if no datagram was waiting: a quantum plus this
/// time, 1 ms. If a datagram was waiting, the limit is at least this sum (see [`LATE`]).
///
/// The value covers a timer that is up to 1 ms late. With half the value, late timers lower the rate. Double the value
/// allows longer bursts.
const LATE_TIMER: Duration = Duration::from_millis(1);
/// Limit on the unused sending time that is kept for the next datagrams if a datagram was waiting,
/// 25 ms.
///
/// Up to half a round trip is kept, but not less than a quantum and [`LATE_TIMER`], and not more than this limit. If a
/// datagram was waiting, the time passed unused because the timer was late. On a busy machine a
/// timer may be late by many milliseconds. If the unused time were lost, the timer would limit the
/// rate. The rate controller would then measure a slower path and lower the rate further. Half the
/// value lowers the rate on machines whose timers are later. Double the value allows longer bursts
/// on paths with a round-trip time above 50 ms.
const LATE: Duration = Duration::from_millis(25);

/// Decides when the next datagram may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// When the next datagram may leave.
    next: Time,
    /// Whether a datagram was waiting for the pacer: the argument of the last call of
    /// [`Pacer::hold`].
    held: bool,
    /// Whether the datagrams of the last quantum have left, and the next quantum has not begun.
    closed: bool,
    quantum: Duration,
    /// The pacing rate, byte/s, and the round-trip time that `quantum` follows from.
    quantum_of: (f64, Duration),
}

impl Pacer {
    pub(crate) fn new(now: Time) -> Pacer {
        Pacer { next: now, held: false, closed: false, quantum: LEAST, quantum_of: (0.0, Duration::MAX) }
    }

    /// Whether a datagram may leave now. Between two quanta, no datagram may leave until at least half a quantum is due.
    /// So a caller that asks often does not send the datagrams one by one.
    pub(crate) fn is_open(&mut self, now: Time) -> bool {
        let due = if self.closed { self.next + self.quantum / 2 } else { self.next };
        self.closed = due > now;
        !self.closed
    }

    /// When to try again if no datagram may leave now: when a whole quantum is due.
    pub(crate) fn opens(&self) -> Time {
        self.next + self.quantum
    }

    /// Call this function when no datagram leaves. `held`: a datagram waits, and only the pacer
    /// stops this datagram.
    pub(crate) fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Records that a datagram of `bytes` bytes leaves. `rate` is the pacing rate, byte/s.
    ///
    /// Some of the sending time that passed unused is kept for the next datagrams. The limit on this time is the quantum
    /// plus [`LATE_TIMER`]. If a datagram was waiting, the limit is half of the round-trip time `srtt` if this is more,
    /// but at most [`LATE`].
    pub(crate) fn sent(&mut self, now: Time, bytes: u32, rate: f64, srtt: Duration) {
        if (rate, srtt) != self.quantum_of {
            let longest = Duration::from_secs_f64((LARGEST / rate.max(1.0)).min(1.0));
            self.quantum = (srtt / RTT_PARTS).min(MOST).min(longest).max(LEAST);
            self.quantum_of = (rate, srtt);
        }
        // Unused sending time before `now - most` is not kept.
        let least = self.quantum + LATE_TIMER;
        let most = if self.held { (srtt / 2).clamp(least, LATE) } else { least };
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
            [(true, 100, 998, 1_003), (false, 100, 290, 310), (true, 10, 250, 310), (true, 1, 100, 160)]
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
        // A quantum of 4 ms, a timer that is 1 ms late, and the datagram that is due now.
        assert_eq!(sent, 6);
    }

    #[test]
    fn datagrams_leave_in_quanta() {
        // 1.4 kB at 20 Mbit/s every 560 us, asked every 100 us: bursts of half a quantum or more.
        for (srtt, least, most) in [(100, 3, 5), (1, 1, 2)] {
            let (mut pacer, mut bursts, mut sent) = (Pacer::new(Time::ZERO), 0, 0);
            for tick in 0..10_000u64 {
                let (now, before) = (Time::from_micros(tick * 100), sent);
                while pacer.is_open(now) {
                    pacer.sent(now, 1_400, 2.5e6, Duration::from_millis(srtt));
                    sent += 1;
                }
                pacer.hold(true);
                bursts += u64::from(sent > before);
            }
            assert!((1_785..=1_795).contains(&sent), "the rate is kept: {sent}");
            assert!((least..=most).contains(&(sent / bursts)), "{srtt} ms: {sent} in {bursts} bursts");
        }
        let mut fast = Pacer::new(Time::ZERO);
        fast.sent(Time::ZERO, 1_400, 30e6, RTT);
        assert!((2_100..2_300).contains(&fast.quantum.as_micros()), "64 kB at 240 Mbit/s: {:?}", fast.quantum);
    }
}
