//! The data segments of one connection that the receiver has not acknowledged itself.
//!
//! Positions are 64-bit offsets in the byte stream of the connection. The SYN has offset 0.

use ripstop_codes::Symbol;
use std::collections::BTreeMap;

/// Memory of one stored segment besides its bytes. Unit: bytes. Half or double the value makes the figure for small
/// segments too low or too high.
const SEGMENT: usize = 200;

/// The stored segments, and which parts of the stream the peer has seen.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// The end of each segment, and the packet, by the segment's start.
    segments: BTreeMap<u64, (u64, Symbol)>,
    /// Seen parts after the first part that is not seen: the end and the timestamp, by the start.
    ahead: BTreeMap<u64, (u64, u32)>,
    /// All bytes before this offset are seen.
    seen_to: u64,
    /// TSval of the last segment before `seen_to`.
    timestamp: u32,
    bytes: usize,
}

impl Store {
    /// Begins at an offset: all bytes before it are acknowledged.
    pub(super) fn begin(&mut self, at: u64) {
        *self = Store { seen_to: at, ..Store::default() };
    }

    /// Keeps the segment from `start` to `end`, unless that exceeds `room` bytes. Returns whether the segment is stored.
    pub(super) fn insert(&mut self, start: u64, end: u64, packet: &Symbol, room: usize) -> bool {
        if self.segments.get(&start).is_some_and(|(known, _)| *known >= end) {
            return true;
        }
        let bytes = size_of_symbol(packet);
        if self.bytes + bytes > room {
            return false;
        }
        self.bytes += bytes;
        if let Some((_, old)) = self.segments.insert(start, (end, packet.clone())) {
            self.bytes -= size_of_symbol(&old);
        }
        true
    }

    /// Notes that the peer has seen a stored segment.
    pub(super) fn see(&mut self, start: u64, end: u64, timestamp: u32) {
        if end <= self.seen_to {
            return;
        }
        let entry = self.ahead.entry(start).or_insert((end, timestamp));
        if entry.0 < end {
            *entry = (end, timestamp);
        }
        self.advance();
    }

    /// Forgets what the receiver has acknowledged.
    pub(super) fn acknowledge(&mut self, to: u64) {
        self.seen_to = self.seen_to.max(to);
        self.advance();
        while let Some(first) = self.segments.first_entry().filter(|entry| entry.get().0 <= to) {
            self.bytes -= size_of_symbol(&first.remove().1);
        }
    }

    /// The end of the seen part of the stream, and the TSval of the last segment in it.
    pub(super) fn seen_to(&self) -> (u64, u32) {
        (self.seen_to, self.timestamp)
    }

    /// The stored segments that begin at `from` or later: start, end, packet.
    pub(super) fn starting_at(&self, from: u64) -> impl Iterator<Item = (u64, u64, &Symbol)> {
        self.segments.range(from..).map(|(start, (end, packet))| (*start, *end, packet))
    }

    /// The start of the first stored segment.
    pub(super) fn first(&self) -> Option<u64> {
        self.segments.keys().next().copied()
    }

    /// Memory of the stored segments, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn advance(&mut self) {
        while let Some(first) = self.ahead.first_entry().filter(|entry| *entry.key() <= self.seen_to) {
            let (end, timestamp) = first.remove();
            if end > self.seen_to {
                (self.seen_to, self.timestamp) = (end, timestamp);
            }
        }
    }
}

fn size_of_symbol(packet: &Symbol) -> usize {
    packet.len() + SEGMENT
}
