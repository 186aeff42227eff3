//! A node on the path that re-encodes: the node sends new combinations of the combinations that it
//! has received, without decoding the segments.
//!
//! `mod.rs` explains the words *combination*, *innovative* and *row*.

use super::NcPacket;
use super::config::{Factor, NcConfig, NcConfigError};
use super::redundancy::Accumulator;
use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::Payload;
use ripstop_codes::window::{Arrival, Limits, Recoder};
use ripstop_proto::session::{Received, Session, Transmit};
use std::collections::VecDeque;
use std::convert::Infallible;

/// The relay's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounts {
    /// Packets received.
    pub packets: u64,
    /// Innovative packets.
    pub innovative: u64,
    /// Packets that were not innovative: they follow from the packets received before.
    pub redundant: u64,
    /// Packets that the relay could not combine and forwarded unchanged.
    pub passed_on: u64,
    /// New combinations sent.
    pub combinations: u64,
    /// Combinations sent in addition to one for each packet received: the redundancy that this
    /// relay adds.
    pub added: u64,
    /// Bytes of the combinations sent and of the packets forwarded unchanged.
    pub bytes: u64,
    /// The largest number of rows held at one time. A row is a received combination whose segments
    /// are not all decoded.
    pub most_rows: u64,
}

/// A relay that re-encodes. Each packet that the relay sends is a random combination of all rows
/// and all decoded segments that the relay holds. See paper 000, section II, and paper 001,
/// section 2. If the relay cannot combine a received packet, it forwards the packet unchanged.
///
/// When the sender no longer holds a segment, the relay drops its combinations with that segment.
/// The receiver has already seen the segment.
#[derive(Clone, Debug)]
pub struct NcRelay<P> {
    config: NcConfig,
    factor: Factor,
    accumulator: Accumulator,
    recoder: Recoder<P>,
    random: Stream,
    /// The lowest segment that the sender still holds, as far as received packets tell.
    oldest: u64,
    jobs: VecDeque<Job<P>>,
    counts: RelayCounts,
}

/// What to send because of one received packet.
#[derive(Clone, Debug)]
enum Job<P> {
    /// Forward the packet unchanged.
    PassOn(NcPacket<P>),
    /// Send `left` more combinations. They take `number` and `retransmission` from the received
    /// packet.
    Combine { number: u64, retransmission: bool, left: u32 },
}

impl<P: Payload> NcRelay<P> {
    /// A relay that sends `factor` combinations for each packet received. A fraction is carried
    /// over to the next packet. A factor of 1 adds no redundancy. A factor of 1/(1-q) makes up for
    /// the losses of the next hop if that hop loses a packet with probability q.
    ///
    /// # Errors
    /// A setting that is not allowed.
    pub fn new(config: NcConfig, factor: Factor, seed: Seed) -> Result<NcRelay<P>, NcConfigError> {
        config.check()?;
        let ahead = config.ahead as usize;
        let limits = Limits { ahead, history: ahead, matrix: usize::MAX, unseen: usize::MAX, ..Limits::default() };
        Ok(NcRelay {
            config,
            factor,
            accumulator: Accumulator::default(),
            recoder: Recoder::new(0, limits),
            random: seed.stream("nc/relay"),
            oldest: 0,
            jobs: VecDeque::new(),
            counts: RelayCounts::default(),
        })
    }

    /// The counters.
    pub fn counts(&self) -> RelayCounts {
        self.counts
    }

    fn combine(&mut self, number: u64, retransmission: bool) -> Option<NcPacket<P>> {
        let (members, coding, payload) = self.recoder.emit_all(&mut self.random)?;
        let bytes = self.config.packet_bytes(payload.len(), Some(members.len()));
        self.counts.combinations += 1;
        self.counts.bytes += u64::from(bytes);
        let (oldest, coding) = (self.oldest, Some(coding));
        Some(NcPacket { number, oldest, retransmission, members, coding, payload, bytes })
    }
}

impl<P: Payload> Session for NcRelay<P> {
    type Inner = Infallible;
    type Incoming = NcPacket<P>;
    type Outgoing = NcPacket<P>;
    type Delivered = Infallible;
    type Event = Infallible;

    fn handle_inner(&mut self, _now: Time, inner: Infallible) {
        match inner {}
    }

    /// Takes a packet that the sender or another relay has sent. Acknowledgements of the receiver
    /// do not go through this method. They are forwarded unchanged.
    fn handle_datagram(&mut self, _now: Time, received: Received<NcPacket<P>>) {
        let packet = received.packet;
        self.counts.packets += 1;
        let arrival = match (&packet.coding, packet.members.first()) {
            (Some(coding), _) => self.recoder.repair(&packet.members, coding, packet.payload.clone()),
            (None, Some(segment)) if packet.members.len() == 1 => self.recoder.source(segment, packet.payload.clone()),
            (None, _) => Arrival::Unusable,
        };
        match arrival {
            Arrival::Innovative => self.counts.innovative += 1,
            Arrival::Redundant | Arrival::Duplicate => self.counts.redundant += 1,
            _ => {
                self.jobs.push_back(Job::PassOn(packet));
                return;
            }
        }
        // A wrong `oldest` in a packet must not make the relay skip segments that it has not heard
        // of.
        let heard = self.recoder.highest().map_or(0, |highest| highest.saturating_add(1));
        self.oldest = self.oldest.max(packet.oldest.min(heard));
        self.recoder.advance_to(self.oldest);
        self.counts.most_rows = self.counts.most_rows.max(self.recoder.rows() as u64);
        let left = self.accumulator.take(self.factor);
        self.counts.added += u64::from(left.saturating_sub(1));
        self.jobs.push_back(Job::Combine { number: packet.number, retransmission: packet.retransmission, left });
    }

    fn handle_timeout(&mut self, _now: Time) {}

    /// The packet to send next to the next hop.
    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<NcPacket<P>>> {
        loop {
            match self.jobs.front_mut()? {
                Job::Combine { number, retransmission, left } if *left > 0 => {
                    *left -= 1;
                    let (number, retransmission) = (*number, *retransmission);
                    if let Some(packet) = self.combine(number, retransmission) {
                        return Some(packet.transmit());
                    }
                }
                Job::Combine { .. } => drop(self.jobs.pop_front()),
                Job::PassOn(_) => {
                    if let Some(Job::PassOn(packet)) = self.jobs.pop_front() {
                        self.counts.passed_on += 1;
                        self.counts.bytes += u64::from(packet.bytes);
                        return Some(packet.transmit());
                    }
                }
            }
        }
    }

    fn poll_deliver(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_event(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }
}
