//! Groups of holes: lost symbols that are repaired together.

use crate::coding::sources::Sources;
use crate::coding::view::PathView;
use crate::control::redundancy::INTERLEAVED;
use ripstop_base::Time;
use ripstop_codes::Payload;
use std::collections::VecDeque;

/// Limit on the number of holes that one exact repair lists one by one.
///
/// A group of n listed holes is recovered by any n of its repairs. With half the value there are
/// more and smaller groups. The lost share of a group's repairs then varies more. Double the value
/// makes repair headers longer, so a repair of full-size packets may have no room for the list.
pub(super) const LISTED: usize = 5;
/// Limit on the number of holes in a group whose holes all lie within [`SPAN`](crate::control::redundancy::SPAN) symbols. A group
/// whose holes lie further apart has at most [`LISTED`] holes.
///
/// If a group has more holes than one repair can list, each of its repairs spans all symbols from
/// the first hole to the last one. Large groups pay off because the lost share of many repairs
/// varies less than the lost share of a few repairs. With half the value this share varies more.
/// With double the value a group waits for more repairs.
pub(super) const GROUP: usize = 32;
/// A group whose repairs span a range is useless after this number of received repairs for each of its holes.
///
/// Each repair counts only while the group keeps all its holes. With half the value, repairs that other unknown symbols of
/// the range need count as useless. With double the value, a receiver that has freed memory waits longer.
const USELESS: u32 = 2;

/// A group of holes.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The holes, ascending.
    pub(super) holes: Vec<u64>,
    /// Number of exact repairs in flight for this group.
    pub(super) in_flight: u32,
    /// Number of times that the last repair in flight for the group was received or lost.
    pub(super) failed: u32,
    /// Number of repairs that were received while the group kept all its holes.
    pub(super) received: u32,
}

impl Group {
    pub(super) fn new(holes: Vec<u64>) -> Group {
        Group { holes, in_flight: 0, failed: 0, received: 0 }
    }

    /// Keeps the holes that are in the ascending list `reported`.
    pub(super) fn keep(&mut self, reported: &[u64]) {
        let before = self.holes.len();
        self.holes.retain(|id| reported.binary_search(id).is_ok());
        if self.holes.len() < before {
            self.received = 0;
        }
    }

    /// Whether the receiver cannot use the repairs of this group. A receiver that has freed memory no longer holds the known
    /// symbols that a repair of a range contains.
    pub(super) fn is_useless(&self) -> bool {
        self.received >= USELESS * (self.holes.len() as u32 + 1)
    }

    /// Number of holes for which [`ExactRule`](crate::control::redundancy::ExactRule) plans repairs. This is the group's number of holes,
    /// plus one for each failure (`failed`) after the first one, at most 4. Two more are added if
    /// the first hole's deadline is less than two round trips away.
    pub(super) fn wanted<P: Payload>(&self, now: Time, sources: &Sources<P>, path: &PathView) -> u32 {
        let late = self
            .holes
            .first()
            .and_then(|id| sources.sent(*id))
            .is_some_and(|sent| path.deadline.saturating_sub(now.since(sent)) < 2 * path.srtt);
        let extra = self.failed.saturating_sub(1).min(4) + if late { 2 } else { 0 };
        self.holes.len() as u32 + extra
    }
}

/// Fills `into` with the numbers of the groups in `due`. Each group's number appears one time for
/// each repair that is due for the group.
///
/// Up to [`INTERLEAVED`] groups take turns. A run of losses then hits a few repairs of each group,
/// not all repairs of one group.
pub(super) fn interleave(mut due: Vec<(u64, u32)>, into: &mut VecDeque<u64>) {
    into.clear();
    for some in due.chunks_mut(INTERLEAVED) {
        while some.iter().any(|(_, times)| *times > 0) {
            for (id, times) in some.iter_mut().filter(|(_, times)| *times > 0) {
                *times -= 1;
                into.push_back(*id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_repaired_by_turns() {
        let mut due = VecDeque::from([99]);
        let mut groups = vec![(1, 3), (2, 1), (3, 0), (4, 2)];
        groups.extend((5..=INTERLEAVED as u64 + 1).map(|id| (id, 1)));
        interleave(groups, &mut due);
        assert_eq!(due, [1, 2, 4, 5, 6, 7, 8, 1, 4, 1, 9]);
    }
}
