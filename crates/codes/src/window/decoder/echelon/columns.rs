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
    pub(super) fn rearrange_columns(&mut self, room: usize, kept: impl Iterator<Item = u32> + Clone) {
        let rows = chunks_for(self.count);
        self.first = 0;
        // Mostly they only move down: what is given back is the oldest.
        if room >= self.room && kept.clone().is_sorted() {
            for (to, from) in kept.map(|column| column as usize).enumerate().filter(|(to, from)| to != from) {
                let (to, from) = (to * self.height, from * self.height);
                self.store.copy_within(from..from + rows, to);
                self.store[from..from + rows].fill(Chunk::ZERO);
            }
        } else {
            self.spare.clear();
            for column in kept {
                self.spare.extend_from_slice(&self.store[column as usize * self.height..][..self.height]);
            }
            std::mem::swap(&mut self.store, &mut self.spare);
        }
        self.room = room;
        self.store.resize(room * self.height, Chunk::ZERO);
    }

    /// `work` += the sum of all rows, each times its factor.
    pub(super) fn gather(&mut self, work: &mut [Chunk], factors: &[u8], columns: usize) {
        // Rows that wait are mostly older than what is combined now.
        let is_zero = |chunk: &[u8]| chunk.iter().fold(0, |sum, c| sum | c) == 0;
        let Some(skip) = factors.chunks(CHUNK).position(|chunk| !is_zero(chunk)) else { return };
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
        factors.extend_from_slice(&self.store[pivot * self.height..][..chunks_for(self.count)]);
        let kernel = Kernel::chosen();
        let work = bytes(work);
        let rows = factors.len() * CHUNK;
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
        const WORD: usize = 8;
        const LOW: u64 = u64::from_le_bytes([1; WORD]);
        for start in (0..self.count).step_by(CHUNK) {
            let mut any = [0; CHUNK / WORD];
            for column in self.used(columns) {
                let (words, _) = self.column(column)[start..start + CHUNK].as_chunks::<WORD>();
                any.iter_mut().zip(words).for_each(|(any, word)| *any |= u64::from_le_bytes(*word));
            }
            for (at, word) in (start..self.count).step_by(WORD).zip(any) {
                // Bit 7 of each byte that is zero, and perhaps of some above it.
                if word.wrapping_sub(LOW) & !word & (LOW << 7) != 0 {
                    let rows = (at..self.count).zip(word.to_le_bytes());
                    units.extend(rows.filter(|(_, any)| *any == 0).map(|(row, _)| row));
                }
            }
        }
    }
}
