//! A symbol of bytes.

use super::{Matrix, Payload, lengths};
use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes, bytes_mut, chunks_for, copied};
use std::fmt;
use std::sync::Arc;

/// The most combinations that share an allocation: enough to make its cost small beside the coding,
/// few enough that one of them kept alive does not hold much memory.
const TOGETHER: usize = 8;

/// Immutable bytes, cheap to clone. They lie in 64-byte chunks, aligned and padded with zeros, so
/// that kernels need no tails; on the wire there is no padding.
#[derive(Clone)]
pub struct Symbol {
    store: Arc<[Chunk]>,
    /// The first of this symbol's chunks.
    first: u32,
    len: u32,
}

impl Symbol {
    /// A copy of `content`.
    pub fn from_slice(content: &[u8]) -> Symbol {
        Symbol::from_parts(&[content])
    }

    /// The parts laid end to end, such as a header and a body: each byte is copied once.
    ///
    /// # Panics
    /// When there are 4 GiB or more.
    pub fn from_parts(parts: &[&[u8]]) -> Symbol {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        Symbol { store: copied(parts), first: 0, len: small(len) }
    }

    /// `len` bytes that `fill` writes in place; what it leaves alone is zero.
    ///
    /// # Panics
    /// When `len` is 4 GiB or more.
    pub fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Symbol {
        let mut store: Arc<[Chunk]> = std::iter::repeat_n(Chunk::ZERO, chunks_for(len)).collect();
        if let Some(chunks) = Arc::get_mut(&mut store) {
            fill(&mut bytes_mut(chunks)[..len]);
        }
        Symbol { store, first: 0, len: small(len) }
    }

    /// Changes the bytes in place. Whoever holds a clone keeps what was there: the bytes are copied
    /// first when they are shared.
    pub fn edit(&mut self, change: impl FnOnce(&mut [u8])) {
        let (start, len) = (self.first as usize * CHUNK, self.len as usize);
        match Arc::get_mut(&mut self.store) {
            Some(chunks) => change(&mut bytes_mut(chunks)[start..start + len]),
            None => {
                let shared = self.clone();
                *self = Symbol::build(len, |bytes| {
                    bytes.copy_from_slice(shared.as_slice());
                    change(bytes);
                });
            }
        }
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.padded()[..self.len as usize]
    }

    /// The length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes with their padding, a whole number of aligned chunks.
    #[inline]
    fn padded(&self) -> &[u8] {
        &bytes(&self.store)[self.first as usize * CHUNK..][..chunks_for(self.len as usize) * CHUNK]
    }
}

fn small(len: usize) -> u32 {
    u32::try_from(len).expect("a symbol is shorter than 4 GiB")
}

impl Payload for Symbol {
    fn combine(coefficients: &Matrix, sources: &[&Symbol]) -> Vec<Symbol> {
        let padded: Vec<&[u8]> = sources.iter().map(|source| source.padded()).collect();
        let lengths = lengths(coefficients, sources, Symbol::len);
        let chunks = lengths.iter().copied().max().map_or(0, chunks_for);
        // Blocks as even as can be: ten are 5 + 5, not 8 + 2.
        let block = lengths.len().div_ceil(lengths.len().div_ceil(TOGETHER).max(1)).max(1);
        let stores =
            Kernel::chosen().product_fresh(coefficients.as_bytes(), lengths.len(), chunks, block, &padded);
        let mut outputs = Vec::with_capacity(lengths.len());
        for (store, lengths) in stores.into_iter().zip(lengths.chunks(block)) {
            outputs.extend(lengths.iter().enumerate().map(|(m, len)| Symbol {
                store: Arc::clone(&store),
                first: small(m * chunks),
                len: small(*len),
            }));
        }
        outputs
    }

    fn len(&self) -> usize {
        self.len as usize
    }
}

impl AsRef<[u8]> for Symbol {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Symbol) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Symbol {}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Symbol({} bytes", self.len)?;
        let shown = &self.as_slice()[..self.len().min(8)];
        shown
            .iter()
            .enumerate()
            .try_for_each(|(i, byte)| write!(f, "{}{byte:02x}", if i == 0 { ": " } else { "" }))?;
        f.write_str(if shown.len() < self.len() { "..)" } else { ")" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ripstop_gf256::mul;

    #[test]
    fn all_ways_to_make_one_agree() {
        for len in [0, 1, 63, 64, 65, 1400] {
            let content: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let (head, body) = content.split_at(len / 4);
            let whole = Symbol::from_slice(&content);
            assert_eq!(whole, Symbol::from_parts(&[head, body]));
            assert_eq!(whole, Symbol::build(len, |bytes| bytes.copy_from_slice(&content)));
            assert_eq!((whole.as_slice(), whole.len()), (&content[..], len));
            assert_eq!(whole.padded().as_ptr() as usize % CHUNK, 0);
        }
        let (mut changed, shared) = (Symbol::from_slice(&[1, 2, 3]), Symbol::from_slice(&[1, 2, 3]));
        changed.edit(|bytes| bytes[0] = 9);
        let mut copied = shared.clone();
        copied.edit(|bytes| bytes[0] = 9);
        assert_eq!((changed.as_slice(), shared.as_slice()), (&[9, 2, 3][..], &[1, 2, 3][..]));
        assert_eq!(copied, changed);
        assert_eq!(Symbol::build(3, |_| ()).as_slice(), [0; 3]);
        assert_eq!(format!("{:?}", Symbol::from_slice(&[1, 0xab])), "Symbol(2 bytes: 01ab)");
    }

    proptest! {
        #[test]
        fn combinations_are_sums_of_products(
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..12),
            rows in 0usize..20,
            filler: u8,
        ) {
            let coefficients = (0..rows * contents.len()).map(|i| (i as u8).wrapping_mul(filler)).collect();
            let matrix = Matrix::from_bytes(rows, contents.len(), coefficients).unwrap();
            let symbols: Vec<Symbol> = contents.iter().map(|c| Symbol::from_slice(c)).collect();
            let combined = Symbol::combine(&matrix, &symbols.iter().collect::<Vec<_>>());
            prop_assert_eq!(combined.len(), rows);
            for (m, output) in combined.iter().enumerate() {
                let taken = contents.iter().zip(matrix.row(m)).filter(|(_, c)| **c != 0);
                prop_assert_eq!(output.len(), taken.map(|(content, _)| content.len()).max().unwrap_or(0));
                for (at, byte) in output.as_slice().iter().enumerate() {
                    let term = |(content, c): (&Vec<u8>, &u8)| mul(*c, content.get(at).copied().unwrap_or(0));
                    let want = contents.iter().zip(matrix.row(m)).map(term).fold(0, |sum, t| sum ^ t);
                    prop_assert_eq!(*byte, want);
                }
            }
        }
    }
}
