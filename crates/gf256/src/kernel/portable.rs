//! The portable kernel. It uses no intrinsics and no `unsafe`, only loops over small arrays, which
//! compilers turn into the vector instructions that every processor of the target has.
//!
//! A sum of products is computed bit by bit of the coefficients, highest bit first (Horner's rule).
//! Each step doubles the accumulator, then adds the sources whose coefficient has the bit. So M x K
//! products cost 4 x M x K XORs on average and 7 x M doublings, and no table look-ups.

use crate::field;

/// Bytes processed side by side: a few registers. More may not fit into them.
const WIDTH: usize = 64;

pub(super) type Block = [u8; WIDTH];

/// `dst += src`, over the shorter of both lengths.
pub(super) fn xor_into(dst: &mut [u8], src: &[u8]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d ^= s;
    }
}

/// How many sources one pass takes. The limit keeps [`Lists`] and the padded copies on the stack.
/// Half the value stores each output twice as often; double the value doubles the stack memory.
const TILE: usize = 64;

/// `output (+)= sum of coefficients[k] * sources[k]`.
pub(super) fn sum(output: &mut [u8], coefficients: &[u8], sources: &[&[u8]], accumulate: bool) {
    if !accumulate {
        output.fill(0);
    }
    for (coefficients, sources) in coefficients.chunks(TILE).zip(sources.chunks(TILE)) {
        let lists = Lists::new(coefficients);
        let whole = sources.iter().map(|source| source.len()).min().unwrap_or(0).min(output.len());
        let (body, rest) = output.split_at_mut(whole / WIDTH * WIDTH);
        for (index, out) in body.chunks_exact_mut(WIDTH).enumerate() {
            let at = index * WIDTH;
            let acc = lists.sum(|k| sources[k].get(at..).and_then(|source| source.first_chunk()));
            out.iter_mut().zip(acc).for_each(|(o, a)| *o ^= a);
        }
        for (index, out) in rest.chunks_mut(WIDTH).enumerate() {
            ragged(out, body.len() + index * WIDTH, &lists, sources);
        }
    }
}

/// Computes one block in which a source or the output ends, through padded copies.
#[cold]
fn ragged(out: &mut [u8], at: usize, lists: &Lists, sources: &[&[u8]]) {
    let mut copies = [[0; WIDTH]; TILE];
    for (copy, source) in copies.iter_mut().zip(sources) {
        copy.iter_mut().zip(source.get(at..).unwrap_or(&[])).for_each(|(to, from)| *to = *from);
    }
    let acc = lists.sum(|k| copies.get(k));
    out.iter_mut().zip(acc).for_each(|(o, a)| *o ^= a);
}

/// For each bit, highest first: the sources whose coefficient has the bit.
struct Lists {
    of: [[u8; TILE]; 8],
    counts: [usize; 8],
}

impl Lists {
    fn new(coefficients: &[u8]) -> Lists {
        let mut lists = Lists { of: [[0; TILE]; 8], counts: [0; 8] };
        for (k, c) in coefficients.iter().enumerate().take(TILE) {
            for (bit, (list, count)) in lists.of.iter_mut().zip(&mut lists.counts).enumerate() {
                // Always written, and kept only if the bit is set. This avoids an unpredictable
                // branch.
                list[*count & (TILE - 1)] = k as u8;
                *count += usize::from(c >> (7 - bit) & 1);
            }
        }
        lists
    }

    /// Horner's rule over the blocks of the sources.
    #[inline(always)]
    fn sum<'a>(&self, block: impl Fn(usize) -> Option<&'a Block>) -> Block {
        let mut acc = [0; WIDTH];
        for (list, count) in self.of.iter().zip(&self.counts) {
            acc = double(acc);
            for k in list.iter().take(*count) {
                if let Some(block) = block(usize::from(*k)) {
                    acc = add(acc, block);
                }
            }
        }
        acc
    }
}

/// `dst = c * src`, added to `dst` if `accumulate`, over the shorter of both lengths.
pub(super) fn mul_add(dst: &mut [u8], src: &[u8], c: u8) {
    let len = dst.len().min(src.len());
    sum(&mut dst[..len], &[c], &[src], true);
}

/// `dst = c * dst`.
pub(super) fn mul(dst: &mut [u8], c: u8) {
    let lists = Lists::new(&[c]);
    for out in dst.chunks_mut(WIDTH) {
        let mut block = [0; WIDTH];
        block[..out.len()].copy_from_slice(out);
        let acc = lists.sum(|_| Some(&block));
        out.copy_from_slice(&acc[..out.len()]);
    }
}

/// The sum of the products `a[i] * b[i]`, computed bit by bit of `b`, eight bytes at a time.
pub(super) fn dot(a: &[Block], b: &[Block]) -> u8 {
    let mut sums = [0; 8];
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
        for (a, b) in a.iter().zip(b) {
            let (a, b) = (u64::from_le_bytes(*a), u64::from_le_bytes(*b));
            for (bit, sum) in sums.iter_mut().enumerate() {
                let set = b >> bit & 0x0101_0101_0101_0101;
                // 0xff where the bit is set.
                *sum ^= a & (set << 8).wrapping_sub(set);
            }
        }
    }
    sums.iter().rev().fold(0, |total, sum| {
        let byte = sum.to_le_bytes().iter().fold(0, |sum, byte| sum ^ byte);
        field::double(total) ^ byte
    })
}

/// Number of blocks that [`registers`] processes at once.
pub(super) const CHAINS: usize = 3;

/// Runs `rounds` rounds of four operations as cheap as an XOR, on each of [`CHAINS`] blocks in
/// registers. A product costs four XORs in the fused loop, so this is the upper limit of its speed.
/// Half of the operations are additions, because XORs alone would cancel out at compile time.
pub(super) fn registers(rounds: usize) -> u8 {
    let source: Block = std::hint::black_box(std::array::from_fn(|i| i as u8 ^ 0x5a));
    let mut chains: [Block; CHAINS] = std::array::from_fn(|chain| [chain as u8; WIDTH]);
    for _ in 0..rounds {
        for chain in &mut chains {
            for (byte, s) in chain.iter_mut().zip(source) {
                *byte = ((*byte ^ s).wrapping_add(s) ^ s).wrapping_add(s);
            }
        }
    }
    chains.iter().flatten().fold(0, |sum, byte| sum ^ byte)
}

/// `acc + source`, byte by byte.
#[inline(always)]
fn add(acc: Block, source: &Block) -> Block {
    let mut sum = acc;
    for (s, byte) in sum.iter_mut().zip(source) {
        *s ^= byte;
    }
    sum
}

/// Multiplies every byte by x.
#[inline(always)]
fn double(block: Block) -> Block {
    block.map(|byte| (byte << 1) ^ ((byte as i8 >> 7) as u8 & 0x1d))
}
