//! The bytes of a set of numbers: run lengths or a bitmap, whichever is shorter
//! (`docs/contributors/wire-format.md`, "Sets").
//!
//! A set covers n consecutive numbers and says which of these numbers are *members*. The set does
//! not contain the numbers themselves. The user of the set knows where the n numbers begin, and
//! whether they go up or down.
//!
//! In memory a set is a list of run lengths, [`Runs`]. Each set has exactly one form on the wire.
//! So two sets with different bytes are never equal.

use super::bytes::{Malformed, Reader, Writer, varint_len};

/// The largest n, the number of numbers that a set covers. This is one more than
/// [`MAX_OUTSTANDING`](super::MAX_OUTSTANDING), the largest distance between source symbols.
pub(crate) const MAX_NUMBERS: u32 = 1 << 19;

/// A set as run lengths. Runs of members and of non-members alternate, beginning with members. Only
/// the first run may have the length 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    lengths: Vec<u32>,
    /// How many numbers the set covers: the sum of `lengths`.
    numbers: u32,
    /// The number of bytes of all `lengths` when each is written as a varint.
    runs_bytes: usize,
}

impl Runs {
    /// Appends a run of `length` members or non-members. If the last run is of the same kind, the
    /// last run becomes longer. The set covers at most [`MAX_NUMBERS`] numbers and takes at most
    /// `budget` bytes on the wire: numbers for which there is no room are left out. Returns false
    /// if numbers were left out.
    pub(crate) fn push(&mut self, member: bool, length: u64, budget: usize) -> bool {
        let room = u64::from(MAX_NUMBERS - self.numbers);
        let length = length.min(room + 1) as u32;
        if length == 0 {
            return true;
        }
        if self.lengths.is_empty() && !member {
            self.lengths.push(0);
            self.runs_bytes = 1;
        }
        // The first run (index 0) is of members.
        let same_kind = !self.lengths.is_empty() && (self.lengths.len() % 2 == 1) == member;
        let before = (self.lengths.last().copied(), self.numbers, self.runs_bytes);
        let take = length.min(room as u32);
        if take == 0 {
            return false;
        }
        self.append(same_kind, take);
        if self.wire_len() <= budget {
            return take == length;
        }
        // The set is too long. Find by bisection how many of the new numbers fit. This works
        // because the length in bytes never shrinks when numbers are appended.
        let (mut fits, mut over) = (0, take);
        while over - fits > 1 {
            let middle = fits + (over - fits) / 2;
            self.undo(same_kind, before);
            self.append(same_kind, middle);
            if self.wire_len() <= budget { fits = middle } else { over = middle }
        }
        self.undo(same_kind, before);
        if fits > 0 {
            self.append(same_kind, fits);
        } else if self.numbers == 0 {
            *self = Runs::default();
        }
        false
    }

    /// Appends a run, or extends the last run if it is of the same kind.
    fn append(&mut self, same_kind: bool, length: u32) {
        match self.lengths.last_mut() {
            Some(last) if same_kind => {
                self.runs_bytes -= varint_len(*last);
                *last += length;
                self.runs_bytes += varint_len(*last);
            }
            _ => {
                self.lengths.push(length);
                self.runs_bytes += varint_len(length);
            }
        }
        self.numbers += length;
    }

    /// Undoes one call of `append`. The last argument is the state before that call: the last
    /// length, `numbers` and `runs_bytes`.
    fn undo(&mut self, same_kind: bool, (last, numbers, runs_bytes): (Option<u32>, u32, usize)) {
        if same_kind {
            if let (Some(now), Some(was)) = (self.lengths.last_mut(), last) {
                *now = was;
            }
        } else if self.lengths.len() > usize::from(last.is_some()) {
            self.lengths.pop();
        }
        self.numbers = numbers;
        self.runs_bytes = runs_bytes;
    }

