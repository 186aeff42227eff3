//! Computes payloads from coefficients, for all parts of the decoder.
//!
//! Repairs are stored as they arrived. When rows become decodable, all their payloads are computed
//! in one product: the repairs that the rows combine, minus the known members of these repairs.

use super::Decoder;
use super::runs::{Runs, arrange};
use crate::window::coding::Generator;
use crate::window::{Coding, Members};
use crate::{Matrix, Payload};
use ripstop_gf256::{Chunk, Kernel, bytes, bytes_mut, chunks_for};
use std::ops::Range;

/// How many known payloads must be waiting to be freed before they are *folded*: subtracted from
/// the stored repairs that contain them. Unit: payloads.
///
/// Folding many at a time reads each stored repair once for all of them. Half the value folds twice
/// as often. Double the value keeps twice as many payloads that could have been freed.
const FOLD: u64 = 256;

/// How many stored repairs are folded in one product. Unit: repairs. Each known payload is read
/// once for all of them. Half the value reads known payloads twice as often. Double the value needs
/// twice the scratch memory.
const FOLD_ROWS: usize = 8;

/// A repair's payload as it arrived, with its members and coefficients.
#[derive(Clone, Debug)]
pub(super) struct Raw<P> {
    payload: P,
    members: Members,
    coding: Coding,
    /// Members before `folded` have been subtracted from the payload, except those in `rest`.
    /// `rest` lists symbols with their coefficients.
    folded: u64,
    rest: Vec<(u64, u8)>,
}

impl<P> Raw<P> {
    /// A repair with copies of `members` and `coding`; nothing has been subtracted from it.
    pub(super) fn new(members: &Members, coding: &Coding, payload: P) -> Raw<P> {
        Raw::owned(members.clone(), coding.clone(), payload)
    }

    /// A repair from which nothing has been subtracted.
    pub(super) fn owned(members: Members, coding: Coding, payload: P) -> Raw<P> {
        Raw { payload, members, coding, folded: 0, rest: Vec::new() }
    }

    /// The coding and the payload.
    pub(super) fn into_parts(self) -> (Coding, P) {
        (self.coding, self.payload)
    }

    /// Writes the repair's coefficients for the members `ids` to `out`. `buffer` is scratch memory.
    pub(super) fn coefficients_of(&self, ids: &[u64], out: &mut [u8], buffer: &mut Vec<u8>) {
        let tail = self.members.tail();
        let neighbours = matches!(ids, [start, .., end] if end - start == ids.len() as u64 - 1);
        match &self.coding {
            Coding::Seed(seed) if neighbours => Generator::new(*seed).fill(ids[0], out),
            // Computed for the whole tail when many are wanted: eight coefficients cost as much as
            // one.
            Coding::Seed(seed) if 8 * ids.len() > self.members.len() => {
                let generator = Generator::new(*seed);
                buffer.resize((tail.end - tail.start) as usize, 0);
                generator.fill(tail.start, buffer);
                for (c, id) in out.iter_mut().zip(ids) {
                    let at = usize::try_from(id.wrapping_sub(tail.start)).unwrap_or(usize::MAX);
                    *c = buffer.get(at).copied().unwrap_or_else(|| generator.at(*id));
                }
            }
            Coding::Seed(seed) => {
                let generator = Generator::new(*seed);
                out.iter_mut().zip(ids).for_each(|(c, id)| *c = generator.at(*id));
            }
            Coding::Explicit(_) => {
                for (c, id) in out.iter_mut().zip(ids) {
                    *c = self.coding.of(&self.members, *id).unwrap_or(0);
                }
            }
        }
    }

    /// The single members, and the part of the tail, that have not been subtracted yet. `rest`
    /// comes on top.
    fn parts(&self) -> (&[u64], Range<u64>) {
        let singles = self.members.singles();
        let tail = self.members.tail();
        let singles = &singles[singles.partition_point(|id| *id < self.folded)..];
        (singles, tail.start.max(self.folded).min(tail.end)..tail.end)
    }

    /// Calls `each` with the symbols that the payload still combines, as ranges of identifiers.
    fn spans(&self, mut each: impl FnMut(Range<u64>)) {
        let (singles, tail) = self.parts();
        self.rest.iter().map(|(id, _)| id).chain(singles).for_each(|id| each(*id..*id + 1));
        if !tail.is_empty() {
            each(tail);
        }
    }

