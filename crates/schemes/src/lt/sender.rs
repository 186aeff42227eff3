//! The sender: packets of TCP in, symbols of blocks out. LT-ACKs and acknowledgements for TCP go the
//! other way.
//!
//! `opening.rs` has the set-up of the connection, `timing.rs` the window and the waits, `feedback.rs` the handling of
//! LT-ACKs, and `acknowledging.rs` the acknowledgements for TCP.

mod acknowledging;
mod counts;
mod feedback;
mod opening;
mod timing;

use super::config::{FirstRound, LtConfig, LtConfigError, LtMode};
use super::estimates::{AnswerTime, BlockTime, PathLoss};
use super::sending_block::{SendingBlock, symbols_for};
use super::{LtAck, LtEvent, LtInner, LtPacket, LtSymbol, TcpAck};
use acknowledging::TcpAcks;
pub use counts::LtSenderCounts;
use opening::Opening;
use ripstop_base::Time;
use ripstop_codes::Payload;
use ripstop_model::domain::EquationForm;
use ripstop_model::mesh::shares::BlocksInFlight;
use ripstop_proto::session::{Received, Session, Transmit};
use std::collections::{BTreeMap, VecDeque};
pub use timing::PACE;
use timing::remember;

/// A packet of the sending TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<P> {
    /// The packet's number. TCP numbers its packets without gaps, from [`LtConfig::first`] on.
    pub number: u64,
    /// The packet's data.
    pub payload: P,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct LtSender<P> {
    config: LtConfig,
    session: u32,
    opening: Opening,
    /// x_s: the rate of the flow, bit/s. None: the rate is not limited.
    rate: Option<u64>,
    /// Packets that are accepted and not in a block yet, in order. `B_s` without `EB_s`.
    waiting: VecDeque<P>,
    /// Packets that came before an earlier packet.
    early: BTreeMap<u64, P>,
    /// The number of the next packet in order.
    next: u64,
    /// When the last packet of TCP came.
    last_inner: Time,
    /// Blocks in flight, oldest first.
    blocks: VecDeque<SendingBlock<P>>,
    /// The number of the first block in `blocks`.
    oldest: u64,
    /// The number of the next packet to send.
    number: u64,
    /// The receiver has reported on all packets before this one.
    heard: u64,
    /// How many packets the receiver has received, by its last report.
    received: u64,
    loss: PathLoss,
    block_time: BlockTime,
    answers: AnswerTime,
    /// The packets that may still be on their way: their numbers, and when they were sent.
    on_the_way: VecDeque<(u64, Time)>,
    /// Packets that asked for an LT-ACK and have no answer: their numbers, and when they were sent.
    requests: VecDeque<(u64, Time)>,
    /// How many packets were sent since the last request.
    unrequested: u32,
    /// When the sender stops to wait for an answer.
    probe_at: Time,
    /// How many probes were sent since the last answer.
    probes: u32,
    /// How many packets may leave although the window is full.
    probing: u32,
    /// When the next packet may leave.
    paced: Time,
    acks: TcpAcks,
    events: VecDeque<LtEvent>,
    has_ended: bool,
    now: Time,
    counts: LtSenderCounts,
}

impl<P: Payload> LtSender<P> {
    /// A sender. `session` identifies the session, and should be random.
    ///
    /// # Errors
    /// A setting that is not allowed.
    pub fn new(config: LtConfig, session: u32) -> Result<LtSender<P>, LtConfigError> {
        config.check()?;
        Ok(LtSender {
            opening: Opening::new(config.mode),
            config,
            session,
            rate: None,
            waiting: VecDeque::new(),
            early: BTreeMap::new(),
            next: config.first,
            last_inner: Time::ZERO,
            blocks: VecDeque::new(),
            oldest: 0,
            number: 0,
            heard: 0,
            received: 0,
            loss: PathLoss::default(),
            block_time: BlockTime::default(),
            answers: AnswerTime::default(),
            on_the_way: VecDeque::new(),
            requests: VecDeque::new(),
            unrequested: 0,
            probe_at: Time::NEVER,
            probes: 0,
            probing: 0,
            paced: Time::ZERO,
            acks: TcpAcks::new(config.first, config.mode == LtMode::Improved),
            events: VecDeque::new(),
            has_ended: false,
            now: Time::ZERO,
            counts: LtSenderCounts::default(),
        })
    }

