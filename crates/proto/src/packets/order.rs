//! In-order delivery. Packets of one flow are delivered in the order in which the peer's user sent
//! them. Flows do not wait for each other, unless they share a bucket ([`bucket_of`]).
//!
//! Each packet travels in one numbered symbol (see `mod.rs`). The symbol's [`Gap`] gives a range of
//! symbol numbers that contains the previous symbol of the same flow. Known symbols in this range
//! have been sorted into their flows already. A missing symbol in the range may belong to the
//! packet's flow. So the packet waits for the missing symbols in the range, from the highest one
//! down, until its flow's previous symbol is known.

mod blocked;
mod waiting_packets;

use super::gap::Gap;
use super::ingress::{BUCKETS, bucket_of};
use super::inner_packet::{Meta, Order};
use blocked::Blocked;
use ripstop_base::Time;
use ripstop_base::counters;
use ripstop_codes::window::IdRanges;
use std::collections::VecDeque;
use std::time::Duration;
use waiting_packets::WaitingPackets;

/// Number of entries of delivered packets that may stay in the list of arrivals, besides as many as
/// packets wait. Half the value cleans the list more often while few packets wait. Double the value
/// takes 1.5 kB more.
const FEW_ARRIVALS: usize = 64;

/// Room for packets that the empty list of packets to deliver keeps. Unit: packets. With half the value, lists that are
/// often long are allocated more often. Double the value takes 40 kB more for each peer.
const KEPT: usize = 512;

/// An inner packet for the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivered<P> {
    /// The symbol that holds the packet: one byte with the gap, then the packet.
    pub payload: P,
    /// Flow, order and length of the packet.
    pub meta: Meta,
}

counters! {
    /// Numbers of packets that in-order delivery handled, by outcome.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct OrderCounts {
        /// Inner packets delivered: in order, or at once if their order does not matter.
        pub delivered: u64 => ("delivered", "delivered_total"),
        /// Packets that waited for an earlier packet of their flow.
        pub held: u64 => ("held", "held_total"),
        /// Times that a flow went on without a missing packet, because its deadline had passed.
        pub skipped: u64 => ("passed_over", "passed_over_total"),
        /// Packets dropped because their flow had gone on without them.
        pub late: u64 => ("arrived_late", "arrived_late_total"),
        /// Packets whose order does not matter, dropped because a later packet of their flow was delivered.
        pub superseded: u64 => ("superseded", "superseded_total"),
    }
}

/// In-order delivery for all flows of one tunnel.
#[derive(Debug)]
pub(crate) struct InOrder<P> {
    /// None: no packet of the bucket has arrived so far. A peer with few flows takes little memory.
    flows: Vec<Option<Box<Flow<P>>>>,
    /// The missing symbols for which the first waiting packet of each flow bucket waits.
    blocked: Blocked,
    /// Time of arrival, flow bucket and symbol of each waiting packet, in order of arrival. The
    /// first entry is of a packet that waits. Entries of packets that have been delivered are
    /// removed when they reach the front, or when they are more than half of the entries.
    arrivals: VecDeque<(Time, u16, u64)>,
    /// Number of waiting packets in all flows.
    waiting: usize,
    /// Bytes of the waiting packets.
    bytes: usize,
    /// Packets to deliver now, with their symbols.
    ready: VecDeque<(u64, Delivered<P>)>,
    /// Bytes of these packets.
    ready_bytes: usize,
    counts: OrderCounts,
}

/// The state of one flow bucket: all flows with the same [`bucket_of`].
#[derive(Debug)]
struct Flow<P> {
    /// The last symbol delivered in order.
    last: Option<u64>,
    /// The last symbol delivered with [`Order::Immediate`].
    last_immediate: Option<u64>,
    waiting: WaitingPackets<Waiting<P>>,
}

impl<P> Default for Flow<P> {
    fn default() -> Flow<P> {
        Flow { last: None, last_immediate: None, waiting: WaitingPackets::new() }
    }
}

impl<P> Flow<P> {
    /// The missing symbol that the packet of symbol `id` waits for, and the lowest symbol that it may wait for. None:
    /// the packet need not wait.
    ///
    /// The packet waits for the highest missing symbol in the range. When that symbol is known, there
    /// are two cases. Either that symbol is the flow's previous symbol, or the packet waits for the
    /// next lower missing symbol.
    fn blocker(&self, id: u64, gap: Gap, missing: &IdRanges) -> Option<(u64, u64)> {
        let bracket = gap.predecessors(id);
        let from = self.last.map_or(0, |last| last + 1).max(bracket.start);
        Some((missing.last_in(&(from..bracket.end))?, from))
    }
}

