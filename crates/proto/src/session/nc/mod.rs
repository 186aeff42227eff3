//! TCP/NC: a coding layer between TCP and IP (paper 000, section II; paper 001, section 2).
//!
//! The sending TCP is unchanged: it sends segments, and its congestion window decides how many are in flight.
//!
//! - [`NcSender`] lies below the sending TCP. It keeps the segments that are not acknowledged. For each segment that TCP
//!   sends, it sends R random linear combinations of the kept segments.
//! - [`NcReceiver`] lies below the receiving TCP. It answers each combination with the first segment that is not *seen*.
//!   Each innovative combination makes one more segment seen, whichever combinations were lost. So TCP sees a longer round
//!   trip instead of a loss.
//! - [`NcReceiver`] delivers segments in order when they are *decoded*, which may be much later. The caller drops the
//!   receiving TCP's own acknowledgements: the layer has acknowledged the segments already.
//! - [`NcRelay`] is a node on the path. It sends new combinations of the combinations that it has received.
//!
//! All three keep the contract of [`Session`](super::Session). None has a time-out: TCP's timers are the only ones.
//!
//! ```text
//!   TCP --segment--> NcSender --NcPacket--> (NcRelay) --NcPacket--> NcReceiver --segment--> TCP's receiver
//!   TCP <--acknowledgement-- NcSender <----------NcAck------------- NcReceiver
//! ```
//!
//! All three are generic over the payload. [`ripstop_codes::Symbol`] codes bytes. [`ripstop_codes::Length`] works on
//! coefficients alone and takes the same decisions; simulations use it. A decoded payload may end in zeros, up to the
//! length of the longest payload in its combinations. A caller that needs the exact end must put the length into the
//! payload.
//!
//! `docs/researchers/tcp-nc.md` describes the options and the cost of each.

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

/// A packet that carries a combination of TCP segments, or one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcPacket<P> {
    /// The packet's number. The sender counts its packets from 0 on. A relay's combination has the number of the packet
    /// that caused it.
    pub number: u64,
    /// The first segment that the sender still holds. Later packets contain no earlier segment.
    pub oldest: u64,
    /// Whether a retransmission of TCP caused the packet.
    pub retransmission: bool,
    /// The segments in the combination.
    pub members: Members,
    /// The coefficients. None: the packet is one segment, uncoded.
    pub coding: Option<Coding>,
    /// The combination. It is as long as its longest member.
    pub payload: P,
    /// The packet's size on a link, bytes: payload, header ([`NcConfig::header_bytes`]) and coefficients
    /// ([`NcConfig::coef_bytes`]).
    pub bytes: u32,
}

impl<P> NcPacket<P> {
    /// The packet with its size, ready for a link.
    fn transmit(self) -> Transmit<NcPacket<P>> {
        Transmit { bytes: self.bytes, packet: self, ect: false }
    }
}

/// The acknowledgement of a packet.
///
/// The paper's acknowledgement has `first_unseen` alone. A sender needs the other fields to measure loss
/// ([`CombinationRate::Adaptive`]) and to stay within the receiver's memory ([`NcConfig::ahead`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NcAck {
    /// The first segment that is not seen. TCP gets this acknowledgement.
    pub first_unseen: u64,
    /// The first segment that is not decoded.
    pub first_undecoded: u64,
    /// The highest segment in any combination received, plus one.
    pub heard: u64,
    /// Segments before `heard` that are not seen.
    pub deficit: u64,
    /// The highest packet number received.
    pub highest: u64,
    /// How many packets were received.
    pub received: u64,
}
