//! Scheduled access: slots in which links without conflicts are active together.
//!
//! For each slot, the links with a packet are considered in turn. The link that has been inactive for the longest time
//! comes first. Links that were never active come before all others, in the order of the list. A link waits if it is in
//! conflict with a link that was chosen before. On a string whose links always have packets, this order gives the
//! perfect schedule of paper 002, fig. 11: in slot s the links i with i mod (k+2) = s are active. A packet of a flow
//! moves one hop in each slot. So the packet is at least k+2 hops ahead of the next packet of the flow.
//!
//! A schedule with a fixed period would not reach the bound of theorem 3.1 for small TCP windows, because a new packet
//! would wait for the slot of the first link.
//!
//! A slot lasts as long as its longest exchange. The next slot begins in the moment in which this slot ends, after the
//! hosts have answered the packets that arrived. If no slot is under way, a new packet begins a slot.

use super::medium::IdealMedium;
use crate::wifi::Packet;
use ripstop_base::Time;

/// The slot that is under way, or about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// No slot is under way or about to begin: no link has a packet.
    None,
    /// A slot begins at this time.
    Begins(Time),
    /// The slot ends at this time.
    Ends(Time),
}

impl Slot {
    /// When the slot begins or ends. [`Time::NEVER`] without a slot.
    fn due(self) -> Time {
        match self {
            Slot::None => Time::NEVER,
            Slot::Begins(at) | Slot::Ends(at) => at,
        }
    }
}

impl<P: Packet> IdealMedium<P> {
    /// Lets a slot begin now, if none is under way. Returns when the slot begins or ends.
    pub(super) fn want_slot(&mut self, now: Time) -> Time {
        if self.slot == Slot::None {
            self.slot = Slot::Begins(now);
        }
        self.slot.due()
    }

    /// Handles the beginning or the end of a slot, if it is due at `now`. Returns when the next beginning or end is
    /// due.
    pub(super) fn step_schedule(&mut self, now: Time) -> Time {
        match self.slot {
            Slot::Begins(at) if at <= now => self.begin_slot(now),
            Slot::Ends(at) if at <= now => {
                // The hosts may answer before the next slot begins, because this step handles no more than one event.
                self.slot = Slot::Begins(now);
                for link in 0..self.links.len() {
                    if self.links[link].is_active() {
                        self.end_exchange(link, now);
                    }
                }
            }
            Slot::None | Slot::Begins(_) | Slot::Ends(_) => {}
        }
        self.slot.due()
    }

    fn begin_slot(&mut self, now: Time) {
        let mut waiting: Vec<usize> = (0..self.links.len()).filter(|link| self.links[*link].has_packet()).collect();
        if waiting.is_empty() {
            self.slot = Slot::None;
            return;
        }
        waiting.sort_by_key(|link| (self.links[*link].served, *link));
        self.activity.slots += 1;
        let mut ends = now;
        for link in waiting {
            let is_blocked = self.links[link].with.iter().any(|other| self.links[*other as usize].is_active());
            if is_blocked {
                self.links[link].activity.deferrals += 1;
                continue;
            }
            self.begin_exchange(link, now);
            self.links[link].served = self.activity.slots;
            ends = ends.max(self.links[link].due());
        }
        self.slot = Slot::Ends(ends);
    }
}
