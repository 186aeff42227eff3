//! Operations that read and write each byte of memory once:
//!
//! * `xor_into`: adds one vector to another.
//! * `multiply`: multiplies a vector by one factor.
//! * `gather`: adds up the rows of a matrix, each multiplied by its own factor.
//! * `scatter`: adds multiples of one vector to the rows of a matrix.
//! * `dots`: the dot products of one vector with rows of a matrix.
//!
//! Loads and stores limit the speed of these operations. The operations therefore process several
//! vectors together (unrolling). They need not keep results in registers across many sources, as
//! the product in `fused.rs` does.
//!
//! Safety: all functions here have the contract of [`Engine`](super::lanes::Engine). In particular,
//! `len` is a multiple of [`Lanes::WIDTH`], and the pointers are valid for `len` bytes.

use super::lanes::Lanes;

/// The number of vectors that `xor_into` and `multiply` process together, to keep enough loads in
/// flight. With half the value, the processor waits longer for memory. Double the value needs twice
/// as many registers.
const UNROLL: usize = 4;

/// Implements [`Engine::xor_into`](super::lanes::Engine::xor_into).
#[inline(always)]
pub(super) unsafe fn xor_into<L: Lanes>(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the pointers are valid for `len` bytes, and `len` is a multiple of WIDTH. `at` grows
    // in steps of whole vectors, so each vector lies completely below `len`.
    unsafe {
        let mut at = 0;
        while at + UNROLL * L::WIDTH <= len {
            let mut sum = [L::zero(); UNROLL];
            for (i, sum) in sum.iter_mut().enumerate() {
                let at = at + i * L::WIDTH;
                *sum = L::xor(L::load(dst.add(at)), L::load(src.add(at)));
            }
            for (i, sum) in sum.iter().enumerate() {
                L::store(dst.add(at + i * L::WIDTH), *sum);
            }
            at += UNROLL * L::WIDTH;
        }
        while at < len {
            L::store(dst.add(at), L::xor(L::load(dst.add(at)), L::load(src.add(at))));
            at += L::WIDTH;
        }
    }
}

/// Implements [`Engine::multiply`](super::lanes::Engine::multiply).
#[inline(always)]
pub(super) unsafe fn multiply<L: Lanes>(dst: *mut u8, src: *const u8, len: usize, c: u8, accumulate: bool) {
    // SAFETY: as in `xor_into`.
    unsafe {
        let factor = L::factor_of(c);
        let mut at = 0;
        while at + UNROLL * L::WIDTH <= len {
            let mut sum = [L::zero(); UNROLL];
            for (i, sum) in sum.iter_mut().enumerate() {
                let at = at + i * L::WIDTH;
                *sum = L::times(L::prepare(L::load(src.add(at))), factor);
                if accumulate {
                    *sum = L::xor(*sum, L::load(dst.add(at)));
                }
            }
            for (i, sum) in sum.iter().enumerate() {
                L::store(dst.add(at + i * L::WIDTH), *sum);
            }
            at += UNROLL * L::WIDTH;
        }
        while at < len {
            let mut sum = L::times(L::prepare(L::load(src.add(at))), factor);
            if accumulate {
                sum = L::xor(sum, L::load(dst.add(at)));
            }
            L::store(dst.add(at), sum);
            at += L::WIDTH;
        }
    }
}

/// Implements [`Engine::gather`](super::lanes::Engine::gather).
#[inline(always)]
pub(super) unsafe fn gather<L: Lanes>(dst: *mut u8, len: usize, rows: *const u8, coefficients: &[u8]) {
    // SAFETY: as in `xor_into`. `rows` is valid for `coefficients.len()` rows of `len` bytes each.
    // `len` is a multiple of WIDTH, so at most one vector is left for the last step.
    unsafe {
        let mut at = 0;
        while at + 4 * L::WIDTH <= len {
            gather_columns::<L, 4>(dst.add(at), len, rows.add(at), coefficients);
            at += 4 * L::WIDTH;
        }
        while at + 2 * L::WIDTH <= len {
            gather_columns::<L, 2>(dst.add(at), len, rows.add(at), coefficients);
            at += 2 * L::WIDTH;
        }
        if at < len {
            gather_columns::<L, 1>(dst.add(at), len, rows.add(at), coefficients);
        }
    }
}

