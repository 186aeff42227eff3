//! The cases that are timed, by the benchmarks of this crate and by the program's `speed` command.
//!
//! Each function sets a case up and returns a closure that runs it once and answers how many bytes
//! of source symbols it served; the caller holds the clock. The coders are the very types that
//! sessions use, with [`Symbol`] as the payload and everything that belongs to the case included:
//! allocation, classification of members, elimination and delivery.

use crate::Symbol;
use crate::window::{Arrival, Coding, Decoder, Encoder, Limits, Members};
use ripstop_base::{Seed, Stream};
use std::hint::black_box;

/// How many windows a run serves, each with other losses and coefficients, so that no branch predictor
/// learns them. Their symbols are the same, so that they stay in the cache of one core.
const WINDOWS: usize = 16;

/// Systematic encoding: `repairs` repairs for each `window` source symbols of `len` bytes, made
/// together.
pub fn systematic_encode(window: usize, repairs: usize, len: usize) -> impl FnMut() -> u64 {
    let (encoder, _) = sources(window as u64, len);
    let members = Members::range(0..window as u64);
    let mut seed = 0u16;
    move || {
        seed = seed.wrapping_add(1000);
        let seeds: Vec<u16> = (0..repairs as u16).map(|i| seed.wrapping_add(i)).collect();
        black_box(encoder.repairs(black_box(&members), &seeds).ok());
        (window * len) as u64
    }
}

/// Dense encoding: coded symbols over `window` source symbols of `len` bytes, `batch` of them made
/// together. A coded symbol counts as one source symbol: that is what it replaces.
pub fn dense_encode(window: usize, batch: usize, len: usize) -> impl FnMut() -> u64 {
    let mut encode = systematic_encode(window, batch, len);
    move || {
        encode();
        (batch * len) as u64
    }
}

/// A case in two steps: what must have happened before, and what is timed.
pub struct Case {
    decoders: Vec<Decoder<Symbol>>,
    generations: Vec<Generation>,
    symbols: Vec<Symbol>,
    window: usize,
    lost: usize,
    len: usize,
}

/// Recovery in a systematic code: of `window` source symbols of `len` bytes, `lost` (another choice
/// each time) come back from as many repairs. Timed is all that the losses cause: the repairs'
/// arrival, elimination, decoding and delivery, in [`Case::run`].
pub fn recover(window: usize, lost: usize, len: usize) -> Case {
    let (encoder, symbols) = sources(window as u64, len);
    let mut random = Seed::new(1).stream("bench/recover");
    let generations = (0..WINDOWS).map(|_| Generation::new(&encoder, window, lost, &mut random)).collect();
    Case { decoders: Vec::new(), generations, symbols, window, lost, len }
}

/// Decoding where every symbol sent is coded over the whole window of `window` symbols of `len` bytes.
pub fn dense_decode(window: usize, len: usize) -> Case {
    recover(window, window, len)
}

impl Case {
    /// Brings a decoder for each window to the point where the repairs arrive.
    pub fn prepare(&mut self) {
        self.decoders.clear();
        for generation in &self.generations {
            let mut decoder = Decoder::new(0, Limits::default());
            for (id, symbol) in self.symbols.iter().enumerate() {
                if !generation.lost[id] {
                    decoder.source(id as u64, symbol.clone());
                }
            }
            self.decoders.push(decoder);
        }
    }

    /// Gives the prepared decoders their repairs and takes what they decode. Answers how many bytes of
    /// source symbols the windows hold; 0 when it was not prepared.
    ///
    /// # Panics
    /// When a symbol does not come back.
    pub fn run(&mut self) -> u64 {
        let members = Members::range(0..self.window as u64);
        let mut decoded = 0;
        for (decoder, generation) in self.decoders.iter_mut().zip(&self.generations) {
            for (coding, repair) in &generation.repairs {
                if decoder.repair(&members, coding, repair.clone()) == Arrival::Innovative
                    && decoder.deficit() == 0
                    && decoder.next_undecoded() == self.window as u64
                {
                    break;
                }
            }
            while let Some(symbol) = decoder.poll_decoded() {
                black_box(symbol);
                decoded += 1;
            }
        }
        assert_eq!(decoded, self.lost * self.decoders.len(), "every lost symbol comes back");
        (self.window * self.len * self.decoders.len()) as u64
    }
}

