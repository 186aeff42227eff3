//! TCP/LT as nodes: a gateway between wired links and a lossy path, and its client at the end of the path.
//!
//! The protocol itself is in [`ripstop_schemes::lt`]. For a download, the gateway has the sender and the client
//! has the receiver. For an upload it is the other way round, and a TCP sender at the gateway passes the packets on to
//! the host in the wired network. The SYN and its acknowledgement pass the gateway. So a connection exists only if both
//! hosts exist.

use super::{Input, Packed, SessionEnd, SessionNode};
use crate::tcp::{Ack, Sender};
use crate::world::World;
use crate::world::fabric::Fabric;
use crate::world::node::{Entering, Handoff};
use crate::world::packet::{BlockSymbol, Body, EcnFlags, TCP_IP_HEADERS};
use ripstop_base::Time;
use ripstop_codes::Length;
use ripstop_proto::session::{Received, Session, Transmit};
use ripstop_schemes::lt::{
    Accepted, FlowId, FlowShare, LtAck, LtConfig, LtDelivered, LtEvent, LtInner, LtMode, LtPacket, LtReceiver,
    LtReceiverCounts, LtSender, LtSenderCounts, Segment, TcpAck,
};

/// The settings of a flow through a gateway.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LtLayer {
    /// Settings of the sender and of the receiver.
    pub session: LtConfig,
    /// The number of the gateway ([`World::add_gateway`]). None if the gateway gives no rates.
    pub gateway: Option<usize>,
    /// What the gateway knows of the flow.
    pub share: FlowShare,
    /// Whether the client sends. Otherwise the client receives.
    pub is_upload: bool,
}

/// The state of a flow's TCP/LT session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LtStatus {
    /// The sender's counters.
    pub sender: LtSenderCounts,
    /// The receiver's counters.
    pub receiver: LtReceiverCounts,
    /// The loss of the path that the sender measures.
    pub loss: f64,
    /// The block round-trip time that the sender measures, s.
    pub block_time: Option<f64>,
    /// The rate that the gateway gives to the flow, bit/s.
    pub rate: Option<u64>,
    /// Packets that TCP sent beyond the window that the gateway advertised, because an update may have been lost.
    pub window_probes: u64,
    /// For an upload: packets that the gateway's TCP sent again over the wired links.
    pub wired_retransmits: u64,
}

/// What both ends know of their flow and its gateway.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct LtPlace {
    /// The number of the flow.
    pub(in crate::world) flow: u32,
    /// The route over the lossy path, from the sender to the receiver.
    pub(in crate::world) lossy: u32,
    /// The route between the gateway and the host in the wired network. Data takes the way there.
    pub(in crate::world) wired: u32,
    /// The payload of a packet of TCP, bytes.
    pub(in crate::world) payload: u32,
    /// The settings of the flow.
    pub(in crate::world) layer: LtLayer,
}

impl LtPlace {
    /// The gateway gives the flow its rate. In the paper's mode, this happens only when the connection is set up.
    fn rate(&self, fabric: &mut Fabric, is_new: bool) -> Option<u64> {
        let now = fabric.now();
        let flow = FlowId(self.flow);
        let shares = &mut fabric.gateways[self.layer.gateway?];
        if is_new && shares.rate(flow).is_none() {
            return Some(shares.open(flow, self.layer.share, now));
        }
        shares.touch(flow, now);
        let follows = is_new || self.is_improved();
        shares.rate(flow).filter(|_| follows)
    }

    fn is_improved(&self) -> bool {
        self.layer.session.mode == LtMode::Improved
    }

    /// Passes a packet on over the lossy path. With `back`, the packet goes from the receiver to the sender.
    fn over_lossy(&self, back: bool, bytes: u32, body: Body) -> Handoff {
        Handoff::Send { route: self.lossy, back, bytes, body }
    }

    /// Passes a packet on over the wired links. With `back`, the packet goes against the direction of data.
    fn over_wired(&self, back: bool, bytes: u32, body: Body) -> Handoff {
        Handoff::Send { route: self.wired, back, bytes, body }
    }
}

/// The sending end: the gateway for a download, the client for an upload.
#[derive(Debug)]
pub(in crate::world) struct LtSenderNode {
    pub(in crate::world) end: SessionEnd<LtSender<Length>>,
    pub(in crate::world) place: LtPlace,
}

impl LtSenderNode {
    /// Takes packet `number` of TCP. In the paper's modes, the SYN goes on as it is.
    fn take(&mut self, number: u64, fabric: &mut Fabric) -> Option<LtInner<Length>> {
        match number {
            0 if self.place.is_improved() => Some(LtInner::Open),
            0 => {
                fabric.handoffs.push_back(self.place.over_lossy(false, TCP_IP_HEADERS, Body::Data(0)));
                None
            }
            _ => Some(LtInner::Segment(Segment { number, payload: Length(self.place.payload as usize) })),
        }
    }

