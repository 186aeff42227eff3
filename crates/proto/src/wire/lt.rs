//! The bytes of TCP/LT's packets ([`LtPacket`], [`LtAck`]), as `docs/contributors/wire-format.md`
//! specifies.

use super::bytes::{EmitError, Malformed, Reader, Writer, expand, varint_len};
use crate::session::lt::{BlockState, LtAck, LtPacket, LtReport, LtSymbol, MAX_BLOCK};
use ripstop_codes::Symbol;

/// The type byte of a packet with a symbol. [`REQUEST`] may be added.
const SYMBOL: u8 = 0x40;
/// The type byte of a request to open a connection.
const OPEN: u8 = 0x42;
/// Added to [`SYMBOL`]: the sender asks for an LT-ACK.
const REQUEST: u8 = 0x01;
/// The type byte of an LT-ACK for one block that is not decoded. [`RATE`] may be added.
const BLOCK: u8 = 0x48;
/// The type byte of an LT-ACK for one block that is decoded. [`RATE`] may be added.
const DECODED: u8 = 0x49;
/// The type byte of an LT-ACK for all blocks. [`RATE`] may be added.
const ALL: u8 = 0x4a;
/// The type byte of an LT-ACK for an unknown session. [`RATE`] may be added.
const UNKNOWN: u8 = 0x4b;
/// The type byte of an LT-ACK that opens a connection. [`RATE`] may be added.
const OPENED: u8 = 0x4c;
/// Added to the type byte of an LT-ACK: a rate follows the session.
const RATE: u8 = 0x10;

/// The number of low bits of a packet number on the wire.
const NUMBER_BITS: u32 = 32;
/// The number of low bits of a block number on the wire.
const BLOCK_BITS: u32 = 24;
/// The largest rate that an LT-ACK can carry, bit/s.
pub const MAX_RATE: u64 = (1 << 48) - 1;

/// The numbers with which truncated numbers are completed. Each end has one context for each
/// session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LtContext {
    /// A packet number near the numbers in the packet: at the sender the next number to send, at the
    /// receiver the highest number received.
    pub number: u64,
    /// A block number near the numbers in the packet: at the sender the next block, at the receiver
    /// the first block that is not decoded.
    pub block: u64,
}

impl<P> LtPacket<P> {
    /// The length of the header on the wire, bytes. A symbol follows the header.
    pub fn header_len(&self) -> usize {
        match self {
            LtPacket::Open { .. } => 5,
            LtPacket::Symbol(symbol) => {
                let age = u32::try_from(symbol.block.saturating_sub(symbol.oldest)).unwrap_or(u32::MAX);
                13 + varint_len(age) + varint_len(symbol.symbol) + varint_len(symbol.index)
            }
        }
    }
}

/// Writes a packet of the sender, and returns the length.
///
/// # Errors
/// The buffer is too short, or a field holds a value that the format cannot carry.
pub fn emit_lt_packet(packet: &LtPacket<Symbol>, buffer: &mut [u8]) -> Result<usize, EmitError> {
    let header = packet.header_len();
    let packet = match packet {
        LtPacket::Symbol(symbol) => symbol,
        LtPacket::Open { session } => {
            let mut w = Writer::new(buffer, header)?;
            w.uint::<1>(u64::from(OPEN));
            w.uint::<4>(u64::from(*session));
            return Ok(w.finish());
        }
    };
    let age = packet.block.checked_sub(packet.oldest).and_then(|age| u32::try_from(age).ok());
    let age = age.filter(|age| *age < 1 << (BLOCK_BITS - 1)).ok_or(EmitError::Value("block"))?;
    if packet.k == 0 || usize::from(packet.k) > MAX_BLOCK {
        return Err(EmitError::Value("k"));
    }
    let mut w = Writer::new(buffer, header + packet.payload.len())?;
    w.uint::<1>(u64::from(SYMBOL | if packet.request { REQUEST } else { 0 }));
    w.uint::<4>(u64::from(packet.session));
    w.uint::<4>(packet.number);
    w.uint::<3>(packet.block);
    w.varint(age);
    w.uint::<1>(u64::from(packet.k));
    w.varint(packet.symbol);
    w.varint(packet.index);
    w.bytes(packet.payload.as_slice());
    Ok(w.finish())
}

