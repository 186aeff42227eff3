//! Which repairs to send, and what they span.
//!
//! *Exact* repairs answer reports. Each spans a few *holes*: symbols whose datagram is lost and that the receiver
//! has not seen. Their span ends at what the report settles, never at the newest symbol, or
//! they would wait for losses that are yet to come and deliver nothing. Repairs in flight are
//! counted, so that a report that does not know of them yet asks for nothing twice.
//!
//! *Proactive* repairs go ahead of reports, by the rules of [`crate::control::redundancy`].

use super::inner::InnerPacket;
use super::sources::Sources;
use crate::control::loss::Losses;
use crate::control::redundancy::{
    Backlog, BulkRule, ExactRule, Flight, INTERACTIVE_STEP, INTERLEAVED, RECENT, RECENT_PACKETS, Redundancy,
    SPAN, Spread, interactive_repairs, tail_wait,
};
use crate::wire::repair_fields;
use ripstop_base::{Stream, Time};
use ripstop_codes::window::{Coding, Members};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Holes that one exact repair lists, at most: any so many of its group's repairs mend it.
const LISTED: usize = 5;
/// Where they are closer together, so many make a group, at most, and a repair spans all symbols from the first to the last: what is
/// lost of many repairs varies less than what is lost of few.
const GROUP: usize = 32;
/// Interactive symbols that one repair spans, at most.
const MAX_INTERACTIVE: usize = 8;

/// What a proactive repair is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Exact(u64),
    Interactive,
    Bulk,
}

/// A repair to be made.
#[derive(Clone, Debug)]
pub(super) struct PlannedRepair {
    pub(super) purpose: Purpose,
    pub(super) members: Members,
    /// Bytes of its longest member.
    pub(super) bytes: u32,
}

/// What the path and the budget allow.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathView {
    /// Expected losses, for exact repairs.
    pub(super) losses: Losses,
    /// Expected losses, for proactive ones: none on a clean path.
    pub(super) proactive: Losses,
    pub(super) srtt: Duration,
    pub(super) deadline: Duration,
    /// Room for a repair body, bytes.
    pub(super) room: u32,
    /// What waits to be sent takes so many round trips at the path's rate.
    pub(super) waiting: f64,
    /// Full packets that the path carries in a round trip.
    pub(super) packets: f64,
}

/// A proactive repair in flight.
#[derive(Clone, Copy, Debug)]
struct Proactive {
    bulk: bool,
    /// Its first and one past its last member.
    span: (u64, u64),
}

/// Holes that are repaired together.
#[derive(Clone, Debug)]
struct Group {
    holes: Vec<u64>,
    in_flight: u32,
    /// How often all its repairs were reported on and holes were left.
    failed: u32,
}

/// A budget of repair bytes that source bytes earn.
#[derive(Clone, Copy, Debug)]
struct Budget {
    share: f64,
    tokens: f64,
    burst: f64,
}

impl Budget {
    fn new(share: f64, packet: u32) -> Budget {
        let burst = 20.0 * f64::from(packet);
        Budget { share, tokens: share.min(1.0) * burst, burst }
    }

    fn earn(&mut self, bytes: u32) {
        self.tokens = (self.tokens + self.share * f64::from(bytes)).min(self.burst);
    }

    fn allows(&self, bytes: u32) -> bool {
        self.tokens >= f64::from(bytes)
    }

    fn spend(&mut self, bytes: u32) {
        self.tokens -= f64::from(bytes);
    }
}

/// Repairs sent, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairCounts {
    /// On request of the receiver.
    pub exact: u64,
    /// Of these, over all symbols from a first hole to a last one.
    pub ranges: u64,
    /// Ahead of reports, for bulk flows (or by a fixed ratio).
    pub bulk: u64,
    /// Of these, over symbols that lie apart.
    pub spread: u64,
    /// Ahead of reports, for interactive flows.
    pub interactive: u64,
    /// Not sent for want of budget.
    pub over_budget: u64,
    /// Times that proactive repair was suspended because it recovered nothing.
    pub suspended: u64,
}

