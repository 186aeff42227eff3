//! The largest end-to-end throughput of a string (paper 002, section III): by perfect scheduling,
//! theorem 3.1, and by random access with bounded attempts, table III.
//!
//! [`string`](super) explains strings and the reverse link. [`sets`](super::sets) explains loads,
//! attempt ratios x_i and the product form. eta is the time of an acknowledgment's exchange divided
//! by the time of a data exchange.
//!
//! Under random access it is best to give all forward links the same load rho, and the reverse link
//! the load eta rho. The busiest link attempts as often as the bound on attempts allows. The
//! printed optimisation does not have this bound. It also does not have the condition that
//! acknowledgments get through. Without this condition, rho would be 0.2357 instead of 0.2317 for
//! five nodes.
//!
//! With equal ranges, the conflicts have the structure of overlapping intervals on a line. Then a
//! formula inverts the product form ([`Conflicts::attempts_for`]), and the paper's iteration is not
//! needed. Each x_i grows with rho, and rho* is the value at which the largest x_i reaches its
//! bound.

use super::airtime::Airtime;
use super::interference::{Interference, interference_range};
use super::sets::{Conflicts, most_active};
use crate::domain::{DomainError, at_least, not_negative, positive, require};

/// The optimum under random access.
#[derive(Clone, Debug, PartialEq)]
pub struct EqualLoad {
    /// rho*: the share of time in which each forward link carries packets. rho* is the end-to-end
    /// throughput divided by mu_data.
    pub rho: f64,
    /// x_1 to x_n: the attempt ratios of the forward links, then of the reverse link. Empty
    /// for a single node.
    pub attempts: Vec<f64>,
}

/// The throughput bound of theorem 3.1 as a share of the link rate, for n = `nodes` nodes and a
/// window of W = `window` packets. Acknowledgments take no time.
///
/// For n <= k+2 the bound is 1/(n-1). For larger n, the bound is W/(n-1) if W is less than the
/// largest number of links that can be active together ([`most_active`]). If W is at least this
/// number, the bound is 1/(k+2). A window of 0 gives 0.
///
/// # Errors
/// There are fewer than two nodes.
pub fn scheduling_bound(nodes: u32, k: u32, window: u32) -> Result<f64, DomainError> {
    let most = most_active(nodes, k)?;
    let links = f64::from(nodes - 1);
    Ok(if window == 0 {
        0.0
    } else if nodes <= k.saturating_add(2) {
        1.0 / links
    } else if window < most {
        f64::from(window) / links
    } else {
        1.0 / (f64::from(k) + 2.0)
    })
}

/// The optimum for n = `nodes` nodes of equal range `k`. The attempt ratios of forward links are at
/// most `attempt_cap`, and eta is `ack_ratio`.
///
/// From n = 2 (k+2) on, rho* does not change with n, because the link in the middle is out of reach
/// of the two ends. A single node has no link; rho* is then 1 by the convention of table III. The
/// attempt ratio of the reverse link also has a bound. This function ignores that bound, because
/// the bound never limits the paper's numbers.
///
/// # Errors
/// There is no node or more than a million, a range is above 1000, or a cap or eta is negative or
/// not finite.
pub fn equal_load(nodes: u32, k: u32, attempt_cap: f64, ack_ratio: f64) -> Result<EqualLoad, DomainError> {
    require((1..=1_000_000).contains(&nodes), "the number of nodes", f64::from(nodes), "1 to 1000000")?;
    require(k <= 1000, "the interference range k", f64::from(k), "at most 1000")?;
    not_negative("the largest attempt ratio", attempt_cap)?;
    not_negative("the ratio of an acknowledgment's time to that of data", ack_ratio)?;
    if nodes == 1 {
        return Ok(EqualLoad { rho: 1.0, attempts: Vec::new() });
    }
    // In a longer string, the additional links in the middle have the same x_i as the middle link.
    let short = nodes.min(2 * (k + 2));
    let string = Uniform { links: short, k, eta: ack_ratio };
    let rho = largest(1.0, |rho| (1..short).map(|i| string.attempts(i, rho)).all(|x| x <= attempt_cap));
    let middle = short / 2;
    let attempts = (1..=nodes).map(|i| {
        // Count from the nearer end, so that the middle is repeated.
        let i = if i <= middle { i } else { short.saturating_sub(nodes - i).max(middle) };
        string.attempts(i, rho)
    });
    Ok(EqualLoad { rho, attempts: attempts.collect() })
}

