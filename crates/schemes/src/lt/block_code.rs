//! The code of a block: LT, random linear over GF(256), or a maximum-distance separable (MDS) code.

use ripstop_codes::lt::{self, LtCode};
use ripstop_codes::window::{Coding, Decoder, Encoder, Limits, Members};
use ripstop_codes::{Payload, block, lt::Arrival};

/// The largest number of source symbols in a block.
pub const MAX_BLOCK: usize = lt::MAX_BLOCK;

/// The code of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BlockCode {
    /// An LT code. Sums only need XOR.
    Lt(LtCode),
    /// A systematic random linear code over GF(256). Almost every symbol is innovative.
    Rlnc,
    /// A systematic MDS code over GF(256) with 128 repairs. Each symbol is innovative, as
    /// long as no repair is sent twice.
    Mds,
}

/// The number of different repairs of a block with an MDS code. After them, the first repair is sent
/// again. A path that loses nine of ten packets needs 144 repairs of a block of 16. Half the value
/// repeats repairs on such paths. Double the value is more than a field of 256 elements allows with
/// blocks of 64.
const MDS_REPAIRS: usize = 128;

impl BlockCode {
    /// Whether the first K symbols are the source symbols.
    pub fn is_systematic(self) -> bool {
        match self {
            BlockCode::Lt(code) => code == LtCode::Systematic,
            BlockCode::Rlnc | BlockCode::Mds => true,
        }
    }
}

/// Makes the symbols of a block.
#[derive(Clone, Debug)]
pub(super) enum BlockEncoder<P> {
    Lt(lt::Encoder<P>),
    Rlnc(Encoder<P>),
    Mds { code: block::BlockCode, sources: Vec<P> },
}

impl<P: Payload> BlockEncoder<P> {
    /// An encoder for `symbols`. None if there are no symbols, or more than [`MAX_BLOCK`].
    pub(super) fn new(code: BlockCode, symbols: Vec<P>) -> Option<BlockEncoder<P>> {
        if symbols.is_empty() || symbols.len() > MAX_BLOCK {
            return None;
        }
        Some(match code {
            BlockCode::Lt(code) => BlockEncoder::Lt(lt::Encoder::new(code, symbols).ok()?),
            BlockCode::Rlnc => {
                let mut encoder = Encoder::new(0);
                symbols.into_iter().for_each(|symbol| {
                    encoder.push(symbol);
                });
                BlockEncoder::Rlnc(encoder)
            }
            BlockCode::Mds => BlockEncoder::Mds { code: mds(symbols.len())?, sources: symbols },
        })
    }

    /// Symbol `symbol` of the block.
    pub(super) fn symbol(&self, symbol: u32) -> Option<P> {
        match self {
            BlockEncoder::Lt(encoder) => Some(encoder.symbol(symbol)),
            BlockEncoder::Rlnc(encoder) => match encoder.get(u64::from(symbol)) {
                Some(source) => Some(source.clone()),
                None => encoder.repair(&Members::range(0..encoder.next()), symbol as u16).ok(),
            },
            BlockEncoder::Mds { code, sources } => match sources.get(symbol as usize) {
                Some(source) => Some(source.clone()),
                None => code.encode_some(sources, &[mds_index(symbol, sources.len())]).ok()?.pop(),
            },
        }
    }

    /// Whether symbol `symbol` may be innovative for a receiver that has the source symbols `known` (a mask). A symbol
    /// of an LT code is not innovative if it combines only source symbols that the receiver has.
    pub(super) fn may_add(&self, symbol: u32, known: u64) -> bool {
        match self {
            BlockEncoder::Lt(encoder) => encoder.neighbours(symbol) & !known != 0,
            BlockEncoder::Rlnc(_) | BlockEncoder::Mds { .. } => true,
        }
    }
}

/// The MDS code for blocks of `k` symbols.
fn mds(k: usize) -> Option<block::BlockCode> {
    block::BlockCode::new(k + MDS_REPAIRS, k).ok()
}

/// The index of symbol `symbol` in a block of `k` symbols. After the last repair, the indices begin again with the
/// first repair.
fn mds_index(symbol: u32, k: usize) -> usize {
    match (symbol as usize).checked_sub(k) {
        None => symbol as usize,
        Some(repair) => k + repair % MDS_REPAIRS,
    }
}

/// Decodes a block.
#[derive(Clone, Debug)]
pub(super) enum BlockDecoder<P> {
    Lt(Box<lt::Decoder<P>>),
    Rlnc { decoder: Box<Decoder<P>>, k: u8 },
    Mds(Box<block::BlockDecoder<P>>),
}

impl<P: Payload> BlockDecoder<P> {
    /// A decoder for a block of `k` symbols. None if `k` is not 1 to [`MAX_BLOCK`].
    pub(super) fn new(code: BlockCode, k: u8) -> Option<BlockDecoder<P>> {
        if k == 0 || usize::from(k) > MAX_BLOCK {
            return None;
        }
        Some(match code {
            BlockCode::Lt(code) => BlockDecoder::Lt(Box::new(lt::Decoder::new(code, usize::from(k)).ok()?)),
            BlockCode::Rlnc => {
                let limits = Limits {
                    ahead: MAX_BLOCK,
                    history: MAX_BLOCK,
                    matrix: usize::MAX,
                    unseen: usize::MAX,
                    ..Limits::default()
                };
                BlockDecoder::Rlnc { decoder: Box::new(Decoder::new(0, limits)), k }
            }
            BlockCode::Mds => BlockDecoder::Mds(Box::new(block::BlockDecoder::new(&mds(usize::from(k))?))),
        })
    }

