//! The datagram numbers that have arrived. The receiver uses these numbers to refuse duplicates and
//! to list received numbers in reports.

use std::ops::Range;

/// How many of the latest datagram numbers the receiver remembers.
///
/// A datagram with an older number counts as a duplicate. At 1 Gbit/s and 1500 bytes per datagram
/// the value covers 0.2 s. A report covers at most half of the remembered numbers, so half the
/// value would shorten reports on fast paths. Double the value only takes more memory: the present
/// value takes 2 kB.
pub(crate) const REMEMBERED_NUMBERS: u64 = 1 << 14;

/// Which of the latest [`REMEMBERED_NUMBERS`] datagram numbers have arrived.
#[derive(Debug)]
pub(crate) struct ReceivedNumbers {
    /// The largest number that has arrived. It is below 2^64 - 1 ([`ReceivedNumbers::insert`]), so a next number exists.
    /// `secure/peer.rs` refuses numbers above 2^62 before.
    pub(crate) largest: Option<u64>,
    /// Number of times that `largest` grew by more than 1, plus 1 if the first number was not 0.
    /// Some of the skipped numbers may have arrived later.
    pub(crate) gaps: u64,
    /// One bit for each number, at position `number % REMEMBERED_NUMBERS`. 1: the number arrived.
    bits: Vec<u64>,
}

impl ReceivedNumbers {
    pub(crate) fn new() -> ReceivedNumbers {
        ReceivedNumbers { largest: None, gaps: 0, bits: vec![0; REMEMBERED_NUMBERS as usize / 64] }
    }

    /// Index of the word, and mask of the bit, for `number`.
    fn slot(number: u64) -> (usize, u64) {
        ((number % REMEMBERED_NUMBERS / 64) as usize, 1 << (number % 64))
    }

    /// Records that `number` arrived. Returns false if `number` has arrived before, or is older
    /// than all remembered numbers. The number 2^64 - 1 is refused too: no end sends it, and it has
    /// no next number.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        if number == u64::MAX {
            return false;
        }
        self.gaps += u64::from(number > self.largest.map_or(0, |largest| largest + 1));
        match self.largest {
            Some(largest) if number.saturating_add(REMEMBERED_NUMBERS) <= largest => return false,
            Some(largest) if number > largest => {
                let skipped = (number - largest).min(REMEMBERED_NUMBERS);
                self.clear(number + 1 - skipped, skipped);
                self.largest = Some(number);
            }
            Some(_) => {}
            None => self.largest = Some(number),
        }
        let (word, bit) = ReceivedNumbers::slot(number);
        let fresh = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        fresh
    }

    /// Clears the bits of `count` numbers from `from` on, at most [`REMEMBERED_NUMBERS`]. Whole words
    /// are cleared at a time.
    fn clear(&mut self, from: u64, count: u64) {
        let (mut at, mut left) = (from, count);
        while left > 0 {
            let part = (64 - at % 64).min(left);
            self.bits[ReceivedNumbers::slot(at).0] &= !(u64::MAX >> (64 - part) << (at % 64));
            at = at.wrapping_add(part);
            left -= part;
        }
    }

    /// How many of the numbers from `number` down to a multiple of 64 have the same bit as `number`,
    /// and whether this bit is 1. At least 1.
    fn run_down(&self, number: u64) -> (u64, bool) {
        let (word, _) = ReceivedNumbers::slot(number);
        let aligned = self.bits[word] << (63 - number % 64);
        let arrived = aligned >> 63 == 1;
        let run = if arrived { aligned.leading_ones() } else { aligned.leading_zeros() };
        (u64::from(run).min(number % 64 + 1), arrived)
    }

    #[cfg(test)]
    fn contains(&self, number: u64) -> bool {
        self.run_down(number).1
    }

    /// The numbers that arrived, from the largest down to `from`, as ranges from high to low.
    pub(crate) fn ranges_down(&self, from: u64) -> Vec<Range<u64>> {
        let Some(largest) = self.largest else { return Vec::new() };
        let from = from.max((largest + 1).saturating_sub(REMEMBERED_NUMBERS));
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut end = largest + 1;
        while end > from {
            let (run, arrived) = self.run_down(end - 1);
            let start = (end - run).max(from);
            match ranges.last_mut() {
                Some(range) if arrived && range.start == end => range.start = start,
                _ if arrived => ranges.push(start..end),
                _ => {}
            }
            end = start;
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_once() {
        let mut numbers = ReceivedNumbers::new();
        assert!(numbers.insert(5) && numbers.insert(3) && !numbers.insert(5));
        assert!(numbers.insert(100_000) && !numbers.insert(6), "too old to tell");
        assert!(numbers.insert(99_999) && !numbers.insert(99_999));
        assert_eq!(numbers.ranges_down(0), vec![99_999..100_001; 1]);
        assert!(numbers.insert(100_000 + REMEMBERED_NUMBERS - 1));
        assert!(!numbers.contains(100_001) && numbers.contains(100_000));
    }

    #[test]
    fn the_last_number_is_refused() {
        let mut numbers = ReceivedNumbers::new();
        assert!(!numbers.insert(u64::MAX) && numbers.insert(5) && !numbers.insert(u64::MAX));
        assert!(numbers.insert(u64::MAX - 1) && !numbers.insert(u64::MAX) && !numbers.insert(u64::MAX - 1));
        assert_eq!(numbers.ranges_down(0), vec![u64::MAX - 1..u64::MAX; 1]);
    }

    #[test]
    fn behaves_like_a_set_of_numbers() {
        for run in 0..100 {
            let mut random = ripstop_base::Seed::new(3).run(run).stream("numbers");
            let (mut numbers, mut set) = (ReceivedNumbers::new(), std::collections::BTreeSet::new());
            let mut largest = 0;
            for _ in 0..200 {
                let far = if random.chance(0.02) { 40_000 } else { 200 };
                let number = (largest + random.below(far)).saturating_sub(100);
                let old = number + REMEMBERED_NUMBERS <= largest;
                assert_eq!(numbers.insert(number), !old && set.insert(number), "run {run}: {number}");
                largest = largest.max(number);
            }
            let from = largest.saturating_sub(random.below(20_000));
            let lowest = (largest + 1).saturating_sub(REMEMBERED_NUMBERS).max(from);
            let listed: Vec<u64> = numbers.ranges_down(from).into_iter().rev().flatten().collect();
            assert_eq!(listed, set.range(lowest..).copied().collect::<Vec<_>>(), "run {run}");
        }
    }
}
