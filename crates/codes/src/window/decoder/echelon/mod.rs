//! The coefficients of one component's rows, in reduced row echelon form.
//!
//! Each row is one innovative combination. It has coefficient 1 at its *pivot*, one of its unknown
//! symbols, and 0 at all other pivots. The unknown symbols that are not a pivot are the *free
//! columns*. A row therefore stores only its coefficients at the free columns. These are few even
//! when thousands of rows wait (near R(1-p) = 1).
//!
//! A row also stores its *transform*: its factor for each repair that was stored as it arrived. A
//! *slot* is the position of such a repair in the transforms. Payloads are not touched before a
//! symbol is decoded.
//!
//! The *working row* is the one that is being built or reduced before it is added.
//!
//! `rows.rs` stores the matrix by rows, together with the transforms. `columns.rs` stores it by
//! columns, without transforms, for payloads without content: many rows then mostly wait for few
//! columns. `room.rs` assigns columns and slots.

mod columns;
mod removal;
mod room;
mod rows;

use columns::Columns;
use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes, bytes_mut, inv};
use rows::Rows;

/// The symbol of a column that is not in use. No decoder accepts this identifier.
const VACANT: u64 = u64::MAX;

/// Which of its unknown symbols a row has as its pivot. This decides which symbols are called
/// *seen*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pivots {
    /// The lowest (paper 001, section 2). The unseen symbols are then as high as possible, so that
    /// an acknowledgement of the first unseen symbol reaches as far as possible.
    #[default]
    Lowest,
    /// The highest. The unseen symbols are then as low as possible. Take the symbols up to any
    /// bound: the number of unseen ones is exactly the number of combinations missing to decode all
    /// of them, whatever comes after the bound. So these are the symbols to request if old symbols
    /// must be decoded first.
    Highest,
}

/// The coefficients of all rows at the free columns, in one of two memory layouts.
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
    /// The pivot of each row, and whether the pivots ascend. They do in a dense code.
    pivots: Vec<u64>,
    pivots_ascend: bool,
    /// The symbol of each column, or [`VACANT`]. While `ordered` is true, the columns ascend by
    /// symbol, so that the lowest symbol is easy to find.
    columns: Vec<u64>,
    columns_used: usize,
    ordered: bool,
    /// The symbol of the first column, if the columns (vacant ones included) are consecutive
    /// symbols.
    columns_run: Option<u64>,
    /// 0xff for each column in use, 0 for a vacant one.
    live: Vec<u8>,
    /// Vacant columns that are used again; filled only in the layout by columns, where the order of
    /// columns does not matter. That matrix is as wide as the largest number of symbols that were
    /// unseen at once, however many symbols come and go.
    vacant: Vec<u32>,
    /// For each slot of the transforms, whether it is in use.
    slots: Vec<bool>,
    slots_used: usize,
    /// The working row: its columns, then its transform.
    work: Vec<Chunk>,
    /// The factor of each row in the working row: the working row's coefficient at the row's pivot.
    factors: Vec<u8>,
    /// Scratch memory, kept to avoid allocations.
    kept: Vec<(u32, u64)>,
}

impl Echelon {
    /// An empty matrix, with transforms or without. Payloads without content need none.
    pub(super) fn new(order: Pivots, transforms: bool) -> Echelon {
        Echelon {
            order,
            store: if transforms { Store::Rows(Rows::new()) } else { Store::Columns(Columns::new()) },
            pivots: Vec::new(),
            pivots_ascend: true,
            columns: Vec::new(),
            columns_used: 0,
            ordered: true,
            columns_run: None,
            live: Vec::new(),
            vacant: Vec::new(),
            slots: Vec::new(),
            slots_used: 0,
            work: vec![Chunk::ZERO],
            factors: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.pivots.len()
    }

    /// The pivot of `row`.
    pub(super) fn pivot(&self, row: usize) -> u64 {
        self.pivots[row]
    }

    /// How many slots of the transform are in use.
    pub(super) fn slots_used(&self) -> usize {
        self.slots_used
    }

    /// How many slots there are, whether in use or not.
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

    /// How many bytes the rows take, with their transforms.
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

    /// The symbol of `column`, if it is in use.
    pub(super) fn symbol_of(&self, column: usize) -> Option<u64> {
        self.columns.get(column).copied().filter(|id| *id != VACANT)
    }

    /// How many columns are in use.
    pub(super) fn columns_used(&self) -> usize {
        self.columns_used
    }

    /// How many columns there are, whether in use or not.
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
        self.slots.clear();
        self.slots_used = 0;
    }

