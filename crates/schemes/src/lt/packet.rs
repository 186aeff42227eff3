//! The packets of TCP/LT, and their sizes.
//!
//! The packets exist only as types: no program sends them as bytes. A link is charged for their size all the same. In
//! front of a symbol, the coding header has these fields:
//!
//! | field | bytes |
//! |---|---|
//! | type; it also says whether the packet asks for an LT-ACK | 1 |
//! | `session` | 4 |
//! | the low 32 bits of `number` | 4 |
//! | the low 24 bits of `block` | 3 |
//! | `block` - `oldest` | varint |
//! | `k` | 1 |
//! | `symbol` | varint |
//! | `index` | varint |
//!
//! A request to open the connection has only the type and the session. A *varint* has 1 byte for each 7 significant
//! bits of the number, and at least 1 byte. An LT-ACK has the type, the session, 6 bytes for a rate if there is one,
//! and its report:
//!
//! | report | bytes |
//! |---|---|
//! | [`LtReport::Block`] | the low 24 bits of `block` 3, `heard` varint, `heard` - `received` varint |
//! | [`LtReport::All`] | the low 32 bits of `heard` 4, of `received` 4, the low 24 bits of `decoded` 3, the number of blocks varint, and for each block `missing` 1 |
//! | a block of which a part is known | also the length of `known` 1, and `known` without leading zero bytes |
//! | [`LtReport::Opened`], [`LtReport::Unknown`] | none |

use super::MAX_BLOCK;
use ripstop_proto::wire::varint_len;

/// The largest rate in an LT-ACK, bit/s: the largest number of 6 bytes. No link is as fast. Each byte less takes a byte
/// from each LT-ACK with a rate; with 5 bytes, the largest rate is 1.1 Tbit/s.
pub const MAX_RATE: u64 = (1 << 48) - 1;

/// The largest number of blocks in an LT-ACK. An LT-ACK of this many blocks has at most 1.3 kB, and
/// fits in a packet. A receiver reports on the first blocks if it holds more. With half the value, the sender learns
/// later of the blocks that an LT-ACK leaves out. Double the value does not fit in a packet.
pub const MAX_REPORTED: usize = 128;

/// A packet of the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LtPacket<P> {
    /// A request to open the connection. The sender repeats it until the receiver answers.
    Open {
        /// The identifier of the session.
        session: u32,
    },
    /// A symbol of a block.
    Symbol(LtSymbol<P>),
}

/// A symbol of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LtSymbol<P> {
    /// The identifier of the session. The sender draws it, so that each end notices a restart of
    /// the other end.
    pub session: u32,
    /// The packet's number. The sender numbers its packets from 0 on.
    pub number: u64,
    /// All blocks before this one are decoded, as far as the sender knows.
    pub oldest: u64,
    /// The number of the block. Blocks are numbered from 0 on.
    pub block: u64,
    /// K: the number of source symbols in the block, 1 to [`MAX_BLOCK`].
    pub k: u8,
    /// Which symbol of the block's code this is.
    pub symbol: u32,
    /// How many packets of this block the sender sent before this one.
    pub index: u32,
    /// Whether the sender asks for an LT-ACK.
    pub request: bool,
    /// The symbol.
    pub payload: P,
}

/// LT-ACK: what the receiver tells the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LtAck {
    /// The identifier of the session, from the packets that this LT-ACK answers.
    pub session: u32,
    /// What the receiver reports.
    pub report: LtReport,
    /// x_s: the rate that the gateway gives to an upload, bit/s. None: there is no news.
    pub rate: Option<u64>,
}

