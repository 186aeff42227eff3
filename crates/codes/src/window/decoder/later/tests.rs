//! A decoder that works in steps: what one call costs, and that the results are right.

use crate::Symbol;
use crate::window::{Arrival, Coding, Decoder, Encoder, Limits, Members, Pivots};
use ripstop_base::Seed;

/// The length of a source symbol, bytes.
const LEN: usize = 100;

fn encoder(count: u64) -> Encoder<Symbol> {
    let (mut encoder, mut random) = (Encoder::new(0), Seed::new(5).stream("symbols"));
    (0..count).for_each(|_| _ = encoder.push(Symbol::build(LEN, |bytes| random.fill(bytes))));
    encoder
}

fn decoder(step: usize) -> Decoder<Symbol> {
    Decoder::with_pivots(0, Limits { step, ..Limits::default() }, Pivots::Highest)
}

fn repair(decoder: &mut Decoder<Symbol>, encoder: &Encoder<Symbol>, members: &Members, seed: u16) -> Arrival {
    decoder.repair(members, &Coding::Seed(seed), encoder.repair(members, seed).unwrap())
}

fn source(decoder: &mut Decoder<Symbol>, encoder: &Encoder<Symbol>, id: u64) -> Arrival {
    decoder.source(id, encoder.get(id).unwrap().clone())
}

/// Does all that was left. Returns the number of steps, and the largest work of one of them.
fn finish(decoder: &mut Decoder<Symbol>) -> (u64, u64) {
    let (mut steps, mut most) = (0, 0);
    while decoder.is_unfinished() {
        let before = decoder.counters().work_bytes;
        decoder.resume();
        most = most.max(decoder.counters().work_bytes - before);
        steps += 1;
        assert!(steps < 100_000, "the work does not end");
    }
    (steps, most)
}

/// Checks the content of all recovered symbols, and returns their number.
fn recovered(decoder: &mut Decoder<Symbol>, encoder: &Encoder<Symbol>) -> usize {
    let symbols = std::iter::from_fn(|| decoder.poll_decoded());
    symbols.inspect(|(id, symbol)| assert_eq!(Some(symbol), encoder.get(*id), "symbol {id} is wrong")).count()
}

/// A decoder with `count` components: each misses two symbols, and has one repair of them and of 200 known symbols.
fn pairs(step: usize, count: u64, encoder: &Encoder<Symbol>) -> Decoder<Symbol> {
    let (mut decoder, known) = (decoder(step), 2 * count..2 * count + 200);
    known.clone().for_each(|id| assert_eq!(source(&mut decoder, encoder, id), Arrival::Innovative));
    for pair in 0..count {
        let members = Members::new(vec![2 * pair, 2 * pair + 1], known.clone()).unwrap();
        assert_eq!(repair(&mut decoder, encoder, &members, pair as u16), Arrival::Innovative);
    }
    assert_eq!(decoder.rows() as u64, count);
    decoder
}

#[test]
fn freeing_the_members_of_many_components_takes_many_steps() {
    const STEP: usize = 500_000;
    let encoder = encoder(2000);
    let mut decoder = pairs(STEP, 300, &encoder);
    (800..1200).for_each(|id| assert_eq!(source(&mut decoder, &encoder, id), Arrival::Innovative));
    let (held, before) = (decoder.bytes(), *decoder.counters());
    decoder.keep_from(1100);
    // One block of one component is folded after the limit is reached.
    let step = (STEP + 8 * 220 * LEN) as u64;
    assert!(decoder.counters().work_bytes - before.work_bytes <= step && decoder.is_unfinished());
    assert!(decoder.bytes() + 10_000 > held, "nothing is freed before all repairs are folded");
    let (steps, most) = finish(&mut decoder);
    assert!(steps > 5 && most <= step, "{steps} steps of up to {most}");
    assert!(decoder.counters().work_bytes - before.work_bytes >= (300 * 200 * LEN) as u64);
    assert!(decoder.bytes() + 200 * LEN < held && decoder.get(700).is_none());
    // The repairs are still right.
    (0..300).for_each(|pair| assert_eq!(source(&mut decoder, &encoder, 2 * pair), Arrival::Innovative));
    assert_eq!((recovered(&mut decoder, &encoder), decoder.counters().discarded), (300, 0));
}

