//! Decides which repairs to send, and which symbols each repair spans. See `mod.rs` for the terms.
//!
//! *Exact repairs* answer reports. An exact repair spans a few *holes*: lost symbols for which the
//! receiver holds no repair yet. (In the terms of RFC 8406, the receiver has not *seen* these
//! symbols.) Holes that are repaired together form a *group*. An exact repair spans no symbol after
//! the group's last hole. Otherwise later losses would have to be repaired before this repair could
//! recover a hole. The tunnel counts the exact repairs in flight, because a report that left before
//! these repairs arrived asks for the same holes again.
//!
//! *Proactive repairs* are sent before a report of a loss. They protect packets of *interactive*
//! flows (which use little of the path's rate, see `ingress/`) or of *bulk* flows (all other
//! flows). [`crate::control::redundancy`] has the rules for the number of repairs.

mod budget;
mod bulk;
mod group;
mod interactive;

use super::sources::Sources;
use crate::control::loss::Losses;
use crate::control::redundancy::{
    BulkRule, ClassView, ExactRule, Explanation, RECENT, RECENT_PACKETS, Redundancy, SPAN, Spread, Usefulness,
    tail_wait,
};
use crate::packets::InnerPacket;
use crate::wire::repair_fields;
use budget::{Budget, PathPart};
use group::{GROUP, Group, LISTED, interleave};
use interactive::due_at;
use ripstop_base::counters;
use ripstop_base::{Stream, Time};
use ripstop_codes::window::{Coding, Members};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The purpose of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// An exact repair for the group with this number (see [`Repairs`]).
    Exact(u64),
    /// A proactive repair for interactive packets.
    Interactive,
    /// A proactive repair for bulk packets.
    Bulk,
}

/// A repair to be made.
#[derive(Clone, Debug)]
pub(super) struct PlannedRepair {
    pub(super) purpose: Purpose,
    pub(super) members: Members,
    /// Length of the longest member, bytes.
    pub(super) bytes: u32,
}

/// The properties of the path on which decisions about repairs depend.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathView {
    /// Expected losses, for exact repairs.
    pub(super) losses: Losses,
    /// Expected losses, for proactive repairs. The share is 0 on a clean path. The share is at most
    /// `View::codable` of the rate controller.
    pub(super) proactive: Losses,
    /// Like `proactive`, for interactive packets. Such losses count for longer.
    pub(super) sparse: Losses,
    /// Smoothed round-trip time.
    pub(super) srtt: Duration,
    /// How long the ends wait for a symbol before they give up the symbol.
    pub(super) deadline: Duration,
    /// Longest repair body that fits a datagram, bytes.
    pub(super) room: u32,
    /// The time to send the backlog of the ingress queue at the path's rate, in round trips.
    pub(super) waiting: f64,
    /// Number of full-size packets that the path carries in a round trip.
    pub(super) packets: f64,
    /// The path's rate, byte/s.
    pub(super) rate: f64,
}

/// A proactive repair in flight.
#[derive(Clone, Copy, Debug)]
struct Proactive {
    /// Whether the repair is for bulk packets.
    bulk: bool,
    /// The first member, and one past the last member.
    span: (u64, u64),
}

counters! {
    /// Numbers of repairs, by purpose.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct RepairCounts {
        /// Exact repairs sent.
        pub exact: u64,
        /// Exact repairs sent that span all symbols from the first hole of a group to the last one.
        pub ranges: u64,
        /// Times that the peer could not use repairs of ranges, and the missing packets were listed one by one.
        pub listed: u64 => ("repairs_listed", "repairs_listed_total"),
        /// Proactive repairs sent for bulk flows, as probes, or because the user has set a fixed redundancy.
        pub bulk: u64,
        /// Repairs among `bulk` that span only every n-th symbol of a range, where n is a power of two above 1.
        pub spread: u64,
        /// Proactive repairs sent for interactive flows.
        pub interactive: u64,
        /// Proactive repairs that were due but not sent, because the budget was used up. Between two source
        /// symbols, at most one repair for bulk flows counts.
        pub over_budget: u64,
        /// Repairs among `over_budget` for interactive packets.
        pub over_budget_interactive: u64,
        /// Number of times that proactive repair was suspended because the repairs recovered nothing.
        pub suspended: u64,
    }
}

