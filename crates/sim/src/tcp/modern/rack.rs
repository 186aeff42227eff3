//! RACK (RFC 8985, section 6): a packet is lost when one that left sufficiently later has arrived.

use super::scoreboard::Scoreboard;
use ripstop_base::Time;
use std::time::Duration;

/// Packets beyond a hole that prove it a loss, as long as the path was not seen to reorder.
const DUP_THRESHOLD: u64 = 3;
/// The reordering window is a quarter of the least round-trip time, times so much at most.
const MAX_STEPS: u32 = 255;
/// Recoveries after which the reordering window falls back to one step.
const PERSIST: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// Of the packets that arrived, the one that left last: its order and when it left.
    newest: Option<(u64, Time)>,
    rtt: Duration,
    /// The same of those that were sent once only.
    certain: (Option<(u64, Time)>, Duration),
    /// Whether `newest` moved since losses were looked for.
    pub(super) advanced: bool,
    /// Whether a packet was ever overtaken.
    pub(super) reordering: bool,
    steps: u32,
    persist: u32,
    /// A needless retransmission was reported.
    needless: bool,
    /// What had been delivered when `steps` rose last: once a round trip.
    widened_at: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            newest: None,
            rtt: Duration::ZERO,
            certain: (None, Duration::ZERO),
            advanced: false,
            reordering: false,
            steps: 1,
            persist: 0,
            needless: false,
            widened_at: 0,
        }
    }
}

impl Rack {
    /// A packet has arrived. One sent again that comes back sooner than the path allows answers its first sending.
    pub(super) fn on_delivered(
        &mut self,
        now: Time,
        (order, sent): (u64, Time),
        ambiguous: bool,
        min_rtt: Option<Duration>,
    ) {
        let rtt = now.since(sent);
        if self.newest.is_some_and(|(newest, _)| order <= newest)
            || ambiguous && min_rtt.is_some_and(|min| rtt < min)
        {
            return;
        }
        self.newest = Some((order, sent));
        self.rtt = rtt;
        self.advanced = true;
        if !ambiguous {
            self.certain = (self.newest, rtt);
        }
    }

    /// A time-out was needless: what seemed to be the arrival of its retransmissions was that of the originals.
    pub(super) fn undo(&mut self) {
        (self.newest, self.rtt) = self.certain;
    }

    /// The receiver had a packet twice.
    pub(super) fn on_duplicate(&mut self) {
        self.needless = true;
    }

    /// Once an acknowledgement: widens the reordering window where retransmissions were needless.
    pub(super) fn adapt(&mut self, prior_delivered: u64, delivered: u64) {
        if self.needless && prior_delivered >= self.widened_at {
            self.needless = false;
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.persist = PERSIST;
            self.widened_at = delivered;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    pub(super) fn end_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Marks what is lost. Answers how many of them there are, how many of these had been sent again already, and when to look
    /// again for those that may only be late.
    pub(super) fn detect(&mut self, now: Time, board: &mut Scoreboard, window: Duration) -> Detected {
        self.advanced = false;
        let mut detected = Detected::default();
        let Some((newest, newest_sent)) = self.newest else { return detected };
        while let Some((number, packet)) = board.oldest_on_path() {
            if packet.order >= newest {
                break;
            }
            if packet.sent + self.rtt + window > now {
                // The last of those that left before the newest is due then: one timer for all.
                detected.recheck_at = Some(newest_sent + self.rtt + window);
                break;
            }
            board.mark_lost(number);
            detected.lost += 1;
            detected.again += u64::from(packet.ambiguous);
        }
        detected
    }

    /// How much later than usual a packet may come before it is lost (RFC 8985, section 6.2, step 4).
    pub(super) fn window(
        &self,
        board: &Scoreboard,
        recovering: bool,
        min_rtt: Option<Duration>,
        srtt: Option<Duration>,
    ) -> Duration {
        if !self.reordering && (recovering || board.sacked() >= DUP_THRESHOLD) {
            return Duration::ZERO;
        }
        let wide = min_rtt.unwrap_or_default() / 4 * self.steps;
        wide.min(srtt.unwrap_or_default())
    }

    /// Whether a packet that left at `sent` may only be late, at a time-out.
    pub(super) fn may_be_late(&self, now: Time, sent: Time) -> bool {
        sent + self.rtt > now
    }
}

/// What [`Rack::detect`] found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Detected {
    pub(super) lost: u64,
    pub(super) again: u64,
    pub(super) recheck_at: Option<Time>,
}
