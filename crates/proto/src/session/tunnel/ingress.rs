//! The ingress queue: a fair queue (FQ-CoDel, RFC 8290). Flows are hashed to sub-queues, the
//! *buckets*. CoDel (RFC 8289) keeps each bucket short.
//!
//! The ingress queue is the bottleneck that an inner TCP sees. Bursts of the inner TCP wait here,
//! and CoDel's drops here tell the inner TCP to slow down. No later part of the tunnel drops
//! packets for lack of room.
//!
//! A TCP acknowledgement that waits is replaced by a newer acknowledgement of its flow (RFC 3449, section 5.2.1).
//! Duplicate acknowledgements, and acknowledgements with SACK blocks or ECN flags, are never replaced.
//!
//! The queue also classifies flows by rate. An *interactive* flow uses little of the path's rate.
//! So its packets can have many proactive repairs (repairs sent before a loss is known) at little
//! cost. All other flows are *bulk*.

use super::inner::{Meta, Order};
use ripstop_base::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// Number of buckets that flows are hashed to. Both ends must use the same number.
///
/// 1024 is the default of FQ-CoDel (RFC 8290). Flows in the same bucket share one queue and wait
/// for each other's losses. Half the number doubles the chance that two flows share a bucket.
/// Double the number halves this chance and costs more memory.
pub(super) const BUCKETS: usize = 1024;

/// Packets that need not be delivered in order (such as bare acknowledgements) are interactive below
/// this share of the rate below which other packets are.
///
/// The next acknowledgement makes up for a lost one. But the receiver knows only a range of numbers
/// in which a packet's predecessor lies ([`Gap`](crate::wire::Gap)). If a lost acknowledgement is in
/// this range, the packet waits for it: with four connections at 5 % loss, the 99th percentile of
/// requests was 165 ms instead of 104 ms. Half the value leaves more acknowledgements unprotected.
/// Double the value also protects those of transfers of up to 3 Mbit/s.
const IMMEDIATE_SHARE: f64 = 0.25;

/// Returns the bucket of a flow.
pub(super) fn bucket_of(flow: u64) -> u16 {
    (flow % BUCKETS as u64) as u16
}

/// The class of a packet. The class decides how many proactive repairs protect the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// The packet is not [`Class::Interactive`]. Each repair costs bandwidth that other packets
    /// need.
    #[default]
    Bulk,
    /// The packet's flow uses little of the path's rate. So repairs of the packet are cheap.
    Interactive,
}

/// A packet in the ingress queue.
#[derive(Debug)]
pub(super) struct Queued<P> {
    pub(super) payload: P,
    pub(super) meta: Meta,
    pub(super) class: Class,
    /// When the packet entered the queue. An acknowledgement that replaced another one has the time of the other.
    pub(super) since: Time,
    /// Whether the packet is an acknowledgement that has the number of another one.
    pub(super) repeated: bool,
}

/// Numbers of packets that the ingress queue dropped, by reason, and of packets that it marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueDrops {
    /// Dropped because the queue was full.
    pub full: u64,
    /// Dropped by CoDel, to tell the flow to slow down.
    pub aqm: u64,
    /// Dropped because the packet waited longer than the deadline.
    pub expired: u64,
    /// TCP acknowledgements replaced by newer ones of their flow.
    pub thinned: u64,
    /// Not dropped: CoDel marked an ECN-capable packet with Congestion Experienced instead.
    pub marked: u64,
}

/// The ingress queue of one tunnel.
#[derive(Debug)]
pub(super) struct Ingress<P> {
    /// None: no packet has entered the bucket so far. The queue of a peer with few flows takes little memory.
    buckets: Vec<Option<Box<Bucket<P>>>>,
    /// Buckets that have just become active. These buckets are served before the buckets in `old`
    /// (RFC 8290, section 4.2).
    new: VecDeque<u16>,
    /// The other active buckets, served one after the other.
    old: VecDeque<u16>,
    /// Bytes in all buckets.
    bytes: usize,
    /// Limit on `bytes`.
    limit: usize,
    /// Packets in all buckets.
    packets: usize,
    /// The bucket that holds the most bytes, while the queue is nearly full.
    longest: Option<Longest>,
    /// Bytes that a bucket may send in one turn.
    quantum: i64,
    /// CoDel's target: the longest acceptable time in the queue.
    target: Duration,
    /// CoDel's interval: how long the time in the queue must exceed the target before a drop.
    interval: Duration,
    drops: QueueDrops,
}