/// The state of one tunnel's repairs: the repairs in flight, the repairs that are due, and the
/// budgets.
#[derive(Debug)]
pub(super) struct Repairs {
    redundancy: Redundancy,
    random: Stream,
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
    /// Proactive repairs, numbered from `first_proactive` on. `None`: this repair was received or
    /// lost.
    proactive: VecDeque<Option<Proactive>>,
    first_proactive: u64,
    /// When each recent source symbol left. [`RECENT`] and [`RECENT_PACKETS`] define *recent*.
    recent: VecDeque<Time>,
    /// When each recent bulk repair left.
    recent_repairs: VecDeque<Time>,
    bulk_rule: BulkRule,
    /// Distance between neighbouring members of a bulk repair, symbols.
    step: u32,
    /// Random number from -0.5 to 0.5 that makes the next proactive repair earlier or later.
    dither: f64,
    /// Number of repairs that a fixed redundancy allows now, at most 20.
    credit: f64,
    /// Budget for bulk flows.
    bulk: Budget,
    /// Whether the bulk budget has refused a repair since the last source symbol left.
    denied: bool,
    /// Whether repairs may be due for sources that have just left. Set when a source leaves,
    /// cleared when no repair is due.
    unguarded: bool,
    /// When the last source left. Cleared when the burst has ended and no repair is due.
    tail: Option<Time>,
    /// Budget for interactive flows.
    interactive: Budget,
    /// The part of the path's rate that repairs for interactive flows may take while other packets wait.
    part: PathPart,
    usefulness: Usefulness,
    counts: RepairCounts,
}

impl Repairs {
    /// Creates the state for the setting `redundancy`.
    ///
    /// `bulk` and `interactive` limit the proactive repair bytes per source byte. `packet` is the
    /// path's MTU, bytes. `random` gives the dither: random offsets of the times of proactive
    /// repairs.
    pub(super) fn new(redundancy: Redundancy, bulk: f64, interactive: f64, packet: u32, random: Stream) -> Repairs {
        Repairs {
            redundancy,
            random,
            groups: BTreeMap::new(),
            group_of: BTreeMap::new(),
            next_group: 0,
            listed_before: 0,
            due: VecDeque::new(),
            proactive: VecDeque::new(),
            first_proactive: 0,
            recent: VecDeque::new(),
            recent_repairs: VecDeque::new(),
            bulk_rule: BulkRule::default(),
            step: 1,
            dither: 0.0,
            credit: 0.0,
            bulk: Budget::new(bulk, packet),
            denied: false,
            unguarded: false,
            tail: None,
            interactive: Budget::new(interactive, packet),
            part: PathPart::new(),
            usefulness: Usefulness::default(),
            counts: RepairCounts::default(),
        }
    }

    /// Sets the path's MTU, bytes.
    pub(super) fn set_packet(&mut self, packet: u32) {
        self.bulk.set_packet(packet);
        self.interactive.set_packet(packet);
    }

    /// Records that a source symbol of `bytes` bytes leaves.
    pub(super) fn on_source(&mut self, now: Time, interactive: bool, bytes: u32) {
        // With a fixed redundancy all repairs are bulk repairs, so all sources earn for them.
        let bulk = !interactive || matches!(self.redundancy, Redundancy::Fixed(_));
        if bulk { &mut self.bulk } else { &mut self.interactive }.earn(bytes);
        self.denied = false;
        self.unguarded = true;
        self.tail = Some(now);
        if let Redundancy::Fixed(ratio) = self.redundancy {
            self.credit = (self.credit + (ratio - 1.0).max(0.0)).min(20.0);
        }
        self.recent.push_back(now);
        while self.recent.len() > RECENT_PACKETS * self.step as usize
            && self.recent.front().is_some_and(|at| now.since(*at) > RECENT)
        {
            self.recent.pop_front();
        }
        let since = self.recent.front().copied().unwrap_or(now);
        while self.recent_repairs.front().is_some_and(|at| *at < since) {
            self.recent_repairs.pop_front();
        }
    }

    /// Records that the fate of an exact repair of `group` is known.
    pub(super) fn exact_settled(&mut self, group: u64, received: bool) {
        if let Some(group) = self.groups.get_mut(&group) {
            group.in_flight = group.in_flight.saturating_sub(1);
            group.received += u32::from(received);
            if group.in_flight == 0 {
                group.failed += 1;
            }
        }
    }

    pub(super) fn next_proactive(&self) -> u64 {
        self.first_proactive + self.proactive.len() as u64
    }

