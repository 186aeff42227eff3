//! The types of datagrams, and the header of sealed datagrams. A *sealed* datagram is encrypted and
//! authenticated by an AEAD; only handshake datagrams are not sealed.

use super::bytes::{Malformed, Reader, expand};
use super::kind::SymbolKind;
use super::packet::Packet;
use ripstop_codes::window::Coding;

/// The length of the AEAD tag at the end of every sealed datagram, bytes.
pub const TAG_LEN: usize = 16;
/// The length of the header of a sealed datagram, bytes: type (1), receiver index (4), datagram
/// number (4).
pub const HEADER_LEN: usize = 9;
/// The length of the IPv4 and UDP headers in front of a datagram, bytes.
pub const IPV4_UDP_LEN: usize = 28;
/// The length of the IPv6 and UDP headers in front of a datagram, bytes.
pub const IPV6_UDP_LEN: usize = 48;
/// The MTU of an IPv4 path minus the tunnel's MTU, bytes. Over IPv6 the difference is 20 more. The
/// value covers the 56 bytes that a source packet adds to an inner packet. The value also covers a
/// repair with at most [`REPAIR_FIELDS`] bytes of fields.
pub const MTU_OVERHEAD: usize = 64;
/// The room for the fields of a repair in front of its combination, 10 bytes. With fields of at
/// most this length, a repair for the largest inner packets fits the path's MTU. The value is
/// [`MTU_OVERHEAD`] (64) minus four lengths: IP and UDP headers (28), the datagram's header (9),
/// the tag (16) and the first byte of the symbol (1).
pub const REPAIR_FIELDS: usize = MTU_OVERHEAD - IPV4_UDP_LEN - HEADER_LEN - TAG_LEN - 1;

/// The type byte of a source symbol of kind 0. The lower half is the symbol's kind.
const SOURCE: u8 = 0x20;

/// What a sealed datagram contains. The first byte of the datagram, its type, says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A source symbol of this kind.
    Source(SymbolKind),
    /// A repair that carries a seed, from which its coefficients are computed.
    RepairBySeed,
    /// A repair that carries a list of its coefficients.
    RepairExplicit,
    /// A report of the datagrams that have arrived, and of the symbols that are missing.
    Report,
    /// An announcement of the sender's coding window.
    Window,
    /// Padding only.
    Probe,
    /// The end of the session.
    Close,
    /// A token that the peer must send back, to prove that it receives at an address.
    Challenge,
    /// The token of a challenge.
    Answer,
    /// A repair of a block.
    RepairOfBlock,
    /// A report of the datagrams alone.
    PathReport,
    /// A report of the symbols alone.
    SymbolReport,
}

impl Kind {
    /// Whether such datagrams carry inner packets, or combinations of them.
    pub fn carries_packets(self) -> bool {
        matches!(self, Kind::Source(_) | Kind::RepairBySeed | Kind::RepairExplicit | Kind::RepairOfBlock)
    }

    /// Whether such datagrams are reports.
    pub fn is_report(self) -> bool {
        matches!(self, Kind::Report | Kind::PathReport | Kind::SymbolReport)
    }

    /// The kind with the type byte `byte`.
    ///
    /// # Errors
    /// There is no such type byte.
    pub fn from_byte(byte: u8) -> Result<Kind, Malformed> {
        Ok(match byte {
            0x11 => Kind::RepairBySeed,
            0x12 => Kind::RepairExplicit,
            0x13 => Kind::Report,
            0x14 => Kind::Window,
            0x15 => Kind::Probe,
            0x16 => Kind::Close,
            0x17 => Kind::Challenge,
            0x18 => Kind::Answer,
            0x19 => Kind::RepairOfBlock,
            0x1a => Kind::PathReport,
            0x1b => Kind::SymbolReport,
            byte if byte & 0xf0 == SOURCE => {
                Kind::Source(SymbolKind::from_number(byte & 15).ok_or(Malformed::Type(byte))?)
            }
            other => return Err(Malformed::Type(other)),
        })
    }

