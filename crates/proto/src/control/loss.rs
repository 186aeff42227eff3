//! Estimates the losses of one direction of a path: the share of packets lost, and the mean length
//! of a run of losses. The number of repairs depends on both estimates.
//!
//! The estimates begin with a *prior*: a sample that is assumed before anything is measured. While
//! little is known about this direction, losses are *presumed* from a guess and from the losses of
//! the other direction. A datagram is *settled* when it is known whether it arrived.

use ripstop_base::Time;
use std::time::Duration;

/// The path counts as clean after this time without a loss, 5 s.
///
/// On a clean path there are no proactive repairs (repairs sent before a loss is known), because
/// such repairs would only displace packets. With half the value, the first loss after some seconds
/// without a loss is more often unprotected. With double the value, repairs are sent for twice as
/// long after the last loss.
pub const CLEAN_AFTER: Duration = Duration::from_secs(5);

/// Number of losses that the estimate expects after the last loss before the path of interactive
/// packets counts as clean. See [`LossEstimator::proactive_interactive`].
///
/// At 3 expected losses, chance explains their absence in 5 % of cases. With half the value, 22 %.
/// Double the value repairs for longer after the last loss, and at the start of a session on a clean path.
const SPARSE_LOSSES: f64 = 3.0;
/// Limit on the time for which [`SPARSE_LOSSES`] delays a clean path, 60 s.
///
/// With half the value, a flow with fewer than 10 packets a second is unprotected at 1 % loss. Double
/// the value repairs an interactive flow for longer after the last loss; the flow is small.
const SPARSE_CLEAN: Duration = Duration::from_secs(60);

/// Weight of one packet in the slow average: the average covers about 600 packets.
///
/// With half the weight, the estimate varies less and follows changes more slowly. With double the
/// weight, the estimate varies more.
const SLOW: f64 = 1.0 / 600.0;
/// Weight of one packet in the fast average: the average covers about 100 packets.
///
/// The fast average shows a change of the path. With half the weight, the average shows a change
/// later. With double the weight, chance is more often mistaken for a change.
const FAST: f64 = 1.0 / 100.0;
/// Losses in the prior sample, packets. This number divided by [`PRIOR_PACKETS`] is a loss of 1 %.
///
/// With double the value, the loss estimate starts at 2 %. With half the value, it starts at 0.5 %.
const PRIOR_LOST: f64 = 0.3;
/// Size of the prior sample, packets.
///
/// The prior is the first estimate of a path that has not been measured. If this value and
/// [`PRIOR_LOST`] are halved, the first packets move the estimate more. If both values are doubled,
/// the first packets move the estimate less.
const PRIOR_PACKETS: f64 = 30.0;
/// Number of settled packets after which the presumed share of losses no longer counts.
///
/// The weight of the presumed share falls linearly, from 1 before the first packet to 0 after this
/// number of packets. With half the value, the protection of the first packets ends sooner. Double
/// the value costs more repairs on a path that loses nothing in this direction.
pub const PRESUMED_PACKETS: f64 = 60.0;
/// Guessed share of packets lost. The guess is the presumed share until packets of the other
/// direction arrive. Afterwards the guess counts with the weight [`GUESS_PACKETS`].
///
/// Someone who sets up this kind of tunnel probably has a path that loses packets. If a packet of
/// the first burst is missing, the packets after it wait for a round trip. The TCP inside the
/// tunnel mistakes this delay for a queue, and leaves slow start. Half the value protects the first
/// burst less. Double the value costs more repairs at the start of each session.
const GUESS: f64 = 0.05;
/// Weight of [`GUESS`]: the guess counts like a measured sample of this number of packets.
///
/// Half the value lets the other direction's losses count sooner. Double the value lets the guess
/// count for longer.
const GUESS_PACKETS: f64 = 20.0;
/// Guessed length of a run of losses, packets. The presumed length is the mean over the runs of the
/// other direction and one further run of this length.
///
/// If the guess is too small, too few repairs protect the first packets. Packets after a loss then
/// wait for a round trip. Half the value makes this wait more likely on a path with long runs.
/// Double the value costs more repairs at the start.
const GUESS_BURST: f64 = 8.0;
/// The presumed length counts until this number of runs of losses has been observed.
///
/// With half the value, the mean of only two runs is trusted. Double the value costs more repairs
/// on paths without long runs.
const PRESUMED_BURSTS: u32 = 4;
/// The mean length of a run of losses covers about this number of recent runs.
///
/// Half the value makes the mean vary more. Double the value makes the mean follow changes more
/// slowly.
const BURSTS: u32 = 16;
/// Longest run of losses that counts, packets. A longer run counts as a run of this length.
///
/// A longer run is an outage, and repairs do not help in an outage. Double the value lets an outage
/// raise the number of repairs more. Half the value underestimates paths with long runs.
const LONGEST_BURST: u32 = 64;

