//! Which flow buckets wait for which missing symbols.
//!
//! A bucket waits for the missing symbols from a lower limit on, from the highest one down. When the symbol is known
//! for which many buckets wait, most of them wait for the next lower missing symbol. They move together, as one group,
//! so a symbol takes logarithmic time on average, whatever the number of buckets.

use ripstop_codes::window::IdRanges;
use std::collections::{BTreeMap, BinaryHeap};

/// Number of outdated entries that may stay in the groups, besides as many as buckets wait. Half the value cleans the
/// groups more often while few buckets wait. Double the value takes 2 kB more.
const FEW_OUTDATED: usize = 64;

/// The buckets that wait, by symbol.
#[derive(Debug, Default)]
pub(super) struct Blocked {
    /// The group of each symbol for which a bucket waits.
    by_symbol: BTreeMap<u64, u32>,
    groups: Vec<Group>,
    /// The groups that are not in use.
    vacant: Vec<u32>,
    /// The valid entry of each bucket that waits.
    places: BTreeMap<u16, Place>,
    /// The number of entries made so far.
    made: u64,
    /// The number of entries in all groups, with outdated ones.
    entries: usize,
    /// The number of entries that were added, moved to another group, or removed.
    #[cfg(test)]
    pub(super) touched: u64,
}

/// The buckets that wait for one symbol.
#[derive(Debug, Default)]
struct Group {
    symbol: u64,
    /// The entry with the highest lower limit comes first: its bucket is the first that need not wait for a lower
    /// symbol.
    entries: BinaryHeap<Entry>,
    /// The range of the keys.
    keys: (i64, i64),
    /// The keys of buckets that have left the group, although its symbol is still missing. A bucket that comes back
    /// takes its old key.
    left: BTreeMap<u16, i64>,
}

impl Group {
    /// The number of buckets, with those that have left, and of outdated entries.
    fn len(&self) -> usize {
        self.entries.len() + self.left.len()
    }

    /// The key of a bucket that comes to the group: after all others, or where the bucket was before.
    fn take_key(&mut self, index: u16) -> i64 {
        self.left.remove(&index).unwrap_or_else(|| {
            self.keys.1 += 1;
            self.keys.1
        })
    }
}

/// A bucket in a group. Outdated if the bucket's [`Place`] has another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// The bucket does not wait for symbols before this one.
    from: u64,
    index: u16,
    number: u64,
}

/// Where the valid entry of a bucket is.
#[derive(Clone, Copy, Debug)]
struct Place {
    group: u32,
    from: u64,
    /// The buckets of a group go on in the order of their keys: the order in which they came to the group.
    key: i64,
    number: u64,
}

