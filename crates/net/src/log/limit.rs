//! A limit on lines of one kind.

use crate::os::clock::since_boot;
use std::time::Duration;

/// Lines of one kind that may be logged at once. Half the value hides the steps of an ordinary reconnection after a failure
/// (two or three lines of a kind). Double the value lets a peer write twice as much at once: 12 kinds of 10 lines, 20 kB.
const AT_ONCE: u32 = 5;
/// Time after which one more line may be logged. A peer that causes all 12 kinds of lines then causes 1.2 lines of about
/// 150 bytes a second. Half the value doubles this rate. Double the value shows a peer that flaps less often.
const EVERY: Duration = Duration::from_secs(10);

/// A limit on lines of one kind that a peer or a stranger can cause: five lines at once, then one in 10 s.
#[derive(Clone, Debug)]
pub struct LineLimit {
    /// Lines that may be logged now.
    allowed: u32,
    /// When `allowed` last grew, on the clock of [`since_boot`].
    grown: Duration,
    /// Lines left out since the last line.
    left_out: u64,
}

impl Default for LineLimit {
    fn default() -> LineLimit {
        LineLimit { allowed: AT_ONCE, grown: Duration::ZERO, left_out: 0 }
    }
}

/// A line that may be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// How many lines of this kind were left out before this one; None: no line was left out.
    pub left_out: Option<u64>,
}

impl LineLimit {
    /// Whether a line may be logged now. If not, counts the line. The line should say how many were left out before.
    pub fn admit(&mut self) -> Option<Admitted> {
        self.admit_at(since_boot())
    }

    fn admit_at(&mut self, now: Duration) -> Option<Admitted> {
        let grown = now.saturating_sub(self.grown).as_nanos() / EVERY.as_nanos();
        if grown > 0 {
            self.allowed = AT_ONCE.min(self.allowed.saturating_add(u32::try_from(grown).unwrap_or(u32::MAX)));
            self.grown = now;
        }
        if self.allowed == 0 {
            self.left_out += 1;
            return None;
        }
        self.allowed -= 1;
        let left_out = std::mem::take(&mut self.left_out);
        Some(Admitted { left_out: (left_out > 0).then_some(left_out) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_left_out_are_counted_in_the_next_line() {
        let mut limit = LineLimit::default();
        let start = Duration::from_secs(1_000);
        let admitted: Vec<_> = (0..1_000).map(|ms| limit.admit_at(start + Duration::from_millis(ms))).collect();
        assert_eq!(admitted.iter().filter(|line| line.is_some()).count(), AT_ONCE as usize);
        assert_eq!(admitted[0], Some(Admitted { left_out: None }));
        assert_eq!(limit.admit_at(start + EVERY), Some(Admitted { left_out: Some(1_000 - u64::from(AT_ONCE)) }));
        assert_eq!(limit.admit_at(start + EVERY), None);
        // In the long run, one line in each interval.
        let hour = (0..3_600).filter(|s| limit.admit_at(start + EVERY * 2 + Duration::from_secs(*s)).is_some()).count();
        assert_eq!(hour, 360);
    }
}
