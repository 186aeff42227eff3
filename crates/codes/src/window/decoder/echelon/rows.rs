//! The layout by rows. Each row is contiguous in memory: its coefficients at the free columns, then
//! its *transform*, the factors of the stored repairs that the row combines. `mod.rs` explains
//! these terms. An elimination step adds multiples of one row to all others. The same operation
//! updates coefficients and transforms.

use super::Pivots;
use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes, bytes_mut};

/// A matrix stored by rows.
///
/// A row occupies a whole number of chunks ([`CHUNK`] bytes each). As long as there are few columns
/// and slots, a row occupies one chunk. Each slot of the transform belongs to one stored repair.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// The number of bytes of a row that are for columns. Each column takes one byte.
    column_room: usize,
    /// The number of bytes after the columns that are for the transform. Each slot takes one byte.
    transform_room: usize,
    /// All rows, one after the other.
    store: Vec<Chunk>,
    /// For each row, a column in which the row was not zero at the last check. If this column is
    /// still nonzero, the row is not a unit row (a row that is zero at all columns). Most checks
    /// therefore read only one byte.
    witnesses: Vec<u32>,
    /// Scratch memory, kept to avoid allocations.
    factors: Vec<u8>,
    spare: Vec<Chunk>,
}

impl Rows {
    /// The initial room for columns, and the initial room for the transform. Unit: bytes. Together
    /// they fill one chunk, the smallest possible row, so half the value is not possible. With
    /// double the value, every row would take at least two chunks.
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

    /// Removes all rows.
    pub(super) fn clear(&mut self) {
        (self.column_room, self.transform_room) = (Rows::ROOM, Rows::ROOM);
        self.store.clear();
        self.witnesses.clear();
    }

    /// The bytes that the matrix holds, with spare capacity.
    pub(super) fn held(&self) -> usize {
        let chunks = self.store.capacity() + self.spare.capacity();
        CHUNK * chunks + size_of::<u32>() * self.witnesses.capacity() + self.factors.capacity()
    }

    /// Frees spare capacity.
    pub(super) fn shrink_to_fit(&mut self) {
        self.store.shrink_to_fit();
        self.witnesses.shrink_to_fit();
        (self.factors, self.spare) = (Vec::new(), Vec::new());
    }

    /// The number of columns for which there is room.
    pub(super) fn column_room(&self) -> usize {
        self.column_room
    }

    /// The number of chunks that a row occupies.
    pub(super) fn stride(&self) -> usize {
        (self.column_room + self.transform_room) / CHUNK
    }

    /// The number of rows.
    fn count(&self) -> usize {
        self.witnesses.len()
    }

    /// The bytes of `row`: its coefficients at the columns, then its transform.
    pub(super) fn row(&self, row: usize) -> &[u8] {
        let stride = self.stride();
        bytes(&self.store[row * stride..][..stride])
    }

    /// The transform of `row`.
    pub(super) fn transform(&self, row: usize) -> &[u8] {
        &self.row(row)[self.column_room..]
    }

    /// Makes room for at least `room` columns. Only the columns `kept` stay, in this order.
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

    /// Changes the number of bytes that each row has for columns and for the transform. `copy` is
    /// called for each row. It copies the row's old bytes (first argument) to the new bytes. The
    /// new bytes are zero before the call.
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

    /// Adds to `work` the sum of all rows, each multiplied by its factor.
    pub(super) fn gather(&self, work: &mut [Chunk], factors: &[u8]) {
        Kernel::chosen().gather(work, &self.store, factors);
    }

    /// Makes the byte at index `at` zero in all rows by adding multiples of `work`, which must be 1
    /// at this index.
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

    /// Appends `work` as a row. `columns` is the number of columns.
    pub(super) fn push(&mut self, work: &[Chunk], order: Pivots, columns: usize) {
        self.store.extend_from_slice(work);
        // The first witness is the column that is likely to stay nonzero longest. This column is
        // the last choice for a pivot: the highest symbol if pivots are the lowest symbols, and
        // vice versa.
        self.witnesses.push(match order {
            Pivots::Lowest => (columns - 1) as u32,
            Pivots::Highest => 0,
        });
    }

    /// Removes `row`. The last row takes its place.
    pub(super) fn remove(&mut self, row: usize) {
        let stride = self.stride();
        let last = self.count() - 1;
        self.store.copy_within(last * stride.., row * stride);
        self.store.truncate(last * stride);
        self.witnesses.swap_remove(row);
    }

    /// Sets `column` to zero in all rows.
    pub(super) fn erase_column(&mut self, column: usize) {
        let stride = self.stride();
        for row in self.store.chunks_exact_mut(stride) {
            bytes_mut(row)[column] = 0;
        }
    }

    /// Lists in `units` the rows that are zero in the first `columns` columns, ascending.
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

    /// Sets the transforms to the identity matrix: row i has factor 1 for slot i, and factor 0 for
    /// all other slots. The caller has replaced the stored repairs by one payload for each row.
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
