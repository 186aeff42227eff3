//! The way in: a queue for each flow, served in turn, each kept short (FQ-CoDel, RFC 8290, with
//! CoDel of RFC 8289).
//!
//! It sits where the inner TCP's bottleneck is, so this is where its bursts wait and where it is told to
//! slow down: nothing behind it drops for lack of room. Flows are also told apart by their rate: *interactive* flows
//! use so little of the path that their packets may be protected ahead of losses at a generous rate.

use super::inner::{Meta, Order};
use ripstop_base::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// Flows are hashed to so many queues, at both ends alike.
pub(super) const BUCKETS: usize = 1024;

/// The bucket of a flow.
pub(super) fn bucket_of(flow: u64) -> u16 {
    (flow % BUCKETS as u64) as u16
}

/// How a flow's packets are protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// Much of the path's rate: repairs trade delay against bandwidth.
    #[default]
    Bulk,
    /// Little of it: repairs are cheap.
    Interactive,
}

/// A packet on its way out of the queue.
#[derive(Debug)]
pub(super) struct Queued<P> {
    pub(super) payload: P,
    pub(super) meta: Meta,
    pub(super) class: Class,
    /// When it came in.
    pub(super) since: Time,
}

/// What became of packets that did not leave the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueDrops {
    /// No room.
    pub full: u64,
    /// Dropped by CoDel, to tell the flow to slow down.
    pub aqm: u64,
    /// Waited longer than a packet may wait for delivery.
    pub expired: u64,
}

/// The queues of one tunnel.
#[derive(Debug)]
pub(super) struct Ingress<P> {
    buckets: Vec<Bucket<P>>,
    /// Buckets with packets: those that just became active, then the others, in turn.
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    bytes: usize,
    limit: usize,
    packets: usize,
    quantum: i64,
    target: Duration,
    interval: Duration,
    drops: QueueDrops,
}

#[derive(Debug)]
struct Bucket<P> {
    queue: VecDeque<Queued<P>>,
    bytes: usize,
    credit: i64,
    active: bool,
    codel: Codel,
    rate: FlowRate,
}

impl<P> Ingress<P> {
    /// Empty queues that hold up to `limit` bytes of packets of up to `quantum` bytes.
    pub(super) fn new(limit: usize, quantum: u32) -> Ingress<P> {
        Ingress {
            buckets: (0..BUCKETS)
                .map(|_| Bucket {
                    queue: VecDeque::new(),
                    bytes: 0,
                    credit: 0,
                    active: false,
                    codel: Codel::default(),
                    rate: FlowRate::default(),
                })
                .collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            bytes: 0,
            limit,
            packets: 0,
            quantum: i64::from(quantum),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            drops: QueueDrops::default(),
        }
    }

    /// Follows the tunnel: its round-trip time, and how much longer packets are `held`, at worst of late, until
    /// those before them are recovered. An inner TCP needs a queue of some of the round trip to keep the path
    /// busy while it reduces its window, and one for the bursts in which held packets come out and are answered; and
    /// it needs a round trip of its own to react.
    pub(super) fn set_rtt(&mut self, rtt: Duration, held: Duration) {
        self.target = (rtt * 2 / 5 + held * 3 / 4).max(Duration::from_millis(5));
        self.interval = (2 * (rtt + held)).max(Duration::from_millis(100));
    }

    /// Takes a packet in. `interactive_below` (byte/s) is the flow rate up to which a flow is interactive.
    pub(super) fn push(&mut self, now: Time, payload: P, meta: Meta, interactive_below: f64) {
        let index = bucket_of(meta.flow);
        let len = meta.len as usize;
        while self.bytes + len > self.limit && self.bytes > 0 {
            self.drop_from_longest();
        }
        let bucket = &mut self.buckets[usize::from(index)];
        let rate = bucket.rate.count(now, len);
        // A bare acknowledgement is protected by the next one.
        let interactive = meta.order == Order::InOrder && rate < interactive_below && bucket.bytes < 16_000;
        let class = if interactive { Class::Interactive } else { Class::Bulk };
        bucket.queue.push_back(Queued { payload, meta, class, since: now });
        bucket.bytes += len;
        self.bytes += len;
        self.packets += 1;
        if !bucket.active {
            bucket.active = true;
            bucket.credit = self.quantum;
            self.new.push_back(index);
        }
    }

