//! The sender's coding window. See `mod.rs` for the terms.
//!
//! A source symbol enters the window when it is sent. The symbol leaves the window when this symbol
//! and all earlier symbols are decoded or given up. So received symbols that lie between missing
//! symbols stay in the window. A repair for many missing symbols spans these received symbols as
//! well.

use super::supplier::{Fate, Supplied, Supplier, Tag};
use crate::wire::SymbolReport;
use ripstop_base::Time;
use ripstop_codes::Payload;
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
    /// When the symbol was sent. The symbol's deadline runs from this time. The wait at the supplier has a
    /// deadline of its own.
    sent: Time,
    /// The supplier's name for the symbol.
    tag: Tag,
    /// Whether the supplier knows that later symbols need not wait for this one.
    released: bool,
    /// Whether the symbol is of an interactive flow.
    interactive: bool,
    /// Number of interactive repairs (proactive repairs for packets of interactive flows) that span
    /// the symbol.
    covered: u8,
}

/// A symbol that was given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenUp {
    /// Length of the symbol, bytes.
    pub(super) bytes: usize,
    /// Whether the symbol was not known to be received.
    pub(super) unknown: bool,
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
    /// Bytes of the symbols in the window.
    held_bytes: usize,
    /// Number of lost symbols that reports were compared with.
    compared: u64,
}

impl<P: Payload> Sources<P> {
    pub(super) fn new() -> Sources<P> {
        Sources {
            encoder: Encoder::new(0),
            first: 0,
            sources: VecDeque::new(),
            tail: 0,
            in_flight: 0,
            lost: IdRanges::new(),
            interactive: VecDeque::new(),
            held_bytes: 0,
            compared: 0,
        }
    }

    /// Adds a symbol that leaves at `now`. The symbol has the number [`Sources::next`].
    pub(super) fn push(&mut self, now: Time, supplied: &Supplied<P>) {
        let (id, bytes) = (self.next(), supplied.payload.len());
        let Supplied { interactive, tag, .. } = *supplied;
        self.encoder.push(supplied.payload.clone());
        self.sources.push_back(Source {
            state: State::InFlight,
            bytes: bytes as u32,
            sent: now,
            tag,
            released: false,
            interactive,
            covered: 0,
        });
        self.in_flight += 1;
        self.held_bytes += bytes;
        if interactive {
            self.interactive.push_back(id);
        }
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
    pub(super) fn received(&mut self, id: u64, supplier: &mut impl Supplier<P>) {
        let Some(source) = self.get(id) else { return };
        let (tag, was) = (source.tag, source.state);
        self.settle(id, State::Known);
        self.lost.remove(id);
        self.release(id, supplier);
        if was != State::Known {
            supplier.settle(id, tag, Fate::Arrived);
        }
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
    pub(super) fn take(&mut self, report: &SymbolReport, supplier: &mut impl Supplier<P>) -> Vec<u64> {
        let decoded_to = report.next_undecoded.min(self.next());
        while self.first < decoded_to {
            self.drop_first(Fate::Arrived, supplier);
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
                self.release(id, supplier);
            }
        }
        holes
    }

    /// Gives up the symbols that were sent longer than `deadline` ago. Returns true if at least one
    /// of these symbols was not known to be received.
    pub(super) fn expire(&mut self, now: Time, deadline: Duration, supplier: &mut impl Supplier<P>) -> bool {
        let mut unknown = false;
        while self.sources.front().is_some_and(|source| now.since(source.sent) > deadline) {
            unknown |= self.give_up_oldest(supplier).is_some_and(|given_up| given_up.unknown);
        }
        unknown
    }

    /// Gives up the symbols longer than `most` bytes, and all symbols before the last of them. Returns
    /// true if at least one of these symbols was not known to be received.
    pub(super) fn give_up_longer(&mut self, most: u32, supplier: &mut impl Supplier<P>) -> bool {
        let Some(last) = self.sources.iter().rposition(|source| source.bytes > most) else { return false };
        let mut unknown = false;
        for _ in 0..=last {
            unknown |= self.give_up_oldest(supplier).is_some_and(|given_up| given_up.unknown);
        }
        unknown
    }

    /// Gives up the oldest symbol. `None`: the window is empty.
    pub(super) fn give_up_oldest(&mut self, supplier: &mut impl Supplier<P>) -> Option<GivenUp> {
        let source = self.sources.front()?;
        let given_up = GivenUp { bytes: source.bytes as usize, unknown: source.state != State::Known };
        self.drop_first(Fate::GivenUp, supplier);
        Some(given_up)
    }

    /// When the deadline of the oldest symbol ends. `None`: the window is empty.
    pub(super) fn expires(&self, deadline: Duration) -> Option<Time> {
        self.sources.front().map(|source| source.sent + deadline + Duration::from_nanos(1))
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

    /// Tells the supplier that later symbols need not wait for symbol `id`.
    fn release(&mut self, id: u64, supplier: &mut impl Supplier<P>) {
        if let Some(source) = self.get_mut(id).filter(|source| !source.released) {
            source.released = true;
            supplier.release(source.tag);
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

    /// Removes the first symbol, which is decoded or given up. If its datagram has arrived, its fate is known already.
    fn drop_first(&mut self, fate: Fate, supplier: &mut impl Supplier<P>) {
        let Some(source) = self.sources.pop_front() else { return };
        self.held_bytes -= source.bytes as usize;
        if source.state == State::InFlight {
            self.in_flight -= 1;
        }
        if !source.released {
            supplier.release(source.tag);
        }
        if source.state != State::Known {
            supplier.settle(self.first, source.tag, fate);
        }
        self.lost.remove(self.first);
        self.first += 1;
        self.encoder.forget_to(self.first);
        self.tail = self.tail.max(self.first);
        self.advance_tail();
    }
}

#[cfg(test)]
#[path = "sources/tests.rs"]
mod tests;
