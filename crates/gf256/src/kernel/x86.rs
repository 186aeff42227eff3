//! The instruction sets of x86-64: each type implements the operations of [`Lanes`] with a few
//! instructions.
//!
//! Safety: the caller of every method guarantees that the processor has the type's instructions,
//! and that pointers are valid for a vector. [`Lanes`] states this contract.
#![allow(unsafe_op_in_unsafe_fn, reason = "one-line wrappers of intrinsics; the trait states the contract")]

use super::lanes::{Lanes, engine};
use crate::field::{MATRICES, MATRIX_BYTES, NIBBLES};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// GFNI on 512-bit registers. Multiplication by a constant is a linear function of the bits of a
/// byte, so it is an 8x8 bit matrix. One instruction, `vgf2p8affineqb`, multiplies by this matrix.
/// The instruction `vgf2p8mulb` is no faster and supports only the polynomial 0x11B.
pub(super) struct Gfni512;

impl Lanes for Gfni512 {
    type Vector = __m512i;
    type Source = __m512i;
    type Factor = __m512i;
    type Entry = u64;
    const WIDTH: usize = 64;
    // Of the 32 registers, 16 hold accumulators, 4 hold sources and 2 hold matrices.
    const OUTPUTS: usize = 8;
    // 24 registers hold accumulators. A packet of 1400 bytes has 22 vectors, so each source is read one time.
    const ONLY: usize = 24;
    const PAIRS: bool = true;
    const CHAINS: usize = 12;

    #[inline(always)]
    fn entry(c: u8) -> u64 {
        MATRICES[usize::from(c)]
    }
    #[inline(always)]
    unsafe fn entries(row: &[u8], to: &mut [MaybeUninit<u64>]) {
        // The matrices of eight factors are computed together. The factors are copied to each of the
        // eight words of a register. The multiplication makes byte i of all eight matrices in word i.
        let maps = Self::load(MATRIX_BYTES.as_ptr().cast());
        let (gather, mut which) = (Self::load(TRANSPOSED.as_ptr().cast()), _mm512_setzero_si512());
        // The mask keeps the load from reading beyond the row.
        let all = _mm512_maskz_loadu_epi8(u64::MAX >> (64 - row.len().clamp(1, 64)), row.as_ptr().cast());
        for to in to.chunks_exact_mut(8).take(row.len().div_ceil(8)) {
            let eight = _mm512_permutexvar_epi64(which, all);
            let bytes = Self::times(eight, maps);
            Self::store(to.as_mut_ptr().cast(), _mm512_permutexvar_epi8(gather, bytes));
            which = _mm512_add_epi64(which, _mm512_set1_epi64(1));
        }
    }
    #[inline(always)]
    unsafe fn zero() -> __m512i {
        _mm512_setzero_si512()
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m512i {
        _mm512_loadu_si512(from.cast())
    }
    #[inline(always)]
    unsafe fn prefetch(from: *const u8) {
        _mm_prefetch::<_MM_HINT_T0>(from.cast())
    }
    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: __m512i) {
        _mm512_storeu_si512(to.cast(), vector)
    }
    #[inline(always)]
    unsafe fn xor(a: __m512i, b: __m512i) -> __m512i {
        _mm512_xor_si512(a, b)
    }
    #[inline(always)]
    unsafe fn xor_two(sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // The truth table 0x96 is the XOR of three operands.
        _mm512_ternarylogic_epi64::<0x96>(sum, a, b)
    }
    #[inline(always)]
    unsafe fn prepare(vector: __m512i) -> __m512i {
        vector
    }
    #[inline(always)]
    unsafe fn factor(entry: *const u64) -> __m512i {
        _mm512_set1_epi64(entry.read() as i64)
    }
    #[inline(always)]
    unsafe fn factor_of(c: u8) -> __m512i {
        _mm512_set1_epi64(MATRICES[usize::from(c)] as i64)
    }
    #[inline(always)]
    unsafe fn times(source: __m512i, factor: __m512i) -> __m512i {
        _mm512_gf2p8affine_epi64_epi8::<0>(source, factor)
    }
    #[inline(always)]
    unsafe fn add_two(sum: __m512i, s0: __m512i, f0: __m512i, s1: __m512i, f1: __m512i) -> __m512i {
        Self::xor_two(sum, Self::times(s0, f0), Self::times(s1, f1))
    }
    #[inline(always)]
    unsafe fn mask(vector: __m512i) -> __m512i {
        _mm512_movm_epi8(_mm512_movepi8_mask(vector))
    }
    #[inline(always)]
    unsafe fn and(a: __m512i, b: __m512i) -> __m512i {
        _mm512_and_si512(a, b)
    }
    #[inline(always)]
    unsafe fn shift(vector: __m512i) -> __m512i {
        _mm512_add_epi8(vector, vector)
    }
    #[inline(always)]
    unsafe fn arithmetic(vector: __m512i, factor: __m512i) -> __m512i {
        Self::times(vector, factor)
    }
}

