//! What a tunnel must know of an inner packet.

use crate::inner::Inner;
use crate::wire::Gap;
use crate::wire::symbol::unframe;
use ripstop_codes::{Payload, Symbol};

/// An inner packet as a tunnel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Identifies the flow: equal for the packets that must stay in order, equal at both ends.
    pub flow: u64,
    /// Whether later packets of the flow wait for this one, and it for earlier ones.
    pub order: Order,
    /// Length of the inner packet, bytes.
    pub len: u32,
}

/// How a packet is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In order within its flow; waits, up to the tunnel's deadline, for what is missing before it.
    InOrder,
    /// As soon as it is there, or not at all once a later one of its flow was: bare TCP
    /// acknowledgements (each says all that earlier ones said), and packets that ask for expedited
    /// forwarding (DSCP 46, RFC 3246), for which late is as bad as lost.
    Immediate,
}

/// A symbol that is an inner packet: one byte with its [`Gap`], then the packet
/// (`docs/contributors/wire-format.md`).
pub trait InnerPacket: Payload {
    /// Writes the gap into the symbol.
    fn set_gap(&mut self, gap: Gap);
    /// The gap in the symbol.
    fn gap(&self) -> Gap;
    /// What the packet is. None when it is malformed: a header that does not fit its symbol.
    fn meta(&self) -> Option<Meta>;
}

const EXPEDITED: u8 = 46;
/// Bare acknowledgements are a flow of their own: data of the same connection waits for data only.
const ACKNOWLEDGEMENTS: u64 = 0x9e37_79b9_7f4a_7c15;

impl InnerPacket for Symbol {
    fn set_gap(&mut self, gap: Gap) {
        self.edit(|bytes| {
            if let Some(first) = bytes.first_mut() {
                *first = gap.nibble();
            }
        });
    }

    fn gap(&self) -> Gap {
        Gap::from_nibble(self.as_slice().first().copied().unwrap_or(Gap::NONE.nibble()))
    }

    fn meta(&self) -> Option<Meta> {
        let (_, bytes) = unframe(self.as_slice()).ok()?;
        let inner = Inner::parse(bytes).ok()?;
        let len = bytes.len() as u32;
        Some(if inner.is_bare_ack() {
            Meta { flow: inner.flow() ^ ACKNOWLEDGEMENTS, order: Order::Immediate, len }
        } else {
            let order = if inner.dscp() == EXPEDITED { Order::Immediate } else { Order::InOrder };
            Meta { flow: inner.flow(), order, len }
        })
    }
}
