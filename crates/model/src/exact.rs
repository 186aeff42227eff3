//! Integers of any size. Tests use these integers to compute without the rounding errors of the
//! code under test.

use num_bigint::BigUint;

/// An integer of any size.
pub(crate) type Exact = BigUint;

/// The binomial coefficient n over k.
pub(crate) fn choose(n: u32, k: u32) -> Exact {
    (0..k).fold(Exact::from(1u64), |c, i| c * (n - i) / (i + 1))
}

/// `top` / `bottom` as a double. The quotient is computed to about 120 bits, and its highest 64
/// bits are rounded to a double.
pub(crate) fn ratio(top: &Exact, bottom: &Exact) -> f64 {
    let shift = (bottom.bits() + 120).saturating_sub(top.bits());
    let quotient: Exact = (top << shift) / bottom;
    let keep = quotient.bits().saturating_sub(64);
    let digits = (&quotient >> keep).iter_u64_digits().next().unwrap_or(0) as f64;
    libm::ldexp(digits, keep as i32 - shift as i32)
}
