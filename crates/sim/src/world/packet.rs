//! What travels between nodes.

use crate::tcp::Ack;
use ripstop_codes::Length;
use ripstop_proto::session::nc::{NcAck, NcPacket};
use ripstop_proto::wire::Datagram;
use std::net::SocketAddr;

use super::session::LabelledPacket;

/// Bytes of the headers of IP and TCP without options: what every segment has on top of its payload.
pub const TCP_IP_HEADERS: u32 = 40;

/// Bytes of the headers of IPv4 and UDP.
pub const UDP_IP_HEADERS: u32 = 28;

/// A packet on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkPacket {
    /// The number of the route that it follows.
    pub(super) route: u32,
    /// How many links of the route lie behind it.
    pub(super) hop: u16,
    /// Whether it travels the route's way back.
    pub back: bool,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its size, bytes, headers of the network layer included.
    pub bytes: u32,
    /// What it carries.
    pub body: Body,
}

/// The ECN field of a packet's IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable: a link that would mark it leaves it alone.
    #[default]
    NotCapable,
    /// ECN-capable, ECT(0), and not marked.
    Capable,
    /// Marked by a link: Congestion Experienced.
    Marked,
}

/// What a packet carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A segment of a TCP, by its number.
    Data(u64),
    /// An acknowledgement of a TCP.
    Ack(Ack),
    /// A segment, and an acknowledgement of the flow in the other direction of its connection ([`super::World::join`]).
    Both(Box<(u64, Ack)>),
    /// A UDP datagram of a source, by its number.
    Udp(u64),
    /// A combination of segments (TCP/NC).
    Coded(Box<Combination>),
    /// The answer to a combination.
    Seen(NcAck),
    /// A typed datagram of a tunnel.
    Datagram(Box<TunnelDatagram>),
    /// A datagram of an endpoint, as bytes.
    Sealed(Box<SealedDatagram>),
}

/// A combination of segments without their bytes.
pub type Combination = NcPacket<Length>;

/// A typed datagram of a tunnel.
pub type TunnelDatagram = Datagram<LabelledPacket>;

/// A datagram as two endpoints exchange it: sealed bytes, and the UDP addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedDatagram {
    /// The address that it comes from.
    pub from: SocketAddr,
    /// The address that it goes to.
    pub to: SocketAddr,
    /// The content of the UDP datagram.
    pub bytes: Box<[u8]>,
}
