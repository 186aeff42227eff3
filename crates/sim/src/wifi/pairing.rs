//! XOR coding at a station (paper 002, section II-C): finding a partner, sending both packets as one frame, and
//! decoding them.
//!
//! - Before a station relays a packet from a neighbour A to a neighbour B, it looks for a *partner* in its queue. The
//!   partner is the first packet that came from B and goes to A. A station waits for a partner only with Cadence.
//! - Both receivers answer an XOR frame with a MAC ACK. With Cadence, only the forward receiver answers if the frame
//!   carries a TCP acknowledgement. The *forward* receiver is the receiver of the data packet. If both packets carry
//!   data, or if both carry acknowledgements, the forward receiver is the receiver of the packet that the station took
//!   first. The forward receiver answers after SIFS. The other receiver answers after SIFS + MAC ACK + SIFS, even if
//!   the first MAC ACK did not come.
//! - A packet that was not acknowledged contends again, alone or with another partner. Retries are counted for each
//!   packet.
//! - A station remembers the packets that it has sent, and uses them to decode XOR frames.
//! - Messages of the routing protocol are sent alone.

use super::contention::DrawReason;
use super::frame::{Frame, FrameKind};
use super::medium::{DropReason, Medium};
use super::queue::{Load, Packet, Queued};
use super::receiver::Reception;
use super::station::{Exchange, Phase, Response};
use super::timers::Timer;
use ripstop_base::{Seed, Time};
use ripstop_codes::xor::{KnownPackets, XorError, XorPacket};
use ripstop_codes::{Length, Symbol};
use std::time::Duration;

/// How stations code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XorConfig {
    /// The number of sent packets that a station remembers. A neighbour sends a packet back in an XOR frame within the
    /// time that a queue takes to empty. So some hundred packets are enough. If the memory is too small, stations
    /// cannot decode some XOR frames.
    pub memory: usize,
    /// The size of the coding header in each XOR frame, bytes. The header has the identifiers of the two packets.
    pub header_bytes: u32,
    /// Whether stations code and compare real payloads, and not identifiers alone. This setting is for tests.
    pub payloads: bool,
}

impl Default for XorConfig {
    /// A memory of 512 packets, a coding header of 0 bytes (as in paper 002), and identifiers alone.
    fn default() -> XorConfig {
        XorConfig { memory: 512, header_bytes: 0, payloads: false }
    }
}

/// The packets that a station has sent lately.
#[derive(Clone, Debug)]
pub(super) enum Sent {
    /// Identifiers and lengths alone.
    Identifiers(KnownPackets<Length>),
    /// Identifiers and payloads.
    Payloads(KnownPackets<Symbol>),
}

impl Sent {
    pub(super) fn new(config: Option<XorConfig>) -> Sent {
        match config {
            Some(XorConfig { memory, payloads: true, .. }) => Sent::Payloads(KnownPackets::new(memory)),
            Some(XorConfig { memory, .. }) => Sent::Identifiers(KnownPackets::new(memory)),
            None => Sent::Identifiers(KnownPackets::new(0)),
        }
    }

    fn insert<P>(&mut self, packet: &Queued<P>) {
        match self {
            Sent::Identifiers(known) => known.insert(packet.id, Length(packet.bytes as usize)),
            Sent::Payloads(known) => known.insert(packet.id, payload(packet)),
        }
    }

    /// Whether the station can decode the XOR of `wanted` and `other` to exactly `wanted`. This is also true if the
    /// station knows `wanted`, because it has received `wanted` before and sent it on.
    fn decodes<P>(&self, wanted: &Queued<P>, other: &Queued<P>) -> bool {
        match self {
            Sent::Identifiers(known) => {
                let lengths = [wanted, other].map(|packet| Length(packet.bytes as usize));
                let coded = XorPacket::new((wanted.id, &lengths[0]), (other.id, &lengths[1]));
                match coded.decode(known) {
                    Ok((id, len, _)) => (id, len) == (wanted.id, wanted.bytes as usize),
                    Err(error) => matches!(error, XorError::Redundant(..)),
                }
            }
            Sent::Payloads(known) => {
                let [first, second] = [wanted, other].map(payload);
                let coded = XorPacket::new((wanted.id, &first), (other.id, &second));
                match coded.decode(known) {
                    Ok((id, len, decoded)) => {
                        id == wanted.id && decoded.as_slice().get(..len) == Some(first.as_slice())
                    }
                    Err(error) => matches!(error, XorError::Redundant(..)),
                }
            }
        }
    }
}