/// The byte order that takes byte i of word j to byte j of word i: a vector as eight rows of eight
/// bytes, transposed.
static TRANSPOSED: [u8; 64] = {
    let mut from = [0; 64];
    let mut i = 0;
    while i < 64 {
        from[i] = (8 * (i % 8) + i / 8) as u8;
        i += 1;
    }
    from
};

/// GFNI on 256-bit registers (VEX encoding: sixteen registers, no three-way XOR).
pub(super) struct Gfni256;

impl Lanes for Gfni256 {
    type Vector = __m256i;
    type Source = __m256i;
    type Factor = __m256i;
    type Entry = u64;
    const WIDTH: usize = 32;
    // Of the 16 registers, 12 hold accumulators, 2 hold sources, 1 holds a matrix and 1 a product.
    const OUTPUTS: usize = 6;
    const ONLY: usize = 12;
    const PAIRS: bool = false;
    const CHAINS: usize = 12;

    #[inline(always)]
    fn entry(c: u8) -> u64 {
        MATRICES[usize::from(c)]
    }
    #[inline(always)]
    unsafe fn zero() -> __m256i {
        _mm256_setzero_si256()
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m256i {
        _mm256_loadu_si256(from.cast())
    }
    #[inline(always)]
    unsafe fn prefetch(from: *const u8) {
        _mm_prefetch::<_MM_HINT_T0>(from.cast())
    }
    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: __m256i) {
        _mm256_storeu_si256(to.cast(), vector)
    }
    #[inline(always)]
    unsafe fn xor(a: __m256i, b: __m256i) -> __m256i {
        _mm256_xor_si256(a, b)
    }
    #[inline(always)]
    unsafe fn xor_two(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        Self::xor(Self::xor(sum, a), b)
    }
    #[inline(always)]
    unsafe fn prepare(vector: __m256i) -> __m256i {
        vector
    }
    #[inline(always)]
    unsafe fn factor(entry: *const u64) -> __m256i {
        _mm256_set1_epi64x(entry.read() as i64)
    }
    #[inline(always)]
    unsafe fn factor_of(c: u8) -> __m256i {
        _mm256_set1_epi64x(MATRICES[usize::from(c)] as i64)
    }
    #[inline(always)]
    unsafe fn times(source: __m256i, factor: __m256i) -> __m256i {
        _mm256_gf2p8affine_epi64_epi8::<0>(source, factor)
    }
    #[inline(always)]
    unsafe fn add_two(sum: __m256i, s0: __m256i, f0: __m256i, s1: __m256i, f1: __m256i) -> __m256i {
        Self::xor_two(sum, Self::times(s0, f0), Self::times(s1, f1))
    }
    #[inline(always)]
    unsafe fn mask(vector: __m256i) -> __m256i {
        // Bit 7 is the sign bit.
        _mm256_cmpgt_epi8(_mm256_setzero_si256(), vector)
    }
    #[inline(always)]
    unsafe fn and(a: __m256i, b: __m256i) -> __m256i {
        _mm256_and_si256(a, b)
    }
    #[inline(always)]
    unsafe fn shift(vector: __m256i) -> __m256i {
        _mm256_add_epi8(vector, vector)
    }
    #[inline(always)]
    unsafe fn arithmetic(vector: __m256i, factor: __m256i) -> __m256i {
        Self::times(vector, factor)
    }
}

