//! How long the sent-packet history keeps a datagram.

use super::{Fate, Record, SentHistory};
use crate::path::content::{Carried, Content};
use ripstop_base::Time;
use std::time::Duration;

/// Limit on the number of datagrams in the history whose fates are known.
///
/// A peer that repeats an old report would otherwise keep the history from forgetting. An honest peer's reports let the
/// history forget each datagram about a second after it left, so the limit matters above 200 000 datagrams a second.
/// Half the value takes notice of fewer late arrivals on faster paths. Double the value lets a hostile peer hold twice
/// the memory: one entry takes 64 bytes.
const MAX_SETTLED: u64 = 200_000;

/// The longest time that the history keeps a datagram whose fate no longer matters: a report of this end, or a datagram
/// whose fate is known. Half the value may miss that a datagram was not lost but delayed by 30 s. Double the value
/// keeps twice as many reports of a session in which only the peer sends data.
const LONGEST: Duration = Duration::from_secs(60);

impl<C: Carried> SentHistory<C> {
    /// Frees memory: removes the settled datagrams before the one in `largest`. If one of them arrives after all, the
    /// history does not notice.
    pub(crate) fn shrink(&mut self) {
        self.forget_before(self.settled_to.min(self.largest.map_or(0, |largest| largest.number)));
        if self.records.len() < self.records.capacity() / 4 {
            self.records.shrink_to(2 * self.records.len());
        }
    }

    /// Removes settled datagrams from the front. A datagram that did not arrive stays for max(4 srtt, 1 s) after it
    /// left, because it may still arrive. The datagram in `largest` stays too. At most [`MAX_SETTLED`] stay.
    pub(crate) fn forget(&mut self, now: Time) {
        let keep = (4 * self.srtt()).max(Duration::from_secs(1));
        let mut to = self.first;
        for record in self.records.iter().take(self.settled_to.saturating_sub(self.first) as usize) {
            let is_over = record.fate == Fate::Received || matches!(record.content, Content::Skipped);
            if !(is_over || now.since(record.sent) > keep) || self.largest.is_some_and(|l| l.number == to) {
                break;
            }
            to += 1;
        }
        self.forget_before(to);
        self.bound();
    }

    /// Removes the oldest settled datagrams above [`MAX_SETTLED`].
    pub(crate) fn bound(&mut self) {
        self.forget_before(self.settled_to.saturating_sub(MAX_SETTLED));
    }

    /// Removes the datagrams at the front that left longer than [`LONGEST`] ago and whose fate no longer matters. A
    /// peer that sends no reports does not keep the history from forgetting.
    pub(crate) fn forget_old(&mut self, now: Time) {
        let matters = |record: &Record<C>| record.fate == Fate::Unknown && record.content.asks();
        while self.records.front().is_some_and(|first| !matters(first) && now.since(first.sent) > LONGEST) {
            self.records.pop_front();
            self.first += 1;
        }
    }

    /// Removes the datagrams before number `to`, and what is known of them.
    fn forget_before(&mut self, to: u64) {
        while self.first < to && self.records.pop_front().is_some() {
            self.first += 1;
        }
        self.arrived.remove_before(self.first);
        while self.bases.get(1).is_some_and(|(from, _)| *from <= self.first) {
            self.bases.pop_front();
        }
    }
}
