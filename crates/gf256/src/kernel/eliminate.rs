//! Gauss-Jordan elimination in place, for small systems of linear equations. An elimination is one
//! call, so the kernel chooses the instructions one time.
//!
//! The vector code eliminates a few columns together, a *group*. First it makes the pivot rows of
//! the group, which touches no other rows. Then it adds multiples of all these pivot rows to each
//! other row. So each other row is loaded and stored once for a group, not once for a column.
//!
//! While a group is in work, each of its pivot rows has 1 added to the entry of its own column. An
//! entry f of this column is replaced by f times the pivot row's entry. Adding f times the entry
//! plus 1 has this effect. Without the 1, the code would have to write a 0 first, and a single byte
//! that is written delays the load of the vector around it.

use super::lanes::{Lanes, WIDEST};
use super::{Isa, Kernel, portable};
#[cfg(target_arch = "x86_64")]
use super::{lanes::Engine, small, x86};
use crate::field::inv;
use crate::memory::{CHUNK, Chunk, bytes_mut};
use std::ops::Range;

/// The number of columns that are eliminated together. The pivot rows and the factors of a row must
/// fit into 16 registers. With half the value, rows are loaded and stored twice as often. With
/// double the value, the factors do not fit into the registers of AVX2.
const GROUP: usize = 4;

impl Kernel {
    /// Solves a system of linear equations for the unknowns of `columns`. Returns whether there is a
    /// solution.
    ///
    /// `rows` holds the equations one after the other, `width` chunks each. An equation says: the sum
    /// of its coefficients times the unknowns of all columns is the equation's right-hand side. The
    /// first `columns.len()` equations are solved, and the columns must differ.
    ///
    /// Afterwards row m tells how to compute the unknown of `columns[m]`. The coefficient in
    /// `columns[i]` is the factor of the right-hand side of equation `order[i]`. The coefficient in
    /// any other column is the factor of the unknown of this column. `order[i]` is the original index
    /// of an equation.
    ///
    /// # Panics
    /// If there are fewer rows than columns, more than 256 columns, or a column that a row does not
    /// have.
    #[allow(unsafe_code, reason = "calls vector code")]
    pub fn eliminate(self, rows: &mut [Chunk], width: usize, columns: &[u16], order: &mut Vec<u8>) -> bool {
        let (count, len) = (columns.len(), width * CHUNK);
        assert!(count <= 256 && count * width <= rows.len(), "{count} columns need as many rows, at most 256");
        assert!(columns.iter().all(|column| usize::from(*column) < len), "a row has only {len} columns");
        order.clear();
        order.extend((0..count).map(|row| row as u8));
        let matrix = bytes_mut(&mut rows[..count * width]);
        #[cfg(target_arch = "x86_64")]
        {
            let matrix = matrix.as_mut_ptr();
            // SAFETY: `matrix` has a row of `len` bytes for each column, and each row has the columns.
            // The Kernel proves that the instructions exist.
            unsafe {
                match self.isa {
                    Isa::Gfni512 if width == 1 && small::eliminate(matrix, columns) => return true,
                    Isa::Gfni512 => return x86::Gfni512::eliminate(matrix, len, columns, order),
                    Isa::Gfni256 => return x86::Gfni256::eliminate(matrix, len, columns, order),
                    Isa::Avx2 => return x86::Shuffle256::eliminate(matrix, len, columns, order),
                    Isa::Portable => {}
                }
            }
        }
        one_by_one(matrix, len, columns, order)
    }
}

/// The elimination without vector code, one column after the other.
fn one_by_one(matrix: &mut [u8], len: usize, columns: &[u16], order: &mut [u8]) -> bool {
    for (at, column) in columns.iter().map(|column| usize::from(*column)).enumerate() {
        let (before, rest) = matrix.split_at_mut(at * len);
        let Some(below) = rest.chunks_exact(len).position(|row| row[column] != 0) else { return false };
        let (pivot, after) = rest.split_at_mut(len);
        if below > 0 {
            pivot.swap_with_slice(&mut after[(below - 1) * len..][..len]);
            order.swap(at, at + below);
        }
        let scale = inv(std::mem::replace(&mut pivot[column], 1));
        portable::mul(pivot, scale);
        for row in before.chunks_exact_mut(len).chain(after.chunks_exact_mut(len)) {
            let factor = std::mem::take(&mut row[column]);
            portable::mul_add(row, pivot, factor);
        }
    }
    true
}

