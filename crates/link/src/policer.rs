//! A token bucket that refuses packets above its rate and burst.

use crate::config::Policer;
use ripstop_base::Time;

/// Bit-nanoseconds (bits times 10^9) per byte. In this unit the bucket fills exactly at any rate.
const PER_BYTE: u128 = 8_000_000_000;

/// How full the bucket is. It starts full.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    /// Tokens taken out and not filled in again, in bit-nanoseconds.
    missing: u128,
    filled_at: Time,
}

impl Bucket {
    /// Whether the bucket holds enough tokens for a packet of `bytes` at `now`. If so, takes them.
    pub(crate) fn admits(&mut self, policer: &Policer, now: Time, bytes: usize) -> bool {
        let elapsed = now.since(self.filled_at).as_nanos();
        self.filled_at = self.filled_at.max(now);
        self.missing = self.missing.saturating_sub(elapsed * u128::from(policer.rate.bps()));
        let depth = u128::from(policer.burst.get()) * PER_BYTE;
        let after = self.missing.saturating_add(bytes as u128 * PER_BYTE);
        let admitted = after <= depth;
        if admitted {
            self.missing = after;
        }
        admitted
    }
}
