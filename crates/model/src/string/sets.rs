//! Links that can be active together, and the load of each link if all links attempt at random
//! (paper 002, section III-B).
//!
//! Two links that disturb each other are *in conflict*. A set of links without conflicts is
//! *independent*: its links can be active together.
//!
//! While a set of links is active, every other link without a conflict waits for an exponential
//! back-off, and then becomes active too. Link i attempts at the rate beta_i, and its exchanges
//! take a mean time of 1/mu_i. The *attempt ratio* of link i is x_i = beta_i / mu_i.
//!
//! pi(A) is the share of time in which A is the set of active links. By equation (1), pi(A) is
//! proportional to the product of x_i over the links i of A. This is the *product form*. The *load*
//! of a link is the share of time in which it is active.

use crate::domain::{DomainError, EquationForm, at_least, not_negative, require};

/// Links and their conflicts. In a string of n nodes, link i leads from node i to node i+1. Link n
/// is the reverse link from node n to node n-1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts {
    /// For each link, the links in conflict with it, in ascending order.
    with: Vec<Vec<usize>>,
}

/// The largest number of independent sets that [`Conflicts::independent_sets`] lists. This limit
/// bounds memory and time. Twice the value doubles the memory and the time.
const MOST_SETS: usize = 1 << 18;

impl Conflicts {
    /// The conflicts of a string: its forward links, and the reverse link from the last node. On
    /// all other links back, acknowledgments ride on data and need no transmission. Transmitters up
    /// to `ranges[i]` hops away disturb node i.
    ///
    /// # Errors
    /// There are fewer than two nodes, or more than a million.
    pub fn of_string(ranges: &[u32]) -> Result<Conflicts, DomainError> {
        let nodes = ranges.len();
        require((2..=1_000_000).contains(&nodes), "the number of nodes", nodes as f64, "2 to 1000000")?;
        let mut links: Vec<(usize, usize)> = (0..nodes - 1).map(|i| (i, i + 1)).collect();
        links.push((nodes - 1, nodes - 2));
        // By the two constraints of section II-B, two links conflict if the transmitter of one link
        // disturbs the receiver of the other link.
        let disturbs =
            |transmitter: usize, receiver: usize| transmitter.abs_diff(receiver) <= ranges[receiver] as usize;
        let far = ranges.iter().fold(0, |far, k| far.max(*k)) as usize;
        let mut with = vec![Vec::new(); nodes];
        for i in 0..nodes {
            for j in i + 1..nodes.min(i.saturating_add(far).saturating_add(3)) {
                if disturbs(links[i].0, links[j].1) || disturbs(links[j].0, links[i].1) {
                    with[i].push(j);
                    with[j].push(i);
                }
            }
        }
        with.iter_mut().for_each(|links| links.sort_unstable());
        Ok(Conflicts { with })
    }

    /// The conflicts of all links of a string in both directions, with n = `nodes` nodes of range
    /// `k`. As in fig. 3, links 1 to n-1 lead forward, and links n to 2n-2 lead back from node n to
    /// node 1.
    ///
    /// For five nodes, the two constraints of the paper allow the set {4, 8}, which is {1, 5} with
    /// transmitters and receivers swapped. But the printed list of sets does not have {4, 8}. The
    /// list follows an additional rule: transmitters are more than k hops apart.
    /// [`EquationForm::AsPrinted`] adds this rule.
    ///
    /// # Errors
    /// There are fewer than two nodes, or more than 1000.
    pub fn of_both_ways(nodes: u32, k: u32, form: EquationForm) -> Result<Conflicts, DomainError> {
        require((2..=1000).contains(&nodes), "the number of nodes", f64::from(nodes), "2 to 1000")?;
        let forward = (1..nodes).map(|i| (i, i + 1));
        let links: Vec<(u32, u32)> = forward.chain((2..=nodes).rev().map(|i| (i, i - 1))).collect();
        let near = |a: u32, b: u32| a.abs_diff(b) <= k;
        let conflict = |a: (u32, u32), b: (u32, u32)| {
            near(a.0, b.1) || near(b.0, a.1) || (form == EquationForm::AsPrinted && near(a.0, b.0))
        };
        let all = 0..links.len();
        let with = all.clone().map(|i| all.clone().filter(|&j| j != i && conflict(links[i], links[j])).collect());
        Ok(Conflicts { with: with.collect() })
    }

