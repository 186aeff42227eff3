//! The body of the fuzz target `decoder`: sequences of symbols into a window decoder with small limits.
//!
//! Each event has a byte that selects it and three bytes of arguments. All payloads are combinations of the same
//! source symbols. The body checks these properties:
//!
//! - A recovered symbol has the right content.
//! - The memory stays within a bound that follows from the limits.
//! - The work of an event is at most proportional to its size and to what it recovers. Work that was left for later is
//!   done in bounded steps, and ends.
//!
//! The target runs the body on inputs that it makes up. A test of the crate `ripstop-proto` runs the body on the
//! committed inputs.

use ripstop_codes::window::{Arrival, Coding, Decoder, DecoderCounters, Limits, Members, Pivots};
use ripstop_codes::{Matrix, Payload, Symbol};

/// The limits of the decoder.
const LIMITS: Limits =
    Limits { ahead: 2048, history: 1024, matrix: 1 << 17, unseen: 40, members: 128, rows: 64, step: 1 << 14 };
/// The length of a source symbol, bytes.
const LEN: usize = 8;
/// More stored repairs than a component holds: twice its rows, and 64 ([`Limits::rows`]).
const SLOTS: u64 = 2 * LIMITS.rows as u64 + 65;
/// The most payloads that are combined for one row: the stored repairs, and all known symbols.
const COMBINED: u64 = SLOTS + (LIMITS.ahead + 2 * LIMITS.history) as u64;

/// Source symbol `id`.
fn symbol(id: u64) -> Symbol {
    Symbol::from_slice(&id.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
}

/// Runs the events of an input.
pub(crate) fn run(data: &[u8]) {
    let Some((&settings, mut events)) = data.split_first() else { return };
    let pivots = if settings % 2 == 0 { Pivots::Highest } else { Pivots::Lowest };
    let mut decoder = Decoder::with_pivots(u64::from(settings / 2) * 1000, LIMITS, pivots);
    while let Some((&[event, a, b, c], rest)) = events.split_first_chunk::<4>() {
        events = rest;
        let before = (*decoder.counters(), decoder.rows() as u64);
        step(&mut decoder, event, u64::from(a), u64::from(b), u64::from(c));
        let mut last = None;
        while let Some((id, payload)) = decoder.poll_decoded() {
            assert_eq!(payload, symbol(id), "symbol {id}");
            assert!(decoder.is_decoded(id) && last != Some(id));
            last = Some(id);
        }
        check(&decoder, &before);
    }
    decoder.pause(false);
    for steps in 0.. {
        if !decoder.is_unfinished() {
            break;
        }
        assert!(steps < 100_000, "work is left for ever");
        let before = (*decoder.counters(), decoder.rows() as u64);
        decoder.resume();
        check(&decoder, &before);
    }
}

/// Makes one event happen.
fn step(decoder: &mut Decoder<Symbol>, event: u8, a: u64, b: u64, c: u64) {
    let next = decoder.highest().map_or(decoder.start(), |highest| highest + 1);
    let back = |n: u64| next.saturating_sub(n);
    match event % 8 {
        // A source symbol: the next one, one after a gap, an old one.
        0 => {
            let id = match b % 3 {
                0 => next,
                1 => next + a,
                _ => back(a),
            };
            decoder.source(id, symbol(id));
        }
        // A symbol far ahead.
        1 => {
            let id = next + 16 * a + b;
            let beyond = id >= decoder.next_undecoded() + LIMITS.ahead as u64;
            let lags = decoder.lags();
            assert!((decoder.source(id, symbol(id)) == Arrival::Beyond) == beyond || lags);
        }
        2 | 3 => {
            let start = back(a);
            let ids: Vec<u64> = (start..start + b).collect();
            repair(decoder, Members::range(start..start + b), &ids, c as u16, event > 127);
        }
        4 => {
            // Single members at distances that the bits of `b` and `c` give.
            let (start, bits) = (back(a), b << 8 | c);
            let ids: Vec<u64> = (0..16).filter(|bit| bits >> bit & 1 == 1).map(|bit| start + 3 * bit).collect();
            if let Some(members) = Members::from_ids(&ids) {
                repair(decoder, members, &ids, event.into(), event > 127);
            }
        }
        5 => decoder.advance_to(back(a) + 8 * b),
        6 => decoder.keep_from(back(a)),
        _ => match a % 4 {
            0 => {
                decoder.discard_rows();
                assert_eq!((decoder.rows(), decoder.is_unfinished()), (0, false));
            }
            1 => decoder.pause(b < 128),
            2 => decoder.resume(),
            _ => {
                decoder.give_up(back(b));
            }
        },
    }
}

/// A repair of `ids` arrives.
fn repair(decoder: &mut Decoder<Symbol>, members: Members, ids: &[u64], seed: u16, explicit: bool) {
    let coefficients = Coding::Seed(seed).all(&members);
    let Some(matrix) = Matrix::from_bytes(1, ids.len(), coefficients.clone()) else { return };
    let symbols: Vec<Symbol> = ids.iter().map(|id| symbol(*id)).collect();
    let Some(payload) = Symbol::combine(&matrix, &symbols.iter().collect::<Vec<_>>()).pop() else { return };
    let coding = if explicit { Coding::Explicit(coefficients) } else { Coding::Seed(seed) };
    decoder.repair(&members, &coding, payload);
}

/// Checks the memory, and the work since `before`: the counters and the number of rows before the event.
fn check(decoder: &Decoder<Symbol>, before: &(DecoderCounters, u64)) {
    let (then, now) = (&before.0, decoder.counters());
    assert_eq!(decoder.undecoded(), decoder.rows() + decoder.deficit());
    assert_eq!(decoder.deficit(), decoder.unseen().iter().count());
    // Each row and each stored repair takes memory, and each symbol takes a slot in a page.
    let symbols = LIMITS.ahead + 2 * LIMITS.history;
    // The current component may have room for twice its rows, and for a copy. Each other component may hold 4 kB.
    let most = 5 * LIMITS.matrix + symbols * 64 + decoder.rows() * 3 * LEN + LIMITS.ahead * 5_000;
    assert!(decoder.bytes() <= most, "{} bytes", decoder.bytes());
    // Elimination: each removed row or column, and the arrival itself, touches one component.
    let component = (LIMITS.rows as u64 + 1) * (SLOTS + 2 * LIMITS.rows as u64 + LIMITS.members as u64 + 256);
    let recovered = now.decoded - then.decoded;
    let removed = now.given_up - then.given_up;
    let eliminations = 8 + recovered + removed.min(before.1 * 128) + (now.joined - then.joined);
    // Payloads: for each recovered symbol, and for each row when stored repairs are replaced or folded.
    let rows = before.1 + 1;
    let again = (now.folds - then.folds + now.consolidations - then.consolidations) * rows;
    let late = 4 * LIMITS.step as u64;
    let most = eliminations * component + (recovered + again) * COMBINED * LEN as u64 + rows * 1024 + late;
    let work = now.work_bytes - then.work_bytes;
    assert!(work <= most, "work {work}, at most {most}");
}
