//! Sets of symbols as runs of neighbours, and ranges of members made one.

use ripstop_gf256::CHUNK;
use std::ops::Range;

/// An ascending set of symbols, as runs of neighbours: known symbols have few gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    pub(super) runs: Vec<Run>,
    pub(super) len: usize,
    /// Their coefficients lie where the symbols do, gaps and all: not one after the other.
    pub(super) gaps: bool,
    /// The place of each then.
    places: Vec<u16>,
}

/// Neighbours, and how many symbols come before them.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) ids: Range<u64>,
    pub(super) at: usize,
}

impl Runs {
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.len = 0;
    }

    /// Adds the symbols `ids`, all higher than those that are in.
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

    /// The place of `id` among them.
    pub(super) fn position(&self, id: u64) -> Option<usize> {
        let run = self.runs.get(self.runs.partition_point(|run| run.ids.end <= id))?;
        run.ids.contains(&id).then(|| run.at + (id - run.ids.start) as usize)
    }

    /// The symbols from the first to the last.
    pub(super) fn span(&self) -> Range<u64> {
        match (self.runs.first(), self.runs.last()) {
            (Some(first), Some(last)) => first.ids.start..last.ids.end,
            _ => 0..0,
        }
    }

    /// Decides how their coefficients lie, and how many bytes they take then. Few gaps are not worth the
    /// while of leaving them out.
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

    /// The place of the coefficient of `id`.
    pub(super) fn place(&self, id: u64) -> Option<usize> {
        if !self.gaps {
            return self.position(id);
        }
        let span = self.span();
        span.contains(&id).then(|| (id - span.start) as usize)
    }

    /// Takes the coefficients of the symbols themselves, one after the other, from where they lie.
    pub(super) fn collect(&self, from: &[u8], to: &mut [u8]) {
        if !self.gaps {
            return to.copy_from_slice(&from[..self.len]);
        }
        // By index: copies of runs, each of another length, cost a wrong guess of the processor's each.
        match from.first_chunk::<CHUNK>() {
            // An index that cannot be out of bounds need not be checked.
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

/// So many spans are put in order by marking what they cover, if that is no more than so many words a span.
const MANY: usize = 64;
const WORDS: u64 = 4;

/// Makes `spans` ascend with their starts. Where they are many, and cover the same symbols over and over, as the members of
/// hundreds of rows do, they become the runs of what they cover.
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

/// The bits `from..to`, some of them.
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
            assert_eq!(covered(&spans), before, "seed {seed}");
            assert!(spans.is_sorted_by_key(|span| span.start), "seed {seed}");
            let apart = spans.windows(2).all(|pair| pair[0].end < pair[1].start);
            marked += usize::from(many >= MANY && apart && spans.len() < many);
        }
        assert!(marked > 50, "{marked} of 300 by marks");
    }
}
