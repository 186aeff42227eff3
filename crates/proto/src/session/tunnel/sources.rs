//! The sender's coding window: every source symbol from its first transmission until it and all before it are
//! decoded or given up. Those between holes are held as well, for repairs of many holes span them.

use super::ingress::{BUCKETS, Class, Queued, bucket_of};
use super::inner::{InnerPacket, Order};
use crate::wire::{Feedback, Gap};
use ripstop_base::Time;
use ripstop_codes::window::Encoder;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// What the sender knows of a source symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Sent, not reported on.
    InFlight,
    /// Reported as received, or as decoded.
    Known,
    /// Its datagram is lost.
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Source {
    state: State,
    bytes: u32,
    /// When it was first sent: deadline runs from here (the way in has its own deadline).
    sent: Time,
    /// Repairs that span it, so far, if it is interactive.
    covered: u8,
}

/// The coding window at the sender.
#[derive(Debug)]
pub(super) struct Sources<P> {
    encoder: Encoder<P>,
    first: u64,
    sources: VecDeque<Source>,
    /// No symbol before this one is in flight.
    tail: u64,
    in_flight: u32,
    /// Symbols whose datagram is lost and that are not decoded as far as is known.
    lost: BTreeSet<u64>,
    /// Interactive symbols in flight, ascending.
    interactive: VecDeque<u64>,
    /// The last symbol of each flow bucket that later ones may have to wait for.
    last_of_flow: Vec<Option<u64>>,
    given_up: u64,
}

impl<P: InnerPacket> Sources<P> {
    pub(super) fn new() -> Sources<P> {
        Sources {
            encoder: Encoder::new(0),
            first: 0,
            sources: VecDeque::new(),
            tail: 0,
            in_flight: 0,
            lost: BTreeSet::new(),
            interactive: VecDeque::new(),
            last_of_flow: vec![None; BUCKETS],
            given_up: 0,
        }
    }

    /// Takes a packet into the window, to be sent now; returns its number and its gap.
    pub(super) fn push(&mut self, now: Time, queued: Queued<P>) -> (u64, Gap, P) {
        let id = self.next();
        let mut payload = queued.payload;
        let gap = match queued.meta.order {
            Order::Immediate => Gap::NONE,
            Order::InOrder => {
                let last = self.last_of_flow[usize::from(bucket_of(queued.meta.flow))].replace(id);
                Gap::from_distance(last.map_or(0, |last| id - last))
            }
        };
        payload.set_gap(gap);
        self.encoder.push(payload.clone());
        self.sources.push_back(Source {
            state: State::InFlight,
            bytes: payload.len() as u32,
            sent: now,
            covered: 0,
        });
        self.in_flight += 1;
        if queued.class == Class::Interactive {
            self.interactive.push_back(id);
        }
        (id, gap, payload)
    }

    /// The number of the next symbol.
    pub(super) fn next(&self) -> u64 {
        self.first + self.sources.len() as u64
    }

    /// The window's base: nothing before it will be sent or repaired again.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Symbols from the base to the newest.
    pub(super) fn len(&self) -> usize {
        self.sources.len()
    }

    /// The first symbol in flight (all after it count as in flight for repairs).
    pub(super) fn tail(&self) -> u64 {
        self.tail
    }

    /// How many symbols are in flight.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// When symbol `id` was first sent.
    pub(super) fn sent(&self, id: u64) -> Option<Time> {
        self.get(id).map(|source| source.sent)
    }

    /// Bytes of symbol `id`.
    pub(super) fn bytes(&self, id: u64) -> u32 {
        self.get(id).map_or(0, |source| source.bytes)
    }

    /// The encoder, for making repairs.
    pub(super) fn encoder(&self) -> &Encoder<P> {
        &self.encoder
    }

