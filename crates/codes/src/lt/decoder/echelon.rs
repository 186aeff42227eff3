//! The rank of what has arrived: an echelon form over GF(2) on 64-bit words.

use crate::lt::MAX_BLOCK;

/// Vectors over GF(2) with different lowest bits. They span the same space as all vectors that were
/// inserted.
#[derive(Clone, Debug)]
pub(super) struct Echelon {
    /// The vector whose lowest bit is the index; 0 if there is none.
    rows: [u64; MAX_BLOCK],
    rank: usize,
}

impl Echelon {
    pub(super) fn new() -> Echelon {
        Echelon { rows: [0; MAX_BLOCK], rank: 0 }
    }

    /// The dimension of the space.
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// Inserts a vector. Returns false if the vector was in the space already.
    #[inline]
    pub(super) fn insert(&mut self, mut vector: u64) -> bool {
        while vector != 0 {
            let row = &mut self.rows[vector.trailing_zeros() as usize];
            if *row == 0 {
                *row = vector;
                self.rank += 1;
                return true;
            }
            vector ^= *row;
        }
        false
    }
}
