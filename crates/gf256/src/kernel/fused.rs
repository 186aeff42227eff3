//! The fused product. It computes M outputs from K sources: each output is the sum of all sources,
//! each multiplied by a factor. While a sum is computed, it stays in registers (the
//! *accumulators*). A source is loaded once for M multiplications, and an output is stored once for
//! K sources.
//!
//! Sources are processed in groups of at most [`TILE`], called *tiles*. The limit bounds the tables
//! on the stack, and keeps the tile's sources in the second-level cache while all outputs are
//! computed. At most [`Lanes::OUTPUTS`] outputs are computed at a time, with two vectors of each
//! output. A *column* is the bytes at the same offset of all sources and outputs.
//!
//! Sources may have any length and count as padded with zeros. Within a tile the sources are sorted
//! from long to short. The sources that are long enough to reach a given column are therefore
//! always the first sources of the tile.

use super::lanes::{Engine, Lanes, Rectangle, Table, WIDEST};
use crate::memory::CHUNK;
use std::mem::MaybeUninit;

/// The largest number of sources in a tile. 64 sources of 1500 bytes take a tenth of a megabyte,
/// which fits into the second-level cache. Up to 64 sources are one tile. With more sources, each
/// output is loaded and stored once per tile. Half the value doubles these accesses; double the
/// value doubles the cache and stack memory.
pub(super) const TILE: usize = 64;
/// The largest number of outputs that any instruction set computes at a time: the largest
/// [`Lanes::OUTPUTS`]. With a smaller value, the instruction set with this number would compute
/// fewer outputs at a time.
pub(super) const MOST_OUTPUTS: usize = 8;
/// How many sources ahead of its use a source is prefetched, if there is one output. With half the number, sources that
/// come from the third-level cache come late. Double the number takes twice the room in the first-level cache: 4 sources
/// of 1400 bytes take a sixth of it, and a product of 256 sources then takes 3 to 7 % more time.
const SOURCES_AHEAD: usize = 2;
/// The inputs of a product, and where to write its outputs.
pub(super) struct Product<'a> {
    /// The factor of source k in output m is `coefficients[m * sources.len() + k]`.
    pub(super) coefficients: &'a [u8],
    pub(super) outputs: &'a [*mut u8],
    /// The length of each output in bytes.
    pub(super) len: usize,
    pub(super) sources: &'a [&'a [u8]],
    /// Whether to add to the outputs instead of overwriting them.
    pub(super) accumulate: bool,
}

/// Computes `job` with the instruction set `E`.
///
/// # Safety
/// The processor has E's instructions. Every output is valid for writes of `len` bytes (initialised
/// if `accumulate`) and overlaps no other output and no source. There is a coefficient for each
/// pair of output and source.
pub(super) unsafe fn product<E: Engine>(job: &Product<'_>) {
    if !job.accumulate && job.sources.is_empty() {
        for output in job.outputs {
            // SAFETY: outputs are valid for `len` bytes.
            unsafe { output.write_bytes(0, job.len) };
        }
    }
    let mut table: Table<E::Entry> = [const { MaybeUninit::uninit() }; _];
    let mut sorted = [0; TILE];
    let limit = E::OUTPUTS.min(MOST_OUTPUTS);
    let mut room = Room::new();
    for first in (0..job.sources.len()).step_by(TILE) {
        let tile = Tile::new(&job.sources[first..job.sources.len().min(first + TILE)], &mut room);
        let accumulate = job.accumulate || first > 0;
        // The outputs are split into blocks that are as equal in size as possible. Five outputs
        // with a limit of four become 3 + 2 instead of 4 + 1.
        let mut rest = job.outputs.len();
        let mut done = 0;
        while rest > 0 {
            let block = rest.div_ceil(rest.div_ceil(limit));
            let outputs = &job.outputs[done..done + block];
            let count = tile.sources.len();
            for (m, entries) in table.chunks_exact_mut(TILE).enumerate().take(block) {
                let mut row = &job.coefficients[(done + m) * job.sources.len() + first..][..count];
                if let Some(order) = tile.order {
                    sorted.iter_mut().zip(order).for_each(|(c, k)| *c = row[usize::from(*k)]);
                    row = &sorted[..count];
                }
                // SAFETY: `entries` has room for TILE entries. The caller promises the instructions.
                unsafe { E::tabulate(row, entries) };
            }
            // SAFETY: `count` entries were written for each of the `block` outputs. The caller
            // promises that the pointers are valid and that the processor has the instructions.
            unsafe { tile.run::<E>(&table, outputs, job.len, accumulate) };
            done += block;
            rest -= block;
        }
    }
}

