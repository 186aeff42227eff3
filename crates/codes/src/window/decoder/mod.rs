//! The receiver's side: accepts source and repair symbols in any order, and returns decoded symbols.
//!
//! A *row* is one linear equation over unknown source symbols. The decoder keeps its rows in reduced row echelon
//! form: each row has a *pivot*, an unknown symbol that no other row contains. The other unknown symbols in the rows
//! are the *free columns*.
//!
//! Rows that share unknown symbols form a *component*. Each component is eliminated by itself. The *current
//! component* is the component that is being eliminated.
//!
//! The *members* of a repair are the source symbols that it combines. The decoder no longer waits for a symbol that
//! is *given up*. A row is *decodable* when its pivot is its only unknown symbol; until then it *waits*. A payload is
//! *held* while the decoder stores it.
//!
//! This happens to a source symbol that arrives ([`Decoder::source`]):
//!
//! 1. `arrivals.rs` rejects the symbol if it is too old, too far ahead or already known.
//! 2. The symbol is stored. If the symbol is higher than the highest symbol heard of, the skipped symbols between
//!    these two are unknown from then on (`bookkeeping.rs`).
//! 3. If rows contain the symbol, their component becomes the current component (`components.rs`). `echelon/` removes
//!    the symbol from these rows. If the symbol was a pivot, its row gets another pivot.
//! 4. `bookkeeping.rs` looks for rows that have become decodable, and decodes their pivots.
//!
//! This happens to a repair symbol that arrives ([`Decoder::repair`]):
//!
//! 1. `arrivals.rs` rejects the repair if it is malformed or outside the window, has no unknown member, or has a
//!    member that the decoder no longer holds.
//! 2. `components.rs` finds the components that contain the repair's unknown members. It checks the memory limit, and
//!    joins these components. The result becomes the current component.
//! 3. `arrivals.rs` writes the coefficients of the unknown members into a working row. `echelon/` reduces that row by
//!    the other rows. If only zeros are left, the repair is redundant.
//! 4. If not, the row is added, the row's pivot is now *seen*, and the payload is stored as it arrived.
//! 5. `bookkeeping.rs` looks for rows that have become decodable. `payloads.rs` computes the payloads of their pivots
//!    in one batch. The decoded symbols wait for
//!    [`Decoder::poll_decoded`].
//! 6. `bookkeeping.rs` and `fold.rs` free the payloads that nothing needs any more.
//!
//! Three files add to these steps. `later.rs` leaves work for a later step, so that no call takes long.
//! `simultaneous.rs` decodes repairs that arrive together ([`Decoder::repairs`]).
//! `recombine.rs` makes new combinations of the rows for a relay. `raw.rs` and `known.rs` are helpers of `payloads.rs`:
//! the stored repairs, and the known symbols that are subtracted from these repairs.

mod arrivals;
mod bookkeeping;
mod components;
mod echelon;
mod fold;
mod give_up;
mod known;
mod later;
mod limits;
mod outcome;
mod payloads;
mod raw;
mod recombine;
mod simultaneous;
mod symbols;
#[cfg(test)]
mod tests;

use super::{Coding, IdRanges, Members};
use crate::Payload;
use components::{Component, OtherComponents};
pub use echelon::Pivots;
use fold::Folding;
pub use limits::Limits;
pub use outcome::{Arrival, DecoderCounters};
use payloads::PayloadWork;
use std::collections::{BTreeMap, VecDeque};
use symbols::Symbols;

/// What the decoder knows about one source symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// The symbol arrived or was decoded. Its payload may have been freed.
    Known,
    /// The symbol will never be known.
    GivenUp,
    /// The symbol is unknown and seen: it is the pivot of the row at this place.
    Pivot(Place),
    /// The symbol is unknown and unseen: it is the free column at this place.
    Free(Place),
    /// The symbol is unknown and unseen, and no row contains it.
    Untouched,
}

/// The position of a row or column: its component, and its index in that component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The component's id (`components.rs`).
    component: u32,
    /// The index of the row or column in that component.
    at: u32,
}

