//! Measures the overhead of LT codes over many blocks. The example `lt-overhead` prints what this
//! file measures, and a test asserts it.

use ripstop_base::Seed;
use ripstop_codes::Length;
use ripstop_codes::lt::{Decoder, LtCode, Neighbours, Peeling};

/// How the receiver decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoding {
    /// As [`Decoder`] does: peeling, then inactivation decoding.
    Full,
    /// Peeling alone.
    Peeling,
}

/// What many blocks needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overhead {
    /// The mean number of symbols that arrived beyond K until the block was decoded.
    pub(crate) mean: f64,
    /// The half-width of the 95 % interval of the mean.
    pub(crate) half_width: f64,
    /// The 95th percentile of the overhead.
    pub(crate) p95: usize,
    /// The 99th percentile of the overhead.
    pub(crate) p99: usize,
    /// XORs of payloads per symbol sent.
    pub(crate) encode_xors: f64,
    /// XORs of payloads per source symbol; 0 if the receiver only peels masks.
    pub(crate) decode_xors: f64,
}

/// Sends `blocks` blocks of `k` symbols. Each symbol that is sent is lost with probability `loss`.
///
/// In the systematic code a block begins with seed 0. In the other codes a block begins with a
/// random seed, so that blocks differ. Within a block, seeds count up.
pub(crate) fn measure(code: LtCode, k: usize, loss: f64, decoding: Decoding, blocks: usize) -> Overhead {
    let neighbours = Neighbours::new(code, k).expect("a possible block");
    let mut random = Seed::new(1).stream("lt/overhead");
    let (mut sent, mut encode_xors, mut decode_xors) = (0u64, 0u64, 0u64);
    let mut overheads = Vec::with_capacity(blocks);
    for _ in 0..blocks {
        let start = if code == LtCode::Systematic { 0 } else { random.next_u64() as u32 };
        let mut decoder = Decoder::new(code, k).expect("a possible block");
        let mut peeling = Peeling::new(k).expect("a possible block");
        let mut received = 0;
        for seed in (0..).map(|n: u32| start.wrapping_add(n)) {
            sent += 1;
            encode_xors += u64::from(neighbours.of(seed).count_ones()) - 1;
            if random.chance(loss) {
                continue;
            }
            received += 1;
            let complete = match decoding {
                Decoding::Full => {
                    decoder.receive(seed, Length(1400));
                    decoder.is_complete()
                }
                Decoding::Peeling => {
                    peeling.receive(neighbours.of(seed));
                    peeling.is_complete()
                }
            };
            if complete {
                break;
            }
        }
        decode_xors += decoder.counters().xors;
        overheads.push(received - k);
    }
    overheads.sort_unstable();
    let count = blocks as f64;
    let mean = overheads.iter().sum::<usize>() as f64 / count;
    let squares: f64 = overheads.iter().map(|n| (*n as f64 - mean) * (*n as f64 - mean)).sum();
    let percentile = |share: f64| overheads[((count * share) as usize).min(blocks - 1)];
    Overhead {
        mean,
        half_width: 1.96 * (squares / (count - 1.0) / count).sqrt(),
        p95: percentile(0.95),
        p99: percentile(0.99),
        encode_xors: encode_xors as f64 / sent as f64,
        decode_xors: decode_xors as f64 / (count * k as f64),
    }
}

/// The mean overhead of a random code over GF(2): the sum of 1 / (2^i - 1) for i = 1 to `k`.
pub(crate) fn random_code(k: usize) -> f64 {
    (1..=k).map(|i| 1.0 / (libm::exp2(i as f64) - 1.0)).sum()
}
