//! When the rate was cut for congestion.

use ripstop_base::Time;

/// The cuts of the rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts {
    /// When the rate was last cut.
    last: Time,
    /// The estimated rate before that cut, byte/s.
    before: f64,
    /// Until then the rate does not rise, because of a mark Congestion Experienced.
    hold_until: Time,
}

impl Cuts {
    /// There was no cut before `now`.
    pub(super) fn new(now: Time) -> Cuts {
        Cuts { last: now, before: 0.0, hold_until: now }
    }

    /// Notes a cut from the estimated rate `rate`, byte/s, if the last one is a round trip `srtt`, s, ago. Returns whether it
    /// is.
    pub(super) fn begin(&mut self, now: Time, rate: f64, srtt: f64) -> bool {
        let is_due = now.since(self.last).as_secs_f64() >= srtt;
        if is_due {
            (self.last, self.before) = (now, rate);
        }
        is_due
    }

    /// Holds the rate down until then.
    pub(super) fn hold(&mut self, until: Time) {
        self.hold_until = until;
    }

    /// Whether the rate may not rise.
    pub(super) fn holds(&self, now: Time) -> bool {
        now < self.hold_until
    }

    /// The rate before the last cut, byte/s, if the cut came at `began` or later.
    pub(super) fn before(&self, began: Time) -> Option<f64> {
        (self.last >= began).then_some(self.before)
    }
}