/// The payload of a packet in tests: random bytes that depend only on the number of the packet.
fn payload<P>(packet: &Queued<P>) -> Symbol {
    Symbol::build(packet.bytes as usize, |bytes| Seed::new(packet.id).stream("payload").fill(bytes))
}

impl<P> Exchange<P> {
    /// An exchange of one packet.
    pub(super) fn new(first: Queued<P>, rts_due: bool) -> Exchange<P> {
        Exchange { first, partner: None, partner_place: 0, rts_due, acknowledged: [false; 2] }
    }

    /// What the frame of the exchange carries: data if one of the packets is data.
    pub(super) fn load(&self) -> Load {
        match &self.partner {
            Some(partner) if partner.load == Load::Data => Load::Data,
            _ => self.first.load,
        }
    }

    /// The two receivers of the XOR frame, the forward receiver first. If only one packet is data, the forward receiver
    /// gets this packet. Otherwise it gets `first`. None if the exchange has no partner.
    fn receivers(&self) -> Option<[u32; 2]> {
        let partner = self.partner.as_ref()?;
        let is_swapped = self.first.load == Load::Ack && partner.load == Load::Data;
        Some(if is_swapped { [partner.to, self.first.to] } else { [self.first.to, partner.to] })
    }
}

impl<P: Packet> Medium<P> {
    /// Looks for a partner of the packet that station `k` is about to send.
    pub(super) fn find_partner(&mut self, k: usize, now: Time) {
        if self.config.xor.is_none() {
            return;
        }
        let Some(exchange) = &self.stations[k].exchange else { return };
        let Some(from) = exchange.first.from else { return };
        if exchange.partner.is_some() {
            return;
        }
        let to = exchange.first.to;
        // A packet that Cadence holds may be the partner, because Cadence holds packets only until a partner comes.
        let fits = |packet: &Queued<P>| packet.to == from && packet.from == Some(to);
        let Some(place) = self.stations[k].queue.iter().position(fits) else { return };
        let is_held = |partner: &Queued<P>| !self.is_released(k, partner, now);
        let rides_free = self.stations[k].queue.iter().nth(place).is_some_and(is_held);
        let station = &mut self.stations[k];
        station.counters.free_rides += u64::from(rides_free);
        let partner = station.queue.remove(place);
        if let Some(exchange) = &mut station.exchange {
            (exchange.partner, exchange.partner_place) = (partner, place);
        }
    }

    /// Remembers the packets that station `k` sends.
    pub(super) fn remember(&mut self, k: usize) {
        if self.config.xor.is_none() {
            return;
        }
        let station = &mut self.stations[k];
        let Some(Exchange { first, partner, .. }) = &station.exchange else { return };
        if first.load != Load::Routing {
            station.sent.insert(first);
        }
        if let Some(partner) = partner {
            station.sent.insert(partner);
        }
    }

    /// The XOR frame of station `k`. None if the station has no partner for its packet.
    pub(super) fn xor_frame(&self, k: usize) -> Option<Frame> {
        let exchange = self.stations[k].exchange.as_ref()?;
        let to = exchange.receivers()?;
        let partner = exchange.partner.as_ref()?;
        let bytes = exchange.first.bytes.max(partner.bytes) + self.config.xor?.header_bytes;
        let reserves = self.answers(exchange) * (self.config.sifs + self.config.ack_airtime());
        Some(Frame::new(FrameKind::Xor, to, reserves, self.config.data_airtime(bytes)))
    }

