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

mod bucket;
mod longest;
#[cfg(test)]
mod tests;

pub(crate) use bucket::{BUCKETS, bucket_of};

use super::class::Class;
use super::inner_packet::Meta;
use crate::coding::PACKET;
use bucket::Bucket;
use longest::Longest;
use ripstop_base::Time;
use ripstop_base::counters;
use std::collections::VecDeque;
use std::time::Duration;

/// Limit on the packets in the ingress queue. Unit: packets.
///
/// The limit on bytes alone would hold half a million packets of 28 bytes, which take much more memory and time than their
/// bytes. A queue of full packets reaches its 16 MB with 11 000 packets, long before this limit. Half the value drops
/// packets of 500 bytes before 16 MB wait. Double the value takes up to 10 MB more memory for each peer.
pub(crate) const MOST_PACKETS: usize = 32_768;

/// A packet in the ingress queue.
#[derive(Debug)]
pub(crate) struct Queued<P> {
    pub(crate) payload: P,
    pub(crate) meta: Meta,
    pub(crate) class: Class,
    /// When the packet entered the queue. An acknowledgement that replaced another one has the time of the other.
    pub(crate) since: Time,
    /// Whether the packet is an acknowledgement that has the number of another one.
    pub(crate) repeated: bool,
}

counters! {
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
        /// ECN-capable packets that the send queue marked with Congestion Experienced instead of dropping them.
        pub marked: u64 => ("queue_marked", "queue_marked_total"),
    }
}

/// The ingress queue of one tunnel.
#[derive(Debug)]
pub(crate) struct Ingress<P> {
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
    /// The bucket that holds the most memory, while the queue is nearly full.
    longest: Option<Longest>,
    /// Bytes that a bucket may send in one turn.
    quantum: i64,
    /// CoDel's target: the longest acceptable time in the queue.
    target: Duration,
    /// CoDel's interval: how long the time in the queue must exceed the target before a drop.
    interval: Duration,
    drops: QueueDrops,
}

/// The ingress queue of a session that is over. Its packets wait for the next session.
#[derive(Debug)]
pub struct SendQueue<P> {
    pub(crate) ingress: Ingress<P>,
    pub(crate) longest_wait: Duration,
}

impl<P> SendQueue<P> {
    /// Number of packets in the queue.
    #[expect(clippy::len_without_is_empty, reason = "the number is wanted for the status")]
    pub fn len(&self) -> usize {
        self.ingress.packets
    }

    /// The longest time for which the session that is over let a packet wait in the queue.
    pub fn longest_wait(&self) -> Duration {
        self.longest_wait
    }

    /// Memory of the packets, bytes.
    pub fn memory(&self) -> usize {
        self.ingress.bytes + self.ingress.packets * PACKET
    }

    /// Drops the first packets of the buckets that hold the most memory, until the packets take at most `most` bytes. Returns
    /// the number of dropped packets.
    pub fn shrink_to(&mut self, most: usize) -> u64 {
        let before = self.len();
        while self.memory() > most && self.len() > 0 {
            self.ingress.drop_from_longest();
        }
        self.ingress.free_room();
        (before - self.len()) as u64
    }
}

