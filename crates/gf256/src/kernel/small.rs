//! Gauss-Jordan elimination of a few short equations. All equations stay in registers, which takes .37 of
//! the time of [`super::eliminate`] for five equations.
//!
//! GFNI also has instructions for the product of two bytes and for the inverse of a byte, but in the
//! field with the polynomial 0x11B. All fields with 256 elements are isomorphic. So the equations are
//! mapped to that field, are solved there, and the solution is mapped back. Nothing is looked up in a
//! table.

use super::lanes::Lanes;
use super::x86::Gfni512;
use crate::field::{POLYNOMIAL, matrix};
use std::arch::x86_64::*;

/// The largest number of equations. The equations, a factor and the columns must fit into the 32
/// registers. With half the value, the losses of a window exceed the value more often. Double the
/// value would keep equations in memory.
const MOST: usize = 8;

/// The polynomial of the field of the instructions `gf2p8mulb` and `gf2p8affineinvqb` (Intel SDM
/// volume 2).
const OTHER_POLYNOMIAL: u16 = 0x11b;

/// The matrix that maps this crate's field to the other field, as `gf2p8affineqb` reads it.
const THERE: u64 = matrix(isomorphism());
/// The matrix that maps the other field to this crate's field.
const BACK: u64 = matrix(inverse(isomorphism()));
/// The matrix that changes nothing.
const IDENTITY: u64 = matrix([1, 2, 4, 8, 16, 32, 64, 128]);

/// Solves `columns.len()` equations in place, as [`Kernel::eliminate`](super::Kernel) says, and
/// keeps their order. Returns false and changes nothing if there are more than [`MOST`] equations,
/// or if they must change their order, or if they have no solution.
///
/// # Safety
/// The processor has the instructions of [`Gfni512`]. There is a row of 64 bytes for each of
/// `columns`, one after the other. Each column is below 64.
pub(super) unsafe fn eliminate(rows: *mut u8, columns: &[u16]) -> bool {
    // SAFETY: passed on to the caller.
    unsafe {
        match columns.len() {
            1 => in_registers::<1>(rows, columns),
            2 => in_registers::<2>(rows, columns),
            3 => in_registers::<3>(rows, columns),
            4 => in_registers::<4>(rows, columns),
            5 => in_registers::<5>(rows, columns),
            6 => in_registers::<6>(rows, columns),
            7 => in_registers::<7>(rows, columns),
            MOST => in_registers::<MOST>(rows, columns),
            _ => false,
        }
    }
}

/// Implements [`eliminate`] for `N` equations.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
unsafe fn in_registers<const N: usize>(rows: *mut u8, columns: &[u16]) -> bool {
    let (there, back) = (_mm512_set1_epi64(THERE as i64), _mm512_set1_epi64(BACK as i64));
    let (identity, one) = (_mm512_set1_epi64(IDENTITY as i64), _mm512_set1_epi8(1));
    let mut equations = [_mm512_setzero_si512(); N];
    for (m, equation) in equations.iter_mut().enumerate() {
        // SAFETY: there are N rows.
        let row = unsafe { Gfni512::load(rows.add(m * Gfni512::WIDTH)) };
        *equation = _mm512_gf2p8affine_epi64_epi8::<0>(row, there);
    }
    let mut zeros = 0;
    for p in 0..N {
        let place = _mm512_set1_epi8(columns[p] as i8);
        let column = 1u64 << (columns[p] % 64);
        let pivot = _mm512_permutexvar_epi8(place, equations[p]);
        zeros |= _mm512_testn_epi8_mask(pivot, pivot);
        let inverse = _mm512_gf2p8affineinv_epi64_epi8::<0>(pivot, identity);
        // The entry of the pivot's column becomes 1 times the inverse.
        let scaled = _mm512_gf2p8mul_epi8(_mm512_mask_mov_epi8(equations[p], column, one), inverse);
        equations[p] = scaled;
        for m in (0..N).filter(|m| *m != p) {
            let factor = _mm512_permutexvar_epi8(place, equations[m]);
            let rest = _mm512_maskz_mov_epi8(!column, equations[m]);
            equations[m] = _mm512_xor_si512(rest, _mm512_gf2p8mul_epi8(scaled, factor));
        }
    }
    if zeros != 0 {
        return false;
    }
    for (m, equation) in equations.iter().enumerate() {
        let row = _mm512_gf2p8affine_epi64_epi8::<0>(*equation, back);
        // SAFETY: there are N rows.
        unsafe { Gfni512::store(rows.add(m * Gfni512::WIDTH), row) };
    }
    true
}