/// Parses a packet of the sender.
///
/// # Errors
/// The bytes are not a packet that [`emit_lt_packet`] writes.
pub fn parse_lt_packet(bytes: &[u8], context: &LtContext) -> Result<LtPacket<Symbol>, Malformed> {
    let mut r = Reader::new(bytes);
    let kind = r.uint::<1>("type")? as u8;
    if kind == OPEN {
        let session = r.uint::<4>("session")? as u32;
        r.end()?;
        return Ok(LtPacket::Open { session });
    }
    if kind & !REQUEST != SYMBOL {
        return Err(Malformed::Type(kind));
    }
    let session = r.uint::<4>("session")? as u32;
    let number = expand(r.uint::<4>("number")?, NUMBER_BITS, context.number);
    let block = expand(r.uint::<3>("block")?, BLOCK_BITS, context.block);
    let age = u64::from(r.varint("age")?);
    let oldest = block.checked_sub(age).filter(|_| age < 1 << (BLOCK_BITS - 1)).ok_or(Malformed::Value("age"))?;
    let k = r.uint::<1>("k")? as u8;
    if k == 0 || usize::from(k) > MAX_BLOCK {
        return Err(Malformed::Value("k"));
    }
    let (symbol, index) = (r.varint("symbol")?, r.varint("index")?);
    let request = kind & REQUEST != 0;
    let payload = Symbol::from_slice(r.rest());
    Ok(LtPacket::Symbol(LtSymbol { session, number, oldest, block, k, symbol, index, request, payload }))
}

impl LtAck {
    /// The length on the wire, bytes.
    pub fn wire_len(&self) -> usize {
        let rate = if self.rate.is_some() { 6 } else { 0 };
        let report = match &self.report {
            LtReport::Block { received, heard, .. } => {
                3 + varint_len(*heard) + varint_len(heard.saturating_sub(*received))
            }
            LtReport::All { blocks, .. } => {
                let states: usize = blocks.iter().map(|state| 1 + known_len(state)).sum();
                11 + varint_len(blocks.len() as u32) + states
            }
            LtReport::Opened | LtReport::Unknown => 0,
        };
        5 + rate + report
    }
}

/// The number of bytes of [`BlockState::known`] on the wire: none if nothing or everything is known.
fn known_len(state: &BlockState) -> usize {
    if is_partial(state) { 1 + (64 - state.known.leading_zeros() as usize).div_ceil(8) } else { 0 }
}

/// Whether the receiver has a part of the block.
fn is_partial(state: &BlockState) -> bool {
    state.missing != 0 && state.missing != BlockState::UNHEARD.missing
}

/// Writes an LT-ACK, and returns the length.
///
/// # Errors
/// The buffer is too short, or a field holds a value that the format cannot carry.
pub fn emit_lt_ack(ack: &LtAck, buffer: &mut [u8]) -> Result<usize, EmitError> {
    let kind = match &ack.report {
        LtReport::Block { is_decoded: false, .. } => BLOCK,
        LtReport::Block { is_decoded: true, .. } => DECODED,
        LtReport::All { .. } => ALL,
        LtReport::Opened => OPENED,
        LtReport::Unknown => UNKNOWN,
    };
    check_ack(ack)?;
    let mut w = Writer::new(buffer, ack.wire_len())?;
    w.uint::<1>(u64::from(kind | if ack.rate.is_some() { RATE } else { 0 }));
    w.uint::<4>(u64::from(ack.session));
    if let Some(rate) = ack.rate {
        w.uint::<6>(rate);
    }
    match &ack.report {
        LtReport::Block { block, received, heard, .. } => {
            w.uint::<3>(*block);
            w.varint(*heard);
            w.varint(heard - received);
        }
        LtReport::All { heard, received, decoded, blocks } => {
            w.uint::<4>(*heard);
            w.uint::<4>(*received);
            w.uint::<3>(*decoded);
            w.varint(blocks.len() as u32);
            for state in blocks {
                w.uint::<1>(u64::from(state.missing));
                if is_partial(state) {
                    let len = known_len(state) - 1;
                    w.uint::<1>(len as u64);
                    w.bytes(&state.known.to_be_bytes()[8 - len..]);
                }
            }
        }
        LtReport::Opened | LtReport::Unknown => {}
    }
    Ok(w.finish())
}

