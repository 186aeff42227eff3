//! What the sender tells the receiver about its window, and when.

use super::{InnerPacket, Tunnel};
use crate::wire::{Window, whole_micros};
use std::time::Duration;

/// Share of the rate of a direction that the reports about it may take.
const REPORT_SHARE: f64 = 0.004;
/// Length of a report that this share is reckoned with, bytes: one that lists a few gaps.
pub(super) const REPORT_BYTES: f64 = 110.0;

impl<P: InnerPacket> Tunnel<P> {
    /// Whether the receiver has to be told about the window: it was lost, it reaches further, or a time in it changed by a quarter.
    pub(super) fn announcement_due(&mut self) -> bool {
        if self.announce || self.reach() > self.announced.reach {
            return true;
        }
        if !std::mem::take(&mut self.window_outdated) {
            return false;
        }
        let (now, said) = (self.window_now(), self.announced);
        let differs = |a: Duration, b: Duration| a > b.mul_f64(1.25) || b > a.mul_f64(1.25);
        differs(now.report_every, said.report_every) || differs(now.deadline, said.deadline)
    }

    /// How far beyond the base the receiver must be ready to hear.
    fn reach(&self) -> u32 {
        (2 * self.sources.len() as u32).next_power_of_two().max(1024)
    }

    /// The window as it is now.
    pub(super) fn window_now(&self) -> Window {
        let srtt = self.sent_history.srtt();
        let ms = Duration::from_millis;
        // Ten reports a round trip steer the rate. On a slow path reports are rarer, so that they cost next to nothing.
        let cheap = REPORT_BYTES / (REPORT_SHARE * self.rate.view().bandwidth.max(1_000.0));
        let dear = Duration::from_secs_f64(cheap.min(1.0)).min((srtt / 4).max(ms(20)));
        let report_every = (srtt / 10).clamp(ms(2), ms(20)).max(dear);
        Window {
            base: self.sources.first(),
            reach: self.reach(),
            report_every: whole_micros(report_every),
            deadline: whole_micros(self.deadline()),
        }
    }
}
