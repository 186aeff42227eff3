//! A record of the air: the frames that stations send, the fate of each frame at each station that senses it, and why
//! stations wait.
//!
//! A medium records only after [`Medium::record_air`]. Before this call, each recording hook costs one comparison.
//! Recording draws no random number and sets no timer, so it changes no result.

use super::aodv::Message;
use super::countdown::Countdown;
use super::frame::{Frame, FrameKind, Head, NOBODY};
use super::medium::Medium;
use super::propagation::Hearer;
use super::queue::{Load, Packet, Payload, Queued};
use super::receiver::{Beginning, Ending, Reception};
use super::station::Station;
use ripstop_base::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// Something that happened on the air.
///
/// The [`AirEvent::Sent`] events of all stations come in the order of their times. Other events come in the order of
/// their times for each station alone. They come late, because a station applies what it hears only when it has
/// something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum AirEvent<P> {
    /// A station begins to send a frame.
    Sent(Box<AirFrame<P>>),
    /// The fate of a frame at a station that senses it has become known.
    Heard(AirReception),
    /// A station begins or ceases to wait.
    Waits {
        /// The station.
        station: u32,
        /// When the station begins or ceases to wait.
        at: Time,
        /// Why the station waits from then on.
        state: AirState,
    },
}

/// A frame as its sender sends it.
#[derive(Clone, Debug, PartialEq)]
pub struct AirFrame<P> {
    /// The station that sends the frame.
    pub station: u32,
    /// When the frame begins at the sender.
    pub at: Time,
    /// How long the frame is on the air, preamble included.
    pub airtime: Duration,
    /// How long the medium stays reserved after the frame.
    pub reserves: Duration,
    /// The kind of the frame.
    pub kind: FrameKind,
    /// The rate of the frame after the preamble, bit/s.
    pub rate: u64,
    /// The receivers of the frame. An XOR frame has two: the receiver that answers first comes first. A broadcast has
    /// none. Any other frame has one.
    pub to: [Option<u32>; 2],
    /// The power at the receiver divided by the power at the sender. None if the frame has no receiver or two
    /// receivers.
    pub gain: Option<f64>,
    /// The packets of the frame, in the order of `to`.
    pub packets: [Option<AirPacket<P>>; 2],
}

/// A packet in a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct AirPacket<P> {
    /// The packet's number on this medium, which is the same at all stations. 0 for messages of the routing protocol.
    pub id: u64,
    /// The packet's size with its IP header, bytes. The airtime of the frame follows from this size.
    pub bytes: u32,
    /// What the packet carries.
    pub load: Load,
    /// The station that sent the packet first.
    pub source: u32,
    /// The number of hops that the packet has passed before this frame.
    pub forwards: u16,
    /// How many times this station has failed to send the packet before this frame. Failed RTS frames count.
    pub failures: u32,
    /// The packet's content.
    pub content: AirContent<P>,
}

/// The content of a packet in a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum AirContent<P> {
    /// A packet of the layer above.
    Packet(P),
    /// A message of AODV.
    Routing(AirMessage),
    /// The receiver already has the packet with its content. The MAC ACK of the receiver was lost, so the packet is
    /// sent again. An earlier frame with the same `id` has the content.
    HandedOver,
}

/// A message of AODV.
#[derive(Clone, Debug, PartialEq)]
pub struct AirMessage(Message);

impl AirMessage {
    /// The message in the format of RFC 3561, section 5. `address` gives the IPv4 address of a station.
    pub fn encode(&self, address: impl Fn(u32) -> [u8; 4]) -> Vec<u8> {
        self.0.encode(address)
    }

    /// The final destination of the message. None if the message is for all neighbours.
    pub fn destination(&self) -> Option<u32> {
        match &self.0 {
            Message::Reply(reply) => Some(reply.originator),
            Message::Request(_) | Message::Error(_) => None,
        }
    }

    /// How many more times the message may be sent. This is the TTL in the IP header of the message (RFC 3561).
    pub fn time_to_live(&self) -> u32 {
        match &self.0 {
            Message::Request(request) => request.time_to_live,
            Message::Reply(reply) => reply.time_to_live,
            Message::Error(_) => 1,
        }
    }
}

/// What became of a frame at a station that sensed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirReception {
    /// The station.
    pub station: u32,
    /// The sender of the frame.
    pub sender: u32,
    /// The kind of the frame.
    pub kind: FrameKind,
    /// When the frame begins at the station.
    pub began: Time,
    /// When the frame ends at the station.
    pub ends: Time,
    /// Whether the frame is for the station, and strong enough to decode there.
    pub expected: bool,
    /// The fate of the frame.
    pub fate: AirFate,
}

