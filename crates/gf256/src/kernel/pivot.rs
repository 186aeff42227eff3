//! One step of Gauss-Jordan elimination on a small matrix. The step is one call, so the kernel
//! chooses the instructions one time, and the scaled pivot row stays in registers.

use super::lanes::Lanes;
use super::{Isa, Kernel, portable};
#[cfg(target_arch = "x86_64")]
use super::{lanes::Engine, x86};
use crate::field::inv;
use crate::memory::{CHUNK, Chunk, bytes_mut};

/// The widest vector, in bytes.
const WIDEST: usize = 64;

impl Kernel {
    /// Makes row `pivot` of a matrix the pivot row of column `column`. Afterwards the column
    /// belongs to the inverse. `rows` holds the rows one after the other, `width` chunks each.
    ///
    /// Let c be the pivot row's entry in the column, and f the entry of another row. The pivot row
    /// gets 1 in the column, and is then multiplied by 1/c. The other row gets 0 in the column, and
    /// then f times the new pivot row is added to it.
    ///
    /// # Panics
    /// If there is no such row or column, or if c is 0.
    #[allow(unsafe_code, reason = "calls vector code")]
    pub fn pivot(self, rows: &mut [Chunk], width: usize, pivot: usize, column: usize) {
        let count = rows.len().checked_div(width).unwrap_or(0);
        assert!(pivot < count && column < width * CHUNK, "the matrix has no row {pivot} or no column {column}");
        let len = width * CHUNK;
        let matrix = bytes_mut(&mut rows[..count * width]);
        let entry = matrix[pivot * len + column];
        assert!(entry != 0, "the pivot is 0");
        let scale = inv(entry);
        #[cfg(target_arch = "x86_64")]
        {
            let matrix = matrix.as_mut_ptr();
            // SAFETY: `matrix` has `count` rows of `len` bytes; the row and the column were checked.
            // The Kernel proves that the instructions exist.
            unsafe {
                match self.isa {
                    Isa::Gfni512 => return x86::Gfni512::pivot(matrix, len, count, [pivot, column], scale),
                    Isa::Gfni256 => return x86::Gfni256::pivot(matrix, len, count, [pivot, column], scale),
                    Isa::Avx2 => return x86::Shuffle256::pivot(matrix, len, count, [pivot, column], scale),
                    Isa::Portable => {}
                }
            }
        }
        matrix[pivot * len + column] = 1;
        portable::mul(&mut matrix[pivot * len..][..len], scale);
        let (before, rest) = matrix.split_at_mut(pivot * len);
        let (pivot_row, after) = rest.split_at_mut(len);
        for row in before.chunks_exact_mut(len).chain(after.chunks_exact_mut(len)) {
            let factor = std::mem::take(&mut row[column]);
            portable::mul_add(row, pivot_row, factor);
        }
    }
}

/// Implements [`Engine::pivot`](super::lanes::Engine::pivot).
#[inline(always)]
pub(super) unsafe fn pivot<L: Lanes>(rows: *mut u8, len: usize, count: usize, [pivot, column]: [usize; 2], scale: u8) {
    // SAFETY: there are `count` rows of `len` bytes, a multiple of WIDTH, and `pivot` and `column`
    // are below these limits. ONE has two of the widest vectors, and the one that is loaded begins
    // in the first half.
    unsafe {
        let of_pivot = rows.add(pivot * len);
        let factor = L::factor_of(scale);
        // The part of the rows that has the column comes last, because the other parts need the
        // entries of the column as factors.
        let last = column / L::WIDTH * L::WIDTH;
        let one = L::load(ONE.as_ptr().add(WIDEST - column % L::WIDTH));
        let parts = (0..len).step_by(L::WIDTH).filter(|at| *at != last).chain([last]);
        for at in parts {
            let mut scaled = L::times(L::prepare(L::load(of_pivot.add(at))), factor);
            let mut added = scaled;
            if at == last {
                // The product has 1 in the column, where `scale` must be. Writing single bytes of a
                // row would delay the loads of vectors that follow.
                scaled = L::xor(scaled, L::times(L::prepare(one), L::factor_of(scale ^ 1)));
                // An entry f of the column becomes f times the pivot row's entry: adding f times the
                // entry plus 1 has this effect, without a 0 in between.
                added = L::xor(scaled, one);
            }
            L::store(of_pivot.add(at), scaled);
            let added = L::prepare(added);
            for row in (0..count).filter(|row| *row != pivot) {
                let row = rows.add(row * len);
                let factor = row.add(column).read();
                let row = row.add(at);
                L::store(row, L::xor(L::load(row), L::times(added, L::factor_of(factor))));
            }
        }
    }
}

