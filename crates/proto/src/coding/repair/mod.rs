//! Decides which repairs to send, and which symbols each repair spans. See `mod.rs` for the terms.
//!
//! *Exact repairs* answer reports. An exact repair spans a few *holes*: lost symbols for which the
//! receiver holds no repair yet. (In the terms of RFC 8406, the receiver has not *seen* these
//! symbols.) Holes that are repaired together form a *group*. An exact repair spans no symbol after
//! the group's last hole. Otherwise later losses would have to be repaired before this repair could
//! recover a hole. The coder counts the exact repairs in flight, because a report that left before
//! these repairs arrived asks for the same holes again.
//!
//! *Proactive repairs* are sent before a report of a loss. They protect packets of *interactive*
//! flows (which use little of the path's rate, see `ingress/`) or of *bulk* flows (all other
//! flows). [`crate::control::redundancy`] has the rules for the number of repairs.

mod ahead;
mod budget;
mod bulk;
mod exact;
mod group;
mod interactive;

use super::sources::Sources;
use super::view::PathView;
use crate::control::loss::Losses;
use crate::control::redundancy::{
    BulkRule, ClassView, Explanation, RECENT, RECENT_PACKETS, Redundancy, Spread, Usefulness, tail_wait,
};
use crate::wire::repair_fields;
use ahead::Ahead;
use budget::{Budget, PathPart};
use exact::ExactRepairs;
use group::LISTED;
use interactive::due_at;
use ripstop_base::counters;
use ripstop_base::{Stream, Time};
use ripstop_codes::Payload;
use ripstop_codes::window::{Coding, Members};
use std::collections::VecDeque;

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
    exact: ExactRepairs,
    /// Proactive repairs in flight.
    ahead: Ahead,
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
            exact: ExactRepairs::default(),
            ahead: Ahead::default(),
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
        self.exact.settled(group, received);
    }

    pub(super) fn next_proactive(&self) -> u64 {
        self.ahead.next()
    }

    /// Records the fate of the proactive repair `number`.
    pub(super) fn proactive_settled(&mut self, number: u64, received: bool) {
        self.usefulness.received += u64::from(self.ahead.settled(number) && received);
    }

    /// Takes all holes of the newest report, ascending, and works out which exact repairs are due.
    ///
    /// `redundant` is the receiver's count of repairs that span a range of symbols and added no
    /// information.
    pub(super) fn take_holes<P: Payload>(
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
        self.counts.listed += u64::from(self.exact.take(holes, sources, path.room));
        self.exact.list_due(now, &self.ahead.starts(), sources, path);
    }

    /// The next repair to send. Exact repairs come first, then repairs for interactive packets,
    /// then repairs for bulk packets.
    pub(super) fn plan<P: Payload>(
        &mut self,
        now: Time,
        sources: &mut Sources<P>,
        path: &PathView,
    ) -> Option<PlannedRepair> {
        let plan = self
            .exact
            .next(sources, path)
            .or_else(|| self.plan_interactive(now, sources, path))
            .or_else(|| self.plan_bulk(now, sources, path));
        self.unguarded &= plan.is_some();
        if plan.is_none() && self.is_tail(now, path) {
            self.tail = None;
        }
        plan
    }

    /// Records that the repair of `plan` leaves.
    pub(super) fn sent<P: Payload>(&mut self, now: Time, plan: &PlannedRepair, sources: &mut Sources<P>) {
        match plan.purpose {
            Purpose::Exact(group) => {
                self.counts.exact += 1;
                self.counts.ranges += u64::from(!plan.members.tail().is_empty());
                self.exact.sent(group);
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
        self.ahead.sent(plan.purpose == Purpose::Bulk, span);
        self.dither = self.random.unit() - 0.5;
    }

    /// A repair to send as a probe: for the oldest group of holes, or else for up to four of the
    /// newest symbols in flight. `None`: there is nothing to repair.
    pub(super) fn plan_probe<P: Payload>(&self, sources: &Sources<P>, path: &PathView) -> Option<PlannedRepair> {
        if let Some(exact) = self.exact.oldest(sources, path) {
            return Some(exact);
        }
        let end = sources.next();
        let start = sources.first().max(end.saturating_sub(4)).max(sources.tail().min(end));
        let ids: Vec<u64> = (start..end).collect();
        let fit = fit(&ids, LISTED, sources, path.room);
        let members = Members::new(ids[..fit].to_vec(), 0..0)?;
        (!members.is_empty()).then(|| PlannedRepair {
            purpose: Purpose::Bulk,
            bytes: longest(&members, sources),
            members,
        })
    }

    /// When a repair for an interactive packet or for the end of a burst may be due next.
    pub(super) fn next_due<P: Payload>(&self, sources: &Sources<P>, path: &PathView) -> Option<Time> {
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
        self.exact.is_due() || self.unguarded
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
        [bulk.bulk(self.recent_flight(), spread, self.waiting(now, path), path.srtt), interactive.interactive()]
    }

    pub(super) fn counts(&self) -> RepairCounts {
        self.counts
    }
}

/// How many of `ids`, counted from the first, one repair can list if the repair's body has at
/// most `room` bytes. The result is at least 1 (if `ids` is not empty), and at most `most`.
fn fit<P: Payload>(ids: &[u64], most: usize, sources: &Sources<P>, room: u32) -> usize {
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

/// Length of the longest member, bytes.
fn longest<P: Payload>(members: &Members, sources: &Sources<P>) -> u32 {
    let single = members.singles().iter().map(|id| sources.bytes(*id)).max();
    single.unwrap_or(0).max(sources.longest(members.tail()))
}
