//! The code of one shape: its coefficients, and the repairs of a block.

use crate::{Matrix, Payload};
use ripstop_gf256::div;
use std::sync::Arc;

/// The largest number of symbols in a block, repairs included. Unit: symbols. Each symbol needs an
/// element of GF(256) for itself, and the last element stays free, so that a decoder can mark a
/// symbol as missing in one byte. Half the value would refuse blocks that the field can code. Double
/// the value is impossible in this field.
pub const MAX_BLOCK: usize = 255;

/// Why a code could not be made, or a block could not be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// There is no code of this shape.
    #[error("there is no block code with N = {n} and K = {k}; it must be 1 <= K <= N <= {MAX_BLOCK}")]
    Shape {
        /// N, the number of symbols in a block.
        n: usize,
        /// K, the number of source symbols in a block.
        k: usize,
    },
    /// The number of source symbols is not K.
    #[error("a block of this code has {k} source symbols; {given} were given")]
    Sources {
        /// K, the number of source symbols in a block.
        k: usize,
        /// The number of source symbols that were given.
        given: usize,
    },
    /// The symbol is not a repair of this code.
    #[error("symbol {index} is not a repair; the repairs of this code are the symbols {k}..{n}")]
    NotARepair {
        /// The index that was given.
        index: usize,
        /// K, the index of the first repair.
        k: usize,
        /// N, the index after the last repair.
        n: usize,
    },
}

/// A systematic (N, K) block code over GF(256).
///
/// A block has N symbols, numbered from 0. Symbols 0..K are the source symbols, and symbols K..N
/// are the repairs. Any K of the N symbols restore the block ([`BlockDecoder`](super::BlockDecoder)).
///
/// The coefficient of source symbol j in repair r is (K + j) / (r + j), with the field's addition
/// (XOR) and division. The matrix 1 / (r + j) is a Cauchy matrix, and every square part of a Cauchy
/// matrix is invertible. The factor K + j of column j keeps this property. It makes all
/// coefficients of the first repair 1, so the first repair is the XOR of the source symbols. The
/// coefficients depend on K and not on N, so a larger N adds repairs to the same code. The
/// coefficients are meant for the wire and never change; `vectors/block.csv` holds test vectors.
///
/// Source symbols of a block may differ in length. A short one counts as padded with zeros, and a
/// repair is as long as the longest source symbol.
///
/// ```
/// use ripstop_codes::Symbol;
/// use ripstop_codes::block::{BlockCode, BlockDecoder};
///
/// let code = BlockCode::new(5, 3)?;
/// let sources = [b"one", b"two", b"six"].map(|text| Symbol::from_slice(text));
/// let repairs = code.encode(&sources)?;
/// // Symbols 0 and 2 are lost.
/// let mut decoder = BlockDecoder::new(&code);
/// for (index, symbol) in [(1, &sources[1]), (3, &repairs[0]), (4, &repairs[1])] {
///     decoder.symbol(index, symbol.clone());
/// }
/// assert_eq!(decoder.get(2), Some(&sources[2]));
/// # Ok::<(), ripstop_codes::block::BlockError>(())
/// ```
///
/// A clone shares the coefficients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCode {
    /// One row for each repair, one column for each source symbol.
    coefficients: Arc<Matrix>,
}

impl BlockCode {
    /// The code with N = `n` symbols in a block, of which K = `k` are source symbols.
    ///
    /// # Errors
    /// Unless 1 <= K <= N <= [`MAX_BLOCK`].
    pub fn new(n: usize, k: usize) -> Result<BlockCode, BlockError> {
        if k == 0 || k > n || n > MAX_BLOCK {
            return Err(BlockError::Shape { n, k });
        }
        let mut coefficients = Matrix::zero(n - k, k);
        for repair in k..n {
            for (source, c) in coefficients.row_mut(repair - k).iter_mut().enumerate() {
                // All three numbers are below 256.
                *c = div((k ^ source) as u8, (repair ^ source) as u8);
            }
        }
        Ok(BlockCode { coefficients: Arc::new(coefficients) })
    }

    /// N: the number of symbols in a block.
    pub fn n(&self) -> usize {
        self.k() + self.coefficients.rows()
    }

    /// K: the number of source symbols in a block, and the index of the first repair.
    pub fn k(&self) -> usize {
        self.coefficients.columns()
    }

    /// The coefficients of all source symbols in the repair with this index (K..N). None if the
    /// symbol is not a repair.
    pub fn coefficients(&self, index: usize) -> Option<&[u8]> {
        (self.k()..self.n()).contains(&index).then(|| self.coefficients.row(index - self.k()))
    }

    /// All N-K repairs of a block, in the order of their indices.
    ///
    /// # Errors
    /// If there are not exactly K source symbols.
    pub fn encode<P: Payload>(&self, sources: &[P]) -> Result<Vec<P>, BlockError> {
        let mut repairs = Vec::with_capacity(self.coefficients.rows());
        self.encode_into(sources, &mut repairs)?;
        Ok(repairs)
    }

    /// Like [`BlockCode::encode`], but appends the repairs to `repairs`.
    ///
    /// # Errors
    /// If there are not exactly K source symbols.
    pub fn encode_into<P: Payload>(&self, sources: &[P], repairs: &mut Vec<P>) -> Result<(), BlockError> {
        self.combine(&self.coefficients, sources, repairs)
    }