    /// The number of links.
    pub fn links(&self) -> usize {
        self.with.len()
    }

    /// Whether two links, counted from 0, are in conflict.
    pub fn conflict(&self, a: usize, b: usize) -> bool {
        self.with.get(a).is_some_and(|with| with.binary_search(&b).is_ok())
    }

    /// All independent sets, with the empty set first. In each number, bit i is set if link i,
    /// counted from 0, belongs to the set.
    ///
    /// # Errors
    /// There are more than 64 links, or more than 262144 sets.
    pub fn independent_sets(&self) -> Result<Vec<u64>, DomainError> {
        require(self.links() <= 64, "the number of links", self.links() as f64, "at most 64")?;
        let mut sets = vec![0u64];
        for (link, with) in self.with.iter().enumerate() {
            let conflict = with.iter().fold(0u64, |bits, other| bits | 1 << other);
            for i in 0..sets.len() {
                if sets[i] & conflict == 0 {
                    require(
                        sets.len() < MOST_SETS,
                        "the number of independent sets",
                        sets.len() as f64,
                        "at most 262144",
                    )?;
                    sets.push(sets[i] | 1 << link);
                }
            }
        }
        Ok(sets)
    }

    /// The load of each link, rho_i in equations (3) and (4), for the attempt ratios x_i =
    /// `attempts`.
    ///
    /// # Errors
    /// There is not one x_i for each link, an x_i is negative or not finite, or there are too many
    /// sets.
    pub fn loads(&self, attempts: &[f64]) -> Result<Vec<f64>, DomainError> {
        let sets = self.independent_sets()?;
        let law = self.law(&sets, attempts)?;
        Ok(self.shares(&sets, &law))
    }

    /// pi(A) for each set A of `sets`: equations (1) and (2). `sets` must contain all independent
    /// sets.
    ///
    /// # Errors
    /// The same as for [`loads`](Conflicts::loads).
    pub fn law(&self, sets: &[u64], attempts: &[f64]) -> Result<Vec<f64>, DomainError> {
        let links = self.links();
        require(attempts.len() == links, "the number of attempt ratios", attempts.len() as f64, "one for each link")?;
        for x in attempts {
            not_negative("an attempt ratio", *x)?;
        }
        // Use logarithms, because a product of many large ratios overflows.
        let logs: Vec<f64> = attempts.iter().map(|x| libm::log(*x)).collect();
        let weight = |set: u64| {
            let mut ln = 0.0;
            let mut left = set;
            while left != 0 {
                ln += logs[left.trailing_zeros() as usize];
                left &= left - 1;
            }
            ln
        };
        let weights: Vec<f64> = sets.iter().map(|set| weight(*set)).collect();
        let most = weights.iter().fold(0.0f64, |most, w| most.max(*w));
        let mut law: Vec<f64> = weights.iter().map(|w| libm::exp(w - most)).collect();
        let sum: f64 = law.iter().sum();
        law.iter_mut().for_each(|pi| *pi /= sum);
        Ok(law)
    }

