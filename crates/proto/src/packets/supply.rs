//! The sending half: takes inner packets, keeps them in the ingress queue, and puts them into symbols when the coder asks.

use super::class::{self, Class, ClassHints, Hint, Traffic};
use super::gap::Gap;
use super::gaps::{Gaps, gap_for};
use super::ingress::{Ingress, QueueDrops, Queued, SendQueue, bucket_of};
use super::inner_packet::{InnerPacket, Meta, Order};
use super::recovery_wait::RecoveryWait;
use super::symbol::PREFIX;
use crate::coding::{Fate, PACKET, Supplied, Supplier, Tag};
use ripstop_base::{Time, counters};
use std::collections::VecDeque;
use std::time::Duration;

/// The tag of a packet for which no later packet waits. All other tags are numbers of flow buckets.
const NOT_AWAITED: Tag = Tag(u16::MAX);

counters! {
    /// What became of the packets that the user has sent.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SupplyCounts {
        /// Inner packets accepted from the user.
        pub taken: u64,
        /// Inner packets dropped because they were malformed.
        pub malformed: u64,
        /// Inner packets dropped because they were longer than the tunnel's MTU.
        pub too_long: u64,
        /// Inner packets that were longer than the tunnel's MTU and were sent in pieces.
        pub cut: u64 => ("packets_cut", "packets_cut_total"),
        /// Packets, and pieces of packets, that were given up: they are not known to have arrived.
        pub given_up: u64,
        /// Hints of bulk packets.
        pub bulk: HintCounts,
        /// Hints of interactive packets.
        pub interactive: HintCounts,
    }
}

counters! {
    /// Whether packets behave as their DSCP or ports hint.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct HintCounts {
        /// Packets whose DSCP or ports hinted at this class.
        pub hinted: u64 => ("hinted"),
        /// Packets of this class among those with the hint. The others behaved like the other class.
        pub followed: u64 => ("hinted_followed"),
    }
}

/// The packets that wait to be sent, and what the gaps of the next ones depend on.
#[derive(Debug)]
pub(crate) struct Supply<P> {
    ingress: Ingress<P>,
    /// The rest of a packet that was cut, in pieces. They leave before the next packet of the ingress queue.
    pieces: VecDeque<Queued<P>>,
    gaps: Gaps,
    classes: ClassHints,
    recovery_wait: RecoveryWait,
    /// Length of the longest packet, bytes: the tunnel's MTU.
    inner_mtu: u32,
    /// The longest wait in the ingress queue.
    expires: Duration,
    counts: SupplyCounts,
}

impl<P: InnerPacket> Supply<P> {
    /// Nothing waits. `queue_bytes` limits the ingress queue. `mtu` is the path's MTU, and `inner_mtu` the tunnel's, bytes.
    pub(crate) fn new(queue_bytes: usize, classes: ClassHints, mtu: u32, inner_mtu: u32) -> Supply<P> {
        Supply {
            ingress: Ingress::new(queue_bytes, mtu),
            pieces: VecDeque::new(),
            gaps: Gaps::new(),
            classes,
            recovery_wait: RecoveryWait::default(),
            inner_mtu,
            expires: Duration::ZERO,
            counts: SupplyCounts::default(),
        }
    }

    /// Takes an inner packet from the user, while the path carries `bandwidth` byte/s. `head` is what its header says; None:
    /// the packet is malformed. `promised`: the packet is carried although it is longer than the tunnel's MTU.
    pub(crate) fn take(
        &mut self,
        now: Time,
        payload: P,
        head: Option<(Meta, Traffic)>,
        promised: bool,
        bandwidth: f64,
    ) {
        match head {
            Some((meta, traffic)) if meta.len <= self.inner_mtu || promised || payload.must_be_carried(meta.len) => {
                self.counts.taken += 1;
                let hint = self.classes.of(traffic);
                let below = class::interactive_below(bandwidth, hint, meta.order);
                let class = self.ingress.push(now, payload, meta, below);
                self.counts.hinted(hint, class);
            }
            Some(_) => self.counts.too_long += 1,
            None => self.counts.malformed += 1,
        }
    }

    /// Takes inner packets that are sent again. They leave before the packets of their flows that wait.
    pub(crate) fn take_again(&mut self, now: Time, payloads: Vec<P>) {
        for payload in payloads.into_iter().rev() {
            match payload.meta() {
                None => self.counts.malformed += 1,
                Some(meta) => {
                    self.counts.taken += 1;
                    self.ingress.push_front(now, payload, meta);
                }
            }
        }
    }

