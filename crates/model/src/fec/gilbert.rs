//! The loss probability of a block if units are lost in bursts (paper 003, sections 2.1 and 5): by
//! equation (7), and exactly by a Markov chain.
//!
//! A block has N units, of which any K suffice to decode; R = N - K. The chain has two states: a
//! unit is lost in the Bad state and arrives in the Good state. The chain is in the Bad state for a
//! share L of the units, and stays there with probability q. From the Good state it goes to the Bad
//! state with probability p = L (1-q) / (1-L).
//!
//! Equation (7) assumes that only a single burst of more than R units loses a packet. The paper
//! justifies this by its assumption 2: (1-q) L N << 1.
//!
//! The assumption does not hold if bursts are short. At q = 0.01 and L = 0.01, for example, the
//! left side is 0.2 for N = 21. At these values, several short bursts in one block matter. With
//! equation (7), the throughput at N = 21, K = 20 is three times too high.
//!
//! The exact result needs no more work. A block is lost if more than R units are lost before the
//! K-th unit arrives. A burst precedes each good unit with probability p, and burst lengths have a
//! geometric distribution. So the probability is a sum of negative binomial tails, one for each
//! number of bursts, with binomial weights.
//!
//! T is the mean number of packets between two loss events. A burst of lost packets is one event.

use crate::domain::{DomainError, at_least, require, share};
use crate::special::{Tail, binomial, incomplete_beta};
use std::ops::Range;

/// Losses of units in bursts, with the paper's two parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gilbert {
    /// L: the share of units that are lost, less than 1.
    pub loss: f64,
    /// q: the probability that the unit after a lost unit is lost too, less than 1. At q = L,
    /// losses are independent.
    pub stay_bad: f64,
}

/// Whether the loss chain connects one packet of TCP with the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketSpacing {
    /// Packets are far apart: the unit before a packet is lost with probability L, whether or not
    /// the packet before was lost (the paper's assumption 1).
    #[default]
    Independent,
    /// Packets follow each other directly: a burst may reach from one packet into the next.
    BackToBack,
}

/// The largest number of units N in a block that is computed exactly. The work grows with N, so
/// twice the value can take twice the time.
pub const LARGEST_BLOCK: u32 = 1 << 20;

impl Gilbert {
    /// p: the probability that the unit after a unit that arrived is lost: L (1-q) / (1-L), from
    /// equation (2).
    ///
    /// # Errors
    /// L or q is below 0, or is 1 or more. It is also an error if p exceeds 1: a loss L above one
    /// half needs q >= 2 - 1/L.
    pub fn become_bad(&self) -> Result<f64, DomainError> {
        let (l, q) = (self.loss, self.stay_bad);
        require((0.0..1.0).contains(&l), "the loss probability of a unit", l, "at least 0 and less than 1")?;
        require((0.0..1.0).contains(&q), "the probability to stay bad", q, "at least 0 and less than 1")?;
        let p = l * (1.0 - q) / (1.0 - l);
        require(p <= 1.0 + 1e-12, "the probability to stay bad", q, "at least 2 - 1/L for a loss L above one half")?;
        Ok(p.min(1.0))
    }

    /// 1/T by equation (7): q^(N-K) L ((1-q) K + q), the loss events for each packet. A packet is
    /// one block. The value can exceed 1, because the paper replaces 1 - (1-p)^K by K p.
    ///
    /// # Errors
    /// An argument is outside its domain.
    pub fn single_burst(&self, n: f64, k: u32) -> Result<f64, DomainError> {
        self.become_bad()?;
        at_least("the number of units K", k, 1, "1 or more")?;
        let least = f64::from(k);
        require(n >= least && n.is_finite(), "the number of units N", n, "at least K, and finite")?;
        let q = self.stay_bad;
        Ok(libm::pow(q, n - least) * self.loss * ((1.0 - q) * least + q))
    }

