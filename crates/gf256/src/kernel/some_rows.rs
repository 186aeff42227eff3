//! Operations on some rows of a matrix. A list names the rows. One call handles all rows of the
//! list, so it chooses the instructions and prepares the vector one time for all of them.
//!
//! The rows lie at equal distances, the *stride*, and may be longer than the vector. The window
//! decoder of `ripstop-codes` uses these operations for payloads that have a length but no bytes.
//! The decoder stores each column of its coefficients as a row of such a matrix. Few columns are in
//! use at a time.

use super::lanes::Engine;
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Isa, Kernel, portable};
use crate::memory::{CHUNK, Chunk, bytes, bytes_mut};
use std::ops::Range;

impl Kernel {
    /// Adds `coefficients[i]` times `src` to row i, for each i in `which`. Row i begins at
    /// `rows[i * stride]`. A row is at least as long as `src`; its other chunks do not change.
    ///
    /// # Panics
    /// If `src` is longer than a row, if there are fewer rows than coefficients, or if there is no
    /// coefficient for an index in `which`.
    pub fn scatter_some(self, rows: &mut [Chunk], stride: usize, src: &[Chunk], which: &[u32], coefficients: &[u8]) {
        assert!(src.len() <= stride, "the vector is longer than a row");
        assert!(coefficients.len().saturating_mul(stride) <= rows.len(), "there are fewer rows than coefficients");
        #[cfg(target_arch = "x86_64")]
        {
            let (stride, len) = (stride * CHUNK, src.len() * CHUNK);
            let (to, from) = (bytes_mut(rows).as_mut_ptr(), bytes(src).as_ptr());
            // SAFETY: the lengths were checked, and the Kernel proves that the instructions exist.
            unsafe {
                match self.isa {
                    Isa::Gfni512 => return x86::Gfni512::scatter_some(to, stride, len, from, which, coefficients),
                    Isa::Gfni256 => return x86::Gfni256::scatter_some(to, stride, len, from, which, coefficients),
                    Isa::Avx2 => return x86::Shuffle256::scatter_some(to, stride, len, from, which, coefficients),
                    Isa::Portable => {}
                }
            }
        }
        for row in which.iter().map(|row| *row as usize) {
            portable::mul_add(bytes_mut(&mut rows[row * stride..][..src.len()]), bytes(src), coefficients[row]);
        }
    }

    /// Adds to `sums[i]` the dot product of `a` and row i of a matrix, for each i in `which`. Row i
    /// begins at `rows[i * stride]`. The bytes of `a` outside of the range `within` must be 0. The
    /// function skips those register widths of `a` that contain no byte in `within`.
    ///
    /// # Panics
    /// If there is no row for each of `sums`, no sum for an index in `which`, or if `within`
    /// exceeds `a` or a row.
    #[inline]
    pub fn dots(
        self,
        a: &[Chunk],
        within: Range<usize>,
        rows: &[Chunk],
        stride: usize,
        which: &[u32],
        sums: &mut [u8],
    ) {
        assert!(within.end <= CHUNK * a.len().min(stride), "the range exceeds a vector");
        assert!(sums.len().saturating_mul(stride) <= rows.len(), "there are fewer rows than sums");
        if within.is_empty() || which.is_empty() {
            return;
        }
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Gfni512 => dots_with::<x86::Gfni512>(a, within, rows, stride, which, sums),
            #[cfg(target_arch = "x86_64")]
            Isa::Gfni256 => dots_with::<x86::Gfni256>(a, within, rows, stride, which, sums),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => dots_with::<x86::Shuffle256>(a, within, rows, stride, which, sums),
            _ => {
                let chunks = within.start / CHUNK..within.end.div_ceil(CHUNK);
                for row in which {
                    let of = bytes(&rows[*row as usize * stride..][chunks.clone()]);
                    sums[*row as usize] ^= portable::dot(bytes(&a[chunks.clone()]).as_chunks().0, of.as_chunks().0);
                }
            }
        }
    }
}

/// Computes dot products with the instructions of `E`. The caller has checked the lengths as
/// [`Kernel::dots`] does.
#[inline]
pub(super) fn dots_with<E: Engine>(
    a: &[Chunk],
    within: Range<usize>,
    rows: &[Chunk],
    stride: usize,
    which: &[u32],
    sums: &mut [u8],
) {
    let (from, to) = (within.start / E::WIDTH * E::WIDTH, within.end.next_multiple_of(E::WIDTH));
    if from >= to {
        return;
    }
    let (a, rows) = (bytes(a)[from..to].as_ptr(), bytes(rows)[from..].as_ptr());
    // SAFETY: `from` and `to` are whole vectors within `a` and within each row. There is a row for
    // each of `sums`. A Kernel of E exists, so the processor has E's instructions.
    unsafe { E::dots(a, to - from, rows, stride * CHUNK, which, sums) };
}
