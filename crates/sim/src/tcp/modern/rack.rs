//! Loss detection by time (RACK, RFC 8985, section 6). A packet is marked lost when another packet, which was sent
//! sufficiently later, has arrived. The reordering window says how much later.

use super::scoreboard::Scoreboard;
use ripstop_base::Time;
use std::time::Duration;

/// Until reordering is seen for the first time, a gap counts as lost when this number of packets beyond the gap have
/// arrived (RFC 8985, DupThresh).
const DUP_THRESHOLD: u64 = 3;
/// The greatest reordering window in steps. A step is a quarter of the least round-trip time.
const MAX_STEPS: u32 = 255;
/// The number of recoveries after which the reordering window returns to one step (RFC 8985, section 6.2).
const PERSIST: u32 = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Rack {
    /// The packet that was sent last, among the packets that arrived: its order of sending, and its time of sending.
    newest: Option<(u64, Time)>,
    /// The round-trip time of `newest`.
    rtt: Duration,
    /// Like `newest` and `rtt`, but without packets that were sent more than once.
    certain: (Option<(u64, Time)>, Duration),
    /// Whether `newest` has changed since the last detection of losses.
    pub(super) advanced: bool,
    /// Whether reordering was ever seen.
    pub(super) reordering: bool,
    /// Steps of the reordering window beyond the first.
    extra_steps: u32,
    /// Recoveries left until the reordering window returns to one step.
    persist: u32,
    /// Whether an unnecessary retransmission was reported that has not widened the window yet.
    needless: bool,
    /// Packets delivered when `extra_steps` last rose. `extra_steps` rises at most once per round trip.
    widened_at: u64,
}

impl Rack {
    /// Records an arrival. A retransmission that seems to be acknowledged sooner than `min_rtt` is ignored: the
    /// acknowledgement answers the original packet.
    pub(super) fn on_delivered(
        &mut self,
        now: Time,
        (order, sent): (u64, Time),
        ambiguous: bool,
        min_rtt: Option<Duration>,
    ) {
        let rtt = now.since(sent);
        if self.newest.is_some_and(|(newest, _)| order <= newest) || ambiguous && min_rtt.is_some_and(|min| rtt < min) {
            return;
        }
        self.newest = Some((order, sent));
        self.rtt = rtt;
        self.advanced = true;
        if !ambiguous {
            self.certain = (self.newest, rtt);
        }
    }

    /// Handles a spurious time-out. The packets that arrived were the originals, not the retransmissions. `newest` and
    /// `rtt` therefore return to the values for packets that were sent only once.
    pub(super) fn undo(&mut self) {
        (self.newest, self.rtt) = self.certain;
    }

    /// The receiver reported a packet as received twice.
    pub(super) fn on_duplicate(&mut self) {
        self.needless = true;
    }

    /// Widens the reordering window after unnecessary retransmissions. Called once per acknowledgement.
    pub(super) fn adapt(&mut self, prior_delivered: u64, delivered: u64) {
        if self.needless && prior_delivered >= self.widened_at {
            self.needless = false;
            self.extra_steps = (self.extra_steps + 1).min(MAX_STEPS - 1);
            self.persist = PERSIST;
            self.widened_at = delivered;
        } else if self.persist == 0 {
            self.extra_steps = 0;
        }
    }

    pub(super) fn end_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Marks the lost packets, and says when to look again at packets that may be late instead of lost.
    pub(super) fn detect(&mut self, now: Time, board: &mut Scoreboard, window: Duration) -> Detected {
        self.advanced = false;
        let mut detected = Detected::default();
        let Some((newest, newest_sent)) = self.newest else { return detected };
        while let Some((number, packet)) = board.oldest_on_path() {
            if packet.order >= newest {
                break;
            }
            if packet.sent + self.rtt + window > now {
                // One timer serves all packets sent before the newest. When this timer expires, even the last of these
                // packets counts as lost.
                detected.recheck_at = Some(newest_sent + self.rtt + window);
                break;
            }
            board.mark_lost(number);
            detected.lost += 1;
            detected.again += u64::from(packet.ambiguous);
        }
        detected
    }

    /// The reordering window: how late a packet may be before it counts as lost (RFC 8985, section 6.2, step 4). The
    /// window is at most the smoothed round-trip time. Until reordering is seen for the first time, the window is 0 in
    /// a recovery. It is also 0 after [`DUP_THRESHOLD`] packets have arrived beyond gaps.
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
        let wide = min_rtt.unwrap_or_default() / 4 * (self.extra_steps + 1);
        wide.min(srtt.unwrap_or_default())
    }

    /// Whether, at a time-out, a packet sent at `sent` may still arrive: it has waited for less than `rtt`.
    pub(super) fn may_be_late(&self, now: Time, sent: Time) -> bool {
        sent + self.rtt > now
    }
}

/// The result of [`Rack::detect`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Detected {
    /// Packets marked lost.
    pub(super) lost: u64,
    /// How many of the `lost` packets had been retransmitted before.
    pub(super) again: u64,
    /// When to look again; None if no packet may be late.
    pub(super) recheck_at: Option<Time>,
}
