//! What a kernel needs of an instruction set, as a handful of one-line operations. The algorithms in
//! [`super::fused`] and [`super::stream`] are written over them once; the tests run the same code on
//! a software model of the instructions.

/// One vector register's worth of field arithmetic.
///
/// Methods are `unsafe` because they may execute instructions that not every processor has, and
/// because they take raw pointers: the caller vouches for both. They are inlined into functions that
/// enable the instructions ([`Engine`]).
pub(super) trait Lanes {
    /// A vector of bytes.
    type Vector: Copy;
    /// A vector prepared to be multiplied by many constants.
    type Source: Copy;
    /// A constant factor in registers.
    type Factor: Copy;
    /// A constant factor as it lies in a table in memory.
    type Entry: Copy;

    /// Bytes in a vector: 32 or 64.
    const WIDTH: usize;
    /// The most outputs whose accumulators (two vectors each) fit in the registers beside the rest.
    const OUTPUTS: usize;
    /// Whether two sources at a time are better than one: so where a three-way XOR exists.
    const PAIRS: bool;
    /// How many vectors' worth of work one [`Lanes::arithmetic`] chain keeps in flight.
    const CHAINS: usize;

    /// The table entry for the factor `c`.
    fn entry(c: u8) -> Self::Entry;
    unsafe fn zero() -> Self::Vector;
    unsafe fn load(from: *const u8) -> Self::Vector;
    unsafe fn store(to: *mut u8, vector: Self::Vector);
    unsafe fn xor(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn prepare(vector: Self::Vector) -> Self::Source;
    /// The factor at `entry`, broadcast from memory.
    unsafe fn factor(entry: *const Self::Entry) -> Self::Factor;
    /// The factor `c`, broadcast from the table of all factors.
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
    /// `sum` plus those bytes of `a` beside which `b` has bit 7.
    unsafe fn add_where(sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Every byte shifted left by one bit.
    unsafe fn shift(vector: Self::Vector) -> Self::Vector;
    /// Hints that the cache line at `from` will be read soon; `from` need not be valid.
    unsafe fn prefetch(from: *const u8);
    /// The bare multiplication instructions on a register, nothing else: what bounds every kernel.
    unsafe fn arithmetic(vector: Self::Vector, factor: Self::Factor) -> Self::Vector;
}

/// A rectangle of a fused product: the bytes `from..to` of `outputs`, from the first `count` of
/// `sources`. `table` holds the factors, those of a source side by side, one for each output.
pub(super) struct Rectangle<'a, Entry> {
    pub(super) table: &'a [Entry],
    /// Each reaches to `to` at least.
    pub(super) sources: &'a [&'a [u8]],
    pub(super) outputs: &'a [*mut u8],
    /// A multiple of [`Lanes::WIDTH`] apart.
    pub(super) from: usize,
    pub(super) to: usize,
    /// Add to what the outputs hold, instead of overwriting it.
    pub(super) accumulate: bool,
}

/// An instruction set with the algorithms compiled for it: the functions in which the [`Lanes`] are
/// inlined with their instructions enabled.
///
/// Every function requires that the processor has the instructions; lengths are multiples of
/// [`Lanes::WIDTH`]; pointers are valid for the lengths given and outputs overlap nothing.
pub(super) trait Engine: Lanes {
    /// A fused product with at most [`Lanes::OUTPUTS`] outputs.
    unsafe fn rectangle(of: &Rectangle<'_, Self::Entry>);
    /// `dst += src`.
    unsafe fn xor_into(dst: *mut u8, src: *const u8, len: usize);
    /// `dst += c * src`, or `dst = c * src` (in place when they are equal).
    unsafe fn multiply(dst: *mut u8, src: *const u8, len: usize, c: u8, accumulate: bool);
    /// `dst += sum of coefficients[i] * row i`; rows of `len` bytes lie one after the other.
    unsafe fn gather(dst: *mut u8, len: usize, rows: *const u8, coefficients: &[u8]);
    /// `row i += coefficients[i] * src`.
    unsafe fn scatter(rows: *mut u8, len: usize, src: *const u8, coefficients: &[u8]);
    /// The sum of the products of the bytes of `a` and `b`, `len` of each.
    unsafe fn dot(a: *const u8, b: *const u8, len: usize) -> u8;
    /// `rounds` rounds of multiplications on registers; answers a byte that depends on all.
    unsafe fn registers(rounds: usize) -> u8;
}

/// Implements [`Engine`] for a [`Lanes`] type, with its instructions enabled.
macro_rules! engine {
    ($lanes:ty $(, $features:literal)?) => {
        impl $crate::kernel::lanes::Engine for $lanes {
            unsafe fn rectangle(of: &$crate::kernel::lanes::Rectangle<'_, Self::Entry>) {
                $(#[target_feature(enable = $features)])?
                unsafe fn with<const M: usize>(
                    of: &$crate::kernel::lanes::Rectangle<'_, <$lanes as $crate::kernel::lanes::Lanes>::Entry>,
                ) {
                    // SAFETY: passed on to the caller of the enclosing function.
                    unsafe { $crate::kernel::fused::rectangle::<$lanes, M>(of) }
                }
                // SAFETY: the caller vouches for the instructions and the pointers.
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
            unsafe fn dot(a: *const u8, b: *const u8, len: usize) -> u8 {
                // SAFETY: passed on to the caller.
                unsafe { $crate::kernel::stream::dot::<$lanes>(a, b, len) }
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
