//! The loss probability of a block of N units, of which any K suffice to decode. Units are lost
//! independently (paper 003, section 4.1).

use crate::domain::{DomainError, at_least, require, share};
use crate::special::{Tail, incomplete_beta};

/// P(N, K): the probability that a block is lost (paper 003, section 4.1).
///
/// A block is lost if fewer than K of its N units arrive. Each unit is lost with probability p =
/// `loss`. P(N, K) is the regularised incomplete beta function I_p(N-K+1, K). The result stays
/// accurate for any p and large N. The probability and its complement have full relative accuracy.
///
/// # Errors
/// The loss is outside 0 to 1, K = 0, or N < K.
pub fn block_loss(n: u32, k: u32, loss: f64) -> Result<Tail, DomainError> {
    at_least("the number of units N", n, k, "at least K")?;
    block_loss_at(f64::from(n), k, loss)
}

/// [`block_loss`] for a real N. The paper's figures and equation (4) need a real N.
///
/// # Errors
/// The same as for [`block_loss`].
pub fn block_loss_at(n: f64, k: u32, loss: f64) -> Result<Tail, DomainError> {
    share("the loss probability of a unit", loss)?;
    at_least("the number of units K", k, 1, "1 or more")?;
    require(n >= f64::from(k) && n.is_finite(), "the number of units N", n, "at least K, and finite")?;
    Ok(loss_of_block(n, f64::from(k), loss))
}

/// [`block_loss_at`] without checks of the arguments.
pub(super) fn loss_of_block(n: f64, k: f64, p: f64) -> Tail {
    incomplete_beta(n - k + 1.0, k, p)
}

/// 1 - (1 - P)^`blocks`: the probability that a packet is lost, because at least one of its blocks
/// is lost. P = `block` is the loss probability of a block.
pub(super) fn packet_of(blocks: u32, block: Tail) -> Tail {
    if blocks == 1 {
        return block;
    }
    let m = f64::from(blocks);
    // Compute ln(1 - P) from the smaller of P and 1 - P, which has more correct digits.
    let ln = if block.is < 0.5 { libm::log1p(-block.is) } else { libm::log(block.is_not) };
    Tail { is: -libm::expm1(m * ln), is_not: libm::exp(m * ln) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The paper's sum, with compensated addition.
    fn summed(n: u32, k: u32, p: f64) -> f64 {
        let (mut sum, mut lost) = (0.0, 0.0);
        for i in 0..k {
            let mut term = 1.0;
            for j in 0..i {
                term *= f64::from(n - j) / f64::from(j + 1) * (1.0 - p);
            }
            for _ in 0..n - i {
                term *= p;
            }
            let add = term - lost;
            let next: f64 = sum + add;
            lost = (next - sum) - add;
            sum = next;
        }
        sum
    }

    #[test]
    fn the_sum_of_the_paper() {
        for (n, k, p) in [(20, 20, 0.01), (21, 20, 0.01), (25, 20, 0.2), (40, 10, 0.5), (12, 10, 1e-4), (64, 48, 0.9)] {
            let (got, want) = (block_loss(n, k, p).unwrap().is, summed(n, k, p));
            assert!((got / want - 1.0).abs() < 1e-12, "N {n} K {k} p {p}: {got}, not {want}");
        }
        // N = K: 1 - (1-p)^K.
        for p in [1e-300, 1e-9, 0.1, 0.9] {
            let want = -libm::expm1(20.0 * libm::log1p(-p));
            assert!((block_loss(20, 20, p).unwrap().is / want - 1.0).abs() < 1e-13, "p {p}: not 1 - (1-p)^K");
        }
        for (p, want) in [(0.0, 0.0), (1.0, 1.0)] {
            assert_eq!(block_loss(30, 20, p).unwrap().is, want);
        }
        // The result underflows to 0 and stays a number.
        assert!(block_loss(u32::MAX, 1, 0.5).unwrap().is == 0.0 && block_loss(2000, 2, 1e-2).unwrap().is == 0.0);
        assert!((block_loss(u32::MAX, u32::MAX / 2 + 1, 0.5).unwrap().is - 0.5).abs() < 1e-4);
        assert!(block_loss(19, 20, 0.1).is_err() && block_loss(1, 0, 0.1).is_err());
        assert!(block_loss_at(f64::NAN, 1, 0.1).is_err() && block_loss(2, 1, f64::NAN).is_err());
    }

    #[test]
    fn packets_of_blocks() {
        for block in [Tail { is: 1e-18, is_not: 1.0 }, Tail { is: 0.3, is_not: 0.7 }, Tail { is: 1.0, is_not: 1e-18 }] {
            let packet = packet_of(3, block);
            let want = block.is * (3.0 - 3.0 * block.is + block.is * block.is);
            assert!((packet.is / want - 1.0).abs() < 1e-14, "wrong loss of a packet: {packet:?}");
            assert!(
                (packet.is_not / libm::pow(block.is_not, 3.0) - 1.0).abs() < 1e-13,
                "wrong complement of a packet's loss: {packet:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn falls_with_n_and_rises_with_p(
            k in 1u32..200, r in 0u32..200, p in 0.0f64..=1.0, x in 0.0f64..=1.0, frac in 0.0f64..1.0,
        ) {
            let one = block_loss(k + r, k, p).unwrap().is;
            let longer = block_loss(k + r + 1, k, p).unwrap().is;
            let between = block_loss_at(f64::from(k + r) + frac, k, p).unwrap().is;
            prop_assert!(longer <= between * (1.0 + 1e-12) && between <= one * (1.0 + 1e-12));
            let lossier = block_loss(k + r, k, p + x * (1.0 - p)).unwrap().is;
            prop_assert!(lossier >= one * (1.0 - 1e-12));
        }
    }
}
