//! What a kernel needs from an instruction set: a few one-line operations. The algorithms in
//! [`super::fused`] and [`super::stream`] use these operations and are written once. The tests run
//! them on a software model of the instructions.

/// One vector register's worth of field arithmetic.
///
/// Methods are `unsafe` because they may execute instructions that some processors lack, and
/// because they take raw pointers. The caller guarantees both. They are inlined into functions that
/// enable the instructions ([`Engine`]).
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
    /// Most outputs whose accumulators (two vectors each) fit into the registers together with the
    /// other operands.
    const OUTPUTS: usize;
    /// Whether it is faster to process two sources at a time. True where an instruction XORs three
    /// operands.
    const PAIRS: bool;
    /// Number of independent vectors that [`Lanes::arithmetic`] is timed on, enough to keep the
    /// execution units busy.
    const CHAINS: usize;

    /// The table entry for the factor `c`.
    fn entry(c: u8) -> Self::Entry;
    /// A vector of zeros.
    unsafe fn zero() -> Self::Vector;
    /// Reads a vector; `from` need not be aligned.
    unsafe fn load(from: *const u8) -> Self::Vector;
    /// Writes a vector; `to` need not be aligned.
    unsafe fn store(to: *mut u8, vector: Self::Vector);
    /// `a + b`.
    unsafe fn xor(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Prepares a vector to be multiplied.
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
    /// `sum` plus the bytes of `a` at the positions where `b` has bit 7 set.
    unsafe fn add_where(sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Every byte shifted left by one bit.
    unsafe fn shift(vector: Self::Vector) -> Self::Vector;
    /// Hints that the cache line at `from` will be read soon. `from` need not be valid.
    unsafe fn prefetch(from: *const u8);
    /// Only the multiplication instructions, on a register: the upper limit of every kernel's
    /// speed.
    unsafe fn arithmetic(vector: Self::Vector, factor: Self::Factor) -> Self::Vector;
}

/// A rectangle of a fused product: the bytes `from..to` of `outputs`, from all `sources`. `table`
/// holds the factors; the factors of one source, one per output, are adjacent.
pub(super) struct Rectangle<'a, Entry> {
    pub(super) table: &'a [Entry],
    /// Each is at least `to` bytes long.
    pub(super) sources: &'a [&'a [u8]],
    pub(super) outputs: &'a [*mut u8],
    /// `to - from` is a multiple of [`Lanes::WIDTH`].
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether to add to the outputs instead of overwriting them.
    pub(super) accumulate: bool,
}

/// An instruction set with the algorithms compiled for it: functions that enable the instructions
/// and inline the [`Lanes`].
///
/// Every function requires that the processor has the instructions. Lengths are multiples of
/// [`Lanes::WIDTH`]. Pointers are valid for the lengths given, and outputs overlap nothing.
pub(super) trait Engine: Lanes {
    /// A fused product with at most [`Lanes::OUTPUTS`] outputs.
    unsafe fn rectangle(of: &Rectangle<'_, Self::Entry>);
    /// `dst += src`.
    unsafe fn xor_into(dst: *mut u8, src: *const u8, len: usize);
    /// `dst += c * src`, or `dst = c * src`. `dst` and `src` may be equal.
    unsafe fn multiply(dst: *mut u8, src: *const u8, len: usize, c: u8, accumulate: bool);
    /// `dst += sum of coefficients[i] * row i`. The rows have `len` bytes each and are adjacent.
    unsafe fn gather(dst: *mut u8, len: usize, rows: *const u8, coefficients: &[u8]);
    /// `row i += coefficients[i] * src`.
    unsafe fn scatter(rows: *mut u8, len: usize, src: *const u8, coefficients: &[u8]);
    /// The sum of the products of the bytes of `a` and `b`, `len` of each.
    unsafe fn dot(a: *const u8, b: *const u8, len: usize) -> u8;
    /// Runs `rounds` rounds of multiplications on registers. Returns a byte that depends on all of
    /// them.
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
