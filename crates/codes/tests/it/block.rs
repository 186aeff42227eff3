//! Tests of the block code: any K of the N symbols restore a block, and nothing else does. The
//! independent crate `reed-solomon-erasure` is the oracle.

use proptest::prelude::*;
use reed_solomon_erasure::galois_8::{self, ReedSolomon};
use ripstop_base::{Seed, Stream};
use ripstop_codes::block::{BlockArrival, BlockCode, BlockDecoder, MAX_BLOCK};
use ripstop_codes::{Length, Payload, Sketch, Symbol};

/// The K source symbols of a block, and all its N symbols.
fn block<P: Payload>(code: &BlockCode, mut source: impl FnMut() -> P) -> Vec<P> {
    let mut symbols: Vec<P> = (0..code.k()).map(|_| source()).collect();
    symbols.extend(code.encode(&symbols).unwrap());
    assert_eq!(symbols.len(), code.n());
    symbols
}

fn symbol(random: &mut Stream, longest: u64) -> Symbol {
    let len = random.below(longest + 1) as usize;
    Symbol::build(len, |bytes| random.fill(bytes))
}

fn shuffle<T>(list: &mut [T], random: &mut Stream) {
    for i in (1..list.len()).rev() {
        list.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// Gives the symbols with these indices to the decoder, which needs all of them. `check` compares a
/// source symbol that the decoder returns with the original; the last argument is the length of the
/// longest symbol that arrived.
fn decode<P: Payload + PartialEq + std::fmt::Debug>(
    decoder: &mut BlockDecoder<P>,
    symbols: &[P],
    arriving: &[usize],
    check: impl Fn(&P, &P, usize),
) {
    let k = decoder.code().k();
    let before = decoder.counters();
    let mut told = vec![false; k];
    let longest = arriving.iter().map(|index| symbols[*index].len()).max().unwrap_or(0);
    for (done, index) in arriving.iter().enumerate() {
        assert_eq!(decoder.still_needed(), k - done);
        assert!(!decoder.is_complete());
        assert_eq!(decoder.symbol(*index, symbols[*index].clone()), BlockArrival::Innovative);
        while let Some((index, payload)) = decoder.poll_source() {
            assert!(!std::mem::replace(&mut told[index], true), "symbol {index} was returned twice");
            if arriving[..=done].contains(&index) {
                assert_eq!(payload, &symbols[index], "symbol {index} arrived and was changed");
            } else {
                assert_eq!(done + 1, k, "symbol {index} was returned without K symbols");
                assert_eq!(payload.len(), longest, "symbol {index}");
                check(payload, &symbols[index], longest);
            }
        }
        if done + 1 < k {
            let known = |index: usize| arriving[..=done].contains(&index);
            assert!((0..k).all(|index| told[index] == known(index) && decoder.get(index).is_some() == known(index)));
        }
    }
    assert!(decoder.is_complete() && told.iter().all(|told| *told), "N {} K {k}: {arriving:?}", symbols.len());
    let lost = (0..k).filter(|index| !arriving.contains(index)).count() as u64;
    let after = decoder.counters();
    assert_eq!(after.decoded - before.decoded, lost);
    assert_eq!(after.blocks_decoded - before.blocks_decoded, u64::from(lost > 0));
    assert_eq!(after.innovative - before.innovative, k as u64);
    assert!((0..k).all(|index| decoder.get(index).is_some()) && decoder.get(k).is_none());
}

/// A decoded symbol has the original's bytes, followed by zeros.
fn padded(decoded: &Symbol, original: &Symbol, longest: usize) {
    assert_eq!(decoded.as_slice()[..original.len()], *original.as_slice());
    assert!(decoded.as_slice()[original.len()..longest].iter().all(|byte| *byte == 0));
}

#[test]
fn every_k_of_n_restore_a_small_block() {
    let mut random = Seed::new(1).stream("small blocks");
    let mut decoded = 0;
    for n in 1..=10 {
        for k in 1..=n {
            let code = BlockCode::new(n, k).unwrap();
            let symbols = block(&code, || symbol(&mut random, 70));
            let mut decoder = BlockDecoder::new(&code);
            for subset in (0u32..1 << n).filter(|subset| subset.count_ones() as usize == k) {
                let mut arriving: Vec<usize> = (0..n).filter(|index| subset >> index & 1 == 1).collect();
                shuffle(&mut arriving, &mut random);
                decode(&mut decoder, &symbols, &arriving, padded);
                decoder.reset();
                assert!(!decoder.is_complete() && decoder.poll_source().is_none() && decoder.get(0).is_none());
            }
            decoded += decoder.counters().decoded;
        }
    }
    assert!(decoded > 2000, "only {decoded} symbols were decoded");
}

/// A shape of any size, which of its symbols arrive, and in which order.
fn arrivals(random: &mut Stream) -> (BlockCode, Vec<usize>) {
    let n = 1 + random.below(MAX_BLOCK as u64) as usize;
    let k = 1 + random.below(n as u64) as usize;
    let mut arriving: Vec<usize> = (0..n).collect();
    shuffle(&mut arriving, random);
    arriving.truncate(k);
    (BlockCode::new(n, k).unwrap(), arriving)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn any_k_of_n_restore_a_block(seed: u64) {
        let mut random = Seed::new(seed).stream("blocks");
        let (code, arriving) = arrivals(&mut random);
        let symbols = block(&code, || symbol(&mut random, 200));
        decode(&mut BlockDecoder::new(&code), &symbols, &arriving, padded);
    }

    #[test]
    fn all_payloads_are_decoded_alike(seed: u64) {
        let mut random = Seed::new(seed).stream("blocks");
        let (code, arriving) = arrivals(&mut random);
        let symbols = block(&code, || Length(random.below(1500) as usize));
        decode(&mut BlockDecoder::new(&code), &symbols, &arriving, |_, _, _| ());
        let sketch = || {
            let mut content = [0; 16];
            random.fill(&mut content);
            Sketch::new(random.below(1500) as usize, content)
        };
        let symbols = block(&code, sketch);
        let same = |decoded: &Sketch, original: &Sketch, _| assert_eq!(decoded.content(), original.content());
        decode(&mut BlockDecoder::new(&code), &symbols, &arriving, same);
    }

    /// Symbols arrive several times, too late, or with an index that does not exist.
    #[test]
    fn every_arrival_is_named_and_counted(seed: u64) {
        let mut random = Seed::new(seed).stream("arrivals");
        let n = 1 + random.below(30) as usize;
        let code = BlockCode::new(n, 1 + random.below(n as u64) as usize).unwrap();
        let symbols = block(&code, || symbol(&mut random, 90));
        let mut decoder = BlockDecoder::new(&code);
        let mut counted = [0; 4];
        for _ in 0..3 {
            let mut seen = vec![false; n];
            for _ in 0..4 * n {
                let index = random.below(n as u64 + 4) as usize;
                let needed = decoder.still_needed();
                let decoded = index < code.k() && decoder.is_complete();
                let (expected, at) = match seen.get(index) {
                    None => (BlockArrival::OutOfRange, 0),
                    Some(seen) if *seen || decoded => (BlockArrival::Duplicate, 1),
                    Some(_) if needed == 0 => (BlockArrival::Redundant, 2),
                    Some(_) => (BlockArrival::Innovative, 3),
                };
                let index = if index < n { index } else { usize::MAX - index };
                let payload = symbols.get(index).cloned().unwrap_or_else(|| Symbol::from_slice(b"?"));
                prop_assert_eq!(decoder.symbol(index, payload), expected);
                counted[at] += 1;
                if expected == BlockArrival::Innovative {
                    seen[index] = true;
                }
            }
            for (index, symbol) in symbols[..code.k()].iter().enumerate().filter(|_| decoder.is_complete()) {
                prop_assert!(decoder.get(index).unwrap().as_slice().starts_with(symbol.as_slice()));
            }
            decoder.reset();
        }
        let counters = decoder.counters();
        let found = [counters.out_of_range, counters.duplicate, counters.redundant, counters.innovative];
        prop_assert_eq!(found, counted);
    }

    /// The oracle uses another matrix over the same field. It restores the same sources from the
    /// same losses. Its field arithmetic gives the same repairs.
    #[test]
    fn the_oracle_agrees(seed: u64, k in 1usize..60, spare in 1usize..40) {
        let mut random = Seed::new(seed).stream("oracle");
        let code = BlockCode::new(k + spare, k).unwrap();
        let len = 1 + random.below(300) as usize;
        let symbols = block(&code, || Symbol::build(len, |bytes| random.fill(bytes)));
        let oracle = ReedSolomon::new(k, spare).unwrap();
        let mut shards: Vec<Vec<u8>> = symbols.iter().map(|symbol| symbol.as_slice().to_vec()).collect();
        oracle.encode(&mut shards).unwrap();
        let mut lost: Vec<usize> = (0..k + spare).collect();
        shuffle(&mut lost, &mut random);
        lost.truncate(random.below(spare as u64 + 1) as usize);
        let mut damaged: Vec<Option<Vec<u8>>> = shards.into_iter().map(Some).collect();
        let mut decoder = BlockDecoder::new(&code);
        for index in 0..k + spare {
            if lost.contains(&index) {
                damaged[index] = None;
            } else {
                decoder.symbol(index, symbols[index].clone());
            }
        }
        oracle.reconstruct_data(&mut damaged).unwrap();
        for (index, shard) in damaged[..k].iter().enumerate() {
            prop_assert_eq!(shard.as_deref(), decoder.get(index).map(|symbol| symbol.as_slice()));
        }
        for repair in k..k + spare {
            let coefficients = code.coefficients(repair).unwrap();
            let mut sum = vec![0; len];
            for (source, c) in coefficients.iter().enumerate() {
                prop_assert_eq!(*c, galois_8::div((k ^ source) as u8, (repair ^ source) as u8));
                galois_8::mul_slice_xor(*c, symbols[source].as_slice(), &mut sum);
            }
            prop_assert_eq!(&sum[..], symbols[repair].as_slice());
        }
    }
}

#[test]
fn fewer_than_k_symbols_restore_nothing() {
    let code = BlockCode::new(12, 8).unwrap();
    let symbols = block(&code, || Symbol::from_slice(b"anything"));
    let mut decoder = BlockDecoder::new(&code);
    for (index, symbol) in symbols.iter().enumerate().skip(5) {
        assert_eq!(decoder.symbol(index, symbol.clone()), BlockArrival::Innovative);
        assert_eq!(decoder.symbol(index, symbol.clone()), BlockArrival::Duplicate);
    }
    assert_eq!((decoder.still_needed(), decoder.is_complete()), (1, false));
    assert!((0..5).all(|index| decoder.get(index).is_none()));
    assert_eq!(std::iter::from_fn(|| decoder.poll_source().map(|(index, _)| index)).collect::<Vec<_>>(), [5, 6, 7]);
    assert_eq!(decoder.counters().blocks_decoded, 0);
}
