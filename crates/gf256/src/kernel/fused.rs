//! The fused product: M outputs from K sources with the accumulators in registers, so that a source
//! is loaded once for M multiplications and an output is stored once for K.
//!
//! Sources are taken in tiles of at most [`TILE`], which bounds the tables (on the stack) and keeps
//! what is read in the second-level cache while all outputs pass over it. Outputs are taken
//! [`Lanes::OUTPUTS`] at a time, two vectors wide.
//!
//! Sources may have any length and count as padded with zeros. Within a tile they are sorted by
//! falling length, so that those which reach a column are always a prefix of the tile's table.

use super::lanes::{Engine, Lanes, Rectangle};
use std::mem::MaybeUninit;

/// The most sources in one pass: 64 sources of 1500 bytes are a tenth of a megabyte.
const TILE: usize = 64;
/// The most outputs in one pass, over all engines.
const OUTPUTS: usize = 8;
/// The widest vector in bytes.
const WIDEST: usize = 64;

/// What a product is over: `outputs`, each `len` bytes long, from `sources`; the factor of source k
/// in output m is `coefficients[m * sources.len() + k]`.
pub(super) struct Product<'a> {
    pub(super) coefficients: &'a [u8],
    pub(super) outputs: &'a [*mut u8],
    pub(super) len: usize,
    pub(super) sources: &'a [&'a [u8]],
    pub(super) accumulate: bool,
}

/// Computes `job` with the engine `E`.
///
/// # Safety
/// The processor has E's instructions; every output is valid for writes of `len` bytes (initialised
/// bytes if `accumulate`) and overlaps no other output and no source; there is a coefficient for
/// each pair.
pub(super) unsafe fn product<E: Engine>(job: &Product<'_>) {
    if !job.accumulate && job.sources.is_empty() {
        for output in job.outputs {
            // SAFETY: outputs are valid for `len` bytes.
            unsafe { output.write_bytes(0, job.len) };
        }
    }
    let mut table: [MaybeUninit<E::Entry>; TILE * OUTPUTS] = [const { MaybeUninit::uninit() }; _];
    let limit = E::OUTPUTS.min(OUTPUTS);
    for first in (0..job.sources.len()).step_by(TILE) {
        let tile = Tile::new(&job.sources[first..job.sources.len().min(first + TILE)]);
        let accumulate = job.accumulate || first > 0;
        // Blocks as even as can be: five outputs at four a time are 3 + 2, not 4 + 1.
        let mut rest = job.outputs.len();
        let mut done = 0;
        while rest > 0 {
            let block = rest.div_ceil(rest.div_ceil(limit));
            let outputs = &job.outputs[done..done + block];
            for m in 0..block {
                let row = &job.coefficients[(done + m) * job.sources.len() + first..][..tile.count];
                let column = table[m..].iter_mut().step_by(block);
                if tile.sorted {
                    column.zip(row).for_each(|(entry, c)| {
                        entry.write(E::entry(*c));
                    });
                } else {
                    column.zip(&tile.order).take(row.len()).for_each(|(entry, k)| {
                        entry.write(E::entry(row[usize::from(*k)]));
                    });
                }
            }
            // SAFETY: the first `count * block` entries were written: `block` columns of `count`. The
            // rest is the caller's promise about the pointers and the processor.
            unsafe {
                let table = std::slice::from_raw_parts(table.as_ptr().cast(), tile.count * block);
                tile.run::<E>(table, outputs, job.len, accumulate);
            }
            done += block;
            rest -= block;
        }
    }
}

/// At most [`TILE`] sources, by falling length. Only the first `count` of each array are in use.
struct Tile {
    count: usize,
    /// Whether they stand in the order they were given in; if not, `order` tells it.
    sorted: bool,
    order: [u8; TILE],
    /// Where each source starts, and how long it is.
    ends: [(*const u8, usize); TILE],
}

impl Tile {
    #[inline]
    fn new(sources: &[&[u8]]) -> Tile {
        let mut tile = Tile {
            count: sources.len().min(TILE),
            sorted: true,
            order: [0; TILE],
            ends: [(std::ptr::null(), 0); TILE],
        };
        let mut before = usize::MAX;
        for (end, source) in tile.ends.iter_mut().zip(sources) {
            *end = (source.as_ptr(), source.len());
            tile.sorted &= source.len() <= before;
            before = source.len();
        }
        if !tile.sorted {
            tile.order = std::array::from_fn(|slot| slot as u8);
            tile.order[..tile.count].sort_by_key(|k| std::cmp::Reverse(sources[usize::from(*k)].len()));
            for (end, k) in tile.ends.iter_mut().zip(&tile.order).take(tile.count) {
                let source = sources[usize::from(*k)];
                *end = (source.as_ptr(), source.len());
            }
        }
        tile
    }