/// Does the work of `gather` for the first `C` vectors of `dst` and of each row. The distance from
/// row to row is `stride` bytes.
#[inline(always)]
unsafe fn gather_columns<L: Lanes, const C: usize>(dst: *mut u8, stride: usize, rows: *const u8, coefficients: &[u8]) {
    // SAFETY: the caller (`gather`) guarantees that `dst` and each row are valid for C vectors.
    unsafe {
        let mut sum = [L::zero(); C];
        for (i, sum) in sum.iter_mut().enumerate() {
            *sum = L::load(dst.add(i * L::WIDTH));
        }
        for (row, c) in coefficients.iter().enumerate() {
            if *c == 0 {
                continue;
            }
            let factor = L::factor_of(*c);
            for (i, sum) in sum.iter_mut().enumerate() {
                let source = L::prepare(L::load(rows.add(row * stride + i * L::WIDTH)));
                *sum = L::xor(*sum, L::times(source, factor));
            }
        }
        for (i, sum) in sum.iter().enumerate() {
            L::store(dst.add(i * L::WIDTH), *sum);
        }
    }
}

/// Implements [`Engine::scatter`](super::lanes::Engine::scatter).
#[inline(always)]
pub(super) unsafe fn scatter<L: Lanes>(rows: *mut u8, len: usize, src: *const u8, coefficients: &[u8]) {
    let factors = coefficients.iter().enumerate().map(|(row, c)| (row * len, *c));
    // SAFETY: as in `gather`.
    unsafe { scatter_to::<L>(rows, len, src, factors) }
}

/// Implements [`Engine::scatter_some`](super::lanes::Engine::scatter_some).
#[inline(always)]
pub(super) unsafe fn scatter_some<L: Lanes>(
    rows: *mut u8,
    stride: usize,
    len: usize,
    src: *const u8,
    which: &[u32],
    coefficients: &[u8],
) {
    let factors = which.iter().map(|row| (*row as usize * stride, coefficients[*row as usize]));
    // SAFETY: as in `gather`; there is a row for each of `coefficients`.
    unsafe { scatter_to::<L>(rows, len, src, factors) }
}

/// Adds multiples of `src` to the bytes at some offsets from `rows`. `factors` lists each offset
/// with the factor for this offset.
#[inline(always)]
unsafe fn scatter_to<L: Lanes>(
    rows: *mut u8,
    len: usize,
    src: *const u8,
    factors: impl Iterator<Item = (usize, u8)> + Clone,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut at = 0;
        while at + 4 * L::WIDTH <= len {
            scatter_columns::<L, 4>(rows.add(at), src.add(at), factors.clone());
            at += 4 * L::WIDTH;
        }
        while at + 2 * L::WIDTH <= len {
            scatter_columns::<L, 2>(rows.add(at), src.add(at), factors.clone());
            at += 2 * L::WIDTH;
        }
        if at < len {
            scatter_columns::<L, 1>(rows.add(at), src.add(at), factors);
        }
    }
}

/// Does the work of `scatter_to` for the first `C` vectors of `src`.
#[inline(always)]
unsafe fn scatter_columns<L: Lanes, const C: usize>(
    rows: *mut u8,
    src: *const u8,
    factors: impl Iterator<Item = (usize, u8)>,
) {
    // SAFETY: the caller (`scatter_to`) guarantees that `src` and each row are valid for C vectors.
    unsafe {
        let mut source = [L::prepare(L::zero()); C];
        for (i, source) in source.iter_mut().enumerate() {
            *source = L::prepare(L::load(src.add(i * L::WIDTH)));
        }
        for (offset, c) in factors {
            if c == 0 {
                continue;
            }
            let factor = L::factor_of(c);
            for (i, source) in source.iter().enumerate() {
                let at = rows.add(offset + i * L::WIDTH);
                L::store(at, L::xor(L::load(at), L::times(*source, factor)));
            }
        }
    }
}

