//! The sender's side: segments of TCP in, combinations of them out.

use super::config::{CodingWindow, Coefficients, Factor, NcConfig, NcConfigError, Retransmissions};
use super::redundancy::{RedundancyController, Sent};
use super::{NcAck, NcPacket};
use crate::session::{Received, Session, Transmit};
use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::Payload;
use ripstop_codes::window::{Coding, Encoder, Members};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;

/// A segment of the sending TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<P> {
    /// Its number; TCP numbers its segments from 0 without gaps.
    pub number: u64,
    /// What it carries.
    pub payload: P,
}

/// What a sender did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Segments that TCP sent, again or not.
    pub segments: u64,
    /// Segments that skipped numbers, which were dropped.
    pub gaps: u64,
    /// Of these, sent before.
    pub retransmissions: u64,
    /// Retransmissions that were not sent on ([`Retransmissions::Dropped`]).
    pub dropped: u64,
    /// Retransmissions of what was acknowledged before: TCP was told again.
    pub late: u64,
    /// Combinations sent.
    pub combinations: u64,
    /// Segments sent as they are ([`Retransmissions::AsTheyAre`]).
    pub as_they_are: u64,
    /// Bytes of both.
    pub bytes: u64,
    /// Combinations that left newer segments out: those beyond the coding window ([`CodingWindow::Oldest`]) or beyond what the
    /// receiver takes in ([`NcConfig::ahead`]).
    pub held_back: u64,
    /// Combinations that left older segments out ([`CodingWindow::Last`]).
    pub passed_over: u64,
    /// Coefficients drawn that were 0 ([`Coefficients::AlsoZero`]).
    pub zeros: u64,
    /// Coins that came up for one combination more ([`super::Rounding::CoinFlip`]).
    pub flips_won: u64,
    /// Answers that arrived and were passed on to TCP.
    pub acks: u64,
    /// Of these, such as named the same segment as the one before.
    pub repeated_acks: u64,
    /// Answers to what was never sent, which were dropped.
    pub invalid_acks: u64,
    /// The most segments held at a time.
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
    jobs: VecDeque<Job>,
    acks: VecDeque<u64>,
    /// Where the receiver is, as far as is known.
    last_ack: Option<u64>,
    first_undecoded: u64,
    /// Kept for their memory.
    coefficients: Vec<u8>,
    counts: SenderCounts,
}

/// What a segment's arrival caused.
#[derive(Clone, Copy, Debug)]
struct Job {
    segment: u64,
    retransmission: bool,
    /// How many packets are still to be sent.
    left: u32,
}

impl<P: Payload> NcSender<P> {
    /// A sender for segments from 0 on. Two of equal settings and seed take equal decisions.
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

    /// How many segments are held, for TCP to send again and to be combined.
    pub fn held(&self) -> usize {
        (self.encoder.next() - self.encoder.first()) as usize
    }

    /// R in force; None where there is no such number ([`super::CombinationRate::Adaptive`]).
    pub fn factor(&self) -> Option<Factor> {
        self.controller.factor()
    }

    /// What it did so far.
    pub fn counts(&self) -> SenderCounts {
        SenderCounts { flips_won: self.controller.flips_won, ..self.counts }
    }

    fn packet(&mut self, job: Job) -> Option<NcPacket<P>> {
        let as_it_is = job.retransmission && self.config.retransmissions == Retransmissions::AsTheyAre;
        let (members, coding, payload, count) = if as_it_is {
            // Acknowledged since, it is not held any more.
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

    /// The segments that a combination takes in which TCP's `segment` caused; None when all are acknowledged.
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
        // From here on the receiver takes nothing in, and a relay that did would spoil all that it sends. If even the first
        // segment lies there, all before it were seen, thus decoded, and the answer that said so was lost: it can be taken in.
        let horizon = self.first_undecoded.saturating_add(u64::from(self.config.ahead));
        let start = if window.start < horizon { window.start } else { first };
        let end = window.end.min(horizon).max(start + 1);
        self.counts.passed_over += u64::from(start > first);
        self.counts.held_back += u64::from(end < segment + 1);
        Some(start..end)
    }

    /// One combination of `ids`.
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
                // A combination of nothing is none.
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

    /// TCP sends a segment: the next one, or again one that it has sent before. A segment that skips numbers is counted
    /// and dropped.
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

    /// An answer of the receiver has come back.
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

    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<NcPacket<P>>> {
        loop {
            let job = self.jobs.front_mut()?;
            if job.left == 0 {
                self.jobs.pop_front();
                continue;
            }
            job.left -= 1;
            let job = *job;
            if let Some(packet) = self.packet(job) {
                return Some(packet.transmit());
            }
        }
    }

    /// The next acknowledgement for TCP: the first segment that TCP need not send again. Late acknowledgements and those
    /// that name the same segment again are passed on too; TCP knows what to make of them.
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
