//! Gauss-Jordan elimination in place, for small systems of linear equations. The window decoder and
//! the block decoder use it.

use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes_mut};

/// Solves `rows` for the unknowns of `columns`. Returns whether there is a solution.
///
/// Each row is an equation: the sum of its coefficients times the unknowns of all columns is the
/// row's right-hand side. There must be as many rows as `columns`, at most 255, and the columns
/// must differ. Afterwards row m tells how to compute the unknown of `columns[m]`. The coefficient
/// in `columns[i]` is the factor of the right-hand side of equation `order[i]`. The coefficient in
/// any other column is the factor of the unknown of this column.
///
/// `order` has an entry for each column: `order[i]` is the original index of the equation whose
/// right-hand side belongs to `columns[i]`.
///
/// The columns of the inverse replace the columns that are eliminated. A row is `W` chunks, so one
/// step is one operation on short vectors.
pub(crate) fn eliminate<const W: usize>(rows: &mut [[Chunk; W]], columns: &[u8], order: &mut Vec<u8>) -> bool {
    let size = columns.len().min(rows.len());
    order.clear();
    order.extend(0..size as u8);
    let rows = &mut rows[..size];
    let kernel = Kernel::chosen();
    for (at, column) in columns[..size].iter().enumerate() {
        // Equal to the column. `%` lets the compiler leave out bounds checks.
        let place = usize::from(*column) % (W * CHUNK);
        let Some(below) = rows[at..].iter_mut().position(|row| bytes_mut(row)[place] != 0) else { return false };
        if below > 0 {
            rows.swap(at, at + below);
            order.swap(at, at + below);
        }
        kernel.pivot(rows.as_flattened_mut(), W, at, place);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ripstop_gf256::{bytes, mul};

    /// Multiplies the equations out again.
    fn solves<const W: usize>(seed: u64, size: usize) {
        let mut random = ripstop_base::Seed::new(seed).stream("elimination");
        let width = W * CHUNK;
        let mut columns: Vec<u8> = (0..width.min(256)).map(|c| c as u8).collect();
        for i in 0..size {
            let other = i + random.below((columns.len() - i) as u64) as usize;
            columns.swap(i, other);
        }
        columns.truncate(size);
        let mut rows = vec![[Chunk::ZERO; W]; size];
        // Many zeros, so that rows are swapped.
        rows.iter_mut()
            .flat_map(|row| bytes_mut(row))
            .for_each(|c| *c = [0, random.next_u64() as u8][random.below(2) as usize]);
        let equations = rows.clone();
        let mut order = Vec::new();
        if !eliminate(&mut rows, &columns, &mut order) {
            return;
        }
        // Any values for the other columns and the right-hand sides give a solution.
        let mut x: Vec<u8> = (0..width).map(|_| random.next_u64() as u8).collect();
        let y: Vec<u8> = (0..size).map(|_| random.next_u64() as u8).collect();
        let mut inputs = x.clone();
        for (column, equation) in columns.iter().zip(&order) {
            inputs[usize::from(*column)] = y[usize::from(*equation)];
        }
        let sum = |row: &[Chunk; W], x: &[u8]| bytes(row).iter().zip(x).fold(0, |sum, (c, x)| sum ^ mul(*c, *x));
        for (column, row) in columns.iter().zip(&rows) {
            x[usize::from(*column)] = sum(row, &inputs);
        }
        for (equation, y) in equations.iter().zip(y) {
            assert_eq!(sum(equation, &x), y);
        }
    }

    proptest! {
        #[test]
        fn solutions_satisfy_the_equations(seed: u64, size in 0usize..60) {
            solves::<1>(seed, size);
            solves::<2>(seed, size);
            solves::<4>(seed, size);
        }
    }

    #[test]
    fn dependent_equations_have_no_solution() {
        let mut rows = [[Chunk([7; CHUNK])]; 2];
        assert!(!eliminate(&mut rows, &[3, 9], &mut Vec::new()));
        let mut none: [[Chunk; 1]; 0] = [];
        assert!(eliminate(&mut none, &[], &mut Vec::new()));
    }
}