/// Implements [`Engine::eliminate`](super::lanes::Engine::eliminate).
#[inline(always)]
pub(super) unsafe fn eliminate<L: Lanes>(rows: *mut u8, len: usize, columns: &[u16], order: &mut [u8]) -> bool {
    let count = columns.len();
    let mut start = 0;
    // SAFETY: there are `count` rows of `len` bytes. `start`, `end` and `found` are below `count`,
    // and each column is below `len`.
    unsafe {
        while start < count {
            let entry = |row: usize, of: usize| rows.add(row * len + usize::from(columns[of])).read();
            let Some(found) = (start..count).find(|row| entry(*row, start) != 0) else { return false };
            if found > start {
                std::ptr::swap_nonoverlapping(rows.add(start * len), rows.add(found * len), len);
                order.swap(start, found);
            }
            let mut end = start;
            let ready = loop {
                add_pivot::<L>(rows, len, columns, start, end);
                end += 1;
                if end == count || end - start == GROUP {
                    break end;
                }
                Group::new(rows, len, columns, start..end).reduce::<L>(end..end + 1);
                if entry(end, end) == 0 {
                    // The next group begins with another row. This row is already reduced.
                    break end + 1;
                }
            };
            let group = Group::new(rows, len, columns, start..end);
            for part in [0..start, ready..count] {
                group.reduce::<L>(part);
            }
            for (pivot, column) in (start..end).zip(&columns[start..end]) {
                let (at, one) = one::<L>(*column);
                let at = rows.add(pivot * len + at);
                L::store(at, L::xor(L::load(at), one));
            }
            start = end;
        }
    }
    true
}

/// Adds row `end` to the group of the pivot rows `start..end`. The row has been reduced by these
/// pivot rows. Its entry in its column is not 0.
#[inline(always)]
unsafe fn add_pivot<L: Lanes>(rows: *mut u8, len: usize, columns: &[u16], start: usize, end: usize) {
    // SAFETY: as in `eliminate`.
    unsafe {
        let pivot = rows.add(end * len);
        let column = usize::from(columns[end]);
        let scale = L::factor_of(inv(pivot.add(column).read()));
        let (with_one, one) = one::<L>(columns[end]);
        let mut factors = [L::factor_of(0); GROUP];
        for (row, factor) in (start..end).zip(&mut factors) {
            *factor = L::factor_of(rows.add(row * len + column).read());
        }
        for at in (0..len).step_by(L::WIDTH) {
            let mut vector = L::load(pivot.add(at));
            if at == with_one {
                // The row has c in the column. The product must have 1/c plus 1.
                vector = L::xor(vector, one);
            }
            let scaled = L::times(L::prepare(vector), scale);
            L::store(pivot.add(at), scaled);
            let scaled = L::prepare(scaled);
            for (row, factor) in (start..end).zip(&factors) {
                let to = rows.add(row * len + at);
                L::store(to, L::xor(L::load(to), L::times(scaled, *factor)));
            }
        }
    }
}

/// The pivot rows of a group. If there are fewer than [`GROUP`], the last one stands for the others,
/// with factors of 0.
struct Group {
    rows: *mut u8,
    len: usize,
    pivots: [*const u8; GROUP],
    columns: [usize; GROUP],
    /// 0 for a pivot row that stands for another one, otherwise 255.
    masks: [u8; GROUP],
}