    /// 1/T, exactly by the chain: loss events for each good packet. A packet has `blocks` blocks,
    /// and is good if each block has at least K good units. A burst of lost packets is one event.
    ///
    /// # Errors
    /// An argument is outside its domain, or N is above [`LARGEST_BLOCK`]. If a packet has several
    /// blocks, it is also an error if N x min(K, N-K+1) is above 2^24.
    pub fn exact(&self, n: u32, k: u32, blocks: u32, spacing: PacketSpacing) -> Result<f64, DomainError> {
        let p = self.become_bad()?;
        at_least("the number of units K", k, 1, "1 or more")?;
        at_least("the number of units N", n, k, "at least K")?;
        at_least("the number of blocks in a packet", blocks, 1, "1 or more")?;
        require(n <= LARGEST_BLOCK, "the number of units N", f64::from(n), "at most 1048576")?;
        let good_before = 1.0 - self.loss;
        let chain = Chain { p, q: self.stay_bad };
        if blocks == 1 {
            if spacing == PacketSpacing::Independent {
                let (from_good, from_bad) = (chain.longer(n - k, k, 0), chain.longer(n - k + 1, k - 1, 1));
                return Ok(good_before * from_good + self.loss * from_bad);
            }
            let (from_good, from_bad) = (chain.after_good(n - k, k), chain.after_bad(n - k, k));
            // T is the mean number of good packets in a row. T is the share of good packets divided
            // by the share of good packets that a lost packet follows. The chain is reversible. So
            // the last unit of a good packet has the same distribution as its first.
            let last_good = good_before * chain.after_good(n - k, k - 1).is_not;
            let last_bad = if n == k { 0.0 } else { self.loss * chain.after_bad(n - k - 1, k).is_not };
            return Ok(ratio(
                last_good * from_good.is + last_bad * from_bad.is,
                good_before * from_good.is_not + self.loss * from_bad.is_not,
            ));
        }
        let work = u64::from(n) * u64::from(k.min(n - k + 1));
        require(work <= 1 << 24, "the size of the blocks N x min(K, N-K+1)", work as f64, "at most 2^24")?;
        let packet = chain.good_blocks(n, k, blocks);
        let lost = packet.map(|to| (1.0 - to[0] - to[1]).max(0.0));
        if spacing == PacketSpacing::Independent {
            return Ok(good_before * lost[0] + self.loss * lost[1]);
        }
        let last = [0, 1].map(|end| good_before * packet[0][end] + self.loss * packet[1][end]);
        Ok(ratio(last[0] * lost[0] + last[1] * lost[1], last[0] + last[1]))
    }

    /// The exact probability that a block is lost, for a block at a random position of the chain.
    /// Any K of the block's N units suffice.
    ///
    /// # Errors
    /// The same as for [`exact`](Gilbert::exact).
    pub fn block_loss(&self, n: u32, k: u32) -> Result<f64, DomainError> {
        self.exact(n, k, 1, PacketSpacing::Independent)
    }
}

/// The q of a chain whose bursts have the mean length `mean_burst`, units: q = 1 - 1/length (paper
/// 003, equation (1)).
///
/// # Errors
/// The length is below 1 or not finite.
pub fn stay_bad_of(mean_burst: f64) -> Result<f64, DomainError> {
    require(mean_burst >= 1.0 && mean_burst.is_finite(), "the mean burst length in units", mean_burst, "1 or more")?;
    Ok(1.0 - 1.0 / mean_burst)
}

/// Independent losses as a Gilbert chain: q = L.
///
/// # Errors
/// The loss is not at least 0 and less than 1.
pub fn memoryless(loss: f64) -> Result<Gilbert, DomainError> {
    share("the loss probability of a unit", loss)?;
    let losses = Gilbert { loss, stay_bad: loss };
    losses.become_bad().map(|_| losses)
}

/// Events divided by good packets. If no packet is good, every packet is an event.
fn ratio(events: f64, good: f64) -> f64 {
    if good > 0.0 { events / good } else { 1.0 }
}

