//! What the decoder knows about each source symbol, and the payloads that it holds.
//!
//! The records are kept in pages of [`PAGE`] symbols. A page exists only when a symbol in it was
//! touched. So a packet that names a symbol far ahead adds one page and a list of absent pages, not
//! a record for each symbol that was skipped.

use super::Cell;
use crate::Payload;
use crate::payload::AHEAD;
use std::collections::VecDeque;
use std::ops::Range;

/// Number of symbols in a page. With half the value, a jump ahead lists twice as many absent pages.
/// With double the value, a single symbol far ahead takes twice the memory.
const PAGE: usize = 64;
/// Number of unused pages that are kept for later use, so that a decoder in its steady state
/// allocates no memory. Half the value allocates more often after a burst; double the value keeps
/// up to 8 kB more.
const SPARE: usize = 4;

/// The records of the symbols `origin..end`.
#[derive(Clone, Debug)]
pub(super) struct Symbols<P> {
    /// The lowest symbol with a record.
    origin: u64,
    /// One past the highest symbol with a record.
    end: u64,
    /// The pages from the page of `origin` on. None: all symbols of the page are untouched.
    pages: VecDeque<Option<Box<Page<P>>>>,
    /// Pages that are not in use.
    spare: Vec<Box<Page<P>>>,
    /// The bytes of all payloads held.
    bytes: usize,
    /// Number of payloads held.
    held: usize,
    /// Number of pages that exist.
    present: usize,
}

#[derive(Clone, Debug)]
struct Page<P> {
    cells: [Cell; PAGE],
    payloads: [Option<P>; PAGE],
    /// Number of payloads held in this page.
    held: u32,
}

impl<P: Payload> Symbols<P> {
    /// No records; the next symbol is `first`.
    pub(super) fn new(first: u64) -> Symbols<P> {
        Symbols { origin: first, end: first, pages: VecDeque::new(), spare: Vec::new(), bytes: 0, held: 0, present: 0 }
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
        self.bytes + self.pages.len() * size_of::<usize>() + self.present * size_of::<Page<P>>()
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
        Some(self.pages[page].as_ref().map_or(Cell::Untouched, |page| page.cells[at]))
    }

    /// Replaces the record of `id`, if there is one.
    #[inline]
    pub(super) fn set_cell(&mut self, id: u64, cell: Cell) {
        if let Some((page, at)) = self.page_mut(id) {
            page.cells[at] = cell;
        }
    }

    /// Marks `id` as known, and stores its payload.
    #[inline]
    pub(super) fn make_known(&mut self, id: u64, payload: P) {
        let len = payload.len();
        let Some((page, at)) = self.page_mut(id) else { return };
        page.cells[at] = Cell::Known;
        let before = page.payloads[at].replace(payload);
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
        self.pages.get(index as usize / PAGE)?.as_ref()?.payloads[index as usize % PAGE].as_ref()
    }

