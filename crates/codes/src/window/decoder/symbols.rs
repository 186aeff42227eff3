//! What the decoder knows about each source symbol, and the payloads that it holds.
//!
//! The records are kept in pages of [`PAGE`] symbols. A page has cells only when a symbol in it was
//! touched. So a packet that names a symbol far ahead adds the cells of one page and a list of
//! empty pages, not a record for each symbol that was skipped. A page has room for payloads only
//! while it holds one. So a symbol whose payload was freed takes a quarter of the memory.

use super::Cell;
use crate::Payload;
use crate::payload::AHEAD;
use std::collections::VecDeque;
use std::ops::Range;

/// Number of symbols in a page. With half the value, a jump ahead lists twice as many empty pages.
/// With double the value, a single symbol far ahead takes twice the memory.
const PAGE: usize = 64;
/// Number of unused tables of cells, and of payloads, that are kept for later use, so that a decoder
/// in its steady state allocates no memory. Half the value allocates more often after a burst; double
/// the value keeps up to 14 kB more.
const SPARE: usize = 4;

/// The records of the symbols `origin..end`.
#[derive(Clone, Debug)]
pub(super) struct Symbols<P> {
    /// The lowest symbol with a record.
    origin: u64,
    /// One past the highest symbol with a record.
    end: u64,
    /// The pages from the page of `origin` on.
    pages: VecDeque<Page<P>>,
    /// Tables in which all cells are untouched.
    spare_cells: Spare<Cells>,
    /// Tables that hold no payload.
    spare_payloads: Spare<Payloads<P>>,
    /// The bytes of all payloads held.
    bytes: usize,
    /// Number of payloads held.
    held: usize,
    /// The bytes of the tables of all pages.
    tables: usize,
}

/// Tables that are not in use.
#[derive(Clone, Debug)]
struct Spare<T>(Vec<Box<T>>);

type Cells = [Cell; PAGE];
type Payloads<P> = [Option<P>; PAGE];

#[derive(Clone, Debug)]
struct Page<P> {
    /// None: all symbols of the page are untouched.
    cells: Option<Box<Cells>>,
    /// None: no payload is held.
    payloads: Option<Box<Payloads<P>>>,
    /// Number of payloads held in this page.
    held: u32,
}

impl<P: Payload> Symbols<P> {
    /// No records; the next symbol is `first`.
    pub(super) fn new(first: u64) -> Symbols<P> {
        Symbols {
            origin: first,
            end: first,
            pages: VecDeque::new(),
            spare_cells: Spare(Vec::new()),
            spare_payloads: Spare(Vec::new()),
            bytes: 0,
            held: 0,
            tables: 0,
        }
    }

    /// The lowest symbol with a record.
    pub(super) fn origin(&self) -> u64 {
        self.origin
    }