    /// Takes symbol `symbol`. Returns whether the symbol is innovative.
    pub(super) fn receive(&mut self, symbol: u32, payload: P) -> bool {
        match self {
            BlockDecoder::Lt(decoder) => decoder.receive(symbol, payload) == Arrival::Innovative,
            BlockDecoder::Rlnc { decoder, k } => {
                use ripstop_codes::window::Arrival;
                let arrival = if symbol < u32::from(*k) {
                    decoder.source(u64::from(symbol), payload)
                } else {
                    decoder.repair(&Members::range(0..u64::from(*k)), &Coding::Seed(symbol as u16), payload)
                };
                while decoder.poll_decoded().is_some() {}
                arrival == Arrival::Innovative
            }
            BlockDecoder::Mds(decoder) => {
                let index = mds_index(symbol, decoder.code().k());
                decoder.symbol(index, payload) == block::BlockArrival::Innovative
            }
        }
    }

    /// How many degrees of freedom are still missing.
    pub(super) fn missing(&self) -> u8 {
        match self {
            BlockDecoder::Lt(decoder) => decoder.missing() as u8,
            BlockDecoder::Rlnc { decoder, k } => {
                let seen = (0..u64::from(*k)).filter(|symbol| decoder.is_seen(*symbol)).count();
                *k - seen as u8
            }
            BlockDecoder::Mds(decoder) => decoder.still_needed() as u8,
        }
    }

    /// Which source symbols are known: bit i stands for source symbol i.
    pub(super) fn known(&self) -> u64 {
        match self {
            BlockDecoder::Lt(decoder) => decoder.known(),
            BlockDecoder::Rlnc { decoder, k } => {
                let known = (0..u64::from(*k)).filter(|symbol| decoder.is_decoded(*symbol));
                known.fold(0, |mask, symbol| mask | 1 << symbol)
            }
            BlockDecoder::Mds(decoder) => {
                let known = (0..decoder.code().k()).filter(|symbol| decoder.get(*symbol).is_some());
                known.fold(0, |mask, symbol| mask | 1 << symbol)
            }
        }
    }

    /// Source symbol `symbol`, if it is known.
    pub(super) fn get(&self, symbol: u8) -> Option<&P> {
        match self {
            BlockDecoder::Lt(decoder) => decoder.get(usize::from(symbol)),
            BlockDecoder::Rlnc { decoder, .. } => decoder.get(u64::from(symbol)),
            BlockDecoder::Mds(decoder) => decoder.get(usize::from(symbol)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ripstop_codes::Symbol;
    use ripstop_codes::lt::RobustSoliton;

    proptest! {
        #[test]
        fn every_code_decodes_what_was_encoded(
            k in 1usize..=MAX_BLOCK,
            start in 0u32..1000,
            skipped in prop::collection::vec(any::<bool>(), 64),
        ) {
            let soliton = LtCode::Soliton(RobustSoliton::default());
            let lt = [LtCode::Systematic, LtCode::Optimised, soliton].map(BlockCode::Lt);
            for code in lt.into_iter().chain([BlockCode::Rlnc, BlockCode::Mds]) {
                let sources: Vec<Symbol> = (0..k).map(|i| Symbol::from_slice(&[i as u8, 7, start as u8])).collect();
                let encoder = BlockEncoder::new(code, sources.clone()).unwrap();
                let mut decoder = BlockDecoder::new(code, k as u8).unwrap();
                let mut symbols = (start..).filter(|symbol| !skipped[*symbol as usize % 64] || *symbol > start + 64);
                while decoder.missing() > 0 {
                    let symbol = symbols.next().unwrap();
                    prop_assert!(symbol < start + 1000, "{code:?} needs too many symbols");
                    let before = decoder.missing();
                    let is_innovative = decoder.receive(symbol, encoder.symbol(symbol).unwrap());
                    prop_assert_eq!(decoder.missing(), before - u8::from(is_innovative));
                }
                for (i, source) in sources.iter().enumerate() {
                    prop_assert_eq!(decoder.get(i as u8), Some(source));
                    prop_assert!(decoder.known() >> i & 1 == 1);
                }
            }
        }
    }

    #[test]
    fn a_block_of_no_symbols_or_of_too_many_is_refused() {
        for code in [BlockCode::Lt(LtCode::Systematic), BlockCode::Rlnc, BlockCode::Mds] {
            assert!(BlockEncoder::<Symbol>::new(code, Vec::new()).is_none());
            assert!(BlockEncoder::new(code, vec![Symbol::from_slice(&[1]); MAX_BLOCK + 1]).is_none());
            assert!(BlockDecoder::<Symbol>::new(code, 0).is_none());
            assert!(BlockDecoder::<Symbol>::new(code, MAX_BLOCK as u8 + 1).is_none());
        }
    }
}
