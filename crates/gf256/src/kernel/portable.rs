//! The portable kernel. It uses no intrinsics and no `unsafe`, only loops over small arrays.
//! Compilers turn these loops into the vector instructions that every processor of the target has.
//!
//! A sum of products is computed in eight steps, one for each bit of the coefficients, highest bit
//! first (Horner's rule). Each step doubles the sum. Then it adds the sources whose coefficient has
//! the step's bit set. Doubling is multiplication by x. The computation of M outputs from K sources
//! takes 4 x M x K XORs on average. It also takes 8 x M doublings for each group of up to 64
//! sources, but no table look-ups.

use crate::field;

/// The number of bytes that are processed together. 64 bytes fill a few registers. Half the value
/// uses half as many registers. Double the value may not fit into the registers.
const WIDTH: usize = 64;

pub(super) type Block = [u8; WIDTH];

/// `dst += src`, up to the length of the shorter slice.
pub(super) fn xor_into(dst: &mut [u8], src: &[u8]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d ^= s;
    }
}

/// Adds all `sources` to `output`. Short sources count as padded with zeros.
pub(super) fn xor_sum(output: &mut [u8], sources: &[&[u8]]) {
    let whole = sources.iter().map(|source| source.len()).min().unwrap_or(0).min(output.len());
    let (body, rest) = output.split_at_mut(whole / WIDTH * WIDTH);
    for (index, out) in body.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
        let at = index * WIDTH;
        let blocks = sources.iter().filter_map(|source| source.get(at..)?.first_chunk());
        *out = blocks.fold(*out, add);
    }
    for source in sources {
        xor_into(rest, source.get(body.len()..).unwrap_or(&[]));
    }
}

/// The largest number of sources that are added to an output in one pass. The limit keeps [`Lists`]
/// and the padded copies on the stack. Half the value stores each output twice as often. Double the
/// value doubles the stack memory.
const TILE: usize = 64;

/// Replaces `output` by the sum of `coefficients[k] * sources[k]` for all k, or adds this sum to
/// `output` if `accumulate`.
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

/// Computes one block in which a source or the output ends. The function works on copies that are
/// padded with zeros.
#[cold]
fn ragged(out: &mut [u8], at: usize, lists: &Lists, sources: &[&[u8]]) {
    let mut copies = [[0; WIDTH]; TILE];
    for (copy, source) in copies.iter_mut().zip(sources) {
        copy.iter_mut().zip(source.get(at..).unwrap_or(&[])).for_each(|(to, from)| *to = *from);
    }
    let acc = lists.sum(|k| copies.get(k));
    out.iter_mut().zip(acc).for_each(|(o, a)| *o ^= a);
}

/// Eight lists of sources, one for each bit of the coefficients, highest bit first. A list holds
/// the sources whose coefficient has the list's bit set.
struct Lists {
    /// The indices of the sources in each list. Entries from the list's count on have no meaning.
    of: [[u8; TILE]; 8],
    /// The number of sources in each list.
    counts: [usize; 8],
}

impl Lists {
    fn new(coefficients: &[u8]) -> Lists {
        let mut lists = Lists { of: [[0; TILE]; 8], counts: [0; 8] };
        for (k, c) in coefficients.iter().enumerate().take(TILE) {
            for (bit, (list, count)) in lists.of.iter_mut().zip(&mut lists.counts).enumerate() {
                // The entry is always written, but counted only if the bit is set. This avoids an
                // unpredictable branch.
                list[*count & (TILE - 1)] = k as u8;
                *count += usize::from(c >> (7 - bit) & 1);
            }
        }
        lists
    }

    /// The sum of products for one block, by Horner's rule. `block` returns the block of a source.
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

/// `dst += c * src`, up to the length of the shorter slice.
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

/// The sum of the products `a[i] * b[i]`. Each bit of a byte has its own sum. The sum of a bit adds
/// up the bytes of `a` whose partner in `b` has this bit set. Eight bytes are handled at a time.
/// Horner's rule combines the eight sums at the end.
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

/// The number of blocks that [`registers`] processes together.
pub(super) const CHAINS: usize = 3;

/// Runs `rounds` rounds on each of [`CHAINS`] blocks in registers. A round has four operations that
/// are as cheap as an XOR. [`sum`] needs four XORs for a product on average, so the speed of this
/// function is the upper limit for [`sum`]. Half of the operations are additions, because the
/// compiler would simplify a round of only XORs.
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