    /// The next packet to send, dropping on the way what CoDel or the deadline takes. `expires` is
    /// how long a packet may have waited.
    pub(super) fn pop(&mut self, now: Time, expires: Duration) -> Option<Queued<P>> {
        loop {
            let from_new = !self.new.is_empty();
            let index = *self.new.front().or(self.old.front())?;
            let bucket = &mut self.buckets[usize::from(index)];
            if bucket.credit <= 0 {
                bucket.credit += self.quantum;
                self.rotate(from_new);
                continue;
            }
            let Some(head) = bucket.queue.pop_front() else {
                if from_new {
                    // Stay listed for one round more, or a flow of single packets would always be new.
                    self.rotate(true);
                } else {
                    bucket.active = false;
                    self.old.pop_front();
                }
                continue;
            };
            let len = head.meta.len as usize;
            bucket.bytes -= len;
            self.bytes -= len;
            self.packets -= 1;
            let sojourn = now.since(head.since);
            if sojourn > expires {
                self.drops.expired += 1;
                continue;
            }
            // A queue of no more than two packets is as short as it gets.
            let short = sojourn < self.target || bucket.bytes <= 2 * self.quantum as usize;
            if bucket.codel.drops(now, short, self.interval) {
                self.drops.aqm += 1;
                continue;
            }
            bucket.credit -= len as i64;
            return Some(head);
        }
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Packets and bytes waiting.
    pub(super) fn backlog(&self) -> (usize, usize) {
        (self.packets, self.bytes)
    }

    /// What was dropped so far, and why.
    pub(super) fn drops(&self) -> QueueDrops {
        self.drops
    }

    fn rotate(&mut self, from_new: bool) {
        let list = if from_new { &mut self.new } else { &mut self.old };
        if let Some(index) = list.pop_front() {
            self.old.push_back(index);
        }
    }

    /// Makes room at the expense of the flow that takes most of it, from its head: the sooner its
    /// sender hears of it.
    fn drop_from_longest(&mut self) {
        let Some(longest) = self.buckets.iter_mut().max_by_key(|bucket| bucket.bytes) else { return };
        if let Some(head) = longest.queue.pop_front() {
            let len = head.meta.len as usize;
            longest.bytes -= len;
            self.bytes -= len;
            self.packets -= 1;
            self.drops.full += 1;
        }
    }
}

/// CoDel's control law (RFC 8289 section 5).
#[derive(Clone, Copy, Debug, Default)]
struct Codel {
    above_since: Option<Time>,
    dropping: bool,
    next_drop: Time,
    count: u32,
    last_count: u32,
}

impl Codel {
    /// Whether the packet that leaves the queue now, `short` or not, is to be dropped.
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
        // Back so soon: go on at the rate that worked last time.
        let recent = now.signed_since(self.next_drop) < 16 * interval.as_nanos() as i64;
        let delta = self.count.saturating_sub(self.last_count);
        self.count = if recent && delta > 1 { delta } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.next_drop = now + self.pace(interval);
        true
    }

    fn pace(&self, interval: Duration) -> Duration {
        Duration::from_nanos((interval.as_nanos() as f64 / f64::from(self.count.max(1)).sqrt()) as u64)
    }
}

/// A flow's rate of late, byte/s.
#[derive(Clone, Copy, Debug, Default)]
struct FlowRate {
    rate: f64,
    last: Time,
}

impl FlowRate {
    const TIME_CONSTANT: f64 = 0.5;

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

    const PATIENT: Duration = Duration::from_secs(10);

    fn meta(flow: u64, len: u32) -> Meta {
        Meta { flow, order: Order::InOrder, len }
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
            let head = q.pop(ms(1), PATIENT).unwrap();
            sent[head.payload.0] += head.meta.len as usize;
        }
        assert!(sent[1].abs_diff(sent[2]) <= 3000, "{sent:?}");
        q.push(ms(2), (3, 0), meta(3, 100), 0.0);
        let next: Vec<_> = (0..4).map(|_| q.pop(ms(2), PATIENT).unwrap().payload.0).collect();
        assert!(next.contains(&3), "{next:?}");
    }

    #[test]
    fn order_within_a_flow_is_kept() {
        let mut q = Ingress::new(1 << 20, 1500);
        for i in 0..50 {
            q.push(ms(0), i, meta(i % 5, 700), 0.0);
        }
        let mut last = [None; 5];
        while let Some(head) = q.pop(ms(1), PATIENT) {
            let flow = (head.payload % 5) as usize;
            assert!(last[flow] < Some(head.payload));
            last[flow] = Some(head.payload);
        }
        assert!(q.is_empty() && q.backlog() == (0, 0));
    }

    #[test]
    fn a_standing_queue_is_cut_and_a_burst_is_not() {
        let mut q = Ingress::new(1 << 24, 1500);
        let mut serve = |arrivals: fn(u64) -> u64| {
            for t in 0..3_000u64 {
                for _ in 0..arrivals(t) {
                    q.push(ms(t), (), meta(7, 1500), 0.0);
                }
                q.pop(ms(t), PATIENT);
            }
            let dropped = q.drops().aqm;
            while q.pop(ms(3_000), PATIENT).is_some() {}
            q.drops = QueueDrops::default();
            dropped
        };
        assert!(serve(|t| if t == 0 { 40 } else { 1 }) > 0, "a queue of 40 ms stands for 3 s");
        assert_eq!(serve(|t| if t % 100 == 0 { 60 } else { 0 }), 0, "bursts that drain");
    }

    #[test]
    fn what_does_not_fit_or_waits_too_long_is_counted() {
        let mut q = Ingress::new(15_000, 1500);
        for _ in 0..12 {
            q.push(ms(0), (), meta(1, 1500), 0.0);
        }
        assert_eq!(q.drops().full, 2);
        assert!(q.pop(ms(20_000), PATIENT).is_none());
        assert_eq!(q.drops().expired, 10);
    }

    #[test]
    fn a_flow_of_small_rate_is_interactive() {
        let mut q = Ingress::new(1 << 20, 1500);
        let mut class = |now, flow, len| {
            q.push(now, (), meta(flow, len), 8_000.0);
            q.pop(now, PATIENT).unwrap().class
        };
        for i in 0..100u64 {
            assert_eq!(class(ms(50 * i), 1, 200), Class::Interactive);
        }
        let bulk = (0..100u64).filter(|i| class(ms(10 * i), 2, 1500) == Class::Bulk).count();
        assert!(bulk > 90, "{bulk}");
    }
}
