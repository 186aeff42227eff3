//! The sender's coding window. See `mod.rs` for the terms.
//!
//! A source symbol enters the window when it is sent. The symbol leaves the window when this symbol
//! and all earlier symbols are decoded or given up. So received symbols that lie between missing
//! symbols stay in the window. A repair for many missing symbols spans these received symbols as
//! well.

use crate::packets::ingress::{BUCKETS, Queued, bucket_of};
use crate::packets::{Class, Gap, InnerPacket, Order};
use crate::wire::{SymbolKind, SymbolReport};
use ripstop_base::Time;
use ripstop_codes::window::{Encoder, IdRanges};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// What the sender knows about a source symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The symbol was sent, and its fate is unknown.
    InFlight,
    /// The symbol's datagram was received.
    Known,
    /// The symbol's datagram is lost.
    Lost,
}

/// A source symbol in the window.
#[derive(Clone, Copy, Debug)]
struct Source {
    state: State,
    /// Length of the symbol, bytes.
    bytes: u32,
    /// When the symbol was sent. The symbol's deadline runs from this time. The wait in the ingress
    /// queue has a deadline of its own.
    sent: Time,
    /// The flow bucket whose later packets must wait for this symbol. `None`: no packet must wait,
    /// because the symbol has arrived or need not be delivered in order.
    awaited: Option<u16>,
    /// Whether the symbol is of an interactive flow.
    interactive: bool,
    /// Number of interactive repairs (proactive repairs for packets of interactive flows) that span
    /// the symbol.
    covered: u8,
}

/// The coding window at the sender.
#[derive(Debug)]
pub(super) struct Sources<P> {
    encoder: Encoder<P>,
    /// The window's base: the number of the first symbol in `sources`.
    first: u64,
    sources: VecDeque<Source>,
    /// The first symbol in flight, or the next symbol to be sent if no symbol is in flight.
    tail: u64,
    /// Number of symbols in flight.
    in_flight: u32,
    /// Symbols whose datagram is lost and that are not known to be decoded.
    lost: IdRanges,
    /// Symbols of interactive flows, ascending. All symbols before `tail` have been removed.
    interactive: VecDeque<u64>,
    /// For each flow bucket (see `ingress/`), the number of the bucket's last symbol that must be
    /// delivered in order.
    last_of_flow: Vec<Option<u64>>,
    /// For each flow bucket, the number of its symbols that may not have arrived.
    not_arrived: Vec<u32>,
    /// Number of symbols given up.
    given_up: u64,
    /// Bytes of the symbols in the window.
    held_bytes: usize,
    /// Number of lost symbols that reports were compared with.
    compared: u64,
}

impl<P: InnerPacket> Sources<P> {
    pub(super) fn new() -> Sources<P> {
        Sources {
            encoder: Encoder::new(0),
            first: 0,
            sources: VecDeque::new(),
            tail: 0,
            in_flight: 0,
            lost: IdRanges::new(),
            interactive: VecDeque::new(),
            last_of_flow: vec![None; BUCKETS],
            not_arrived: vec![0; BUCKETS],
            given_up: 0,
            held_bytes: 0,
            compared: 0,
        }
    }