/// At most [`TILE`] sources, from long to short.
pub(super) struct Tile<'a> {
    sources: &'a [&'a [u8]],
    /// The original index of each source; None if sorting did not change the order.
    order: Option<&'a [u8]>,
}

/// Memory for the sorted sources.
pub(super) struct Room<'a> {
    sources: [MaybeUninit<&'a [u8]>; TILE],
    order: [u8; TILE],
}

impl<'a> Room<'a> {
    #[inline]
    pub(super) fn new() -> Room<'a> {
        Room { sources: [const { MaybeUninit::uninit() }; TILE], order: [0; TILE] }
    }

    #[cold]
    fn sort<'r>(&'r mut self, sources: &[&'a [u8]]) -> Tile<'r> {
        let count = sources.len().min(TILE);
        let order = &mut self.order[..count];
        order.iter_mut().enumerate().for_each(|(slot, k)| *k = slot as u8);
        order.sort_by_key(|k| std::cmp::Reverse(sources[usize::from(*k)].len()));
        for (to, k) in self.sources.iter_mut().zip(&*order) {
            to.write(sources[usize::from(*k)]);
        }
        // SAFETY: the first `count` entries were written.
        let sorted = unsafe { std::slice::from_raw_parts(self.sources.as_ptr().cast(), count) };
        Tile { sources: sorted, order: Some(order) }
    }
}

impl<'a> Tile<'a> {
    #[inline]
    pub(super) fn new<'s: 'a>(sources: &'a [&'s [u8]], room: &'a mut Room<'s>) -> Tile<'a> {
        let falling = sources.windows(2).fold(true, |falling, two| falling & (two[0].len() >= two[1].len()));
        if falling { Tile { sources, order: None } } else { room.sort(sources) }
    }

    /// The sources, from long to short.
    #[inline]
    pub(super) fn sources(&self) -> &'a [&'a [u8]] {
        self.sources
    }

    /// Adds the tile's part of the product to `outputs`, or overwrites `outputs` if `accumulate` is
    /// false. `table` holds the factors.
    ///
    /// # Safety
    /// As for [`product`]. `table` has a factor for each pair of output and source.
    unsafe fn run<E: Engine>(&self, table: &Table<E::Entry>, outputs: &[*mut u8], len: usize, accumulate: bool) {
        let mut at = 0;
        let mut reach = self.sources.len();
        while at < len {
            while reach > 0 && self.sources[reach - 1].len() <= at {
                reach -= 1;
            }
            if reach == 0 {
                if !accumulate {
                    for output in outputs {
                        // SAFETY: outputs are valid for `len` bytes.
                        unsafe { output.add(at).write_bytes(0, len - at) };
                    }
                }
                return;
            }
            let end = len.min(self.sources[reach - 1].len());
            let whole = at + (end - at) / E::WIDTH * E::WIDTH;
            // SAFETY: the caller's promises. The first `reach` sources and all outputs have at
            // least `whole` bytes.
            unsafe {
                if whole > at {
                    let sources = &self.sources[..reach];
                    E::rectangle(&Rectangle { table, sources, outputs, from: at, to: whole, accumulate });
                    at = whole;
                } else {
                    self.ragged::<E>(reach, table, outputs, at, len, accumulate);
                    at += E::WIDTH;
                }
            }
        }
    }

    /// Computes one vector of each output, where a source or the outputs end within this vector.
    /// The function works on copies that are padded with zeros.
    ///
    /// # Safety
    /// As for [`Tile::run`]. Exactly the first `reach` sources have more than `at` bytes, and `at`
    /// is less than `len`.
    #[cold]
    unsafe fn ragged<E: Engine>(
        &self,
        reach: usize,
        table: &Table<E::Entry>,
        outputs: &[*mut u8],
        at: usize,
        len: usize,
        accumulate: bool,
    ) {
        let mut copies = [[0; WIDEST]; TILE];
        let mut sums = [[0; WIDEST]; MOST_OUTPUTS];
        let mut results = [std::ptr::null_mut(); MOST_OUTPUTS];
        let kept = (len - at).min(E::WIDTH);
        // SAFETY: each of the first `reach` sources has more than `at` bytes, and each output has
        // `len` bytes, which is more than `at`. The copies are as wide as the widest vector.
        unsafe {
            for (slot, copy) in copies.iter_mut().enumerate().take(reach) {
                let source = self.sources[slot];
                let size = (source.len() - at).min(E::WIDTH);
                copy.as_mut_ptr().copy_from_nonoverlapping(source.as_ptr().add(at), size);
            }
            for (m, output) in outputs.iter().enumerate() {
                if accumulate {
                    sums[m].as_mut_ptr().copy_from_nonoverlapping(output.add(at), kept);
                }
                results[m] = sums[m].as_mut_ptr();
            }
            let outputs_here = &results[..outputs.len()];
            let sources: [&[u8]; TILE] = std::array::from_fn(|slot| &copies[slot][..]);
            let sources = &sources[..reach];
            E::rectangle(&Rectangle { table, sources, outputs: outputs_here, from: 0, to: E::WIDTH, accumulate });
            for (m, output) in outputs.iter().enumerate() {
                output.add(at).copy_from_nonoverlapping(results[m], kept);
            }
        }
    }
}

