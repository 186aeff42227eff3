//! Sessions as nodes of the world: a common frame around the tunnel, the endpoint, and the coding layers.
//!
//! Each kind of session implements [`SessionNode`], which translates between the session's packets and the world's
//! packets. [`SessionEnd`] holds the session and its input queues. `World::drain` (in `world/drive.rs`) is the only
//! loop that drives sessions. It keeps the contract of [`Session`].
//!
//! An *inner packet* is a flow's packet that a session carries. The *fabric* has the links, the routes and the clock
//! that all nodes share.

mod coding;
mod endpoint;
mod gateway;
mod inner_packet;
mod label;
mod tunnel;
mod under_way;

pub use coding::{NcLayer, NcMoment, NcStatus};
pub(super) use coding::{NcReceiverNode, NcRelayNode, NcSenderNode};
pub(super) use endpoint::EndpointNode;
pub use gateway::{LtLayer, LtStatus};
pub(super) use gateway::{LtPlace, LtReceiverNode, LtSenderNode, ReceivingEnd};
pub use label::LabelledPacket;
pub(super) use tunnel::TunnelNode;
pub use tunnel::TunnelStatus;
pub(super) use under_way::UnderWay;

use super::World;
use super::fabric::Fabric;
use super::node::{Entering, Handoff, SessionId};
use super::packet::Body;
use crate::engine::Alarm;
use ripstop_base::{Stream, Time};
use ripstop_proto::session::{Received, Session};
use std::collections::VecDeque;
use std::time::Duration;

/// A session's packet, ready for the network: where it goes, and its content.
#[derive(Debug)]
pub(super) struct Packed {
    /// The number of the route.
    pub(super) route: u32,
    /// Whether the packet takes the route's way back.
    pub(super) back: bool,
    /// How many links of the way the packet skips. A relay sends from the middle of the way.
    pub(super) hop: u16,
    /// The packet's content.
    pub(super) body: Body,
}

/// A node that runs a session.
pub(super) trait SessionNode: Sized {
    /// The type of the session.
    type Session: Session;

    /// Whether the session takes all inner packets of a step together. This models a daemon, which reads a batch from
    /// its device.
    ///
    /// Coding layers take packets one by one: TCP hands down one segment, and this segment is sent before the next
    /// segment enters. No greedy source sends through such a session ([`SessionNode::backlog`]).
    const BATCHES: bool;

    /// The node with this number, and the fabric that it uses.
    fn split(world: &mut World, number: u32) -> (&mut Self, &mut Fabric);

    /// The session and its input queues.
    fn end(&mut self) -> &mut SessionEnd<Self::Session>;

    /// Turns a flow's packet into the session's inner packet. None if the session takes no such packet, which is the
    /// default.
    fn enter(&mut self, _entering: Entering, _fabric: &mut Fabric) -> Option<<Self::Session as Session>::Inner> {
        None
    }

    /// Turns a packet from the network into an input of the session. None if the packet is not for this session, or if
    /// the node has passed the packet on.
    fn unpack(&mut self, body: Body, fabric: &mut Fabric) -> Option<Input<Self::Session>>;

    /// Turns a packet of the session into a packet for the network. None if the packet has no route.
    fn pack(&mut self, packet: <Self::Session as Session>::Outgoing, fabric: &mut Fabric) -> Option<Packed>;

    /// Turns a delivery of the session into a handoff to the host of its flow. None if no flow has sent this packet.
    fn leave(&mut self, delivered: <Self::Session as Session>::Delivered, fabric: &mut Fabric) -> Option<Handoff>;

    /// Records an event of the session.
    fn note(&mut self, now: Time, event: <Self::Session as Session>::Event);

    /// The number of inner packets that are queued for the session at the other end, `to`. Greedy sources refill this
    /// backlog. None, the default, if the session accepts no packets at present.
    fn backlog(&self, _to: SessionId) -> Option<usize> {
        None
    }
}

/// What a session gets from the network.
#[derive(Debug)]
pub(super) enum Input<S: Session> {
    /// A packet of the peer.
    Peer(S::Incoming),
    /// An inner packet. The node of a gateway gets inner packets over a link.
    Inner(S::Inner),
}

/// A session and its input queues.
#[derive(Debug)]
pub(super) struct SessionEnd<S: Session> {
    pub(super) session: S,
    /// Packets from the peer that the session has not processed yet.
    pub(super) inbox: VecDeque<Received<S::Incoming>>,
    /// Inner packets that have not entered the session yet.
    pub(super) entering: VecDeque<S::Inner>,
    /// The greedy sources that this session carries ([`super::UdpPattern::Greedy`]), by their places among the UDP
    /// flows.
    pub(super) greedy: Vec<u32>,
    /// Whether the session is being drained at the moment.
    pub(super) busy: bool,
    /// The session's alarms. None if the session asks for no time-outs.
    pub(super) clock: Option<Clock>,
}

/// The alarms of a session, and how late the session gets the processor.
#[derive(Debug)]
pub(super) struct Clock {
    /// Rings when the session's time-out is due.
    pub(super) timer: Alarm,
    /// Rings when a late session gets the processor.
    pub(super) processor: Alarm,
    /// The longest delay before the session runs. Zero means that the session runs immediately.
    pub(super) lateness: Duration,
    /// Draws the delay each time.
    pub(super) draws: Stream,
}

impl<S: Session> SessionEnd<S> {
    /// A session without input.
    pub(super) fn new(session: S, clock: Option<Clock>) -> SessionEnd<S> {
        SessionEnd {
            session,
            inbox: VecDeque::with_capacity(4),
            entering: VecDeque::with_capacity(16),
            greedy: Vec::new(),
            busy: false,
            clock,
        }
    }

    /// Gives the session its stored packets from the peer, and its time-out if the time-out is due.
    pub(super) fn take_arrived(&mut self, now: Time) {
        while let Some(received) = self.inbox.pop_front() {
            self.session.handle_datagram(now, received);
        }
        if self.session.poll_timeout().is_some_and(|due| due <= now) {
            self.session.handle_timeout(now);
        }
    }

    /// Gives the session its inner packets: all of them with `batch`, otherwise only the first. Returns true if more
    /// packets are left.
    pub(super) fn take_entering(&mut self, now: Time, batch: bool) -> bool {
        while let Some(inner) = self.entering.pop_front() {
            self.session.handle_inner(now, inner);
            if !batch {
                break;
            }
        }
        !self.entering.is_empty()
    }
}
