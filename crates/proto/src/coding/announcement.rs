//! Window announcements: packets in which the sender tells the receiver which symbols repairs may
//! still span.
//!
//! An announcement also carries the report interval and the deadline that the receiver shall use.
//! See `mod.rs` for the terms.

use crate::wire::Window;
use std::time::Duration;

/// When the window must be announced, and what the last announcement said.
#[derive(Debug)]
pub(super) struct Announcement {
    /// The last window announcement that was sent to the peer.
    said: Window,
    /// Whether the window must be announced again, for instance because the last announcement was lost.
    requested: bool,
    /// Set when the report interval or the deadline may differ from the last announcement.
    outdated: bool,
}

impl Announcement {
    /// The window was not announced.
    pub(super) fn new() -> Announcement {
        let said = Window { base: 0, reach: 0, report_every: Duration::ZERO, deadline: Duration::ZERO };
        Announcement { said, requested: true, outdated: true }
    }

    /// Asks for an announcement.
    pub(super) fn request(&mut self) {
        self.requested = true;
    }

    /// Notes that the report interval or the deadline may have changed.
    pub(super) fn outdate(&mut self) {
        self.outdated = true;
    }

    /// Whether a new announcement must be sent to the receiver. `reach` is the window's reach now, and `now` computes the
    /// window.
    ///
    /// An announcement must be sent for any of four reasons:
    ///
    /// - An announcement was requested.
    /// - The reach (see [`reach`]) is larger than the announced reach.
    /// - The report interval is more than 1.25 times the announced value, or less than 1/1.25 of the
    ///   announced value.
    /// - The deadline is more than 1.25 times the announced value, or less than half of the announced
    ///   value. A deadline falls slowly, and an announcement for each step would be many.
    pub(super) fn is_due(&mut self, reach: u32, now: impl FnOnce() -> Window) -> bool {
        if self.requested || reach > self.said.reach {
            return true;
        }
        if !std::mem::take(&mut self.outdated) {
            return false;
        }
        let (now, said) = (now(), self.said);
        let differs = |now: Duration, said: Duration, fall: f64| now > said.mul_f64(1.25) || now < said.mul_f64(fall);
        differs(now.report_every, said.report_every, 0.8) || differs(now.deadline, said.deadline, 0.5)
    }

    /// Records that `window` is announced.
    pub(super) fn sent(&mut self, window: Window) {
        *self = Announcement { said: window, requested: false, outdated: false };
    }
}

/// The *reach* is a number of symbols. The receiver must keep every known symbol that is among the
/// latest `reach` symbols, because a later repair may span this symbol.
///
/// The reach is twice the number of outstanding symbols, rounded up to a power of two, and at
/// least 1024. The power of two keeps announcements rare while the window grows.
pub(super) fn reach(outstanding: usize) -> u32 {
    (2 * outstanding as u32).next_power_of_two().max(1024)
}