    /// Adds a packet that leaves at `now`. Returns the symbol's number, its kind, and the symbol. The
    /// symbol gets an exact gap if it then has at most `longest` bytes.
    pub(super) fn push(&mut self, now: Time, queued: Queued<P>, longest: usize) -> (u64, SymbolKind, P) {
        let id = self.next();
        let mut payload = queued.payload;
        let in_order = queued.meta.order == Order::InOrder;
        let awaited = in_order.then(|| bucket_of(queued.meta.flow));
        let gap = awaited.map_or(Gap::NONE, |bucket| {
            let last = self.last_of_flow[usize::from(bucket)].replace(id);
            let waiting = &mut self.not_arrived[usize::from(bucket)];
            *waiting += 1;
            // If all earlier symbols of the bucket have arrived, the packet need not wait. With a
            // rounded gap, the receiver would wait for every symbol of other flows in its range.
            let distance = last.filter(|_| *waiting > 1).map_or(0, |last| id - last);
            if payload.len() + Gap::TRAILER <= longest { Gap::exact(distance) } else { Gap::rounded(distance) }
        });
        payload.set_gap(gap);
        self.encoder.push(payload.clone());
        let interactive = queued.class == Class::Interactive;
        let bytes = payload.len() as u32;
        self.sources.push_back(Source { state: State::InFlight, bytes, sent: now, awaited, interactive, covered: 0 });
        self.in_flight += 1;
        self.held_bytes += payload.len();
        if interactive {
            self.interactive.push_back(id);
        }
        (id, payload.kind(), payload)
    }

    /// The number that the next symbol will have.
    pub(super) fn next(&self) -> u64 {
        self.first + self.sources.len() as u64
    }

    /// The window's base: no symbol before the base will be sent or repaired again.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Number of symbols from the window's base to the newest symbol.
    pub(super) fn len(&self) -> usize {
        self.sources.len()
    }

    /// The first symbol in flight, or the next symbol to be sent if no symbol is in flight. When
    /// repairs are planned, all later symbols count as in flight.
    pub(super) fn tail(&self) -> u64 {
        self.tail
    }

    /// Number of symbols in flight.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// When symbol `id` was sent. `None`: the symbol is not in the window.
    pub(super) fn sent(&self, id: u64) -> Option<Time> {
        self.get(id).map(|source| source.sent)
    }

    /// Length of symbol `id`, bytes. 0: the symbol is not in the window.
    pub(super) fn bytes(&self, id: u64) -> u32 {
        self.get(id).map_or(0, |source| source.bytes)
    }

    /// Length of the longest symbol of `ids`, bytes. Symbols that are not in the window do not count.
    pub(super) fn longest(&self, ids: Range<u64>) -> u32 {
        let at = |id: u64| (id.clamp(self.first, self.next()) - self.first) as usize;
        let ids = at(ids.start)..at(ids.end.max(ids.start));
        let (mut longest, (front, back)) = (0, self.sources.as_slices());
        let split = ids.start.min(front.len())..ids.end.min(front.len());
        let rest = ids.start.saturating_sub(front.len())..ids.end.saturating_sub(front.len());
        for source in front[split].iter().chain(&back[rest]) {
            longest = longest.max(source.bytes);
        }
        longest
    }

    /// The encoder, which makes repairs.
    pub(super) fn encoder(&self) -> &Encoder<P> {
        &self.encoder
    }