/// The inner loop. It computes `M` outputs. At a time it computes as many vectors of each output as
/// fit into the registers.
///
/// # Safety
/// As for [`Engine::rectangle`], with exactly `M` outputs.
#[inline(always)]
pub(super) unsafe fn rectangle<L: Lanes, const M: usize>(of: &Rectangle<'_, L::Entry>) {
    let mut at = of.from;
    // SAFETY: `to - from` is a multiple of WIDTH, so each vector lies completely below `to`.
    unsafe {
        if M == 1 {
            // The only output can use all registers. Each source is then read in few long parts.
            while at + 4 * L::WIDTH <= of.to {
                let left = (of.to - at) / L::WIDTH;
                let count = left.div_ceil(left.div_ceil(L::ONLY));
                at += L::WIDTH * wide::<L>(of, at, count);
            }
        }
        while at + 2 * L::WIDTH <= of.to {
            columns::<L, M, 2>(of, at);
            at += 2 * L::WIDTH;
        }
        while at < of.to {
            columns::<L, M, 1>(of, at);
            at += L::WIDTH;
        }
    }
}

/// Computes about `count` vectors of the only output, from byte `at` on: never more, and at least 4. Returns their
/// number. `count` is at least 4 and at most [`Lanes::ONLY`].
#[inline(always)]
unsafe fn wide<L: Lanes>(of: &Rectangle<'_, L::Entry>, at: usize, count: usize) -> usize {
    // SAFETY: passed on to the caller. An arm with more vectors than registers is not compiled.
    unsafe {
        match count {
            24.. if L::ONLY >= 24 => (wide_columns::<L, 24>(of, at), 24).1,
            22.. if L::ONLY >= 24 => (wide_columns::<L, 22>(of, at), 22).1,
            12.. if L::ONLY >= 12 => (wide_columns::<L, 12>(of, at), 12).1,
            11 if L::ONLY >= 12 => (wide_columns::<L, 11>(of, at), 11).1,
            8.. if L::ONLY >= 8 => (wide_columns::<L, 8>(of, at), 8).1,
            6.. => (wide_columns::<L, 6>(of, at), 6).1,
            _ => (wide_columns::<L, 4>(of, at), 4).1,
        }
    }
}

/// Computes `C` vectors of the only output, from byte `at` on. Reads a long part of one source after the other.
#[inline(always)]
unsafe fn wide_columns<L: Lanes, const C: usize>(of: &Rectangle<'_, L::Entry>, at: usize) {
    // SAFETY: sources and the output are valid for C vectors from byte `at` on. The table has an entry for each source.
    unsafe {
        let output = of.outputs.get_unchecked(0).add(at);
        let mut sums = [L::zero(); C];
        if of.accumulate {
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = L::load(output.add(c * L::WIDTH));
            }
        }
        let from = |source: &&[u8]| source.as_ptr().add(at);
        let vector = |from: *const u8, c: usize| L::prepare(L::load(from.add(c * L::WIDTH)));
        let mut pairs = of.sources.chunks_exact(2);
        let mut entry = of.table.as_ptr().cast::<L::Entry>();
        let mut later = of.sources.iter().skip(SOURCES_AHEAD);
        for pair in &mut pairs {
            later.by_ref().take(2).for_each(|source| prefetch_part::<L, C>(from(source)));
            let (s0, s1) = (from(pair.get_unchecked(0)), from(pair.get_unchecked(1)));
            let (f0, f1) = (L::factor(entry), L::factor(entry.add(1)));
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = L::add_two(*sum, vector(s0, c), f0, vector(s1, c), f1);
            }
            entry = entry.add(2);
        }
        for source in pairs.remainder() {
            let (s, f) = (from(source), L::factor(entry));
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = L::xor(*sum, L::times(vector(s, c), f));
            }
        }
        for (c, sum) in sums.iter().enumerate() {
            L::store(output.add(c * L::WIDTH), *sum);
        }
    }
}