/// A bucket: the queue of all flows with the same [`bucket_of`].
#[derive(Debug)]
struct Bucket<P> {
    queue: VecDeque<Queued<P>>,
    /// Bytes in `queue`.
    bytes: usize,
    /// Bytes that the bucket may still send in this turn.
    credit: i64,
    /// Whether the bucket is listed in `Ingress::new` or `Ingress::old`.
    active: bool,
    codel: Codel,
    rate: FlowRate,
    /// The flow and the number of the last TCP acknowledgement that entered.
    last_ack: Option<(u64, u32)>,
}

impl<P> Ingress<P> {
    /// Creates an empty queue for up to `limit` bytes. `quantum` is the length of the longest
    /// packet, bytes.
    pub(super) fn new(limit: usize, quantum: u32) -> Ingress<P> {
        Ingress {
            buckets: (0..BUCKETS).map(|_| None).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            bytes: 0,
            limit,
            packets: 0,
            longest: None,
            quantum: i64::from(quantum),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            drops: QueueDrops::default(),
        }
    }

    /// Sets CoDel's target and interval for the tunnel's round-trip time `rtt`.
    ///
    /// `held` is the longest recent time for which the receiver held packets back until earlier
    /// packets were recovered.
    ///
    /// - The target includes 2/5 of `rtt`. A queue with this delay keeps the path busy while an
    ///   inner TCP reduces its window.
    /// - The target also includes 3/4 of `held`. Held packets are released together and
    ///   acknowledged together, so the inner TCP answers with a burst.
    /// - The interval is three times the sum of `rtt` and `held`. This sum is about the round-trip
    ///   time that an inner TCP measures. CUBIC needs about a round trip to react to a drop, and
    ///   several to fill the path again after a needless one. On long paths the interval is at most
    ///   1 s, or twice the sum if that is longer.
    ///
    /// The target is at least CoDel's default of 5 ms. The interval is at least CoDel's default of
    /// 100 ms (RFC 8289).
    pub(super) fn set_rtt(&mut self, rtt: Duration, held: Duration) {
        self.target = (rtt * 2 / 5 + held * 3 / 4).max(Duration::from_millis(5));
        let seen = rtt + held;
        self.interval = (3 * seen).min((2 * seen).max(Duration::from_secs(1))).max(Duration::from_millis(100));
    }

    /// CoDel's interval for a packet that waited for `sojourn`.
    ///
    /// A queue far above the target comes from a step of the path's rate, or from a flow that
    /// reacts slowly. Then the interval shrinks in proportion, down to a quarter.
    fn interval_for(&self, sojourn: Duration) -> Duration {
        let hurry = (2 * self.target).max(self.interval / 2);
        if sojourn <= hurry {
            return self.interval;
        }
        let part = hurry.as_secs_f64() / sojourn.as_secs_f64();
        self.interval.mul_f64(part.max(0.25))
    }

    /// Adds a packet. If the queue would exceed its limit, first drops packets of the longest
    /// bucket.
    ///
    /// The packet is interactive if two conditions hold:
    ///
    /// - The rate of the packet's bucket is less than `interactive_below`, byte/s. For packets that need
    ///   not be delivered in order, it is less than [`IMMEDIATE_SHARE`] of this rate.
    /// - Fewer than 16 000 bytes wait in the packet's bucket.
    pub(super) fn push(&mut self, now: Time, payload: P, meta: Meta, interactive_below: f64) {
        let index = bucket_of(meta.flow);
        let len = meta.len as usize;
        while self.bytes + len > self.limit && self.bytes > 0 {
            self.drop_from_longest();
        }
        if self.bytes < self.limit / 2 {
            self.longest = None;
        }
        let bucket = self.buckets[usize::from(index)].get_or_insert_default();
        let rate = bucket.rate.count(now, len);
        let repeated = bucket.repeats_ack(&meta);
        if !repeated && let Some(old) = bucket.outdated_by(&meta) {
            let before = old.meta.len as usize;
            (old.payload, old.meta) = (payload, meta);
            bucket.bytes = bucket.bytes - before + len;
            self.bytes = self.bytes - before + len;
            if let Some(longest) = &mut self.longest {
                longest.set(index, bucket.bytes);
            }
            self.drops.thinned += 1;
            return;
        }
        let below = match meta.order {
            Order::InOrder => interactive_below,
            Order::Immediate => interactive_below * IMMEDIATE_SHARE,
        };
        let interactive = rate < below && bucket.bytes < 16_000;
        let class = if interactive { Class::Interactive } else { Class::Bulk };
        bucket.queue.push_back(Queued { payload, meta, class, since: now, repeated });
        bucket.bytes += len;
        if let Some(longest) = &mut self.longest {
            longest.set(index, bucket.bytes);
        }
        self.bytes += len;
        self.packets += 1;
        if !bucket.active {
            bucket.active = true;
            bucket.credit = self.quantum;
            self.new.push_back(index);
        }
    }

