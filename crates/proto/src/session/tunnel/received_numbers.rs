//! The datagram numbers that have arrived. The receiver uses these numbers to refuse duplicates and
//! to list received numbers in reports.

use std::ops::Range;

/// How many of the latest datagram numbers the receiver remembers.
///
/// A datagram with an older number counts as a duplicate. At 1 Gbit/s and 1500 bytes per datagram
/// the value covers 0.2 s. A report covers at most half of the remembered numbers, so half the
/// value would shorten reports on fast paths. Double the value only takes more memory: the present
/// value takes 2 kB.
pub(super) const REMEMBERED_NUMBERS: u64 = 1 << 14;

/// Which of the latest [`REMEMBERED_NUMBERS`] datagram numbers have arrived.
#[derive(Debug)]
pub(super) struct ReceivedNumbers {
    /// The largest number that has arrived.
    pub(super) largest: Option<u64>,
    /// Number of times that `largest` grew by more than 1, plus 1 if the first number was not 0.
    /// Some of the skipped numbers may have arrived later.
    pub(super) gaps: u64,
    /// One bit for each number, at position `number % REMEMBERED_NUMBERS`. 1: the number arrived.
    bits: Vec<u64>,
}

impl ReceivedNumbers {
    pub(super) fn new() -> ReceivedNumbers {
        ReceivedNumbers { largest: None, gaps: 0, bits: vec![0; REMEMBERED_NUMBERS as usize / 64] }
    }

    /// Index of the word, and mask of the bit, for `number`.
    fn slot(number: u64) -> (usize, u64) {
        ((number % REMEMBERED_NUMBERS / 64) as usize, 1 << (number % 64))
    }

    /// Records that `number` arrived. Returns false if `number` has arrived before, or is older
    /// than all remembered numbers.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        self.gaps += u64::from(number > self.largest.map_or(0, |largest| largest + 1));
        match self.largest {
            Some(largest) if number + REMEMBERED_NUMBERS <= largest => return false,
            Some(largest) if number > largest => {
                let skipped = (number - largest).min(REMEMBERED_NUMBERS);
                for n in number + 1 - skipped..=number {
                    let (word, bit) = ReceivedNumbers::slot(n);
                    self.bits[word] &= !bit;
                }
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

    fn contains(&self, number: u64) -> bool {
        let (word, bit) = ReceivedNumbers::slot(number);
        self.bits[word] & bit != 0
    }

    /// The numbers that arrived, from the largest down to `from`, as ranges from high to low.
    pub(super) fn ranges_down(&self, from: u64) -> Vec<Range<u64>> {
        let Some(largest) = self.largest else { return Vec::new() };
        let from = from.max((largest + 1).saturating_sub(REMEMBERED_NUMBERS));
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for number in (from..=largest).rev().filter(|n| self.contains(*n)) {
            match ranges.last_mut() {
                Some(range) if range.start == number + 1 => range.start = number,
                _ => ranges.push(number..number + 1),
            }
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
}
