//! A block code without feedback: K packets are sent as N packets (paper 003).
//!
//! [`BlockSender`] numbers the packets that it is given, and sends each packet at once. After K
//! packets, it sends N - K *repairs*. Any K of the N packets restore the block, because the code is
//! maximum-distance separable. [`BlockReceiver`] delivers the packets in order. A packet that
//! follows a lost one waits until its block is restored or given up. The receiver sends nothing, so
//! the sender never learns what was lost.
//!
//! ```text
//!   packet --> BlockSender --BlockPacket--> lossy path --BlockPacket--> BlockReceiver --> packet
//! ```
//!
//! Paper 003 puts such a code below IP, on one link. The sender then stands behind the link's queue,
//! and packets come at K/N of the link's rate. If no packet comes for a time ([`BlockConfig::flush`]),
//! the sender ends the block early. Such a block has N - K repairs too.
//!
//! Both ends follow the contract of [`Session`](super::Session), and are generic over the payload.

mod receiver;
mod sender;

pub use receiver::{BlockReceiver, BlockReceiverCounts};
pub use sender::{BlockSender, BlockSenderCounts};

use ripstop_codes::block::MAX_BLOCK;
use std::time::Duration;
use thiserror::Error;

/// The settings of a block code. Sender and receiver must have the same settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockConfig {
    /// K: packets of a full block.
    pub k: u8,
    /// N: packets that are sent for a full block.
    pub n: u8,
    /// How long the sender waits for the next packet before it ends a block that is not full. The
    /// receiver waits twice as long for a packet before it gives a block up.
    ///
    /// The time should be at least that of N packets on the link. With a shorter time, a slow flow
    /// sends many repairs for each packet, and overloads the link. With a longer time, the last
    /// packets before a pause are restored later.
    pub flush: Duration,
}

impl BlockConfig {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first setting that is not allowed.
    pub fn check(&self) -> Result<(), BlockConfigError> {
        if self.k == 0 || self.k > self.n {
            return Err(BlockConfigError::Sources { k: self.k, n: self.n });
        }
        if self.flush.is_zero() {
            return Err(BlockConfigError::Flush);
        }
        Ok(())
    }

    /// N - K: the repairs of a block.
    fn repairs(&self) -> usize {
        usize::from(self.n - self.k)
    }
}

/// A setting that is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BlockConfigError {
    /// The block has no packets, or fewer packets are sent than the block has.
    #[error("a block of {k} packets cannot be sent as {n} packets; K must be 1 to N, and N at most {MAX_BLOCK}")]
    Sources {
        /// K.
        k: u8,
        /// N.
        n: u8,
    },
    /// Blocks would end at once.
    #[error("a wait of 0 s ends each block after one packet; write for example `20ms`")]
    Flush,
}

/// A packet of the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPacket<P> {
    /// The number of the block. Blocks are numbered from 0 on.
    pub block: u64,
    /// Which packet of the block this is.
    pub symbol: BlockSymbol,
    /// The packet, or the combination of the block's packets.
    pub payload: P,
}

/// Which packet of a block a [`BlockPacket`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSymbol {
    /// A packet as it was given to the sender, by its place in the block.
    Source(u8),
    /// A repair.
    Repair {
        /// How many source packets the block has. A block that ended early has fewer than K.
        k: u8,
        /// The repair's number, 0 to N - K - 1.
        number: u8,
    },
}

