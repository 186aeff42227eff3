//! Inner packets are the IP packets that a tunnel carries. This module reads and changes their
//! fields.
//!
//! - [`Inner::parse`] validates a packet and reads the fields that identify the packet's flow.
//! - [`clamp_mss`] lowers the MSS in TCP SYNs so that segments fit into the tunnel.
//! - [`mark_congestion`] sets the ECN mark.
//! - [`too_big`] makes the ICMP answer to a packet that is too long for the tunnel.
//!
//! The fields are parsed by hand for two reasons. A general parser that slices each layer takes
//! twice as long, and does not find the flow (`bench/benches/wire.rs`). A general parser also rejects
//! packets that a router would forward. A tunnel should forward the same packets as a router. So
//! this module checks only the version and the lengths in the IP header. The lengths must be
//! checked, because the receiving end takes a decoded packet's length from the IP header.

pub(crate) mod checksum;
mod ecn;
mod mss;
mod too_big;

pub use ecn::mark_congestion;
pub use mss::clamp_mss;
pub use too_big::too_big;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// Why bytes are not an IP packet that a tunnel can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotIp {
    /// The packet has no bytes.
    #[error("empty packet")]
    Empty,
    /// The IP version, in the first four bits, is neither 4 nor 6.
    #[error("IP version {0}; only 4 and 6 are carried")]
    Version(u8),
    /// The packet ends within its IP header.
    #[error("{0} bytes are too few for an IP header")]
    Header(usize),
    /// The IPv4 header length is below 20 bytes or beyond the total length.
    #[error("an IPv4 header length of {0} bytes is below 20 or beyond the packet")]
    HeaderLength(usize),
    /// The length in the IP header exceeds the number of bytes that were given.
    #[error("the IP header announces {announced} bytes, but the packet has only {present}")]
    Length {
        /// The packet length in the IP header, bytes.
        announced: usize,
        /// The number of bytes that were given.
        present: usize,
    },
}

/// A valid inner packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner<'a> {
    /// The bytes of the packet, without link-layer padding after it.
    pub bytes: &'a [u8],
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// The IP protocol number of the payload. In IPv6, this is the next-header value of the last
    /// header in front of the payload. In an IPv6 fragment, this is the next-header value of the
    /// fragment header.
    pub protocol: u8,
    /// Whether the packet is a fragment. The ports of fragments are not read, so that all fragments
    /// of a packet belong to one flow.
    pub fragment: bool,
    /// The source and destination ports of TCP, UDP, UDP-Lite, DCCP and SCTP. None for fragments,
    /// for other protocols, and for payloads of fewer than four bytes.
    pub ports: Option<(u16, u16)>,
    /// The traffic class byte: DSCP in the upper six bits, ECN in the lower two (RFC 2474, RFC
    /// 3168).
    pub traffic_class: u8,
    /// Where the payload of the IP packet begins in `bytes`. In a TCP packet this is the offset of
    /// the TCP header.
    pub payload_at: usize,
}