    /// Interactive symbols in flight, with when they were sent and how many repairs span them.
    pub(super) fn interactive(&self) -> impl DoubleEndedIterator<Item = (u64, Time, u8)> + '_ {
        self.interactive.iter().filter_map(|id| {
            let source = self.get(*id).filter(|source| source.state == State::InFlight)?;
            Some((*id, source.sent, source.covered))
        })
    }

    /// A repair that spans the interactive symbol `id` leaves.
    pub(super) fn cover(&mut self, id: u64) {
        if let Some(source) = self.get_mut(id) {
            source.covered = source.covered.saturating_add(1);
        }
    }

    /// The datagram of symbol `id` was received (perhaps after it was taken for lost).
    pub(super) fn received(&mut self, id: u64) {
        self.settle(id, State::Known);
        self.lost.remove(&id);
    }

    /// The datagram of symbol `id` is lost.
    pub(super) fn lost(&mut self, id: u64) {
        if self.get(id).is_some_and(|source| source.state == State::InFlight) {
            self.settle(id, State::Lost);
            self.lost.insert(id);
        }
    }

    /// Takes in what the receiver reports of symbols, and returns the holes: the lost symbols that
    /// it needs, ascending. Symbols that are lost but *seen* are not holes: the repairs held for
    /// them will give them up as soon as the holes are filled.
    pub(super) fn take(&mut self, feedback: &Feedback) -> Vec<u64> {
        let decoded_to = feedback.next_undecoded.min(self.next());
        while self.first < decoded_to {
            self.drop_first();
        }
        let listed: u64 = feedback.unseen.iter().map(|range| range.end - range.start).sum();
        // Beyond a list that was cut only their number is known: as good as any are the oldest.
        let mut beyond = u64::from(feedback.deficit).saturating_sub(listed);
        let known_to = match feedback.unseen.last() {
            Some(last) if beyond > 0 => last.end,
            _ => u64::MAX,
        };
        let mut ranges = feedback.unseen.iter().peekable();
        let mut holes = Vec::new();
        for id in &self.lost {
            while ranges.peek().is_some_and(|range| range.end <= *id) {
                ranges.next();
            }
            // What the receiver does not know to exist it cannot list.
            let unseen = *id >= feedback.end || ranges.peek().is_some_and(|range| range.contains(id));
            if unseen {
                holes.push(*id);
            } else if *id >= known_to && beyond > 0 {
                beyond -= 1;
                holes.push(*id);
            }
        }
        holes
    }

    /// Gives up what has waited longer than `deadline`; returns whether anything was.
    pub(super) fn expire(&mut self, now: Time, deadline: Duration) -> bool {
        let before = self.given_up;
        while self.sources.front().is_some_and(|source| now.since(source.sent) > deadline) {
            if self.sources[0].state != State::Known {
                self.given_up += 1;
            }
            self.drop_first();
        }
        self.given_up != before
    }

    /// When the oldest symbol will have waited longer than `deadline`.
    pub(super) fn expires(&self, deadline: Duration) -> Option<Time> {
        self.sources.front().map(|source| source.sent + deadline + Duration::from_nanos(1))
    }

    /// Symbols given up so far, as far as the sender knows not received.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Symbols whose datagram is lost and that are not known to be decoded.
    pub(super) fn lost_count(&self) -> usize {
        self.lost.len()
    }

    fn get(&self, id: u64) -> Option<&Source> {
        self.sources.get(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, id: u64) -> Option<&mut Source> {
        self.sources.get_mut(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    fn settle(&mut self, id: u64, state: State) {
        let Some(source) = self.get_mut(id) else { return };
        let was = std::mem::replace(&mut source.state, state);
        if was == State::InFlight {
            self.in_flight -= 1;
            self.advance_tail();
        }
    }

    fn advance_tail(&mut self) {
        while self.get(self.tail).is_some_and(|source| source.state != State::InFlight) {
            self.tail += 1;
        }
        while self.interactive.front().is_some_and(|id| *id < self.tail) {
            self.interactive.pop_front();
        }
    }

    fn drop_first(&mut self) {
        let Some(source) = self.sources.pop_front() else { return };
        if source.state == State::InFlight {
            self.in_flight -= 1;
        }
        self.lost.remove(&self.first);
        self.first += 1;
        self.encoder.forget_to(self.first);
        self.tail = self.tail.max(self.first);
        self.advance_tail();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tunnel::inner::Meta;
    use ripstop_codes::Symbol;

    /// A window of `n` symbols, those of `lost` lost.
    fn window(n: u64, lost: impl Iterator<Item = u64>) -> Sources<Symbol> {
        let mut sources = Sources::new();
        for _ in 0..n {
            let meta = Meta { flow: 1, order: Order::InOrder, len: 40 };
            let payload = Symbol::from_slice(&[0; 41]);
            sources.push(Time::ZERO, Queued { payload, meta, class: Class::Bulk, since: Time::ZERO });
        }
        lost.for_each(|id| sources.lost(id));
        sources
    }

    fn report(unseen: &[u64], deficit: u32, end: u64) -> Feedback {
        let unseen = unseen.iter().map(|id| *id..*id + 1).collect();
        Feedback { next_undecoded: 10, end, unseen, deficit, ..Feedback::default() }
    }

    #[test]
    fn a_whole_list_names_the_holes() {
        let mut sources = window(100, (10..100).step_by(10));
        // 30 and 50 are seen: repairs held for them wait for the others.
        assert_eq!(sources.take(&report(&[10, 20, 40, 60], 4, 70)), [10, 20, 40, 60, 70, 80, 90]);
        assert_eq!(sources.first(), 10);
    }

    #[test]
    fn beyond_a_cut_list_its_number_counts() {
        let lost: Vec<u64> = (10..100).step_by(10).collect();
        let mut sources = window(100, lost.iter().copied());
        // Three more are missing than the list has: the oldest that are lost stand for them.
        assert_eq!(sources.take(&report(&[10, 20], 5, 100)), [10, 20, 30, 40, 50]);
        // Before the list's end it is complete.
        assert_eq!(sources.take(&report(&[10, 40], 3, 100)), [10, 40, 50]);
        // More is missing than is known to be lost: the rest is on its way, or its loss will be noticed.
        assert_eq!(sources.take(&report(&[10, 20], 1_000, 100)), lost);
        // What the receiver does not know of is no part of its number.
        assert_eq!(sources.take(&report(&[10], 2, 50)), [10, 20, 50, 60, 70, 80, 90]);
        // A deficit smaller than the list is no cut list.
        assert_eq!(sources.take(&report(&[10, 20], 0, 100)), [10, 20]);
    }
}
