//! Compares the block code with the fastest block codes of other crates, (N, K) = (40, 32). `make bench`
//! runs this program.
//!
//! All cases are measured in turns: each round measures every case for a fraction of a millisecond.
//! So other load on the machine affects all cases alike. A ratio is the median over all rounds.
//!
//! *Encode* makes the 8 repairs of a block. *Decode* restores a block that has lost 8 source symbols,
//! other ones in each block. The time includes the memory of the outputs.

use ripstop_codes::bench::{self, TwoSteps};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The shape of the block code.
const N: usize = 40;
const K: usize = 32;
/// The shortest time for which a case runs in a round.
const TURN: Duration = Duration::from_micros(300);
/// The time for all rounds with one length of symbols. It is enough for about 2500 rounds.
const LENGTH: Duration = Duration::from_secs(5);

/// Runs a case one time. Returns the bytes of source symbols and the time.
type Run = Box<dyn FnMut() -> (u64, Duration)>;

/// The cases of one operation. The first case is the project's own.
struct Operation {
    name: &'static str,
    cases: Vec<(&'static str, Run)>,
}

fn main() {
    for len in [1408, 1400] {
        println!("block code ({N}, {K}), symbols of {len} bytes, GB/s of source symbols:");
        let mut operations = operations(len);
        let start = Instant::now();
        // For each operation and each case, the speed in each round.
        let mut speeds: Vec<Vec<Vec<f64>>> = operations.iter().map(|o| vec![Vec::new(); o.cases.len()]).collect();
        round(&mut operations);
        while start.elapsed() < LENGTH {
            for (all, now) in speeds.iter_mut().zip(round(&mut operations)) {
                all.iter_mut().zip(now).for_each(|(all, now)| all.push(now));
            }
        }
        for (operation, speeds) in operations.iter().zip(&speeds) {
            for ((name, _), theirs) in operation.cases.iter().zip(speeds) {
                let ratio = median(speeds[0].iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect());
                println!(
                    "  {:6}  {name:18} {:6.2}  ripstop / this: {ratio:.2}",
                    operation.name,
                    median(theirs.clone())
                );
            }
        }
    }
}

/// Measures every case once. Returns the speeds in bytes per nanosecond.
fn round(operations: &mut [Operation]) -> Vec<Vec<f64>> {
    let speed = |run: &mut Run| {
        let (mut bytes, mut spent, start) = (0, Duration::ZERO, Instant::now());
        while start.elapsed() < TURN {
            let lap = run();
            bytes += lap.0;
            spent += lap.1;
        }
        bytes as f64 / spent.as_secs_f64() / 1e9
    };
    operations.iter_mut().map(|o| o.cases.iter_mut().map(|(_, run)| speed(run)).collect()).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn operations(len: usize) -> Vec<Operation> {
    let mut encode = bench::block_encode(N, K, len);
    let mut decode = bench::block_decode(N, K, N - K, len);
    let own_decode: Run = Box::new(move || {
        decode.prepare();
        timed(|| decode.run())
    });
    let encode: Vec<(&str, Run)> = vec![
        ("ripstop", Box::new(move || timed(&mut encode))),
        ("fec-rs 0.1", fec_rs_encode(len)),
        ("rusty_erasure 0.4", rusty_erasure_encode(len)),
    ];
    let decode: Vec<(&str, Run)> = vec![
        ("ripstop", own_decode),
        ("fec-rs 0.1", fec_rs_decode(len)),
        ("rusty_erasure 0.4", rusty_erasure_decode(len)),
    ];
    vec![Operation { name: "encode", cases: encode }, Operation { name: "decode", cases: decode }]
}

fn timed(run: impl FnOnce() -> u64) -> (u64, Duration) {
    let start = Instant::now();
    let bytes = run();
    (bytes, start.elapsed())
}

/// K source symbols of `len` bytes.
fn sources(len: usize) -> Vec<Vec<u8>> {
    (0..K).map(|k| (0..len).map(|i| ((i * 31 + k * 17) >> 3) as u8).collect()).collect()
}

/// Chooses N - K source symbols that are lost, other ones at each call.
fn losses() -> impl FnMut() -> Vec<usize> {
    let mut state = 1u64;
    move || {
        let mut left = N - K;
        let mut lost = Vec::new();
        for index in 0..K {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33) as usize % (K - index) < left {
                left -= 1;
                lost.push(index);
            }
        }
        lost
    }
}

fn fec_rs_encode(len: usize) -> Run {
    let code = fec_rs::ReedSolomon::new(K, N - K).expect("the shape exists");
    let sources = sources(len);
    Box::new(move || {
        timed(|| {
            let mut repairs = vec![vec![0; len]; N - K];
            code.encode_sep(black_box(&sources), &mut repairs).expect("all symbols have one length");
            black_box(repairs);
            (K * len) as u64
        })
    })
}

fn fec_rs_decode(len: usize) -> Run {
    let code = fec_rs::ReedSolomon::new(K, N - K).expect("the shape exists");
    let mut symbols = sources(len);
    symbols.resize(N, vec![0; len]);
    code.encode(&mut symbols).expect("all symbols have one length");
    let mut losses = losses();
    Box::new(move || {
        let mut shards: Vec<Option<Vec<u8>>> = symbols.iter().cloned().map(Some).collect();
        let lost = losses();
        lost.iter().for_each(|index| shards[*index] = None);
        let lap = timed(|| {
            code.reconstruct_data(&mut shards).expect("K symbols are left");
            (K * len) as u64
        });
        assert!(lost.iter().all(|index| shards[*index].as_ref() == Some(&symbols[*index])));
        lap
    })
}

fn rusty_erasure_code() -> rusty_erasure::Coder {
    let matrix = rusty_erasure::Matrix::cauchy(K, N - K).expect("the shape exists");
    rusty_erasure::coder(matrix).expect("the matrix is a code's")
}

/// Makes the repairs of `sources` with the crate `rusty_erasure`.
fn rusty_erasure_repairs(code: &rusty_erasure::Coder, sources: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut repairs = vec![vec![0; sources[0].len()]; N - K];
    let sources: Vec<&[u8]> = sources.iter().map(|source| &source[..]).collect();
    let mut outputs: Vec<&mut [u8]> = repairs.iter_mut().map(|repair| &mut repair[..]).collect();
    code.encode(&sources, &mut outputs).expect("all symbols have one length");
    repairs
}

fn rusty_erasure_encode(len: usize) -> Run {
    let (code, sources) = (rusty_erasure_code(), sources(len));
    Box::new(move || {
        timed(|| {
            black_box(rusty_erasure_repairs(&code, black_box(&sources)));
            (K * len) as u64
        })
    })
}

fn rusty_erasure_decode(len: usize) -> Run {
    let (code, mut symbols) = (rusty_erasure_code(), sources(len));
    symbols.extend(rusty_erasure_repairs(&code, &symbols));
    let mut losses = losses();
    Box::new(move || {
        let lost = losses();
        let mut shards: Vec<Option<&[u8]>> = symbols.iter().map(|symbol| Some(&symbol[..])).collect();
        lost.iter().for_each(|index| shards[*index] = None);
        let mut decoded = Vec::new();
        let lap = timed(|| {
            decoded = vec![vec![0; len]; lost.len()];
            let mut outputs: Vec<&mut [u8]> = decoded.iter_mut().map(|symbol| &mut symbol[..]).collect();
            code.recover(&shards, &lost, &mut outputs).expect("K symbols are left");
            (K * len) as u64
        });
        assert!(lost.iter().zip(&decoded).all(|(index, symbol)| symbol == &symbols[*index]));
        lap
    })
}
