//! The sub-queues of the ingress queue. All flows with the same hash share one bucket.

use super::Queued;
use crate::coding::PACKET;
use crate::packets::Meta;
use ripstop_base::{Codel, Time};
use std::collections::VecDeque;

/// Number of buckets that flows are hashed to. Both ends must use the same number.
///
/// 1024 is the default of FQ-CoDel (RFC 8290). Flows in the same bucket share one queue and wait
/// for each other's losses. Half the number doubles the chance that two flows share a bucket.
/// Double the number halves this chance and costs more memory.
pub(crate) const BUCKETS: usize = 1024;

/// Returns the bucket of a flow.
pub(crate) fn bucket_of(flow: u64) -> u16 {
    (flow % BUCKETS as u64) as u16
}

/// A bucket: the queue of all flows with the same [`bucket_of`].
#[derive(Debug)]
pub(crate) struct Bucket<P> {
    pub(crate) queue: VecDeque<Queued<P>>,
    /// Bytes in `queue`.
    pub(crate) bytes: usize,
    /// Bytes that the bucket may still send in this turn.
    pub(crate) credit: i64,
    /// Whether the bucket is listed in `Ingress::new` or `Ingress::old`.
    pub(crate) active: bool,
    pub(crate) codel: Codel,
    pub(crate) rate: FlowRate,
    /// The flow and the number of the last TCP acknowledgement that entered.
    last_ack: Option<(u64, u32)>,
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

/// Room for packets that an empty bucket keeps. Unit: packets. With half the value, a bucket allocates more often. Double
/// the value takes up to 10 MB more for a peer whose buckets were all long once.
const KEPT: usize = 64;

impl<P> Bucket<P> {
    /// Takes the bucket, which is empty, out of service. Frees the room of a queue that was long.
    pub(crate) fn rest(&mut self) {
        self.active = false;
        if self.queue.capacity() > KEPT {
            self.queue = VecDeque::new();
        }
    }

    /// Frees most of the room that the packets do not need.
    pub(crate) fn fit(&mut self) {
        if self.queue.capacity() > KEPT.max(2 * self.queue.len()) {
            self.queue.shrink_to_fit();
        }
    }

    /// Memory that the bucket's packets take, bytes.
    pub(crate) fn held(&self) -> usize {
        self.bytes + self.queue.len() * PACKET
    }

    /// Whether the packet acknowledges the same number as the last acknowledgement. Such a packet may be a duplicate
    /// acknowledgement. TCP counts these to detect losses (RFC 5681), so neither packet may be replaced.
    pub(crate) fn repeats_ack(&mut self, meta: &Meta) -> bool {
        let Some(ack) = meta.ack.map(|number| (meta.flow, number)) else { return false };
        let repeats = self.last_ack.replace(ack) == Some(ack);
        if let Some(last) = self.queue.back_mut().filter(|last| repeats && last.meta.flow == meta.flow) {
            last.repeated = true;
        }
        repeats
    }

    /// The last packet in the queue, if the plain acknowledgement described by `meta` makes it needless.
    pub(crate) fn outdated_by(&mut self, meta: &Meta) -> Option<&mut Queued<P>> {
        let new = meta.ack?;
        let last = self.queue.back_mut().filter(|last| last.meta.flow == meta.flow && !last.repeated)?;
        // Numbers wrap around (RFC 9293, section 3.4).
        (new.wrapping_sub(last.meta.ack?) as i32 > 0).then_some(last)
    }
}

/// The recent rate at which packets enter a bucket: an exponentially weighted average.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowRate {
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
    pub(crate) fn count(&mut self, now: Time, bytes: usize) -> f64 {
        // Packets that come together need no decay: it would be a factor of 1.
        if now != self.last {
            let dt = now.since(self.last).as_secs_f64();
            self.last = now;
            self.rate *= (-dt / Self::TIME_CONSTANT).exp();
        }
        self.rate += bytes as f64 / Self::TIME_CONSTANT;
        self.rate
    }
}
