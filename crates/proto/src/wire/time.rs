//! Durations on the wire: whole microseconds in 32 bits.

use std::time::Duration;

/// A duration as the wire carries it: rounded down to microseconds, and at most 2^32 - 1 us (71
/// minutes).
pub(crate) fn whole_micros(span: Duration) -> Duration {
    Duration::from_micros(u64::from(micros(span)))
}

/// The duration in whole microseconds, at most 2^32 - 1.
pub(super) fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}
