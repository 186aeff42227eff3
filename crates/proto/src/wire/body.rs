//! The body of a packet: its size, its bytes, and the parser.

use super::block::{BLOCK_FIELDS, emit_block_repair, parse_block_repair};
use super::bytes::{EmitError, Malformed, Reader, Writer};
use super::context::WireContext;
use super::header::{HEADER_LEN, Kind, TAG_LEN};
use super::kind::SymbolKind;
use super::packet::Packet;
use super::repair::{SOURCE_FIELDS, emit_repair, emit_source, parse_repair, parse_source, repair_fields};
use super::report::{Measured, parse_feedback};
use super::window::{emit_window, parse_window, window_len};
use ripstop_codes::{Payload, Symbol};

/// The length of the token of a challenge, bytes.
const TOKEN_LEN: usize = 8;

impl<P: Payload> Packet<P> {
    /// The length of the packet's body in bytes, computed without writing the body. The length is
    /// exact for all packets that [`emit_body`] accepts. For a report that [`emit_body`] refuses,
    /// the length is 0.
    pub fn body_len(&self) -> usize {
        match self {
            // The first byte of the symbol is not written: the type of the datagram has its upper half, and SOURCE_FIELDS
            // contains its lower half.
            Packet::Source { payload, .. } => SOURCE_FIELDS + payload.len().saturating_sub(1),
            Packet::Repair { members, coding, payload } => repair_fields(members, coding) + payload.len(),
            Packet::BlockRepair { payload, .. } => BLOCK_FIELDS + payload.len(),
            Packet::Feedback(feedback) => Measured::new(feedback).map_or(0, |measured| measured.len()),
            Packet::Window(window) => window_len(window),
            Packet::Probe { padding } => usize::from(*padding),
            Packet::Close => 0,
            Packet::Challenge { .. } | Packet::Answer { .. } => TOKEN_LEN,
        }
    }

    /// The length in bytes of the sealed datagram that carries the packet: header, body and tag.
    /// The IP and UDP headers ([`super::IPV4_UDP_LEN`], [`super::IPV6_UDP_LEN`]) are not included.
    pub fn wire_len(&self) -> usize {
        HEADER_LEN + self.body_len() + TAG_LEN
    }
}

/// Writes the body of `packet` to the front of `buffer`, and returns the body's length. Memory is
/// allocated only for a report.
///
/// # Errors
/// The buffer is too short, or the format cannot carry the packet.
pub fn emit_body<P: AsRef<[u8]>>(packet: &Packet<P>, buffer: &mut [u8]) -> Result<usize, EmitError> {
    match packet {
        Packet::Source { id, kind, payload } => match payload.as_ref().split_first() {
            Some((first, content)) if SymbolKind::of(*first) == Some(*kind) && !content.is_empty() => {
                emit_source(buffer, *id, *first, content)
            }
            _ => Err(EmitError::Value("payload")),
        },
        Packet::Repair { members, coding, payload } => emit_repair(buffer, members, coding, payload.as_ref()),
        Packet::BlockRepair { first, k, number, payload } => {
            emit_block_repair(buffer, *first, *k, *number, payload.as_ref())
        }
        Packet::Feedback(feedback) => Measured::new(feedback)?.emit(buffer),
        Packet::Window(window) => emit_window(buffer, window),
        Packet::Probe { padding } => {
            let mut w = Writer::new(buffer, usize::from(*padding))?;
            w.zeros(usize::from(*padding));
            Ok(w.finish())
        }
        Packet::Close => Ok(0),
        Packet::Challenge { token } | Packet::Answer { token } => {
            let mut w = Writer::new(buffer, TOKEN_LEN)?;
            w.uint::<TOKEN_LEN>(*token);
            Ok(w.finish())
        }
    }
}

/// Parses the body of a datagram of kind `kind`. The numbers in `near` complete the truncated
/// numbers. The symbol of a source packet or of a repair is copied one time, into newly allocated
/// memory.
///
/// # Errors
/// The bytes are not what [`emit_body`] writes.
pub fn parse_body(kind: Kind, body: &[u8], near: &WireContext) -> Result<Packet<Symbol>, Malformed> {
    match kind {
        Kind::Source(kind) => parse_source(body, kind, near.id_near),
        Kind::RepairBySeed => parse_repair(body, false, near.id_near),
        Kind::RepairExplicit => parse_repair(body, true, near.id_near),
        Kind::RepairOfBlock => parse_block_repair(body, near.id_near),
        Kind::Report | Kind::PathReport | Kind::SymbolReport => {
            Ok(Packet::Feedback(Box::new(parse_feedback(kind, body, near)?)))
        }
        Kind::Window => Ok(Packet::Window(parse_window(body, near)?)),
        Kind::Probe => match u16::try_from(body.len()) {
            Ok(padding) if body.iter().all(|byte| *byte == 0) => Ok(Packet::Probe { padding }),
            Ok(_) => Err(Malformed::Form("padding")),
            Err(_) => Err(Malformed::Trailing(body.len() - usize::from(u16::MAX))),
        },
        Kind::Close if body.is_empty() => Ok(Packet::Close),
        Kind::Close => Err(Malformed::Trailing(body.len())),
        Kind::Challenge => Ok(Packet::Challenge { token: parse_token(body)? }),
        Kind::Answer => Ok(Packet::Answer { token: parse_token(body)? }),
    }
}

fn parse_token(body: &[u8]) -> Result<u64, Malformed> {
    let mut r = Reader::new(body);
    let token = u64::from_be_bytes(r.array::<TOKEN_LEN>("token")?);
    r.end()?;
    Ok(token)
}