/// The content of an [`LtAck`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LtReport {
    /// One block, as in paper 004.
    Block {
        /// The number of the block.
        block: u64,
        /// N_recv: how many packets of this block the receiver has received.
        received: u32,
        /// One more than the highest [`LtSymbol::index`] received of this block.
        heard: u32,
        /// Whether the block is decoded.
        is_decoded: bool,
    },
    /// Everything that the receiver knows.
    All {
        /// One more than the highest [`LtSymbol::number`] received.
        heard: u64,
        /// How many packets the receiver has received.
        received: u64,
        /// All blocks before this one are decoded.
        decoded: u64,
        /// The state of the blocks from `decoded` on, in order. Blocks after the last entry are
        /// unknown to the receiver.
        blocks: Vec<BlockState>,
    },
    /// The connection is open: the answer to [`LtPacket::Open`].
    Opened,
    /// The receiver does not know the session, or takes it for one that has ended: one end has restarted. The sender
    /// must begin a new session.
    Unknown,
}

/// The state of a block at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockState {
    /// How many degrees of freedom are still missing. 0: the block is decoded. 255: no packet of the
    /// block has arrived.
    pub missing: u8,
    /// Which source symbols the receiver has: bit i stands for source symbol i. All bits are 1 if
    /// the block is decoded.
    pub known: u64,
}

impl BlockState {
    /// The block is decoded.
    pub const DECODED: BlockState = BlockState { missing: 0, known: u64::MAX };
    /// No packet of the block has arrived.
    pub const UNHEARD: BlockState = BlockState { missing: u8::MAX, known: 0 };
}

impl<P> LtPacket<P> {
    /// The size of the coding header, bytes. A symbol follows the header.
    pub fn header_len(&self) -> usize {
        match self {
            LtPacket::Open { .. } => 5,
            LtPacket::Symbol(symbol) => {
                let age = u32::try_from(symbol.block.saturating_sub(symbol.oldest)).unwrap_or(u32::MAX);
                13 + varint_len(age) + varint_len(symbol.symbol) + varint_len(symbol.index)
            }
        }
    }

    /// The name of a field whose value does not fit into the coding header. None for every packet of an
    /// [`LtSender`](super::LtSender).
    pub fn wrong_field(&self) -> Option<&'static str> {
        let LtPacket::Symbol(symbol) = self else { return None };
        let fits = symbol.block.checked_sub(symbol.oldest).is_some_and(|age| age < MAX_AGE);
        match usize::from(symbol.k) {
            _ if !fits => Some("block"),
            1..=MAX_BLOCK => None,
            _ => Some("k"),
        }
    }
}

/// `block` - `oldest` is less than this number, so that the low 24 bits of a block's number name the block. A sender
/// has at most 2^16 blocks in flight. With half or double the value, nothing changes.
const MAX_AGE: u64 = 1 << 23;

impl LtAck {
    /// The size of the LT-ACK without TCP's and IP's headers, bytes.
    pub fn coding_len(&self) -> usize {
        let rate = if self.rate.is_some() { 6 } else { 0 };
        let report = match &self.report {
            LtReport::Block { received, heard, .. } => {
                3 + varint_len(*heard) + varint_len(heard.saturating_sub(*received))
            }
            LtReport::All { blocks, .. } => {
                let states: usize = blocks.iter().map(|state| 1 + state.known_len()).sum();
                11 + varint_len(blocks.len() as u32) + states
            }
            LtReport::Opened | LtReport::Unknown => 0,
        };
        5 + rate + report
    }

    /// The name of a field whose value does not fit into the LT-ACK. None for every LT-ACK of an
    /// [`LtReceiver`](super::LtReceiver).
    pub fn wrong_field(&self) -> Option<&'static str> {
        if self.rate.is_some_and(|rate| rate > MAX_RATE) {
            return Some("rate");
        }
        match &self.report {
            LtReport::Block { received, heard, .. } if received > heard => Some("received"),
            LtReport::All { received, heard, .. } if received > heard => Some("received"),
            LtReport::All { blocks, .. } if blocks.len() > MAX_REPORTED => Some("blocks"),
            LtReport::All { blocks, .. } if !blocks.iter().all(BlockState::is_canonical) => Some("missing"),
            _ => None,
        }
    }
}

impl BlockState {
    /// The number of bytes of `known` in an LT-ACK: none if nothing or everything is known.
    fn known_len(&self) -> usize {
        let is_partial = self.missing != 0 && self.missing != BlockState::UNHEARD.missing;
        if is_partial { 1 + (64 - self.known.leading_zeros() as usize).div_ceil(8) } else { 0 }
    }