impl<'a> Inner<'a> {
    /// Validates the packet at the front of `bytes`. Bytes after the packet are ignored.
    ///
    /// # Errors
    /// The bytes are not an IP packet.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Inner<'a>, NotIp> {
        let len = packet_len(bytes)?;
        let bytes = bytes.get(..len).ok_or(NotIp::Length { announced: len, present: bytes.len() })?;
        if bytes[0] >> 4 == 4 { ipv4(bytes) } else { ipv6(bytes) }
    }

    /// The differentiated services code point, 0..=63 (RFC 2474).
    pub fn dscp(&self) -> u8 {
        self.traffic_class >> 2
    }

    /// The ECN bits: 0 not capable, 1 and 2 capable, 3 congestion experienced (RFC 3168).
    pub fn ecn(&self) -> u8 {
        self.traffic_class & 3
    }

    /// A hash of addresses, protocol and ports. All packets of a flow in one direction have the
    /// same hash, on every machine. For fragments and for protocols without ports, the hash covers
    /// only addresses and protocol.
    #[inline]
    pub fn flow(&self) -> u64 {
        let mut h = mix(0x5249_5053_544f_5031, u64::from(self.protocol));
        if let Some((source, destination)) = self.ports {
            h = mix(h, 1 << 32 | u64::from(source) << 16 | u64::from(destination));
        }
        match (self.source, self.destination) {
            (IpAddr::V4(s), IpAddr::V4(d)) => mix(h, u64::from(u32::from(s)) << 32 | u64::from(u32::from(d))),
            (s, d) => {
                let (s, d) = (bits(s), bits(d));
                [s >> 64, s, d >> 64, d].iter().fold(h, |h, word| mix(h, *word as u64))
            }
        }
    }

    /// The TCP header and data. None for other protocols, for fragments, and for a payload that is
    /// too short for a TCP header.
    #[inline]
    pub fn tcp(&self) -> Option<&'a [u8]> {
        let tcp = self.bytes.get(self.payload_at..)?;
        (self.protocol == TCP && !self.fragment && tcp.len() >= 20).then_some(tcp)
    }

    /// The acknowledgement number of a pure TCP acknowledgement that says nothing more than this number and a window. None
    /// if the packet has other flags than ACK, an ECN mark, or an option other than timestamps, such as SACK blocks.
    pub fn plain_ack(&self) -> Option<u32> {
        let tcp = self.tcp().filter(|tcp| self.ecn() == 0 && tcp[13] == 0b0001_0000)?;
        let header = usize::from(tcp[12] >> 4) * 4;
        let options = tcp.get(20..header).filter(|_| header == tcp.len())?;
        // No options, or timestamps and padding (RFC 7323, appendix A).
        let plain = matches!(options, [] | [1, 1, 8, 10, ..] if options.len() <= 12);
        plain.then(|| u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]))
    }

    /// Whether the packet is a TCP segment with the flag SYN.
    #[inline]
    pub fn is_syn(&self) -> bool {
        self.tcp().is_some_and(|tcp| tcp[13] & 0b10 != 0)
    }

    /// Whether the packet is a pure TCP acknowledgement: it has the flag ACK, none of the flags
    /// SYN, FIN and RST, and no data. Acknowledgements are cumulative, so the tunnel need not
    /// deliver them in order.
    #[inline]
    pub fn is_bare_ack(&self) -> bool {
        self.tcp().is_some_and(|tcp| {
            let header = usize::from(tcp[12] >> 4) * 4;
            // SYN, FIN and RST clear, ACK set (RFC 9293, section 3.1).
            tcp[13] & 0b0001_0111 == 0b0001_0000 && header == tcp.len()
        })
    }
}

/// The source address of an IP packet. None: the bytes are not the start of one. Nothing but the version is checked: the
/// packet was parsed before.
#[inline]
pub fn source(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.first()? >> 4 {
        4 => Some(Ipv4Addr::from(*bytes.get(12..)?.first_chunk::<4>()?).into()),
        6 => Some(Ipv6Addr::from(*bytes.get(8..)?.first_chunk::<16>()?).into()),
        _ => None,
    }
}

/// The packet length in the IP header at the front of `bytes`. `bytes` may be longer or shorter
/// than the packet. The first 6 bytes of the packet suffice.
///
/// # Errors
/// The bytes are not the start of an IP header.
#[inline]
pub fn packet_len(bytes: &[u8]) -> Result<usize, NotIp> {
    let first = *bytes.first().ok_or(NotIp::Empty)?;
    let field = |at: usize| match bytes.get(at..at + 2) {
        Some(pair) => Ok(usize::from(u16::from_be_bytes([pair[0], pair[1]]))),
        None => Err(NotIp::Header(bytes.len())),
    };
    match first >> 4 {
        4 => {
            let (total, header) = (field(2)?, usize::from(first & 15) * 4);
            if header < IPV4_HEADER || header > total {
                return Err(NotIp::HeaderLength(header));
            }
            Ok(total)
        }
        6 => Ok(IPV6_HEADER + field(4)?),
        version => Err(NotIp::Version(version)),
    }
}

/// The longest IPv6 packet that every sender may expect to arrive, bytes: the minimum MTU of IPv6 (RFC 8200, section 5). A
/// longer packet is answered with ICMPv6, which names no smaller MTU. With half the value, the tunnel loses the packets of
/// kernels, which make no shorter ones. With double the value, the tunnel cuts packets whose senders would make shorter ones.
pub const IPV6_LEAST_MTU: u16 = 1280;

