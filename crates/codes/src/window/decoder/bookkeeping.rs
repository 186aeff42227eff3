//! The work after a change of the rows: decodes rows that have become decodable, and frees memory.
//! This file also updates the cells of symbols whose row or column has moved. (A symbol's cell,
//! [`Cell`], records what the decoder knows about it.) `mod.rs` explains the other terms.

use super::components::Component;
use super::{Cell, Decoder, Place};
use crate::Payload;

impl<P: Payload> Decoder<P> {
    /// Decodes the unit rows of the current component. A *unit row* has no unknown symbol except
    /// its pivot.
    pub(super) fn settle(&mut self) {
        if self.current.space.rows() == 0 {
            return;
        }
        let mut units = std::mem::take(&mut self.units);
        self.current.space.units(&mut units);
        let most = self.rows_for_step(units.len());
        if units.len() > most {
            units.truncate(most);
            if !self.unfinished.contains(&self.current_id) {
                self.unfinished.push(self.current_id);
            }
        }
        if !units.is_empty() {
            self.decode(&units);
        }
        self.units = units;
    }

    /// The number of rows that one step decodes, if `units` rows of the current component are decodable. At least 1.
    fn rows_for_step(&self, units: usize) -> usize {
        let payload = self.work_for_row();
        if units == self.current.space.rows() && units <= self.limits.step / payload {
            return units;
        }
        // Unless all rows are removed, each one is removed by an elimination.
        (self.limits.step / (payload + self.current.space.removal_work())).max(1)
    }

    /// The largest work that computing one row's payload takes: all stored repairs of the component
    /// and their known members are combined. At least 1.
    fn work_for_row(&self) -> usize {
        if self.limits.step == usize::MAX {
            return 1;
        }
        let raws = self.current.space.slots_used();
        let known = raws.saturating_mul(self.limits.members).min(self.symbols.held());
        (raws + known).max(1) * self.longest.max(1)
    }

    /// Discards the rows of the current component.
    pub(super) fn discard_component(&mut self) {
        self.counters.discarded += self.current.space.rows() as u64;
        self.forget_columns();
        for row in 0..self.current.space.rows() {
            let pivot = self.current.space.pivot(row);
            self.set_cell(pivot, Cell::Untouched);
            self.free.insert(pivot);
        }
        self.current.clear();
    }

    /// Decodes the pivots of the unit rows `units`, which ascend.
    fn decode(&mut self, units: &[usize]) {
        let mut batch = std::mem::take(&mut self.batch);
        self.counters.work_bytes += (units.len() * self.current.space.bytes()) as u64;
        let pivots = units.iter().map(|row| self.current.space.pivot(*row));
        match &self.current.longest {
            Some(longest) => batch.extend(pivots.map(|id| (id, longest.clone()))),
            None => {
                batch.extend(pivots.collect::<Vec<_>>().into_iter().zip(self.payloads_of_rows(units)));
            }
        }
        batch.sort_unstable_by_key(|(id, _)| *id);
        if units.len() == self.current.space.rows() {
            // All rows are removed, so no row contains the remaining columns any more.
            self.forget_columns();
        }
        let Component { space, raws, lists, .. } = &mut self.current;
        space.retire(units, |slot| *lists -= raws[slot].take().map_or(0, |raw| raw.lists()));
        self.renumber_rows();
        self.fold_again(batch.first().map_or(u64::MAX, |(id, _)| *id));
        for (id, payload) in batch.drain(..) {
            self.unknown.remove(id);
            self.recover(id, payload);
        }
        self.batch = batch;
        self.free_unneeded();
    }

    /// Frees memory that is no longer needed, after rows were removed or symbols became known.
    pub(super) fn free_unneeded(&mut self) {
        self.drop_unused_payloads();
        self.bound_history();
        self.release(false);
    }

