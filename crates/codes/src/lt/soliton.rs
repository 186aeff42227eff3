//! Luby's robust soliton distribution of degrees.

use super::{LtError, MAX_BLOCK};

/// The robust soliton distribution (Luby 2002, definition 11). Let R = c ln(K / delta) sqrt(K).
///
/// The weight of degree d is the sum of two parts. The first part is the ideal soliton
/// distribution: 1 / K for d = 1, and 1 / (d (d - 1)) for other d. The second part is R / (d K) for d
/// below the *spike*, and R ln(R / delta) / K at the spike (0 if this is negative). The spike is K / R,
/// rounded to an integer from 1 to K. The weights are divided by their sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RobustSoliton {
    c: f64,
    delta: f64,
}

impl Default for RobustSoliton {
    /// c = .1 and delta = .05. At K = 16 the overhead with elimination is 2.3 symbols; with delta = .5
    /// it is 2.9 symbols.
    fn default() -> RobustSoliton {
        RobustSoliton { c: 0.1, delta: 0.05 }
    }
}

impl RobustSoliton {
    /// The largest possible c. With c = 2, most symbols have degree 1 already, so larger values make
    /// no sense.
    pub const MAX_C: f64 = 10.0;
    /// The smallest possible delta. Smaller values change the distribution little: R grows with the
    /// logarithm of 1 / delta.
    pub const MIN_DELTA: f64 = 1e-6;

    /// The distribution with these parameters. `c` scales the expected number R of symbols that can
    /// be peeled at any time. `delta` is Luby's bound for the probability that peeling fails. The
    /// bound holds for large blocks. For small blocks, c = .1 with delta = .5 or .05 are good
    /// values.
    ///
    /// # Errors
    /// If `c` is not from 0 to [`Self::MAX_C`], or `delta` is not from [`Self::MIN_DELTA`] to 1.
    pub fn new(c: f64, delta: f64) -> Result<RobustSoliton, LtError> {
        if !(0.0..=RobustSoliton::MAX_C).contains(&c) {
            return Err(LtError::SolitonC(c));
        }
        if !(RobustSoliton::MIN_DELTA..=1.0).contains(&delta) {
            return Err(LtError::SolitonDelta(delta));
        }
        Ok(RobustSoliton { c, delta })
    }

    /// The parameter c.
    pub const fn c(self) -> f64 {
        self.c
    }

    /// The parameter delta.
    pub const fn delta(self) -> f64 {
        self.delta
    }

    /// For each degree, the probability that a symbol of a block of `k` symbols has at most this
    /// degree. Unit: 2^-32, rounded down. Entry 0 is for degree 1. Entries from `k` - 1 on are
    /// `u32::MAX`.
    pub(super) fn thresholds(self, k: usize) -> [u32; MAX_BLOCK] {
        let size = k as f64;
        let ripple = self.c * libm::log(size / self.delta) * libm::sqrt(size);
        let spike = libm::round(size / ripple).clamp(1.0, size);
        let weight = |d: usize| {
            let degree = d as f64;
            let ideal = if d == 1 { 1.0 / size } else { 1.0 / (degree * (degree - 1.0)) };
            let extra = if degree < spike {
                ripple / (degree * size)
            } else if degree == spike {
                ripple * libm::log(ripple / self.delta) / size
            } else {
                0.0
            };
            // The logarithm is negative if R is below delta.
            ideal + extra.max(0.0)
        };
        let total: f64 = (1..=k).map(weight).sum();
        let (mut thresholds, mut sum) = ([u32::MAX; MAX_BLOCK], 0.0);
        for (i, threshold) in thresholds.iter_mut().enumerate().take(k.saturating_sub(1)) {
            sum += weight(i + 1);
            // A float becomes the nearest integer towards 0, and the largest integer if too large.
            *threshold = (sum / total * 4_294_967_296.0) as u32;
        }
        thresholds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_rise_to_one() {
        for k in 1..=MAX_BLOCK {
            for (c, delta) in [(0.0, 1.0), (0.1, 0.5), (0.1, 0.05), (10.0, 1e-6)] {
                let thresholds = RobustSoliton::new(c, delta).unwrap().thresholds(k);
                assert!(thresholds.is_sorted(), "K = {k}: {thresholds:?}");
                assert_eq!(thresholds[k - 1], u32::MAX);
            }
        }
    }

    #[test]
    fn without_ripple_it_is_the_ideal_soliton() {
        let thresholds = RobustSoliton::new(0.0, 0.5).unwrap().thresholds(10);
        let probability = |d: usize| f64::from(thresholds[d - 1]) / 4_294_967_296.0;
        // 1/10 for degree 1, then 1 - 1/d in all for the degrees 2 to d.
        for d in 1..10 {
            let want = 0.1 + 1.0 - 1.0 / d as f64;
            assert!((probability(d) - want).abs() < 1e-9, "degree {d}: {}", probability(d));
        }
    }

    #[test]
    fn the_spike_is_where_luby_puts_it() {
        // K = 64, c = .1, delta = .5: R = .1 ln(128) 8 = 3.88, and K / R = 16.5.
        let thresholds = RobustSoliton::new(0.1, 0.5).unwrap().thresholds(64);
        let weight = |d: usize| thresholds[d - 1] - thresholds[d - 2];
        assert!(weight(16) > 5 * weight(15) && weight(16) > 5 * weight(17));
    }
}