    /// Sets x_s, the rate of the flow in bit/s. The gateway sets the rate when the connection is
    /// set up, and in the improved mode also when other flows come and go.
    pub fn set_rate(&mut self, rate: u64) {
        self.rate = Some(rate);
    }

    /// x_s, bit/s. None: the rate is not limited.
    pub fn rate(&self) -> Option<u64> {
        self.rate
    }

    /// P_s: the measured loss of the path.
    pub fn loss(&self) -> f64 {
        self.loss.get()
    }

    /// T_s: the smoothed block round-trip time in seconds. None before the first block is decoded.
    pub fn block_time(&self) -> Option<f64> {
        self.block_time.get()
    }

    /// How many blocks are in flight.
    pub fn blocks_in_flight(&self) -> usize {
        self.blocks.len()
    }

    /// How many packets the sender holds: in front of the blocks, and in blocks in flight.
    pub fn held(&self) -> usize {
        let in_blocks: usize = self.blocks.iter().map(|block| usize::from(block.k)).sum();
        self.waiting.len() + self.early.len() + in_blocks
    }

    /// The counters.
    pub fn counts(&self) -> LtSenderCounts {
        LtSenderCounts {
            tcp_acks: self.acks.sent,
            repeated_acks: self.acks.repeated,
            window_updates: self.acks.updates,
            ..self.counts
        }
    }

    /// How many packets the sender remembers because their fate is unknown. [`LtConfig::most_remembered`] is the bound.
    pub fn remembered(&self) -> usize {
        let in_blocks: usize = self.blocks.iter().map(|block| block.in_flight() as usize).sum();
        self.on_the_way.len() + self.requests.len() + in_blocks
    }

    fn is_improved(&self) -> bool {
        self.config.mode == LtMode::Improved
    }

    /// How many symbols are sent of a block of `k` packets before its feedback comes.
    ///
    /// The improved mode sends no repairs while TCP fills the buffer. Feedback on this block comes
    /// while the next block is sent, and says exactly which symbols are lacking. If TCP has less to
    /// send, the path is idle after this block, and repairs cost nothing.
    fn first_round(&self, k: u32) -> u32 {
        let is_filled = k as usize >= self.config.block.most().min(self.config.buffer as usize);
        match self.config.first_round {
            FirstRound::Measured if self.is_improved() && is_filled => k,
            FirstRound::Measured => symbols_for(f64::from(k), self.loss.get()),
            FirstRound::Fixed(factor) => ((f64::from(k) * factor.get() - 1e-9).ceil() as u32).max(1),
        }
    }

    /// Equation (11) as printed: how many blocks the rate allows in flight. None before the first
    /// block is decoded, or without a rate.
    fn allowed_blocks(&self) -> Option<f64> {
        let flow = BlocksInFlight {
            rate_bps: self.rate? as f64,
            loss: self.loss.get(),
            block_time: self.block_time.get()?,
            packet_bytes: f64::from(self.config.packet_bytes),
            block: self.config.block.most() as u32,
        };
        flow.most(EquationForm::AsPrinted).ok()
    }

    /// The paper's modes: whether N_s is below N_MAX, which is at least 1.
    fn may_begin(&self) -> bool {
        let limit = self.config.most_blocks as usize;
        let most = self.allowed_blocks().map_or(1, |blocks| (blocks as usize).clamp(1, limit));
        let undecoded = self.blocks.iter().filter(|block| !block.is_decoded).count();
        undecoded < most && self.blocks.len() < limit
    }

    /// Begins blocks of the packets that wait, as far as the mode allows.
    fn begin_blocks(&mut self, now: Time) {
        if self.is_improved() {
            self.begin_when_needed(now);
            return self.acknowledge_early(now);
        }
        let full = self.config.block.most();
        while self.waiting.len() >= full && self.may_begin() {
            self.begin_block(full, now);
        }
    }

