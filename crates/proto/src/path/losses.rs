//! The losses of the path to the peer, without the losses of datagrams that were longer than the path carries.
//!
//! A lost datagram that is longer than all that arrived after it may be a random loss, or the path may have become too small.
//! It counts until this is decided. A datagram of its length that arrives says that the loss was random. If the search for the
//! path's MTU finds a smaller size, all such losses are forgotten. A loss that is noticed afterwards does not count if the
//! datagram is longer than the smaller size. Probes of sizes above the MTU in use never count
//! ([`Content::LargerProbe`](super::Content)).

use crate::control::loss::LossEstimator;
use ripstop_base::Time;

/// The number of losses that may be undecided. When a path shrinks, a window of datagrams is lost before the search ends.
/// With half the value, more of these losses count on paths with large windows: 1000 datagrams are 1.5 MB. With double the
/// value, a small datagram after an outage is compared with twice the lengths.
const MOST_UNDECIDED: usize = 1024;

/// The losses of the path to the peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathLosses {
    /// All losses count.
    estimate: LossEstimator,
    /// The losses of `undecided` do not count.
    decided: LossEstimator,
    /// The lengths of the lost datagrams that are longer than all that arrived after them, bytes.
    undecided: Vec<u32>,
}

impl PathLosses {
    /// The estimate of the path's losses.
    pub(crate) fn get(&self) -> &LossEstimator {
        &self.estimate
    }

    /// Takes the fate of the next datagram in number order. The datagram has `bytes` bytes, and the path's MTU is `mtu`.
    /// Returns true if the datagram was lost because the MTU has become smaller since it left. Such a loss does not count.
    pub(crate) fn settle(&mut self, now: Time, lost: bool, bytes: u32, mtu: u32) -> bool {
        if lost && bytes > mtu {
            return true;
        }
        self.estimate.settle(now, lost);
        if lost && self.undecided.len() < MOST_UNDECIDED {
            self.undecided.push(bytes);
            return false;
        }
        if !self.undecided.is_empty() && !lost {
            let before = self.undecided.len();
            self.undecided.retain(|length| *length > bytes);
            (self.undecided.len()..before).for_each(|_| self.decided.settle(now, true));
        }
        self.decided.settle(now, lost);
        false
    }

    /// Takes what the peer's datagrams say of the other direction: see [`LossEstimator::presume`].
    pub(crate) fn presume(&mut self, lost: u64, sent: u64, bursts: u64) {
        self.estimate.presume(lost, sent, bursts);
        self.decided.presume(lost, sent, bursts);
    }

    /// Forgets the losses of datagrams longer than `mtu` bytes, because the path carries no more. Returns their number.
    pub(crate) fn shrink_to(&mut self, now: Time, mtu: u32) -> u64 {
        let undecided = std::mem::take(&mut self.undecided);
        let random = undecided.iter().filter(|length| **length <= mtu).count();
        (0..random).for_each(|_| self.decided.settle(now, true));
        self.estimate = self.decided.clone();
        (undecided.len() - random) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    const NOW: Time = Time::ZERO;

    #[test]
    fn losses_of_too_large_datagrams_are_forgotten() {
        let mut losses = PathLosses::default();
        for k in 0..400 {
            losses.settle(NOW, k % 4 == 0, if k % 4 == 0 { 1500 } else { 100 }, 1500);
        }
        assert!(losses.get().expected() > 0.2, "it may be random loss");
        assert_eq!(losses.shrink_to(NOW, 1280), 100);
        assert!(losses.get().expected() < 0.005 && losses.get().totals() == (300, 0), "{losses:?}");
        assert_eq!(losses.get().mean_burst(), 1.0);
        // The last probe of 1500 bytes left before the size was found.
        assert!(losses.settle(NOW, true, 1500, 1280) && !losses.settle(NOW, false, 1280, 1280));
        assert_eq!(losses.get().totals(), (301, 0));
    }

    /// A peer that loses large datagrams only now and then hides no loss by a smaller MTU.
    #[test]
    fn random_losses_of_large_datagrams_stay() {
        let (mut random, mut losses) = (Seed::new(1).stream("loss"), PathLosses::default());
        for _ in 0..5_000 {
            losses.settle(NOW, random.chance(0.2), if random.chance(0.7) { 1500 } else { 100 }, 1500);
        }
        let before = losses.get().totals();
        losses.settle(NOW, true, 1200, 1500);
        assert!(losses.shrink_to(NOW, 1280) < 5, "only the last losses may be those of a smaller path");
        let after = losses.get().totals();
        assert!(before.1 - after.1 < 5 && (0.1..0.3).contains(&losses.get().expected()), "{before:?} {after:?}");
    }

    #[test]
    fn an_outage_takes_little_memory() {
        let mut losses = PathLosses::default();
        (0..5_000).for_each(|_| {
            losses.settle(NOW, true, 1500, 1500);
        });
        assert_eq!((losses.undecided.len(), losses.decided.totals()), (MOST_UNDECIDED, (3_976, 3_976)));
        losses.settle(NOW, false, 1500, 1500);
        assert_eq!((losses.undecided.len(), losses.decided.totals()), (0, (5_001, 5_000)));
        assert_eq!(losses.shrink_to(NOW, 1280), 0);
    }
}