fn check_ack(ack: &LtAck) -> Result<(), EmitError> {
    if ack.rate.is_some_and(|rate| rate > MAX_RATE) {
        return Err(EmitError::Value("rate"));
    }
    match &ack.report {
        LtReport::Block { received, heard, .. } if received > heard => Err(EmitError::Value("received")),
        LtReport::All { received, heard, .. } if received > heard => Err(EmitError::Value("received")),
        LtReport::All { blocks, .. } if blocks.len() > MAX_REPORTED => Err(EmitError::Value("blocks")),
        LtReport::All { blocks, .. } if !blocks.iter().all(is_canonical) => Err(EmitError::Value("missing")),
        _ => Ok(()),
    }
}

/// Whether a state can be written and read back.
fn is_canonical(state: &BlockState) -> bool {
    match state.missing {
        0 => state.known == u64::MAX,
        missing if usize::from(missing) <= MAX_BLOCK => true,
        _ => *state == BlockState::UNHEARD,
    }
}

/// The largest number of blocks in an LT-ACK. An LT-ACK of this many blocks has at most 1.3 kB, and
/// fits in a packet. A receiver reports on the first blocks if it holds more.
pub const MAX_REPORTED: usize = 128;

/// Parses an LT-ACK.
///
/// # Errors
/// The bytes are not an LT-ACK that [`emit_lt_ack`] writes.
pub fn parse_lt_ack(bytes: &[u8], context: &LtContext) -> Result<LtAck, Malformed> {
    let mut r = Reader::new(bytes);
    let kind = r.uint::<1>("type")? as u8;
    let session = r.uint::<4>("session")? as u32;
    let rate = if kind & RATE != 0 { Some(r.uint::<6>("rate")?) } else { None };
    let report = match kind & !RATE {
        form @ (BLOCK | DECODED) => {
            let block = expand(r.uint::<3>("block")?, BLOCK_BITS, context.block);
            let heard = r.varint("heard")?;
            let received = heard.checked_sub(r.varint("lost")?).ok_or(Malformed::Value("lost"))?;
            LtReport::Block { block, received, heard, is_decoded: form == DECODED }
        }
        ALL => {
            let heard = expand(r.uint::<4>("heard")?, NUMBER_BITS, context.number);
            let received = expand(r.uint::<4>("received")?, NUMBER_BITS, heard);
            if received > heard {
                return Err(Malformed::Value("received"));
            }
            let decoded = expand(r.uint::<3>("decoded")?, BLOCK_BITS, context.block);
            let count = r.varint("blocks")? as usize;
            if count > MAX_REPORTED {
                return Err(Malformed::Value("blocks"));
            }
            let mut blocks = Vec::with_capacity(count);
            for _ in 0..count {
                blocks.push(parse_state(&mut r)?);
            }
            LtReport::All { heard, received, decoded, blocks }
        }
        OPENED => LtReport::Opened,
        UNKNOWN => LtReport::Unknown,
        _ => return Err(Malformed::Type(kind)),
    };
    r.end()?;
    Ok(LtAck { session, report, rate })
}

