//! The queue of CoDel and of FQ-CoDel (RFC 8290): flows are hashed to sub-queues, the *buckets*,
//! which are served by deficit round robin. CoDel judges each packet that leaves a bucket. With a
//! single bucket the queue is a FIFO with CoDel.

use super::waiting::has_room;
use crate::config::Discipline;
use crate::link::{Backlog, Draws};
use ripstop_base::{Codel, QueueLimit, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// A packet pays for at most this many turns of its bucket. A packet of 65 535 bytes needs 1024
/// turns of the least quantum, so the bound only matters for sizes that no real packet has.
const MOST_TURNS: i64 = 1024;
/// The largest quantum in bytes. The product with [`MOST_TURNS`] must fit 64 bits. A quantum above
/// the largest packet gives each flow several packets in a turn. CoDel has only one bucket, so its
/// quantum has no effect.
const MOST_QUANTUM: u64 = 1 << 40;

/// A packet in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The caller's name for the packet.
    pub(crate) tag: u64,
    /// The packet's index among all packets offered to the link.
    pub(crate) index: u64,
    /// The packet's size in bytes.
    pub(crate) bytes: usize,
    /// When the packet was offered.
    pub(crate) since: Time,
    /// Whether the packet may be marked instead of dropped.
    pub(crate) may_mark: bool,
    /// The results of the packet's random draws.
    pub(crate) draws: Draws,
}

/// A packet that has left the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taken {
    /// The packet is sent. The flag tells whether CoDel marks it.
    Sent(Entry, bool),
    /// CoDel drops the packet.
    Dropped(Entry),
}

/// Packets that wait for serialisation, by flow.
#[derive(Clone, Debug)]
pub(crate) struct FairQueue {
    target: Duration,
    interval: Duration,
    /// Bytes that a bucket may send in one turn.
    quantum: i64,
    /// The number of buckets. `buckets` grows up to this number.
    most_buckets: u64,
    buckets: Vec<Bucket>,
    /// Buckets that have just become active. They are served before those in `old`.
    new: VecDeque<usize>,
    /// The other active buckets, served one after the other.
    old: VecDeque<usize>,
    backlog: Backlog,
    /// The largest packet so far, bytes.
    largest: u64,
}

#[derive(Clone, Debug, Default)]
struct Bucket {
    /// The packets with their sizes. A size may be cut, see [`FairQueue::push`].
    queue: VecDeque<(Entry, u64)>,
    /// Bytes in `queue`.
    bytes: u64,
    /// Bytes that the bucket may still send in this turn.
    credit: i64,
    /// Whether the bucket is in `FairQueue::new` or `FairQueue::old`.
    active: bool,
    codel: Codel,
}

impl FairQueue {
    /// An empty queue for `discipline`; None if the discipline needs no such queue.
    pub(crate) fn new(discipline: &Discipline) -> Option<FairQueue> {
        let (target, interval, quantum, flows) = match *discipline {
            Discipline::Fifo | Discipline::Pie { .. } => return None,
            Discipline::Codel { target, interval } => (target, interval, MOST_QUANTUM, 1),
            Discipline::Fq { target, interval, quantum, flows } => (target, interval, quantum.get(), flows),
        };
        Some(FairQueue {
            target: target.duration(),
            interval: interval.duration(),
            quantum: quantum.clamp(1, MOST_QUANTUM) as i64,
            most_buckets: flows.max(1).into(),
            buckets: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            backlog: Backlog::default(),
            largest: 0,
        })
    }

    /// How many packets and bytes wait.
    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Adds a packet of flow `flow` under the limit `limit`. Returns a packet that no longer fits.
    /// With one bucket this is the new packet. With several buckets it is the first packet of the
    /// longest bucket, because that packet's sender learns of the drop soonest (RFC 8290, section
    /// 4.1). The caller repeats [`FairQueue::shed`] until the limit is met.
    pub(crate) fn push(&mut self, entry: Entry, flow: u64, limit: Option<QueueLimit>) -> Option<Entry> {
        if self.most_buckets == 1 && !has_room(&self.backlog, limit, entry.bytes) {
            return Some(entry);
        }
        // The sum of sizes must not saturate, because a saturated sum could not be counted down
        // again. A size that would overflow the sum is cut.
        let bytes = (entry.bytes as u64).min(u64::MAX - self.backlog.bytes);
        self.largest = self.largest.max(bytes);
        let index = (scramble(flow) % self.most_buckets) as usize;
        if self.buckets.len() <= index {
            self.buckets.resize_with(index + 1, Bucket::default);
        }
        let bucket = &mut self.buckets[index];
        bucket.queue.push_back((entry, bytes));
        bucket.bytes += bytes;
        self.backlog.bytes += bytes;
        self.backlog.packets += 1;
        if !bucket.active {
            (bucket.active, bucket.credit) = (true, self.quantum);
            self.new.push_back(index);
        }
        self.shed(limit)
    }

    /// Removes the first packet of the longest bucket if the queue exceeds `limit`.
    pub(crate) fn shed(&mut self, limit: Option<QueueLimit>) -> Option<Entry> {
        let fits = match limit {
            None => true,
            Some(QueueLimit::Packets(most)) => self.backlog.packets <= most,
            Some(QueueLimit::Bytes(most)) => self.backlog.bytes <= most,
        };
        if fits {
            return None;
        }
        let longest = self.buckets.iter_mut().filter(|bucket| !bucket.queue.is_empty()).max_by_key(|b| b.bytes)?;
        let (entry, bytes) = longest.queue.pop_front()?;
        longest.bytes -= bytes;
        self.backlog.bytes -= bytes;
        self.backlog.packets -= 1;
        Some(entry)
    }