impl Blocked {
    /// Memory of the entries, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.entries * size_of::<Entry>() + self.groups.len() * size_of::<Group>()
    }

    /// Notes that bucket `index` waits for the missing symbols from `from` on, of which `symbol` is the highest.
    pub(super) fn block(&mut self, index: u16, from: u64, symbol: u64) {
        let before =
            self.places.get(&index).filter(|place| self.groups[place.group as usize].symbol == symbol).copied();
        if before.is_some_and(|place| place.from == from) {
            return;
        }
        let group = *self.by_symbol.entry(symbol).or_insert_with(|| {
            let group = self.vacant.pop().unwrap_or_else(|| {
                self.groups.push(Group::default());
                (self.groups.len() - 1) as u32
            });
            self.groups[group as usize].symbol = symbol;
            group
        });
        if before.is_none() {
            self.unblock(index);
        }
        let place = &mut self.groups[group as usize];
        let key = before.map_or_else(|| place.take_key(index), |place| place.key);
        self.made += 1;
        let number = self.made;
        place.entries.push(Entry { from, index, number });
        self.places.insert(index, Place { group, from, key, number });
        self.entries += 1;
        self.touch(1);
        if self.entries > 2 * self.places.len() + FEW_OUTDATED {
            self.forget_outdated();
        }
    }

    /// Notes that bucket `index` does not wait.
    pub(super) fn unblock(&mut self, index: u16) {
        if let Some(place) = self.places.remove(&index) {
            self.groups[place.group as usize].left.insert(index, place.key);
        }
    }

    /// Notes that no bucket waits.
    pub(super) fn clear(&mut self) {
        *self = Blocked::default();
    }

    /// The lowest symbol for which a bucket waits.
    pub(super) fn first(&self) -> Option<u64> {
        self.by_symbol.first_key_value().map(|(symbol, _)| *symbol)
    }

    /// Returns the buckets that waited for `symbol` and no longer wait, because `symbol` is not missing any more. The
    /// others wait for a lower symbol from now on. `missing` holds all symbols that are still missing.
    ///
    /// The caller blocks the returned buckets again if they wait for another symbol, and then calls
    /// [`Blocked::resolved`].
    pub(super) fn resolve(&mut self, symbol: u64, missing: &IdRanges) -> Vec<u16> {
        // Most symbols come after the missing ones.
        if self.by_symbol.last_key_value().is_none_or(|(last, _)| symbol > *last) {
            return Vec::new();
        }
        let Some(moved) = self.by_symbol.remove(&symbol) else { return Vec::new() };
        let next = missing.last_in(&(0..symbol));
        let mut free = Vec::new();
        let group = &mut self.groups[moved as usize];
        group.left.clear();
        while let Some(entry) = group.entries.peek().filter(|entry| next.is_none_or(|next| entry.from > next)) {
            if let Some(place) = self.places.get(&entry.index).filter(|place| place.number == entry.number) {
                free.push((place.key, entry.index));
                group.left.insert(entry.index, place.key);
                self.places.remove(&entry.index);
            }
            group.entries.pop();
            self.entries -= 1;
        }
        self.touch(free.len());
        match next {
            Some(next) if !self.groups[moved as usize].entries.is_empty() => self.move_to(moved, next),
            _ => self.vacate(moved),
        }
        free.sort_unstable();
        free.into_iter().map(|(_, index)| index).collect()
    }

    /// Notes that the buckets `free`, which [`Blocked::resolve`] returned, have been blocked again where they wait.
    pub(super) fn resolved(&mut self, symbol: u64, free: &[u16]) {
        if let Some((_, group)) = self.by_symbol.range(..symbol).next_back() {
            let left = &mut self.groups[*group as usize].left;
            free.iter().for_each(|index| _ = left.remove(index));
        }
    }

    /// Makes the buckets of group `moved` wait for `symbol`, after the buckets that wait for this symbol already. The
    /// entries of the smaller of the two groups move to the larger one. So each move doubles an entry's group at least.
    fn move_to(&mut self, moved: u32, symbol: u64) {
        let Some(old) = self.by_symbol.get(&symbol).copied() else {
            self.groups[moved as usize].symbol = symbol;
            self.by_symbol.insert(symbol, moved);
            return;
        };
        let append = self.groups[moved as usize].len() <= self.groups[old as usize].len();
        let (from, to) = if append { (moved, old) } else { (old, moved) };
        let smaller = std::mem::take(&mut self.groups[from as usize]);
        self.entries -= smaller.entries.len();
        self.touch(smaller.len());
        // (key, bucket, entry); a bucket that has left has no entry.
        let mut buckets: Vec<(i64, u16, Option<Entry>)> =
            smaller.left.into_iter().map(|(index, key)| (key, index, None)).collect();
        for entry in smaller.entries {
            if let Some(place) = self.places.get(&entry.index).filter(|place| place.number == entry.number) {
                buckets.push((place.key, entry.index, Some(entry)));
            }
        }
        buckets.sort_unstable_by_key(|(key, _, _)| if append { *key } else { -*key });
        let group = &mut self.groups[to as usize];
        group.symbol = symbol;
        for (_, index, entry) in buckets {
            let key = if append { group.take_key(index) } else { group.keys.0 - 1 };
            group.keys.0 = group.keys.0.min(key);
            match (entry, self.places.get_mut(&index)) {
                (Some(entry), Some(place)) => {
                    (place.group, place.key) = (to, key);
                    group.entries.push(entry);
                    self.entries += 1;
                }
                // The bucket had left the old group, and is in the group that moves.
                (None, Some(place)) if place.group == to => place.key = key,
                _ => _ = group.left.insert(index, key),
            }
        }
        self.by_symbol.insert(symbol, to);
        self.vacant.push(from);
    }

    /// Notes that a group is not in use any more.
    fn vacate(&mut self, group: u32) {
        self.groups[group as usize] = Group::default();
        self.vacant.push(group);
    }

    /// Removes the outdated entries from all groups.
    fn forget_outdated(&mut self) {
        self.touch(self.entries);
        let (places, groups, vacant) = (&self.places, &mut self.groups, &mut self.vacant);
        let is_valid = |entry: &Entry| places.get(&entry.index).is_some_and(|place| place.number == entry.number);
        self.by_symbol.retain(|_, group| {
            let entries = &mut groups[*group as usize].entries;
            entries.retain(is_valid);
            if entries.is_empty() {
                groups[*group as usize] = Group::default();
                vacant.push(*group);
                return false;
            }
            true
        });
        self.entries = self.places.len();
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
    pub(super) fn waits_for(&self, index: u16) -> Option<(u64, u64)> {
        self.places.get(&index).map(|place| (self.groups[place.group as usize].symbol, place.from))
    }
}
