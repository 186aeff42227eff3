//! The layout by columns: each column is contiguous in memory. A column holds the coefficients of
//! all rows at one unseen symbol. `mod.rs` explains the terms. When thousands of rows wait for a
//! few unseen symbols, an elimination step is one long vector operation for each of these symbols.
//!
//! This layout has no transforms (the record of the payloads that a row combines). It is used for
//! payloads that have a length but no bytes.

use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes, bytes_mut, chunks_for};

/// A matrix stored by columns.
///
/// Columns that are not in use are zero. Functions that handle all columns get an argument
/// `columns`: all columns from this index on are unused.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// How many columns there is room for.
    room: usize,
    /// How many chunks a column takes. Each row has one byte in the column. Bytes beyond the last
    /// row are zero.
    height: usize,
    /// All columns, one after the other.
    store: Vec<Chunk>,
    /// How many rows there are.
    count: usize,
    /// Scratch memory: a factor for each row.
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

    /// How many columns there is room for.
    pub(super) fn column_room(&self) -> usize {
        self.room
    }

    /// How many chunks a working row takes.
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

    /// Makes room for `columns` columns, and for half as many more, so that this happens rarely.
    pub(super) fn reserve(&mut self, columns: usize) {
        if columns > self.room {
            self.room = (columns + columns / 2).next_multiple_of(CHUNK);
            self.store.resize(self.room * self.height, Chunk::ZERO);
        }
    }

    /// Adds to `work` the sum of all rows, each multiplied by its factor. Columns whose byte in
    /// `live` is 0 are not in use, and are skipped.
    pub(super) fn gather(&mut self, work: &mut [Chunk], factors: &[u8], live: &[u8]) {
        // The first rows are mostly the oldest. Their pivots are often not in the new combination,
        // so the first factors are often zero.
        let is_zero = |chunk: &[u8]| chunk.iter().fold(0, |sum, c| sum | c) == 0;
        let Some(skip) = factors.chunks(CHUNK).position(|chunk| !is_zero(chunk)) else { return };
        self.factors.clear();
        self.factors.resize(chunks_for(factors.len()) - skip, Chunk::ZERO);
        let recent = &factors[skip * CHUNK..];
        bytes_mut(&mut self.factors)[..recent.len()].copy_from_slice(recent);
        let kernel = Kernel::chosen();
        let columns = bytes_mut(work).iter_mut().zip(self.store.chunks_exact(self.height));
        for ((sum, column), _) in columns.zip(live).filter(|(_, live)| **live != 0) {
            *sum ^= kernel.dot(&self.factors, &column[skip..]);
        }
    }

    /// Makes column `pivot` zero in all rows by adding multiples of `work`, which must be 1 at this
    /// column. Columns where `work` is zero are skipped.
    pub(super) fn eliminate(&mut self, work: &[Chunk], pivot: usize, columns: usize) {
        let mut factors = std::mem::take(&mut self.factors);
        factors.clear();
        factors.extend_from_slice(&self.store[pivot * self.height..][..chunks_for(self.count)]);
        let kernel = Kernel::chosen();
        let rows = factors.len() * CHUNK;
        for (column, c) in bytes(work)[..columns].iter().enumerate() {
            if *c != 0 && column != pivot {
                kernel.mul_add(&mut self.column_mut(column)[..rows], bytes(&factors), *c);
            }
        }
        self.erase_column(pivot);
        self.factors = factors;
    }

    /// Appends the first `columns` columns of `work` as a row.
    pub(super) fn push(&mut self, work: &[Chunk], columns: usize) {
        if self.count == self.height * CHUNK {
            self.heighten();
        }
        let row = self.count;
        self.count += 1;
        for (column, c) in bytes(work)[..columns].iter().enumerate() {
            if *c != 0 {
                self.column_mut(column)[row] = *c;
            }
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

    /// Lists in `units` the rows that are zero in the first `columns` columns, ascending. `some` is
    /// any column in use.
    pub(super) fn units(&self, columns: usize, some: usize, units: &mut Vec<usize>) {
        // Most rows are nonzero in every column, so few remain to be checked in the other columns.
        let candidates = memchr::memchr_iter(0, &self.column(some)[..self.count]);
        units.extend(candidates.filter(|row| (0..columns).all(|column| self.at(*row, column) == 0)));
    }
}