    /// The interactive symbols in flight: number, time of sending, and number of repairs that span
    /// the symbol.
    pub(super) fn interactive(&self) -> impl DoubleEndedIterator<Item = (u64, Time, u8)> + '_ {
        self.interactive.iter().filter_map(|id| {
            let source = self.get(*id).filter(|source| source.state == State::InFlight)?;
            Some((*id, source.sent, source.covered))
        })
    }

    /// Records that a repair leaves, and that this repair spans the interactive symbol `id`.
    pub(super) fn cover(&mut self, id: u64) {
        if let Some(source) = self.get_mut(id) {
            source.covered = source.covered.saturating_add(1);
        }
    }

    /// Records that the datagram of symbol `id` was received, perhaps after it was declared lost.
    pub(super) fn received(&mut self, id: u64) {
        self.settle(id, State::Known);
        self.lost.remove(id);
        self.arrived(id);
    }

    /// Records that the datagram of symbol `id` is lost.
    pub(super) fn lost(&mut self, id: u64) {
        if self.get(id).is_some_and(|source| source.state == State::InFlight) {
            self.settle(id, State::Lost);
            self.lost.insert(id);
        }
    }

    /// Takes the receiver's report on symbols. Returns the *holes*, ascending.
    ///
    /// A hole is a lost symbol that the receiver has not *seen* (RFC 8406). A *seen* symbol is not
    /// a hole: the receiver holds a repair for the symbol, and decodes the symbol when the holes
    /// are repaired.
    pub(super) fn take(&mut self, report: &SymbolReport) -> Vec<u64> {
        let decoded_to = report.next_undecoded.min(self.next());
        while self.first < decoded_to {
            self.drop_first();
        }
        let listed: u64 = report.unseen.iter().map(|range| range.end - range.start).sum();
        // The deficit is the number of degrees of freedom still missing. If the list of unseen
        // symbols was cut, the deficit is larger than the list. Then the `beyond` oldest lost
        // symbols after the end of the list count as holes too.
        let mut beyond = u64::from(report.deficit).saturating_sub(listed);
        let known_to = match report.unseen.last() {
            Some(last) if beyond > 0 => last.end,
            _ => u64::MAX,
        };
        let mut ranges = report.unseen.iter().peekable();
        let (mut holes, mut seen) = (Vec::new(), Vec::new());
        self.compared += self.lost.len();
        for id in self.lost.iter() {
            while ranges.peek().is_some_and(|range| range.end <= id) {
                ranges.next();
            }
            // The receiver cannot list a symbol that it does not know to exist.
            let unseen = id >= report.end || ranges.peek().is_some_and(|range| range.contains(&id));
            if unseen {
                holes.push(id);
            } else if id >= known_to && beyond > 0 {
                beyond -= 1;
                holes.push(id);
            } else if id < known_to {
                seen.push(id);
            }
        }
        // A repair of an interactive packet lists few symbols, so a seen packet is decoded too, but
        // for rare exceptions. The flow's next packet then overtakes this packet.
        for id in seen {
            if self.get(id).is_some_and(|source| source.interactive) {
                self.arrived(id);
            }
        }
        holes
    }

    /// Gives up the symbols that were sent longer than `deadline` ago. Returns true if at least one
    /// of these symbols was not known to be received.
    pub(super) fn expire(&mut self, now: Time, deadline: Duration) -> bool {
        let before = self.given_up;
        while self.sources.front().is_some_and(|source| now.since(source.sent) > deadline) {
            self.give_up_oldest();
        }
        self.given_up != before
    }

    /// Gives up the symbols longer than `most` bytes, and all symbols before the last of them. Returns
    /// true if at least one of these symbols was not known to be received.
    pub(super) fn give_up_longer(&mut self, most: u32) -> bool {
        let before = self.given_up;
        let Some(last) = self.sources.iter().rposition(|source| source.bytes > most) else { return false };
        for _ in 0..=last {
            self.give_up_oldest();
        }
        self.given_up != before
    }

    /// Gives up the oldest symbol. Returns its length in bytes. `None`: the window is empty.
    pub(super) fn give_up_oldest(&mut self) -> Option<usize> {
        let source = self.sources.front()?;
        let bytes = source.bytes as usize;
        self.given_up += u64::from(source.state != State::Known);
        self.drop_first();
        Some(bytes)
    }

    /// When the deadline of the oldest symbol ends. `None`: the window is empty.
    pub(super) fn expires(&self, deadline: Duration) -> Option<Time> {
        self.sources.front().map(|source| source.sent + deadline + Duration::from_nanos(1))
    }

    /// Number of symbols given up so far that were not known to be received.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Number of symbols whose datagram is lost and that are not known to be decoded.
    pub(super) fn lost_count(&self) -> usize {
        self.lost.len() as usize
    }

    /// Bytes of the symbols in the window.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Number of lost symbols that reports were compared with so far.
    pub(super) fn compared(&self) -> u64 {
        self.compared
    }

    /// Records that later packets of the flow need not wait for symbol `id`.
    fn arrived(&mut self, id: u64) {
        let bucket = self.get_mut(id).and_then(|source| source.awaited.take());
        self.stop_waiting(bucket);
    }

    fn stop_waiting(&mut self, bucket: Option<u16>) {
        let Some(bucket) = bucket else { return };
        if let Some(waiting) = self.not_arrived.get_mut(usize::from(bucket)) {
            *waiting = waiting.saturating_sub(1);
        }
    }

    fn get(&self, id: u64) -> Option<&Source> {
        self.sources.get(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, id: u64) -> Option<&mut Source> {
        self.sources.get_mut(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    /// Sets the state of symbol `id`, whose fate is known now.
    fn settle(&mut self, id: u64, state: State) {
        let Some(source) = self.get_mut(id) else { return };
        let was = std::mem::replace(&mut source.state, state);
        if was == State::InFlight {
            self.in_flight -= 1;
            self.advance_tail();
        }
    }

    /// Moves `tail` to the first symbol in flight.
    fn advance_tail(&mut self) {
        while self.get(self.tail).is_some_and(|source| source.state != State::InFlight) {
            self.tail += 1;
        }
        while self.interactive.front().is_some_and(|id| *id < self.tail) {
            self.interactive.pop_front();
        }
    }

    /// Removes the first symbol, which is decoded or given up.
    fn drop_first(&mut self) {
        let Some(source) = self.sources.pop_front() else { return };
        self.held_bytes -= source.bytes as usize;
        if source.state == State::InFlight {
            self.in_flight -= 1;
        }
        self.stop_waiting(source.awaited);
        self.lost.remove(self.first);
        self.first += 1;
        self.encoder.forget_to(self.first);
        self.tail = self.tail.max(self.first);
        self.advance_tail();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Meta;
    use ripstop_codes::Symbol;

    /// A window of `n` symbols. The symbols in `lost` are lost.
    fn window(n: u64, lost: impl Iterator<Item = u64>) -> Sources<Symbol> {
        let mut sources = Sources::new();
        for _ in 0..n {
            let meta = Meta { flow: 1, order: Order::InOrder, len: 40, ack: None };
            let payload = Symbol::from_slice(&[0; 41]);
            let (class, since, repeated) = (Class::Bulk, Time::ZERO, false);
            sources.push(Time::ZERO, Queued { payload, meta, class, since, repeated }, 1437);
        }
        lost.for_each(|id| sources.lost(id));
        sources
    }

    fn report(unseen: &[u64], deficit: u32, end: u64) -> SymbolReport {
        let unseen = unseen.iter().map(|id| *id..*id + 1).collect();
        SymbolReport { next_undecoded: 10, end, unseen, deficit, ..SymbolReport::default() }
    }

    #[test]
    fn the_longest_of_a_range_is_found() {
        let mut sources = Sources::new();
        for len in [40, 90, 30, 60, 50] {
            let meta = Meta { flow: 1, order: Order::InOrder, len, ack: None };
            let payload = Symbol::from_slice(&vec![0; len as usize]);
            let (class, since, repeated) = (Class::Bulk, Time::ZERO, false);
            sources.push(Time::ZERO, Queued { payload, meta, class, since, repeated }, 0);
        }
        assert_eq!([0..5, 2..5, 2..3, 4..99, 7..99, 3..3].map(|ids| sources.longest(ids)), [90, 60, 30, 50, 0, 0]);
        sources.drop_first();
        assert_eq!([0..2, 0..1, 2..3].map(|ids| sources.longest(ids)), [90, 0, 30]);
    }

    #[test]
    fn a_packet_with_room_says_exactly_where_its_predecessor_is() {
        let mut sources = Sources::new();
        let mut push = |flow, len: usize| {
            let meta = Meta { flow, order: Order::InOrder, len: len as u32 - 1, ack: None };
            let payload =
                Symbol::build(len, |bytes| (bytes[1], bytes[3], bytes[4]) = (0x45, (len >> 8) as u8, len as u8 - 1));
            let queued = Queued { payload, meta, class: Class::Interactive, since: Time::ZERO, repeated: false };
            let (_, _, payload) = sources.push(Time::ZERO, queued, 1437);
            (payload.gap(), payload.len())
        };
        assert_eq!(
            [push(1, 101), push(2, 1437), push(3, 1437)],
            [(Gap::NONE, 101), (Gap::NONE, 1437), (Gap::NONE, 1437)]
        );
        assert_eq!(push(1, 101), (Gap::exact(3), 103));
        assert_eq!(push(2, 1437), (Gap::rounded(3), 1437), "the path's MTU leaves no room");
        assert_eq!(push(2, 1436), (Gap::ADJACENT, 1436), "a rounded gap is as exact");
    }

    #[test]
    fn a_packet_waits_only_for_symbols_that_may_be_missing() {
        let mut sources = Sources::new();
        let push = |sources: &mut Sources<Symbol>, flow| {
            let meta = Meta { flow, order: Order::InOrder, len: 40, ack: None };
            let payload = Symbol::build(41, |bytes| (bytes[1], bytes[4]) = (0x45, 40));
            let queued = Queued { payload, meta, class: Class::Interactive, since: Time::ZERO, repeated: false };
            sources.push(Time::ZERO, queued, 1437).2.gap()
        };
        assert_eq!([push(&mut sources, 1), push(&mut sources, 2)], [Gap::NONE; 2]);
        sources.received(0);
        assert_eq!(push(&mut sources, 1), Gap::NONE, "the flow's only symbol has arrived");
        assert_eq!(push(&mut sources, 2), Gap::exact(2), "symbol 1 may be missing");
        sources.lost(1);
        sources.received(3);
        assert_eq!(push(&mut sources, 2), Gap::rounded(1), "symbol 1 may be missing");
        sources.received(4);
        // The receiver holds a repair for symbol 1.
        assert!(sources.take(&SymbolReport { next_undecoded: 1, end: 5, ..report(&[], 0, 5) }).is_empty());
        assert_eq!(push(&mut sources, 2), Gap::NONE);
        assert!(sources.not_arrived.iter().all(|waiting| *waiting <= 1));
    }

    #[test]
    fn a_complete_list_names_the_holes() {
        let mut sources = window(100, (10..100).step_by(10));
        // Symbols 30 and 50 are seen: the receiver holds repairs for these symbols, and the repairs
        // wait for the other symbols.
        assert_eq!(sources.take(&report(&[10, 20, 40, 60], 4, 70)), [10, 20, 40, 60, 70, 80, 90]);
        assert_eq!(sources.first(), 10);
    }

    #[test]
    fn the_deficit_adds_holes_after_the_end_of_a_cut_list() {
        let lost: Vec<u64> = (10..100).step_by(10).collect();
        let mut sources = window(100, lost.iter().copied());
        // The deficit is larger than the list by three. So the three oldest lost symbols after the
        // list count as holes.
        assert_eq!(sources.take(&report(&[10, 20], 5, 100)), [10, 20, 30, 40, 50]);
        // The list is complete up to its last symbol, so symbols 20 and 30 are not holes.
        assert_eq!(sources.take(&report(&[10, 40], 3, 100)), [10, 40, 50]);
        // The deficit exceeds the number of known losses. The other missing symbols are in flight,
        // or their loss will be noticed later.
        assert_eq!(sources.take(&report(&[10, 20], 1_000, 100)), lost);
        // Symbols that the receiver does not know to exist are not part of its deficit.
        assert_eq!(sources.take(&report(&[10], 2, 50)), [10, 20, 50, 60, 70, 80, 90]);
        // A deficit smaller than the list means that the list was not cut.
        assert_eq!(sources.take(&report(&[10, 20], 0, 100)), [10, 20]);
    }
}
