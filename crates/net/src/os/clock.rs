//! The clock of the daemon's timers and keys.

use nix::time::{ClockId, clock_gettime};
use ripstop_base::Time;
use std::time::Duration;

/// A clock that starts at zero, and goes on while the machine is suspended. Copies show the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Zero of this clock, on the clock of [`since_boot`].
    start: Duration,
}

impl Clock {
    /// Starts a clock.
    pub fn start() -> Clock {
        Clock { start: since_boot() }
    }

    /// The time on this clock.
    pub fn now(&self) -> Time {
        Time::ZERO + since_boot().saturating_sub(self.start)
    }
}

/// The time since the machine was started. This clock never goes back. Unlike
/// [`std::time::Instant`], it goes on while the machine is suspended, so keys age in a suspend.
pub fn since_boot() -> Duration {
    // Linux has this clock since version 2.6.39. On an older kernel, the clock that stops in a suspend
    // is used.
    clock_gettime(ClockId::CLOCK_BOOTTIME)
        .or_else(|_| clock_gettime(ClockId::CLOCK_MONOTONIC))
        .map_or(Duration::ZERO, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_clock_that_counts_suspends() {
        let text = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = text.split(' ').next().unwrap().parse().unwrap();
        let first = since_boot();
        // proc(5): /proc/uptime includes the time spent in suspend. The file has two decimals. In a time
        // namespace, its origin is that of CLOCK_BOOTTIME too.
        assert!((first.as_secs_f64() - uptime).abs() < 30.0, "{first:?} {uptime}");
        assert!(since_boot() >= first);
    }
}
