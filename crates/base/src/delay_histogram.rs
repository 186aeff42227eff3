//! A histogram of delays. The width of a bucket is about proportional to the delays in the bucket.
//! Quantiles are therefore wrong by at most .8 %, or by at most .5 us for delays below 64 us. The
//! mean is exact.

use std::time::Duration;

/// The number of bits of a delay that select the bucket within an octave. An octave is the range of
/// delays from one power of two to the next. 6 bits make 64 buckets per octave, so a quantile is
/// wrong by at most .8 % (above 64 us). One bit more halves the error and doubles the memory. One
/// bit less does the opposite.
const SUB_BITS: u32 = 6;
/// The number of the last bucket. This bucket counts all delays from 2^45 us (1.1 years) on. With
/// half the value, the last bucket would count all delays from 2^25 us (34 s) on. Double the value
/// has no use.
const LAST_BUCKET: usize = (46 - SUB_BITS as usize) << SUB_BITS;

/// A histogram of delays. Recording takes constant time. Memory grows with the logarithm of the
/// ratio of the longest delay to the shortest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayHistogram {
    /// The number of the bucket that `counts[0]` counts.
    first: usize,
    /// How many delays are in each bucket from `first` on.
    counts: Vec<u32>,
    /// How many delays were recorded.
    count: u64,
    /// The sum of all delays in nanoseconds.
    sum_nanos: u128,
    /// The shortest and the longest delay. None if no delay was recorded.
    range: Option<(Duration, Duration)>,
}

impl DelayHistogram {
    /// Adds one delay.
    pub fn record(&mut self, delay: Duration) {
        let micros = delay.as_secs().saturating_mul(1_000_000).saturating_add(u64::from(delay.subsec_micros()));
        let bucket = bucket(micros);
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count = count.saturating_add(1),
            None => self.add(bucket, 1),
        }
        self.count += 1;
        self.sum_nanos += delay.as_nanos();
        self.widen((delay, delay));
    }

    /// Adds all delays of `other`.
    pub fn merge(&mut self, other: &DelayHistogram) {
        for (k, n) in other.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            self.add(other.first + k, *n);
        }
        self.count += other.count;
        self.sum_nanos += other.sum_nanos;
        if let Some(range) = other.range {
            self.widen(range);
        }
    }

    /// How many delays were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest delay; None if no delay was recorded.
    pub fn max(&self) -> Option<Duration> {
        self.range.map(|(_, longest)| longest)
    }

    /// The exact mean in seconds; None if no delay was recorded.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_nanos as f64 / (self.count as f64 * 1e9))
    }

    /// The `q`-quantile in seconds, for `q` from 0 to 1. A share `q` of all delays is at most as
    /// long as the quantile (nearest-rank definition). The quantile is wrong by at most .8 %, or by
    /// at most .5 us for delays below 64 us. None if no delay was recorded.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        let at = self.counts.iter().position(|n| {
            below += u64::from(*n);
            below >= rank
        })?;
        let (least, most) = self.range?;
        // The middle of the bucket, as (low + high) / 2 microseconds.
        let (low, high) = (lowest(self.first + at), lowest(self.first + at + 1));
        Some(Duration::from_nanos((low + high).saturating_mul(500)).clamp(least, most).as_secs_f64())
    }

    /// Counts `n` delays in `bucket`.
    fn add(&mut self, bucket: usize, n: u32) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - bucket));
            self.first = bucket;
        }
        let at = bucket - self.first;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] = self.counts[at].saturating_add(n);
    }

    /// Extends the range of delays to include both values.
    fn widen(&mut self, (least, most): (Duration, Duration)) {
        let (a, b) = self.range.unwrap_or((least, most));
        self.range = Some((a.min(least), b.max(most)));
    }
}

/// The number of the bucket for a delay in microseconds.
fn bucket(micros: u64) -> usize {
    let octave = (u64::BITS - micros.leading_zeros()).saturating_sub(SUB_BITS + 1);
    (((octave as usize) << SUB_BITS) + (micros >> octave) as usize).min(LAST_BUCKET)
}

/// The shortest delay that belongs to bucket `at`, in microseconds.
fn lowest(at: usize) -> u64 {
    let octave = (at >> SUB_BITS).saturating_sub(1);
    ((at - (octave << SUB_BITS)) as u64) << octave
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn quantiles_are_near_and_the_mean_is_exact() {
        let mut random = Seed::new(4).stream("delays");
        let mut values: Vec<f64> = (0..20_000).map(|_| random.exponential(0.3)).collect();
        let (mut one, mut parts) = (DelayHistogram::default(), [DelayHistogram::default(), DelayHistogram::default()]);
        for (k, value) in values.iter().enumerate() {
            one.record(Duration::from_secs_f64(*value));
            parts[k % 2].record(Duration::from_secs_f64(*value));
        }
        let [mut whole, other] = parts;
        whole.merge(&other);
        assert_eq!(whole.quantile_s(0.5), one.quantile_s(0.5), "seed 4");
        assert_eq!((whole.count(), whole.mean_s()), (20_000, one.mean_s()), "seed 4");
        assert_eq!((whole.max(), DelayHistogram::default().max()), (one.max(), None));
        values.sort_by(f64::total_cmp);
        for q in [0.01, 0.5, 0.99, 0.9999] {
            let (got, want) = (one.quantile_s(q).unwrap(), values[(q * 20_000.0) as usize - 1]);
            assert!((got / want - 1.0).abs() < 0.008 || (got - want).abs() < 1e-6, "{q}: {got} {want}, seed 4");
        }
        assert!((one.mean_s().unwrap() - values.iter().sum::<f64>() / 2e4).abs() < 1e-9, "seed 4");
    }

    #[test]
    fn a_single_value_is_itself_and_none_is_none() {
        let mut delays = DelayHistogram::default();
        assert_eq!((delays.mean_s(), delays.quantile_s(0.5)), (None, None));
        delays.merge(&DelayHistogram::default());
        assert_eq!(delays, DelayHistogram::default());
        for span in [Duration::ZERO, Duration::from_nanos(1_234_567_891), Duration::MAX / 4] {
            let mut delays = DelayHistogram::default();
            delays.record(span);
            assert_eq!(
                (delays.quantile_s(0.0), delays.quantile_s(1.0)),
                (Some(span.as_secs_f64()), Some(span.as_secs_f64()))
            );
        }
    }

    #[test]
    fn buckets_follow_one_another() {
        for at in 0..LAST_BUCKET {
            assert!(lowest(at) < lowest(at + 1) && bucket(lowest(at)) == at, "{at}");
        }
        assert_eq!((bucket(u64::MAX), bucket(0)), (LAST_BUCKET, 0));
    }
}