    /// Writes the repair's coefficients for the known symbols to `out`, one byte each, at the index
    /// that [`Runs::place`] gives. A byte for which the repair has no coefficient is left as it is.
    /// If the runs are laid out with gaps, bytes in the gaps may get the coefficients of unknown
    /// symbols.
    fn coefficients(&self, known: &Runs, out: &mut [u8], buffer: &mut Vec<u8>) {
        let (singles, tail) = self.parts();
        for (id, c) in &self.rest {
            if let Some(at) = known.place(*id) {
                out[at] = *c;
            }
        }
        for id in singles {
            if let (Some(at), Some(c)) = (known.place(*id), self.coding.of(&self.members, *id)) {
                out[at] = c;
            }
        }
        if tail.is_empty() {
            return;
        }
        if known.gaps {
            let span = known.span();
            let (start, end) = (span.start.max(tail.start), span.end.min(tail.end));
            if start < end {
                let out = &mut out[(start - span.start) as usize..(end - span.start) as usize];
                match &self.coding {
                    Coding::Seed(seed) => Generator::new(*seed).fill(start, out),
                    Coding::Explicit(bytes) => {
                        let skip =
                            self.members.singles().len() + (start - self.members.tail().start) as usize;
                        out.copy_from_slice(&bytes[skip..skip + out.len()]);
                    }
                }
            }
            return;
        }
        let tail_bytes = match &self.coding {
            Coding::Explicit(bytes) => {
                let skip = (tail.start - self.members.tail().start) as usize;
                &bytes[self.members.singles().len() + skip..]
            }
            Coding::Seed(seed) => {
                buffer.resize((tail.end - tail.start) as usize, 0);
                Generator::new(*seed).fill(tail.start, buffer);
                &buffer[..]
            }
        };
        for run in &known.runs {
            let (start, end) = (run.ids.start.max(tail.start), run.ids.end.min(tail.end));
            if start < end {
                let from = &tail_bytes[(start - tail.start) as usize..(end - tail.start) as usize];
                let at = run.at + (start - run.ids.start) as usize;
                out[at..at + from.len()].copy_from_slice(from);
            }
        }
    }
}

/// Scratch memory, kept between batches.
#[derive(Clone, Debug, Default)]
pub(super) struct PayloadWork {
    /// A small matrix that is inverted. Each row is one chunk.
    pub(super) square: Vec<Chunk>,
    /// One column of `square`.
    pub(super) column: Vec<u8>,
    /// The slots of the payloads that are combined.
    slots: Vec<usize>,
    /// The known symbols to subtract (`known`), the ranges of members that contain them (`spans`),
    /// and a bit mask for [`arrange`] (`marks`).
    known: Runs,
    spans: Vec<Range<u64>>,
    marks: Vec<u64>,
    /// The coefficients of the known symbols: in each stored repair (`theirs`), and in the
    /// combination that is being computed (`sums`).
    theirs: Vec<Chunk>,
    sums: Vec<Chunk>,
    /// Scratch memory for the coefficients of one repair.
    pub(super) buffer: Vec<u8>,
    /// For each combination, the factors of the payloads in all slots (`transforms`), and the
    /// factors of all its sources, known symbols included (`factors`).
    pub(super) transforms: Matrix,
    pub(super) factors: Matrix,
}