/// Computes `C` vectors of each of the `M` outputs, from byte `at` on.
#[inline(always)]
unsafe fn columns<L: Lanes, const M: usize, const C: usize>(of: &Rectangle<'_, L::Entry>, at: usize) {
    // SAFETY: sources and outputs are valid for C vectors from byte `at` on. The table has an entry
    // for each pair of source and output.
    unsafe {
        let mut sums = [[L::zero(); C]; M];
        if of.accumulate {
            for (m, sums) in sums.iter_mut().enumerate() {
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum = L::load(of.outputs.get_unchecked(m).add(at + c * L::WIDTH));
                }
            }
        }
        let mut source = of.sources.as_ptr();
        let end = source.add(of.sources.len());
        let mut entry = of.table.as_ptr().cast::<L::Entry>();
        if L::PAIRS {
            let last_pair = source.add(of.sources.len() & !1);
            while source < last_pair {
                let s0 = load::<L, C>((*source).as_ptr().add(at));
                let s1 = load::<L, C>((*source.add(1)).as_ptr().add(at));
                prefetch::<L, M, C>((*source).as_ptr(), at);
                prefetch::<L, M, C>((*source.add(1)).as_ptr(), at);
                for (m, sums) in sums.iter_mut().enumerate() {
                    let f0 = L::factor(entry.add(m * TILE));
                    let f1 = L::factor(entry.add(m * TILE + 1));
                    for (c, sum) in sums.iter_mut().enumerate() {
                        *sum = L::add_two(*sum, s0[c], f0, s1[c], f1);
                    }
                }
                source = source.add(2);
                entry = entry.add(2);
            }
        }
        while source < end {
            let s = load::<L, C>((*source).as_ptr().add(at));
            prefetch::<L, M, C>((*source).as_ptr(), at);
            for (m, sums) in sums.iter_mut().enumerate() {
                let f = L::factor(entry.add(m * TILE));
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum = L::xor(*sum, L::times(s[c], f));
                }
            }
            source = source.add(1);
            entry = entry.add(1);
        }
        for (m, sums) in sums.iter().enumerate() {
            for (c, sum) in sums.iter().enumerate() {
                L::store(of.outputs.get_unchecked(m).add(at + c * L::WIDTH), *sum);
            }
        }
    }
}

/// Prefetches the next bytes of a source. The processor would not prefetch them by itself: the loop
/// reads a little of each source in turn, so the processor detects no stream. With more than four
/// outputs, the arithmetic takes longer than the memory accesses, and prefetching would only cost
/// instructions.
#[inline(always)]
unsafe fn prefetch<L: Lanes, const M: usize, const C: usize>(source: *const u8, at: usize) {
    if M <= 4 {
        for line in 0..C * L::WIDTH / CHUNK {
            // SAFETY: the caller guarantees the instructions. The address of a hint may be invalid.
            unsafe { L::prefetch(source.wrapping_add(at + C * L::WIDTH + line * CHUNK)) };
        }
    }
}

/// Prefetches `C` vectors from `from` on.
#[inline(always)]
unsafe fn prefetch_part<L: Lanes, const C: usize>(from: *const u8) {
    for line in 0..C * L::WIDTH / CHUNK {
        // SAFETY: the caller guarantees the instructions. The address of a hint may be invalid.
        unsafe { L::prefetch(from.wrapping_add(line * CHUNK)) };
    }
}

/// Loads and prepares `C` vectors.
#[inline(always)]
unsafe fn load<L: Lanes, const C: usize>(from: *const u8) -> [L::Source; C] {
    // SAFETY: the caller's pointer is valid for C vectors.
    unsafe {
        let mut source = [L::prepare(L::zero()); C];
        for (c, source) in source.iter_mut().enumerate() {
            *source = L::prepare(L::load(from.add(c * L::WIDTH)));
        }
        source
    }
}
