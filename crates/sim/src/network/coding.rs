//! TCP/NC below a connection: a coding layer at both ends, and relays that re-encode between.

use super::packet::{Body, TCP_IP_HEADERS};
use crate::tcp::Ack;
use ripstop_base::{Delays, Seed, Time};
use ripstop_codes::Length;
use ripstop_codes::window::Members;
use ripstop_proto::session::nc::{
    Config, ConfigError, Factor, NcAck, NcPacket, NcReceiver, NcRelay, NcSender,
};
use ripstop_proto::session::nc::{ReceiverCounts, RelayCounts, Segment, SenderCounts};
use ripstop_proto::session::{Received, Session, Transmit};

/// A combination on its way.
pub type Combination = NcPacket<Length>;

/// The coding layer of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct NcConfig {
    /// Of its sender, its receiver and its relays.
    pub session: Config,
    /// Where it is coded anew: behind so many links of the route, with so many combinations for each that arrives.
    pub relays: Vec<(usize, Factor)>,
}

/// What the coding layer of a connection has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NcStatus {
    /// The sender's counters.
    pub sender: SenderCounts,
    /// The receiver's.
    pub receiver: ReceiverCounts,
    /// The relays', in the order of the route.
    pub relays: Vec<RelayCounts>,
    /// From seen to decoded.
    pub decode_delays: Delays,
    /// Mean over time of the combinations that wait at the receiver.
    pub mean_rows: f64,
}

/// What the coding layer of a connection holds at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NcMoment {
    /// Segments that the sender holds and combines.
    pub window: usize,
    /// Combinations that wait at the receiver.
    pub rows: usize,
    /// Segments that the receiver has heard of and not seen.
    pub deficit: usize,
}

#[derive(Debug)]
pub(super) struct Layer {
    sender: NcSender<Length>,
    receiver: NcReceiver<Length>,
    relays: Vec<(usize, NcRelay<Length>)>,
    /// Combinations that have arrived, or are lost, leave their memory to those that are still to come.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    spare: Vec<Box<Combination>>,
}

impl Layer {
    pub(super) fn new(config: &NcConfig, seed: Seed, name: &str) -> Result<Layer, ConfigError> {
        let relay = |(behind, factor): &(usize, Factor)| {
            let seed = seed.child(&format!("{name}/relay/{behind}"));
            Ok((*behind, NcRelay::new(config.session, *factor, seed)?))
        };
        Ok(Layer {
            sender: NcSender::new(config.session, seed.child(&format!("{name}/nc")))?,
            receiver: NcReceiver::new(config.session)?,
            relays: config.relays.iter().map(relay).collect::<Result<_, _>>()?,
            spare: Vec::new(),
        })
    }

    pub(super) fn status(&self) -> NcStatus {
        NcStatus {
            sender: self.sender.counts(),
            receiver: self.receiver.counts(),
            relays: self.relays.iter().map(|(_, relay)| relay.counts()).collect(),
            decode_delays: self.receiver.decode_delays().clone(),
            mean_rows: self.receiver.mean_rows(),
        }
    }

    pub(super) fn moment(&self) -> NcMoment {
        NcMoment { window: self.sender.held(), rows: self.receiver.rows(), deficit: self.receiver.deficit() }
    }

    /// TCP sends segment `number` with so much payload.
    pub(super) fn segment(&mut self, now: Time, number: u64, payload: u32) {
        // Numbers come from our own sender: 0, 1, 2, .. without a gap.
        self.sender.handle_inner(now, Segment { number, payload: Length(payload as usize) });
    }

    /// The next combination that leaves, and its size.
    pub(super) fn transmit(&mut self, now: Time) -> Option<(Body, u32)> {
        let sent = self.sender.poll_transmit(now)?;
        Some(self.load(sent))
    }

    /// The receiver's answer has come back.
    pub(super) fn answered(&mut self, now: Time, answer: &NcAck) {
        self.sender.handle_datagram(now, Received { packet: *answer, bytes: TCP_IP_HEADERS, ce: false });
    }

    /// The next acknowledgement for TCP.
    pub(super) fn acknowledge(&mut self) -> Option<Ack> {
        self.sender.poll_deliver().map(|first_unseen| Ack::new(first_unseen, []))
    }

    /// A combination has come to the receiver.
    pub(super) fn receive(&mut self, now: Time, packet: Box<Combination>) {
        let received = self.unload(packet);
        self.receiver.handle_datagram(now, received);
    }

    /// The receiver's next answer, and its size.
    pub(super) fn answer(&mut self, now: Time) -> Option<Transmit<NcAck>> {
        self.receiver.poll_transmit(now)
    }

    /// The next segment that is decoded, in order.
    pub(super) fn deliver(&mut self) -> Option<u64> {
        self.receiver.poll_deliver().map(|(number, _)| number)
    }

    /// Whether there is a relay behind so many links.
    pub(super) fn has_relay(&self, behind: usize) -> bool {
        self.relays.iter().any(|(at, _)| *at == behind)
    }

    /// A combination has come to the relay behind so many links.
    pub(super) fn relay(&mut self, behind: usize, now: Time, packet: Box<Combination>) {
        let received = self.unload(packet);
        if let Some((_, relay)) = self.relays.iter_mut().find(|(at, _)| *at == behind) {
            relay.handle_datagram(now, received);
        }
    }

    /// The next combination that leaves the relay behind so many links, and its size.
    pub(super) fn relayed(&mut self, behind: usize, now: Time) -> Option<(Body, u32)> {
        let (_, relay) = self.relays.iter_mut().find(|(at, _)| *at == behind)?;
        let sent = relay.poll_transmit(now)?;
        Some(self.load(sent))
    }

    /// As a packet's content, and its size.
    fn load(&mut self, sent: Transmit<Combination>) -> (Body, u32) {
        let Transmit { packet, bytes, .. } = sent;
        let body = match self.spare.pop() {
            Some(mut spare) => {
                *spare = packet;
                spare
            }
            None => Box::new(packet),
        };
        (Body::Coded(body), bytes)
    }

    /// A combination is lost on its way.
    pub(super) fn give_back(&mut self, body: Box<Combination>) {
        self.spare.push(body);
    }

    fn unload(&mut self, mut body: Box<Combination>) -> Received<Combination> {
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
        self.spare.push(body);
        Received { bytes: packet.bytes, packet, ce: false }
    }
}
