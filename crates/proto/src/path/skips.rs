//! Skipped datagram numbers, which expose a peer that acknowledges datagrams it has not received.
//!
//! A peer that acknowledges lost datagrams hides congestion, so this end would send too fast (an
//! *optimistic acknowledgement*; RFC 9000, section 21.4). This end leaves out a datagram number now
//! and then, at random. An honest receiver never acknowledges such a number.

use crate::wire::PathReport;
use blake2::{Blake2s256, Digest};
use std::collections::VecDeque;

/// Bounds of the distance between two skipped numbers, datagrams. The distance is uniform between
/// them.
///
/// A receiver cannot tell a skipped number from a lost datagram. One in 2750 is .04 %, and begins
/// only when the loss estimate no longer rests on the peer's guess (after 60 packets). With half the
/// values, a peer that acknowledges everything is found after 2500 datagrams at most (5000 now), and
/// receivers see twice the losses that are none.
const DISTANCE: (u64, u64) = (500, 5000);
/// How many skipped numbers are remembered. A report covers at most 8192 numbers, so 17 skipped
/// numbers may be in a report. Double the value only takes more memory. Half the value would forget
/// numbers that a late report still covers.
const REMEMBERED: usize = 32;

/// The numbers that were skipped, and the next one.
#[derive(Debug)]
pub(crate) struct Skips {
    /// The secret from which the distances are computed. The peer learns past distances, so they must
    /// not reveal later ones.
    secret: u64,
    /// How many distances were computed.
    drawn: u64,
    /// The next number to skip.
    next: u64,
    /// The skipped numbers, in ascending order.
    past: VecDeque<u64>,
}

impl Skips {
    pub(crate) fn new(secret: u64) -> Skips {
        let mut skips = Skips { secret, drawn: 0, next: 0, past: VecDeque::new() };
        skips.next = skips.distance();
        skips
    }

    /// Whether `number`, the next datagram's, must be skipped. If so, notes it as skipped.
    pub(crate) fn skip(&mut self, number: u64) -> bool {
        if number < self.next {
            return false;
        }
        if self.past.len() == REMEMBERED {
            self.past.pop_front();
        }
        self.past.push_back(number);
        self.next = number + self.distance();
        true
    }

    /// Whether the report acknowledges a skipped number.
    pub(crate) fn are_acknowledged(&self, report: &PathReport) -> bool {
        let from = self.past.partition_point(|number| *number < report.acked_from);
        self.past.range(from..).any(|number| {
            // The ranges go from high to low.
            let at = report.acked.partition_point(|range| range.start > *number);
            report.acked.get(at).is_some_and(|range| range.contains(number))
        })
    }

    fn distance(&mut self) -> u64 {
        self.drawn += 1;
        let hash = Blake2s256::new()
            .chain_update(b"Ripstop skipped numbers")
            .chain_update(self.secret.to_be_bytes())
            .chain_update(self.drawn.to_be_bytes())
            .finalize();
        let random = hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        DISTANCE.0 + random % (DISTANCE.1 - DISTANCE.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_numbers_are_rare_irregular_and_recognised() {
        let mut skips = Skips::new(7);
        let skipped: Vec<u64> = (0..1_000_000).filter(|number| skips.skip(*number)).collect();
        assert!((320..410).contains(&skipped.len()), "{}", skipped.len());
        let distances: Vec<u64> = skipped.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(distances.iter().all(|d| (DISTANCE.0..=DISTANCE.1).contains(d)));
        let mut different = distances.clone();
        different.sort_unstable();
        different.dedup();
        assert!(different.len() > distances.len() * 9 / 10);
        let report = |acked: Vec<std::ops::Range<u64>>| PathReport {
            largest: 999_999,
            acked_from: acked.last().map_or(1_000_000, |range| range.start),
            acked,
            ..PathReport::default()
        };
        let [.., before, last] = skipped[..] else { panic!("skipped") };
        let honest = vec![last + 1..1_000_000, before + 1..last, before - 400..before];
        assert!(!skips.are_acknowledged(&report(honest)));
        assert!(!skips.are_acknowledged(&report(Vec::new())));
        let lies = [[before - 9..1_000_000, 3..4], [last + 1..1_000_000, before..last], [last..last + 1, 0..1]];
        for lie in lies.map(Vec::from) {
            assert!(skips.are_acknowledged(&report(lie.clone())), "{lie:?}");
        }
    }

    #[test]
    fn different_secrets_skip_different_numbers() {
        let first = |secret| Skips::new(secret).next;
        assert_ne!((first(1), first(2)), (first(2), first(3)));
    }
}