    /// Frees stored repairs and columns that the rows of the current component no longer need.
    pub(super) fn drop_unused_payloads(&mut self) {
        if self.current.space.rows() == 0 {
            if self.current.space.slots_used() > 0 || self.current.space.columns_used() > 0 {
                self.forget_columns();
                self.current.space.clear();
            }
            self.current.raws.clear();
            self.current.lists = 0;
            self.current.longest = None;
        } else if self.current.space.slots_used() > 2 * self.current.space.rows() + 64 {
            // When a row is lost because a symbol was given up, its stored repair stays: other rows
            // may combine it. There may be 64 more stored repairs than twice the number of rows. A
            // lower bound would consolidate more often; a higher bound would hold more repairs.
            if self.current.space.rows().saturating_mul(self.work_for_row()) > self.limits.step {
                return self.discard_component();
            }
            self.consolidate();
        }
    }

    /// Marks `id` as known, and stores its payload.
    pub(super) fn make_known(&mut self, id: u64, payload: P) {
        self.symbols.make_known(id, payload);
        if id < self.released {
            self.late = self.late.min(id);
        }
    }

    /// Marks `id` as decoded. The symbol is returned by [`Decoder::poll_decoded`], unless it arrived itself, or the
    /// window is about to pass it.
    pub(super) fn recover(&mut self, id: u64, payload: P) {
        self.make_known(id, payload.clone());
        if !self.forget_later(id) && id >= self.aim {
            self.decoded.push_back((id, payload));
            self.counters.decoded += 1;
        }
    }

    /// Records that a row was added. `added` is the row's pivot and its index, or None if no row
    /// was added.
    pub(super) fn add_pivot(&mut self, added: Option<(u64, usize)>) {
        if let Some((pivot, row)) = added {
            self.free.remove(pivot);
            debug_assert_eq!(self.current.space.pivot(row), pivot);
            (row..self.current.space.rows()).for_each(|row| self.renumber_row(row));
        }
    }

    /// Removes the row at `place`.
    pub(super) fn remove_row(&mut self, place: Place) {
        self.select(place.component);
        self.counters.work_bytes += self.current.space.rows() as u64;
        self.current.space.remove(place.at as usize);
        self.renumber_row(place.at as usize);
    }

    /// Updates the cell of the pivot of `row`, after another row has moved to this index. Does
    /// nothing if there is no row with this index.
    pub(super) fn renumber_row(&mut self, row: usize) {
        if row < self.current.space.rows() {
            let pivot = self.current.space.pivot(row);
            self.set_cell(pivot, Cell::Pivot(Place { component: self.current_id, at: row as u32 }));
        }
    }

    /// Updates the cells of all pivots of the current component.
    pub(super) fn renumber_rows(&mut self) {
        for row in 0..self.current.space.rows() {
            self.renumber_row(row);
        }
    }

    /// Updates the cells of all symbols that have a column in the current component.
    pub(super) fn renumber_columns(&mut self) {
        for column in 0..self.current.space.width() {
            if let Some(id) = self.current.space.symbol_of(column) {
                self.set_cell(id, Cell::Free(Place { component: self.current_id, at: column as u32 }));
            }
        }
    }

    /// Marks the symbols of all columns of the current component as contained in no row.
    fn forget_columns(&mut self) {
        if self.current.space.columns_used() == 0 {
            return;
        }
        for column in 0..self.current.space.width() {
            if let Some(id) = self.current.space.symbol_of(column) {
                self.set_cell(id, Cell::Untouched);
            }
        }
    }

    /// Adds records for all symbols up to and including `id`. The new symbols are unknown and
    /// unseen.
    pub(super) fn extend_to(&mut self, id: u64) {
        let new = self.next()..id.saturating_add(1);
        if !new.is_empty() {
            self.symbols.extend(new.end);
            self.unknown.append(new.clone());
            self.free.append(new);
            self.heard = true;
        }
    }

    /// Frees the oldest payloads when more than [`Limits::history`](super::Limits::history) are
    /// held.
    pub(super) fn bound_history(&mut self) {
        let oldest = self.next_undecoded();
        let history = self.limits.history as u64;
        // The limit may be exceeded by a quarter, so that freeing happens rarely.
        if oldest - self.symbols.origin().min(oldest) > history + history / 4 {
            self.keep = self.keep.max(oldest - history);
            self.release(true);
        }
        // Nothing is freed while a fold waits for a later step. If it waits too long, it must not hold the memory.
        let held_from = self.released.max(self.symbols.origin());
        if self.rows() > 0 && oldest.saturating_sub(held_from) > history + history / 2 {
            self.discard_rows();
        }
    }
}
