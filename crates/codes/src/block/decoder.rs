//! The receiver of a block.

use super::BlockCode;
use crate::{Matrix, Payload};
use ripstop_gf256::{Chunk, Kernel, bytes, bytes_mut, chunks_for};

/// What the decoder did with a symbol that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockArrival {
    /// The symbol is one of the first K different symbols of the block, so it is useful.
    Innovative,
    /// A repair that is not needed, because the block was complete already.
    Redundant,
    /// The symbol arrived before, or it is a source symbol that was decoded already.
    Duplicate,
    /// The code has no symbol with this index. The decoder is unchanged.
    OutOfRange,
}

/// The counters of a decoder since the decoder was made, over all blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounters {
    /// Symbols that were [`BlockArrival::Innovative`].
    pub innovative: u64,
    /// Symbols that were [`BlockArrival::Redundant`].
    pub redundant: u64,
    /// Symbols that were [`BlockArrival::Duplicate`].
    pub duplicate: u64,
    /// Symbols that were [`BlockArrival::OutOfRange`].
    pub out_of_range: u64,
    /// Source symbols that were computed from other symbols.
    pub decoded: u64,
    /// Blocks in which at least one source symbol was computed from other symbols.
    pub blocks_decoded: u64,
}

/// Restores the source symbols of a block from any K of its symbols.
///
/// The caller gives each symbol that arrives to [`BlockDecoder::symbol`], in any order. Then
/// [`BlockDecoder::poll_source`] returns the source symbols that became known: a source symbol that
/// arrives is known at once, and the K-th different symbol of the block makes all source symbols
/// known. [`BlockDecoder::reset`] prepares the decoder for the next block.
///
/// A decoded symbol is as long as the longest of the K symbols from which it was computed. If the
/// source symbol was shorter, zeros follow it. The caller must know the right length, for example
/// because it is a part of the content.
///
/// The decoder holds at most N symbols. Its scratch memory for coefficients takes less than 64 kB.
#[derive(Clone, Debug)]
pub struct BlockDecoder<P> {
    code: BlockCode,
    /// The first K different symbols, in the order of arrival.
    arrived: Vec<P>,
    /// The indices of the symbols in `arrived`.
    indices: Vec<u8>,
    /// The source symbols that were computed.
    decoded: Vec<P>,
    /// The indices of the symbols in `decoded`.
    lost: Vec<u16>,
    /// For each index of the code, where the symbol is: a position in `arrived`, K more than a
    /// position in `decoded`, or [`NOWHERE`].
    places: Vec<u8>,
    /// The positions in `arrived` of the repairs.
    repairs: Vec<u8>,
    /// The number of entries of `arrived`, and then of `decoded`, that
    /// [`BlockDecoder::poll_source`] has passed.
    polled: usize,
    counters: BlockCounters,
    work: Work,
}

/// The place of a symbol that is not held.
const NOWHERE: u8 = u8::MAX;

/// Scratch memory of [`BlockDecoder::decode`].
#[derive(Clone, Debug, Default)]
struct Work {
    /// The equations: one row of coefficients for each repair.
    rows: Vec<Chunk>,
    /// For each lost source symbol, the repair whose equation gives it.
    order: Vec<u8>,
    /// The positions in [`BlockDecoder::arrived`] of the symbols that are combined. The repairs take
    /// the places of the lost source symbols.
    used: Vec<u8>,
    /// For each lost source symbol, the factors of the K symbols that arrived.
    factors: Matrix,
}

impl<P: Payload> BlockDecoder<P> {
    /// A decoder that waits for the symbols of a block of `code`.
    pub fn new(code: &BlockCode) -> BlockDecoder<P> {
        BlockDecoder {
            arrived: Vec::with_capacity(code.k()),
            indices: Vec::with_capacity(code.k()),
            decoded: Vec::new(),
            lost: Vec::new(),
            places: vec![NOWHERE; code.n()],
            repairs: Vec::new(),
            polled: 0,
            counters: BlockCounters::default(),
            work: Work::default(),
            code: code.clone(),
        }
    }

    /// Takes the symbol with this index of the current block. If it is the K-th different symbol,
    /// the decoder computes all lost source symbols.
    #[inline]
    pub fn symbol(&mut self, index: usize, payload: P) -> BlockArrival {
        let Some(place) = self.places.get_mut(index) else {
            self.counters.out_of_range += 1;
            return BlockArrival::OutOfRange;
        };
        if *place != NOWHERE {
            self.counters.duplicate += 1;
            return BlockArrival::Duplicate;
        }
        let k = self.code.k();
        if self.arrived.len() == k {
            self.counters.redundant += 1;
            return BlockArrival::Redundant;
        }
        *place = self.arrived.len() as u8;
        if index >= k {
            self.repairs.push(*place);
        }
        self.arrived.push(payload);
        self.indices.push(index as u8);
        self.counters.innovative += 1;
        if self.arrived.len() == k && !self.repairs.is_empty() {
            self.decode();
        }
        BlockArrival::Innovative
    }

