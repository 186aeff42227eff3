//! The interface queue of a station, and the packets in it.

use super::aodv::Message;
use ripstop_base::Time;
use std::collections::VecDeque;

/// What a packet carries. A scheme may treat data and acknowledgements differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Data, of TCP or UDP.
    Data,
    /// A TCP acknowledgement without data.
    Ack,
    /// A message of the routing protocol.
    Routing,
}

/// A packet that stations can carry. A record of the air keeps copies of packets.
pub trait Packet: Clone {
    /// The packet's size with its IP header, bytes.
    fn bytes(&self) -> u32;
    /// What the packet carries.
    fn load(&self) -> Load;
}

/// What a packet at a station contains.
#[derive(Clone, Debug)]
pub(super) enum Payload<P> {
    /// A packet of the layer above.
    Packet(P),
    /// A message of the routing protocol.
    Message(Message),
}

/// A packet at a station, from the interface queue until the MAC is done with it.
#[derive(Clone, Debug)]
pub(super) struct Queued<P> {
    /// The content. None as soon as the receiver has the content. From then on the station waits only for the MAC ACK.
    pub(super) packet: Option<Payload<P>>,
    /// The packet's number on this medium, which is the same at all stations. 0 for messages of the routing protocol.
    pub(super) id: u64,
    /// The packet's size with its IP header, bytes.
    pub(super) bytes: u32,
    pub(super) load: Load,
    /// The station that sent the packet first.
    pub(super) source: u32,
    /// The packet's final destination.
    pub(super) destination: u32,
    /// The neighbour that receives it next, or [`NOBODY`](super::frame::NOBODY) for all neighbours.
    pub(super) to: u32,
    /// The neighbour from which this station received the packet. None at the packet's source.
    pub(super) from: Option<u32>,
    /// When the packet entered the queue of this station.
    pub(super) since: Time,
    /// Whether more data packets for the same neighbour waited behind the packet, here or at an earlier station
    /// (Cadence).
    pub(super) is_backlogged: bool,
    /// The number of hops that the packet has passed.
    pub(super) forwards: u16,
    /// The number of failures that count towards the short retry limit, then towards the long retry limit.
    pub(super) failures: [u32; 2],
}

/// The interface queue: first in, first out, with a limited number of packets.
#[derive(Clone, Debug)]
pub(super) struct InterfaceQueue<P> {
    waiting: VecDeque<Queued<P>>,
    limit: usize,
}

impl<P> Queued<P> {
    /// Hands the packet over to its receiver. `from` is the station that sent the packet. None if the receiver already
    /// has the packet.
    pub(super) fn hand_over(&mut self, from: usize) -> Option<Queued<P>> {
        let packet = Some(self.packet.take()?);
        let forwards = self.forwards.saturating_add(1);
        Some(Queued { packet, from: Some(from as u32), forwards, failures: [0; 2], ..*self })
    }
}

impl<P> InterfaceQueue<P> {
    pub(super) fn new(limit: usize) -> InterfaceQueue<P> {
        InterfaceQueue { waiting: VecDeque::with_capacity(limit.min(64)), limit }
    }

    /// Appends a packet. If the queue is full, the packet is returned as the error.
    pub(super) fn push(&mut self, packet: Queued<P>) -> Result<(), Queued<P>> {
        if self.waiting.len() >= self.limit {
            return Err(packet);
        }
        self.waiting.push_back(packet);
        Ok(())
    }

    /// Puts a packet before all others. If this makes the queue longer than its limit, the last packet is returned.
    pub(super) fn push_first(&mut self, packet: Queued<P>) -> Option<Queued<P>> {
        self.waiting.push_front(packet);
        if self.waiting.len() > self.limit { self.waiting.pop_back() } else { None }
    }

    /// Removes all packets for neighbour `to`.
    pub(super) fn remove_for(&mut self, to: u32) -> Vec<Queued<P>> {
        let (removed, left): (VecDeque<_>, VecDeque<_>) = self.waiting.drain(..).partition(|packet| packet.to == to);
        self.waiting = left;
        Vec::from(removed)
    }

    /// The packets that wait.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Queued<P>> {
        self.waiting.iter()
    }

    /// Removes the packet at place `at`, and returns it.
    pub(super) fn remove(&mut self, at: usize) -> Option<Queued<P>> {
        self.waiting.remove(at)
    }

    /// Removes the first packet, and returns it.
    pub(super) fn pop(&mut self) -> Option<Queued<P>> {
        self.waiting.pop_front()
    }

    /// Puts a packet back to place `at`, from which [`InterfaceQueue::remove`] took the packet.
    pub(super) fn put_back(&mut self, at: usize, packet: Queued<P>) {
        self.waiting.insert(at.min(self.waiting.len()), packet);
    }

    /// The number of packets that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