    /// The type byte.
    pub const fn byte(self) -> u8 {
        match self {
            Kind::RepairBySeed => 0x11,
            Kind::RepairExplicit => 0x12,
            Kind::Report => 0x13,
            Kind::Window => 0x14,
            Kind::Probe => 0x15,
            Kind::Close => 0x16,
            Kind::Challenge => 0x17,
            Kind::Answer => 0x18,
            Kind::RepairOfBlock => 0x19,
            Kind::PathReport => 0x1a,
            Kind::SymbolReport => 0x1b,
            Kind::Source(kind) => SOURCE | kind as u8,
        }
    }

    /// The kind of `packet`.
    pub fn of<P>(packet: &Packet<P>) -> Kind {
        match packet {
            Packet::Source { kind, .. } => Kind::Source(*kind),
            Packet::Repair { coding: Coding::Seed(_), .. } => Kind::RepairBySeed,
            Packet::Repair { coding: Coding::Explicit(_), .. } => Kind::RepairExplicit,
            Packet::BlockRepair { .. } => Kind::RepairOfBlock,
            Packet::Feedback(feedback) => match (&feedback.path, &feedback.symbols) {
                (Some(_), None) => Kind::PathReport,
                (None, Some(_)) => Kind::SymbolReport,
                _ => Kind::Report,
            },
            Packet::Window(_) => Kind::Window,
            Packet::Probe { .. } => Kind::Probe,
            Packet::Close => Kind::Close,
            Packet::Challenge { .. } => Kind::Challenge,
            Packet::Answer { .. } => Kind::Answer,
        }
    }
}

/// The header of a sealed datagram. The header is authenticated, but not encrypted: it is the
/// AEAD's associated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the body holds.
    pub kind: Kind,
    /// The receiver index: a number that the receiver chose in the handshake, to find the session
    /// of a datagram.
    pub receiver: u32,
    /// The low 32 bits of the datagram's number.
    pub number: u32,
}

impl Header {
    /// The header's bytes.
    #[inline]
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = self.kind.byte();
        bytes[1..5].copy_from_slice(&self.receiver.to_be_bytes());
        bytes[5..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// Reads the header of a sealed datagram.
    ///
    /// # Errors
    /// The type is unknown, or the datagram is too short for a header and a tag.
    #[inline]
    pub fn parse(datagram: &[u8]) -> Result<Header, Malformed> {
        let mut r = Reader::new(datagram);
        let [kind] = r.array("type")?;
        let kind = Kind::from_byte(kind)?;
        let receiver = u32::from_be_bytes(r.array("receiver index")?);
        let number = u32::from_be_bytes(r.array("datagram number")?);
        if r.rest().len() < TAG_LEN {
            return Err(Malformed::Short("tag"));
        }
        Ok(Header { kind, receiver, number })
    }

    /// The full number of the datagram. Of all numbers with the low 32 bits `number`, the full
    /// number is the one nearest to `expected` (as in RFC 9000, appendix A.3). `expected` is one
    /// more than the highest number received so far, or a higher number that the peer announced in
    /// a handshake.
    #[inline]
    pub fn full_number(self, expected: u64) -> u64 {
        expand(u64::from(self.number), 32, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overheads_are_those_of_the_design() {
        assert_eq!(IPV4_UDP_LEN + HEADER_LEN + 3 + TAG_LEN, 56);
        assert_eq!(REPAIR_FIELDS, 10);
    }

    #[test]
    fn comes_back() {
        for byte in 0..=255u8 {
            let mut datagram = [0u8; HEADER_LEN + TAG_LEN];
            datagram[0] = byte;
            datagram[1..9].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
            match Header::parse(&datagram) {
                Ok(header) => {
                    assert_eq!((header.receiver, header.number), (0x0102_0304, 0x0506_0708));
                    assert_eq!(header.to_bytes(), datagram[..HEADER_LEN]);
                }
                Err(e) => assert_eq!(e, Malformed::Type(byte)),
            }
        }
        let short = [0x11; HEADER_LEN + TAG_LEN - 1];
        assert_eq!(Header::parse(&short), Err(Malformed::Short("tag")));
        assert_eq!(Header::parse(&[]), Err(Malformed::Short("type")));
    }

    #[test]
    fn numbers_go_on_over_32_bits() {
        let header = |number| Header { kind: Kind::Probe, receiver: 0, number };
        assert_eq!(header(5).full_number(0), 5);
        assert_eq!(header(0).full_number(1 << 32), 1 << 32);
        assert_eq!(header(u32::MAX).full_number((1 << 32) + 1), u64::from(u32::MAX));
    }
}
