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

    /// When a running countdown ends. [`Time::NEVER`] if the countdown does not run.
    pub(super) fn ends(self, slot: Duration) -> Time {
        match self {
            Countdown::Running { slots, from } => from + slot * slots,
            Countdown::Off | Countdown::Paused { .. } => Time::NEVER,
        }
    }

    /// Stops a running countdown at `now`. Whole slots that have passed do not count again.
    pub(super) fn pause(&mut self, now: Time, slot: Duration) {
        if let Countdown::Running { slots, from } = *self {
            *self = Countdown::Paused { slots: slots.saturating_sub(whole_slots(from, now, slot)) };
        }
    }

    /// Lets a paused countdown run. The first slot begins at `from`.
    pub(super) fn run(&mut self, from: Time) {
        if let Countdown::Paused { slots } = *self {
            *self = Countdown::Running { slots, from };
        }
    }
}

/// The earliest time at which a back-off can end, given the frames that are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarliestEnd {
    /// The earliest time at which slots begin to pass.
    from: Time,
    /// The slots that remain at `from`.
    slots: u32,
}

impl EarliestEnd {
    /// The end of a back-off whose first slot begins at `from`, and which has `slots` slots.
    pub(super) fn new(from: Time, slots: u32) -> EarliestEnd {
        EarliestEnd { from, slots }
    }

    /// The earliest time at which the back-off ends.
    #[inline]
    pub(super) fn at(self, slot: Duration) -> Time {
        self.from + slot * self.slots
    }

    /// Allows for a frame: no slot passes from `begins` to `resumes`.
    #[inline]
    pub(super) fn delay(&mut self, begins: Time, resumes: Time, slot: Duration) {
        if resumes > self.from {
            self.slots = self.slots.saturating_sub(whole_slots(self.from, begins, slot));
            self.from = resumes;
        }
    }

    /// Lets slots begin to pass at `from`, if `from` is earlier than the time that was expected.
    #[inline]
    pub(super) fn advance(&mut self, from: Time) {
        self.from = self.from.min(from);
    }
}

/// The number of whole slots from `from` to `to`.
#[inline]
fn whole_slots(from: Time, to: Time, slot: Duration) -> u32 {
    (to.nanos_since(from) / (slot.as_nanos() as u64).max(1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_micros(20);

    #[test]
    fn whole_slots_count_and_parts_of_slots_do_not() {
        let mut countdown = Countdown::Paused { slots: 5 };
        countdown.run(Time::from_micros(50));
        assert_eq!(countdown.ends(SLOT), Time::from_micros(150));
        countdown.pause(Time::from_micros(99), SLOT);
        assert_eq!(countdown, Countdown::Paused { slots: 3 });
        countdown.run(Time::from_micros(1050));
        // The medium is busy again before the first slot begins.
        countdown.pause(Time::from_micros(1010), SLOT);
        assert_eq!(countdown, Countdown::Paused { slots: 3 });
    }

    #[test]
    fn a_frame_delays_the_earliest_end_by_the_slots_that_it_takes() {
        let mut earliest = EarliestEnd::new(Time::from_micros(100), 5);
        assert_eq!(earliest.at(SLOT), Time::from_micros(200));
        // Two slots have passed when the frame begins.
        earliest.delay(Time::from_micros(159), Time::from_micros(300), SLOT);
        assert_eq!(earliest.at(SLOT), Time::from_micros(360));
        // A frame that begins and ends within the first frame changes nothing.
        earliest.delay(Time::from_micros(200), Time::from_micros(250), SLOT);
        assert_eq!(earliest.at(SLOT), Time::from_micros(360));
        earliest.advance(Time::from_micros(250));
        assert_eq!(earliest.at(SLOT), Time::from_micros(310));
    }
}
