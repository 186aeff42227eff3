//! A block code without feedback as nodes: a sender behind the queue of a link, and a receiver at the end of the path.
//!
//! The code itself is in [`ripstop_proto::session::block`]. Data passes the first links of the flow's route as it is, then
//! the sender, then the other links in blocks. Acknowledgements pass all links as they are.

use super::label::LabelledPacket;
use super::{Input, Packed, SessionEnd, SessionNode};
use crate::tcp::Variant;
use crate::world::World;
use crate::world::fabric::Fabric;
use crate::world::node::Handoff;
use crate::world::packet::{Body, EcnFlags, ProtectedPacket};
use crate::world::tcp::Hosts;
use ripstop_base::Time;
use ripstop_proto::session::block::{BlockReceiver, BlockReceiverCounts, BlockSender, BlockSenderCounts};
use std::convert::Infallible;

/// The counters of a flow's block code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockStatus {
    /// The sender's counters.
    pub sender: BlockSenderCounts,
    /// The receiver's counters.
    pub receiver: BlockReceiverCounts,
}

/// The sender of a block code.
#[derive(Debug)]
pub(in crate::world) struct BlockSenderNode {
    pub(in crate::world) end: SessionEnd<BlockSender<LabelledPacket>>,
    /// The number of the flow.
    pub(in crate::world) flow: u32,
    /// The route to the receiver.
    pub(in crate::world) route: u32,
    /// What the size of the flow's packets follows from: the hosts, the TCP, and the payload of a packet in bytes.
    pub(in crate::world) sizes: (Hosts, Variant, u32),
}

/// The receiver of a block code.
#[derive(Debug)]
pub(in crate::world) struct BlockReceiverNode {
    pub(in crate::world) end: SessionEnd<BlockReceiver<LabelledPacket>>,
}

impl SessionNode for BlockSenderNode {
    type Session = BlockSender<LabelledPacket>;
    const BATCHES: bool = false;

    fn split(world: &mut World, number: u32) -> (&mut BlockSenderNode, &mut Fabric) {
        (&mut world.block_senders[number as usize], &mut world.fabric)
    }

    fn end(&mut self) -> &mut SessionEnd<Self::Session> {
        &mut self.end
    }

    fn unpack(&mut self, body: Body, fabric: &mut Fabric) -> Option<Input<Self::Session>> {
        let Body::Data(number) = body else { return None };
        let (hosts, variant, payload) = self.sizes;
        let bytes = hosts.packet_bytes(variant, number, payload);
        let label = fabric.under_way.send(self.flow, false, bytes, false, EcnFlags::default(), body);
        Some(Input::Inner(LabelledPacket::new(label)))
    }

    fn pack(&mut self, packet: ProtectedPacket, _fabric: &mut Fabric) -> Option<Packed> {
        Some(Packed { route: self.route, back: false, hop: 0, body: Body::Protected(Box::new(packet)) })
    }

    fn leave(&mut self, delivered: Infallible, _fabric: &mut Fabric) -> Option<Handoff> {
        match delivered {}
    }

    fn note(&mut self, _now: Time, event: Infallible) {
        match event {}
    }
}

impl SessionNode for BlockReceiverNode {
    type Session = BlockReceiver<LabelledPacket>;
    const BATCHES: bool = false;

    fn split(world: &mut World, number: u32) -> (&mut BlockReceiverNode, &mut Fabric) {
        (&mut world.block_receivers[number as usize], &mut world.fabric)
    }

    fn end(&mut self) -> &mut SessionEnd<Self::Session> {
        &mut self.end
    }

    fn unpack(&mut self, body: Body, _fabric: &mut Fabric) -> Option<Input<Self::Session>> {
        match body {
            Body::Protected(packet) => Some(Input::Peer(*packet)),
            _ => None,
        }
    }

    fn pack(&mut self, packet: Infallible, _fabric: &mut Fabric) -> Option<Packed> {
        match packet {}
    }

    fn leave(&mut self, delivered: LabelledPacket, fabric: &mut Fabric) -> Option<Handoff> {
        fabric.under_way.deliver(delivered.label())
    }

    fn note(&mut self, _now: Time, event: Infallible) {
        match event {}
    }
}
