//! Computes payloads from coefficients, for all parts of the decoder.
//!
//! Repairs are stored as they arrived, each in a numbered *slot*. A row's *transform* holds the
//! factor of each slot's repair in the row. When rows become decodable, their payloads are computed
//! in one matrix product: the repairs that the rows combine, minus the known members of these
//! repairs.
//!
//! Two operations make it possible to free memory. A *fold* subtracts known payloads from the
//! stored repairs, so that the known payloads can be freed (`fold.rs`). A *consolidation* replaces
//! the stored repairs by one payload for each row.

use super::Decoder;
use super::known::{Known, arrange};
use super::raw::{Raw, Repair};
use crate::window::{Coding, Members};
use crate::{Matrix, Payload};
use ripstop_gf256::{Chunk, Kernel, bytes, bytes_mut, chunks_for};
use std::ops::Range;

/// Scratch memory, kept between batches.
#[derive(Clone, Debug, Default)]
pub(super) struct PayloadWork {
    /// The columns of `theirs` that belong to the symbols that [`Decoder::solve`] solves for.
    columns: Vec<u16>,
    /// For each symbol that is solved for, the repair whose equation gives the symbol.
    order: Vec<u8>,
    /// The slots of the stored repairs that are combined.
    slots: Vec<usize>,
    /// The known symbols to subtract. [`Decoder::solve`] also lists the symbols that it solves for.
    known: Known,
    /// The ranges of members that contain the known symbols.
    spans: Vec<Range<u64>>,
    /// A bit mask for [`arrange`].
    marks: Vec<u64>,
    /// The coefficients of the symbols of `known` in each repair: rows of `width` chunks.
    theirs: Vec<Chunk>,
    /// The length of a row of `theirs`, chunks.
    width: usize,
    /// The coefficients of the known symbols in the combination that is being computed.
    sums: Vec<Chunk>,
    /// The coefficients of one repair.
    pub(super) buffer: Vec<u8>,
    /// For each combination, the factors of the repairs in all slots.
    pub(super) transforms: Matrix,
    /// For each combination, the factors of the repairs that it uses, then of the known symbols.
    pub(super) factors: Matrix,
}

impl PayloadWork {
    /// The number of payloads that the last product combined, once for each output.
    pub(super) fn combined(&self) -> u64 {
        (self.factors.rows() * self.factors.columns()) as u64
    }

