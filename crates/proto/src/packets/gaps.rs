//! How far back the previous symbol of each flow is.

use super::gap::Gap;
use super::ingress::BUCKETS;

/// For each flow bucket (see `ingress/`), what the [`Gap`] of its next packet depends on.
#[derive(Debug)]
pub(crate) struct Gaps {
    /// The number of the bucket's last symbol that must be delivered in order.
    last: Vec<Option<u64>>,
    /// The number of the bucket's symbols that may not have arrived.
    not_arrived: Vec<u32>,
}

impl Gaps {
    /// No symbol has left.
    pub(crate) fn new() -> Gaps {
        Gaps { last: vec![None; BUCKETS], not_arrived: vec![0; BUCKETS] }
    }

    /// Records that symbol `id` leaves, with a packet of `bucket`. Returns the distance to the symbol for which this packet
    /// must wait. 0: there is none.
    pub(crate) fn leaves(&mut self, bucket: u16, id: u64) -> u64 {
        let last = self.last[usize::from(bucket)].replace(id);
        let waiting = &mut self.not_arrived[usize::from(bucket)];
        *waiting += 1;
        // If all earlier symbols of the bucket have arrived, the packet need not wait. With a
        // rounded gap, the receiver would wait for every symbol of other flows in its range.
        last.filter(|_| *waiting > 1).map_or(0, |last| id - last)
    }

    /// Records that later packets of `bucket` need not wait for one of its symbols.
    pub(crate) fn settled(&mut self, bucket: u16) {
        if let Some(waiting) = self.not_arrived.get_mut(usize::from(bucket)) {
            *waiting = waiting.saturating_sub(1);
        }
    }
}

/// The gap of a packet whose symbol has `len` bytes and may have `longest`: exact if there is room.
pub(crate) fn gap_for(distance: u64, len: usize, longest: usize) -> Gap {
    if len + Gap::TRAILER <= longest { Gap::exact(distance) } else { Gap::rounded(distance) }
}
