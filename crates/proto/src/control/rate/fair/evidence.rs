//! What the reports prove: whether a sample shows the path's rate, whether losses are random, and whether a round was
//! disturbed by the sender's own probe.

use super::Fair;
use super::rounds::Round;
use crate::control::rate::RateSample;

/// A round counts as disturbed by a probe if it began earlier than this share of a smoothed round-trip time, plus a
/// report interval, after the probe's queue had drained.
///
/// The reports of the round may otherwise speak of packets of the probe. With half the value, losses of a probe cut
/// the rate on short paths. Double the value notices a queue of others a round later.
const DISTURBED_FOR: f64 = 0.3;
/// A long queue overflows or grows if it passes on less than this share of what was sent.
///
/// A step of the path's rate then shows even if the inner traffic limits the sending rate. Half the value misses a
/// step from 20 to 12 Mbit/s. Nearer to 1, a queue of others that grows lowers the rate of a flow that sends little.
const OVERLOADED: f64 = 0.8;
/// A path with a smaller share of losses has no random loss. Then a drop that no probe provoked shows others, even if the
/// queue is short, as CoDel keeps it.
///
/// With half the value, the drops of two flows behind CoDel hide this. Double the value takes random losses for drops:
/// with 1 % loss and jitter, CUBIC inside kept .62 of the rate.
const LOSSLESS: f64 = 0.002;
/// See [`LOSSLESS`]: the number of rounds after start-up that show it.
///
/// Half the value trusts paths whose first random losses have not come yet. Double the value yields less to a CUBIC
/// flow behind CoDel in the first seconds.
const LOSSLESS_ROUNDS: u64 = 30;
/// Losses in a queue of at most this share of the longest recent queue are no overflow of the queue.
///
/// With 20 ms of jitter and 5 % loss, one of five connections took its random losses for congestion without this rule,
/// and had .11 to .32 of the rate. Half the value learns no loss under jitter. Double the value takes the drops of a full
/// queue for random loss.
pub(super) const HALF_FULL: f64 = 0.5;
/// An AQM drops at most this share of the packets of a few flows.
///
/// With half the value, some drops of CoDel count as random loss, and the tunnel then has .86 of the goodput beside CUBIC
/// instead of .63. With double the value, paths with 1 % loss and jitter are slow.
pub(super) const MORE_THAN_AQM: f64 = 0.01;

/// A longer queue than this share of the round trip is no jitter.
///
/// Half the value learns no random loss under jitter of 50 ms on a path of 100 ms. Double the value takes the drops of an
/// AQM after slow start for random loss.
const MOST_JITTER: f64 = 0.5;

impl Fair {
    /// Whether the disturbance of the start-up is over.
    pub(super) fn has_settled(&self) -> bool {
        self.rounds.count as f64 >= self.started_up_round as f64 + self.tuning.settle_rounds
    }

    /// Whether no probe of this sender disturbed `round`.
    pub(super) fn is_calm(&self, round: &Round) -> bool {
        let since = round.began.since(self.disturbed).as_secs_f64();
        since > DISTURBED_FOR * self.path.srtt + self.path.report_every
    }

    /// Whether a sample shows the path's rate although the sender had little to send: more was sent than arrived, and
    /// the rest waits in a long queue or was dropped there.
    pub(super) fn path_limits(&self, rate: &RateSample) -> bool {
        self.path.is_long(self.path.queue.delay(), &self.tuning) && self.share(rate) < OVERLOADED * rate.sent
    }

    /// Whether the path has shown that it has no random loss.
    pub(super) fn is_lossless(&self) -> bool {
        self.rounds.count >= self.started_up_round + LOSSLESS_ROUNDS
            && self.path.erasure.get() < LOSSLESS
            && self.path.losses.share < 2.0 * LOSSLESS
    }

    /// Whether the present losses are the path's own although the queue is not short: the queue is far from full, and
    /// more packets are lost than an AQM drops. Jitter makes such a queue.
    pub(super) fn loses_at_random(&self) -> bool {
        let path = &self.path;
        path.queue.delay() <= HALF_FULL * path.longest_queue()
            && path.longest_queue() <= MOST_JITTER * path.min_rtt
            && path.losses.share >= MORE_THAN_AQM
            && path.loss_mean >= 0.75 * MORE_THAN_AQM
    }
}
