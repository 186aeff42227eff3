//! The receiver's side: source and repair symbols in any order, decoded symbols out.

mod arrivals;
mod bookkeeping;
mod components;
mod echelon;
mod payloads;
mod recombine;
mod runs;
mod simultaneous;
#[cfg(test)]
mod tests;

use super::{Coding, Members};
use crate::Payload;
use components::{Component, OtherComponents};
pub use echelon::Pivots;
use payloads::PayloadWork;
use std::collections::VecDeque;
use std::ops::Range;

/// What became of a symbol that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It told something new: a degree of freedom more. One more source symbol is *seen*.
    Innovative,
    /// A repair that told nothing new.
    Redundant,
    /// A source symbol that is known already.
    Duplicate,
    /// Before the window, or given up: too late.
    Old,
    /// Too far ahead of the lowest symbol that is not decoded ([`Limits::ahead`]). It left no trace.
    Beyond,
    /// A repair whose row would take more memory with those that wait than [`Limits::matrix`]. It left no trace.
    Full,
    /// A repair whose tail range has more unseen members than [`Limits::unseen`]. It left no trace.
    Wide,
    /// A repair that names a member which the decoder holds no more (given up, or freed), or whose
    /// coefficients do not fit its members. It left no trace.
    Unusable,
}

/// What bounds a decoder's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How far beyond the lowest symbol that is not decoded an identifier may lie.
    pub ahead: usize,
    /// How many identifiers before the lowest that is not decoded are held at most, as members of
    /// later repairs. [`Decoder::keep_from`] frees them earlier.
    pub history: usize,
    /// How many bytes the coefficients of the rows that wait may take, with how each row is made of the payloads that
    /// arrived (about: room for more comes on top). Rows that share unknown symbols, directly or through others, take
    /// the square of their number, others no more than their number. That bounds the work of an arrival too.
    pub matrix: usize,
    /// How many members of a repair's tail range may be unseen. A repair of more would have to wait for
    /// as many others, and the work of each arrival grows with the square of what is missing.
    pub unseen: usize,
}

impl Default for Limits {
    /// 16 384 ahead, as much history, a matrix of 64 MB, any number unseen.
    fn default() -> Limits {
        Limits { ahead: 16_384, history: 16_384, matrix: 64_000_000, unseen: usize::MAX }
    }
}

/// What a decoder did, counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecoderCounters {
    /// Symbols that were [`Arrival::Innovative`].
    pub innovative: u64,
    /// Repairs that were [`Arrival::Redundant`].
    pub redundant: u64,
    /// Source symbols that were [`Arrival::Duplicate`].
    pub duplicate: u64,
    /// Symbols that were [`Arrival::Old`].
    pub old: u64,
    /// Symbols that were [`Arrival::Beyond`].
    pub beyond: u64,
    /// Repairs that were [`Arrival::Full`].
    pub full: u64,
    /// Repairs that were [`Arrival::Wide`].
    pub wide: u64,
    /// Repairs that were [`Arrival::Unusable`].
    pub unusable: u64,
    /// Source symbols recovered by repairs.
    pub decoded: u64,
    /// Source symbols given up, one by one or by a moving window.
    pub given_up: u64,
    /// Products of a coefficient and a payload that were summed up: what the payload work costs.
    pub payload_combinations: u64,
    /// Source symbols recovered by repairs that arrived together ([`Decoder::repairs`]).
    pub simultaneous: u64,
    /// Times that known payloads were subtracted from waiting rows so that they could be freed.
    pub folds: u64,
    /// Times that payloads left behind by rows that were given up were merged away.
    pub consolidations: u64,
    /// Times that a repair made one component of two: rows that had no unknown symbol in common before.
    pub joined: u64,
}

/// What is known of one source symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// Arrived or decoded; its payload may have been freed.
    Known,
    /// Will never be known.
    GivenUp,
    /// Unknown and seen: the pivot of this row.
    Pivot(Place),
    /// Unknown and unseen: this column.
    Free(Place),
    /// Unknown and unseen, and no row involves it.
    Untouched,
}

/// Where in which component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    component: u32,
    /// The row or the column there.
    at: u32,
}

