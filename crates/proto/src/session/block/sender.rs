//! The sender of a block code: packets in, the same packets and repairs out.

use super::{BLOCK_HEADER, BlockConfig, BlockConfigError, BlockPacket, BlockSymbol};
use crate::session::{Received, Session, Transmit};
use ripstop_base::Time;
use ripstop_codes::Payload;
use ripstop_codes::block::BlockCode;
use std::collections::VecDeque;
use std::convert::Infallible;

/// The sender's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSenderCounts {
    /// Packets taken.
    pub packets: u64,
    /// Blocks that have ended.
    pub blocks: u64,
    /// Blocks that ended early, because no packet came.
    pub flushed: u64,
    /// Repairs sent.
    pub repairs: u64,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct BlockSender<P> {
    config: BlockConfig,
    /// The code of full blocks.
    full: Option<BlockCode>,
    /// The number of the block that is being filled.
    block: u64,
    /// The packets of this block so far.
    sources: Vec<P>,
    /// When this block ends early.
    flush_at: Time,
    leaving: VecDeque<BlockPacket<P>>,
    counts: BlockSenderCounts,
}

impl<P: Payload> BlockSender<P> {
    /// A sender.
    ///
    /// # Errors
    /// A setting that is not allowed.
    pub fn new(config: BlockConfig) -> Result<BlockSender<P>, BlockConfigError> {
        config.check()?;
        Ok(BlockSender {
            full: BlockCode::new(usize::from(config.n), usize::from(config.k)).ok(),
            config,
            block: 0,
            sources: Vec::with_capacity(usize::from(config.k)),
            flush_at: Time::NEVER,
            leaving: VecDeque::new(),
            counts: BlockSenderCounts::default(),
        })
    }

    /// The counters.
    pub fn counts(&self) -> BlockSenderCounts {
        self.counts
    }

    /// Ends the block: sends its repairs, and begins the next block.
    fn end_block(&mut self) {
        let (k, repairs) = (self.sources.len(), self.config.repairs());
        let code = match &self.full {
            Some(full) if full.k() == k => Some(full.clone()),
            _ => BlockCode::new(k + repairs, k).ok(),
        };
        let repairs = code.and_then(|code| code.encode(&self.sources).ok()).unwrap_or_default();
        for (number, payload) in (0..).zip(repairs) {
            let symbol = BlockSymbol::Repair { k: k as u8, number };
            self.leaving.push_back(BlockPacket { block: self.block, symbol, payload });
            self.counts.repairs += 1;
        }
        self.block += 1;
        self.sources.clear();
        self.flush_at = Time::NEVER;
        self.counts.blocks += 1;
    }
}

impl<P: Payload> Session for BlockSender<P> {
    type Inner = P;
    type Incoming = Infallible;
    type Outgoing = BlockPacket<P>;
    type Delivered = Infallible;
    type Event = Infallible;

    fn handle_inner(&mut self, now: Time, payload: P) {
        let symbol = BlockSymbol::Source(self.sources.len() as u8);
        self.leaving.push_back(BlockPacket { block: self.block, symbol, payload: payload.clone() });
        self.sources.push(payload);
        self.counts.packets += 1;
        self.flush_at = now + self.config.flush;
        if self.sources.len() >= usize::from(self.config.k) {
            self.end_block();
        }
    }

    fn handle_datagram(&mut self, _now: Time, received: Received<Infallible>) {
        match received.packet {}
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.flush_at <= now {
            self.counts.flushed += 1;
            self.end_block();
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<BlockPacket<P>>> {
        let packet = self.leaving.pop_front()?;
        Some(Transmit { bytes: packet.payload.len() as u32 + BLOCK_HEADER, packet, ect: false })
    }

    fn poll_deliver(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_event(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.flush_at).filter(|due| *due != Time::NEVER)
    }
}
