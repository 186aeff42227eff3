//! What follows from the tunnel's state: the deadline, the view of the path, and whether something may be sent.

use super::black_hole::Evidence;
use super::inner::InnerPacket;
use super::repair::PathView;
use super::silence::TailProbe;
use super::{Tunnel, TunnelEvent};
use crate::control::loss::Losses;
use crate::wire::{HEADER_LEN, TAG_LEN};
use ripstop_base::Time;
use std::time::Duration;

impl<P: InnerPacket> Tunnel<P> {
    /// Reports what the fates of datagrams say of the path's MTU.
    pub(super) fn take_evidence(&mut self, evidence: Evidence) {
        self.events.extend(match evidence {
            Evidence::None => None,
            Evidence::Suspicion => Some(TunnelEvent::LargeLost),
            Evidence::Proof => Some(TunnelEvent::LargeReceived),
        });
    }

    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Computes the deadline and marks the window announcement as outdated. The deadline and the
    /// announcement depend on the path's MTU, the round-trip time and the rate. So the tunnel calls
    /// this function after each report and each new MTU.
    pub(super) fn update_deadline(&mut self) {
        self.deadline = self.config.deadline(self.sent_history.srtt(), self.rate.view().bandwidth);
        self.window_outdated = true;
    }

    pub(super) fn path(&self, now: Time) -> PathView {
        let ((losses, proactive, sparse), view) = (self.loss.all(now), self.rate.view());
        let carried = (view.bandwidth * self.sent_history.srtt().as_secs_f64()).max(1.0);
        PathView {
            losses,
            proactive: Losses { share: proactive.min(view.codable), ..losses },
            sparse: Losses { share: sparse.share.min(view.codable), ..sparse },
            srtt: self.sent_history.srtt(),
            deadline: self.deadline(),
            room: self.config.path_mtu.saturating_sub(self.config.header + (HEADER_LEN + TAG_LEN) as u32),
            waiting: self.ingress.backlog().1 as f64 / carried,
            packets: carried / f64::from(self.config.path_mtu),
        }
    }

    /// Whether the rate controller's window allows one more full datagram in flight.
    pub(super) fn has_room(&self) -> bool {
        self.sent_history.in_flight() + u64::from(self.config.path_mtu) <= self.rate.window()
    }

    /// Whether the coding window has room for one more source symbol.
    pub(super) fn window_open(&self) -> bool {
        self.sources.len() < self.config.window_symbols as usize && self.has_memory()
    }

    /// Whether a datagram may be ready to leave as soon as the pacer allows it.
    pub(super) fn has_waiting(&self) -> bool {
        !self.ingress.is_empty() && self.window_open()
            || self.repairs.may_be_due()
            || self.silence.tail == TailProbe::Due
    }
}