/// A sliding-window decoder.
///
/// It keeps a reduced row echelon form over the unknown symbols, with leftmost pivots, one for each group of rows that share
/// unknown symbols. A symbol is
/// *seen* when it is known or a pivot, *decoded* when its value is known (paper 001, section 2; paper
/// 000, fig. 1). Elimination works on coefficients alone; payloads are combined once, in batches, when
/// symbols become decodable, however many rows wait.
#[derive(Clone, Debug)]
pub struct Decoder<P> {
    pivots: Pivots,
    limits: Limits,
    counters: DecoderCounters,
    /// The window's start: what is unknown before it is given up.
    base: u64,
    /// Known payloads before this may be freed, and those before `released` have been, but for some
    /// that became known later, the first of them `late` (u64::MAX if there is none).
    keep: u64,
    released: u64,
    late: u64,
    /// The identifier of `cells[0]` and `payloads[0]`.
    origin: u64,
    cells: VecDeque<Cell>,
    payloads: VecDeque<Option<P>>,
    heard: bool,
    /// Symbols that are not decoded, those that are not even seen, and those from `base` on that were
    /// given up one by one. All ascend.
    unknown: Vec<u64>,
    free: Vec<u64>,
    gone: Vec<u64>,
    /// The rows at work, the number of that component, and all others.
    current: Component<P>,
    current_id: u32,
    others: OtherComponents<P>,
    decoded: VecDeque<(u64, P)>,
    /// Kept for their memory.
    buffer: Vec<u8>,
    units: Vec<usize>,
    batch: Vec<(u64, P)>,
    payload_work: PayloadWork,
}

impl<P: Payload> Decoder<P> {
    /// A decoder for source symbols from `first_id` on, with the lowest symbols as pivots.
    pub fn new(first_id: u64, limits: Limits) -> Decoder<P> {
        Decoder::with_pivots(first_id, limits, Pivots::Lowest)
    }

    /// A decoder for source symbols from `first_id` on, with the pivots of the given order.
    pub fn with_pivots(first_id: u64, limits: Limits, pivots: Pivots) -> Decoder<P> {
        Decoder {
            pivots,
            limits,
            counters: DecoderCounters::default(),
            base: first_id,
            keep: first_id,
            released: first_id,
            late: u64::MAX,
            origin: first_id,
            cells: VecDeque::new(),
            payloads: VecDeque::new(),
            heard: false,
            unknown: Vec::new(),
            free: Vec::new(),
            gone: Vec::new(),
            current: Component::new(pivots),
            current_id: 0,
            others: OtherComponents::new(pivots),
            decoded: VecDeque::new(),
            buffer: Vec::new(),
            units: Vec::new(),
            batch: Vec::new(),
            payload_work: PayloadWork::default(),
        }
    }

    /// Takes source symbol `id`.
    pub fn source(&mut self, id: u64, payload: P) -> Arrival {
        let arrival = self.take_source(id, payload);
        self.count(arrival)
    }

    /// Takes a repair symbol: the combination of `members` with the coefficients that `coding` tells.
    pub fn repair(&mut self, members: &Members, coding: &Coding, payload: P) -> Arrival {
        let arrival = self.take_repair(members, coding, payload);
        self.count(arrival)
    }

    /// The next source symbol that repairs recovered, each once, ascending within a batch. Source
    /// symbols that arrived as such are not repeated.
    pub fn poll_decoded(&mut self) -> Option<(u64, P)> {
        self.decoded.pop_front()
    }

    /// Whether the degree of freedom of source symbol `id` has arrived. A symbol once seen stays seen,
    /// unless one is given up.
    pub fn is_seen(&self, id: u64) -> bool {
        self.is_past(id) || matches!(self.cell(id), Some(Cell::Known | Cell::Pivot(_)))
    }

    /// Whether the value of source symbol `id` is known, or was before its payload was freed. What
    /// lies so far back that nothing is kept of it counts as decoded.
    pub fn is_decoded(&self, id: u64) -> bool {
        self.is_past(id) || matches!(self.cell(id), Some(Cell::Known))
    }

