//! A block at the receiver.

use super::BlockState;
use super::block_code::{BlockCode, BlockDecoder};
use ripstop_base::Time;
use ripstop_codes::Payload;

/// A block of which packets have arrived.
#[derive(Clone, Debug)]
pub(super) struct ReceivingBlock<P> {
    /// K.
    pub(super) k: u8,
    decoder: BlockDecoder<P>,
    /// N_recv: how many packets of the block have arrived.
    pub(super) received: u32,
    /// One more than the highest index of a packet that has arrived.
    pub(super) heard: u32,
    /// When the receiving timer ends.
    pub(super) due: Time,
    /// How many times the receiving timer has ended since the last packet of the block.
    pub(super) expiries: u32,
    /// How many source symbols were delivered.
    delivered: u8,
}

impl<P: Payload> ReceivingBlock<P> {
    /// A block of `k` source symbols. None if the code takes no block of this size.
    pub(super) fn new(code: BlockCode, k: u8) -> Option<ReceivingBlock<P>> {
        let decoder = BlockDecoder::new(code, k)?;
        Some(ReceivingBlock { k, decoder, received: 0, heard: 0, due: Time::NEVER, expiries: 0, delivered: 0 })
    }

    /// Takes a symbol. Returns whether the symbol is innovative.
    pub(super) fn receive(&mut self, symbol: u32, index: u32, payload: P) -> bool {
        self.heard = self.heard.max(index.saturating_add(1));
        // A packet that the path has repeated must not count as two packets.
        self.received = self.received.saturating_add(1).min(self.heard);
        self.decoder.receive(symbol, payload)
    }

    /// Whether all source symbols are known.
    pub(super) fn is_decoded(&self) -> bool {
        self.decoder.missing() == 0
    }

    /// The state that an LT-ACK reports.
    pub(super) fn state(&self) -> BlockState {
        match self.decoder.missing() {
            0 => BlockState::DECODED,
            missing => BlockState { missing, known: self.decoder.known() },
        }
    }

    /// The next source symbol in order, if it is known. Each symbol is returned one time.
    pub(super) fn deliver(&mut self) -> Option<P> {
        let payload = self.decoder.get(self.delivered).filter(|_| self.delivered < self.k)?.clone();
        self.delivered += 1;
        Some(payload)
    }

    /// Whether all source symbols were delivered.
    pub(super) fn is_delivered(&self) -> bool {
        self.delivered == self.k
    }
}
