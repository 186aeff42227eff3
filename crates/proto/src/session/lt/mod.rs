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
//! Sender and receiver follow the contract of [`Session`](super::Session). Both are generic over
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
mod receiver;
mod receiving_block;
mod sender;
mod sending_block;
mod shares;

pub use block_code::{BlockCode, MAX_BLOCK};
pub use config::{BlockSize, FirstRound, LtConfig, LtConfigError, LtMode};
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

/// A packet of the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LtPacket<P> {
    /// A request to open the connection. The sender repeats it until the receiver answers.
    Open {
        /// The identifier of the session.
        session: u32,
    },
    /// A symbol of a block.
    Symbol(LtSymbol<P>),
}

/// A symbol of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LtSymbol<P> {
    /// The identifier of the session. The sender draws it, so that each end notices a restart of
    /// the other end.
    pub session: u32,
    /// The packet's number. The sender numbers its packets from 0 on.
    pub number: u64,
    /// All blocks before this one are decoded, as far as the sender knows.
    pub oldest: u64,
    /// The number of the block. Blocks are numbered from 0 on.
    pub block: u64,
    /// K: the number of source symbols in the block, 1 to [`MAX_BLOCK`].
    pub k: u8,
    /// Which symbol of the block's code this is.
    pub symbol: u32,
    /// How many packets of this block the sender sent before this one.
    pub index: u32,
    /// Whether the sender asks for an LT-ACK.
    pub request: bool,
    /// The symbol.
    pub payload: P,
}

/// LT-ACK: what the receiver tells the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LtAck {
    /// The identifier of the session, from the packets that this LT-ACK answers.
    pub session: u32,
    /// What the receiver reports.
    pub report: LtReport,
    /// x_s: the rate that the gateway gives to an upload, bit/s. None: there is no news.
    pub rate: Option<u64>,
}

/// The content of an [`LtAck`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LtReport {
    /// One block, as in paper 004.
    Block {
        /// The number of the block.
        block: u64,
        /// N_recv: how many packets of this block the receiver has received.
        received: u32,
        /// One more than the highest [`LtSymbol::index`] received of this block.
        heard: u32,
        /// Whether the block is decoded.
        is_decoded: bool,
    },
    /// Everything that the receiver knows.
    All {
        /// One more than the highest [`LtSymbol::number`] received.
        heard: u64,
        /// How many packets the receiver has received.
        received: u64,
        /// All blocks before this one are decoded.
        decoded: u64,
        /// The state of the blocks from `decoded` on, in order. Blocks after the last entry are
        /// unknown to the receiver.
        blocks: Vec<BlockState>,
    },
    /// The connection is open: the answer to [`LtPacket::Open`].
    Opened,
    /// The receiver does not know the session, or takes it for one that has ended: one end has restarted. The sender
    /// must begin a new session.
    Unknown,
}

/// The state of a block at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockState {
    /// How many degrees of freedom are still missing. 0: the block is decoded. 255: no packet of the
    /// block has arrived.
    pub missing: u8,
    /// Which source symbols the receiver has: bit i stands for source symbol i. All bits are 1 if
    /// the block is decoded.
    pub known: u64,
}

impl BlockState {
    /// The block is decoded.
    pub const DECODED: BlockState = BlockState { missing: 0, known: u64::MAX };
    /// No packet of the block has arrived.
    pub const UNHEARD: BlockState = BlockState { missing: u8::MAX, known: 0 };
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
