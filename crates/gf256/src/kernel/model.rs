//! A software model of the GFNI instructions, exactly as their manual defines them. Tests use this
//! model to run the code of the GFNI kernels on processors without GFNI instructions.

use super::lanes::{Lanes, engine};
use crate::field::{self, MATRICES};

/// `GF2P8AFFINEQB` on one quadword with an immediate of 0 (Intel SDM volume 2). Bit i of a result
/// byte is the parity of (source byte AND byte 7 - i of the matrix).
fn affine(source: u8, matrix: u64) -> u8 {
    let rows = matrix.to_le_bytes();
    (0..8).fold(0, |byte, i| byte | ((rows[7 - i] & source).count_ones() as u8 & 1) << i)
}

/// `VPTERNLOG` on one byte. Bit i of the result is a bit of `table`. The index of this bit in
/// `table` has bit i of `a`, of `b` and of `c` as its binary digits.
fn ternary(table: u8, a: u8, b: u8, c: u8) -> u8 {
    (0..8).fold(0, |byte, i| {
        let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
        byte | (table >> index & 1) << i
    })
}

macro_rules! model {
    ($name:ident, $width:literal, $outputs:literal, $pairs:literal) => {
        pub(super) struct $name;

        impl Lanes for $name {
            type Vector = [u8; $width];
            type Source = [u8; $width];
            type Factor = [u64; $width / 8];
            type Entry = u64;
            const WIDTH: usize = $width;
            const OUTPUTS: usize = $outputs;
            const ONLY: usize = if $outputs >= 8 { 24 } else { 2 * $outputs };
            const PAIRS: bool = $pairs;
            const CHAINS: usize = 12;

            fn entry(c: u8) -> u64 {
                MATRICES[usize::from(c)]
            }
            unsafe fn zero() -> Self::Vector {
                [0; $width]
            }
            unsafe fn load(from: *const u8) -> Self::Vector {
                // SAFETY: the caller's pointer is valid for a vector.
                unsafe { from.cast::<[u8; $width]>().read_unaligned() }
            }
            unsafe fn prefetch(_: *const u8) {}
            unsafe fn store(to: *mut u8, vector: Self::Vector) {
                // SAFETY: the caller's pointer is valid for a vector.
                unsafe { to.cast::<[u8; $width]>().write_unaligned(vector) }
            }
            unsafe fn xor(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|i| a[i] ^ b[i])
            }
            unsafe fn xor_two(sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|i| ternary(0x96, sum[i], a[i], b[i]))
            }
            unsafe fn prepare(vector: Self::Vector) -> Self::Vector {
                vector
            }
            unsafe fn factor(entry: *const u64) -> Self::Factor {
                // SAFETY: the caller's pointer is valid for an entry.
                [unsafe { entry.read() }; $width / 8]
            }
            unsafe fn factor_of(c: u8) -> Self::Factor {
                [MATRICES[usize::from(c)]; $width / 8]
            }
            unsafe fn times(source: Self::Vector, factor: Self::Factor) -> Self::Vector {
                std::array::from_fn(|i| affine(source[i], factor[i / 8]))
            }
            unsafe fn add_two(
                sum: Self::Vector,
                s0: Self::Vector,
                f0: Self::Factor,
                s1: Self::Vector,
                f1: Self::Factor,
            ) -> Self::Vector {
                // SAFETY: these operations touch no memory.
                unsafe { Self::xor_two(sum, Self::times(s0, f0), Self::times(s1, f1)) }
            }
            unsafe fn mask(vector: Self::Vector) -> Self::Vector {
                vector.map(|byte| if byte & 0x80 == 0 { 0 } else { 0xff })
            }
            unsafe fn and(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|i| a[i] & b[i])
            }
            unsafe fn shift(vector: Self::Vector) -> Self::Vector {
                vector.map(|byte| byte << 1)
            }
            unsafe fn arithmetic(vector: Self::Vector, factor: Self::Factor) -> Self::Vector {
                // SAFETY: touches no memory.
                unsafe { Self::times(vector, factor) }
            }
        }

        engine!($name);
    };
}

model!(Model512, 64, 8, true);
model!(Model256, 32, 6, false);

#[test]
fn the_model_multiplies() {
    for c in 0..=255u8 {
        for x in 0..=255u8 {
            assert_eq!(affine(x, MATRICES[usize::from(c)]), field::mul(c, x), "{c} * {x}");
        }
    }
    // The manual's identity matrix, and two matrices that show the order of the rows.
    assert_eq!(affine(0xa7, 0x0102_0408_1020_4080), 0xa7);
    assert_eq!(affine(0x01, 0x0000_0000_0000_0001), 0x80);
    assert_eq!(affine(0x80, 0x8000_0000_0000_0000), 0x01);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_model_makes_matrices() {
    for c in 0..=255u8 {
        let matrix = field::MATRIX_BYTES.map(|map| affine(c, map));
        assert_eq!(u64::from_le_bytes(matrix), MATRICES[usize::from(c)], "{c}");
    }
}

#[test]
fn the_model_adds_three() {
    assert_eq!(ternary(0x96, 0b1111_0000, 0b1100_1100, 0b1010_1010), 0b1111_0000 ^ 0b1100_1100 ^ 0b1010_1010);
    // Table 0xCA is the bitwise choice `a ? b : c`, which distinguishes the operands.
    assert_eq!(ternary(0xca, 0b1111_0000, 0b1100_1100, 0b1010_1010), 0b1100_1010);
}
