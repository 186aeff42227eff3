//! What travels between nodes.

use super::coding::Combination;
use super::tunnel::TunnelDatagram;
use crate::tcp::Ack;
use ripstop_proto::session::nc::NcAck;

/// Bytes of the headers of IP and TCP, without options: what every segment has on top of its payload.
pub const TCP_IP_HEADERS: u32 = 40;

/// A packet on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// The route it follows, by the number of its owner.
    pub(super) route: u32,
    /// How many links of the route lie behind it.
    pub(super) hop: u16,
    /// Whether it travels the route's way back.
    pub back: bool,
    /// Its size, bytes, headers of the network layer included.
    pub bytes: u32,
    /// What it carries.
    pub body: Body,
}

/// What a packet carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A segment of a TCP, by its number.
    Data(u64),
    /// An acknowledgement.
    Ack(Ack),
    /// A segment, and an acknowledgement of the flow in the other direction of its connection ([`super::Network::join`]).
    Both(Box<(u64, Ack)>),
    /// A combination of segments (TCP/NC).
    Coded(Box<Combination>),
    /// The answer to one.
    Seen(NcAck),
    /// A datagram of a tunnel.
    Datagram(Box<TunnelDatagram>),
}
