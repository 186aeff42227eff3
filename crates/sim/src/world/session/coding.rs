//! TCP/NC below a TCP connection, as nodes: a coding layer at each end, and relays that recode on the way.
//!
//! The protocol itself is in [`ripstop_schemes::nc`].

use super::{Input, Packed, SessionEnd, SessionNode};
use crate::tcp::Ack;
use crate::world::World;
use crate::world::fabric::Fabric;
use crate::world::node::{Entering, Handoff};
use crate::world::packet::{Body, Combination, EcnFlags};
use ripstop_base::{DelayHistogram, Time};
use ripstop_codes::Length;
use ripstop_codes::window::Members;
use ripstop_schemes::nc::{
    Factor, NcAck, NcConfig, NcReceiver, NcRelay, NcSender, ReceiverCounts, RelayCounts, Segment, SenderCounts,
};
use std::convert::Infallible;

/// The settings of a connection's coding layer.
#[derive(Clone, Debug, PartialEq)]
pub struct NcLayer {
    /// Settings of the layer's sender, receiver and relays.
    pub session: NcConfig,
    /// The relays on the way there. Each entry has the number of links before the relay, and how many combinations the
    /// relay sends for each combination that arrives.
    pub relays: Vec<(usize, Factor)>,
}

/// The counters of a connection's coding layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NcStatus {
    /// The sender's counters.
    pub sender: SenderCounts,
    /// The receiver's counters.
    pub receiver: ReceiverCounts,
    /// The relays' counters, in the order of the route.
    pub relays: Vec<RelayCounts>,
    /// The time from when a segment is *seen* until it is decoded. The receiver has seen a segment if it holds a
    /// combination in which this segment is the first unknown segment.
    pub decode_delays: DelayHistogram,
    /// Mean over time of the number of combinations that the receiver holds undecoded.
    pub mean_rows: f64,
}

/// What a connection's coding layer holds at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NcMoment {
    /// Segments in the sender's coding window.
    pub window: usize,
    /// Combinations that the receiver holds undecoded.
    pub rows: usize,
    /// Degrees of freedom still missing: segments that the receiver knows of and has not seen.
    pub deficit: usize,
}

/// The coding layer below a sending TCP.
#[derive(Debug)]
pub(in crate::world) struct NcSenderNode {
    pub(in crate::world) end: SessionEnd<NcSender<Length>>,
    /// The number of the flow.
    pub(in crate::world) flow: u32,
    /// The route to the receiver, with the relays on it.
    pub(in crate::world) route: u32,
    /// The relays of the layer, by their places in the world's list.
    pub(in crate::world) relays: Vec<u32>,
}

/// The coding layer below a receiving TCP.
#[derive(Debug)]
pub(in crate::world) struct NcReceiverNode {
    pub(in crate::world) end: SessionEnd<NcReceiver<Length>>,
    /// The number of the flow.
    pub(in crate::world) flow: u32,
    /// The route whose way back leads to the sender.
    pub(in crate::world) route: u32,
}

/// A relay between the sender and the receiver. It recodes: it combines combinations without decoding them.
#[derive(Debug)]
pub(in crate::world) struct NcRelayNode {
    pub(in crate::world) end: SessionEnd<NcRelay<Length>>,
    /// The route that the relay is on.
    pub(in crate::world) route: u32,
    /// How many links of the route are before the relay.
    pub(in crate::world) behind: u16,
}

impl SessionNode for NcSenderNode {
    type Session = NcSender<Length>;
    const BATCHES: bool = false;

    fn split(world: &mut World, number: u32) -> (&mut NcSenderNode, &mut Fabric) {
        (&mut world.nc_senders[number as usize], &mut world.fabric)
    }

    fn end(&mut self) -> &mut SessionEnd<Self::Session> {
        &mut self.end
    }

    fn enter(&mut self, entering: Entering, _fabric: &mut Fabric) -> Option<Segment<Length>> {
        match entering.body {
            Body::Data(number) => Some(Segment { number, payload: Length(entering.bytes as usize) }),
            _ => None,
        }
    }

