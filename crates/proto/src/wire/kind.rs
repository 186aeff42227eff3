//! The kinds of source symbols: what a symbol holds.

/// What a source symbol holds. The value is the upper half of the symbol's first byte. The meaning of the lower half, and how
/// long the symbol is, depend on the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SymbolKind {
    /// An IP packet. The lower half is its [`Gap`](crate::packets::Gap), and the IP header has its length.
    Packet = 0,
    /// A piece of an IP packet ([`Piece`](crate::packets::Piece)). The lower half is the gap, and the header of the piece has
    /// the length.
    Piece = 1,
}

impl SymbolKind {
    /// The kind of the symbol whose first byte is `first`. None: there is no such kind.
    pub fn of(first: u8) -> Option<SymbolKind> {
        SymbolKind::from_number(first >> 4)
    }

    /// The first byte of a symbol of this kind with the lower half `low`.
    pub const fn first_byte(self, low: u8) -> u8 {
        (self as u8) << 4 | low & 15
    }

    /// The kind with this number.
    pub(super) fn from_number(number: u8) -> Option<SymbolKind> {
        match number {
            0 => Some(SymbolKind::Packet),
            1 => Some(SymbolKind::Piece),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_half_of_the_first_byte_is_the_kind() {
        let kinds: Vec<u8> = (0..=255).filter(|first| SymbolKind::of(*first).is_some()).collect();
        assert_eq!(kinds, (0..32).collect::<Vec<u8>>());
        for first in kinds {
            assert_eq!(SymbolKind::of(first).map(|kind| kind.first_byte(first)), Some(first));
        }
    }
}
