//! The receiver of a block code: restores blocks, and delivers packets in order.

use super::{BlockConfig, BlockConfigError, BlockPacket, BlockSymbol};
use crate::session::{Received, Session, Transmit};
use ripstop_base::Time;
use ripstop_codes::Payload;
use ripstop_codes::block::{BlockCode, BlockDecoder};
use std::collections::VecDeque;
use std::convert::Infallible;

/// The receiver's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockReceiverCounts {
    /// Source packets that arrived.
    pub sources: u64,
    /// Repairs that arrived.
    pub repairs: u64,
    /// Packets of blocks that were over already, and packets that contradict the settings.
    pub refused: u64,
    /// Blocks that were restored from repairs.
    pub restored: u64,
    /// Source packets that were lost and restored.
    pub recovered: u64,
    /// Blocks that were given up because too few packets arrived.
    pub given_up: u64,
    /// Packets delivered.
    pub delivered: u64,
}

/// The receiving end.
///
/// The receiver holds one block. When a packet of a later block arrives, the block is over, because
/// the path keeps the order of packets. A path that reorders packets makes the receiver give up
/// blocks that it could have restored.
#[derive(Clone, Debug)]
pub struct BlockReceiver<P> {
    config: BlockConfig,
    /// The code of full blocks.
    full: Option<BlockCode>,
    /// The number of the block that is being received.
    block: u64,
    /// The source packets of this block that have arrived.
    sources: Vec<Option<P>>,
    /// The repairs of this block that have arrived, by number.
    repairs: Vec<(u8, P)>,
    /// How many source packets the block has. None before the first repair.
    k: Option<u8>,
    /// How many source packets of this block were delivered.
    passed: usize,
    /// When the block is given up. Never if no packet waits.
    give_up_at: Time,
    delivered: VecDeque<P>,
    counts: BlockReceiverCounts,
}

impl<P: Payload> BlockReceiver<P> {
    /// A receiver.
    ///
    /// # Errors
    /// A setting that is not allowed.
    pub fn new(config: BlockConfig) -> Result<BlockReceiver<P>, BlockConfigError> {
        config.check()?;
        Ok(BlockReceiver {
            full: BlockCode::new(usize::from(config.n), usize::from(config.k)).ok(),
            config,
            block: 0,
            sources: Vec::with_capacity(usize::from(config.k)),
            repairs: Vec::with_capacity(config.repairs()),
            k: None,
            passed: 0,
            give_up_at: Time::NEVER,
            delivered: VecDeque::new(),
            counts: BlockReceiverCounts::default(),
        })
    }

    /// The counters.
    pub fn counts(&self) -> BlockReceiverCounts {
        self.counts
    }

    /// Keeps a packet of the present block. Returns whether the packet fits the settings.
    fn keep(&mut self, symbol: BlockSymbol, payload: P) -> bool {
        match symbol {
            BlockSymbol::Source(place) => {
                let place = usize::from(place);
                if place >= usize::from(self.k.unwrap_or(self.config.k)) {
                    return false;
                }
                if self.sources.len() <= place {
                    self.sources.resize(place + 1, None);
                }
                self.sources[place].get_or_insert(payload);
                self.counts.sources += 1;
            }
            BlockSymbol::Repair { k, number } => {
                let fits = (1..=self.config.k).contains(&k) && usize::from(number) < self.config.repairs();
                if !fits || self.k.is_some_and(|known| known != k) || self.sources.len() > usize::from(k) {
                    return false;
                }
                self.k = Some(k);
                self.sources.resize(usize::from(k), None);
                if self.repairs.iter().all(|(known, _)| *known != number) {
                    self.repairs.push((number, payload));
                }
                self.counts.repairs += 1;
            }
        }
        true
    }

    /// Restores the block, if enough packets have arrived and some source packet is missing.
    fn restore(&mut self) {
        let Some(k) = self.k.map(usize::from) else { return };
        let missing = self.sources.iter().filter(|source| source.is_none()).count();
        if missing == 0 || self.repairs.len() < missing {
            return;
        }
        let code = match &self.full {
            Some(full) if full.k() == k => Some(full.clone()),
            _ => BlockCode::new(k + self.config.repairs(), k).ok(),
        };
        let Some(code) = code else { return };
        let mut decoder = BlockDecoder::new(&code);
        for (place, source) in self.sources.iter().enumerate() {
            if let Some(payload) = source {
                decoder.symbol(place, payload.clone());
            }
        }
        for (number, payload) in self.repairs.drain(..) {
            decoder.symbol(k + usize::from(number), payload);
        }
        for (place, source) in self.sources.iter_mut().enumerate() {
            if source.is_none() {
                *source = decoder.get(place).cloned();
                self.counts.recovered += u64::from(source.is_some());
            }
        }
        self.counts.restored += 1;
    }

    /// Delivers the packets of the block that follow without a gap.
    fn pass_on(&mut self) {
        while let Some(Some(_)) = self.sources.get(self.passed) {
            self.delivered.extend(self.sources[self.passed].clone());
            self.passed += 1;
            self.counts.delivered += 1;
        }
    }

    /// Ends the block: delivers what has arrived and leaves the gaps to TCP. The next block is
    /// `next`.
    fn end_block(&mut self, next: u64) {
        let waits = self.sources.drain(..).skip(self.passed).flatten();
        let before = self.delivered.len();
        self.delivered.extend(waits);
        self.counts.delivered += (self.delivered.len() - before) as u64;
        self.repairs.clear();
        (self.block, self.k, self.passed, self.give_up_at) = (next, None, 0, Time::NEVER);
    }

    /// Whether all source packets of the block have been delivered, as far as the receiver knows.
    fn is_whole(&self) -> bool {
        self.passed == usize::from(self.k.unwrap_or(self.config.k))
    }
}

impl<P: Payload> Session for BlockReceiver<P> {
    type Inner = Infallible;
    type Incoming = BlockPacket<P>;
    type Outgoing = Infallible;
    type Delivered = P;
    type Event = Infallible;

    fn handle_inner(&mut self, _now: Time, inner: Infallible) {
        match inner {}
    }

    fn handle_datagram(&mut self, now: Time, received: Received<BlockPacket<P>>) {
        let BlockPacket { block, symbol, payload } = received.packet;
        if block < self.block {
            self.counts.refused += 1;
            return;
        }
        if block > self.block {
            // A block of which no packet has arrived has nothing to give up here, but it was lost.
            let waits = self.sources.len() > self.passed;
            self.counts.given_up += (block - self.block - 1) + u64::from(waits || self.k.is_some());
            self.end_block(block);
        }
        if !self.keep(symbol, payload) {
            self.counts.refused += 1;
            return;
        }
        self.restore();
        self.pass_on();
        if self.is_whole() {
            return self.end_block(block + 1);
        }
        let is_last =
            matches!(symbol, BlockSymbol::Repair { number, .. } if usize::from(number) + 1 == self.config.repairs());
        if is_last {
            self.counts.given_up += 1;
            return self.end_block(block + 1);
        }
        self.give_up_at = now + 2 * self.config.flush;
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.give_up_at <= now {
            self.counts.given_up += u64::from(self.sources.len() > self.passed);
            self.end_block(self.block + 1);
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<Infallible>> {
        None
    }

    fn poll_deliver(&mut self) -> Option<P> {
        self.delivered.pop_front()
    }

    fn poll_event(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.give_up_at).filter(|due| *due != Time::NEVER)
    }
}
