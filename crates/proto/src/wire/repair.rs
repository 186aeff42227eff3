//! The bodies that carry symbols: a source packet, and a repair.

use super::bytes::{EmitError, Malformed, Reader, Writer, expand, varint_len};
use super::packet::{Gap, Packet};
use ripstop_codes::Symbol;
use ripstop_codes::window::{Coding, MAX_SINGLES, Members};

/// Bytes in front of the inner packet in a source body.
pub const SOURCE_FIELDS: usize = 3;
/// Source symbols may be outstanding only so far apart that 20 bits tell them apart.
pub const MAX_OUTSTANDING: u64 = (1 << 19) - 1;
/// Most members of a repair whose coefficients are written out.
pub const MAX_EXPLICIT: usize = 64;

/// Low bits of a source symbol's number on the wire.
pub(crate) const ID_BITS: u32 = 20;

/// Writes a source body, `SOURCE_FIELDS` bytes and the inner packet, and returns its length.
///
/// This is the per-packet path: it allocates nothing, and writes each byte once.
#[inline]
pub fn emit_source(buffer: &mut [u8], id: u64, gap: Gap, inner: &[u8]) -> Result<usize, EmitError> {
    let mut w = Writer::new(buffer, SOURCE_FIELDS + inner.len())?;
    w.uint::<3>(low_id(id, gap.nibble()));
    w.bytes(inner);
    Ok(w.finish())
}

/// Writes the fields of a repair and its combination, and returns the body's length.
pub fn emit_repair(
    buffer: &mut [u8],
    members: &Members,
    coding: &Coding,
    combination: &[u8],
) -> Result<usize, EmitError> {
    let anchor = members.first().ok_or(EmitError::Value("members"))?;
    let span = members.last().map_or(0, |last| last - anchor);
    // A session of the simulator combines without limit ([`Members::unlimited`]); a datagram cannot say that.
    if span > MAX_OUTSTANDING || members.singles().len() > MAX_SINGLES {
        return Err(EmitError::Value("members"));
    }
    let mut w = Writer::new(buffer, repair_fields(members, coding) + combination.len())?;
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

/// Bytes that the fields of a repair take in front of its combination. A sender that wants every
/// repair to fit the path chooses members so that this is at most [`super::REPAIR_FIELDS`].
pub fn repair_fields(members: &Members, coding: &Coding) -> usize {
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

pub(crate) fn parse_source(body: &[u8], id_near: u64) -> Result<Packet<Symbol>, Malformed> {
    let mut r = Reader::new(body);
    let word = r.uint::<3>("id")?;
    let id = expand(word >> 4, ID_BITS, id_near);
    let gap = Gap::from_nibble(word as u8);
    let inner = r.rest();
    if inner.is_empty() {
        return Err(Malformed::Short("inner packet"));
    }
    Ok(Packet::Source { id, gap, payload: Symbol::from_parts(&[&[gap.nibble()], inner]) })
}

pub(crate) fn parse_repair(body: &[u8], explicit: bool, id_near: u64) -> Result<Packet<Symbol>, Malformed> {
    let mut r = Reader::new(body);
    let word = r.uint::<3>("anchor")?;
    let anchor = expand(word >> 4, ID_BITS, id_near);
    let mut count = (word & 15) as usize;
    if count == 15 {
        count = r.uint::<1>("count")? as usize;
        if !(15..=MAX_SINGLES).contains(&count) {
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
    let tail_end = tail_start.checked_add(tail_len).ok_or(Malformed::Value("tail"))?;
    let members = Members::new(singles, tail_start..tail_end).ok_or(Malformed::Value("members"))?;
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

/// The low bits of an identifier in the upper 20 bits of three bytes, `nibble` in the lower four.
#[inline]
pub(crate) fn low_id(id: u64, nibble: u8) -> u64 {
    (id & 0xfffff) << 4 | u64::from(nibble & 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_parser_would_take_is_not_written() {
        let every_other = |n: u64| Members::unlimited(&(0..n).map(|k| 2 * k).collect::<Vec<_>>()).unwrap();
        let mut buffer = [0; 256];
        for (members, fits) in [(every_other(64), true), (every_other(66), false)] {
            let written = emit_repair(&mut buffer, &members, &Coding::Seed(7), &[1, 2, 3]);
            assert_eq!(written.is_ok(), fits, "{} singles", members.singles().len());
        }
    }
}