/// A packet that waits for an earlier packet.
#[derive(Debug)]
struct Waiting<P> {
    gap: Gap,
    packet: Delivered<P>,
}

impl<P> InOrder<P> {
    pub(crate) fn new() -> InOrder<P> {
        InOrder {
            flows: (0..BUCKETS).map(|_| None).collect(),
            blocked: Blocked::default(),
            arrivals: VecDeque::new(),
            waiting: 0,
            bytes: 0,
            ready: VecDeque::new(),
            ready_bytes: 0,
            counts: OrderCounts::default(),
        }
    }

    /// Takes the packet of symbol `id`, which has just become known. `missing` holds all symbols
    /// that are still missing, without `id`.
    pub(crate) fn arrive(&mut self, now: Time, id: u64, gap: Gap, packet: Delivered<P>, missing: &IdRanges) {
        let index = bucket_of(packet.meta.flow);
        let flow = self.flow(index);
        if packet.meta.order == Order::Immediate {
            if flow.last_immediate.is_some_and(|last| last > id) {
                self.counts.superseded += 1;
            } else {
                flow.last_immediate = Some(id);
                self.make_ready(id, packet);
            }
        } else if flow.last.is_some_and(|last| last > id) {
            self.counts.late += 1;
        } else if flow.waiting.is_empty() && flow.blocker(id, gap, missing).is_none() {
            flow.last = Some(id);
            self.make_ready(id, packet);
        } else {
            let bytes = packet.meta.len as usize;
            flow.waiting.insert(id, Waiting { gap, packet });
            let is_first = flow.waiting.first().is_some_and(|(first, _)| first == id);
            self.bytes += bytes;
            self.waiting += 1;
            // A packet behind another one waits with it.
            if is_first {
                self.release(index, missing);
            }
            if !is_first || !self.has_left(index, id) {
                self.counts.held += 1;
                self.arrivals.push_back((now, index, id));
            }
        }
        self.resolve(id, missing);
    }

    /// Lets the flows that waited for symbol `id` go on. Either the symbol's packet has been passed
    /// to `arrive`, or the symbol was given up or is malformed.
    pub(crate) fn resolve(&mut self, id: u64, missing: &IdRanges) {
        self.release_blocked(id, missing);
        self.forget_arrivals();
    }

    /// Lets the flows that waited for symbols before `base` go on, because these symbols were given
    /// up. `missing` holds no symbol before `base`.
    pub(crate) fn resolve_before(&mut self, base: u64, missing: &IdRanges) {
        while let Some(first) = self.blocked.first().filter(|first| *first < base) {
            self.release_blocked(first, missing);
        }
        self.forget_arrivals();
    }

    /// Delivers all waiting packets, although earlier packets are missing.
    pub(crate) fn release_all(&mut self) {
        while let Some((_, index, id)) = self.arrivals.pop_front() {
            if !self.has_left(index, id) {
                self.skip_to(index, id);
            }
        }
        self.blocked.clear();
    }

    /// Delivers packets that have waited longer than `deadline`, although earlier packets are
    /// missing.
    pub(crate) fn expire(&mut self, now: Time, deadline: Duration, missing: &IdRanges) {
        while let Some((since, index, id)) = self.arrivals.front().copied() {
            if now.since(since) <= deadline {
                return;
            }
            self.arrivals.pop_front();
            self.skip_to(index, id);
            self.release(index, missing);
            self.forget_arrivals();
        }
    }

    /// When [`InOrder::expire`] must be called next. `None`: no packet waits.
    pub(crate) fn expires(&self, deadline: Duration) -> Option<Time> {
        self.arrivals.front().map(|(since, _, _)| *since + deadline + Duration::from_nanos(1))
    }

    /// Removes and returns the next packet for the user, and its symbol.
    pub(crate) fn poll(&mut self) -> Option<(u64, Delivered<P>)> {
        let next = self.ready.pop_front();
        self.ready_bytes -= next.as_ref().map_or(0, |(_, packet)| packet.meta.len as usize);
        if self.ready.is_empty() && self.ready.capacity() > KEPT {
            self.ready = VecDeque::new();
        }
        next
    }

    /// The number of packets to deliver now, and their memory, bytes.
    pub(crate) fn ready(&self) -> (usize, usize) {
        let entries = self.ready.capacity().saturating_sub(KEPT) * size_of::<(u64, Delivered<P>)>();
        (self.ready.len(), self.ready_bytes + entries)
    }

