//! The coefficients of one component's rows, in reduced row echelon form. A *component* is a group
//! of rows that share unknown symbols (see `decoder/mod.rs`).
//!
//! Each row is a linear equation over unknown symbols. It has coefficient 1 at its *pivot*, one of
//! its unknown symbols, and 0 at all other pivots. The unknown symbols that are not a pivot are the
//! *free columns*. A row therefore stores only its coefficients at the free columns. There may be
//! few free columns even when thousands of rows wait. This is so when R(1-p) is near 1. (R is the
//! number of packets sent for each source packet, and p is the loss rate.)
//!
//! Repairs are stored as they arrived, each in a numbered *slot*. Each row is a linear combination
//! of these repairs (and of known symbols). The row's *transform* is the list of its factors, one
//! for each slot. Payloads are not touched before a symbol is decoded; then the transform says how
//! to combine them.
//!
//! The *working row* is the row that is being built or reduced before it is added. A *unit row* has
//! no unknown symbol except its pivot, so the pivot can be decoded.
//!
//! There are two memory layouts. `rows.rs` stores the matrix by rows, together with the transforms.
//! `columns.rs` stores the matrix by columns, without transforms. The layout by columns is for
//! payloads that have a length but no bytes (in simulations), where many rows mostly wait for few
//! columns. `room.rs` assigns columns and slots, and `removal.rs` removes rows and columns.

mod columns;
mod removal;
mod room;
mod rows;

use columns::Columns;
use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes, bytes_mut, chunks_for, inv};
use rows::Rows;
use std::ops::Range;

/// The symbol of a column that is not in use. No decoder accepts this identifier.
const VACANT: u64 = u64::MAX;

/// The choice of a row's pivot among its unknown symbols. The choice decides which symbols are
/// called *seen*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pivots {
    /// The lowest unknown symbol (paper 001, section 2). The unseen symbols are then as high as
    /// possible, so that an acknowledgement of the first unseen symbol reaches as far as possible.
    #[default]
    Lowest,
    /// The highest unknown symbol. The unseen symbols are then as low as possible.
    ///
    /// If k symbols up to identifier n are unseen, k more combinations are needed to decode all
    /// symbols up to n. Symbols after n do not matter. A receiver that must decode old symbols
    /// first therefore requests the unseen symbols.
    Highest,
}

/// The coefficients of all rows at the free columns, in one of the two memory layouts.
#[derive(Clone, Debug)]
enum Store {
    /// By rows, with transforms.
    Rows(Rows),
    /// By columns, without transforms.
    Columns(Columns),
}

/// Rows over free columns, with their transforms.
#[derive(Clone, Debug)]
pub(super) struct Echelon {
    order: Pivots,
    store: Store,
    /// The pivot of each row.
    pivots: Vec<u64>,
    /// Whether the pivots ascend from row to row. They do if every packet sent is a combination of
    /// all packets in the window (a dense code).
    pivots_ascend: bool,
    /// The symbol of each column, or [`VACANT`].
    columns: Vec<u64>,
    columns_used: usize,
    /// Whether the columns ascend by symbol, so that the lowest symbol is easy to find.
    ordered: bool,
    /// The columns in use, ascending by symbol. Filled only in the layout by columns.
    used: Vec<u32>,
    /// The symbol of the first column, if the columns (vacant ones included) are consecutive
    /// symbols.
    columns_run: Option<u64>,
    /// A mask: 0xff for each column in use, 0 for a vacant column.
    live: Vec<u8>,
    /// Vacant columns, to be used again. Filled only in the layout by columns, where the order of
    /// columns does not matter. The matrix then is only as wide as the largest number of columns
    /// that were in use at the same time.
    vacant: Vec<u32>,
    /// For each slot of the transforms, whether it is in use.
    slots: Vec<bool>,
    slots_used: usize,
    /// The working row: its coefficients at the free columns, then its transform.
    work: Vec<Chunk>,
    /// The working row's coefficient at the pivot of each row. To eliminate the pivots, each row is
    /// multiplied by its factor and added to the working row. (Addition in GF(256) is its own
    /// inverse.) There is one byte for each row; the bytes after the last row are zero.
    factors: Vec<Chunk>,
    /// The rows whose factors may be nonzero. The factors of all rows outside this range are zero.
    concerned: Range<usize>,
    /// Scratch memory, kept to avoid allocations.
    kept: Vec<(u32, u64)>,
}