/// The repairs of one tunnel.
#[derive(Debug)]
pub(super) struct Repairs {
    redundancy: Redundancy,
    random: Stream,
    groups: BTreeMap<u64, Group>,
    group_of: BTreeMap<u64, u64>,
    next_group: u64,
    /// Groups that want an exact repair, one entry a repair, by the newest report.
    due: VecDeque<u64>,
    /// Proactive repairs in flight, from number `first_proactive` on; None: fate known.
    proactive: VecDeque<Option<Proactive>>,
    first_proactive: u64,
    /// When the sources of late left, and the bulk repairs.
    recent: VecDeque<Time>,
    recent_repairs: VecDeque<Time>,
    bulk_rule: BulkRule,
    /// How far apart the symbols of a bulk repair are.
    step: u32,
    dither: f64,
    credit: f64,
    bulk: Budget,
    /// Whether a repair was refused since the last source symbol.
    denied: bool,
    /// Whether a source has left since it was last found that no proactive repair is due.
    unguarded: bool,
    /// When the last source left, until it was found that no repair is due at the end of its burst.
    tail: Option<Time>,
    interactive: Budget,
    usefulness: Usefulness,
    counts: RepairCounts,
}

impl Repairs {
    pub(super) fn new(
        redundancy: Redundancy,
        bulk: f64,
        interactive: f64,
        packet: u32,
        random: Stream,
    ) -> Repairs {
        Repairs {
            redundancy,
            random,
            groups: BTreeMap::new(),
            group_of: BTreeMap::new(),
            next_group: 0,
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
            usefulness: Usefulness::default(),
            counts: RepairCounts::default(),
        }
    }

    /// A source symbol of `bytes` leaves.
    pub(super) fn on_source(&mut self, now: Time, interactive: bool, bytes: u32) {
        let budget = if interactive { &mut self.interactive } else { &mut self.bulk };
        budget.earn(bytes);
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

    /// The fate of an exact repair of `group` is known.
    pub(super) fn exact_settled(&mut self, group: u64) {
        if let Some(group) = self.groups.get_mut(&group) {
            group.in_flight = group.in_flight.saturating_sub(1);
            if group.in_flight == 0 {
                group.failed += 1;
            }
        }
    }

    /// The number that the next proactive repair will have.
    pub(super) fn next_proactive(&self) -> u64 {
        self.first_proactive + self.proactive.len() as u64
    }

    /// The fate of proactive repair `number` is known.
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

    /// Takes the holes of the newest report (all of them, ascending), and the receiver's count of
    /// repairs that brought nothing.
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
        self.groups.retain(|_, group| {
            group.holes.retain(|id| holes.binary_search(id).is_ok());
            !group.holes.is_empty()
        });
        let groups = &self.groups;
        self.group_of
            .retain(|id, group| groups.get(group).is_some_and(|g| g.holes.binary_search(id).is_ok()));
        let fresh: Vec<u64> = holes.iter().copied().filter(|id| !self.group_of.contains_key(id)).collect();
        let mut rest = &fresh[..];
        while !rest.is_empty() {
            let near = rest.iter().take(GROUP).take_while(|id| **id - rest[0] < u64::from(SPAN)).count();
            let fit = Self::fit(rest, LISTED, sources, path.room).max(near);
            let (these, others) = rest.split_at(fit);
            for id in these {
                self.group_of.insert(*id, self.next_group);
            }
            self.groups.insert(self.next_group, Group { holes: these.to_vec(), in_flight: 0, failed: 0 });
            self.next_group += 1;
            rest = others;
        }
        self.list_due(now, sources, path);
    }

    /// Lists the exact repairs that are wanted: those of each group of holes, oldest first, less the repairs in flight that span them,
    /// those sent ahead included.
    fn list_due<P: InnerPacket>(&mut self, now: Time, sources: &Sources<P>, path: &PathView) {
        let mut starts: Vec<u64> = self.proactive.iter().flatten().map(|ahead| ahead.span.0).collect();
        starts.sort_unstable();
        let mut rule = ExactRule::new(self.groups.len(), path.losses, path.waiting);
        let mut due: Vec<(u64, u32)> = Vec::new();
        let mut used = 0;
        for (id, group) in &self.groups {
            let missing = rule.wanted(group.wanted(now, sources, path)).saturating_sub(group.in_flight);
            // One that was sent ahead mends one hole of all that it spans.
            let last = group.holes.last().copied().unwrap_or(0);
            let ahead = starts.partition_point(|start| *start <= last) as u32;
            let covered = missing.min(ahead.saturating_sub(used));
            used += covered;
            due.push((*id, missing - covered));
        }
        interleave(due, &mut self.due);
    }

