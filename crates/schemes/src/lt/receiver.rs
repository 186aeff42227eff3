//! The receiver: symbols of blocks in, packets in order and LT-ACKs out.

use super::config::{LtConfig, LtConfigError, LtMode};
use super::receiving_block::ReceivingBlock;
use super::{Accepted, BlockState, LtAck, LtDelivered, LtEvent, LtPacket, LtReport, LtSymbol, MAX_RATE, MAX_REPORTED};
use ripstop_base::Time;
use ripstop_codes::Payload;
use ripstop_proto::session::{Received, Session, Transmit};
use std::collections::VecDeque;

/// The receiver's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LtReceiverCounts {
    /// Requests to open the connection.
    pub opens: u64,
    /// Symbols received.
    pub packets: u64,
    /// Bytes of the packets with symbols.
    pub bytes: u64,
    /// Packets that were innovative.
    pub innovative: u64,
    /// Packets of a block that is not decoded, that were not innovative.
    pub redundant: u64,
    /// Packets of blocks that were decoded already.
    pub late: u64,
    /// Packets dropped because their block is too far ahead, because they contradict an earlier
    /// packet of the block, or because they belong to another session.
    pub refused: u64,
    /// Blocks decoded.
    pub blocks: u64,
    /// Packets delivered to TCP, in order.
    pub delivered: u64,
    /// LT-ACKs sent.
    pub lt_acks: u64,
    /// LT-ACKs that say that the session is unknown.
    pub unknown: u64,
    /// Late packets of a session that has ended.
    pub stale: u64,
    /// Number of times that the receiving timer of a block has ended.
    pub timeouts: u64,
    /// The largest number of blocks held at one time.
    pub most_blocks: u64,
}

/// The receiving end.
#[derive(Clone, Debug)]
pub struct LtReceiver<P> {
    config: LtConfig,
    /// The identifier of the session. None before the first packet.
    session: Option<u32>,
    /// An earlier session that has ended. Its late packets do not begin it again.
    ended: Option<u32>,
    /// Whether TCP has accepted the connection.
    is_accepted: bool,
    /// The blocks from block `oldest` on. None: no packet of the block has arrived.
    blocks: VecDeque<Option<ReceivingBlock<P>>>,
    /// The first block that is not decoded and delivered.
    oldest: u64,
    /// The number of the next packet to deliver.
    next: u64,
    /// One more than the highest packet number received.
    heard: u64,
    /// How many packets of the session were received.
    received: u64,
    delivered: VecDeque<LtDelivered<P>>,
    acks: VecDeque<LtAck>,
    /// The rate that LT-ACKs tell the sender, bit/s.
    rate: Option<u64>,
    events: VecDeque<LtEvent>,
    has_ended: bool,
    now: Time,
    counts: LtReceiverCounts,
}

impl<P: Payload> LtReceiver<P> {
    /// A receiver.
    ///
    /// # Errors
    /// A setting that is not allowed.
    pub fn new(config: LtConfig) -> Result<LtReceiver<P>, LtConfigError> {
        config.check()?;
        Ok(LtReceiver::blank(config))
    }

    /// A receiver for the next session, after this one has ended. The new receiver knows the old session, so late
    /// packets of the old session do not look like a restart of the sender.
    pub fn renewed(&self) -> LtReceiver<P> {
        let ended = self.session.or(self.ended);
        LtReceiver { ended, rate: self.rate, now: self.now, ..LtReceiver::blank(self.config) }
    }

    /// Sets x_s, the rate of an upload in bit/s. The gateway's LT-ACKs tell the client this rate, or [`MAX_RATE`] if
    /// the rate is larger.
    pub fn set_rate(&mut self, rate: u64) {
        self.rate = Some(rate.min(MAX_RATE));
    }

    /// How many blocks the receiver holds.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The number of the next packet to deliver.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The counters.
    pub fn counts(&self) -> LtReceiverCounts {
        self.counts
    }

    fn blank(config: LtConfig) -> LtReceiver<P> {
        LtReceiver {
            config,
            session: None,
            ended: None,
            is_accepted: config.mode != LtMode::Improved,
            blocks: VecDeque::new(),
            oldest: 0,
            next: config.first,
            heard: 0,
            received: 0,
            delivered: VecDeque::new(),
            acks: VecDeque::new(),
            rate: None,
            events: VecDeque::new(),
            has_ended: false,
            now: Time::ZERO,
            counts: LtReceiverCounts::default(),
        }
    }

