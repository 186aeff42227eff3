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
mod tests {
    use super::*;
    use ripstop_base::Seed;
    use std::collections::BTreeMap;

    const DEADLINE: Duration = Duration::from_secs(1);

    fn packet(id: u64, flow: u64, order: Order) -> Delivered<u64> {
        Delivered { payload: id, meta: Meta { flow, order, len: 100, ack: None, is_syn: false } }
    }

    fn ids(ids: &[u64]) -> IdRanges {
        let mut ranges = IdRanges::new();
        ids.iter().for_each(|id| ranges.append(*id..*id + 1));
        ranges
    }

    fn drain(out: &mut InOrder<u64>) -> Vec<u64> {
        std::iter::from_fn(|| out.poll()).map(|(_, d)| d.payload).collect()
    }

    /// The flow and the gap of each symbol, as the sender computes them.
    fn sent(flows: &[u64]) -> Vec<(u64, Gap)> {
        let mut last: BTreeMap<u64, usize> = BTreeMap::new();
        flows
            .iter()
            .enumerate()
            .map(|(id, flow)| (*flow, Gap::rounded(last.insert(*flow, id).map_or(0, |l| (id - l) as u64))))
            .collect()
    }

    #[test]
    fn a_flow_waits_for_its_own_losses_only() {
        let mut out = InOrder::new();
        let missing = ids(&[1]);
        let (a, b) = (1, 2);
        // Symbols 0 to 3 belong to the flows a, b, a, b. Symbol 1 is lost.
        let sent = sent(&[a, b, a, b]);
        for id in [0u64, 2, 3] {
            let (flow, gap) = sent[id as usize];
            out.arrive(Time::ZERO, id, gap, packet(id, flow, Order::InOrder), &missing);
        }
        assert_eq!(drain(&mut out), [0, 2], "flow a must be delivered (its symbol 0 is known), and flow b must wait");
        let (flow, gap) = sent[1];
        out.arrive(Time::ZERO, 1, gap, packet(1, flow, Order::InOrder), &IdRanges::new());
        assert_eq!(drain(&mut out), [1, 3]);
        assert_eq!(out.counts().held, 1);
        assert_eq!(out.waiting(), 0);
    }

    #[test]
    fn a_flow_goes_on_without_a_packet_after_the_deadline() {
        let mut out = InOrder::new();
        let missing = ids(&[0]);
        let ms = Time::from_millis;
        out.arrive(ms(10), 1, Gap::ADJACENT, packet(1, 1, Order::InOrder), &missing);
        out.arrive(ms(20), 2, Gap::ADJACENT, packet(2, 1, Order::InOrder), &missing);
        assert_eq!(drain(&mut out), []);
        let at = out.expires(DEADLINE).unwrap();
        out.expire(at, DEADLINE, &missing);
        assert_eq!(drain(&mut out), [1, 2], "both packets must be delivered, in order");
        assert_eq!(out.expires(DEADLINE), None);
        out.arrive(ms(2_000), 0, Gap::NONE, packet(0, 1, Order::InOrder), &IdRanges::new());
        assert_eq!(drain(&mut out), []);
        assert_eq!(out.counts(), OrderCounts { delivered: 2, held: 2, skipped: 1, late: 1, superseded: 0 });
    }

    #[test]
    fn acknowledgements_neither_wait_nor_go_back() {
        let mut out = InOrder::new();
        let missing = ids(&[0, 1]);
        out.arrive(Time::ZERO, 2, Gap::NONE, packet(2, 1, Order::Immediate), &missing);
        out.arrive(Time::ZERO, 1, Gap::NONE, packet(1, 1, Order::Immediate), &ids(&[0]));
        assert_eq!(drain(&mut out), [2]);
        assert_eq!(out.counts().superseded, 1);
    }

    #[test]
    fn any_order_of_arrival_gives_each_flow_in_order() {
        for run in 0..300 {
            let mut random = Seed::new(11).run(run).stream("in order");
            let flows: Vec<u64> = (0..200).map(|_| random.below(1 + run % 7)).collect();
            let sent = sent(&flows);
            let mut ids: Vec<u64> = (0..200).collect();
            for i in (1..ids.len()).rev() {
                let far = (random.below(12) as usize).min(i);
                ids.swap(i, i - far);
            }
            let lost: std::collections::BTreeSet<u64> = (0..200).filter(|_| random.chance(0.05)).collect();
            let mut missing = IdRanges::new();
            let mut end = 0;
            let mut out = InOrder::new();
            for id in ids.iter().filter(|id| !lost.contains(id)) {
                missing.append(end..*id);
                end = end.max(id + 1);
                missing.remove(*id);
                let (flow, gap) = sent[*id as usize];
                out.arrive(Time::ZERO, *id, gap, packet(*id, flow, Order::InOrder), &missing);
            }
            let mut got = drain(&mut out);
            out.expire(Time::from_millis(5_000), DEADLINE, &missing);
            got.extend(drain(&mut out));
            assert_eq!(out.waiting(), 0, "run {run}: packets still wait after the deadline");
            assert_eq!(got.len() + lost.len(), 200, "run {run}: a packet was neither delivered nor lost");
            let mut last = BTreeMap::new();
            for id in got {
                let before = last.insert(flows[id as usize], id);
                assert!(before < Some(id), "run {run}: {before:?} before {id}");
            }
        }
    }

