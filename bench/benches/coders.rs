//! Benchmarks of the coders, and of references for their speed. One reference is the fused matrix
//! product of `ripstop-gf256`, the upper limit of their speed. The others are the crates `rlnc` and
//! `fec-rs`. The program `block-codes` measures the block code and other crates in turns.

use criterion::{BenchmarkGroup, measurement::WallTime};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::SeedableRng;
use ripstop_codes::bench;
use ripstop_gf256::Kernel;
use std::hint::black_box;
use std::time::{Duration, Instant};

const WINDOW: usize = 50;
const LEN: usize = 1408;

fn case(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut run: impl FnMut() -> u64) {
    group.throughput(Throughput::Bytes(run()));
    group.bench_function(name, |b| b.iter(&mut run));
}

fn two_steps(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut case: impl bench::TwoSteps) {
    case.prepare();
    group.throughput(Throughput::Bytes(case.run()));
    group.bench_function(name, |b| {
        b.iter_custom(|rounds| {
            let mut spent = Duration::ZERO;
            for _ in 0..rounds {
                case.prepare();
                let start = Instant::now();
                black_box(case.run());
                spent += start.elapsed();
            }
            spent
        });
    });
}

fn ours(c: &mut Criterion) {
    let mut group = c.benchmark_group("window");
    case(&mut group, "anchor: fused K 50 x M 8", ripstop_gf256::bench::fused(Kernel::chosen(), WINDOW, 8, LEN));
    case(&mut group, "systematic encode, 5 repairs", bench::systematic_encode(WINDOW, 5, LEN));
    two_steps(&mut group, "recover 5", bench::recover(WINDOW, 5, LEN));
    case(&mut group, "receive, recover 5", bench::receive(WINDOW, 5, LEN));
    case(&mut group, "dense encode", bench::dense_encode(WINDOW, 8, LEN));
    two_steps(&mut group, "dense decode", bench::dense_decode(WINDOW, LEN));
    group.sample_size(10);
    two_steps(&mut group, "dense decode W 400", bench::dense_decode(400, LEN));
    case(&mut group, "holes in 10 000", bench::single_holes(10_000, 20, LEN));
    group.finish();
}

const N: usize = 40;
const K: usize = 32;

fn block(c: &mut Criterion) {
    let mut group = c.benchmark_group("block");
    case(&mut group, "anchor: fused K 32 x M 8", ripstop_gf256::bench::fused(Kernel::chosen(), K, N - K, LEN));
    case(&mut group, "encode 32 + 8", bench::block_encode(N, K, LEN));
    two_steps(&mut group, "decode 32 + 8, 1 lost", bench::block_decode(N, K, 1, LEN));
    two_steps(&mut group, "decode 32 + 8, 8 lost", bench::block_decode(N, K, N - K, LEN));
    group.finish();
}

fn fec_rs_crate(c: &mut Criterion) {
    let mut group = c.benchmark_group("fec-rs 0.1");
    let Ok(code) = fec_rs::ReedSolomon::new(K, N - K) else { return };
    let sources: Vec<Vec<u8>> = (0..K).map(|k| (0..LEN).map(|i| ((i * 31 + k) >> 3) as u8).collect()).collect();
    group.throughput(Throughput::Bytes((K * LEN) as u64));
    group.bench_function("encode 32 + 8", |b| {
        b.iter(|| {
            let mut repairs = vec![vec![0; LEN]; N - K];
            black_box(code.encode_sep(black_box(&sources), &mut repairs).ok());
            repairs
        });
    });
    group.finish();
}

fn rlnc_crate(c: &mut Criterion) {
    let mut group = c.benchmark_group("rlnc 0.8.7");
    let mut random = rand::rngs::StdRng::seed_from_u64(1);
    let data: Vec<u8> = (0..WINDOW * LEN).map(|i| ((i * 31) >> 3) as u8).collect();
    let Ok(encoder) = rlnc::full::Encoder::new(data, WINDOW) else { return };
    group.throughput(Throughput::Bytes(LEN as u64));
    group.bench_function("dense encode", |b| b.iter(|| black_box(encoder.code(&mut random))));
    let pieces: Vec<Vec<u8>> = (0..WINDOW + 5).map(|_| encoder.code(&mut random)).collect();
    group.throughput(Throughput::Bytes((WINDOW * LEN) as u64));
    group.bench_function("dense decode", |b| {
        b.iter(|| {
            let size = encoder.get_piece_byte_len();
            let Ok(mut decoder) = rlnc::full::Decoder::new(size, WINDOW) else { return };
            for piece in &pieces {
                if decoder.is_already_decoded() {
                    break;
                }
                black_box(decoder.decode(piece).ok());
            }
            black_box(decoder.get_decoded_data().ok());
        });
    });
    group.finish();
}

/// The measurements are short, because there are many cases and each case is small.
fn config() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1))
}

criterion_group! {
    name = benches;
    config = config();
    targets = ours, block, fec_rs_crate, rlnc_crate
}
criterion_main!(benches);
