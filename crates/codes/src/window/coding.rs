//! The coefficients of a repair symbol. A seed or an explicit list gives them.

use super::Members;
use crate::hash::{STEP, mix};
use std::ops::Range;

/// The coefficients of a repair symbol's *members*, the source symbols that it combines. A
/// coefficient is never 0, so every member contributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Each coefficient is [`coefficient`] of the seed and the member's identifier. The seed takes
    /// two bytes on the wire.
    Seed(u16),
    /// One nonzero byte for each member, in the members' order. A relay that recodes must use this
    /// form.
    Explicit(Vec<u8>),
}

impl Coding {
    /// Whether these coefficients can belong to `members`. There must be one explicit coefficient
    /// for each member, and none may be 0. A seed fits any members.
    pub fn fits(&self, members: &Members) -> bool {
        match self {
            Coding::Seed(_) => true,
            Coding::Explicit(bytes) => bytes.len() == members.len() && !bytes.contains(&0),
        }
    }

    /// The coefficient of the member `id`; None if `id` is not a member.
    pub fn of(&self, members: &Members, id: u64) -> Option<u8> {
        match self {
            Coding::Seed(seed) => members.contains(id).then(|| coefficient(*seed, id)),
            Coding::Explicit(bytes) => bytes.get(members.position(id)?).copied(),
        }
    }

    /// All coefficients, in the members' order.
    pub fn all(&self, members: &Members) -> Vec<u8> {
        match self {
            Coding::Explicit(bytes) => bytes.clone(),
            Coding::Seed(seed) => {
                let mut all = vec![0; members.len()];
                Generator::new(*seed).members(members, &mut all);
                all
            }
        }
    }
}

/// The coefficient, in 1..=255, of source symbol `id` in a repair with this `seed`.
///
/// The coefficient does not depend on the other members. This function is part of the wire format
/// and never changes; `vectors/coefficients.csv` holds test vectors.
///
/// Eight consecutive identifiers share one hash: the finaliser of SplitMix64 (Steele, Lea and Flood
/// 2014) over a counter, keyed by the seed. The coefficient is byte `id mod 8` of the hash in
/// little-endian order, with 0 replaced by 1.
#[inline]
pub fn coefficient(seed: u16, id: u64) -> u8 {
    Generator::new(seed).at(id)
}

/// The coefficients of the consecutive identifiers `ids`: the values that [`coefficient`] returns
/// for them.
pub fn coefficients(seed: u16, ids: Range<u64>) -> Vec<u8> {
    let mut out = vec![0; usize::try_from(ids.end.saturating_sub(ids.start)).unwrap_or(usize::MAX)];
    Generator::new(seed).fill(ids.start, &mut out);
    out
}

/// Computes [`coefficient`] for one seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generator {
    key: u64,
}

impl Generator {
    /// The generator for `seed`.
    #[inline]
    pub(super) fn new(seed: u16) -> Generator {
        Generator { key: mix(u64::from(seed).wrapping_add(1).wrapping_mul(STEP)) }
    }

    /// The coefficient of `id`.
    #[inline]
    pub(super) fn at(self, id: u64) -> u8 {
        (eight(self.key, id >> 3) >> (8 * (id & 7))) as u8
    }

    /// Fills `out` with the coefficients of `members`, one byte each.
    #[inline]
    pub(super) fn members(self, members: &Members, out: &mut [u8]) {
        let (singles, tail) = out.split_at_mut(members.singles().len());
        for (c, id) in singles.iter_mut().zip(members.singles()) {
            *c = self.at(*id);
        }
        self.fill(members.tail().start, tail);
    }

    /// The coefficients of the consecutive identifiers `ids`. They are written to `buffer`, which
    /// grows if necessary.
    #[inline]
    pub(super) fn run(self, ids: Range<u64>, buffer: &mut Vec<u8>) -> &[u8] {
        let (skip, len) = ((ids.start & 7) as usize, (ids.end - ids.start) as usize);
        let size = (skip + len).next_multiple_of(8);
        if buffer.len() < size {
            buffer.resize(size, 0);
        }
        let mut counter = self.key.wrapping_add((ids.start >> 3).wrapping_mul(STEP));
        for eight in buffer[..size].as_chunks_mut().0 {
            *eight = nonzero(mix(counter)).to_le_bytes();
            counter = counter.wrapping_add(STEP);
        }
        &buffer[skip..][..len]
    }

    /// Writes the coefficients of the consecutive identifiers `ids` to `out`, whose first byte
    /// belongs to `ids.start` rounded down to a multiple of eight. Whole words are written, which is
    /// faster than copying parts of words: the other bytes of the first and of the last word become
    /// 0. `out` must have room for these words.
    #[inline]
    pub(super) fn fill_words(self, ids: Range<u64>, out: &mut [u8]) {
        let (first, last) = (ids.start >> 3, ids.end.saturating_sub(1) >> 3);
        let mut counter = self.key.wrapping_add(first.wrapping_mul(STEP));
        let words = &mut out.as_chunks_mut::<8>().0[..(last - first + 1) as usize];
        for word in &mut *words {
            *word = nonzero(mix(counter)).to_le_bytes();
            counter = counter.wrapping_add(STEP);
        }
        let mut keep = |word: usize, mask: u64| words[word] = (u64::from_le_bytes(words[word]) & mask).to_le_bytes();
        keep(0, u64::MAX << (8 * (ids.start & 7)));
        keep((last - first) as usize, u64::MAX >> (8 * (7 - ((ids.end.wrapping_sub(1)) & 7))));
    }

