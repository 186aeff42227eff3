//! Compares every kernel of this machine with arithmetic on single bytes (`field.rs`). The GFNI
//! code is also tested on a software model of its instructions (`model.rs`).

use super::model::{Model256, Model512};
use super::some_rows::dots_with;
use super::sum::sum_with;
use super::*;
use crate::field;
use proptest::prelude::*;
use std::ops::Range;

/// Reproducible bytes: a linear congruential generator is random enough here.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

type ScatterSome = fn(&mut [Chunk], usize, &[Chunk], &[u32], &[u8]);
type Dots = fn(&[Chunk], Range<usize>, &[Chunk], usize, &[u32], &mut [u8]);
type Sum = fn(ProductMode, &mut [u8], &[&[u8]]);
type Product = fn(ProductMode, &[u8], &mut [&mut [u8]], &[&[u8]]);

/// The operations of a [`Kernel`] or of a software model, to be tested.
struct Under {
    name: &'static str,
    xor: fn(&mut [u8], &[u8]),
    mul_add: fn(&mut [u8], &[u8], u8),
    mul: fn(&mut [u8], u8),
    product: Product,
    sum: Sum,
    gather: fn(&mut [Chunk], &[Chunk], &[u8]),
    scatter: fn(&mut [Chunk], &[Chunk], &[u8]),
    scatter_some: ScatterSome,
    dots: Dots,
}

macro_rules! kernel_under_test {
    ($isa:ident) => {
        Under {
            name: Isa::$isa.name(),
            xor: |d, s| Kernel { isa: Isa::$isa }.xor(d, s),
            mul_add: |d, s, c| Kernel { isa: Isa::$isa }.mul_add(d, s, c),
            mul: |d, c| Kernel { isa: Isa::$isa }.mul(d, c),
            product: |f, c, o, s| Kernel { isa: Isa::$isa }.product(f, c, o, s),
            sum: |f, o, s| Kernel { isa: Isa::$isa }.sum(f, o, s),
            gather: |d, r, c| Kernel { isa: Isa::$isa }.gather(d, r, c),
            scatter: |r, s, c| Kernel { isa: Isa::$isa }.scatter(r, s, c),
            scatter_some: |r, n, s, w, c| Kernel { isa: Isa::$isa }.scatter_some(r, n, s, w, c),
            dots: |a, i, r, n, w, s| Kernel { isa: Isa::$isa }.dots(a, i, r, n, w, s),
        }
    };
}

#[allow(unsafe_code, reason = "calls the vector code on its model")]
fn model_under_test<E: Engine>(name: &'static str) -> Under {
    Under {
        name,
        xor: xor_with::<E>,
        mul_add: mul_add_with::<E>,
        mul: mul_with::<E>,
        product: product_with::<E>,
        // SAFETY: the output is an exclusive borrow. A model needs no special instructions.
        sum: |f, o, s| unsafe {
            let mut accumulate = f == ProductMode::Accumulate;
            for tile in s.chunks(fused::TILE).chain(s.is_empty().then_some(s)) {
                sum_with::<E>(o.as_mut_ptr(), o.len(), tile, accumulate);
                accumulate = true;
            }
        },
        // SAFETY: there is a row for each coefficient, and the rows are as long as the vector. A
        // model needs no special instructions.
        gather: |d, r, c| unsafe {
            assert!(r.len() >= d.len() * c.len());
            E::gather(d.as_mut_ptr().cast(), d.len() * CHUNK, r.as_ptr().cast(), c);
        },
        // SAFETY: as above.
        scatter: |r, s, c| unsafe {
            assert!(r.len() >= s.len() * c.len());
            E::scatter(r.as_mut_ptr().cast(), s.len() * CHUNK, s.as_ptr().cast(), c);
        },
        // SAFETY: as above.
        scatter_some: |r, n, s, w, c| unsafe {
            assert!(n >= s.len() && r.len() >= n * c.len());
            E::scatter_some(r.as_mut_ptr().cast(), n * CHUNK, s.len() * CHUNK, s.as_ptr().cast(), w, c);
        },
        dots: dots_with::<E>,
    }
}