    /// Takes a request to open the connection.
    fn open(&mut self, session: u32) {
        if self.ended == Some(session) {
            self.counts.stale += 1;
            return self.deny(session);
        }
        let is_unused = !self.is_accepted && self.received == 0;
        match self.session {
            Some(known) if known == session => {
                // The answer was lost. Without `is_accepted`, TCP has not answered yet.
                if self.is_accepted {
                    self.send_ack(LtReport::Opened);
                }
            }
            Some(_) if !is_unused => self.end(),
            _ => {
                self.session = Some(session);
                self.delivered.push_back(LtDelivered::Open);
            }
        }
    }

    /// The sender has restarted: it has begun a new session in the middle of this one.
    fn end(&mut self) {
        self.has_ended = true;
        self.events.push_back(LtEvent::PeerRestarted);
    }

    /// Checks that a symbol belongs to the session. Returns whether it does.
    fn admit(&mut self, symbol: &LtSymbol<P>) -> bool {
        let is_stale = self.ended == Some(symbol.session);
        self.counts.stale += u64::from(is_stale);
        let opens_itself = self.config.mode != LtMode::Improved && symbol.oldest == 0 && !is_stale;
        match self.session {
            // The sender knows of blocks that this end has not decoded. So this end has restarted, and a late packet of
            // the session has opened the connection again.
            Some(session) if session == symbol.session && symbol.oldest > self.oldest => {
                self.deny(session);
                false
            }
            Some(session) if session == symbol.session => self.is_accepted,
            Some(_) if opens_itself => {
                self.end();
                false
            }
            // The packet may be late. But if its sender is still there, the sender must learn that it has no receiver.
            Some(_) => {
                self.deny(symbol.session);
                false
            }
            None if opens_itself => {
                self.session = Some(symbol.session);
                true
            }
            // This end has restarted: the sender knows of a session that this end does not know.
            None => {
                self.ended = Some(symbol.session);
                self.deny(symbol.session);
                false
            }
        }
    }

    /// Tells a sender that its session is unknown here.
    fn deny(&mut self, session: u32) {
        self.counts.unknown += 1;
        self.acks.push_back(LtAck { session, report: LtReport::Unknown, rate: None });
    }

    /// Takes a symbol of a block that is not delivered. Returns whether the packet is valid.
    fn take(&mut self, packet: LtSymbol<P>, at: usize) -> bool {
        while self.blocks.len() <= at {
            self.blocks.push_back(None);
        }
        let Some(slot) = self.blocks.get_mut(at) else { return false };
        if slot.is_none() {
            *slot = ReceivingBlock::new(self.config.code, packet.k);
        }
        let Some(block) = slot.as_mut().filter(|block| block.k == packet.k) else { return false };
        let was_decoded = block.is_decoded();
        let is_innovative = block.receive(packet.symbol, packet.index, packet.payload);
        self.counts.innovative += u64::from(is_innovative);
        self.counts.late += u64::from(was_decoded);
        self.counts.redundant += u64::from(!is_innovative && !was_decoded);
        self.counts.blocks += u64::from(!was_decoded && block.is_decoded());
        self.counts.most_blocks = self.counts.most_blocks.max(self.blocks.len() as u64);
        true
    }

    /// Delivers what is decoded, in order, and forgets the blocks that are delivered.
    fn deliver(&mut self) {
        while let Some(Some(block)) = self.blocks.front_mut() {
            while let Some(payload) = block.deliver() {
                self.delivered.push_back(LtDelivered::Packet { number: self.next, payload });
                self.next += 1;
                self.counts.delivered += 1;
            }
            if !block.is_delivered() {
                return;
            }
            self.blocks.pop_front();
            self.oldest += 1;
        }
    }

    /// The paper's modes: answers a packet of block `number`, or starts the block's timer.
    fn answer_block(&mut self, number: u64, was_decoded: bool, now: Time) {
        let base = self.config.receiving_timer;
        let block = number.checked_sub(self.oldest).and_then(|at| self.blocks.get_mut(at as usize)?.as_mut());
        match block {
            Some(block) if !block.is_decoded() => {
                block.due = now + base;
                block.expiries = 0;
            }
            // As printed, only the packet that completes the block is answered.
            _ if was_decoded && self.config.mode == LtMode::Paper => {}
            Some(block) => {
                block.due = Time::NEVER;
                let (received, heard) = (block.received, block.heard);
                self.send_block_report(number, received, heard, true);
            }
            None => self.send_block_report(number, 0, 0, true),
        }
    }

    fn send_block_report(&mut self, block: u64, received: u32, heard: u32, is_decoded: bool) {
        self.send_ack(LtReport::Block { block, received, heard, is_decoded });
    }

