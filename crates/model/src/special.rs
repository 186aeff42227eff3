//! The binomial distribution for real arguments. No digits are lost in differences, and nothing
//! underflows unless the result itself does.
//!
//! [`incomplete_beta`] returns a probability together with its complement, so that the smaller of
//! the two keeps its digits. A probability of 1e-200 has as many correct digits as a probability of
//! 0.3.

use std::f64::consts::PI;

/// A probability and its complement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// The probability.
    pub is: f64,
    /// The complement of the probability.
    pub is_not: f64,
}

impl Tail {
    /// A probability of 0.
    const NEVER: Tail = Tail { is: 0.0, is_not: 1.0 };
    /// A probability of 1.
    const ALWAYS: Tail = Tail { is: 1.0, is_not: 0.0 };

    /// Swaps the probability and its complement.
    fn other(self) -> Tail {
        Tail { is: self.is_not, is_not: self.is }
    }
}

/// I_x(a, b), the regularised incomplete beta function, with its complement 1 - I_x(a, b) =
/// I_(1-x)(b, a). The smaller of the two has a relative error below 1e-12 if a and b are at least 1
/// and a + b is at most 1e6. (For binomial tails, a and b are at least 1.)
///
/// P(Bin(n, x) >= k) is I_x(k, n - k + 1). x is clamped to 0..=1. I_x(a, b) is the distribution
/// function of the beta distribution. For a <= 0 this distribution has all its mass at 0, and I is
/// 1. For b <= 0 the distribution has all its mass at 1, and I is 0 for x below 1. A NaN counts as
///    0.
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> Tail {
    if a.is_nan() || a <= 0.0 || x >= 1.0 {
        return Tail::ALWAYS;
    }
    if b.is_nan() || b <= 0.0 || x.is_nan() || x <= 0.0 {
        return Tail::NEVER;
    }
    // The continued fraction converges quickly for x up to (a + 1) / (a + b + 2), which is close to
    // the mean of the beta distribution. For larger x, compute the complement I_(1-x)(b, a) and
    // swap.
    if x <= (a + 1.0) / (a + b + 2.0) {
        let tail = (power_term(a, b, x) * b / (a + b) * continued_fraction(a, b, x)).min(1.0);
        Tail { is: tail, is_not: 1.0 - tail }
    } else {
        let tail = (power_term(b, a, 1.0 - x) * a / (a + b) * continued_fraction(b, a, 1.0 - x)).min(1.0);
        Tail { is: tail, is_not: 1.0 - tail }.other()
    }
}

/// P(Bin(n, p) = k) for real n >= k >= 0, with the binomial coefficient by gamma functions (Loader
/// 2000). Outside this domain the result is 0.
pub fn binomial(n: f64, k: f64, p: f64) -> f64 {
    if !(k >= 0.0 && n >= k && (0.0..=1.0).contains(&p)) || n.is_infinite() {
        0.0
    } else if p == 0.0 || p == 1.0 {
        f64::from(u8::from(k == n * p))
    } else if k == 0.0 {
        libm::exp(n * libm::log1p(-p))
    } else if k == n {
        libm::exp(n * libm::log(p))
    } else {
        power_term(k, n - k, p).min(1.0)
    }
}

/// Gamma(a + b + 1) / (Gamma(a + 1) Gamma(b + 1)) x^a (1 - x)^b for positive a and b, by Loader's
/// saddle-point expansion.
fn power_term(a: f64, b: f64, x: f64) -> f64 {
    let n = a + b;
    let exponent =
        stirling_error(n) - stirling_error(a) - stirling_error(b) - deviance(a, n * x) - deviance(b, n * (1.0 - x));
    libm::exp(exponent) * (n / (2.0 * PI * a * b)).sqrt()
}

/// ln Gamma(n + 1) - ln(sqrt(2 pi n) (n / e)^n).
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        const HALF_LN_2_PI: f64 = 0.918_938_533_204_672_8;
        return libm::lgamma(n + 1.0) - (n + 0.5) * libm::log(n) + n - HALF_LN_2_PI;
    }
    let s = 1.0 / (n * n);
    (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / n
}

