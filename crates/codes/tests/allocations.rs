//! Tests that coders in their steady state allocate no memory for payloads. Symbols are made,
//! repaired and recovered in memory that is reused. The only allocations are a few short lists for
//! each window.
//!
//! This test is a separate binary, because its counting allocator applies to the whole binary.
#![allow(unsafe_code, reason = "an allocator that counts")]

use ripstop_base::Seed;
use ripstop_codes::block::{BlockCode, BlockDecoder};
use ripstop_codes::lt;
use ripstop_codes::window::{Coding, Decoder, Encoder, Limits, Members};
use ripstop_codes::{Length, Symbol};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// An allocator that counts allocations and passes them on to the system's allocator.
struct Counting;

thread_local! {
    /// The number of allocations of this thread, and the number of those that could hold a symbol.
    static ALLOCATIONS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Counts one allocation of `size` bytes.
fn count(size: usize) {
    let (all, large) = ALLOCATIONS.get();
    ALLOCATIONS.set((all + 1, large + u64::from(size >= LEN)));
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(memory, layout) }
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: passed on.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of allocations of `work`, and the number of those that could hold a symbol.
fn allocations(work: impl FnOnce()) -> (u64, u64) {
    let before = ALLOCATIONS.get();
    work();
    let after = ALLOCATIONS.get();
    (after.0 - before.0, after.1 - before.1)
}

/// The number of source symbols in a window.
const WINDOW: u64 = 50;
/// The length of a symbol in bytes.
const LEN: usize = 1400;

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1u8; 100]))), (1, 0));
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1u8; LEN]))), (1, 1));
}

/// The life of a window: its symbols and repairs are made, its losses are recovered and delivered,
/// and everything is freed.
#[test]
fn a_systematic_code_in_its_steady_state_takes_no_payload_memory() {
    let body = [7u8; LEN];
    let mut encoder = Encoder::new(0);
    let mut decoder = Decoder::new(0, Limits::default());
    let mut repairs = Vec::new();
    let mut window = |first: u64| {
        for id in first..first + WINDOW {
            let symbol = Symbol::from_slice(&body);
            encoder.push(symbol.clone());
            if id % 10 != 3 {
                decoder.source(id, symbol);
            }
        }
        let members = Members::range(first..first + WINDOW);
        // There are two more repairs than needed, because a repair is not always innovative.
        let seeds = [1, 2, 3, 4, 5, 6, 7].map(|seed| seed + first as u16);
        encoder.repairs_into(&members, &seeds, &mut repairs).expect("all members are held");
        for (seed, repair) in seeds.into_iter().zip(repairs.drain(..)) {
            decoder.repair(&members, &Coding::Seed(seed), repair);
        }
        let decoded = std::iter::from_fn(|| decoder.poll_decoded());
        assert_eq!(decoded.filter(|(_, symbol)| symbol.as_slice() == body).count(), 5);
        encoder.forget_to(first + WINDOW);
        decoder.keep_from(first + WINDOW);
    };
    for round in 0..20 {
        window(round * WINDOW);
    }
    for round in 20..120 {
        let (all, large) = allocations(|| window(round * WINDOW));
        assert_eq!(large, 0, "window {round} allocated memory for payloads");
        assert!(all <= 16, "window {round} made {all} allocations");
    }
}

