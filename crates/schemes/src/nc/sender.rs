//! The layer below the sending TCP: segments in, combinations out. Acknowledgements go the other
//! way: from the receiver, through this layer, to TCP.
//!
//! `mod.rs` explains the words *combination*, *seen*, *decoded* and *R*.

use super::config::{CodingWindow, Coefficients, Factor, NcConfig, NcConfigError, Retransmissions};
use super::redundancy::{RedundancyController, Sent};
use super::{NcAck, NcPacket};
use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::Payload;
use ripstop_codes::window::{Coding, Encoder, Members};
use ripstop_proto::session::{Received, Session, Transmit};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;

/// A segment of the sending TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<P> {
    /// The segment's number. TCP numbers its segments from 0 on without gaps.
    pub number: u64,
    /// The segment's data.
    pub payload: P,
}

/// The sender's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Segments taken from TCP, retransmissions included.
    pub segments: u64,
    /// Segments dropped because TCP had not sent all earlier segments before.
    pub gaps: u64,
    /// Segments that TCP sent again.
    pub retransmissions: u64,
    /// Retransmissions dropped ([`Retransmissions::Dropped`]).
    pub dropped: u64,
    /// Retransmissions of segments that are acknowledged already. The sender sends no packet for
    /// them, and repeats the acknowledgement to TCP.
    pub late: u64,
    /// Combinations sent.
    pub combinations: u64,
    /// Segments sent uncoded ([`Retransmissions::AsTheyAre`]).
    pub as_they_are: u64,
    /// Bytes of the combinations and uncoded segments sent.
    pub bytes: u64,
    /// Combinations without the segment for which they are sent. This segment lies beyond the
    /// coding window ([`CodingWindow::Oldest`]) or beyond the receiver's limit
    /// ([`NcConfig::ahead`]).
    pub held_back: u64,
    /// Combinations that leave out the oldest unacknowledged segments ([`CodingWindow::Last`]).
    pub passed_over: u64,
    /// Coefficients that were drawn as 0 ([`Coefficients::AlsoZero`]).
    pub zeros: u64,
    /// Number of times that the random rounding of R added a combination
    /// ([`super::Rounding::CoinFlip`]).
    pub flips_won: u64,
    /// Acknowledgements received and passed on to TCP.
    pub acks: u64,
    /// Acknowledgements with the same first unseen segment as the previous acknowledgement.
    pub repeated_acks: u64,
    /// Acknowledgements dropped because they name packets or segments that were never sent.
    pub invalid_acks: u64,
    /// The largest number of segments held at one time.
    pub most_held: u64,
}

/// The encoder under a sending TCP.
#[derive(Clone, Debug)]
pub struct NcSender<P> {
    config: NcConfig,
    controller: RedundancyController,
    encoder: Encoder<P>,
    random: Stream,
    /// The seed of the next combination's coefficients.
    coding_seed: u16,
    sent: Sent,
    /// The packets still to be sent, in order.
    jobs: VecDeque<Job>,
    /// The acknowledgements that TCP has not taken yet.
    acks: VecDeque<u64>,
    /// The first unseen segment of the last acknowledgement.
    last_ack: Option<u64>,
    /// The first segment that the receiver has not decoded, as far as its acknowledgements show.
    first_undecoded: u64,
    /// A buffer for drawn coefficients, reused so that each combination needs no new memory.
    coefficients: Vec<u8>,
    counts: SenderCounts,
}

/// The packets to send because of one segment of TCP.
#[derive(Clone, Copy, Debug)]
struct Job {
    segment: u64,
    retransmission: bool,
    /// How many packets are still to be sent.
    left: u32,
}

