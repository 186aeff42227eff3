//! Readers and writers for the fields of packets: big-endian numbers, varints, truncated numbers.
//!
//! - A *varint* is a number in LEB128: seven bits per byte, low bits first. The high bit of a byte
//!   says that another byte follows.
//! - A *truncated number* is a number that is written without its upper bits. [`expand`] restores
//!   the upper bits.
//!
//! The reader never panics and never reads past the end of the bytes.

use thiserror::Error;

/// Why received bytes are not a packet of this protocol. The error names the field, so that a log
/// line shows what the peer did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// The bytes end inside this field.
    #[error("the packet ends within `{0}`")]
    Short(&'static str),
    /// A field holds a value that the format does not allow.
    #[error("`{0}` holds a value that the format does not allow")]
    Value(&'static str),
    /// A field is not in its only allowed form. Examples are a varint with more bytes than
    /// necessary, an unused bit that is not zero, and a set in the longer of its two forms.
    #[error("`{0}` is not in its canonical form")]
    Form(&'static str),
    /// Bytes follow the last field.
    #[error("{0} bytes follow the last field")]
    Trailing(usize),
    /// The protocol has no packet type with this type byte.
    #[error("unknown packet type {0:#04x}")]
    Type(u8),
}

/// Why a typed packet cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EmitError {
    /// The buffer is shorter than the packet.
    #[error("the packet needs {needed} bytes; the buffer has only {room}")]
    Room {
        /// The length of the packet, bytes.
        needed: usize,
        /// The length of the buffer, bytes.
        room: usize,
    },
    /// The packet is longer than the format allows.
    #[error("the packet has {needed} bytes; the format allows at most {most}")]
    TooLong {
        /// The length of the packet, bytes.
        needed: usize,
        /// The largest length that the format allows, bytes.
        most: usize,
    },
    /// A field holds a value that the format cannot carry.
    #[error("`{0}` holds a value that the format cannot carry")]
    Value(&'static str),
}

/// Takes fields off the front of received bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// The next `n` bytes.
    pub(crate) fn take(&mut self, n: usize, field: &'static str) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(Malformed::Short(field))?;
        self.rest = tail;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Malformed::Short(field))?;
        self.rest = tail;
        Ok(*head)
    }

    /// An unsigned big-endian number of `N` bytes. `N` is at most 8.
    pub(crate) fn uint<const N: usize>(&mut self, field: &'static str) -> Result<u64, Malformed> {
        let bytes = self.array::<N>(field)?;
        Ok(bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    /// A varint below 2^32, in its shortest form.
    pub(crate) fn varint(&mut self, field: &'static str) -> Result<u32, Malformed> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array::<1>(field)?;
            let low = u32::from(byte & 0x7f);
            if shift == 28 && low > 0xf {
                return Err(Malformed::Value(field));
            }
            value |= low << shift;
            if byte < 0x80 {
                // A last byte of zero makes the varint longer than necessary.
                return if byte == 0 && shift > 0 { Err(Malformed::Form(field)) } else { Ok(value) };
            }
        }
        Err(Malformed::Value(field))
    }

    /// A signed varint: the values 0, -1, 1, -2, ... are written as the varints 0, 1, 2, 3, ...
    pub(crate) fn zigzag(&mut self, field: &'static str) -> Result<i32, Malformed> {
        let n = self.varint(field)?;
        Ok((n >> 1) as i32 ^ -((n & 1) as i32))
    }

    /// The bytes that are left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// Ends parsing.
    ///
    /// # Errors
    /// Bytes are left.
    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed::Trailing(self.rest.len())) }
    }
}

/// Writes fields into a buffer. The caller computes the length of the packet first. If the buffer
/// is shorter, [`Writer::new`] returns an error before any byte is written.
pub(crate) struct Writer<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// A writer for exactly `needed` bytes.
    pub(crate) fn new(buffer: &'a mut [u8], needed: usize) -> Result<Writer<'a>, EmitError> {
        let room = buffer.len();
        let buffer = buffer.get_mut(..needed).ok_or(EmitError::Room { needed, room })?;
        Ok(Writer { buffer, at: 0 })
    }

    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.buffer[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    pub(crate) fn zeros(&mut self, n: usize) {
        self.buffer[self.at..self.at + n].fill(0);
        self.at += n;
    }

    /// The low `N` bytes of `value`, big-endian.
    #[inline]
    pub(crate) fn uint<const N: usize>(&mut self, value: u64) {
        self.bytes(&value.to_be_bytes()[8 - N..]);
    }

    pub(crate) fn varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.bytes(&[value as u8 | 0x80]);
            value >>= 7;
        }
        self.bytes(&[value as u8]);
    }

    pub(crate) fn zigzag(&mut self, value: i32) {
        self.varint(zigzag(value));
    }

    /// Returns how many bytes were written. This must be the length that the caller computed.
    pub(crate) fn finish(self) -> usize {
        debug_assert_eq!(self.at, self.buffer.len(), "the length computed for the packet is wrong");
        self.at
    }
}