/// The fate of a frame at a station. [`StationCounters`](super::StationCounters) counts the frames of each fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirFate {
    /// The frame was decoded.
    Decoded,
    /// The frame was too weak to decode.
    TooWeak,
    /// A random loss destroyed the frame.
    Lost,
    /// The station was sending during a part of the frame.
    Deaf,
    /// The frame was ignored, because an earlier frame was stronger, at least by the capture ratio.
    Ignored,
    /// The frame collided with another frame.
    Collided {
        /// Whether the station could have decoded the frame without the other frames.
        intact: bool,
    },
}

impl AirReception {
    /// Whether the frame was for the station, and only a collision kept the station from decoding it.
    pub fn is_collision(&self) -> bool {
        self.expected && self.fate == AirFate::Collided { intact: true }
    }

    /// Whether the frame was for the station, and a random loss destroyed it there.
    pub fn is_random_loss(&self) -> bool {
        self.expected && self.fate == AirFate::Lost
    }

    /// Whether the frame was for the station, and the station missed it because the station was sending or followed
    /// another frame.
    pub fn is_missed(&self) -> bool {
        let missed = matches!(self.fate, AirFate::Deaf | AirFate::Ignored | AirFate::Collided { intact: false });
        self.expected && missed
    }
}

/// Why a station waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirState {
    /// The back-off of the station.
    pub backoff: AirBackoff,
    /// The NAV keeps the station silent until this time. A time in the past has no effect.
    pub nav: Time,
    /// EIFS keeps the station silent until this time. A time in the past has no effect.
    pub eifs: Time,
    /// The station's protection timer runs until this time (adaptive back-off). If this time is in the past, the timer
    /// does not run.
    pub protection: Time,
}

/// The back-off of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirBackoff {
    /// There is no back-off.
    Off,
    /// The back-off stands still, because the medium is busy or the station is in an exchange.
    Paused,
    /// The back-off counts slots.
    Running {
        /// When the first slot begins: DIFS after the medium became idle and the NAV and EIFS ended.
        from: Time,
        /// When the last slot ends, if nothing interrupts the back-off.
        ends: Time,
    },
}

/// The recorded events that the caller has not taken yet.
#[derive(Debug)]
pub(super) struct AirLog<P> {
    events: VecDeque<AirEvent<P>>,
    /// For each station, the state that was recorded last.
    states: Vec<AirState>,
    /// Frames that the caller has not taken yet, the earliest first. They are not in `events`, because a MAC ACK is
    /// recorded before it begins.
    frames: VecDeque<Box<AirFrame<P>>>,
}

impl<P: Packet> Medium<P> {
    /// Records what happens on the air from now on, for [`Medium::poll_air`]. A second call changes nothing.
    pub fn record_air(&mut self) {
        if self.air.is_none() {
            let states = self.stations.iter().map(|station| state_of(station, self.config.slot)).collect();
            self.air = Some(Box::new(AirLog { events: VecDeque::new(), states, frames: VecDeque::new() }));
        }
    }

    /// The next recorded event up to `now`. None if no such event is left, or if the medium does not record.
    pub fn poll_air(&mut self, now: Time) -> Option<AirEvent<P>> {
        let log = self.air.as_mut()?;
        if log.frames.front().is_some_and(|frame| frame.at <= now) {
            return log.frames.pop_front().map(AirEvent::Sent);
        }
        log.events.pop_front()
    }

    /// Records that station `k` begins to send `frame` at `at`.
    #[inline]
    pub(super) fn record_frame(&mut self, k: usize, frame: Frame, at: Time) {
        if self.air.is_some() {
            let frame = Box::new(self.air_frame(k, frame, at));
            if let Some(log) = &mut self.air {
                let place = log.frames.partition_point(|earlier| earlier.at <= at);
                log.frames.insert(place, frame);
            }
        }
    }

    /// Records the state of station `k`, if it has changed.
    #[inline]
    pub(super) fn record_state(&mut self, k: usize, at: Time) {
        if self.air.is_some() {
            self.push_state(k, at);
        }
    }

    fn push_state(&mut self, k: usize, at: Time) {
        let Some(log) = &mut self.air else { return };
        let state = state_of(&self.stations[k], self.config.slot);
        if log.states[k] != state {
            log.states[k] = state;
            log.events.push_back(AirEvent::Waits { station: k as u32, at, state });
        }
    }