impl<P: Payload> NcSender<P> {
    /// A sender for segments that are numbered from 0 on. Two senders with the same settings and
    /// seed behave the same.
    ///
    /// # Errors
    /// A setting that is not allowed.
    pub fn new(config: NcConfig, seed: Seed) -> Result<NcSender<P>, NcConfigError> {
        config.check()?;
        let mut random = seed.stream("nc/coefficients");
        let coding_seed = random.next_u64() as u16;
        Ok(NcSender {
            controller: RedundancyController::new(config.redundancy, seed.stream("nc/redundancy")),
            config,
            encoder: Encoder::new(0),
            random,
            coding_seed,
            sent: Sent::default(),
            jobs: VecDeque::new(),
            acks: VecDeque::new(),
            last_ack: None,
            first_undecoded: 0,
            coefficients: Vec::new(),
            counts: SenderCounts::default(),
        })
    }

    /// How many unacknowledged segments the sender holds.
    pub fn held(&self) -> usize {
        (self.encoder.next() - self.encoder.first()) as usize
    }

    /// The current R; None for [`super::CombinationRate::Adaptive`].
    pub fn factor(&self) -> Option<Factor> {
        self.controller.factor()
    }

    /// The counters.
    pub fn counts(&self) -> SenderCounts {
        SenderCounts { flips_won: self.controller.flips_won, ..self.counts }
    }

    /// The next packet to send: a packet of the oldest job that still has one.
    fn next_packet(&mut self) -> Option<Transmit<NcPacket<P>>> {
        loop {
            let job = self.jobs.front_mut()?;
            if job.left == 0 {
                self.jobs.pop_front();
                continue;
            }
            job.left -= 1;
            let job = *job;
            if job.left == 0 {
                self.jobs.pop_front();
            }
            if let Some(packet) = self.packet(job) {
                return Some(packet.transmit());
            }
        }
    }

    /// The next packet of `job`. None when the segments that it would carry are acknowledged.
    fn packet(&mut self, job: Job) -> Option<NcPacket<P>> {
        let as_it_is = job.retransmission && self.config.retransmissions == Retransmissions::AsTheyAre;
        let (members, coding, payload, count) = if as_it_is {
            // If the segment was acknowledged in the meantime, no packet is sent.
            let payload = self.encoder.get(job.segment)?.clone();
            self.counts.as_they_are += 1;
            (Members::range(job.segment..job.segment + 1), None, payload, None)
        } else {
            let ids = self.window(job.segment)?;
            let count = (ids.end - ids.start) as usize;
            self.sent.segments = self.sent.segments.max(ids.end);
            let (members, coding, payload) = self.combination(ids)?;
            self.counts.combinations += 1;
            (members, Some(coding), payload, Some(count))
        };
        let bytes = self.config.packet_bytes(payload.len(), count);
        self.counts.bytes += u64::from(bytes);
        let number = self.sent.packets;
        self.sent.packets += 1;
        let (oldest, retransmission) = (self.encoder.first(), job.retransmission);
        Some(NcPacket { number, oldest, retransmission, members, coding, payload, bytes })
    }

    /// Which segments to combine in a packet that is sent because TCP sent `segment`. None when all
    /// segments are acknowledged.
    fn window(&mut self, segment: u64) -> Option<Range<u64>> {
        let (first, next) = (self.encoder.first(), self.encoder.next());
        let window = match self.config.window {
            CodingWindow::Whole => first..next,
            CodingWindow::Last(k) => (segment + 1).saturating_sub(u64::from(k)).max(first)..segment + 1,
            CodingWindow::Oldest(k) => first..next.min(first.saturating_add(u64::from(k))),
        };
        if window.is_empty() {
            return None;
        }
        // The receiver drops a combination with a segment at or beyond the *horizon*: its first
        // undecoded segment plus `ahead`. The sender's value of the horizon can be out of date, and
        // even segment `first` can lie at or beyond this value. In this case the receiver has seen
        // all segments before `first`, and has accepted no segment from `first` on. So the receiver
        // has decoded all segments before `first`, and the acknowledgement that says so was lost.
        // Such a receiver accepts segment `first`.
        let horizon = self.first_undecoded.saturating_add(u64::from(self.config.ahead));
        let start = if window.start < horizon { window.start } else { first };
        let end = window.end.min(horizon).max(start + 1);
        self.counts.passed_over += u64::from(start > first);
        self.counts.held_back += u64::from(end < segment + 1);
        Some(start..end)
    }