/// A sliding-window decoder.
///
/// A *row* is one linear equation over unknown symbols, made from a repair. Rows that share unknown symbols are kept
/// in reduced row echelon form: each row has a pivot that no other row contains.
/// [`Pivots`] says which unknown symbol of a row is its pivot. A symbol is *seen* when it is known
/// or a pivot, and *decoded* when its value is known (paper 001, section 2; paper 000, fig. 1).
///
/// Elimination uses only coefficients. Payloads are combined only when symbols become decodable. They are then
/// combined in one batch, no matter how many rows wait.
#[derive(Clone, Debug)]
pub struct Decoder<P> {
    pivots: Pivots,
    limits: Limits,
    counters: DecoderCounters,
    /// The window's start. Unknown symbols before it are given up.
    base: u64,
    /// Known payloads before this identifier may be freed.
    keep: u64,
    /// Payloads before this identifier have been freed, except payloads that became known after the last release.
    released: u64,
    /// The lowest symbol before `released` that became known after the last release; u64::MAX if there is none.
    late: u64,
    /// What is known about each symbol, and the payloads.
    symbols: Symbols<P>,
    /// Whether any symbol has been heard of.
    heard: bool,
    /// Undecoded symbols that were not given up.
    unknown: IdRanges,
    /// Unseen symbols that were not given up.
    free: IdRanges,
    /// Symbols from `base` on that were given up one by one.
    gone: IdRanges,
    current: Component<P>,
    /// The bytes that the current component holds ([`Component::held`]), when they were last counted.
    current_held: usize,
    current_id: u32,
    /// All components except the current one.
    others: OtherComponents<P>,
    /// Recovered symbols that wait for [`Decoder::poll_decoded`].
    decoded: VecDeque<(u64, P)>,
    /// Components with decodable rows that were left for a later step ([`Limits::step`]).
    unfinished: Vec<u32>,
    /// Source symbols that have arrived, and wait to be eliminated in a later step ([`Decoder::pause`]).
    later: BTreeMap<u64, P>,
    /// The bytes of the payloads in `later`.
    later_bytes: usize,
    /// Where the window's start moves to. If `base` is lower, the move is left for a later step.
    aim: u64,
    /// A fold that takes several steps.
    folding: Option<Folding>,
    /// Whether work is put off ([`Decoder::pause`]).
    paused: bool,
    /// The counter `work_bytes` at the beginning of this step.
    begun_at: u64,
    /// Scratch memory, kept to avoid allocations.
    buffer: Vec<u8>,
    units: Vec<usize>,
    ids: Vec<u64>,
    /// The length of the longest payload that has arrived, bytes.
    longest: usize,
    batch: Vec<(u64, P)>,
    payload_work: PayloadWork,
}

impl<P: Payload> Decoder<P> {
    /// A decoder for source symbols from `first_id` on. A row's pivot is its lowest unknown symbol.
    pub fn new(first_id: u64, limits: Limits) -> Decoder<P> {
        Decoder::with_pivots(first_id, limits, Pivots::Lowest)
    }

    /// A decoder for source symbols from `first_id` on, with the given choice of pivots.
    pub fn with_pivots(first_id: u64, limits: Limits, pivots: Pivots) -> Decoder<P> {
        Decoder {
            pivots,
            limits,
            counters: DecoderCounters::default(),
            base: first_id,
            keep: first_id,
            released: first_id,
            late: u64::MAX,
            symbols: Symbols::new(first_id),
            heard: false,
            unknown: IdRanges::new(),
            free: IdRanges::new(),
            gone: IdRanges::new(),
            current: Component::new(pivots),
            current_held: 0,
            current_id: 0,
            others: OtherComponents::new(pivots),
            decoded: VecDeque::new(),
            unfinished: Vec::new(),
            later: BTreeMap::new(),
            later_bytes: 0,
            aim: first_id,
            folding: None,
            paused: false,
            begun_at: 0,
            buffer: Vec::new(),
            units: Vec::new(),
            ids: Vec::new(),
            longest: 0,
            batch: Vec::new(),
            payload_work: PayloadWork::default(),
        }
    }

