//! One end of a tunnel as a node. It runs the shipped tunnel session with typed packets, whose inner packets are
//! labels.

use super::label::LabelledPacket;
use super::{Input, Packed, SessionEnd, SessionNode};
use crate::world::World;
use crate::world::fabric::Fabric;
use crate::world::node::{Entering, Handoff, SessionId};
use crate::world::packet::{Body, TunnelDatagram};
use ripstop_base::Time;
use ripstop_proto::packets::Delivered;
use ripstop_proto::session::tunnel::{Status, Tunnel, TunnelEvent};

/// The states of the two ends of a tunnel. The first end is where the tunnel's way there begins.
pub type TunnelStatus = [Status; 2];

/// One end of a tunnel.
#[derive(Debug)]
pub(in crate::world) struct TunnelNode {
    pub(in crate::world) end: SessionEnd<Tunnel<LabelledPacket>>,
    /// The route to the other end, and whether the route's way back leads to the other end.
    pub(in crate::world) path: (u32, bool),
    /// The session's events, with their times.
    pub(in crate::world) events: Vec<(Time, TunnelEvent)>,
}

impl SessionNode for TunnelNode {
    type Session = Tunnel<LabelledPacket>;
    const BATCHES: bool = true;

    fn split(world: &mut World, number: u32) -> (&mut TunnelNode, &mut Fabric) {
        (&mut world.tunnels[number as usize], &mut world.fabric)
    }

    fn end(&mut self) -> &mut SessionEnd<Self::Session> {
        &mut self.end
    }

    fn enter(&mut self, entering: Entering, fabric: &mut Fabric) -> Option<LabelledPacket> {
        let Entering { flow, back, bytes, immediate, flags, body, .. } = entering;
        Some(LabelledPacket::new(fabric.under_way.send(flow, back, bytes, immediate, flags, body)))
    }

    fn unpack(&mut self, body: Body, _fabric: &mut Fabric) -> Option<Input<Self::Session>> {
        match body {
            Body::Datagram(datagram) => Some(Input::Peer(*datagram)),
            _ => None,
        }
    }

    fn pack(&mut self, packet: TunnelDatagram, _fabric: &mut Fabric) -> Option<Packed> {
        let (route, back) = self.path;
        Some(Packed { route, back, hop: 0, body: Body::Datagram(Box::new(packet)) })
    }

    fn leave(&mut self, delivered: Delivered<LabelledPacket>, fabric: &mut Fabric) -> Option<Handoff> {
        fabric.under_way.deliver(delivered.payload.label())
    }

    fn note(&mut self, now: Time, event: TunnelEvent) {
        self.events.push((now, event));
    }

    fn backlog(&self, _to: SessionId) -> Option<usize> {
        Some(self.end.session.backlog_packets())
    }
}
