//! The block code of a link, applied to the bytes of packets.
//!
//! The link decides which units of a packet are lost, and whether the packet survives. Here the
//! packet is cut into units, its repair units are computed, the lost units are erased, and the blocks
//! are decoded from the units that are left.

use ripstop_codes::Symbol;
use ripstop_codes::block::{BlockCode, BlockDecoder, BlockError};
use ripstop_link::Fec;
use serde::Serialize;
use std::ops::Range;

/// What the block code of one direction did. All zero without a block code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BlockCodeCounters {
    /// Blocks that were sent, each with its repair units.
    pub blocks_encoded: u64,
    /// Blocks that lost source units and were restored by decoding.
    pub blocks_restored: u64,
    /// Source units that were computed from other units of their block, units of padding included.
    pub units_recovered: u64,
    /// Blocks of which fewer than K units arrived.
    pub blocks_not_restored: u64,
    /// Packets for which the decoder and the link disagreed: on the number of blocks that were lost,
    /// or because the decoded bytes were wrong. Always 0, unless there is an error in this program.
    pub disagreements: u64,
}

/// Encodes and decodes the packets of one direction.
///
/// All blocks of a packet are encoded in one product: unit j of every block together form source
/// symbol j. So the time for encoding follows the bytes on the link, however small the units are.
/// Only blocks that lost source units are decoded.
#[derive(Debug)]
pub(super) struct PacketCoder {
    code: BlockCode,
    /// The size of a unit in bytes.
    unit: usize,
    decoder: BlockDecoder<Symbol>,
    /// For each source unit of a block, this unit of all blocks, one block after the other.
    sources: Vec<Symbol>,
    /// The same for the repair units.
    repairs: Vec<Symbol>,
    /// Which units of the block at hand arrived.
    arrived: Vec<bool>,
    /// The packet before its lost units were erased.
    original: Vec<u8>,
    counters: BlockCodeCounters,
}

impl PacketCoder {
    /// The coder for the block code `fec`.
    ///
    /// # Errors
    /// If there is no block code of this shape.
    pub(super) fn new(fec: &Fec) -> Result<PacketCoder, BlockError> {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let code = BlockCode::new(size(fec.n.into()), size(fec.k.into()))?;
        Ok(PacketCoder {
            unit: size(fec.unit.get()).max(1),
            decoder: BlockDecoder::new(&code),
            sources: Vec::new(),
            repairs: Vec::new(),
            arrived: vec![true; code.n()],
            original: Vec::new(),
            counters: BlockCodeCounters::default(),
            code,
        })
    }

    /// What the code did so far.
    pub(super) fn counters(&self) -> BlockCodeCounters {
        self.counters
    }

    /// Sends `packet` over a link that loses the units `lost` ([`ripstop_link::Link::lost_units`]),
    /// and puts the decoded bytes into its place. Returns whether the packet was restored. If it was
    /// not, its bytes are useless. `blocks_lost` is the number of blocks that the packet lost
    /// according to the link.
    pub(super) fn carry(&mut self, packet: &mut [u8], lost: &[Range<u32>], blocks_lost: u64) -> bool {
        self.encode(packet);
        self.original.clear();
        self.original.extend_from_slice(packet);
        let n = self.code.n();
        let mut units = lost.iter().cloned().flatten().map(|unit| unit as usize).peekable();
        let mut failed = 0;
        while let Some(block) = units.peek().map(|unit| unit / n) {
            self.arrived.fill(true);
            while let Some(unit) = units.next_if(|unit| unit / n == block) {
                self.arrived[unit % n] = false;
            }
            failed += u64::from(!self.restore(packet, block));
        }
        let restored = failed == 0 && *packet == self.original;
        if failed != blocks_lost || (failed == 0 && !restored) {
            self.counters.disagreements += 1;
        }
        restored
    }

    /// Computes the repair units of all blocks of `packet`.
    fn encode(&mut self, packet: &[u8]) {
        let (unit, k) = (self.unit, self.code.k());
        let blocks = packet.len().div_ceil(unit.saturating_mul(k));
        self.sources.clear();
        self.repairs.clear();
        for index in 0..k {
            // The units of the last block may be short or empty. They count as padded with zeros.
            let last = self.bytes(packet, blocks.saturating_sub(1), index).len();
            let len = blocks.saturating_sub(1) * unit + last;
            self.sources.push(Symbol::build(len, |symbol| {
                for (block, part) in symbol.chunks_mut(unit).enumerate() {
                    part.copy_from_slice(&packet[self.bytes(packet, block, index)]);
                }
            }));
        }
        // There are K source symbols, so encoding cannot fail. If it did, there would be no repairs
        // to decode with, and `carry` would count a disagreement.
        let encoded = self.code.encode_into(&self.sources, &mut self.repairs);
        self.counters.blocks_encoded += if encoded.is_ok() { blocks as u64 } else { 0 };
    }

