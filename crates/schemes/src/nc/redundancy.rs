//! Decides how many combinations the sender sends for each segment.
//!
//! *R* is the mean of this number. The losses of a group of packets are *masked* if enough packets
//! of the group arrive to decode all segments in the group. `mod.rs` explains *combination* and
//! *deficit*.

use super::NcAck;
use super::config::{BILLION, CombinationRate, Factor, MaskedLoss, Rounding};
use ripstop_base::{Stream, Time};
use ripstop_model::masking::unmasked_probability;
use ripstop_model::redundancy::{RedundancyRounding, redundancy};
use ripstop_proto::control::loss::LossEstimator;

/// [`rule`] chooses R so that the losses of a window are masked with this probability (paper 000,
/// section VI-B). A higher value gives a larger R.
const MASKED: f64 = 0.8;

/// With [`CombinationRate::Adaptive`], the probability that the losses of the packets in flight
/// stay unmasked is at most this value. The receiver reports unmasked losses, and later
/// combinations make up for these losses.
///
/// The effect was measured with 50 packets in flight and losses of 2 to 19 %. The mean decoding
/// delay was half as long as with [`rule`] at the same R. The 99th percentile was a fifth as long.
/// A value of 0.2 raised R by 3 %.
const UNMASKED_ADAPTING: f64 = 0.5;

/// Each time the fates of this number of further packets are known, [`CombinationRate::Rule`]
/// computes R again. With half the value, R follows a change of loss sooner, and the computations
/// cost twice as much time.
const RECOMPUTE_EVERY: u64 = 32;

/// The largest number of combinations that [`CombinationRate::Adaptive`] sends for one segment. The
/// limit bounds the burst after many losses. This limit matters only at a very high loss. At lower
/// loss, the limit 2 / (1 - p) in `adapt` is the smaller one: at 50 % loss it is 4.
const MOST_COMBINATIONS: u32 = 16;

/// The R of paper 000, section VI-B, for a window of `window` packets and a loss probability `p`.
///
/// [`ripstop_model::redundancy`] computes R. The number of packets (R times the window) and the
/// number of losses are rounded up to integers. With this rounding R is 1.03, 1.09 and 1.13 as in
/// the paper's Table I. The result is [`Factor::MAX`] if no R is enough, and 1 if `p` is NaN.
pub fn rule(p: f64, window: u32) -> Factor {
    if p.is_nan() {
        return Factor::ONE;
    }
    match redundancy(p.clamp(0.0, 1.0), window.max(1), MASKED, RedundancyRounding::Ceil) {
        Ok(r) => Factor::from_hundredths(((r - 1.0) * 100.0).round() as u32).min(Factor::MAX),
        Err(_) => Factor::MAX,
    }
}

/// Turns R into whole combinations. The fraction is carried over to the next segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Accumulator {
    /// NUM of paper 000: the fraction carried over, in billionths.
    num: u64,
}

impl Accumulator {
    /// Adds R to the fraction carried over, and returns the whole part of the sum.
    pub(super) fn take(&mut self, factor: Factor) -> u32 {
        self.num += factor.billionths();
        let whole = self.num / BILLION;
        self.num %= BILLION;
        whole as u32
    }
}

/// What the sender has sent so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// Packets sent.
    pub(super) packets: u64,
    /// One more than the highest segment in any packet.
    pub(super) segments: u64,
}

/// Decides how many combinations a segment gets, from the settings and the measured loss.
#[derive(Clone, Debug)]
pub(super) struct RedundancyController {
    redundancy: CombinationRate,
    /// The current R. [`CombinationRate::Adaptive`] does not use it.
    factor: Factor,
    accumulator: Accumulator,
    random: Stream,
    loss: LossEstimator,
    /// How many losses were passed to the estimator.
    lost: u64,
    /// The rule computes R again when the fates of this number of packets are known.
    recompute_at: u64,
    /// The newest acknowledgement.
    last: Option<NcAck>,
    /// What the sender had sent when TCP last retransmitted. TCP assumes that all of this is lost.
    written_off: Sent,
    /// Number of times that [`Rounding::CoinFlip`] added a combination.
    pub(super) flips_won: u64,
}