    /// Improved mode: begins a block if the connection and the window are open, and all symbols that
    /// are owed have left. So a block has as many packets as have come in the meantime.
    fn begin_when_needed(&mut self, now: Time) {
        let is_idle = self.opening.is_open() && self.blocks.iter().all(|block| block.owed == 0);
        let has_room = self.blocks.len() < self.config.most_blocks as usize && self.has_room();
        let k = self.waiting.len().min(self.config.block.most());
        if is_idle && has_room && k > 0 {
            self.begin_block(k, now);
        }
    }

    /// Begins a block of the first `k` packets that wait.
    fn begin_block(&mut self, k: usize, now: Time) {
        let symbols: Vec<P> = self.waiting.drain(..k).collect();
        let first_round = self.first_round(k as u32);
        let number = self.oldest + self.blocks.len() as u64;
        let Some(mut block) = SendingBlock::new(self.config.code, symbols, first_round, number) else { return };
        block.due = if self.config.mode == LtMode::Repaired { now + self.drain_time(first_round) } else { Time::NEVER };
        self.counts.blocks += 1;
        self.counts.clamped += u64::from(!self.is_improved() && self.allowed_blocks().is_some_and(|most| most < 1.0));
        self.counts.flushed += u64::from(k < self.config.block.most());
        self.blocks.push_back(block);
    }

    /// Begins a block that is not full, if no packet of TCP has come for [`LtConfig::flush`].
    fn flush(&mut self, now: Time) {
        if self.flush_at() <= now {
            let k = self.waiting.len().min(self.config.block.most());
            self.begin_block(k, now);
        }
    }

    /// When a block that is not full is sent.
    fn flush_at(&self) -> Time {
        let waits = !self.waiting.is_empty() && !self.is_improved() && self.may_begin();
        if waits { self.last_inner + self.config.flush } else { Time::NEVER }
    }

    /// The block of which the next packet is sent. None if no packet may be sent.
    fn next_block(&self) -> Option<usize> {
        if !self.has_room() && self.probing == 0 {
            return None;
        }
        self.blocks.iter().position(|block| block.owed > 0)
    }

    /// Improved mode: whether the next packet asks for an LT-ACK: each sixth packet, the packet that
    /// fills the window, the last packet before a pause, and the packets of a probe of several symbols.
    /// A window of less than 24 packets asks four times.
    fn asks(&self) -> bool {
        let every = REQUEST_EVERY.min(self.config.window / LEAST_REQUESTS).max(1);
        let fills_window = self.on_the_way.len() + 1 >= self.config.window as usize;
        let has_next = !self.waiting.is_empty() && self.blocks.len() < self.config.most_blocks as usize;
        let is_last = !has_next && self.blocks.iter().all(|block| block.owed == 0);
        self.is_improved() && (is_last || fills_window || self.probing > 1 || self.unrequested + 1 >= every)
    }

    /// Sends the next symbol of block `at`.
    fn send(&mut self, at: usize, now: Time) -> Option<Transmit<LtPacket<P>>> {
        let number = self.number;
        let block = &mut self.blocks[at];
        let in_first_round = block.heard == 0 && block.missing == block.k;
        let sent = block.send(number, now)?;
        let k = block.k;
        let request = self.asks();
        self.number += 1;
        self.probing = self.probing.saturating_sub(1);
        if self.is_improved() {
            remember(&mut self.on_the_way, (number, now), self.config.most_listed());
        }
        if request {
            remember(&mut self.requests, (number, now), self.config.most_listed());
            self.counts.requests += 1;
            self.unrequested = 0;
            self.await_answer(now);
        } else {
            self.unrequested += 1;
            if self.is_improved() && self.probe_at == Time::NEVER {
                self.await_answer(now);
            }
        }
        self.counts.topped_up += u64::from(!in_first_round);
        let payload = sent.payload.len();
        let packet = LtPacket::Symbol(LtSymbol {
            session: self.session,
            number,
            oldest: self.oldest,
            block: self.oldest + at as u64,
            k,
            symbol: sent.symbol,
            index: sent.index,
            request,
            payload: sent.payload,
        });
        debug_assert_eq!(packet.wrong_field(), None);
        let coding = if self.config.charges_coding { packet.header_len() as u32 } else { 0 };
        let bytes = payload as u32 + self.config.header_bytes + coding;
        self.pace(payload, now);
        self.counts.packets += 1;
        self.counts.bytes += u64::from(bytes);
        Some(Transmit { packet, bytes, ect: false })
    }

