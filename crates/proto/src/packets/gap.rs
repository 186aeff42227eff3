//! The distance from a source symbol to the previous symbol of its flow. `docs/contributors/wire-format.md`
//! specifies its bytes.

use std::ops::Range;

/// Nibble of a gap with the exact distance.
const EXACT: u8 = 14;
/// Nibble of [`Gap::NONE`].
const NONE: u8 = 15;
/// Nibble of the largest rounded distance. It stands for 2^13 to 2^15 - 1.
const LONGEST: u8 = 13;
/// Distances of this number and more are written as [`Gap::NONE`], unless they are exact.
const FAR: u64 = 1 << 15;

/// The distance to the previous symbol of the same flow.
///
/// The gap lets the receiver deliver each flow in order without waiting for another flow's losses.
/// A gap has one of three forms:
///
/// - [`Gap::NONE`]: there is no earlier symbol to wait for.
/// - *Rounded*, four bits: a gap g stands for a distance of 2^g to 2^(g+1) - 1 identifiers. The receiver waits
///   for every missing symbol in this range.
/// - *Exact*: the same four bits, and the distance in two bytes after the inner packet. Only packets
///   that leave room for the two bytes can have this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    nibble: u8,
    /// The distance of an exact gap, or 0.
    distance: u16,
}

impl Gap {
    /// None of the 2^15 - 1 symbols before this symbol is of the same flow, or all of them that are have
    /// arrived.
    pub const NONE: Gap = Gap { nibble: NONE, distance: 0 };
    /// The symbol directly before this symbol is of the same flow.
    pub const ADJACENT: Gap = Gap { nibble: 0, distance: 0 };
    /// Number of bytes that an exact gap adds to a symbol.
    pub const TRAILER: usize = 2;

    /// The rounded gap for a distance of `distance` identifiers; 0 means that there is no previous symbol.
    pub fn rounded(distance: u64) -> Gap {
        match distance {
            0 => Gap::NONE,
            FAR.. => Gap::NONE,
            near => Gap { nibble: (near.ilog2() as u8).min(LONGEST), distance: 0 },
        }
    }

    /// The gap for a distance of `distance` identifiers that says the most: exact, or rounded where a rounded gap says
    /// the same, or where the distance does not fit in 16 bits.
    pub fn exact(distance: u64) -> Gap {
        match u16::try_from(distance) {
            Ok(0 | 1) | Err(_) => Gap::rounded(distance),
            Ok(distance) => Gap { nibble: EXACT, distance },
        }
    }

    /// Reads a gap from the low four bits of `nibble` and, for an exact gap, from the two bytes `trailer`. None: an
    /// exact gap has no trailer, or its distance is 0.
    pub fn read(nibble: u8, trailer: Option<[u8; Gap::TRAILER]>) -> Option<Gap> {
        let nibble = nibble & 15;
        if nibble != EXACT {
            return Some(Gap { nibble, distance: 0 });
        }
        let distance = u16::from_be_bytes(trailer?);
        (distance > 0).then_some(Gap { nibble, distance })
    }

    /// The four bits on the wire.
    pub const fn nibble(self) -> u8 {
        self.nibble
    }

    /// The two bytes after the inner packet, if the gap is exact.
    pub fn trailer(self) -> Option<[u8; Gap::TRAILER]> {
        (self.nibble == EXACT).then(|| self.distance.to_be_bytes())
    }

    /// Whether a symbol whose first byte is `first` ends with a trailer.
    pub(crate) const fn has_trailer(first: u8) -> bool {
        first & 15 == EXACT
    }

    /// The range of identifiers in which the flow's previous symbol lies, for a symbol with
    /// identifier `id`. Empty for [`Gap::NONE`].
    pub fn predecessors(self, id: u64) -> Range<u64> {
        let (nearest, farthest) = match self.nibble {
            NONE => return id..id,
            EXACT => (u64::from(self.distance), u64::from(self.distance)),
            LONGEST => (1 << LONGEST, FAR - 1),
            near => (1u64 << near, (2u64 << near) - 1),
        };
        let start = id.saturating_sub(farthest);
        // `nearest` is at least 1. The number `id` may have no next one.
        start..id.saturating_sub(nearest - 1).max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rounded_gap_brackets_the_distance() {
        assert_eq!(Gap::rounded(0), Gap::NONE);
        assert_eq!(Gap::rounded(1), Gap::ADJACENT);
        assert_eq!(Gap::ADJACENT.predecessors(10), 9..10);
        assert_eq!(Gap::NONE.predecessors(10), 10..10);
        for distance in 1..40_000u64 {
            let gap = Gap::rounded(distance);
            let range = gap.predecessors(100_000);
            assert_eq!(gap == Gap::NONE, distance >= FAR);
            assert!(gap == Gap::NONE || range.contains(&(100_000 - distance)), "{distance} {range:?}");
        }
    }

    #[test]
    fn an_exact_gap_is_the_distance() {
        for distance in 1..=65_535u64 {
            let gap = Gap::exact(distance);
            assert_eq!(gap.predecessors(100_000), 100_000 - distance..100_001 - distance);
            assert_eq!(Gap::read(gap.nibble(), gap.trailer()), Some(gap));
        }
        assert_eq!((Gap::exact(0), Gap::exact(65_536)), (Gap::NONE, Gap::NONE));
        assert_eq!((Gap::read(EXACT, None), Gap::read(EXACT, Some([0, 0]))), (None, None));
    }

    #[test]
    fn the_highest_symbol_has_predecessors() {
        for gap in (0..15).filter_map(|nibble| Gap::read(nibble, Some([0, 50]))) {
            let (range, before) = (gap.predecessors(u64::MAX), gap.predecessors(u64::MAX - 1));
            assert_eq!(range, before.start + 1..before.end + 1, "{gap:?}");
        }
    }

    /// For the lowest numbers, the range is cut at 0, and its start never exceeds its end.
    #[test]
    fn no_range_begins_before_the_first_symbol() {
        for id in 0..100 {
            for gap in (0..16).filter_map(|nibble| Gap::read(nibble, Some([0, 50]))) {
                let range = gap.predecessors(id);
                assert!(range.start <= range.end && range.end <= id, "{id} {gap:?} {range:?}");
            }
        }
    }
}