/// [`equal_load`] for nodes with different ranges.
///
/// # Errors
/// There are fewer than two nodes or more than a million, or a cap or eta is negative or not
/// finite. If [`Conflicts::attempts_for`] has no formula for the ranges, more than 64 nodes or too
/// many independent sets are an error too.
pub fn equal_load_by_ranges(ranges: &[u32], attempt_cap: f64, ack_ratio: f64) -> Result<EqualLoad, DomainError> {
    not_negative("the largest attempt ratio", attempt_cap)?;
    not_negative("the ratio of an acknowledgment's time to that of data", ack_ratio)?;
    let conflicts = Conflicts::of_string(ranges)?;
    let last = conflicts.links() - 1;
    let loads = |rho: f64| {
        let mut loads = vec![rho; last];
        loads.push((ack_ratio * rho).min(1.0));
        loads
    };
    // An error does not depend on rho, so it is enough to check rho = 0.
    conflicts.attempts_for(&loads(0.0))?;
    let attempts = |rho: f64| conflicts.attempts_for(&loads(rho)).ok().flatten();
    let right = |rho: f64| attempts(rho).is_some_and(|x| x[..last].iter().all(|x| *x <= attempt_cap));
    let rho = largest(1.0, right);
    let attempts = attempts(rho).unwrap_or_else(|| vec![0.0; last + 1]);
    Ok(EqualLoad { rho, attempts })
}

/// A string of nodes under TCP. `ripstop model string` computes its throughput. [`Default`] is the
/// paper's string.
#[derive(Clone, Debug, PartialEq)]
pub struct StringNetwork {
    /// n: the number of nodes.
    pub nodes: u32,
    /// The rule that says which nodes disturb each other.
    pub disturbance: Disturbance,
    /// The largest attempt ratio of a forward link. The paper uses 4.108, but 4.114 follows from
    /// its table II ([`Airtime::exchange`]).
    pub attempt_cap: f64,
    /// eta: the time of an acknowledgment's exchange divided by the time of a data exchange.
    pub ack_ratio: f64,
    /// W: the number of packets in the network, for the bound of theorem 3.1.
    pub window: u32,
    /// The frame lengths and gaps that determine the durations of exchanges.
    pub airtime: Airtime,
}

/// The rule that says which nodes disturb each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Disturbance {
    /// Each node is disturbed by transmitters up to this number of hops away.
    Hops(u32),
    /// The distances between neighbours in metres, and the reason why a node cannot receive.
    Spacing(Vec<f64>, Interference),
}

/// The throughput of a [`StringNetwork`], with the terms that determine it.
#[derive(Clone, Debug, PartialEq)]
pub struct StringThroughput {
    /// rho*: the share of time in which each forward link carries packets.
    pub rho: f64,
    /// tau*: rho* times the number of bits of a packet at the network layer, divided by the time of
    /// a data exchange, bit/s.
    pub throughput_bps: f64,
    /// x_1 to x_n: the attempt ratios of the forward links, then of the reverse link.
    pub attempts: Vec<f64>,
    /// The bound of theorem 3.1 as a share of the link rate, with the largest k of all nodes. The
    /// bound is 1 for a single node.
    pub scheduling_bound: f64,
    /// The interference range k of each node, hops.
    pub k: Vec<u32>,
}

impl Default for StringNetwork {
    fn default() -> StringNetwork {
        StringNetwork {
            nodes: 10,
            disturbance: Disturbance::Hops(2),
            attempt_cap: 4.108,
            ack_ratio: 0.3027,
            window: u32::MAX,
            airtime: Airtime::default(),
        }
    }
}

