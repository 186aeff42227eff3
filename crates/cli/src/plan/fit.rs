//! Fits the weights of causes to a campaign: least squares with weights that may not be negative, of the logarithm of what is left.

use super::campaign::{Case, Measured, Requests};
use ripstop_model::plan::delay::{self, TIMES};
use ripstop_model::plan::wear::{Causes, Term};
use ripstop_model::plan::{Scheme, plain};
use std::fmt::Write;

/// The noise that a link is believed to have at least, relative.
const FLOOR: f64 = 0.03;
/// A share below this counts as this.
const LEAST_SHARE: f64 = 1e-3;
/// How much a link whose runs differ from each other still counts: where a connection lives or dies, the mean is what is wanted.
const MOST_NOISE: f64 = 0.3;
/// A weight so small is left out.
const SMALLEST: f64 = 1e-4;

/// The terms that are tried, as the powers of their causes: what is lost, by runs of losses and the size of the window or the way;
/// what the size, the way and the start cost without any loss; what small queues cost; what stops a sender.
fn candidates() -> Vec<Causes> {
    const NONE: Causes = Causes::NONE;
    let mut all = Vec::new();
    for loss in [0.5, 1.0, 2.0] {
        let lost = Causes { loss, ..NONE };
        for burst in [0.0, 0.5, 1.0, 1.5, 2.0] {
            let runs = Causes { burst, ..lost };
            for early in [0.0, 1.0] {
                let runs = Causes { early, ..runs };
                all.extend([0.0, 1.0, 2.0, 4.0].map(|size| Causes { size, ..runs }));
                all.extend([0.5, 1.0, 2.0].map(|few| Causes { few, ..runs }));
                all.push(Causes { size: 4.0, few: 0.5, ..runs });
            }
            all.extend([0.0, 2.0].map(|size| Causes { size, far: 1.0, ..runs }));
        }
        for gulp in [0.5, 1.0, 2.0] {
            all.extend([0.0, 1.0].map(|early| Causes { gulp, early, ..lost }));
        }
    }
    for loss in [0.5, 1.0] {
        let lost = Causes { loss, ..NONE };
        all.extend([0.5, 1.0].map(|shallow| Causes { shallow, ..lost }));
        for short in [1.0, 2.0] {
            all.push(Causes { short, ..lost });
            all.push(Causes { short, size: 2.0, ..lost });
            all.push(Causes { short, shallow: 0.5, ..lost });
        }
    }
    for early in [0.0, 1.0] {
        all.extend([0.0, 1.0, 2.0, 4.0, 8.0].map(|size| Causes { size, early, ..NONE }));
        all.extend([0.5, 1.0, 2.0].map(|few| Causes { few, early, ..NONE }));
    }
    all.extend([(0.0, 1.0), (0.0, 2.0), (2.0, 1.0)].map(|(size, far)| Causes { size, far, ..NONE }));
    for shallow in [0.5, 1.0, 2.0] {
        all.push(Causes { shallow, ..NONE });
        all.push(Causes { shallow, few: 1.0, ..NONE });
        all.push(Causes { shallow, early: 1.0, ..NONE });
    }
    for short in [1.0, 2.0] {
        let overrun = Causes { short, ..NONE };
        all.push(overrun);
        all.push(Causes { shallow: 0.5, ..overrun });
        all.push(Causes { shallow: 0.5, early: 1.0, ..overrun });
        all.push(Causes { size: 2.0, ..overrun });
        all.push(Causes { size: 2.0, early: 1.0, ..overrun });
    }
    // A start-up that overruns next to no queue.
    for size in [0.0, 1.0, 2.0] {
        all.extend([0.0, 1.0].map(|early| Causes { short: 8.0, size, early, ..NONE }));
    }
    for (loss, back) in [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.0, 2.0)] {
        let unheard = Causes { loss, back, ..NONE };
        all.extend([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)].map(|(burst, few)| Causes {
            burst,
            few,
            ..unheard
        }));
    }
    all.push(Causes { halt: 1.0, ..NONE });
    all.push(Causes { loss: 1.0, stuck: 1.0, ..NONE });
    all.push(Causes { back: 1.0, stuck: 1.0, ..NONE });
    all
}

/// A link as an equation: the products, what they are to sum to, and how much it counts.
struct Row {
    products: Vec<f64>,
    left: f64,
    weight: f64,
}

