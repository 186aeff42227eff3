//! The shipped tunnel session between two nodes of a network.

use super::packet::Body;
use crate::engine::Alarm;
use crate::tunnel::{Cargo, Label, Parcel};
use ripstop_base::{Seed, Time};
use ripstop_proto::session::tunnel::{Config, Status, Tunnel};
use ripstop_proto::wire::Datagram;
use std::collections::{BTreeMap, VecDeque};

/// What a packet needs to be told apart inside: flow and direction.
fn inner_flow(flow: u32, back: bool) -> u32 {
    2 * flow + u32::from(back)
}

/// One end of a tunnel.
#[derive(Debug)]
pub(super) struct End {
    pub(super) tunnel: Tunnel<Parcel>,
    pub(super) alarm: Alarm,
    /// Packets that want to go in.
    outbox: VecDeque<(Label, Body)>,
    /// What this end has sent and the other has not delivered, by inner flow: the number of the first one kept, then the
    /// packets.
    under_way: BTreeMap<u32, (u64, VecDeque<Body>)>,
    /// Whether its outputs are being taken at the moment.
    pub(super) busy: bool,
}

impl End {
    pub(super) fn new(config: Config, seed: Seed, name: &str, alarm: Alarm) -> End {
        End {
            tunnel: Tunnel::new(Time::ZERO, config, seed.stream(name).next_u64()),
            alarm,
            outbox: VecDeque::with_capacity(16),
            under_way: BTreeMap::new(),
            busy: false,
        }
    }

    /// A packet of flow `flow` wants to go in.
    pub(super) fn push(&mut self, flow: u32, back: bool, bytes: u32, body: Body) {
        let inner = inner_flow(flow, back);
        let immediate = matches!(body, Body::Ack(_));
        self.outbox.push_back((Label { flow: inner, sequence: 0, len: bytes, immediate }, body));
    }

    /// Gives the session the next packet that wants to go in. Whether there was one.
    pub(super) fn enter(&mut self, now: Time) -> bool {
        let Some((label, body)) = self.outbox.pop_front() else { return false };
        let (first, kept) = self.under_way.entry(label.flow).or_default();
        let sequence = *first + kept.len() as u64;
        kept.push_back(body);
        self.tunnel.handle_inner(now, Parcel::load(Label { sequence, ..label }));
        true
    }

    /// The packet that this end sent with that label: its flow and what it is. What the flow sent before it and was not
    /// delivered never will be.
    pub(super) fn delivered(&mut self, label: Label) -> Option<(u32, Body)> {
        let (first, kept) = self.under_way.get_mut(&label.flow)?;
        while *first < label.sequence && kept.pop_front().is_some() {
            *first += 1;
        }
        if *first != label.sequence {
            return None;
        }
        *first += 1;
        Some((label.flow / 2, kept.pop_front()?))
    }
}

/// A tunnel between two nodes.
#[derive(Debug)]
pub(super) struct Path {
    /// The number of its route.
    pub(super) route: u32,
    /// The end from which the route leads there, and the other.
    pub(super) ends: [End; 2],
}

/// A datagram of a tunnel.
pub type TunnelDatagram = Datagram<Parcel>;

/// What the two ends of a tunnel are doing: that from which its route leads there, and the other.
pub type TunnelStatus = [Status; 2];
