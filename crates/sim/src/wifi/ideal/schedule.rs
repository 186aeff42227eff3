//! Scheduled access: slots in which links without conflicts are active together.
//!
//! The links with a packet get a slot in the order in which they were last active, and of those never active the first
//! in the list. A link that is in conflict with one that was chosen before it waits. On a string whose links always
//! have packets, this is the perfect schedule of paper 002, fig. 11: in slot s the links i with i mod (k+2) = s are
//! active. A packet of a flow moves one hop in each slot. So it is at least k+2 hops ahead of the next packet of the
//! flow.
//!
//! A schedule with a fixed period would not reach theorem 3.1 for small windows: a new packet would wait for the slot
//! of the first link.
//!
//! A slot lasts as long as the longest exchange in it. The next slot begins in the same moment, after the hosts have
//! answered the packets that arrived. A packet that finds no slot under way begins one.

use super::medium::IdealMedium;
use crate::wifi::Packet;
use ripstop_base::Time;

/// The slot that is under way, or about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// No link has a packet.
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

    /// Handles the begin or the end of a slot that is due at `now`. Returns when the next begin or end is due.
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
