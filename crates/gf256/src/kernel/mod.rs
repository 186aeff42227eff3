//! Kernels: implementations of the same operations with different processor instructions, and the
//! choice of a kernel at run time.
//!
//! `isa.rs` names the instruction sets. `lanes.rs` defines the few operations that a kernel needs,
//! and `x86.rs` implements them. `fused.rs` and `stream.rs` hold the algorithms. `portable.rs` is a
//! kernel without special instructions. `some_rows.rs` has the operations on some rows of a matrix.
//! `sum.rs` has sums over GF(2). `eliminate.rs` solves systems of equations, and `small.rs` solves
//! small systems in registers.

#[allow(unsafe_code, reason = "vector code over raw pointers")]
mod eliminate;
#[allow(unsafe_code, reason = "vector code over raw pointers")]
mod fused;
mod isa;
#[allow(unsafe_code, reason = "vector code over raw pointers")]
mod lanes;
#[cfg(test)]
#[allow(unsafe_code, reason = "stands in for the vector code")]
mod model;
mod portable;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "processor instructions")]
mod small;
#[allow(unsafe_code, reason = "calls vector code")]
mod some_rows;
#[allow(unsafe_code, reason = "vector code over raw pointers")]
mod stream;
#[allow(unsafe_code, reason = "vector code over raw pointers")]
mod sum;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "processor instructions")]
mod x86;

use crate::memory::{CHUNK, Chunk, Fresh, Slot, bytes, bytes_mut};
use fused::{MOST_OUTPUTS, Product};
pub use isa::{Isa, KernelError};
use lanes::Engine;
#[cfg(target_arch = "x86_64")]
use lanes::Lanes;
use std::sync::OnceLock;

/// The largest number of outputs that are passed to one fused product. A product with more outputs
/// is split. The limit bounds an array of pointers on the stack. Half the value splits a product
/// into twice as many parts. Double the value doubles the array.
const MAX_OUTPUTS: usize = 64;

/// The environment variable that overrides the choice of kernel.
const VARIABLE: &str = "RIPSTOP_GF256";

/// Whether a product replaces the contents of the outputs or is added to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductMode {
    /// The product replaces the contents of the outputs.
    Overwrite,
    /// The product is added to the outputs.
    Accumulate,
}

/// An implementation of vector arithmetic over GF(256) that this machine can run.
///
/// All kernels compute the same bytes; they differ only in speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    // Private, so that a Kernel exists only if the processor has its instructions. The safety
    // comments below rely on this.
    isa: Isa,
}

impl Kernel {
    /// The kernel for `isa`.
    ///
    /// # Errors
    /// If this machine does not have the instructions.
    pub fn new(isa: Isa) -> Result<Kernel, KernelError> {
        if isa.is_available() { Ok(Kernel { isa }) } else { Err(KernelError::Lacking { isa }) }
    }

    /// The kernels that this machine can run, fastest first. `portable` is always among them.
    pub fn all() -> impl Iterator<Item = Kernel> {
        Isa::ALL.into_iter().filter_map(|isa| Kernel::new(isa).ok())
    }

    /// The kernel that the program uses. The environment variable `RIPSTOP_GF256` can name this
    /// kernel. Otherwise it is the fastest kernel. The choice is made at the first call.
    pub fn chosen() -> Kernel {
        choice().0
    }