impl Echelon {
    /// An empty matrix. `transforms` chooses the layout: by rows if true, by columns if false.
    pub(super) fn new(order: Pivots, transforms: bool) -> Echelon {
        Echelon {
            order,
            store: if transforms { Store::Rows(Rows::new()) } else { Store::Columns(Columns::new()) },
            pivots: Vec::new(),
            pivots_ascend: true,
            columns: Vec::new(),
            columns_used: 0,
            ordered: true,
            used: Vec::new(),
            columns_run: None,
            live: Vec::new(),
            vacant: Vec::new(),
            slots: Vec::new(),
            slots_used: 0,
            work: vec![Chunk::ZERO],
            factors: Vec::new(),
            concerned: 0..0,
            kept: Vec::new(),
        }
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.pivots.len()
    }

    /// The pivot of `row`.
    pub(super) fn pivot(&self, row: usize) -> u64 {
        self.pivots[row]
    }

    /// The number of slots of the transform that are in use.
    pub(super) fn slots_used(&self) -> usize {
        self.slots_used
    }

    /// The number of slots, both used and vacant.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The transform of `row`: a factor for each slot. Empty in the layout by columns.
    pub(super) fn transform(&self, row: usize) -> &[u8] {
        match &self.store {
            Store::Rows(rows) => &rows.transform(row)[..self.slots.len()],
            Store::Columns(_) => &[],
        }
    }

    /// The number of bytes that the rows take, with their transforms.
    pub(super) fn bytes(&self) -> usize {
        self.rows() * self.stride() * CHUNK
    }

