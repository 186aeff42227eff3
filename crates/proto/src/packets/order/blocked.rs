//! Which flow buckets wait for which missing symbols.
//!
//! A bucket waits for the missing symbols from a lower limit on, from the highest one down. When the symbol is known
//! for which many buckets wait, most of them wait for the next lower missing symbol. They move together, and the smaller
//! group joins the larger one. So a symbol takes logarithmic time on average, whatever the number of buckets.

use ripstop_codes::window::IdRanges;
use std::collections::{BTreeMap, BinaryHeap};

/// Number of outdated entries that may stay in the groups, besides as many as buckets wait. Half the value cleans the
/// groups more often while few buckets wait. Double the value takes 2 kB more.
const FEW_OUTDATED: usize = 64;

/// The buckets that wait, by symbol.
#[derive(Debug, Default)]
pub(crate) struct Blocked {
    /// The buckets that wait for each symbol. The entry with the highest lower limit comes first: its bucket is the first
    /// that need not wait for a lower symbol.
    groups: BTreeMap<u64, BinaryHeap<Entry>>,
    /// The number of the valid entry of each bucket that waits.
    valid: BTreeMap<u16, u64>,
    /// The number of entries made so far.
    made: u64,
    /// The number of entries in all groups, with outdated ones.
    entries: usize,
    /// The number of entries that were added, moved one by one, or removed.
    #[cfg(test)]
    pub(crate) touched: u64,
}

/// A bucket that waits. Outdated if the bucket's valid entry has another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// The bucket does not wait for symbols before this one.
    from: u64,
    index: u16,
    number: u64,
}

impl Blocked {
    /// Memory of the entries, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries * size_of::<Entry>() + self.valid.len() * size_of::<(u16, u64)>()
    }

    /// Notes that bucket `index` waits for the missing symbols from `from` on, of which `symbol` is the highest.
    pub(crate) fn block(&mut self, index: u16, from: u64, symbol: u64) {
        self.made += 1;
        self.valid.insert(index, self.made);
        self.groups.entry(symbol).or_default().push(Entry { from, index, number: self.made });
        self.entries += 1;
        self.touch(1);
        if self.entries > 2 * self.valid.len() + FEW_OUTDATED {
            self.forget_outdated();
        }
    }

    /// Notes that bucket `index` does not wait.
    pub(crate) fn unblock(&mut self, index: u16) {
        self.valid.remove(&index);
    }

    /// Notes that no bucket waits.
    pub(crate) fn clear(&mut self) {
        *self = Blocked::default();
    }

    /// The lowest symbol for which a bucket waits.
    pub(crate) fn first(&self) -> Option<u64> {
        self.groups.first_key_value().map(|(symbol, _)| *symbol)
    }

    /// Returns the buckets that waited for `symbol` and no longer wait, because `symbol` is not missing any more. The
    /// others wait for a lower symbol from now on. `missing` holds all symbols that are still missing.
    pub(crate) fn resolve(&mut self, symbol: u64, missing: &IdRanges) -> Vec<u16> {
        // Most symbols come after the missing ones.
        if self.groups.last_key_value().is_none_or(|(last, _)| symbol > *last) {
            return Vec::new();
        }
        let Some(mut group) = self.groups.remove(&symbol) else { return Vec::new() };
        let next = missing.last_in(&(0..symbol));
        let mut free = Vec::new();
        while let Some(entry) = group.peek().filter(|entry| next.is_none_or(|next| entry.from > next)) {
            if self.valid.get(&entry.index) == Some(&entry.number) {
                self.valid.remove(&entry.index);
                free.push(entry.index);
            }
            group.pop();
            self.entries -= 1;
        }
        self.touch(free.len());
        if let Some(next) = next.filter(|_| !group.is_empty()) {
            let lower = self.groups.entry(next).or_default();
            let joined = lower.len().min(group.len());
            lower.append(&mut group);
            self.touch(joined);
        }
        free
    }

    /// Removes the outdated entries from all groups.
    fn forget_outdated(&mut self) {
        self.touch(self.entries);
        let valid = &self.valid;
        self.groups.retain(|_, group| {
            group.retain(|entry| valid.get(&entry.index) == Some(&entry.number));
            !group.is_empty()
        });
        self.entries = self.valid.len();
    }

    /// Counts `entries` for the tests.
    #[cfg(test)]
    fn touch(&mut self, entries: usize) {
        self.touched += entries as u64;
    }

    #[cfg(not(test))]
    fn touch(&mut self, _entries: usize) {}

    /// The symbol for which bucket `index` waits, and the lowest symbol that it may wait for.
    #[cfg(test)]
    pub(crate) fn waits_for(&self, index: u16) -> Option<(u64, u64)> {
        let number = self.valid.get(&index)?;
        let mut entries = self.groups.iter().flat_map(|(symbol, group)| group.iter().map(move |entry| (symbol, entry)));
        entries.find(|(_, entry)| entry.number == *number).map(|(symbol, entry)| (*symbol, entry.from))
    }
}
