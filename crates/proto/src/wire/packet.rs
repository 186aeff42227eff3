//! The typed packets that sessions exchange, and their meaning. `docs/contributors/wire-format.md`
//! specifies their bytes. `mod.rs` explains *source symbol*, *repair*, *member* and *seen*.
//!
//! "32 bits on the wire" means that the wire carries only the low 32 bits of the number.

use super::kind::SymbolKind;
use ripstop_codes::window::{Coding, Members};
use std::ops::Range;
use std::time::Duration;

/// One datagram of a session: a typed packet and its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagram<P> {
    /// The datagram's number. Each end numbers its datagrams to the peer 0, 1, 2, ...
    pub number: u64,
    /// The content of the datagram.
    pub packet: Packet<P>,
}

/// The content of a datagram.
#[derive(Clone, Debug, PartialEq)]
pub enum Packet<P> {
    /// A source symbol, uncoded.
    Source {
        /// The number of the source symbol (20 bits on the wire).
        id: u64,
        /// What the symbol holds. The upper half of the symbol's first byte says the same. The wire carries only one of
        /// the two.
        kind: SymbolKind,
        /// The symbol.
        payload: P,
    },
    /// A repair symbol: a linear combination of source symbols.
    Repair {
        /// The numbers of the source symbols that the repair combines.
        members: Members,
        /// The coefficients of the members: a seed from which they are computed, or a list.
        coding: Coding,
        /// The combination of the members.
        payload: P,
    },
    /// A repair of a block of source symbols with consecutive numbers (paper 003). Any K packets of the block restore
    /// it ([`super::block_coding`]).
    BlockRepair {
        /// The number of the block's first source symbol (20 bits on the wire).
        first: u64,
        /// K: how many source symbols the block has.
        k: u8,
        /// The repair's number in the block, from 0 on.
        number: u8,
        /// The combination of the source symbols.
        payload: P,
    },
    /// A report of what has arrived from the peer.
    Feedback(Box<Feedback>),
    /// The sender's coding window, and the interval at which the sender wants reports.
    Window(Window),
    /// Only padding. The packet is a keep-alive, or tests whether the path carries a datagram of
    /// this size.
    Probe {
        /// The number of padding bytes.
        padding: u16,
    },
    /// The sender ends the session.
    Close,
    /// Asks the peer to prove that it receives datagrams at the address that this packet is sent
    /// to. The peer sends the token back.
    Challenge {
        /// A random number.
        token: u64,
    },
    /// The answer to a challenge.
    Answer {
        /// The token of the challenge.
        token: u64,
    },
}

impl<P> Packet<P> {
    /// Whether the packet asks for a report. Feedback and [`Packet::Close`] do not ask for one. If
    /// feedback asked for a report, two idle ends would answer each other's reports for ever.
    /// Challenges and answers do not ask either: the sender repeats a challenge without an answer.
    pub fn is_eliciting(&self) -> bool {
        !matches!(self, Packet::Feedback(_) | Packet::Close | Packet::Challenge { .. } | Packet::Answer { .. })
    }
}

/// A receiver's report: what it says of the path, and what it says of the symbols. At least one of the two is there.
///
/// Each report is complete in itself, because any report may be lost. The two parts answer different questions, so they may
/// also travel alone: a relay answers for its own path, and passes the report of the symbols on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feedback {
    /// The datagrams that have arrived.
    pub path: Option<PathReport>,
    /// The source symbols that are missing.
    pub symbols: Option<SymbolReport>,
}

/// A report of the datagrams that have arrived on a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathReport {
    /// The highest datagram number received.
    pub largest: u64,
    /// When datagram `largest` arrived, in microseconds on the receiver's clock, whose origin is
    /// arbitrary (32 bits on the wire).
    pub largest_at_us: u64,
    /// The time from the arrival of datagram `largest` to this report.
    pub delay: Duration,
    /// How many datagrams were received so far (32 bits on the wire). Datagrams with the same
    /// number count as one.
    pub received: u64,
    /// The bytes of the datagrams counted in `received`, with IP and UDP headers (40 bits on the
    /// wire).
    pub received_bytes: u64,
    /// How many datagrams so far were received with the mark Congestion Experienced (RFC 3168; 32
    /// bits on the wire).
    pub ce: u64,
    /// When the datagrams since the previous report arrived.
    pub batch: Batch,
    /// The datagram numbers from `acked_from` to `largest` that were received, as ranges from high
    /// to low. The first range ends at `largest + 1`. Ranges do not overlap, and there is at least
    /// one number between two ranges.
    pub acked: Vec<Range<u64>>,
    /// The lowest datagram number that `acked` covers. A number from `acked_from` to `largest` that
    /// is not in `acked` was not received. If `acked` is empty, `acked_from` is `largest + 1`.
    pub acked_from: u64,
}

/// A report of the source symbols that are missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SymbolReport {
    /// The first source symbol that is not decoded.
    pub next_undecoded: u64,
    /// One more than the highest source symbol that the receiver knows to exist.
    pub end: u64,
    /// The source symbols from `next_undecoded` on that are not seen, as ascending ranges. If the
    /// receiver got these symbols, it could decode all other symbols from the repairs that it has.
    /// If the report has no room for all unseen symbols, only the lowest ones are listed.
    pub unseen: Vec<Range<u64>>,
    /// The deficit: how many source symbols before `end` are not seen. Symbols for which `unseen`
    /// has no room count too.
    pub deficit: u32,
    /// How many source symbols before `end` are not decoded.
    pub undecoded: u32,
    /// How many repairs so far gave the receiver nothing new (32 bits on the wire). Only repairs
    /// with contiguous or equally spaced members ([`Members::is_span`]) are counted. Proactive
    /// repairs for bulk flows have such members.
    pub redundant: u64,
}

/// When the datagrams of one report arrived, relative to the arrival of datagram
/// [`PathReport::largest`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// How many datagrams arrived since the previous report.
    pub count: u32,
    /// The lowest datagram number in the batch.
    pub lowest: u64,
    /// The arrival time of datagram `largest` minus the mean arrival time of the batch,
    /// microseconds.
    pub mean_before_us: i32,
    /// The arrival time of datagram `largest` minus the arrival time of datagram `lowest`,
    /// microseconds.
    pub lowest_before_us: i32,
}

/// A sender's announcement of its coding window: the source symbols that it may still combine in
/// repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first source symbol that the sender may still send or repair.
    pub base: u64,
    /// A repair may contain symbols that the receiver already has, if they are among the newest
    /// `reach` symbols.
    pub reach: u32,
    /// The interval between reports that the sender wants while data arrives. The receiver raises a
    /// shorter interval to 1 ms, and lowers a longer one to 1 s.
    pub report_every: Duration,
    /// The deadline: the sender gives up a symbol when this time has passed since the symbol was
    /// sent. The receiver waits for a missing symbol for 1.25 times the deadline, then delivers
    /// later packets of the flow without the missing packet. The receiver counts a deadline above
    /// 60 s as 60 s.
    pub deadline: Duration,
}
