//! The redundancy that TCP/NC needs (paper 000, section VI-B), and the share of a link that it can
//! use (section VI-C).
//!
//! TCP/NC sends R W coded packets for a window of W packets, where R is the redundancy. Any W of
//! the coded packets suffice to decode the window. If W coded packets arrive, coding *masks* the
//! losses: TCP does not see the losses. The paper requires that at most W (R - 1) of the R W
//! packets are lost, with a probability of at least 0.8.
//!
//! The paper does not say how R W and W (R - 1) are rounded if they are not integers. So
//! [`RedundancyRounding`] offers four readings. In every reading, one value of the incomplete beta
//! function gives the probability.

use crate::domain::{DomainError, at_least, positive, require, share};
use crate::special::incomplete_beta;

/// How the number of packets sent, R W, and the largest number of losses, W (R - 1), are rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedundancyRounding {
    /// Round both numbers up. This gives three of the four R in table I (1.03, 1.09, 1.13). The
    /// fourth becomes 1.27 instead of the printed 1.29.
    #[default]
    Ceil,
    /// Round both numbers down. This gives 1.04, 1.10, 1.14, and the 1.28 of the paper's text.
    Floor,
    /// Do not round: the incomplete beta function accepts real arguments. This gives 1.03, 1.09,
    /// 1.14 and 1.28.
    Continuous,
    /// Round W (R - 1) down, and do not round R W. The paper's sum then runs over whole numbers of
    /// losses, and gamma functions extend its binomial coefficients to a real R W. The probability
    /// can fall where R rises.
    Gamma,
}

/// The number of steps into which [`redundancy`] divides each unit of R. The function tries R in
/// hundredths, as in the paper. With half the value, R is a multiple of 0.02, and up to 0.01
/// larger.
const STEPS: f64 = 100.0;

/// The largest R that [`redundancy`] tries, to bound the search. Losses that need a larger R are an
/// error. Half the value refuses more loss probabilities close to 1.
pub const LARGEST_REDUNDANCY: f64 = 1000.0;

/// The probability that coding masks the losses of a window (paper 000, section VI-B).
///
/// R W packets are sent for a window of W = `window`, and each is lost with probability `loss`,
/// independently. The losses are masked if at most W (R - 1) packets are lost.
///
/// # Errors
/// An argument is outside its domain: the loss is 0 to 1, the window is at least 1, and R is 1 to
/// 1e9.
pub fn mask_probability(
    loss: f64,
    window: u32,
    redundancy: f64,
    rounding: RedundancyRounding,
) -> Result<f64, DomainError> {
    share("the loss probability", loss)?;
    at_least("the window in packets", window, 1, "1 or more")?;
    require((1.0..=1e9).contains(&redundancy), "the redundancy R", redundancy, "1 to 1e9")?;
    Ok(masked(loss, f64::from(window), redundancy, rounding))
}

