//! How long the way in may wait for what the way out holds back.

use ripstop_base::Time;
use std::time::Duration;

/// How much longer than the round-trip time the oldest symbol outstanding has waited for its recovery, at worst, of late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecoveryWait {
    worst: f64,
    last: Time,
}

impl RecoveryWait {
    /// What was seen is forgotten with this time constant, s.
    const TIME_CONSTANT: f64 = 4.0;

    pub(super) fn offer(&mut self, now: Time, held: Duration) {
        let keep = (-now.since(self.last).as_secs_f64() / RecoveryWait::TIME_CONSTANT).exp();
        self.last = now;
        self.worst = (keep * self.worst).max(held.as_secs_f64());
    }

    /// Not without end: what waits for two round trips is no sign of how the path is.
    pub(super) fn get(&self, srtt: Duration) -> Duration {
        Duration::from_secs_f64(self.worst).min(2 * srtt)
    }
}
