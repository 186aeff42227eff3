//! The layer below the receiving TCP: combinations in, segments in order and acknowledgements out.
//!
//! `mod.rs` explains the words *combination*, *seen*, *innovative*, *row* and *deficit*.

use super::config::{Acknowledge, NcConfig, NcConfigError};
use super::{NcAck, NcPacket};
use ripstop_base::{DelayHistogram, Time};
use ripstop_codes::Payload;
use ripstop_codes::window::{Arrival, Decoder, Limits};
use ripstop_proto::session::{Received, Session, Transmit};
use std::collections::VecDeque;
use std::convert::Infallible;

/// The receiver's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounts {
    /// Packets received.
    pub packets: u64,
    /// Bytes of the packets received.
    pub bytes: u64,
    /// Innovative packets: each made one more segment seen.
    pub innovative: u64,
    /// Packets that were not innovative: they follow from the packets received before.
    pub redundant: u64,
    /// Packets dropped because they are too far ahead, too old or malformed, or because they
    /// combine a segment that the receiver no longer holds.
    pub refused: u64,
    /// Segments decoded.
    pub decoded: u64,
    /// Segments delivered, in order.
    pub delivered: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// Acknowledgements with the same first unseen segment as the previous acknowledgement.
    pub repeated_acks: u64,
    /// Packets that were not acknowledged, because of the setting [`Acknowledge`] or because no
    /// packet has been accepted yet.
    pub unanswered: u64,
    /// Acknowledgements sent only because a retransmission of TCP caused the packet
    /// ([`Acknowledge::InnovativeOrRetransmission`]).
    pub answered_retransmissions: u64,
    /// The largest number of segments that were seen but not decoded at one time.
    pub most_rows: u64,
}

/// The decoder under a receiving TCP.
#[derive(Clone, Debug)]
pub struct NcReceiver<P> {
    config: NcConfig,
    decoder: Decoder<P>,
    /// The next segment to deliver.
    next: u64,
    /// What is known about the segments from `next` on: the first entry is segment `next`.
    segments: VecDeque<Segment<P>>,
    /// All segments before this one are seen.
    seen_to: u64,
    /// The highest packet number received.
    highest: u64,
    /// How many packets were accepted.
    received: u64,
    /// Acknowledgements that have not been sent yet.
    acks: VecDeque<NcAck>,
    /// The first unseen segment in the last acknowledgement.
    last_ack: Option<u64>,
    decode_delays: DelayHistogram,
    /// The number of rows, integrated over the time since `began`. Unit: rows times nanoseconds.
    row_nanos: u128,
    /// When the first packet arrived.
    began: Option<Time>,
    /// The latest time that a call has given.
    now: Time,
    counts: ReceiverCounts,
}

#[derive(Clone, Debug)]
struct Segment<P> {
    /// The time from which this segment and all earlier segments are seen.
    seen: Option<Time>,
    payload: Option<P>,
}

impl<P: Payload> NcReceiver<P> {
    /// A receiver for segments that are numbered from 0 on.
    ///
    /// # Errors
    /// A setting that is not allowed.
    pub fn new(config: NcConfig) -> Result<NcReceiver<P>, NcConfigError> {
        config.check()?;
        // `ahead` bounds the number of rows, and so the memory. The size of the matrix gets no
        // limit of its own. A full matrix would refuse all further combinations, even the
        // combinations that are needed to decode its rows. Decoding could then stop for ever.
        let ahead = config.ahead as usize;
        let limits = Limits { ahead, history: ahead, matrix: usize::MAX, unseen: usize::MAX, ..Limits::default() };
        Ok(NcReceiver {
            config,
            decoder: Decoder::new(0, limits),
            next: 0,
            segments: VecDeque::new(),
            seen_to: 0,
            highest: 0,
            received: 0,
            acks: VecDeque::new(),
            last_ack: None,
            decode_delays: DelayHistogram::default(),
            row_nanos: 0,
            began: None,
            now: Time::ZERO,
            counts: ReceiverCounts::default(),
        })
    }

    /// How long segments wait to be decoded. The wait begins when the segment and all earlier
    /// segments are seen. The wait ends when the segment is decoded.
    pub fn decode_delays(&self) -> &DelayHistogram {
        &self.decode_delays
    }

    /// How many segments are seen but not decoded.
    pub fn rows(&self) -> usize {
        self.decoder.rows()
    }

    /// How many segments are not seen, although received combinations contain them.
    pub fn deficit(&self) -> usize {
        self.decoder.deficit()
    }

    /// The mean of [`NcReceiver::rows`] over the time from the first to the last packet.
    pub fn mean_rows(&self) -> f64 {
        let nanos = self.began.map_or(0, |began| self.now.since(began).as_nanos());
        if nanos == 0 { 0.0 } else { self.row_nanos as f64 / nanos as f64 }
    }

    /// The first segment that is not seen.
    pub fn first_unseen(&self) -> u64 {
        self.decoder.next_unseen()
    }

    /// The counters.
    pub fn counts(&self) -> ReceiverCounts {
        self.counts
    }

