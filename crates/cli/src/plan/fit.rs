//! Fits the weights of causes to a campaign: least squares with weights that may not be negative, of the logarithm of what is left.

use super::campaign::Case;
use ripstop_model::plan::wear::{Causes, Term};
use ripstop_model::plan::{Scheme, plain};
use std::fmt::Write;

/// The noise that a link is believed to have at least, relative.
const FLOOR: f64 = 0.03;
/// Of a share below this nothing is learnt.
const LEAST_SHARE: f64 = 1e-3;
/// A link whose losses bound a TCP to less than so many times what the link leaves says nothing of the link.
const LOSS_BOUND: f64 = 2.0;
/// A weight so small is left out.
const SMALLEST: f64 = 1e-4;

/// The terms that are tried: what is lost, by runs of losses and the size of the window; what the size and the start cost without any
/// loss; what small queues cost.
fn candidates() -> Vec<[f64; 7]> {
    let mut all = Vec::new();
    for loss in [0.5, 1.0, 2.0] {
        for burst in [0.0, 0.5, 1.0, 1.5, 2.0] {
            for early in [0.0, 1.0] {
                for size in [0.0, 1.0, 2.0, 4.0] {
                    all.push([loss, burst, size, 0.0, 0.0, 0.0, early]);
                }
                for few in [0.5, 1.0, 2.0] {
                    all.push([loss, burst, 0.0, few, 0.0, 0.0, early]);
                }
                all.push([loss, burst, 4.0, 0.5, 0.0, 0.0, early]);
            }
        }
    }
    for loss in [0.5, 1.0] {
        for power in [0.5, 1.0] {
            all.push([loss, 0.0, 0.0, 0.0, power, 0.0, 0.0]);
        }
        for power in [1.0, 2.0] {
            all.push([loss, 0.0, 0.0, 0.0, 0.0, power, 0.0]);
            all.push([loss, 0.0, 2.0, 0.0, 0.0, power, 0.0]);
            all.push([loss, 0.0, 0.0, 0.0, 0.5, power, 0.0]);
        }
    }
    for early in [0.0, 1.0] {
        for size in [0.0, 1.0, 2.0, 4.0, 8.0] {
            all.push([0.0, 0.0, size, 0.0, 0.0, 0.0, early]);
        }
        for few in [0.5, 1.0, 2.0] {
            all.push([0.0, 0.0, 0.0, few, 0.0, 0.0, early]);
        }
    }
    for power in [0.5, 1.0, 2.0] {
        all.push([0.0, 0.0, 0.0, 0.0, power, 0.0, 0.0]);
        all.push([0.0, 0.0, 0.0, 1.0, power, 0.0, 0.0]);
        all.push([0.0, 0.0, 0.0, 0.0, power, 0.0, 1.0]);
    }
    for power in [1.0, 2.0] {
        for (size, shallow, early) in
            [(0.0, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.5, 1.0), (2.0, 0.0, 1.0), (2.0, 0.0, 0.0)]
        {
            all.push([0.0, 0.0, size, 0.0, shallow, power, early]);
        }
    }
    all
}

/// A link as an equation: the products, what they are to sum to, and how much it counts.
struct Row {
    products: Vec<f64>,
    left: f64,
    weight: f64,
}

/// The terms of `scheme` that fit `cases` best.
pub(super) fn fit(scheme: Scheme, cases: &[Case]) -> Vec<Term> {
    let candidates = candidates();
    let index = Scheme::FITTED.iter().position(|known| *known == scheme).unwrap_or(0);
    let rows: Vec<Row> = cases.iter().filter_map(|case| row(scheme, index, case, &candidates)).collect();
    let mut damped: Vec<f64> = rows.iter().map(|row| row.weight).collect();
    let mut weights = vec![0.0; candidates.len()];
    // What is far off counts by its distance, not by its square: links on which a connection lived or died.
    for _ in 0..8 {
        least_squares(&rows, &damped, &mut weights);
        for (damped, row) in damped.iter_mut().zip(&rows) {
            let off = (dot(&row.products, &weights) - row.left).abs() * row.weight;
            *damped = row.weight / off.max(1.0).sqrt();
        }
    }
    let terms = candidates.into_iter().zip(weights).map(|(powers, weight)| Term { weight, powers });
    terms.filter(|term| term.weight > SMALLEST).collect()
}