/// The life of a block: its symbols and repairs are made, its losses are recovered and delivered, and
/// everything is freed.
#[test]
fn a_block_code_in_its_steady_state_takes_no_payload_memory() {
    let body = [7u8; LEN];
    let code = BlockCode::new(64, 50).expect("a shape that exists");
    let mut decoder = BlockDecoder::new(&code);
    let (mut symbols, mut repairs) = (Vec::new(), Vec::new());
    let mut block = |round: usize| {
        symbols.extend((0..50).map(|_| Symbol::from_slice(&body)));
        code.encode_into(&symbols, &mut repairs).expect("there are K symbols");
        for (index, symbol) in symbols.drain(..).chain(repairs.drain(..)).enumerate() {
            if index % 5 != round % 5 {
                decoder.symbol(index, symbol);
            }
        }
        let known = std::iter::from_fn(|| decoder.poll_source().map(|(_, symbol)| symbol.as_slice() == body));
        assert_eq!(known.filter(|right| *right).count(), 50);
        decoder.reset();
    };
    (0..20).for_each(&mut block);
    for round in 20..120 {
        let (all, large) = allocations(|| block(round));
        assert_eq!(large, 0, "block {round} allocated memory for payloads");
        assert!(all <= 2, "block {round} made {all} allocations");
    }
    assert_eq!(decoder.counters().blocks_decoded, 120);
}

/// The life of an LT block: it is encoded, decoded from repairs alone, and freed.
#[test]
fn lt_blocks_in_their_steady_state_take_no_payload_memory() {
    let body = [7u8; LEN];
    let block = |start: u32| {
        let symbols = (0..16).map(|_| Symbol::from_slice(&body)).collect();
        let encoder = lt::Encoder::new(lt::LtCode::Optimised, symbols).expect("a possible block");
        let mut decoder = lt::Decoder::new(lt::LtCode::Optimised, 16).expect("a possible block");
        for seed in (0..).map(|i: u32| start.wrapping_add(i)) {
            decoder.receive(seed, encoder.symbol(seed));
            if decoder.is_complete() {
                break;
            }
        }
        assert!((0..16).all(|i| decoder.get(i).is_some_and(|symbol| symbol.as_slice() == body)));
        assert!(decoder.counters().eliminated > 0);
    };
    // The first time, the pool grows to what the block with the most symbols needs.
    (0..100).for_each(|round| block(1000 * round));
    for round in 0..100 {
        let (all, large) = allocations(|| block(1000 * round));
        assert_eq!(large, 0, "block {round} allocated memory for payloads");
        assert!(all <= 12, "block {round} made {all} allocations");
    }
}

/// A sliding window in which every packet is a combination of all unseen symbols. Packets are lost,
/// so that rows wait all the time. With payloads that are only a length, no memory is allocated
/// after the largest number of rows has been reached.
#[test]
fn a_coded_window_of_lengths_in_its_steady_state_takes_no_memory() {
    let mut random = Seed::new(11).stream("losses");
    let mut encoder = Encoder::new(0);
    let mut decoder = Decoder::new(0, Limits::default());
    let mut seed = 0u16;
    let mut window = |_| {
        for n in 0..WINDOW {
            while encoder.next() - encoder.first() >= WINDOW {
                encoder.forget_to(decoder.next_unseen());
                // The window is full of unseen symbols, so another combination is sent.
                seed = seed.wrapping_add(1);
                let ids = encoder.first()..encoder.next();
                if let Ok(payload) = encoder.combine_seeded(ids.clone(), seed) {
                    decoder.repair(&Members::range(ids), &Coding::Seed(seed), payload);
                }
            }
            encoder.push(Length(LEN));
            for _ in 0..1 + u64::from(n % 8 == 0) {
                seed = seed.wrapping_add(1);
                let ids = encoder.first()..encoder.next();
                let payload = encoder.combine_seeded(ids.clone(), seed).expect("all are held");
                if !random.chance(0.1) {
                    let oldest = ids.start;
                    decoder.repair(&Members::range(ids), &Coding::Seed(seed), payload);
                    decoder.keep_from(oldest);
                }
            }
            while decoder.poll_decoded().is_some() {}
        }
    };
    (0..2_000).for_each(&mut window);
    let (all, _) = allocations(|| (0..1_000).for_each(&mut window));
    // Memory is allocated when more rows wait than ever before, which still happens now and then.
    assert!(all <= 8, "{all} allocations for 50 000 symbols");
    assert!(decoder.counters().decoded > 140_000 && decoder.counters().redundant > 0, "{:?}", decoder.counters());
}
