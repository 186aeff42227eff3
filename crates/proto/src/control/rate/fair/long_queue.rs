//! The queue of the path since it became long.

use ripstop_base::Time;

/// The queueing delay since the queue became long.
#[derive(Clone, Debug)]
pub(super) struct LongQueue {
    /// Since when the queueing delay has been above the short queue and above a tenth of the
    /// longest queue. `None`: it is not.
    pub(super) since: Option<Time>,
    /// The mean queueing delay since a round trip after that, and its least and largest value, s.
    mean: f64,
    range: (f64, f64),
    /// The estimated rate when the queue became long, byte/s.
    pub(super) rate_before: f64,
}

impl LongQueue {
    /// The queue is not long. `rate` is the estimated rate, byte/s.
    pub(super) fn new(rate: f64) -> LongQueue {
        LongQueue { since: None, mean: 0.0, range: (0.0, 0.0), rate_before: rate }
    }

    /// Takes the queueing delay `delay`, s, of a report that came at `now`. `rate` is the estimated rate, byte/s. `part` is
    /// the weight of the delay in the mean, and `srtt` the smoothed round-trip time, s.
    pub(super) fn observe(&mut self, now: Time, is_long: bool, delay: f64, rate: f64, (part, srtt): (f64, f64)) {
        if !is_long || self.since.is_none() {
            self.rate_before = rate;
        }
        self.since = is_long.then(|| self.since.unwrap_or(now));
        if self.lasts(now) <= srtt {
            self.mean = delay;
            self.range = (self.mean, self.mean);
        }
        self.mean += (delay - self.mean) * part;
        self.range = (self.range.0.min(self.mean), self.range.1.max(self.mean));
    }

    /// By how much the mean queueing delay has varied since the queue became long, s.
    pub(super) fn variation(&self) -> f64 {
        self.range.1 - self.range.0
    }

    /// For how long the queue has been long, s.
    pub(super) fn lasts(&self, now: Time) -> f64 {
        self.since.map_or(0.0, |since| now.since(since).as_secs_f64())
    }
}