    /// Whether `known` follows from `missing` where an LT-ACK leaves `known` out.
    fn is_canonical(&self) -> bool {
        match self.missing {
            0 => self.known == u64::MAX,
            missing if usize::from(missing) <= MAX_BLOCK => true,
            _ => *self == BlockState::UNHEARD,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(oldest: u64, block: u64, k: u8, symbol: u32, index: u32) -> LtPacket<()> {
        let (session, number, request, payload) = (u32::MAX, u64::MAX, true, ());
        LtPacket::Symbol(LtSymbol { session, number, oldest, block, k, symbol, index, request, payload })
    }

    fn ack(report: LtReport, rate: Option<u64>) -> LtAck {
        LtAck { session: 7, report, rate }
    }

    fn all(received: u64, blocks: &[(u8, u64)]) -> LtReport {
        let blocks = blocks.iter().map(|(missing, known)| BlockState { missing: *missing, known: *known }).collect();
        LtReport::All { heard: 12_884_901_897, received, decoded: 70_000, blocks }
    }

    /// A change of these sizes changes all results of the improved mode.
    #[test]
    fn packets_have_the_sizes_of_their_fields() {
        let block = |received, heard| LtReport::Block { block: 150_994_949, received, heard, is_decoded: true };
        let states = [(2, 65_532), (0, u64::MAX), (255, 0), (16, 0), (1, u64::MAX >> 1)];
        assert_eq!(LtPacket::<()>::Open { session: u32::MAX }.header_len(), 5);
        for (packet, len) in [
            (symbol(0, 0, 16, 0, 0), 16),
            (symbol(0, 127, 16, 127, 127), 16),
            (symbol(0, 128, 16, 128, 128), 19),
            (symbol(1_073_741_624, 1_073_741_824, 64, 40_503, 130), 20),
            (symbol(0, MAX_AGE - 1, 1, u32::MAX, u32::MAX), 27),
        ] {
            assert_eq!((packet.header_len(), packet.wrong_field()), (len, None), "{packet:?}");
        }
        for (ack, len) in [
            (ack(LtReport::Unknown, None), 5),
            (ack(LtReport::Opened, Some(273_056)), 11),
            (ack(block(12, 16), None), 10),
            (ack(block(300, 400), Some(68_264)), 17),
            (ack(all(0, &[]), None), 17),
            (ack(all(12_884_901_868, &states), Some(MAX_RATE)), 41),
            (ack(all(0, &[(64, u64::MAX); MAX_REPORTED]), Some(0)), 1_304),
        ] {
            assert_eq!((ack.coding_len(), ack.wrong_field()), (len, None), "{ack:?}");
        }
    }

    #[test]
    fn values_that_do_not_fit_are_named() {
        for (packet, field) in [
            (symbol(1, 0, 16, 0, 0), "block"),
            (symbol(0, MAX_AGE, 16, 0, 0), "block"),
            (symbol(0, 0, 0, 0, 0), "k"),
            (symbol(0, 0, 65, 0, 0), "k"),
        ] {
            assert_eq!(packet.wrong_field(), Some(field), "{packet:?}");
        }
        let block = LtReport::Block { block: 0, received: 6, heard: 5, is_decoded: false };
        for (ack, field) in [
            (ack(LtReport::Opened, Some(MAX_RATE + 1)), "rate"),
            (ack(block, None), "received"),
            (ack(all(12_884_901_898, &[]), None), "received"),
            (ack(all(0, &[(255, 0); MAX_REPORTED + 1]), None), "blocks"),
            (ack(all(0, &[(0, 1)]), None), "missing"),
            (ack(all(0, &[(65, 1)]), None), "missing"),
            (ack(all(0, &[(255, 1)]), None), "missing"),
        ] {
            assert_eq!(ack.wrong_field(), Some(field), "{ack:?}");
        }
    }
}
