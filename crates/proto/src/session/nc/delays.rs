//! A record of delays that is cheap to keep: exact sums, and a histogram of constant relative width.

use std::time::Duration;

/// Bits of a value that tell two buckets apart: 16 in each octave, so that a quantile is 3 % off at most.
const SUB_BITS: u32 = 4;
/// Microseconds up to 2^40: 12 days.
const BUCKETS: usize = ((40 - SUB_BITS as usize) + 1) << SUB_BITS;

/// Delays, recorded one by one in constant time and memory.
#[derive(Clone, Debug)]
pub struct Delays {
    count: u64,
    sum_nanos: u128,
    max: Duration,
    buckets: Box<[u64; BUCKETS]>,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays { count: 0, sum_nanos: 0, max: Duration::ZERO, buckets: Box::new([0; BUCKETS]) }
    }
}

impl Delays {
    /// Adds one.
    #[inline]
    pub fn record(&mut self, delay: Duration) {
        self.count += 1;
        self.sum_nanos += delay.as_nanos();
        self.max = self.max.max(delay);
        let micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        self.buckets[bucket(micros)] += 1;
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Delays) {
        self.count += other.count;
        self.sum_nanos += other.sum_nanos;
        self.max = self.max.max(other.max);
        self.buckets.iter_mut().zip(other.buckets.iter()).for_each(|(a, b)| *a += b);
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean, exact; None without any.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum_nanos.checked_div(u128::from(self.count))?;
        Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The longest; zero without any.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The delay that a share `q` (clamped to 0..=1) of them does not exceed, to 3 %; None without any.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let rank = ((q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        let at = self.buckets.iter().position(|n| {
            below += n;
            below >= rank
        })?;
        // The middle of what the bucket holds.
        let (low, high) = (lowest(at), lowest(at + 1));
        Some(Duration::from_nanos((low + high - 1) * 500).min(self.max))
    }
}

fn bucket(micros: u64) -> usize {
    let octave = (u64::BITS - micros.leading_zeros()).saturating_sub(SUB_BITS + 1);
    let at = ((octave as usize) << SUB_BITS) + (micros >> octave) as usize;
    at.min(BUCKETS - 1)
}

/// The lowest value, in microseconds, of a bucket.
fn lowest(at: usize) -> u64 {
    let octave = (at >> SUB_BITS).saturating_sub(1);
    ((at - (octave << SUB_BITS)) as u64) << octave
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    #[test]
    fn buckets_cover_all_values_in_order() {
        let mut last = 0;
        for micros in (0..5000).chain((13..40).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]))
        {
            let at = bucket(micros);
            assert!(lowest(at) <= micros && micros < lowest(at + 1), "{micros} in {at}");
            assert!(at >= last, "{micros}");
            last = at;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_close_and_means_exact() {
        let mut random = Seed::new(3).stream("delays");
        let mut all: Vec<Duration> =
            (0..20_000).map(|_| Duration::from_secs_f64(random.exponential(0.7))).collect();
        let (mut delays, mut half) = (Delays::default(), Delays::default());
        for (i, delay) in all.iter().enumerate() {
            if i % 2 == 0 { &mut delays } else { &mut half }.record(*delay);
        }
        delays.merge(&half);
        all.sort();
        assert_eq!((delays.count(), delays.max()), (20_000, all[19_999]));
        assert_eq!(delays.mean(), Some(all.iter().sum::<Duration>() / 20_000));
        for q in [0.0, 0.01, 0.5, 0.99, 1.0] {
            let exact = all[((q * 20_000.0) as usize).clamp(1, 20_000) - 1].as_secs_f64();
            let got = delays.quantile(q).unwrap().as_secs_f64();
            assert!((got - exact).abs() < 0.04 * exact + 2e-6, "{q}: {got} {exact}");
        }
        assert_eq!((Delays::default().quantile(0.5), Delays::default().mean()), (None, None));
    }
}
