//! The layout by columns: each column is contiguous in memory. A column holds the coefficients of
//! all rows at one unseen symbol. `mod.rs` explains the terms. When thousands of rows wait for a
//! few unseen symbols, an elimination step is one long vector operation for each of these symbols.
//!
//! This layout has no transforms (the record of the payloads that a row combines). It is used for
//! payloads that have a length but no bytes.

use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes, bytes_mut, chunks_for};
use std::ops::Range;

/// A matrix stored by columns.
///
/// Columns that are not in use are zero. Some functions have an argument `columns`: all columns
/// from this index on are unused. Other functions have an argument `used`: a list of the columns in
/// use.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// The number of columns for which there is room.
    room: usize,
    /// The number of chunks that a column takes. Each row has one byte in the column. Bytes beyond
    /// the last row are zero.
    height: usize,
    /// All columns, one after the other.
    store: Vec<Chunk>,
    /// The number of rows.
    count: usize,
    /// Scratch memory: a copy of one column.
    factors: Vec<Chunk>,
    /// Scratch memory: the new `store` while it grows.
    spare: Vec<Chunk>,
}

impl Columns {
    /// A matrix without rows, with room for one chunk of columns.
    pub(super) fn new() -> Columns {
        Columns {
            room: CHUNK,
            height: 1,
            store: vec![Chunk::ZERO; CHUNK],
            count: 0,
            factors: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Removes all rows, and sets the first `columns` columns to zero.
    pub(super) fn clear(&mut self, columns: usize) {
        // The height is kept: where many rows waited, many are likely to wait again.
        for column in 0..columns {
            self.erase_column(column);
        }
        self.count = 0;
    }

    /// The bytes that the matrix holds, with spare capacity.
    pub(super) fn held(&self) -> usize {
        CHUNK * (self.store.capacity() + self.factors.capacity() + self.spare.capacity())
    }

    /// The number of columns for which there is room.
    pub(super) fn column_room(&self) -> usize {
        self.room
    }

    /// The number of chunks that a working row takes.
    pub(super) fn stride(&self) -> usize {
        self.room / CHUNK
    }

    /// The coefficient of `row` at `column`.
    pub(super) fn at(&self, row: usize, column: usize) -> u8 {
        self.column(column)[row]
    }

    /// The bytes of `column`, one for each row.
    fn column(&self, column: usize) -> &[u8] {
        bytes(&self.store[column * self.height..][..self.height])
    }

    /// The bytes of `column`, to write.
    fn column_mut(&mut self, column: usize) -> &mut [u8] {
        bytes_mut(&mut self.store[column * self.height..][..self.height])
    }

    /// Makes room for `columns` columns, and for half as many more, so that the room rarely has to
    /// grow.
    pub(super) fn reserve(&mut self, columns: usize) {
        if columns > self.room {
            self.room = (columns + columns / 2).next_multiple_of(CHUNK);
            self.store.resize(self.room * self.height, Chunk::ZERO);
        }
    }

    /// Adds to `work` the sum of the rows `within`, each multiplied by its factor. The factors of
    /// all other rows are zero. `used` lists the columns in use.
    pub(super) fn gather(&self, work: &mut [u8], factors: &[Chunk], within: Range<usize>, used: &[u32]) {
        Kernel::chosen().dots(factors, within, &self.store, self.height, used, work);
    }

    /// Makes column `pivot` zero in all rows by adding multiples of `work`, which has a byte for
    /// each column. Besides `pivot`, only the columns `used` change.
    pub(super) fn eliminate(&mut self, work: &[u8], pivot: usize, used: &[u32]) {
        self.factors.clear();
        self.factors.extend_from_slice(&self.store[pivot * self.height..][..chunks_for(self.count)]);
        Kernel::chosen().scatter_some(&mut self.store, self.height, &self.factors, used, work);
        self.erase_column(pivot);
    }

    /// Inserts a row at index `row`: the bytes of `work` at the columns `used`. The index of each
    /// row from `row` on grows by 1.
    pub(super) fn insert(&mut self, row: usize, work: &[Chunk], used: &[u32]) {
        if self.count == self.height * CHUNK {
            self.heighten();
        }
        let (count, stride) = (self.count, self.height * CHUNK);
        self.count += 1;
        let (work, store) = (bytes(work), bytes_mut(&mut self.store));
        for column in used {
            let start = *column as usize * stride;
            if row < count {
                store.copy_within(start + row..start + count, start + row + 1);
            }
            store[start + row] = work[*column as usize];
        }
    }

    /// Makes room for more rows.
    fn heighten(&mut self) {
        let height = self.height * 3 / 2 + 1;
        self.spare.clear();
        for column in self.store.chunks_exact(self.height) {
            self.spare.extend_from_slice(column);
            self.spare.resize(self.spare.len() + height - self.height, Chunk::ZERO);
        }
        self.height = height;
        std::mem::swap(&mut self.store, &mut self.spare);
    }

    /// Removes `row`. The last row takes its place.
    pub(super) fn remove(&mut self, row: usize, columns: usize) {
        self.count -= 1;
        let last = self.count;
        for column in 0..columns {
            let column = self.column_mut(column);
            column[row] = column[last];
            column[last] = 0;
        }
    }

    /// Removes `rows`, which ascend. The rows after them move up.
    pub(super) fn remove_all(&mut self, rows: &[usize], columns: usize) {
        let count = self.count;
        for column in 0..columns {
            let column = self.column_mut(column);
            for (gone, row) in rows.iter().enumerate() {
                let next = rows.get(gone + 1).map_or(count, |next| *next);
                column.copy_within(row + 1..next, row - gone);
            }
            column[count - rows.len()..count].fill(0);
        }
        self.count -= rows.len();
    }

    /// Sets `column` to zero in all rows.
    pub(super) fn erase_column(&mut self, column: usize) {
        let rows = chunks_for(self.count);
        self.store[column * self.height..][..rows].fill(Chunk::ZERO);
    }

    /// Lists in `units` the rows that are zero in the columns `used`, ascending.
    pub(super) fn units(&self, used: &[u32], units: &mut Vec<usize>) {
        let Some((some, others)) = used.split_first() else { return };
        // Most rows are nonzero in every column, so few rows remain to be checked in the other
        // columns.
        let column = &self.column(*some as usize)[..self.count];
        let mut from = 0;
        while let Some(skipped) = memchr::memchr(0, &column[from..]) {
            let row = from + skipped;
            if others.iter().all(|other| self.at(row, *other as usize) == 0) {
                units.push(row);
            }
            from = row + 1;
        }
    }
}
