//! When the keeper checks the device after a change.

use std::time::Duration;

/// The time from a notification to the check: 20 ms. A program that changes the device makes several changes, and one
/// check repairs them all. Meanwhile the guard routes refuse packets. An urgent check waits for nothing, but two checks
/// are at least this time apart. Half the value makes more checks; double the value refuses packets for longer.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// How many times the wait doubles while another program changes the device again and again: up to 1.28 s. Then two
/// programs that disagree take little time. With one step less, they take twice the time.
const MOST_DOUBLINGS: u32 = 6;
/// After this time without a repair, the wait is [`DEBOUNCE`] again. With half the value, a program that changes the
/// device every 6 s is not slowed down; with double the value, a second accident within 20 s is repaired a little later.
const CALM: Duration = Duration::from_secs(10);

/// How soon a change must be repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// The guard routes refuse packets until the repair.
    Refused,
    /// Packets may leave by another route until the repair.
    Leaks,
}

/// The times of the checks.
#[derive(Debug, Default)]
pub(super) struct Pace {
    due: Option<Duration>,
    /// The time of the last check.
    last: Option<Duration>,
    /// How many of the last checks have restored something, and the time of the last one.
    streak: (u32, Duration),
}

impl Pace {
    /// When the next check is due.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Asks for a check after a change.
    pub(super) fn note_change(&mut self, now: Duration, urgency: Urgency) {
        let at = match urgency {
            Urgency::Refused => now + self.debounce(now),
            Urgency::Leaks => self.last.map_or(now, |last| now.max(last + DEBOUNCE)),
        };
        self.check_at(at);
    }

    /// Asks for a check at a time.
    pub(super) fn check_at(&mut self, at: Duration) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// Asks for a check soon after the last one.
    pub(super) fn check_again(&mut self, now: Duration) {
        self.check_at(now + DEBOUNCE);
    }

    /// Begins a check.
    pub(super) fn begin(&mut self, now: Duration) {
        (self.due, self.last) = (None, Some(now));
    }

    /// Notes that a check has restored something.
    pub(super) fn note_repair(&mut self, now: Duration) {
        let (count, last) = self.streak;
        self.streak = (if now.saturating_sub(last) < CALM { count + 1 } else { 1 }, now);
    }

    fn debounce(&self, now: Duration) -> Duration {
        let (count, last) = self.streak;
        let doublings = if now.saturating_sub(last) < CALM { count.min(MOST_DOUBLINGS) } else { 0 };
        DEBOUNCE * (1 << doublings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaks_are_repaired_at_once_and_other_changes_wait() {
        let mut pace = Pace::default();
        let mut now = Duration::from_secs(100);
        let waits: Vec<u128> = (0..8)
            .map(|_| {
                pace.note_change(now, Urgency::Refused);
                let due = pace.due().unwrap();
                let wait = due - now;
                now = due;
                pace.begin(now);
                pace.note_repair(now);
                wait.as_millis()
            })
            .collect();
        assert_eq!(waits, [20, 40, 80, 160, 320, 640, 1280, 1280]);
        // A leak does not wait, however many repairs there were, but the checks keep their distance.
        pace.note_change(now, Urgency::Leaks);
        assert_eq!(pace.due(), Some(now + DEBOUNCE));
        pace.begin(now);
        now += Duration::from_secs(1);
        pace.note_change(now, Urgency::Refused);
        assert_eq!(pace.due(), Some(now + Duration::from_millis(1280)));
        pace.note_change(now, Urgency::Leaks);
        assert_eq!(pace.due(), Some(now));
        // After a calm time, the first wait is short again.
        pace.begin(now);
        now += CALM;
        pace.note_change(now, Urgency::Refused);
        assert_eq!(pace.due(), Some(now + DEBOUNCE));
    }
}