/// The terms `range` of the binomial distribution of `n` trials with probability `p`. Each term is
/// computed from its neighbour nearer to the largest term.
fn binomial_terms(n: u32, p: f64, range: Range<u32>) -> Vec<f64> {
    let mut terms = vec![0.0; range.len()];
    if range.is_empty() {
        return terms;
    }
    let largest = libm::floor((f64::from(n) + 1.0) * p) as u32;
    let at = largest.clamp(range.start, range.end - 1);
    let (odds, place) = (p / (1.0 - p), (at - range.start) as usize);
    terms[place] = binomial(f64::from(n), f64::from(at), p);
    if terms[place] == 0.0 {
        return terms;
    }
    for k in place + 1..terms.len() {
        let below = f64::from(range.start) + k as f64 - 1.0;
        terms[k] = terms[k - 1] * ((f64::from(n) - below) / (below + 1.0) * odds);
    }
    for k in (0..place).rev() {
        let here = f64::from(range.start) + k as f64;
        terms[k] = terms[k + 1] * ((here + 1.0) / (f64::from(n) - here) / odds);
    }
    terms
}

/// The chain by its transition probabilities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    /// The probability to go from Good to Bad.
    pub(crate) p: f64,
    /// The probability to stay in Bad.
    pub(crate) q: f64,
}

impl Chain {
    /// The probability that more than `spare` units are lost before `k` units have arrived. The
    /// unit before the first of these units was good.
    pub(crate) fn after_good(self, spare: u32, k: u32) -> Tail {
        self.mixture(spare, k, 0)
    }

    /// As [`after_good`](Chain::after_good), but the unit before was lost. The burst of the lost
    /// unit may continue.
    pub(crate) fn after_bad(self, spare: u32, k: u32) -> Tail {
        if k == 0 { Tail { is: 0.0, is_not: 1.0 } } else { self.mixture(spare + 1, k - 1, 1) }
    }

    /// The probability that the bursts have more than `spare` units in total.
    ///
    /// A burst precedes each of `gaps` good units with probability p. `sure` more bursts occur for
    /// certain. Each burst has one unit or more, and each unit of a burst is the last unit with
    /// probability 1-q. Count how many of `spare` lost units are the last unit of a burst. The
    /// result is the probability that this count is less than the number of bursts.
    fn mixture(self, spare: u32, gaps: u32, sure: u32) -> Tail {
        Tail { is: self.longer(spare, gaps, sure), is_not: self.not_longer(spare, gaps, sure) }
    }

    /// The probability of [`mixture`](Chain::mixture) alone, without its complement.
    fn longer(self, spare: u32, gaps: u32, sure: u32) -> f64 {
        let (_, last) = self.bursts(gaps);
        let mean = f64::from(gaps) * self.p;
        let near = libm::ceil(mean + 10.0 * (mean * (1.0 - self.p)).sqrt() + 30.0).min(f64::from(last)) as u32;
        let (sum, weight) = self.longer_up_to(near, spare, gaps, sure);
        // Beyond the mean, each weight is smaller than the weight before. A term that is smaller than half a unit in the
        // last place of the sum does not change the sum.
        let all =
            if weight <= sum * (0.125 * f64::EPSILON) { sum } else { self.longer_up_to(last, spare, gaps, sure).0 };
        all.min(1.0)
    }

    /// The part of [`longer`](Chain::longer) with up to `most` bursts, and the weight of `most` bursts.
    fn longer_up_to(self, most: u32, spare: u32, gaps: u32, sure: u32) -> (f64, f64) {
        let (first, last) = self.bursts(gaps);
        let ends = self.ends(spare, first + sure, last + sure);
        let weights = binomial_terms(gaps, self.p, first..most + 1);
        // For each further burst, the loop below adds one term.
        let (mut sum, mut longer) = (0.0, self.fewer_ends(spare, first + sure).is);
        for (k, weight) in weights.iter().enumerate() {
            sum += weight * longer;
            longer = ends.get(k).map_or(1.0, |end| longer + end);
        }
        (sum, weights.last().copied().unwrap_or(0.0))
    }

