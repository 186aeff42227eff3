//! [`Members`]: the source symbols that a repair combines. They consist of a list of single
//! identifiers and one contiguous range, the tail.

use std::ops::Range;

/// The largest number of single members that a repair may list. Unit: identifiers. A packet has
/// room for 64 identifiers (`docs/contributors/wire-format.md`). With half the value, more repairs
/// are needed when many separate symbols are missing. A change of the value changes the wire
/// format.
pub const MAX_SINGLES: usize = 64;

/// The members of a repair symbol, in ascending order: up to [`MAX_SINGLES`] single identifiers,
/// then one contiguous range, the tail. The list of singles may be empty, and the tail may be
/// empty.
///
/// A sender leaves out the symbols that it knows the receiver to have. So the cost of a repair
/// depends on its number of members, not on the bandwidth-delay product. The singles are typically
/// symbols that the receiver reported missing. The tail holds the symbols after the receiver's
/// latest report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    singles: Vec<u64>,
    tail: Range<u64>,
}

impl Members {
    /// The members `singles`, followed by `tail`. The singles must ascend strictly, and there may
    /// be at most [`MAX_SINGLES`] singles. A tail that is not empty must start after the last
    /// single. If a condition is not met, the result is None.
    pub fn new(singles: Vec<u64>, tail: Range<u64>) -> Option<Members> {
        let ascending = singles.windows(2).all(|pair| pair[0] < pair[1]);
        let tail = if tail.is_empty() { 0..0 } else { tail };
        let apart = tail.is_empty() || singles.last().is_none_or(|last| *last < tail.start);
        (ascending && apart && singles.len() <= MAX_SINGLES).then_some(Members { singles, tail })
    }

    /// The members `ids`; the last run of consecutive identifiers becomes the tail. None if `ids`
    /// do not ascend strictly, or if more than [`MAX_SINGLES`] of them are singles.
    pub fn from_ids(ids: &[u64]) -> Option<Members> {
        Members::unlimited(ids).filter(|members| members.singles.len() <= MAX_SINGLES)
    }

    /// Like [`Members::from_ids`], but with any number of singles. No packet has room for more than
    /// [`MAX_SINGLES`], so this function is only for combinations that never leave the program.
    /// None if `ids` do not ascend strictly.
    pub fn unlimited(ids: &[u64]) -> Option<Members> {
        if !ids.windows(2).all(|pair| pair[0] < pair[1]) {
            return None;
        }
        let neighbours = ids.windows(2).rev().take_while(|pair| pair[0].checked_add(1) == Some(pair[1])).count();
        let (singles, tail) = ids.split_at(ids.len().saturating_sub(neighbours + 1));
        Some(match tail {
            // A range excludes its end, so it cannot contain u64::MAX. A single identifier is no
            // tail.
            [.., u64::MAX] | [_] | [] => Members { singles: ids.to_vec(), tail: 0..0 },
            [start, .., last] => Members { singles: singles.to_vec(), tail: *start..*last + 1 },
        })
    }

    /// Members that are one contiguous range: a tail without singles.
    pub fn range(range: Range<u64>) -> Members {
        Members { singles: Vec::new(), tail: if range.is_empty() { 0..0 } else { range } }
    }

    /// `count` members from `first` on, with a distance of `step` between neighbours. A burst of n
    /// consecutive losses then affects only about n / `step` members. None if an identifier would
    /// exceed `u64::MAX`.
    ///
    /// If `step` is 0 or 1, the members are a tail. Otherwise they are singles. There may be more
    /// than [`MAX_SINGLES`], because the wire format describes equally spaced members in a few
    /// bytes ([`Members::step`]).
    pub fn stepped(first: u64, step: u64, count: u64) -> Option<Members> {
        if step <= 1 {
            return first.checked_add(count).map(|end| Members::range(first..end));
        }
        let last = step.checked_mul(count.saturating_sub(1)).and_then(|span| first.checked_add(span))?;
        let singles =
            if count == 0 { Vec::new() } else { (first..=last).step_by(usize::try_from(step).ok()?).collect() };
        Some(Members { singles, tail: 0..0 })
    }

    /// The distance between neighbouring members, if all distances are equal and a power of two of
    /// at least 2. None if there are fewer than three members, or if there is a tail.
    pub fn step(&self) -> Option<u64> {
        let [first, second, _, ..] = self.singles[..] else { return None };
        let step = second - first;
        let even = step.is_power_of_two() && step > 1 && self.tail.is_empty();
        (even && self.singles.windows(2).all(|pair| pair[1] - pair[0] == step)).then_some(step)
    }

    /// Whether the members are one contiguous range, or equally spaced ([`Members::step`]). Repairs
    /// that are sent before losses are known have such members.
    pub fn is_span(&self) -> bool {
        if self.singles.is_empty() { !self.tail.is_empty() } else { self.step().is_some() }
    }

