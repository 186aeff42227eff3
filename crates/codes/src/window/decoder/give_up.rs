//! Gives up symbols that will never arrive: one by one, or all before the window's start.

use super::{Cell, Decoder, Pivots, Place};
use crate::Payload;

impl<P: Payload> Decoder<P> {
    /// Moves the window's start to `id`, and gives up the undecoded symbols before `id`. All knowledge about the
    /// symbols from `id` on is kept. If this takes too much work, the start moves in several steps
    /// ([`Limits::step`](super::Limits::step)).
    pub fn advance_to(&mut self, id: u64) {
        self.begin();
        self.aim = self.aim.max(id);
        let jumps = id.saturating_sub(self.next()) > self.limits.ahead as u64;
        if jumps || self.later.is_empty() && self.rows() == 0 {
            // This takes little work, also during a pause.
            self.advance();
        } else {
            self.catch_up();
        }
    }

    /// Moves the window's start towards `Decoder::aim`, as far as this step allows.
    pub(super) fn advance(&mut self) {
        let id = self.aim;
        if id <= self.base {
            return;
        }
        let unheard = id.saturating_sub(self.next());
        if unheard > self.limits.ahead as u64 {
            // The window jumps beyond everything the decoder may hold, so a new window starts.
            self.counters.given_up += unheard + self.unknown.len();
            self.heard = true;
            self.restart(id);
            return;
        }
        let reached = self.give_up_rows_before(id);
        if reached == id && unheard > 0 {
            // These symbols are untouched. Untouched symbols before the window's start count as given up.
            self.counters.given_up += unheard;
            self.symbols.extend(id);
            self.heard = true;
        }
        self.counters.given_up += self.unknown.remove_before(reached);
        self.free.remove_before(reached);
        self.gone.remove_before(reached);
        // `give_up` may have moved the start further already.
        self.base = self.base.max(reached);
        self.free_unneeded();
    }

    /// Gives up source symbol `id` without moving the window. Knowledge about all other symbols is kept. Returns true
    /// when the symbol was given up by this call. Does nothing when the symbol is decoded, given up already, or
    /// outside the window and its limits.
    ///
    /// If `id` was unseen and rows contain it, one of these rows is lost. The pivot of the lost row becomes unseen.
    pub fn give_up(&mut self, id: u64) -> bool {
        self.begin();
        self.give_up_one(id)
    }

    /// Does the work of [`Decoder::give_up`] within the present step.
    fn give_up_one(&mut self, id: u64) -> bool {
        if id < self.base || id >= self.horizon() {
            return false;
        }
        self.extend_to(id);
        match self.cell(id) {
            Some(Cell::Pivot(place)) => self.remove_row(place),
            Some(Cell::Free(place)) => {
                self.select(place.component);
                if self.current.space.reserve_columns(1) {
                    self.renumber_columns();
                }
                self.counters.work_bytes += self.current.space.rows() as u64;
                if let Some(Cell::Free(place)) = self.cell(id)
                    && let Some((pivot, again)) = self.current.space.forbid(place.at)
                {
                    self.counters.work_bytes += 2 * self.current.space.bytes() as u64;
                    self.renumber_rows();
                    self.set_cell(pivot, Cell::Free(Place { at: again, ..place }));
                    self.free.insert(pivot);
                }
                self.free.remove(id);
            }
            Some(Cell::Untouched) => {
                self.free.remove(id);
            }
            _ => return false,
        }
        self.set_cell(id, Cell::GivenUp);
        self.unknown.remove(id);
        self.gone.insert(id);
        self.counters.given_up += 1;
        self.settle();
        self.free_unneeded();
        true
    }

    /// Removes the unknown symbols before `id` from all rows, lowest first, as far as this step allows. Returns `id`,
    /// or the first symbol that is left. The work grows with the number of pages of records and of rows, not with the
    /// number of symbols.
    fn give_up_rows_before(&mut self, id: u64) -> u64 {
        if self.rows() == 0 {
            return id;
        }
        let mut reached = id;
        let mut passed = std::mem::take(&mut self.ids);
        self.find_passed(id, &mut passed);
        if self.pivots == Pivots::Highest {
            // With highest pivots, a row whose pivot is at `id` or later may have columns before
            // `id`. These columns are removed one by one.
            for (at, given_up) in passed.iter().enumerate() {
                if at > 0 && self.is_spent() {
                    reached = *given_up;
                    break;
                }
                self.give_up_one(*given_up);
            }
        } else {
            // With lowest pivots, a row whose pivot is at `id` or later has no column before `id`.
            // So the rows to remove are exactly the rows whose pivot is given up.
            for given_up in &passed {
                if let Some(Cell::Pivot(place)) = self.cell(*given_up) {
                    self.remove_row(place);
                }
            }
            for given_up in &passed {
                if let Some(Cell::Free(place)) = self.cell(*given_up) {
                    self.select(place.component);
                    self.current.space.release_column(place.at);
                }
                self.set_cell(*given_up, Cell::GivenUp);
            }
        }
        self.ids = passed;
        reached
    }

    /// Lists in `passed` the symbols before `id` that are in a row, ascending.
    pub(super) fn find_passed(&self, id: u64, passed: &mut Vec<u64>) {
        passed.clear();
        for range in self.unknown.ranges_in(&(0..id)) {
            self.symbols.in_rows(range, passed);
        }
    }

    /// Clears everything, and starts a new window at `id`.
    fn restart(&mut self, id: u64) {
        self.base = id;
        self.aim = id;
        self.keep = id;
        self.later.clear();
        self.later_bytes = 0;
        self.folding = None;
        self.released = id;
        self.late = u64::MAX;
        self.symbols.restart(id);
        self.unknown.clear();
        self.free.clear();
        self.gone.clear();
        self.clear_rows();
    }
}