/// How a path loses packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// The share of packets lost, 0 to 1.
    pub share: f64,
    /// The mean length of a run of losses, packets.
    pub burst: f64,
}

impl Losses {
    /// How much more the number of losses varies than that of independent losses: the ratio of the variances, at least 1.
    ///
    /// In a Gilbert model with the share p and runs of b packets, the fates of neighbouring packets have the correlation
    /// r = 1 - 1 / (b (1 - p)). The ratio is (1 + r) / (1 - r) = 2 b (1 - p) - 1.
    pub fn dispersion(&self) -> f64 {
        (2.0 * self.burst * (1.0 - self.share) - 1.0).max(1.0)
    }
}

/// Estimates the losses of one direction of a path from the fates of the datagrams. Callers pass
/// the fates in the order of the datagram numbers.
///
/// Losses of all causes count, including losses from congestion, because repairs must make up for
/// all losses. The rate controllers ([`super::rate`]) decide which losses the rate may ignore.
#[derive(Clone, Debug)]
pub struct LossEstimator {
    /// Datagrams settled so far.
    packets: u64,
    /// Datagrams lost so far.
    lost: u64,
    /// Slow average of the share lost.
    slow: f64,
    /// Fast average of the share lost.
    fast: f64,
    /// The losses to expect while little is known about this direction.
    presumed: Losses,
    /// When the last loss became known.
    last_loss: Option<Time>,
    /// Datagrams settled since the last loss.
    since_loss: u64,
    /// The slow average after the last loss.
    share_then: f64,
    /// Length of the run of losses in progress, packets. 0: no run is in progress.
    run: u32,
    /// Number of runs of losses so far.
    bursts: u32,
    /// Mean length of a run of losses, packets.
    burst: f64,
}

impl Default for LossEstimator {
    fn default() -> Self {
        LossEstimator {
            packets: 0,
            lost: 0,
            slow: PRIOR_LOST / PRIOR_PACKETS,
            fast: PRIOR_LOST / PRIOR_PACKETS,
            presumed: Losses { share: GUESS, burst: GUESS_BURST },
            last_loss: None,
            since_loss: 0,
            share_then: 0.0,
            run: 0,
            bursts: 0,
            burst: 1.0,
        }
    }
}

impl LossEstimator {
    /// Takes the fate of the next datagram in number order.
    pub fn settle(&mut self, now: Time, lost: bool) {
        self.packets += 1;
        self.since_loss = if lost { 0 } else { self.since_loss + 1 };
        let x = f64::from(u8::from(lost));
        // At first the averages cover the prior and all packets so far.
        let weight = |full: f64| full.max(1.0 / (self.packets as f64 + PRIOR_PACKETS));
        self.slow += (x - self.slow) * weight(SLOW);
        self.fast += (x - self.fast) * weight(FAST);
        if lost {
            self.lost += 1;
            self.run = self.run.saturating_add(1);
            self.last_loss = Some(now);
            self.share_then = self.slow;
        } else if self.run > 0 {
            self.bursts = self.bursts.saturating_add(1);
            // At first the average covers all runs so far, and a prior run of one packet.
            let weight = 1.0 / f64::from(self.bursts.saturating_add(1).min(BURSTS));
            self.burst += (f64::from(self.run.min(LONGEST_BURST)) - self.burst) * weight;
            self.run = 0;
        }
    }

    /// Computes the presumed losses from the losses of the other direction. In the other direction,
    /// `lost` of `sent` datagrams have been lost so far, in `bursts` runs. A guess is added: 20
    /// further datagrams of which 1 is lost, and one further run of 8 losses. The presumed length
    /// of a run is at least 1 and at most 64.
    pub fn presume(&mut self, lost: u64, sent: u64, bursts: u64) {
        let share = (lost as f64 + GUESS * GUESS_PACKETS) / (sent as f64 + GUESS_PACKETS);
        let burst = (lost as f64 + GUESS_BURST) / (bursts as f64 + 1.0);
        self.presumed = Losses { share, burst: burst.clamp(1.0, f64::from(LONGEST_BURST)) };
    }