    /// The frame that the receiver of station `k` follows. None if the medium does not record.
    #[inline]
    pub(super) fn followed_for_record(&self, k: usize) -> Option<Reception> {
        self.air.as_ref().and_then(|_| self.stations[k].receiver.followed().copied())
    }

    /// Records what the beginning of the frame `new` did at station `k`, which followed the frame `old`.
    #[inline]
    pub(super) fn record_beginning(&mut self, k: usize, old: Option<Reception>, new: Reception, beginning: Beginning) {
        if self.air.is_none() {
            return;
        }
        match (beginning, old) {
            (Beginning::Ignored, _) => self.push_reception(k, new, AirFate::Ignored),
            (Beginning::Collision { intact, .. }, Some(old)) => {
                // The frame that ends first is lost now. The other frame is followed, and is recorded when it ends.
                let lost = if new.ends <= old.ends { new } else { old };
                self.push_reception(k, lost, AirFate::Collided { intact });
            }
            _ => {}
        }
    }

    /// Records how station `k` received a frame that it followed to its end.
    #[inline]
    pub(super) fn record_ending(&mut self, k: usize, reception: Reception, ending: Ending) {
        if self.air.is_none() {
            return;
        }
        let fate = match ending {
            Ending::Decoded => AirFate::Decoded,
            Ending::TooWeak => AirFate::TooWeak,
            Ending::Lost => AirFate::Lost,
            Ending::Deaf => AirFate::Deaf,
            Ending::Collided { intact } => AirFate::Collided { intact },
        };
        self.push_reception(k, reception, fate);
    }

    fn push_reception(&mut self, k: usize, reception: Reception, fate: AirFate) {
        let Reception { sender, head, decodes, begins, ends, .. } = reception;
        self.push_air(AirEvent::Heard(AirReception {
            station: k as u32,
            sender,
            kind: head.kind,
            began: begins,
            ends,
            expected: decodes && head.is_for(k),
            fate,
        }));
    }

    fn push_air(&mut self, event: AirEvent<P>) {
        if let Some(log) = &mut self.air {
            log.events.push_back(event);
        }
    }

    /// The record of a frame of station `k`, with the frame's packets.
    fn air_frame(&self, k: usize, frame: Frame, at: Time) -> AirFrame<P> {
        let Frame { head: Head { kind, to }, reserves, airtime } = frame;
        let carries = matches!(kind, FrameKind::Data | FrameKind::Xor | FrameKind::Broadcast);
        let exchange = self.stations[k].exchange.as_ref().filter(|_| carries);
        let first = exchange.map(|exchange| &exchange.first);
        let partner = exchange.and_then(|exchange| exchange.partner.as_ref()).filter(|_| kind == FrameKind::Xor);
        let mut packets = [first, partner];
        if first.is_some_and(|first| first.to != to[0]) {
            packets.swap(0, 1);
        }
        let to = to.map(|to| (to != NOBODY).then_some(to));
        let one = if let [Some(one), None] = to { Some(one) } else { None };
        let gain = |hearer: &Hearer| (Some(hearer.station) == one).then_some(hearer.power);
        let fast = matches!(kind, FrameKind::Data | FrameKind::Xor);
        AirFrame {
            station: k as u32,
            at,
            airtime,
            reserves,
            kind,
            rate: if fast { self.config.data_rate } else { self.config.basic_rate },
            to,
            gain: self.hearers[k].iter().find_map(gain),
            packets: packets.map(|packet| packet.map(air_packet)),
        }
    }
}

/// The record of a packet in a frame.
fn air_packet<P: Packet>(packet: &Queued<P>) -> AirPacket<P> {
    let content = match &packet.packet {
        Some(Payload::Packet(packet)) => AirContent::Packet(packet.clone()),
        Some(Payload::Message(message)) => AirContent::Routing(AirMessage(message.clone())),
        None => AirContent::HandedOver,
    };
    AirPacket {
        id: packet.id,
        bytes: packet.bytes,
        load: packet.load,
        source: packet.source,
        forwards: packet.forwards,
        failures: packet.failures.iter().sum(),
        content,
    }
}

/// Why a station waits.
fn state_of<P>(station: &Station<P>, slot: Duration) -> AirState {
    let backoff = match station.countdown {
        Countdown::Off => AirBackoff::Off,
        Countdown::Paused { .. } => AirBackoff::Paused,
        Countdown::Running { from, .. } => AirBackoff::Running { from, ends: station.countdown.ends(slot) },
    };
    let Station { nav, shy_until: eifs, .. } = *station;
    AirState { backoff, nav, eifs, protection: station.contention.protected_until }
}