/// The terms of `scheme` that fit `cases` best.
fn fit(scheme: Scheme, cases: &[Case]) -> Vec<Term> {
    let candidates = candidates();
    let rows: Vec<Row> = cases.iter().filter_map(|case| row(scheme, case, &candidates)).collect();
    terms_of(&rows, candidates)
}

/// The terms whose sums are closest to what is left, without those of next to no weight.
fn terms_of(rows: &[Row], candidates: Vec<Causes>) -> Vec<Term> {
    let mut weights = vec![0.0; candidates.len()];
    robust(rows, 1.0, &mut weights);
    let terms = candidates.into_iter().zip(weights).map(|(powers, weight)| Term { weight, powers });
    terms.filter(|term| term.weight > SMALLEST).collect()
}

fn row(scheme: Scheme, case: &Case, candidates: &[Causes]) -> Option<Row> {
    let measured = case.of(scheme)?;
    let [by_losses, by_link] = plain::bounds(scheme, &case.path);
    let share = (measured.mean() / by_losses.min(by_link)).clamp(LEAST_SHARE, 1.0);
    let left = -libm::log(share);
    let noise = (measured.error() / measured.mean().max(1.0)).min(MOST_NOISE);
    // Of what is all but lost a factor matters less.
    let weight = 1.0 / (FLOOR * FLOOR + noise * noise + 0.01 * left.min(2.0).powi(2)).sqrt();
    let causes = Causes::of(&case.path);
    let products = candidates.iter().map(|powers| Term::product(powers, &causes)).collect();
    Some(Row { products, left, weight })
}

/// The weights of the times that make up the delays of `scheme`, for its median and its 99th percentile: least squares of relative
/// errors.
fn fit_delays(scheme: Scheme, cases: &[Case]) -> [[f64; TIMES]; 2] {
    [|one: &Measured| one.delay_p50_s, |one: &Measured| one.delay_p99_s].map(|of| {
        let row = |case: &Case| {
            // Of a handful of packets a percentile says nothing.
            let measured = case.of(scheme)?;
            let enough = measured.mean() > 1e-2 * case.path.capacity();
            let whole = of(measured).filter(|_| enough)?;
            let left = whole - case.path.rtt / 2.0;
            let products = delay::times(&case.path).to_vec();
            Some(Row { products, left, weight: 1.0 / whole.max(1e-4) })
        };
        times_of(&cases.iter().filter_map(row).collect::<Vec<Row>>())
    })
}

/// The terms of what `scheme` sends in vain, beyond headers and what the link loses.
fn fit_waste(scheme: Scheme, cases: &[Case]) -> Vec<Term> {
    let candidates = candidates();
    let row = |case: &Case| {
        let least = 1.0 / (scheme.ceiling() * (1.0 - case.path.loss));
        let left = libm::log((case.of(scheme)?.sent_per_useful? / least).clamp(1.0, 100.0));
        let causes = Causes::of(&case.path);
        let products = candidates.iter().map(|powers| Term::product(powers, &causes)).collect();
        Some(Row { products, left, weight: 1.0 / (0.02 + 0.1 * left) })
    };
    let rows: Vec<Row> = cases.iter().filter_map(row).collect();
    terms_of(&rows, candidates)
}

/// The weights of the times that make up requests' delays, plain and in the tunnel, for their median and their 99th percentile.
fn fit_requests(tunnel: bool, cases: &[Case]) -> [[f64; TIMES]; 2] {
    [0.5, 0.99].map(|quantile| {
        let of = |one: &Requests| if quantile < 0.9 { one.p50_s } else { one.p99_s };
        let row = |case: &Case| {
            let whole = of(&case.requests[usize::from(tunnel)])?;
            let left = (whole - case.path.rtt).max(0.0);
            let products = delay::request_times(&case.path, quantile).to_vec();
            Some(Row { products, left, weight: 1.0 / whole.max(1e-4) })
        };
        times_of(&cases.iter().filter_map(row).collect::<Vec<Row>>())
    })
}

/// The weights of times whose sums are closest to delays by their ratio, twice too long as bad as twice too short. The weight of a row is
/// one over the whole delay.
fn times_of(rows: &[Row]) -> [f64; TIMES] {
    let mut found = [0.0; TIMES];
    robust(rows, 0.5, &mut found);
    for _ in 0..10 {
        let weighed = rows.iter().map(|row| {
            let whole = 1.0 / row.weight;
            let predicted = (whole + dot(&row.products, &found) - row.left).max(0.1 * whole);
            Row { products: row.products.clone(), weight: 1.0 / (whole * predicted).sqrt(), ..*row }
        });
        robust(&weighed.collect::<Vec<Row>>(), 0.5, &mut found);
    }
    found
}