/// Byte shuffles on 256-bit registers. A product is the sum of two table entries, one for the low
/// nibble and one for the high nibble of a byte. (Plank, Greenan and Miller, "Screaming fast Galois
/// field arithmetic using Intel SIMD instructions", FAST 2013.)
pub(super) struct Shuffle256;

impl Lanes for Shuffle256 {
    type Vector = __m256i;
    /// The low nibbles and the high nibbles.
    type Source = [__m256i; 2];
    type Factor = [__m256i; 2];
    type Entry = u8;
    const WIDTH: usize = 32;
    // Of the 16 registers, 8 hold accumulators, 4 hold halves of sources, 2 hold tables and 2
    // products.
    const OUTPUTS: usize = 4;
    const ONLY: usize = 8;
    const PAIRS: bool = false;
    const CHAINS: usize = 12;

    #[inline(always)]
    fn entry(c: u8) -> u8 {
        c
    }
    #[inline(always)]
    unsafe fn zero() -> __m256i {
        _mm256_setzero_si256()
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m256i {
        _mm256_loadu_si256(from.cast())
    }
    #[inline(always)]
    unsafe fn prefetch(from: *const u8) {
        _mm_prefetch::<_MM_HINT_T0>(from.cast())
    }
    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: __m256i) {
        _mm256_storeu_si256(to.cast(), vector)
    }
    #[inline(always)]
    unsafe fn xor(a: __m256i, b: __m256i) -> __m256i {
        _mm256_xor_si256(a, b)
    }
    #[inline(always)]
    unsafe fn xor_two(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        Self::xor(Self::xor(sum, a), b)
    }
    #[inline(always)]
    unsafe fn prepare(vector: __m256i) -> [__m256i; 2] {
        let nibble = _mm256_set1_epi8(15);
        let high = _mm256_srli_epi64::<4>(vector);
        [_mm256_and_si256(vector, nibble), _mm256_and_si256(high, nibble)]
    }
    #[inline(always)]
    unsafe fn factor(entry: *const u8) -> [__m256i; 2] {
        Self::factor_of(entry.read())
    }
    #[inline(always)]
    unsafe fn factor_of(c: u8) -> [__m256i; 2] {
        let table = &NIBBLES[usize::from(c)];
        let low = _mm_load_si128(table.low.as_ptr().cast());
        let high = _mm_load_si128(table.high.as_ptr().cast());
        [_mm256_broadcastsi128_si256(low), _mm256_broadcastsi128_si256(high)]
    }
    #[inline(always)]
    unsafe fn times(source: [__m256i; 2], factor: [__m256i; 2]) -> __m256i {
        let low = _mm256_shuffle_epi8(factor[0], source[0]);
        let high = _mm256_shuffle_epi8(factor[1], source[1]);
        _mm256_xor_si256(low, high)
    }
    #[inline(always)]
    unsafe fn add_two(sum: __m256i, s0: [__m256i; 2], f0: [__m256i; 2], s1: [__m256i; 2], f1: [__m256i; 2]) -> __m256i {
        Self::xor_two(sum, Self::times(s0, f0), Self::times(s1, f1))
    }
    #[inline(always)]
    unsafe fn mask(vector: __m256i) -> __m256i {
        // Bit 7 is the sign bit.
        _mm256_cmpgt_epi8(_mm256_setzero_si256(), vector)
    }
    #[inline(always)]
    unsafe fn and(a: __m256i, b: __m256i) -> __m256i {
        _mm256_and_si256(a, b)
    }
    #[inline(always)]
    unsafe fn shift(vector: __m256i) -> __m256i {
        _mm256_add_epi8(vector, vector)
    }
    #[inline(always)]
    unsafe fn arithmetic(vector: __m256i, factor: [__m256i; 2]) -> __m256i {
        // A product takes two shuffles, and here nothing else is executed.
        _mm256_shuffle_epi8(factor[1], _mm256_shuffle_epi8(factor[0], vector))
    }
}

engine!(Gfni512, "avx512f,avx512bw,avx512vbmi,gfni");
engine!(Gfni256, "avx2,gfni");
engine!(Shuffle256, "avx2");