    /// The expected share of packets lost, 0 to 1.
    ///
    /// The result is the slow average if chance explains the difference between the two averages.
    /// Chance explains the difference if the fast average is at most 2 standard deviations above
    /// the slow one, or at most 2.5 below. Otherwise the result is the fast average, moved by one
    /// standard deviation towards the slow average. During the first 60 packets, a presumed share
    /// above this value raises the result.
    pub fn expected(&self) -> f64 {
        let deviation = (self.slow.max(1e-3) * (1.0 - self.slow) * FAST / 2.0).sqrt();
        let difference = self.fast - self.slow;
        let measured = if difference > 2.0 * deviation {
            self.fast - deviation
        } else if difference < -2.5 * deviation {
            self.fast + deviation
        } else {
            self.slow
        };
        measured + self.ignorance() * (self.presumed.share - measured).max(0.0)
    }

    /// The share of packets lost, 0 to 1, without a guess and without the other direction: during the first 60 packets the share
    /// lost so far, then [`LossEstimator::expected`].
    pub fn measured(&self) -> f64 {
        match self.ignorance() {
            0.0 => self.expected(),
            _ => self.lost as f64 / self.packets.max(1) as f64,
        }
    }

    /// The expected share of packets lost, and the expected mean length of a run of losses.
    ///
    /// Until 4 runs have been observed, the length is the larger of the observed and the presumed
    /// length.
    pub fn losses(&self) -> Losses {
        let burst = if self.bursts < PRESUMED_BURSTS { self.burst.max(self.presumed.burst) } else { self.burst };
        Losses { share: self.expected(), burst }
    }

    /// The share of packets lost that proactive repairs should expect, 0 to 1.
    ///
    /// - Before the first loss, the result is the presumed share times a weight. The weight falls
    ///   to zero during the first 60 packets.
    /// - For less than [`CLEAN_AFTER`] after a loss, the result is [`LossEstimator::expected`].
    /// - Later the result is 0.
    pub fn proactive(&self, now: Time) -> f64 {
        self.proactive_of(now, self.losses())
    }

    /// [`LossEstimator::proactive`], with the present result of [`LossEstimator::losses`].
    #[inline]
    fn proactive_of(&self, now: Time, losses: Losses) -> f64 {
        match self.last_loss {
            Some(at) if now.since(at) < CLEAN_AFTER => losses.share,
            Some(_) => 0.0,
            None => self.ignorance() * self.presumed.share,
        }
    }

    /// The losses that the repairs of interactive packets should expect.
    ///
    /// A direction that carries few packets may lose one in a hundred and show no loss for [`CLEAN_AFTER`]. So after a
    /// loss, the path counts as clean only after 3 expected losses have not come, or after 60 s. Before the first
    /// loss, single losses are expected: the largest share of which 3 losses would have shown.
    pub fn proactive_interactive(&self, now: Time) -> Losses {
        self.proactive_interactive_of(now, self.losses())
    }

    /// The results of [`LossEstimator::losses`], [`LossEstimator::proactive`] and
    /// [`LossEstimator::proactive_interactive`], for one estimate.
    #[inline]
    pub fn all(&self, now: Time) -> (Losses, f64, Losses) {
        let losses = self.losses();
        (losses, self.proactive_of(now, losses), self.proactive_interactive_of(now, losses))
    }

    #[inline]
    fn proactive_interactive_of(&self, now: Time, losses: Losses) -> Losses {
        match self.last_loss {
            Some(at) if now.since(at) < SPARSE_CLEAN && (self.since_loss as f64) * self.share_then < SPARSE_LOSSES => {
                losses
            }
            None if self.ignorance() == 0.0 => Losses { share: SPARSE_LOSSES / self.packets.max(1) as f64, burst: 1.0 },
            _ => Losses { share: self.proactive_of(now, losses), ..losses },
        }
    }

    /// Weight of the presumed share: 1 at the start, 0 after [`PRESUMED_PACKETS`] packets.
    fn ignorance(&self) -> f64 {
        (1.0 - self.packets as f64 / PRESUMED_PACKETS).max(0.0)
    }

    /// Mean length of a run of losses, packets. Independent losses at a low rate give 1.
    pub fn mean_burst(&self) -> f64 {
        self.burst
    }