pub(crate) const IPV4_HEADER: usize = 20;
pub(crate) const IPV6_HEADER: usize = 40;
pub(crate) const TCP: u8 = 6;

/// Parses an IPv4 packet. [`packet_len`] has checked that the header lies within the packet.
#[inline]
fn ipv4(bytes: &[u8]) -> Result<Inner<'_>, NotIp> {
    let header = bytes.first_chunk::<IPV4_HEADER>().ok_or(NotIp::Header(bytes.len()))?;
    let [class, protocol] = [header[1], header[9]];
    let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    // A fragment has the flag "more fragments" or an offset other than 0 (RFC 791, section 3.1).
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let payload_at = usize::from(header[0] & 15) * 4;
    Ok(Inner {
        bytes,
        source: address(12).into(),
        destination: address(16).into(),
        protocol,
        fragment,
        ports: if fragment { None } else { ports(protocol, &bytes[payload_at..]) },
        traffic_class: class,
        payload_at,
    })
}

/// Parses an IPv6 packet.
fn ipv6(bytes: &[u8]) -> Result<Inner<'_>, NotIp> {
    let header = bytes.first_chunk::<IPV6_HEADER>().ok_or(NotIp::Header(bytes.len()))?;
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&header[at..at + 16]);
        Ipv6Addr::from(octets)
    };
    let (protocol, payload_at, fragment) = walk_extensions(bytes, header[6]);
    Ok(Inner {
        bytes,
        source: address(8).into(),
        destination: address(24).into(),
        protocol,
        fragment,
        ports: if fragment { None } else { ports(protocol, &bytes[payload_at..]) },
        traffic_class: header[0] << 4 | header[1] >> 4,
        payload_at,
    })
}

/// Skips the IPv6 extension headers (RFC 8200, section 4). Returns the payload's protocol, its
/// offset, and whether the packet is a fragment. The loop ends at a header that goes beyond the end
/// of the packet. Such a packet is not refused here: its destination decides what to do with the
/// packet. Each step advances by at least 8 bytes, so the loop ends.
fn walk_extensions(bytes: &[u8], mut protocol: u8) -> (u8, usize, bool) {
    let mut at = IPV6_HEADER;
    while let Some(&[next, units]) = bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()) {
        let len = match protocol {
            // Hop-by-hop, routing, destination options, mobility, HIP, shim6.
            0 | 43 | 60 | 135 | 139 | 140 => (usize::from(units) + 1) * 8,
            // Authentication header: the length field counts units of 4 bytes, minus 2 (RFC 4302,
            // section 2.2).
            51 => (usize::from(units) + 2) * 4,
            // Fragment header. An atomic fragment (offset 0, no more fragments: RFC 6946) is a
            // whole packet.
            44 => match bytes.get(at + 2..at + 4) {
                Some(offset) if u16::from_be_bytes([offset[0], offset[1]]) & 0xfff9 == 0 => 8,
                _ => return (next, at, true),
            },
            _ => break,
        };
        if at + len > bytes.len() {
            break;
        }
        (protocol, at) = (next, at + len);
    }
    (protocol, at, false)
}

/// The ports of a TCP, DCCP, UDP, SCTP or UDP-Lite payload. The ports are the first four bytes of
/// the payload.
#[inline]
fn ports(protocol: u8, payload: &[u8]) -> Option<(u16, u16)> {
    let p = payload.first_chunk::<4>()?;
    matches!(protocol, TCP | 17 | 33 | 132 | 136)
        .then_some((u16::from_be_bytes([p[0], p[1]]), u16::from_be_bytes([p[2], p[3]])))
}

/// The address as a number.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    }
}

/// Mixes `word` into the hash `h`: multiplies to a 128-bit product, and combines the two halves of
/// the product.
#[inline]
fn mix(h: u64, word: u64) -> u64 {
    let product = u128::from(h ^ word) * 0x9e37_79b9_7f4a_7c15_u128;
    (product as u64 ^ (product >> 64) as u64).wrapping_add(0x9e37_79b9_7f4a_7c15)
}