    /// Computes the coefficients of the symbols of `known` in each of `raws`.
    fn their_coefficients<P>(&mut self, raws: &[Repair<'_, P>]) {
        let width = chunks_for(self.known.settle());
        self.width = width;
        self.theirs.clear();
        self.theirs.resize(raws.len() * width, Chunk::ZERO);
        if width > 0 {
            for (raw, row) in raws.iter().zip(self.theirs.chunks_exact_mut(width)) {
                raw.coefficients(&self.known, bytes_mut(row), &mut self.buffer);
            }
        }
    }

    /// The factors that subtract the known symbols from each of `raws`. None if no symbol is known.
    pub(super) fn factors_without_known<P>(&mut self, raws: &[Repair<'_, P>]) -> Option<Matrix> {
        if self.known.is_empty() {
            return None;
        }
        let mut factors = Matrix::zero(raws.len(), raws.len() + self.known.len());
        for m in 0..raws.len() {
            factors.row_mut(m)[m] = 1;
        }
        self.their_coefficients(raws);
        self.known_factors(&mut factors, raws.len());
        Some(factors)
    }

    /// Fills in the columns of `factors` that belong to known symbols. They follow the columns of
    /// the repairs, whose coefficients [`PayloadWork::their_coefficients`] has computed. Each repair
    /// adds a product to a known symbol's factor: the repair's factor times the symbol's coefficient
    /// in the repair.
    fn known_factors(&mut self, factors: &mut Matrix, repairs: usize) {
        if self.known.is_empty() {
            return;
        }
        let kernel = Kernel::chosen();
        for m in 0..factors.rows() {
            self.sums.clear();
            self.sums.resize(self.width, Chunk::ZERO);
            let (ours, known) = factors.row_mut(m).split_at_mut(repairs);
            kernel.gather(&mut self.sums, &self.theirs, ours);
            self.known.collect(bytes(&self.sums), known);
        }
    }
}

impl<P: Payload> Decoder<P> {
    /// The payload of each of `rows`, with all known symbols subtracted.
    pub(super) fn payloads_of_rows(&mut self, rows: &[usize]) -> Vec<P> {
        let mut transforms = std::mem::take(&mut self.payload_work.transforms);
        transforms.reset(rows.len(), self.current.space.slots());
        for (m, row) in rows.iter().enumerate() {
            transforms.row_mut(m).copy_from_slice(self.current.space.transform(*row));
        }
        let payloads = self.combine_payloads(&transforms, &[]);
        self.payload_work.transforms = transforms;
        payloads
    }

    /// Combines stored repairs of the current component, and subtracts all known members. Each row
    /// of `transforms` is one combination, and each column is one slot. The known symbols `also`
    /// are multiplied by their coefficients and added to the first combination. Everything is
    /// computed in one matrix product.
    pub(in crate::window) fn combine_payloads(&mut self, transforms: &Matrix, also: &[(u64, u8)]) -> Vec<P> {
        if !P::CONTENT {
            // Without content, only the length matters. Every row counts as containing the longest
            // repair.
            let known = also.iter().filter_map(|(id, _)| self.get(*id));
            let longest = known.chain(&self.current.longest).max_by_key(|payload| payload.len()).cloned();
            return longest.into_iter().collect();
        }
        let mut work = std::mem::take(&mut self.payload_work);
        let mut slots = std::mem::take(&mut work.slots);
        slots.clear();
        let involved = |slot: &usize| (0..transforms.rows()).any(|m| transforms.row(m)[*slot] != 0);
        slots.extend((0..transforms.columns()).filter(involved));
        let raw = |slot: &usize| self.current.raws.get(*slot)?.as_ref().map(Raw::repair);
        let raws: Vec<Repair<'_, P>> = slots.iter().filter_map(raw).collect();
        let payloads = self.combine_raws(&mut work, transforms, &slots, &raws, also);
        self.count_combinations(work.combined());
        work.slots = slots;
        self.payload_work = work;
        payloads
    }

    /// Does the work of [`Decoder::combine_payloads`] for the repairs `raws`. `slots` lists the
    /// column of each of these repairs in `transforms`.
    fn combine_raws(
        &self,
        work: &mut PayloadWork,
        transforms: &Matrix,
        slots: &[usize],
        raws: &[Repair<'_, P>],
        also: &[(u64, u8)],
    ) -> Vec<P> {
        self.find_known(work, raws, also, u64::MAX);
        let mut factors = std::mem::take(&mut work.factors);
        factors.reset(transforms.rows(), raws.len() + work.known.len());
        for m in 0..transforms.rows() {
            let row = transforms.row(m);
            if slots.len() == row.len() {
                factors.row_mut(m)[..row.len()].copy_from_slice(row);
            } else {
                factors.row_mut(m).iter_mut().zip(slots).for_each(|(c, slot)| *c = row[*slot]);
            }
        }
        work.their_coefficients(raws);
        work.known_factors(&mut factors, raws.len());
        for (id, c) in also {
            if let Some(at) = work.known.position(*id) {
                factors.row_mut(0)[raws.len() + at] ^= c;
            }
        }
        let payloads = P::combine_listed(&factors, self.sources(raws, &work.known));
        work.factors = factors;
        payloads
    }

    /// Computes the symbols `unknown` from as many repairs, which all combine `members`. The payload of
    /// every other member is held. No row has the unknown symbols, and nothing has been subtracted from
    /// the repairs. Returns None if the repairs do not determine the symbols.
    pub(super) fn solve<'a>(
        &'a self,
        work: &mut PayloadWork,
        members: &Members,
        raws: &'a [Repair<'a, P>],
        unknown: &[u64],
    ) -> Option<Vec<P>> {
        work.known.clear(self.symbols.base());
        work.known.push_members(members);
        work.their_coefficients(raws);
        work.columns.clear();
        for id in unknown {
            work.columns.push(u16::try_from(work.known.place(*id)?).ok()?);
        }
        if !Kernel::chosen().eliminate(&mut work.theirs, work.width, &work.columns, &mut work.order) {
            return None;
        }
        work.factors.reset(unknown.len(), work.known.len());
        for (m, row) in work.theirs.chunks_exact(work.width).enumerate() {
            work.known.collect(bytes(row), work.factors.row_mut(m));
        }
        let any = raws.first()?.payload;
        let mut symbols: Vec<&P> = vec![any; work.known.len()];
        let mut places = symbols.iter_mut();
        // Which symbols are unknown is hard to predict, so there is no branch for these symbols.
        let mut add = |held: Option<&'a P>| {
            if let Some(to) = places.next() {
                *to = held.unwrap_or(any);
            }
        };
        members.singles().iter().for_each(|id| add(self.symbols.get(*id)));
        self.symbols.each_payload(members.tail(), add);
        // A repair takes the place of the unknown symbol whose equation it is.
        for (id, raw) in unknown.iter().zip(&work.order) {
            symbols[members.position(*id)?] = raws.get(usize::from(*raw))?.payload;
        }
        Some(P::combine(&work.factors, &symbols))
    }

