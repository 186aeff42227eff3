//! Inner packets in symbols, the units that repairs combine. A symbol is one byte with its
//! [`SymbolKind`] and a [`Gap`] (the distance to the previous symbol of the same flow), then the
//! inner packet. If the gap is exact, the distance follows in two bytes. A packet that is longer than
//! the tunnel's MTU travels in several symbols; in each of them a [`Piece`] takes the place of the
//! inner packet.
//!
//! When symbols of different lengths are combined, the shorter symbols are padded with zeros. A
//! symbol needs no length field, because the IP header of the inner packet, or the header of the
//! piece, contains the length.

use super::gap::Gap;
use super::piece::{PIECE_HEADER, Piece};
use crate::inner::{NotIp, packet_len};
use crate::wire::SymbolKind;
use thiserror::Error;

/// The number of bytes in front of the inner packet in a symbol: one, with the kind and the gap.
pub const PREFIX: usize = 1;

/// Why a decoded symbol is not an inner packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotASymbol {
    /// The symbol has no bytes.
    #[error("empty symbol")]
    Empty,
    /// The upper half of the first byte names no kind that holds packets.
    #[error("the first byte is {0:#04x}; its upper half must be 0 (a packet) or 1 (a piece of a packet)")]
    Kind(u8),
    /// The gap is exact, and the distance after the inner packet is missing or 0.
    #[error("an exact gap without a distance after the inner packet")]
    Distance,
    /// The header of a piece is impossible.
    #[error("the header of a piece of a packet is impossible")]
    Piece,
    /// The bytes after the gap are not an IP packet.
    #[error(transparent)]
    Packet(#[from] NotIp),
    /// The padding after the packet is not all zero.
    #[error("nonzero bytes after an inner packet of {0} bytes")]
    Padding(usize),
}

/// Writes the symbol of the inner packet `inner`, or of a piece with its header, to `symbol`. Returns the symbol's length.
/// None when `symbol` is too short.
pub fn frame(kind: SymbolKind, gap: Gap, inner: &[u8], symbol: &mut [u8]) -> Option<usize> {
    let trailer = gap.trailer();
    let trailer = trailer.as_ref().map_or(&[][..], |bytes| bytes);
    let end = PREFIX + inner.len();
    let len = end + trailer.len();
    let symbol = symbol.get_mut(..len)?;
    symbol[0] = kind.first_byte(gap.nibble());
    symbol[PREFIX..end].copy_from_slice(inner);
    symbol[end..].copy_from_slice(trailer);
    Some(len)
}

/// Splits a symbol, which may be padded, into the gap and the inner packet, or the piece with its header. Wrongly decoded bytes
/// hardly ever pass for a symbol: kind, gap, IP version, lengths and zero padding must all be right.
///
/// # Errors
/// The bytes are not a symbol.
pub fn unframe(symbol: &[u8]) -> Result<(Gap, &[u8]), NotASymbol> {
    let (&first, rest) = symbol.split_first().ok_or(NotASymbol::Empty)?;
    let len = match SymbolKind::of(first).ok_or(NotASymbol::Kind(first))? {
        SymbolKind::Packet => packet_len(rest)?,
        SymbolKind::Piece => PIECE_HEADER + Piece::read(rest)?.range().len(),
    };
    let (inner, rest) =
        rest.split_at_checked(len).ok_or(NotASymbol::Packet(NotIp::Length { announced: len, present: rest.len() }))?;
    let trailer = rest.first_chunk().copied();
    let gap = Gap::read(first, trailer).ok_or(NotASymbol::Distance)?;
    let padding = if gap.trailer().is_some() { rest.get(Gap::TRAILER..).unwrap_or_default() } else { rest };
    if padding.iter().any(|byte| *byte != 0) {
        return Err(NotASymbol::Padding(len));
    }
    Ok((gap, inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_with_and_without_padding() {
        let mut inner = vec![0u8; 33];
        (inner[0], inner[3]) = (0x45, 33);
        inner[32] = 9;
        let mut symbol = [0; 64];
        let n = frame(SymbolKind::Packet, Gap::ADJACENT, &inner, &mut symbol).unwrap();
        assert_eq!(n, 34);
        for end in n..=64 {
            assert_eq!(unframe(&symbol[..end]), Ok((Gap::ADJACENT, &inner[..])));
        }
        assert!(matches!(unframe(&symbol[..n - 1]), Err(NotASymbol::Packet(NotIp::Length { .. }))));
        symbol[60] = 1;
        assert_eq!(unframe(&symbol), Err(NotASymbol::Padding(33)));
        symbol[0] = 0x10;
        assert_eq!(unframe(&symbol), Err(NotASymbol::Piece));
        symbol[0] = 0x20;
        assert_eq!(unframe(&symbol), Err(NotASymbol::Kind(0x20)));
        assert_eq!(unframe(&[]), Err(NotASymbol::Empty));
        assert_eq!(unframe(&[3]), Err(NotASymbol::Packet(NotIp::Empty)));
        assert_eq!(frame(SymbolKind::Packet, Gap::NONE, &inner, &mut symbol[..33]), None);
    }

    #[test]
    fn an_exact_gap_follows_the_packet() {
        let mut inner = [0u8; 20];
        (inner[0], inner[3]) = (0x45, 20);
        let mut symbol = [0; 64];
        let n = frame(SymbolKind::Packet, Gap::exact(300), &inner, &mut symbol).unwrap();
        assert_eq!((n, &symbol[..1], &symbol[21..23]), (23, &[14][..], &[1, 44][..]));
        for end in n..=64 {
            assert_eq!(unframe(&symbol[..end]), Ok((Gap::exact(300), &inner[..])));
        }
        assert_eq!(unframe(&symbol[..n - 1]), Err(NotASymbol::Distance));
        symbol[23] = 1;
        assert_eq!(unframe(&symbol), Err(NotASymbol::Padding(20)));
    }

    #[test]
    fn a_piece_takes_the_place_of_a_packet() {
        let piece = Piece { flow: 9, index: 1, count: 2, total: 7 };
        let content = [&piece.header()[..], &[1, 2, 3]].concat();
        let mut symbol = [0; 32];
        for gap in [Gap::ADJACENT, Gap::exact(300)] {
            symbol.fill(0);
            let n = frame(SymbolKind::Piece, gap, &content, &mut symbol).unwrap();
            for end in n..=32 {
                assert_eq!(unframe(&symbol[..end]), Ok((gap, &content[..])));
            }
            assert!(unframe(&symbol[..n - 1]).is_err());
        }
        symbol[2] = 1;
        assert_eq!(unframe(&symbol), Err(NotASymbol::Piece));
        symbol[0] = 0;
        assert!(matches!(unframe(&symbol), Err(NotASymbol::Packet(_))));
    }
}
