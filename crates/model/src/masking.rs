//! The probability that r repairs *mask* the losses among n source packets: coding repairs all
//! these losses, and TCP sees no loss.
//!
//! A *flight* is the packets in flight: n source packets and r repairs. Packets are lost
//! independently with probability p, or in bursts. The flight can be decoded if no more source
//! packets are lost than repairs arrive. This assumes that each repair that arrives replaces one
//! lost source packet. Over GF(256), the assumption holds with probability close to 1.
//!
//! Paper 000, section VI-B, chooses the redundancy so that losses are masked with probability 0.8.
//! This module computes this probability for a flight of any size. The tunnel's redundancy rule
//! uses this module.

use crate::fec::gilbert::Gilbert;

/// The largest flight for which losses in bursts are computed exactly by the chain, packets. Larger
/// flights use the normal approximation. With twice the value, longer flights are exact and take
/// more time.
const CHAIN_UP_TO: u32 = 512;
/// The largest number of spare repairs (r - d in [`unmasked_probability`]) for which the
/// probability is summed exactly. The sum has one term more than this number. With twice the value,
/// more flights are exact, and the largest sum takes twice the time.
const EXACT_UP_TO: u32 = 64;

/// The probability that the repairs of a flight do *not* replace all lost packets:
/// P(d + Bin(n, p) - Bin(r, 1 - p) > 0).
///
/// The flight has `n` source packets and `r` repairs. d = `deficit` is the number of repairs that
/// earlier losses still need. Each packet of the flight is lost with probability `p` (clamped to
/// 0..=1).
///
/// The result is exact for r - d <= 64. For larger r - d, the result is the normal approximation
/// with continuity correction. The error of this approximation is below 0.01 for p from 5 % to 60 %
/// (tested).
pub fn unmasked_probability(deficit: u32, n: u32, r: u32, p: f64) -> f64 {
    let p = if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) };
    // Source packets and repairs are lost with the same probability. So the flight decodes if at
    // most r - d of its n + r packets are lost.
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

/// [`unmasked_probability`] for losses in bursts of `burst` packets on average. The losses follow a
/// two-state Markov chain ([`Gilbert`]), and the flight begins at a random position of the chain.
///
/// The result is exact for n + r <= 512. For larger flights, the result is the normal approximation
/// with the chain's variance. Independent losses have bursts of 1/(1-p) packets on average. A
/// `burst` of at most this length counts as independent losses.
pub fn unmasked_in_runs(deficit: u32, n: u32, r: u32, p: f64, burst: f64) -> f64 {
    let stay_bad = 1.0 - 1.0 / burst.max(1.0);
    // If `stay_bad` were below p, a loss would be less likely after a loss than otherwise, or the
    // chain would not exist.
    if !(p > 0.0 && p < 1.0) || stay_bad <= p || stay_bad.is_nan() {
        return unmasked_probability(deficit, n, r, p);
    }
    let Some(spare) = r.checked_sub(deficit) else { return 1.0 };
    let (total, needed) = (n.saturating_add(r), n.saturating_add(deficit));
    if needed == 0 {
        return 0.0;
    }
    if total <= CHAIN_UP_TO {
        return Gilbert { loss: p, stay_bad }.block_loss(total, needed).unwrap_or(1.0);
    }
    let memory = stay_bad - p * (1.0 - stay_bad) / (1.0 - p);
    let packets = f64::from(total);
    let variance = packets * p * (1.0 - p) * (1.0 + memory) / (1.0 - memory);
    normal_cdf((packets * p - f64::from(spare) - 0.5) / variance.sqrt())
}

/// P(Bin(total, p) > spare).
fn exact(total: f64, spare: u32, p: f64) -> f64 {
    // The first term underflows only if far more losses are expected than `spare`. Then the result
    // is 1, as it should be.
    let mut term = libm::exp(total * libm::log1p(-p));
    let mut masked = term;
    for lost in 1..=spare {
        let lost = f64::from(lost);
        term *= (total - lost + 1.0) / lost * p / (1.0 - p);
        masked += term;
    }
    (1.0 - masked).clamp(0.0, 1.0)
}