    /// One past the highest symbol with a record.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The bytes that the payloads and pages take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.pages.len() * size_of::<Page<P>>() + self.tables
    }

    /// The number of payloads held.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// The first symbol of the first page. Distances from this symbol are the indices that
    /// [`Symbols::at`] takes.
    pub(super) fn base(&self) -> u64 {
        self.origin & !(PAGE as u64 - 1)
    }

    /// The record of `id`. None if there is no record.
    #[inline]
    pub(super) fn cell(&self, id: u64) -> Option<Cell> {
        if id < self.origin || id >= self.end {
            return None;
        }
        let (page, at) = self.index(id);
        Some(self.pages[page].cells.as_ref().map_or(Cell::Untouched, |cells| cells[at]))
    }

    /// Replaces the record of `id`, if there is one.
    #[inline]
    pub(super) fn set_cell(&mut self, id: u64, cell: Cell) {
        if id < self.origin || id >= self.end {
            return;
        }
        let (page, at) = self.index(id);
        self.pages[page].cells_mut(&mut self.spare_cells, &mut self.tables)[at] = cell;
    }

    /// Marks `id` as known, and stores its payload.
    #[inline]
    pub(super) fn make_known(&mut self, id: u64, payload: P) {
        if id < self.origin || id >= self.end {
            return;
        }
        let len = payload.len();
        let (page, at) = self.index(id);
        let page = &mut self.pages[page];
        page.cells_mut(&mut self.spare_cells, &mut self.tables)[at] = Cell::Known;
        let before = page.payloads_mut(&mut self.spare_payloads, &mut self.tables)[at].replace(payload);
        page.held += u32::from(before.is_none());
        self.held += usize::from(before.is_none());
        self.bytes = self.bytes + len - before.map_or(0, |before| before.len());
    }

    /// The payload of `id`, if it is held.
    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<&P> {
        if id < self.origin || id >= self.end {
            return None;
        }
        self.at((id - self.base()) as u32)
    }

    /// The payload with this index: its distance from [`Symbols::base`].
    #[inline]
    pub(super) fn at(&self, index: u32) -> Option<&P> {
        self.pages.get(index as usize / PAGE)?.payloads.as_ref()?[index as usize % PAGE].as_ref()
    }

    /// Calls `each` with the payload of each of the symbols `ids`, which all have a record. None stands
    /// for a payload that is not held.
    #[inline]
    pub(super) fn each_payload<'a>(&'a self, ids: Range<u64>, mut each: impl FnMut(Option<&'a P>)) {
        let mut from = ids.start;
        while from < ids.end {
            let to = (from | (PAGE as u64 - 1)).saturating_add(1).min(ids.end);
            let (page, at) = self.index(from);
            match self.pages.get(page).and_then(|page| page.payloads.as_ref()) {
                Some(payloads) => payloads[at..][..(to - from) as usize].iter().for_each(|held| each(held.as_ref())),
                None => (from..to).for_each(|_| each(None)),
            }
            from = to;
        }
    }

    /// Adds records of untouched symbols, up to `end`.
    pub(super) fn extend(&mut self, end: u64) {
        if end <= self.end {
            return;
        }
        self.end = end;
        let pages = (end - self.base()).div_ceil(PAGE as u64) as usize;
        if pages > self.pages.len() {
            self.pages.resize_with(pages, || Page { cells: None, payloads: None, held: 0 });
        }
    }

    /// Calls `each` with the payloads of each page that overlaps `ids`, and with the index of the
    /// first of these payloads. Pages without payloads are left out.
    #[inline]
    pub(super) fn held_in(&self, ids: Range<u64>, mut each: impl FnMut(u32, &[Option<P>])) {
        self.pages_in(ids, |from, to, page| {
            let at = (from - self.base()) as usize;
            if let Some(payloads) = &page.payloads {
                each(at as u32, &payloads[at % PAGE..][..(to - from) as usize]);
            }
        });
    }

    /// Lists in `out` the symbols of `ids` that are in a row.
    pub(super) fn in_rows(&self, ids: Range<u64>, out: &mut Vec<u64>) {
        self.pages_in(ids, |from, to, page| {
            let Some(cells) = &page.cells else { return };
            let in_row = |id: &u64| matches!(cells[*id as usize % PAGE], Cell::Pivot(_) | Cell::Free(_));
            out.extend((from..to).filter(in_row));
        });
    }

    /// Frees the payloads of the symbols `ids`.
    pub(super) fn free(&mut self, ids: Range<u64>) {
        let (mut from, end) = (ids.start.max(self.origin), ids.end.min(self.end));
        while from < end {
            let to = (from | (PAGE as u64 - 1)).saturating_add(1).min(end);
            let (page, at) = self.index(from);
            self.free_in(page, at..at + (to - from) as usize);
            from = to;
        }
    }

    /// Frees the payloads at the places `freed` of a page, and its table of payloads if none is left.
    fn free_in(&mut self, page: usize, freed: Range<usize>) {
        let page = &mut self.pages[page];
        let Some(payloads) = &mut page.payloads else { return };
        for at in freed.clone() {
            if let Some(later) = payloads[..freed.end].get(at + AHEAD).and_then(Option::as_ref) {
                later.prefetch();
            }
            let Some(payload) = payloads[at].take() else { continue };
            page.held -= 1;
            self.held -= 1;
            self.bytes -= payload.len();
        }
        if page.held == 0 {
            self.tables -= size_of::<Payloads<P>>();
            if let Some(unused) = page.payloads.take() {
                self.spare_payloads.keep(unused, |_| {});
            }
        }
    }

    /// Drops the records before `id`.
    pub(super) fn drop_before(&mut self, id: u64) {
        let id = id.min(self.end).max(self.origin);
        self.free(self.origin..id);
        let pages = ((id & !(PAGE as u64 - 1)) - self.base()) / PAGE as u64;
        for _ in 0..pages {
            self.drop_first();
        }
        self.origin = id;
    }

    /// Drops all records. The next symbol is `first`.
    pub(super) fn restart(&mut self, first: u64) {
        self.free(self.origin..self.end);
        while !self.pages.is_empty() {
            self.drop_first();
        }
        (self.origin, self.end) = (first, first);
    }

    /// Calls `each` with the part of `ids` in each page, and the page.
    #[inline]
    fn pages_in(&self, ids: Range<u64>, mut each: impl FnMut(u64, u64, &Page<P>)) {
        let (mut from, end) = (ids.start.max(self.origin), ids.end.min(self.end));
        while from < end {
            let to = (from | (PAGE as u64 - 1)).saturating_add(1).min(end);
            each(from, to, &self.pages[self.index(from).0]);
            from = to;
        }
    }

    /// Drops the first page, which holds no payload.
    fn drop_first(&mut self) {
        let Some(cells) = self.pages.pop_front().and_then(|page| page.cells) else { return };
        self.tables -= size_of::<Cells>();
        self.spare_cells.keep(cells, |cells| cells.fill(Cell::Untouched));
    }

    /// The index of the page of `id`, and the place of `id` in this page.
    #[inline]
    fn index(&self, id: u64) -> (usize, usize) {
        let at = (id - self.base()) as usize;
        (at / PAGE, at % PAGE)
    }
}

impl<T> Spare<T> {
    /// A table of this list, or a new one.
    fn take(&mut self, new: impl FnOnce() -> T) -> Box<T> {
        self.0.pop().unwrap_or_else(|| Box::new(new()))
    }

    /// Keeps `table` for later use, after `empty` has emptied it. Frees `table` if there are enough.
    fn keep(&mut self, mut table: Box<T>, empty: impl FnOnce(&mut T)) {
        if self.0.len() < SPARE {
            empty(&mut table);
            self.0.push(table);
        }
    }
}

impl<P> Page<P> {
    /// The cells, which are made if they do not exist. `tables` counts the bytes of all tables.
    #[inline]
    fn cells_mut(&mut self, spare: &mut Spare<Cells>, tables: &mut usize) -> &mut Cells {
        self.cells.get_or_insert_with(|| {
            *tables += size_of::<Cells>();
            spare.take(|| [Cell::Untouched; PAGE])
        })
    }

    /// The payloads, like [`Page::cells_mut`].
    #[inline]
    fn payloads_mut(&mut self, spare: &mut Spare<Payloads<P>>, tables: &mut usize) -> &mut Payloads<P> {
        self.payloads.get_or_insert_with(|| {
            *tables += size_of::<Payloads<P>>();
            spare.take(|| std::array::from_fn(|_| None))
        })
    }
}