    /// Calls `each` with the payload of each of the symbols `ids`, which all have a record. None stands
    /// for a payload that is not held.
    #[inline]
    pub(super) fn each_payload<'a>(&'a self, ids: Range<u64>, mut each: impl FnMut(Option<&'a P>)) {
        let mut from = ids.start;
        while from < ids.end {
            let to = (from | (PAGE as u64 - 1)).saturating_add(1).min(ids.end);
            let (page, at) = self.index(from);
            match self.pages.get(page).and_then(Option::as_ref) {
                Some(page) => page.payloads[at..][..(to - from) as usize].iter().for_each(|held| each(held.as_ref())),
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
            self.pages.resize_with(pages, || None);
        }
    }

    /// Calls `each` with the payloads of each page that overlaps `ids`, and with the index of the
    /// first of these payloads. Pages without payloads are left out.
    #[inline]
    pub(super) fn held_in(&self, ids: Range<u64>, mut each: impl FnMut(u32, &[Option<P>])) {
        self.pages_in(ids, |from, to, page| {
            let at = (from - self.base()) as usize;
            if page.held > 0 {
                each(at as u32, &page.payloads[at % PAGE..][..(to - from) as usize]);
            }
        });
    }

    /// Lists in `out` the symbols of `ids` that are in a row.
    pub(super) fn in_rows(&self, ids: Range<u64>, out: &mut Vec<u64>) {
        self.pages_in(ids, |from, to, page| {
            let in_row = |id: &u64| matches!(page.cells[*id as usize % PAGE], Cell::Pivot(_) | Cell::Free(_));
            out.extend((from..to).filter(in_row));
        });
    }

    /// Frees the payloads of the symbols `ids`.
    pub(super) fn free(&mut self, ids: Range<u64>) {
        let (mut from, end) = (ids.start.max(self.origin), ids.end.min(self.end));
        while from < end {
            let to = (from | (PAGE as u64 - 1)).saturating_add(1).min(end);
            let (page, at) = self.index(from);
            if let Some(page) = self.pages[page].as_mut().filter(|page| page.held > 0) {
                let freed = at..at + (to - from) as usize;
                for at in freed.clone() {
                    if let Some(later) = page.payloads[..freed.end].get(at + AHEAD).and_then(Option::as_ref) {
                        later.prefetch();
                    }
                    let Some(payload) = page.payloads[at].take() else { continue };
                    page.held -= 1;
                    self.held -= 1;
                    self.bytes -= payload.len();
                }
            }
            from = to;
        }
    }

    /// Drops the records before `id`.
    pub(super) fn drop_before(&mut self, id: u64) {
        let id = id.min(self.end).max(self.origin);
        self.free(self.origin..id);
        let pages = ((id & !(PAGE as u64 - 1)) - self.base()) / PAGE as u64;
        for _ in 0..pages {
            if let Some(Some(page)) = self.pages.pop_front() {
                self.retire(page);
            }
        }
        self.origin = id;
    }

    /// Drops all records. The next symbol is `first`.
    pub(super) fn restart(&mut self, first: u64) {
        while let Some(page) = self.pages.pop_front() {
            page.into_iter().for_each(|page| self.retire(page));
        }
        (self.origin, self.end, self.bytes, self.held) = (first, first, 0, 0);
    }

    /// Calls `each` with the part of `ids` in each page that exists, and the page.
    #[inline]
    fn pages_in(&self, ids: Range<u64>, mut each: impl FnMut(u64, u64, &Page<P>)) {
        let (mut from, end) = (ids.start.max(self.origin), ids.end.min(self.end));
        while from < end {
            let to = (from | (PAGE as u64 - 1)).saturating_add(1).min(end);
            if let Some(page) = &self.pages[self.index(from).0] {
                each(from, to, page);
            }
            from = to;
        }
    }

    /// Keeps a page for later use.
    fn retire(&mut self, mut page: Box<Page<P>>) {
        self.present -= 1;
        if self.spare.len() < SPARE {
            page.cells.fill(Cell::Untouched);
            if page.held > 0 {
                page.payloads.fill_with(|| None);
                page.held = 0;
            }
            self.spare.push(page);
        }
    }

    /// The index of the page of `id`, and the place of `id` in this page.
    #[inline]
    fn index(&self, id: u64) -> (usize, usize) {
        let at = (id - self.base()) as usize;
        (at / PAGE, at % PAGE)
    }

    /// The page of `id`, which is made if it does not exist, and the place of `id` in this page.
    #[inline]
    fn page_mut(&mut self, id: u64) -> Option<(&mut Page<P>, usize)> {
        if id < self.origin || id >= self.end {
            return None;
        }
        let (page, at) = self.index(id);
        let (spare, present) = (&mut self.spare, &mut self.present);
        let page = self.pages[page].get_or_insert_with(|| {
            *present += 1;
            spare.pop().unwrap_or_else(Page::untouched)
        });
        Some((page, at))
    }
}

impl<P> Page<P> {
    fn untouched() -> Box<Page<P>> {
        Box::new(Page { cells: [Cell::Untouched; PAGE], payloads: std::array::from_fn(|_| None), held: 0 })
    }
}
