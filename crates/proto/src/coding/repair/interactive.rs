//! Proactive repairs for interactive packets.

use super::{PlannedRepair, Purpose, Repairs, fit, longest};
use crate::coding::sources::Sources;
use crate::coding::view::PathView;
use crate::control::redundancy::{INTERACTIVE_STEP, Redundancy, interactive_repairs};
use ripstop_base::Time;
use ripstop_codes::Payload;
use ripstop_codes::window::Members;

/// Limit on the number of interactive symbols that one repair spans.
///
/// Half the value sends more repairs after a burst of small packets. With double the value, one
/// lost repair leaves twice as many packets unprotected.
const MAX_INTERACTIVE: usize = 8;

impl Repairs {
    pub(super) fn plan_interactive<P: Payload>(
        &mut self,
        now: Time,
        sources: &mut Sources<P>,
        path: &PathView,
    ) -> Option<PlannedRepair> {
        let wanted = self.interactive_wanted(path);
        let open = |covered: u8| u32::from(covered) < wanted;
        if wanted == 0 || !sources.interactive().any(|(_, sent, covered)| open(covered) && due_at(sent, covered) <= now)
        {
            return None;
        }
        let mut ids: Vec<u64> = sources
            .interactive()
            .filter(|(_, _, covered)| open(*covered))
            .map(|(id, _, _)| id)
            .take(MAX_INTERACTIVE)
            .collect();
        ids.truncate(fit(&ids, MAX_INTERACTIVE, sources, path.room));
        let members = Members::new(ids, 0..0)?;
        let bytes = longest(&members, sources);
        let again = sources.interactive().any(|(id, _, covered)| covered > 0 && members.first() == Some(id));
        // If nothing waits, the repair displaces nothing.
        let free = path.waiting <= 0.0;
        if !self.interactive.allows(bytes) || !(free || self.part.take(now, bytes, again, path.rate)) {
            // The repair is not sent, but the symbols count as spanned. So the next repair is due
            // [`INTERACTIVE_STEP`] later, when the budget may have grown.
            self.counts.over_budget += 1;
            self.counts.over_budget_interactive += 1;
            members.iter().for_each(|id| sources.cover(id));
            return None;
        }
        Some(PlannedRepair { purpose: Purpose::Interactive, members, bytes })
    }

    pub(super) fn interactive_wanted(&self, path: &PathView) -> u32 {
        match self.redundancy {
            Redundancy::Adaptive if !self.usefulness.suspended => interactive_repairs(path.sparse),
            _ => 0,
        }
    }
}

/// When the next repair is due for an interactive packet that left at `sent` and is spanned by
/// `covered` repairs.
pub(super) fn due_at(sent: Time, covered: u8) -> Time {
    sent + INTERACTIVE_STEP * (u32::from(covered) + 1)
}