/// The product of `a` and `b` in the other field.
const fn product(a: u8, b: u8) -> u8 {
    let (mut power, mut rest, mut sum) = (a as u16, b, 0);
    while rest != 0 {
        if rest & 1 == 1 {
            sum ^= power;
        }
        power <<= 1;
        if power > 255 {
            power ^= OTHER_POLYNOMIAL;
        }
        rest >>= 1;
    }
    sum as u8
}

/// The images of the bits 0 to 7 in the other field: the powers of an element that is a root of this
/// crate's polynomial.
const fn isomorphism() -> [u8; 8] {
    let mut root = 2;
    loop {
        let (mut images, mut power, mut value, mut i) = ([0; 8], 1, 0, 0);
        while i <= 8 {
            if i < 8 {
                images[i] = power;
            }
            if POLYNOMIAL >> i & 1 == 1 {
                value ^= power;
            }
            power = product(power, root);
            i += 1;
        }
        if value == 0 {
            return images;
        }
        root += 1;
    }
}

/// The value of the linear function with these `images` of the bits 0 to 7.
const fn image(images: [u8; 8], of: u8) -> u8 {
    let (mut sum, mut i) = (0, 0);
    while i < 8 {
        if of >> i & 1 == 1 {
            sum ^= images[i];
        }
        i += 1;
    }
    sum
}

/// The inverse of the linear function with these `images` of the bits 0 to 7.
const fn inverse(images: [u8; 8]) -> [u8; 8] {
    let (mut inverse, mut value) = ([0; 8], 0);
    while value < 255 {
        value += 1;
        let of = image(images, value);
        if of.is_power_of_two() {
            inverse[of.trailing_zeros() as usize] = value;
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::mul;
    use crate::kernel::{Isa, Kernel};
    use crate::memory::{CHUNK, Chunk, bytes_mut};

    #[test]
    fn the_fields_are_isomorphic() {
        let there = |a: u8| image(isomorphism(), a);
        for a in 0..=255u8 {
            assert_eq!(image(inverse(isomorphism()), there(a)), a);
            for b in 0..=255u8 {
                assert_eq!(there(mul(a, b)), product(there(a), there(b)), "{a} * {b}");
            }
        }
        // The inverses of AES (FIPS 197) have the other polynomial.
        assert_eq!((product(0x53, 0xca), product(0x57, 0x83)), (1, 0xc1));
    }

    #[test]
    fn few_equations_are_solved_in_registers() {
        if !Isa::Gfni512.is_available() {
            return;
        }
        let mut state = 7u64;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        for count in 0..=MOST + 1 {
            let columns: Vec<u16> = (0..count as u16).map(|m| (11 * m + 60) % 64).collect();
            let mut solved = 0;
            for _ in 0..100 {
                let mut equations = vec![Chunk::ZERO; count];
                bytes_mut(&mut equations).fill_with(&mut byte);
                let mut rows = equations.clone();
                // SAFETY: there is a chunk for each column, and the processor has the instructions.
                if !unsafe { eliminate(rows.as_mut_ptr().cast(), &columns) } {
                    assert!(rows == equations, "{count} equations were changed");
                    continue;
                }
                solved += 1;
                let mut order = Vec::new();
                let portable = Kernel::new(Isa::Portable).unwrap();
                assert!(portable.eliminate(&mut equations, 1, &columns, &mut order));
                assert!(rows == equations && order.is_sorted(), "{count} equations: another solution");
            }
            let expected = if (1..=MOST).contains(&count) { 90..=100 } else { 0..=0 };
            assert!(expected.contains(&solved), "{solved} of 100 systems of {count} equations were solved");
        }
        assert_eq!(CHUNK, Gfni512::WIDTH);
    }
}
