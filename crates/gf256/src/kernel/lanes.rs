//! The operations that a kernel needs from an instruction set: [`Lanes`]. The algorithms in
//! [`super::fused`] and [`super::stream`] are written once, for any type that implements [`Lanes`].
//! An [`Engine`] consists of these algorithms, compiled for one instruction set. The tests also run
//! the algorithms on a software model of the instructions.

use super::fused::{MOST_OUTPUTS, TILE};
use std::mem::MaybeUninit;

/// The widest vector, in bytes: the largest [`Lanes::WIDTH`].
pub(super) const WIDEST: usize = 64;

/// Field arithmetic on one vector register.
///
/// Methods are `unsafe` because they may execute instructions that some processors lack, and
/// because they take raw pointers. The caller guarantees that the processor has the instructions,
/// and that pointers are valid. The methods are inlined into functions that enable the instructions
/// ([`Engine`]).
pub(super) trait Lanes {
    /// A vector of bytes.
    type Vector: Copy;
    /// A vector prepared to be multiplied by many constants.
    type Source: Copy;
    /// A constant factor, in registers.
    type Factor: Copy;
    /// A constant factor, as stored in a table.
    type Entry: Copy;

    /// Bytes in a vector: 32 or 64.
    const WIDTH: usize;
    /// The largest number of outputs that a product computes at a time. Their sums (two vectors
    /// each) must fit into the registers together with the other operands.
    const OUTPUTS: usize;
    /// The largest number of vectors of an only output that are computed at a time. The sums must fit into the registers
    /// together with the other operands.
    const ONLY: usize;
    /// Whether it is faster to process two sources at a time. True where an instruction XORs three
    /// operands.
    const PAIRS: bool;
    /// The number of independent vectors that [`Engine::registers`] multiplies in each round. The
    /// number must be large enough to keep the execution units busy.
    const CHAINS: usize;

    /// The table entry for the factor `c`.
    fn entry(c: u8) -> Self::Entry;
    /// Writes the table entries for the factors `row`, at most [`TILE`], to the start of `to`. May
    /// also write to entries after these. `to` has room for [`TILE`] entries.
    #[inline(always)]
    unsafe fn entries(row: &[u8], to: &mut [MaybeUninit<Self::Entry>]) {
        for (to, c) in to.iter_mut().zip(row) {
            to.write(Self::entry(*c));
        }
    }
    /// A vector of zeros.
    unsafe fn zero() -> Self::Vector;
    /// Reads a vector; `from` need not be aligned.
    unsafe fn load(from: *const u8) -> Self::Vector;
    /// Writes a vector; `to` need not be aligned.
    unsafe fn store(to: *mut u8, vector: Self::Vector);
    /// `a + b`.
    unsafe fn xor(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `sum + a + b`.
    unsafe fn xor_two(sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Prepares a vector to be multiplied.
    unsafe fn prepare(vector: Self::Vector) -> Self::Source;
    /// Loads the factor at `entry` into registers.
    unsafe fn factor(entry: *const Self::Entry) -> Self::Factor;
    /// Loads the factor `c` into registers, from the table of all factors.
    unsafe fn factor_of(c: u8) -> Self::Factor;
    /// `factor * source`.
    unsafe fn times(source: Self::Source, factor: Self::Factor) -> Self::Vector;
    /// `sum + f0 * s0 + f1 * s1`.
    unsafe fn add_two(
        sum: Self::Vector,
        s0: Self::Source,
        f0: Self::Factor,
        s1: Self::Source,
        f1: Self::Factor,
    ) -> Self::Vector;
    /// A vector with 0xff at the positions where `vector` has bit 7 set, and 0 elsewhere.
    unsafe fn mask(vector: Self::Vector) -> Self::Vector;
    /// The bits that both vectors have.
    unsafe fn and(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Every byte shifted left by one bit.
    unsafe fn shift(vector: Self::Vector) -> Self::Vector;
    /// Hints that the cache line at `from` will be read soon. `from` need not be valid.
    unsafe fn prefetch(from: *const u8);
    /// Executes only the multiplication instructions, on registers. This measures the upper limit
    /// of the kernel's speed.
    unsafe fn arithmetic(vector: Self::Vector, factor: Self::Factor) -> Self::Vector;
}

/// The factors of a tile in a product. The factor of source k in output m is the entry m * [`TILE`] + k.
/// Entries of sources and outputs that do not exist are not initialised.
pub(super) type Table<Entry> = [MaybeUninit<Entry>; TILE * MOST_OUTPUTS];

/// A part of a fused product: the bytes `from..to` of all `outputs`, computed from all `sources`.
pub(super) struct Rectangle<'a, Entry> {
    /// The factors of all sources in all outputs.
    pub(super) table: &'a Table<Entry>,
    /// Each source is at least `to` bytes long.
    pub(super) sources: &'a [&'a [u8]],
    pub(super) outputs: &'a [*mut u8],
    /// The offset of the first byte.
    pub(super) from: usize,
    /// The offset after the last byte. `to - from` is a multiple of [`Lanes::WIDTH`].
    pub(super) to: usize,
    /// Whether to add to the outputs instead of overwriting them.
    pub(super) accumulate: bool,
}

/// A part of a sum over GF(2): the bytes `from..to` of the output, computed from all `sources`.
pub(super) struct Summation<'a> {
    /// Each source is at least `to` bytes long.
    pub(super) sources: &'a [&'a [u8]],
    pub(super) output: *mut u8,
    /// The offset of the first byte.
    pub(super) from: usize,
    /// The offset after the last byte. `to - from` is a multiple of [`Lanes::WIDTH`].
    pub(super) to: usize,
    /// Whether to add to the output instead of overwriting it.
    pub(super) accumulate: bool,
}