    /// The single member `id`.
    pub fn one(id: u64) -> Members {
        Members { singles: vec![id], tail: 0..0 }
    }

    /// The single members, ascending.
    pub fn singles(&self) -> &[u64] {
        &self.singles
    }

    /// The contiguous members after the singles; `0..0` if there is no tail.
    pub fn tail(&self) -> Range<u64> {
        self.tail.clone()
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        let tail = usize::try_from(self.tail.end - self.tail.start).unwrap_or(usize::MAX);
        self.singles.len().saturating_add(tail)
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.tail.is_empty()
    }

    /// The lowest member.
    pub fn first(&self) -> Option<u64> {
        self.singles.first().copied().or((!self.tail.is_empty()).then_some(self.tail.start))
    }

    /// The highest member.
    pub fn last(&self) -> Option<u64> {
        if self.tail.is_empty() { self.singles.last().copied() } else { Some(self.tail.end - 1) }
    }

    /// Whether `id` is a member.
    pub fn contains(&self, id: u64) -> bool {
        self.tail.contains(&id) || self.singles.binary_search(&id).is_ok()
    }

    /// The index of `id` among the members, counted from 0; None if `id` is not a member.
    pub fn position(&self, id: u64) -> Option<usize> {
        match self.singles.binary_search(&id) {
            Ok(place) => Some(place),
            Err(_) if self.tail.contains(&id) => {
                usize::try_from(id - self.tail.start).ok()?.checked_add(self.singles.len())
            }
            Err(_) => None,
        }
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.singles.iter().copied().chain(self.tail.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_bounds() {
        let m = Members::new(vec![3, 7], 9..12).unwrap();
        assert_eq!(m.iter().collect::<Vec<_>>(), [3, 7, 9, 10, 11]);
        assert_eq!((m.len(), m.first(), m.last()), (5, Some(3), Some(11)));
        assert!(m.contains(7) && m.contains(9) && !m.contains(8) && !m.contains(12));
        assert_eq!(Members::new(vec![7, 3], 9..12), None);
        assert_eq!(Members::new(vec![3, 9], 9..12), None);
        assert_eq!(Members::new((0..65).collect(), 0..0), None);
        assert!(Members::range(5..5).is_empty());
        assert_eq!(Members::one(4).last(), Some(4));
        assert_eq!([3, 7, 8, 9, 11, 12].map(|id| m.position(id)), [Some(0), Some(1), None, Some(2), Some(4), None]);
    }

    #[test]
    fn members_may_be_equally_far_apart() {
        let m = Members::stepped(5, 4, 100).unwrap();
        assert_eq!((m.len(), m.first(), m.last(), m.step()), (100, Some(5), Some(401), Some(4)));
        assert!(m.is_span() && m.contains(9) && !m.contains(10));
        assert_eq!(m.position(13), Some(2));
        assert_eq!(Members::stepped(5, 1, 3), Some(Members::range(5..8)));
        assert_eq!(Members::stepped(5, 8, 0), Some(Members::default()));
        assert_eq!(Members::stepped(u64::MAX - 8, 8, 3), None);
        let step = |ids: &[u64]| Members::new(ids.to_vec(), 0..0).unwrap().step();
        assert_eq!((step(&[1, 3, 5]), step(&[1, 3]), step(&[1, 4, 7]), step(&[1, 3, 7])), (Some(2), None, None, None));
        assert_eq!(Members::new(vec![1, 3, 5], 6..7).unwrap().step(), None);
        assert!(Members::range(3..4).is_span() && !Members::default().is_span() && !Members::one(3).is_span());
    }

    #[test]
    fn the_last_run_is_the_tail() {
        assert_eq!(Members::from_ids(&[1, 2, 5, 6, 7]), Members::new(vec![1, 2], 5..8));
        assert_eq!(Members::from_ids(&[5, 6, 7]), Some(Members::range(5..8)));
        assert_eq!(Members::from_ids(&[5]), Some(Members::one(5)));
        assert_eq!(Members::from_ids(&[]), Some(Members::default()));
        assert_eq!(Members::from_ids(&[2, 1]), None);
        let many: Vec<u64> = (0..200).map(|i| 3 * i).collect();
        assert_eq!(Members::from_ids(&many), None);
        assert_eq!(Members::unlimited(&many).unwrap().iter().collect::<Vec<_>>(), many);
        assert_eq!(Members::unlimited(&[1, 1]), None);
        assert_eq!(Members::from_ids(&[u64::MAX - 1, u64::MAX]).unwrap().len(), 2);
        assert_eq!(Members::range(0..u64::MAX).len(), usize::MAX);
    }
}
