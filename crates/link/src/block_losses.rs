//! The lost units of one packet under a block code, counted block by block.

use crate::counters::LinkCounters;
use crate::fec::Fec;
use std::ops::Range;

/// Counts the lost units in each block of one packet. Losses must be added in ascending order.
#[derive(Debug)]
pub(crate) struct BlockLosses<'a> {
    n: u64,
    /// N - K: the number of lost units that a block can repair.
    spare: u64,
    /// The end of the last block that lost a unit.
    end: u64,
    /// Number of units that the block ending at `end` has lost.
    hits: u64,
    /// Units lost so far, in all blocks.
    units_lost: u64,
    /// Finished blocks that lost units, but no more than `spare`.
    recovered: u64,
    /// Finished blocks that lost more than `spare` units.
    lost: u64,
    /// Where to write the lost units, if they are kept.
    kept: Option<&'a mut Vec<Range<u32>>>,
}

impl<'a> BlockLosses<'a> {
    /// The losses of a packet of `code`. The lost units are also added to `kept`.
    pub(crate) fn new(code: &Fec, kept: Option<&'a mut Vec<Range<u32>>>) -> BlockLosses<'a> {
        let (n, k) = (u64::from(code.n.max(1)), u64::from(code.k));
        BlockLosses { n, spare: n.saturating_sub(k), end: n, hits: 0, units_lost: 0, recovered: 0, lost: 0, kept }
    }

    /// Records that the units `from..to` are lost, at least one unit.
    pub(crate) fn lose(&mut self, mut from: u64, to: u64) {
        self.units_lost += to - from;
        if let Some(kept) = &mut self.kept {
            // Unit numbers fit 32 bits, because only the first 2^20 units of a packet can be lost.
            let (from, to) = (from as u32, to as u32);
            match kept.last_mut() {
                Some(last) if last.end == from => last.end = to,
                _ => kept.push(from..to),
            }
        }
        while from < to {
            if from >= self.end {
                self.close();
                self.end = (from / self.n + 1) * self.n;
            }
            let until = to.min(self.end);
            self.hits += until - from;
            from = until;
        }
    }

    /// Finishes the last block that lost a unit, and counts it.
    fn close(&mut self) {
        if self.hits > self.spare {
            self.lost += 1;
        } else if self.hits > 0 {
            self.recovered += 1;
        }
        self.hits = 0;
    }

    /// Ends the packet: adds the packet's losses to `counters`, and returns whether the packet lost
    /// a block.
    pub(crate) fn count(mut self, counters: &mut LinkCounters) -> bool {
        if self.units_lost == 0 {
            return false;
        }
        self.close();
        counters.units_lost += self.units_lost;
        counters.blocks_recovered += self.recovered;
        counters.blocks_lost += self.lost;
        self.lost > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Loss;

    #[test]
    fn losses_are_counted_block_by_block() {
        // The blocks have 4 units and survive one loss. They lose 3, 0, 1 and 2 units.
        let mut kept = Vec::new();
        let mut blocks = BlockLosses::new(&Fec::new(4, 3, Loss::None), Some(&mut kept));
        blocks.lose(0, 1);
        blocks.lose(2, 4);
        blocks.lose(11, 12);
        blocks.lose(12, 14);
        let mut counters = LinkCounters::default();
        assert!(blocks.count(&mut counters));
        assert_eq!((counters.units_lost, counters.blocks_recovered, counters.blocks_lost), (6, 1, 2));
        assert_eq!(kept, [0..1, 2..4, 11..14]);
    }
}
