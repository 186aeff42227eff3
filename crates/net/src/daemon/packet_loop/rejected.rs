//! Warnings about rejected datagrams.

use super::PacketLoop;
use ripstop_base::Time;
use ripstop_proto::secure::Rejected;
use std::time::Duration;

/// Time between two warnings about rejected datagrams. The pause keeps an attacker from filling the
/// log. The figures in `status` do not depend on the pause.
const REJECTED_LOG_INTERVAL: Duration = Duration::from_secs(30);

impl PacketLoop {
    /// Logs that datagrams were rejected for an alarming reason, at most once per
    /// [`REJECTED_LOG_INTERVAL`].
    pub(super) fn warn_of_rejected(&mut self, now: Time) {
        if now.since(self.rejected.1) >= REJECTED_LOG_INTERVAL {
            let rejected = alarming(&self.endpoint.secure_counters().rejected) + self.udp.from_port_zero();
            if rejected > self.rejected.0 {
                tracing::warn!(
                    datagrams = rejected - self.rejected.0,
                    "datagrams were rejected; `ripstop status --json` counts them by reason"
                );
            }
            self.rejected = (rejected, now);
        }
    }
}

/// How many datagrams were rejected for a reason that an operator should know. Datagrams of former
/// sessions, copies and late answers are normal after a restart, and on paths that duplicate.
fn alarming(rejected: &[u64; Rejected::NAMES.len()]) -> u64 {
    const NORMAL: [&str; 6] = ["no_session", "replayed", "too_old", "expired", "handshake_replayed", "unsolicited"];
    let named = Rejected::NAMES.iter().zip(rejected);
    named.filter(|(name, _)| !NORMAL.contains(name)).map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_restart_raises_no_alarm() {
        let of = |reason: Rejected| {
            let mut rejected = [0; Rejected::NAMES.len()];
            rejected[reason.index()] = 3;
            alarming(&rejected)
        };
        let normal = [Rejected::NoSession, Rejected::Replayed(1), Rejected::Expired, Rejected::Unsolicited];
        assert_eq!(normal.map(of), [0; 4]);
        assert_eq!([Rejected::Forged, Rejected::Mac1, Rejected::CookieDemanded].map(of), [3; 3]);
    }
}