/// The distribution function of the standard normal distribution.
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
                        assert!((got - want).abs() < 1e-9, "d {d} n {n} r {r} p {p}: {got}, not {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn runs_of_losses_are_the_chain_packet_by_packet() {
        for (p, burst) in [(0.05, 4.0), (0.3, 10.0), (0.01, 20.0)] {
            let (stay, start) = (1.0 - 1.0 / burst, p / burst / (1.0 - p));
            for (deficit, n, r) in [(0, 10, 4), (0, 1, 30), (3, 40, 25), (2, 0, 9), (0, 200, 120)] {
                // Probabilities of the stationary chain, by the number of lost packets and by
                // whether the last packet was lost.
                let mut at = vec![[0.0; 2]; (n + r) as usize + 2];
                at[0] = [1.0 - p, p];
                for _ in 0..n + r {
                    let mut next = vec![[0.0; 2]; at.len()];
                    for (lost, from) in at.iter().enumerate().take(at.len() - 1) {
                        next[lost][0] += from[0] * (1.0 - start) + from[1] * (1.0 - stay);
                        next[lost + 1][1] += from[0] * start + from[1] * stay;
                    }
                    at = next;
                }
                let want: f64 = at.iter().skip((r - deficit) as usize + 1).map(|ends| ends[0] + ends[1]).sum();
                let got = unmasked_in_runs(deficit, n, r, p, burst);
                assert!((got - want).abs() < 1e-9, "p {p} burst {burst} d {deficit} n {n} r {r}: {got}, not {want}");
            }
        }
    }

    #[test]
    fn runs_as_short_as_by_chance_are_independent_losses() {
        for (p, burst) in [(0.05, 1.0), (0.2, 1.25), (0.2, 0.0), (0.3, f64::NAN), (0.0, 9.0), (1.0, 9.0)] {
            for (deficit, n, r) in [(0, 10, 4), (1, 300, 90)] {
                let want = unmasked_probability(deficit, n, r, p);
                assert_eq!(
                    unmasked_in_runs(deficit, n, r, p, burst),
                    want,
                    "p {p} burst {burst}: not as independent losses"
                );
            }
        }
        assert_eq!(unmasked_in_runs(5, 10, 4, 0.1, 9.0), 1.0);
        assert_eq!(unmasked_in_runs(0, 0, 4, 0.1, 9.0), 0.0);
    }

    #[test]
    fn longer_flights_in_runs_join_the_exact_ones() {
        for (p, burst) in [(0.05, 4.0), (0.3, 10.0)] {
            for spare in [30, 60, 180, 220] {
                let [exact, normal] = [512, 513].map(|all| unmasked_in_runs(0, all - spare, spare, p, burst));
                assert!(
                    (exact - normal).abs() < 0.05,
                    "p {p} burst {burst} spare {spare}: exact {exact}, approximated {normal}"
                );
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
                    assert!((got - want).abs() < 0.01, "n {n} r {r} p {p}: {got}, not {want}");
                }
            }
        }
    }

    #[test]
    fn total_over_the_whole_range() {
        for p in [f64::NAN, -1.0, 0.0, 1e-300, 0.5, 1.0, 2.0, f64::INFINITY] {
            for (d, n, r) in [(0, 0, 0), (0, 0, 9), (9, 1, 0), (1, u32::MAX / 4, u32::MAX / 4)] {
                for burst in [1.0, 7.0, 1e9, f64::INFINITY] {
                    for q in [unmasked_probability(d, n, r, p), unmasked_in_runs(d, n, r, p, burst)] {
                        assert!(
                            (0.0..=1.0).contains(&q),
                            "d {d} n {n} r {r} p {p} burst {burst}: {q} is not a probability"
                        );
                    }
                }
            }
        }
    }
}