#[test]
fn a_fold_that_never_ends_does_not_hold_the_memory() {
    let (encoder, mut decoder) = (encoder(3000), decoder(usize::MAX));
    decoder.limits.history = 1000;
    (0..1200).for_each(|id| assert_eq!(source(&mut decoder, &encoder, id), Arrival::Innovative));
    let members = Members::new(vec![0], 2900..2902).unwrap();
    assert_eq!(repair(&mut decoder, &encoder, &members, 1), Arrival::Innovative);
    decoder.pause(true);
    (1200..1500).for_each(|id| assert_eq!(source(&mut decoder, &encoder, id), Arrival::Innovative));
    assert_eq!((decoder.rows(), decoder.symbols.held()), (1, 1500));
    (1500..2900).for_each(|id| assert_eq!(source(&mut decoder, &encoder, id), Arrival::Innovative));
    assert!(decoder.symbols.held() <= 1250, "{} payloads", decoder.symbols.held());
    assert_eq!((decoder.undecoded(), decoder.rows(), decoder.counters().discarded), (2, 0, 1));
}

#[test]
fn during_a_pause_a_source_causes_no_work() {
    let encoder = encoder(2000);
    let mut decoder = pairs(100_000, 100, &encoder);
    let before = decoder.counters().work_bytes;
    decoder.pause(true);
    for pair in 0..100 {
        assert_eq!(source(&mut decoder, &encoder, 2 * pair), Arrival::Innovative);
        assert_eq!(source(&mut decoder, &encoder, 2 * pair), Arrival::Duplicate);
    }
    assert_eq!((decoder.counters().work_bytes, decoder.rows(), decoder.undecoded()), (before, 100, 200));
    assert!(decoder.poll_decoded().is_none() && decoder.is_unfinished() && decoder.lags());
    // A symbol in no row is as ever. A repair that decodes a symbol that waits does not return this symbol.
    assert_eq!(source(&mut decoder, &encoder, 400), Arrival::Innovative);
    assert_eq!(repair(&mut decoder, &encoder, &Members::one(0), 1), Arrival::Innovative);
    assert_eq!(recovered(&mut decoder, &encoder), 1);
    assert!(decoder.is_decoded(400) && decoder.is_decoded(0) && decoder.is_decoded(1));
    let (steps, most) = finish(&mut decoder);
    assert!(steps > 10 && most < 200_000, "{steps} steps of up to {most}");
    assert_eq!((recovered(&mut decoder, &encoder), decoder.rows(), decoder.undecoded()), (99, 0, 0));
    assert_eq!(decoder.counters().discarded, 0);
}

#[test]
fn sources_that_wait_too_long_cost_the_rows() {
    let encoder = encoder(6000);
    let (mut decoder, most) = (decoder(usize::MAX), super::MOST_LATER as u64);
    // Components of 100 rows.
    for at in (0..most + 100).filter(|at| at % 101 < 100) {
        assert_eq!(repair(&mut decoder, &encoder, &Members::range(at..at + 2), 1), Arrival::Innovative);
    }
    decoder.pause(true);
    // Too many symbols wait.
    let (work, rows) = (decoder.counters().work_bytes, decoder.rows() as u64);
    (0..=most).rev().for_each(|id| assert_eq!(source(&mut decoder, &encoder, id), Arrival::Innovative));
    assert_eq!((decoder.rows() + 100 > rows as usize, decoder.counters().discarded + 100 > rows), (false, true));
    assert!(decoder.counters().work_bytes == work && decoder.is_decoded(0) && !decoder.is_unfinished());
    // A symbol lies too far ahead of one that waits.
    let limits = Limits { ahead: 300, ..Limits::default() };
    let mut decoder = Decoder::with_pivots(0, limits, Pivots::Highest);
    repair(&mut decoder, &encoder, &Members::range(0..2), 1);
    decoder.pause(true);
    (0..400).for_each(|id| assert_eq!(source(&mut decoder, &encoder, id), Arrival::Innovative));
    assert_eq!((decoder.undecoded(), decoder.counters().discarded), (0, 1));
}

#[test]
fn rows_that_are_decoded_while_others_stay_take_many_steps() {
    const STEP: usize = 500_000;
    let encoder = encoder(300);
    let mut decoder = decoder(STEP);
    for seed in 0..149 {
        assert_eq!(repair(&mut decoder, &encoder, &Members::range(0..150), seed), Arrival::Innovative);
    }
    for seed in 0..10 {
        assert_eq!(repair(&mut decoder, &encoder, &Members::range(100..300), seed), Arrival::Innovative);
    }
    let matrix = decoder.current.space.bytes();
    assert!(matrix > 50_000);
    // One elimination, and a step that decodes some of the 149 rows. Each removes a row from the matrix.
    let before = decoder.counters().work_bytes;
    assert_eq!(source(&mut decoder, &encoder, 149), Arrival::Innovative);
    let work = decoder.counters().work_bytes - before;
    assert!(work <= (2 * matrix + STEP) as u64, "work {work}");
    let (steps, most) = finish(&mut decoder);
    assert!(steps > 10 && most <= STEP as u64, "{steps} steps of up to {most}");
    assert_eq!((recovered(&mut decoder, &encoder), decoder.rows()), (149, 10));
}

