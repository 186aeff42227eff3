//! Whether proactive repairs are useful.

use ripstop_base::Time;
use std::time::Duration;

/// Judges whether proactive repairs recover anything, and suspends proactive repair if they do not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usefulness {
    /// Number of proactive repairs for bulk flows that were received.
    pub received: u64,
    /// `received` at the last judgement.
    received_then: u64,
    /// The receiver's count of redundant repairs at the last judgement.
    redundant_then: u64,
    /// Whether proactive repair is suspended.
    pub suspended: bool,
    /// When the last judgement was made, or the last suspension ended.
    since: Time,
}

impl Usefulness {
    /// Minimum sample before proactive repair is judged: 400 repairs received.
    ///
    /// Repairs are judged useless if at least 99.5 % of the sample were redundant. Half the value
    /// suspends useful repairs more often by chance. Double the value sends useless repairs for
    /// longer.
    const SAMPLE: u64 = 400;
    /// Minimum time before proactive repair is judged, 1 s.
    ///
    /// On a fast path, 400 repairs may be sent between two runs of losses. Half the value suspends
    /// proactive repair too soon on such a path. Double the value sends useless repairs for longer.
    const SAMPLE_TIME: Duration = Duration::from_secs(1);
    /// How long proactive repair stays suspended, 5 s. The first report after this time ends the
    /// suspension.
    ///
    /// Half the value tests twice as often whether proactive repair is useful again. Double the
    /// value leaves a path without proactive repairs for longer after its losses have changed.
    const SUSPENSION: Duration = Duration::from_secs(5);

    /// Takes the receiver's count of redundant repairs. Returns true if proactive repair is
    /// suspended as a result.
    pub fn judge(&mut self, now: Time, redundant: u64) -> bool {
        if self.suspended {
            if now.since(self.since) >= Self::SUSPENSION {
                *self = Usefulness {
                    received: self.received,
                    received_then: self.received,
                    redundant_then: redundant,
                    suspended: false,
                    since: now,
                };
            }
            return false;
        }
        let received = self.received - self.received_then;
        if received < Self::SAMPLE || now.since(self.since) < Self::SAMPLE_TIME {
            return false;
        }
        let useless = redundant.saturating_sub(self.redundant_then) as f64;
        self.received_then = self.received;
        self.redundant_then = redundant;
        self.suspended = useless >= 0.995 * received as f64;
        self.since = now;
        self.suspended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_that_recover_nothing_are_suspended_for_a_while() {
        let seconds = |s: u64| Time::from_millis(1_000 * s);
        let mut useful = Usefulness::default();
        useful.received += Usefulness::SAMPLE;
        assert!(!useful.judge(seconds(1), Usefulness::SAMPLE - 10) && !useful.suspended);
        useful.received += Usefulness::SAMPLE;
        assert!(useful.judge(seconds(2), 2 * Usefulness::SAMPLE - 10) && useful.suspended);
        assert!(!useful.judge(seconds(6), 2 * Usefulness::SAMPLE) && useful.suspended);
        assert!(!useful.judge(seconds(7), 2 * Usefulness::SAMPLE) && !useful.suspended);
    }
}