    /// The attempt ratios x_i for which each link i has the load `loads[i]`. This inverts the
    /// product form. Returns `None` if no attempt ratios give these loads.
    ///
    /// Take the links in order. For some strings, all links before a link v that conflict with v
    /// also conflict with each other. These links form a clique. This holds for equal ranges, and
    /// for some other ranges in ascending or descending order of the links. Then a formula gives
    /// the result.
    ///
    /// Let S_v be the links before v that conflict with v. C_v is S_v together with v. The load of
    /// link i is l_i, and l(S) is the sum of the loads of the links in S. Then x_i is the product of
    /// l_i, a factor 1 - l(S_v) for every S_v that contains i, and a factor 1 / (1 - l(C_v)) for
    /// every C_v that contains i.
    ///
    /// For all other strings, an iteration over all independent sets finds the x_i. The result is
    /// also `None` if the iteration does not converge.
    ///
    /// # Errors
    /// There is not one load for each link, a load is outside 0 to 1, or there are too many sets.
    pub fn attempts_for(&self, loads: &[f64]) -> Result<Option<Vec<f64>>, DomainError> {
        let links = self.links();
        require(loads.len() == links, "the number of loads", loads.len() as f64, "one for each link")?;
        for load in loads {
            crate::domain::share("the load of a link", *load)?;
        }
        for backwards in [false, true] {
            if self.is_elimination_order(backwards) {
                return Ok(self.by_cliques(loads, backwards));
            }
        }
        self.by_scaling(loads)
    }

    /// The links before `link` that conflict with it, in ascending order of the links or
    /// `backwards`. [`by_cliques`](Conflicts::by_cliques) needs these links to be a clique.
    fn before(&self, link: usize, backwards: bool) -> impl Iterator<Item = usize> + Clone + '_ {
        self.with[link].iter().copied().filter(move |&other| (other > link) == backwards)
    }

    /// Whether, for every link, [`before`](Conflicts::before) gives a clique. Graph theory calls
    /// this a perfect elimination order.
    fn is_elimination_order(&self, backwards: bool) -> bool {
        (0..self.links()).all(|link| {
            let before = self.before(link, backwards);
            before.clone().all(|a| before.clone().all(|b| a == b || self.conflict(a, b)))
        })
    }

    /// The x_i by the formula of [`attempts_for`](Conflicts::attempts_for).
    fn by_cliques(&self, loads: &[f64], backwards: bool) -> Option<Vec<f64>> {
        let mut attempts = loads.to_vec();
        for link in 0..self.links() {
            let separator: f64 = self.before(link, backwards).map(|i| loads[i]).sum();
            let (idle, idle_beside) = (1.0 - separator - loads[link], 1.0 - separator);
            if idle <= 0.0 {
                return None;
            }
            attempts[link] /= idle;
            for i in self.before(link, backwards) {
                attempts[i] *= idle_beside / idle;
            }
        }
        attempts.iter().all(|x| x.is_finite()).then_some(attempts)
    }

    /// The x_i by iteration: scale the ratio of one link after the other until all loads are right.
    fn by_scaling(&self, loads: &[f64]) -> Result<Option<Vec<f64>>, DomainError> {
        let sets = self.independent_sets()?;
        let mut attempts: Vec<f64> = loads.iter().map(|load| load / (1.0 - load).max(1e-300)).collect();
        for _ in 0..20_000 {
            let mut furthest = 0.0f64;
            for link in 0..loads.len() {
                // Set the x_i of this link so that its load is right for the present x of the other
                // links. The load of this link is x / (x + c), where c does not depend on x.
                let law = self.law(&sets, &attempts)?;
                let got = self.shares(&sets, &law)[link];
                if loads[link] == 0.0 {
                    attempts[link] = 0.0;
                    continue;
                }
                furthest = furthest.max((got / loads[link] - 1.0).abs());
                attempts[link] *= loads[link] * (1.0 - got) / (got * (1.0 - loads[link]));
                if !attempts[link].is_finite() || attempts[link] > 1e12 {
                    return Ok(None);
                }
            }
            if furthest < 1e-12 {
                return Ok(Some(attempts));
            }
        }
        Ok(None)
    }

    /// The share of time in which each link is active under `law`.
    fn shares(&self, sets: &[u64], law: &[f64]) -> Vec<f64> {
        let share = |link: usize| sets.iter().zip(law).filter(|(set, _)| *set >> link & 1 == 1).map(|(_, pi)| pi).sum();
        (0..self.links()).map(share).collect()
    }
}