    /// A random combination of the segments `ids`: its members, their coefficients and the payload.
    fn combination(&mut self, ids: Range<u64>) -> Option<(Members, Coding, P)> {
        match self.config.coefficients {
            Coefficients::Nonzero => {
                let seed = self.coding_seed;
                self.coding_seed = seed.wrapping_add(1);
                let payload = self.encoder.combine_seeded(ids.clone(), seed).ok()?;
                Some((Members::range(ids), Coding::Seed(seed), payload))
            }
            Coefficients::AlsoZero => {
                let drawn = &mut self.coefficients;
                drawn.resize((ids.end - ids.start) as usize, 0);
                // Draw again while all coefficients are 0.
                loop {
                    self.random.fill(drawn);
                    if drawn.iter().any(|c| *c != 0) {
                        break;
                    }
                }
                let payload = self.encoder.combine_explicit(ids.start, drawn).ok()?;
                let taken: Vec<u64> = ids.zip(&*drawn).filter(|(_, c)| **c != 0).map(|(id, _)| id).collect();
                self.counts.zeros += (drawn.len() - taken.len()) as u64;
                let coefficients = drawn.iter().copied().filter(|c| *c != 0).collect();
                Some((Members::unlimited(&taken)?, Coding::Explicit(coefficients), payload))
            }
        }
    }
}

impl<P: Payload> Session for NcSender<P> {
    type Inner = Segment<P>;
    type Incoming = NcAck;
    type Outgoing = NcPacket<P>;
    type Delivered = u64;
    type Event = Infallible;

    /// Takes a segment of TCP: the next one, or a retransmission. If TCP has not sent all earlier
    /// segments, the segment is counted and dropped.
    fn handle_inner(&mut self, now: Time, segment: Segment<P>) {
        let Segment { number, payload } = segment;
        let next = self.encoder.next();
        if number > next {
            self.counts.gaps += 1;
            return;
        }
        self.counts.segments += 1;
        let retransmission = number < next;
        if retransmission {
            self.counts.retransmissions += 1;
            if number < self.encoder.first() {
                self.counts.late += 1;
                self.acks.push_back(self.encoder.first());
                return;
            }
        } else {
            self.encoder.push(payload);
            self.counts.most_held = self.counts.most_held.max(self.held() as u64);
        }
        let left = match self.config.retransmissions {
            Retransmissions::Dropped if retransmission => {
                self.counts.dropped += 1;
                return;
            }
            Retransmissions::AsTheyAre if retransmission => 1,
            _ => self.controller.due(now, self.sent, self.encoder.next(), retransmission),
        };
        self.jobs.push_back(Job { segment: number, retransmission, left });
    }

    /// Takes an acknowledgement of the receiver.
    fn handle_datagram(&mut self, now: Time, received: Received<NcAck>) {
        let ack = received.packet;
        if ack.first_unseen > self.encoder.next() || ack.highest >= self.sent.packets {
            self.counts.invalid_acks += 1;
            return;
        }
        self.controller.on_ack(now, &ack);
        self.encoder.forget_to(ack.first_unseen);
        self.first_undecoded = self.first_undecoded.max(ack.first_undecoded.min(self.encoder.next()));
        self.counts.acks += 1;
        self.counts.repeated_acks += u64::from(self.last_ack == Some(ack.first_unseen));
        self.last_ack = Some(ack.first_unseen);
        self.acks.push_back(ack.first_unseen);
    }

    fn handle_timeout(&mut self, _now: Time) {}

    #[inline]
    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<NcPacket<P>>> {
        // Most calls find no job.
        if self.jobs.is_empty() { None } else { self.next_packet() }
    }

    /// The next acknowledgement for TCP: the number of the first segment that is not acknowledged.
    /// Old and repeated acknowledgements are passed on too, because TCP handles them.
    fn poll_deliver(&mut self) -> Option<u64> {
        self.acks.pop_front()
    }

    fn poll_event(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }
}