    /// The next source symbol that became known, with its index. None until another source symbol
    /// becomes known.
    pub fn poll_source(&mut self) -> Option<(usize, &P)> {
        while self.indices.get(self.polled).is_some_and(|index| usize::from(*index) >= self.code.k()) {
            self.polled += 1;
        }
        let at = self.polled;
        let (index, payload) = match self.arrived.get(at) {
            Some(payload) => (usize::from(*self.indices.get(at)?), payload),
            None => (usize::from(*self.lost.get(at - self.arrived.len())?), self.decoded.get(at - self.arrived.len())?),
        };
        self.polled += 1;
        Some((index, payload))
    }

    /// The source symbol with this index. None if it is not known, or if the code has no such
    /// source symbol.
    pub fn get(&self, index: usize) -> Option<&P> {
        let place = usize::from(*self.places[..self.code.k()].get(index)?);
        self.arrived.get(place).or_else(|| self.decoded.get(place.checked_sub(self.code.k())?))
    }

    /// Whether all source symbols of the block are known.
    pub fn is_complete(&self) -> bool {
        self.arrived.len() - self.repairs.len() + self.decoded.len() == self.code.k()
    }

    /// The number of further symbols that the block needs. They may be any symbols of the block
    /// that have not arrived yet.
    pub fn still_needed(&self) -> usize {
        self.code.k() - self.arrived.len()
    }

    /// Forgets the current block. The next symbol belongs to a new block.
    pub fn reset(&mut self) {
        self.arrived.clear();
        self.indices.clear();
        self.decoded.clear();
        self.lost.clear();
        self.places.fill(NOWHERE);
        self.repairs.clear();
        self.polled = 0;
    }

    /// The code.
    pub fn code(&self) -> &BlockCode {
        &self.code
    }

    /// The counters since the decoder was made.
    pub fn counters(&self) -> BlockCounters {
        self.counters
    }

    /// Computes the lost source symbols. There must be as many repairs as lost source symbols.
    fn decode(&mut self) {
        let k = self.code.k();
        self.lost.resize(self.repairs.len(), 0);
        let mut found = 0;
        for (index, place) in self.places[..k].iter().enumerate() {
            // Without branches, because the processor cannot predict which symbols are lost.
            if let Some(lost) = self.lost.get_mut(found) {
                *lost = index as u16;
            }
            found += usize::from(*place == NOWHERE);
        }
        if P::CONTENT {
            let solved = self.solve();
            debug_assert!(solved, "every square part of the code's matrix is invertible");
            if !solved {
                return;
            }
            let Work { order, used, factors, .. } = &mut self.work;
            used.clear();
            used.extend_from_slice(&self.places[..k]);
            for (index, equation) in self.lost.iter().zip(&*order) {
                used[usize::from(*index)] = self.repairs[usize::from(*equation)];
            }
            let payloads: Vec<&P> = used.iter().map(|at| &self.arrived[usize::from(*at)]).collect();
            P::combine_into(factors, &payloads, &mut self.decoded);
        } else if let Some(longest) = self.arrived.iter().max_by_key(|payload| payload.len()) {
            // Each of the K symbols has a nonzero factor in each lost symbol, because fewer than K
            // symbols restore nothing. So the longest of them gives the length.
            self.decoded.resize(self.lost.len(), longest.clone());
        }
        for (at, index) in self.lost.iter().enumerate() {
            self.places[usize::from(*index)] = (k + at) as u8;
        }
        self.counters.decoded += self.decoded.len() as u64;
        self.counters.blocks_decoded += 1;
    }

    /// Solves the repairs' equations for the lost source symbols, on coefficients alone. Writes the
    /// result to `work.factors` and `work.order`. Returns whether there is a solution.
    fn solve(&mut self) -> bool {
        let Work { rows, order, factors, .. } = &mut self.work;
        let (size, k) = (self.lost.len(), self.code.k());
        let width = chunks_for(k);
        rows.clear();
        rows.resize(size * width, Chunk::ZERO);
        for (row, at) in rows.chunks_exact_mut(width).zip(&self.repairs) {
            let Some(coefficients) = self.code.coefficients(self.indices[usize::from(*at)].into()) else {
                return false;
            };
            bytes_mut(row)[..k].copy_from_slice(coefficients);
        }
        if !Kernel::chosen().eliminate(rows, width, &self.lost, order) {
            return false;
        }
        factors.reset(size, k);
        for (m, row) in rows.chunks_exact(width).enumerate() {
            factors.row_mut(m).copy_from_slice(&bytes(row)[..k]);
        }
        true
    }
}