    /// Erases the units of a block that did not arrive, and decodes the block. Returns whether all
    /// its source units are known.
    fn restore(&mut self, packet: &mut [u8], block: usize) -> bool {
        let (unit, k) = (self.unit, self.code.k());
        if self.arrived[..k].iter().all(|arrived| *arrived) {
            return true;
        }
        self.decoder.reset();
        for index in 0..k {
            let bytes = self.bytes(packet, block, index);
            if self.arrived[index] {
                self.decoder.symbol(index, Symbol::from_slice(&packet[bytes]));
            } else {
                packet[bytes].fill(0);
            }
        }
        for (repair, symbol) in self.repairs.iter().enumerate() {
            if self.decoder.is_complete() {
                break;
            }
            if self.arrived[k + repair] {
                let unit = symbol.as_slice().chunks(unit).nth(block).unwrap_or_default();
                self.decoder.symbol(k + repair, Symbol::from_slice(unit));
            }
        }
        if !self.decoder.is_complete() {
            self.counters.blocks_not_restored += 1;
            return false;
        }
        self.counters.blocks_restored += 1;
        for index in (0..k).filter(|index| !self.arrived[*index]) {
            let bytes = self.bytes(packet, block, index);
            if let Some(decoded) = self.decoder.get(index).and_then(|symbol| symbol.as_slice().get(..bytes.len())) {
                packet[bytes].copy_from_slice(decoded);
            }
            self.counters.units_recovered += 1;
        }
        true
    }

    /// Where source unit `index` of a block lies in `packet`. The range is shorter than a unit where
    /// the packet ends.
    fn bytes(&self, packet: &[u8], block: usize, index: usize) -> Range<usize> {
        let start = block.saturating_mul(self.code.k()).saturating_add(index).saturating_mul(self.unit);
        let start = start.min(packet.len());
        start..start.saturating_add(self.unit).min(packet.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::{Bytes, Seed};
    use ripstop_link::Loss;

    fn coder(n: u32, k: u32, unit: u64) -> PacketCoder {
        PacketCoder::new(&Fec { unit: Bytes::new(unit), ..Fec::new(n, k, Loss::None) }).unwrap()
    }

    /// The lost units of a packet that lost one run of units.
    fn only(run: Range<u32>) -> Vec<Range<u32>> {
        std::iter::once(run).collect()
    }

    /// Sends packets that lose random units. A packet must be restored exactly if no block lost more
    /// than N-K units.
    #[test]
    fn packets_survive_what_the_code_repairs() {
        let mut random = Seed::new(3).stream("packets");
        let mut all = BlockCodeCounters::default();
        for (n, k, unit) in [(22, 20, 53), (6, 4, 7), (1, 1, 1), (5, 1, 1), (9, 9, 64), (3, 2, 5000), (255, 128, 3)] {
            let mut coder = coder(n, k, unit);
            for round in 0..60 {
                let len = random.below(1501) as usize;
                let mut packet = vec![0; len];
                random.fill(&mut packet);
                let blocks = (len as u64).div_ceil(u64::from(k) * unit);
                let loss = [0.0, 0.5 * f64::from(n - k) / f64::from(n), 0.5][round % 3];
                let lost: Vec<u32> = (0..blocks as u32 * n).filter(|_| random.chance(loss)).collect();
                let broken = lost.chunk_by(|a, b| a / n == b / n).filter(|lost| lost.len() as u32 > n - k).count();
                let ranges: Vec<Range<u32>> = lost.iter().map(|unit| *unit..*unit + 1).collect();
                let original = packet.clone();
                let before = coder.counters();
                let restored = coder.carry(&mut packet, &ranges, broken as u64);
                assert_eq!(restored, broken == 0, "({n}, {k}), unit {unit}, {len} bytes: {lost:?}");
                assert!(!restored || packet == original);
                let after = coder.counters();
                assert_eq!(after.blocks_encoded - before.blocks_encoded, blocks);
                assert_eq!(after.blocks_not_restored - before.blocks_not_restored, broken as u64);
                assert_eq!(after.disagreements, 0);
            }
            let counters = coder.counters();
            all.blocks_restored += counters.blocks_restored;
            all.units_recovered += counters.units_recovered;
        }
        assert!(all.blocks_restored > 1000 && all.units_recovered > all.blocks_restored, "{all:?}");
    }

    #[test]
    fn lost_units_are_really_erased_and_computed() {
        let mut coder = coder(4, 2, 10);
        let mut packet: Vec<u8> = (1..=20).collect();
        // Both source units are lost, so all bytes come from the repairs.
        assert!(coder.carry(&mut packet, &only(0..2), 0));
        assert_eq!(packet, (1..=20).collect::<Vec<u8>>());
        assert!(!coder.carry(&mut packet, &[0..1, 2..4], 1));
        assert_eq!(packet[..10], [0; 10]);
        let counters = coder.counters();
        assert_eq!((counters.blocks_encoded, counters.blocks_restored), (2, 1));
        assert_eq!((counters.units_recovered, counters.blocks_not_restored, counters.disagreements), (2, 1, 0));
    }

    #[test]
    fn a_disagreement_with_the_link_is_counted() {
        let mut coder = coder(3, 2, 10);
        let mut packet = [7; 20];
        // The link says that a block is lost, but the decoder restores the block.
        assert!(coder.carry(&mut packet, &only(0..1), 1));
        assert_eq!(coder.counters().disagreements, 1);
        // The link says that the packet arrives, but too many units are lost.
        assert!(!coder.carry(&mut packet, &only(0..2), 0));
        assert_eq!(coder.counters().disagreements, 2);
        // The packet has one block. A unit of a second block changes nothing.
        assert!(coder.carry(&mut [7; 20], &only(300..301), 0));
        assert_eq!(coder.counters().disagreements, 2);
        assert!(coder.carry(&mut [], &[], 0));
    }
}
