//! The field GF(256) = `GF(2)[x] / (x^8 + x^4 + x^3 + x^2 + 1)`, polynomial 0x11D, and fast arithmetic
//! on long vectors over it.
//!
//! * [`mul`], [`inv`], [`div`], [`exp`], [`log`]: the field itself, one byte at a time. They are the
//!   truth that everything else is tested against.
//! * [`Kernel`]: whole vectors at a time, by the best instructions the processor has: GFNI with
//!   AVX-512 or AVX2, byte shuffles (AVX2), or portable code. [`Kernel::chosen`] is picked once; the
//!   environment variable `RIPSTOP_GF256` overrides it.
//! * [`Chunk`]: 64 bytes aligned to 64, the unit in which symbols lie in memory. Vectors of any
//!   length and alignment give right results; whole aligned chunks are fast.
//! * [`mod@bench`]: the cases that the benchmarks and the program's `speed` command both time.
//!
//! The operation that matters is [`Kernel::product`]: a single multiply-accumulate runs at the speed
//! of XOR because loads and stores bound it, and only a product of several outputs from many sources,
//! with accumulators kept in registers, gets near the speed of the arithmetic itself.

pub mod bench;
mod field;
mod kernel;
mod memory;

pub use field::{POLYNOMIAL, div, exp, inv, log, mul};
pub use kernel::{Form, Isa, Kernel, KernelError};
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

/// Several sums of products at once with the chosen kernel; see [`Kernel::product`].
pub fn product(form: Form, coefficients: &[u8], outputs: &mut [&mut [u8]], sources: &[&[u8]]) {
    Kernel::chosen().product(form, coefficients, outputs, sources);
}
