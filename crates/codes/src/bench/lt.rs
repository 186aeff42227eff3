//! The cases of the LT codes. They are the worst cases: no symbol that is sent is a source symbol.

use super::{CACHED, WINDOWS, symbols};
use crate::lt::{Decoder, Encoder, LtCode};
use crate::{Payload, Symbol};
use ripstop_base::Seed;
use std::hint::black_box;

/// Encoding with [`LtCode::Optimised`]. One run makes `k` encoding symbols of a new block of `k`
/// source symbols of `len` bytes.
pub fn lt_encode(k: usize, len: usize) -> impl FnMut() -> u64 {
    let symbols = symbols(k, len);
    let mut random = Seed::new(1).stream("bench/lt/encode");
    move || {
        let start = random.next_u64() as u32;
        let seeds: Vec<u32> = (0..k as u32).map(|i| start.wrapping_add(i)).collect();
        let encoder = Encoder::new(LtCode::Optimised, black_box(&symbols).clone());
        black_box(encoder.map(|encoder| encoder.symbols(&seeds)).ok());
        (k * len) as u64
    }
}

/// Decoding with [`LtCode::Optimised`]. One run decodes one block of `k` source symbols of `len`
/// bytes from encoding symbols that arrive one by one. The symbols that turn out to be redundant are
/// included.
///
/// # Panics
/// A run panics if the block is not decoded.
pub fn lt_decode(k: usize, len: usize) -> impl FnMut() -> u64 {
    let sources = symbols(k, len);
    let mut random = Seed::new(1).stream("bench/lt/decode");
    let mut arrivals = || {
        let start = random.next_u64() as u32;
        let mut decoder = Decoder::new(LtCode::Optimised, k).ok()?;
        let encoder = Encoder::new(LtCode::Optimised, sources.clone()).ok()?;
        let mut arrivals = Vec::new();
        for seed in (0..).map(|i: u32| start.wrapping_add(i)) {
            arrivals.push((seed, encoder.symbol(seed)));
            decoder.receive(seed, encoder.symbol(seed));
            if decoder.is_complete() {
                break;
            }
        }
        Some(arrivals)
    };
    // As many blocks as other cases have windows, for the same reasons.
    let count = (CACHED / (k * len).max(1)).clamp(2, WINDOWS);
    let blocks: Vec<Vec<(u32, Symbol)>> = (0..count).filter_map(|_| arrivals()).collect();
    let mut turn = 0;
    move || {
        turn = (turn + 1) % blocks.len();
        let mut decoder = Decoder::new(LtCode::Optimised, k).ok();
        let mut decoded = 0;
        if let Some(decoder) = &mut decoder {
            for (seed, symbol) in &blocks[turn] {
                decoder.receive(*seed, symbol.clone());
            }
            decoded = (0..k).filter_map(|i| black_box(decoder.get(i))).map(Payload::len).sum();
        }
        assert_eq!(decoded, k * len, "the block was not decoded");
        decoded as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_run_and_count() {
        assert_eq!(lt_encode(16, 100)(), 1600);
        let mut decode = lt_decode(16, 100);
        (0..2 * WINDOWS).for_each(|_| assert_eq!(decode(), 1600));
    }
}
