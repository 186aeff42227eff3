//! Sums of many sources over GF(2): the output is the XOR of all sources. While a part of the
//! output is computed, its sum stays in registers. Each source is loaded once and the output is
//! stored once, without any multiplication.
//!
//! Sources are processed in tiles, as in `fused.rs`: at most [`TILE`] sources, sorted from long to
//! short. Sources may have any length and count as padded with zeros.

use super::fused::{Room, TILE, Tile};
use super::lanes::{Engine, Lanes, Summation, WIDEST};
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Isa, Kernel, ProductMode, portable};
use crate::memory::{CHUNK, Fresh, Slot};
use std::mem::MaybeUninit;

/// The largest number of vectors that [`sum`] adds up together. Half the value reads the list of
/// sources twice as often. Double the value does not fit into the sixteen registers of AVX2.
const UNROLL: usize = 8;
impl Kernel {
    /// The XOR of all `sources`. `mode` says whether this sum replaces the output or is added to
    /// it.
    ///
    /// A source that is shorter than the output counts as padded with zeros. The part of a source
    /// beyond the output's end is ignored. Lengths that are multiples of 64 bytes are fast.
    pub fn sum(self, mode: ProductMode, output: &mut [u8], sources: &[&[u8]]) {
        let mut accumulate = mode == ProductMode::Accumulate;
        let (to, len) = (output.as_mut_ptr(), output.len());
        // SAFETY: the output is an exclusive borrow, so it overlaps no source.
        #[allow(unsafe_code, reason = "calls vector code")]
        unsafe {
            for tile in sources.chunks(TILE) {
                self.sum_of_tile(to, len, tile, accumulate);
                accumulate = true;
            }
            if !accumulate {
                self.sum_of_tile(to, len, &[], false);
            }
        }
    }

    /// A sum like [`Kernel::sum`] that is written to a new slot of `chunks` chunks. The slot is
    /// written once, without being cleared first.
    #[inline]
    pub fn sum_fresh<'a>(self, chunks: usize, sources: impl IntoIterator<Item = &'a [u8]>) -> Slot {
        let (mut fresh, mut sources) = (Fresh::new(chunks), sources.into_iter());
        let mut tile: [MaybeUninit<&[u8]>; TILE] = [const { MaybeUninit::uninit() }; TILE];
        let mut accumulate = false;
        loop {
            let mut count = 0;
            for (slot, source) in tile.iter_mut().zip(&mut sources) {
                slot.write(source);
                count += 1;
            }
            // SAFETY: the first `count` entries were written. New memory overlaps no source, and
            // the first sum writes all of it.
            #[allow(unsafe_code, reason = "the output is written without being initialised first")]
            unsafe {
                let tile = std::slice::from_raw_parts(tile.as_ptr().cast(), count);
                self.sum_of_tile(fresh.start(), chunks * CHUNK, tile, accumulate);
                if count < TILE {
                    return fresh.assume_written();
                }
            }
            accumulate = true;
        }
    }

    /// The sum of at most [`TILE`] sources.
    ///
    /// # Safety
    /// `output` is valid for writes of `len` bytes (initialised if `accumulate`), and overlaps no
    /// source. If not `accumulate`, this function initialises the output.
    #[allow(unsafe_code, reason = "calls vector code")]
    unsafe fn sum_of_tile(self, output: *mut u8, len: usize, sources: &[&[u8]], accumulate: bool) {
        // SAFETY: the caller's promise. The Kernel proves that the instructions exist.
        unsafe {
            match self.isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Gfni512 => sum_with::<x86::Gfni512>(output, len, sources, accumulate),
                #[cfg(target_arch = "x86_64")]
                Isa::Gfni256 => sum_with::<x86::Gfni256>(output, len, sources, accumulate),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => sum_with::<x86::Shuffle256>(output, len, sources, accumulate),
                _ => {
                    if !accumulate {
                        output.write_bytes(0, len);
                    }
                    portable::xor_sum(std::slice::from_raw_parts_mut(output, len), sources);
                }
            }
        }
    }
}

/// Computes the sum of at most [`TILE`] sources with the instructions of `E`.
///
/// # Safety
/// As for `Kernel::sum_of_tile`. The processor has E's instructions.
pub(super) unsafe fn sum_with<E: Engine>(output: *mut u8, len: usize, sources: &[&[u8]], accumulate: bool) {
    if len.is_multiple_of(E::WIDTH) && !sources.is_empty() && sources.iter().all(|source| source.len() >= len) {
        // SAFETY: the caller's promises. All sources and the output have `len` bytes.
        return unsafe { E::sum(&Summation { sources, output, from: 0, to: len, accumulate }) };
    }
    // SAFETY: passed on.
    unsafe { sum_of_different::<E>(output, len, sources, accumulate) };
}

