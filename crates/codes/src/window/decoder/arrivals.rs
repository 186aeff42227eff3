//! Handles a source or repair symbol that arrives. This file decides whether the symbol is useful.
//! If so, it updates the rows. `mod.rs` explains rows, pivots, columns and components.

use super::components::{keep_longest, keep_raw};
use super::echelon::Echelon;
use super::raw::Raw;
use super::{Arrival, Cell, Decoder, Place};
use crate::Payload;
use crate::window::coding::Generator;
use crate::window::{Coding, Members};
use std::ops::Range;

impl<P: Payload> Decoder<P> {
    /// Handles source symbol `id`. A new symbol is stored and eliminated from the rows that contain it.
    /// During a pause ([`Decoder::pause`]), the elimination is put off.
    pub(super) fn take_source(&mut self, id: u64, payload: P) -> Arrival {
        if id >= self.horizon() && self.lags() {
            self.catch_up_without_rows();
        }
        if id >= self.horizon() {
            return Arrival::Beyond;
        }
        if id < self.aim && (id >= self.next() || self.is_unknown(id)) {
            return Arrival::Old;
        }
        if !self.later.is_empty() && self.later.contains_key(&id) {
            return Arrival::Duplicate;
        }
        if self.paused && self.is_in_row(id) {
            return self.put_off(id, payload);
        }
        if id >= self.next() {
            if id > self.next() {
                self.extend_to(id - 1);
            }
            self.symbols.extend(id + 1);
            self.symbols.make_known(id, payload);
            self.heard = true;
            self.bound_history();
            return Arrival::Innovative;
        }
        match self.cell(id) {
            None if self.base <= id => Arrival::Duplicate,
            None | Some(Cell::GivenUp) => Arrival::Old,
            Some(Cell::Known) => Arrival::Duplicate,
            Some(cell @ (Cell::Free(_) | Cell::Untouched)) => {
                self.free.remove(id);
                self.unknown.remove(id);
                self.make_known(id, payload);
                if let Cell::Free(place) = cell {
                    self.select(place.component);
                    self.fold_again(id);
                    self.counters.work_bytes += self.current.space.rows() as u64;
                    self.current.space.erase_column(place.at);
                    self.settle();
                }
                self.free_unneeded();
                Arrival::Innovative
            }
            Some(Cell::Pivot(place)) => {
                self.select(place.component);
                self.fold_again(id);
                // The row's pivot is known now. The rest of the row is an equation over other
                // symbols, so the row gets another pivot.
                self.unknown.remove(id);
                self.make_known(id, payload);
                self.counters.work_bytes += 2 * self.current.space.bytes() as u64;
                let added = self.current.space.repivot(place.at as usize);
                self.renumber_row(place.at as usize);
                self.add_pivot(added);
                self.settle();
                self.free_unneeded();
                Arrival::Innovative
            }
        }
    }

    /// Handles a repair symbol: checks it, finds the components that contain its unknown members,
    /// and reduces the repair by the rows of these components.
    pub(super) fn take_repair(&mut self, members: &Members, coding: &Coding, payload: P) -> Arrival {
        let (Some(first), Some(last)) = (members.first(), members.last()) else { return Arrival::Unusable };
        if !coding.fits(members) {
            return Arrival::Unusable;
        }
        if last >= self.horizon() {
            return Arrival::Beyond;
        }
        if last < self.base.max(self.aim) {
            return Arrival::Old;
        }
        if members.len() > self.limits.members {
            return Arrival::Wide;
        }
        let tail = members.tail();
        let mut unknown = self.unknown.count_in(&tail, u64::MAX) as usize;
        let unheard = (last + 1).saturating_sub(self.next());
        if unheard == 0 && unknown == 0 && !members.singles().iter().any(|id| self.is_unknown(*id)) {
            return Arrival::Redundant;
        }
        if first < self.symbols.origin() || !self.holds(members) {
            return Arrival::Unusable;
        }
        let most = self.limits.unseen as u64;
        if self.free.len() + unheard > most && self.unseen_in(&tail, most) > most {
            return Arrival::Wide;
        }
        if !self.find_concerned(members, unknown, unheard as usize) {
            return Arrival::Full;
        }
        if unheard > 0 {
            self.extend_to(last);
            unknown = self.unknown.count_in(&tail, u64::MAX) as usize;
        }
        if !P::CONTENT
            && self.concerns_no_row()
            && unknown == 1
            && members.singles().is_empty()
            && let Some(alone) = self.unknown.first_in(&tail)
        {
            self.take_alone(alone, payload);
            return Arrival::Innovative;
        }
        self.select_concerned();
        self.eliminate(members, coding, payload, unknown)
    }

    /// A short way for a repair with a single unknown member, `id`, that no row contains. The repair
    /// determines this member, so no row is needed. Only for payloads without content
    /// ([`Payload::CONTENT`]).
    fn take_alone(&mut self, id: u64, payload: P) {
        self.unknown.remove(id);
        self.free.remove(id);
        self.recover(id, payload);
        self.free_unneeded();
    }