    fn advance_clock(&mut self, now: Time) {
        let now = now.max(self.now);
        if self.began.is_some() {
            self.row_nanos += self.decoder.rows() as u128 * u128::from(now.nanos_since(self.now));
        } else {
            self.began = Some(now);
        }
        self.now = now;
    }

    /// Records the current time for each segment that has become seen together with all earlier
    /// segments.
    fn note_seen(&mut self) {
        let (end, now) = (self.decoder.next_unseen(), self.now);
        for number in self.seen_to..end {
            if let Some(segment) = self.segment(number) {
                segment.seen = Some(now);
            }
        }
        self.seen_to = self.seen_to.max(end);
    }

    /// Stores the payload of the decoded segment `number`.
    fn take(&mut self, number: u64, payload: P) {
        let now = self.now;
        if let Some(segment) = self.segment(number) {
            let delay = now.since(segment.seen.unwrap_or(now));
            segment.payload = Some(payload);
            self.decode_delays.record(delay);
            self.counts.decoded += 1;
        }
    }

    /// The entry of segment `number`; None when the segment was delivered.
    fn segment(&mut self, number: u64) -> Option<&mut Segment<P>> {
        let at = usize::try_from(number.checked_sub(self.next)?).ok()?;
        while at >= self.segments.len() {
            self.segments.push_back(Segment { seen: None, payload: None });
        }
        self.segments.get_mut(at)
    }

    /// Acknowledges a packet if the settings say so.
    fn answer(&mut self, arrival: Arrival, retransmission: bool) {
        let innovative = arrival == Arrival::Innovative;
        let answered = match self.config.acknowledge {
            Acknowledge::EveryArrival => true,
            Acknowledge::Innovative => innovative,
            Acknowledge::InnovativeOrRetransmission => {
                self.counts.answered_retransmissions += u64::from(retransmission && !innovative);
                innovative || retransmission
            }
        };
        // Before the first accepted packet there is nothing to acknowledge.
        if !answered || self.received == 0 {
            self.counts.unanswered += 1;
            return;
        }
        let first_unseen = self.decoder.next_unseen();
        self.counts.acks += 1;
        self.counts.repeated_acks += u64::from(self.last_ack == Some(first_unseen));
        self.last_ack = Some(first_unseen);
        self.acks.push_back(NcAck {
            first_unseen,
            first_undecoded: self.decoder.next_undecoded(),
            heard: self.decoder.highest().map_or(0, |highest| highest.saturating_add(1)),
            deficit: self.decoder.deficit() as u64,
            highest: self.highest,
            received: self.received,
        });
    }
}

impl<P: Payload> Session for NcReceiver<P> {
    type Inner = Infallible;
    type Incoming = NcPacket<P>;
    type Outgoing = NcAck;
    type Delivered = (u64, P);
    type Event = Infallible;

    fn handle_inner(&mut self, _now: Time, inner: Infallible) {
        match inner {}
    }

    fn handle_datagram(&mut self, now: Time, received: Received<NcPacket<P>>) {
        let packet = received.packet;
        self.advance_clock(now);
        self.counts.packets += 1;
        self.counts.bytes += u64::from(packet.bytes);
        let (first, span) = (packet.members.first(), packet.members.len() as u64);
        let arrival = match (&packet.coding, first) {
            (Some(coding), _) => self.decoder.repair(&packet.members, coding, packet.payload),
            (None, Some(segment)) if span == 1 => {
                let arrival = self.decoder.source(segment, packet.payload.clone());
                if arrival == Arrival::Innovative {
                    self.take(segment, packet.payload);
                }
                arrival
            }
            (None, _) => Arrival::Unusable,
        };
        match arrival {
            Arrival::Innovative => {
                self.counts.innovative += 1;
                self.note_seen();
                while let Some((segment, payload)) = self.decoder.poll_decoded() {
                    self.take(segment, payload);
                }
                self.counts.most_rows = self.counts.most_rows.max(self.decoder.rows() as u64);
            }
            Arrival::Redundant | Arrival::Duplicate => self.counts.redundant += 1,
            _ => self.counts.refused += 1,
        }
        if matches!(arrival, Arrival::Innovative | Arrival::Redundant | Arrival::Duplicate) {
            self.received += 1;
            self.highest = self.highest.max(packet.number);
            // Packets sent after this one contain no segment before `oldest`. Earlier packets that
            // arrive late may contain such segments. So the decoder also keeps as many segments
            // before `oldest` as this packet combines.
            self.decoder.keep_from(packet.oldest.saturating_sub(span));
        }
        self.answer(arrival, packet.retransmission);
    }

    fn handle_timeout(&mut self, _now: Time) {}

    /// The next acknowledgement for the sender.
    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<NcAck>> {
        let packet = self.acks.pop_front()?;
        Some(Transmit { packet, bytes: self.config.header_bytes, ect: false })
    }

    /// The next segment for the receiving TCP: its number and its payload. The segments come in
    /// order, and each segment comes one time. A payload may end in padding zeros.
    fn poll_deliver(&mut self) -> Option<(u64, P)> {
        let payload = self.segments.front_mut()?.payload.take()?;
        self.segments.pop_front();
        self.next += 1;
        self.counts.delivered += 1;
        Some((self.next - 1, payload))
    }

    fn poll_event(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }
}
