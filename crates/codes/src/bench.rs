//! The cases that this crate's benchmarks and the program's `speed` command measure.
//!
//! Most functions set up a case and return a closure. The closure runs the case once, and returns
//! how many bytes of source symbols it encoded or decoded. The other functions return a case of
//! [`TwoSteps`], which has a step that is not timed. The caller measures the time.
//!
//! The coders are the types that sessions use, with [`Symbol`] as the payload. A case includes all
//! of a coder's work: allocation, the search for unknown members, elimination and delivery.

mod lt;

use crate::Symbol;
use crate::block::{BlockCode, BlockDecoder};
use crate::window::{Coding, Decoder, Encoder, Limits, Members};
use ripstop_base::{Seed, Stream};
use std::hint::black_box;

pub use lt::{lt_decode, lt_encode};

/// The largest number of windows (or blocks) that a case uses. All windows have the same symbols. Each window
/// has its own losses (in [`recover`] also its own coefficients), so that the processor's branch
/// predictor cannot learn the pattern. Half the value makes prediction easier; double the value
/// needs more memory.
const WINDOWS: usize = 16;

/// The largest number of bytes that the repairs of all windows (or the source symbols of all blocks)
/// may take together. A case has at least two windows, even if they take more. They should stay in the cache of one
/// core, because a real datagram is also in that cache just after it has been decrypted. Double the
/// value may measure the memory instead of the coder. Half the value runs fewer windows.
const CACHED: usize = 200_000;

/// Systematic encoding. The case makes `repairs` repairs together. Each repair combines `window`
/// source symbols of `len` bytes.
pub fn systematic_encode(window: usize, repairs: usize, len: usize) -> impl FnMut() -> u64 {
    let mut encoder = Encoder::new(0);
    for symbol in symbols(window, len) {
        encoder.push(symbol);
    }
    let members = Members::range(0..window as u64);
    let mut seed = 0u16;
    move || {
        seed = seed.wrapping_add(1000);
        let seeds: Vec<u16> = (0..repairs as u16).map(|i| seed.wrapping_add(i)).collect();
        black_box(encoder.repairs(black_box(&members), &seeds).ok());
        (window * len) as u64
    }
}

/// Dense encoding. The case makes `batch` coded symbols together. Each is a combination of `window`
/// source symbols of `len` bytes. Each coded symbol counts as one source symbol, because it is sent
/// instead of a source symbol.
pub fn dense_encode(window: usize, batch: usize, len: usize) -> impl FnMut() -> u64 {
    let mut encode = systematic_encode(window, batch, len);
    move || {
        encode();
        (batch * len) as u64
    }
}

/// A case in two steps.
pub trait TwoSteps {
    /// Prepares the next run. The time of this step is not measured.
    fn prepare(&mut self);

    /// Runs what was prepared, and returns the number of bytes of source symbols in it. Returns 0 if
    /// nothing was prepared. The time of this step is measured.
    ///
    /// # Panics
    /// If a symbol that can be decoded is not decoded.
    fn run(&mut self) -> u64;
}

/// The state of [`recover`] and [`dense_decode`].
pub struct Case {
    decoders: Vec<Decoder<Symbol>>,
    /// For each decoder, the repairs that arrive next.
    repairs: Vec<Vec<(Coding, Symbol)>>,
    /// The source symbols of a window, the same in all windows.
    symbols: Vec<Symbol>,
    random: Stream,
    /// The identifier of the first symbol of the current window.
    first: u64,
    /// The number of symbols that are lost in each window.
    lost: usize,
    /// The length of a symbol in bytes.
    len: usize,
}

/// Recovery in a systematic code. Of `window` source symbols of `len` bytes, `lost` are recovered
/// from repairs, which arrive together. The lost symbols differ from window to window.
///
/// [`TwoSteps::run`] contains everything that the losses cause: arrival of the repairs, elimination,
/// decoding and delivery.
pub fn recover(window: usize, lost: usize, len: usize) -> Case {
    let random = Seed::new(1).stream("bench/recover");
    let windows = (CACHED / (lost * len).max(1)).clamp(2, WINDOWS);
    let decoders = (0..windows).map(|_| Decoder::new(0, Limits::default())).collect();
    Case { decoders, repairs: Vec::new(), symbols: symbols(window, len), random, first: 0, lost, len }
}