    /// Combines `raws` and the known symbols of `work` with `factors`.
    pub(super) fn combine_known(&self, work: &PayloadWork, raws: &[Repair<'_, P>], factors: &Matrix) -> Vec<P> {
        P::combine_listed(factors, self.sources(raws, &work.known))
    }

    /// The payloads that a product combines: those of `raws`, then those of the known symbols.
    fn sources<'a>(
        &'a self,
        raws: &'a [Repair<'a, P>],
        known: &'a Known,
    ) -> impl Iterator<Item = &'a P> + Clone + use<'a, P> {
        let known = known.indices().iter().filter_map(|at| self.symbols.at(*at));
        raws.iter().map(|raw| raw.payload).chain(known)
    }

    /// Finds the known symbols before `end` that are members of any of `raws`, or occur in `also`,
    /// and whose payloads are held. Lists them in `work.known`.
    pub(super) fn find_known(&self, work: &mut PayloadWork, raws: &[Repair<'_, P>], also: &[(u64, u8)], end: u64) {
        let PayloadWork { spans, marks, known, .. } = work;
        spans.clear();
        known.clear(self.symbols.base());
        spans.extend(also.iter().map(|(id, _)| *id..*id + 1));
        for raw in raws {
            raw.spans(|span| {
                // The repairs of a batch mostly have the same members.
                if spans.last() != Some(&span) {
                    spans.push(span);
                }
            });
        }
        arrange(spans, marks);
        let end = end.min(self.next());
        let mut done = self.symbols.origin();
        for span in spans {
            self.symbols.held_in(span.start.max(done)..span.end.min(end), |from, held| known.push_held(from, held));
            done = done.max(span.end);
        }
    }

    /// Counts `combinations` payloads that were multiplied by a coefficient and added to a sum.
    pub(super) fn count_combinations(&mut self, combinations: u64) {
        self.counters.payload_combinations += combinations;
        self.counters.work_bytes += combinations * self.longest as u64;
    }

    /// Replaces the stored repairs of the current component by the payloads of its rows. There is
    /// then one payload for each row, and no payload contains a known symbol.
    pub(super) fn consolidate(&mut self) {
        self.counters.consolidations += 1;
        let rows: Vec<usize> = (0..self.current.space.rows()).collect();
        let payloads = self.payloads_of_rows(&rows);
        self.current.raws.clear();
        for (row, payload) in payloads.into_iter().enumerate() {
            let mut rest: Vec<(u64, u8)> = self.current.space.free_part(row).collect();
            rest.push((self.current.space.pivot(row), 1));
            rest.sort_unstable_by_key(|(id, _)| *id);
            let coding = Coding::Explicit(Vec::new());
            let raw = Raw { payload, members: Members::default(), coding, folded: u64::MAX, rest };
            self.current.raws.push(Some(raw));
        }
        self.current.lists = self.current.raws.iter().flatten().map(Raw::lists).sum();
        self.current.space.reset_transforms();
    }
}
