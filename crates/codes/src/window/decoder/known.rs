//! The known symbols that a product subtracts from repairs, and the union of many ranges of members.
//! `payloads.rs` uses both.

use crate::window::Members;
use ripstop_gf256::CHUNK;
use std::ops::Range;

/// The known symbols whose payloads are held, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The identifier of the symbol with index 0.
    origin: u64,
    /// The indices of the symbols in the decoder's list of payloads: their distances from `origin`.
    indices: Vec<u32>,
    /// How a list of coefficients, one byte for each symbol, is laid out. True: the index is the
    /// symbol's distance from the start of `span`, so that gaps between symbols take bytes too.
    /// False: the coefficients follow each other without gaps. Chosen by [`Known::settle`].
    pub(super) gaps: bool,
    /// If `gaps` is true: the identifiers that the layout covers.
    span: Range<u64>,
}

impl Known {
    /// Removes all symbols. Index 0 then belongs to the identifier `origin`.
    pub(super) fn clear(&mut self, origin: u64) {
        self.origin = origin;
        self.indices.clear();
    }

    /// The number of symbols.
    pub(super) fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there is no symbol.
    pub(super) fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// The indices of the symbols.
    pub(super) fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The identifiers of the symbols.
    pub(super) fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.indices.iter().map(|at| self.origin + u64::from(*at))
    }

    /// Adds the symbols whose entry in `payloads` is not None. The first entry has the index `from`,
    /// which must be higher than the index of all symbols in the set.
    #[inline]
    pub(super) fn push_held<P>(&mut self, from: u32, payloads: &[Option<P>]) {
        let mut len = self.indices.len();
        self.indices.resize(len + payloads.len(), 0);
        // Each index is written, and overwritten by the next one if its payload is missing. A branch
        // would be mispredicted at each missing payload.
        for (at, payload) in (from..).zip(payloads) {
            self.indices[len] = at;
            len += usize::from(payload.is_some());
        }
        self.indices.truncate(len);
    }

    /// Adds `members`. They must be after all symbols in the set.
    pub(super) fn push_members(&mut self, members: &Members) {
        let index = |id: u64| (id - self.origin) as u32;
        self.indices.extend(members.singles().iter().map(|id| index(*id)));
        let tail = members.tail();
        if !tail.is_empty() {
            self.indices.extend(index(tail.start)..index(tail.end));
        }
    }

    /// How many symbols of the set come before `id`; None if `id` is not in the set.
    pub(super) fn position(&self, id: u64) -> Option<usize> {
        let at = u32::try_from(id.checked_sub(self.origin)?).ok()?;
        self.indices.binary_search(&at).ok()
    }

    /// The identifiers that a layout with gaps covers.
    pub(super) fn span(&self) -> Range<u64> {
        self.span.clone()
    }

    /// Chooses the layout of the coefficients (`gaps`), and returns how many bytes it takes. Small
    /// gaps are kept, because copying around a small gap takes more time than keeping it.
    pub(super) fn settle(&mut self) -> usize {
        let (Some(first), Some(last)) = (self.indices.first(), self.indices.last()) else {
            (self.gaps, self.span) = (false, 0..0);
            return 0;
        };
        // Coefficients are computed in words of eight.
        self.span = (self.origin + u64::from(*first)) & !7..self.origin + u64::from(*last) + 1;
        let whole = usize::try_from(self.span.end - self.span.start).unwrap_or(usize::MAX);
        self.gaps = whole <= self.len() + self.len() / 4 + CHUNK / 2;
        if self.gaps { whole } else { self.len() }
    }

    /// The index of the coefficient of `id` in the chosen layout; None if the layout has none for
    /// `id`.
    pub(super) fn place(&self, id: u64) -> Option<usize> {
        if !self.gaps {
            return self.position(id);
        }
        self.span.contains(&id).then(|| (id - self.span.start) as usize)
    }

    /// Copies the coefficients of the symbols from the chosen layout (`from`) to `to`, without
    /// gaps.
    pub(super) fn collect(&self, from: &[u8], to: &mut [u8]) {
        if !self.gaps {
            return to.copy_from_slice(&from[..self.len()]);
        }
        // The span may begin up to seven identifiers before `origin`.
        let base = self.origin.wrapping_sub(self.span.start) as usize;
        if let (Some(first), Some(last)) = (self.indices.first(), self.indices.last())
            && (last - first) as usize == self.indices.len() - 1
        {
            return to.copy_from_slice(&from[base.wrapping_add(*first as usize)..][..self.indices.len()]);
        }
        match from.first_chunk::<CHUNK>() {
            // `% CHUNK` lets the compiler leave out the bounds check.
            Some(from) if self.span.end - self.span.start <= CHUNK as u64 => {
                for (to, at) in to.iter_mut().zip(&self.indices) {
                    *to = from[base.wrapping_add(*at as usize) % CHUNK];
                }
            }
            _ => {
                for (to, at) in to.iter_mut().zip(&self.indices) {
                    *to = from[base.wrapping_add(*at as usize)];
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
