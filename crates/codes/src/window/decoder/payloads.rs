//! From coefficients to payloads: the one place where a decoder touches them.

use super::Decoder;
use super::runs::{Runs, arrange};
use crate::window::coding::Generator;
use crate::window::{Coding, Members};
use crate::{Matrix, Payload};
use ripstop_gf256::{Chunk, Kernel, bytes, bytes_mut, chunks_for};
use std::ops::Range;

/// Known payloads that waiting rows still need are subtracted from them, and freed, when there are
/// this many: a payload is then read once for many at the price of one.
const FOLD: u64 = 256;

/// Rows that are folded together.
const FOLD_ROWS: usize = 8;

/// A repair's payload as it arrived, and what it is a combination of.
#[derive(Clone, Debug)]
pub(super) struct Raw<P> {
    payload: P,
    members: Members,
    coding: Coding,
    /// Members before this are subtracted from the payload already, all but `rest`.
    folded: u64,
    rest: Vec<(u64, u8)>,
}

impl<P> Raw<P> {
    pub(super) fn new(members: &Members, coding: &Coding, payload: P) -> Raw<P> {
        Raw::owned(members.clone(), coding.clone(), payload)
    }

    pub(super) fn owned(members: Members, coding: Coding, payload: P) -> Raw<P> {
        Raw { payload, members, coding, folded: 0, rest: Vec::new() }
    }

    pub(super) fn into_parts(self) -> (Coding, P) {
        (self.coding, self.payload)
    }

    /// Writes its coefficients for the members `ids` to `out`.
    pub(super) fn coefficients_of(&self, ids: &[u64], out: &mut [u8], buffer: &mut Vec<u8>) {
        let tail = self.members.tail();
        let neighbours = matches!(ids, [start, .., end] if end - start == ids.len() as u64 - 1);
        match &self.coding {
            Coding::Seed(seed) if neighbours => Generator::new(*seed).fill(ids[0], out),
            // All at once where many are wanted: eight cost as one.
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

    /// What is left of the single members and of the tail.
    fn parts(&self) -> (&[u64], Range<u64>) {
        let singles = self.members.singles();
        let tail = self.members.tail();
        let singles = &singles[singles.partition_point(|id| *id < self.folded)..];
        (singles, tail.start.max(self.folded).min(tail.end)..tail.end)
    }

    /// The identifiers that it still combines, as ranges.
    fn spans(&self, mut each: impl FnMut(Range<u64>)) {
        let (singles, tail) = self.parts();
        self.rest.iter().map(|(id, _)| id).chain(singles).for_each(|id| each(*id..*id + 1));
        if !tail.is_empty() {
            each(tail);
        }
    }

    /// Writes its coefficients for the known symbols to `out`, one byte each, where [`Runs::place`] says;
    /// where it has none, `out` is left alone, or holds that of an unknown symbol.
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

/// Working memory, kept between batches.
#[derive(Clone, Debug, Default)]
pub(super) struct PayloadWork {
    /// A small matrix that is inverted, a row a chunk.
    pub(super) square: Vec<Chunk>,
    pub(super) column: Vec<u8>,
    /// The slots of the payloads that are combined.
    slots: Vec<usize>,
    /// The known symbols that are to be subtracted, and the ranges of members they are among.
    known: Runs,
    spans: Vec<Range<u64>>,
    marks: Vec<u64>,
    /// The coefficients of the known symbols: in each payload, and in each combination.
    theirs: Vec<Chunk>,
    sums: Vec<Chunk>,
    pub(super) buffer: Vec<u8>,
    /// For each combination the factors of the payloads in all slots, and those of its sources.
    pub(super) transforms: Matrix,
    pub(super) factors: Matrix,
}

impl PayloadWork {
    /// Fills in the columns of `factors` after those of `raws`: the factors of the known symbols
    /// follow from their coefficients in the payloads and the payloads' factors.
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
    /// The payloads that `rows` stand for, less everything in them that is known.
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

    /// Combinations of the payloads as they arrived (a row of `transforms` for each, a column for each
    /// slot), with all known members subtracted, plus those known symbols `also` that the first
    /// combination is to contain. All are computed in one fused product.
    pub(in crate::window) fn combine_payloads(&mut self, transforms: &Matrix, also: &[(u64, u8)]) -> Vec<P> {
        if !P::CONTENT {
            // Any row has a share of the longest.
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

    /// [`Decoder::combine_payloads`] for the payloads `raws`, whose columns in `transforms` are `slots`.
    pub(super) fn combine_raws(
        &self,
        work: &mut PayloadWork,
        transforms: &Matrix,
        slots: &[usize],
        raws: &[&Raw<P>],
        also: &[(u64, u8)],
    ) -> Vec<P> {
        // Room for many more than are known to be needed: growing costs more.
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

    /// Lists in `work.known` the known symbols before `end` that are members of any of `raws`,
    /// or in `also`; and their payloads at the end of `sources`.
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
                // Batches mostly span the same.
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
                    // What is not unknown is there: whole runs at a time.
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
                    // A run ends where a payload is not there.
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

    /// Whether all symbols in `start..end` that are not unknown are held: none was given up or freed.
    fn all_known_held(&self, start: u64, end: u64) -> bool {
        start >= self.released.max(self.base) && super::within(&self.gone, &(start..end)).is_empty()
    }

    /// Replaces the payloads as they arrived by those that the rows stand for: as many as there are
    /// rows, and with no known symbol in them.
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

    /// Frees known payloads before `keep`. While rows wait that may need them this is put off, unless
    /// there are many of them or it `must` be.
    pub(super) fn release(&mut self, must: bool) {
        let freed = self.released.min(self.late);
        if freed >= self.keep && self.origin >= self.keep {
            return;
        }
        if self.rows() > 0 && freed < self.keep {
            if !must && self.keep - freed.max(self.origin) < FOLD {
                return;
            }
            // Without content the same is held for as long, so that the same repairs are of use.
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
        // Cells go as far as nothing before them is unknown.
        let end = self.keep.min(self.next_undecoded());
        while self.origin < end && self.cells.pop_front().is_some() {
            self.payloads.pop_front();
            self.origin += 1;
        }
        self.base = self.base.max(self.origin);
        self.gone.drain(..self.gone.partition_point(|id| *id < self.origin));
    }

    /// Subtracts the known symbols before `keep` from the payloads that rows are made of.
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

    /// The members of `raw` that stay in it although they are before `keep`, because they are not known
    /// (and what was left over from before).
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