    /// The next repair to send, exact ones first.
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

    /// The repair of `plan` leaves.
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

    /// A repair for whatever is oldest and not decoded: what is sent into a silence.
    pub(super) fn plan_probe<P: InnerPacket>(
        &self,
        sources: &Sources<P>,
        path: &PathView,
    ) -> Option<PlannedRepair> {
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

    /// When an interactive packet wants its next repair, or the end of a burst.
    pub(super) fn next_due<P: InnerPacket>(&self, sources: &Sources<P>, path: &PathView) -> Option<Time> {
        let wanted = self.interactive_wanted(path);
        let interactive = (wanted > 0)
            .then(|| sources.interactive().filter(|(_, _, covered)| u32::from(*covered) < wanted))
            .and_then(|open| open.map(|(_, sent, covered)| due_at(sent, covered)).min());
        let tail = self.tail.filter(|_| path.proactive.share > 0.0 && path.waiting == 0.0);
        [interactive, tail.map(|last| last + tail_wait(path.srtt))].into_iter().flatten().min()
    }

    /// Whether a repair may be due already: one that was asked for, or one that sources want which have just left.
    pub(super) fn may_be_due(&self) -> bool {
        !self.due.is_empty() || self.unguarded
    }

    /// Repairs sent so far.
    pub(super) fn counts(&self) -> RepairCounts {
        self.counts
    }

    /// Whether the burst of the last source has ended, and nothing waits.
    fn is_tail(&self, now: Time, path: &PathView) -> bool {
        path.waiting == 0.0 && self.tail.is_some_and(|last| now >= last + tail_wait(path.srtt))
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
        let listed = Self::fit(holes, LISTED, sources, path.room) == holes.len();
        let members = match (holes.first(), holes.last()) {
            // The first one by itself: it is no repair that was sent ahead.
            (Some(first), Some(last)) if !listed => Members::new(vec![*first], first + 1..last + 1),
            _ => Members::new(holes.clone(), 0..0),
        }
        .unwrap_or_default();
        PlannedRepair { purpose: Purpose::Exact(id), bytes: longest(&members, sources), members }
    }

    fn plan_interactive<P: InnerPacket>(
        &mut self,
        now: Time,
        sources: &mut Sources<P>,
        path: &PathView,
    ) -> Option<PlannedRepair> {
        let wanted = self.interactive_wanted(path);
        let open = |covered: u8| u32::from(covered) < wanted;
        if wanted == 0
            || !sources.interactive().any(|(_, sent, covered)| open(covered) && due_at(sent, covered) <= now)
        {
            return None;
        }
        let mut ids: Vec<u64> = sources
            .interactive()
            .filter(|(_, _, covered)| open(*covered))
            .map(|(id, _, _)| id)
            .take(MAX_INTERACTIVE)
            .collect();
        ids.truncate(Self::fit(&ids, MAX_INTERACTIVE, sources, path.room));
        let members = Members::new(ids, 0..0)?;
        let bytes = longest(&members, sources);
        if !self.interactive.allows(bytes) {
            // As good as sent: the next one is due a step later, and may find more in the budget.
            self.counts.over_budget += 1;
            members.iter().for_each(|id| sources.cover(id));
            return None;
        }
        Some(PlannedRepair { purpose: Purpose::Interactive, members, bytes })
    }

    fn interactive_wanted(&self, path: &PathView) -> u32 {
        match self.redundancy {
            Redundancy::Adaptive if !self.usefulness.suspended => interactive_repairs(path.proactive),
            _ => 0,
        }
    }

    fn plan_bulk<P: InnerPacket>(
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
                    repairs: self.ahead_beyond(start),
                };
                if start == sources.tail() {
                    // The whole flight: what is missing already takes its part of the repairs.
                    all.deficit = self.groups.values().map(|g| g.holes.len() as u32).sum();
                    all.repairs += self.groups.values().map(|g| g.in_flight).sum::<u32>();
                }
                let recent = Flight {
                    deficit: 0,
                    sources: self.recent.len() as u32,
                    repairs: self.recent_repairs.len() as u32,
                };
                let left =
                    if self.is_tail(now, path) { Backlog::Nothing } else { Backlog::Waiting(path.waiting) };
                // Half a period either way.
                let dither = self.dither / path.proactive.share.max(0.01);
                self.bulk_rule.is_due(all, recent, path.proactive, spread, left, dither)
            }
        };
        if !due {
            return None;
        }
        // The steps take turns, the newest symbols last.
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

    /// How many proactive repairs in flight span symbols from `start` on.
    fn ahead_beyond(&self, start: u64) -> u32 {
        let mut count = 0;
        for ahead in self.proactive.iter().rev().flatten() {
            if ahead.span.1 > start {
                count += 1;
            } else if ahead.bulk {
                // Those before it end before it.
                break;
            }
        }
        count
    }

    /// How many of `ids`, from the first, one repair can span within `room` (at least one), and `most` at most.
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