    /// Whether source symbol `id` was given up (as far back as anything is kept of it).
    pub fn is_given_up(&self, id: u64) -> bool {
        matches!(self.cell(id), Some(Cell::GivenUp))
    }

    /// The payload of source symbol `id`, if it is known and still held.
    pub fn get(&self, id: u64) -> Option<&P> {
        self.payloads.get(self.index(id)?)?.as_ref()
    }

    /// The window's start: identifiers before it are decoded or given up.
    pub fn start(&self) -> u64 {
        self.base
    }

    /// The lowest source symbol of the window that is neither seen nor given up. A receiver that
    /// acknowledges degrees of freedom acknowledges this (paper 001, section 2).
    pub fn next_unseen(&self) -> u64 {
        self.free.first().copied().unwrap_or(self.next())
    }

    /// The lowest source symbol of the window that is neither decoded nor given up.
    pub fn next_undecoded(&self) -> u64 {
        self.unknown.first().copied().unwrap_or(self.next())
    }

    /// The highest source symbol heard of: it arrived, or a repair named it. None before the first.
    pub fn highest(&self) -> Option<u64> {
        if self.heard { self.next().checked_sub(1) } else { None }
    }

    /// The source symbols up to the highest that are neither decoded nor given up, ascending.
    pub fn missing(&self) -> impl Iterator<Item = u64> + '_ {
        self.unknown.iter().copied()
    }

    /// The source symbols up to the highest that are neither seen nor given up, ascending: the free
    /// columns, [`Decoder::deficit`] of them.
    pub fn unseen(&self) -> impl Iterator<Item = u64> + '_ {
        self.free.iter().copied()
    }

    /// How many combinations wait for more: seen symbols that are not decoded.
    pub fn rows(&self) -> usize {
        self.current.space.rows() + self.others.rows()
    }

    /// How many source symbols up to the highest are neither decoded nor given up.
    pub fn undecoded(&self) -> usize {
        self.unknown.len()
    }

    /// How many degrees of freedom are missing for all symbols up to the highest to be decoded.
    pub fn deficit(&self) -> usize {
        self.free.len()
    }

    /// What happened so far.
    pub fn counters(&self) -> &DecoderCounters {
        &self.counters
    }

    /// Moves the window: what is before `id` and not decoded is given up. Everything that was known
    /// about the symbols from `id` on stays known.
    pub fn advance_to(&mut self, id: u64) {
        if id <= self.base {
            return;
        }
        let unheard = id.saturating_sub(self.next());
        self.counters.given_up += unheard;
        if unheard > self.limits.ahead as u64 {
            // A leap: nothing from before can matter any more.
            self.counters.given_up += self.unknown.len() as u64;
            self.heard = true;
            self.restart(id);
            return;
        }
        for _ in 0..unheard {
            self.cells.push_back(Cell::GivenUp);
            self.payloads.push_back(None);
            self.heard = true;
        }
        if self.pivots == Pivots::Highest {
            // Rows with pivots from `id` on may have columns before it: take them out one by one.
            let passed = self.unknown[..self.unknown.partition_point(|u| *u < id)].to_vec();
            for given_up in passed {
                self.give_up(given_up);
            }
        }
        let passed = self.unknown.partition_point(|u| *u < id);
        // With lowest pivots, a row with a pivot from `id` on has no column before it; so the rows that
        // go are exactly those that involve what is given up.
        for at in 0..passed {
            let given_up = self.unknown[at];
            if let Some(Cell::Pivot(place)) = self.cell(given_up) {
                self.remove_row(place);
            }
        }
        for at in 0..passed {
            let given_up = self.unknown[at];
            if let Some(Cell::Free(place)) = self.cell(given_up) {
                self.select(place.component);
                self.current.space.release_column(place.at);
            }
            self.set_cell(given_up, Cell::GivenUp);
        }
        self.counters.given_up += passed as u64;
        self.unknown.drain(..passed);
        self.free.drain(..self.free.partition_point(|f| *f < id));
        self.gone.drain(..self.gone.partition_point(|g| *g < id));
        // It may have gone further already, with what was given up one by one.
        self.base = self.base.max(id);
        self.free_unneeded();
    }

    /// Gives source symbol `id` up, without waiting for the window: what is known about the others
    /// stays known, only `id` itself will never be. Does nothing when it is decoded or given up
    /// already, or beyond the limits. True when it was given up now.
    ///
    /// If `id` was unseen, another symbol that was seen may become unseen: the combination that
    /// involved both can serve only one.
    pub fn give_up(&mut self, id: u64) -> bool {
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
                if let Some(Cell::Free(place)) = self.cell(id)
                    && let Some((pivot, again)) = self.current.space.forbid(place.at)
                {
                    self.renumber_rows();
                    self.set_cell(pivot, Cell::Free(Place { at: again, ..place }));
                    insert_sorted(&mut self.free, pivot);
                }
                remove_sorted(&mut self.free, id);
            }
            Some(Cell::Untouched) => remove_sorted(&mut self.free, id),
            _ => return false,
        }
        self.set_cell(id, Cell::GivenUp);
        remove_sorted(&mut self.unknown, id);
        insert_sorted(&mut self.gone, id);
        self.counters.given_up += 1;
        self.settle();
        self.free_unneeded();
        true
    }

    /// Known payloads before `id` may be freed: no later repair names them. They still count as
    /// decoded.
    pub fn keep_from(&mut self, id: u64) {
        self.keep = self.keep.max(id.min(self.next()));
        self.release(false);
    }

    /// Begins anew at `id`.
    fn restart(&mut self, id: u64) {
        self.base = id;
        self.keep = id;
        self.released = id;
        self.late = u64::MAX;
        self.origin = id;
        self.cells.clear();
        self.payloads.clear();
        self.unknown.clear();
        self.free.clear();
        self.gone.clear();
        self.clear_rows();
    }

    fn count(&mut self, arrival: Arrival) -> Arrival {
        let counter = match arrival {
            Arrival::Innovative => &mut self.counters.innovative,
            Arrival::Redundant => &mut self.counters.redundant,
            Arrival::Duplicate => &mut self.counters.duplicate,
            Arrival::Old => &mut self.counters.old,
            Arrival::Beyond => &mut self.counters.beyond,
            Arrival::Full => &mut self.counters.full,
            Arrival::Wide => &mut self.counters.wide,
            Arrival::Unusable => &mut self.counters.unusable,
        };
        *counter += 1;
        arrival
    }

    /// The identifier after the highest heard of.
    fn next(&self) -> u64 {
        self.origin.saturating_add(self.cells.len() as u64)
    }

    /// The first identifier that is too far ahead.
    fn horizon(&self) -> u64 {
        self.next_undecoded().saturating_add(self.limits.ahead as u64)
    }

    fn index(&self, id: u64) -> Option<usize> {
        usize::try_from(id.checked_sub(self.origin)?).ok()
    }

    fn cell(&self, id: u64) -> Option<Cell> {
        self.cells.get(self.index(id)?).copied()
    }

    fn set_cell(&mut self, id: u64, cell: Cell) {
        if let Some(at) = self.index(id)
            && let Some(place) = self.cells.get_mut(at)
        {
            *place = cell;
        }
    }

    fn is_past(&self, id: u64) -> bool {
        id < self.origin
    }

    fn is_unknown(&self, id: u64) -> bool {
        matches!(self.cell(id), Some(Cell::Pivot(_) | Cell::Free(_) | Cell::Untouched))
    }

    fn unknown_in(&self, ids: &Range<u64>) -> Range<usize> {
        within(&self.unknown, ids)
    }
}

/// Where the elements that lie in `ids` are in `sorted`.
fn within(sorted: &[u64], ids: &Range<u64>) -> Range<usize> {
    let start = sorted.partition_point(|id| *id < ids.start);
    let end = match sorted.last() {
        Some(last) if *last >= ids.end => sorted.partition_point(|id| *id < ids.end),
        _ => sorted.len(),
    };
    start..end.max(start)
}

fn remove_sorted(sorted: &mut Vec<u64>, id: u64) {
    if let Ok(at) = sorted.binary_search(&id) {
        sorted.remove(at);
    }
}

fn insert_sorted(sorted: &mut Vec<u64>, id: u64) {
    if let Err(at) = sorted.binary_search(&id) {
        sorted.insert(at, id);
    }
}