    /// Station `k` has received an XOR frame that is for it. The station decodes its packet, and sends a MAC ACK at its
    /// time if one is due.
    pub(super) fn on_xor(&mut self, k: usize, reception: &Reception, now: Time) {
        let sender = reception.sender as usize;
        if self.stations[k].response.is_some() {
            self.stations[k].counters.unanswered += 1;
            return;
        }
        let (me, before) = self.stations.split_at_mut(k.max(sender));
        let (station, sender_station) =
            if k < sender { (&mut me[k], &mut before[0]) } else { (&mut before[0], &mut me[sender]) };
        let Some(Exchange { first, partner: Some(partner), .. }) = &mut sender_station.exchange else { return };
        let (mine, other) = if first.to == k as u32 { (first, partner) } else { (partner, first) };
        if !station.sent.decodes(mine, other) {
            station.counters.undecodable += 1;
            return;
        }
        let packet = mine.hand_over(sender);
        let is_rider = reception.head.to[0] != k as u32;
        let answers = self.stations[sender].exchange.as_ref().map_or(2, |exchange| self.answers(exchange));
        let (sifs, ack) = (self.config.sifs, self.config.ack_airtime());
        let after = if is_rider { sifs + ack + sifs } else { sifs };
        let station = &mut self.stations[k];
        if is_rider && answers == 1 {
            station.nav = station.nav.max(reception.reserved);
            match packet {
                Some(packet) => self.pass_up(k, packet, now),
                None => station.counters.duplicates += 1,
            }
            return;
        }
        station.response = Some(Response { kind: FrameKind::Ack, to: sender as u32, after, reserves: Duration::ZERO });
        // The receivers stay silent until both MAC ACKs have ended.
        station.nav = station.nav.max(reception.reserved);
        if packet.is_none() {
            station.counters.duplicates += 1;
        }
        if !station.timers.runs(Timer::Wait) {
            self.resume(k, now);
        }
        if let Some(packet) = packet {
            self.note_backlog(k, &packet, now);
            self.pass_up(k, packet, now);
        }
    }

    /// Station `k` has received a MAC ACK for its XOR frame from `receiver`.
    pub(super) fn on_xor_ack(&mut self, k: usize, receiver: usize, now: Time) {
        let answers = self.stations[k].exchange.as_ref().map_or(2, |exchange| self.answers(exchange));
        let station = &mut self.stations[k];
        let frame = station.flight.frame;
        let slot = self.config.sifs + self.config.ack_airtime();
        let first_slot_ends = station.flight.began + frame.airtime + slot + 2 * self.config.propagation_margin;
        let is_forward = frame.head.to[0] == receiver as u32;
        // A MAC ACK that does not come in the time of its receiver is ignored.
        if is_forward != (now <= first_slot_ends) {
            return;
        }
        let Some(exchange) = &mut station.exchange else { return };
        let is_partner = exchange.first.to != receiver as u32;
        exchange.acknowledged[usize::from(is_partner)] = true;
        if answers == 1 {
            // The TCP acknowledgement in the frame counts as received, because no MAC ACK is due for it.
            exchange.acknowledged = [true; 2];
        }
        if !is_forward || answers == 1 {
            station.timers.stop(Timer::Wait);
            self.end_xor(k, now);
            self.resume(k, now);
        }
    }

    /// The exchange of an XOR frame of station `k` has ended. Packets that were not acknowledged contend again, or are
    /// dropped at the retry limit.
    pub(super) fn end_xor(&mut self, k: usize, now: Time) {
        let Some(exchange) = self.stations[k].exchange.take() else { return };
        let (load, acknowledged) = (exchange.load(), exchange.acknowledged);
        let success = acknowledged == [true, true];
        self.note_exchange(k, load, success, now);
        let place = exchange.partner_place;
        let mut left = [None, None];
        let packets = [Some(exchange.first), exchange.partner].into_iter().flatten();
        for ((mut packet, acknowledged), left) in packets.zip(acknowledged).zip(&mut left) {
            if acknowledged {
                self.note_passed(k, &packet, now);
                if packet.packet.is_some() {
                    self.drop_packet(k, packet, DropReason::NotAcknowledged);
                }
                continue;
            }
            self.stations[k].counters.failures += 1;
            packet.failures[0] += 1;
            if packet.failures[0] < self.config.short_retry {
                *left = Some(packet);
            } else {
                self.give_up(k, packet, now);
                self.note_drop(k);
            }
        }
        let [first, partner] = left;
        match (first, partner) {
            (Some(first), partner) => {
                let rts_due = self.needs_rts(&first);
                let pair = Exchange { partner, partner_place: place, ..Exchange::new(first, rts_due) };
                self.stations[k].exchange = Some(pair);
            }
            (None, Some(partner)) => self.stations[k].queue.put_back(place, partner),
            (None, None) => {}
        }
        debug_assert!(self.stations[k].phase == Phase::Data, "an XOR frame ends in the phase in which it began");
        if success || self.stations[k].exchange.is_some() {
            let reason = if success { DrawReason::Post } else { DrawReason::Access };
            self.back_off(k, reason, now);
        }
    }
}