    /// Whether a packet of the flow `flow` that came in pieces, the last of them in symbol `id`, may still be delivered
    /// with [`Order::Immediate`]. Its pieces were delivered in order, so a later packet of the flow may have overtaken it.
    pub(crate) fn is_in_time(&mut self, flow: u64, id: u64) -> bool {
        let flow = self.flow(bucket_of(flow));
        let is_in_time = flow.last_immediate.is_none_or(|last| last < id);
        if is_in_time {
            flow.last_immediate = Some(id);
        } else {
            self.counts.superseded += 1;
        }
        is_in_time
    }

    /// Number of packets that wait for an earlier packet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Memory of the packets that wait for an earlier packet, and of those to deliver now, bytes.
    pub(crate) fn bytes(&self) -> usize {
        // A queue that grows has up to half of its room to spare.
        let entries = self.waiting * 2 * size_of::<(u64, Waiting<P>)>();
        self.bytes
            + entries
            + self.ready().1
            + self.arrivals.len() * size_of::<(Time, u16, u64)>()
            + self.blocked.bytes()
    }

    /// Memory of the tables of the flow buckets, bytes.
    pub(crate) fn tables(&self) -> usize {
        let used = self.flows.iter().flatten().count() * size_of::<Flow<P>>();
        self.flows.len() * size_of::<Option<Box<Flow<P>>>>() + used
    }

    /// The counts so far.
    pub(crate) fn counts(&self) -> OrderCounts {
        self.counts
    }

    /// Whether the flow bucket `index` has delivered symbol `id` or a later one.
    fn has_left(&self, index: u16, id: u64) -> bool {
        self.flows[usize::from(index)].as_ref().is_some_and(|flow| flow.last.is_some_and(|last| last >= id))
    }

    fn flow(&mut self, index: u16) -> &mut Flow<P> {
        self.flows[usize::from(index)].get_or_insert_default()
    }

    /// Lets the flow buckets go on that waited for `symbol`, which is not missing any more.
    fn release_blocked(&mut self, symbol: u64, missing: &IdRanges) {
        let free = self.blocked.resolve(symbol, missing);
        free.into_iter().for_each(|index| self.release(index, missing));
    }

    /// Delivers the waiting packets of the flow bucket `index` up to the first packet that must
    /// wait. Records which missing symbol this packet waits for.
    fn release(&mut self, index: u16, missing: &IdRanges) {
        loop {
            let flow = self.flow(index);
            let Some((id, first)) = flow.waiting.first() else { return self.blocked.unblock(index) };
            if let Some((symbol, from)) = flow.blocker(id, first.gap, missing) {
                return self.blocked.block(index, from, symbol);
            }
            self.deliver_first(index);
        }
    }

    /// Delivers the waiting packets of the flow bucket `index` up to symbol `id`, although earlier
    /// packets are missing.
    fn skip_to(&mut self, index: u16, id: u64) {
        self.counts.skipped += 1;
        while self.flow(index).waiting.first().is_some_and(|(first, _)| first <= id) {
            self.deliver_first(index);
        }
    }

    /// Removes the entries of delivered packets from `arrivals`: those at the front, and all of
    /// them if there are many.
    fn forget_arrivals(&mut self) {
        while self.arrivals.front().is_some_and(|(_, index, id)| self.has_left(*index, *id)) {
            self.arrivals.pop_front();
        }
        if self.arrivals.len() > 2 * self.waiting + FEW_ARRIVALS {
            let flows = &self.flows;
            self.arrivals.retain(|(_, index, id)| {
                flows[usize::from(*index)].as_ref().is_none_or(|flow| flow.last.is_none_or(|last| last < *id))
            });
        }
    }

    /// Delivers the first waiting packet of the flow bucket `index`.
    fn deliver_first(&mut self, index: u16) {
        let flow = self.flow(index);
        if let Some((id, first)) = flow.waiting.pop_first() {
            flow.last = Some(id);
            self.waiting -= 1;
            self.bytes -= first.packet.meta.len as usize;
            self.make_ready(id, first.packet);
        }
    }

    /// Adds a packet to the packets to deliver now.
    fn make_ready(&mut self, id: u64, packet: Delivered<P>) {
        self.counts.delivered += 1;
        self.ready_bytes += packet.meta.len as usize;
        self.ready.push_back((id, packet));
    }
}

#[cfg(test)]
mod tests;