/// Rows that all contain the first symbols: each of these symbols costs one row, and one elimination.
fn joined(step: usize, encoder: &Encoder<Symbol>) -> Decoder<Symbol> {
    let mut decoder = decoder(step);
    for seed in 0..150 {
        assert_eq!(repair(&mut decoder, encoder, &Members::range(0..300), seed), Arrival::Innovative);
    }
    decoder
}

#[test]
fn a_window_that_passes_many_rows_takes_many_steps() {
    let encoder = encoder(1000);
    let mut whole = joined(usize::MAX, &encoder);
    let before = whole.counters().work_bytes;
    whole.advance_to(100);
    assert!(whole.counters().work_bytes - before > 3_000_000, "each lost row counts");
    let mut steps = joined(1_000_000, &encoder);
    steps.advance_to(100);
    let work = steps.counters().work_bytes - before;
    assert!(work < 1_300_000 && steps.lags() && steps.start() < 100, "work {work}");
    // Symbols that the window is about to pass are too old.
    assert_eq!(source(&mut steps, &encoder, 99), Arrival::Old);
    let (count, most) = finish(&mut steps);
    assert!(count > 2 && most < 1_300_000, "{count} steps of up to {most}");
    assert_eq!((steps.start(), steps.rows(), steps.deficit()), (100, whole.rows(), whole.deficit()));
    assert_eq!(steps.counters().given_up, whole.counters().given_up);
    for decoder in [&mut whole, &mut steps] {
        (100..250).for_each(|id| assert_eq!(source(decoder, &encoder, id), Arrival::Innovative));
        finish(decoder);
        assert_eq!(recovered(decoder, &encoder), 50, "{:?}", decoder.counters());
    }
    // During a pause the window only notes where to go. A symbol far ahead costs the rows that the window passes.
    let mut paused = joined(usize::MAX, &encoder);
    paused.limits.ahead = 400;
    paused.pause(true);
    let before = paused.counters().work_bytes;
    paused.advance_to(100);
    assert_eq!((paused.start(), paused.rows()), (0, 150));
    assert_eq!(source(&mut paused, &encoder, 450), Arrival::Innovative);
    assert_eq!((paused.start(), paused.rows(), paused.deficit()), (100, 0, 350));
    assert_eq!((paused.counters().work_bytes, paused.is_unfinished()), (before, false));
}

/// Whatever is left for later, and whenever it is done: each recovered symbol is right, and no source symbol is lost.
#[test]
fn steps_and_pauses_change_no_symbol() {
    let encoder = encoder(3000);
    let (mut folded, mut lagged, mut decoded) = (0, 0, 0);
    for run in 0..60 {
        let mut random = Seed::new(8).run(run).stream("steps");
        let limits = Limits { ahead: 1500, history: 600, rows: 200, step: 20_000, ..Limits::default() };
        let mut decoder = Decoder::with_pivots(0, limits, Pivots::Highest);
        let (mut next, mut base) = (0u64, 0);
        while next < 2900 {
            decoder.pause(random.chance(0.3));
            let id = next.saturating_sub(random.below(400));
            match random.below(100) {
                0..60 => {
                    next += 1 + random.below(2);
                    let given = source(&mut decoder, &encoder, next);
                    assert_eq!(given, Arrival::Innovative, "run {run}");
                }
                60..70 if id >= base => {
                    source(&mut decoder, &encoder, id);
                }
                70..93 => {
                    let start = id.max(base);
                    let singles: Vec<u64> = decoder.missing().filter(|id| *id >= base && *id < start).take(4).collect();
                    let members = Members::new(singles, start..start + 1 + random.below(100)).unwrap();
                    if members.last().is_some_and(|last| last < 3000) {
                        repair(&mut decoder, &encoder, &members, random.below(60_000) as u16);
                    }
                }
                93..96 => decoder.keep_from(next.saturating_sub(300)),
                96 => {
                    base = base.max(next.saturating_sub(500));
                    decoder.advance_to(base);
                }
                _ => decoder.resume(),
            }
            folded += usize::from(decoder.folding.is_some());
            lagged += usize::from(decoder.lags());
            decoded += recovered(&mut decoder, &encoder);
            assert_eq!(decoder.undecoded(), decoder.rows() + decoder.deficit(), "run {run}");
        }
        decoder.pause(false);
        finish(&mut decoder);
        decoded += recovered(&mut decoder, &encoder);
        assert!(decoder.later_bytes == 0 && decoder.start() >= base, "run {run}");
    }
    assert!(folded > 5000 && lagged > 5000 && decoded > 3000, "{folded} {lagged} {decoded}");
}
