//! Compares the traffic of the two directions, and measures what the peer's direction carries.

use ripstop_base::Time;
use std::time::Duration;

/// Least time over which the traffic is compared, 100 ms.
///
/// Half the value sees a pause of a bulk flow as its end. Double the value reacts later when a bulk flow begins.
const LEAST: Duration = Duration::from_millis(100);
/// This direction counts as the lesser one if it carries at most this share of the bytes of the peer's direction.
///
/// Acknowledgements take 2 to 5 % of the bytes of a bulk flow. Half the value misses the acknowledgements of small
/// packets. Double the value slows the reports down in a call with video in one direction.
const LESSER: f64 = 0.1;
/// The peer's direction carries a bulk flow from this number of bytes in one comparison on.
///
/// Half the value takes a few requests for a bulk flow. Double the value misses a bulk flow on a link of 1 Mbit/s.
const BULK_BYTES: u64 = 6_000;

/// The traffic of the two directions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Balance {
    /// When the present comparison began.
    since: Time,
    /// Bytes sent and received until then.
    totals: (u64, u64),
    /// The rate that the peer's direction carries while this direction carries little, byte/s. `None`: the directions
    /// carry similar amounts, or there is no bulk flow.
    peer_carries: Option<f64>,
}

impl Balance {
    pub(crate) fn new(now: Time) -> Balance {
        Balance { since: now, totals: (0, 0), peer_carries: None }
    }

    /// The rate that the peer's direction carries while this direction carries little, byte/s.
    pub(crate) fn peer_carries(&self) -> Option<f64> {
        self.peer_carries
    }

    /// Takes the bytes `sent` and `received` so far. Compares the directions if at least `period` has passed.
    pub(crate) fn update(&mut self, now: Time, sent: u64, received: u64, period: Duration) {
        let passed = now.since(self.since);
        if passed < period.max(LEAST) {
            return;
        }
        let (out, back) = (sent.saturating_sub(self.totals.0), received.saturating_sub(self.totals.1));
        let bulk = back >= BULK_BYTES && out as f64 <= LESSER * back as f64;
        self.peer_carries = bulk.then(|| back as f64 / passed.as_secs_f64());
        (self.since, self.totals) = (now, (sent, received));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_of_acknowledgements_is_the_lesser_one() {
        let mut balance = Balance::new(Time::ZERO);
        let at = |ms| Time::from_millis(ms);
        balance.update(at(99), 5_000, 100_000, Duration::ZERO);
        assert_eq!(balance.peer_carries(), None, "too early");
        balance.update(at(100), 5_000, 100_000, Duration::ZERO);
        assert_eq!(balance.peer_carries(), Some(1e6));
        balance.update(at(200), 55_000, 200_000, Duration::ZERO);
        assert_eq!(balance.peer_carries(), None, "both directions carry much");
        balance.update(at(300), 55_100, 205_000, Duration::ZERO);
        assert_eq!(balance.peer_carries(), None, "a few requests are no bulk flow");
    }
}