    /// Starts a working row. It is empty, except that its transform has factor 1 at `slot`.
    pub(super) fn begin(&mut self, slot: Option<usize>) {
        self.work.clear();
        self.work.resize(self.stride(), Chunk::ZERO);
        self.factors.clear();
        self.factors.resize(self.rows(), 0);
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
        self.factors[row as usize] = c;
    }

    /// Up to how many columns a search through all of them is cheap enough for
    /// [`Echelon::set_run`]. Unit: columns. A lower value sets coefficients one by one more often;
    /// a higher value searches more columns. The result is the same.
    const FEW: usize = 64;

    /// Whether [`Echelon::set_run`] costs little more than the coefficients that it sets.
    pub(super) fn takes_runs(&self) -> bool {
        self.pivots_ascend && (self.columns_run.is_some() || self.columns_used <= Self::FEW)
    }

    /// Sets the working row's coefficients for the consecutive symbols from `start` on. Symbols
    /// that are neither a pivot nor a free column are skipped.
    pub(super) fn set_run(&mut self, start: u64, coefficients: &[u8]) {
        let place = |id: u64| usize::try_from(id.wrapping_sub(start)).unwrap_or(usize::MAX);
        match (self.pivots.first(), self.pivots.last()) {
            (Some(first), Some(last))
                if self.pivots_ascend && (last - first) as usize == self.pivots.len() - 1 =>
            {
                let (to, from) = overlap(*first, self.factors.len(), start, coefficients);
                self.factors[to..][..from.len()].copy_from_slice(from);
            }
            _ => {
                let skip = if self.pivots_ascend { self.pivots.partition_point(|id| *id < start) } else { 0 };
                for (factor, pivot) in self.factors[skip..].iter_mut().zip(&self.pivots[skip..]) {
                    match coefficients.get(place(*pivot)) {
                        Some(c) => *factor = *c,
                        None if self.pivots_ascend => break,
                        None => {}
                    }
                }
            }
        }
        let work = bytes_mut(&mut self.work);
        if let Some(first) = self.columns_run {
            let (to, from) = overlap(first, self.columns.len(), start, coefficients);
            let bytes = work[to..].iter_mut().zip(from).zip(&self.live[to..]);
            bytes.for_each(|((byte, c), live)| *byte = c & live);
        } else {
            // The symbol of a vacant column is higher than any real one, so it is never found.
            for (byte, id) in work.iter_mut().zip(&self.columns) {
                if let Some(c) = coefficients.get(place(*id)) {
                    *byte = *c;
                }
            }
        }
    }

    /// Makes the working row the sum of all rows, each times `factor` of its pivot. Writes the
    /// transform of the sum to `transform`.
    pub(super) fn mix(&mut self, factor: impl Fn(u64) -> u8, transform: &mut [u8]) {
        self.begin(None);
        self.factors.iter_mut().zip(&self.pivots).for_each(|(f, pivot)| *f = factor(*pivot));
        self.gather();
        let room = self.column_room();
        transform.copy_from_slice(&bytes(&self.work)[room..][..transform.len()]);
    }

