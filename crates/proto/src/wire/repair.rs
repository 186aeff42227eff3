//! The bytes of the packets that carry symbols: source packets and repairs.
//!
//! The body of a repair consists of fields and a *combination*: the linear combination of the
//! repair's *members*, which are source symbols. The fields name the members in one of two forms:
//!
//! - *Singles and tail*: up to 64 single numbers, then one contiguous range of numbers, the tail.
//!   Either part may be empty, but not both.
//! - *Step*: numbers with the same distance 2^k from one to the next. This form is short, but only
//!   repairs by seed can have this form.
//!
//! The first member is the *anchor*. The low 20 bits of the anchor's number are on the wire.

use super::bytes::{EmitError, Malformed, Reader, Writer, expand, varint_len};
use super::kind::SymbolKind;
use super::packet::Packet;
use ripstop_codes::Symbol;
use ripstop_codes::window::{Coding, MAX_SINGLES, Members};

/// The number of bytes in front of the inner packet in a source body. These bytes hold the low 20
/// bits of the symbol's number, then the lower half of the symbol's first byte.
pub const SOURCE_FIELDS: usize = 3;
/// The largest distance between two source symbols that may be in use at the same time. Up to this
/// distance, the 20 bits on the wire identify each symbol.
pub const MAX_OUTSTANDING: u64 = (1 << 19) - 1;
/// The largest number of members of a repair with explicit coefficients. Each coefficient takes a
/// byte in the packet.
pub const MAX_EXPLICIT: usize = 64;
/// The largest number of members in a repair of the form *step*.
pub(super) const MAX_STEPPED: u64 = 1024;

/// A count byte of `STEPPED + k` says that the repair has the form *step*, with the distance 2^k.
const STEPPED: u64 = 128;
/// The largest k in a distance 2^k of the form *step*.
const MAX_STEP_LOG: u64 = 16;

/// The number of low bits of a source symbol's number that are on the wire.
pub(crate) const ID_BITS: u32 = 20;

/// Writes a source body: [`SOURCE_FIELDS`] bytes, then `content`, which is the symbol without its first byte `first`. Returns
/// the body's length.
/// The function runs for each packet, so it does not allocate memory, and writes each byte one
/// time.
///
/// # Errors
/// The buffer is too short.
#[inline]
pub fn emit_source(buffer: &mut [u8], id: u64, first: u8, content: &[u8]) -> Result<usize, EmitError> {
    let mut w = Writer::new(buffer, SOURCE_FIELDS + content.len())?;
    w.uint::<3>(low_id(id, first & 15));
    w.bytes(content);
    Ok(w.finish())
}

/// Writes the fields of a repair and its combination, and returns the body's length.
///
/// # Errors
/// The buffer is too short, or the format cannot carry the members or coefficients.
pub fn emit_repair(
    buffer: &mut [u8],
    members: &Members,
    coding: &Coding,
    combination: &[u8],
) -> Result<usize, EmitError> {
    let anchor = members.first().ok_or(EmitError::Value("members"))?;
    let span = members.last().map_or(0, |last| last - anchor);
    // In the simulator, TCP/NC makes combinations with any number of members
    // ([`Members::unlimited`]). A datagram names at most [`MAX_SINGLES`] single members.
    let step = written_step(members, coding);
    if span > MAX_OUTSTANDING || step.is_none() && members.singles().len() > MAX_SINGLES {
        return Err(EmitError::Value("members"));
    }
    let mut w = Writer::new(buffer, repair_fields(members, coding) + combination.len())?;
    if let (Some(step), Coding::Seed(seed)) = (step, coding) {
        w.uint::<3>(low_id(anchor, 15));
        w.uint::<1>(STEPPED + u64::from(step.ilog2()));
        w.uint::<2>(u64::from(*seed));
        w.varint(members.len() as u32);
        w.bytes(combination);
        return Ok(w.finish());
    }
    let (singles, tail) = (members.singles(), members.tail());
    w.uint::<3>(low_id(anchor, singles.len().min(15) as u8));
    if singles.len() >= 15 {
        w.uint::<1>(singles.len() as u64);
    }
    if let Coding::Seed(seed) = coding {
        w.uint::<2>(u64::from(*seed));
    }
    w.varint((tail.end - tail.start) as u32);
    singles.windows(2).for_each(|pair| w.varint((pair[1] - pair[0]) as u32));
    if let (Some(last), false) = (singles.last(), tail.is_empty()) {
        w.varint((tail.start - last) as u32);
    }
    if let Coding::Explicit(coefficients) = coding {
        if coefficients.len() != members.len() || members.len() > MAX_EXPLICIT || coefficients.contains(&0) {
            return Err(EmitError::Value("coefficients"));
        }
        w.bytes(coefficients);
    }
    w.bytes(combination);
    Ok(w.finish())
}