    /// Reduces a repair by the rows of the current component. If the result is not zero, adds the
    /// result as a row. `unknown` is the number of unknown members in the repair's tail
    /// ([`Members::tail`]).
    fn eliminate(&mut self, members: &Members, coding: &Coding, payload: P, unknown: usize) -> Arrival {
        self.claim_columns(members);
        let slot = P::CONTENT.then(|| self.current.space.claim_slot());
        self.current.space.begin(slot);
        self.set_coefficients(members, coding, unknown);
        self.counters.work_bytes += 2 * self.current.space.bytes() as u64;
        let Some(added) = self.current.space.reduce() else {
            if let Some(slot) = slot {
                self.current.space.release_slot(slot);
            }
            return Arrival::Redundant;
        };
        match slot {
            Some(slot) => {
                let raw = Raw::new(members, coding, payload);
                self.current.lists += raw.lists();
                keep_raw(&mut self.current.raws, slot, Some(raw));
                self.fold_again(members.first().unwrap_or(u64::MAX));
            }
            None => keep_longest(&mut self.current.longest, payload),
        }
        self.add_pivot(Some(added));
        self.current_held = self.current.held();
        self.settle();
        Arrival::Innovative
    }

    /// Makes sure that every unseen member has a column in the current component.
    fn claim_columns(&mut self, members: &Members) {
        // If every unseen symbol already has a column in this component, nothing is left to do.
        let unseen = self.free.len() as usize;
        if self.current.space.columns_used() == unseen {
            return;
        }
        let tail = members.tail();
        let in_tail = self.free.count_in(&tail, u64::MAX) as usize;
        if self.current.space.reserve_columns(in_tail + members.singles().len()) {
            self.renumber_columns();
        }
        for id in members.singles() {
            self.claim_column(*id);
        }
        // `missing` symbols have no column, mostly the highest ones. So the search begins at the end.
        let missing = unseen - self.current.space.columns_used();
        let mut without = std::mem::take(&mut self.ids);
        without.clear();
        let highest_first = self.free.ranges_in(&tail).rev().flat_map(Iterator::rev);
        without.extend(highest_first.filter(|id| self.cell(*id) == Some(Cell::Untouched)).take(missing));
        for id in without.iter().rev() {
            self.claim_column(*id);
        }
        self.ids = without;
    }

    /// Gives `id` a column if no row contains `id` yet.
    fn claim_column(&mut self, id: u64) {
        if self.cell(id) == Some(Cell::Untouched) {
            let place = Place { component: self.current_id, at: self.current.space.claim_column(id) };
            self.set_cell(id, Cell::Free(place));
        }
    }

    /// Writes the coefficients of the unknown members into the working row.
    fn set_coefficients(&mut self, members: &Members, coding: &Coding, unknown: usize) {
        let generator = match coding {
            Coding::Seed(seed) => Generator::new(*seed),
            Coding::Explicit(_) => Generator::new(0),
        };
        for (at, id) in members.singles().iter().enumerate() {
            let c = match coding {
                Coding::Seed(_) => generator.at(*id),
                Coding::Explicit(bytes) => bytes[at],
            };
            self.set_coefficient(*id, c);
        }
        let tail = members.tail();
        if unknown == 0 {
            return;
        }
        let coefficients = match coding {
            Coding::Explicit(bytes) => &bytes[members.singles().len()..],
            Coding::Seed(_) if unknown < members.len() / 8 => {
                let Decoder { unknown, symbols, current, .. } = self;
                for id in unknown.iter_in(&tail) {
                    place_coefficient(&mut current.space, symbols.cell(id), generator.at(id));
                }
                return;
            }
            // At least one in eight members is unknown. Computing eight consecutive coefficients
            // takes as long as computing one. So the coefficients of the whole tail are computed.
            Coding::Seed(_) => generator.run(tail.clone(), &mut self.buffer),
        };
        if self.current.space.takes_runs() || unknown >= (self.current.space.rows() + self.current.space.width()) / 4 {
            return self.current.space.set_run(tail.start, coefficients);
        }
        for id in self.unknown.iter_in(&tail) {
            let c = coefficients[(id - tail.start) as usize];
            place_coefficient(&mut self.current.space, self.symbols.cell(id), c);
        }
    }

    /// Writes coefficient `c` of symbol `id` into the working row, if `id` is unknown.
    fn set_coefficient(&mut self, id: u64, c: u8) {
        let cell = self.cell(id);
        place_coefficient(&mut self.current.space, cell, c);
    }

    /// The number of unseen symbols in `ids`. Symbols that were never heard of count as unseen. The
    /// count stops when it exceeds `most`.
    fn unseen_in(&self, ids: &Range<u64>, most: u64) -> u64 {
        self.free.count_in(ids, most) + ids.end.saturating_sub(self.next().max(ids.start))
    }

    /// Whether every member is either unknown or has a payload that is still held. A known member
    /// must be held, because it is subtracted from the repair.
    pub(super) fn holds(&self, members: &Members) -> bool {
        let tail = members.tail();
        if members.singles().is_empty() && tail.start >= self.released.max(self.base) && self.gone.is_empty() {
            return true;
        }
        let usable = |id: u64| id >= self.next() || self.is_unknown(id) || self.get(id).is_some();
        // Before `doubtful`, payloads may have been freed, so each member is checked. From
        // `doubtful` on, only symbols that were given up one by one are missing.
        let doubtful = tail.end.min(self.released.max(self.base)).max(tail.start);
        members.singles().iter().all(|id| usable(*id))
            && (tail.start..doubtful).all(usable)
            && self.gone.first_in(&(doubtful..tail.end)).is_none()
    }
}

/// Writes coefficient `c` of the symbol with the record `cell` into the working row of `space`, if
/// the symbol is unknown.
fn place_coefficient(space: &mut Echelon, cell: Option<Cell>, c: u8) {
    match cell {
        Some(Cell::Pivot(place)) => space.set_pivot(place.at, c),
        Some(Cell::Free(place)) => space.set_column(place.at, c),
        _ => {}
    }
}
