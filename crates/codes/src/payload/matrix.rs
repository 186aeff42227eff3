//! A small dense matrix over GF(256).

/// A matrix of coefficients: one row for each combination, one column for each source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    bytes: Vec<u8>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zero(rows: usize, columns: usize) -> Matrix {
        let mut zero = Matrix::default();
        zero.reset(rows, columns);
        zero
    }

    /// Sets the size of the matrix, and sets all coefficients to zero. Reuses the matrix's memory.
    pub fn reset(&mut self, rows: usize, columns: usize) {
        (self.rows, self.columns) = (rows, columns);
        self.bytes.clear();
        self.bytes.resize(rows * columns, 0);
    }

    /// A matrix whose coefficients are `bytes`, row after row. None if the length of `bytes` is not
    /// `rows` times `columns`.
    pub fn from_bytes(rows: usize, columns: usize, bytes: Vec<u8>) -> Option<Matrix> {
        (rows.checked_mul(columns) == Some(bytes.len())).then_some(Matrix { rows, columns, bytes })
    }

    /// The number of rows, which is the number of outputs.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns, which is the number of sources.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `m`.
    ///
    /// # Panics
    /// If there is no row `m`.
    pub fn row(&self, m: usize) -> &[u8] {
        &self.bytes[m * self.columns..][..self.columns]
    }

    /// Row `m`, writable.
    ///
    /// # Panics
    /// If there is no row `m`.
    pub fn row_mut(&mut self, m: usize) -> &mut [u8] {
        &mut self.bytes[m * self.columns..][..self.columns]
    }

    /// All coefficients, row after row.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_end_to_end() {
        let mut m = Matrix::zero(2, 3);
        m.row_mut(1).copy_from_slice(&[4, 5, 6]);
        assert_eq!(m.as_bytes(), [0, 0, 0, 4, 5, 6]);
        assert_eq!((m.rows(), m.columns(), m.row(0)), (2, 3, &[0; 3][..]));
        assert_eq!(Matrix::from_bytes(2, 3, vec![0, 0, 0, 4, 5, 6]), Some(m));
        assert_eq!(Matrix::from_bytes(2, 3, vec![0; 5]), None);
        assert_eq!(Matrix::from_bytes(usize::MAX, 2, vec![]), None);
        assert_eq!(Matrix::zero(2, 0).row(1), []);
    }
}