impl StringNetwork {
    /// Computes the largest throughput and its terms.
    ///
    /// # Errors
    /// An argument is outside its domain, or the number of spacings is not one less than the number
    /// of nodes.
    pub fn predict(&self) -> Result<StringThroughput, DomainError> {
        let exchange = self.airtime.exchange()?;
        let (optimum, k) = match &self.disturbance {
            Disturbance::Hops(k) => {
                let optimum = equal_load(self.nodes, *k, self.attempt_cap, self.ack_ratio)?;
                (optimum, vec![*k; self.nodes as usize])
            }
            Disturbance::Spacing(spacings, range) => {
                let spaces = spacings.len() as f64;
                require(
                    spaces + 1.0 == f64::from(self.nodes),
                    "the number of spacings",
                    spaces,
                    "one less than nodes",
                )?;
                let k = interference_range(spacings, *range)?;
                (equal_load_by_ranges(&k, self.attempt_cap, self.ack_ratio)?, k)
            }
        };
        let widest = k.iter().fold(0, |most, k| most.max(*k));
        Ok(StringThroughput {
            rho: optimum.rho,
            throughput_bps: optimum.rho * exchange.full_bps,
            attempts: optimum.attempts,
            scheduling_bound: if self.nodes == 1 { 1.0 } else { scheduling_bound(self.nodes, widest, self.window)? },
            k,
        })
    }
}

/// The throughput of one packet at a time (W = 1), bit/s.
///
/// The packet takes a data exchange and its back-off on each of the n-1 links. Then the
/// acknowledgment takes an exchange and its back-off on each link. With `acks_ride`, the
/// acknowledgment takes an exchange and a back-off only on the reverse link, because it rides on
/// data on the other links. Paper 002 does not say whether the bound at W = 1 in fig. 7 is one of
/// these two throughputs, or theorem 3.1.
///
/// # Errors
/// There are fewer than two nodes, or the airtime is wrong.
pub fn one_packet_at_a_time(nodes: u32, airtime: &Airtime, acks_ride: bool) -> Result<f64, DomainError> {
    at_least("the number of nodes", nodes, 2, "2 or more")?;
    let exchange = airtime.exchange()?;
    let links = f64::from(nodes - 1);
    let acked = if acks_ride { 1.0 } else { links };
    let cycle = links * (exchange.data + exchange.back_off) + acked * (exchange.ack + exchange.back_off);
    positive("the time of a cycle in seconds", cycle)?;
    Ok(exchange.packet_bits / cycle)
}

/// A string with n = `links` links, the last of which is the reverse link, and equal ranges k. A
/// formula gives its attempt ratios.
struct Uniform {
    links: u32,
    k: u32,
    eta: f64,
}

impl Uniform {
    /// x_i for the load rho on forward links, and eta rho on the reverse link. Infinite if the
    /// loads are too large. This is the formula of [`Conflicts::attempts_for`].
    ///
    /// Each k+2 neighbouring links are a clique (C_v in the formula). Two neighbouring cliques
    /// share k+1 links, their separator (S_v). Only the last clique has the reverse link.
    fn attempts(&self, i: u32, rho: f64) -> f64 {
        let (n, width) = (self.links, self.k + 2);
        let load = if i == n { self.eta * rho } else { rho };
        if n <= width {
            let idle = 1.0 - (f64::from(n - 1) + self.eta) * rho;
            return if idle > 0.0 { load / idle } else { f64::INFINITY };
        }
        let windows = n - width + 1;
        let first = i.saturating_sub(width - 1).max(1);
        let cliques = windows.min(i) - first + 1;
        let in_last = u32::from(i >= windows);
        let separators = (windows - 1).min(i.saturating_sub(1)).saturating_sub(first - 1);
        let wide = f64::from(width);
        let [inner, end, beside] =
            [wide * rho, (wide - 1.0 + self.eta) * rho, (wide - 1.0) * rho].map(|load| 1.0 - load);
        if inner <= 0.0 || end <= 0.0 {
            return f64::INFINITY;
        }
        let power = |base: f64, exponent: u32| libm::pow(base, f64::from(exponent));
        load * power(beside, separators) / (power(inner, cliques - in_last) * power(end, in_last))
    }
}

