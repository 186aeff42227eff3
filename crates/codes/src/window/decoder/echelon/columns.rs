//! Columns that lie one after the other, without transforms: where thousands of rows wait for a few unseen symbols, an
//! elimination step is one long vector operation for each of those.

use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes, bytes_mut, chunks_for};

/// A matrix stored by columns.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// How many columns there is room for; those not in use are zero.
    room: usize,
    /// Chunks that a column takes: a byte a row.
    height: usize,
    /// All columns, end to end.
    store: Vec<Chunk>,
    /// How many rows there are.
    count: usize,
    /// Columns before this are zero.
    first: usize,
    /// A factor for each row; kept, as `spare` is, for the memory.
    factors: Vec<Chunk>,
    spare: Vec<Chunk>,
}

impl Columns {
    pub(super) fn new() -> Columns {
        Columns {
            room: CHUNK,
            height: 1,
            store: vec![Chunk::ZERO; CHUNK],
            count: 0,
            first: 0,
            factors: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Forgets all rows, and what the first `columns` columns hold.
    pub(super) fn clear(&mut self, columns: usize) {
        // The height stays: where many rows waited, many will again.
        for column in self.used(columns) {
            self.erase_column(column);
        }
        self.count = 0;
        self.first = 0;
    }

    /// How many columns there is room for.
    pub(super) fn column_room(&self) -> usize {
        self.room
    }

    /// Chunks that a row at work takes.
    pub(super) fn stride(&self) -> usize {
        self.room / CHUNK
    }

    /// What `row` holds at `column`.
    pub(super) fn at(&self, row: usize, column: usize) -> u8 {
        self.column(column)[row]
    }

    fn column(&self, column: usize) -> &[u8] {
        bytes(&self.store[column * self.height..][..self.height])
    }

    fn column_mut(&mut self, column: usize) -> &mut [u8] {
        bytes_mut(&mut self.store[column * self.height..][..self.height])
    }

    /// The columns that may be other than zero, of the first `columns`.
    fn used(&self, columns: usize) -> impl Iterator<Item = usize> + use<> {
        self.first..columns.min(self.room)
    }

    /// Makes room for `room` columns or more, those of `kept` alone and in that order.
    pub(super) fn rearrange_columns(&mut self, room: usize, kept: impl Iterator<Item = u32>) {
        self.spare.clear();
        for column in kept {
            self.spare.extend_from_slice(&self.store[column as usize * self.height..][..self.height]);
        }
        self.room = room;
        self.first = 0;
        self.spare.resize(room * self.height, Chunk::ZERO);
        std::mem::swap(&mut self.store, &mut self.spare);
    }

    /// `work` += the sum of all rows, each times its factor.
    pub(super) fn gather(&mut self, work: &mut [Chunk], factors: &[u8], columns: usize) {
        // Rows that wait are mostly older than what is combined now.
        let Some(start) = factors.iter().position(|c| *c != 0) else { return };
        let skip = start / CHUNK;
        self.factors.clear();
        self.factors.resize(chunks_for(factors.len()) - skip, Chunk::ZERO);
        let recent = &factors[skip * CHUNK..];
        bytes_mut(&mut self.factors)[..recent.len()].copy_from_slice(recent);
        let (kernel, work) = (Kernel::chosen(), bytes_mut(work));
        for column in self.used(columns) {
            let chunks = &self.store[column * self.height..][skip..self.height];
            work[column] ^= kernel.dot(&self.factors, chunks);
        }
    }

    /// Makes `pivot` zero in all rows by adding multiples of `work`, which is 1 there.
    pub(super) fn eliminate(&mut self, work: &[Chunk], pivot: usize, columns: usize) {
        self.cover(work, columns);
        let mut factors = std::mem::take(&mut self.factors);
        factors.clear();
        factors.extend_from_slice(&self.store[pivot * self.height..][..self.height]);
        let kernel = Kernel::chosen();
        let work = bytes(work);
        let rows = self.count.next_multiple_of(CHUNK);
        for column in self.used(columns) {
            if column != pivot {
                kernel.mul_add(&mut self.column_mut(column)[..rows], &bytes(&factors)[..rows], work[column]);
            }
        }
        self.erase_column(pivot);
        self.factors = factors;
    }

    /// Adds `work` as a row, over the first `columns` columns.
    pub(super) fn push(&mut self, work: &[Chunk], columns: usize) {
        if self.count == self.height * CHUNK {
            self.heighten();
        }
        self.cover(work, columns);
        let row = self.count;
        self.count += 1;
        let work = bytes(work);
        for column in self.used(columns) {
            self.column_mut(column)[row] = work[column];
        }
    }

    /// The columns of `work` are in use from now on: some may have been given back before, and be claimed again.
    fn cover(&mut self, work: &[Chunk], columns: usize) {
        let before = &bytes(work)[..self.first.min(columns)];
        self.first = before.iter().position(|c| *c != 0).unwrap_or(self.first);
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

    /// Removes `row`; the last row takes its place.
    pub(super) fn remove(&mut self, row: usize, columns: usize) {
        self.count -= 1;
        let last = self.count;
        for column in self.used(columns) {
            let column = self.column_mut(column);
            column[row] = column[last];
            column[last] = 0;
        }
    }

    /// Makes `column` zero in all rows.
    pub(super) fn erase_column(&mut self, column: usize) {
        let rows = self.count;
        self.column_mut(column)[..rows].fill(0);
        self.first += usize::from(column == self.first);
    }

    /// Lists the rows that are zero in the first `columns` columns in `units`, ascending.
    pub(super) fn units(&self, columns: usize, units: &mut Vec<usize>) {
        for start in (0..self.count).step_by(CHUNK) {
            let mut any = [0; CHUNK];
            for column in self.used(columns) {
                let part = &self.column(column)[start..start + CHUNK];
                any.iter_mut().zip(part).for_each(|(any, c)| *any |= c);
            }
            let rows = (self.count - start).min(CHUNK);
            units.extend((0..rows).filter(|row| any[*row] == 0).map(|row| start + row));
        }
    }
}
