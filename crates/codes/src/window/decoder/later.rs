//! Work that is left for a later step: each call does at most about [`Limits::step`](super::Limits::step) of work.
//!
//! A caller that limits the computing time of a peer can also *pause* the decoder ([`Decoder::pause`]). These kinds of
//! work are left:
//!
//! - Decodable rows (`Decoder::unfinished`, `bookkeeping.rs`).
//! - The elimination of source symbols that arrived during a pause (`Decoder::later`).
//! - The move of the window's start (`Decoder::aim`, `give_up.rs`).
//! - The subtraction of known symbols from stored repairs, so that memory can be freed (`fold.rs`).

use super::{Arrival, Cell, Decoder};
use crate::Payload;

/// The largest number of source symbols whose elimination waits. Unit: symbols. With more, the rows that contain them
/// are discarded, so that the symbols need no elimination.
///
/// A path of 1 Gbit/s brings 4096 symbols in 50 ms. Half the value discards rows after shorter pauses. Double the value
/// takes up to 6 MB more.
const MOST_LATER: usize = 4096;

impl<P: Payload> Decoder<P> {
    /// Pauses the decoder, or ends the pause. During a pause, [`Decoder::source`] stores a symbol that is in a row, and
    /// eliminates the symbol later. [`Decoder::advance_to`] moves the window later, and memory is freed later.
    /// [`Decoder::resume`] does a step all the same.
    ///
    /// Until then the symbols count as undecoded and not given up. Rows are discarded when too many symbols wait, or
    /// when the start of the window lies too far back for a symbol that arrives.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Whether work was left for a later step ([`Limits::step`](super::Limits::step), [`Decoder::pause`]).
    pub fn is_unfinished(&self) -> bool {
        !self.unfinished.is_empty() || self.folding.is_some() || self.lags()
    }

    /// Whether source symbols wait for their elimination, or the window's start has not moved as far as
    /// [`Decoder::advance_to`] asked.
    pub fn lags(&self) -> bool {
        !self.later.is_empty() || self.aim > self.base
    }

    /// Does the next step of the work that was left.
    pub fn resume(&mut self) {
        self.begin();
        let paused = std::mem::take(&mut self.paused);
        if !self.resume_rows() {
            self.catch_up();
            if !self.is_spent() {
                self.release(false);
            }
        }
        self.paused = paused;
    }

    /// Decodes rows of one component that were left. Returns false if there are none.
    fn resume_rows(&mut self) -> bool {
        while let Some(component) = self.unfinished.pop() {
            if self.space_of(component).rows() > 0 {
                self.select(component);
                self.settle();
                return true;
            }
        }
        false
    }

    /// Begins a step: the work so far does not count.
    pub(super) fn begin(&mut self) {
        self.begun_at = self.counters.work_bytes;
    }

    /// Whether this step may do no more work.
    pub(super) fn is_spent(&self) -> bool {
        self.paused || self.counters.work_bytes - self.begun_at >= self.limits.step as u64
    }

    /// Stores source symbol `id`, which is in a row, for a later step.
    pub(super) fn put_off(&mut self, id: u64, payload: P) -> Arrival {
        self.later_bytes += payload.len();
        if let Some(before) = self.later.insert(id, payload) {
            self.later_bytes -= before.len();
            return Arrival::Duplicate;
        }
        if self.later.len() > MOST_LATER {
            self.catch_up_without_rows();
        }
        Arrival::Innovative
    }

    /// Removes symbol `id` from the symbols that wait. Returns whether the symbol was among them.
    pub(super) fn forget_later(&mut self, id: u64) -> bool {
        let before = self.later.remove(&id);
        self.later_bytes -= before.as_ref().map_or(0, P::len);
        before.is_some()
    }

    /// Eliminates the symbols that wait, lowest first, and then moves the window's start, as far as this step allows.
    pub(super) fn catch_up(&mut self) {
        while !self.is_spent() {
            let Some((id, payload)) = self.later.pop_first() else { return self.advance() };
            self.later_bytes -= payload.len();
            self.take_source(id, payload);
        }
    }

    /// Does all the work of [`Decoder::catch_up`] at once, without elimination: the rows that contain a symbol that
    /// waits, or a symbol that the window passes, are discarded.
    pub(super) fn catch_up_without_rows(&mut self) {
        while let Some((id, payload)) = self.later.pop_first() {
            self.later_bytes -= payload.len();
            self.discard_rows_of(id);
            self.take_source(id, payload);
        }
        if self.aim > self.base {
            let mut passed = std::mem::take(&mut self.ids);
            self.find_passed(self.aim, &mut passed);
            passed.iter().for_each(|id| self.discard_rows_of(*id));
            self.ids = passed;
            let paused = std::mem::take(&mut self.paused);
            self.advance();
            self.paused = paused;
        }
    }

    /// Discards the component whose rows contain symbol `id`, if there is one.
    fn discard_rows_of(&mut self, id: u64) {
        if let Some(Cell::Pivot(place) | Cell::Free(place)) = self.cell(id) {
            self.select(place.component);
            self.discard_component();
        }
    }
}

#[cfg(test)]
#[path = "later/tests.rs"]
mod tests;
