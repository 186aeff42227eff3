//! The reduced row echelon form, on coefficients alone.
//!
//! A row stands for one combination that was innovative. Reduced, it has coefficient 1 at its *pivot*,
//! the lowest of its unknown symbols, 0 at all other pivots, and anything at the *free columns*: the
//! unknown symbols that are nobody's pivot. So a row need only store its free columns, and these are
//! few even when thousands of rows wait (near R(1-p) = 1).
//!
//! Beside them a row stores its *transform*: which combination of the payloads as they arrived it is.
//! Payloads themselves are not touched before a symbol is decoded.
//!
//! The matrix lies in memory by rows, with their transforms; or by columns, where there are no transforms (payloads
//! without content): then many rows mostly wait for few columns.

mod columns;
mod room;
mod rows;

use columns::Columns;
use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes, bytes_mut, inv};
use rows::Rows;

/// Stands for the symbol of a column that was given back. No decoder ever accepts this identifier.
const VACANT: u64 = u64::MAX;

/// Which of its unknown symbols a row has as its pivot, and so which symbols are called *seen*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pivots {
    /// The lowest (paper 001, section 2): the unseen symbols are as high as can be, so that an
    /// acknowledgement of the first unseen one goes as far as it can.
    #[default]
    Lowest,
    /// The highest: the unseen symbols are as low as can be. Up to any bound, exactly so many of them are
    /// unseen as are missing to decode everything up to that bound, whatever comes after it; so
    /// these are the ones to ask for where what is old must be decoded first.
    Highest,
}

/// The coefficients of all rows at the free columns.
#[derive(Clone, Debug)]
enum Store {
    /// With transforms.
    Rows(Rows),
    /// Without.
    Columns(Columns),
}

/// Rows over free columns, with their transforms.
#[derive(Clone, Debug)]
pub(super) struct Echelon {
    order: Pivots,
    store: Store,
    /// Each row's pivot, and whether they ascend, as they do in a dense code.
    pivots: Vec<u64>,
    pivots_ascend: bool,
    /// The symbol of each column, or [`VACANT`]. Columns ascend with their symbols while `ordered`, which
    /// makes the lowest one easy to find.
    columns: Vec<u64>,
    columns_used: usize,
    ordered: bool,
    /// The symbol of the first column if they count up one by one from there, vacant ones included.
    columns_run: Option<u64>,
    /// 0xff for each column in use, 0 for a vacant one.
    live: Vec<u8>,
    /// Columns that were given back and will be claimed again, where they need not ascend: a matrix by columns is as wide as
    /// there are symbols unseen at a time, however many come and go.
    vacant: Vec<u32>,
    /// Which slots of the transform are in use.
    slots: Vec<bool>,
    slots_used: usize,
    /// The row at work.
    work: Vec<Chunk>,
    /// A factor for each row.
    factors: Vec<u8>,
    /// Kept for its memory.
    kept: Vec<(u32, u64)>,
}

impl Echelon {
    /// With transforms, or without: payloads without content need none.
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

    /// How many slots there may be before the rows must be laid out anew.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The transform of `row`: a factor for each slot.
    pub(super) fn transform(&self, row: usize) -> &[u8] {
        match &self.store {
            Store::Rows(rows) => &rows.transform(row)[..self.slots.len()],
            Store::Columns(_) => &[],
        }
    }

    /// How many bytes the rows take.
    pub(super) fn bytes(&self) -> usize {
        self.rows() * self.stride() * CHUNK
    }