/// Does the work of [`sum_with`] if some lengths are no multiples of the vector, or differ.
///
/// # Safety
/// As for [`sum_with`].
#[inline(never)]
unsafe fn sum_of_different<E: Engine>(output: *mut u8, len: usize, sources: &[&[u8]], accumulate: bool) {
    let mut room = Room::new();
    let sorted = Tile::new(sources, &mut room).sources();
    let mut at = 0;
    let mut reach = sorted.len();
    while at < len {
        while reach > 0 && sorted[reach - 1].len() <= at {
            reach -= 1;
        }
        let Some(shortest) = sorted[..reach].last() else {
            if !accumulate {
                // SAFETY: the output is valid for `len` bytes.
                unsafe { output.add(at).write_bytes(0, len - at) };
            }
            return;
        };
        let end = len.min(shortest.len());
        let whole = at + (end - at) / E::WIDTH * E::WIDTH;
        // SAFETY: the caller's promises. The first `reach` sources and the output have at least
        // `whole` bytes.
        unsafe {
            if whole > at {
                E::sum(&Summation { sources: &sorted[..reach], output, from: at, to: whole, accumulate });
                at = whole;
            } else {
                ragged::<E>(&sorted[..reach], output, at, len, accumulate);
                at += E::WIDTH;
            }
        }
    }
}

/// Computes one vector of the output, where a source or the output ends within this vector. The
/// function works on copies that are padded with zeros.
///
/// # Safety
/// As for [`sum_with`]. All `sources` have more than `at` bytes, and `at` is less than `len`.
#[cold]
unsafe fn ragged<E: Engine>(sources: &[&[u8]], output: *mut u8, at: usize, len: usize, accumulate: bool) {
    let mut copies = [[0; WIDEST]; TILE];
    for (copy, source) in copies.iter_mut().zip(sources) {
        let rest = &source[at..];
        let size = rest.len().min(E::WIDTH);
        copy[..size].copy_from_slice(&rest[..size]);
    }
    let padded: [&[u8]; TILE] = std::array::from_fn(|k| &copies[k][..]);
    let sources = &padded[..sources.len()];
    let kept = (len - at).min(E::WIDTH);
    let mut sum = [0; WIDEST];
    // SAFETY: `at + kept` is at most `len`. The copies are as wide as the widest vector.
    unsafe {
        if accumulate {
            sum.as_mut_ptr().copy_from_nonoverlapping(output.add(at), kept);
        }
        E::sum(&Summation { sources, output: sum.as_mut_ptr(), from: 0, to: E::WIDTH, accumulate });
        output.add(at).copy_from_nonoverlapping(sum.as_ptr(), kept);
    }
}

/// Implements [`Engine::sum`].
#[inline(always)]
pub(super) unsafe fn sum<L: Lanes>(of: &Summation<'_>) {
    let mut at = of.from;
    // SAFETY: `to - from` is a multiple of WIDTH, so each vector lies completely below `to`.
    unsafe {
        while at + UNROLL * L::WIDTH <= of.to {
            columns::<L, UNROLL>(of, at);
            at += UNROLL * L::WIDTH;
        }
        while at + 2 * L::WIDTH <= of.to {
            columns::<L, 2>(of, at);
            at += 2 * L::WIDTH;
        }
        while at < of.to {
            columns::<L, 1>(of, at);
            at += L::WIDTH;
        }
    }
}

/// Computes `C` vectors of the output, from byte `at` on.
#[inline(always)]
unsafe fn columns<L: Lanes, const C: usize>(of: &Summation<'_>, at: usize) {
    // SAFETY: sources and output are valid for C vectors from byte `at` on.
    unsafe {
        let mut sums = [L::zero(); C];
        let mut sources = of.sources;
        if of.accumulate {
            sums = load::<L, C>(of.output.add(at));
        } else if let Some((first, rest)) = sources.split_first() {
            sums = load::<L, C>(first.as_ptr().add(at));
            sources = rest;
        }
        let (pairs, last) = sources.as_chunks::<2>();
        for [a, b] in pairs {
            let (a, b) = (a.as_ptr().add(at), b.as_ptr().add(at));
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = L::xor_two(*sum, L::load(a.add(c * L::WIDTH)), L::load(b.add(c * L::WIDTH)));
            }
        }
        if let [source] = last {
            let source = source.as_ptr().add(at);
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = L::xor(*sum, L::load(source.add(c * L::WIDTH)));
            }
        }
        for (c, sum) in sums.iter().enumerate() {
            L::store(of.output.add(at + c * L::WIDTH), *sum);
        }
    }
}

/// Loads `C` vectors.
#[inline(always)]
unsafe fn load<L: Lanes, const C: usize>(from: *const u8) -> [L::Vector; C] {
    // SAFETY: the caller's pointer is valid for C vectors.
    unsafe {
        let mut vectors = [L::zero(); C];
        for (c, vector) in vectors.iter_mut().enumerate() {
            *vector = L::load(from.add(c * L::WIDTH));
        }
        vectors
    }
}