    /// The runs of nonzero length as (is member, length), in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (bool, u32)> + '_ {
        self.lengths.iter().enumerate().map(|(i, n)| (i % 2 == 0, *n)).filter(|(_, n)| *n > 0)
    }

    /// Drops the numbers after the last member.
    pub(crate) fn trim(&mut self) {
        if self.lengths.len().is_multiple_of(2)
            && let Some(last) = self.lengths.pop()
        {
            self.numbers -= last;
            self.runs_bytes -= varint_len(last);
        }
        if self.lengths == [0] {
            *self = Runs::default();
        }
    }

    /// The length on the wire, bytes.
    pub(crate) fn wire_len(&self) -> usize {
        varint_len(2 * self.numbers + 1) + self.runs_len().min(self.bitmap_len())
    }

    /// The length of the run-length form, bytes. The last run is not written: it contains all
    /// numbers that remain.
    fn runs_len(&self) -> usize {
        let last = self.lengths.last().map_or(0, |last| varint_len(*last));
        varint_len(self.lengths.len().saturating_sub(1) as u32) + self.runs_bytes - last
    }

    /// The length of the bitmap form, bytes.
    fn bitmap_len(&self) -> usize {
        self.numbers.div_ceil(8) as usize
    }

    fn is_bitmap(&self) -> bool {
        // If both forms are equally long, run lengths are used. An empty set is the single byte 0.
        self.numbers > 0 && self.bitmap_len() < self.runs_len()
    }

    pub(crate) fn emit(&self, w: &mut Writer<'_>) {
        w.varint(2 * self.numbers + u32::from(self.is_bitmap()));
        if self.numbers == 0 {
            return;
        }
        if !self.is_bitmap() {
            let written = &self.lengths[..self.lengths.len() - 1];
            w.varint(written.len() as u32);
            written.iter().for_each(|length| w.varint(*length));
            return;
        }
        let (mut byte, mut filled) = (0u8, 0);
        for (member, length) in self.iter() {
            for _ in 0..length {
                byte = byte << 1 | u8::from(member);
                filled += 1;
                if filled == 8 {
                    w.bytes(&[byte]);
                    (byte, filled) = (0, 0);
                }
            }
        }
        if filled > 0 {
            w.bytes(&[byte << (8 - filled)]);
        }
    }

    pub(crate) fn parse(r: &mut Reader<'_>, field: &'static str) -> Result<Runs, Malformed> {
        let head = r.varint(field)?;
        let numbers = head / 2;
        if numbers > MAX_NUMBERS {
            return Err(Malformed::Value(field));
        }
        let bitmap = head % 2 == 1;
        let mut set = Runs::default();
        if numbers == 0 {
            return if bitmap { Err(Malformed::Form(field)) } else { Ok(set) };
        }
        if bitmap {
            let bytes = r.take(numbers.div_ceil(8) as usize, field)?;
            let bit = |i: u32| bytes[i as usize / 8] >> (7 - i % 8) & 1 == 1;
            if (numbers..numbers.next_multiple_of(8)).any(bit) {
                return Err(Malformed::Form(field));
            }
            let mut at = 0;
            while at < numbers {
                let length = run_length(bytes, at, numbers);
                let member = bit(at);
                if at == 0 && !member {
                    set.lengths.push(0);
                    set.runs_bytes = 1;
                }
                set.append(false, length);
                at += length;
            }
        } else {
            let count = r.varint(field)?;
            let mut left = numbers;
            for i in 0..count {
                let length = r.varint(field)?;
                if length == 0 && i > 0 {
                    return Err(Malformed::Form(field));
                }
                // At least one number must remain for the last run. This also bounds `count`.
                left = left.checked_sub(length).filter(|left| *left > 0).ok_or(Malformed::Value(field))?;
                set.lengths.push(length);
                set.runs_bytes += varint_len(length);
            }
            set.lengths.push(left);
            set.runs_bytes += varint_len(left);
            set.numbers = numbers;
        }
        if set.is_bitmap() == bitmap { Ok(set) } else { Err(Malformed::Form(field)) }
    }
}

