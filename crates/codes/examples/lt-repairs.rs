//! Searches where the repairs of the systematic LT code start (`lt/tables.rs`, `REPAIRS`).
//!
//! ```text
//! cargo run --release -p ripstop-codes --example lt-repairs
//! ```
//!
//! Every block of K symbols has the same repairs in the same order, so the first of them can be
//! chosen. For each K the program tries the starts 0 to 255. It prints the start with the least mean
//! overhead for the losses in [`LOSSES`], and the overhead of this start compared with that of random
//! repairs (2 minutes).

use ripstop_base::{Seed, Stream};

/// The losses for which the repairs are chosen. Small losses matter most, because without many
/// losses a block with an overhead of 0 needs no second round.
const LOSSES: [f64; 4] = [0.05, 0.15, 0.27, 0.39];
/// The number of starts that are tried. Half the value costs 1 % more overhead at K = 16; double the
/// value does not fit into a byte.
const STARTS: u64 = 256;
/// The blocks that all starts are tried on, and the blocks that the best starts are tried on. Half
/// the values find starts that are up to 1 % worse.
const BLOCKS: [usize; 2] = [2_000, 50_000];
/// The number of starts that are tried on more blocks.
const FINALISTS: usize = 8;

fn main() {
    for k in 2..=64 {
        let random = mean_overheads(k, None, BLOCKS[1]);
        let score = |start: u64, blocks: usize| {
            let ratios = mean_overheads(k, Some(start), blocks);
            let ratios = ratios.iter().zip(&random).map(|(ours, random)| ours / random);
            ratios.sum::<f64>() / LOSSES.len() as f64
        };
        let mut starts: Vec<(f64, u64)> = (0..STARTS).map(|start| (score(start, BLOCKS[0]), start)).collect();
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut best: Vec<(f64, u64)> =
            starts[..FINALISTS].iter().map(|(_, start)| (score(*start, BLOCKS[1]), *start)).collect();
        best.sort_by(|a, b| a.0.total_cmp(&b.0));
        println!("K = {k}: start {}, {:.3} of the overhead of random repairs", best[0].1, best[0].0);
    }
}

/// The mean overhead for each of [`LOSSES`] with the repairs from `start` on; None: with other
/// repairs in each block. All starts meet the same losses.
fn mean_overheads(k: usize, start: Option<u64>, blocks: usize) -> Vec<f64> {
    let mut repairs: Vec<u64> = Vec::new();
    let mean = |loss: &f64| {
        let mut losses = Seed::new(1).stream("lt/repairs/losses");
        let mut others = Seed::new(1).stream("lt/repairs/others");
        let overhead = |_| {
            let lost = (0..k).filter(|_| losses.chance(*loss)).fold(0u64, |lost, i| lost | 1 << i);
            let first = start.unwrap_or_else(|| 1 << 32 | others.next_u64() >> 32);
            let repair = |i: usize| {
                if start.is_none() {
                    return repair(k, first + i as u64);
                }
                while repairs.len() <= i {
                    repairs.push(repair(k, first + repairs.len() as u64));
                }
                repairs[i]
            };
            overhead(lost, *loss, &mut losses, repair)
        };
        (0..blocks).map(overhead).sum::<usize>() as f64 / blocks as f64
    };
    LOSSES.iter().map(mean).collect()
}

/// The number of repairs beyond the number of lost symbols that arrive until the block is decoded.
/// Repair 0 is the XOR of the block.
fn overhead(lost: u64, loss: f64, losses: &mut Stream, mut repair: impl FnMut(usize) -> u64) -> usize {
    let (mut rows, mut rank, mut received) = ([0u64; 64], 0, 0);
    for i in 0.. {
        if rank == lost.count_ones() {
            break;
        }
        if losses.chance(loss) {
            continue;
        }
        received += 1;
        let mut vector = if i == 0 { lost } else { repair(i - 1) & lost };
        while vector != 0 {
            let row = &mut rows[vector.trailing_zeros() as usize];
            if *row == 0 {
                *row = vector;
                rank += 1;
                break;
            }
            vector ^= *row;
        }
    }
    received - rank as usize
}

/// The neighbours of repair `i` after the XOR of the block, as `lt/mod.rs` defines them for a start
/// of 0.
fn repair(k: usize, i: u64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |z: u64| {
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let key = mix((k as u64 + 1 + i + 1).wrapping_mul(STEP));
    let below = |i: usize, n: usize| {
        let word = mix(key.wrapping_add((i as u64 / 2).wrapping_mul(STEP)));
        let draw = u64::from((word >> (32 * (i % 2))) as u32);
        ((draw * n as u64) >> 32) as usize
    };
    let degree = (k / 2 + below(0, 2)).max(1);
    (1..=degree).fold(0, |set, i| {
        let last = k - degree + i - 1;
        let bit = 1 << below(i, last + 1);
        set | if set & bit == 0 { bit } else { 1 << last }
    })
}
