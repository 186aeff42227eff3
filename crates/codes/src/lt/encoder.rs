//! The sender's side: encoding symbols from source symbols.

use super::{LtCode, LtError, Neighbours, Ones};
use crate::Payload;

/// Makes encoding symbols from the source symbols of a block.
#[derive(Clone, Debug)]
pub struct Encoder<P> {
    neighbours: Neighbours,
    symbols: Vec<P>,
}

impl<P: Payload> Encoder<P> {
    /// An encoder for the source symbols `symbols`. They may have different lengths.
    ///
    /// # Errors
    /// If there is no symbol, or if there are more than [`MAX_BLOCK`](super::MAX_BLOCK).
    pub fn new(code: LtCode, symbols: Vec<P>) -> Result<Encoder<P>, LtError> {
        Ok(Encoder { neighbours: Neighbours::new(code, symbols.len())?, symbols })
    }

    /// The number of source symbols.
    pub fn k(&self) -> usize {
        self.symbols.len()
    }

    /// The encoding symbol `seed`. It is as long as the longest source symbol that it combines.
    #[inline]
    pub fn symbol(&self, seed: u32) -> P {
        let mask = self.neighbours.of(seed);
        // A mask is never 0 and has no bit beyond the block.
        let first = &self.symbols[mask.trailing_zeros() as usize % self.symbols.len()];
        P::sum(first, Ones(mask & mask.wrapping_sub(1)).filter_map(|i| self.symbols.get(i)))
    }

    /// The neighbours of the encoding symbol `seed`; see [`LtCode::neighbours`].
    #[inline]
    pub fn neighbours(&self, seed: u32) -> u64 {
        self.neighbours.of(seed)
    }

    /// The encoding symbols `seeds`, in this order.
    pub fn symbols(&self, seeds: &[u32]) -> Vec<P> {
        seeds.iter().map(|seed| self.symbol(*seed)).collect()
    }

    /// Source symbol `i`. None if the block has no such symbol.
    pub fn source(&self, i: usize) -> Option<&P> {
        self.symbols.get(i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Length, Symbol};

    #[test]
    fn symbols_are_sums_of_their_neighbours() {
        let contents: Vec<Vec<u8>> = (0..20u8).map(|i| vec![i * 7 + 1; 10 + usize::from(i)]).collect();
        let symbols = contents.iter().map(|content| Symbol::from_slice(content)).collect();
        let encoder = Encoder::new(LtCode::Optimised, symbols).unwrap();
        let seeds: Vec<u32> = (0..50).collect();
        for (seed, symbol) in seeds.iter().zip(encoder.symbols(&seeds)) {
            assert_eq!(encoder.neighbours(*seed), LtCode::Optimised.neighbours(20, *seed));
            let neighbours = Ones(encoder.neighbours(*seed)).collect::<Vec<_>>();
            let byte = |at: usize| neighbours.iter().fold(0, |sum, i| sum ^ contents[*i].get(at).copied().unwrap_or(0));
            assert_eq!(symbol.len(), neighbours.iter().map(|i| contents[*i].len()).max().unwrap());
            assert_eq!(symbol.as_slice(), (0..symbol.len()).map(byte).collect::<Vec<_>>());
            assert_eq!(symbol, encoder.symbol(*seed));
        }
    }

    #[test]
    fn blocks_have_1_to_64_symbols() {
        for k in [1, 64] {
            assert_eq!(Encoder::new(LtCode::Systematic, vec![Length(9); k]).unwrap().k(), k);
        }
        for k in [0, 65] {
            assert_eq!(Encoder::new(LtCode::Systematic, vec![Length(9); k]).err(), Some(LtError::BlockSize(k)));
        }
        let encoder = Encoder::new(LtCode::Systematic, vec![Length(9)]).unwrap();
        assert_eq!((encoder.source(0), encoder.source(1)), (Some(&Length(9)), None));
    }
}