    /// Sets the path's MTU and the tunnel's MTU, bytes. Packets that no longer fit are cut into pieces when their turn comes.
    /// Pieces that no longer fit are dropped.
    pub(crate) fn set_mtu(&mut self, mtu: u32, inner_mtu: u32) {
        self.ingress.set_quantum(mtu);
        self.inner_mtu = inner_mtu;
        if self.pieces.iter().any(|piece| piece.meta.len > inner_mtu) {
            self.pieces.clear();
            self.counts.too_long += 1;
        }
    }

    /// Sets the longest wait in the ingress queue.
    pub(crate) fn set_expiry(&mut self, expires: Duration) {
        self.expires = expires;
    }

    /// Takes the round-trip time of a path on which no packet has been held back.
    pub(crate) fn set_rtt(&mut self, srtt: Duration) {
        self.ingress.set_rtt(srtt, Duration::ZERO);
    }

    /// Takes the round-trip time, and how long the oldest outstanding symbol has been outstanding beyond it, `held`.
    pub(crate) fn note_recovery(&mut self, now: Time, srtt: Duration, held: Duration) {
        self.recovery_wait.offer(now, held);
        self.ingress.set_rtt(srtt, self.recovery_wait.get(srtt));
    }

    /// Removes the ingress queue as a whole. An empty queue for `queue_bytes` and the path's MTU `mtu` takes its place.
    pub(crate) fn take_queue(&mut self, queue_bytes: usize, mtu: u32) -> SendQueue<P> {
        let longest_wait = self.ingress.longest_wait(self.expires);
        SendQueue { ingress: std::mem::replace(&mut self.ingress, Ingress::new(queue_bytes, mtu)), longest_wait }
    }

    /// Takes over the queue of an earlier session.
    pub(crate) fn put_queue(&mut self, queue: SendQueue<P>, mtu: u32, srtt: Duration) {
        self.ingress = queue.ingress;
        self.ingress.restart();
        self.ingress.set_quantum(mtu);
        self.set_rtt(srtt);
    }

    /// Drops half of the ingress queue, to free memory.
    pub(crate) fn shrink(&mut self) {
        self.ingress.shrink_to(self.ingress.backlog().1 / 2);
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.ingress.is_empty() && self.pieces.is_empty()
    }

    /// Whether the ingress queue is empty. Pieces of its last packet may wait.
    pub(crate) fn is_queue_empty(&self) -> bool {
        self.ingress.is_empty()
    }

    /// Numbers of packets and bytes in the ingress queue.
    pub(crate) fn backlog(&self) -> (usize, usize) {
        self.ingress.backlog()
    }

    /// Memory of the packets in the ingress queue, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let (packets, bytes) = self.ingress.backlog();
        bytes + packets * PACKET
    }

    /// What became of packets so far.
    pub(crate) fn counts(&self) -> SupplyCounts {
        self.counts
    }

    /// Packets that the ingress queue dropped so far.
    pub(crate) fn drops(&self) -> QueueDrops {
        self.ingress.drops()
    }

    /// The next packet of the ingress queue, or the next piece of a packet that is longer than the tunnel's MTU. The path's MTU
    /// may have become smaller since the packet was queued.
    fn next(&mut self, now: Time) -> Option<Queued<P>> {
        if let Some(piece) = self.pieces.pop_front() {
            return Some(piece);
        }
        loop {
            let queued = self.ingress.pop(now, self.expires, P::mark_congestion)?;
            if queued.meta.len <= self.inner_mtu {
                return Some(queued);
            }
            if let Some(first) = self.cut(queued) {
                return Some(first);
            }
        }
    }

    /// Cuts a packet that is longer than the tunnel's MTU. Returns the first piece; the others leave directly after it. None:
    /// the packet cannot be cut, and is dropped.
    fn cut(&mut self, queued: Queued<P>) -> Option<Queued<P>> {
        let Queued { payload, meta, class, since, repeated } = queued;
        let piece = |payload: P| Some(Queued { meta: payload.meta()?, payload, class, since, repeated });
        self.pieces.extend(payload.cut(meta.flow, self.inner_mtu).into_iter().filter_map(piece));
        let first = self.pieces.pop_front();
        match first {
            Some(_) => self.counts.cut += 1,
            None => self.counts.too_long += 1,
        }
        first
    }
}

impl<P: InnerPacket> Supplier<P> for Supply<P> {
    fn supply(&mut self, now: Time, id: u64) -> Option<Supplied<P>> {
        let Queued { mut payload, meta, class, .. } = self.next(now)?;
        let (gap, tag) = match meta.order {
            Order::Immediate => (Gap::NONE, NOT_AWAITED),
            Order::InOrder => {
                let bucket = bucket_of(meta.flow);
                let distance = self.gaps.leaves(bucket, id);
                (gap_for(distance, payload.len(), PREFIX + self.inner_mtu as usize), Tag(bucket))
            }
        };
        payload.set_gap(gap);
        Some(Supplied { kind: payload.kind(), payload, interactive: class == Class::Interactive, tag })
    }