    /// All buckets wait for the same missing symbols, which arrive highest first.
    #[test]
    fn a_symbol_for_which_all_buckets_wait_takes_little_work() {
        const MISSING: u64 = 1 << 12;
        let mut out = InOrder::new();
        let mut missing = IdRanges::new();
        missing.append(0..MISSING);
        let buckets = BUCKETS as u64;
        // A packet of each bucket waits for all missing symbols from `id + 1 - 2 * MISSING` on.
        let ids = 2 * MISSING..2 * MISSING + buckets;
        for id in ids.clone() {
            let flow = (0..).find(|flow| u64::from(bucket_of(*flow)) == id - ids.start).unwrap();
            out.arrive(Time::ZERO, id, Gap::rounded(MISSING), packet(id, flow, Order::InOrder), &missing);
        }
        assert_eq!((out.waiting(), out.blocked.touched), (BUCKETS, buckets));
        for id in (0..MISSING).rev() {
            missing.remove(id);
            out.resolve(id, &missing);
        }
        assert_eq!(drain(&mut out), ids.rev().collect::<Vec<_>>());
        assert_eq!(out.blocked.touched, 2 * buckets);
        assert!(out.blocked.first().is_none() && out.bytes() < 1_000, "{} bytes", out.bytes());
    }

    /// Each bucket waits for the symbol that it would find if it looked again whenever a symbol becomes known.
    #[test]
    fn groups_release_the_same_packets() {
        let mut held = 0;
        for run in 0..200 {
            let mut random = Seed::new(31).run(run).stream("groups");
            let mut out: InOrder<u64> = InOrder::new();
            let mut missing = IdRanges::new();
            missing.append(0..400);
            let (mut ids, flows) = ((0..400).collect::<Vec<u64>>(), 1 + run % 40);
            for i in (1..ids.len()).rev() {
                ids.swap(i, random.below(i as u64 + 1) as usize);
            }
            for (step, id) in ids.into_iter().enumerate() {
                missing.remove(id);
                let gap = Gap::rounded(random.below(500));
                match random.below(20) {
                    0 => out.resolve(id, &missing),
                    _ => out.arrive(Time::ZERO, id, gap, packet(id, random.below(flows), Order::InOrder), &missing),
                }
                if step % 100 == 99 {
                    let base = missing.first().unwrap_or(0) + random.below(30);
                    missing.remove_before(base);
                    out.resolve_before(base, &missing);
                }
                for (index, flow) in out.flows.iter().enumerate() {
                    let Some(flow) = flow else { continue };
                    let Some((id, first)) = flow.waiting.first() else { continue };
                    let waits = out.blocked.waits_for(index as u16);
                    assert_eq!(waits, flow.blocker(id, first.gap, &missing), "run {run}, step {step}");
                    assert!(waits.is_some(), "run {run}, step {step}: the packet need not wait");
                }
            }
            held += out.counts().held;
            assert_eq!(out.waiting(), 0, "run {run}");
        }
        assert!(held > 10_000, "{held}");
    }

    #[test]
    fn arrivals_of_delivered_packets_are_forgotten() {
        let mut out = InOrder::new();
        // Flow 1 waits for symbol 0. Flow 2 waits for one symbol again and again.
        out.arrive(Time::ZERO, 1, Gap::ADJACENT, packet(1, 1, Order::InOrder), &ids(&[0]));
        for id in (2..20_000).step_by(2) {
            out.arrive(Time::ZERO, id + 1, Gap::ADJACENT, packet(id + 1, 2, Order::InOrder), &ids(&[0, id]));
            out.arrive(Time::ZERO, id, Gap::rounded(1), packet(id, 2, Order::InOrder), &ids(&[0]));
            assert!(out.arrivals.len() <= 2 * out.waiting() + FEW_ARRIVALS + 1, "{} entries", out.arrivals.len());
        }
        assert_eq!(out.waiting(), 1);
        assert_eq!(drain(&mut out).len(), 19_998);
        assert!(out.bytes() < 10_000);
        out.release_all();
        assert_eq!((drain(&mut out), out.bytes(), out.expires(DEADLINE)), (vec![1], 0, None));
    }
}
