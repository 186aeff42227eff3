//! What a tunnel must know about an inner packet: its flow, its length, and how to deliver the
//! packet.
//!
//! [`InnerPacket`] makes the tunnel independent of the packet's format. [`Symbol`] implements this
//! trait for IP packets.

use super::class::Traffic;
use super::gap::Gap;
use super::piece::{PIECE_HEADER, Piece};
use super::symbol::unframe;
use crate::inner::{IPV6_LEAST_MTU, Inner, mark_congestion};
use crate::wire::SymbolKind;
use ripstop_codes::{Payload, Symbol};

/// What a tunnel knows about one inner packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Identifies the flow. Packets that must stay in order have the same value. Both ends compute
    /// the same value for a packet.
    pub flow: u64,
    /// Whether the packet is delivered in order within its flow.
    pub order: Order,
    /// Length of the inner packet, bytes.
    pub len: u32,
    /// The number that the packet acknowledges, if a later acknowledgement of the flow makes the packet needless. None
    /// for all packets but plain TCP acknowledgements.
    pub ack: Option<u32>,
    /// Whether the packet is a TCP segment with the flag SYN.
    pub is_syn: bool,
}

impl Meta {
    /// What the tunnel knows about an IP packet, and the fields from which a hint of its class follows.
    pub(crate) fn of(inner: &Inner) -> (Meta, Traffic) {
        let (len, is_syn) = (inner.bytes.len() as u32, inner.is_syn());
        if inner.is_bare_ack() {
            let flow = inner.flow() ^ ACKNOWLEDGEMENTS;
            // The next acknowledgement makes up for a lost one, whatever the connection carries. So
            // an acknowledgement gets no hint.
            return (Meta { flow, order: Order::Immediate, len, ack: inner.plain_ack(), is_syn }, Traffic::default());
        }
        let order = if inner.dscp() == EXPEDITED { Order::Immediate } else { Order::InOrder };
        let traffic = Traffic { dscp: inner.dscp(), protocol: inner.protocol, ports: inner.ports };
        (Meta { flow: inner.flow(), order, len, ack: None, is_syn }, traffic)
    }
}

/// How a packet is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In order within the flow. The packet waits for missing earlier packets of the flow, up to
    /// the tunnel's deadline.
    InOrder,
    /// As soon as the packet is known. The packet is dropped if a later packet of its flow was
    /// delivered before.
    ///
    /// Two kinds of packets are delivered this way: bare TCP acknowledgements, and packets with
    /// expedited forwarding (DSCP 46, RFC 3246). A bare TCP acknowledgement repeats the content of
    /// earlier acknowledgements. A packet with expedited forwarding is useless when late.
    Immediate,
}

/// A symbol that holds an inner packet.
///
/// The first byte holds the symbol's kind, and the packet's [`Gap`]: how far back the previous symbol of its flow is. The
/// inner packet follows this byte, and the distance of an exact gap follows the packet. See
/// `docs/contributors/wire-format.md`.
pub trait InnerPacket: Payload {
    /// Writes the gap into the symbol, which has no exact gap so far. An exact gap makes the symbol
    /// longer by [`Gap::TRAILER`] bytes.
    fn set_gap(&mut self, gap: Gap);
    /// Reads the gap from the symbol.
    fn gap(&self) -> Gap;
    /// What the symbol holds. The default is an IP packet.
    fn kind(&self) -> SymbolKind {
        SymbolKind::Packet
    }
    /// Flow, order and length of the packet. `None`: the symbol does not hold a valid inner packet.
    fn meta(&self) -> Option<Meta>;
    /// What [`InnerPacket::meta`] returns, and the fields from which a hint of the packet's class
    /// follows. The default gives no hint.
    fn meta_and_traffic(&self) -> Option<(Meta, Traffic)> {
        Some((self.meta()?, Traffic::default()))
    }
    /// Whether the tunnel must carry the packet, which has `len` bytes, although it is longer than the tunnel's MTU: its sender
    /// makes no shorter packets. The default is no.
    fn must_be_carried(&self, _len: u32) -> bool {
        false
    }
    /// The packet, of the flow `flow`, in pieces that fit symbols with at most `most` bytes after the gap. Empty: the
    /// packet cannot be cut. The default cuts no packet.
    fn cut(&self, _flow: u64, _most: u32) -> Vec<Self> {
        Vec::new()
    }
    /// The header of the piece, if the symbol holds a piece of a packet. The default knows no pieces.
    fn piece(&self) -> Option<Piece> {
        None
    }
    /// The packet of which `pieces` are all pieces, in order. The default joins no pieces.
    fn join(_pieces: &[Self]) -> Option<Self> {
        None
    }
    /// Marks the packet with Congestion Experienced if the packet is ECN-capable (RFC 3168). Returns
    /// whether the packet carries the mark. The default marks nothing.
    fn mark_congestion(&mut self) -> bool {
        false
    }
}

