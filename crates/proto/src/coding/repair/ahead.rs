//! Proactive repairs in flight.

use std::collections::VecDeque;

/// A proactive repair in flight.
#[derive(Clone, Copy, Debug)]
struct Proactive {
    /// Whether the repair is for bulk packets.
    bulk: bool,
    /// The first member, and one past the last member.
    span: (u64, u64),
}

/// The proactive repairs whose fate is unknown, and their numbers.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Repairs, numbered from `first` on. `None`: this repair was received or lost.
    repairs: VecDeque<Option<Proactive>>,
    first: u64,
}

impl Ahead {
    /// The number that the next repair will have.
    pub(super) fn next(&self) -> u64 {
        self.first + self.repairs.len() as u64
    }

    /// Records that a repair of the symbols `span` leaves: the first member, and one past the last member.
    pub(super) fn sent(&mut self, bulk: bool, span: (u64, u64)) {
        self.repairs.push_back(Some(Proactive { bulk, span }));
    }

    /// Records that the fate of the repair `number` is known. Returns true if the repair is for bulk packets.
    pub(super) fn settled(&mut self, number: u64) -> bool {
        let entry = number.checked_sub(self.first).and_then(|i| self.repairs.get_mut(i as usize));
        let bulk = entry.and_then(Option::take).is_some_and(|repair| repair.bulk);
        while let Some(None) = self.repairs.front() {
            self.repairs.pop_front();
            self.first += 1;
        }
        bulk
    }

    /// The first members of the repairs, ascending.
    pub(super) fn starts(&self) -> Vec<u64> {
        let mut starts: Vec<u64> = self.repairs.iter().flatten().map(|repair| repair.span.0).collect();
        starts.sort_unstable();
        starts
    }

    /// Number of repairs that span `start` or a later symbol.
    pub(super) fn beyond(&self, start: u64) -> u32 {
        let mut count = 0;
        for repair in self.repairs.iter().rev().flatten() {
            if repair.span.1 > start {
                count += 1;
            } else if repair.bulk {
                // Bulk repairs that left before this one end no later.
                break;
            }
        }
        count
    }
}
