//! Compares the speed of the LT code with the speed of the crate `raptorq` (RFC 6330). `make bench`
//! runs this program.
//!
//! ```text
//! cargo run --release --locked --manifest-path bench/Cargo.toml --bin lt-speed [-- SECONDS]
//! ```
//!
//! Both encode blocks of 16 and of 64 source symbols of 1400 bytes, and decode them from repairs
//! alone: no source symbol arrives. Our code is [`LtCode::Optimised`]. Both start and end with plain
//! bytes, so all copies, allocations and random numbers count. The encoder of `raptorq` gets its plan
//! (the inverted matrix) for free.
//!
//! In each of many rounds, every case runs for a millisecond, in turn. The printed speeds are medians
//! over the rounds, in Gbit/s of source bytes. The ratio is the median of the ratios of all rounds, so
//! other load on the machine affects both sides alike. All cases together take `SECONDS`, 10 by
//! default.

use raptorq::{EncodingPacket, ObjectTransmissionInformation, PayloadId};
use raptorq::{SourceBlockDecoder, SourceBlockEncoder, SourceBlockEncodingPlan};
use ripstop_base::Seed;
use ripstop_codes::Symbol;
use ripstop_codes::lt::{Decoder, Encoder, LtCode};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The length of a symbol in bytes: a packet that fits into common MTUs.
const LEN: usize = 1400;
/// The number of different blocks that are decoded in turn, so that the processor cannot learn the
/// pattern of one block. Half the value makes prediction easier; double the value needs more cache.
const BLOCKS: usize = 16;
/// The time for which a case runs in a round.
const TURN: Duration = Duration::from_millis(1);

/// A case: processes one block.
type Case = Box<dyn FnMut()>;
/// Encoding symbols with their identifiers.
type Arrivals = Vec<(u32, Vec<u8>)>;

fn main() -> ExitCode {
    let seconds = match std::env::args().nth(1).map(|text| text.parse::<u32>()) {
        None => 10,
        Some(Ok(seconds)) if seconds > 0 => seconds,
        Some(_) => {
            eprintln!("usage: lt-speed [SECONDS], with a whole number of SECONDS above 0");
            return ExitCode::from(2);
        }
    };
    println!("| {LEN} bytes, only repairs | K | ours, Gbit/s | raptorq 2, Gbit/s | ratio |");
    println!("|---|---|---|---|---|");
    for k in [16, 64] {
        let data: Vec<u8> = {
            let (mut random, mut data) = (Seed::new(1).stream("lt-speed"), vec![0; k * LEN]);
            random.fill(&mut data);
            data
        };
        let encode = (our_encoder(data.clone(), k), their_encoder(data.clone(), k));
        let decode = (our_decoder(&data, k), their_decoder(&data, k));
        for (name, (ours, theirs)) in [("encode", encode), ("decode", decode)] {
            let length = Duration::from_secs(u64::from(seconds)) / 4;
            let (ours, theirs, ratio) = compare(ours, theirs, length);
            let speed = |seconds: f64| (8 * k * LEN) as f64 / seconds * 1e-9;
            println!("| {name} | {k} | {:.1} | {:.1} | {ratio:.1} |", speed(ours), speed(theirs));
        }
    }
    ExitCode::SUCCESS
}

/// Seconds per run of both cases, and how many times as fast the first case is: medians over rounds.
fn compare(mut ours: Case, mut theirs: Case, length: Duration) -> (f64, f64, f64) {
    // The first round warms up caches, pools and branch predictors.
    turn(&mut ours);
    turn(&mut theirs);
    let start = Instant::now();
    let mut rounds = Vec::new();
    while rounds.is_empty() || start.elapsed() < length {
        rounds.push((turn(&mut ours), turn(&mut theirs)));
    }
    let median = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    (median(&|round| round.0), median(&|round| round.1), median(&|round| round.1 / round.0))
}

/// Seconds per run.
fn turn(case: &mut Case) -> f64 {
    let (start, mut runs) = (Instant::now(), 0);
    while start.elapsed() < TURN {
        // Several runs, because reading the clock takes time too.
        (0..4).for_each(|_| case());
        runs += 4;
    }
    start.elapsed().as_secs_f64() / f64::from(runs)
}