impl Group {
    /// The pivot rows `group` of `rows`.
    ///
    /// # Safety
    /// There are these rows, and each has `len` bytes and the column of each row in `group`.
    #[inline(always)]
    unsafe fn new(rows: *mut u8, len: usize, columns: &[u16], group: Range<usize>) -> Group {
        let pivot = |k: usize| (group.start + k).min(group.end - 1);
        // SAFETY: the caller's promise.
        let at = |k: usize| unsafe { rows.add(pivot(k) * len).cast_const() };
        let column = |k: usize| usize::from(columns[pivot(k)]);
        let mask = |k: usize| if group.start + k < group.end { u8::MAX } else { 0 };
        Group {
            rows,
            len,
            pivots: [at(0), at(1), at(2), at(3)],
            columns: [column(0), column(1), column(2), column(3)],
            masks: [mask(0), mask(1), mask(2), mask(3)],
        }
    }

    /// Eliminates the columns of the group from the rows `of`.
    ///
    /// # Safety
    /// There are these rows.
    #[inline(always)]
    unsafe fn reduce<L: Lanes>(&self, of: Range<usize>) {
        let Group { rows, len, pivots: [p0, p1, p2, p3], columns: [c0, c1, c2, c3], masks: [m0, m1, m2, m3] } = *self;
        // SAFETY: the caller of `new` promised the pivot rows and their columns.
        unsafe {
            let source = |pivot: *const u8, at: usize| L::prepare(L::load(pivot.add(at)));
            let factor = |row: *const u8, column: usize, mask: u8| L::factor_of(row.add(column).read() & mask);
            // If a row is one vector, the pivot rows stay in registers.
            let (s0, s1, s2, s3) = (source(p0, 0), source(p1, 0), source(p2, 0), source(p3, 0));
            for row in of {
                let row = rows.add(row * len);
                let (f0, f1) = (factor(row, c0, m0), factor(row, c1, m1));
                let (f2, f3) = (factor(row, c2, m2), factor(row, c3, m3));
                let sum = L::add_two(L::load(row), s0, f0, s1, f1);
                L::store(row, L::add_two(sum, s2, f2, s3, f3));
                for at in (L::WIDTH..len).step_by(L::WIDTH) {
                    let sum = L::add_two(L::load(row.add(at)), source(p0, at), f0, source(p1, at), f1);
                    L::store(row.add(at), L::add_two(sum, source(p2, at), f2, source(p3, at), f3));
                }
            }
        }
    }
}

/// A vector with a one at the place of `column` and zeros elsewhere, and where the vector begins in
/// a row.
#[inline(always)]
unsafe fn one<L: Lanes>(column: u16) -> (usize, L::Vector) {
    let column = usize::from(column);
    let within = column % L::WIDTH;
    // SAFETY: ONE has two of the widest vectors, and the one that is loaded begins in the first half.
    (column - within, unsafe { L::load(ONE.as_ptr().add(WIDEST - within)) })
}

/// A one between zeros. A vector that is loaded from n bytes before the one has it at index n.
static ONE: [u8; 2 * WIDEST] = {
    let mut one = [0; 2 * WIDEST];
    one[WIDEST] = 1;
    one
};

#[cfg(test)]
mod tests {
    use super::super::model::{Model256, Model512};
    use super::*;
    use crate::field::mul;
    use crate::memory::bytes;
    use proptest::prelude::*;

    type Eliminate = fn(&mut [Chunk], usize, &[u16], &mut Vec<u8>) -> bool;

    /// The elimination with the vector code of `E`, a software model.
    fn modelled<E: Engine>(rows: &mut [Chunk], width: usize, columns: &[u16], order: &mut Vec<u8>) -> bool {
        order.clear();
        order.extend((0..columns.len()).map(|row| row as u8));
        // SAFETY: the test has a row for each column, and columns that exist. A model needs no
        // special instructions.
        unsafe { E::eliminate(rows.as_mut_ptr().cast(), width * CHUNK, columns, order) }
    }

