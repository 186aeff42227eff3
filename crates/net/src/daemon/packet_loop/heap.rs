//! When to return freed memory to the system.

use ripstop_base::Time;
use std::time::Duration;

/// The least time between two returns, 5 s. A return takes milliseconds, in which no packet moves. With half the value, a
/// peer that fills and frees its memory again and again takes twice the time. With double the value, the process is larger
/// for longer.
const INTERVAL: Duration = Duration::from_secs(5);
/// The number of freed bytes from which a return is worth its time, 4 MB. With half the value, ordinary changes cause
/// returns. With double the value, 4 MB more stay with the process.
const WORTH: usize = 4 << 20;

/// The memory of the sessions since the last return.
#[derive(Debug)]
pub(super) struct Heap {
    most: usize,
    last: Time,
}

impl Heap {
    pub(super) fn new(now: Time) -> Heap {
        Heap { most: 0, last: now }
    }

    /// Whether to return freed memory now. `memory` is what the sessions hold, in bytes.
    pub(super) fn is_due(&mut self, now: Time, memory: usize) -> bool {
        self.most = self.most.max(memory);
        let is_due = self.most - memory >= WORTH && now.since(self.last) >= INTERVAL;
        if is_due {
            *self = Heap { most: memory, last: now };
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_returned_after_it_was_freed() {
        let at = |s: u64| Time::from_millis(1000 * s);
        let mut heap = Heap::new(at(0));
        let due: Vec<bool> = [(10, 50), (11, 47), (12, 45), (13, 1), (14, 1), (20, 1), (30, 9), (31, 1)]
            .map(|(s, mb)| heap.is_due(at(s), mb << 20))
            .into();
        assert_eq!(due, [false, false, true, false, false, true, false, true]);
    }
}
