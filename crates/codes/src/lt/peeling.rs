//! Peeling on masks: which source symbols follow one by one from the received symbols.

use super::{LtError, all, checked};

/// Decodes a block by peeling alone, without payloads.
///
/// The [`Decoder`](super::Decoder) uses the same rules, but does not depend on peeling alone. This
/// type also measures how many symbols peeling alone would need.
#[derive(Clone, Debug)]
pub struct Peeling {
    /// The number of source symbols.
    k: usize,
    /// The source symbols that are known.
    known: u64,
    /// The unknown neighbours of each received symbol.
    unknown: Vec<u64>,
    /// Received symbols that had one unknown neighbour when they were put here.
    single: Vec<usize>,
}

impl Peeling {
    /// A block of `k` symbols, all unknown.
    ///
    /// # Errors
    /// If `k` is 0 or more than [`MAX_BLOCK`](super::MAX_BLOCK).
    pub fn new(k: usize) -> Result<Peeling, LtError> {
        let k = checked(k)?;
        Ok(Peeling { k, known: 0, unknown: Vec::with_capacity(k), single: Vec::new() })
    }

    /// Receives a symbol with these neighbours, and peels as far as possible. Neighbours beyond the
    /// block are ignored.
    pub fn receive(&mut self, neighbours: u64) {
        self.push(neighbours);
        while self.pop().is_some() {}
    }

    /// The source symbols that are known: bit i is set if source symbol i is known.
    pub fn known(&self) -> u64 {
        self.known
    }

    /// Whether all source symbols are known.
    pub fn is_complete(&self) -> bool {
        self.known == all(self.k)
    }

    /// Adds a received symbol.
    #[inline]
    pub(super) fn push(&mut self, neighbours: u64) {
        let unknown = neighbours & all(self.k) & !self.known;
        if unknown.is_power_of_two() {
            self.single.push(self.unknown.len());
        }
        self.unknown.push(unknown);
    }

    /// Peels one source symbol: marks it as known. Returns the index of the received symbol that
    /// gives it, and the source symbol. None if nothing can be peeled.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(usize, usize)> {
        loop {
            let index = self.single.pop()?;
            let last = *self.unknown.get(index)?;
            // Another symbol may have given the same source symbol.
            if last != 0 {
                self.learn(last);
                return Some((index, last.trailing_zeros() as usize));
            }
        }
    }

    /// Marks the source symbols of a mask as known.
    pub(super) fn learn(&mut self, symbols: u64) {
        self.known |= symbols;
        for (index, unknown) in self.unknown.iter_mut().enumerate() {
            if *unknown & symbols != 0 {
                *unknown &= !symbols;
                if unknown.is_power_of_two() {
                    self.single.push(index);
                }
            }
        }
    }

    /// The unknown neighbours of each received symbol, in the order of arrival.
    pub(super) fn unknown(&self) -> &[u64] {
        &self.unknown
    }
}
