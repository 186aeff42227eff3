//! [`Symbol`]: a payload of bytes, as the tunnel uses it.

use super::{Matrix, Payload};
use ripstop_gf256::{Kernel, Slot, chunks_for};
use std::fmt;

/// Immutable bytes that are cheap to clone.
///
/// The bytes are stored in aligned 64-byte chunks and padded with zeros, so that the vector code
/// ([`Kernel`]) needs no special case for partial chunks. The padding is not sent on the wire.
///
/// A new symbol reuses the memory of a dropped symbol of about the same size, if there is one
/// ([`Slot`]).
#[derive(Clone)]
pub struct Symbol {
    /// The memory: whole chunks.
    slot: Slot,
    /// The length of the symbol in bytes. The bytes of `slot` after the symbol are zero.
    len: usize,
}

impl Symbol {
    /// A copy of `content`.
    pub fn from_slice(content: &[u8]) -> Symbol {
        Symbol::from_parts(&[content])
    }

    /// A symbol of several parts, such as a header and a body, one after the other. Each byte is
    /// copied once.
    pub fn from_parts(parts: &[&[u8]]) -> Symbol {
        let len = parts.iter().map(|part| part.len()).sum();
        Symbol { slot: Slot::copied(parts), len }
    }

    /// A symbol of `len` bytes, which `fill` writes in place. Bytes that `fill` does not write are
    /// zero.
    pub fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Symbol {
        let mut slot = Slot::zeroed(chunks_for(len));
        if let Some(bytes) = slot.bytes_mut() {
            fill(&mut bytes[..len]);
        }
        Symbol { slot, len }
    }

    /// Changes the bytes in place. Clones of this symbol keep the old bytes: if there are clones,
    /// the bytes are copied first.
    pub fn edit(&mut self, change: impl FnOnce(&mut [u8])) {
        if self.slot.bytes_mut().is_none() {
            self.slot = Slot::copied(&[self.as_slice()]);
        }
        if let Some(bytes) = self.slot.bytes_mut() {
            change(&mut bytes[..self.len]);
        }
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.slot.bytes()[..self.len]
    }

    /// The length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes with their padding. They fill whole aligned chunks, possibly more chunks than
    /// `len` needs.
    #[inline]
    fn padded(&self) -> &[u8] {
        self.slot.bytes()
    }
}

/// The number of sources whose list needs no allocation. With half the value, products of 50 sources
/// allocate. Double the value takes as long for the list as for a product of two sources.
const FEW: usize = 64;
/// An empty list. Copying a list takes less time than writing one entry after the other.
static NONE: [&[u8]; FEW] = [&[]; FEW];

impl Payload for Symbol {
    fn combine(coefficients: &Matrix, sources: &[&Symbol]) -> Vec<Symbol> {
        let mut outputs = Vec::with_capacity(coefficients.rows());
        Symbol::combine_into(coefficients, sources, &mut outputs);
        outputs
    }

    fn combine_into(coefficients: &Matrix, sources: &[&Symbol], outputs: &mut Vec<Symbol>) {
        combine(coefficients, sources.iter().copied(), outputs);
    }

    fn combine_listed<'a>(coefficients: &Matrix, sources: impl Iterator<Item = &'a Symbol> + Clone) -> Vec<Symbol> {
        let mut outputs = Vec::with_capacity(coefficients.rows());
        combine(coefficients, sources, &mut outputs);
        outputs
    }

    #[inline]
    fn sum<'a>(first: &'a Symbol, rest: impl Iterator<Item = &'a Symbol> + Clone) -> Symbol {
        let Some(len) = rest.clone().map(|symbol| symbol.len).max() else { return first.clone() };
        let len = len.max(first.len);
        let sources = std::iter::once(first).chain(rest).map(Symbol::padded);
        Symbol { slot: Kernel::chosen().sum_fresh(chunks_for(len), sources), len }
    }

    #[inline]
    fn prefetch(&self) {
        self.slot.prefetch();
    }

    fn len(&self) -> usize {
        self.len
    }
}

/// Appends the linear combinations of `sources` to `outputs`.
#[inline]
fn combine<'a>(coefficients: &Matrix, sources: impl Iterator<Item = &'a Symbol> + Clone, outputs: &mut Vec<Symbol>) {
    let first = sources.clone().next().map_or(0, |source| source.len);
    let columns = coefficients.columns();
    let (mut few, mut many): ([&[u8]; FEW], Vec<&[u8]>) = (NONE, Vec::new());
    let padded = if columns <= FEW {
        &mut few[..columns]
    } else {
        many.resize(columns, &[]);
        &mut many
    };
    let mut differing = false;
    for (to, source) in padded.iter_mut().zip(sources.clone()) {
        *to = source.padded();
        differing |= source.len != first;
    }
    let length = |row: &[u8]| {
        let mut taken = row.iter().zip(sources.clone()).filter(|(c, _)| **c != 0).map(|(_, source)| source.len);
        if differing { taken.max() } else { taken.next() }.unwrap_or(0)
    };
    let rows = coefficients.rows();
    let longest = if differing { (0..rows).map(|m| length(coefficients.row(m))).max() } else { None };
    let chunks = chunks_for(longest.unwrap_or(first));
    let (kernel, mut m) = (Kernel::chosen(), 0);
    outputs.reserve(rows);
    kernel.product_fresh(coefficients.as_bytes(), rows, chunks, padded, |slot| {
        outputs.push(Symbol { slot, len: length(coefficients.row(m)) });
        m += 1;
    });
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
        shown.iter().enumerate().try_for_each(|(i, byte)| write!(f, "{}{byte:02x}", if i == 0 { ": " } else { "" }))?;
        f.write_str(if shown.len() < self.len() { "..)" } else { ")" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Length, Sketch};
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
            assert_eq!(whole.padded().as_ptr() as usize % 64, 0);
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

        #[test]
        fn sums_are_combinations_with_ones(
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..70),
        ) {
            let symbols: Vec<Symbol> = contents.iter().map(|c| Symbol::from_slice(c)).collect();
            let ones = Matrix::from_bytes(1, contents.len(), vec![1; contents.len()]).unwrap();
            let want = Symbol::combine(&ones, &symbols.iter().collect::<Vec<_>>());
            prop_assert_eq!(vec![Symbol::sum(&symbols[0], symbols[1..].iter())], want);
            let sketches = contents.iter().map(|c| Sketch::new(c.len(), std::array::from_fn(|i| *c.get(i).unwrap_or(&0))));
            let sketches: Vec<Sketch> = sketches.collect();
            let want = Sketch::combine(&ones, &sketches.iter().collect::<Vec<_>>());
            prop_assert_eq!(vec![Sketch::sum(&sketches[0], sketches[1..].iter())], want);
            let lengths: Vec<Length> = contents.iter().map(|c| Length(c.len())).collect();
            let want = Length::combine(&ones, &lengths.iter().collect::<Vec<_>>());
            prop_assert_eq!(vec![Length::sum(&lengths[0], lengths[1..].iter())], want);
        }
    }
}