/// x ln(x / mean) + mean - x. The result is 0 at x = mean, and accurate near this point.
fn deviance(x: f64, mean: f64) -> f64 {
    let v = (x - mean) / (x + mean);
    if v.abs() >= 0.1 {
        if mean <= 0.0 {
            // The mean n x has underflowed to 0. Then x^a underflows too, for a from 1 on.
            return f64::INFINITY;
        }
        let ratio = x / mean;
        let ln = if ratio.is_normal() { libm::log(ratio) } else { libm::log(x) - libm::log(mean) };
        return x * ln + mean - x;
    }
    // x ln(x / mean) = 2 x (v + v^3 / 3 + ...). The first term of this series cancels against mean
    // - x, except for (x - mean) v.
    let (mut term, mut sum) = (2.0 * x * v, (x - mean) * v);
    for j in 1..1000 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// The continued fraction of the incomplete beta function (Lentz's method), for x left of the mean.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    // Lentz's method replaces a denominator of almost 0 by this value, so that no division by 0
    // happens.
    const TINY: f64 = 1e-300;
    // The largest number of terms. Near the mean the fraction takes at most about sqrt(a + b)
    // terms: 100 000 for a + b = 1e10. The limit is five times this number.
    const TERMS: u32 = 500_000;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let step = d * c;
        fraction *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{Exact, choose};
    use proptest::prelude::*;

    /// P(Bin(n, a / 2^s) >= k), computed as a sum of whole numbers with one division.
    fn summed(n: u32, k: u32, a: u64, s: u32) -> f64 {
        let (p, q) = (Exact::from(a), Exact::from((1u64 << s) - a));
        let mut sum = Exact::from(0u64);
        for i in k..=n {
            sum += choose(n, i) * p.pow(i) * q.pow(n - i);
        }
        crate::exact::ratio(&sum, &(Exact::from(1u64) << (s * n)))
    }

    #[test]
    fn tails_agree_with_sums_of_whole_numbers() {
        for (n, a, s) in [(1, 1, 1), (7, 3, 4), (20, 1, 6), (23, 655, 16), (60, 5, 3), (150, 1, 10), (300, 99, 7)] {
            let p = a as f64 / f64::from(1u32 << s);
            for k in (1..=n).step_by(1 + n as usize / 17) {
                let got = incomplete_beta(f64::from(k), f64::from(n - k + 1), p);
                let want = summed(n, k, a, s);
                if want < 1e-300 {
                    // A double does not have the digits for this value.
                    continue;
                }
                let lack = summed(n, n - k + 1, (1 << s) - a, s);
                assert!((got.is / want - 1.0).abs() < 1e-12, "n {n} k {k} p {p}: {}, not {want}", got.is);
                assert!(
                    (got.is_not / lack - 1.0).abs() < 1e-12,
                    "n {n} k {k} p {p}: complement {}, not {lack}",
                    got.is_not
                );
                let term = crate::exact::ratio(
                    &(choose(n, k) * Exact::from(a).pow(k) * Exact::from((1u64 << s) - a).pow(n - k)),
                    &(Exact::from(1u64) << (s * n)),
                );
                let got = binomial(f64::from(n), f64::from(k), p);
                assert!((got / term - 1.0).abs() < 1e-12, "n {n} k {k} p {p}: {got}, not {term}");
            }
        }
    }

    #[test]
    fn large_and_wild_arguments() {
        // The median of Bin(n, 1/2), by symmetry.
        for n in [11.0, 1001.0, 1e6 + 1.0, 1e9 + 1.0] {
            let half = incomplete_beta((n + 1.0) / 2.0, (n + 1.0) / 2.0, 0.5);
            assert!((half.is - 0.5).abs() < 1e-9, "n {n}: the median has probability {}", half.is);
        }
        for a in [f64::NAN, -1.0, 0.0, 1e-300, 1.0, 1e300, f64::INFINITY] {
            for b in [f64::NAN, -1.0, 0.0, 1e-300, 1.0, 1e10] {
                for x in [f64::NAN, -1.0, 0.0, 1e-320, 0.5, 1.0 - 1e-16, 1.0, 2.0] {
                    let tail = incomplete_beta(a, b, x);
                    assert!(
                        (0.0..=1.0).contains(&tail.is) && (0.0..=1.0).contains(&tail.is_not),
                        "a {a} b {b} x {x}: not a probability: {tail:?}"
                    );
                    assert!(
                        (0.0..=1.0).contains(&binomial(a, b, x)),
                        "n {a} k {b} p {x}: not a probability: {}",
                        binomial(a, b, x)
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn tails_are_complements_and_grow(a in 0.1f64..300.0, b in 0.1f64..300.0, x in 0.0f64..1.0, dx in 0.0f64..0.1) {
            let (one, two) = (incomplete_beta(a, b, x), incomplete_beta(b, a, 1.0 - x));
            prop_assert!((one.is - two.is_not).abs() <= 1e-11 && (one.is + one.is_not - 1.0).abs() < 1e-15);
            prop_assert!(incomplete_beta(a, b, (x + dx).min(1.0)).is >= one.is * (1.0 - 1e-12));
        }
    }
}
