//! The cases that the benchmarks of this crate and the `speed` command measure.
//!
//! Each function prepares a case and returns a closure. The closure runs the case once and returns
//! the number of bytes processed. The caller measures the time. [`memcpy`], [`xor`] and
//! [`register_limit`] are references with which the other cases are compared.

use crate::{CHUNK, Chunk, Kernel, ProductMode, bytes, bytes_mut, chunks_for};
use std::hint::black_box;

/// Copies `len` bytes with the system's `memcpy`.
pub fn memcpy(len: usize) -> impl FnMut() -> u64 {
    let (mut to, from) = (filled(len, 1), filled(len, 2));
    move || {
        bytes_mut(&mut to)[..len].copy_from_slice(&bytes(black_box(&from))[..len]);
        black_box(&mut to);
        len as u64
    }
}

/// XORs `len` bytes into `len` bytes.
pub fn xor(kernel: Kernel, len: usize) -> impl FnMut() -> u64 {
    let (mut to, from) = (filled(len, 1), filled(len, 2));
    move || {
        kernel.xor(&mut bytes_mut(&mut to)[..len], &bytes(black_box(&from))[..len]);
        black_box(&mut to);
        len as u64
    }
}

/// A sum of `sources` sources of `len` bytes each over GF(2). One run counts as `sources * len`
/// bytes.
pub fn sum(kernel: Kernel, sources: usize, len: usize) -> impl FnMut() -> u64 {
    let from: Vec<Vec<Chunk>> = (0..sources).map(|k| filled(len, k as u64)).collect();
    let mut to = filled(len, 0);
    move || {
        let from: Vec<&[u8]> = from.iter().map(|source| &bytes(source)[..len]).collect();
        kernel.sum(ProductMode::Overwrite, &mut bytes_mut(&mut to)[..len], black_box(&from));
        black_box(&mut to);
        (sources * len) as u64
    }
}

/// The kernel's multiplication instructions on registers only: no loads, stores or additions. The
/// portable kernel has no such instructions. It runs four plain operations instead, because it
/// needs four such operations for a product on average.
pub fn register_limit(kernel: Kernel) -> impl FnMut() -> u64 {
    move || kernel.registers(black_box(1000))
}

/// One multiply-accumulate of `len` bytes.
pub fn mul_add(kernel: Kernel, len: usize) -> impl FnMut() -> u64 {
    let (mut to, from) = (filled(len, 1), filled(len, 2));
    let mut c = 1u8;
    move || {
        // Each run has another factor. The factors 0 and 1 are left out, because they have
        // shortcuts.
        c = c.wrapping_add(1).max(2);
        kernel.mul_add(&mut bytes_mut(&mut to)[..len], &bytes(black_box(&from))[..len], c);
        black_box(&mut to);
        len as u64
    }
}

/// A fused product of `outputs` outputs from `sources` sources of `len` bytes each. One run counts
/// as `sources * outputs * len` bytes.
pub fn fused(kernel: Kernel, sources: usize, outputs: usize, len: usize) -> impl FnMut() -> u64 {
    let from: Vec<Vec<Chunk>> = (0..sources).map(|k| filled(len, k as u64)).collect();
    let mut to: Vec<Vec<Chunk>> = (0..outputs).map(|_| filled(len, 0)).collect();
    let coefficients: Vec<u8> = bytes(&filled(sources * outputs, 77))[..sources * outputs].to_vec();
    move || {
        let from: Vec<&[u8]> = from.iter().map(|source| &bytes(source)[..len]).collect();
        let mut to: Vec<&mut [u8]> = to.iter_mut().map(|output| &mut bytes_mut(output)[..len]).collect();
        kernel.product(ProductMode::Overwrite, black_box(&coefficients), &mut to, black_box(&from));
        black_box(&mut to);
        (sources * outputs * len) as u64
    }
}

/// `len` pseudo-random bytes in whole chunks.
fn filled(len: usize, seed: u64) -> Vec<Chunk> {
    let mut state = seed;
    let mut chunk = || {
        Chunk(std::array::from_fn::<u8, CHUNK, _>(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        }))
    };
    (0..chunks_for(len)).map(|_| chunk()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_count_their_bytes() {
        for kernel in Kernel::all() {
            assert_eq!(memcpy(100)(), 100);
            assert_eq!(xor(kernel, 100)(), 100);
            assert_eq!(sum(kernel, 6, 100)(), 600);
            assert_eq!(mul_add(kernel, 1408)(), 1408);
            assert_eq!(fused(kernel, 3, 2, 128)(), 768);
            assert!(register_limit(kernel)() >= 64_000);
        }
    }
}
