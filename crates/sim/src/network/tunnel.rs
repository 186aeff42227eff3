//! The shipped tunnel session between two nodes of a network.

use super::packet::{Body, Packet};
use super::{Network, Observer, Way};
use crate::engine::Alarm;
use crate::tunnel::{Cargo, Label, Parcel};
use ripstop_base::{Seed, Stream, Time};
use ripstop_proto::session::tunnel::{Config, Status, Tunnel};
use ripstop_proto::session::{Received, Session, Transmit};
use ripstop_proto::wire::Datagram;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What a packet needs to be told apart inside: flow and direction.
fn inner_flow(flow: u32, back: bool) -> u32 {
    2 * flow + u32::from(back)
}

/// One end of a tunnel.
#[derive(Debug)]
pub(super) struct End {
    pub(super) tunnel: Tunnel<Parcel>,
    /// Rings when the session's timer is due.
    pub(super) alarm: Alarm,
    /// Rings when a late end gets the processor: how late at most, and what draws it.
    pub(super) processor: Alarm,
    pub(super) lateness: Duration,
    pub(super) late: Stream,
    /// Datagrams that have come and were not taken in, with their sizes.
    pub(super) inbox: Vec<(TunnelDatagram, u32)>,
    /// Packets that want to go in.
    outbox: VecDeque<(Label, Body)>,
    /// What this end has sent and the other has not delivered, by inner flow: the number of the first one kept, then the
    /// packets with their lengths.
    under_way: BTreeMap<u32, (u64, VecDeque<(u32, Body)>)>,
    /// What the other end delivered and this one had not sent, or in another order.
    pub(super) strays: u64,
    /// Whether its outputs are being taken at the moment.
    pub(super) busy: bool,
}

impl End {
    pub(super) fn new(config: Config, seed: Seed, name: &str, [alarm, processor]: [Alarm; 2]) -> End {
        End {
            tunnel: Tunnel::new(Time::ZERO, config, seed.stream(name).next_u64()),
            alarm,
            processor,
            lateness: Duration::ZERO,
            late: seed.stream(&format!("{name}/lateness")),
            inbox: Vec::with_capacity(4),
            strays: 0,
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
        kept.push_back((label.len, body));
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
        if kept.front()?.0 != label.len {
            return None;
        }
        let (_, body) = kept.pop_front()?;
        *first += 1;
        Some((label.flow / 2, body))
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

impl Network {
    /// The ends of tunnel `tunnel` get the processor late from now on, as on a busy machine: from when something comes to one,
    /// or a timer of its is due, until it runs passes a time between nothing and `most`, each time anew. The connections'
    /// own hosts are not late.
    pub fn set_lateness(&mut self, tunnel: usize, most: Duration) {
        self.tunnels[tunnel].ends.iter_mut().for_each(|end| end.lateness = most);
    }

    /// Packets that came out of tunnel `tunnel` without having gone in, a second time, or after a later one of their flow. There
    /// must be none.
    pub fn strays(&self, tunnel: usize) -> u64 {
        self.tunnels[tunnel].ends.iter().map(|end| end.strays).sum()
    }

    /// Lets data of flow `flow` wait before its tunnel, if it has one that is not at work: what leaves at one moment goes in
    /// together. Which end of which tunnel.
    pub(super) fn hold(&mut self, flow: u32) -> Option<(u32, usize)> {
        let Way::Tunnel(tunnel, side) = self.ways[flow as usize] else { return None };
        let end = &mut self.tunnels[tunnel as usize].ends[side];
        (!std::mem::replace(&mut end.busy, true)).then_some((tunnel, side))
    }

    /// Lets in what waited.
    pub(super) fn let_go(&mut self, tunnel: u32, side: usize, observer: &mut impl Observer) {
        let end = &mut self.tunnels[tunnel as usize].ends[side];
        end.busy = false;
        if !end.outbox.is_empty() {
            self.call(tunnel, side, observer);
        }
    }

    /// Something has come to an end of a tunnel, or a timer of its is due: it runs at once, unless it is late.
    pub(super) fn call(&mut self, tunnel: u32, side: usize, observer: &mut impl Observer) {
        let end = &mut self.tunnels[tunnel as usize].ends[side];
        if end.lateness.is_zero() {
            self.run(tunnel, side, observer);
        } else if self.agenda.when(end.processor) == Time::NEVER {
            let late = end.lateness.mul_f64(end.late.unit());
            self.agenda.set(end.processor, self.agenda.now() + late);
        }
    }

    /// An end of a tunnel takes in what has come to it and looks at its timers.
    pub(super) fn run(&mut self, tunnel: u32, side: usize, observer: &mut impl Observer) {
        let now = self.agenda.now();
        let end = &mut self.tunnels[tunnel as usize].ends[side];
        let mut inbox = std::mem::take(&mut end.inbox);
        for (packet, bytes) in inbox.drain(..) {
            end.tunnel.handle_datagram(now, Received { packet, bytes, ce: false });
        }
        end.inbox = inbox;
        if end.tunnel.poll_timeout().is_some_and(|due| due <= now) {
            end.tunnel.handle_timeout(now);
        }
        self.drive(tunnel, side, observer);
    }

    /// Takes all outputs of one end of a tunnel, and gives it what wants to go in, until there is neither.
    fn drive(&mut self, tunnel: u32, side: usize, observer: &mut impl Observer) {
        let (index, now) = (tunnel as usize, self.agenda.now());
        let route = self.tunnels[index].route;
        self.tunnels[index].ends[side].busy = true;
        loop {
            // All that wants to go in at this moment, as the daemon reads its device.
            let end = &mut self.tunnels[index].ends[side];
            while end.enter(now) {}
            let mut any = false;
            while let Some(sent) = self.tunnels[index].ends[side].tunnel.poll_transmit(now) {
                any = true;
                let Transmit { packet, bytes, .. } = sent;
                let body = Body::Datagram(Box::new(packet));
                self.forward(Packet { route, hop: 0, back: side == 1, bytes, body }, observer);
            }
            loop {
                let [left, right] = &mut self.tunnels[index].ends;
                let (end, peer) = if side == 0 { (left, right) } else { (right, left) };
                let Some(delivered) = end.tunnel.poll_deliver() else { break };
                any = true;
                let label = Cargo::unload(&delivered.payload);
                match label.and_then(|label| peer.delivered(label)) {
                    Some((flow, body)) => self.come_out(flow, body, observer),
                    None => peer.strays += 1,
                }
            }
            self.settle_touched(observer);
            if !any {
                break;
            }
        }
        let end = &mut self.tunnels[index].ends[side];
        end.busy = false;
        while end.tunnel.poll_event().is_some() {}
        let due = end.tunnel.poll_timeout().unwrap_or(Time::NEVER);
        if due != self.agenda.when(end.alarm) {
            self.agenda.set(end.alarm, due);
        }
    }
    /// A packet of flow `number` has come out of a tunnel.
    fn come_out(&mut self, number: u32, body: Body, observer: &mut impl Observer) {
        let Some(kernel) = &mut self.flows[number as usize].kernel else {
            return self.receive(number, body, observer);
        };
        if !std::mem::replace(&mut kernel.touched, true) {
            self.touched.push(number);
        }
        self.take_in(number, body, observer);
    }
}
