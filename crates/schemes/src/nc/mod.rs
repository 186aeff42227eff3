//! TCP/NC (TCP with network coding): a coding layer between TCP and IP (paper 000, section II;
//! paper 001, section 2).
//!
//! The sending TCP is unchanged: it sends segments, and its congestion window decides how many
//! segments are in flight. The files of this module use these words:
//!
//! - A *combination* is a linear combination of segments over GF(256). Its *members* are the
//!   segments that it contains.
//! - A combination is *innovative* if it does not follow from the combinations received before. An
//!   innovative combination adds one *degree of freedom*: one more independent equation about the
//!   segments.
//! - The receiver eliminates known segments from each innovative combination and keeps the result
//!   as a *row* of a matrix. The first segment of the row is then *seen*.
//! - A segment is *decoded* when the receiver knows its payload.
//! - The *deficit* is the number of segments that are not seen, although received combinations
//!   contain them. The deficit is also the number of innovative combinations that the receiver
//!   still needs to decode everything.
//! - *R* is the number of combinations sent for each segment of TCP.
//!
//! The parts are:
//!
//! - [`NcSender`] lies below the sending TCP. The sender keeps the segments that are not
//!   acknowledged. For each segment that TCP sends, the sender sends R combinations of the kept
//!   segments, with random coefficients.
//! - [`NcReceiver`] lies below the receiving TCP. The receiver answers each combination with the
//!   number of the first segment that is not seen. Each innovative combination makes one more
//!   segment seen, no matter which combinations were lost. So TCP observes a longer round trip
//!   instead of a loss.
//! - [`NcReceiver`] delivers segments in order when they are *decoded*. A segment may be decoded
//!   much later than it is seen. The caller drops the receiving TCP's own acknowledgements: the
//!   layer has acknowledged the segments already.
//! - [`NcRelay`] is a node on the path. The relay sends new combinations of the combinations that
//!   it has received.
//!
//! The sender, the receiver and the relay follow the contract of [`Session`](ripstop_proto::session::Session). They
//! have no time-outs: TCP's timers are the only timers.
//!
//! ```text
//!   TCP --segment--> NcSender --NcPacket--> (NcRelay) --NcPacket--> NcReceiver --segment--> TCP
//!   TCP <--acknowledgement-- NcSender <----------NcAck------------- NcReceiver
//! ```
//!
//! The three types are generic over the type of the payload. With [`ripstop_codes::Symbol`], they
//! code bytes. With [`ripstop_codes::Length`], a payload is only a length, and they compute with
//! coefficients only. The decisions are the same with both types of payload. Simulations use
//! `Length`.
//!
//! A decoded payload may be padded with zeros at its end. The padded length is at most the length
//! of the longest payload in the combinations from which the payload was decoded. A caller that
//! needs the exact length must put the length into the payload.
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

use ripstop_codes::window::{Coding, Members};
use ripstop_proto::session::Transmit;

/// A packet that carries a combination of TCP segments, or one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcPacket<P> {
    /// The packet's number. The sender numbers its packets from 0 on. A relay sends combinations
    /// when a packet arrives, and gives these combinations the number of that packet.
    pub number: u64,
    /// The lowest segment that the sender still held when it sent the packet. Packets sent later
    /// contain no segment before this one.
    pub oldest: u64,
    /// Whether a retransmission of TCP caused the packet.
    pub retransmission: bool,
    /// The segments that the combination contains.
    pub members: Members,
    /// The coefficients of the members. None: the packet is one segment, uncoded.
    pub coding: Option<Coding>,
    /// The combination of the members' payloads. The combination is as long as the longest of these
    /// payloads.
    pub payload: P,
    /// The packet's size on a link, bytes: payload, header ([`NcConfig::header_bytes`]) and
    /// coefficients ([`NcConfig::coef_bytes`]).
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
/// The acknowledgement in paper 000 has only `first_unseen`. A sender uses the other fields to
/// measure loss ([`MaskedLoss::Estimated`], [`CombinationRate::Adaptive`]) and to stay within the
/// receiver's memory ([`NcConfig::ahead`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NcAck {
    /// The first segment that is not seen. The sender passes this number to TCP as its
    /// acknowledgement.
    pub first_unseen: u64,
    /// The first segment that is not decoded.
    pub first_undecoded: u64,
    /// One more than the highest segment in any combination received.
    pub heard: u64,
    /// How many segments before `heard` are not seen.
    pub deficit: u64,
    /// The highest packet number received.
    pub highest: u64,
    /// How many packets the receiver has received and accepted so far.
    pub received: u64,
}
