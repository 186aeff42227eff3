//! Sets of symbols as runs of consecutive identifiers, and the union of many ranges of members.
//! `payloads.rs` uses both kinds of sets to list the known symbols that it subtracts from repairs.

use ripstop_gf256::CHUNK;
use std::ops::Range;

/// An ascending set of symbols, stored as runs of consecutive identifiers. Known symbols have few
/// gaps, so there are few runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    pub(super) runs: Vec<Run>,
    /// The number of symbols in the set.
    pub(super) len: usize,
    /// How a list of coefficients, one byte for each symbol, is laid out. True: the index is the
    /// symbol's distance from the first symbol, so that gaps between runs take bytes too. False:
    /// the coefficients follow each other without gaps. Chosen by [`Runs::settle`].
    pub(super) gaps: bool,
    /// If `gaps` is true: the index of each symbol's coefficient.
    places: Vec<u16>,
}

/// One run of consecutive identifiers.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) ids: Range<u64>,
    /// The number of symbols of the set that come before this run.
    pub(super) at: usize,
}

impl Runs {
    /// Removes all symbols.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.len = 0;
    }

    /// Adds the symbols `ids`. They must be higher than all symbols in the set.
    #[inline]
    pub(super) fn push_run(&mut self, ids: Range<u64>) {
        let count = (ids.end - ids.start) as usize;
        match self.runs.last_mut() {
            _ if count == 0 => {}
            Some(run) if run.ids.end == ids.start => run.ids.end = ids.end,
            _ => self.runs.push(Run { ids, at: self.len }),
        }
        self.len += count;
    }

    /// How many symbols of the set come before `id`; None if `id` is not in the set.
    pub(super) fn position(&self, id: u64) -> Option<usize> {
        let run = self.runs.get(self.runs.partition_point(|run| run.ids.end <= id))?;
        run.ids.contains(&id).then(|| run.at + (id - run.ids.start) as usize)
    }

    /// The range from the first symbol to the last.
    pub(super) fn span(&self) -> Range<u64> {
        match (self.runs.first(), self.runs.last()) {
            (Some(first), Some(last)) => first.ids.start..last.ids.end,
            _ => 0..0,
        }
    }

    /// Chooses the layout of the coefficients (`gaps`), and returns how many bytes it takes. Small
    /// gaps are kept, because copying around a small gap takes more time than keeping it.
    pub(super) fn settle(&mut self) -> usize {
        let span = self.span();
        let whole = (span.end - span.start) as usize;
        self.gaps = whole <= (self.len + self.len / 4 + CHUNK / 2).min(usize::from(u16::MAX));
        self.places.clear();
        if self.gaps {
            for run in &self.runs {
                self.places.extend((run.ids.start - span.start) as u16..(run.ids.end - span.start) as u16);
            }
        }
        if self.gaps { whole } else { self.len }
    }

    /// The index of the coefficient of `id` in the chosen layout; None if the layout has none for
    /// `id`.
    pub(super) fn place(&self, id: u64) -> Option<usize> {
        if !self.gaps {
            return self.position(id);
        }
        let span = self.span();
        span.contains(&id).then(|| (id - span.start) as usize)
    }

    /// Copies the coefficients of the symbols from the chosen layout (`from`) to `to`, without
    /// gaps.
    pub(super) fn collect(&self, from: &[u8], to: &mut [u8]) {
        if !self.gaps {
            return to.copy_from_slice(&from[..self.len]);
        }
        // Each byte is copied through an index. Copying run by run would mispredict a branch for
        // each run, since the runs differ in length.
        match from.first_chunk::<CHUNK>() {
            // `% CHUNK` lets the compiler leave out the bounds check.
            Some(from) if self.places.last().is_some_and(|last| usize::from(*last) < CHUNK) => {
                for (to, place) in to.iter_mut().zip(&self.places) {
                    *to = from[usize::from(*place) % CHUNK];
                }
            }
            _ => {
                for (to, place) in to.iter_mut().zip(&self.places) {
                    *to = from[usize::from(*place)];
                }
            }
        }
    }
}

/// The smallest number of spans for which [`arrange`] uses a bit mask. Fewer spans are sorted
/// instead, because sorting them takes less time. Half the value uses the mask more often, double
/// the value less often. The result covers the same symbols.
const MANY: usize = 64;
/// The largest size of the bit mask with which [`arrange`] works. Unit: 64-bit words for each span.
/// If spans are so far apart that the mask would be larger, sorting takes less time. Half the value
/// uses the mask less often, double the value more often. The result covers the same symbols.
const WORDS: u64 = 4;

/// Sorts `spans` by their starts. If there are many spans close together, such as the members of
/// hundreds of rows, a bit mask is used instead. The spans are then replaced by the disjoint runs
/// that they cover. `marks` is memory for the mask.
pub(super) fn arrange(spans: &mut Vec<Range<u64>>, marks: &mut Vec<u64>) {
    let first = spans.iter().map(|span| span.start).min().unwrap_or(0);
    let words = spans.iter().map(|span| span.end).max().unwrap_or(first).saturating_sub(first) / 64 + 1;
    if spans.len() < MANY || words > WORDS * spans.len() as u64 {
        return spans.sort_unstable_by_key(|span| span.start);
    }
    marks.clear();
    marks.resize(words as usize, 0);
    for span in spans.drain(..).filter(|span| !span.is_empty()) {
        let (start, end) = (span.start - first, span.end - first);
        for word in start / 64..=(end - 1) / 64 {
            let (from, to) = (start.max(64 * word) - 64 * word, end.min(64 * word + 64) - 64 * word);
            marks[word as usize] |= ones(from, to);
        }
    }
    for (word, marked) in (0..).zip(marks) {
        while *marked != 0 {
            let from = u64::from(marked.trailing_zeros());
            let to = from + u64::from((*marked >> from).trailing_ones());
            *marked &= !ones(from, to);
            let run = first + 64 * word + from..first + 64 * word + to;
            match spans.last_mut() {
                Some(last) if last.end == run.start => last.end = run.end,
                _ => spans.push(run),
            }
        }
    }
}

/// A word with the bits `from..to` set. `from` must be less than `to`.
fn ones(from: u64, to: u64) -> u64 {
    (u64::MAX >> (64 - (to - from))) << from
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;
    use std::collections::BTreeSet;

    #[test]
    fn arranged_spans_cover_the_same() {
        let (mut marked, mut marks) = (0, Vec::new());
        for seed in 0..300 {
            let mut random = Seed::new(seed).stream("spans");
            let reach = 1 + random.below(3000);
            let mut spans: Vec<Range<u64>> = Vec::new();
            for _ in 0..random.below(150) {
                let start = 1000 + random.below(reach);
                let most = if random.chance(0.9) { 3 } else { 200 };
                spans.push(start..start + random.below(most));
            }
            let covered = |spans: &[Range<u64>]| spans.iter().cloned().flatten().collect::<BTreeSet<u64>>();
            let (before, many) = (covered(&spans), spans.len());
            arrange(&mut spans, &mut marks);
            assert_eq!(covered(&spans), before, "seed {seed}: other symbols are covered");
            assert!(spans.is_sorted_by_key(|span| span.start), "seed {seed}: not sorted");
            let apart = spans.windows(2).all(|pair| pair[0].end < pair[1].start);
            marked += usize::from(many >= MANY && apart && spans.len() < many);
        }
        assert!(marked > 50, "the bit mask was used only {marked} times in 300");
    }
}