fn all() -> Vec<Under> {
    let mut all = vec![model_under_test::<Model512>("model512"), model_under_test::<Model256>("model256")];
    all.push(kernel_under_test!(Portable));
    if Isa::Avx2.is_available() {
        all.push(kernel_under_test!(Avx2));
    }
    if Isa::Gfni256.is_available() {
        all.push(kernel_under_test!(Gfni256));
    }
    if Isa::Gfni512.is_available() {
        all.push(kernel_under_test!(Gfni512));
    }
    all
}

/// The sum of products, byte by byte.
fn expected(mode: ProductMode, coefficients: &[u8], outputs: &[Vec<u8>], sources: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut results = outputs.to_vec();
    for (m, result) in results.iter_mut().enumerate() {
        for (at, byte) in result.iter_mut().enumerate() {
            let start = if mode == ProductMode::Overwrite { 0 } else { *byte };
            *byte = sources.iter().enumerate().fold(start, |sum, (k, source)| {
                let c = coefficients[m * sources.len() + k];
                sum ^ field::mul(c, source.get(at).copied().unwrap_or(0))
            });
        }
    }
    results
}

#[test]
fn one_source_on_all_lengths_and_alignments() {
    let source = noise(600, 1);
    let target = noise(600, 2);
    for under in all() {
        for len in 0..=257 {
            // The two vectors start at different alignments. All alignments occur.
            let (from, to) = (len * 7 % 64, len * 5 % 64);
            let c = (len * 37 % 254 + 2) as u8;
            let src = &source[from..from + len];
            let case = format!("{} length {len} from {from} to {to} factor {c}", under.name);

            let mut dst = target.clone();
            (under.xor)(&mut dst[to..to + len], src);
            let want: Vec<u8> = target[to..].iter().zip(src).map(|(d, s)| d ^ s).collect();
            assert_eq!(dst[to..to + len], want, "xor {case}");
            assert_eq!((&dst[..to], &dst[to + len..]), (&target[..to], &target[to + len..]), "xor {case}");

            let mut dst = target.clone();
            (under.mul_add)(&mut dst[to..to + len], src, c);
            let want: Vec<u8> = target[to..].iter().zip(src).map(|(d, s)| d ^ field::mul(c, *s)).collect();
            assert_eq!(dst[to..to + len], want, "mul_add {case}");
            assert_eq!((&dst[..to], &dst[to + len..]), (&target[..to], &target[to + len..]), "{case}");

            let mut dst = target.clone();
            (under.mul)(&mut dst[to..to + len], c);
            let want: Vec<u8> = target[to..to + len].iter().map(|d| field::mul(c, *d)).collect();
            assert_eq!(dst[to..to + len], want, "mul {case}");
            assert_eq!((&dst[..to], &dst[to + len..]), (&target[..to], &target[to + len..]), "{case}");
        }
    }
}

#[test]
fn one_source_with_every_factor() {
    let (source, target) = (noise(256, 3), noise(256, 4));
    for under in all() {
        for c in 0..=255 {
            let (mut sum, mut product) = (target.clone(), target.clone());
            (under.mul_add)(&mut sum, &source, c);
            (under.mul)(&mut product, c);
            for i in 0..256 {
                assert_eq!(sum[i], target[i] ^ field::mul(c, source[i]), "{} {c}", under.name);
                assert_eq!(product[i], field::mul(c, target[i]), "{} {c}", under.name);
            }
        }
    }
}

#[test]
fn different_lengths_stop_at_the_shorter() {
    for under in all() {
        let (source, target) = (noise(100, 5), noise(100, 6));
        for (d, s) in [(100, 40), (40, 100)] {
            let mut dst = target[..d].to_vec();
            (under.xor)(&mut dst, &source[..s]);
            (under.mul_add)(&mut dst, &source[..s], 9);
            let want = |i: usize| if i < s { target[i] ^ source[i] ^ field::mul(9, source[i]) } else { target[i] };
            assert!((0..d).all(|i| dst[i] == want(i)), "{}", under.name);
        }
    }
}