    /// Ends the wait for an answer if nothing is in flight.
    fn after_input(&mut self) {
        if self.blocks.is_empty() {
            self.probe_at = Time::NEVER;
        }
        self.counts.most_held = self.counts.most_held.max(self.held() as u64);
    }
}

/// The number of packets from one request to the next. On the path of paper 004 with a loss of 0, .1
/// and .2 on each link, 4 instead of 6 gives 259, 203 and 131 instead of 263, 202 and 134 kbit/s, and
/// 8 gives 263, 200 and 132. An LT-ACK collides with packets of the other direction, and a late LT-ACK
/// delays the symbols that are sent again.
pub const REQUEST_EVERY: u32 = 6;
/// How many packets of a full window ask for an LT-ACK, at least. An LT-ACK lets as many packets leave as were sent
/// since the request before. With one request for each window, the path is idle for a round trip after each window: a
/// window of 5 packets on a path of 3 packets carries 62 % of the rate. With 8 requests, windows of less than 48 packets
/// have more LT-ACKs than the other constant allows. With 2, the path is idle for up to half of a round trip.
pub const LEAST_REQUESTS: u32 = 4;

impl<P: Payload> Session for LtSender<P> {
    type Inner = LtInner<P>;
    type Incoming = LtAck;
    type Outgoing = LtPacket<P>;
    type Delivered = TcpAck;
    type Event = LtEvent;

    /// Takes a SYN or a packet of TCP.
    fn handle_inner(&mut self, now: Time, inner: LtInner<P>) {
        self.now = self.now.max(now);
        let now = self.now;
        if self.has_ended {
            self.counts.refused += 1;
            return;
        }
        match inner {
            LtInner::Open => self.open(now),
            LtInner::Segment(segment) => self.accept(segment, now),
        }
        self.begin_blocks(now);
        self.after_input();
    }

    /// Takes an LT-ACK.
    fn handle_datagram(&mut self, now: Time, received: Received<LtAck>) {
        self.now = self.now.max(now);
        let now = self.now;
        if !self.has_ended {
            self.take_ack(received.packet, now);
            // The paper's algorithms begin a block only when a packet of TCP comes.
            if self.config.mode != LtMode::Paper {
                self.begin_blocks(now);
            }
            self.after_input();
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        let now = self.now;
        if self.has_ended {
            return;
        }
        match self.config.mode {
            LtMode::Paper => {}
            LtMode::Repaired => self.time_out_blocks(now),
            LtMode::Improved => {
                self.forget_overdue(now);
                if self.probe_at <= now {
                    self.probe(now);
                }
                self.begin_blocks(now);
            }
        }
        self.flush(now);
        self.acks.release(now);
        self.after_input();
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<LtPacket<P>>> {
        self.now = self.now.max(now);
        let now = self.now;
        if self.has_ended {
            return None;
        }
        if !self.opening.is_open() {
            return self.send_open(now);
        }
        if self.paced > now {
            return None;
        }
        if self.is_improved() {
            self.forget_overdue(now);
            self.begin_blocks(now);
        }
        let at = self.next_block()?;
        let sent = self.send(at, now);
        self.acknowledge_early(now);
        sent
    }

    /// The next acknowledgement for TCP.
    fn poll_deliver(&mut self) -> Option<TcpAck> {
        self.acks.pop()
    }

    fn poll_event(&mut self) -> Option<LtEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.has_ended {
            return None;
        }
        if !self.opening.is_open() {
            return self.opening.due();
        }
        let blocks = self.blocks.iter().filter(|block| !block.is_decoded).map(|block| block.due);
        let first = blocks.fold(self.probe_at, Time::min).min(self.flush_at()).min(self.acks.due());
        let can_send = self.blocks.iter().any(|block| block.owed > 0) || !self.waiting.is_empty();
        let sends = match self.on_the_way.front() {
            _ if !can_send || !self.is_improved() => Time::NEVER,
            Some((_, sent)) if !self.has_room() => self.paced.max(*sent + self.answer_limit()),
            _ if self.paced > self.now => self.paced,
            _ => Time::NEVER,
        };
        Some(first.min(sends)).filter(|due| *due != Time::NEVER)
    }
}