    fn unpack(&mut self, body: Body, _fabric: &mut Fabric) -> Option<Input<Self::Session>> {
        match body {
            Body::Seen(answer) => Some(Input::Peer(answer)),
            _ => None,
        }
    }

    fn pack(&mut self, packet: Combination, fabric: &mut Fabric) -> Option<Packed> {
        Some(Packed { route: self.route, back: false, hop: 0, body: load(packet, fabric) })
    }

    fn leave(&mut self, first_unseen: u64, _fabric: &mut Fabric) -> Option<Handoff> {
        Some(Handoff::Leave {
            flow: self.flow,
            flags: EcnFlags::default(),
            body: Body::Ack(Ack::new(first_unseen, [])),
        })
    }

    fn note(&mut self, _now: Time, event: Infallible) {
        match event {}
    }
}

impl SessionNode for NcReceiverNode {
    type Session = NcReceiver<Length>;
    const BATCHES: bool = false;

    fn split(world: &mut World, number: u32) -> (&mut NcReceiverNode, &mut Fabric) {
        (&mut world.nc_receivers[number as usize], &mut world.fabric)
    }

    fn end(&mut self) -> &mut SessionEnd<Self::Session> {
        &mut self.end
    }

    fn unpack(&mut self, body: Body, fabric: &mut Fabric) -> Option<Input<Self::Session>> {
        unload(body, fabric).map(Input::Peer)
    }

    fn pack(&mut self, packet: NcAck, _fabric: &mut Fabric) -> Option<Packed> {
        Some(Packed { route: self.route, back: true, hop: 0, body: Body::Seen(packet) })
    }

    fn leave(&mut self, (number, _): (u64, Length), _fabric: &mut Fabric) -> Option<Handoff> {
        Some(Handoff::Leave { flow: self.flow, flags: EcnFlags::default(), body: Body::Data(number) })
    }

    fn note(&mut self, _now: Time, event: Infallible) {
        match event {}
    }
}

impl SessionNode for NcRelayNode {
    type Session = NcRelay<Length>;
    const BATCHES: bool = false;

    fn split(world: &mut World, number: u32) -> (&mut NcRelayNode, &mut Fabric) {
        (&mut world.nc_relays[number as usize], &mut world.fabric)
    }

    fn end(&mut self) -> &mut SessionEnd<Self::Session> {
        &mut self.end
    }

    fn unpack(&mut self, body: Body, fabric: &mut Fabric) -> Option<Input<Self::Session>> {
        unload(body, fabric).map(Input::Peer)
    }

    fn pack(&mut self, packet: Combination, fabric: &mut Fabric) -> Option<Packed> {
        Some(Packed { route: self.route, back: false, hop: self.behind, body: load(packet, fabric) })
    }

    fn leave(&mut self, delivered: Infallible, _fabric: &mut Fabric) -> Option<Handoff> {
        match delivered {}
    }

    fn note(&mut self, _now: Time, event: Infallible) {
        match event {}
    }
}

/// Makes a combination the content of a packet. Reuses the box of an earlier combination if there is one.
fn load(packet: Combination, fabric: &mut Fabric) -> Body {
    match fabric.spare.pop() {
        Some(mut spare) => {
            *spare = packet;
            Body::Coded(spare)
        }
        None => Body::Coded(Box::new(packet)),
    }
}

/// Takes the combination out of a packet. The box of the combination is kept for a later combination. Returns None if
/// the packet contains no combination.
fn unload(body: Body, fabric: &mut Fabric) -> Option<Combination> {
    let Body::Coded(mut body) = body else { return None };
    let nothing = Combination {
        number: 0,
        oldest: 0,
        retransmission: false,
        members: Members::range(0..0),
        coding: None,
        payload: Length(0),
        bytes: 0,
    };
    let packet = std::mem::replace(&mut *body, nothing);
    fabric.spare.push(body);
    Some(packet)
}