fn check_product(under: &Under, mode: ProductMode, lens: &[usize], source_lens: &[usize], seed: u64) {
    let coefficients = noise(lens.len() * source_lens.len(), seed);
    let noisy: Vec<Vec<u8>> = source_lens.iter().enumerate().map(|(k, n)| noise(n + 3, seed + k as u64)).collect();
    // The sources start at different, unaligned addresses.
    let sources: Vec<&[u8]> = noisy.iter().zip(source_lens).enumerate().map(|(k, (s, n))| &s[k % 4..][..*n]).collect();
    let before: Vec<Vec<u8>> = lens.iter().map(|n| noise(*n, seed ^ *n as u64)).collect();
    let mut after = before.clone();
    let mut outputs: Vec<&mut [u8]> = after.iter_mut().map(Vec::as_mut_slice).collect();
    (under.product)(mode, &coefficients, &mut outputs, &sources);
    let want = expected(mode, &coefficients, &before, &sources);
    assert_eq!(after, want, "{} {mode:?} outputs {lens:?} sources {source_lens:?}", under.name);
}

#[test]
fn products_of_every_shape() {
    for under in all() {
        for mode in [ProductMode::Overwrite, ProductMode::Accumulate] {
            for m in 1..=9 {
                for k in 0..=12 {
                    check_product(&under, mode, &vec![192; m], &vec![192; k], (m * 16 + k) as u64);
                    let lens: Vec<usize> = (0..k).map(|k| (k * 83 + m * 29) % 300).collect();
                    check_product(&under, mode, &vec![217; m], &lens, (m * 16 + k) as u64);
                }
            }
        }
    }
}

#[test]
fn products_on_all_lengths() {
    for under in all() {
        for len in 0..=257 {
            check_product(&under, ProductMode::Overwrite, &[len; 3], &[len; 4], len as u64);
            check_product(&under, ProductMode::Accumulate, &[len; 2], &[64, len, 257 - len], len as u64);
        }
    }
}

#[test]
fn large_products() {
    for under in all() {
        // The first product has more than one tile of sources and more than one block of outputs.
        // The second product has outputs of different lengths.
        check_product(&under, ProductMode::Overwrite, &[128; 70], &[128; 70], 1);
        let lens: Vec<usize> = (0..130).map(|k| 64 * (k % 5)).collect();
        check_product(&under, ProductMode::Accumulate, &[320, 320, 64, 65, 65, 320], &lens, 2);
        check_product(&under, ProductMode::Overwrite, &[1408; 8], &[1408; 50], 3);
    }
}

#[test]
fn an_only_output_of_every_number_of_vectors() {
    for under in all() {
        for vectors in 1..=55 {
            // The only output takes up to 24 vectors at a time. The sources are an odd number, and prefetched ahead.
            let len = 32 * vectors;
            check_product(&under, ProductMode::Overwrite, &[len], &[len; 7], len as u64);
            check_product(&under, ProductMode::Accumulate, &[len], &[len, len, len / 2, 64, len + 5], len as u64);
        }
        check_product(&under, ProductMode::Overwrite, &[1408], &[1408; 131], 3);
    }
}

/// Compares a sum with a product whose factors are all 1.
fn check_sum(under: &Under, mode: ProductMode, len: usize, source_lens: &[usize], seed: usize) {
    let noisy: Vec<Vec<u8>> = source_lens.iter().enumerate().map(|(k, n)| noise(n + 64, (seed + k) as u64)).collect();
    // The sources and the output start at different addresses. All alignments occur.
    let start = |k: usize| (k * 7 + seed) % 64;
    let sources: Vec<&[u8]> =
        noisy.iter().zip(source_lens).enumerate().map(|(k, (s, n))| &s[start(k)..][..*n]).collect();
    let before = noise(len + 128, seed as u64 ^ 99);
    let mut after = before.clone();
    let output = start(5)..start(5) + len;
    (under.sum)(mode, &mut after[output.clone()], &sources);
    let want = expected(mode, &vec![1; sources.len()], &[before[output.clone()].to_vec()], &sources);
    assert_eq!(after[output.clone()], want[0], "{} {mode:?} {len} bytes, sources {source_lens:?}", under.name);
    let around = |bytes: &[u8]| (bytes[..output.start].to_vec(), bytes[output.end..].to_vec());
    assert_eq!(around(&after), around(&before), "{} wrote outside of the {len} bytes", under.name);
}