    /// The improved mode: reports on everything.
    fn send_full_report(&mut self) {
        let state =
            |block: &Option<ReceivingBlock<P>>| block.as_ref().map_or(BlockState::UNHEARD, ReceivingBlock::state);
        let blocks: Vec<BlockState> = self.blocks.iter().take(MAX_REPORTED).map(state).collect();
        self.send_ack(LtReport::All { heard: self.heard, received: self.received, decoded: self.oldest, blocks });
    }

    fn send_ack(&mut self, report: LtReport) {
        let Some(session) = self.session else { return };
        self.counts.lt_acks += 1;
        self.acks.push_back(LtAck { session, report, rate: self.rate });
    }
}

impl<P: Payload> Session for LtReceiver<P> {
    type Inner = Accepted;
    type Incoming = LtPacket<P>;
    type Outgoing = LtAck;
    type Delivered = LtDelivered<P>;
    type Event = LtEvent;

    fn handle_inner(&mut self, now: Time, _inner: Accepted) {
        self.now = self.now.max(now);
        if self.session.is_some() && !self.is_accepted {
            self.is_accepted = true;
            self.send_ack(LtReport::Opened);
        }
    }

    fn handle_datagram(&mut self, now: Time, received: Received<LtPacket<P>>) {
        self.now = self.now.max(now);
        let now = self.now;
        let packet = match received.packet {
            LtPacket::Symbol(symbol) => symbol,
            LtPacket::Open { session } => {
                self.counts.opens += 1;
                if !self.has_ended && self.config.mode == LtMode::Improved {
                    self.open(session);
                }
                return;
            }
        };
        self.counts.packets += 1;
        self.counts.bytes += u64::from(received.bytes);
        if self.has_ended || !self.admit(&packet) {
            self.counts.refused += 1;
            return;
        }
        let (number, request) = (packet.block, packet.request);
        let at = number.checked_sub(self.oldest);
        if at.is_some_and(|at| at >= u64::from(self.config.most_blocks)) {
            self.counts.refused += 1;
            return;
        }
        let (sequence, was_decoded) = (packet.number, at.is_none_or(|at| self.is_decoded(at as usize)));
        let is_valid = match at {
            None => {
                self.counts.late += 1;
                true
            }
            Some(at) => self.take(packet, at as usize),
        };
        if !is_valid {
            self.counts.refused += 1;
            return;
        }
        self.heard = self.heard.max(sequence.saturating_add(1));
        // A packet that the path has repeated must not count as two packets.
        self.received = (self.received + 1).min(self.heard);
        if self.config.mode == LtMode::Improved {
            self.deliver();
            if request {
                self.send_full_report();
            }
        } else {
            self.answer_block(number, was_decoded, now);
            self.deliver();
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        let now = self.now;
        let (base, oldest) = (self.config.receiving_timer, self.oldest);
        let fires_again = self.config.mode == LtMode::Repaired;
        let mut reports = Vec::new();
        for (number, block) in (oldest..).zip(&mut self.blocks) {
            let Some(block) = block.as_mut().filter(|block| block.due <= now) else { continue };
            block.expiries = block.expiries.saturating_add(1);
            block.due = Time::NEVER;
            if fires_again {
                block.due = now + base * (1 << block.expiries.min(MOST_DOUBLINGS));
            }
            reports.push((number, block.received, block.heard));
        }
        for (number, received, heard) in reports {
            self.counts.timeouts += 1;
            self.send_block_report(number, received, heard, false);
        }
    }

    /// The next LT-ACK.
    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<LtAck>> {
        let packet = self.acks.pop_front()?;
        debug_assert_eq!(packet.wrong_field(), None);
        let coding = if self.config.charges_coding { packet.coding_len() as u32 } else { 0 };
        Some(Transmit { bytes: self.config.header_bytes + coding, packet, ect: false })
    }

    /// The next SYN or packet for TCP.
    fn poll_deliver(&mut self) -> Option<LtDelivered<P>> {
        self.delivered.pop_front()
    }

    fn poll_event(&mut self) -> Option<LtEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        let due = self.blocks.iter().flatten().map(|block| block.due).fold(Time::NEVER, Time::min);
        Some(due).filter(|due| *due != Time::NEVER)
    }
}

/// The receiving timer doubles after each expiry, at most this many times. With a timer of 200 ms,
/// the longest wait is 3.2 s. With one more doubling, a session goes on later after a blackout.
const MOST_DOUBLINGS: u32 = 4;

impl<P: Payload> LtReceiver<P> {
    /// Whether the block at this place is decoded.
    fn is_decoded(&self, at: usize) -> bool {
        matches!(self.blocks.get(at), Some(Some(block)) if block.is_decoded())
    }
}