    /// Records the fate of the proactive repair `number`.
    pub(super) fn proactive_settled(&mut self, number: u64, received: bool) {
        let entry = number.checked_sub(self.first_proactive).and_then(|i| self.proactive.get_mut(i as usize));
        if let Some(ahead) = entry.and_then(Option::take) {
            self.usefulness.received += u64::from(received && ahead.bulk);
        }
        while let Some(None) = self.proactive.front() {
            self.proactive.pop_front();
            self.first_proactive += 1;
        }
    }

    /// Takes all holes of the newest report, ascending, and works out which exact repairs are due.
    ///
    /// `redundant` is the receiver's count of repairs that span a range of symbols and added no
    /// information.
    pub(super) fn take_holes<P: InnerPacket>(
        &mut self,
        now: Time,
        holes: &[u64],
        redundant: u64,
        sources: &Sources<P>,
        path: &PathView,
    ) {
        if self.usefulness.judge(now, redundant) {
            self.counts.suspended += 1;
        }
        self.groups.values_mut().for_each(|group| group.keep(holes));
        let is_listed = |holes: &[u64]| Self::is_listed(holes, sources, path.room);
        if self.groups.values().any(|group| group.is_useless() && !is_listed(&group.holes)) {
            self.counts.listed += 1;
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
            let fit = Self::fit(rest, LISTED, sources, path.room).max(near);
            let (these, others) = rest.split_at(fit);
            for id in these {
                self.group_of.insert(*id, self.next_group);
            }
            self.groups.insert(self.next_group, Group::new(these.to_vec()));
            self.next_group += 1;
            rest = others;
        }
        self.list_due(now, sources, path);
    }