#[test]
fn sums_on_all_lengths_and_alignments() {
    for under in all() {
        for mode in [ProductMode::Overwrite, ProductMode::Accumulate] {
            for len in (0..=257).chain([511, 512, 513, 1408]) {
                // 0 to 6 sources of the output's length, then sources of other lengths.
                check_sum(&under, mode, len, &vec![len; len % 7], len);
                check_sum(&under, mode, len, &[64, len, 257usize.saturating_sub(len), len / 2, 300], len);
            }
        }
    }
}

#[test]
fn sums_of_every_number_of_sources() {
    for under in all() {
        for mode in [ProductMode::Overwrite, ProductMode::Accumulate] {
            // One tile holds 64 sources, so two and three tiles occur.
            for count in (0..=70).chain([127, 128, 129, 130]) {
                check_sum(&under, mode, 192, &vec![192; count], count);
                let lens: Vec<usize> = (0..count).map(|k| (k * 83 + count * 29) % 300).collect();
                check_sum(&under, mode, 217, &lens, count);
            }
        }
    }
}

#[test]
fn fresh_sums_are_sums() {
    for kernel in Kernel::all() {
        for (chunks, sources) in [(1, 1), (22, 6), (22, 16), (0, 2), (2, 0), (3, 70)] {
            let noisy: Vec<Vec<u8>> = (0..sources).map(|k| noise(64 * (k % 4 + 1), k as u64)).collect();
            let fresh = kernel.sum_fresh(chunks, noisy.iter().map(Vec::as_slice));
            let mut want = vec![0; chunks * CHUNK];
            kernel.sum(ProductMode::Overwrite, &mut want, &noisy.iter().map(Vec::as_slice).collect::<Vec<_>>());
            assert_eq!(fresh.bytes(), want, "{}", kernel.name());
        }
    }
}

#[test]
fn fresh_products_are_products() {
    for kernel in Kernel::all() {
        for (outputs, chunks, sources) in [(1, 1, 1), (5, 22, 50), (0, 3, 2), (3, 0, 2), (3, 2, 0), (70, 3, 9)] {
            let noisy: Vec<Vec<u8>> = (0..sources).map(|k| noise(64 * (k % 4 + 1), k as u64)).collect();
            let sources: Vec<&[u8]> = noisy.iter().map(Vec::as_slice).collect();
            let coefficients = noise(outputs * sources.len(), 9);
            let mut fresh = Vec::new();
            kernel.product_fresh(&coefficients, outputs, chunks, &sources, |slot| fresh.push(slot));
            let zeros = vec![vec![0; chunks * CHUNK]; outputs];
            let want = expected(ProductMode::Overwrite, &coefficients, &zeros, &sources);
            let got: Vec<&[u8]> = fresh.iter().map(|slot| slot.bytes()).collect();
            assert_eq!(got, want, "{}", kernel.name());
        }
    }
}

#[test]
fn matrices_of_short_rows() {
    for under in all() {
        for (rows, width) in [(0, 2), (1, 1), (7, 1), (5, 2), (9, 3), (3, 0), (33, 5)] {
            let matrix = fill(rows * width, 1);
            let vector = fill(width, 2);
            let mut coefficients = noise(rows, 3);
            if let Some(c) = coefficients.get_mut(rows / 2) {
                *c = 0;
            }
            let mut sum = vector.clone();
            (under.gather)(&mut sum, &matrix, &coefficients);
            let mut grown = matrix.clone();
            (under.scatter)(&mut grown, &vector, &coefficients);
            // Every second row changes. A vector that is shorter than a row changes only the row's
            // beginning.
            let which: Vec<u32> = (0..rows as u32).rev().step_by(2).collect();
            for less in 0..=width {
                let mut partly = matrix.clone();
                (under.scatter_some)(&mut partly, width, &vector[..less], &which, &coefficients);
                for (i, chunk) in partly.iter().enumerate() {
                    let changed = which.contains(&((i / width) as u32)) && i % width < less;
                    let of = if changed { &grown } else { &matrix };
                    assert_eq!(*chunk, of[i], "scatter_some {} {rows} x {less}", under.name);
                }
            }
            for at in 0..width * CHUNK {
                let column = |i: usize| bytes(&matrix)[i * width * CHUNK + at];
                let want = (0..rows).fold(bytes(&vector)[at], |s, i| s ^ field::mul(coefficients[i], column(i)));
                assert_eq!(bytes(&sum)[at], want, "gather {} {rows} x {width}", under.name);
                for (i, c) in coefficients.iter().enumerate() {
                    let want = column(i) ^ field::mul(*c, bytes(&vector)[at]);
                    assert_eq!(bytes(&grown)[i * width * CHUNK + at], want, "scatter {}", under.name);
                }
            }
        }
    }
}

