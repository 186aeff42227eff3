//! Do r repairs mask the losses among n packets?
//!
//! Packets are lost independently with probability p. A flight of n source packets and r repairs
//! can be decoded when no more sources are lost than repairs arrive (any combination is innovative
//! with probability close to 1 over GF(256)). Paper 000 section VI-B chooses R so that losses are
//! masked with probability 0.8; this is the same question for a flight of any size.

/// With no more repairs to spare than this the sum is exact (it has so many terms and one).
const EXACT_UP_TO: u32 = 64;

/// P(d + Bin(n, p) - Bin(r, 1 - p) > 0): the probability that a flight of `n` sources and `r` repairs
/// does *not* make up for its own losses and for a `deficit` d from before, each packet lost with
/// probability `p` (clamped to 0..=1).
///
/// Exact for r - d <= 64; beyond, the normal approximation with continuity correction, whose error is
/// below 0.01 for p from 5 % to 60 % (tested).
pub fn unmasked_probability(deficit: u32, n: u32, r: u32, p: f64) -> f64 {
    let p = if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) };
    // Lost sources and lost repairs are both Bin(., p): the flight decodes when n + r of them lose
    // no more than r - d.
    let Some(spare) = r.checked_sub(deficit) else { return 1.0 };
    let total = f64::from(n) + f64::from(r);
    if total <= f64::from(spare) || p == 0.0 {
        0.0
    } else if p == 1.0 {
        1.0
    } else if spare <= EXACT_UP_TO {
        exact(total, spare, p)
    } else {
        let z = (total * p - f64::from(spare) - 0.5) / (total * p * (1.0 - p)).sqrt();
        normal_cdf(z)
    }
}

/// P(Bin(total, p) > spare).
fn exact(total: f64, spare: u32, p: f64) -> f64 {
    // Underflows only where the result is 1 anyway: many more losses expected than repairs.
    let mut term = libm::exp(total * libm::log1p(-p));
    let mut masked = term;
    for lost in 1..=spare {
        let lost = f64::from(lost);
        term *= (total - lost + 1.0) / lost * p / (1.0 - p);
        masked += term;
    }
    (1.0 - masked).clamp(0.0, 1.0)
}

/// The standard normal distribution function.
fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The double sum over lost sources and arrived repairs, term by term.
    fn by_definition(deficit: u32, n: u32, r: u32, p: f64) -> f64 {
        let binomial = |n: u32, k: u32, q: f64| {
            let mut c = 1.0;
            for i in 0..k {
                c *= f64::from(n - i) / f64::from(i + 1);
            }
            c * q.powi(k as i32) * (1.0 - q).powi((n - k) as i32)
        };
        let mut sum = 0.0;
        for lost in 0..=n {
            for arrived in 0..=r {
                if deficit + lost > arrived {
                    sum += binomial(n, lost, p) * binomial(r, arrived, 1.0 - p);
                }
            }
        }
        sum
    }

    #[test]
    fn small_flights_are_exact() {
        for p in [0.001, 0.05, 0.2, 0.6, 0.99] {
            for n in 0..20 {
                for r in 0..15 {
                    for d in [0, 1, 4] {
                        let (got, want) = (unmasked_probability(d, n, r, p), by_definition(d, n, r, p));
                        assert!((got - want).abs() < 1e-9, "d {d} n {n} r {r} p {p}: {got} {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn large_flights_are_close() {
        for p in [0.05, 0.2, 0.6] {
            for n in [41u32, 100, 170, 500, 1000] {
                for r in 65..n {
                    let want = exact(f64::from(n + r), r, p);
                    let got = unmasked_probability(0, n, r, p);
                    assert!((got - want).abs() < 0.01, "n {n} r {r} p {p}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn total_over_the_whole_range() {
        for p in [f64::NAN, -1.0, 0.0, 1e-300, 0.5, 1.0, 2.0, f64::INFINITY] {
            for (d, n, r) in [(0, 0, 0), (0, 0, 9), (9, 1, 0), (1, u32::MAX / 4, u32::MAX / 4)] {
                let q = unmasked_probability(d, n, r, p);
                assert!((0.0..=1.0).contains(&q), "{d} {n} {r} {p}: {q}");
            }
        }
    }
}
