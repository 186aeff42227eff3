//! Compares the overhead of the LT codes with published figures and with the random code over GF(2).

#[path = "../../examples/lt-overhead/measure.rs"]
mod measure;

use measure::{Decoding, Overhead, measure, random_code};
use ripstop_codes::lt::{LtCode, RobustSoliton};

/// The blocks of each measurement. Half the value makes the intervals 1.4 times as wide.
const BLOCKS: usize = 20_000;

/// Asserts that the mean overhead is `want`, up to `tolerance` symbols.
fn check(name: &str, of: Overhead, want: f64, tolerance: f64) {
    assert!((of.mean - want).abs() <= tolerance, "{name}: {:.3} ± {:.3}, not {want}", of.mean, of.half_width);
}

#[test]
fn the_optimised_code_is_close_to_the_random_code() {
    for k in [8, 16, 32, 64] {
        let of = measure(LtCode::Optimised, k, 0.0, Decoding::Full, BLOCKS);
        assert!(of.mean < random_code(k) + 0.1, "K = {k}: {:.3} ± {:.3}", of.mean, of.half_width);
        assert!((of.p95, of.p99) <= (5, 8), "K = {k}: {of:?}");
    }
    for k in [10, 12, 14, 20, 24, 28, 40, 48, 56] {
        let of = measure(LtCode::Optimised, k, 0.0, Decoding::Full, BLOCKS / 8);
        assert!(of.mean < random_code(k) + 0.1 + of.half_width, "K = {k}: {:.3} ± {:.3}", of.mean, of.half_width);
    }
    for k in 1..8 {
        let of = measure(LtCode::Optimised, k, 0.0, Decoding::Full, BLOCKS / 8);
        assert!(of.mean < random_code(k), "K = {k}: {:.3} ± {:.3}", of.mean, of.half_width);
    }
}

#[test]
fn the_optimised_code_needs_few_xors() {
    let of = measure(LtCode::Optimised, 16, 0.0, Decoding::Full, BLOCKS);
    assert!(of.encode_xors < 4.5 && of.decode_xors < 5.5, "{of:?}");
}

/// The figures are those of an independent implementation, 20 000 blocks each.
#[test]
fn soliton_codes_have_the_known_overhead() {
    let soliton = |delta| LtCode::Soliton(RobustSoliton::new(0.1, delta).unwrap());
    for (k, full, peeling, smaller_delta) in [(8, 2.23, 4.65, 1.92), (16, 2.88, 8.60, 2.30), (64, 4.66, 23.7, 3.34)] {
        // The tolerances are the 95 % intervals of both measurements, and .05 for another rule
        // where the spike is beyond K.
        let of = measure(soliton(0.5), k, 0.0, Decoding::Full, BLOCKS);
        check(&format!("K = {k}, .1 .5"), of, full, 0.05 + 2.0 * of.half_width);
        let of = measure(soliton(0.5), k, 0.0, Decoding::Peeling, BLOCKS);
        check(&format!("K = {k}, .1 .5, peeling"), of, peeling, 0.05 + 2.0 * of.half_width);
        let of = measure(soliton(0.05), k, 0.0, Decoding::Full, BLOCKS);
        check(&format!("K = {k}, .1 .05"), of, smaller_delta, 0.05 + 2.0 * of.half_width);
    }
}

/// The figures are those of an independent implementation with random repairs. Repairs that
/// complement each other have a smaller overhead.
#[test]
fn the_systematic_code_has_the_smallest_overhead() {
    for (loss, random) in [(0.05, 0.20), (0.15, 0.83), (0.27, 1.27), (0.39, 1.45), (0.49, 1.53)] {
        let of = measure(LtCode::Systematic, 16, loss, Decoding::Full, BLOCKS);
        let range = 0.75 * random..random - 0.03;
        assert!(range.contains(&of.mean), "loss {loss}: {:.3} ± {:.3}, not in {range:?}", of.mean, of.half_width);
    }
    for k in [1, 2, 8, 16, 64] {
        let of = measure(LtCode::Systematic, k, 0.0, Decoding::Full, 100);
        assert_eq!((of.mean, of.encode_xors, of.decode_xors), (0.0, 0.0, 0.0), "K = {k}");
    }
}
