//! Rows that lie one after the other, columns and transform side by side: an elimination step adds multiples of one row to
//! all others, with the payloads' part along.

use super::Pivots;
use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes, bytes_mut};

/// A matrix stored by rows.
///
/// A row lies in memory as its columns, then its transform, in whole chunks together: one chunk as long as there are few
/// of both.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Bytes of a row that hold columns, and those after them that hold the transform.
    column_room: usize,
    transform_room: usize,
    /// All rows, end to end.
    store: Vec<Chunk>,
    /// For each row a column in which it was not zero when last looked at, so that a row is known not
    /// to be decoded by a look at one byte.
    witnesses: Vec<u32>,
    /// Kept for their memory.
    factors: Vec<u8>,
    spare: Vec<Chunk>,
}

impl Rows {
    /// Room for columns and transform as long as they are few: one chunk together.
    const ROOM: usize = CHUNK / 2;

    pub(super) fn new() -> Rows {
        Rows {
            column_room: Rows::ROOM,
            transform_room: Rows::ROOM,
            store: Vec::new(),
            witnesses: Vec::new(),
            factors: Vec::new(),
            spare: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        (self.column_room, self.transform_room) = (Rows::ROOM, Rows::ROOM);
        self.store.clear();
        self.witnesses.clear();
    }

    /// How many columns there is room for.
    pub(super) fn column_room(&self) -> usize {
        self.column_room
    }

    /// Chunks that a row takes.
    pub(super) fn stride(&self) -> usize {
        (self.column_room + self.transform_room) / CHUNK
    }

    fn count(&self) -> usize {
        self.witnesses.len()
    }

    /// What `row` holds: its columns first.
    pub(super) fn row(&self, row: usize) -> &[u8] {
        let stride = self.stride();
        bytes(&self.store[row * stride..][..stride])
    }

    /// The transform of `row`.
    pub(super) fn transform(&self, row: usize) -> &[u8] {
        &self.row(row)[self.column_room..]
    }

    /// Makes room for `room` columns or more, those of `kept` alone and in that order.
    pub(super) fn rearrange_columns(&mut self, room: usize, kept: impl Iterator<Item = u32> + Clone) {
        let old = self.column_room;
        self.lay_out(room, self.transform_room.next_multiple_of(CHUNK), |from, to| {
            to.iter_mut().zip(kept.clone()).for_each(|(to, column)| *to = from[column as usize]);
            to[room..room + from.len() - old].copy_from_slice(&from[old..]);
        });
        self.witnesses.fill(0);
    }

    /// Makes room for `slots` slots of the transform.
    pub(super) fn reserve_slots(&mut self, slots: usize) {
        if slots <= self.transform_room {
            return;
        }
        let old = self.column_room;
        let room = old.next_multiple_of(CHUNK);
        self.lay_out(room, (self.transform_room * 3 / 2 + 1).next_multiple_of(CHUNK), |from, to| {
            to[..old].copy_from_slice(&from[..old]);
            to[room..room + from.len() - old].copy_from_slice(&from[old..]);
        });
    }

    /// Gives every row so much room for columns and for the transform; `copy` takes over each row's
    /// bytes, from the old row to the new one, which is zero.
    fn lay_out(&mut self, column_room: usize, transform_room: usize, copy: impl Fn(&[u8], &mut [u8])) {
        let before = self.stride();
        (self.column_room, self.transform_room) = (column_room, transform_room);
        let stride = self.stride();
        self.spare.clear();
        self.spare.resize(self.count() * stride, Chunk::ZERO);
        for (from, to) in self.store.chunks_exact(before).zip(self.spare.chunks_exact_mut(stride)) {
            copy(bytes(from), bytes_mut(to));
        }
        std::mem::swap(&mut self.store, &mut self.spare);
    }

    /// `work` += the sum of all rows, each times its factor.
    pub(super) fn gather(&self, work: &mut [Chunk], factors: &[u8]) {
        Kernel::chosen().gather(work, &self.store, factors);
    }

    /// Makes the byte `at` zero in all rows by adding multiples of `work`, which is 1 there.
    pub(super) fn eliminate(&mut self, work: &[Chunk], at: usize) {
        let stride = self.stride() * CHUNK;
        self.factors.clear();
        self.factors.resize(self.count(), 0);
        let all = bytes(&self.store);
        let mut at = at;
        for factor in &mut self.factors {
            *factor = all[at];
            at += stride;
        }
        Kernel::chosen().scatter(&mut self.store, work, &self.factors);
    }

    /// Adds `work` as a row; of its columns it is the last one that stays longest, or the first.
    pub(super) fn push(&mut self, work: &[Chunk], order: Pivots, columns: usize) {
        self.store.extend_from_slice(work);
        // A guess that is mostly right: the column that is farthest from becoming a pivot.
        self.witnesses.push(match order {
            Pivots::Lowest => (columns - 1) as u32,
            Pivots::Highest => 0,
        });
    }

    /// Removes `row`; the last row takes its place.
    pub(super) fn remove(&mut self, row: usize) {
        let stride = self.stride();
        let last = self.count() - 1;
        self.store.copy_within(last * stride.., row * stride);
        self.store.truncate(last * stride);
        self.witnesses.swap_remove(row);
    }

    /// Makes `column` zero in all rows.
    pub(super) fn erase_column(&mut self, column: usize) {
        let stride = self.stride();
        for row in self.store.chunks_exact_mut(stride) {
            bytes_mut(row)[column] = 0;
        }
    }

    /// Lists the rows that are zero in the first `columns` columns in `units`, ascending.
    pub(super) fn units(&mut self, order: Pivots, columns: usize, units: &mut Vec<usize>) {
        let stride = self.stride() * CHUNK;
        let all = bytes(&self.store);
        let mut at = 0;
        for row in 0..self.witnesses.len() {
            if all[at + self.witnesses[row] as usize] == 0 {
                let coefficients = &all[at..][..columns];
                let nonzero = match order {
                    Pivots::Lowest => coefficients.iter().rposition(|c| *c != 0),
                    Pivots::Highest => coefficients.iter().position(|c| *c != 0),
                };
                match nonzero {
                    Some(column) => self.witnesses[row] = column as u32,
                    None => units.push(row),
                }
            }
            at += stride;
        }
    }

    /// Makes every row its own payload: row i stands for the payload in slot i, alone.
    pub(super) fn reset_transforms(&mut self) {
        let stride = self.stride();
        let start = self.column_room;
        for (row, chunks) in self.store.chunks_exact_mut(stride).enumerate() {
            let transform = &mut bytes_mut(chunks)[start..];
            transform.fill(0);
            transform[row] = 1;
        }
    }
}
