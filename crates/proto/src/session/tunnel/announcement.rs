//! Window announcements: packets in which the sender tells the receiver which symbols repairs may
//! still span.
//!
//! An announcement also carries the report interval and the deadline that the receiver shall use.
//! See `mod.rs` for the terms.

use super::Tunnel;
use super::sent::Sent;
use crate::packets::InnerPacket;
use crate::path::Content;
use crate::session::Transmit;
use crate::wire::{Datagram, Packet, Window, whole_micros};
use ripstop_base::Time;
use std::time::Duration;

impl<P: InnerPacket> Tunnel<P> {
    /// Whether a new announcement must be sent to the receiver.
    ///
    /// An announcement must be sent for any of four reasons:
    ///
    /// - An announcement was requested, for instance because the last one was lost.
    /// - The reach (see `Tunnel::reach`) is larger than the announced reach.
    /// - The report interval is more than 1.25 times the announced value, or less than 1/1.25 of the
    ///   announced value.
    /// - The deadline is more than 1.25 times the announced value, or less than half of the announced
    ///   value. A deadline falls slowly, and an announcement for each step would be many.
    pub(super) fn announcement_due(&mut self) -> bool {
        if self.announce || self.reach() > self.announced.reach {
            return true;
        }
        if !std::mem::take(&mut self.window_outdated) {
            return false;
        }
        let (now, said) = (self.window_now(), self.announced);
        let differs = |now: Duration, said: Duration, fall: f64| now > said.mul_f64(1.25) || now < said.mul_f64(fall);
        differs(now.report_every, said.report_every, 0.8) || differs(now.deadline, said.deadline, 0.5)
    }

    /// The *reach* is a number of symbols. The receiver must keep every known symbol that is among
    /// the latest `reach` symbols, because a later repair may span this symbol.
    ///
    /// The reach is twice the number of outstanding symbols, rounded up to a power of two, and at
    /// least 1024. The power of two keeps announcements rare while the window grows.
    fn reach(&self) -> u32 {
        (2 * self.sources.len() as u32).next_power_of_two().max(1024)
    }

    /// The announcement that describes the window now.
    pub(super) fn window_now(&self) -> Window {
        Window {
            base: self.sources.first(),
            reach: self.reach(),
            report_every: self.path.report_interval(),
            deadline: whole_micros(self.block_wait().map_or(self.deadline(), |wait| wait.min(self.deadline()))),
        }
    }

    /// Sends the announcement that describes the window now.
    pub(super) fn send_announcement(&mut self, now: Time) -> Transmit<Datagram<P>> {
        self.announce = false;
        self.window_outdated = false;
        self.announced = self.window_now();
        self.path.set_report_every(self.announced.report_every);
        self.send(now, Content::Carried(Sent::Window), Packet::Window(self.announced))
    }
}