    /// Accepts source symbol `id`, and returns the outcome.
    pub fn source(&mut self, id: u64, payload: P) -> Arrival {
        self.begin();
        self.longest = self.longest.max(payload.len());
        let arrival = self.take_source(id, payload);
        self.count(arrival)
    }

    /// Accepts a repair symbol, and returns the outcome. The payload is the combination of `members` with the
    /// coefficients of `coding`.
    pub fn repair(&mut self, members: &Members, coding: &Coding, payload: P) -> Arrival {
        self.begin();
        self.longest = self.longest.max(payload.len());
        let arrival = self.take_repair(members, coding, payload);
        self.count(arrival)
    }

    /// The next source symbol that repairs recovered. Each recovered symbol is returned once. Symbols that were
    /// decoded together are returned in ascending order. Source symbols that arrived themselves are not returned.
    pub fn poll_decoded(&mut self) -> Option<(u64, P)> {
        self.decoded.pop_front()
    }

    /// Whether source symbol `id` is seen: the symbol is known, or it is the pivot of a row. A seen symbol stays seen
    /// unless some symbol is given up ([`Decoder::give_up`],
    /// [`Decoder::advance_to`]).
    pub fn is_seen(&self, id: u64) -> bool {
        self.is_past(id) || matches!(self.cell(id), Some(Cell::Known | Cell::Pivot(_)))
    }

    /// Whether the value of source symbol `id` is known, or was known before its payload was freed. A symbol so old
    /// that the decoder has no record of it counts as decoded.
    pub fn is_decoded(&self, id: u64) -> bool {
        self.is_past(id) || matches!(self.cell(id), Some(Cell::Known))
    }

    /// Whether source symbol `id` was given up. False for a symbol so old that there is no record of it.
    pub fn is_given_up(&self, id: u64) -> bool {
        matches!(self.cell(id), Some(Cell::GivenUp))
    }

    /// The payload of source symbol `id`, if the symbol is known and its payload is still held.
    pub fn get(&self, id: u64) -> Option<&P> {
        self.symbols.get(id)
    }

    /// The window's start. Every identifier before it is decoded or given up.
    pub fn start(&self) -> u64 {
        self.base
    }

    /// The lowest source symbol of the window that is not seen and not given up. A receiver that acknowledges degrees
    /// of freedom acknowledges this symbol (paper 001, section 2).
    pub fn next_unseen(&self) -> u64 {
        self.free.first().unwrap_or(self.next())
    }

    /// The lowest source symbol of the window that is not decoded and not given up.
    pub fn next_undecoded(&self) -> u64 {
        self.unknown.first().unwrap_or(self.next())
    }

    /// The highest source symbol heard of: it arrived, or a repair had it as a member. None before any symbol has
    /// been heard of.
    pub fn highest(&self) -> Option<u64> {
        if self.heard { self.next().checked_sub(1) } else { None }
    }

    /// Records that the symbols before `end` exist. Symbols beyond the coding window stay unheard of.
    pub fn announce(&mut self, end: u64) {
        if let Some(last) = end.min(self.horizon()).checked_sub(1) {
            self.extend_to(last);
        }
    }

