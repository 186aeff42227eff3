//! The bytes of block repairs.

use super::bytes::{EmitError, Malformed, Reader, Writer, expand};
use super::packet::Packet;
use super::repair::{ID_BITS, low_id};
use ripstop_codes::Symbol;
use ripstop_codes::block::BlockCode;
use ripstop_codes::window::{Coding, Members};

/// The largest K: source symbols in a block. Computing the coefficients of a repair takes K x (its number + 1) steps, so
/// the limits bound this work to that of a few full packets. Half the value would refuse blocks that help on bursty
/// paths. Double the value quadruples the work that a hostile packet can cause.
pub const MAX_BLOCK_SOURCES: u8 = 64;
/// The largest number of repairs of a block. See [`MAX_BLOCK_SOURCES`] for half and double the value.
pub const MAX_BLOCK_REPAIRS: u8 = 64;
/// The length of the fields of a block repair, bytes.
pub(super) const BLOCK_FIELDS: usize = 5;

/// The members and the coefficients of a block repair: repair `number` of the block code with K = `k`
/// ([`BlockCode`]), whose source symbols are `first` and the following ones. None: outside the limits.
pub fn block_coding(first: u64, k: u8, number: u8) -> Option<(Members, Coding)> {
    if !(1..=MAX_BLOCK_SOURCES).contains(&k) || number >= MAX_BLOCK_REPAIRS {
        return None;
    }
    let index = usize::from(k) + usize::from(number);
    let code = BlockCode::new(index + 1, usize::from(k)).ok()?;
    let coefficients = code.coefficients(index)?.to_vec();
    Some((Members::range(first..first.checked_add(u64::from(k))?), Coding::Explicit(coefficients)))
}

pub(super) fn emit_block_repair(
    buffer: &mut [u8],
    first: u64,
    k: u8,
    number: u8,
    combination: &[u8],
) -> Result<usize, EmitError> {
    if !(1..=MAX_BLOCK_SOURCES).contains(&k) || number >= MAX_BLOCK_REPAIRS || combination.is_empty() {
        return Err(EmitError::Value("block"));
    }
    let mut w = Writer::new(buffer, BLOCK_FIELDS + combination.len())?;
    w.uint::<3>(low_id(first, 0));
    w.uint::<1>(u64::from(k));
    w.uint::<1>(u64::from(number));
    w.bytes(combination);
    Ok(w.finish())
}

pub(super) fn parse_block_repair(body: &[u8], id_near: u64) -> Result<Packet<Symbol>, Malformed> {
    let mut r = Reader::new(body);
    let word = r.uint::<3>("first")?;
    if word & 15 != 0 {
        return Err(Malformed::Form("first"));
    }
    let first = expand(word >> 4, ID_BITS, id_near);
    let [k, number] = r.array("block")?;
    if !(1..=MAX_BLOCK_SOURCES).contains(&k) {
        return Err(Malformed::Value("k"));
    }
    if number >= MAX_BLOCK_REPAIRS {
        return Err(Malformed::Value("number"));
    }
    let payload = r.rest();
    if payload.is_empty() {
        return Err(Malformed::Short("combination"));
    }
    Ok(Packet::BlockRepair { first, k, number, payload: Symbol::from_slice(payload) })
}