impl RedundancyController {
    pub(super) fn new(redundancy: CombinationRate, random: Stream) -> RedundancyController {
        let loss = LossEstimator::default();
        let factor = match redundancy {
            CombinationRate::Fixed { factor, .. } => factor,
            CombinationRate::Rule { window, loss: MaskedLoss::Given(p), .. } => rule(p.get(), window),
            CombinationRate::Rule { window, loss: MaskedLoss::Estimated, .. } => {
                rule(loss.proactive(Time::ZERO), window)
            }
            CombinationRate::Adaptive => Factor::ONE,
        };
        RedundancyController {
            redundancy,
            factor,
            accumulator: Accumulator::default(),
            random,
            loss,
            lost: 0,
            recompute_at: RECOMPUTE_EVERY,
            last: None,
            written_off: Sent::default(),
            flips_won: 0,
        }
    }

    /// The current R; None with [`CombinationRate::Adaptive`].
    pub(super) fn factor(&self) -> Option<Factor> {
        (self.redundancy != CombinationRate::Adaptive).then_some(self.factor)
    }

    /// How many combinations to send for a segment that TCP sends `now`. `sent` is what the layer
    /// has sent so far. `segments` is one more than TCP's highest segment.
    pub(super) fn due(&mut self, now: Time, sent: Sent, segments: u64, retransmission: bool) -> u32 {
        match self.redundancy {
            CombinationRate::Fixed { rounding, .. } => self.round(rounding),
            CombinationRate::Rule { window, loss, rounding } => {
                // The loss estimate falls to 0 after a time without loss, so the estimate is
                // compared with 0 at each segment.
                let (packets, _) = self.loss.totals();
                if loss == MaskedLoss::Estimated && (packets >= self.recompute_at || self.loss.proactive(now) == 0.0) {
                    self.recompute_at = packets + RECOMPUTE_EVERY;
                    self.factor = match self.loss.proactive(now) {
                        0.0 => Factor::ONE,
                        p => rule(p, window),
                    };
                }
                self.round(rounding)
            }
            CombinationRate::Adaptive => self.adapt(now, sent, segments, retransmission),
        }
    }

