//! A token bucket: limits events or work to a rate, and allows a burst.

use ripstop_base::Time;
use std::time::Duration;

/// A token bucket. The tokens are negative while something is owed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    /// Tokens per second.
    rate: f64,
    /// Limit on the tokens.
    most: f64,
    tokens: f64,
    /// When tokens were last added.
    filled_at: Time,
}

impl TokenBucket {
    /// A full bucket that earns `rate` tokens per second, and holds at most `most`.
    pub(crate) fn full(rate: f64, most: f64, now: Time) -> TokenBucket {
        TokenBucket { rate, most, tokens: most, filled_at: now }
    }

    /// Changes the rate and the limit from `now` on.
    pub(crate) fn set_rate(&mut self, now: Time, rate: f64, most: f64) {
        (self.rate, self.most) = (rate, most);
        self.refill(now);
    }

    /// Adds the tokens earned until `now`.
    pub(crate) fn refill(&mut self, now: Time) {
        let earned = self.rate * now.since(self.filled_at).as_secs_f64();
        self.tokens = (self.tokens + earned).min(self.most);
        self.filled_at = self.filled_at.max(now);
    }

    /// Takes `tokens`. False, and nothing is taken, if there are fewer.
    pub(crate) fn take(&mut self, now: Time, tokens: f64) -> bool {
        self.refill(now);
        let enough = self.tokens >= tokens;
        if enough {
            self.tokens -= tokens;
        }
        enough
    }

    /// Whether there are `tokens` tokens.
    pub(crate) fn has(&mut self, now: Time, tokens: f64) -> bool {
        self.refill(now);
        self.tokens >= tokens
    }

    /// When there will be `tokens` tokens. None: there are as many now.
    pub(crate) fn opens(&mut self, now: Time, tokens: f64) -> Option<Time> {
        self.refill(now);
        let missing = tokens.min(self.most) - self.tokens;
        // Rounded up, so that the tokens are there at this time.
        (missing > 0.0).then(|| now + Duration::from_secs_f64(missing / self.rate.max(1e-3)) + Duration::from_micros(1))
    }

    /// Takes `tokens`, even if there are fewer.
    pub(crate) fn spend(&mut self, tokens: f64) {
        self.tokens -= tokens;
    }

    /// Whether there are tokens.
    pub(crate) fn is_open(&self) -> bool {
        self.tokens > 0.0
    }

    /// How long until nothing is owed, s.
    pub(crate) fn debt(&self) -> f64 {
        (-self.tokens).max(0.0) / self.rate.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_earned_up_to_the_limit() {
        let mut bucket = TokenBucket::full(10.0, 5.0, Time::ZERO);
        assert!((0..5).all(|_| bucket.take(Time::ZERO, 1.0)) && !bucket.take(Time::ZERO, 1.0));
        assert!(bucket.take(Time::from_millis(100), 1.0) && !bucket.take(Time::from_millis(100), 1.0));
        bucket.spend(2.0);
        assert!(!bucket.is_open() && (bucket.debt() - 0.2).abs() < 1e-9);
        bucket.refill(Time::from_millis(10_000));
        assert!((0..5).all(|_| bucket.take(Time::from_millis(10_000), 1.0)) && bucket.debt() == 0.0);
    }
}
