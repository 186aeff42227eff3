//! The Internet checksum.

/// The Internet checksum (RFC 1071) of `bytes`, which begins at the sum `start`.
pub(crate) fn checksum(start: u32, bytes: &[u8]) -> u16 {
    !fold(sum(start, bytes))
}

/// The sum of the 16-bit words of `bytes`, added to `start`. At most 64 kB fit without overflow.
pub(crate) fn sum(start: u32, bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    words.fold(start, |sum, word| sum + word)
}

/// The sum as a 16-bit number in ones' complement.
pub(super) fn fold(mut total: u32) -> u16 {
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// The checksum `old` after bytes that it covers have changed (RFC 1624, equation 3). The sums of these bytes are
/// `before` and `after`.
pub(crate) fn adjusted(old: u16, before: u32, after: u32) -> u16 {
    !fold(u32::from(!old) + u32::from(!fold(before)) + u32::from(fold(after)))
}
