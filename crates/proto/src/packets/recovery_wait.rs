//! Estimates how long the receiver holds packets back while it waits for earlier packets.
//!
//! The ingress queue needs this estimate for CoDel's target and interval.

use ripstop_base::Time;
use std::time::Duration;

/// The longest recent time for which the oldest outstanding symbol has been outstanding, beyond the
/// round-trip time. At the receiver, all later packets of this symbol's flow wait for the symbol.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecoveryWait {
    /// The estimate at the time `last`, s. The estimate decays from one sample to the next.
    worst: f64,
    last: Time,
}

impl RecoveryWait {
    /// Time constant with which the estimate decays, s.
    ///
    /// Half the value lowers CoDel's target sooner after a long recovery. Double the value keeps
    /// CoDel's target high for longer.
    const TIME_CONSTANT: f64 = 4.0;

    /// Takes a sample: at `now` the oldest outstanding symbol has been outstanding for the
    /// round-trip time plus `held`.
    pub(crate) fn offer(&mut self, now: Time, held: Duration) {
        let keep = (-now.since(self.last).as_secs_f64() / RecoveryWait::TIME_CONSTANT).exp();
        self.last = now;
        self.worst = (keep * self.worst).max(held.as_secs_f64());
    }

    /// The estimate, at most two round trips. A longer wait says nothing about the usual state of
    /// the path.
    pub(crate) fn get(&self, srtt: Duration) -> Duration {
        Duration::from_secs_f64(self.worst).min(2 * srtt)
    }
}
