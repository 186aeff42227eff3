//! Proactive repairs for bulk packets.

use super::{PlannedRepair, Purpose, Repairs, longest};
use crate::coding::sources::Sources;
use crate::coding::view::PathView;
use crate::control::redundancy::{Backlog, Flight, Redundancy, SPAN, Spread, tail_wait};
use ripstop_base::Time;
use ripstop_codes::Payload;
use ripstop_codes::window::Members;

impl Repairs {
    pub(super) fn plan_bulk<P: Payload>(
        &mut self,
        now: Time,
        sources: &Sources<P>,
        path: &PathView,
    ) -> Option<PlannedRepair> {
        let spread = Spread::of(path.packets, path.proactive);
        self.step = spread.step;
        let (end, step) = (sources.next(), u64::from(spread.step));
        let start = sources.tail().max(end.saturating_sub(u64::from(SPAN) * step));
        let due = match self.redundancy {
            Redundancy::None => false,
            Redundancy::Fixed(_) => self.credit >= 1.0 + self.dither && start < end,
            Redundancy::Adaptive if self.usefulness.suspended => false,
            Redundancy::Adaptive => {
                let mut all = Flight {
                    deficit: 0,
                    sources: sources.in_flight().min((end - start) as u32),
                    repairs: self.ahead.beyond(start),
                };
                if start == sources.tail() {
                    // The repair spans all symbols in flight. So the holes of all groups and the
                    // exact repairs in flight count as well.
                    all.deficit = self.exact.holes();
                    all.repairs += self.exact.in_flight();
                }
                let (recent, left) = (self.recent_flight(), self.waiting(now, path));
                // The dither moves a repair by at most half the mean distance between two losses,
                // and by at most 50 packets.
                let dither = self.dither / path.proactive.share.max(0.01);
                self.bulk_rule.is_due(all, recent, path.proactive, spread, left, path.srtt, dither)
            }
        };
        if !due {
            return None;
        }
        // The first members of successive repairs have successive remainders modulo `step`, so that
        // the repairs together span every symbol.
        let first = start + (self.counts.bulk + step - start % step) % step;
        let members = Members::stepped(first, step, end.saturating_sub(first).div_ceil(step))?;
        if members.is_empty() {
            return None;
        }
        let bytes = longest(&members, sources);
        if !self.bulk.allows(bytes) {
            self.counts.over_budget += u64::from(!std::mem::replace(&mut self.denied, true));
            return None;
        }
        Some(PlannedRepair { purpose: Purpose::Bulk, members, bytes })
    }

    /// Whether the burst of the last source has ended ([`tail_wait`]) and the ingress queue is
    /// empty.
    pub(super) fn is_tail(&self, now: Time, path: &PathView) -> bool {
        path.waiting == 0.0 && self.tail.is_some_and(|last| now >= last + tail_wait(path.srtt))
    }

    /// The newest part of the flight, and the bulk repairs sent in this time.
    pub(super) fn recent_flight(&self) -> Flight {
        Flight { deficit: 0, sources: self.recent.len() as u32, repairs: self.recent_repairs.len() as u32 }
    }

    /// The backlog of the ingress queue.
    pub(super) fn waiting(&self, now: Time, path: &PathView) -> Backlog {
        if self.is_tail(now, path) { Backlog::Nothing } else { Backlog::Waiting(path.waiting) }
    }
}