/// A one between zeros. A vector that is loaded from n bytes before the one has it at index n.
static ONE: [u8; 2 * WIDEST] = {
    let mut one = [0; 2 * WIDEST];
    one[WIDEST] = 1;
    one
};

#[cfg(test)]
mod tests {
    use super::super::lanes::Engine;
    use super::super::model::{Model256, Model512};
    use super::*;
    use crate::field::mul;
    use crate::memory::bytes;

    type Step = fn(&mut [Chunk], usize, usize, usize);

    /// The step with the vector code of `E`, a software model.
    fn modelled<E: Engine>(rows: &mut [Chunk], width: usize, pivot: usize, column: usize) {
        let (len, count) = (width * CHUNK, rows.len() / width);
        let scale = inv(bytes(rows)[pivot * len + column]);
        // SAFETY: there are `count` rows of `len` bytes, and the test names a row and a column of
        // them. A model needs no special instructions.
        unsafe { E::pivot(rows.as_mut_ptr().cast(), len, count, [pivot, column], scale) };
    }

    /// The step, byte by byte.
    fn expected(rows: &[Chunk], width: usize, pivot: usize, column: usize) -> Vec<Vec<u8>> {
        let mut rows: Vec<Vec<u8>> = rows.chunks_exact(width).map(|row| bytes(row).to_vec()).collect();
        let scale = inv(std::mem::replace(&mut rows[pivot][column], 1));
        rows[pivot].iter_mut().for_each(|entry| *entry = mul(*entry, scale));
        let scaled = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(m, _)| *m != pivot) {
            let factor = std::mem::take(&mut row[column]);
            row.iter_mut().zip(&scaled).for_each(|(entry, of_pivot)| *entry ^= mul(factor, *of_pivot));
        }
        rows
    }

    #[test]
    fn every_kernel_makes_the_same_step() {
        let mut steps: Vec<(&str, Step)> = vec![("model512", modelled::<Model512>), ("model256", modelled::<Model256>)];
        for kernel in Kernel::all() {
            steps.push(match kernel.isa() {
                Isa::Gfni512 => ("gfni512", |r, w, p, c| Kernel { isa: Isa::Gfni512 }.pivot(r, w, p, c)),
                Isa::Gfni256 => ("gfni256", |r, w, p, c| Kernel { isa: Isa::Gfni256 }.pivot(r, w, p, c)),
                Isa::Avx2 => ("avx2", |r, w, p, c| Kernel { isa: Isa::Avx2 }.pivot(r, w, p, c)),
                Isa::Portable => ("portable", |r, w, p, c| Kernel { isa: Isa::Portable }.pivot(r, w, p, c)),
            });
        }
        for (name, step) in steps {
            for (count, width, pivot, column) in
                [(1, 1, 0, 0), (5, 1, 2, 63), (3, 2, 0, 70), (9, 3, 8, 31), (2, 4, 1, 192)]
            {
                let mut rows = vec![Chunk::ZERO; count * width];
                for (i, byte) in bytes_mut(&mut rows).iter_mut().enumerate() {
                    *byte = (i * i / 3 + i * 31) as u8 | 1;
                }
                // A row without an entry in the column does not change.
                bytes_mut(&mut rows)[(count - 1) * width * CHUNK + column] *= u8::from(pivot == count - 1);
                let want = expected(&rows, width, pivot, column);
                step(&mut rows, width, pivot, column);
                let got: Vec<Vec<u8>> = rows.chunks_exact(width).map(|row| bytes(row).to_vec()).collect();
                assert_eq!(got, want, "{name}: {count} rows of {width}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "the pivot is 0")]
    fn a_pivot_of_zero_is_refused() {
        Kernel::chosen().pivot(&mut [Chunk::ZERO], 1, 0, 0);
    }
}