/// The length of a repair's fields, which are in front of the combination, bytes. If the fields
/// have at most [`super::REPAIR_FIELDS`] bytes, a repair of the largest inner packets fits the
/// path's MTU. The sender chooses members whose fields fit.
pub fn repair_fields(members: &Members, coding: &Coding) -> usize {
    if written_step(members, coding).is_some() {
        return 3 + 1 + 2 + varint_len(members.len() as u32);
    }
    let (singles, tail) = (members.singles(), members.tail());
    let distance = |from: u64, to: u64| varint_len(u32::try_from(to - from).unwrap_or(u32::MAX));
    let mut len = 3 + usize::from(singles.len() >= 15) + distance(tail.start, tail.end);
    len += singles.windows(2).map(|pair| distance(pair[0], pair[1])).sum::<usize>();
    if let (Some(last), false) = (singles.last(), tail.is_empty()) {
        len += distance(*last, tail.start);
    }
    len + match coding {
        Coding::Seed(_) => 2,
        Coding::Explicit(coefficients) => coefficients.len(),
    }
}

/// The distance between the members if the repair is written in the form *step*. None if the repair
/// is written in the other form.
fn written_step(members: &Members, coding: &Coding) -> Option<u64> {
    let few = members.len() as u64 <= MAX_STEPPED && matches!(coding, Coding::Seed(_));
    members.step().filter(|step| few && u64::from(step.ilog2()) <= MAX_STEP_LOG)
}

pub(crate) fn parse_source(body: &[u8], kind: SymbolKind, id_near: u64) -> Result<Packet<Symbol>, Malformed> {
    let mut r = Reader::new(body);
    let word = r.uint::<3>("id")?;
    let id = expand(word >> 4, ID_BITS, id_near);
    let content = r.rest();
    if content.is_empty() {
        return Err(Malformed::Short("symbol"));
    }
    Ok(Packet::Source { id, kind, payload: Symbol::from_parts(&[&[kind.first_byte(word as u8)], content]) })
}

pub(crate) fn parse_repair(body: &[u8], explicit: bool, id_near: u64) -> Result<Packet<Symbol>, Malformed> {
    let mut r = Reader::new(body);
    let word = r.uint::<3>("anchor")?;
    let anchor = expand(word >> 4, ID_BITS, id_near);
    let mut count = (word & 15) as usize;
    let mut step_log = 0;
    if count == 15 {
        let byte = r.uint::<1>("count")?;
        count = byte as usize;
        if (STEPPED + 1..=STEPPED + MAX_STEP_LOG).contains(&byte) && !explicit {
            (count, step_log) = (0, byte - STEPPED);
        } else if !(15..=MAX_SINGLES).contains(&count) {
            return Err(Malformed::Value("count"));
        }
    }
    let seed = if explicit { None } else { Some(u16::from_be_bytes(r.array("seed")?)) };
    let tail_len = u64::from(r.varint("tail")?);

    let mut at = anchor;
    let mut step = |r: &mut Reader<'_>| {
        let distance = u64::from(r.varint("distance")?);
        if distance == 0 {
            return Err(Malformed::Value("distance"));
        }
        at = at.checked_add(distance).ok_or(Malformed::Value("distance"))?;
        Ok(at)
    };
    let mut singles = Vec::with_capacity(count);
    if count > 0 {
        singles.push(anchor);
        for _ in 1..count {
            singles.push(step(&mut r)?);
        }
    }
    let tail_start = match tail_len {
        0 => 0,
        _ if count == 0 => anchor,
        _ => step(&mut r)?,
    };
    let members = if step_log > 0 {
        let known = (3..=MAX_STEPPED).contains(&tail_len);
        known.then(|| Members::stepped(anchor, 1 << step_log, tail_len)).flatten()
    } else {
        let tail_end = tail_start.checked_add(tail_len).ok_or(Malformed::Value("tail"))?;
        Members::new(singles, tail_start..tail_end)
    };
    let members = members.ok_or(Malformed::Value("members"))?;
    if !explicit && step_log == 0 && written_step(&members, &Coding::Seed(0)).is_some() {
        return Err(Malformed::Form("members"));
    }
    match (members.first(), members.last()) {
        (Some(first), Some(last)) if last - first <= MAX_OUTSTANDING => {}
        _ => return Err(Malformed::Value("members")),
    }
    let coding = match seed {
        Some(seed) => Coding::Seed(seed),
        None if members.len() > MAX_EXPLICIT => return Err(Malformed::Value("members")),
        None => {
            let coefficients = r.take(members.len(), "coefficients")?;
            if coefficients.contains(&0) {
                return Err(Malformed::Value("coefficients"));
            }
            Coding::Explicit(coefficients.to_vec())
        }
    };
    let payload = r.rest();
    if payload.is_empty() {
        return Err(Malformed::Short("combination"));
    }
    Ok(Packet::Repair { members, coding, payload: Symbol::from_slice(payload) })
}

