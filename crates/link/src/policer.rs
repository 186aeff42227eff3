//! A token bucket that refuses what exceeds it.

use crate::config::Policer;
use ripstop_base::Time;

/// Work is counted in bit-nanoseconds (bits times 10^9), so that filling is exact at any rate.
const PER_BYTE: u128 = 8_000_000_000;

/// The bucket's level. It starts full.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    /// What has been taken out and not yet filled in again, in bit-nanoseconds.
    missing: u128,
    filled_at: Time,
}

impl Bucket {
    /// Whether a packet of `bytes` finds enough tokens at `now`; takes them if so.
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
