//! Prints the overhead of the LT codes and how many XORs they need (10 s):
//!
//! ```text
//! cargo run --release -p ripstop-codes --example lt-overhead [-- BLOCKS]
//! ```
//!
//! `BLOCKS` is the number of blocks of each row, 20 000 by default. `docs/researchers/lt-codes.md`
//! explains the columns.

mod measure;

use measure::{Decoding, measure, random_code};
use ripstop_codes::lt::{LtCode, LtError, RobustSoliton};
use std::process::ExitCode;

/// The block sizes of the first table.
const SIZES: [usize; 5] = [4, 8, 16, 32, 64];
/// The losses of the table of the systematic code.
const LOSSES: [f64; 6] = [0.0, 0.05, 0.15, 0.27, 0.39, 0.49];

fn main() -> ExitCode {
    let blocks = match std::env::args().nth(1).map(|text| text.parse()) {
        None => 20_000,
        Some(Ok(blocks)) if blocks >= 100 => blocks,
        Some(_) => {
            eprintln!("usage: lt-overhead [BLOCKS], with at least 100 BLOCKS");
            return ExitCode::from(2);
        }
    };
    match tables(blocks) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn tables(blocks: usize) -> Result<(), LtError> {
    let soliton = |c, delta| RobustSoliton::new(c, delta).map(LtCode::Soliton);
    let codes = [
        ("soliton .1 .5, peeling", soliton(0.1, 0.5)?, Decoding::Peeling),
        ("soliton .1 .5", soliton(0.1, 0.5)?, Decoding::Full),
        ("soliton .1 .05", soliton(0.1, 0.05)?, Decoding::Full),
        ("optimised", LtCode::Optimised, Decoding::Full),
    ];
    println!("| code | K | mean overhead | p95 | p99 | encode XORs | decode XORs | random code |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, code, decoding) in codes {
        for k in SIZES {
            println!("| {name} | {k} | {} | {:.3} |", row(code, k, 0.0, decoding, blocks), random_code(k));
        }
    }
    println!("\n| code | loss | K | mean overhead | p95 | p99 | encode XORs | decode XORs |");
    println!("|---|---|---|---|---|---|---|---|");
    for k in [8, 16, 32, 64] {
        for loss in LOSSES {
            println!("| systematic | {loss} | {k} | {} |", row(LtCode::Systematic, k, loss, Decoding::Full, blocks));
        }
    }
    Ok(())
}

/// The cells of one row, from the mean to the XORs.
fn row(code: LtCode, k: usize, loss: f64, decoding: Decoding, blocks: usize) -> String {
    let of = measure(code, k, loss, decoding, blocks);
    let xors = match decoding {
        Decoding::Full => format!("{:.1}", of.decode_xors),
        Decoding::Peeling => "-".to_owned(),
    };
    format!("{:.3} ± {:.3} | {} | {} | {:.1} | {xors}", of.mean, of.half_width, of.p95, of.p99, of.encode_xors)
}