/// DSCP of expedited forwarding (RFC 3246).
const EXPEDITED: u8 = 46;
/// Mask that is XORed with the flow of a bare TCP acknowledgement.
///
/// The mask makes bare acknowledgements a flow of their own, so that data of the same connection
/// waits only for data. The value is 2^64 divided by the golden ratio, an arbitrary number with
/// mixed bits. Both ends must use the same mask.
const ACKNOWLEDGEMENTS: u64 = 0x9e37_79b9_7f4a_7c15;

impl InnerPacket for Symbol {
    fn set_gap(&mut self, gap: Gap) {
        if let Some(trailer) = gap.trailer() {
            let inner = self.as_slice().get(1..).unwrap_or_default();
            *self = Symbol::from_parts(&[&[self.kind().first_byte(gap.nibble())], inner, &trailer]);
            return;
        }
        self.edit(|bytes| {
            if let Some(first) = bytes.first_mut() {
                *first = *first & 0xf0 | gap.nibble();
            }
        });
    }

    fn gap(&self) -> Gap {
        let first = self.as_slice().first().copied().unwrap_or(Gap::NONE.nibble());
        if Gap::has_trailer(first) {
            return unframe(self.as_slice()).map_or(Gap::NONE, |(gap, _)| gap);
        }
        Gap::read(first, None).unwrap_or(Gap::NONE)
    }

    fn kind(&self) -> SymbolKind {
        self.as_slice().first().and_then(|first| SymbolKind::of(*first)).unwrap_or(SymbolKind::Packet)
    }

    fn meta(&self) -> Option<Meta> {
        self.meta_and_traffic().map(|(meta, _)| meta)
    }

    fn meta_and_traffic(&self) -> Option<(Meta, Traffic)> {
        let (_, bytes) = unframe(self.as_slice()).ok()?;
        if self.kind() == SymbolKind::Piece {
            let piece = Piece::read(bytes).ok()?;
            let (flow, len) = (u64::from(piece.flow), bytes.len() as u32);
            let meta = Meta { flow, order: Order::InOrder, len, ack: None, is_syn: false };
            return Some((meta, Traffic::default()));
        }
        Inner::parse(bytes).ok().map(|inner| Meta::of(&inner))
    }

    fn must_be_carried(&self, len: u32) -> bool {
        len <= u32::from(IPV6_LEAST_MTU) && self.as_slice().get(1).is_some_and(|first| first >> 4 == 6)
    }

    fn cut(&self, flow: u64, most: u32) -> Vec<Symbol> {
        let Ok((_, bytes)) = unframe(self.as_slice()) else { return Vec::new() };
        let Some(pieces) = Piece::plan(flow, bytes.len() as u32, most) else { return Vec::new() };
        pieces
            .map(|piece| {
                let content = bytes.get(piece.range()).unwrap_or_default();
                Symbol::from_parts(&[&[SymbolKind::Piece.first_byte(0)], &piece.header(), content])
            })
            .collect()
    }

    fn piece(&self) -> Option<Piece> {
        let bytes = self.as_slice().get(1..).filter(|_| self.kind() == SymbolKind::Piece)?;
        Piece::read(bytes).ok()
    }

    fn join(pieces: &[Symbol]) -> Option<Symbol> {
        let content = |symbol| unframe(Symbol::as_slice(symbol)).ok()?.1.get(PIECE_HEADER..);
        let mut parts: Vec<&[u8]> = vec![&[0]];
        for piece in pieces {
            parts.push(content(piece)?);
        }
        Some(Symbol::from_parts(&parts))
    }

    fn mark_congestion(&mut self) -> bool {
        // Most packets are not ECN-capable, so the symbol is not copied before the field was read.
        let capable = |bytes| Inner::parse(bytes).is_ok_and(|inner| inner.ecn() != 0);
        let mut marked = false;
        if unframe(self.as_slice()).is_ok_and(|(_, bytes)| capable(bytes)) {
            self.edit(|bytes| marked = bytes.get_mut(1..).is_some_and(mark_congestion));
        }
        marked
    }
}