    /// An acknowledgement on its way to the sending TCP.
    fn acknowledge(&self, TcpAck { next, room }: TcpAck) -> Handoff {
        let body = room.map_or_else(|| Body::Ack(Ack::new(next, [])), |room| Body::Granted { next, room });
        match self.place.layer.is_upload {
            true => Handoff::Leave { flow: self.place.flow, flags: EcnFlags::default(), body },
            false => self.place.over_wired(true, TCP_IP_HEADERS, body),
        }
    }
}

/// The receiving end: the client for a download, the gateway for an upload.
#[derive(Debug)]
pub(in crate::world) struct LtReceiverNode {
    pub(in crate::world) end: SessionEnd<ReceivingEnd>,
    pub(in crate::world) place: LtPlace,
}

/// The session of a receiving end.
#[derive(Debug)]
pub(in crate::world) struct ReceivingEnd {
    pub(in crate::world) receiver: LtReceiver<Length>,
    /// For an upload: the gateway's TCP, which sends to the host in the wired network.
    pub(in crate::world) host: Option<Sender>,
    /// For an upload: whether the host has acknowledged the SYN.
    pub(in crate::world) is_open: bool,
}

/// What TCP gives to a receiving end.
#[derive(Debug)]
pub(in crate::world) enum HostInput {
    /// The client of an upload has sent a SYN, which has passed the lossy path as it is (the paper's modes).
    Open,
    /// The host of an upload has sent an acknowledgement.
    Ack(Ack),
    /// The client of a download has accepted the connection.
    Accepted,
}

impl Session for ReceivingEnd {
    type Inner = HostInput;
    type Incoming = BlockSymbol;
    type Outgoing = LtAck;
    /// The number of a packet: for the client's TCP, or to be sent to the host.
    type Delivered = u64;
    type Event = LtEvent;

    fn handle_inner(&mut self, now: Time, inner: HostInput) {
        match (&mut self.host, inner) {
            (Some(host), HostInput::Open) => host.offer(now, 0),
            (Some(host), HostInput::Ack(ack)) => {
                host.on_ack(now, &ack);
                self.is_open = true;
                // This has no effect if the connection is open already.
                self.receiver.handle_inner(now, Accepted);
            }
            (None, HostInput::Accepted) => self.receiver.handle_inner(now, Accepted),
            (Some(_), HostInput::Accepted) | (None, _) => {}
        }
    }

