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

/// `output (+)= sum of coefficients[k] * sources[k]`.
pub(super) fn sum(output: &mut [u8], coefficients: &[u8], sources: &[&[u8]], accumulate: bool) {
    // A tile of sources at a time, so that the lists live on the stack.
    const TILE: usize = 128;
    if !accumulate && sources.is_empty() {
        output.fill(0);
    }
    for (tile, (coefficients, sources)) in coefficients.chunks(TILE).zip(sources.chunks(TILE)).enumerate() {
        let mut lists = [[0u8; TILE]; 8];
        let mut counts = [0usize; 8];
        for (k, c) in coefficients.iter().enumerate() {
            for bit in 0..8 {
                // Written always, kept if the bit is set: no branch to mispredict.
                lists[bit][counts[bit]] = k as u8;
                counts[bit] += usize::from(c >> bit & 1);
            }
        }
        for (index, out) in output.chunks_mut(WIDTH).enumerate() {
            let mut acc = [0; WIDTH];
            for bit in (0..8).rev() {
                acc = double(acc);
                for k in &lists[bit][..counts[bit]] {
                    add(&mut acc, sources[usize::from(*k)], index * WIDTH);
                }
            }
            if accumulate || tile > 0 {
                add(&mut acc, out, 0);
            }
            out.copy_from_slice(&acc[..out.len()]);
        }
    }
}

/// `dst = c * src`, added to `dst` if `accumulate`, over the shorter of the two.
pub(super) fn mul_add(dst: &mut [u8], src: &[u8], c: u8) {
    let len = dst.len().min(src.len());
    sum(&mut dst[..len], &[c], &[src], true);
}

/// `dst = c * dst`.
pub(super) fn mul(dst: &mut [u8], c: u8) {
    for out in dst.chunks_mut(WIDTH) {
        let mut block = [0; WIDTH];
        block[..out.len()].copy_from_slice(out);
        let mut acc = [0; WIDTH];
        for bit in (0..8).rev() {
            acc = double(acc);
            if c >> bit & 1 == 1 {
                add(&mut acc, &block, 0);
            }
        }
        out.copy_from_slice(&acc[..out.len()]);
    }
}

/// `rounds` doublings and XORs on registers; four XORs are one product of the fused loop.
pub(super) fn registers(rounds: usize) -> u8 {
    let mut acc: Block = std::array::from_fn(|i| i as u8);
    let source: Block = std::hint::black_box(std::array::from_fn(|i| i as u8 ^ 0x5a));
    for _ in 0..rounds {
        for _ in 0..4 {
            // Opaque, or else the XORs would cancel out at compile time.
            add(&mut acc, std::hint::black_box(&source), 0);
        }
    }
    acc[0]
}

/// Adds the block of `source` at `at`, as far as it reaches.
#[inline(always)]
fn add(acc: &mut Block, source: &[u8], at: usize) {
    match source.get(at..at + WIDTH) {
        Some(block) => acc.iter_mut().zip(block).for_each(|(a, s)| *a ^= s),
        None => acc.iter_mut().zip(source.get(at..).unwrap_or(&[])).for_each(|(a, s)| *a ^= s),
    }
}

/// Multiplies every byte by x.
#[inline(always)]
fn double(block: Block) -> Block {
    block.map(|byte| (byte << 1) ^ ((byte as i8 >> 7) as u8 & 0x1d))
}
