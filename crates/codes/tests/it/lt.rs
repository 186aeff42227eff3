//! Property tests of the LT codes: random blocks, symbols in any order, duplicates and garbage. The
//! decoder is compared with plain Gaussian elimination and with plain peeling.

use proptest::prelude::*;
use ripstop_base::Seed;
use ripstop_codes::lt::{Arrival, Decoder, DecoderCounters, Encoder, LtCode, MAX_BLOCK, Peeling, RobustSoliton};
use ripstop_codes::{Length, Payload, Sketch, Symbol};

/// The rank of vectors over GF(2), by elimination on single bits.
fn rank(vectors: &[u64]) -> usize {
    let mut rows: Vec<Vec<bool>> = vectors.iter().map(|v| (0..64).map(|i| v >> i & 1 == 1).collect()).collect();
    let mut rank = 0;
    for column in 0..64 {
        let Some(pivot) = (rank..rows.len()).find(|row| rows[*row][column]) else { continue };
        rows.swap(rank, pivot);
        let pivot = rows[rank].clone();
        for row in rows.iter_mut().skip(rank + 1).filter(|row| row[column]) {
            row.iter_mut().zip(&pivot).for_each(|(bit, pivot)| *bit ^= pivot);
        }
        rank += 1;
    }
    rank
}

/// The source symbols that peeling gives, found by going through all symbols until nothing changes.
fn peeled(neighbours: &[u64]) -> u64 {
    let mut known = 0;
    loop {
        let single = neighbours.iter().map(|mask| mask & !known).find(|unknown| unknown.count_ones() == 1);
        match single {
            Some(unknown) => known |= unknown,
            None => return known,
        }
    }
}

fn soliton(c: f64, delta: f64) -> LtCode {
    LtCode::Soliton(RobustSoliton::new(c, delta).unwrap())
}

fn codes() -> impl Strategy<Value = LtCode> {
    prop_oneof![
        Just(LtCode::Systematic),
        Just(LtCode::Optimised),
        (0f64..3.0, 1e-6f64..1.0).prop_map(|(c, delta)| soliton(c, delta)),
    ]
}

/// `source`, followed by zeros up to the length `len`.
fn padded(source: &[u8], len: usize) -> Vec<u8> {
    let mut padded = source.to_vec();
    padded.resize(len, 0);
    padded
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_arrives_decodes_to_the_source(
        code in codes(),
        k in 1usize..=MAX_BLOCK,
        lens in prop::collection::vec(0usize..200, MAX_BLOCK),
        start: u32,
        loss in 0f64..0.7,
        seed: u64,
    ) {
        let mut random = Seed::new(seed).stream("history");
        let sources: Vec<Symbol> =
            lens[..k].iter().map(|len| Symbol::build(*len, |bytes| random.fill(bytes))).collect();
        let encoder = Encoder::new(code, sources.clone()).unwrap();
        let mut decoder = Decoder::new(code, k).unwrap();
        let start = if code == LtCode::Systematic { 0 } else { start };
        let (mut arrived, mut innovative) = (Vec::new(), Vec::new());
        let mut next = 0u32;
        while !decoder.is_complete() {
            next += 1;
            prop_assert!(next < 20_000, "the block is not decoded");
            if random.chance(loss) {
                continue;
            }
            // Some symbols arrive twice, and some far too late or too early.
            let n = match random.below(10) {
                0 => random.below(u64::from(next)) as u32,
                1 => random.next_u64() as u32,
                _ => next,
            };
            let seed = start.wrapping_add(n);
            let missing = decoder.missing();
            arrived.push(code.neighbours(k, seed));
            let arrival = decoder.receive(seed, encoder.symbol(seed));
            prop_assert_eq!(decoder.missing(), k - rank(&arrived));
            prop_assert_eq!(arrival == Arrival::Innovative, decoder.missing() < missing);
            if arrival == Arrival::Innovative {
                innovative.push(code.neighbours(k, seed));
            }
            prop_assert_eq!(peeled(&innovative) & !decoder.known(), 0, "what can be peeled is available");
            for (i, source) in sources.iter().enumerate() {
                let known = decoder.known() >> i & 1 == 1;
                prop_assert_eq!(decoder.get(i).is_some(), known);
                if let Some(decoded) = decoder.get(i) {
                    prop_assert!(decoded.len() >= source.len() && decoded.len() <= *lens[..k].iter().max().unwrap());
                    prop_assert_eq!(decoded.as_slice(), padded(source.as_slice(), decoded.len()));
                }
            }
        }
        prop_assert_eq!(rank(&arrived), k);
        let counters = decoder.counters();
        prop_assert_eq!(counters.received as usize, arrived.len());
        prop_assert_eq!(counters.redundant as usize, arrived.len() - k);
        prop_assert_eq!((counters.peeled + counters.eliminated) as usize, k);
        prop_assert_eq!(decoder.receive(start, encoder.symbol(start)), Arrival::Redundant);
        prop_assert!(decoder.get(k).is_none());
    }

    #[test]
    fn garbage_never_panics(
        code in codes(),
        k in 1usize..=MAX_BLOCK,
        arrivals in prop::collection::vec((any::<u32>(), 0usize..100, any::<u8>()), 0..300),
        small: bool,
    ) {
        let mut decoder = Decoder::new(code, k).unwrap();
        let mut masks = Vec::new();
        for (seed, len, byte) in arrivals {
            let seed = if small { seed % 100 } else { seed };
            masks.push(code.neighbours(k, seed));
            decoder.receive(seed, Symbol::from_slice(&vec![byte; len]));
            prop_assert_eq!(decoder.missing(), k - rank(&masks));
        }
    }

    #[test]
    fn peeling_is_plain_peeling(k in 1usize..=MAX_BLOCK, seeds in prop::collection::vec(any::<u32>(), 0..200)) {
        let code = soliton(0.1, 0.5);
        let mut peeling = Peeling::new(k).unwrap();
        let mut masks = Vec::new();
        for seed in seeds {
            masks.push(code.neighbours(k, seed));
            peeling.receive(code.neighbours(k, seed));
            prop_assert_eq!(peeling.known(), peeled(&masks));
            prop_assert_eq!(peeling.is_complete(), peeling.known().count_ones() as usize == k);
        }
    }
}

