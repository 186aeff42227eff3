//! What follows from the tunnel's state: the deadline, the view of the path, and whether something may be sent.

use super::Tunnel;
use super::repair::PathView;
use crate::control::loss::Losses;
use crate::control::rate::View;
use crate::packets::InnerPacket;
use crate::wire::{HEADER_LEN, TAG_LEN};
use ripstop_base::Time;
use std::time::Duration;

/// Number of source symbols at the beginning of a session that the start-up protects without regard to the backlog.
///
/// With half the value, only half of the first megabyte is protected. Double the value protects two megabytes, and costs
/// up to twice as many repairs.
const STARTING: u64 = 1000;
/// Longest round-trip time of a path on which the start-up does so, s.
///
/// On longer paths this sender's own start-up holds the inner TCP back, and repairs displace packets. With no limit, CUBIC
/// inside has .88 of the rate at 600 ms and 5 % loss instead of .91. Half the value leaves paths of 100 ms out.
const STARTING_RTT: f64 = 0.2;
/// Largest share of losses at which the start-up does so.
///
/// A policer drops more in a start-up, and repairs then add to the overload. Half the value leaves out paths with 20 % of
/// random loss. Double the value wastes 5 % of the bytes behind a policer.
const STARTING_LOSS: f64 = 0.25;
/// Largest share of losses times [`Losses::dispersion`] at which the start-up does so.
///
/// Losses in long runs need many repairs. Packets of the inner TCP wait behind these repairs, and the longer delay ends
/// CUBIC's slow start. At 910 Mbit/s, 95 ms and 12 % of losses in runs of 8, CUBIC inside has 150 Mbit/s from 2 to
/// 4 s, and 84 without the limit. Half the value leaves out links with single losses that chance puts in a row: the first
/// megabyte takes 1.03 s instead of 1.00 s at 5 %. Double the value protects such starts in runs of 16.
const STARTING_RUNS: f64 = 0.5;

impl<P: InnerPacket> Tunnel<P> {
    pub(super) fn deadline(&self) -> Duration {
        self.deadline.get()
    }

    /// Computes the deadline and marks the window announcement as outdated. The deadline and the
    /// announcement depend on the path's MTU, the round-trip time, the rate and the lost packets. So
    /// the tunnel calls this function after each report and each new MTU.
    pub(super) fn update_deadline(&mut self) {
        let lost = self.sources.lost_count() as f64 * f64::from(self.path.mtu());
        let repairs = lost / self.path.pacing_rate(self.ingress.backlog().1).max(1.0);
        let rtt = (self.path.srtt(), self.path.has_rtt() || self.config.initial_rtt.is_some());
        self.deadline.update(self.now, (&self.config, self.path.mtu()), rtt, (self.path.view().bandwidth, repairs));
        self.window_outdated = true;
    }

    pub(super) fn path_view(&self, now: Time) -> PathView {
        let ((losses, proactive, sparse), view) = (self.path.losses().all(now), self.path.view());
        let carried = self.path.carried();
        PathView {
            losses,
            proactive: Losses { share: proactive.min(view.codable), ..losses },
            sparse: Losses { share: sparse.share.min(view.codable), ..sparse },
            srtt: self.path.srtt(),
            deadline: self.deadline(),
            room: self.path.mtu().saturating_sub(self.path.header() + (HEADER_LEN + TAG_LEN) as u32),
            waiting: if self.protects_start(&view, losses) { 0.0 } else { self.ingress.backlog().1 as f64 / carried },
            packets: carried / f64::from(self.path.mtu()),
            rate: view.bandwidth,
        }
    }

    /// Whether repairs displace nothing that waits, because the session begins and the path is not full. A loss would delay
    /// the inner TCP, which then leaves its slow start.
    fn protects_start(&self, view: &View, losses: Losses) -> bool {
        let few = losses.share <= STARTING_LOSS && losses.share * losses.dispersion() <= STARTING_RUNS;
        view.starting && self.sources.next() < STARTING && view.min_rtt <= STARTING_RTT && few
    }

    /// Whether symbols are outstanding: neither known to be decoded nor given up.
    pub(super) fn is_outstanding(&self) -> bool {
        self.sources.len() > 0
    }

    /// Whether the coding window has room for one more source symbol.
    pub(super) fn window_open(&self) -> bool {
        self.sources.len() < self.config.window_symbols as usize && self.has_memory()
    }

    /// Whether a datagram may be ready to leave as soon as the pacer allows it.
    pub(super) fn has_waiting(&self) -> bool {
        (!self.ingress.is_empty() || !self.pieces.is_empty()) && self.window_open()
            || self.repairs.may_be_due()
            || self.path.is_tail_probe_due()
    }
}
