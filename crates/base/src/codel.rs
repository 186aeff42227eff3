//! CoDel's control law (RFC 8289, section 5). CoDel judges each packet at the moment when the packet
//! leaves the queue.

use crate::Time;
use std::time::Duration;

/// A dropping state that ended at most this many intervals ago is resumed at about its old rate
/// (RFC 8289, section 5.6). Half or double the number matters only for loads that come and go within
/// seconds.
const RESUME_INTERVALS: u32 = 16;

/// The state of CoDel for one queue.
///
/// The owner of the queue asks [`Codel::acts`] about each packet that leaves the queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codel {
    /// Since when the waiting time has been above the target; None while it is below the target.
    above_since: Option<Time>,
    /// Whether CoDel is in its dropping state.
    dropping: bool,
    /// When the next packet is dropped in the dropping state.
    drop_next: Time,
    /// Drops in this dropping state. The drop rate grows with the square root of this number.
    count: u32,
    /// `count` when the dropping state began.
    last_count: u32,
}

impl Codel {
    /// Whether CoDel acts on the packet that leaves the queue at `now`, that is, drops or marks it.
    ///
    /// `short`: the packet waited less than the target, or so few bytes wait behind the packet that drops cannot
    /// shorten the queue further. `interval` is not zero. The interval may change from packet to packet.
    pub fn acts(&mut self, now: Time, short: bool, interval: Duration) -> bool {
        if short {
            self.rest();
            return false;
        }
        let above_since = *self.above_since.get_or_insert(now);
        if self.dropping {
            if now < self.drop_next {
                return false;
            }
            self.count = self.count.saturating_add(1);
            self.drop_next += self.gap(interval);
            return true;
        }
        if now.since(above_since) < interval {
            return false;
        }
        self.dropping = true;
        let since = now.signed_since(self.drop_next);
        let recent = u128::from(since.max(0).unsigned_abs()) < interval.as_nanos() * u128::from(RESUME_INTERVALS);
        let delta = self.count.saturating_sub(self.last_count);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = now + self.gap(interval);
        true
    }

    /// Notes that the queue is empty, or short.
    pub fn rest(&mut self) {
        (self.above_since, self.dropping) = (None, false);
    }

    /// Time from one drop to the next: interval / sqrt(count).
    fn gap(&self, interval: Duration) -> Duration {
        Duration::from_nanos((interval.as_nanos() as f64 / f64::from(self.count.max(1)).sqrt()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(100);

    /// The times in ms at which CoDel acts on packets that leave every millisecond.
    fn acts(codel: &mut Codel, millis: std::ops::Range<u64>, short: impl Fn(u64) -> bool) -> Vec<u64> {
        millis.filter(|ms| codel.acts(Time::from_millis(*ms), short(*ms), INTERVAL)).collect()
    }

    #[test]
    fn drops_come_faster_while_the_queue_stands() {
        let mut codel = Codel::default();
        // The first drop follows after an interval, then the gaps are 100/sqrt(1), /sqrt(2), /sqrt(3) ms.
        assert_eq!(acts(&mut codel, 0..400, |_| false), [100, 200, 271, 329, 379]);
        // A short queue ends the dropping state. The next one starts at the old rate less one drop.
        assert!(acts(&mut codel, 400..500, |ms| ms < 410).is_empty());
        assert_eq!(acts(&mut codel, 500..600, |_| false), [510, 560]);
        assert_eq!(codel.count, 5);
    }

    #[test]
    fn a_shorter_interval_takes_effect_at_once() {
        let mut codel = Codel::default();
        assert!(acts(&mut codel, 0..50, |_| false).is_empty());
        assert!(codel.acts(Time::from_millis(50), false, INTERVAL / 2));
    }

    #[test]
    fn a_single_short_packet_starts_the_interval_again() {
        let mut codel = Codel::default();
        assert!(acts(&mut codel, 0..1000, |ms| ms % 100 == 0).is_empty());
    }

    #[test]
    fn after_a_long_rest_the_rate_is_forgotten() {
        let mut codel = Codel::default();
        assert_eq!(acts(&mut codel, 0..400, |_| false).len(), 5);
        codel.rest();
        assert_eq!(acts(&mut codel, 5000..5290, |_| false), [5100, 5200, 5271]);
    }
}
