//! Arithmetic in GF(256), one byte at a time. The kernels are tested against this module.
//!
//! A byte stands for a polynomial over GF(2): bit i is the coefficient of x^i. So the byte 2 is x.
//! Addition is XOR. Products are reduced by [`POLYNOMIAL`].

/// The polynomial x^8 + x^4 + x^3 + x^2 + 1. It is primitive: every nonzero element is a power of
/// x.
pub const POLYNOMIAL: u16 = 0x11d;

/// The product of `a` and `b`.
#[inline]
pub const fn mul(a: u8, b: u8) -> u8 {
    PRODUCTS[a as usize][b as usize]
}

/// The inverse of `a`. Returns 0 for 0, which has no inverse.
#[inline]
pub const fn inv(a: u8) -> u8 {
    if a == 0 { 0 } else { EXP[255 - LOG[a as usize] as usize] }
}

/// `a / b`; 0 when `b` is 0.
#[inline]
pub const fn div(a: u8, b: u8) -> u8 {
    mul(a, inv(b))
}

/// 2 to the power `n`, for any `n`. The powers repeat with period 255.
#[inline]
pub const fn exp(n: usize) -> u8 {
    EXP[n % 255]
}

/// The exponent in 0..=254 for which 2 to this power is `a`. None for 0.
#[inline]
pub const fn log(a: u8) -> Option<u8> {
    if a == 0 { None } else { Some(LOG[a as usize]) }
}

/// The matrix of each factor. Multiplication by a factor is an 8x8 bit matrix, stored in the form
/// that the instruction `gf2p8affineqb` reads. Byte 7 - i of an entry is the matrix row for bit i
/// of the result (Intel SDM volume 2, GF2P8AFFINEQB).
pub(crate) static MATRICES: [u64; 256] = matrices();

/// Each byte of a factor's entry in [`MATRICES`] is a linear function of the factor. Entry i is the
/// matrix of byte i's function, in the same form.
#[cfg(target_arch = "x86_64")]
pub(crate) static MATRIX_BYTES: [u64; 8] = matrix_bytes();

/// The products of each factor with the 16 possible low nibbles of a byte, and with the 16 possible
/// high nibbles. A byte shuffle looks up 16 or 32 of these products at the same time.
pub(crate) static NIBBLES: [Nibbles; 256] = nibbles();

/// See [`NIBBLES`]. The alignment puts both tables of a factor into one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Nibbles {
    pub(crate) low: [u8; 16],
    pub(crate) high: [u8; 16],
}

/// The powers of 2: `EXP[n]` is 2 to the power n.
const EXP: [u8; 256] = powers();
/// The inverse of [`EXP`]: `LOG[a]` is the exponent of `a`. `LOG[0]` has no meaning.
const LOG: [u8; 256] = logarithms();
/// All products: `PRODUCTS[a][b]` is a times b.
static PRODUCTS: [[u8; 256]; 256] = products();

/// Multiplication by x: a shift to the left. If the top bit is lost, the polynomial is added.
pub(crate) const fn double(a: u8) -> u8 {
    (a << 1) ^ (((a >> 7) as u16 * POLYNOMIAL) & 0xff) as u8
}

const fn powers() -> [u8; 256] {
    let mut table = [0; 256];
    let mut power = 1;
    let mut n = 0;
    while n < 256 {
        table[n] = power;
        power = double(power);
        n += 1;
    }
    table
}

const fn logarithms() -> [u8; 256] {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 255 {
        table[EXP[n] as usize] = n as u8;
        n += 1;
    }
    table
}

const fn products() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    let mut a = 1;
    while a < 256 {
        let mut b = 1;
        while b < 256 {
            table[a][b] = EXP[(LOG[a] as usize + LOG[b] as usize) % 255];
            b += 1;
        }
        a += 1;
    }
    table
}

/// The matrix of the linear function with these `images` of the bits 0 to 7, in the form of [`MATRICES`].
pub(crate) const fn matrix(images: [u8; 8]) -> u64 {
    let (mut matrix, mut i) = (0, 0);
    while i < 8 {
        let mut row = 0;
        while row < 8 {
            matrix |= (images[i] as u64 >> row & 1) << (8 * (7 - row) + i);
            row += 1;
        }
        i += 1;
    }
    matrix
}

const fn matrices() -> [u64; 256] {
    let mut table = [0; 256];
    let mut c = 0;
    while c < 256 {
        let (mut images, mut i) = ([c as u8; 8], 1);
        while i < 8 {
            images[i] = double(images[i - 1]);
            i += 1;
        }
        table[c] = matrix(images);
        c += 1;
    }
    table
}

#[cfg(target_arch = "x86_64")]
const fn matrix_bytes() -> [u64; 8] {
    let mut table = [0; 8];
    let mut byte = 0;
    while byte < 8 {
        let (mut images, mut i) = ([0; 8], 0);
        while i < 8 {
            images[i] = (MATRICES[1 << i] >> (8 * byte)) as u8;
            i += 1;
        }
        table[byte] = matrix(images);
        byte += 1;
    }
    table
}

const fn nibbles() -> [Nibbles; 256] {
    let mut table = [Nibbles { low: [0; 16], high: [0; 16] }; 256];
    let mut c = 0;
    while c < 256 {
        let mut n = 0;
        while n < 16 {
            table[c].low[n] = PRODUCTS[c][n];
            table[c].high[n] = PRODUCTS[c][n << 4];
            n += 1;
        }
        c += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Schoolbook multiplication of polynomials. It uses the same polynomial as the tables, and
    /// nothing else of them.
    fn schoolbook(a: u8, b: u8) -> u8 {
        let mut product = 0u16;
        for bit in 0..8 {
            if b >> bit & 1 == 1 {
                product ^= u16::from(a) << bit;
            }
        }
        for bit in (8..15).rev() {
            if product >> bit & 1 == 1 {
                product ^= POLYNOMIAL << (bit - 8);
            }
        }
        product as u8
    }

    #[test]
    fn tables_are_schoolbook_multiplication() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(mul(a, b), schoolbook(a, b), "{a} * {b}");
            }
        }
    }

    #[test]
    fn known_values() {
        // 0x80 * 2 overflows into the polynomial's low byte.
        assert_eq!((mul(0x80, 2), mul(2, 0x8e), inv(2)), (0x1d, 1, 0x8e));
        assert_eq!((exp(8), log(0x1d), log(0), inv(0), div(7, 0)), (0x1d, Some(8), None, 0, 0));
        assert_eq!((exp(255), exp(usize::MAX)), (1, exp(usize::MAX % 255)));
    }

    #[test]
    fn shuffle_tables_add_up() {
        for c in 0..=255u8 {
            let table = &NIBBLES[usize::from(c)];
            for x in 0..=255u8 {
                let sum = table.low[usize::from(x & 15)] ^ table.high[usize::from(x >> 4)];
                assert_eq!(sum, mul(c, x));
            }
        }
    }

    proptest! {
        #[test]
        fn is_a_field(a: u8, b: u8, c: u8) {
            prop_assert_eq!(mul(a, b), mul(b, a));
            prop_assert_eq!(mul(a, mul(b, c)), mul(mul(a, b), c));
            prop_assert_eq!(mul(a, b ^ c), mul(a, b) ^ mul(a, c));
            prop_assert_eq!(mul(a, 1), a);
            if b != 0 {
                prop_assert_eq!(mul(b, inv(b)), 1);
                prop_assert_eq!(mul(div(a, b), b), a);
                prop_assert_eq!(log(b).map(|n| exp(n.into())), Some(b));
            }
        }
    }
}
