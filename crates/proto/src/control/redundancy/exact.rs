//! The rule for exact repairs: how many a group of holes needs.

use super::bulk::BULK_UNMASKED;
use super::{IDLE, IDLE_UNMASKED};
use crate::control::loss::Losses;

/// Limit on the number of exact repairs for each hole of a group.
///
/// The limit bounds the cost when nearly all packets are lost. Half the value sends too few repairs
/// at very high loss. Double the value doubles the load on a path that may have failed.
const MOST_FOR_A_HOLE: u32 = 8;
/// Limit on the mean number of groups that cannot be decoded with the repairs in flight, while the
/// ingress queue is nearly empty.
///
/// A flow waits for the last of its groups, and a group that cannot be decoded waits for another
/// round trip. So the limit on the probability for one group is this number divided by the number
/// of groups, and at most [`IDLE_UNMASKED`]. Half the value adds repairs when there are many
/// groups. With double the value, flows wait for another round trip more often.
const GROUPS_UNMASKED: f64 = 0.5;
/// Limit on the number of groups of holes whose exact repairs take turns.
///
/// Because of the turns, a run of losses hits only a few repairs of each group. With half the value
/// a run hits twice as many repairs of one group. With double the value the oldest group is
/// repaired later.
pub const INTERLEAVED: usize = 8;

/// Decides how many exact repairs a group of holes needs. This number includes the repairs that are
/// already in flight.
#[derive(Clone, Debug)]
pub struct ExactRule {
    losses: Losses,
    /// Limit on the probability that a group cannot be decoded.
    unmasked: f64,
    /// Number of repairs, indexed by the number of holes. 0: not computed yet.
    found: Vec<u32>,
}

impl ExactRule {
    /// Creates the rule that applies to each of `groups` groups of holes. The repairs of these
    /// groups take turns.
    ///
    /// `waiting` is the backlog in round trips. While sources wait, a group gets as many repairs as
    /// suffice on average. While the ingress queue is nearly empty, a group gets enough repairs to
    /// be decoded almost certainly: the user may be waiting for the group. While the queue is
    /// nearly empty, each group also gets more repairs if there are more groups: all later packets
    /// wait for the last group.
    pub fn new(groups: usize, losses: Losses, waiting: f64) -> ExactRule {
        let turns = groups.clamp(1, INTERLEAVED) as f64;
        let unmasked =
            if waiting < IDLE { IDLE_UNMASKED.min(GROUPS_UNMASKED / groups.max(1) as f64) } else { BULK_UNMASKED };
        ExactRule { losses: Losses { burst: (losses.burst / turns).max(1.0), ..losses }, unmasked, found: Vec::new() }
    }

    /// Number of repairs that a group with `holes` holes needs, at most 8 for each hole.
    pub fn wanted(&mut self, holes: u32) -> u32 {
        let at = holes as usize;
        if self.found.len() <= at {
            self.found.resize(at + 1, 0);
        }
        if self.found[at] == 0 {
            let most = holes * MOST_FOR_A_HOLE;
            let enough = |repairs: &u32| self.losses.unmasked(holes, 0, *repairs) <= self.unmasked;
            self.found[at] = (holes..most).find(enough).unwrap_or(most);
        }
        self.found[at]
    }
}