    /// Removes and returns the next packet to send. Drops packets that CoDel selects and that are not
    /// ECN-capable, and packets that waited longer than `expires`. CoDel gets at least its target and two intervals to react
    /// before packets expire.
    ///
    /// `mark` marks a packet with Congestion Experienced, and returns false if the packet is not
    /// ECN-capable ([`InnerPacket::mark_congestion`](super::inner::InnerPacket::mark_congestion)).
    pub(super) fn pop(&mut self, now: Time, expires: Duration, mark: impl Fn(&mut P) -> bool) -> Option<Queued<P>> {
        loop {
            let from_new = !self.new.is_empty();
            let index = *self.new.front().or(self.old.front())?;
            let bucket = self.buckets[usize::from(index)].get_or_insert_default();
            if bucket.credit <= 0 {
                bucket.credit += self.quantum;
                self.rotate(from_new);
                continue;
            }
            let Some(mut head) = bucket.queue.pop_front() else {
                if from_new {
                    // The bucket stays active for one more turn. Otherwise a flow that sends single
                    // packets would always count as new.
                    self.rotate(true);
                } else {
                    bucket.active = false;
                    self.old.pop_front();
                }
                continue;
            };
            let len = head.meta.len as usize;
            bucket.bytes -= len;
            if let Some(longest) = &mut self.longest {
                longest.set(index, bucket.bytes);
            }
            self.bytes -= len;
            self.packets -= 1;
            let sojourn = now.since(head.since);
            if sojourn > expires.max(self.target + 2 * self.interval) {
                self.drops.expired += 1;
                continue;
            }
            // CoDel must not drop this packet if at most two full packets wait behind it. Drops
            // cannot shorten such a queue further.
            let interval = self.interval_for(sojourn);
            let bucket = self.buckets[usize::from(index)].get_or_insert_default();
            let short = sojourn < self.target || bucket.bytes <= 2 * self.quantum as usize;
            if bucket.codel.drops(now, short, interval) {
                // An ECN-capable sender slows down for a mark as for a drop (RFC 3168, section 5),
                // and the packet need not be sent again.
                if !mark(&mut head.payload) {
                    self.drops.aqm += 1;
                    continue;
                }
                self.drops.marked += 1;
            }
            bucket.credit -= len as i64;
            return Some(head);
        }
    }

    /// Whether the queue holds no packet.
    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Numbers of packets and bytes in the queue.
    pub(super) fn backlog(&self) -> (usize, usize) {
        (self.packets, self.bytes)
    }

    /// Numbers of packets dropped so far, by reason.
    pub(super) fn drops(&self) -> QueueDrops {
        self.drops
    }

    /// Moves the first bucket of `new` (or of `old`) to the end of `old`.
    fn rotate(&mut self, from_new: bool) {
        let list = if from_new { &mut self.new } else { &mut self.old };
        if let Some(index) = list.pop_front() {
            self.old.push_back(index);
        }
    }

    /// Drops the first packets of the buckets that hold the most bytes, until the queue holds at
    /// most `bytes`.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        while self.bytes > bytes {
            self.drop_from_longest();
        }
    }

    /// Drops the first packet of the bucket that holds the most bytes. The packet's sender notices
    /// the loss of the first packet sooner than the loss of the last packet.
    fn drop_from_longest(&mut self) {
        let buckets = &self.buckets;
        let bytes = |index: u16| buckets[usize::from(index)].as_ref().map_or(0, |bucket| bucket.bytes);
        let longest = self.longest.get_or_insert_with(|| Longest::of(bytes));
        let index = longest.first();
        let Some(bucket) = self.buckets[usize::from(index)].as_mut() else { return };
        if let Some(head) = bucket.queue.pop_front() {
            let len = head.meta.len as usize;
            bucket.bytes -= len;
            longest.set(index, bucket.bytes);
            self.bytes -= len;
            self.packets -= 1;
            self.drops.full += 1;
        }
    }
}

