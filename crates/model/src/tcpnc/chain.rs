//! The number of packets that a TCP/NC sender needs to open its window. The model is the Markov
//! chain of paper 000, fig. 6, whose state is the window.
//!
//! An acknowledged packet raises the window from W to W + 1/W; a lost packet leaves the window
//! unchanged. p is the loss probability of a packet. So the chain leaves each state after 1/(1-p)
//! packets on average, and the result is 1/(1-p) times the number of states. In the paper, these
//! means are the first row of the chain's fundamental matrix.

use crate::domain::{DomainError, require, share};

/// The expected number of packets sent until a window of `from` packets has grown to `to`. This is
/// the number of states below `to`, divided by 1 - p. The result is infinite at p = 1, and 0 if
/// `from` is not below `to`.
///
/// # Errors
/// The loss is outside 0 to 1, or a window is outside 1 to 1e150.
pub fn packets_to_reach(from: f64, to: f64, loss: f64) -> Result<f64, DomainError> {
    share("the loss probability", loss)?;
    let states = states_below(from, to)?;
    Ok(if states == 0.0 { 0.0 } else { states / (1.0 - loss) })
}

/// T_p(W) as printed, equation (18): W (W-1) / 2 / (1-p), with W = `to`. This is the number of
/// packets in which the window grows from 1 to W.
///
/// Equation (18) counts W - 1 rounds with a constant window in each. The chain has a few more
/// states below W: 1248 instead of 1225 at W = 50, and about (W^2 - 1)/2 + ln(W)/2 in general.
///
/// # Errors
/// The same as for [`packets_to_reach`].
pub fn packets_as_printed(to: f64, loss: f64) -> Result<f64, DomainError> {
    share("the loss probability", loss)?;
    window(to)?;
    Ok(if to == 1.0 { 0.0 } else { to * (to - 1.0) / 2.0 / (1.0 - loss) })
}

/// The number of states of the chain below `to`: the windows `from`, `from` + 1/`from`, and so on.
///
/// The first states are counted one by one. For the other states, let V = W^2. Each step adds 2 +
/// 1/V to V. So each step adds 1 to V/2 - ln(V)/4 + 1/(8 V), with an error of O(1/V^3).
///
/// # Errors
/// A window is outside 1 to 1e150.
pub fn states_below(from: f64, to: f64) -> Result<f64, DomainError> {
    window(from)?;
    window(to)?;
    // The number of states that are counted one by one. A smaller number is less exact, because the
    // formula for the other states has an error of O(1/V^3) a step. A larger number takes more
    // time.
    const ONE_BY_ONE: u32 = 20_000;
    let mut w = from;
    for states in 0..ONE_BY_ONE {
        if w >= to {
            return Ok(f64::from(states));
        }
        w += 1.0 / w;
    }
    let steps = |v: f64| v / 2.0 - libm::log(v) / 4.0 + 1.0 / (8.0 * v);
    Ok(f64::from(ONE_BY_ONE) + libm::ceil(steps(to * to) - steps(w * w)).max(0.0))
}

/// Checks that a window is a number of packets within the domain.
fn window(packets: f64) -> Result<(), DomainError> {
    require((1.0..=1e150).contains(&packets), "the window in packets", packets, "1 to 1e150")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_the_chain() {
        for (w, states) in [(1.0, 0.0), (3.0, 4.0), (5.0, 12.0), (10.0, 49.0), (50.0, 1248.0), (90.0, 4048.0)] {
            assert_eq!(states_below(1.0, w), Ok(states), "wrong number of states below {w}");
        }
        // States beyond the first 20 000, which are not counted one by one.
        for (from, to) in [(1.0, 250.5), (1.0, 999.0), (7.3, 2500.0)] {
            let (mut w, mut states) = (from, 0.0);
            while w < to {
                w += 1.0 / w;
                states += 1.0;
            }
            assert_eq!(states_below(from, to), Ok(states), "wrong number of states from {from} to {to}");
        }
    }

    #[test]
    fn packets_until_the_window_is_open() {
        assert_eq!(packets_as_printed(50.0, 0.0), Ok(1225.0));
        assert_eq!(packets_to_reach(1.0, 50.0, 0.5), Ok(2496.0));
        // The ratio of equation (18): in either form, losses cost a factor 1/(1-p).
        let ratio = packets_as_printed(50.0, 0.2).unwrap() / packets_as_printed(50.0, 0.0).unwrap();
        assert!((ratio - 1.25).abs() < 1e-12);
        assert_eq!(packets_to_reach(1.0, 2.0, 1.0), Ok(f64::INFINITY));
        assert_eq!((packets_to_reach(9.0, 2.0, 1.0), packets_as_printed(1.0, 1.0)), (Ok(0.0), Ok(0.0)));
        for wrong in [f64::NAN, f64::INFINITY, 0.0, -3.0, 1e200] {
            assert!(packets_to_reach(1.0, wrong, 0.1).is_err() && packets_to_reach(wrong, 1.0, 0.1).is_err());
            assert!(packets_as_printed(wrong, 0.1).is_err());
        }
        assert!(packets_as_printed(2.0, 1.1).is_err() && packets_to_reach(1.0, 2.0, f64::NAN).is_err());
    }
}
