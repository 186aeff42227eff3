//! The hash from which coefficients and neighbours are drawn. It is part of the wire format and
//! never changes.

/// The increment of SplitMix64's counter: the golden ratio as a 64-bit fraction. It is part of the
/// wire format and never changes.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finaliser.
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