impl<P> Ingress<P> {
    /// Creates an empty queue for up to `limit` bytes and [`MOST_PACKETS`] packets. `quantum` is the length of the
    /// longest packet, bytes.
    pub(crate) fn new(limit: usize, quantum: u32) -> Ingress<P> {
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

    /// Sets the length of the longest packet, bytes.
    pub(crate) fn set_quantum(&mut self, quantum: u32) {
        self.quantum = i64::from(quantum);
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
    pub(crate) fn set_rtt(&mut self, rtt: Duration, held: Duration) {
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

    /// Adds a packet. If the queue would exceed a limit, first drops packets of the longest bucket.
    ///
    /// The packet is interactive if two conditions hold:
    ///
    /// - The rate of the packet's bucket is less than `interactive_below`, byte/s (see `class.rs`).
    /// - Fewer than 16 000 bytes wait in the packet's bucket.
    ///
    /// Returns the packet's class.
    pub(crate) fn push(&mut self, now: Time, payload: P, meta: Meta, interactive_below: f64) -> Class {
        let index = bucket_of(meta.flow);
        let len = meta.len as usize;
        self.make_room(len);
        let bucket = self.buckets[usize::from(index)].get_or_insert_default();
        let rate = bucket.rate.count(now, len);
        let repeated = bucket.repeats_ack(&meta);
        if !repeated && let Some(old) = bucket.outdated_by(&meta) {
            let before = old.meta.len as usize;
            let class = old.class;
            (old.payload, old.meta) = (payload, meta);
            bucket.bytes = bucket.bytes - before + len;
            self.bytes = self.bytes - before + len;
            if let Some(longest) = &mut self.longest {
                longest.set(index, bucket.held());
            }
            self.drops.thinned += 1;
            return class;
        }
        let interactive = rate < interactive_below && bucket.bytes < 16_000;
        let class = if interactive { Class::Interactive } else { Class::Bulk };
        bucket.queue.push_back(Queued { payload, meta, class, since: now, repeated });
        self.added(index, len);
        class
    }

    /// Adds a packet in front of the packets of its bucket. Like [`Ingress::push`], drops packets if the queue would exceed
    /// a limit.
    pub(crate) fn push_front(&mut self, now: Time, payload: P, meta: Meta) {
        let (index, len) = (bucket_of(meta.flow), meta.len as usize);
        self.make_room(len);
        let bucket = self.buckets[usize::from(index)].get_or_insert_default();
        bucket.queue.push_front(Queued { payload, meta, class: Class::Bulk, since: now, repeated: true });
        self.added(index, len);
    }

    /// Begins the counts of drops anew: the queue goes on in a new session.
    pub(crate) fn restart(&mut self) {
        self.drops = QueueDrops::default();
    }

    /// Drops packets of the longest bucket until there is room for a packet of `len` bytes.
    fn make_room(&mut self, len: usize) {
        while (self.bytes + len > self.limit || self.packets >= MOST_PACKETS) && self.packets > 0 {
            self.drop_from_longest();
        }
        if self.bytes < self.limit / 2 && self.packets < MOST_PACKETS / 2 {
            self.longest = None;
        }
    }

    /// Counts a packet of `len` bytes that was added to the bucket `index`.
    fn added(&mut self, index: u16, len: usize) {
        let bucket = self.buckets[usize::from(index)].get_or_insert_default();
        bucket.bytes += len;
        if let Some(longest) = &mut self.longest {
            longest.set(index, bucket.held());
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
    pub(crate) fn pop(&mut self, now: Time, expires: Duration, mark: impl Fn(&mut P) -> bool) -> Option<Queued<P>> {
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
                    bucket.codel.rest();
                    bucket.rest();
                    self.old.pop_front();
                }
                continue;
            };
            let len = head.meta.len as usize;
            bucket.bytes -= len;
            if let Some(longest) = &mut self.longest {
                longest.set(index, bucket.held());
            }
            self.bytes -= len;
            self.packets -= 1;
            let sojourn = now.since(head.since);
            if sojourn > self.longest_wait(expires) {
                self.drops.expired += 1;
                continue;
            }
            // CoDel must not drop this packet if at most two full packets wait behind it. Drops
            // cannot shorten such a queue further.
            let interval = self.interval_for(sojourn);
            let bucket = self.buckets[usize::from(index)].get_or_insert_default();
            let short = sojourn < self.target || bucket.bytes <= 2 * self.quantum as usize;
            if bucket.codel.acts(now, short, interval) {
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

    /// How long a packet waits at most: `expires`, or longer so that CoDel can react first.
    pub(crate) fn longest_wait(&self, expires: Duration) -> Duration {
        expires.max(self.target + 2 * self.interval)
    }

    /// Whether the queue holds no packet.
    pub(crate) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Numbers of packets and bytes in the queue.
    pub(crate) fn backlog(&self) -> (usize, usize) {
        (self.packets, self.bytes)
    }

    /// Numbers of packets dropped so far, by reason.
    pub(crate) fn drops(&self) -> QueueDrops {
        self.drops
    }

    /// Moves the first bucket of `new` (or of `old`) to the end of `old`.
    fn rotate(&mut self, from_new: bool) {
        let list = if from_new { &mut self.new } else { &mut self.old };
        if let Some(index) = list.pop_front() {
            self.old.push_back(index);
        }
    }

    /// Drops the first packets of the buckets that hold the most memory, until the queue holds at
    /// most `bytes`.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        while self.bytes > bytes && self.packets > 0 {
            self.drop_from_longest();
        }
        self.free_room();
    }

    /// Frees the room of buckets that were longer.
    fn free_room(&mut self) {
        self.buckets.iter_mut().flatten().for_each(|bucket| bucket.fit());
    }

    /// Drops the first packet of the bucket that holds the most memory. The packet's sender notices
    /// the loss of the first packet sooner than the loss of the last packet.
    fn drop_from_longest(&mut self) {
        let buckets = &self.buckets;
        let held = |index: u16| buckets[usize::from(index)].as_ref().map_or(0, |bucket| bucket.held());
        let longest = self.longest.get_or_insert_with(|| Longest::of(held));
        let index = longest.first();
        let Some(bucket) = self.buckets[usize::from(index)].as_mut() else { return };
        if let Some(head) = bucket.queue.pop_front() {
            let len = head.meta.len as usize;
            bucket.bytes -= len;
            longest.set(index, bucket.held());
            self.bytes -= len;
            self.packets -= 1;
            self.drops.full += 1;
        }
    }
}