    /// The repairs with these indices (K..N), in the order of `indices`.
    ///
    /// # Errors
    /// If there are not exactly K source symbols, or one of `indices` is not that of a repair.
    pub fn encode_some<P: Payload>(&self, sources: &[P], indices: &[usize]) -> Result<Vec<P>, BlockError> {
        let mut some = Matrix::zero(indices.len(), self.k());
        for (m, index) in indices.iter().enumerate() {
            let row = self.coefficients(*index);
            let row = row.ok_or(BlockError::NotARepair { index: *index, k: self.k(), n: self.n() })?;
            some.row_mut(m).copy_from_slice(row);
        }
        let mut repairs = Vec::with_capacity(indices.len());
        self.combine(&some, sources, &mut repairs)?;
        Ok(repairs)
    }

    /// Appends combinations of a block's source symbols to `repairs`.
    fn combine<P: Payload>(
        &self,
        coefficients: &Matrix,
        sources: &[P],
        repairs: &mut Vec<P>,
    ) -> Result<(), BlockError> {
        if sources.len() != self.k() {
            return Err(BlockError::Sources { k: self.k(), given: sources.len() });
        }
        let sources: Vec<&P> = sources.iter().collect();
        P::combine_into(coefficients, &sources, repairs);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Length, Symbol};

    #[test]
    fn only_shapes_that_exist_are_made() {
        for (n, k) in [(0, 0), (5, 0), (4, 5), (256, 1), (256, 256), (usize::MAX, 3), (3, usize::MAX)] {
            assert_eq!(BlockCode::new(n, k), Err(BlockError::Shape { n, k }));
        }
        let message = BlockCode::new(4, 5).unwrap_err().to_string();
        assert_eq!(message, "there is no block code with N = 4 and K = 5; it must be 1 <= K <= N <= 255");
        for (n, k) in [(1, 1), (255, 255), (255, 1), (255, 254)] {
            let code = BlockCode::new(n, k).unwrap();
            assert_eq!((code.n(), code.k()), (n, k));
        }
    }

    /// The fields of each line, without comments and the header.
    fn lines(vectors: &str) -> impl Iterator<Item = Vec<&str>> {
        let lines = vectors.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
        lines.map(|line| line.split(',').collect())
    }

    #[test]
    fn the_code_never_changes() {
        let mut checked = 0;
        for line in lines(include_str!("../../vectors/block.csv")) {
            let [k, repair, source, want] = [0, 1, 2, 3].map(|at| line[at].parse::<usize>().unwrap());
            let code = BlockCode::new(MAX_BLOCK, k).unwrap();
            let c = code.coefficients(repair).unwrap()[source];
            assert_eq!(usize::from(c), want, "K {k}, repair {repair}, source symbol {source}");
            checked += 1;
        }
        assert!(checked > 400, "only {checked} coefficients were checked");
        let bytes = |hex: &str| -> Vec<u8> {
            let digits = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16));
            digits.map(Result::unwrap).collect()
        };
        let symbols: Vec<(usize, usize, Symbol)> = lines(include_str!("../../vectors/block-symbols.csv"))
            .map(|line| (line[0].parse().unwrap(), line[1].parse().unwrap(), Symbol::from_slice(&bytes(line[3]))))
            .collect();
        let mut blocks = 0;
        for block in symbols.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (n, k, _) = block[0];
            let symbols: Vec<Symbol> = block.iter().map(|(_, _, symbol)| symbol.clone()).collect();
            assert_eq!(symbols.len(), n);
            let code = BlockCode::new(n, k).unwrap();
            assert_eq!(code.encode(&symbols[..k]).unwrap(), symbols[k..], "N {n}, K {k}");
            blocks += 1;
        }
        assert_eq!(blocks, 7);
    }

    #[test]
    fn the_first_repair_is_the_xor_and_more_repairs_change_nothing() {
        let (few, many) = (BlockCode::new(33, 32).unwrap(), BlockCode::new(40, 32).unwrap());
        assert_eq!(few.coefficients(32), Some(&[1; 32][..]));
        assert_eq!(few.coefficients(32), many.coefficients(32));
        assert_eq!((few.coefficients(31), few.coefficients(33)), (None, None));
        let zeros = (32..40).filter_map(|r| many.coefficients(r)).flatten().filter(|c| **c == 0).count();
        assert_eq!(zeros, 0);
    }

    #[test]
    fn repairs_can_be_made_one_by_one() {
        let code = BlockCode::new(12, 7).unwrap();
        let sources: Vec<Symbol> = (1..8u8).map(|i| Symbol::from_slice(&vec![i; 20 * usize::from(i)])).collect();
        let all = code.encode(&sources).unwrap();
        assert!(all.len() == 5 && all.iter().all(|repair| repair.len() == 140));
        let some = code.encode_some(&sources, &[11, 7, 7]).unwrap();
        assert_eq!(some, [all[4].clone(), all[0].clone(), all[0].clone()]);
        assert_eq!(code.encode_some(&sources, &[]), Ok(vec![]));
        for index in [0, 6, 12, usize::MAX] {
            assert_eq!(code.encode_some(&sources, &[7, index]), Err(BlockError::NotARepair { index, k: 7, n: 12 }));
        }
        for given in [0, 6, 8] {
            let sources = vec![Length(9); given];
            assert_eq!(code.encode(&sources), Err(BlockError::Sources { k: 7, given }));
            assert_eq!(code.encode_some(&sources, &[7]), Err(BlockError::Sources { k: 7, given }));
        }
        assert_eq!(BlockCode::new(7, 7).unwrap().encode(&sources), Ok(vec![]));
    }
}