/// How many of the bits from bit `at` on are equal to bit `at`. Only the first `end` bits count.
fn run_length(bytes: &[u8], at: u32, end: u32) -> u32 {
    let mut length = 0;
    let ones = bytes[at as usize / 8] << (at % 8) & 0x80 != 0;
    while at + length < end {
        let from = at + length;
        let byte = bytes[from as usize / 8] << (from % 8);
        let run = if ones { byte.leading_ones() } else { byte.leading_zeros() }.min(8 - from % 8);
        length += run;
        if run < 8 - from % 8 {
            break;
        }
    }
    length.min(end - at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(lengths: &[(bool, u64)]) -> Runs {
        let mut set = Runs::default();
        lengths.iter().for_each(|(member, n)| assert!(set.push(*member, *n, usize::MAX)));
        set
    }

    fn bytes(set: &Runs) -> Vec<u8> {
        let mut buffer = vec![0; set.wire_len()];
        let mut w = Writer::new(&mut buffer, set.wire_len()).unwrap();
        set.emit(&mut w);
        w.finish();
        buffer
    }

    #[test]
    fn takes_the_shorter_form() {
        assert_eq!(bytes(&Runs::default()), [0]);
        assert_eq!(bytes(&runs(&[(true, 1000)])), [0xd0, 0x0f, 0], "a single run needs no run lengths");
        assert_eq!(bytes(&runs(&[(true, 40), (false, 1), (true, 59)])), [200, 1, 2, 40, 1]);
        // Eight alternating numbers are one byte of bitmap.
        let alternating: Vec<_> = (0..8).map(|i| (i % 2 == 1, 1)).collect();
        assert_eq!(bytes(&runs(&alternating)), [17, 0b0101_0101]);
    }

    #[test]
    fn rejects_the_longer_form_and_spare_bits() {
        let bad = [
            (&[1u8][..], "an empty bitmap"),
            (&[3, 0b1100_0000], "bits beyond the set"),
            (&[16, 3, 1, 1, 1], "runs longer than the bitmap"),
            (&[200, 1, 2, 40, 0], "an empty run"),
            (&[200, 1, 1, 100], "no number is left for the last run"),
            (&[200, 1, 1, 101], "a run longer than the set"),
            (&[0xd1, 0x0f], "a bitmap without bytes"),
            (&[0xfe, 0xff, 0xff, 0x7f, 0], "too many numbers"),
        ];
        for (bytes, why) in bad {
            assert!(Runs::parse(&mut Reader::new(bytes), "set").is_err(), "{why}");
        }
    }

    #[test]
    fn cuts_at_the_budget() {
        for budget in 1..40 {
            let mut set = Runs::default();
            let mut whole = true;
            for i in 0..200u64 {
                whole &= set.push(i % 3 != 0, 1 + i % 5, budget);
                assert!(set.wire_len() <= budget, "{budget}");
                if !whole {
                    break;
                }
            }
            assert!(!whole);
            assert_eq!(Runs::parse(&mut Reader::new(&bytes(&set)), "set").as_ref(), Ok(&set));
        }
        let mut set = Runs::default();
        assert!(!set.push(true, u64::MAX, usize::MAX));
        assert_eq!(set.numbers, MAX_NUMBERS);
        assert!(!set.push(false, 1, usize::MAX));
    }

    proptest! {
        #[test]
        fn comes_back(pushes in prop::collection::vec((any::<bool>(), 0u64..300), 0..100)) {
            let set = runs(&pushes);
            prop_assert_eq!(u64::from(set.numbers), pushes.iter().map(|p| p.1).sum::<u64>());
            let bytes = bytes(&set);
            let mut r = Reader::new(&bytes);
            prop_assert_eq!(Runs::parse(&mut r, "set"), Ok(set));
            prop_assert_eq!(r.rest().len(), 0);
        }

        #[test]
        fn never_panics_and_has_one_form(input in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut r = Reader::new(&input);
            if let Ok(set) = Runs::parse(&mut r, "set") {
                prop_assert_eq!(&bytes(&set)[..], &input[..input.len() - r.rest().len()]);
            }
        }
    }
}
