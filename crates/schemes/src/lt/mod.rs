//! TCP/LT: the packets of a TCP connection in fountain-coded blocks (paper 004).
//!
//! A gateway stands at the border of a lossy network. It accepts the packets of a TCP sender in the
//! Internet, and groups them into *blocks* of K packets. It sends *symbols* of each block over the
//! lossy path. The client decodes a block as soon as it has received enough symbols, no matter
//! which. For an upload, the client has the sender of this module and the gateway has the receiver.
//!
//! - [`LtSender`] takes packets from TCP, sends symbols, and decides when TCP's packets are
//!   acknowledged.
//! - [`LtReceiver`] decodes blocks, delivers packets in order, and reports what it has received
//!   ([`LtAck`]).
//! - [`Shares`] gives each flow of a gateway its rate x_s (equations (3) to (7)).
//!
//! ```text
//!   TCP --packet--> LtSender --LtPacket--> lossy path --LtPacket--> LtReceiver --packet--> TCP
//!   TCP <--acknowledgement-- LtSender <---------LtAck-------------- LtReceiver
//! ```
//!
//! Sender and receiver follow the contract of [`Session`](ripstop_proto::session::Session). Both are generic over
//! the payload, as [`nc`](super::nc) is. A decoded packet may be padded with zeros at its end. A
//! caller that needs the exact length must put the length into the payload.
//!
//! # The modes
//!
//! [`LtMode::Paper`] is algorithms 1 and 2 as printed. The steps that the text requires and the
//! algorithms leave out are filled in:
//!
//! 1. A block that was decoded is released, its packets are acknowledged to TCP, and N_s is lowered
//!    (algorithm 1, 3(d)i).
//! 2. The gateway forwards the LT-ACK that it generates (algorithm 1, 3(c)ii).
//! 3. `EB_s` and N_s are updated when a block is encoded.
//! 4. A block that is not full is sent when no packet has come for some time. TCP begins with two
//!    packets, so a block of 16 packets would never become full.
//! 5. N_MAX of equation (11) is at least 1, and a top-up has at least one symbol.
//! 6. The estimates begin with their first samples.
//!
//! This mode stops for ever when an LT-ACK is lost, because neither end sends again. So it is only
//! for simulations.
//!
//! [`LtMode::Repaired`] adds what makes the protocol work: a receiving timer that fires again, a
//! timer at the sender, an LT-ACK for each late packet of a decoded block, a test of the start
//! condition after each LT-ACK, and one TCP acknowledgement for each packet.
//!
//! [`LtMode::Improved`], the default, keeps blocks and codes but has other feedback: the sender
//! asks for an LT-ACK, and each LT-ACK reports on all blocks in flight. `docs/researchers/tcp-lt.md`
//! describes the modes and compares them.

mod block_code;
mod config;
mod estimates;
mod packet;
mod receiver;
mod receiving_block;
mod sender;
mod sending_block;
mod shares;

pub use block_code::{BlockCode, MAX_BLOCK};
pub use config::{BlockSize, FirstRound, LtConfig, LtConfigError, LtMode};
pub use packet::{BlockState, LtAck, LtPacket, LtReport, LtSymbol, MAX_RATE, MAX_REPORTED};
pub use receiver::{LtReceiver, LtReceiverCounts};
pub use sender::{LEAST_REQUESTS, LtSender, LtSenderCounts, PACE, REQUEST_EVERY, Segment};
pub use shares::{FlowId, FlowShare, IDLE, Shares};

/// What TCP gives to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LtInner<P> {
    /// TCP has sent a SYN, or has sent it again. Only the improved mode takes SYNs; in the paper's
    /// modes, a SYN passes the gateway as it is.
    Open,
    /// A packet with data.
    Segment(Segment<P>),
}

/// TCP has accepted the connection that the receiver has delivered ([`LtDelivered::Open`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted;

/// What the receiver delivers to TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LtDelivered<P> {
    /// A SYN. The caller answers with [`Accepted`].
    Open,
    /// A packet. Packets come in order, and each packet comes one time. The payload may end in
    /// padding zeros.
    Packet {
        /// The packet's number.
        number: u64,
        /// The packet's data.
        payload: P,
    },
}

/// An acknowledgement for the sending TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpAck {
    /// The number of the first packet that is not acknowledged.
    pub next: u64,
    /// How many packets from `next` on the sender has room for: the window that it advertises to
    /// TCP. None: the window does not change. A repeated acknowledgement whose window ends later is
    /// an update of the window, and says nothing about losses (RFC 5681, section 2).
    pub room: Option<u32>,
}

/// What a session reports to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LtEvent {
    /// The other end has restarted and has lost its state. The session has ended. The caller must
    /// reset the TCP connection, because packets may be lost that are already acknowledged.
    PeerRestarted,
}