    /// The coefficients of the working row at the free columns: (symbol, coefficient).
    pub(super) fn mixed(&self) -> impl Iterator<Item = (u64, u8)> + '_ {
        let columns = self.columns.iter().copied().zip(bytes(&self.work).iter().copied());
        columns.filter(|(id, _)| *id != VACANT)
    }

    /// Eliminates all pivots from the working row. If anything is left, adds it as a new row and
    /// returns the new pivot. One pass is enough, because each pivot has coefficient 0 in all other
    /// rows.
    pub(super) fn reduce(&mut self) -> Option<u64> {
        self.gather();
        self.insert()
    }

    /// Adds all rows, each times its factor, to the working row.
    fn gather(&mut self) {
        match &mut self.store {
            Store::Rows(rows) => rows.gather(&mut self.work, &self.factors),
            Store::Columns(columns) => columns.gather(&mut self.work, &self.factors, &self.live),
        }
    }

    /// Adds the working row, which must be zero at all pivots. Returns its pivot, or None if the
    /// working row is zero. The pivot's column is released.
    fn insert(&mut self) -> Option<u64> {
        let (column, id) = self.leading()?;
        let kernel = Kernel::chosen();
        let scale = inv(bytes(&self.work)[column]);
        kernel.mul(bytes_mut(&mut self.work), scale);
        self.clear_column(column);
        bytes_mut(&mut self.work)[column] = 0;
        self.push(id);
        self.release_column(column as u32);
        Some(id)
    }

    /// Appends the working row as the last row, with its pivot.
    fn push(&mut self, pivot: u64) {
        match &mut self.store {
            Store::Rows(rows) => rows.push(&self.work, self.order, self.columns.len()),
            Store::Columns(columns) => columns.push(&self.work, self.columns.len()),
        }
        self.pivots_ascend &= self.pivots.last().is_none_or(|last| *last < pivot);
        self.pivots.push(pivot);
    }

    /// Makes `column` zero in all rows by adding multiples of the working row, which must be 1
    /// there. `column` is an index of a byte in the working row, so it may also be one of the
    /// transform.
    fn clear_column(&mut self, column: usize) {
        match &mut self.store {
            Store::Rows(rows) => rows.eliminate(&self.work, column),
            Store::Columns(columns) => columns.eliminate(&self.work, column, self.columns.len()),
        }
    }

    /// Where the working row gets its pivot: the column and its symbol.
    fn leading(&self) -> Option<(usize, u64)> {
        let coefficients = &bytes(&self.work)[..self.columns.len()];
        if self.ordered && self.order == Pivots::Lowest {
            // Eight bytes at a time, which are combined by OR.
            let start =
                coefficients.chunks(8).position(|eight| eight.iter().fold(0, |sum, c| sum | c) != 0)? * 8;
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

    /// Adds the rows of `other`, which must have no symbol in common with these. Room for their
    /// columns must have been reserved. Calls `moved` with the old and the new index of each of
    /// their slots.
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

    /// Makes every row its own payload: row i is the payload in slot i.
    pub(super) fn reset_transforms(&mut self) {
        if let Store::Rows(rows) = &mut self.store {
            rows.reset_transforms();
        }
        self.slots.clear();
        self.slots.resize(self.pivots.len(), true);
        self.slots_used = self.slots.len();
    }

    /// How many columns there is room for.
    fn column_room(&self) -> usize {
        match &self.store {
            Store::Rows(rows) => rows.column_room(),
            Store::Columns(columns) => columns.column_room(),
        }
    }

    /// How many chunks the working row takes.
    fn stride(&self) -> usize {
        match &self.store {
            Store::Rows(rows) => rows.stride(),
            Store::Columns(columns) => columns.stride(),
        }
    }
}

/// Finds the overlap of the symbols from `start` on, which have `coefficients`, with the `count`
/// symbols from `first` on. Returns the overlap's index among the latter, and its coefficients.
fn overlap(first: u64, count: usize, start: u64, coefficients: &[u8]) -> (usize, &[u8]) {
    let small = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let to = small(start.saturating_sub(first)).min(count);
    let from = small(first.saturating_sub(start)).min(coefficients.len());
    (to, &coefficients[from..][..(count - to).min(coefficients.len() - from)])
}