    /// Lists the exact repairs to send, oldest group first.
    ///
    /// Exact repairs in flight for a group reduce the number of repairs that are due for the group.
    /// So do proactive repairs in flight, if they begin at or before the group's last hole.
    fn list_due<P: InnerPacket>(&mut self, now: Time, sources: &Sources<P>, path: &PathView) {
        let mut starts: Vec<u64> = self.proactive.iter().flatten().map(|ahead| ahead.span.0).collect();
        starts.sort_unstable();
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

    /// The next repair to send. Exact repairs come first, then repairs for interactive packets,
    /// then repairs for bulk packets.
    pub(super) fn plan<P: InnerPacket>(
        &mut self,
        now: Time,
        sources: &mut Sources<P>,
        path: &PathView,
    ) -> Option<PlannedRepair> {
        let plan = self
            .plan_exact(sources, path)
            .or_else(|| self.plan_interactive(now, sources, path))
            .or_else(|| self.plan_bulk(now, sources, path));
        self.unguarded &= plan.is_some();
        if plan.is_none() && self.is_tail(now, path) {
            self.tail = None;
        }
        plan
    }

    /// Records that the repair of `plan` leaves.
    pub(super) fn sent<P: InnerPacket>(&mut self, now: Time, plan: &PlannedRepair, sources: &mut Sources<P>) {
        match plan.purpose {
            Purpose::Exact(group) => {
                self.counts.exact += 1;
                self.counts.ranges += u64::from(!plan.members.tail().is_empty());
                if let Some(group) = self.groups.get_mut(&group) {
                    group.in_flight += 1;
                }
                return;
            }
            Purpose::Interactive => {
                self.counts.interactive += 1;
                self.interactive.spend(plan.bytes);
                for id in plan.members.iter() {
                    sources.cover(id);
                }
            }
            Purpose::Bulk => {
                self.counts.bulk += 1;
                self.counts.spread += u64::from(plan.members.step().is_some());
                self.bulk.spend(plan.bytes);
                self.recent_repairs.push_back(now);
                self.credit -= 1.0;
            }
        }
        let span = (plan.members.first().unwrap_or(0), plan.members.last().map_or(0, |last| last + 1));
        self.proactive.push_back(Some(Proactive { bulk: plan.purpose == Purpose::Bulk, span }));
        self.dither = self.random.unit() - 0.5;
    }

    /// A repair to send as a probe: for the oldest group of holes, or else for up to four of the
    /// newest symbols in flight. `None`: there is nothing to repair.
    pub(super) fn plan_probe<P: InnerPacket>(&self, sources: &Sources<P>, path: &PathView) -> Option<PlannedRepair> {
        if let Some((group, state)) = self.groups.iter().next() {
            return Some(Self::exact(*group, state, sources, path));
        }
        let end = sources.next();
        let start = sources.first().max(end.saturating_sub(4)).max(sources.tail().min(end));
        let ids: Vec<u64> = (start..end).collect();
        let fit = Self::fit(&ids, LISTED, sources, path.room);
        let members = Members::new(ids[..fit].to_vec(), 0..0)?;
        (!members.is_empty()).then(|| PlannedRepair {
            purpose: Purpose::Bulk,
            bytes: longest(&members, sources),
            members,
        })
    }

    /// When a repair for an interactive packet or for the end of a burst may be due next.
    pub(super) fn next_due<P: InnerPacket>(&self, sources: &Sources<P>, path: &PathView) -> Option<Time> {
        let wanted = self.interactive_wanted(path);
        let interactive = (wanted > 0)
            .then(|| sources.interactive().filter(|(_, _, covered)| u32::from(*covered) < wanted))
            .and_then(|open| open.map(|(_, sent, covered)| due_at(sent, covered)).min());
        let tail = self.tail.filter(|_| path.proactive.share > 0.0 && path.waiting == 0.0);
        [interactive, tail.map(|last| last + tail_wait(path.srtt))].into_iter().flatten().min()
    }

    /// Whether a repair may be due now: an exact repair, or a proactive one for sources that have
    /// just left.
    pub(super) fn may_be_due(&self) -> bool {
        !self.due.is_empty() || self.unguarded
    }

    /// Why bulk and interactive packets have the present number of proactive repairs. `measured` is the share of packets
    /// lost from all causes, for bulk and for interactive packets.
    pub(super) fn explain(&self, now: Time, path: &PathView, measured: (f64, f64)) -> [Explanation; 2] {
        let view = |measured: f64, expected: Losses, is_over_budget: bool| ClassView {
            redundancy: self.redundancy,
            is_suspended: self.usefulness.suspended,
            measured,
            expected,
            is_over_budget,
        };
        let spread = Spread::of(path.packets, path.proactive);
        let bulk = view(measured.0, path.proactive, !self.bulk.allows(path.room));
        let refused = !self.interactive.allows(path.room) || path.waiting > 0.0 && self.part.refused;
        let interactive = view(measured.1, path.sparse, refused);
        [bulk.bulk(self.recent_flight(), spread, self.ahead(now, path), path.srtt), interactive.interactive()]
    }

    pub(super) fn counts(&self) -> RepairCounts {
        self.counts
    }

    fn plan_exact<P: InnerPacket>(&mut self, sources: &Sources<P>, path: &PathView) -> Option<PlannedRepair> {
        while let Some(id) = self.due.pop_front() {
            if let Some(group) = self.groups.get(&id) {
                return Some(Self::exact(id, group, sources, path));
            }
        }
        None
    }

    fn exact<P: InnerPacket>(id: u64, group: &Group, sources: &Sources<P>, path: &PathView) -> PlannedRepair {
        let holes = &group.holes;
        let members = match (holes.first(), holes.last()) {
            // The first hole is listed separately from the range. This marks the repair as exact:
            // the receiver counts a repair whose members are only a range as proactive.
            (Some(first), Some(last)) if !Self::is_listed(holes, sources, path.room) => {
                Members::new(vec![*first], first + 1..last + 1)
            }
            _ => Members::new(holes.clone(), 0..0),
        }
        .unwrap_or_default();
        PlannedRepair { purpose: Purpose::Exact(id), bytes: longest(&members, sources), members }
    }

    /// Whether an exact repair for `holes` lists each hole. Otherwise the repair spans a range.
    fn is_listed<P: InnerPacket>(holes: &[u64], sources: &Sources<P>, room: u32) -> bool {
        Self::fit(holes, LISTED, sources, room) == holes.len()
    }

    /// How many of `ids`, counted from the first, one repair can list if the repair's body has at
    /// most `room` bytes. The result is at least 1 (if `ids` is not empty), and at most `most`.
    fn fit<P: InnerPacket>(ids: &[u64], most: usize, sources: &Sources<P>, room: u32) -> usize {
        let mut bytes = 0;
        for (i, id) in ids.iter().enumerate().take(most) {
            bytes = bytes.max(sources.bytes(*id));
            let fits = Members::new(ids[..=i].to_vec(), 0..0)
                .is_some_and(|m| repair_fields(&m, &Coding::Seed(0)) as u32 + bytes <= room);
            if i > 0 && !fits {
                return i;
            }
        }
        ids.len().min(most)
    }
}

/// Length of the longest member, bytes.
fn longest<P: InnerPacket>(members: &Members, sources: &Sources<P>) -> u32 {
    let single = members.singles().iter().map(|id| sources.bytes(*id)).max();
    single.unwrap_or(0).max(sources.longest(members.tail()))
}
