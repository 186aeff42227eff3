//! Searches the degree distributions of the optimised LT code (`lt/tables.rs`).
//!
//! ```text
//! cargo run --release -p ripstop-codes --example lt-degrees [-- EXCESS]
//! ```
//!
//! For each block size in [`SIZES`], the program minimises the mean degree. The condition is that
//! the mean overhead exceeds that of a random code over GF(2) by at most `EXCESS` symbols (default
//! [`EXCESS`]). Both are computed, not simulated, so the output is always the same (10 s).
//!
//! # The model of the overhead
//!
//! A block is undecodable after n symbols if a nonempty set of source symbols exists that every
//! received symbol covers an even number of times. Let p(w) be the probability that a symbol covers
//! a set of w source symbols an even number of times. The expected number of such sets is
//! sum_w C(K,w) p(w)^n; for a random code p(w) is 1/2. The surplus of sets over the random code
//! makes a block undecodable if the block would be decodable otherwise. So the overhead exceeds that
//! of the random code by about
//!
//! sum over n >= K of phi(n) sum_w C(K,w) (p(w)^n - 2^-n),
//!
//! where phi(n) is the probability that a random code decodes n symbols. The example `lt-overhead`
//! measures the overhead; near the optimum it agrees with this model to .01 symbol.

use std::process::ExitCode;

/// The block sizes for which a distribution is searched.
const SIZES: [usize; 13] = [8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64];
/// The largest surplus of the mean overhead over that of a random code. Unit: symbols. Half the
/// value costs .4 neighbours per symbol at K = 16 and .6 at K = 64. Double the value saves as much.
const EXCESS: f64 = 0.05;
/// The sum of the weights of a distribution. Half the value costs up to .04 neighbours per symbol.
/// Double the value saves less than .01.
const WEIGHTS: u32 = 64;
/// The largest degree that is tried. Larger degrees are in no optimum for K up to 64.
const LARGEST: usize = 14;

fn main() -> ExitCode {
    let excess = match std::env::args().nth(1).map(|text| text.parse()) {
        None => EXCESS,
        Some(Ok(excess)) if excess > 0.0 => excess,
        Some(_) => {
            eprintln!("usage: lt-degrees [EXCESS], with EXCESS above 0, in symbols");
            return ExitCode::from(2);
        }
    };
    for k in SIZES {
        let model = Model::new(k);
        let weights = model.search(excess);
        let listed = weights.iter().enumerate().filter(|(_, weight)| **weight > 0);
        let listed: Vec<String> = listed.map(|(i, weight)| format!("({}, {weight})", i + 1)).collect();
        println!(
            "({k}, &[{}]), // degree {:.2}, excess {:.3}",
            listed.join(", "),
            model.degree(&weights),
            model.excess(&weights)
        );
    }
    ExitCode::SUCCESS
}

/// The model of the overhead for one block size.
struct Model {
    k: usize,
    /// `even[d - 1][w]`: the probability that a symbol of degree d covers a set of w source symbols
    /// an even number of times.
    even: Vec<Vec<f64>>,
    /// `decodable[n - K]`: the probability that a random code decodes n symbols.
    decodable: Vec<f64>,
}

impl Model {
    fn new(k: usize) -> Model {
        let even = |d: usize, w: usize| {
            let ways = |j: usize| choose(w, j) * choose(k - w, d - j);
            (0..=d.min(w)).step_by(2).map(ways).sum::<f64>() / choose(k, d)
        };
        let decodable = |n: usize| (0..k).map(|i| 1.0 - libm::exp2(i as f64 - n as f64)).product();
        Model {
            k,
            even: (1..=k.min(LARGEST)).map(|d| (0..=k).map(|w| even(d, w)).collect()).collect(),
            decodable: (k..k + 200).map(decodable).collect(),
        }
    }

    /// The surplus of the mean overhead over that of a random code.
    fn excess(&self, weights: &[u32]) -> f64 {
        let surplus = |w: usize| {
            let terms = weights.iter().zip(&self.even).map(|(weight, even)| f64::from(*weight) * even[w]);
            let p = terms.sum::<f64>() / f64::from(WEIGHTS);
            let (mut ours, mut random) = (p.powi(self.k as i32), 0.5f64.powi(self.k as i32));
            let mut sum = 0.0;
            for decodable in &self.decodable {
                sum += decodable * (ours - random);
                ours *= p;
                random *= 0.5;
            }
            choose(self.k, w) * sum
        };
        (1..=self.k).map(surplus).sum()
    }

    /// The mean degree.
    fn degree(&self, weights: &[u32]) -> f64 {
        let sum: usize = weights.iter().enumerate().map(|(i, weight)| (i + 1) * *weight as usize).sum();
        sum as f64 / f64::from(WEIGHTS)
    }

    /// The weights of the degrees 1, 2, ... with the least mean degree whose surplus is at most
    /// `limit`. The program minimises the surplus plus a price times the degree, and bisects the
    /// price. The surplus is a convex function of the weights.
    fn search(&self, limit: f64) -> Vec<u32> {
        let (mut low, mut high) = (1e-4f64, 1e2f64);
        let mut best = self.minimum(low);
        for _ in 0..16 {
            let price = (low * high).sqrt();
            let weights = self.minimum(price);
            if self.excess(&weights) > limit {
                high = price;
            } else {
                low = price;
                best = weights;
            }
        }
        best
    }

    /// The weights with the least surplus plus `price` times the degree. Weight moves from one
    /// degree to another while this helps, first in large steps.
    fn minimum(&self, price: f64) -> Vec<u32> {
        let cost = |weights: &[u32]| self.excess(weights) + price * self.degree(weights);
        let mut weights = vec![0; self.even.len()];
        weights[self.even.len() / 2] = WEIGHTS;
        let mut least = cost(&weights);
        let mut step = WEIGHTS / 4;
        while step > 0 {
            let mut moved = false;
            for from in 0..weights.len() {
                for to in (0..weights.len()).filter(|to| *to != from) {
                    if weights[from] < step {
                        break;
                    }
                    weights[from] -= step;
                    weights[to] += step;
                    let now = cost(&weights);
                    if now < least - 1e-12 {
                        (least, moved) = (now, true);
                    } else {
                        weights[from] += step;
                        weights[to] -= step;
                    }
                }
            }
            if !moved {
                step /= 2;
            }
        }
        weights
    }
}

/// The number of ways to choose `k` of `n`.
fn choose(n: usize, k: usize) -> f64 {
    if k > n { 0.0 } else { (0..k).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64) }
}