/// Decoding of a dense code: every symbol sent is a combination of the whole window. The window has
/// `window` symbols of `len` bytes.
pub fn dense_decode(window: usize, len: usize) -> Case {
    recover(window, window, len)
}

impl TwoSteps for Case {
    /// Brings every decoder to the point where the repairs of the next window arrive.
    fn prepare(&mut self) {
        self.first += self.symbols.len() as u64;
        let mut encoder = Encoder::new(self.first);
        for symbol in &self.symbols {
            encoder.push(symbol.clone());
        }
        self.repairs.clear();
        for decoder in &mut self.decoders {
            decoder.advance_to(self.first);
            decoder.keep_from(self.first);
            let lost = choose(self.symbols.len(), self.lost, &mut self.random);
            for ((id, symbol), lost) in (self.first..).zip(&self.symbols).zip(lost) {
                if !lost {
                    decoder.source(id, symbol.clone());
                }
            }
            let start = self.random.next_u64() as u16;
            // There are two more repairs than needed, because a repair is not always innovative.
            let seeds: Vec<u16> = (0..self.lost as u16 + 2).map(|i| start.wrapping_add(i)).collect();
            let members = Members::range(self.first..encoder.next());
            let payloads = encoder.repairs(&members, &seeds).unwrap_or_default();
            self.repairs.push(seeds.into_iter().map(Coding::Seed).zip(payloads).collect());
        }
    }

    /// Gives the prepared repairs to the decoders, and fetches the decoded symbols.
    fn run(&mut self) -> u64 {
        let members = Members::range(self.first..self.first + self.symbols.len() as u64);
        let mut decoded = 0;
        let windows = self.repairs.len();
        for (decoder, repairs) in self.decoders.iter_mut().zip(self.repairs.drain(..)) {
            black_box(decoder.repairs(&members, repairs));
            while let Some(symbol) = decoder.poll_decoded() {
                black_box(symbol);
                decoded += 1;
            }
        }
        assert_eq!(decoded, self.lost * windows, "not every lost symbol was recovered");
        (self.symbols.len() * self.len * windows) as u64
    }
}

/// A systematic receiver. The case is all arrivals of a window of `window` source symbols of `len`
/// bytes. `lost` of the symbols are lost, and repairs recover them. The case includes delivery, and the
/// freeing of memory that is no longer needed.
pub fn receive(window: usize, lost: usize, len: usize) -> impl FnMut() -> u64 {
    let symbols = symbols(window, len);
    let mut random = Seed::new(1).stream("bench/receive");
    let patterns: Vec<Vec<bool>> = (0..WINDOWS).map(|_| choose(window, lost, &mut random)).collect();
    let mut decoder = Decoder::new(0, Limits::default());
    // Coefficients are explicit, so that the same repairs serve every window.
    let members = |first: u64| Members::range(first..first + window as u64);
    let mut encoder = Encoder::new(0);
    for symbol in &symbols {
        encoder.push(symbol.clone());
    }
    let seeds: Vec<u16> = (0..lost as u16 + 2).collect();
    let payloads = encoder.repairs(&members(0), &seeds).unwrap_or_default();
    let explicit = |seed: u16| Coding::Explicit(Coding::Seed(seed).all(&members(0)));
    let repairs: Vec<(Coding, Symbol)> = seeds.iter().map(|seed| explicit(*seed)).zip(payloads).collect();
    let (mut first, mut pattern) = (0u64, 0);
    move || {
        for ((id, symbol), lost) in (first..).zip(&symbols).zip(&patterns[pattern]) {
            if !lost {
                decoder.source(id, symbol.clone());
            }
        }
        let members = Members::range(first..first + window as u64);
        first += window as u64;
        for (coding, repair) in &repairs {
            decoder.repair(&members, coding, repair.clone());
            if decoder.next_undecoded() == first {
                break;
            }
        }
        while let Some(symbol) = decoder.poll_decoded() {
            black_box(symbol);
        }
        decoder.keep_from(first);
        pattern = (pattern + 1) % patterns.len();
        (window * len) as u64
    }
}