    /// Why the kernel named by `RIPSTOP_GF256` is not used. None if that kernel is used, or if the
    /// variable is not set. The program shows this warning to the user.
    pub fn warning() -> Option<&'static KernelError> {
        choice().1.as_ref()
    }

    /// The kernel's instruction set.
    pub const fn isa(self) -> Isa {
        self.isa
    }

    /// The kernel's name: `gfni512`, `gfni256`, `avx2` or `portable`.
    pub const fn name(self) -> &'static str {
        self.isa.name()
    }

    /// `dst ^= src`, up to the length of the shorter slice.
    pub fn xor(self, dst: &mut [u8], src: &[u8]) {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Gfni512 => xor_with::<x86::Gfni512>(dst, src),
            #[cfg(target_arch = "x86_64")]
            Isa::Gfni256 => xor_with::<x86::Gfni256>(dst, src),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => xor_with::<x86::Shuffle256>(dst, src),
            _ => portable::xor_into(dst, src),
        }
    }

    /// `dst += c * src`, up to the length of the shorter slice.
    pub fn mul_add(self, dst: &mut [u8], src: &[u8], c: u8) {
        match (c, self.isa) {
            (0, _) => {}
            (1, _) => self.xor(dst, src),
            #[cfg(target_arch = "x86_64")]
            (_, Isa::Gfni512) => mul_add_with::<x86::Gfni512>(dst, src, c),
            #[cfg(target_arch = "x86_64")]
            (_, Isa::Gfni256) => mul_add_with::<x86::Gfni256>(dst, src, c),
            #[cfg(target_arch = "x86_64")]
            (_, Isa::Avx2) => mul_add_with::<x86::Shuffle256>(dst, src, c),
            _ => portable::mul_add(dst, src, c),
        }
    }

    /// `dst = c * dst`.
    pub fn mul(self, dst: &mut [u8], c: u8) {
        match (c, self.isa) {
            (0, _) => dst.fill(0),
            (1, _) => {}
            #[cfg(target_arch = "x86_64")]
            (_, Isa::Gfni512) => mul_with::<x86::Gfni512>(dst, c),
            #[cfg(target_arch = "x86_64")]
            (_, Isa::Gfni256) => mul_with::<x86::Gfni256>(dst, c),
            #[cfg(target_arch = "x86_64")]
            (_, Isa::Avx2) => mul_with::<x86::Shuffle256>(dst, c),
            _ => portable::mul(dst, c),
        }
    }

    /// Computes several sums of products together. Output m is the sum, for all k, of
    /// `coefficients[m * sources.len() + k] * sources[k]`. `mode` says whether this sum replaces
    /// the output or is added to it.
    ///
    /// Outputs and sources may have any length. A source that is shorter than the output counts as
    /// padded with zeros. The part of a source beyond the output's end is ignored. Lengths that are
    /// multiples of 64 bytes are fast. Adjacent outputs of equal length are computed together.
    ///
    /// # Panics
    /// If the number of coefficients is not the number of outputs times the number of sources.
    pub fn product(self, mode: ProductMode, coefficients: &[u8], outputs: &mut [&mut [u8]], sources: &[&[u8]]) {
        assert_eq!(coefficients.len(), outputs.len() * sources.len(), "coefficients must be outputs times sources");
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Gfni512 => product_with::<x86::Gfni512>(mode, coefficients, outputs, sources),
            #[cfg(target_arch = "x86_64")]
            Isa::Gfni256 => product_with::<x86::Gfni256>(mode, coefficients, outputs, sources),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => product_with::<x86::Shuffle256>(mode, coefficients, outputs, sources),
            _ => {
                for (m, output) in outputs.iter_mut().enumerate() {
                    let row = &coefficients[m * sources.len()..][..sources.len()];
                    portable::sum(output, row, sources, mode == ProductMode::Accumulate);
                }
            }
        }
    }

    /// A product like [`Kernel::product`] that writes to new memory: `outputs` slots of `chunks`
    /// chunks each. Calls `each` with the finished slots, in the order of the outputs. Every slot
    /// is written once, without being cleared first.
    ///
    /// # Panics
    /// If the number of coefficients is not the number of outputs times the number of sources.
    #[allow(unsafe_code, reason = "outputs are written without being initialised first")]
    pub fn product_fresh(
        self,
        coefficients: &[u8],
        outputs: usize,
        chunks: usize,
        sources: &[&[u8]],
        mut each: impl FnMut(Slot),
    ) {
        assert_eq!(coefficients.len(), outputs * sources.len(), "coefficients must be outputs times sources");
        let mut rest = outputs;
        while rest > 0 {
            // The outputs are split into batches that are as equal in size as possible. No batch
            // has more outputs than the kernel can compute together.
            let batch = rest.div_ceil(rest.div_ceil(self.outputs()));
            let mut fresh = [const { None }; MOST_OUTPUTS];
            let mut pointers = [std::ptr::null_mut(); MOST_OUTPUTS];
            for (fresh, pointer) in fresh.iter_mut().zip(&mut pointers).take(batch) {
                *pointer = fresh.insert(Fresh::new(chunks)).start();
            }
            let coefficients = &coefficients[(outputs - rest) * sources.len()..][..batch * sources.len()];
            // SAFETY: each pointer is to new memory of `chunks` chunks. This memory overlaps no
            // other output and no source. The product overwrites all of it. The Kernel proves that
            // the instructions exist.
            unsafe { self.overwrite(coefficients, &pointers[..batch], chunks * CHUNK, sources) };
            for fresh in fresh.into_iter().flatten() {
                // SAFETY: the product has written the whole slot.
                each(unsafe { fresh.assume_written() });
            }
            rest -= batch;
        }
    }

    /// The largest number of outputs that the kernel computes together.
    fn outputs(self) -> usize {
        let outputs = match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Gfni512 => x86::Gfni512::OUTPUTS,
            #[cfg(target_arch = "x86_64")]
            Isa::Gfni256 => x86::Gfni256::OUTPUTS,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::Shuffle256::OUTPUTS,
            _ => 1,
        };
        outputs.clamp(1, MOST_OUTPUTS)
    }

    /// Computes a product that replaces the contents of `outputs`, which are `len` bytes each.
    ///
    /// # Safety The caller must guarantee the same as for `fused::product`, except for the
    /// instructions: the Kernel proves that the instructions exist. The outputs may be
    /// uninitialised memory. This function initialises them.
    #[allow(unsafe_code, reason = "calls vector code")]
    unsafe fn overwrite(self, coefficients: &[u8], outputs: &[*mut u8], len: usize, sources: &[&[u8]]) {
        let job = Product { coefficients, outputs, len, sources, accumulate: false };
        // SAFETY: the caller's promise.
        unsafe {
            match self.isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Gfni512 => fused::product::<x86::Gfni512>(&job),
                #[cfg(target_arch = "x86_64")]
                Isa::Gfni256 => fused::product::<x86::Gfni256>(&job),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => fused::product::<x86::Shuffle256>(&job),
                _ => {
                    for (m, output) in outputs.iter().enumerate() {
                        output.write_bytes(0, len);
                        let output = std::slice::from_raw_parts_mut(*output, len);
                        let row = &coefficients[m * sources.len()..][..sources.len()];
                        portable::sum(output, row, sources, true);
                    }
                }
            }
        }
    }

    /// Adds `coefficients[i]` times row i to `dst`, for all i: a vector times a matrix. Each row is
    /// as long as `dst`, and `rows` holds the rows one after the other.
    ///
    /// # Panics
    /// If there are fewer rows than coefficients.
    #[allow(unsafe_code, reason = "calls vector code")]
    pub fn gather(self, dst: &mut [Chunk], rows: &[Chunk], coefficients: &[u8]) {
        assert!(rows.len() >= dst.len() * coefficients.len(), "there are fewer rows than coefficients");
        #[cfg(target_arch = "x86_64")]
        {
            let len = dst.len() * CHUNK;
            let (to, from) = (bytes_mut(dst).as_mut_ptr(), bytes(rows).as_ptr());
            // SAFETY: the lengths were checked, and the Kernel proves that the instructions exist.
            unsafe {
                match self.isa {
                    Isa::Gfni512 => return x86::Gfni512::gather(to, len, from, coefficients),
                    Isa::Gfni256 => return x86::Gfni256::gather(to, len, from, coefficients),
                    Isa::Avx2 => return x86::Shuffle256::gather(to, len, from, coefficients),
                    Isa::Portable => {}
                }
            }
        }
        if !dst.is_empty() {
            let sources: Vec<&[u8]> = rows.chunks_exact(dst.len()).take(coefficients.len()).map(bytes).collect();
            portable::sum(bytes_mut(dst), coefficients, &sources, true);
        }
    }

    /// Adds `coefficients[i]` times `src` to row i, for all i: one elimination step on a matrix.
    /// Each row is as long as `src`, and `rows` holds the rows one after the other.
    ///
    /// # Panics
    /// If there are fewer rows than coefficients.
    #[allow(unsafe_code, reason = "calls vector code")]
    pub fn scatter(self, rows: &mut [Chunk], src: &[Chunk], coefficients: &[u8]) {
        assert!(rows.len() >= src.len() * coefficients.len(), "there are fewer rows than coefficients");
        #[cfg(target_arch = "x86_64")]
        {
            let len = src.len() * CHUNK;
            let (to, from) = (bytes_mut(rows).as_mut_ptr(), bytes(src).as_ptr());
            // SAFETY: the lengths were checked, and the Kernel proves that the instructions exist.
            unsafe {
                match self.isa {
                    Isa::Gfni512 => return x86::Gfni512::scatter(to, len, from, coefficients),
                    Isa::Gfni256 => return x86::Gfni256::scatter(to, len, from, coefficients),
                    Isa::Avx2 => return x86::Shuffle256::scatter(to, len, from, coefficients),
                    Isa::Portable => {}
                }
            }
        }
        if !src.is_empty() {
            for (row, c) in rows.chunks_exact_mut(src.len()).zip(coefficients) {
                if *c != 0 {
                    portable::mul_add(bytes_mut(row), bytes(src), *c);
                }
            }
        }
    }

    /// Runs `rounds` rounds of the kernel's multiplication instructions on registers only. Returns
    /// the number of bytes multiplied. From this number and the measured time, the caller computes
    /// the upper limit of the kernel's speed.
    #[allow(unsafe_code, reason = "calls vector code")]
    pub(crate) fn registers(self, rounds: usize) -> u64 {
        // SAFETY: the Kernel proves that the instructions exist.
        let (byte, width) = unsafe {
            match self.isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Gfni512 => registers_with::<x86::Gfni512>(rounds),
                #[cfg(target_arch = "x86_64")]
                Isa::Gfni256 => registers_with::<x86::Gfni256>(rounds),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => registers_with::<x86::Shuffle256>(rounds),
                _ => (portable::registers(rounds), portable::CHAINS * CHUNK),
            }
        };
        std::hint::black_box(byte);
        rounds as u64 * width as u64
    }
}

