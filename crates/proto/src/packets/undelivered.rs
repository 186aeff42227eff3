//! Packets that may be delivered, and how many of them are delivered at a time.
//!
//! One datagram can make a whole window of packets deliverable: it fills the gap for which they waited, or it ends their
//! session. So the user of a tunnel may take a part of them, and the rest later.

use super::inner_packet::{InnerPacket, Order};
use super::order::{Delivered, InOrder};
use super::pieces::Joiner;
use crate::coding::SLOT;
use ripstop_base::Time;

/// How much of what may be delivered is taken now. A piece of a packet counts like a packet.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryRoom {
    /// Packets that may still be taken.
    pub packets: usize,
    /// Bytes that may still be taken. The packet that reaches the limit is taken whole.
    pub bytes: usize,
}

impl DeliveryRoom {
    /// Room for all packets.
    pub fn unlimited() -> DeliveryRoom {
        DeliveryRoom { packets: usize::MAX, bytes: usize::MAX }
    }

    /// Uses the room of a packet or piece of `bytes` bytes.
    pub fn take(&mut self, bytes: usize) {
        self.packets = self.packets.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    fn is_left(&self) -> bool {
        self.packets > 0 && self.bytes > 0
    }
}

/// The packets of a session that is over.
#[derive(Debug)]
pub struct Undelivered<P> {
    order: InOrder<P>,
    joiner: Joiner<P>,
}

impl<P: InnerPacket> Undelivered<P> {
    pub(crate) fn new(order: InOrder<P>, joiner: Joiner<P>) -> Undelivered<P> {
        Undelivered { order, joiner }
    }

    /// Removes and returns the next packet, if there is `room`.
    pub fn poll(&mut self, now: Time, room: &mut DeliveryRoom) -> Option<Delivered<P>> {
        poll(now, &mut self.order, &mut self.joiner, room)
    }

    /// Whether all packets were taken.
    pub fn is_empty(&self) -> bool {
        self.order.ready().0 == 0
    }

    /// Memory of the packets, bytes.
    pub fn memory(&self) -> usize {
        let payloads = self.order.ready().0 + self.joiner.payloads();
        self.order.bytes() + self.order.tables() + self.joiner.bytes() + payloads * SLOT
    }
}

/// Removes and returns the next packet in the order of delivery, if there is `room`.
pub(crate) fn poll<P: InnerPacket>(
    now: Time,
    order: &mut InOrder<P>,
    joiner: &mut Joiner<P>,
    room: &mut DeliveryRoom,
) -> Option<Delivered<P>> {
    while room.is_left() {
        let (id, symbol) = order.poll()?;
        room.take(symbol.meta.len as usize);
        let is_piece = symbol.meta.order == Order::InOrder;
        let Some(packet) = joiner.take(now, id, symbol) else { continue };
        let overtakes = is_piece && packet.meta.order == Order::Immediate;
        if !overtakes || order.is_in_time(packet.meta.flow, id) {
            return Some(packet);
        }
        joiner.withdraw();
    }
    None
}