fn fill(count: usize, seed: u64) -> Vec<Chunk> {
    let mut chunks = vec![Chunk::ZERO; count];
    bytes_mut(&mut chunks).copy_from_slice(&noise(count * CHUNK, seed));
    chunks
}

#[test]
fn dot_products() {
    let dot = |a: &[Chunk], b: &[Chunk]| bytes(a).iter().zip(bytes(b)).fold(0, |sum, (a, b)| sum ^ field::mul(*a, *b));
    for under in all() {
        for (chunks, stride) in [(0, 1), (1, 1), (1, 3), (2, 2), (5, 7), (9, 9)] {
            let (mut a, rows) = (fill(chunks, 1), fill(6 * stride, 2));
            for zeros in [0, 1, 33, 64, 200] {
                // The zeros at both ends of `a` are skipped.
                let end = bytes(&a).len();
                let within = zeros.min(end)..end.saturating_sub(zeros / 2);
                bytes_mut(&mut a)[..within.start].fill(0);
                bytes_mut(&mut a)[within.end..].fill(0);
                let (which, before) = ([4, 0, 5], noise(6, 3));
                let mut sums = before.clone();
                (under.dots)(&a, within, &rows, stride, &which, &mut sums);
                for i in 0..6 {
                    let product = if which.contains(&(i as u32)) { dot(&a, &rows[i * stride..]) } else { 0 };
                    assert_eq!(sums[i], before[i] ^ product, "{}, {chunks} chunks, row {i}", under.name);
                }
            }
        }
        for c in 0..=255 {
            let (mut a, mut b, mut sum) = ([Chunk::ZERO], [Chunk::ZERO], [0]);
            let at = usize::from(c) % CHUNK;
            (a[0].0[at], b[0].0[at]) = (c, 0x9d);
            (under.dots)(&a, 0..CHUNK, &b, 1, &[0], &mut sum);
            assert_eq!(sum[0], field::mul(c, 0x9d), "{} {c}", under.name);
        }
    }
}

#[test]
fn the_environment_chooses() {
    let fastest = Kernel::all().next().unwrap();
    assert_eq!(choose(None), (fastest, None));
    assert_eq!(choose(Some("")), (fastest, None));
    assert_eq!(choose(Some("portable")), (Kernel { isa: Isa::Portable }, None));
    let (kernel, warning) = choose(Some("sse9"));
    assert_eq!(kernel, fastest);
    assert!(warning.unwrap().to_string().contains("`sse9`; write gfni512"));
    for isa in Isa::ALL {
        let (kernel, warning) = choose(Some(isa.name()));
        if isa.is_available() {
            assert_eq!((kernel.isa(), warning), (isa, None));
        } else {
            assert_eq!(kernel, fastest);
            assert!(warning.unwrap().to_string().contains("portable"));
        }
    }
}

#[test]
fn every_kernel_runs_on_registers() {
    for kernel in Kernel::all() {
        assert_eq!(kernel.registers(0), 0);
        assert!(kernel.registers(10) >= 10 * 64, "{}", kernel.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn products_and_sums_are_linear(
        lens in prop::collection::vec(0usize..400, 0..7),
        sources in prop::collection::vec(0usize..400, 0..80),
        seed: u64,
        accumulate: bool,
    ) {
        let mode = if accumulate { ProductMode::Accumulate } else { ProductMode::Overwrite };
        for under in all() {
            check_product(&under, mode, &lens, &sources, seed);
            check_sum(&under, mode, lens.first().copied().unwrap_or(0), &sources, seed as usize % 1000);
        }
    }
}
