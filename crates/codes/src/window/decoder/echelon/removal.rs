//! Removes rows and columns whose symbols arrived, were given up, or were decoded. `mod.rs`
//! explains the terms.

use super::{Echelon, Pivots, Store};
use ripstop_gf256::{Chunk, Kernel, bytes, bytes_mut, inv};

impl Echelon {
    /// Removes a column whose symbol became known. No row contains the symbol as an unknown any
    /// more.
    pub(in super::super) fn erase_column(&mut self, column: u32) {
        match &mut self.store {
            Store::Rows(rows) => rows.erase_column(column as usize),
            Store::Columns(columns) => columns.erase_column(column as usize),
        }
        self.release_column(column);
    }

    /// Removes the pivot of `row`, because the pivot became known. The rest of the row is still an
    /// equation over its free columns, so the row gets a new pivot. Returns this pivot and the
    /// row's new index. The index of each older row from the new index on grows by 1. If the rest
    /// of the row is zero, the row is removed and the result is None.
    pub(in super::super) fn repivot(&mut self, row: usize) -> Option<(u64, usize)> {
        self.take_up(row);
        self.remove(row);
        self.insert()
    }

    /// Removes `row`. The last row takes its index.
    pub(in super::super) fn remove(&mut self, row: usize) {
        match &mut self.store {
            Store::Rows(rows) => rows.remove(row),
            Store::Columns(columns) => columns.remove(row, self.columns.len()),
        }
        self.pivots_ascend &= row == self.rows() - 1;
        self.pivots.swap_remove(row);
    }

    /// Makes the working row a copy of `row`.
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

    /// Removes a column whose symbol was given up. Multiples of one row that contains the symbol
    /// are added to the other rows, so that the symbol cancels out in them. The row itself is then
    /// lost, and its pivot becomes a free column again. Returns this pivot and its column, or None
    /// if no row contains the symbol.
    ///
    /// The lost row is the row with the highest pivot. With [`Pivots::Highest`] it is the row with
    /// the lowest pivot. Room for one column must have been reserved.
    pub(in super::super) fn forbid(&mut self, column: u32) -> Option<(u64, u32)> {
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

    /// Lists the unit rows in `units`, ascending. These rows are zero at all free columns, so that
    /// their pivot can be decoded.
    pub(in super::super) fn units(&mut self, units: &mut Vec<usize>) {
        units.clear();
        if self.columns_used == 0 {
            units.extend(0..self.rows());
            return;
        }
        match &mut self.store {
            Store::Rows(rows) => rows.units(self.order, self.columns.len(), units),
            Store::Columns(columns) => columns.units(&self.used, units),
        }
    }

    /// The work of [`Echelon::retire`] for each row, unless all rows are removed. Unit: bytes. In the layout by
    /// columns, one pass removes all rows.
    pub(in super::super) fn removal_work(&self) -> usize {
        match &self.store {
            Store::Rows(_) => self.bytes(),
            Store::Columns(_) => 0,
        }
    }

    /// Removes the unit rows `units` (ascending), whose pivots are known now. One stored repair is
    /// freed for each of them: the repair's slot is released, and `freed` is called with the slot.
    /// When all rows are removed, all slots are freed.
    ///
    /// A repair can be freed for this reason: a unit row is an equation between stored repairs and
    /// known symbols. So one of these repairs is a combination of the others, and the other rows do
    /// not need it.
    pub(in super::super) fn retire(&mut self, units: &[usize], mut freed: impl FnMut(usize)) {
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
            // All rows are removed in one pass. The other rows keep their order.
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
}