fn our_encoder(data: Vec<u8>, k: usize) -> Case {
    let mut start = 0u32;
    Box::new(move || {
        start = start.wrapping_add(1000);
        let seeds: Vec<u32> = (0..k as u32).map(|i| start.wrapping_add(i)).collect();
        let symbols = black_box(&data).chunks(LEN).map(Symbol::from_slice).collect();
        let encoder = Encoder::new(LtCode::Optimised, symbols).expect("a possible block");
        black_box(encoder.symbols(&seeds));
    })
}

fn our_decoder(data: &[u8], k: usize) -> Case {
    let symbols: Vec<Symbol> = data.chunks(LEN).map(Symbol::from_slice).collect();
    let encoder = Encoder::new(LtCode::Optimised, symbols).expect("a possible block");
    let arrivals = |block: usize| {
        let seeds: Vec<u32> = (0..k as u32 + 40).map(|i| 1000 * block as u32 + i).collect();
        let symbols = encoder.symbols(&seeds);
        seeds.iter().copied().zip(symbols.iter().map(|symbol| symbol.as_slice().to_vec())).collect()
    };
    let blocks: Vec<Arrivals> = (0..BLOCKS).map(arrivals).collect();
    let (data, mut at) = (data.to_vec(), 0);
    let decode = move |check: bool| {
        at = (at + 1) % BLOCKS;
        let mut decoder = Decoder::new(LtCode::Optimised, k).expect("a possible block");
        for (seed, bytes) in &blocks[at] {
            decoder.receive(*seed, Symbol::from_slice(black_box(bytes)));
            if decoder.is_complete() {
                break;
            }
        }
        assert!(decoder.is_complete(), "our decoder needs more symbols");
        let decoded = (0..k).filter_map(|i| decoder.get(i));
        if check {
            assert!(decoded.map(Symbol::as_slice).eq(data.chunks(LEN)), "our decoder gives other bytes");
        } else {
            decoded.for_each(|symbol| {
                black_box(symbol.as_slice());
            });
        }
    };
    checked_once(decode)
}

/// The configuration of a block of `k` symbols: one source block, one sub-block, alignment 8.
fn config(k: usize) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::new((k * LEN) as u64, LEN as u16, 1, 1, 8)
}

fn their_encoder(data: Vec<u8>, k: usize) -> Case {
    let plan = SourceBlockEncodingPlan::generate(k as u16);
    let mut start = 0u32;
    Box::new(move || {
        start = (start + 1000) % (1 << 23);
        let encoder = SourceBlockEncoder::with_encoding_plan(0, &config(k), black_box(&data), &plan);
        black_box(encoder.repair_packets(start, k as u32));
    })
}

fn their_decoder(data: &[u8], k: usize) -> Case {
    let encoder = SourceBlockEncoder::new(0, &config(k), data);
    let arrivals = |block: usize| {
        let packets = encoder.repair_packets(1000 * block as u32, k as u32 + 8);
        packets.iter().map(|packet| (packet.payload_id().encoding_symbol_id(), packet.data().to_vec())).collect()
    };
    let blocks: Vec<Arrivals> = (0..BLOCKS).map(arrivals).collect();
    let (data, mut at) = (data.to_vec(), 0);
    let decode = move |check: bool| {
        at = (at + 1) % BLOCKS;
        let mut decoder = SourceBlockDecoder::new(0, &config(k), (k * LEN) as u64);
        let mut packets =
            blocks[at].iter().map(|(id, bytes)| EncodingPacket::new(PayloadId::new(0, *id), black_box(bytes).clone()));
        let mut decoded = decoder.decode(packets.by_ref().take(k));
        while decoded.is_none() {
            decoded = decoder.decode(packets.next());
        }
        if check {
            assert!(decoded.as_ref() == Some(&data), "raptorq gives other bytes");
        }
        black_box(decoded);
    };
    checked_once(decode)
}

/// A case that has been run on every block, with a check of what it decodes.
fn checked_once(mut decode: impl FnMut(bool) + 'static) -> Case {
    (0..BLOCKS).for_each(|_| decode(true));
    Box::new(move || decode(false))
}