fn parse_state(r: &mut Reader<'_>) -> Result<BlockState, Malformed> {
    let missing = r.uint::<1>("missing")? as u8;
    match missing {
        0 => return Ok(BlockState::DECODED),
        missing if missing == BlockState::UNHEARD.missing => return Ok(BlockState::UNHEARD),
        missing if usize::from(missing) > MAX_BLOCK => return Err(Malformed::Value("missing")),
        _ => {}
    }
    let len = r.uint::<1>("known")? as usize;
    if len > 8 {
        return Err(Malformed::Value("known"));
    }
    let known = r.take(len, "known")?;
    if known.first() == Some(&0) {
        return Err(Malformed::Form("known"));
    }
    Ok(BlockState { missing, known: known.iter().fold(0, |mask, byte| mask << 8 | u64::from(*byte)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet() -> impl Strategy<Value = LtSymbol<Symbol>> {
        let ids = (any::<u32>(), any::<u64>(), any::<u64>(), 0u64..1 << 23, any::<u32>(), any::<u32>());
        (ids, 1u8..=64, any::<bool>(), prop::collection::vec(any::<u8>(), 0..100)).prop_map(
            |((session, number, block, age, symbol, index), k, request, payload)| {
                let (oldest, payload) = (block.saturating_sub(age), Symbol::from_slice(&payload));
                LtSymbol { session, number, oldest, block, k, symbol, index, request, payload }
            },
        )
    }

    fn state() -> impl Strategy<Value = BlockState> {
        prop_oneof![
            Just(BlockState::DECODED),
            Just(BlockState::UNHEARD),
            (1u8..=64, any::<u64>(), 0u32..64)
                .prop_map(|(missing, known, shift)| BlockState { missing, known: known >> shift }),
        ]
    }

    fn ack() -> impl Strategy<Value = LtAck> {
        let report = prop_oneof![
            (any::<u64>(), any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(block, a, b, is_decoded)| {
                LtReport::Block { block, received: a.min(b), heard: a.max(b), is_decoded }
            }),
            (any::<u64>(), 0u64..1 << 31, any::<u64>(), prop::collection::vec(state(), 0..20)).prop_map(
                |(heard, lost, decoded, blocks)| {
                    LtReport::All { heard, received: heard.saturating_sub(lost), decoded, blocks }
                }
            ),
            Just(LtReport::Opened),
            Just(LtReport::Unknown),
        ];
        (any::<u32>(), report, prop::option::of(0..=MAX_RATE)).prop_map(|(session, report, rate)| LtAck {
            session,
            report,
            rate,
        })
    }

    proptest! {
        #[test]
        fn packets_survive(symbol in packet(), opens: bool) {
            let mut buffer = [0; 256];
            let context = LtContext { number: symbol.number, block: symbol.block };
            let payload = if opens { 0 } else { symbol.payload.len() };
            let packet = if opens { LtPacket::Open { session: symbol.session } } else { LtPacket::Symbol(symbol) };
            let len = emit_lt_packet(&packet, &mut buffer).unwrap();
            prop_assert_eq!(len, packet.header_len() + payload);
            prop_assert_eq!(parse_lt_packet(&buffer[..len], &context), Ok(packet));
        }

        #[test]
        fn lt_acks_survive(ack in ack()) {
            let mut buffer = [0; 512];
            let len = emit_lt_ack(&ack, &mut buffer).unwrap();
            prop_assert_eq!(len, ack.wire_len());
            let context = match &ack.report {
                LtReport::Block { block, .. } => LtContext { number: 0, block: *block },
                LtReport::All { heard, decoded, .. } => LtContext { number: *heard, block: *decoded },
                LtReport::Opened | LtReport::Unknown => LtContext::default(),
            };
            prop_assert_eq!(parse_lt_ack(&buffer[..len], &context), Ok(ack));
        }

        #[test]
        fn any_bytes_give_a_packet_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..64), first in 0u8..32, near: u64) {
            let mut bytes = bytes;
            if let Some(kind) = bytes.first_mut() {
                *kind = SYMBOL + first;
            }
            let context = LtContext { number: near, block: near };
            let mut buffer = [0; 256];
            if let Ok(packet) = parse_lt_packet(&bytes, &context) {
                let len = emit_lt_packet(&packet, &mut buffer).unwrap();
                prop_assert_eq!(&buffer[..len], &bytes[..]);
            }
            if let Ok(ack) = parse_lt_ack(&bytes, &context) {
                let len = emit_lt_ack(&ack, &mut buffer).unwrap();
                prop_assert_eq!(&buffer[..len], &bytes[..]);
            }
        }
    }
}