impl Group {
    /// Repairs that the group wants, those in flight included.
    fn wanted<P: InnerPacket>(&self, now: Time, sources: &Sources<P>, path: &PathView) -> u32 {
        // A repair of a repair of a repair: spend a little more rather than miss the deadline.
        let late = self
            .holes
            .first()
            .and_then(|id| sources.sent(*id))
            .is_some_and(|sent| path.deadline.saturating_sub(now.since(sent)) < 2 * path.srtt);
        let extra = self.failed.saturating_sub(1).min(4) + if late { 2 } else { 0 };
        self.holes.len() as u32 + extra
    }
}

/// Lists groups as often as they are due, some of them by turns: a run of losses takes a little of each, not all that one has.
fn interleave(mut due: Vec<(u64, u32)>, into: &mut VecDeque<u64>) {
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

fn due_at(sent: Time, covered: u8) -> Time {
    sent + INTERACTIVE_STEP * (u32::from(covered) + 1)
}

fn longest<P: InnerPacket>(members: &Members, sources: &Sources<P>) -> u32 {
    members.iter().map(|id| sources.bytes(id)).max().unwrap_or(0)
}

/// Whether proactive repairs recover anything.
#[derive(Clone, Copy, Debug, Default)]
struct Usefulness {
    received: u64,
    received_then: u64,
    redundant_then: u64,
    suspended: bool,
    /// When it was judged last.
    since: Time,
}

impl Usefulness {
    /// Judged over so many repairs, and so long: on a fast path so many pass between two runs of losses.
    const SAMPLE: u64 = 400;
    const WHILE: Duration = Duration::from_secs(1);
    const REST: Duration = Duration::from_secs(5);

    /// Takes the receiver's count of redundant repairs; true when proactive repair is suspended now.
    fn judge(&mut self, now: Time, redundant: u64) -> bool {
        if self.suspended {
            if now.since(self.since) >= Self::REST {
                *self = Usefulness {
                    received: self.received,
                    received_then: self.received,
                    redundant_then: redundant,
                    suspended: false,
                    since: now,
                };
            }
            return false;
        }
        let received = self.received - self.received_then;
        if received < Self::SAMPLE || now.since(self.since) < Self::WHILE {
            return false;
        }
        let useless = redundant.saturating_sub(self.redundant_then) as f64;
        self.received_then = self.received;
        self.redundant_then = redundant;
        self.suspended = useless >= 0.995 * received as f64;
        self.since = now;
        self.suspended
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

    #[test]
    fn what_recovers_nothing_is_suspended_for_a_while() {
        let seconds = |s: u64| Time::from_millis(1_000 * s);
        let mut useful = Usefulness::default();
        useful.received += Usefulness::SAMPLE;
        assert!(!useful.judge(seconds(1), Usefulness::SAMPLE - 10) && !useful.suspended);
        useful.received += Usefulness::SAMPLE;
        assert!(useful.judge(seconds(2), 2 * Usefulness::SAMPLE - 10) && useful.suspended);
        assert!(!useful.judge(seconds(6), 2 * Usefulness::SAMPLE) && useful.suspended);
        assert!(!useful.judge(seconds(7), 2 * Usefulness::SAMPLE) && !useful.suspended);
    }
}