impl PayloadWork {
    /// Fills in the columns of `factors` that belong to known symbols. They follow the columns of
    /// `raws`. The factor of a known symbol is the sum over the repairs of the repair's factor
    /// times the symbol's coefficient in that repair.
    fn known_factors<P>(&mut self, factors: &mut Matrix, raws: &[&Raw<P>]) {
        if self.known.len == 0 {
            return;
        }
        let width = chunks_for(self.known.settle());
        self.theirs.clear();
        self.theirs.resize(raws.len() * width, Chunk::ZERO);
        for (raw, row) in raws.iter().zip(self.theirs.chunks_exact_mut(width)) {
            raw.coefficients(&self.known, bytes_mut(row), &mut self.buffer);
        }
        let kernel = Kernel::chosen();
        for m in 0..factors.rows() {
            self.sums.clear();
            self.sums.resize(width, Chunk::ZERO);
            let (ours, known) = factors.row_mut(m).split_at_mut(raws.len());
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

    /// Combines stored repairs, and subtracts all known members. Each row of `transforms` is one
    /// combination, and each column is one slot. The known symbols `also`, with their coefficients,
    /// are added to the first combination. Everything is computed in one fused product.
    pub(in crate::window) fn combine_payloads(&mut self, transforms: &Matrix, also: &[(u64, u8)]) -> Vec<P> {
        if !P::CONTENT {
            // Every row counts as containing the longest repair.
            let known = also.iter().filter_map(|(id, _)| self.get(*id));
            let longest = known.chain(&self.current.longest).max_by_key(|payload| payload.len()).cloned();
            return longest.into_iter().collect();
        }
        let mut work = std::mem::take(&mut self.payload_work);
        let mut slots = std::mem::take(&mut work.slots);
        slots.clear();
        let involved = |slot: &usize| (0..transforms.rows()).any(|m| transforms.row(m)[*slot] != 0);
        slots.extend((0..transforms.columns()).filter(involved));
        let raws: Vec<&Raw<P>> =
            slots.iter().filter_map(|slot| self.current.raws.get(*slot)?.as_ref()).collect();
        let payloads = self.combine_raws(&mut work, transforms, &slots, &raws, also);
        self.counters.payload_combinations += (work.factors.rows() * work.factors.columns()) as u64;
        work.slots = slots;
        self.payload_work = work;
        payloads
    }

    /// Does the work of [`Decoder::combine_payloads`] for the repairs `raws`. Their columns in
    /// `transforms` are `slots`.
    pub(super) fn combine_raws(
        &self,
        work: &mut PayloadWork,
        transforms: &Matrix,
        slots: &[usize],
        raws: &[&Raw<P>],
        also: &[(u64, u8)],
    ) -> Vec<P> {
        // Extra capacity, since the number of known members is not known yet and growing costs
        // more.
        let mut sources: Vec<&P> = Vec::with_capacity(raws.len() + 112);
        sources.extend(raws.iter().map(|raw| &raw.payload));
        self.known_members(work, raws, also, u64::MAX, &mut sources);

        let mut factors = std::mem::take(&mut work.factors);
        factors.reset(transforms.rows(), sources.len());
        for m in 0..transforms.rows() {
            let row = transforms.row(m);
            if slots.len() == row.len() {
                factors.row_mut(m)[..row.len()].copy_from_slice(row);
            } else {
                factors.row_mut(m).iter_mut().zip(slots).for_each(|(c, slot)| *c = row[*slot]);
            }
        }
        work.known_factors(&mut factors, raws);
        for (id, c) in also {
            if let Some(at) = work.known.position(*id) {
                factors.row_mut(0)[raws.len() + at] ^= c;
            }
        }
        let payloads = P::combine(&factors, &sources);
        work.factors = factors;
        payloads
    }

    /// Finds the known symbols before `end` that are members of any of `raws`, or are in `also`.
    /// Lists them in `work.known`, and appends their payloads to `sources`.
    fn known_members<'a>(
        &'a self,
        work: &mut PayloadWork,
        raws: &[&Raw<P>],
        also: &[(u64, u8)],
        end: u64,
        sources: &mut Vec<&'a P>,
    ) {
        let PayloadWork { spans, marks, known, .. } = work;
        spans.clear();
        known.clear();
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
        let mut done = self.origin;
        for span in spans {
            let (start, stop) = (span.start.max(done), span.end.min(end));
            if start < stop {
                let (from, to) = ((start - self.origin) as usize, (stop - self.origin) as usize);
                let (front, back) = self.payloads.as_slices();
                let split = front.len();
                let front = &front[from.min(split)..to.min(split)];
                let back = &back[from.saturating_sub(split)..to.saturating_sub(split)];
                if self.all_known_held(start, stop)
                    && let Some(held) = front.iter().chain(back).flatten().next()
                {
                    // All known symbols here are held, so whole runs between unknown symbols are
                    // copied.
                    let mut run = start;
                    for end in self.unknown[self.unknown_in(&(start..stop))].iter().copied().chain([stop]) {
                        known.push_run(run..end);
                        let (from, to) = ((run - start) as usize, (end - start) as usize);
                        for (part, skipped) in [(front, 0), (back, front.len())] {
                            let part = &part[from.saturating_sub(skipped).min(part.len())
                                ..to.saturating_sub(skipped).min(part.len())];
                            sources.extend(part.iter().map(|payload| payload.as_ref().unwrap_or(held)));
                        }
                        run = end + 1;
                    }
                } else {
                    // A run ends where a payload is missing.
                    let (mut id, mut run) = (start, start);
                    for payload in front.iter().chain(back) {
                        if let Some(payload) = payload {
                            sources.push(payload);
                        } else {
                            known.push_run(run..id);
                            run = id + 1;
                        }
                        id += 1;
                    }
                    known.push_run(run..id);
                }
            }
            done = done.max(span.end);
        }
    }

    /// Whether the payloads of all known symbols in `start..end` are held. False if any symbol
    /// there was given up or may have been freed.
    fn all_known_held(&self, start: u64, end: u64) -> bool {
        start >= self.released.max(self.base) && super::within(&self.gone, &(start..end)).is_empty()
    }

    /// Replaces the stored repairs of the current component by the payloads of its rows. There is
    /// then one for each row, and none contains a known symbol.
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

    /// Frees known payloads before `keep`. While rows that may contain them wait, this is postponed
    /// until [`FOLD`] payloads can be freed, or until `must` is true.
    pub(super) fn release(&mut self, must: bool) {
        let freed = self.released.min(self.late);
        if freed >= self.keep && self.origin >= self.keep {
            return;
        }
        if self.rows() > 0 && freed < self.keep {
            if !must && self.keep - freed.max(self.origin) < FOLD {
                return;
            }
            // Payloads without content need no folding. Freeing is postponed all the same, so that
            // the decoder accepts the same repairs with content and without.
            if P::CONTENT {
                self.with_each(Self::fold);
            }
        }
        for id in freed.max(self.origin)..self.keep.min(self.next()) {
            let at = (id - self.origin) as usize;
            self.payloads[at] = None;
        }
        self.released = self.released.max(self.keep);
        self.late = u64::MAX;
        // Cells before the lowest unknown symbol can be removed.
        let end = self.keep.min(self.next_undecoded());
        while self.origin < end && self.cells.pop_front().is_some() {
            self.payloads.pop_front();
            self.origin += 1;
        }
        self.base = self.base.max(self.origin);
        self.gone.drain(..self.gone.partition_point(|id| *id < self.origin));
    }

    /// Subtracts the known symbols before `keep` from the stored repairs of the current component.
    fn fold(&mut self) {
        self.counters.folds += 1;
        let keep = self.keep;
        let mut work = std::mem::take(&mut self.payload_work);
        for first in (0..self.current.raws.len()).step_by(FOLD_ROWS) {
            let block = first..self.current.raws.len().min(first + FOLD_ROWS);
            let raws: Vec<&Raw<P>> = self.current.raws[block.clone()].iter().flatten().collect();
            let mut sources: Vec<&P> = raws.iter().map(|raw| &raw.payload).collect();
            self.known_members(&mut work, &raws, &[], keep, &mut sources);
            let mut folded = Vec::new();
            if work.known.len > 0 {
                let mut factors = Matrix::zero(raws.len(), sources.len());
                for m in 0..raws.len() {
                    factors.row_mut(m)[m] = 1;
                }
                work.known_factors(&mut factors, &raws);
                folded = P::combine(&factors, &sources);
                self.counters.payload_combinations += (factors.rows() * factors.columns()) as u64;
            }
            let rests: Vec<Vec<(u64, u8)>> = raws.iter().map(|raw| self.unfolded(raw)).collect();
            let mut folded = folded.into_iter();
            for (raw, rest) in self.current.raws[block].iter_mut().flatten().zip(rests) {
                raw.payload = folded.next().unwrap_or_else(|| raw.payload.clone());
                raw.rest = rest;
                raw.folded = raw.folded.max(keep);
            }
        }
        self.payload_work = work;
    }

    /// The members of `raw` that cannot be subtracted by a fold. These are unknown members before
    /// `keep`, and entries of `raw.rest` that are unknown or not before `keep`.
    fn unfolded(&self, raw: &Raw<P>) -> Vec<(u64, u8)> {
        let mut rest: Vec<(u64, u8)> = Vec::new();
        let unknown = |id: u64| self.is_unknown(id);
        rest.extend(raw.rest.iter().filter(|(id, _)| *id >= self.keep || unknown(*id)));
        let (singles, tail) = raw.parts();
        let singles = singles.iter().copied().filter(|id| *id < self.keep && unknown(*id));
        let tail = self.unknown_in(&(tail.start..tail.end.min(self.keep)));
        for id in singles.chain(self.unknown[tail].iter().copied()) {
            rest.extend(raw.coding.of(&raw.members, id).map(|c| (id, c)));
        }
        rest.sort_unstable_by_key(|(id, _)| *id);
        rest
    }
}