    /// Fills `out` with the coefficients of the consecutive identifiers from `start` on.
    #[inline]
    pub(super) fn fill(self, start: u64, out: &mut [u8]) {
        // The number of coefficients that are computed at a time. It is a multiple of 8, so that
        // all parts begin at the same byte of a word. Other multiples change only speed and stack
        // memory.
        const PART: usize = 120;
        let skip = (start & 7) as usize;
        // The counter that is hashed for the current word. It grows by STEP from word to word.
        let mut counter = self.key.wrapping_add((start >> 3).wrapping_mul(STEP));
        // Computes whole words, then copies the bytes that are wanted.
        let mut words = [0; PART + 8];
        for part in out.chunks_mut(PART) {
            let mut word = counter;
            for eight in words[..(skip + part.len()).next_multiple_of(8)].chunks_exact_mut(8) {
                eight.copy_from_slice(&nonzero(mix(word)).to_le_bytes());
                word = word.wrapping_add(STEP);
            }
            part.copy_from_slice(&words[skip..skip + part.len()]);
            // A part is a whole number of words, so the next part has the same `skip`.
            counter = counter.wrapping_add(STEP.wrapping_mul(PART as u64 / 8));
        }
    }
}

/// The coefficients of the identifiers `8 * block` to `8 * block + 7`, as the bytes of one word in
/// little-endian order.
#[inline]
fn eight(key: u64, block: u64) -> u64 {
    nonzero(mix(key.wrapping_add(block.wrapping_mul(STEP))))
}

/// `word` with each byte that is 0 replaced by 1.
#[inline]
fn nonzero(word: u64) -> u64 {
    // `zero` has bit 7 set in each byte where `word` is 0, and no other bit. Adding 0x7f to the low
    // seven bits sets bit 7 of a byte unless these bits are 0. No carry reaches the next byte.
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let zero = !(((word & LOW) + LOW) | word | LOW);
    word | zero >> 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_never_changes() {
        let vectors = include_str!("../../vectors/coefficients.csv");
        let mut checked = 0;
        for line in vectors.lines().filter(|line| !line.starts_with('#') && !line.starts_with("seed")) {
            let mut fields = line.split(',').map(|field| field.trim().parse::<u64>().unwrap());
            let mut next = || fields.next().unwrap();
            let (seed, id, want) = (next() as u16, next(), next());
            assert_eq!(u64::from(coefficient(seed, id)), want, "seed {seed} id {id}");
            checked += 1;
        }
        assert!(checked >= 60, "only {checked} test vectors were checked");
    }

    #[test]
    fn one_by_one_and_in_bulk_agree() {
        for start in [0, 1, 7, 8, 1 << 40, u64::MAX - 40] {
            for len in 0..40 {
                let bulk = coefficients(9, start..start + len);
                let single: Vec<u8> = (start..start + len).map(|id| coefficient(9, id)).collect();
                assert_eq!(bulk, single, "{len} coefficients from {start} on differ");
                if len > 0 {
                    let (skip, mut words) = ((start & 7) as usize, vec![77; 64]);
                    Generator::new(9).fill_words(start..start + len, &mut words);
                    let end = (skip + len as usize).next_multiple_of(8);
                    let mut want = vec![0; end];
                    want[skip..][..len as usize].copy_from_slice(&single);
                    want.resize(64, 77);
                    assert_eq!(words, want, "{len} coefficients from {start} on differ in words");
                }
            }
        }
    }

    #[test]
    fn coefficients_are_nonzero_and_equally_frequent() {
        let mut counts = [0u32; 256];
        for seed in 0..64 {
            for c in coefficients(seed, 1000..5000) {
                counts[usize::from(c)] += 1;
            }
        }
        assert_eq!(counts[0], 0);
        // There are 256 000 draws, about 1000 for each value. Every drawn 0 becomes a 1.
        // The bounds are at 6 standard deviations; for value 1 they are at 4.5.
        assert!((1800..2200).contains(&counts[1]), "value 1 was drawn {} times", counts[1]);
        assert!(counts[2..].iter().all(|n| (810..1190).contains(n)), "values are not equally frequent: {counts:?}");
    }

    #[test]
    fn explicit_coefficients_follow_the_members() {
        let members = Members::new(vec![3, 7], 9..11).unwrap();
        let coding = Coding::Explicit(vec![4, 5, 6, 7]);
        assert!(coding.fits(&members) && !coding.fits(&Members::range(0..3)));
        assert!(!Coding::Explicit(vec![4, 0, 6, 7]).fits(&members));
        assert_eq!(
            [3, 7, 8, 9, 10, 11].map(|id| coding.of(&members, id)),
            [Some(4), Some(5), None, Some(6), Some(7), None]
        );
        let seeded = Coding::Seed(77);
        let all: Vec<u8> = members.iter().map(|id| seeded.of(&members, id).unwrap()).collect();
        assert_eq!(seeded.all(&members), all);
        assert_eq!(seeded.of(&members, 8), None);
    }
}
