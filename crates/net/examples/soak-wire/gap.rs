//! The longest time without an arrival.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The arrivals of one direction, and the longest time between two of them.
pub(crate) struct Gap {
    start: Instant,
    /// When the newest arrival was, ms since the start.
    last: AtomicU64,
    /// The longest time between two arrivals, ms.
    longest: AtomicU64,
}

impl Gap {
    /// The first time without an arrival begins now.
    pub(crate) fn new() -> Gap {
        Gap { start: Instant::now(), last: AtomicU64::new(0), longest: AtomicU64::new(0) }
    }

    /// Notes an arrival.
    pub(crate) fn note(&self) {
        let now = self.now();
        let gap = now.saturating_sub(self.last.swap(now, Ordering::Relaxed));
        self.longest.fetch_max(gap, Ordering::Relaxed);
    }

    /// The longest time without an arrival. The time since the newest arrival counts too.
    pub(crate) fn longest(&self) -> Duration {
        let present = self.now().saturating_sub(self.last.load(Ordering::Relaxed));
        Duration::from_millis(present.max(self.longest.load(Ordering::Relaxed)))
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}