/// The largest number of links that can be active at the same time under perfect scheduling:
/// ceil((n-1)/(k+2)), lemma 3.1.
///
/// # Errors
/// There are fewer than two nodes.
pub fn most_active(nodes: u32, k: u32) -> Result<u32, DomainError> {
    at_least("the number of nodes", nodes, 2, "2 or more")?;
    Ok((nodes - 1).div_ceil(k.saturating_add(2)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn string(nodes: usize, k: u32) -> Conflicts {
        Conflicts::of_string(&vec![k; nodes]).unwrap()
    }

    #[test]
    fn sets_of_figures_3_and_6() {
        // The links, counted from 1, as bits.
        let bits = |links: &[u32]| links.iter().fold(0u64, |set, link| set | 1 << (link - 1));
        let mut sets = string(5, 2).independent_sets().unwrap();
        sets.sort_unstable();
        let mut want: Vec<u64> = [&[][..], &[1], &[2], &[3], &[4], &[5], &[1, 5]].map(bits).to_vec();
        want.sort_unstable();
        assert_eq!(sets, want);
        for (form, pairs) in [
            (EquationForm::AsPrinted, vec![bits(&[1, 5])]),
            (EquationForm::Corrected, vec![bits(&[1, 5]), bits(&[4, 8])]),
        ] {
            let sets = Conflicts::of_both_ways(5, 2, form).unwrap().independent_sets().unwrap();
            let mut more: Vec<u64> = sets.iter().copied().filter(|set| set.count_ones() > 1).collect();
            more.sort_unstable();
            assert_eq!((sets.len(), more), (9 + pairs.len(), pairs), "{form:?}: wrong independent sets");
        }
    }

    #[test]
    fn lemma_3_1_by_brute_force() {
        for k in 1..=4 {
            for nodes in 2..=14 {
                // Only the forward links count, so leave out the sets with the reverse link.
                let sets = string(nodes, k).independent_sets().unwrap();
                let most = sets.iter().filter(|set| *set >> (nodes - 1) == 0).map(|set| set.count_ones()).max();
                assert_eq!(most, most_active(nodes as u32, k).ok(), "n {nodes} k {k}: lemma 3.1 does not hold");
            }
        }
        assert_eq!(most_active(10, 2), Ok(3));
        assert!(most_active(1, 2).is_err());
        assert_eq!(most_active(u32::MAX, u32::MAX), Ok(1));
    }

    #[test]
    fn positions_decide_conflicts_as_distances_do() {
        use crate::string::interference::{Interference, interference_range};
        // With one range for all nodes, two links conflict if a transmitter is within the range of
        // the other link's receiver.
        let spacings = [250.0, 80.0, 80.0, 120.0, 80.0, 250.0, 250.0, 100.0];
        let at = |node: usize| spacings[..node].iter().sum::<f64>();
        let ranges = interference_range(&spacings, Interference::CarrierSense(550.0)).unwrap();
        let got = Conflicts::of_string(&ranges).unwrap();
        for i in 0..7 {
            for j in i + 1..7 {
                let within = |a: usize, b: usize| (at(a) - at(b)).abs() <= 550.0;
                if within(i, j + 1) || within(j, i + 1) {
                    assert!(got.conflict(i, j) && got.conflict(j, i), "links {i} and {j} must conflict");
                }
            }
        }
    }

    #[test]
    fn wrong_arguments() {
        assert!(Conflicts::of_string(&[2]).is_err() && Conflicts::of_both_ways(1, 2, EquationForm::Corrected).is_err());
        let five = string(5, 2);
        assert!(five.loads(&[1.0; 4]).is_err() && five.loads(&[f64::NAN; 5]).is_err());
        assert!(five.attempts_for(&[0.1; 6]).is_err() && five.attempts_for(&[2.0; 5]).is_err());
        assert_eq!(five.attempts_for(&[0.25; 5]), Ok(None));
        assert!(string(80, 2).independent_sets().is_err() && string(40, 0).independent_sets().is_err());
        assert!(!five.conflict(99, 0));
        // Some ratios are nearly infinite, and others are 0.
        let got = five.loads(&[1e300, 0.0, 0.0, 0.0, 1e300]).unwrap();
        assert!((got[0] - 1.0).abs() < 1e-12 && (got[4] - 1.0).abs() < 1e-12 && got[1] == 0.0);
    }

    #[test]
    fn scaling_finds_what_cliques_say() {
        for ranges in [vec![2u32; 7], vec![1, 2, 3, 2, 1, 1]] {
            let links = ranges.len();
            let conflicts = Conflicts::of_string(&ranges).unwrap();
            let loads: Vec<f64> = (0..links).map(|i| 0.08 + 0.01 * i as f64).collect();
            let one = conflicts.attempts_for(&loads).unwrap().unwrap();
            let two = conflicts.by_scaling(&loads).unwrap().unwrap();
            for (a, b) in one.iter().zip(&two) {
                assert!((a / b - 1.0).abs() < 1e-9, "by cliques {one:?}, by scaling {two:?}");
            }
        }
        // Four links in a ring have no perfect elimination order, so scaling gives the result.
        let ring = Conflicts { with: vec![vec![1, 3], vec![0, 2], vec![1, 3], vec![0, 2]] };
        assert!(!ring.is_elimination_order(false) && !ring.is_elimination_order(true));
        let attempts = ring.attempts_for(&[0.2, 0.3, 0.25, 0.1]).unwrap().unwrap();
        let loads = ring.loads(&attempts).unwrap();
        for (got, want) in loads.iter().zip([0.2, 0.3, 0.25, 0.1]) {
            assert!((got - want).abs() < 1e-10, "the attempts give other loads: {loads:?}");
        }
        assert_eq!(ring.attempts_for(&[0.6; 4]), Ok(None));
    }

    proptest! {
        #[test]
        fn the_product_solves_the_chain(
            ranges in prop::collection::vec(0u32..4, 2..9), x in prop::collection::vec(0.01f64..20.0, 9),
            mu in prop::collection::vec(0.1f64..5.0, 9),
        ) {
            let conflicts = Conflicts::of_string(&ranges).unwrap();
            let (links, sets) = (conflicts.links(), conflicts.independent_sets().unwrap());
            let law = conflicts.law(&sets, &x[..links]).unwrap();
            prop_assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            // pi Q = 0: the flow into a set equals the flow out of the set.
            for (set, pi) in sets.iter().zip(&law) {
                let (mut out, mut into) = (0.0, 0.0);
                for link in 0..links {
                    let other = set ^ 1 << link;
                    if let Some(i) = sets.iter().position(|s| *s == other) {
                        // A link starts at rate x mu and ends at rate mu.
                        let (start, end) = (x[link] * mu[link], mu[link]);
                        let (leave, enter) = if other > *set { (start, end) } else { (end, start) };
                        out += pi * leave;
                        into += law[i] * enter;
                    }
                }
                prop_assert!((out - into).abs() < 1e-9, "{ranges:?} set {set:b}: flow out {out}, flow in {into}");
            }
        }

        #[test]
        fn loads_lead_back_to_attempts(
            ranges in prop::collection::vec(0u32..5, 2..10), x in prop::collection::vec(0.01f64..8.0, 10),
        ) {
            let conflicts = Conflicts::of_string(&ranges).unwrap();
            let x = &x[..conflicts.links()];
            let loads = conflicts.loads(x).unwrap();
            let back = conflicts.attempts_for(&loads).unwrap().unwrap();
            for (got, want) in back.iter().zip(x) {
                prop_assert!((got / want - 1.0).abs() < 1e-6, "{ranges:?}: attempts {back:?}, not {x:?}");
            }
        }
    }
}
