//! Estimators of a path's loss, one set for each direction: the loss fraction that sizes repairs,
//! and the mean length of loss bursts.

use ripstop_base::Time;
use std::time::Duration;

/// After so long without a loss the path counts as clean: proactive repair stops ("do no harm").
pub const CLEAN_AFTER: Duration = Duration::from_secs(5);

/// Weights of the slow and of the fast average, in packets.
const SLOW: f64 = 1.0 / 600.0;
const FAST: f64 = 1.0 / 100.0;
/// A path nobody has measured yet: 1 % from 30 packets.
const PRIOR_LOST: f64 = 0.3;
const PRIOR_PACKETS: f64 = 30.0;
/// The other direction's loss is a better guess than none, for so many packets.
const PRESUMED_PACKETS: f64 = 60.0;
/// And this is, before that is known, as if it had been seen in so many packets: who sets up a tunnel like this one has
/// a path that loses packets, and a first burst that lacks one waits for a round trip, which its TCP takes for a queue.
const GUESS: f64 = 0.05;
const GUESS_PACKETS: f64 = 20.0;
/// In runs of so many packets, as if one had been seen: whoever is wrong about that has a first flight that waits for a round trip.
const GUESS_BURST: f64 = 8.0;
/// So many bursts are enough to know better.
const PRESUMED_BURSTS: u32 = 4;
/// The mean length of bursts is that of about so many; what is longer than this is an outage.
const BURSTS: u32 = 16;
const LONGEST_BURST: u32 = 64;

/// How a path loses packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// The share of packets lost.
    pub share: f64,
    /// The mean length of a run of losses, packets.
    pub burst: f64,
}

/// The loss of one direction of a path, learned from the fate of each datagram in number order.
///
/// All losses count here, those of congestion too: a repair has to make up for either. (What a
/// *rate* may ignore is another question: [`super::rate`].)
#[derive(Clone, Debug)]
pub struct LossEstimator {
    packets: u64,
    lost: u64,
    slow: f64,
    fast: f64,
    presumed: Losses,
    last_loss: Option<Time>,
    /// Length of the burst of losses in progress.
    run: u32,
    /// Bursts so far.
    bursts: u32,
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
            run: 0,
            bursts: 0,
            burst: 1.0,
        }
    }
}

impl LossEstimator {
    /// The next datagram, in number order, has arrived or is lost.
    pub fn settle(&mut self, now: Time, lost: bool) {
        self.packets += 1;
        let x = f64::from(u8::from(lost));
        // An average over all packets so far (and the prior) until it has its full length.
        let weight = |full: f64| full.max(1.0 / (self.packets as f64 + PRIOR_PACKETS));
        self.slow += (x - self.slow) * weight(SLOW);
        self.fast += (x - self.fast) * weight(FAST);
        if lost {
            self.lost += 1;
            self.run += 1;
            self.last_loss = Some(now);
        } else if self.run > 0 {
            self.bursts += 1;
            // An average over all of them (and a first one of one packet) until it has its full length.
            let weight = 1.0 / f64::from((self.bursts + 1).min(BURSTS));
            self.burst += (f64::from(self.run.min(LONGEST_BURST)) - self.burst) * weight;
            self.run = 0;
        }
    }

    /// Takes the other direction's losses, `lost` of `sent` datagrams so far in `bursts` runs, for this one's as long as little is
    /// known of this one.
    pub fn presume(&mut self, lost: u64, sent: u64, bursts: u64) {
        let share = (lost as f64 + GUESS * GUESS_PACKETS) / (sent as f64 + GUESS_PACKETS);
        let burst = (lost as f64 + GUESS_BURST) / (bursts as f64 + 1.0);
        self.presumed = Losses { share, burst: burst.clamp(1.0, f64::from(LONGEST_BURST)) };
    }

    /// The expected loss fraction, for sizing repairs. Follows the slow average, and steps to the
    /// fast one (less one deviation) when the two differ by more than chance would have it.
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

    /// What is expected of the path, runs of losses included: the longer ones of what was seen and presumed, until enough was seen.
    pub fn losses(&self) -> Losses {
        let burst =
            if self.bursts < PRESUMED_BURSTS { self.burst.max(self.presumed.burst) } else { self.burst };
        Losses { share: self.expected(), burst }
    }

    /// The expected loss for repairs sent ahead of any loss: zero on a path that has lost nothing
    /// for [`CLEAN_AFTER`]; before the first loss, what the other direction speaks of, for a while.
    pub fn proactive(&self, now: Time) -> f64 {
        match self.last_loss {
            Some(at) if now.since(at) < CLEAN_AFTER => self.expected(),
            Some(_) => 0.0,
            None => self.ignorance() * self.presumed.share,
        }
    }

    /// How little is known of this direction: 1 nothing, 0 enough.
    fn ignorance(&self) -> f64 {
        (1.0 - self.packets as f64 / PRESUMED_PACKETS).max(0.0)
    }

    /// Mean length of a burst of consecutive losses, in packets (1 for independent losses of a
    /// low rate).
    pub fn mean_burst(&self) -> f64 {
        self.burst
    }

    /// Datagrams settled, and lost, so far.
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
        assert_eq!(e.losses().burst, 14.0, "of three bursts nothing is known");
        e.settle(Time::ZERO, true);
        e.settle(Time::ZERO, false);
        assert_eq!(e.losses().burst, 1.0);
    }
}
