//! What the reports prove: whether a sample shows the path's rate, whether losses are random, and whether a round was
//! disturbed by the sender's own probe.

use super::Fair;
use super::rounds::Round;
use crate::control::rate::RateSample;
use crate::control::rate::tuning::EvidenceTuning;

impl Fair {
    /// Whether the disturbance of the start-up is over.
    pub(super) fn has_settled(&self) -> bool {
        self.rounds.count as f64 >= self.started_up_round as f64 + self.tuning.start.settle_rounds
    }

    /// Whether no probe of this sender disturbed `round`.
    pub(super) fn is_calm(&self, round: &Round) -> bool {
        let since = round.began.since(self.disturbed).as_secs_f64();
        since > self.tuning.evidence.disturbed_for * self.path.srtt + self.path.report_every
    }

    /// Whether a sample shows the path's rate although the sender had little to send: more was sent than arrived, and
    /// the rest waits in a long queue or was dropped there.
    pub(super) fn path_limits(&self, rate: &RateSample) -> bool {
        self.path.is_long(self.path.queue.delay(), &self.tuning)
            && self.share(rate) < self.tuning.evidence.overloaded * rate.sent
    }

    /// Whether the path has shown that it has no random loss.
    pub(super) fn is_lossless(&self) -> bool {
        let EvidenceTuning { lossless, lossless_rounds, .. } = self.tuning.evidence;
        self.rounds.count as f64 >= self.started_up_round as f64 + lossless_rounds
            && self.path.erasure.get() < lossless
            && self.path.losses.share < 2.0 * lossless
    }

    /// Whether the present losses are the path's own although the queue is not short: the queue is far from full, and
    /// more packets are lost than an AQM drops. Jitter makes such a queue.
    pub(super) fn loses_at_random(&self) -> bool {
        let EvidenceTuning { half_full, most_jitter, more_than_aqm, .. } = self.tuning.evidence;
        let path = &self.path;
        path.queue.delay() <= half_full * path.longest_queue()
            && path.longest_queue() <= most_jitter * path.min_rtt
            && path.losses.share >= more_than_aqm
            && path.loss_mean >= 0.75 * more_than_aqm
    }
}