    /// Updates the loss estimate from an acknowledgement that has passed the sender's checks. A
    /// fixed R needs no loss estimate.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, ack: &NcAck) {
        if !matches!(self.redundancy, CombinationRate::Fixed { .. }) {
            self.estimate(now, ack);
        }
    }

    /// Updates the loss estimate from an acknowledgement.
    fn estimate(&mut self, now: Time, ack: &NcAck) {
        if self.last.is_some_and(|last| (ack.highest, ack.received) <= (last.highest, last.received)) {
            return;
        }
        let before = self.last.map_or(0, |last| last.highest + 1);
        let settled = (ack.highest + 1).saturating_sub(before);
        // The number of losses is a difference of totals. So if a packet that was counted as lost
        // arrives late, the next loss is not counted, and the total is right again.
        let missing = (ack.highest + 1).saturating_sub(ack.received);
        let lost = missing.saturating_sub(self.lost).min(settled);
        self.lost += lost;
        for packet in 0..settled {
            self.loss.settle(now, packet < lost);
        }
        self.last = Some(*ack);
    }

    /// The current R as a whole number of combinations for one segment.
    fn round(&mut self, rounding: Rounding) -> u32 {
        match rounding {
            Rounding::Accumulator => self.accumulator.take(self.factor),
            Rounding::CoinFlip => {
                let (whole, rest) = (self.factor.billionths() / BILLION, self.factor.billionths() % BILLION);
                let won = self.random.below(BILLION) < rest;
                self.flips_won += u64::from(won);
                whole as u32 + u32::from(won)
            }
        }
    }

    /// The number of combinations for one segment under [`CombinationRate::Adaptive`]. The result
    /// is the smallest number, at least 1, that suffices together with the packets in flight. A
    /// number suffices if the receiver can decode all segments with a probability of at least 1/2.
    /// The result is at most [`MOST_COMBINATIONS`], and at most 2 / (1 - p) rounded up. Here p is
    /// the estimated loss; a loss of more than 0.9 counts as 0.9.
    ///
    /// The receiver needs one innovative combination for each segment of its deficit. The receiver
    /// also needs one innovative combination for each segment that no received combination
    /// contains. Because the deficit is included, later combinations make up for an unlucky run of
    /// losses within one or two round trips. With a constant R, the receiver would have to wait for
    /// a time in which the loss is below its average.
    fn adapt(&mut self, now: Time, sent: Sent, segments: u64, retransmission: bool) -> u32 {
        if retransmission {
            // TCP assumes that everything in flight is lost.
            self.written_off = sent;
        }
        let p = self.loss.proactive(now);
        let (heard, arrived, deficit) = match &self.last {
            Some(ack) if ack.highest + 1 >= self.written_off.packets => (ack.heard, ack.highest + 1, ack.deficit),
            Some(ack) => (ack.heard, self.written_off.packets, 0),
            None => (0, 0, 0),
        };
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX / 4);
        let arrived = arrived.max(self.written_off.packets);
        let under_way = small(sent.packets.saturating_sub(arrived));
        let unheard = small(segments.saturating_sub(heard.max(self.written_off.segments))).max(1);
        // At loss p, each segment needs 1 / (1 - p) combinations. Twice this number shrinks the
        // deficit soon, but without a burst.
        let most = (2.0 / (1.0 - p.min(0.9))).ceil() as u32;
        let masked = |due: &u32| match (under_way + due).checked_sub(unheard) {
            Some(spare) => unmasked_probability(small(deficit), unheard, spare, p) <= UNMASKED_ADAPTING,
            None => false,
        };
        let most = most.min(MOST_COMBINATIONS);
        (1..most).find(masked).unwrap_or(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    fn controller(redundancy: CombinationRate) -> RedundancyController {
        RedundancyController::new(redundancy, Seed::new(1).stream("controller"))
    }

    #[test]
    fn the_rule_gives_what_the_paper_chose() {
        // The loss over four links, and R, for each row of Table I. For the last row the table has
        // 1.29, the paper's text has 1.28, and `rule` gives 1.27 (papers/000/errata.md).
        let table = [(0.0, 1.0), (0.0199, 1.03), (0.0587, 1.09), (0.0963, 1.13), (0.1855, 1.27)];
        for (p, factor) in table {
            assert_eq!(rule(p, 50), Factor::new(factor).unwrap(), "{p}");
        }
        assert_eq!(rule(1.0, 50), Factor::MAX);
        assert_eq!(rule(f64::NAN, 50), Factor::ONE);
        for window in [1, 7, 1_000_000] {
            let mut last = Factor::ONE;
            for percent in 0..=100 {
                let factor = rule(f64::from(percent) / 100.0, window);
                assert!(factor >= last, "{window} {percent}");
                last = factor;
            }
        }
    }

    #[test]
    fn the_accumulator_keeps_every_fraction() {
        let mut accumulator = Accumulator::default();
        let factor = Factor::new(1.13).unwrap();
        let mut sent = 0;
        for segment in 1..=1_000u64 {
            sent += u64::from(accumulator.take(factor));
            assert_eq!(sent, segment * 113 / 100);
        }
    }

    #[test]
    fn the_coin_adds_a_combination_with_the_right_probability() {
        let factor = Factor::new(2.25).unwrap();
        let mut controller = controller(CombinationRate::Fixed { factor, rounding: Rounding::CoinFlip });
        let due: Vec<u32> = (0..40_000).map(|n| controller.due(Time::ZERO, Sent::default(), n, false)).collect();
        assert!(due.iter().all(|due| (2..=3).contains(due)));
        assert!((9_600..10_400).contains(&controller.flips_won), "{}", controller.flips_won);
    }

    /// Runs the adaptive controller over a path with loss probability `p` and a delay of `delay`
    /// segments. The receiver only counts degrees of freedom. Returns R and the receiver's mean
    /// deficit.
    fn adaptive(p: f64, count: u64, delay: usize) -> (f64, f64) {
        let mut controller = controller(CombinationRate::Adaptive);
        let mut random = Seed::new(9).stream("path");
        let mut sent = Sent::default();
        let mut path: std::collections::VecDeque<Vec<(u64, u64, bool)>> = vec![Vec::new(); delay].into();
        let (mut seen, mut received, mut lacking, mut total) = (0, 0, 0, 0);
        for segment in 0..count {
            let now = Time::from_millis(segment * 10);
            let due = controller.due(now, sent, segment + 1, false);
            sent = Sent { packets: sent.packets + u64::from(due), segments: segment + 1 };
            total += u64::from(due);
            let numbers = sent.packets - u64::from(due)..sent.packets;
            path.push_back(numbers.map(|n| (n, segment + 1, random.chance(p))).collect());
            for (number, heard, lost) in path.pop_front().unwrap_or_default() {
                if !lost {
                    received += 1;
                    seen = (seen + 1).min(heard);
                    let deficit = heard - seen;
                    lacking += deficit;
                    let ack =
                        NcAck { first_unseen: seen, first_undecoded: seen, heard, deficit, highest: number, received };
                    controller.on_ack(now, &ack);
                }
            }
        }
        (total as f64 / count as f64, lacking as f64 / received.max(1) as f64)
    }

    #[test]
    fn adapting_costs_little_more_than_the_loss_and_keeps_the_receiver_up() {
        for p in [0.02, 0.1, 0.2, 0.4] {
            let (factor, lacking) = adaptive(p, 20_000, 50);
            let least = 1.0 / (1.0 - p);
            println!("p {p}: R {factor:.3}, least {least:.3}, {lacking:.2} lacking");
            assert!(factor > least && factor < least * 1.08 + 0.01, "{p}: {factor}");
            assert!(lacking < 4.0, "{p}: {lacking}");
        }
        // Before the first reports the controller guards against an assumed loss. Later the
        // controller adds nothing.
        let (factor, lacking) = adaptive(0.0, 20_000, 25);
        assert!(factor < 1.002 && lacking == 0.0, "{factor} {lacking}");
    }

    #[test]
    fn the_rule_follows_a_measured_loss() {
        let redundancy =
            CombinationRate::Rule { window: 50, loss: MaskedLoss::Estimated, rounding: Rounding::Accumulator };
        let mut controller = controller(redundancy);
        let mut random = Seed::new(2).stream("path");
        let mut received = 0;
        for number in 0..3_000 {
            if !random.chance(0.0963) {
                received += 1;
                let ack = NcAck {
                    first_unseen: number,
                    first_undecoded: number,
                    heard: number,
                    deficit: 0,
                    highest: number,
                    received,
                };
                controller.on_ack(Time::ZERO, &ack);
            }
            controller.due(Time::ZERO, Sent::default(), number, false);
        }
        let factor = controller.factor().unwrap().get();
        assert!((1.10..=1.17).contains(&factor), "{factor}");
        assert_eq!(controller.loss.totals().1, controller.lost);
        controller.due(Time::from_secs_f64(60.0), Sent::default(), 0, false);
        assert_eq!(controller.factor(), Some(Factor::ONE), "on a clean path R must be 1");
    }

    #[test]
    fn late_packets_are_not_lost_ones() {
        let mut controller = controller(CombinationRate::Adaptive);
        let ack =
            |highest, received| NcAck { first_unseen: 0, first_undecoded: 0, heard: 0, deficit: 0, highest, received };
        // Packet 3 arrives after packet 4 and is first counted as lost. To make up for this, the
        // loss of packet 8 is not counted.
        for (highest, received) in [(0, 1), (1, 2), (2, 3), (4, 4), (4, 5), (7, 8), (9, 9)] {
            controller.on_ack(Time::ZERO, &ack(highest, received));
        }
        assert_eq!(controller.loss.totals(), (10, 1));
        controller.on_ack(Time::ZERO, &ack(3, 4));
        assert_eq!(controller.loss.totals(), (10, 1), "an old acknowledgement must change nothing");
    }
}
