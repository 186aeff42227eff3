//! The timers of a station.
//!
//! The medium knows only the end of the earliest timer of each station. So the work of the medium does not grow with
//! the number of timers. A timer may move several times within one step at no cost for the medium.

use ripstop_base::Time;

/// What a station waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// A frame ends that is for the station, or that the station waits to overhear (Cadence).
    Reception,
    /// SIFS has passed, and a frame follows without contention.
    Defer,
    /// A CTS, a data frame or a MAC ACK did not come in time, or the station's broadcast has ended.
    Wait,
    /// The back-off may have ended. If the medium was busy in the meantime, the back-off goes on.
    Backoff,
    /// The protection timer of the adaptive back-off has ended.
    Protection,
    /// A packet in the queue may be sent (Cadence).
    Release,
    /// The station has something to do because a packet leaves the link layer, or because its MAC ACK ends.
    Local,
    /// The routing protocol has something to do.
    Routing,
}

impl Timer {
    /// All timers. Timers that end in the same nanosecond are handled in this order.
    pub(super) const ALL: [Timer; 8] = [
        Timer::Reception,
        Timer::Defer,
        Timer::Wait,
        Timer::Backoff,
        Timer::Protection,
        Timer::Release,
        Timer::Local,
        Timer::Routing,
    ];
}

/// The timers of a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    ends: [Time; Timer::ALL.len()],
}

impl Timers {
    /// Timers that do not run.
    pub(super) fn new() -> Timers {
        Timers { ends: [Time::NEVER; Timer::ALL.len()] }
    }

    /// Lets `timer` end at `when`.
    #[inline]
    pub(super) fn set(&mut self, timer: Timer, when: Time) {
        self.ends[timer as usize] = when;
    }

    /// Lets `timer` end at `when`, unless it already ends earlier.
    #[inline]
    pub(super) fn set_at_most(&mut self, timer: Timer, when: Time) {
        let ends = &mut self.ends[timer as usize];
        *ends = when.min(*ends);
    }

    /// Stops `timer`.
    #[inline]
    pub(super) fn stop(&mut self, timer: Timer) {
        self.ends[timer as usize] = Time::NEVER;
    }

    /// When `timer` ends. [`Time::NEVER`] if it does not run.
    #[inline]
    pub(super) fn when(&self, timer: Timer) -> Time {
        self.ends[timer as usize]
    }

    /// Whether `timer` runs.
    #[inline]
    pub(super) fn runs(&self, timer: Timer) -> bool {
        self.ends[timer as usize] != Time::NEVER
    }

    /// Tells whether `timer` has ended by `now`. If it has, stops it.
    #[inline]
    pub(super) fn take(&mut self, timer: Timer, now: Time) -> bool {
        let has_ended = self.ends[timer as usize] <= now;
        if has_ended {
            self.stop(timer);
        }
        has_ended
    }

    /// When the first timer ends. [`Time::NEVER`] if no timer runs.
    #[inline]
    pub(super) fn earliest(&self) -> Time {
        self.ends.iter().copied().fold(Time::NEVER, Time::min)
    }

    /// When the first timer other than `left_out` ends. [`Time::NEVER`] if no other timer runs.
    #[inline]
    pub(super) fn earliest_without(&self, left_out: Timer) -> Time {
        let mut others = *self;
        others.stop(left_out);
        others.earliest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_timer_counts_and_a_taken_one_is_over() {
        let mut timers = Timers::new();
        assert_eq!(timers.earliest(), Time::NEVER);
        timers.set(Timer::Wait, Time::from_micros(7));
        timers.set_at_most(Timer::Backoff, Time::from_micros(5));
        timers.set_at_most(Timer::Backoff, Time::from_micros(9));
        assert_eq!(timers.earliest(), Time::from_micros(5));
        assert!(!timers.take(Timer::Backoff, Time::from_micros(4)));
        assert!(timers.take(Timer::Backoff, Time::from_micros(5)));
        assert!(!timers.runs(Timer::Backoff) && timers.runs(Timer::Wait));
        assert_eq!(timers.earliest(), Time::from_micros(7));
    }
}