/// The chosen kernel, and why the kernel that the environment names is not used.
fn choice() -> &'static (Kernel, Option<KernelError>) {
    static CHOICE: OnceLock<(Kernel, Option<KernelError>)> = OnceLock::new();
    CHOICE.get_or_init(|| choose(std::env::var(VARIABLE).ok().as_deref()))
}

/// The kernel named `wanted`. If this kernel is unknown or not available, the fastest kernel and
/// the reason.
fn choose(wanted: Option<&str>) -> (Kernel, Option<KernelError>) {
    let fastest = Kernel::all().next().unwrap_or(Kernel { isa: Isa::Portable });
    match wanted.filter(|name| !name.is_empty()).map(|name| name.parse().and_then(Kernel::new)) {
        None => (fastest, None),
        Some(Ok(kernel)) => (kernel, None),
        Some(Err(error)) => (fastest, Some(error)),
    }
}

#[allow(unsafe_code, reason = "calls vector code")]
fn xor_with<E: Engine>(dst: &mut [u8], src: &[u8]) {
    let len = dst.len().min(src.len());
    let whole = len / E::WIDTH * E::WIDTH;
    // SAFETY: `whole` is within both slices. A Kernel of E exists, so the processor has E's
    // instructions.
    unsafe { E::xor_into(dst.as_mut_ptr(), src.as_ptr(), whole) };
    portable::xor_into(&mut dst[whole..len], &src[whole..len]);
}