    /// The complement of [`longer`](Chain::longer). It is computed from the largest number of bursts down, because the
    /// complement of the largest number is smallest. Then the loop only adds terms.
    fn not_longer(self, spare: u32, gaps: u32, sure: u32) -> f64 {
        let (first, last) = self.bursts(gaps);
        let ends = self.ends(spare, first + sure, last + sure);
        let weights = binomial_terms(gaps, self.p, first..last + 1);
        let (mut sum, mut shorter) = (0.0, self.fewer_ends(spare, last + sure).is_not);
        for (k, weight) in weights.iter().enumerate().rev() {
            // `shorter` holds the complement for one more burst. Add the term for this step, so
            // that it belongs to `first + k` bursts.
            if k + 1 < weights.len() {
                shorter += ends.get(k).copied().unwrap_or(0.0);
            }
            sum += weight * shorter;
        }
        sum.min(1.0)
    }

    /// The least and the largest number of bursts before `gaps` good units whose weight is not 0 as a double.
    fn bursts(self, gaps: u32) -> (u32, u32) {
        let n = f64::from(gaps);
        let mean = n * self.p;
        let width = 40.0 * (mean * (1.0 - self.p)).sqrt();
        let first = libm::floor((mean - width - 40.0).max(0.0)) as u32;
        (first, libm::ceil((mean + width + 400.0).min(n)) as u32)
    }

    /// P(Bin(spare, 1-q) < bursts) and its complement.
    fn fewer_ends(self, spare: u32, bursts: u32) -> Tail {
        match bursts {
            0 => Tail { is: 0.0, is_not: 1.0 },
            all if all > spare => Tail { is: 1.0, is_not: 0.0 },
            all => incomplete_beta(f64::from(spare) - f64::from(all) + 1.0, f64::from(all), self.q),
        }
    }

    /// The terms of Bin(spare, 1-q) from `least` to `most`, but not beyond `spare`.
    fn ends(self, spare: u32, least: u32, most: u32) -> Vec<f64> {
        binomial_terms(spare, 1.0 - self.q, least..most.min(spare) + 1)
    }

    /// The probability that `blocks` blocks in a row are good. The first index is the state before
    /// the blocks. The second index is the state of the last unit of the blocks. 0 is Good, 1 is
    /// Bad.
    fn good_blocks(self, n: u32, k: u32, blocks: u32) -> [[f64; 2]; 2] {
        let block = [self.good_block(n, k, 0), self.good_block(n, k, 1)];
        let times = |a: [[f64; 2]; 2], b: [[f64; 2]; 2]| {
            a.map(|row| [row[0] * b[0][0] + row[1] * b[1][0], row[0] * b[0][1] + row[1] * b[1][1]])
        };
        let (mut result, mut square, mut left) = ([[1.0, 0.0], [0.0, 1.0]], block, blocks);
        while left > 0 {
            if left & 1 == 1 {
                result = times(result, square);
            }
            square = times(square, square);
            left >>= 1;
        }
        result
    }

