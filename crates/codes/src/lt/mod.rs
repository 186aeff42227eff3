//! LT codes (Luby 2002) for small blocks: 1 to 64 source symbols.
//!
//! The sender's [`Encoder`] makes any number of *encoding symbols* from the K source symbols of a
//! block. An encoding symbol is the XOR of some source symbols, its *neighbours*; their number is
//! the symbol's *degree*. The symbol's *seed* and the block's code determine the neighbours, so a
//! packet carries only the seed. The receiver's [`Decoder`] needs a few more than K encoding
//! symbols, no matter which. The excess is the *overhead*.
//!
//! There are three codes ([`LtCode`]):
//!
//! * [`LtCode::Systematic`]: the first K encoding symbols are the source symbols. Each later symbol
//!   combines about half of the block. This code has the smallest overhead, and none without loss.
//! * [`LtCode::Optimised`]: the degrees have a distribution that was optimised for small blocks. The
//!   overhead is close to that of a random code over GF(2).
//! * [`LtCode::Soliton`]: the degrees have Luby's robust soliton distribution.
//!
//! # Decoding
//!
//! The decoder peels: when all but one neighbour of a symbol are known, the symbol gives the last
//! neighbour. Peeling alone would need many more symbols ([`Peeling`] measures how many). As soon as
//! the received symbols determine the block, the decoder recovers the rest by inactivation decoding:
//! it sets some source symbols aside as *inactive*, peels all others, solves the remaining equations
//! for the inactive symbols by Gaussian elimination, and substitutes them back. All of this happens
//! on masks. Then each source symbol is computed in one sum of payloads.
//!
//! # Neighbours
//!
//! Neighbours are part of the wire format and never change. `vectors/lt.csv` holds test vectors. All
//! numbers are integers:
//!
//! 1. `key = mix((seed + 1) * STEP)` and `word(i) = mix(key + i * STEP)`, modulo 2^64. `mix` is the
//!    finaliser of SplitMix64 (Steele, Lea and Flood 2014). `STEP` is 0x9e3779b97f4a7c15.
//! 2. `draw(i)` is a half of `word(i / 2)`: the low 32 bits for even i, the high 32 bits for odd i.
//!    `below(i, n) = draw(i) * n / 2^32`, rounded down.
//! 3. Systematic code: for seed < K the only neighbour is source symbol `seed`. For seed = K all
//!    source symbols are neighbours. For other seeds, [`REPAIRS`]`[K]` is added to the seed before
//!    step 1 (the sum may exceed 2^32). Their degree d is `K / 2 + below(0, 2)`, but at least 1.
//! 4. Optimised code: for K < 8 the neighbours are the one bits of `1 + below(0, 2^K - 1)`. For
//!    other K, d is the first degree of the [table](DEGREES) for K up to which the weights sum up to
//!    more than `below(0, 64)`.
//! 5. Robust soliton code: d is the first degree up to which the probabilities, multiplied by 2^32,
//!    summed and rounded down, are more than `draw(0)`; d is K if there is none.
//! 6. The neighbours are a set of d source symbols, at first empty. For i = 1 to d, let
//!    `j = K - d + i - 1` and `t = below(i, j + 1)`. Add t to the set; if t is in the set already,
//!    add j instead (Floyd's algorithm).
//!
//! # Lengths
//!
//! Source symbols may have different lengths. In a sum, short symbols count as padded with zeros,
//! and the sum is as long as the longest symbol. A decoded symbol is as long as the longest symbol
//! that was combined to decode it: its bytes are those of the source symbol, followed by zeros. Who
//! needs the exact length must put it into the symbol.

mod code;
mod decoder;
mod encoder;
mod peeling;
mod soliton;
mod tables;

pub use code::{LtCode, Neighbours};
pub use decoder::{Arrival, Decoder, DecoderCounters};
pub use encoder::Encoder;
pub use peeling::Peeling;
pub use soliton::RobustSoliton;
pub use tables::{DEGREES, REPAIRS};

/// The largest number of source symbols in a block. The neighbours of a symbol are the bits of one
/// 64-bit word. Half the value halves the delay of the largest block. Double the value needs longer
/// words, and its elimination takes more time than its XORs.
pub const MAX_BLOCK: usize = 64;

/// Why a block or a code is not possible.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LtError {
    /// The number of source symbols is 0 or too large.
    #[error("an LT block of {0} source symbols is not possible; it must have 1 to {MAX_BLOCK}")]
    BlockSize(usize),
    /// The parameter c of the robust soliton distribution is out of range.
    #[error("c = {0} is not possible for a robust soliton distribution; c must be from 0 to {most}", most = RobustSoliton::MAX_C)]
    SolitonC(f64),
    /// The parameter delta of the robust soliton distribution is out of range.
    #[error(
        "delta = {0} is not possible for a robust soliton distribution; delta must be from {least} to 1",
        least = RobustSoliton::MIN_DELTA
    )]
    SolitonDelta(f64),
}

/// Checks the number of source symbols of a block.
fn checked(k: usize) -> Result<usize, LtError> {
    if (1..=MAX_BLOCK).contains(&k) { Ok(k) } else { Err(LtError::BlockSize(k)) }
}

/// A mask of all `k` source symbols of a block.
const fn all(k: usize) -> u64 {
    if k >= MAX_BLOCK { u64::MAX } else { (1 << k) - 1 }
}

/// The positions of the one bits of a mask, lowest first.
#[derive(Clone, Copy, Debug)]
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let first = (self.0 != 0).then(|| self.0.trailing_zeros() as usize);
        self.0 &= self.0.wrapping_sub(1);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_are_the_bits_of_a_mask() {
        assert_eq!(Ones(0).count(), 0);
        assert_eq!(Ones(1 << 63 | 0b101).collect::<Vec<_>>(), [0, 2, 63]);
        assert_eq!([all(1), all(2), all(63), all(64)], [1, 3, u64::MAX >> 1, u64::MAX]);
    }

    #[test]
    fn errors_say_what_is_right() {
        assert_eq!(checked(64), Ok(64));
        assert_eq!(
            checked(65).unwrap_err().to_string(),
            "an LT block of 65 source symbols is not possible; it must have 1 to 64"
        );
        assert_eq!(checked(0), Err(LtError::BlockSize(0)));
        let text = |c, delta| RobustSoliton::new(c, delta).unwrap_err().to_string();
        assert!(text(-1.0, 0.5).contains("c must be from 0 to 10"));
        assert!(text(f64::NAN, 0.5).contains("c must be from 0 to 10"));
        assert!(text(0.1, 0.0).contains("delta must be from 0.000001 to 1"));
    }
}