fn row(scheme: Scheme, index: usize, case: &Case, candidates: &[[f64; 7]]) -> Option<Row> {
    let measured = &case.measured[index];
    let ceiling = case.path.capacity() * scheme.ceiling();
    let by_losses = match scheme {
        Scheme::Reno => plain::reno_by_losses(&case.path),
        Scheme::Cubic => plain::cubic_by_losses(&case.path),
        _ => f64::INFINITY,
    };
    let share = measured.mean() / ceiling;
    if share < LEAST_SHARE || by_losses < LOSS_BOUND * ceiling {
        return None;
    }
    let left = -libm::log(share.min(1.0));
    let noise = measured.error() / measured.mean();
    // Of what is all but lost a factor matters less.
    let weight = 1.0 / (FLOOR * FLOOR + noise * noise + 0.01 * left.min(2.0).powi(2)).sqrt();
    let causes = Causes::of(&case.path);
    let products = candidates.iter().map(|powers| Term::product(powers, &causes)).collect();
    Some(Row { products, left, weight })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Least squares with no negative weight, one coordinate after another (the problem is convex, so they end at its one optimum).
fn least_squares(rows: &[Row], weights: &[f64], solution: &mut [f64]) {
    let n = solution.len();
    let mut products = vec![0.0; n * n];
    let mut wanted = vec![0.0; n];
    for (row, weight) in rows.iter().zip(weights) {
        let w = weight * weight;
        for (i, a) in row.products.iter().enumerate() {
            wanted[i] += w * a * row.left;
            for (j, b) in row.products.iter().enumerate() {
                products[i * n + j] += w * a * b;
            }
        }
    }
    for _ in 0..20_000 {
        let mut moved = 0.0f64;
        for i in 0..n {
            let own = products[i * n + i];
            if own > 0.0 {
                let gradient = wanted[i] - dot(&products[i * n..(i + 1) * n], solution);
                let next = (solution[i] + gradient / own).max(0.0);
                moved = moved.max((next - solution[i]).abs() * own.sqrt());
                solution[i] = next;
            }
        }
        if moved < 1e-9 {
            break;
        }
    }
}

/// The weights as a source file of the model.
pub(super) fn source(seed: u64, links: u64, fitted: &[(Scheme, Vec<Term>)]) -> String {
    let mut text = format!(
        "//! Weights of causes, as fitted to {links} links of seed {seed}. Written by `make plan-report`; do not edit.\n\
         //!\n\
         //! The powers are those of [`Causes`](super::wear::Causes): loss, burst, size, few, shallow, short, early.\n\n\
         use super::scheme::Scheme;\nuse super::wear::Term;\n\n\
         /// The terms of a scheme.\npub fn terms(scheme: Scheme) -> &'static [Term] {{\n    match scheme {{\n"
    );
    for (scheme, _) in fitted {
        let _ = writeln!(text, "        Scheme::{scheme:?} => {},", constant(*scheme));
    }
    text.push_str("        Scheme::TcpNc(_) => &[],\n    }\n}\n");
    for (scheme, terms) in fitted {
        let _ = writeln!(text, "\nconst {}: &[Term] = &[", constant(*scheme));
        for term in terms {
            let _ = writeln!(text, "    Term {{ weight: {:.5}, powers: {:?} }},", term.weight, term.powers);
        }
        text.push_str("];\n");
    }
    text
}

fn constant(scheme: Scheme) -> String {
    scheme.name().to_uppercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_found_again_and_never_negative() {
        let mut random = ripstop_base::Seed::new(3).stream("fit");
        let want = [0.5, 0.0, 2.0, 0.0];
        let rows: Vec<Row> = (0..200)
            .map(|_| {
                let products: Vec<f64> = (0..4).map(|_| random.unit()).collect();
                // The last one would be negative.
                let left = dot(&products, &want) - 0.01 * products[3];
                Row { products, left, weight: 1.0 }
            })
            .collect();
        let mut got = [0.0; 4];
        least_squares(&rows, &[1.0; 200], &mut got);
        assert!(got[3] == 0.0 && got.iter().zip(want).all(|(g, w)| (g - w).abs() < 0.02), "{got:?}");
    }
}
