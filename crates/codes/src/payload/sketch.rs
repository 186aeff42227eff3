//! Payloads for simulations: a length without bytes, or a length with 16 bytes.

use super::{Matrix, Payload, lengths};
use ripstop_gf256::POLYNOMIAL;

/// A payload that is only a length in bytes. [`Payload::CONTENT`] says what this saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(pub usize);

impl Payload for Length {
    const CONTENT: bool = false;

    fn combine(coefficients: &Matrix, sources: &[&Length]) -> Vec<Length> {
        lengths(coefficients, sources, |source| source.0).map(Length).collect()
    }

    fn combine_into(coefficients: &Matrix, sources: &[&Length], outputs: &mut Vec<Length>) {
        outputs.extend(lengths(coefficients, sources, |source| source.0).map(Length));
    }

    #[inline]
    fn sum<'a>(first: &'a Length, rest: impl Iterator<Item = &'a Length> + Clone) -> Length {
        Length(rest.fold(first.0, |len, length| len.max(length.0)))
    }

    fn len(&self) -> usize {
        self.0
    }
}

/// A length in bytes, and 16 bytes of content that are really encoded and decoded.
///
/// A simulator can put a packet's identifier into these bytes, and check that the coders return the
/// right packet. Coding 16 bytes takes a fraction of the time for coding all bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sketch {
    len: usize,
    content: [u8; 16],
}

impl Sketch {
    /// A payload that counts as `len` bytes long and carries `content`.
    pub const fn new(len: usize, content: [u8; 16]) -> Sketch {
        Sketch { len, content }
    }

    /// The 16 bytes of content.
    pub const fn content(&self) -> [u8; 16] {
        self.content
    }
}

impl Payload for Sketch {
    fn combine(coefficients: &Matrix, sources: &[&Sketch]) -> Vec<Sketch> {
        let mut outputs = Vec::with_capacity(coefficients.rows());
        Sketch::combine_into(coefficients, sources, &mut outputs);
        outputs
    }

    fn combine_into(coefficients: &Matrix, sources: &[&Sketch], outputs: &mut Vec<Sketch>) {
        let lengths = lengths(coefficients, sources, |source| source.len);
        let combination = |(m, len)| {
            // planes[b] is the sum of the sources whose coefficient has bit b. So a row takes seven multiplications by 2,
            // and no product for each byte of each source.
            let mut planes = [0u128; 8];
            for (c, source) in coefficients.row(m).iter().zip(sources) {
                let content = u128::from_le_bytes(source.content);
                for (bit, plane) in planes.iter_mut().enumerate() {
                    *plane ^= content & 0u128.wrapping_sub(u128::from(c >> bit & 1));
                }
            }
            let content = planes.into_iter().rev().fold(0, |sum, plane| double(sum) ^ plane);
            Sketch { len, content: content.to_le_bytes() }
        };
        outputs.extend(lengths.enumerate().map(combination));
    }

    fn sum<'a>(first: &'a Sketch, rest: impl Iterator<Item = &'a Sketch> + Clone) -> Sketch {
        rest.fold(*first, |mut sum, sketch| {
            sum.len = sum.len.max(sketch.len);
            sum.content.iter_mut().zip(sketch.content).for_each(|(sum, byte)| *sum ^= byte);
            sum
        })
    }

    fn len(&self) -> usize {
        self.len
    }
}

/// Each of the 16 bytes of `bytes` times 2 in GF(256).
fn double(bytes: u128) -> u128 {
    const TOP: u128 = u128::from_le_bytes([0x80; 16]);
    let top = bytes & TOP;
    // A byte that loses its top bit in the shift gets the low byte of the polynomial.
    ((bytes ^ top) << 1) ^ ((top >> 7) * u128::from(POLYNOMIAL & 0xff))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_gf256::mul;

    #[test]
    fn lengths_follow_the_longest_source_taken() {
        let m = Matrix::from_bytes(3, 2, vec![1, 0, 7, 9, 0, 0]).unwrap();
        let combined = Length::combine(&m, &[&Length(40), &Length(1400)]);
        assert_eq!(combined, [Length(40), Length(1400), Length(0)]);
        assert!(combined[2].is_empty());
    }

    #[test]
    fn sketches_carry_real_arithmetic() {
        let (a, b) = (Sketch::new(10, [3; 16]), Sketch::new(20, [5; 16]));
        let m = Matrix::from_bytes(1, 2, vec![2, 7]).unwrap();
        let sum = Sketch::combine(&m, &[&a, &b]);
        assert_eq!(sum, [Sketch::new(20, [mul(2, 3) ^ mul(7, 5); 16])]);
    }

    #[test]
    fn sketches_are_combined_as_single_bytes_are() {
        let mut random = ripstop_base::Seed::new(5).stream("sketches");
        let mut byte = || random.below(256) as u8;
        for columns in [1, 2, 7, 40] {
            let sources: Vec<Sketch> = (0..columns).map(|k| Sketch::new(k, std::array::from_fn(|_| byte()))).collect();
            let m = Matrix::from_bytes(3, columns, (0..3 * columns).map(|_| byte()).collect()).unwrap();
            let combined = Sketch::combine(&m, &sources.iter().collect::<Vec<_>>());
            for (row, sum) in combined.iter().enumerate() {
                let byte_at = |at: usize| {
                    let products = m.row(row).iter().zip(&sources).map(|(c, source)| mul(*c, source.content[at]));
                    products.fold(0, |sum, product| sum ^ product)
                };
                assert_eq!(sum.content, std::array::from_fn(byte_at), "{columns} sources, seed 5");
            }
        }
    }
}