    /// The elimination with each kernel of this machine, and with the models.
    fn every_way() -> Vec<(&'static str, Eliminate)> {
        let mut ways: Vec<(&str, Eliminate)> =
            vec![("model512", modelled::<Model512>), ("model256", modelled::<Model256>)];
        for kernel in Kernel::all() {
            ways.push(match kernel.isa() {
                Isa::Gfni512 => ("gfni512", |r, w, c, o| Kernel { isa: Isa::Gfni512 }.eliminate(r, w, c, o)),
                Isa::Gfni256 => ("gfni256", |r, w, c, o| Kernel { isa: Isa::Gfni256 }.eliminate(r, w, c, o)),
                Isa::Avx2 => ("avx2", |r, w, c, o| Kernel { isa: Isa::Avx2 }.eliminate(r, w, c, o)),
                Isa::Portable => ("portable", |r, w, c, o| Kernel { isa: Isa::Portable }.eliminate(r, w, c, o)),
            });
        }
        ways
    }

    /// Bytes from a seed. One in `zeros` is 0; `zeros` of 0 means few zeros.
    fn byte(state: &mut u64, zeros: u64) -> u8 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let drawn = *state >> 33;
        if zeros > 0 && drawn.is_multiple_of(zeros) { 0 } else { (drawn >> 8) as u8 }
    }

    /// Solves random equations in every way, and multiplies the equations out again. Returns whether
    /// there is a solution.
    fn solves(seed: u64, size: usize, width: usize, zeros: u64) -> Result<bool, TestCaseError> {
        let mut state = seed;
        let mut columns: Vec<u16> = (0..(width * CHUNK) as u16).collect();
        for i in 0..size {
            let other = i + (byte(&mut state, 0) as usize * 7 + i) % (columns.len() - i);
            columns.swap(i, other);
        }
        columns.truncate(size);
        let mut equations = vec![Chunk::ZERO; size * width];
        bytes_mut(&mut equations).iter_mut().for_each(|c| *c = byte(&mut state, zeros));
        // Any values for the other columns and the right-hand sides give a solution.
        let mut x: Vec<u8> = (0..width * CHUNK).map(|_| byte(&mut state, 0)).collect();
        let y: Vec<u8> = (0..size).map(|_| byte(&mut state, 0)).collect();
        let sum = |row: &[Chunk], x: &[u8]| bytes(row).iter().zip(x).fold(0, |sum, (c, x)| sum ^ mul(*c, *x));
        let mut expected = None;
        for (name, eliminate) in every_way() {
            let (mut rows, mut order) = (equations.clone(), vec![9; 3]);
            let solved = eliminate(&mut rows, width, &columns, &mut order);
            if solved {
                let mut inputs = x.clone();
                for (column, equation) in columns.iter().zip(&order) {
                    inputs[usize::from(*column)] = y[usize::from(*equation)];
                }
                for (column, row) in columns.iter().zip(rows.chunks_exact(width)) {
                    x[usize::from(*column)] = sum(row, &inputs);
                }
                for (equation, y) in equations.chunks_exact(width).zip(&y) {
                    prop_assert_eq!(sum(equation, &x), *y, "{}", name);
                }
            }
            let result = solved.then_some((rows, order));
            prop_assert!(expected.get_or_insert_with(|| result.clone()) == &result, "{} differs", name);
        }
        Ok(expected.flatten().is_some())
    }

    proptest! {
        #[test]
        fn solutions_satisfy_the_equations(seed: u64, size in 0usize..40, width in 1usize..4, zeros in 0u64..4) {
            solves(seed, size, width, zeros)?;
        }
    }

    #[test]
    fn equations_with_zeros_are_solved() {
        // With a third of zeros, pivots are 0 in most groups, at each place in the group.
        let solved = (0..100).filter(|seed| solves(*seed, 9, 1, 3).unwrap()).count();
        assert!(solved > 60, "only {solved} of 100 systems had a solution");
    }

    #[test]
    fn dependent_equations_have_no_solution() {
        for (name, eliminate) in every_way() {
            assert!(!eliminate(&mut [Chunk([7; CHUNK]); 2], 1, &[3, 9], &mut Vec::new()), "{name}");
            assert!(eliminate(&mut [], 1, &[], &mut Vec::new()), "{name}");
        }
    }

    #[test]
    #[should_panic(expected = "a row has only 64 columns")]
    fn a_column_beyond_the_row_is_refused() {
        Kernel::chosen().eliminate(&mut [Chunk::ZERO], 1, &[64], &mut Vec::new());
    }
}