/// The unsigned number that stands for `value` in a zigzag varint.
fn zigzag(value: i32) -> u32 {
    (value << 1 ^ value >> 31) as u32
}

/// The length of `value` as a varint: 1 to 5 bytes.
pub const fn varint_len(value: u32) -> usize {
    // The number of significant bits divided by 7, rounded up. Zero takes one byte.
    (32 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

pub(crate) fn zigzag_len(value: i32) -> usize {
    varint_len(zigzag(value))
}

/// Completes a truncated number. Of all numbers from 0 to 2^64 - 1 whose low `bits` bits are `low`,
/// returns the one nearest to `near`. Of two equally near numbers, returns the lower one.
///
/// `bits` must be below 64, and `low` below 2^bits.
pub(crate) fn expand(low: u64, bits: u32, near: u64) -> u64 {
    let span = 1u64 << bits;
    let ahead = low.wrapping_sub(near) & (span - 1);
    if ahead < span / 2 {
        near.checked_add(ahead).unwrap_or_else(|| near.wrapping_add(ahead).wrapping_sub(span))
    } else {
        let behind = span - ahead;
        near.checked_sub(behind).unwrap_or_else(|| near + ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn varints_have_one_form() {
        for (value, bytes) in [
            (0u32, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (16_383, &[0xff, 0x7f]),
            (16_384, &[0x80, 0x80, 1]),
            (u32::MAX, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        ] {
            let mut buffer = [0; 8];
            let mut w = Writer::new(&mut buffer, varint_len(value)).unwrap();
            w.varint(value);
            assert_eq!(w.finish(), bytes.len());
            assert_eq!(&buffer[..bytes.len()], bytes);
            assert_eq!(Reader::new(bytes).varint("x"), Ok(value));
        }
        assert_eq!(Reader::new(&[0x80, 0]).varint("x"), Err(Malformed::Form("x")));
        assert_eq!(Reader::new(&[0xff; 5]).varint("x"), Err(Malformed::Value("x")));
        assert_eq!(Reader::new(&[0x80, 0x80, 0x80, 0x80, 0x10]).varint("x"), Err(Malformed::Value("x")));
        assert_eq!(Reader::new(&[0x80]).varint("x"), Err(Malformed::Short("x")));
        assert_eq!(Reader::new(&[]).varint("x"), Err(Malformed::Short("x")));
    }

    #[test]
    fn expands_at_the_edges() {
        assert_eq!(expand(0xfffff, 20, 0), 0xfffff, "nothing lies below zero");
        assert_eq!(expand(0, 20, 0xfffff), 0x100000);
        assert_eq!(expand(5, 20, u64::MAX), u64::MAX - 0xfffff + 5, "nothing lies above the end");
        assert_eq!(expand(0x80000, 20, 0x100000), 0x80000, "of two equally near numbers, the lower is right");
        assert_eq!(expand(0xffff_ffff, 32, 1 << 32), 0xffff_ffff);
    }

    proptest! {
        #[test]
        fn signed_varints_come_back(value: i32) {
            let mut buffer = [0; 5];
            let mut w = Writer::new(&mut buffer, zigzag_len(value)).unwrap();
            w.zigzag(value);
            let n = w.finish();
            prop_assert_eq!(Reader::new(&buffer[..n]).zigzag("x"), Ok(value));
        }

        #[test]
        fn expands_whatever_is_near(number: u64, offset in -0x7ffffi64..0x80000) {
            if let Some(near) = number.checked_add_signed(offset) {
                prop_assert_eq!(expand(number & 0xfffff, 20, near), number);
            }
        }

        #[test]
        fn expansion_keeps_the_low_bits(low in 0u64..1 << 20, near: u64) {
            prop_assert_eq!(expand(low, 20, near) & 0xfffff, low);
        }
    }
}