    fn handle_datagram(&mut self, now: Time, received: Received<BlockSymbol>) {
        self.receiver.handle_datagram(now, received);
        if let Some(host) = &mut self.host {
            while let Some(delivered) = self.receiver.poll_deliver() {
                host.offer(now, u64::from(delivered != LtDelivered::Open));
            }
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.receiver.handle_timeout(now);
        if let Some(host) = &mut self.host {
            host.on_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<LtAck>> {
        self.receiver.poll_transmit(now)
    }

    fn poll_deliver(&mut self) -> Option<u64> {
        match &mut self.host {
            Some(host) => host.poll_transmit(),
            None => self.receiver.poll_deliver().map(|delivered| match delivered {
                LtDelivered::Open => 0,
                LtDelivered::Packet { number, .. } => number,
            }),
        }
    }

    fn poll_event(&mut self) -> Option<LtEvent> {
        self.receiver.poll_event()
    }

    fn poll_timeout(&self) -> Option<Time> {
        let host = self.host.as_ref().map(Sender::timeout).filter(|due| *due != Time::NEVER);
        [self.receiver.poll_timeout(), host].into_iter().flatten().min()
    }
}

/// The size of an acknowledgement with a rate, bytes. The rate takes 8 bytes of options in the TCP header.
const ADMITTED_BYTES: u32 = TCP_IP_HEADERS + 8;

impl SessionNode for LtSenderNode {
    type Session = LtSender<Length>;
    const BATCHES: bool = false;

    fn split(world: &mut World, number: u32) -> (&mut LtSenderNode, &mut Fabric) {
        (&mut world.lt_senders[number as usize], &mut world.fabric)
    }

    fn end(&mut self) -> &mut SessionEnd<Self::Session> {
        &mut self.end
    }

    fn enter(&mut self, entering: Entering, fabric: &mut Fabric) -> Option<LtInner<Length>> {
        match entering.body {
            Body::Data(number) => self.take(number, fabric),
            _ => None,
        }
    }

    fn unpack(&mut self, body: Body, fabric: &mut Fabric) -> Option<Input<Self::Session>> {
        let is_gateway = !self.place.layer.is_upload;
        if is_gateway && let Some(rate) = self.place.rate(fabric, is_opening(&body)) {
            self.end.session.set_rate(rate);
        }
        match body {
            Body::Data(number) => self.take(number, fabric).map(Input::Inner),
            Body::LtAck(ack) => Some(Input::Peer(*ack)),
            Body::Ack(ack) if is_gateway => {
                fabric.handoffs.push_back(self.acknowledge(TcpAck { next: ack.next, room: None }));
                None
            }
            Body::Admitted(admitted) => {
                let (ack, rate) = *admitted;
                if let Some(rate) = rate {
                    self.end.session.set_rate(rate);
                }
                fabric.handoffs.push_back(self.acknowledge(TcpAck { next: ack.next, room: None }));
                None
            }
            _ => None,
        }
    }

    fn pack(&mut self, packet: BlockSymbol, _fabric: &mut Fabric) -> Option<Packed> {
        Some(Packed { route: self.place.lossy, back: false, hop: 0, body: Body::Symbol(Box::new(packet)) })
    }

    fn leave(&mut self, ack: TcpAck, _fabric: &mut Fabric) -> Option<Handoff> {
        Some(self.acknowledge(ack))
    }

    fn note(&mut self, _now: Time, _event: LtEvent) {}
}

impl SessionNode for LtReceiverNode {
    type Session = ReceivingEnd;
    const BATCHES: bool = false;

    fn split(world: &mut World, number: u32) -> (&mut LtReceiverNode, &mut Fabric) {
        (&mut world.lt_receivers[number as usize], &mut world.fabric)
    }

    fn end(&mut self) -> &mut SessionEnd<Self::Session> {
        &mut self.end
    }

    fn unpack(&mut self, body: Body, fabric: &mut Fabric) -> Option<Input<Self::Session>> {
        if self.place.layer.is_upload {
            return self.unpack_at_gateway(body, fabric);
        }
        match body {
            Body::Symbol(symbol) => Some(Input::Peer(*symbol)),
            Body::Data(0) => {
                fabric.handoffs.push_back(Handoff::Leave {
                    flow: self.place.flow,
                    flags: EcnFlags::default(),
                    body: Body::Data(0),
                });
                let ack = Body::Ack(Ack::new(1, []));
                fabric.handoffs.push_back(self.place.over_lossy(true, TCP_IP_HEADERS, ack));
                None
            }
            _ => None,
        }
    }

    fn pack(&mut self, packet: LtAck, _fabric: &mut Fabric) -> Option<Packed> {
        Some(Packed { route: self.place.lossy, back: true, hop: 0, body: Body::LtAck(Box::new(packet)) })
    }

    fn leave(&mut self, number: u64, _fabric: &mut Fabric) -> Option<Handoff> {
        if number == 0 && !self.place.layer.is_upload {
            self.end.entering.push_back(HostInput::Accepted);
        }
        let payload = if number == 0 { 0 } else { self.place.payload };
        Some(match self.place.layer.is_upload {
            true => self.place.over_wired(false, payload + TCP_IP_HEADERS, Body::Data(number)),
            false => Handoff::Leave { flow: self.place.flow, flags: EcnFlags::default(), body: Body::Data(number) },
        })
    }

    fn note(&mut self, _now: Time, _event: LtEvent) {}
}

/// Whether a packet opens a connection.
fn is_opening(body: &Body) -> bool {
    match body {
        Body::Data(number) => *number == 0,
        Body::Symbol(packet) => matches!(**packet, LtPacket::Open { .. }),
        _ => false,
    }
}

impl LtReceiverNode {
    /// The gateway of an upload handles a packet. The SYN opens the connection to the host, and the host's answer goes
    /// to the client, with the rate of the flow.
    fn unpack_at_gateway(&mut self, body: Body, fabric: &mut Fabric) -> Option<Input<ReceivingEnd>> {
        if let Some(rate) = self.place.rate(fabric, is_opening(&body)) {
            self.end.session.receiver.set_rate(rate);
        }
        match body {
            Body::Symbol(symbol) => Some(Input::Peer(*symbol)),
            Body::Data(0) if self.end.session.is_open => {
                // The client has not got the answer.
                self.admit(fabric);
                None
            }
            Body::Data(0) => Some(Input::Inner(HostInput::Open)),
            Body::Ack(ack) => {
                if !self.end.session.is_open && !self.place.is_improved() {
                    self.admit(fabric);
                }
                Some(Input::Inner(HostInput::Ack(ack)))
            }
            _ => None,
        }
    }

    /// Sends the client the acknowledgement of its SYN, with the rate of the flow.
    fn admit(&self, fabric: &mut Fabric) {
        let gateway = self.place.layer.gateway.map(|gateway| &fabric.gateways[gateway]);
        let rate = gateway.and_then(|shares| shares.rate(FlowId(self.place.flow)));
        let admitted = Body::Admitted(Box::new((Ack::new(1, []), rate)));
        fabric.handoffs.push_back(self.place.over_lossy(true, ADMITTED_BYTES, admitted));
    }
}
