//! A token bucket that refuses packets above its rate and burst.

use crate::config::Policer;
use ripstop_base::Time;

/// Nanobits (10^-9 bit) per byte. A rate in bit/s times a time in ns gives nanobits, so the bucket
/// is computed without rounding at any rate.
const PER_BYTE: u128 = 8_000_000_000;

/// The fill level of the bucket. The bucket starts full.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    /// How much the bucket lacks to be full, in nanobits.
    missing: u128,
    /// When the bucket was last brought up to date.
    filled_at: Time,
}

impl Bucket {
    /// Whether the bucket holds enough tokens for a packet of `bytes` bytes at `now`. If so,
    /// removes these tokens from the bucket.
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