/// The largest value in 0 to `high` for which `right` holds. `right` must hold below that value and
/// fail above that value. The result is 0 if `right` never holds.
fn largest(high: f64, right: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, high);
    if right(high) {
        return high;
    }
    // 120 steps are enough to reach neighbouring doubles, except for extremely small values.
    for _ in 0..120 {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if right(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table_iii_and_its_attempts() {
        // Values computed independently: rho, then x_1 to x_n, for a cap of 4.108 and eta 0.3027.
        for (n, rho, attempts) in [
            (2, 0.646777, vec![4.1080, 1.2435]),
            (3, 0.392753, vec![4.1080, 4.1080, 1.2435]),
            (4, 0.281998, vec![4.1080, 4.1080, 4.1080, 1.2435]),
            (5, 0.231689, vec![3.1632, 4.1080, 4.1080, 4.1080, 0.2987]),
            (6, 0.212250, vec![1.4056, 3.3814, 4.1080, 4.1080, 1.7077, 0.2149]),
            (7, 0.197294, vec![0.9358, 1.8116, 3.5069, 4.1080, 2.1221, 1.0962, 0.1714]),
            (8, 0.187945, vec![0.7572, 1.3305, 2.3379, 4.1080, 2.6885, 1.5300, 0.8707, 0.1500]),
            (9, 0.187945, vec![0.7572, 1.3305, 2.3379, 4.1080, 4.1080, 2.6885, 1.5300, 0.8707, 0.1500]),
            (10, 0.187945, vec![0.7572, 1.3305, 2.3379, 4.1080, 4.1080, 4.1080, 2.6885, 1.5300, 0.8707, 0.1500]),
        ] {
            let got = equal_load(n, 2, 4.108, 0.3027).unwrap();
            assert!((got.rho - rho).abs() <= 5.1e-7, "n {n}: wrong rho {}", got.rho);
            assert_eq!(got.attempts.len(), attempts.len());
            for (x, want) in got.attempts.iter().zip(&attempts) {
                assert!((x - want).abs() <= 5.1e-5, "n {n}: {:?}, not {attempts:?}", got.attempts);
            }
        }
        for (n, kbps) in [(2, 5240.3), (3, 3182.1), (4, 2284.8), (5, 1877.2), (6, 1719.7), (7, 1598.5), (8, 1522.8)] {
            let got = StringNetwork { nodes: n, ..StringNetwork::default() }.predict().unwrap();
            assert!((got.throughput_bps / 1e3 - kbps).abs() <= 0.051, "n {n}: wrong throughput {}", got.throughput_bps);
        }
        assert_eq!(equal_load(1, 2, 4.108, 0.3027).unwrap().rho, 1.0);
    }

    #[test]
    fn the_example_of_five_nodes() {
        for (cap, eta, x_1, rho) in [
            (4.108, 0.3027, 3.163195, 0.231689),
            (4.108081, 0.301697, 3.166176, 0.231705),
            (4.11414141, 0.30272526, 3.167534, 0.231712),
        ] {
            let got = equal_load(5, 2, cap, eta).unwrap();
            assert!((got.attempts[0] - x_1).abs() <= 2e-6 && (got.rho - rho).abs() <= 5.1e-7, "wrong optimum: {got:?}");
            // Equation (7).
            assert!((got.rho - got.attempts[0] / (1.0 + 4.0 * got.attempts[0])).abs() < 1e-12);
        }
        // Without the constraint on acknowledgments.
        assert!((equal_load(5, 2, 4.108, 0.0).unwrap().rho - 0.235659).abs() <= 5.1e-7);
        // The attempts of the middle link are at the bound, and more nodes than eight change
        // nothing.
        for n in 2..=14usize {
            let got = equal_load(n as u32, 2, 4.108, 0.3027).unwrap();
            assert!(
                (got.attempts[n.div_ceil(2) - 1] - 4.108).abs() < 1e-9,
                "the middle link is not at the cap: {got:?}"
            );
        }
        let eight = equal_load(8, 2, 4.108, 0.3027).unwrap().rho;
        assert_eq!(equal_load(1_000_000, 2, 4.108, 0.3027).unwrap().rho, eight);
        let root = eight * libm::pow(1.0 - 3.0 * eight, 3.0) / libm::pow(1.0 - 4.0 * eight, 4.0);
        assert!((root - 4.108).abs() < 1e-9);
    }

    #[test]
    fn limits_of_the_cap() {
        assert_eq!(equal_load(5, 2, 0.0, 0.3).unwrap().rho, 0.0);
        for (n, want) in [(2, 1.3), (3, 2.3), (4, 3.3), (5, 4.0), (12, 4.0)] {
            let rho = equal_load(n, 2, 1e15, 0.3).unwrap().rho;
            assert!((rho - 1.0 / want).abs() < 1e-3, "n {n}: wrong rho {rho}");
        }
        assert!(equal_load(0, 2, 1.0, 0.3).is_err() && equal_load(5, 2, f64::NAN, 0.3).is_err());
        assert!(equal_load(5, 2, 1.0, -0.3).is_err() && equal_load(u32::MAX, 2, 1.0, 0.3).is_err());
    }

    #[test]
    fn theorem_3_1() {
        for (window, want) in [(0, 0.0), (1, 1.0 / 9.0), (2, 2.0 / 9.0), (3, 0.25), (20, 0.25)] {
            assert_eq!(scheduling_bound(10, 2, window), Ok(want), "wrong bound at W = {window}");
        }
        assert_eq!((scheduling_bound(3, 2, 1), scheduling_bound(3, 2, 0)), (Ok(0.5), Ok(0.0)));
        assert!(scheduling_bound(1, 2, 1).is_err());
        for n in 2..40 {
            for k in 0..6 {
                for window in 0..12 {
                    // A W just below the ceiling never exceeds 1/(k+2).
                    let bound = scheduling_bound(n, k, window).unwrap();
                    assert!(n <= k + 2 || bound <= 1.0 / f64::from(k + 2) + 1e-15);
                    assert!(bound <= scheduling_bound(n, k, window + 1).unwrap());
                }
            }
        }
    }

    #[test]
    fn geometry_and_one_packet() {
        let spacing = Disturbance::Spacing(vec![200.0; 9], Interference::CarrierSense(550.0));
        let (by_metres, by_hops) = (
            StringNetwork { disturbance: spacing, ..StringNetwork::default() }.predict().unwrap(),
            StringNetwork::default().predict().unwrap(),
        );
        assert!((by_metres.rho - by_hops.rho).abs() < 1e-12 && by_metres.k == by_hops.k);
        assert_eq!(by_hops.scheduling_bound, 0.25);
        let short = Disturbance::Spacing(vec![200.0; 8], Interference::CarrierSense(550.0));
        assert!(StringNetwork { disturbance: short, ..StringNetwork::default() }.predict().is_err());
        // Fig. 7 at W = 1, n = 10: 503.2 or 690.5 kbit/s. Theorem 3.1 gives 900.2.
        for (ride, kbps) in [(false, 503.2), (true, 690.5)] {
            let got = one_packet_at_a_time(10, &Airtime::default(), ride).unwrap() / 1e3;
            assert!((got - kbps).abs() <= 0.051, "{got} kbit/s, not {kbps}");
        }
        let theorem = scheduling_bound(10, 2, 1).unwrap() * Airtime::default().exchange().unwrap().full_bps;
        assert!((theorem / 1e3 - 900.2).abs() <= 0.051);
        assert!(one_packet_at_a_time(1, &Airtime::default(), true).is_err());
    }

    proptest! {
        #[test]
        fn loads_are_equal_and_no_link_exceeds_its_cap(n in 2usize..13, k in 0u32..5, cap in 0.01f64..50.0, eta in 0.0f64..2.0) {
            let got = equal_load(n as u32, k, cap, eta).unwrap();
            let conflicts = Conflicts::of_string(&vec![k; n]).unwrap();
            let loads = conflicts.loads(&got.attempts).unwrap();
            for (i, load) in loads.iter().enumerate() {
                let want = if i == n - 1 { eta * got.rho } else { got.rho };
                prop_assert!((load - want).abs() < 1e-9, "unequal loads {loads:?} of {got:?}");
            }
            let most = got.attempts[..n - 1].iter().fold(0.0f64, |most, x| most.max(*x));
            prop_assert!((most / cap - 1.0).abs() < 1e-9, "no link is at the cap: {got:?}");
            // Computed with the range of each node, the result is the same.
            let by_ranges = equal_load_by_ranges(&vec![k; n], cap, eta).unwrap();
            prop_assert!((by_ranges.rho - got.rho).abs() < 1e-12);
        }

        #[test]
        fn any_ranges_have_an_optimum(ranges in prop::collection::vec(0u32..6, 2..9), cap in 0.1f64..10.0) {
            let got = equal_load_by_ranges(&ranges, cap, 0.3).unwrap();
            let loads = Conflicts::of_string(&ranges).unwrap().loads(&got.attempts).unwrap();
            let last = ranges.len() - 1;
            prop_assert!(loads[..last].iter().all(|load| (load - got.rho).abs() < 1e-6), "unequal loads {loads:?} of {got:?}");
            prop_assert!(got.attempts[..last].iter().all(|x| *x <= cap * (1.0 + 1e-9)));
            // A larger cap cannot lower the throughput.
            prop_assert!(equal_load_by_ranges(&ranges, cap * 1.5, 0.3).unwrap().rho >= got.rho);
        }
    }
}