/// Finds the bucket that holds the most bytes: a binary tree of comparisons over all buckets.
///
/// A change takes 10 comparisons. The tree is made when the queue is full for the first time, and
/// dropped when the queue is half empty, so that a queue that is seldom full has no work with it.
#[derive(Debug)]
struct Longest {
    /// For each node of the tree, the largest number of bytes of a bucket below the node, and the
    /// bucket. Node n has the children 2n and 2n + 1; node 1 is the root. The buckets are the nodes
    /// from [`BUCKETS`] on. Of two equal buckets, the later one counts as longer.
    nodes: Vec<(usize, u16)>,
}

impl Longest {
    /// Makes the tree. `bytes` gives the bytes of each bucket.
    fn of(bytes: impl Fn(u16) -> usize) -> Longest {
        let mut nodes = vec![(0, 0); BUCKETS];
        nodes.extend((0..BUCKETS as u16).map(|index| (bytes(index), index)));
        for node in (1..BUCKETS).rev() {
            nodes[node] = nodes[2 * node].max(nodes[2 * node + 1]);
        }
        Longest { nodes }
    }

    /// The bucket that holds the most bytes.
    fn first(&self) -> u16 {
        self.nodes[1].1
    }

    /// Records that the bucket `index` now holds `bytes` bytes.
    fn set(&mut self, index: u16, bytes: usize) {
        let mut node = BUCKETS + usize::from(index);
        self.nodes[node].0 = bytes;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
    }
}

impl<P> Default for Bucket<P> {
    fn default() -> Bucket<P> {
        Bucket {
            queue: VecDeque::new(),
            bytes: 0,
            credit: 0,
            active: false,
            codel: Codel::default(),
            rate: FlowRate::default(),
            last_ack: None,
        }
    }
}

impl<P> Bucket<P> {
    /// Whether the packet acknowledges the same number as the last acknowledgement. Such a packet may be a duplicate
    /// acknowledgement. TCP counts these to detect losses (RFC 5681), so neither packet may be replaced.
    fn repeats_ack(&mut self, meta: &Meta) -> bool {
        let Some(ack) = meta.ack.map(|number| (meta.flow, number)) else { return false };
        let repeats = self.last_ack.replace(ack) == Some(ack);
        if let Some(last) = self.queue.back_mut().filter(|last| repeats && last.meta.flow == meta.flow) {
            last.repeated = true;
        }
        repeats
    }

    /// The last packet in the queue, if the plain acknowledgement described by `meta` makes it needless.
    fn outdated_by(&mut self, meta: &Meta) -> Option<&mut Queued<P>> {
        let new = meta.ack?;
        let last = self.queue.back_mut().filter(|last| last.meta.flow == meta.flow && !last.repeated)?;
        // Numbers wrap around (RFC 9293, section 3.4).
        (new.wrapping_sub(last.meta.ack?) as i32 > 0).then_some(last)
    }
}

/// CoDel's control law (RFC 8289, section 5).
#[derive(Clone, Copy, Debug, Default)]
struct Codel {
    /// Since when the time in the queue has exceeded the target. `None`: the time in the queue does
    /// not exceed the target.
    above_since: Option<Time>,
    /// Whether CoDel is in its dropping state.
    dropping: bool,
    /// When the next packet is dropped in the dropping state.
    next_drop: Time,
    /// CoDel's drop count. A larger count makes the time to the next drop shorter.
    count: u32,
    /// `count` when the last dropping state began.
    last_count: u32,
}

impl Codel {
    /// Whether to drop the packet that leaves the queue now. `short`: the packet's time in the
    /// queue was below the target, or the queue is nearly empty.
    fn drops(&mut self, now: Time, short: bool, interval: Duration) -> bool {
        if short {
            self.above_since = None;
            self.dropping = false;
            return false;
        }
        let above_since = *self.above_since.get_or_insert(now);
        if self.dropping {
            if now < self.next_drop {
                return false;
            }
            self.count = self.count.saturating_add(1);
            self.next_drop += self.pace(interval);
            return true;
        }
        if now.since(above_since) < interval {
            return false;
        }
        // If the last dropping state ended recently, continue at about the drop rate of that state
        // (RFC 8289, section 5).
        let recent = now.signed_since(self.next_drop) < 16 * interval.as_nanos() as i64;
        let delta = self.count.saturating_sub(self.last_count);
        self.count = if recent && delta > 1 { delta } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.next_drop = now + self.pace(interval);
        true
    }