    /// The nonzero coefficients of `row` at the free columns: (symbol, coefficient), in no
    /// particular order.
    pub(super) fn free_part(&self, row: usize) -> impl Iterator<Item = (u64, u8)> + '_ {
        let named = self.columns.iter().enumerate().map(move |(column, id)| (*id, self.at(row, column)));
        named.filter(|(id, c)| *c != 0 && *id != VACANT)
    }

    /// The coefficient of `row` at `column`.
    fn at(&self, row: usize, column: usize) -> u8 {
        match &self.store {
            Store::Rows(rows) => rows.row(row)[column],
            Store::Columns(columns) => columns.at(row, column),
        }
    }

    /// The symbol of `column`, if the column is in use.
    pub(super) fn symbol_of(&self, column: usize) -> Option<u64> {
        self.columns.get(column).copied().filter(|id| *id != VACANT)
    }

    /// The number of columns that are in use.
    pub(super) fn columns_used(&self) -> usize {
        self.columns_used
    }

    /// The number of columns, both used and vacant.
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Removes all rows, columns and slots.
    pub(super) fn clear(&mut self) {
        match &mut self.store {
            Store::Rows(rows) => rows.clear(),
            Store::Columns(columns) => columns.clear(self.columns.len()),
        }
        self.pivots.clear();
        self.pivots_ascend = true;
        self.columns.clear();
        self.live.clear();
        self.vacant.clear();
        self.columns_used = 0;
        self.ordered = true;
        self.used.clear();
        self.slots.clear();
        self.slots_used = 0;
    }

    /// Starts a working row. It is empty, except that its transform has factor 1 at `slot`.
    pub(super) fn begin(&mut self, slot: Option<usize>) {
        self.work.clear();
        self.work.resize(self.stride(), Chunk::ZERO);
        self.factors.clear();
        self.factors.resize(chunks_for(self.rows()), Chunk::ZERO);
        self.concerned = 0..0;
        if let Some(slot) = slot {
            let at = self.column_room() + slot;
            bytes_mut(&mut self.work)[at] = 1;
        }
    }

    /// Sets the working row's coefficient at a free column.
    pub(super) fn set_column(&mut self, column: u32, c: u8) {
        bytes_mut(&mut self.work)[column as usize] = c;
    }

    /// Sets the working row's coefficient at the pivot of `row`.
    pub(super) fn set_pivot(&mut self, row: u32, c: u8) {
        let row = row as usize;
        bytes_mut(&mut self.factors)[row] = c;
        self.concern(row..row + 1);
    }

    /// Records that the factors of `rows` may be nonzero.
    fn concern(&mut self, rows: Range<usize>) {
        self.concerned = match self.concerned.is_empty() {
            true => rows,
            false => self.concerned.start.min(rows.start)..self.concerned.end.max(rows.end),
        };
    }

    /// The largest number of columns that [`Echelon::set_run`] visits at little cost if their
    /// symbols are not consecutive. Unit: columns. With half the value, coefficients are more often
    /// set singly ([`Echelon::set_column`]). With double the value, more columns are visited. The
    /// result is the same.
    const FEW: usize = 64;

    /// Whether [`Echelon::set_run`] is cheap. It is cheap when it visits few columns that it does
    /// not set.
    pub(super) fn takes_runs(&self) -> bool {
        let few = self.columns_used <= Self::FEW || matches!(self.store, Store::Columns(_));
        self.pivots_ascend && (few || self.columns_run.is_some())
    }

    /// Sets the working row's coefficients for the consecutive symbols from `start` on. All symbols
    /// except pivots and free columns are skipped.
    pub(super) fn set_run(&mut self, start: u64, coefficients: &[u8]) {
        let place = |id: u64| usize::try_from(id.wrapping_sub(start)).unwrap_or(usize::MAX);
        let factors = &mut bytes_mut(&mut self.factors)[..self.pivots.len()];
        match (self.pivots.first(), self.pivots.last()) {
            (Some(first), Some(last)) if self.pivots_ascend && (last - first) as usize == self.pivots.len() - 1 => {
                let (to, from) = overlap(*first, factors.len(), start, coefficients);
                factors[to..][..from.len()].copy_from_slice(from);
                self.concern(to..to + from.len());
            }
            _ => {
                let skip = if self.pivots_ascend { self.pivots.partition_point(|id| *id < start) } else { 0 };
                for (factor, pivot) in factors[skip..].iter_mut().zip(&self.pivots[skip..]) {
                    match coefficients.get(place(*pivot)) {
                        Some(c) => *factor = *c,
                        None if self.pivots_ascend => break,
                        None => {}
                    }
                }
                self.concern(skip..self.pivots.len());
            }
        }
        let work = bytes_mut(&mut self.work);
        if matches!(self.store, Store::Columns(_)) {
            for column in self.used.iter().map(|column| *column as usize) {
                if let Some(c) = coefficients.get(place(self.columns[column])) {
                    work[column] = *c;
                }
            }
        } else if let Some(first) = self.columns_run {
            let (to, from) = overlap(first, self.columns.len(), start, coefficients);
            let bytes = work[to..].iter_mut().zip(from).zip(&self.live[to..]);
            bytes.for_each(|((byte, c), live)| *byte = c & live);
        } else {
            // The symbol of a vacant column is higher than any real symbol, so a vacant column is
            // never found.
            for (byte, id) in work.iter_mut().zip(&self.columns) {
                if let Some(c) = coefficients.get(place(*id)) {
                    *byte = *c;
                }
            }
        }
    }

    /// Makes the working row the sum of all rows, each multiplied by `factor` of its pivot. Writes
    /// the transform of the sum to `transform`.
    pub(super) fn mix(&mut self, factor: impl Fn(u64) -> u8, transform: &mut [u8]) {
        self.begin(None);
        bytes_mut(&mut self.factors).iter_mut().zip(&self.pivots).for_each(|(f, pivot)| *f = factor(*pivot));
        self.concerned = 0..self.pivots.len();
        self.gather();
        let room = self.column_room();
        transform.copy_from_slice(&bytes(&self.work)[room..][..transform.len()]);
    }

    /// The working row's coefficients at the free columns, after [`Echelon::mix`]: (symbol,
    /// coefficient).
    pub(super) fn mixed(&self) -> impl Iterator<Item = (u64, u8)> + '_ {
        let columns = self.columns.iter().copied().zip(bytes(&self.work).iter().copied());
        columns.filter(|(id, _)| *id != VACANT)
    }

    /// Eliminates all pivots from the working row. If the result is not zero, adds the result as a
    /// new row and returns the new pivot and the row's index. The index of each older row from this
    /// index on grows by 1. One pass is enough, because each pivot has coefficient 0 in all other
    /// rows.
    pub(super) fn reduce(&mut self) -> Option<(u64, usize)> {
        self.gather();
        self.insert()
    }

    /// Adds all rows, each multiplied by its entry in `factors`, to the working row.
    fn gather(&mut self) {
        match &mut self.store {
            Store::Rows(rows) => rows.gather(&mut self.work, &bytes(&self.factors)[..self.pivots.len()]),
            Store::Columns(columns) => {
                let work = &mut bytes_mut(&mut self.work)[..self.columns.len()];
                columns.gather(work, &self.factors, self.concerned.clone(), &self.used);
            }
        }
    }

    /// Adds the working row to the matrix. The working row must be zero at all pivots. Returns its
    /// new pivot and its index, or None if the working row is zero. The column of the new pivot is
    /// released.
    ///
    /// In the layout by columns, the pivots stay in ascending order if they were before. The row
    /// mostly belongs at the end or close to it.
    fn insert(&mut self) -> Option<(u64, usize)> {
        let (column, id) = self.leading()?;
        let kernel = Kernel::chosen();
        let scale = inv(bytes(&self.work)[column]);
        kernel.mul(bytes_mut(&mut self.work), scale);
        self.release_column(column as u32);
        self.clear_column(column);
        bytes_mut(&mut self.work)[column] = 0;
        match &mut self.store {
            Store::Columns(columns) if self.pivots_ascend => {
                let mut row = self.pivots.len();
                while row > 0 && self.pivots[row - 1] > id {
                    row -= 1;
                }
                columns.insert(row, &self.work, &self.used);
                self.pivots.insert(row, id);
                Some((id, row))
            }
            _ => {
                self.push(id);
                Some((id, self.pivots.len() - 1))
            }
        }
    }

    /// Appends the working row as the last row, with its pivot.
    fn push(&mut self, pivot: u64) {
        match &mut self.store {
            Store::Rows(rows) => rows.push(&self.work, self.order, self.columns.len()),
            Store::Columns(columns) => columns.insert(self.pivots.len(), &self.work, &self.used),
        }
        self.pivots_ascend &= self.pivots.last().is_none_or(|last| *last < pivot);
        self.pivots.push(pivot);
    }

    /// Makes `column` zero in all rows by adding multiples of the working row. The working row must
    /// be 1 in `column`. `column` is the index of a byte in the working row, which may also belong
    /// to the transform.
    fn clear_column(&mut self, column: usize) {
        match &mut self.store {
            Store::Rows(rows) => rows.eliminate(&self.work, column),
            Store::Columns(columns) => {
                columns.eliminate(&bytes(&self.work)[..self.columns.len()], column, &self.used);
            }
        }
    }

    /// The column and the symbol that become the working row's pivot. None if the working row is
    /// zero at all columns.
    fn leading(&self) -> Option<(usize, u64)> {
        let coefficients = &bytes(&self.work)[..self.columns.len()];
        if matches!(self.store, Store::Columns(_)) {
            let mut nonzero = self.used.iter().filter(|column| coefficients[**column as usize] != 0);
            let column = match self.order {
                Pivots::Lowest => nonzero.next(),
                Pivots::Highest => nonzero.next_back(),
            };
            return column.map(|column| (*column as usize, self.columns[*column as usize]));
        }
        if self.ordered && self.order == Pivots::Lowest {
            // Searches eight bytes at a time. Their OR is zero only if all eight bytes are zero.
            let start = coefficients.chunks(8).position(|eight| eight.iter().fold(0, |sum, c| sum | c) != 0)? * 8;
            let column = start + coefficients[start..].iter().position(|c| *c != 0)?;
            return Some((column, self.columns[column]));
        }
        let named = coefficients.iter().zip(&self.columns).enumerate();
        let mut named = named.filter(|(_, (c, _))| **c != 0).map(|(column, (_, id))| (column, *id));
        match self.order {
            Pivots::Lowest => named.min_by_key(|(_, id)| *id),
            Pivots::Highest if self.ordered => named.next_back(),
            Pivots::Highest => named.max_by_key(|(_, id)| *id),
        }
    }

    /// Adds the rows of `other`, which must have no symbol in common with the rows of `self`. Room
    /// for the columns of `other` must have been reserved. Calls `moved` for each slot of `other`
    /// with the slot's old and new index.
    pub(super) fn absorb(&mut self, other: &Echelon, mut moved: impl FnMut(usize, usize)) {
        let mut columns: Vec<(usize, u64)> =
            (0..other.width()).filter_map(|column| other.symbol_of(column).map(|id| (column, id))).collect();
        columns.sort_unstable_by_key(|(_, id)| *id);
        let columns: Vec<(usize, u32)> =
            columns.into_iter().map(|(column, id)| (column, self.claim_column(id))).collect();
        let theirs = (0..other.slots()).filter(|slot| other.slots[*slot]);
        let slots: Vec<(usize, usize)> = theirs.map(|slot| (slot, self.claim_slot())).collect();
        slots.iter().for_each(|(from, to)| moved(*from, *to));
        let room = self.column_room();
        for row in 0..other.rows() {
            self.work.clear();
            self.work.resize(self.stride(), Chunk::ZERO);
            let work = bytes_mut(&mut self.work);
            columns.iter().for_each(|(from, to)| work[*to as usize] = other.at(row, *from));
            let transform = other.transform(row);
            slots.iter().for_each(|(from, to)| work[room + to] = transform[*from]);
            self.push(other.pivot(row));
        }
    }

    /// Sets the transforms to the identity matrix: row i has factor 1 for slot i, and factor 0 for
    /// all other slots. The caller has replaced the stored repairs by one payload for each row.
    pub(super) fn reset_transforms(&mut self) {
        if let Store::Rows(rows) = &mut self.store {
            rows.reset_transforms();
        }
        self.slots.clear();
        self.slots.resize(self.pivots.len(), true);
        self.slots_used = self.slots.len();
    }

    /// The number of columns for which there is room.
    fn column_room(&self) -> usize {
        match &self.store {
            Store::Rows(rows) => rows.column_room(),
            Store::Columns(columns) => columns.column_room(),
        }
    }

    /// The number of chunks that the working row takes.
    fn stride(&self) -> usize {
        match &self.store {
            Store::Rows(rows) => rows.stride(),
            Store::Columns(columns) => columns.stride(),
        }
    }
}

/// Intersects two runs of consecutive symbols: `count` symbols from `first` on, and one symbol from
/// `start` on for each of `coefficients`. Returns where the common part begins in the first run,
/// and the coefficients of the common part.
fn overlap(first: u64, count: usize, start: u64, coefficients: &[u8]) -> (usize, &[u8]) {
    let small = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let to = small(start.saturating_sub(first)).min(count);
    let from = small(first.saturating_sub(start)).min(coefficients.len());
    (to, &coefficients[from..][..(count - to).min(coefficients.len() - from)])
}