/// Bytes of the header before each packet: type 1, block 4, place in the block 1, K 1. A packet
/// knows its own length. Double the value costs .5 % of the goodput of full packets.
pub const BLOCK_HEADER: u32 = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Received, Reception, Session};
    use proptest::prelude::*;
    use ripstop_base::Time;
    use ripstop_codes::Sketch;

    const FLUSH: Duration = Duration::from_millis(20);

    fn packet(number: u64) -> Sketch {
        let mut content = [7; 16];
        content[..8].copy_from_slice(&number.to_be_bytes());
        Sketch::new(100 + (number % 7) as usize, content)
    }

    fn number(packet: &Sketch) -> u64 {
        u64::from_be_bytes(packet.content()[..8].try_into().unwrap())
    }

    /// Sends `packets` packets over a path that loses the packets of `lost`, with a pause before each packet of
    /// `pauses`. Returns what was delivered, and the counters.
    fn run(
        config: BlockConfig,
        packets: u64,
        lost: &dyn Fn(u64) -> bool,
        pauses: &[u64],
    ) -> (Vec<u64>, BlockSenderCounts, BlockReceiverCounts) {
        let mut sender = BlockSender::<Sketch>::new(config).unwrap();
        let mut receiver = BlockReceiver::<Sketch>::new(config).unwrap();
        let (mut now, mut sent, mut delivered) = (Time::ZERO, 0, Vec::new());
        for next in 0..=packets {
            let pause = if next == packets || pauses.contains(&next) { 4 * FLUSH } else { Duration::from_millis(1) };
            let until = now + pause;
            loop {
                while let Some(out) = sender.poll_transmit(now) {
                    assert!(out.bytes >= BLOCK_HEADER + 100);
                    if !lost(sent) {
                        receiver.handle_datagram(
                            now,
                            Received { packet: out.packet, bytes: out.bytes, reception: Reception::default() },
                        );
                    }
                    sent += 1;
                }
                while let Some(packet) = receiver.poll_deliver() {
                    assert_eq!(packet.content(), self::packet(number(&packet)).content());
                    delivered.push(number(&packet));
                }
                let due = [sender.poll_timeout(), receiver.poll_timeout()].into_iter().flatten().min();
                match due.filter(|due| *due <= until) {
                    Some(due) => now = now.max(due),
                    None => break,
                }
                sender.handle_timeout(now);
                receiver.handle_timeout(now);
            }
            now = until;
            if next < packets {
                sender.handle_inner(now, packet(next));
            }
        }
        (delivered, sender.counts(), receiver.counts())
    }

    #[test]
    fn blocks_with_few_losses_are_restored_and_others_are_given_up() {
        let config = BlockConfig { k: 8, n: 10, flush: FLUSH };
        // Packets 0 to 9 are block 0, which loses two of ten. Block 1 loses three source packets.
        let (delivered, sent, received) = run(config, 24, &|at| [1, 3, 10, 11, 12].contains(&at), &[]);
        let expected: Vec<u64> = (0..8).chain(11..24).collect();
        assert_eq!(delivered, expected);
        assert_eq!((sent.blocks, sent.repairs, sent.flushed), (3, 6, 0));
        assert_eq!((received.restored, received.recovered, received.given_up), (1, 2, 1));
    }

    #[test]
    fn a_pause_ends_a_block_with_all_repairs() {
        let config = BlockConfig { k: 8, n: 10, flush: FLUSH };
        // Three packets, a pause, and three packets. Each part loses two packets of its five.
        let (delivered, sent, received) = run(config, 6, &|at| [0, 2, 5, 9].contains(&at), &[3]);
        assert_eq!(delivered, [0, 1, 2, 3, 4, 5]);
        assert_eq!((sent.flushed, sent.repairs, received.recovered), (2, 4, 3));
    }

    #[test]
    fn packets_that_contradict_the_settings_are_refused() {
        let config = BlockConfig { k: 4, n: 6, flush: FLUSH };
        let mut receiver = BlockReceiver::new(config).unwrap();
        let symbols = [
            BlockSymbol::Source(4),
            BlockSymbol::Repair { k: 5, number: 0 },
            BlockSymbol::Repair { k: 0, number: 0 },
            BlockSymbol::Repair { k: 4, number: 2 },
        ];
        for (at, symbol) in symbols.into_iter().enumerate() {
            let packet = BlockPacket { block: 0, symbol, payload: packet(0) };
            receiver.handle_datagram(Time::ZERO, Received { packet, bytes: 100, reception: Reception::default() });
            assert_eq!(receiver.counts().refused, at as u64 + 1, "{symbol:?}");
        }
        assert!(receiver.poll_deliver().is_none());
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let wrong = |k, n, flush| BlockConfig { k, n, flush }.check().unwrap_err();
        assert_eq!(wrong(0, 4, FLUSH), BlockConfigError::Sources { k: 0, n: 4 });
        assert_eq!(wrong(5, 4, FLUSH), BlockConfigError::Sources { k: 5, n: 4 });
        assert_eq!(wrong(4, 4, Duration::ZERO), BlockConfigError::Flush);
    }

    proptest! {
        /// Whatever is lost, packets come in order, each at most once. A block that loses at most N - K packets loses
        /// none of its source packets.
        #[test]
        fn packets_come_in_order_and_few_losses_are_repaired(
            k in 1u8..20,
            repairs in 0u8..10,
            lost in prop::collection::vec(any::<bool>(), 1..300),
            pauses in prop::collection::vec(0u64..60, 0..6),
        ) {
            let config = BlockConfig { k, n: k + repairs, flush: FLUSH };
            let (delivered, sent, received) =
                run(config, 60, &|at| lost.get(at as usize).copied().unwrap_or(false), &pauses);
            prop_assert!(delivered.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(received.delivered, delivered.len() as u64);
            prop_assert_eq!(received.delivered, received.sources + received.recovered);
            prop_assert_eq!(sent.packets, 60);
            if lost.iter().filter(|lost| **lost).count() <= usize::from(repairs) {
                prop_assert_eq!(delivered, (0..60).collect::<Vec<_>>());
            }
        }
    }
}