    /// Computes one block, unit by unit, from `state`. The result is the probability that the block
    /// is good, for each state of its last unit.
    fn good_block(self, n: u32, k: u32, state: usize) -> [f64; 2] {
        let (k, spare) = (k as usize, (n - k) as usize);
        // Count losses up to R, or arrivals up to K, whichever is less. Arrivals after the K-th are
        // not counted.
        let (by_losses, most) = if spare < k { (true, spare) } else { (false, k) };
        let mut at = vec![[0.0f64; 2]; most + 1];
        at[0][state] = 1.0;
        for _ in 0..n {
            let mut next = vec![[0.0f64; 2]; most + 1];
            for (count, from) in at.iter().enumerate() {
                let good = from[0] * (1.0 - self.p) + from[1] * (1.0 - self.q);
                let bad = from[0] * self.p + from[1] * self.q;
                if by_losses {
                    next[count][0] += good;
                    if count < most {
                        next[count + 1][1] += bad;
                    }
                } else {
                    next[(count + 1).min(most)][0] += good;
                    next[count][1] += bad;
                }
            }
            at = next;
        }
        if by_losses { at.iter().fold([0.0; 2], |sum, end| [sum[0] + end[0], sum[1] + end[1]]) } else { at[most] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fec::block::block_loss;
    use proptest::prelude::*;

    #[test]
    fn no_memory_is_the_binomial_law() {
        for (n, k, p) in [(20, 20, 0.01), (24, 20, 0.1), (13, 10, 0.45), (40, 7, 0.49)] {
            let losses = memoryless(p).unwrap();
            let want = block_loss(n, k, p).unwrap().is;
            for spacing in [PacketSpacing::Independent, PacketSpacing::BackToBack] {
                let got = losses.exact(n, k, 1, spacing).unwrap();
                assert!((got / want - 1.0).abs() < 1e-10, "N {n} K {k} p {p} {spacing:?}: {got}, not {want}");
            }
        }
        assert!(memoryless(1.0).is_err());
    }

    #[test]
    fn rare_losses_keep_their_digits() {
        // The block is lost by a single burst or by two. The probability is so small that its
        // complement is 1 as a double.
        let chain = Chain { p: 1e-12, q: 1e-3 };
        let got = chain.after_good(3, 5).is;
        // Lost units come in one burst of 4 or more, or in two with a total of 4 or more, and so
        // on. The sum over all numbers of bursts is exact except for rounding.
        let mut want = 0.0;
        for bursts in 1..=5u32 {
            let longer: f64 = (0..bursts.min(4)).map(|ends| binomial(3.0, f64::from(ends), 0.999)).sum();
            want += binomial(5.0, f64::from(bursts), 1e-12) * longer;
        }
        assert!((got / want - 1.0).abs() < 1e-12, "{got}, not {want}");
    }

    #[test]
    fn terms_far_above_the_mean_are_left_out_only_if_they_change_nothing() {
        let (mut short, mut whole) = (0, 0);
        for p in [1e-6, 1e-3, 0.02, 0.3] {
            for q in [0.05, 0.5, 0.95] {
                for spare in [0, 1, 5, 40, 200] {
                    for gaps in [1, 10, 150, 500, 3000] {
                        for sure in [0, 1] {
                            let chain = Chain { p, q };
                            let all = chain.longer_up_to(chain.bursts(gaps).1, spare, gaps, sure).0.min(1.0);
                            let got = chain.longer(spare, gaps, sure);
                            assert!(got == all, "p {p}, q {q}, {spare} spare, {gaps} gaps: {got} is not {all}");
                            *(if all > 1e-30 { &mut short } else { &mut whole }) += 1;
                        }
                    }
                }
            }
        }
        assert!(short > 100 && whole > 10, "{short} probable and {whole} improbable cases");
    }

    /// [`Chain::mixture`], with each term computed separately.
    fn slowly(chain: Chain, spare: u32, gaps: u32) -> Tail {
        let mut sum = Tail { is: 0.0, is_not: 0.0 };
        for bursts in 0..=gaps {
            let weight = binomial(f64::from(gaps), f64::from(bursts), chain.p);
            let longer = match bursts {
                0 => Tail { is: 0.0, is_not: 1.0 },
                all if all > spare => Tail { is: 1.0, is_not: 0.0 },
                all => incomplete_beta(f64::from(spare - all) + 1.0, f64::from(all), chain.q),
            };
            sum = Tail { is: sum.is + weight * longer.is, is_not: sum.is_not + weight * longer.is_not };
        }
        sum
    }

    #[test]
    fn terms_from_their_neighbours_keep_their_digits() {
        // `mixture` leaves out terms far from the mean, so values below 1e-150 are not compared.
        let close = |got: f64, want: f64| want < 1e-150 || (got / want - 1.0).abs() < 1e-9;
        for p in [0.0, 1e-9, 0.004, 0.3, 0.97, 1.0] {
            for q in [0.0, 0.02, 0.5, 0.98] {
                for (spare, gaps) in [(0, 1), (3, 200), (40, 200), (300, 200), (1000, 500), (2, 3000)] {
                    let chain = Chain { p, q };
                    let (got, want) = (chain.after_good(spare, gaps), slowly(chain, spare, gaps));
                    assert!(
                        close(got.is, want.is) && close(got.is_not, want.is_not),
                        "{chain:?} spare {spare} gaps {gaps}: {got:?}, not {want:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn bursts_and_errors() {
        assert_eq!(stay_bad_of(4.0), Ok(0.75));
        assert!(stay_bad_of(0.5).is_err() && stay_bad_of(f64::NAN).is_err());
        for (loss, stay_bad) in [(1.0, 0.5), (0.5, 1.0), (0.9, 0.1), (f64::NAN, 0.1), (0.1, f64::NAN), (-0.1, 0.2)] {
            assert!(Gilbert { loss, stay_bad }.become_bad().is_err(), "loss {loss}, q {stay_bad} must be refused");
        }
        assert!((Gilbert { loss: 0.75, stay_bad: 2.0 - 1.0 / 0.75 }.become_bad().unwrap() - 1.0).abs() < 1e-12);
        let losses = Gilbert { loss: 0.01, stay_bad: 0.5 };
        assert!(losses.exact(19, 20, 1, PacketSpacing::Independent).is_err());
        assert!(losses.exact(u32::MAX, 20, 1, PacketSpacing::Independent).is_err());
        assert!(losses.exact(21, 20, 0, PacketSpacing::Independent).is_err());
        assert!(losses.single_burst(f64::NAN, 20).is_err() && losses.single_burst(20.0, 0).is_err());
        // q = 0: no burst is longer than a unit. So by equation (7) one redundant unit makes the
        // link clean. By the exact chain, one redundant unit is not enough.
        let single = Gilbert { loss: 0.01, stay_bad: 0.0 };
        assert_eq!((single.single_burst(21.0, 20), single.single_burst(20.0, 20)), (Ok(0.0), Ok(0.2)));
        assert!(single.exact(21, 20, 1, PacketSpacing::Independent).unwrap() > 0.01);
    }

    proptest! {
        #[test]
        fn the_mixture_is_the_chain_unit_by_unit(
            k in 1u32..40, spare in 0u32..40, p in 0.0f64..=1.0, q in 0.0f64..1.0,
        ) {
            let chain = Chain { p, q };
            for (state, got) in [chain.after_good(spare, k), chain.after_bad(spare, k)].into_iter().enumerate() {
                let [end_good, end_bad] = chain.good_block(k + spare, k, state);
                prop_assert!((got.is_not - end_good - end_bad).abs() < 1e-12, "{chain:?}: {got:?} is not the sum unit by unit");
                prop_assert!((got.is + got.is_not - 1.0).abs() < 1e-12);
            }
        }

        #[test]
        fn one_block_is_one_of_many(
            k in 1u32..30, spare in 0u32..30, loss in 0.001f64..0.5, q in 0.0f64..0.99,
        ) {
            let losses = Gilbert { loss, stay_bad: q };
            for spacing in [PacketSpacing::Independent, PacketSpacing::BackToBack] {
                let one = losses.exact(k + spare, k, 1, spacing).unwrap();
                let chain = Chain { p: losses.become_bad().unwrap(), q };
                let packet = chain.good_blocks(k + spare, k, 1);
                let lost = packet.map(|to| 1.0 - to[0] - to[1]);
                let last = [0, 1].map(|end| (1.0 - loss) * packet[0][end] + loss * packet[1][end]);
                let many = match spacing {
                    PacketSpacing::Independent => (1.0 - loss) * lost[0] + loss * lost[1],
                    PacketSpacing::BackToBack => (last[0] * lost[0] + last[1] * lost[1]) / (last[0] + last[1]),
                };
                prop_assert!((one - many).abs() < 1e-11, "{losses:?} {spacing:?}: one block gives {one}, many give {many}");
                // A longer packet is lost more often.
                let three = losses.exact(k + spare, k, 3, PacketSpacing::Independent).unwrap();
                prop_assert!(three >= losses.exact(k + spare, k, 1, PacketSpacing::Independent).unwrap() - 1e-11);
            }
        }
    }
}