/// A tunnel's receiver: `outstanding` source symbols are in the window, and one in `every` is lost.
/// Each lost symbol is recovered from a repair that has only this member.
pub fn single_holes(outstanding: usize, every: usize, len: usize) -> impl FnMut() -> u64 {
    let payload = Symbol::build(len, |_| ());
    let mut decoder = Decoder::new(0, Limits::default());
    let mut next = 0u64;
    let step = move |decoder: &mut Decoder<Symbol>, next: &mut u64| {
        for i in 1..every as u64 {
            decoder.source(*next + i, payload.clone());
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

/// Encoding of a block code: all N-K repairs of a block of K source symbols of `len` bytes.
///
/// # Panics
/// If there is no code of this shape.
pub fn block_encode(n: usize, k: usize, len: usize) -> impl FnMut() -> u64 {
    let code = BlockCode::new(n, k).expect("the shape of a block code");
    let sources = symbols(k, len);
    move || {
        black_box(code.encode(black_box(&sources)).ok());
        (k * len) as u64
    }
}

/// The state of [`block_decode`].
pub struct BlockDecode {
    code: BlockCode,
    decoder: BlockDecoder<Symbol>,
    /// All N symbols of a block, the same in all blocks.
    symbols: Vec<Symbol>,
    /// For each block, the symbols that arrive, each with its index.
    blocks: Vec<Vec<(usize, Symbol)>>,
    random: Stream,
    /// The number of source symbols that are lost in each block.
    lost: usize,
}

/// Decoding of a block code from K of its N symbols of `len` bytes. Of each block, `lost` source
/// symbols are lost, and as many repairs arrive instead. Each block loses other symbols and gets
/// other repairs.
///
/// # Panics
/// If there is no code of this shape.
pub fn block_decode(n: usize, k: usize, lost: usize, len: usize) -> BlockDecode {
    let code = BlockCode::new(n, k).expect("the shape of a block code");
    let mut symbols = symbols(k, len);
    symbols.extend(code.encode(&symbols).unwrap_or_default());
    let random = Seed::new(1).stream("bench/block");
    BlockDecode { decoder: BlockDecoder::new(&code), code, symbols, blocks: Vec::new(), random, lost }
}

impl TwoSteps for BlockDecode {
    /// Draws the losses of the next blocks, and copies the symbols that arrive.
    fn prepare(&mut self) {
        let (n, k, lost) = (self.code.n(), self.code.k(), self.lost);
        self.blocks.clear();
        let size = k * self.symbols[0].len();
        for _ in 0..(CACHED / size.max(1)).clamp(2, WINDOWS) {
            let mut gone = choose(k, lost, &mut self.random);
            gone.extend(choose(n - k, (n - k).saturating_sub(lost), &mut self.random));
            let arrive = self.symbols.iter().map(|s| Symbol::from_slice(s.as_slice())).enumerate().zip(gone);
            self.blocks.push(arrive.filter(|(_, gone)| !gone).map(|(symbol, _)| symbol).collect());
        }
    }

    /// Decodes the prepared blocks: takes all their symbols, computes the lost ones, fetches the
    /// source symbols, and frees everything.
    fn run(&mut self) -> u64 {
        let mut bytes = 0;
        for block in self.blocks.drain(..) {
            for (index, symbol) in block {
                self.decoder.symbol(index, symbol);
            }
            while let Some((index, symbol)) = self.decoder.poll_source() {
                bytes += symbol.len() as u64;
                black_box((index, symbol));
            }
            assert!(self.decoder.is_complete(), "a block was not decoded");
            self.decoder.reset();
        }
        bytes
    }
}

/// `count` random symbols of `len` bytes.
fn symbols(count: usize, len: usize) -> Vec<Symbol> {
    let mut random = Seed::new(1).stream("bench/symbols");
    (0..count).map(|_| Symbol::build(len, |bytes| random.fill(bytes))).collect()
}

/// Chooses which `lost` of `window` symbols are lost, at random: true for each lost symbol.
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
        assert_eq!(recover.run(), 0);
        assert_eq!(receive(20, 20, 100)(), 2000);
        assert_eq!(single_holes(1000, 20, 100)(), 2000);
        assert_eq!(block_encode(40, 32, 100)(), 3200);
        let mut decode = block_decode(40, 32, 8, 100);
        assert_eq!(decode.run(), 0);
        decode.prepare();
        assert_eq!(decode.run(), 3200 * WINDOWS as u64);
        assert_eq!(decode.decoder.counters().decoded, 8 * WINDOWS as u64);
    }
}
