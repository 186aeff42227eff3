//! The queue of a link whose packets leave in the order in which they were offered. The start of
//! each packet's serialisation is known when the packet is offered.

use crate::link::Backlog;
use ripstop_base::{QueueLimit, Time};
use std::collections::VecDeque;

/// The packets that wait for serialisation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// The time at which each packet begins to leave, and its size in bytes.
    queue: VecDeque<(Time, u64)>,
    pub(crate) backlog: Backlog,
}

impl Waiting {
    /// Removes the packets whose serialisation has begun by `now`.
    #[inline]
    pub(crate) fn leave(&mut self, now: Time) {
        while let Some(&(start, bytes)) = self.queue.front() {
            if start > now {
                break;
            }
            self.queue.pop_front();
            self.backlog.packets -= 1;
            self.backlog.bytes -= bytes;
        }
    }

    /// Adds a packet that begins to leave at `start`.
    #[inline]
    pub(crate) fn join(&mut self, start: Time, bytes: usize) {
        // The sum of sizes must not saturate, because a saturated sum could not be counted down
        // again. A size that would overflow the sum is cut.
        let bytes = (bytes as u64).min(u64::MAX - self.backlog.bytes);
        self.queue.push_back((start, bytes));
        self.backlog.packets += 1;
        self.backlog.bytes += bytes;
    }
}

/// Whether a packet of `bytes` bytes may wait under `limit`, beside the packets of `backlog`.
pub(crate) fn has_room(backlog: &Backlog, limit: Option<QueueLimit>, bytes: usize) -> bool {
    match limit {
        None => true,
        Some(QueueLimit::Packets(most)) => backlog.packets < most,
        Some(QueueLimit::Bytes(most)) => backlog.bytes.saturating_add(bytes as u64) <= most,
    }
}