    /// Two counts of datagrams so far: the settled datagrams, and the lost datagrams among them.
    pub fn totals(&self) -> (u64, u64) {
        (self.packets, self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    fn run(p: f64, n: u32, estimator: &mut LossEstimator, at: Time) {
        let mut random = Seed::new(5).stream("loss");
        for _ in 0..n {
            estimator.settle(at, random.chance(p));
        }
    }

    #[test]
    fn the_largest_counts_stay() {
        let mut estimator = LossEstimator { run: u32::MAX, bursts: u32::MAX, burst: 7.0, ..LossEstimator::default() };
        estimator.settle(Time::ZERO, true);
        estimator.settle(Time::ZERO, false);
        assert_eq!((estimator.run, estimator.bursts), (0, u32::MAX));
        assert_eq!(estimator.burst, 7.0 + (64.0 - 7.0) / 16.0);
    }

    #[test]
    fn losses_in_runs_vary_more() {
        let dispersion = |share, burst| Losses { share, burst }.dispersion();
        // Independent losses come in runs of 1 / (1 - p).
        assert!((dispersion(0.3, 1.0 / 0.7) - 1.0).abs() < 1e-9);
        assert_eq!((dispersion(0.0, 0.0), dispersion(0.5, 8.0)), (1.0, 7.0));
    }

    #[test]
    fn converges_and_follows_steps() {
        for p in [0.0, 0.01, 0.05, 0.2, 0.5] {
            let mut e = LossEstimator::default();
            run(p, 5_000, &mut e, Time::ZERO);
            assert!((e.expected() - p).abs() < 0.02 + 0.2 * p, "{p}: {}", e.expected());
            let step = 0.3;
            run(step, 300, &mut e, Time::ZERO);
            assert!((e.expected() - step).abs() < 0.1, "{p} -> {step}: {}", e.expected());
        }
    }

    #[test]
    fn a_clean_path_needs_no_repair() {
        let mut e = LossEstimator::default();
        assert_eq!(e.proactive(Time::ZERO), GUESS);
        run(0.0, 60, &mut e, Time::ZERO);
        assert_eq!(e.proactive(Time::ZERO), 0.0);
        e.settle(Time::ZERO, true);
        assert!(e.proactive(Time::from_millis(4_999)) > 0.0);
        assert_eq!(e.proactive(Time::from_millis(5_000)), 0.0);
    }

    #[test]
    fn a_sparse_direction_stays_protected_until_losses_would_have_shown() {
        let mut e = LossEstimator::default();
        run(0.01, 3_000, &mut e, Time::ZERO);
        e.settle(Time::ZERO, true);
        let later = Time::from_millis(10_000);
        assert!(e.proactive(later) == 0.0 && e.proactive_interactive(later).share > 0.0);
        assert_eq!(e.proactive_interactive(Time::from_millis(61_000)).share, 0.0);
        run(0.0, 2_000, &mut e, later);
        assert_eq!(e.proactive_interactive(later).share, 0.0);
    }

    #[test]
    fn interactive_packets_are_protected_until_a_path_has_shown_that_it_is_clean() {
        let mut e = LossEstimator::default();
        run(0.0, 300, &mut e, Time::ZERO);
        assert_eq!(e.proactive(Time::ZERO), 0.0);
        assert_eq!(e.proactive_interactive(Time::ZERO), Losses { share: 0.01, burst: 1.0 });
        run(0.0, 5_700, &mut e, Time::ZERO);
        assert!(e.proactive_interactive(Time::ZERO).share <= 0.0005);
    }

    #[test]
    fn burst_length_is_the_mean_run() {
        let mut e = LossEstimator::default();
        for i in 0..4_000 {
            e.settle(Time::ZERO, i % 40 < 4);
        }
        assert!((e.mean_burst() - 4.0).abs() < 0.1, "{}", e.mean_burst());
    }

    #[test]
    fn the_other_direction_is_believed_until_this_one_is_known() {
        let mut e = LossEstimator::default();
        assert_eq!(e.losses(), Losses { share: GUESS, burst: GUESS_BURST });
        e.presume(20, 80, 1);
        assert!(e.expected() > 0.19 && e.proactive(Time::ZERO) > 0.19);
        assert_eq!(e.losses().burst, 14.0);
        run(0.0, 30, &mut e, Time::ZERO);
        assert!(e.proactive(Time::ZERO) < 0.11, "{}", e.proactive(Time::ZERO));
        run(0.0, 30, &mut e, Time::ZERO);
        assert_eq!(e.proactive(Time::ZERO), 0.0);
        assert!(e.expected() < 0.01, "{}", e.expected());
        for lost in [true, false, true, false, true, false] {
            e.settle(Time::ZERO, lost);
        }
        assert_eq!(e.losses().burst, 14.0, "three runs must not replace the presumed length");
        e.settle(Time::ZERO, true);
        e.settle(Time::ZERO, false);
        assert_eq!(e.losses().burst, 1.0);
    }
}
