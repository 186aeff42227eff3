//! Sessions as nodes: what waits for a session, and what a session's packets are on the network.
//!
//! [`World::drain`](super::World) is the one loop that drives them all, by the contract of [`Session`].

mod coding;
mod endpoint;
mod inner_packet;
mod label;
mod tunnel;
mod under_way;

pub use coding::{NcLayer, NcMoment, NcStatus};
pub(super) use coding::{NcReceiverNode, NcRelayNode, NcSenderNode};
pub(super) use endpoint::EndpointNode;
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

/// Where a packet of a session goes on the network.
#[derive(Debug)]
pub(super) struct Packed {
    /// The route.
    pub(super) route: u32,
    /// Whether it takes the route's way back.
    pub(super) back: bool,
    /// How many links of the way lie behind it.
    pub(super) hop: u16,
    /// What it is.
    pub(super) body: Body,
}

/// A node that runs a session.
pub(super) trait SessionNode: Sized {
    /// The session.
    type Session: Session;

    /// Whether inner packets of one moment go in together, as a daemon reads its device. A TCP hands its segments down one by
    /// one, and each leaves before the next comes.
    const BATCHES: bool;

    /// The node of this number, and what all nodes stand on.
    fn split(world: &mut World, number: u32) -> (&mut Self, &mut Fabric);

    /// The session, and what waits for it.
    fn end(&mut self) -> &mut SessionEnd<Self::Session>;

    /// A packet of a flow as the session takes it. None: the session takes no such packet, as by default.
    fn enter(
        &mut self,
        _entering: Entering,
        _fabric: &mut Fabric,
    ) -> Option<<Self::Session as Session>::Inner> {
        None
    }

    /// A packet of the network as the session takes it. None: it is not for this session.
    fn unpack(&mut self, body: Body, fabric: &mut Fabric) -> Option<<Self::Session as Session>::Incoming>;

    /// A packet of the session as the network carries it. None: it leads nowhere.
    fn pack(&mut self, packet: <Self::Session as Session>::Outgoing, fabric: &mut Fabric) -> Option<Packed>;

    /// What the session delivers, for the flow that it belongs to. None: nobody has sent it.
    fn leave(
        &mut self,
        delivered: <Self::Session as Session>::Delivered,
        fabric: &mut Fabric,
    ) -> Option<Handoff>;

    /// The session says something.
    fn note(&mut self, now: Time, event: <Self::Session as Session>::Event);

    /// Inner packets that wait for the session at the other end. A source that always has more packets refills this backlog.
    /// None: the session takes no packets now, as by default.
    fn backlog(&self, _to: SessionId) -> Option<usize> {
        None
    }
}

/// A session, and what waits for it.
#[derive(Debug)]
pub(super) struct SessionEnd<S: Session> {
    pub(super) session: S,
    /// Packets of the peer that have come and were not taken in.
    pub(super) inbox: VecDeque<Received<S::Incoming>>,
    /// Inner packets that want to go in.
    pub(super) entering: VecDeque<S::Inner>,
    /// Sources that always have more to send, by the numbers of their flows.
    pub(super) greedy: Vec<u32>,
    /// Whether its outputs are being taken at the moment.
    pub(super) busy: bool,
    /// None: the session asks for no time-out.
    pub(super) clock: Option<Clock>,
}

/// The alarms of a session.
#[derive(Debug)]
pub(super) struct Clock {
    /// Rings when the session's time-out is due.
    pub(super) timer: Alarm,
    /// Rings when a late session gets the processor.
    pub(super) processor: Alarm,
    /// How late at most; zero: at once.
    pub(super) lateness: Duration,
    /// Draws how late each time.
    pub(super) draws: Stream,
}

impl<S: Session> SessionEnd<S> {
    /// A session for which nothing waits.
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

    /// Takes in what has come from the peer, and does what is due.
    pub(super) fn take_arrived(&mut self, now: Time) {
        while let Some(received) = self.inbox.pop_front() {
            self.session.handle_datagram(now, received);
        }
        if self.session.poll_timeout().is_some_and(|due| due <= now) {
            self.session.handle_timeout(now);
        }
    }

    /// Takes in inner packets that wait: all of them, or one. Whether more wait.
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
