//! Operations that pass through memory once: XOR, multiplication by one factor, a vector times a
//! matrix of short rows (`gather`), and multiples of a vector added to such rows (`scatter`). Loads
//! and stores limit their speed, so unrolling helps and fusion does not.

use super::lanes::Lanes;

/// How many vectors are processed side by side, to keep enough loads in flight. Fewer wait longer
/// for memory; more need more registers.
const UNROLL: usize = 4;

/// Implements [`Engine::xor_into`](super::lanes::Engine::xor_into).
#[inline(always)]
pub(super) unsafe fn xor_into<L: Lanes>(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: offsets stay below `len`, for which the pointers are valid.
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
    // SAFETY: as in `xor_into`; there are `coefficients.len()` rows of `len` bytes.
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

/// Does `gather` for `C` vectors of each row.
#[inline(always)]
unsafe fn gather_columns<L: Lanes, const C: usize>(
    dst: *mut u8,
    stride: usize,
    rows: *const u8,
    coefficients: &[u8],
) {
    // SAFETY: as in `gather`, C vectors of each row.
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
    // SAFETY: as in `gather`.
    unsafe {
        let mut at = 0;
        while at + 4 * L::WIDTH <= len {
            scatter_columns::<L, 4>(rows.add(at), len, src.add(at), coefficients);
            at += 4 * L::WIDTH;
        }
        while at + 2 * L::WIDTH <= len {
            scatter_columns::<L, 2>(rows.add(at), len, src.add(at), coefficients);
            at += 2 * L::WIDTH;
        }
        if at < len {
            scatter_columns::<L, 1>(rows.add(at), len, src.add(at), coefficients);
        }
    }
}

/// Does `scatter` for `C` vectors of each row.
#[inline(always)]
unsafe fn scatter_columns<L: Lanes, const C: usize>(
    rows: *mut u8,
    stride: usize,
    src: *const u8,
    coefficients: &[u8],
) {
    // SAFETY: as in `gather`, C vectors of each row.
    unsafe {
        let mut source = [L::prepare(L::zero()); C];
        for (i, source) in source.iter_mut().enumerate() {
            *source = L::prepare(L::load(src.add(i * L::WIDTH)));
        }
        for (row, c) in coefficients.iter().enumerate() {
            if *c == 0 {
                continue;
            }
            let factor = L::factor_of(*c);
            for (i, source) in source.iter().enumerate() {
                let at = rows.add(row * stride + i * L::WIDTH);
                L::store(at, L::xor(L::load(at), L::times(*source, factor)));
            }
        }
    }
}

/// Implements [`Engine::dot`](super::lanes::Engine::dot).
///
/// No instruction multiplies two variable bytes of this field. Therefore the products are summed
/// bit by bit of `b`. For each bit, the bytes of `a` are added up where that bit of `b` is set.
/// This takes four plain instructions per bit. Horner's rule combines the eight sums once at the
/// end.
#[inline(always)]
pub(super) unsafe fn dot<L: Lanes>(a: *const u8, b: *const u8, len: usize) -> u8 {
    // SAFETY: as in `xor_into`; the last store is to a buffer as long as any vector.
    unsafe {
        let mut sums = [L::zero(); 8];
        let mut at = 0;
        while at < len {
            let (a, mut b) = (L::load(a.add(at)), L::load(b.add(at)));
            for sum in &mut sums {
                *sum = L::add_where(*sum, a, b);
                b = L::shift(b);
            }
            at += L::WIDTH;
        }
        let two = L::factor_of(2);
        let mut total = sums[0];
        for sum in &sums[1..] {
            total = L::xor(L::times(L::prepare(total), two), *sum);
        }
        let mut bytes = [0; 64];
        L::store(bytes.as_mut_ptr(), total);
        fold(&bytes)
    }
}

/// The XOR of all bytes.
pub(super) fn fold(bytes: &[u8; 64]) -> u8 {
    let (words, _) = bytes.as_chunks::<8>();
    let mut word = words.iter().fold(0, |sum, word| sum ^ u64::from_le_bytes(*word));
    for shift in [32, 16, 8] {
        word ^= word >> shift;
    }
    word as u8
}

/// Implements [`Engine::registers`](super::lanes::Engine::registers): multiplies `rounds * CHAINS`
/// vectors.
#[inline(always)]
pub(super) unsafe fn registers<L: Lanes>(rounds: usize) -> u8 {
    // SAFETY: the only pointers are to local buffers of WIDTH bytes or more.
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
