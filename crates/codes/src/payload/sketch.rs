//! Payloads for simulations: a length without bytes, or a length with 16 bytes.

use super::{Matrix, Payload, lengths};
use ripstop_gf256::mul;

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
            let mut content = [0; 16];
            for (c, source) in coefficients.row(m).iter().zip(sources).filter(|(c, _)| **c != 0) {
                for (sum, byte) in content.iter_mut().zip(source.content) {
                    *sum ^= mul(*c, byte);
                }
            }
            Sketch { len, content }
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
