//! TCP/NC: a coding layer between TCP and IP (paper 000, section II; paper 001, section 2).
//!
//! A TCP sends segments as ever and stays the one who decides how many may be under way. Below it, [`NcSender`] keeps
//! what is not acknowledged and puts random linear combinations of it on the wire in place of the segments, R for each of
//! them. Beyond the losses, [`NcReceiver`] answers each with the first packet that it has not *seen*: any combination that
//! is innovative makes one more packet seen, whichever were lost, so TCP meets a longer round trip instead of a loss.
//! Packets go to the receiving TCP in order when they are *decoded*, which may be much later; what that TCP acknowledges is
//! absorbed by the caller, for the layer has spoken already. An [`NcRelay`] on the way makes new combinations of what it
//! gets.
//!
//! All three keep the contract of [`Session`](super::Session). None has a time-out: there is no timer below TCP's own.
//!
//! ```text
//!   TCP --segment--> NcSender --NcPacket--> (NcRelay) --NcPacket--> NcReceiver --segment--> TCP's receiver
//!   TCP <--acknowledgement-- NcSender <----------NcAck------------- NcReceiver
//! ```
//!
//! All are generic over the payload: [`ripstop_codes::Symbol`] codes bytes, [`ripstop_codes::Length`] takes the same
//! decisions on coefficients alone, for simulations. A decoded payload may be followed by zeros, as far as the longest
//! payload that was coded with it: whoever needs the end must write the length into the payload.
//!
//! `docs/researchers/tcp-nc.md` has the options and what each of them costs.

mod config;
mod receiver;
mod redundancy;
mod relay;
mod sender;

pub use config::{
    Acknowledge, CodingWindow, Coefficients, CombinationRate, Factor, MaskedLoss, NcConfig, NcConfigError,
    Retransmissions, Rounding,
};
pub use receiver::{NcReceiver, ReceiverCounts};
pub use redundancy::rule;
pub use relay::{NcRelay, RelayCounts};
pub use sender::{NcSender, Segment, SenderCounts};

use super::Transmit;
use ripstop_codes::window::{Coding, Members};

/// What crosses the network in place of a TCP segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcPacket<P> {
    /// The sender's packets count up from 0. What a relay makes of one has its number.
    pub number: u64,
    /// The first segment that the sender still holds: no later packet combines an earlier one.
    pub oldest: u64,
    /// Whether it was sent because TCP sent a segment again.
    pub retransmission: bool,
    /// The segments that it combines.
    pub members: Members,
    /// With which coefficients; None for a single segment as it is.
    pub coding: Option<Coding>,
    /// The combination, as long as its longest member.
    pub payload: P,
    /// What it takes on a link, bytes: payload, header ([`NcConfig::header_bytes`]), coefficients ([`NcConfig::coef_bytes`]).
    pub bytes: u32,
}

impl<P> NcPacket<P> {
    /// The packet as it leaves.
    fn transmit(self) -> Transmit<NcPacket<P>> {
        Transmit { bytes: self.bytes, packet: self, ect: false }
    }
}

/// The answer to a packet. The paper's has `first_unseen` alone; the rest is what a sender needs that measures loss
/// ([`CombinationRate::Adaptive`]), and that must not run away from the receiver ([`NcConfig::ahead`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NcAck {
    /// The first segment that is not seen: the acknowledgement that TCP gets.
    pub first_unseen: u64,
    /// The first segment that is not decoded.
    pub first_undecoded: u64,
    /// The segment after the highest that any combination had.
    pub heard: u64,
    /// Segments before `heard` that are not seen.
    pub deficit: u64,
    /// The highest number among the packets that arrived.
    pub highest: u64,
    /// How many arrived.
    pub received: u64,
}