    /// Takes the next packet out of the queue at `now`. None if the queue is empty.
    pub(crate) fn take(&mut self, now: Time) -> Option<Taken> {
        loop {
            let from_new = !self.new.is_empty();
            let index = *self.new.front().or(self.old.front())?;
            let bucket = &mut self.buckets[index];
            if bucket.credit <= 0 {
                bucket.credit += self.quantum;
                self.rotate(from_new);
                continue;
            }
            let Some((entry, bytes)) = bucket.queue.pop_front() else {
                bucket.codel.rest();
                if from_new {
                    // The bucket stays active for one more turn. Otherwise a flow that sends single
                    // packets would always count as new (RFC 8290, section 4.2).
                    self.rotate(true);
                } else {
                    bucket.active = false;
                    self.old.pop_front();
                }
                continue;
            };
            bucket.bytes -= bytes;
            self.backlog.bytes -= bytes;
            self.backlog.packets -= 1;
            let short = now.since(entry.since) < self.target || bucket.bytes <= self.largest;
            let acts = bucket.codel.acts(now, short, self.interval);
            if acts && !entry.may_mark {
                return Some(Taken::Dropped(entry));
            }
            bucket.credit -= (bytes.min(MOST_QUANTUM * MOST_TURNS as u64) as i64).min(self.quantum * MOST_TURNS);
            return Some(Taken::Sent(entry, acts));
        }
    }

    /// Moves the first bucket of `new` (or of `old`) to the end of `old`.
    fn rotate(&mut self, from_new: bool) {
        let list = if from_new { &mut self.new } else { &mut self.old };
        if let Some(index) = list.pop_front() {
            self.old.push_back(index);
        }
    }
}

/// Spreads flow keys evenly over all numbers, so that keys such as 0, 1024 and 2048 do not meet in
/// one bucket. These are the steps of SplitMix64.
fn scramble(key: u64) -> u64 {
    let mut z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, bytes: usize, since: Time) -> Entry {
        Entry { tag: index, index, bytes, since, may_mark: false, draws: Draws::default() }
    }

    /// The tags in the order in which they leave at `now`.
    fn drain(queue: &mut FairQueue, now: Time) -> Vec<u64> {
        std::iter::from_fn(|| queue.take(now))
            .filter_map(|taken| match taken {
                Taken::Sent(entry, _) => Some(entry.tag),
                Taken::Dropped(_) => None,
            })
            .collect()
    }

    #[test]
    fn flows_share_by_bytes_and_new_ones_go_first() {
        let mut queue = FairQueue::new(&Discipline::fq()).unwrap();
        for k in 0..20 {
            assert!(queue.push(entry(100 + k, 1500, Time::ZERO), 1, None).is_none());
        }
        for k in 0..60 {
            assert!(queue.push(entry(200 + k, 500, Time::ZERO), 2, None).is_none());
        }
        let first: Vec<u64> = (0..40)
            .filter_map(|_| match queue.take(Time::ZERO)? {
                Taken::Sent(entry, _) => Some(entry.tag / 100),
                Taken::Dropped(_) => None,
            })
            .collect();
        let bytes = |flow, size| first.iter().filter(|f| **f == flow).count() * size;
        assert!(bytes(1, 1500).abs_diff(bytes(2, 500)) <= 3028, "{first:?}");
        assert!(queue.push(entry(300, 100, Time::ZERO), 3, None).is_none());
        assert!(drain(&mut queue, Time::ZERO)[..4].contains(&300));
        assert_eq!(queue.backlog(), Backlog::default());
    }

    #[test]
    fn a_full_queue_drops_from_the_longest_flow() {
        let limit = Some(QueueLimit::Packets(10));
        let mut fq = FairQueue::new(&Discipline::fq()).unwrap();
        let mut codel = FairQueue::new(&Discipline::codel()).unwrap();
        for k in 0..10 {
            let flow = u64::from(k >= 8);
            assert!(fq.push(entry(k, 1000, Time::ZERO), flow, limit).is_none());
            assert!(codel.push(entry(k, 1000, Time::ZERO), flow, limit).is_none());
        }
        assert_eq!(fq.push(entry(10, 1000, Time::ZERO), 1, limit).map(|entry| entry.tag), Some(0));
        assert_eq!(codel.push(entry(10, 1000, Time::ZERO), 1, limit).map(|entry| entry.tag), Some(10));
        assert_eq!(drain(&mut codel, Time::ZERO), (0..10).collect::<Vec<_>>());
        assert_eq!(fq.push(entry(11, 9_000, Time::ZERO), 2, Some(QueueLimit::Bytes(12_000))).map(|e| e.tag), Some(11));
    }

    #[test]
    fn a_hostile_size_does_not_stop_the_queue() {
        let mut queue = FairQueue::new(&Discipline::fq()).unwrap();
        for flow in 0..3 {
            assert!(queue.push(entry(flow, usize::MAX, Time::ZERO), flow, None).is_none());
        }
        assert_eq!(drain(&mut queue, Time::ZERO).len(), 3);
        assert_eq!(queue.backlog(), Backlog::default());
    }
}
