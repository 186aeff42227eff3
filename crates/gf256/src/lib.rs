//! The field GF(256) = `GF(2)[x] / (x^8 + x^4 + x^3 + x^2 + 1)`, polynomial 0x11D, and fast
//! arithmetic on long vectors over it.
//!
//! * [`mul`], [`inv`], [`div`], [`exp`], [`log`]: the field itself, one byte at a time. The tests
//!   compare everything else with these functions.
//! * [`Kernel`]: operations on whole vectors with the best instructions of the processor: GFNI with
//!   AVX-512 or AVX2, byte shuffles (AVX2), or portable code. [`Kernel::chosen`] returns the kernel
//!   that is chosen at the first call. The environment variable `RIPSTOP_GF256` overrides the
//!   choice.
//! * [`Chunk`]: 64 bytes aligned to 64. A symbol (a vector that the codes combine) is stored in
//!   whole chunks. Operations accept vectors of any length and alignment, and are fastest on whole
//!   aligned chunks.
//! * [`mod@bench`]: the cases that the benchmarks and the `speed` command measure.
//!
//! The most important operation is [`Kernel::product`]. Loads and stores limit the speed of a
//! single multiply-accumulate, so a multiply-accumulate is as fast as XOR. A product of several
//! outputs from many sources keeps its sums in registers. The product therefore comes close to the
//! speed of the multiplication instructions. [`Kernel::sum`] does the same for sums without factors,
//! as codes over GF(2) need them.

pub mod bench;
mod field;
mod kernel;
mod memory;

pub use field::{POLYNOMIAL, div, exp, inv, log, mul};
pub use kernel::{Isa, Kernel, KernelError, ProductMode};
pub use memory::{CHUNK, Chunk, Slot, bytes, bytes_mut, chunks_for};

/// `dst ^= src` with the chosen kernel; see [`Kernel::xor`].
pub fn xor(dst: &mut [u8], src: &[u8]) {
    Kernel::chosen().xor(dst, src);
}

/// `dst += c * src` with the chosen kernel; see [`Kernel::mul_add`].
pub fn mul_add(dst: &mut [u8], src: &[u8], c: u8) {
    Kernel::chosen().mul_add(dst, src, c);
}

/// `dst = c * dst` with the chosen kernel; see [`Kernel::mul`].
pub fn mul_slice(dst: &mut [u8], c: u8) {
    Kernel::chosen().mul(dst, c);
}

/// Computes several sums of products together with the chosen kernel; see [`Kernel::product`].
pub fn product(mode: ProductMode, coefficients: &[u8], outputs: &mut [&mut [u8]], sources: &[&[u8]]) {
    Kernel::chosen().product(mode, coefficients, outputs, sources);
}