/// Least squares in which what is far off, by `far` and more, counts by its distance and not by its square: links on which a
/// connection lived or died.
fn robust(rows: &[Row], far: f64, solution: &mut [f64]) {
    let mut damped: Vec<f64> = rows.iter().map(|row| row.weight).collect();
    for _ in 0..8 {
        least_squares(rows, &damped, solution);
        for (damped, row) in damped.iter_mut().zip(rows) {
            let off = (dot(&row.products, solution) - row.left).abs() * row.weight;
            *damped = row.weight / (off / far).max(1.0).sqrt();
        }
    }
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
pub(super) fn source(seed: u64, cases: &[Case]) -> String {
    let links = cases.iter().filter(|case| case.of(Scheme::TunnelBbr).is_some()).count();
    let plain = cases.len();
    let fitted: Vec<_> = Scheme::FITTED.iter().map(|scheme| (*scheme, fit(*scheme, cases))).collect();
    let mut text = format!(
        "//! Weights of causes, as fitted to {links} links of seed {seed}, those of plain TCP to {plain}. Written by `make plan-report`; do not edit.\n\n\
         use super::scheme::Scheme;\nuse super::wear::{{Causes, Term}};\n\n\
         /// The seed of those links.\npub const SEED: u64 = {seed};\n\n\
         /// The terms of a scheme.\npub fn terms(scheme: Scheme) -> &'static [Term] {{\n    match scheme {{\n"
    );
    for (scheme, _) in &fitted {
        let _ = writeln!(text, "        Scheme::{scheme:?} => {},", constant(*scheme));
    }
    text.push_str("        Scheme::TcpNc(_) => &[],\n    }\n}\n");
    for (scheme, terms) in &fitted {
        let _ = writeln!(text, "\nconst {}: &[Term] = &[", constant(*scheme));
        write_terms(&mut text, terms);
    }
    text.push_str(
        "\n/// The terms of what a scheme sends in vain, beyond headers and what the link loses.\n\
         pub fn waste(scheme: Scheme) -> &'static [Term] {\n    match scheme {\n",
    );
    for scheme in Scheme::FITTED {
        let _ = writeln!(text, "        Scheme::{scheme:?} => {}_WASTE,", constant(scheme));
    }
    text.push_str("        Scheme::TcpNc(_) => &[],\n    }\n}\n");
    for scheme in Scheme::FITTED {
        let _ = writeln!(text, "\nconst {}_WASTE: &[Term] = &[", constant(scheme));
        write_terms(&mut text, &fit_waste(scheme, cases));
    }
    let _ = write!(
        text,
        "\n/// Weights of [`times`](super::delay::times), of the median and of the 99th percentile.\n\
         pub fn delays(scheme: Scheme) -> [[f64; {TIMES}]; 2] {{\n    match scheme {{\n"
    );
    for scheme in Scheme::FITTED {
        let rounded = fit_delays(scheme, cases).map(|weights| weights.map(|w| libm::round(w * 1e4) / 1e4));
        let like = if scheme == Scheme::TunnelCubic { " | Scheme::TcpNc(_)" } else { "" };
        let _ = writeln!(text, "        Scheme::{scheme:?}{like} => {rounded:?},");
    }
    text.push_str("    }\n}\n");
    let _ = write!(
        text,
        "\n/// Weights of [`request_times`](super::delay::request_times), plain or in the tunnel.\n\
         pub fn requests(tunnel: bool) -> [[f64; {TIMES}]; 2] {{\n    match tunnel {{\n"
    );
    for tunnel in [false, true] {
        let rounded = fit_requests(tunnel, cases).map(|weights| weights.map(|w| libm::round(w * 1e4) / 1e4));
        let _ = writeln!(text, "        {tunnel} => {rounded:?},");
    }
    text.push_str("    }\n}\n");
    text
}

fn write_terms(text: &mut String, terms: &[Term]) {
    for term in terms {
        let _ = write!(text, "    Term {{ weight: {:.5}, powers: Causes {{ ", term.weight);
        for (name, power) in Causes::NAMES.iter().zip(term.powers.values()).filter(|(_, power)| *power != 0.0)
        {
            let _ = write!(text, "{name}: {power:?}, ");
        }
        text.push_str("..Causes::NONE } },\n");
    }
    text.push_str("];\n");
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
