//! The packets of one flow that wait for an earlier packet, in the order of their symbols.

use std::collections::{BTreeMap, VecDeque};

/// Room for packets that an empty queue keeps. Unit: packets. With half the value, a flow that waits often allocates more
/// often. Double the value takes up to 10 MB more for a peer whose 1024 buckets were all long once.
const KEPT: usize = 64;

/// Waiting packets by symbol.
///
/// Most packets arrive in the order of their symbols. These packets need no map. The others are recovered packets, and
/// packets that were overtaken. So adding a packet takes logarithmic time at most, whatever the order of arrival.
#[derive(Debug)]
pub(crate) struct WaitingPackets<T> {
    /// Packets that arrived after all packets before them. The symbols ascend.
    in_order: VecDeque<(u64, T)>,
    /// Packets that arrived before a packet of an earlier symbol, or after a packet of a later one.
    others: BTreeMap<u64, T>,
}

impl<T> WaitingPackets<T> {
    pub(crate) fn new() -> WaitingPackets<T> {
        WaitingPackets { in_order: VecDeque::new(), others: BTreeMap::new() }
    }

    /// Whether no packet waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_order.is_empty() && self.others.is_empty()
    }

    /// Adds the packet of symbol `id`, which does not wait yet.
    pub(crate) fn insert(&mut self, id: u64, packet: T) {
        if self.in_order.back().is_none_or(|(last, _)| *last < id) {
            self.in_order.push_back((id, packet));
        } else {
            self.others.insert(id, packet);
        }
    }

    /// The packet of the lowest symbol, with this symbol.
    pub(crate) fn first(&self) -> Option<(u64, &T)> {
        let in_order = self.in_order.front().map(|(id, packet)| (*id, packet));
        if self.others.is_empty() {
            return in_order;
        }
        let other = self.others.first_key_value().map(|(id, packet)| (*id, packet));
        [in_order, other].into_iter().flatten().min_by_key(|(id, _)| *id)
    }

    /// Removes and returns the packet of the lowest symbol, with this symbol.
    pub(crate) fn pop_first(&mut self) -> Option<(u64, T)> {
        let (first, _) = self.first()?;
        if self.in_order.front().is_some_and(|(id, _)| *id == first) {
            let packet = self.in_order.pop_front();
            if self.in_order.is_empty() && self.in_order.capacity() > KEPT {
                self.in_order = VecDeque::new();
            }
            packet
        } else {
            self.others.pop_first()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    #[test]
    fn packets_leave_in_the_order_of_their_symbols() {
        for run in 0..100 {
            let mut random = Seed::new(4).run(run).stream("waiting");
            let (mut waiting, mut set) = (WaitingPackets::new(), BTreeMap::new());
            let mut others = 0;
            for step in 0..300 {
                let far = if random.chance(0.2) { 60 } else { 2 };
                let id = step + random.below(far);
                if let std::collections::btree_map::Entry::Vacant(entry) = set.entry(id) {
                    entry.insert(step);
                    waiting.insert(id, step);
                }
                others = others.max(waiting.others.len());
                if random.chance(0.9) {
                    assert_eq!(waiting.pop_first(), set.pop_first(), "run {run}, step {step}");
                }
                assert_eq!(waiting.first(), set.first_key_value().map(|(id, of)| (*id, of)), "run {run}, step {step}");
                assert_eq!(waiting.is_empty(), set.is_empty());
            }
            assert!(others > 0, "run {run}: no packet came out of order");
        }
    }
}
