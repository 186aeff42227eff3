//! [`IdRanges`]: a set of identifiers, held as ranges.

use std::collections::VecDeque;
use std::ops::Range;

/// A set of identifiers, held as disjoint ranges in ascending order.
///
/// A packet that names an identifier far ahead adds one range to the set, not one entry for each
/// identifier that was skipped. So a set takes memory in proportion to the packets that made it.
/// Look-ups take logarithmic time. A change moves at most half of the ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdRanges {
    /// The ranges: not empty, ascending, with at least one identifier between two ranges.
    ranges: VecDeque<Range<u64>>,
    /// The number of identifiers in all ranges.
    len: u64,
}

impl IdRanges {
    /// The empty set.
    pub fn new() -> IdRanges {
        IdRanges::default()
    }

    /// The number of identifiers.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The lowest identifier.
    pub fn first(&self) -> Option<u64> {
        self.ranges.front().map(|range| range.start)
    }

    /// Whether `id` is in the set.
    pub fn contains(&self, id: u64) -> bool {
        self.ranges.get(self.at(id)).is_some_and(|range| range.start <= id)
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + ExactSizeIterator + '_ {
        self.ranges.iter().cloned()
    }

    /// The identifiers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges.iter().cloned().flatten()
    }

    /// The parts of the ranges that lie in `ids`, ascending.
    pub fn ranges_in(&self, ids: &Range<u64>) -> impl DoubleEndedIterator<Item = Range<u64>> + use<'_> {
        let Range { start, end } = *ids;
        let from = self.at(start);
        let to = match self.ranges.back() {
            _ if start >= end => from,
            Some(last) if last.start >= end => self.ranges.partition_point(|range| range.start < end),
            _ => self.ranges.len(),
        };
        self.ranges.range(from..to.max(from)).map(move |range| range.start.max(start)..range.end.min(end))
    }

    /// The identifiers in `ids`, ascending.
    pub fn iter_in(&self, ids: &Range<u64>) -> impl Iterator<Item = u64> + use<'_> {
        self.ranges_in(ids).flatten()
    }

    /// The number of identifiers in `ids`. The count ends with the first range that raises it above
    /// `most`, so the work is at most proportional to `most`.
    pub fn count_in(&self, ids: &Range<u64>, most: u64) -> u64 {
        let mut count = 0;
        for range in self.ranges_in(ids) {
            count += range.end - range.start;
            if count > most {
                break;
            }
        }
        count
    }

    /// The lowest identifier in `ids`.
    pub fn first_in(&self, ids: &Range<u64>) -> Option<u64> {
        self.ranges_in(ids).next().map(|range| range.start)
    }

    /// The highest identifier in `ids`.
    pub fn last_in(&self, ids: &Range<u64>) -> Option<u64> {
        self.ranges_in(ids).next_back().map(|range| range.end - 1)
    }

    /// Adds the identifiers `ids`, which must all be higher than those in the set. Lower ones are
    /// left out.
    pub fn append(&mut self, ids: Range<u64>) {
        let start = self.ranges.back().map_or(ids.start, |last| ids.start.max(last.end));
        if start >= ids.end {
            return;
        }
        self.len += ids.end - start;
        match self.ranges.back_mut() {
            Some(last) if last.end == start => last.end = ids.end,
            _ => self.ranges.push_back(start..ids.end),
        }
    }

    /// Adds `id`. Returns false if the set contains `id` already.
    pub fn insert(&mut self, id: u64) -> bool {
        let at = self.at(id);
        let next = self.ranges.get(at).cloned();
        if next.as_ref().is_some_and(|range| range.start <= id) {
            return false;
        }
        self.len += 1;
        let joins_next = next.is_some_and(|range| range.start == id + 1);
        let joins_previous = at > 0 && self.ranges[at - 1].end == id;
        match (joins_previous, joins_next) {
            (true, true) => {
                self.ranges[at - 1].end = self.ranges[at].end;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].end = id + 1,
            (false, true) => self.ranges[at].start = id,
            (false, false) => self.ranges.insert(at, id..id + 1),
        }
        true
    }

    /// Removes `id`. Returns false if the set does not contain `id`.
    pub fn remove(&mut self, id: u64) -> bool {
        let at = self.at(id);
        let Some(range) = self.ranges.get_mut(at).filter(|range| range.start <= id) else { return false };
        self.len -= 1;
        let end = range.end;
        match (range.start == id, end == id + 1) {
            (true, true) => {
                self.ranges.remove(at);
            }
            (true, false) => range.start = id + 1,
            (false, true) => range.end = id,
            (false, false) => {
                range.end = id;
                self.ranges.insert(at + 1, id + 1..end);
            }
        }
        true
    }

    /// Removes `ids`, which ascend strictly. Takes least time if they are the lowest of the set.
    pub fn remove_all(&mut self, ids: &[u64]) {
        let mut rest = ids;
        // The lowest ranges, as long as `ids` contains all of a range.
        while let (Some(range), Some(id)) = (self.ranges.front(), rest.first()) {
            let count = range.end - range.start;
            let whole = usize::try_from(count).ok().and_then(|count| rest.split_at_checked(count));
            let Some((of_range, others)) = whole.filter(|_| range.start == *id) else { break };
            if of_range.last() != Some(&(range.end - 1)) {
                break;
            }
            self.ranges.pop_front();
            self.len -= count;
            rest = others;
        }
        for id in rest {
            self.remove(*id);
        }
    }

    /// Removes all identifiers before `id`, and returns their number.
    pub fn remove_before(&mut self, id: u64) -> u64 {
        let before = self.len;
        while let Some(range) = self.ranges.front_mut().filter(|range| range.start < id) {
            let end = range.end.min(id);
            self.len -= end - range.start;
            range.start = end;
            if range.is_empty() {
                self.ranges.pop_front();
            }
        }
        before - self.len
    }

    /// Removes all identifiers.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.len = 0;
    }

    /// The index of the first range that ends after `id`.
    fn at(&self, id: u64) -> usize {
        match (self.ranges.front(), self.ranges.back()) {
            (Some(first), _) if first.end > id => 0,
            (_, Some(last)) if last.end > id => self.ranges.partition_point(|range| range.end <= id),
            _ => self.ranges.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;
    use std::collections::BTreeSet;

    #[test]
    fn behaves_like_a_set_of_numbers() {
        for run in 0..200 {
            let mut random = Seed::new(5).run(run).stream("ranges");
            let (mut ranges, mut set) = (IdRanges::new(), BTreeSet::new());
            let mut end = 100;
            for _ in 0..300 {
                let id = 100 + random.below(120);
                match random.below(7) {
                    0 => {
                        let start = end + random.below(3);
                        end = start + random.below(9);
                        ranges.append(start..end);
                        set.extend(start..end);
                    }
                    1 | 2 => {
                        assert_eq!(ranges.insert(id), set.insert(id), "run {run}: insert {id}");
                        end = end.max(id + 1);
                    }
                    3 | 4 => assert_eq!(ranges.remove(id), set.remove(&id), "run {run}: remove {id}"),
                    5 if random.chance(0.1) => {
                        let kept = set.split_off(&id);
                        assert_eq!(ranges.remove_before(id), set.len() as u64, "run {run}");
                        set = kept;
                    }
                    6 if random.chance(0.1) => {
                        // Some of the lowest identifiers, with or without gaps between them.
                        let chance = if random.chance(0.5) { 1.0 } else { 0.7 };
                        let ids: Vec<u64> = set.iter().copied().take(9).filter(|_| random.chance(chance)).collect();
                        ranges.remove_all(&ids);
                        set.retain(|id| !ids.contains(id));
                    }
                    _ => {
                        let part = id..id + random.below(40);
                        let inside: Vec<u64> = set.range(part.clone()).copied().collect();
                        assert_eq!(ranges.iter_in(&part).collect::<Vec<_>>(), inside, "run {run}: {part:?}");
                        assert_eq!(ranges.count_in(&part, u64::MAX), inside.len() as u64);
                        assert_eq!(ranges.first_in(&part), inside.first().copied());
                        assert_eq!(ranges.last_in(&part), inside.last().copied());
                    }
                }
                assert_eq!(ranges.contains(id), set.contains(&id));
                assert_eq!(ranges.len(), set.len() as u64, "run {run}");
                assert_eq!(ranges.first(), set.first().copied());
                assert!(ranges.ranges().zip(ranges.ranges().skip(1)).all(|(a, b)| a.end < b.start), "run {run}");
            }
            assert_eq!(ranges.iter().collect::<Vec<_>>(), set.into_iter().collect::<Vec<_>>(), "run {run}");
        }
    }
}
