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
use super::runs::{Runs, arrange};
use crate::elimination::Elimination;
use crate::window::coding::Generator;
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

/// A stored repair: its payload, members and coefficients. The payload is as it arrived, except
/// that a fold subtracts known members from it.
#[derive(Clone, Debug)]
pub(super) struct Raw<P> {
    payload: P,
    members: Members,
    coding: Coding,
    /// Members before this identifier have been subtracted from the payload, except those in
    /// `rest`.
    folded: u64,
    /// The symbols that the payload still contains besides the members from `folded` on, each with
    /// its coefficient.
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
            // More than one in eight members is wanted. Computing eight consecutive coefficients
            // takes as long as computing one. So the coefficients of the whole tail are computed.
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

    /// The single members and the part of the tail that have not been subtracted yet. The payload
    /// also contains the symbols in `rest`.
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

    /// Writes the repair's coefficients for the known symbols to `out`, one byte for each symbol,
    /// at the index that [`Runs::place`] returns. Bytes of symbols that are not members stay
    /// unchanged. If the layout has gaps ([`Runs::gaps`]), bytes in the gaps may get the
    /// coefficients of unknown symbols.
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
                        let skip = self.members.singles().len() + (start - self.members.tail().start) as usize;
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
    /// The small matrix that `simultaneous.rs` inverts. Each row is one chunk.
    pub(super) square: Vec<[Chunk; 1]>,
    /// Scratch memory for the inversion of `square`.
    pub(super) elimination: Elimination,
    /// The slots of the stored repairs that are combined.
    slots: Vec<usize>,
    /// The known symbols to subtract.
    known: Runs,
    /// The ranges of members that contain the known symbols.
    spans: Vec<Range<u64>>,
    /// A bit mask for [`arrange`].
    marks: Vec<u64>,
    /// The coefficients of the known symbols in each stored repair.
    theirs: Vec<Chunk>,
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
    /// Fills in the columns of `factors` that belong to known symbols. These columns follow the
    /// columns of the repairs `raws`. Each repair adds a product to a known symbol's factor: the
    /// repair's factor times the symbol's coefficient in the repair.
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
        let raws: Vec<&Raw<P>> = slots.iter().filter_map(|slot| self.current.raws.get(*slot)?.as_ref()).collect();
        let payloads = self.combine_raws(&mut work, transforms, &slots, &raws, also);
        self.counters.payload_combinations += (work.factors.rows() * work.factors.columns()) as u64;
        work.slots = slots;
        self.payload_work = work;
        payloads
    }

    /// Does the work of [`Decoder::combine_payloads`] for the repairs `raws`. `slots` lists the
    /// column of each of these repairs in `transforms`.
    pub(super) fn combine_raws(
        &self,
        work: &mut PayloadWork,
        transforms: &Matrix,
        slots: &[usize],
        raws: &[&Raw<P>],
        also: &[(u64, u8)],
    ) -> Vec<P> {
        // The number of known members is not known yet. Some capacity is reserved for them, because
        // growing the list later takes more time.
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

    /// Finds the known symbols before `end` that are members of any of `raws`, or occur in `also`.
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
                    // The payloads of all known symbols of this span are held. So whole runs
                    // between unknown symbols are copied.
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

    /// Whether the payloads of all known symbols in `start..end` are held. False if a symbol in
    /// this range was given up or may have been freed.
    fn all_known_held(&self, start: u64, end: u64) -> bool {
        start >= self.released.max(self.base) && super::within(&self.gone, &(start..end)).is_empty()
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
        if freed >= self.keep && self.origin >= self.keep {
            return;
        }
        if self.rows() > 0 && freed < self.keep {
            if !must && self.keep - freed.max(self.origin) < FOLD {
                return;
            }
            // Payloads without content need no fold, but are freed at the same moments. So a
            // decoder accepts the same repairs whether payloads have content or not.
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

    /// The new `rest` of `raw` after a fold: the symbols that the fold does not subtract. These are
    /// unknown members before `keep`, and entries of `raw.rest` that are unknown or not before
    /// `keep`.
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
