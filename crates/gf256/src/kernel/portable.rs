//! Portable kernel: no intrinsics, no `unsafe`, only loops over small arrays that any compiler turns
//! into the vector instructions of its baseline.
//!
//! A sum of products is taken bit by bit of the coefficients, highest first (Horner's rule): double
//! the accumulator, then add the sources whose coefficient has that bit. So M x K products cost half
//! of 8 x M x K XORs and 7 x M doublings, and no table look-ups at all.

/// Bytes handled side by side, a few registers' worth.
const WIDTH: usize = 64;

type Block = [u8; WIDTH];

/// `dst += src` over the shorter of the two.
pub(super) fn xor_into(dst: &mut [u8], src: &[u8]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d ^= s;
    }
}

/// Sources in one pass, so that the lists below live on the stack.
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

/// One block in which a source or the output ends: through padded copies.
#[cold]
fn ragged(out: &mut [u8], at: usize, lists: &Lists, sources: &[&[u8]]) {
    let mut copies = [[0; WIDTH]; TILE];
    for (copy, source) in copies.iter_mut().zip(sources) {
        copy.iter_mut().zip(source.get(at..).unwrap_or(&[])).for_each(|(to, from)| *to = *from);
    }
    let acc = lists.sum(|k| copies.get(k));
    out.iter_mut().zip(acc).for_each(|(o, a)| *o ^= a);
}

/// For each bit, highest first, the sources whose coefficient has it.
struct Lists {
    of: [[u8; TILE]; 8],
    counts: [usize; 8],
}

impl Lists {
    fn new(coefficients: &[u8]) -> Lists {
        let mut lists = Lists { of: [[0; TILE]; 8], counts: [0; 8] };
        for (k, c) in coefficients.iter().enumerate().take(TILE) {
            for (bit, (list, count)) in lists.of.iter_mut().zip(&mut lists.counts).enumerate() {
                // Written always, kept if the bit is set: no branch to mispredict.
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

/// `dst = c * src`, added to `dst` if `accumulate`, over the shorter of the two.
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

/// The sum of the products `a[i] * b[i]`, over the shorter of the two.
///
/// For each bit of `b`, the bytes of `a` beside which it is set are added up; Horner's rule over the eight sums comes last,
/// once. So a product costs four operations a bit, and none of them is a multiplication.
pub fn dot(a: &[u8], b: &[u8]) -> u8 {
    let len = a.len().min(b.len());
    let (a_blocks, a_rest) = a[..len].as_chunks::<NARROW>();
    let (b_blocks, b_rest) = b[..len].as_chunks::<NARROW>();
    let mut sums = [[0; NARROW]; 8];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        sift(&mut sums, a, b);
    }
    let pad = |rest: &[u8]| {
        let mut block = [0; NARROW];
        block[..rest.len()].copy_from_slice(rest);
        block
    };
    sift(&mut sums, &pad(a_rest), &pad(b_rest));
    let horner = |sum: [u8; NARROW], next: [u8; NARROW]| add(double(sum), &next);
    sums.into_iter().reduce(horner).into_iter().flatten().fold(0, |sum, byte| sum ^ byte)
}

/// A register's worth.
const NARROW: usize = 16;

/// Adds to each sum, highest bit first, the bytes of `a` beside which `b` has the bit.
#[inline(always)]
fn sift(sums: &mut [[u8; NARROW]; 8], a: &[u8; NARROW], b: &[u8; NARROW]) {
    let mut b = *b;
    for sum in sums {
        for ((sum, a), b) in sum.iter_mut().zip(a).zip(&mut b) {
            *sum ^= a & (*b as i8 >> 7) as u8;
            *b = b.wrapping_add(*b);
        }
    }
}

/// Blocks that [`registers`] works on at once.
pub(super) const CHAINS: usize = 3;

/// `rounds` rounds of four operations as cheap as an XOR on each of [`CHAINS`] blocks in registers; four
/// XORs are what a product costs in the fused loop. Half of them are additions, as XORs alone would
/// cancel out at compile time.
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

#[inline(always)]
fn add<const N: usize>(acc: [u8; N], source: &[u8; N]) -> [u8; N] {
    let mut sum = acc;
    for (s, byte) in sum.iter_mut().zip(source) {
        *s ^= byte;
    }
    sum
}

/// Multiplies every byte by x.
#[inline(always)]
fn double<const N: usize>(block: [u8; N]) -> [u8; N] {
    block.map(|byte| (byte << 1) ^ ((byte as i8 >> 7) as u8 & 0x1d))
}
