//! Pieces: an inner packet that is longer than the tunnel's MTU travels in several symbols, its *pieces*.
//! `docs/contributors/wire-format.md` specifies the bytes.
//!
//! IPv6 promises its users that packets of 1280 bytes arrive (RFC 8200, section 5), and kernels make no shorter segments
//! when a router asks for them. So a tunnel over a path of 1280 bytes cuts such packets.

use super::symbol::NotASymbol;

/// The length of the header in front of a piece, bytes.
pub const PIECE_HEADER: usize = 6;
/// The largest number of pieces of one packet. The number has four bits; 9000 bytes over a path of 1280 bytes are 8 pieces.
/// Half the value drops such packets when a path of 9000 bytes shrinks. Double the value does not fit the four bits.
pub const MOST_PIECES: u8 = 15;

/// The header of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The low 16 bits of the packet's flow ([`Inner::flow`](crate::inner::Inner::flow)), so that the pieces are
    /// delivered in order with the flow's other packets.
    pub flow: u16,
    /// Which piece this is, from 0 on.
    pub index: u8,
    /// The number of pieces, 2 to [`MOST_PIECES`].
    pub count: u8,
    /// The length of the packet, bytes.
    pub total: u16,
}

impl Piece {
    /// The headers of the pieces of a packet of `total` bytes, if a symbol holds at most `most` bytes of header and piece.
    /// None: the packet needs more than [`MOST_PIECES`] pieces, or fits as it is.
    pub fn plan(flow: u64, total: u32, most: u32) -> Option<impl Iterator<Item = Piece>> {
        let (flow, total) = (flow as u16, u16::try_from(total).ok()?);
        let room = (most as usize).checked_sub(PIECE_HEADER).filter(|room| *room > 0)?;
        let count = usize::from(total).div_ceil(room);
        let count = u8::try_from(count).ok().filter(|count| (2..=MOST_PIECES).contains(count))?;
        Some((0..count).map(move |index| Piece { flow, index, count, total }))
    }

    /// Where the piece begins and ends in the packet, bytes. All pieces but the last have the same length.
    pub fn range(&self) -> std::ops::Range<usize> {
        let (total, index) = (usize::from(self.total), usize::from(self.index));
        let each = total.div_ceil(usize::from(self.count.max(1)));
        (index * each).min(total)..((index + 1) * each).min(total)
    }

    /// The bytes of the header.
    pub fn header(&self) -> [u8; PIECE_HEADER] {
        let ([flow_high, flow_low], [high, low]) = (self.flow.to_be_bytes(), self.total.to_be_bytes());
        [self.index & 15, self.count, flow_high, flow_low, high, low]
    }

    /// Reads the header at the front of a piece.
    ///
    /// # Errors
    /// The bytes are not such a header.
    pub fn read(bytes: &[u8]) -> Result<Piece, NotASymbol> {
        let [first, count, flow_high, flow_low, high, low] = *bytes.first_chunk().ok_or(NotASymbol::Piece)?;
        let (flow, total) = (u16::from_be_bytes([flow_high, flow_low]), u16::from_be_bytes([high, low]));
        let piece = Piece { flow, index: first, count, total };
        let is_valid = (2..=MOST_PIECES).contains(&count) && piece.index < count;
        // The last piece has at least one byte.
        let last = Piece { index: count.wrapping_sub(1), ..piece };
        if is_valid && !last.range().is_empty() { Ok(piece) } else { Err(NotASymbol::Piece) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_packet_are_the_packet() {
        for (total, most) in [(1280, 1216), (1280, 1236), (1280, 512), (9000, 1216), (1436, 1435), (100, 14)] {
            let pieces: Vec<Piece> = Piece::plan(0x1_2345, total, most).unwrap().collect();
            let mut at = 0;
            for piece in &pieces {
                assert_eq!(Piece::read(&piece.header()), Ok(*piece));
                assert_eq!((piece.range().start, piece.flow), (at, 0x2345));
                assert!(piece.range().len() + PIECE_HEADER <= most as usize && !piece.range().is_empty());
                at = piece.range().end;
            }
            assert_eq!((at, pieces.len()), (total as usize, usize::from(pieces[0].count)));
        }
    }

    #[test]
    fn impossible_pieces_are_refused() {
        assert!(Piece::plan(0, 1280, 1300).is_none(), "fits as it is");
        assert!(Piece::plan(0, 1280, 6).is_none() && Piece::plan(0, 60_000, 1280).is_none());
        let good = Piece { flow: 9, index: 1, count: 2, total: 1280 };
        for bad in [
            Piece { count: 1, index: 0, ..good },
            Piece { count: 16, ..good },
            Piece { index: 2, ..good },
            Piece { total: 0, ..good },
            Piece { total: 5, count: 4, index: 0, ..good },
        ] {
            assert_eq!(Piece::read(&bad.header()), Err(NotASymbol::Piece), "{bad:?}");
        }
        assert_eq!(Piece::read(&good.header()[..5]), Err(NotASymbol::Piece));
    }
}