/// The algorithms compiled for one instruction set. Each function enables the instructions and
/// inlines the methods of [`Lanes`].
///
/// The caller of every function guarantees: the processor has the instructions. Lengths are
/// multiples of [`Lanes::WIDTH`]. Pointers are valid for the given lengths. An output overlaps no
/// other argument, unless the description of the function allows the overlap.
pub(super) trait Engine: Lanes {
    /// Writes the table entries of a row of factors: [`Lanes::entries`].
    unsafe fn tabulate(row: &[u8], to: &mut [MaybeUninit<Self::Entry>]);
    /// A fused product with at most [`Lanes::OUTPUTS`] outputs.
    unsafe fn rectangle(of: &Rectangle<'_, Self::Entry>);
    /// A sum of sources without factors.
    unsafe fn sum(of: &Summation<'_>);
    /// `dst += src`.
    unsafe fn xor_into(dst: *mut u8, src: *const u8, len: usize);
    /// `dst += c * src`, or `dst = c * src`. `dst` and `src` may be equal.
    unsafe fn multiply(dst: *mut u8, src: *const u8, len: usize, c: u8, accumulate: bool);
    /// Adds `coefficients[i]` times row i to `dst`, for all i. `rows` holds the rows one after the
    /// other, with `len` bytes each.
    unsafe fn gather(dst: *mut u8, len: usize, rows: *const u8, coefficients: &[u8]);
    /// Adds `coefficients[i]` times `src` to row i, for all i. `rows` holds the rows one after the
    /// other, with `len` bytes each.
    unsafe fn scatter(rows: *mut u8, len: usize, src: *const u8, coefficients: &[u8]);
    /// Adds `coefficients[i]` times `src` to row i, for each i in `which`. `src` has `len` bytes.
    /// There is a row for each of `coefficients`, and row i begins at byte `i * stride` of `rows`.
    /// Panics if `which` has an index beyond `coefficients`.
    unsafe fn scatter_some(
        rows: *mut u8,
        stride: usize,
        len: usize,
        src: *const u8,
        which: &[u32],
        coefficients: &[u8],
    );
    /// Adds to `sums[i]` the dot product of `a` and row i, for each i in `which`. `a` has `len`
    /// bytes. There is a row for each of `sums`, and row i begins at byte `i * stride` of `rows`.
    /// Panics if `which` has an index beyond `sums`.
    unsafe fn dots(a: *const u8, len: usize, rows: *const u8, stride: usize, which: &[u32], sums: &mut [u8]);
    /// Solves equations for the unknowns of `columns`, as [`Kernel::eliminate`](super::Kernel) says.
    /// There is a row of `len` bytes for each of `columns`, one after the other. Each column is below
    /// `len`. `order` has an index for each row, ascending, and is permuted like the rows.
    unsafe fn eliminate(rows: *mut u8, len: usize, columns: &[u16], order: &mut [u8]) -> bool;
    /// Runs `rounds` rounds of [`Lanes::CHAINS`] multiplications on registers. Returns a byte that
    /// depends on all products, so that the compiler does not remove the multiplications.
    unsafe fn registers(rounds: usize) -> u8;
}

/// Implements [`Engine`] for a [`Lanes`] type. The optional second argument lists the target
/// features of its instructions.
macro_rules! engine {
    ($lanes:ty $(, $features:literal)?) => {
        impl $crate::kernel::lanes::Engine for $lanes {
            $(#[target_feature(enable = $features)])?
            unsafe fn tabulate(row: &[u8], to: &mut [std::mem::MaybeUninit<Self::Entry>]) {
                // SAFETY: passed on to the caller.
                unsafe { <$lanes as $crate::kernel::lanes::Lanes>::entries(row, to) }
            }

            unsafe fn rectangle(of: &$crate::kernel::lanes::Rectangle<'_, Self::Entry>) {
                $(#[target_feature(enable = $features)])?
                unsafe fn with<const M: usize>(
                    of: &$crate::kernel::lanes::Rectangle<'_, <$lanes as $crate::kernel::lanes::Lanes>::Entry>,
                ) {
                    // SAFETY: passed on to the caller of the enclosing function.
                    unsafe { $crate::kernel::fused::rectangle::<$lanes, M>(of) }
                }
                // SAFETY: the caller guarantees the instructions and the pointers.
                unsafe {
                    match of.outputs.len() {
                        1 => with::<1>(of),
                        2 => with::<2>(of),
                        3 => with::<3>(of),
                        4 => with::<4>(of),
                        5 => with::<5>(of),
                        6 => with::<6>(of),
                        7 => with::<7>(of),
                        _ => with::<8>(of),
                    }
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn sum(of: &$crate::kernel::lanes::Summation<'_>) {
                // SAFETY: passed on to the caller.
                unsafe { $crate::kernel::sum::sum::<$lanes>(of) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn xor_into(dst: *mut u8, src: *const u8, len: usize) {
                // SAFETY: passed on to the caller.
                unsafe { $crate::kernel::stream::xor_into::<$lanes>(dst, src, len) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn multiply(dst: *mut u8, src: *const u8, len: usize, c: u8, accumulate: bool) {
                // SAFETY: passed on to the caller.
                unsafe { $crate::kernel::stream::multiply::<$lanes>(dst, src, len, c, accumulate) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn gather(dst: *mut u8, len: usize, rows: *const u8, coefficients: &[u8]) {
                // SAFETY: passed on to the caller.
                unsafe { $crate::kernel::stream::gather::<$lanes>(dst, len, rows, coefficients) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn scatter(rows: *mut u8, len: usize, src: *const u8, coefficients: &[u8]) {
                // SAFETY: passed on to the caller.
                unsafe { $crate::kernel::stream::scatter::<$lanes>(rows, len, src, coefficients) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn scatter_some(
                rows: *mut u8,
                stride: usize,
                len: usize,
                src: *const u8,
                which: &[u32],
                coefficients: &[u8],
            ) {
                // SAFETY: passed on to the caller.
                unsafe { $crate::kernel::stream::scatter_some::<$lanes>(rows, stride, len, src, which, coefficients) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn dots(
                a: *const u8,
                len: usize,
                rows: *const u8,
                stride: usize,
                which: &[u32],
                sums: &mut [u8],
            ) {
                // SAFETY: passed on to the caller.
                unsafe { $crate::kernel::stream::dots::<$lanes>(a, len, rows, stride, which, sums) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn eliminate(rows: *mut u8, len: usize, columns: &[u16], order: &mut [u8]) -> bool {
                // SAFETY: passed on to the caller.
                unsafe { $crate::kernel::eliminate::eliminate::<$lanes>(rows, len, columns, order) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn registers(rounds: usize) -> u8 {
                // SAFETY: passed on to the caller.
                unsafe { $crate::kernel::stream::registers::<$lanes>(rounds) }
            }
        }
    };
}
pub(super) use engine;