    /// The source symbols up to the highest that are not decoded and not given up, ascending.
    pub fn missing(&self) -> impl Iterator<Item = u64> + '_ {
        self.unknown.iter()
    }

    /// The source symbols up to the highest that are not seen and not given up. Their number is
    /// [`Decoder::deficit`].
    pub fn unseen(&self) -> &IdRanges {
        &self.free
    }

    /// The number of rows that wait for more combinations. It equals the number of symbols that are seen but not
    /// decoded.
    pub fn rows(&self) -> usize {
        self.current.space.rows() + self.others.rows()
    }

    /// The number of source symbols up to the highest that are not decoded and not given up.
    pub fn undecoded(&self) -> usize {
        self.unknown.len() as usize
    }

    /// The number of innovative combinations that are still needed to decode all symbols up to the highest. A
    /// combination is innovative when it does not follow from the combinations that have arrived.
    pub fn deficit(&self) -> usize {
        self.free.len() as usize
    }

    /// The number of payloads that the decoder holds: symbols and stored repairs. The figure is approximate.
    pub fn payloads(&self) -> usize {
        self.symbols.held() + self.current.space.slots_used() + self.others.slots()
    }

    /// The bytes of memory that the decoder holds: payloads, records of symbols, stored repairs, rows, spare memory.
    /// The figure is approximate: each stored repair counts as long as the longest payload that has arrived.
    pub fn bytes(&self) -> usize {
        let raws = self.current.space.slots_used() + self.others.slots();
        self.symbols.bytes() + raws * self.longest + self.later_bytes + self.current_held + self.others.held()
    }

    /// Discards all waiting rows with their stored repairs, and frees their memory. The symbols that were seen but not
    /// decoded become unseen. A caller that is short of memory or time uses this. Returns the number of rows.
    pub fn discard_rows(&mut self) -> usize {
        let rows = self.rows();
        if rows > 0 || self.is_unfinished() {
            self.with_each(Self::discard_component);
            self.clear_rows();
            self.catch_up_without_rows();
            self.free_unneeded();
        }
        rows
    }

    /// Discards the waiting rows that share unknown symbols with `members`, directly or through other rows, like
    /// [`Decoder::discard_rows`]. Keeps such rows if at most `most` of them depend on each other. A caller whose repair
    /// was refused as [`Arrival::Full`] makes room for this repair.
    pub fn discard_rows_with(&mut self, members: &Members, most: usize) {
        self.begin();
        let mut found: Vec<u32> = self
            .unknown_or_single(members)
            .filter_map(|id| match self.cell(id) {
                Some(Cell::Pivot(place) | Cell::Free(place)) => Some(place.component),
                _ => None,
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        for component in found {
            self.select(component);
            if self.current.space.rows() > most {
                self.discard_component();
            }
        }
        self.free_unneeded();
    }

    /// The counters since the decoder was made.
    pub fn counters(&self) -> &DecoderCounters {
        &self.counters
    }

    /// The caller promises that no later repair has a member before `id`. The payloads of known symbols before `id`
    /// may then be freed. These symbols still count as decoded.
    pub fn keep_from(&mut self, id: u64) {
        self.begin();
        self.keep = self.keep.max(id.min(self.next()));
        self.release(false);
    }

    /// Adds 1 to the counter of `arrival`.
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

    /// The identifier after the highest symbol heard of.
    fn next(&self) -> u64 {
        self.symbols.end()
    }

    /// The first identifier that is too far ahead to be accepted.
    fn horizon(&self) -> u64 {
        self.next_undecoded().saturating_add(self.limits.ahead as u64)
    }

    /// What is known of `id`; None if there is no record of it.
    fn cell(&self, id: u64) -> Option<Cell> {
        match self.symbols.cell(id)? {
            // Symbols that no packet touched before the window passed them have no record of their own.
            Cell::Untouched if id < self.base => Some(Cell::GivenUp),
            cell => Some(cell),
        }
    }

    /// Replaces the record of `id`, if there is one.
    fn set_cell(&mut self, id: u64, cell: Cell) {
        self.symbols.set_cell(id, cell);
    }

    /// Whether `id` is so old that there is no record of it.
    fn is_past(&self, id: u64) -> bool {
        id < self.symbols.origin()
    }

    /// Whether `id` is heard of, but is not known and not given up.
    fn is_unknown(&self, id: u64) -> bool {
        matches!(self.cell(id), Some(Cell::Pivot(_) | Cell::Free(_) | Cell::Untouched))
    }

    /// Whether a row contains `id` as an unknown symbol.
    fn is_in_row(&self, id: u64) -> bool {
        matches!(self.cell(id), Some(Cell::Pivot(_) | Cell::Free(_)))
    }
}