/// Implements [`Engine::dots`](super::lanes::Engine::dots).
#[inline(always)]
pub(super) unsafe fn dots<L: Lanes>(
    a: *const u8,
    len: usize,
    rows: *const u8,
    stride: usize,
    which: &[u32],
    sums: &mut [u8],
) {
    // SAFETY: as in `xor_into`, for `a` and for the row of each sum.
    unsafe {
        let mut at = 0;
        while at < len {
            let (a, rows) = (a.add(at), rows.add(at));
            match (len - at) / L::WIDTH {
                1 => dots_of::<L, 1>(a, rows, stride, which, sums),
                2 => dots_of::<L, 2>(a, rows, stride, which, sums),
                3 => dots_of::<L, 3>(a, rows, stride, which, sums),
                _ => dots_of::<L, 4>(a, rows, stride, which, sums),
            }
            at += 4 * L::WIDTH;
        }
    }
}

/// Does the work of `dots` for the first `N` vectors of `a` and of each row.
///
/// No instruction multiplies two variable bytes of this field. Therefore each of the eight bits of
/// a byte has its own sum, highest bit first. The sum of a bit adds up those bytes of a row whose
/// partner in `a` has this bit set. Masks select these bytes. The masks are the same for all rows.
/// At the end, Horner's rule combines the eight sums: double the total, add the next sum.
#[inline(always)]
unsafe fn dots_of<L: Lanes, const N: usize>(
    a: *const u8,
    rows: *const u8,
    stride: usize,
    which: &[u32],
    sums: &mut [u8],
) {
    // SAFETY: the caller (`dots`) guarantees that `a` and the row of each sum are valid for N
    // vectors. The last store is to a buffer of 64 bytes, the widest vector.
    unsafe {
        let mut masks = [[L::zero(); 8]; N];
        for (n, masks) in masks.iter_mut().enumerate() {
            let mut a = L::load(a.add(n * L::WIDTH));
            for mask in masks {
                *mask = L::mask(a);
                a = L::shift(a);
            }
        }
        let two = L::factor_of(2);
        for row in which {
            // This indexing also checks that the row exists, before the row is read.
            let sum = &mut sums[*row as usize];
            let mut parts = [L::zero(); 8];
            for (n, masks) in masks.iter().enumerate() {
                let bytes = L::load(rows.add(*row as usize * stride + n * L::WIDTH));
                for (part, mask) in parts.iter_mut().zip(masks) {
                    *part = L::xor(*part, L::and(bytes, *mask));
                }
            }
            let mut total = parts[0];
            for part in &parts[1..] {
                total = L::xor(L::times(L::prepare(total), two), *part);
            }
            let mut bytes = [0; 64];
            L::store(bytes.as_mut_ptr(), total);
            *sum ^= fold(&bytes[..L::WIDTH]);
        }
    }
}

/// The XOR of all bytes. The number of bytes is a multiple of 8.
#[inline(always)]
fn fold(bytes: &[u8]) -> u8 {
    let (words, _) = bytes.as_chunks::<8>();
    let mut word = words.iter().fold(0, |sum, word| sum ^ u64::from_le_bytes(*word));
    for shift in [32, 16, 8] {
        word ^= word >> shift;
    }
    word as u8
}

/// Implements [`Engine::registers`](super::lanes::Engine::registers): does `rounds` multiplications
/// on each of [`Lanes::CHAINS`] vectors.
#[inline(always)]
pub(super) unsafe fn registers<L: Lanes>(rounds: usize) -> u8 {
    // SAFETY: the only pointers are to local buffers of 64 bytes, the widest vector.
    unsafe {
        let seed: [u8; 64] = std::array::from_fn(|i| i as u8 ^ 0x5a);
        let factor = L::factor_of(std::hint::black_box(0x8e));
        let mut chains = [L::load(std::hint::black_box(seed.as_ptr())); 12];
        for _ in 0..rounds {
            for chain in chains.iter_mut().take(L::CHAINS) {
                *chain = L::arithmetic(*chain, factor);
            }
        }
        let mut sum = L::zero();
        for chain in chains {
            sum = L::xor(sum, chain);
        }
        let mut out = [0; 64];
        L::store(out.as_mut_ptr(), sum);
        out[0]
    }
}