    /// Time to the next drop: interval / sqrt(count).
    fn pace(&self, interval: Duration) -> Duration {
        Duration::from_nanos((interval.as_nanos() as f64 / f64::from(self.count.max(1)).sqrt()) as u64)
    }
}

/// The recent rate at which packets enter a bucket: an exponentially weighted average.
#[derive(Clone, Copy, Debug, Default)]
struct FlowRate {
    /// The rate at the time `last`, byte/s.
    rate: f64,
    last: Time,
}

impl FlowRate {
    /// Time constant of the average, s.
    ///
    /// Half the value makes a flow bulk after a shorter burst. Double the value keeps a flow bulk
    /// for longer after a burst.
    const TIME_CONSTANT: f64 = 0.5;

    /// Counts `bytes` that arrived at `now`, and returns the new rate, byte/s.
    fn count(&mut self, now: Time, bytes: usize) -> f64 {
        let dt = now.since(self.last).as_secs_f64();
        self.last = now;
        self.rate *= (-dt / Self::TIME_CONSTANT).exp();
        self.rate += bytes as f64 / Self::TIME_CONSTANT;
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(10);

    fn meta(flow: u64, len: u32) -> Meta {
        Meta { flow, order: Order::InOrder, len, ack: None }
    }

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    #[test]
    fn flows_share_by_bytes_and_new_ones_go_first() {
        let mut q = Ingress::new(1 << 20, 1500);
        for i in 0..100 {
            q.push(ms(0), (1, i), meta(1, 1500), 0.0);
        }
        for i in 0..300 {
            q.push(ms(0), (2, i), meta(2, 500), 0.0);
        }
        let mut sent = [0usize; 3];
        for _ in 0..200 {
            let head = q.pop(ms(1), DEADLINE, |_| false).unwrap();
            sent[head.payload.0] += head.meta.len as usize;
        }
        assert!(sent[1].abs_diff(sent[2]) <= 3000, "{sent:?}");
        q.push(ms(2), (3, 0), meta(3, 100), 0.0);
        let next: Vec<_> = (0..4).map(|_| q.pop(ms(2), DEADLINE, |_| false).unwrap().payload.0).collect();
        assert!(next.contains(&3), "{next:?}");
    }

    #[test]
    fn order_within_a_flow_is_kept() {
        let mut q = Ingress::new(1 << 20, 1500);
        for i in 0..50 {
            q.push(ms(0), i, meta(i % 5, 700), 0.0);
        }
        let mut last = [None; 5];
        while let Some(head) = q.pop(ms(1), DEADLINE, |_| false) {
            let flow = (head.payload % 5) as usize;
            assert!(last[flow] < Some(head.payload));
            last[flow] = Some(head.payload);
        }
        assert!(q.is_empty() && q.backlog() == (0, 0));
    }

    #[test]
    fn waiting_acknowledgements_are_thinned_but_not_duplicates() {
        let mut q = Ingress::new(1 << 20, 1500);
        let ack = |flow, number| Meta { flow, order: Order::Immediate, len: 52, ack: number };
        let same_bucket = 1 + BUCKETS as u64;
        let numbers = [
            (1, Some(u32::MAX - 5)), // replaced, although the next number has wrapped around
            (1, Some(10)),           // replaced
            (1, Some(20)),           // stays: a duplicate follows
            (1, Some(20)),           // stays: is a duplicate
            (1, Some(20)),           // stays: is a duplicate
            (1, Some(30)),           // stays: a packet that is no plain acknowledgement follows
            (1, None),
            (1, Some(40)),           // stays: the next number is lower
            (1, Some(35)),           // stays: a packet of another flow follows
            (same_bucket, Some(50)), // replaced
            (same_bucket, Some(60)),
        ];
        for (i, (flow, number)) in numbers.into_iter().enumerate() {
            q.push(ms(i as u64), i, ack(flow, number), 0.0);
        }
        let left: Vec<_> = std::iter::from_fn(|| q.pop(ms(20), DEADLINE, |_| false)).map(|head| head.payload).collect();
        assert_eq!(left, [2, 3, 4, 5, 6, 7, 8, 10]);
        assert_eq!((q.drops().thinned, q.backlog()), (3, (0, 0)));
    }

    #[test]
    fn a_standing_queue_is_cut_and_a_burst_is_not() {
        let mut q = Ingress::new(1 << 24, 1500);
        let mut serve = |arrivals: fn(u64) -> u64| {
            for t in 0..3_000u64 {
                for _ in 0..arrivals(t) {
                    q.push(ms(t), (), meta(7, 1500), 0.0);
                }
                q.pop(ms(t), DEADLINE, |_| false);
            }
            let dropped = q.drops().aqm;
            while q.pop(ms(3_000), DEADLINE, |_| false).is_some() {}
            q.drops = QueueDrops::default();
            dropped
        };
        assert!(serve(|t| if t == 0 { 40 } else { 1 }) > 0, "CoDel does not drop from a queue of 40 ms that lasts 3 s");
        assert_eq!(serve(|t| if t % 100 == 0 { 60 } else { 0 }), 0, "CoDel drops from bursts that drain in time");
    }

    /// ECN-capable packets are marked where other packets are dropped, at the same moments.
    #[test]
    fn capable_packets_are_marked_instead_of_dropped() {
        let serve = |capable: bool| {
            let mut q = Ingress::new(1 << 24, 1500);
            let mut marks = 0;
            for t in 0..1_000u64 {
                for _ in 0..if t == 0 { 40 } else { 1 } {
                    q.push(ms(t), false, meta(7, 1500), 0.0);
                }
                let mark = |packet: &mut bool| {
                    *packet = capable;
                    capable
                };
                marks += u64::from(q.pop(ms(t), DEADLINE, mark).is_some_and(|head| head.payload));
            }
            (q.drops(), marks)
        };
        let (dropped, none) = serve(false);
        assert!(dropped.aqm > 0 && dropped.marked == 0 && none == 0, "{dropped:?}");
        let (marked, marks) = serve(true);
        assert!(marked.aqm == 0 && marked.marked >= dropped.aqm && marks == marked.marked, "{marked:?} {marks}");
    }

    #[test]
    fn what_does_not_fit_or_waits_too_long_is_counted() {
        let mut q = Ingress::new(15_000, 1500);
        for _ in 0..12 {
            q.push(ms(0), (), meta(1, 1500), 0.0);
        }
        assert_eq!(q.drops().full, 2);
        assert!(q.pop(ms(20_000), DEADLINE, |_| false).is_none());
        assert_eq!(q.drops().expired, 10);
    }

    #[test]
    fn a_full_queue_drops_from_the_longest_bucket() {
        let mut q = Ingress::new(100_000, 1500);
        let mut random = ripstop_base::Seed::new(1).stream("longest");
        for step in 0..20_000u64 {
            if random.chance(0.7) {
                let bytes = |q: &Ingress<_>| -> Vec<usize> {
                    q.buckets.iter().map(|bucket| bucket.as_ref().map_or(0, |bucket| bucket.bytes)).collect()
                };
                let before = bytes(&q);
                let longest = before.iter().copied().max().unwrap_or(0);
                let drops = q.drops().full;
                let len = 50 + random.below(1400) as u32;
                q.push(ms(step), (), meta(random.below(300).pow(2), len), 0.0);
                if q.drops().full == drops + 1 {
                    let shorter = bytes(&q).into_iter().zip(before).find(|(now, before)| now < before);
                    // A bucket of equal length may have taken the new packet's place.
                    assert!(shorter.is_none_or(|(_, before)| before == longest), "step {step}");
                }
            } else {
                q.pop(ms(step), DEADLINE, |_| false);
            }
            assert!(q.backlog().1 <= 100_000);
        }
        assert!(q.drops().full > 1_000, "{:?}", q.drops());
        q.shrink_to(5_000);
        assert!((3_000..=5_000).contains(&q.backlog().1));
        q.shrink_to(0);
        assert!(q.is_empty() && q.pop(ms(20_000), DEADLINE, |_| false).is_none());
    }

    #[test]
    fn a_flow_of_small_rate_is_interactive() {
        let mut q = Ingress::new(1 << 20, 1500);
        let mut class = |now, flow, len| {
            q.push(now, (), meta(flow, len), 8_000.0);
            q.pop(now, DEADLINE, |_| false).unwrap().class
        };
        for i in 0..100u64 {
            assert_eq!(class(ms(50 * i), 1, 200), Class::Interactive);
        }
        let bulk = (0..100u64).filter(|i| class(ms(10 * i), 2, 1500) == Class::Bulk).count();
        assert!(bulk > 90, "{bulk}");
    }
}
