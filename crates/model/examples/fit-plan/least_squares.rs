//! Least squares with weights that are not negative, and with limited influence of outliers.

/// A link as an equation. The sum of `products`, each multiplied by its entry in the solution,
/// should be `left`. `weight` says how much the link counts in the fit.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) products: Vec<f64>,
    pub(crate) left: f64,
    pub(crate) weight: f64,
}

/// Improves `solution`. A residual of more than `limit` counts in proportion to its size instead of
/// its square. The reason: on some links a connection stalls in one run and fills the link in the
/// next. These links should not decide the fit.
pub(crate) fn robust(rows: &[Row], limit: f64, solution: &mut [f64]) {
    let mut damped: Vec<f64> = rows.iter().map(|row| row.weight).collect();
    for _ in 0..8 {
        least_squares(rows, &damped, solution);
        for (damped, row) in damped.iter_mut().zip(rows) {
            let residual = (dot(&row.products, solution) - row.left).abs() * row.weight;
            *damped = row.weight / (residual / limit).max(1.0).sqrt();
        }
    }
}

/// The dot product of `a` and `b`.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Coordinate descent. The problem is convex, so the descent ends at the only optimum.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_weights_are_found_and_none_is_negative() {
        let mut random = ripstop_base::Seed::new(3).stream("fit");
        let want = [0.5, 0.0, 2.0, 0.0];
        let rows: Vec<Row> = (0..200)
            .map(|_| {
                let products: Vec<f64> = (0..4).map(|_| random.unit()).collect();
                // Without the bound, the last weight would be -.01.
                let left = dot(&products, &want) - 0.01 * products[3];
                Row { products, left, weight: 1.0 }
            })
            .collect();
        let mut got = [0.0; 4];
        least_squares(&rows, &[1.0; 200], &mut got);
        assert!(got[3] == 0.0 && got.iter().zip(want).all(|(g, w)| (g - w).abs() < 0.02), "{got:?}");
    }
}