    fn release(&mut self, tag: Tag) {
        if tag != NOT_AWAITED {
            self.gaps.settled(tag.0);
        }
    }

    fn settle(&mut self, _id: u64, _tag: Tag, fate: Fate) {
        self.counts.given_up += u64::from(fate == Fate::GivenUp);
    }
}

impl SupplyCounts {
    /// Counts a packet with this hint that got this class.
    fn hinted(&mut self, hint: Hint, class: Class) {
        let (counts, hinted) = match hint {
            Hint::None => return,
            Hint::Interactive => (&mut self.interactive, Class::Interactive),
            Hint::Bulk => (&mut self.bulk, Class::Bulk),
        };
        counts.hinted += 1;
        counts.followed += u64::from(class == hinted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_codes::Symbol;

    /// The path's MTU, and the tunnel's.
    const MTU: [u32; 2] = [1500, 1436];
    const BANDWIDTH: f64 = 1e9;

    fn supply() -> Supply<Symbol> {
        let mut supply = Supply::new(1_000_000, ClassHints::default(), MTU[0], MTU[1]);
        supply.set_expiry(Duration::from_secs(10));
        supply
    }

    /// The symbol of a UDP packet, of `len` bytes without an exact gap. The flow depends on `port`.
    fn packet(port: u8, len: usize) -> Symbol {
        Symbol::build(len, |bytes| {
            (bytes[1], bytes[3], bytes[4]) = (0x45, ((len - 1) >> 8) as u8, (len - 1) as u8);
            (bytes[10], bytes[22]) = (17, port);
        })
    }

    /// Sends the packet as symbol `id`. Returns its tag, its gap, and its length.
    fn send(supply: &mut Supply<Symbol>, id: u64, packet: Symbol) -> (Tag, Gap, usize) {
        let head = packet.meta_and_traffic();
        supply.take(Time::ZERO, packet, head, false, BANDWIDTH);
        let supplied = supply.supply(Time::ZERO, id).expect("a packet waits");
        (supplied.tag, supplied.payload.gap(), supplied.payload.len())
    }

    #[test]
    fn a_packet_with_room_says_exactly_where_its_predecessor_is() {
        let (mut supply, mut id) = (supply(), 0);
        let mut push = |port, len: usize| {
            let (_, gap, len) = send(&mut supply, id, packet(port, len));
            id += 1;
            (gap, len)
        };
        assert_eq!(
            [push(1, 101), push(2, 1437), push(3, 1437)],
            [(Gap::NONE, 101), (Gap::NONE, 1437), (Gap::NONE, 1437)]
        );
        assert_eq!(push(1, 101), (Gap::exact(3), 103));
        assert_eq!(push(2, 1437), (Gap::rounded(3), 1437), "the path's MTU leaves no room");
        assert_eq!(push(2, 1436), (Gap::ADJACENT, 1436), "a rounded gap is as exact");
    }

    #[test]
    fn a_packet_waits_only_for_symbols_that_may_be_missing() {
        let mut supply = supply();
        let mut tags = Vec::new();
        let mut push = |supply: &mut Supply<Symbol>, port| {
            let (tag, gap, _) = send(supply, tags.len() as u64, packet(port, 41));
            tags.push(tag);
            gap
        };
        assert_eq!([push(&mut supply, 1), push(&mut supply, 2)], [Gap::NONE; 2]);
        let bucket = |port| bucket_of(packet(port, 41).meta().unwrap().flow);
        supply.release(Tag(bucket(1)));
        assert_eq!(push(&mut supply, 1), Gap::NONE, "the flow's only symbol has arrived");
        assert_eq!(push(&mut supply, 2), Gap::exact(2), "symbol 1 may be missing");
        supply.release(Tag(bucket(2)));
        assert_eq!(push(&mut supply, 2), Gap::rounded(1), "one of the symbols 1 and 3 may be missing");
        (0..2).for_each(|_| supply.release(Tag(bucket(2))));
        assert_eq!(push(&mut supply, 2), Gap::NONE);
    }

    /// The packets' layer counts what the coder gives up.
    #[test]
    fn what_is_given_up_is_counted() {
        let mut supply = supply();
        let (tag, ..) = send(&mut supply, 0, packet(1, 41));
        supply.settle(0, tag, Fate::Arrived);
        assert_eq!(supply.counts().given_up, 0);
        supply.settle(1, tag, Fate::GivenUp);
        assert_eq!(supply.counts().given_up, 1);
    }
}
