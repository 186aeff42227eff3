//! The back-off countdown of a station: slots that pass while the medium is idle.

use ripstop_base::Time;
use std::time::Duration;

/// Slots that remain until a station may send. The countdown stands still while the medium is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Countdown {
    /// There is no back-off.
    Off,
    /// The medium is busy.
    Paused {
        /// Slots that remain.
        slots: u32,
    },
    /// The medium is idle.
    Running {
        /// Slots that remained when the countdown began to run.
        slots: u32,
        /// When the first slot begins: DIFS after the medium became idle.
        from: Time,
    },
}

impl Countdown {
    /// Whether there is a back-off.
    #[inline]
    pub(super) fn is_on(self) -> bool {
        self != Countdown::Off
    }

    /// When a running countdown ends. [`Time::NEVER`] if it does not run.
    pub(super) fn ends(self, slot: Duration) -> Time {
        match self {
            Countdown::Running { slots, from } => from + slot * slots,
            Countdown::Off | Countdown::Paused { .. } => Time::NEVER,
        }
    }

    /// Stops a running countdown at `now`. Whole slots that have passed do not count again.
    pub(super) fn pause(&mut self, now: Time, slot: Duration) {
        if let Countdown::Running { slots, from } = *self {
            let passed = now.nanos_since(from) / (slot.as_nanos() as u64).max(1);
            *self = Countdown::Paused { slots: slots.saturating_sub(passed as u32) };
        }
    }

    /// Lets a paused countdown run. Its first slot begins at `from`. Returns when it ends.
    pub(super) fn run(&mut self, from: Time, slot: Duration) -> Time {
        if let Countdown::Paused { slots } = *self {
            *self = Countdown::Running { slots, from };
        }
        self.ends(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_micros(20);

    #[test]
    fn whole_slots_count_and_parts_of_slots_do_not() {
        let mut countdown = Countdown::Paused { slots: 5 };
        assert_eq!(countdown.run(Time::from_micros(50), SLOT), Time::from_micros(150));
        countdown.pause(Time::from_micros(99), SLOT);
        assert_eq!(countdown, Countdown::Paused { slots: 3 });
        countdown.run(Time::from_micros(1050), SLOT);
        // Busy again before the first slot begins.
        countdown.pause(Time::from_micros(1010), SLOT);
        assert_eq!(countdown, Countdown::Paused { slots: 3 });
    }
}
