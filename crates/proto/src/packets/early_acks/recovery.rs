//! What the remote TCP of a connection owes, and when the stored segments are sent again.

use ripstop_base::Time;
use std::time::Duration;

/// Number of duplicate acknowledgements after which a segment counts as lost (RFC 5681, section 3.2). The tunnel
/// delivers in order, so duplicates mean that a segment was lost behind the peer. With half the value, reordering behind
/// the peer causes needless repetitions. With double the value, losses wait for [`LEAST_WAIT`] more often.
const DUPLICATES: u32 = 3;
/// Shortest wait for an acknowledgement of the remote TCP before a segment is sent again (RFC 6298, section 2.4). Half
/// the value repeats segments that the tunnel still repairs. Double the value waits longer for segments that were lost
/// behind the peer.
const LEAST_WAIT: Duration = Duration::from_secs(1);
/// The wait doubles with each repetition, up to this factor. Half the value sends more repetitions into a path that
/// carries none. Double the value waits up to 16 s after such a time.
const MOST_BACK_OFF: u32 = 8;
/// After this time without progress, a connection with data that was acknowledged early is reset. RFC 9293 (section
/// 3.8.3) asks TCP for at least 100 s. Half the value ends connections in outages that a TCP survives. With double the
/// value, the local TCP learns of the failure later.
pub(super) const GIVE_UP: Duration = Duration::from_secs(100);

/// The acknowledgement that the remote TCP owes, and what is sent again because it does not come.
#[derive(Debug)]
pub(super) struct Recovery {
    duplicates: u32,
    back_off: u32,
    /// Since when the remote TCP owes an acknowledgement; None: the local TCP was told nothing that the remote TCP has not
    /// acknowledged.
    owed_since: Option<Time>,
    retry_at: Time,
    /// What has still to be sent again: from the first offset to the second.
    range: Option<(u64, u64)>,
}

impl Default for Recovery {
    fn default() -> Recovery {
        Recovery { duplicates: 0, back_off: 1, owed_since: None, retry_at: Time::ZERO, range: None }
    }
}

impl Recovery {
    /// Whether the remote TCP owes an acknowledgement.
    pub(super) fn is_owed(&self) -> bool {
        self.owed_since.is_some()
    }

    /// Notes that the local TCP was told more than the remote TCP has acknowledged.
    pub(super) fn owe(&mut self, now: Time, wait: Duration) {
        if self.owed_since.is_none() {
            self.owed_since = Some(now);
            self.retry_at = now + wait.max(LEAST_WAIT);
        }
    }

    /// Notes progress of the remote TCP, which owes a further acknowledgement if `is_owed`.
    pub(super) fn progress(&mut self, now: Time, wait: Duration, is_owed: bool) {
        (self.duplicates, self.back_off) = (0, 1);
        self.owed_since = is_owed.then_some(now);
        self.retry_at = now + wait.max(LEAST_WAIT);
    }

    /// Counts a duplicate acknowledgement of the remote TCP.
    pub(super) fn duplicate(&mut self) {
        self.duplicates = self.duplicates.saturating_add(1);
    }

    /// Begins if a segment is lost: after duplicates, or because the time is up. `all` is what may be sent again. Returns
    /// whether it has begun.
    pub(super) fn begin_if_lost(&mut self, now: Time, wait: Duration, all: Option<(u64, u64)>) -> bool {
        let (lost, late) = (self.duplicates >= DUPLICATES && self.range.is_none(), self.retry_at <= now);
        if !self.is_owed() || !(lost || late) {
            return false;
        }
        self.range = all;
        self.duplicates = 0;
        self.wait_again(now, wait, late);
        true
    }

    /// Ends, because everything is sent again at once.
    pub(super) fn begin_anew(&mut self, now: Time, wait: Duration) {
        if self.is_owed() {
            self.wait_again(now, wait, false);
        }
        self.range = None;
    }

    /// What has still to be sent again, if its end is after `acked`.
    pub(super) fn after(&mut self, acked: u64) -> Option<(u64, u64)> {
        self.range = self.range.filter(|(_, until)| *until > acked);
        self.range
    }

    /// What has still to be sent again.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        self.range
    }

    /// Sets what has still to be sent again.
    pub(super) fn set_range(&mut self, range: (u64, u64)) {
        self.range = Some(range);
    }

    /// Ends, because the connection was reset.
    pub(super) fn end(&mut self) {
        (self.owed_since, self.range) = (None, None);
    }

    /// Whether the remote TCP has made no progress for too long.
    pub(super) fn has_failed(&self, now: Time) -> bool {
        self.owed_since.is_some_and(|since| now.since(since) >= GIVE_UP)
    }

    fn wait_again(&mut self, now: Time, wait: Duration, longer: bool) {
        if longer {
            self.back_off = (2 * self.back_off).min(MOST_BACK_OFF);
        }
        self.retry_at = now + wait.max(LEAST_WAIT) * self.back_off;
    }
}