    /// The coefficients of `row` at the free columns: (symbol, coefficient), not in order.
    pub(super) fn free_part(&self, row: usize) -> impl Iterator<Item = (u64, u8)> + '_ {
        let named = self.columns.iter().enumerate().map(move |(column, id)| (*id, self.at(row, column)));
        named.filter(|(id, c)| *c != 0 && *id != VACANT)
    }

    /// What `row` holds at `column`.
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

    /// How many columns there may be before the rows must be laid out anew.
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Forgets all rows, columns and slots.
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

    /// Starts a row at work: the payload in `slot`, if rows have transforms, nothing else yet.
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

    /// Gives the row at work coefficient `c` at a free column.
    pub(super) fn set_column(&mut self, column: u32, c: u8) {
        bytes_mut(&mut self.work)[column as usize] = c;
    }

    /// Gives the row at work coefficient `c` at the pivot of `row`.
    pub(super) fn set_pivot(&mut self, row: u32, c: u8) {
        self.factors[row as usize] = c;
    }

    /// So many columns may be looked through one by one.
    const FEW: usize = 64;

    /// Whether [`Echelon::set_run`] costs little more than what it sets.
    pub(super) fn takes_runs(&self) -> bool {
        self.pivots_ascend && (self.columns_run.is_some() || self.columns_used <= Self::FEW)
    }

    /// Gives the row at work the coefficients of the contiguous symbols from `start` on, wherever they are
    /// a pivot or a column.
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
            // A vacant column's symbol is higher than any.
            for (byte, id) in work.iter_mut().zip(&self.columns) {
                if let Some(c) = coefficients.get(place(*id)) {
                    *byte = *c;
                }
            }
        }
    }

    /// Adds up all rows, each with the factor that `factor` tells for its pivot, as the row at work; writes its transform
    /// to `transform`.
    pub(super) fn mix(&mut self, factor: impl Fn(u64) -> u8, transform: &mut [u8]) {
        self.begin(None);
        self.factors.iter_mut().zip(&self.pivots).for_each(|(f, pivot)| *f = factor(*pivot));
        self.gather();
        let room = self.column_room();
        transform.copy_from_slice(&bytes(&self.work)[room..][..transform.len()]);
    }

    /// The coefficients of the row at work at the free columns.
    pub(super) fn mixed(&self) -> impl Iterator<Item = (u64, u8)> + '_ {
        let columns = self.columns.iter().copied().zip(bytes(&self.work).iter().copied());
        columns.filter(|(id, _)| *id != VACANT)
    }

    /// Eliminates the pivots from the row at work and, if anything is left, adds it as a new row and
    /// returns its pivot. Pivot columns are zero in all other rows, so that one pass is enough.
    pub(super) fn reduce(&mut self) -> Option<u64> {
        self.gather();
        self.insert()
    }

    /// Adds all rows, each times its factor, to the row at work.
    fn gather(&mut self) {
        match &mut self.store {
            Store::Rows(rows) => rows.gather(&mut self.work, &self.factors),
            Store::Columns(columns) => columns.gather(&mut self.work, &self.factors, &self.live),
        }
    }

    /// Adds the row at work, which is zero at all pivots; returns its pivot, None when it is zero.
    /// The pivot's column is given back.
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

    /// Adds the row at work as the last one, with its pivot.
    fn push(&mut self, pivot: u64) {
        match &mut self.store {
            Store::Rows(rows) => rows.push(&self.work, self.order, self.columns.len()),
            Store::Columns(columns) => columns.push(&self.work, self.columns.len()),
        }
        self.pivots_ascend &= self.pivots.last().is_none_or(|last| *last < pivot);
        self.pivots.push(pivot);
    }

    /// Makes `column`, or what else lies at that byte, zero in all rows by adding multiples of the row at work, which is 1
    /// there.
    fn clear_column(&mut self, column: usize) {
        match &mut self.store {
            Store::Rows(rows) => rows.eliminate(&self.work, column),
            Store::Columns(columns) => columns.eliminate(&self.work, column, self.columns.len()),
        }
    }

    /// The symbol at which the row at work is to have its pivot, and its column.
    fn leading(&self) -> Option<(usize, u64)> {
        let coefficients = &bytes(&self.work)[..self.columns.len()];
        if self.ordered && self.order == Pivots::Lowest {
            // Eight at a time: zero as long as all of them are.
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

    /// Adds the rows of `other`, which have no symbol in common with these; room for their columns was reserved. Tells
    /// `moved` each slot of theirs, and which it is here.
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

    /// The symbol of `column` became known: it is no unknown any more, in any row.
    pub(super) fn erase_column(&mut self, column: u32) {
        match &mut self.store {
            Store::Rows(rows) => rows.erase_column(column as usize),
            Store::Columns(columns) => columns.erase_column(column as usize),
        }
        self.release_column(column);
    }

    /// The pivot of `row` became known: what is left of the row says something about its free columns,
    /// and the lowest of them is its new pivot, which is returned.
    pub(super) fn repivot(&mut self, row: usize) -> Option<u64> {
        self.take_up(row);
        self.remove(row);
        self.insert()
    }

    /// Removes `row`; the last row takes its place.
    pub(super) fn remove(&mut self, row: usize) {
        match &mut self.store {
            Store::Rows(rows) => rows.remove(row),
            Store::Columns(columns) => columns.remove(row, self.columns.len()),
        }
        self.pivots_ascend &= row == self.rows() - 1;
        self.pivots.swap_remove(row);
    }

    /// Makes a copy of `row` the row at work.
    fn take_up(&mut self, row: usize) {
        self.work.clear();
        self.work.resize(self.stride(), Chunk::ZERO);
        match &self.store {
            Store::Rows(rows) => bytes_mut(&mut self.work).copy_from_slice(rows.row(row)),
            Store::Columns(columns) => {
                let work = bytes_mut(&mut self.work)[..self.columns.len()].iter_mut();
                work.enumerate().for_each(|(column, c)| *c = columns.at(row, column));
            }
        }
    }

    /// The symbol of `column` will never be known: the rows are replaced by all their combinations
    /// that do not involve it. One row is lost, that with the highest pivot of those that do, and its
    /// pivot, which is returned, becomes free again. None when no row involves the symbol.
    ///
    /// Room for a column must have been reserved.
    pub(super) fn forbid(&mut self, column: u32) -> Option<(u64, u32)> {
        let involved = |row: &usize| self.at(*row, column as usize) != 0;
        let involved = (0..self.rows()).filter(involved);
        let row = match self.order {
            Pivots::Lowest => involved.max_by_key(|row| self.pivots[*row]),
            Pivots::Highest => involved.min_by_key(|row| self.pivots[*row]),
        };
        let freed = row.map(|row| {
            let pivot = self.pivots[row];
            self.take_up(row);
            self.remove(row);
            let again = self.claim_column(pivot);
            bytes_mut(&mut self.work)[again as usize] = 1;
            let scale = inv(bytes(&self.work)[column as usize]);
            Kernel::chosen().mul(bytes_mut(&mut self.work), scale);
            self.clear_column(column as usize);
            (pivot, again)
        });
        self.release_column(column);
        freed
    }

    /// Lists the rows whose pivot is determined in `units`: those with no free column left. Ascending.
    pub(super) fn units(&mut self, units: &mut Vec<usize>) {
        units.clear();
        if self.columns_used == 0 {
            units.extend(0..self.rows());
            return;
        }
        match &mut self.store {
            Store::Rows(rows) => rows.units(self.order, self.columns.len(), units),
            Store::Columns(columns) => {
                let some = self.live.iter().position(|live| *live != 0).unwrap_or(0);
                columns.units(self.columns.len(), some, units);
            }
        }
    }

    /// Removes the rows `units` (ascending), whose symbols are known now. The payloads that only they
    /// needed are told in `freed` (their slots are given back), as many as there are units: a unit row
    /// is a combination of payloads and known symbols, so it can express one payload in the others.
    pub(super) fn retire(&mut self, units: &[usize], mut freed: impl FnMut(usize)) {
        if units.len() == self.rows() {
            for slot in 0..self.slots.len() {
                if self.slots[slot] {
                    freed(slot);
                }
            }
            self.clear();
            return;
        }
        if let Store::Columns(columns) = &mut self.store {
            // In one go, and the others keep their order.
            columns.remove_all(units, self.columns.len());
            let mut going = units.iter().copied().peekable();
            let mut row = 0..;
            return self.pivots.retain(|_| going.next_if_eq(&row.next().unwrap_or(usize::MAX)).is_none());
        }
        for unit in units {
            let Some(slot) = self.transform(*unit).iter().position(|c| *c != 0) else { continue };
            let at = self.column_room() + slot;
            self.take_up(*unit);
            let scale = inv(bytes(&self.work)[at]);
            Kernel::chosen().mul(bytes_mut(&mut self.work), scale);
            self.clear_column(at);
            self.release_slot(slot);
            freed(slot);
        }
        for unit in units.iter().rev() {
            self.remove(*unit);
        }
    }

    /// Makes every row its own payload: row i stands for the payload in slot i, alone.
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

    /// Chunks that the row at work takes.
    fn stride(&self) -> usize {
        match &self.store {
            Store::Rows(rows) => rows.stride(),
            Store::Columns(columns) => columns.stride(),
        }
    }
}

/// Where the symbols from `start` on meet the `count` symbols from `first` on: the index among those,
/// and the coefficients from there.
fn overlap(first: u64, count: usize, start: u64, coefficients: &[u8]) -> (usize, &[u8]) {
    let small = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let to = small(start.saturating_sub(first)).min(count);
    let from = small(first.saturating_sub(start)).min(coefficients.len());
    (to, &coefficients[from..][..(count - to).min(coefficients.len() - from)])
}
