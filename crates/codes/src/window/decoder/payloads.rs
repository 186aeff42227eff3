//! Computes payloads from coefficients, for all parts of the decoder.
//!
//! Repairs are stored as they arrived, each in a numbered *slot*. A row's *transform* holds the
//! factor of each slot's repair in the row. When rows become decodable, their payloads are computed
//! in one matrix product: the repairs that the rows combine, minus the known members of these
//! repairs.
//!
//! Two operations make it possible to free memory. A *fold* subtracts known payloads from the
//! stored repairs, so that the known payloads can be freed. A *consolidation* replaces the stored
//! repairs by one payload for each row.

use super::Decoder;
use super::known::{Known, arrange};
use super::raw::{Raw, Repair};
use crate::window::{Coding, Members};
use crate::{Matrix, Payload};
use ripstop_gf256::{Chunk, Kernel, bytes, bytes_mut, chunks_for};
use std::ops::Range;

/// The smallest number of known payloads that a fold frees together. Unit: payloads. While fewer
/// can be freed, there is no fold, unless the history is full ([`Decoder::release`]).
///
/// A fold reads each stored repair once, whatever the number of payloads. Half the value folds
/// twice as often. Double the value keeps twice as many payloads that could have been freed.
const FOLD: u64 = 256;

/// The number of stored repairs from which one matrix product subtracts known payloads. Unit:
/// repairs. A product reads each known payload once for all its repairs. With half the value, known
/// payloads are read twice as often. Double the value needs twice the scratch memory.
const FOLD_ROWS: usize = 8;

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
    fn find_known(&self, work: &mut PayloadWork, raws: &[Repair<'_, P>], also: &[(u64, u8)], end: u64) {
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
        self.current.space.reset_transforms();
    }

    /// Frees known payloads before `Decoder::keep`. While rows wait, stored repairs may contain
    /// these payloads. In this case nothing is freed until [`FOLD`] payloads can be freed at the
    /// same time, or `must` is true.
    pub(super) fn release(&mut self, must: bool) {
        let freed = self.released.min(self.late);
        if freed >= self.keep && self.symbols.origin() >= self.keep {
            return;
        }
        if self.rows() > 0 && freed < self.keep {
            if !must && self.keep - freed.max(self.symbols.origin()) < FOLD {
                return;
            }
            // Payloads without content need no fold, but are freed at the same moments. So a
            // decoder accepts the same repairs whether payloads have content or not.
            if P::CONTENT {
                self.with_each(Self::fold);
            }
        }
        self.symbols.free(freed..self.keep);
        self.released = self.released.max(self.keep);
        self.late = u64::MAX;
        // Cells before the lowest unknown symbol can be removed.
        let end = self.keep.min(self.next_undecoded());
        self.symbols.drop_before(end);
        self.base = self.base.max(self.symbols.origin());
        self.gone.remove_before(self.symbols.origin());
    }

    /// Subtracts the known symbols before `keep` from the stored repairs of the current component.
    fn fold(&mut self) {
        self.counters.folds += 1;
        let keep = self.keep;
        let mut work = std::mem::take(&mut self.payload_work);
        let mut raws = std::mem::take(&mut self.current.raws);
        self.counters.work_bytes += (raws.len() * size_of::<Raw<P>>()) as u64;
        // Repairs from which nothing can be subtracted are skipped. So a repair costs work again
        // only after more of its members have become known.
        let due = |raw: &&mut Raw<P>| {
            let (singles, tail) = raw.repair().parts();
            singles.first().is_some_and(|id| *id < keep)
                || !tail.is_empty() && tail.start < keep
                || raw.rest.iter().any(|(id, _)| *id < keep && !self.is_unknown(*id))
        };
        let mut rest: Vec<&mut Raw<P>> = raws.iter_mut().flatten().filter(due).collect();
        let members: usize = rest.iter().map(|raw| raw.members.len() + raw.rest.len()).sum();
        if members.saturating_mul(FOLD_ROWS * self.longest) > self.limits.step {
            self.current.raws = raws;
            self.payload_work = work;
            return self.discard_component();
        }
        let mut combined = 0;
        for block in rest.chunks_mut(FOLD_ROWS) {
            combined += self.fold_block(&mut work, block);
        }
        self.current.raws = raws;
        self.count_combinations(combined);
        self.payload_work = work;
    }

    /// Subtracts the known symbols before `keep` from `block`, and returns the number of payloads
    /// that were combined.
    fn fold_block(&self, work: &mut PayloadWork, block: &mut [&mut Raw<P>]) -> u64 {
        let raws: Vec<Repair<'_, P>> = block.iter().map(|raw| raw.repair()).collect();
        self.find_known(work, &raws, &[], self.keep);
        let mut folded = Vec::new();
        let mut combined = 0;
        if !work.known.is_empty() {
            let mut factors = Matrix::zero(raws.len(), raws.len() + work.known.len());
            for m in 0..raws.len() {
                factors.row_mut(m)[m] = 1;
            }
            work.their_coefficients(&raws);
            work.known_factors(&mut factors, raws.len());
            folded = P::combine_listed(&factors, self.sources(&raws, &work.known));
            combined = (factors.rows() * factors.columns()) as u64;
        }
        let rests: Vec<Vec<(u64, u8)>> = raws.iter().map(|raw| self.unfolded(raw)).collect();
        let mut folded = folded.into_iter();
        for (raw, rest) in block.iter_mut().zip(rests) {
            raw.payload = folded.next().unwrap_or_else(|| raw.payload.clone());
            raw.rest = rest;
            raw.folded = raw.folded.max(self.keep);
        }
        combined
    }

    /// The new `rest` of `raw` after a fold: the symbols that the fold does not subtract. These are
    /// unknown members before `keep`, and entries of `raw.rest` that are unknown or not before
    /// `keep`.
    fn unfolded(&self, raw: &Repair<'_, P>) -> Vec<(u64, u8)> {
        let mut rest: Vec<(u64, u8)> = Vec::new();
        let unknown = |id: u64| self.is_unknown(id);
        rest.extend(raw.rest.iter().filter(|(id, _)| *id >= self.keep || unknown(*id)));
        let (singles, tail) = raw.parts();
        let singles = singles.iter().copied().filter(|id| *id < self.keep && unknown(*id));
        let tail = tail.start..tail.end.min(self.keep);
        for id in singles.chain(self.unknown.iter_in(&tail)) {
            rest.extend(raw.coding.of(raw.members, id).map(|c| (id, c)));
        }
        rest.sort_unstable_by_key(|(id, _)| *id);
        rest
    }
}