    /// Adds the tile's share to `outputs`, or writes it when not `accumulate`.
    unsafe fn run<E: Engine>(&self, table: &[E::Entry], outputs: &[*mut u8], len: usize, accumulate: bool) {
        let mut at = 0;
        let mut reach = self.count;
        while at < len {
            while reach > 0 && self.ends[reach - 1].1 <= at {
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
            let end = len.min(self.ends[reach - 1].1);
            let whole = at + (end - at) / E::WIDTH * E::WIDTH;
            // SAFETY: the caller's promises; all sources in reach and all outputs have `whole` bytes.
            unsafe {
                if whole > at {
                    let table = &table[..reach * outputs.len()];
                    let sources = &self.ends[..reach];
                    E::rectangle(&Rectangle { table, sources, outputs, from: at, to: whole, accumulate });
                    at = whole;
                } else {
                    self.ragged::<E>(&table[..reach * outputs.len()], outputs, at, len, accumulate);
                    at += E::WIDTH;
                }
            }
        }
    }

    /// One column in which a source or the outputs end: through padded copies.
    #[cold]
    unsafe fn ragged<E: Engine>(
        &self,
        table: &[E::Entry],
        outputs: &[*mut u8],
        at: usize,
        len: usize,
        accumulate: bool,
    ) {
        let reach = table.len() / outputs.len();
        let mut copies = [[0; WIDEST]; TILE];
        let mut sources = [(std::ptr::null(), 0); TILE];
        let mut sums = [[0; WIDEST]; OUTPUTS];
        let mut results = [std::ptr::null_mut(); OUTPUTS];
        let kept = (len - at).min(E::WIDTH);
        // SAFETY: a source in reach has more than `at` bytes and an output `len > at`; the copies
        // are as wide as any vector.
        unsafe {
            for (slot, copy) in copies.iter_mut().enumerate().take(reach) {
                let (source, len) = self.ends[slot];
                let size = (len - at).min(E::WIDTH);
                copy.as_mut_ptr().copy_from_nonoverlapping(source.add(at), size);
                sources[slot] = (copy.as_ptr(), WIDEST);
            }
            for (m, output) in outputs.iter().enumerate() {
                if accumulate {
                    sums[m].as_mut_ptr().copy_from_nonoverlapping(output.add(at), kept);
                }
                results[m] = sums[m].as_mut_ptr();
            }
            let outputs_here = &results[..outputs.len()];
            let sources = &sources[..reach];
            E::rectangle(&Rectangle {
                table,
                sources,
                outputs: outputs_here,
                from: 0,
                to: E::WIDTH,
                accumulate,
            });
            for (m, output) in outputs.iter().enumerate() {
                output.add(at).copy_from_nonoverlapping(results[m], kept);
            }
        }
    }
}

/// The inner kernel: `M` outputs, as many columns at a time as the registers hold.
///
/// # Safety
/// As [`Engine::rectangle`], with exactly `M` outputs.
#[inline(always)]
pub(super) unsafe fn rectangle<L: Lanes, const M: usize>(of: &Rectangle<'_, L::Entry>) {
    let mut at = of.from;
    // SAFETY: columns stay below `to`.
    unsafe {
        if M == 1 {
            while at + 4 * L::WIDTH <= of.to {
                columns::<L, M, 4>(of, at);
                at += 4 * L::WIDTH;
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

#[inline(always)]
unsafe fn columns<L: Lanes, const M: usize, const C: usize>(of: &Rectangle<'_, L::Entry>, at: usize) {
    // SAFETY: sources and outputs are valid at `at` for C vectors; the table has M entries a source.
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
        let mut entry = of.table.as_ptr();
        if L::PAIRS {
            let last_pair = source.add(of.sources.len() & !1);
            while source < last_pair {
                let s0 = load::<L, C>((*source).0.add(at));
                let s1 = load::<L, C>((*source.add(1)).0.add(at));
                for (m, sums) in sums.iter_mut().enumerate() {
                    let f0 = L::factor(entry.add(m));
                    let f1 = L::factor(entry.add(M + m));
                    for (c, sum) in sums.iter_mut().enumerate() {
                        *sum = L::add_two(*sum, s0[c], f0, s1[c], f1);
                    }
                }
                source = source.add(2);
                entry = entry.add(2 * M);
            }
        }
        while source < end {
            let s = load::<L, C>((*source).0.add(at));
            for (m, sums) in sums.iter_mut().enumerate() {
                let f = L::factor(entry.add(m));
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum = L::xor(*sum, L::times(s[c], f));
                }
            }
            source = source.add(1);
            entry = entry.add(M);
        }
        for (m, sums) in sums.iter().enumerate() {
            for (c, sum) in sums.iter().enumerate() {
                L::store(of.outputs.get_unchecked(m).add(at + c * L::WIDTH), *sum);
            }
        }
    }
}

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
