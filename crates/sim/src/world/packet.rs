//! The packets that travel between nodes: their size, their ECN field, and their content.

use crate::tcp::Ack;
use ripstop_codes::Length;
use ripstop_proto::wire::Datagram;
use ripstop_schemes::lt::{LtAck, LtPacket};
use ripstop_schemes::nc::{NcAck, NcPacket};
use std::net::SocketAddr;

use super::session::LabelledPacket;

/// IPv4 and TCP headers without options, bytes (RFC 791, RFC 9293). Each segment has these headers in addition to its
/// payload.
pub const TCP_IP_HEADERS: u32 = 40;

/// IPv4 and UDP headers, bytes (RFC 791, RFC 768).
pub const UDP_IP_HEADERS: u32 = 28;

/// A packet on its route.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkPacket {
    /// The number of the packet's route.
    pub(super) route: u32,
    /// How many links of the route the packet has passed.
    pub(super) hop: u16,
    /// Whether the packet travels on the route's way back.
    pub back: bool,
    /// The packet's ECN field.
    pub ecn: Ecn,
    /// Whether the packet is a TCP segment with the flag CWR: its sender has reacted to a mark (RFC 3168).
    pub cwr: bool,
    /// The packet's size in bytes, IP headers included.
    pub bytes: u32,
    /// The packet's content.
    pub body: Body,
}

/// The ECN field of a packet's IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ecn {
    /// Not ECN-capable. A link never marks such a packet.
    #[default]
    NotCapable,
    /// ECN-capable, ECT(0), and not marked.
    Capable,
    /// Congestion Experienced: a link has marked the packet.
    Marked,
}

impl Ecn {
    /// The two bits of the field. ECN-capable packets of the simulator have ECT(0).
    pub(super) fn bits(self) -> u8 {
        match self {
            Ecn::NotCapable => 0,
            Ecn::Capable => 2,
            Ecn::Marked => 3,
        }
    }

    /// The field with these bits. None for ECT(1), which no packet of the simulator has.
    pub(super) fn from_bits(bits: u8) -> Option<Ecn> {
        [Ecn::NotCapable, Ecn::Capable, Ecn::Marked].into_iter().find(|ecn| ecn.bits() == bits)
    }
}

/// What the headers of a packet say about congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EcnFlags {
    /// The ECN field of the IP header.
    pub(super) ecn: Ecn,
    /// The flag CWR of the TCP header.
    pub(super) cwr: bool,
}

impl NetworkPacket {
    /// What the packet's headers say about congestion.
    pub(super) fn ecn_flags(&self) -> EcnFlags {
        EcnFlags { ecn: self.ecn, cwr: self.cwr }
    }
}

/// The content of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment, by its number.
    Data(u64),
    /// A TCP acknowledgement.
    Ack(Ack),
    /// A TCP segment with an acknowledgement of the opposite flow of its connection ([`super::World::join`]).
    Both(Box<(u64, Ack)>),
    /// A UDP datagram of a source, by its number.
    Udp(u64),
    /// A linear combination of TCP segments (TCP/NC).
    Coded(Box<Combination>),
    /// The acknowledgement of a combination (TCP/NC).
    Seen(NcAck),
    /// A symbol of a block of TCP segments (TCP/LT).
    Symbol(Box<BlockSymbol>),
    /// An LT-ACK (TCP/LT).
    LtAck(Box<LtAck>),
    /// A TCP acknowledgement with a window that limits the sender (TCP/LT).
    Granted {
        /// The first packet that is not acknowledged.
        next: u64,
        /// How many packets from `next` on may be sent.
        room: u32,
    },
    /// The acknowledgement of a SYN, with the rate that a gateway gives to the flow, bit/s (TCP/LT). None: the gateway
    /// gives no rate.
    Admitted(Box<(Ack, Option<u64>)>),
    /// A tunnel's datagram, as a typed packet.
    Datagram(Box<TunnelDatagram>),
    /// An endpoint's datagram, as encrypted bytes.
    Sealed(Box<SealedDatagram>),
}

/// A combination of TCP segments. It carries the lengths of the segments instead of their bytes.
pub type Combination = NcPacket<Length>;

/// A symbol of a block of TCP segments. It carries the length of the symbol instead of bytes.
pub type BlockSymbol = LtPacket<Length>;

/// A datagram of a tunnel as a Rust value. Its inner packets are labels ([`LabelledPacket`]) instead of bytes.
pub type TunnelDatagram = Datagram<LabelledPacket>;

/// A datagram as two endpoints exchange it: encrypted bytes, and the UDP addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedDatagram {
    /// The source address.
    pub from: SocketAddr,
    /// The destination address.
    pub to: SocketAddr,
    /// The payload of the UDP datagram.
    pub bytes: Box<[u8]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets are moved several times on each link. A larger packet makes the simulator slower.
    #[test]
    fn packets_are_small() {
        assert_eq!(std::mem::size_of::<Ack>(), 48);
        assert_eq!(std::mem::size_of::<NetworkPacket>(), 72);
    }
}
