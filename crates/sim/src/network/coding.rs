//! TCP/NC below a connection: a coding layer at both ends, and relays that re-encode between.

use super::packet::Body;
use crate::tcp::Ack;
use ripstop_base::{Delays, Seed, Time};
use ripstop_codes::Length;
use ripstop_proto::session::nc::{
    Config, ConfigError, Factor, NcAck, NcPacket, NcReceiver, NcRelay, NcSender,
};
use ripstop_proto::session::nc::{ReceiverCounts, RelayCounts, SenderCounts};

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

#[derive(Debug)]
pub(super) struct Layer {
    sender: NcSender<Length>,
    receiver: NcReceiver<Length>,
    relays: Vec<(usize, NcRelay<Length>)>,
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

    /// TCP sends segment `number` with so much payload.
    pub(super) fn segment(&mut self, now: Time, number: u64, payload: u32) {
        // Numbers come from our own sender: 0, 1, 2, .. without a gap.
        let _ = self.sender.handle_segment(now, number, Length(payload as usize));
    }

    /// The next combination that leaves, and its size.
    pub(super) fn transmit(&mut self) -> Option<(Body, u32)> {
        self.sender.poll_transmit().map(combination)
    }

    /// The receiver's answer has come back.
    pub(super) fn answered(&mut self, now: Time, answer: &NcAck) {
        self.sender.handle_ack(now, answer);
    }

    /// The next acknowledgement for TCP.
    pub(super) fn acknowledge(&mut self) -> Option<Ack> {
        self.sender.poll_acknowledge().map(|first_unseen| Ack::new(first_unseen, []))
    }

    /// A combination has come to the receiver.
    pub(super) fn receive(&mut self, now: Time, packet: Combination) {
        self.receiver.handle_packet(now, packet);
    }

    /// The receiver's next answer, and its size.
    pub(super) fn answer(&mut self) -> Option<NcAck> {
        self.receiver.poll_ack()
    }

    /// The next segment that is decoded, in order.
    pub(super) fn deliver(&mut self) -> Option<u64> {
        self.receiver.poll_deliver().map(|(number, _)| number)
    }

    /// The relay behind so many links.
    pub(super) fn relay(&mut self, behind: usize) -> Option<&mut NcRelay<Length>> {
        self.relays.iter_mut().find(|(at, _)| *at == behind).map(|(_, relay)| relay)
    }
}

/// As a packet's content, and its size.
pub(super) fn combination(packet: Combination) -> (Body, u32) {
    let bytes = packet.bytes;
    (Body::Coded(Box::new(packet)), bytes)
}