/// Sends a block until it is decoded; `lost` says which symbols are lost. Returns the counters.
fn transfer<P: Payload>(code: LtCode, sources: &[P], lost: impl Fn(u32) -> bool) -> (Vec<P>, DecoderCounters) {
    let encoder = Encoder::new(code, sources.to_vec()).unwrap();
    let mut decoder = Decoder::new(code, sources.len()).unwrap();
    for seed in (0..).filter(|seed| !lost(*seed)) {
        decoder.receive(seed, encoder.symbol(seed));
        if decoder.is_complete() {
            break;
        }
    }
    let decoded = (0..sources.len()).map(|i| decoder.get(i).unwrap().clone());
    (decoded.collect(), decoder.counters())
}

#[test]
fn every_way_to_decode_occurs() {
    let sources: Vec<Sketch> = (0..16).map(|i| Sketch::new(1400, [i as u8 + 1; 16])).collect();
    let (decoded, counters) = transfer(LtCode::Systematic, &sources, |_| false);
    assert_eq!(decoded, sources);
    let want = DecoderCounters { received: 16, peeled: 16, ..DecoderCounters::default() };
    assert_eq!(counters, want, "without loss there is nothing to compute");

    let (decoded, counters) = transfer(LtCode::Systematic, &sources, |seed| seed == 3);
    assert_eq!(decoded, sources);
    assert_eq!((counters.received, counters.peeled, counters.xors), (16, 16, 15), "one repair replaces one loss");

    let (decoded, counters) = transfer(LtCode::Systematic, &sources, |seed| seed < 6);
    assert_eq!(decoded, sources);
    assert!(counters.eliminated > 0 && counters.inactivated > 0, "{counters:?}");

    let (decoded, counters) = transfer(LtCode::Optimised, &sources, |seed| seed % 3 == 0);
    assert_eq!(decoded, sources);
    assert!(counters.eliminated > counters.inactivated && counters.inactivated > 0, "{counters:?}");

    let (decoded, counters) = transfer(soliton(0.1, 0.5), &sources, |_| false);
    assert_eq!(decoded, sources);
    assert!(counters.peeled > 0 && counters.redundant > 0, "{counters:?}");
}

#[test]
fn payloads_without_bytes_keep_their_lengths() {
    let sources: Vec<Length> = (0..32).map(|i| Length(100 + i)).collect();
    let (decoded, _) = transfer(LtCode::Optimised, &sources, |_| false);
    assert!(decoded.iter().zip(&sources).all(|(decoded, source)| (source.0..=131).contains(&decoded.0)));
}

/// A source symbol that arrives is available at once, also if the equations determine it already.
#[test]
fn a_redundant_symbol_can_make_a_source_symbol_known() {
    let sources: Vec<Length> = vec![Length(9); 8];
    let encoder = Encoder::new(LtCode::Systematic, sources).unwrap();
    let masks: Vec<u64> = (0..200).map(|seed| LtCode::Systematic.neighbours(8, seed)).collect();
    // Two repairs whose sum is one source symbol.
    let difference = |a: usize, b: usize| masks[a] ^ masks[b];
    let pairs = (8..200).flat_map(|a| (a + 1..200).map(move |b| (a, b)));
    let (a, b) = pairs.into_iter().find(|(a, b)| difference(*a, *b).count_ones() == 1).unwrap();
    let source = difference(a, b).trailing_zeros();
    let mut decoder = Decoder::new(LtCode::Systematic, 8).unwrap();
    for seed in [a as u32, b as u32] {
        assert_eq!(decoder.receive(seed, encoder.symbol(seed)), Arrival::Innovative);
    }
    assert_eq!((decoder.known(), decoder.missing()), (0, 6));
    assert_eq!(decoder.receive(source, encoder.symbol(source)), Arrival::Redundant);
    assert_eq!((decoder.known(), decoder.missing()), (1 << source, 6));
    for seed in (0..8).filter(|seed| *seed != source) {
        decoder.receive(seed, encoder.symbol(seed));
    }
    assert!(decoder.is_complete());
}