#[allow(unsafe_code, reason = "calls vector code")]
fn mul_add_with<E: Engine>(dst: &mut [u8], src: &[u8], c: u8) {
    let len = dst.len().min(src.len());
    let whole = len / E::WIDTH * E::WIDTH;
    // SAFETY: `whole` is within both slices. A Kernel of E exists, so the processor has E's
    // instructions.
    unsafe { E::multiply(dst.as_mut_ptr(), src.as_ptr(), whole, c, true) };
    with_copies::<E>(&mut dst[whole..len], &src[whole..len], c, true);
}

#[allow(unsafe_code, reason = "calls vector code")]
fn mul_with<E: Engine>(dst: &mut [u8], c: u8) {
    let whole = dst.len() / E::WIDTH * E::WIDTH;
    let start = dst.as_mut_ptr();
    // SAFETY: `whole` is within the slice, and a multiplication in place reads before it writes. A
    // Kernel of E exists, so the processor has E's instructions.
    unsafe { E::multiply(start, start, whole, c, false) };
    let mut tail = [0; CHUNK];
    let rest = dst.len() - whole;
    tail[..rest].copy_from_slice(&dst[whole..]);
    with_copies::<E>(&mut dst[whole..], &tail[..rest], c, false);
}

/// Like [`Engine::multiply`], for slices shorter than one vector. The slices are copied to buffers
/// of vector size.
#[allow(unsafe_code, reason = "calls vector code")]
fn with_copies<E: Engine>(dst: &mut [u8], src: &[u8], c: u8, accumulate: bool) {
    if dst.is_empty() {
        return;
    }
    let (mut to, mut from) = ([0; CHUNK], [0; CHUNK]);
    to[..dst.len()].copy_from_slice(dst);
    from[..src.len()].copy_from_slice(src);
    // SAFETY: the copies are as wide as any vector. A Kernel of E exists, so the processor has E's
    // instructions.
    unsafe { E::multiply(to.as_mut_ptr(), from.as_ptr(), E::WIDTH, c, accumulate) };
    dst.copy_from_slice(&to[..dst.len()]);
}