/// The value of a 3-byte field: the low 20 bits of an identifier, then the four bits of `nibble`.
#[inline]
pub(crate) fn low_id(id: u64, nibble: u8) -> u64 {
    (id & 0xfffff) << 4 | u64::from(nibble & 15)
}

/// Reads a 3-byte field whose last four bits are zero: the number nearest to `near`.
pub(super) fn parse_id(r: &mut Reader<'_>, field: &'static str, near: u64) -> Result<u64, Malformed> {
    let word = r.uint::<3>(field)?;
    if word & 15 == 0 { Ok(expand(word >> 4, ID_BITS, near)) } else { Err(Malformed::Form(field)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_parser_would_take_is_not_written() {
        let every_other = |n: u64| Members::unlimited(&(0..n).map(|k| 2 * k).collect::<Vec<_>>()).unwrap();
        let mut buffer = [0; 256];
        let every_third = |n: u64| Members::unlimited(&(0..n).map(|k| 3 * k).collect::<Vec<_>>()).unwrap();
        for (members, fits) in [
            (every_third(64), true),
            (every_third(66), false),
            (every_other(1024), true),
            (every_other(1025), false),
            (Members::stepped(9, 1 << 16, 3).unwrap(), true),
            (Members::stepped(9, 1 << 16, 9).unwrap(), false),
        ] {
            let written = emit_repair(&mut buffer, &members, &Coding::Seed(7), &[1, 2, 3]);
            assert_eq!(written.is_ok(), fits, "{} singles", members.singles().len());
        }
    }

    #[test]
    fn equally_distant_members_take_a_few_bytes() {
        let mut buffer = [0; 64];
        let members = Members::stepped(70_000, 16, 256).unwrap();
        let written = emit_repair(&mut buffer, &members, &Coding::Seed(7), &[1, 2, 3]).unwrap();
        assert_eq!(written, 3 + 1 + 2 + 2 + 3);
        let Ok(Packet::Repair { members: read, coding, payload }) = parse_repair(&buffer[..written], false, 70_100)
        else {
            panic!("a repair")
        };
        assert_eq!((read, coding, payload.as_slice()), (members, Coding::Seed(7), &[1, 2, 3][..]));
        // Equally distant members that are listed as single members are refused: each set of
        // members has one form.
        let listed = [0, 0, 3, 0, 7, 0, 2, 2, 1];
        assert_eq!(parse_repair(&listed, false, 0), Err(Malformed::Form("members")));
        // Members with explicit coefficients are always listed. The form *step* is refused.
        assert!(parse_repair(&buffer[..written], true, 70_100).is_err());
        // Count bytes outside of the allowed values, and member counts of 2 and 2000, are refused.
        for byte in [65, 127, 128, 145, 255] {
            let mut wrong = buffer;
            wrong[3] = byte;
            assert!(parse_repair(&wrong[..written], false, 70_100).is_err(), "{byte}");
        }
        for count in [[2, 0], [0xd0, 0x0f]] {
            let mut wrong = buffer;
            wrong[6..8].copy_from_slice(&count);
            assert!(parse_repair(&wrong[..written], false, 70_100).is_err(), "{count:?}");
        }
    }
}
