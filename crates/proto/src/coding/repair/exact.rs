//! Exact repairs: they answer reports.

use super::group::{GROUP, Group, LISTED, interleave};
use super::{PlannedRepair, Purpose, fit, longest};
use crate::coding::sources::Sources;
use crate::coding::view::PathView;
use crate::control::redundancy::{ExactRule, SPAN};
use ripstop_base::Time;
use ripstop_codes::Payload;
use ripstop_codes::window::Members;
use std::collections::{BTreeMap, VecDeque};

/// The holes that the receiver has reported, and the exact repairs that are due for them.
#[derive(Debug, Default)]
pub(super) struct ExactRepairs {
    /// Groups of holes, by number. Groups with lower numbers are older.
    groups: BTreeMap<u64, Group>,
    /// For each hole, the number of its group.
    group_of: BTreeMap<u64, u64>,
    next_group: u64,
    /// Repairs list the holes before this symbol one by one, because the receiver may not hold known symbols before it.
    listed_before: u64,
    /// Exact repairs to send, in order, as worked out from the newest report. Each entry is the
    /// number of the repair's group.
    due: VecDeque<u64>,
}

impl ExactRepairs {
    /// Records that the fate of a repair of `group` is known.
    pub(super) fn settled(&mut self, group: u64, received: bool) {
        if let Some(group) = self.groups.get_mut(&group) {
            group.in_flight = group.in_flight.saturating_sub(1);
            group.received += u32::from(received);
            if group.in_flight == 0 {
                group.failed += 1;
            }
        }
    }

    /// Records that a repair of `group` leaves.
    pub(super) fn sent(&mut self, group: u64) {
        if let Some(group) = self.groups.get_mut(&group) {
            group.in_flight += 1;
        }
    }

    /// Takes all holes of the newest report, ascending. `room` is the longest repair body, bytes. Returns true if the
    /// receiver cannot use repairs of ranges, so that missing packets are listed one by one from now on.
    pub(super) fn take<P: Payload>(&mut self, holes: &[u64], sources: &Sources<P>, room: u32) -> bool {
        self.groups.values_mut().for_each(|group| group.keep(holes));
        let is_listed = |holes: &[u64]| is_listed(holes, sources, room);
        let is_useless = self.groups.values().any(|group| group.is_useless() && !is_listed(&group.holes));
        if is_useless {
            self.listed_before = sources.next();
        }
        let listed_before = self.listed_before;
        let is_range = |holes: &[u64]| holes.first().is_some_and(|first| *first < listed_before) && !is_listed(holes);
        self.groups.retain(|_, group| !group.holes.is_empty() && !is_range(&group.holes));
        let groups = &self.groups;
        self.group_of.retain(|id, group| groups.get(group).is_some_and(|g| g.holes.binary_search(id).is_ok()));
        let fresh: Vec<u64> = holes.iter().copied().filter(|id| !self.group_of.contains_key(id)).collect();
        let mut rest = &fresh[..];
        while !rest.is_empty() {
            let near = |id: &&u64| **id - rest[0] < u64::from(SPAN);
            let near = if rest[0] < listed_before { 0 } else { rest.iter().take(GROUP).take_while(near).count() };
            let (these, others) = rest.split_at(fit(rest, LISTED, sources, room).max(near));
            for id in these {
                self.group_of.insert(*id, self.next_group);
            }
            self.groups.insert(self.next_group, Group::new(these.to_vec()));
            self.next_group += 1;
            rest = others;
        }
        is_useless
    }

    /// Lists the repairs to send, oldest group first.
    ///
    /// Exact repairs in flight for a group reduce the number of repairs that are due for the group.
    /// So do proactive repairs in flight, if they begin at or before the group's last hole. `starts` has the first members
    /// of these repairs, ascending.
    pub(super) fn list_due<P: Payload>(&mut self, now: Time, starts: &[u64], sources: &Sources<P>, path: &PathView) {
        let mut rule = ExactRule::new(self.groups.len(), path.losses, path.waiting);
        let mut due: Vec<(u64, u32)> = Vec::new();
        let mut used = 0;
        for (id, group) in &self.groups {
            let missing = rule.wanted(group.wanted(now, sources, path)).saturating_sub(group.in_flight);
            // Each proactive repair in flight replaces one exact repair of one group, and older
            // groups come first. The proactive repair must begin at or before the group's last
            // hole.
            let last = group.holes.last().copied().unwrap_or(0);
            let ahead = starts.partition_point(|start| *start <= last) as u32;
            let covered = missing.min(ahead.saturating_sub(used));
            used += covered;
            due.push((*id, missing - covered));
        }
        interleave(due, &mut self.due);
    }

    /// Removes and returns the next repair that is due.
    pub(super) fn next<P: Payload>(&mut self, sources: &Sources<P>, path: &PathView) -> Option<PlannedRepair> {
        while let Some(id) = self.due.pop_front() {
            if let Some(group) = self.groups.get(&id) {
                return Some(plan(id, group, sources, path));
            }
        }
        None
    }

    /// A repair for the oldest group. `None`: there is no hole.
    pub(super) fn oldest<P: Payload>(&self, sources: &Sources<P>, path: &PathView) -> Option<PlannedRepair> {
        let (id, group) = self.groups.iter().next()?;
        Some(plan(*id, group, sources, path))
    }

    /// Whether a repair is due.
    pub(super) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Number of holes.
    pub(super) fn holes(&self) -> u32 {
        self.groups.values().map(|group| group.holes.len() as u32).sum()
    }

    /// Number of exact repairs in flight.
    pub(super) fn in_flight(&self) -> u32 {
        self.groups.values().map(|group| group.in_flight).sum()
    }
}

/// The repair for `group`, whose number is `id`.
fn plan<P: Payload>(id: u64, group: &Group, sources: &Sources<P>, path: &PathView) -> PlannedRepair {
    let holes = &group.holes;
    let members = match (holes.first(), holes.last()) {
        // The first hole is listed separately from the range. This marks the repair as exact:
        // the receiver counts a repair whose members are only a range as proactive.
        (Some(first), Some(last)) if !is_listed(holes, sources, path.room) => {
            Members::new(vec![*first], first + 1..last + 1)
        }
        _ => Members::new(holes.clone(), 0..0),
    }
    .unwrap_or_default();
    PlannedRepair { purpose: Purpose::Exact(id), bytes: longest(&members, sources), members }
}

/// Whether an exact repair for `holes` lists each hole. Otherwise the repair spans a range.
fn is_listed<P: Payload>(holes: &[u64], sources: &Sources<P>, room: u32) -> bool {
    fit(holes, LISTED, sources, room) == holes.len()
}