/// Computes a product with the instructions of `E`. Adjacent outputs of equal length are computed
/// together.
#[allow(unsafe_code, reason = "calls vector code")]
fn product_with<E: Engine>(mode: ProductMode, coefficients: &[u8], outputs: &mut [&mut [u8]], sources: &[&[u8]]) {
    let accumulate = mode == ProductMode::Accumulate;
    let mut first = 0;
    while first < outputs.len() {
        let len = outputs[first].len();
        let same = outputs[first..].iter().take(MAX_OUTPUTS).take_while(|output| output.len() == len).count();
        let mut pointers = [std::ptr::null_mut(); MAX_OUTPUTS];
        for (pointer, output) in pointers.iter_mut().zip(&mut outputs[first..first + same]) {
            *pointer = output.as_mut_ptr();
        }
        let coefficients = &coefficients[first * sources.len()..(first + same) * sources.len()];
        let job = Product { coefficients, outputs: &pointers[..same], len, sources, accumulate };
        // SAFETY: exclusive borrows of `len` bytes do not overlap, and `coefficients` has a row for
        // each output. A Kernel of E exists, so the processor has E's instructions.
        unsafe { fused::product::<E>(&job) };
        first += same;
    }
}

/// Runs [`Engine::registers`]. Returns its result and the number of bytes multiplied per round.
///
/// # Safety
/// A Kernel of E exists.
#[allow(unsafe_code, reason = "calls vector code")]
unsafe fn registers_with<E: Engine>(rounds: usize) -> (u8, usize) {
    // SAFETY: the caller's promise.
    (unsafe { E::registers(rounds) }, E::WIDTH * E::CHAINS)
}
