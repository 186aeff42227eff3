//! The typed packets that sessions exchange. What they mean is here; how they look in bytes is in
//! [`super::parse_body`] and `docs/contributors/wire-format.md`.

use ripstop_codes::window::{Coding, Members};
use std::ops::Range;
use std::time::Duration;

/// One datagram of a session, as typed content: what is sealed, and under which number.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagram<P> {
    /// Number of the datagram: one 64-bit space per path and direction, over all datagrams.
    pub number: u64,
    /// What it carries.
    pub packet: Packet<P>,
}

/// What a datagram carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Packet<P> {
    /// A source symbol, sent as it is.
    Source {
        /// Number of the source symbol (20 bits of it on the wire).
        id: u64,
        /// How far back the flow's previous symbol is: see [`Gap`].
        gap: Gap,
        /// The symbol: one byte with the gap, then the inner packet ([`crate::wire::symbol`]). The gap
        /// byte is not sent twice.
        payload: P,
    },
    /// A repair symbol: a linear combination of source symbols.
    Repair {
        /// The source symbols combined.
        members: Members,
        /// Their coefficients, by seed or written out.
        coding: Coding,
        /// The combination.
        payload: P,
    },
    /// What has arrived, in the other direction.
    Feedback(Box<Feedback>),
    /// What the sender will still repair, and how often it wants to hear.
    Window(Window),
    /// Nothing but `padding` bytes: a keep-alive, or a test whether the path carries this size.
    Probe {
        /// Bytes of padding.
        padding: u16,
    },
    /// The sender ends the session.
    Close,
}

impl<P> Packet<P> {
    /// Whether the packet asks to be reported. Feedback is not: two idle ends would answer each
    /// other's reports for ever.
    pub fn is_eliciting(&self) -> bool {
        !matches!(self, Packet::Feedback(_) | Packet::Close)
    }
}

/// How far back the previous symbol of the same flow is, as a power of two: it is between
/// 2^gap and 2^(gap+1) - 1 identifiers back. It lets the receiver deliver a flow in order without
/// making it wait for another flow's losses. [`Gap::NONE`]: no earlier symbol within reach, nothing
/// to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap(u8);

impl Gap {
    /// Nothing of this flow within the last 2^15 - 1 symbols.
    pub const NONE: Gap = Gap(15);
    /// The previous symbol is of the same flow.
    pub const ADJACENT: Gap = Gap(0);

    /// The gap for a previous symbol `distance` identifiers back (0 means that there is none).
    pub fn from_distance(distance: u64) -> Gap {
        match distance {
            0 => Gap::NONE,
            d => Gap((d.ilog2() as u8).min(15)),
        }
    }

    /// The gap coded by the low four bits of `nibble`.
    pub const fn from_nibble(nibble: u8) -> Gap {
        Gap(nibble & 15)
    }

    /// The four bits on the wire.
    pub const fn nibble(self) -> u8 {
        self.0
    }

    /// The identifiers among which the previous symbol of the flow is, given this symbol's `id`;
    /// empty for [`Gap::NONE`].
    pub fn predecessors(self, id: u64) -> Range<u64> {
        if self == Gap::NONE {
            return id..id;
        }
        let nearest = 1u64 << self.0;
        let start = id.saturating_sub(2 * nearest - 1);
        start..(id + 1).saturating_sub(nearest).max(start)
    }
}

/// What a receiver reports. Each report stands alone: any of them may be lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feedback {
    /// The highest datagram number received.
    pub largest: u64,
    /// When it arrived, on the receiver's clock, in microseconds (any epoch; 32 bits on the wire).
    pub largest_at_us: u64,
    /// How long after that arrival this report was made.
    pub delay: Duration,
    /// Datagrams received so far, each number once (32 bits on the wire).
    pub received: u64,
    /// Bytes of those datagrams, IP and UDP headers included (40 bits on the wire).
    pub received_bytes: u64,
    /// The arrivals since the previous report.
    pub batch: Batch,
    /// Datagram numbers received, as ranges from high to low, not overlapping nor touching; the
    /// first ends at `largest + 1`. They reach back to `acked_from`.
    pub acked: Vec<Range<u64>>,
    /// Below this number `acked` says nothing.
    pub acked_from: u64,
    /// The first source symbol that is not decoded.
    pub next_undecoded: u64,
    /// One past the highest source symbol that the receiver knows to exist.
    pub end: u64,
    /// Source symbols at or after `next_undecoded` that are *not seen*: exactly those that it
    /// takes, together with the repairs already held, to decode everything. Ascending; the first
    /// ones if there is no room for all.
    pub unseen: Vec<Range<u64>>,
    /// How many source symbols are unseen (the deficit), listed or not.
    pub deficit: u32,
    /// How many source symbols are not decoded.
    pub undecoded: u32,
    /// Repairs over a range of symbols (those sent ahead of losses in bulk) that brought nothing new, so far (32 bits on the
    /// wire).
    pub redundant: u64,
    /// Datagrams received with Congestion Experienced, so far (32 bits on the wire).
    pub ce: u64,
}

/// When the datagrams of one report arrived, relative to the arrival of the highest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// How many datagrams arrived since the previous report.
    pub count: u32,
    /// The lowest number among them.
    pub lowest: u64,
    /// Arrival of the highest number less the mean arrival of the batch, microseconds.
    pub mean_before_us: i32,
    /// Arrival of the highest number less that of `lowest`, microseconds.
    pub lowest_before_us: i32,
}

/// What a sender tells about its coding window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// No source symbol before this one will be sent or repaired again.
    pub base: u64,
    /// Repairs name symbols that the receiver has only among the `reach` before the newest.
    pub reach: u32,
    /// How often the sender wants a report while data arrives.
    pub report_every: Duration,
    /// How long a symbol may be waited for before its flow goes on without it.
    pub deadline: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_brackets_the_distance() {
        assert_eq!(Gap::from_distance(0), Gap::NONE);
        assert_eq!(Gap::from_distance(1), Gap::ADJACENT);
        assert_eq!(Gap::ADJACENT.predecessors(10), 9..10);
        assert_eq!(Gap::NONE.predecessors(10), 10..10);
        for distance in 1..40_000u64 {
            let gap = Gap::from_distance(distance);
            let range = gap.predecessors(100_000);
            assert!(gap == Gap::NONE || range.contains(&(100_000 - distance)), "{distance} {range:?}");
        }
        // Near the beginning of the numbers the range is cut, never inverted.
        for id in 0..100 {
            for nibble in 0..16 {
                let range = Gap::from_nibble(nibble).predecessors(id);
                assert!(range.start <= range.end && range.end <= id, "{id} {nibble} {range:?}");
            }
        }
    }
}