/// A systematic receiver at work: all arrivals of a window of `window` source symbols of `len` bytes,
/// `lost` of which come back from repairs, their delivery, and freeing what is not needed any more.
pub fn receive(window: usize, lost: usize, len: usize) -> impl FnMut() -> u64 {
    let mut case = recover(window, lost, len);
    move || {
        case.prepare();
        case.run()
    }
}

/// A tunnel at work: `outstanding` source symbols in the window, of which one in `every` is lost; each
/// hole is repaired by a repair that names it alone.
pub fn single_holes(outstanding: usize, every: usize, len: usize) -> impl FnMut() -> u64 {
    let (encoder, symbols) = sources(1, len);
    let payload = encoder.repair(&Members::one(0), 0).unwrap_or_else(|_| symbols[0].clone());
    let mut decoder = Decoder::new(0, Limits::default());
    let mut next = 0u64;
    let step = move |decoder: &mut Decoder<Symbol>, next: &mut u64| {
        for i in 1..every as u64 {
            decoder.source(*next + i, symbols[0].clone());
        }
        *next += every as u64;
        if let Some(hole) = next.checked_sub(outstanding.max(every) as u64) {
            decoder.repair(&Members::one(hole), &Coding::Seed(hole as u16), payload.clone());
            black_box(decoder.poll_decoded());
            decoder.keep_from(hole);
        }
        (every * len) as u64
    };
    for _ in 0..2 * outstanding / every {
        step(&mut decoder, &mut next);
    }
    move || step(&mut decoder, &mut next)
}

/// Source symbols `0..count` of `len` bytes each, of which 256 differ.
fn sources(count: u64, len: usize) -> (Encoder<Symbol>, Vec<Symbol>) {
    let mut random = Seed::new(1).stream("bench/sources");
    let distinct: Vec<Symbol> =
        (0..count.min(256)).map(|_| Symbol::build(len, |bytes| random.fill(bytes))).collect();
    let symbols: Vec<Symbol> = (0..count).map(|i| distinct[i as usize % distinct.len()].clone()).collect();
    let mut encoder = Encoder::new(0);
    for symbol in &symbols {
        encoder.push(symbol.clone());
    }
    (encoder, symbols)
}

/// What a window loses, and its repairs.
struct Generation {
    lost: Vec<bool>,
    repairs: Vec<(Coding, Symbol)>,
}

impl Generation {
    fn new(encoder: &Encoder<Symbol>, window: usize, lost: usize, random: &mut Stream) -> Generation {
        let members = Members::range(0..window as u64);
        let start = random.next_u64() as u16;
        // Two more than needed: now and then one is not innovative.
        let seeds: Vec<u16> = (0..lost as u16 + 2).map(|i| start.wrapping_add(i)).collect();
        let repairs = encoder.repairs(&members, &seeds).unwrap_or_default();
        let repairs = seeds.into_iter().map(Coding::Seed).zip(repairs).collect();
        Generation { lost: choose(window, lost, random), repairs }
    }
}

/// `lost` of `window` places, chosen at random.
fn choose(window: usize, lost: usize, random: &mut Stream) -> Vec<bool> {
    let mut left = lost;
    (0..window)
        .map(|i| {
            let lost = random.below((window - i) as u64) < left as u64;
            left -= usize::from(lost);
            lost
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_run_and_count() {
        assert_eq!(systematic_encode(50, 5, 100)(), 5000);
        assert_eq!(dense_encode(50, 8, 100)(), 800);
        let mut recover = recover(50, 5, 100);
        assert_eq!(recover.run(), 0);
        recover.prepare();
        assert_eq!(recover.run(), 5000 * WINDOWS as u64);
        assert_eq!(receive(20, 20, 100)(), 2000 * WINDOWS as u64);
        assert_eq!(single_holes(1000, 20, 100)(), 2000);
    }
}