/// The smallest redundancy R, in steps of 0.01 from 1, that masks the losses of a window with a
/// probability of at least `target`. The paper uses a target of 0.8.
///
/// # Errors
/// An argument is outside its domain, or the loss needs more than [`LARGEST_REDUNDANCY`].
pub fn redundancy(loss: f64, window: u32, target: f64, rounding: RedundancyRounding) -> Result<f64, DomainError> {
    share("the loss probability", loss)?;
    at_least("the window in packets", window, 1, "1 or more")?;
    require((0.0..1.0).contains(&target), "the target probability", target, "at least 0 and less than 1")?;
    let w = f64::from(window);
    // The quotient of two integers is the double nearest to the decimal number. The sum 1.0 + 0.14
    // is not the double nearest to 1.14.
    let at = |step: u32| (STEPS + f64::from(step)) / STEPS;
    let enough = |step: u32| masked(loss, w, at(step), rounding) >= target;
    let last = (STEPS * (LARGEST_REDUNDANCY - 1.0)) as u32;
    // Bisection needs a probability that rises with R. In every reading but Gamma, exactly W
    // packets must arrive: R W - W (R - 1) is W, also after rounding. A larger R only sends more
    // packets, so the probability rises. In Gamma, W plus a fraction must arrive, and the fraction
    // changes with R. So the bisection uses Ceil instead of Gamma.
    let bound = if rounding == RedundancyRounding::Gamma { RedundancyRounding::Ceil } else { rounding };
    let below = |step: u32| masked(loss, w, at(step), bound) < target;
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = low.midpoint(high);
        if below(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    // Gamma's probability is at most Ceil's, so Gamma needs at least as many steps. The two
    // probabilities are equal where W (R - 1) is an integer, as at the next integer R, at most 100
    // steps away. So Gamma needs at most 100 steps more.
    let first = (low..=last).take(101).find(|&step| enough(step));
    first.map(at).ok_or(DomainError {
        what: "the loss probability",
        given: loss,
        domain: "small enough for a redundancy of at most 1000",
    })
}

/// The rate that all coded flows of a link can use together: min{C (1-p), C / R} (paper 000,
/// section VI-C), in the unit of `rate`.
///
/// C = `rate` is the link's rate, p = `loss` its loss probability, and R = `redundancy`.
///
/// # Errors
/// An argument is outside its domain.
pub fn achievable(rate: f64, loss: f64, redundancy: f64) -> Result<f64, DomainError> {
    positive("the rate", rate)?;
    share("the loss probability", loss)?;
    require(redundancy >= 1.0 && redundancy.is_finite(), "the redundancy R", redundancy, "1 or more")?;
    Ok((rate * (1.0 - loss)).min(rate / redundancy))
}

/// [`mask_probability`] without checks of the arguments.
fn masked(p: f64, w: f64, r: f64, rounding: RedundancyRounding) -> f64 {
    // As doubles, 50 * 1.12 is not 56. A product this close to an integer counts as that integer.
    let exact = |x: f64| if (x - libm::round(x)).abs() < 1e-9 * x.max(1.0) { libm::round(x) } else { x };
    let (packets, losses) = (exact(w * r), exact(w * (r - 1.0)));
    let (packets, losses) = match rounding {
        RedundancyRounding::Ceil => (libm::ceil(packets), libm::ceil(losses)),
        RedundancyRounding::Floor => (libm::floor(packets), libm::floor(losses)),
        RedundancyRounding::Continuous => (packets, losses),
        RedundancyRounding::Gamma => (packets, libm::floor(losses)),
    };
    // P(Bin(n, p) <= k) = I_(1-p)(n - k, k + 1), with n packets and k losses. I is the regularised
    // incomplete beta function. For an integer k, the paper's sum with gamma functions has the same
    // value at a real n.
    incomplete_beta(packets - losses, losses + 1.0, 1.0 - p).is
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prediction::path_loss;
    use proptest::prelude::*;

    const ALL: [RedundancyRounding; 4] = [
        RedundancyRounding::Floor,
        RedundancyRounding::Ceil,
        RedundancyRounding::Gamma,
        RedundancyRounding::Continuous,
    ];

    #[test]
    fn masking_probabilities_of_table_i() {
        // The values are computed independently for a window of 50, in the order floor, ceil,
        // gamma, beta.
        for (q, r, want) in [
            (0.005, 1.03, [0.7312, 0.9155, 0.7275, 0.8443]),
            (0.015, 1.09, [0.7909, 0.8978, 0.7856, 0.8517]),
            (0.025, 1.13, [0.7077, 0.8205, 0.6999, 0.7686]),
            (0.05, 1.29, [0.8039, 0.8631, 0.7951, 0.8354]),
            (0.05, 1.28, [0.8039; 4]),
        ] {
            let p = path_loss(q, 4).unwrap();
            for (rounding, want) in ALL.into_iter().zip(want) {
                let got = mask_probability(p, 50, r, rounding).unwrap();
                assert!((got - want).abs() <= 5.1e-5, "q {q} R {r} {rounding:?}: {got}, not {want}");
            }
        }
        // Fig. 12: the jump between 1.11 and 1.12 belongs to the floor reading.
        let p = path_loss(0.025, 4).unwrap();
        for (rounding, want) in
            [(RedundancyRounding::Floor, [0.5614, 0.7077]), (RedundancyRounding::Ceil, [0.7077, 0.7077])]
        {
            for (r, want) in [1.11, 1.12].into_iter().zip(want) {
                assert!((mask_probability(p, 50, r, rounding).unwrap() - want).abs() <= 5.1e-5);
            }
        }
    }

    #[test]
    fn chosen_redundancy() {
        for (q, want) in [
            (0.005, [1.04, 1.03, 1.04, 1.03]),
            (0.015, [1.10, 1.09, 1.10, 1.09]),
            (0.025, [1.14, 1.13, 1.14, 1.14]),
            (0.05, [1.28, 1.27, 1.28, 1.28]),
        ] {
            let p = path_loss(q, 4).unwrap();
            for (rounding, want) in ALL.into_iter().zip(want) {
                assert_eq!(redundancy(p, 50, 0.8, rounding), Ok(want), "q {q} {rounding:?}: wrong redundancy");
            }
        }
        assert_eq!(redundancy(0.0, 50, 0.8, RedundancyRounding::Ceil), Ok(1.0));
        assert!(
            redundancy(1.0, 50, 0.8, RedundancyRounding::Ceil).unwrap_err().to_string().contains("loss probability")
        );
        assert_eq!(mask_probability(1.0, 50, 1.3, RedundancyRounding::Floor), Ok(0.0));
        assert_eq!(mask_probability(0.0, 50, 1.0, RedundancyRounding::Gamma), Ok(1.0));
    }

    #[test]
    fn gamma_is_the_printed_sum() {
        // The sum of section VI-B with the binomial coefficient C(x, i) = x (x-1) ... (x-i+1) / i!,
        // which is defined for a real x.
        for (p, w, r) in [(0.1, 50u32, 1.13), (0.3, 17, 1.61), (0.02, 33, 1.05)] {
            let n: f64 = f64::from(w) * r;
            let (mut sum, mut term) = (0.0, libm::pow(1.0 - p, n));
            for x in 0..=(f64::from(w) * (r - 1.0)) as u32 {
                sum += term;
                term *= (n - f64::from(x)) / f64::from(x + 1) * p / (1.0 - p);
            }
            let got = mask_probability(p, w, r, RedundancyRounding::Gamma).unwrap();
            assert!((got / sum - 1.0).abs() < 1e-9, "p {p} W {w} R {r}: {got}, not {sum}");
        }
    }

    #[test]
    fn two_resources() {
        let p = path_loss(0.025, 4).unwrap();
        assert!((achievable(0.7, p, 1.2).unwrap() / 2.0 - 0.291667).abs() < 5e-7);
        assert!((achievable(0.9, p, 1.2).unwrap() - 0.75).abs() < 1e-12);
        assert!((achievable(2.0, 0.1, 1.0 / 0.9).unwrap() - 1.8).abs() < 1e-12);
        assert!(achievable(1.0, 0.1, 0.9).is_err());
    }

    proptest! {
        #[test]
        fn the_smallest_step_that_masks(
            p in 0.0f64..0.9, w in 1u32..2000, target in 0.0f64..0.99, i in 0usize..4,
        ) {
            let r = redundancy(p, w, target, ALL[i]).unwrap();
            prop_assert!(mask_probability(p, w, r, ALL[i]).unwrap() >= target);
            if r > 1.0 {
                prop_assert!(mask_probability(p, w, r - 0.01, ALL[i]).unwrap() < target);
            }
        }

        #[test]
        fn wild_input_is_an_error_or_a_probability(
            x in prop::array::uniform3(prop::sample::select(vec![
                f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-310, 1e-9, 0.5, 1.0, 1.3, 1e300,
            ])),
            w in prop::sample::select(vec![0, 1, 50, u32::MAX]), i in 0usize..4,
        ) {
            if let Ok(got) = mask_probability(x[0], w, x[1], ALL[i]) {
                prop_assert!((0.0..=1.0).contains(&got));
            }
            if let Ok(got) = redundancy(x[0], w, x[1], ALL[i]) {
                prop_assert!((1.0..=LARGEST_REDUNDANCY).contains(&got));
            }
            if let Ok(got) = achievable(x[0], x[1], x[2]) {
                prop_assert!(got >= 0.0);
            }
        }
    }
}
