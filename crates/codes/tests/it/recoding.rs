//! Tests of relays. Every combination that a recoder emits lies in the linear space of the symbols
//! that the recoder received. Together the emitted combinations span that space.

use proptest::prelude::*;
use ripstop_base::{Seed, Stream};
use ripstop_codes::window::{Coding, Decoder, Encoder, Limits, MAX_SINGLES, Members, Recoder};
use ripstop_codes::{Length, Payload, Symbol};

fn symbols(random: &mut Stream, first: u64, count: usize) -> Encoder<Symbol> {
    let mut encoder = Encoder::new(first);
    for _ in 0..count {
        let len = 1 + random.below(90) as usize;
        encoder.push(Symbol::build(len, |bytes| random.fill(bytes)));
    }
    encoder
}

/// Draws at random which symbols arrive, and calls `each` for each of them. For a source symbol,
/// the arguments are its identifier and None. For a repair, the arguments are its highest member,
/// and its members with its seed.
fn draw<P: Payload>(random: &mut Stream, encoder: &Encoder<P>, mut each: impl FnMut(u64, Option<(Members, u16)>)) {
    for id in encoder.first()..encoder.next() {
        if random.chance(0.6) {
            each(id, None);
        }
        if random.chance(0.4) {
            let start = encoder.first() + random.below(id - encoder.first() + 1);
            each(id, Some((Members::range(start..id + 1), random.next_u64() as u16)));
        }
    }
}

fn check(payload: &Symbol, original: &Symbol) {
    assert_eq!(payload.as_slice()[..original.len()], *original.as_slice());
    assert!(payload.as_slice()[original.len()..].iter().all(|byte| *byte == 0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    /// A receiver that hears only the relay sees and decodes exactly the symbols that the relay
    /// could see and decode.
    #[test]
    fn recoding_keeps_the_space(seed: u64, count in 1usize..=MAX_SINGLES) {
        let mut random = Seed::new(seed).stream("recoding");
        let first = random.next_u64() >> 8;
        let encoder = symbols(&mut random, first, count);
        let mut relay = Recoder::new(first, Limits::default());
        let mut direct = Decoder::new(first, Limits::default());
        let mut losses = random.clone();
        draw(&mut losses, &encoder, |id, repair| match repair {
            None => {
                relay.source(id, encoder.get(id).unwrap().clone());
                direct.source(id, encoder.get(id).unwrap().clone());
            }
            Some((members, seed)) => {
                let payload = encoder.repair(&members, seed).unwrap();
                relay.repair(&members, &Coding::Seed(seed), payload.clone());
                direct.repair(&members, &Coding::Seed(seed), payload);
            }
        });
        prop_assert_eq!(relay.highest(), direct.highest());
        prop_assert_eq!(relay.deficit(), direct.deficit());

        let mut end = Decoder::new(first, Limits::default());
        // A repair fails to be innovative with a probability of about 1/255. So three more repairs
        // than needed are enough.
        for _ in 0..count + 3 {
            let Some((members, coding, payload)) = relay.emit(first..encoder.next(), &mut random) else { break };
            prop_assert!(members.len() <= MAX_SINGLES && coding.fits(&members));
            end.repair(&members, &coding, payload);
        }
        for id in first..encoder.next() {
            prop_assert_eq!(end.is_seen(id), direct.is_seen(id), "is_seen of {} is wrong", id - first);
            prop_assert_eq!(end.is_decoded(id), direct.is_decoded(id), "is_decoded of {} is wrong", id - first);
        }
        while let Some((id, payload)) = end.poll_decoded() {
            check(&payload, encoder.get(id).unwrap());
        }
    }

    /// Without a limit on the members, each emitted repair combines everything that is known. If
    /// the relay knows n degrees of freedom, n innovative repairs carry everything that it knows.
    /// This holds for windows of any length, and for rows that are left after the window moved.
    #[test]
    fn unbounded_recoding_keeps_the_space(seed: u64, count in 1usize..200) {
        let mut random = Seed::new(seed).stream("unbounded");
        let first = random.next_u64() >> 8;
        let encoder = symbols(&mut random, first, count);
        let lengths = Seed::new(seed).stream("unbounded");
        let mut relay = Recoder::new(first, Limits::default());
        let mut light = Recoder::new(first, Limits::default());
        let mut losses = random.clone();
        draw(&mut losses, &encoder, |id, repair| match repair {
            None => {
                relay.source(id, encoder.get(id).unwrap().clone());
                light.source(id, Length(100));
            }
            Some((members, seed)) => {
                relay.repair(&members, &Coding::Seed(seed), encoder.repair(&members, seed).unwrap());
                light.repair(&members, &Coding::Seed(seed), Length(100));
            }
        });
        let moved = first + random.below(count as u64);
        relay.advance_to(moved);
        light.advance_to(moved);
        let mut end = Decoder::new(moved, Limits::default());
        let (mut drawn, mut drawn_light) = (lengths.clone(), lengths);
        for _ in 0..count + 3 {
            let emitted = relay.emit_all(&mut drawn);
            let twin = light.emit_all(&mut drawn_light);
            // With payloads that are only a length, the recoder makes the same decisions.
            prop_assert_eq!(emitted.as_ref().map(|e| (&e.0, &e.1)), twin.as_ref().map(|e| (&e.0, &e.1)));
            let Some((members, coding, payload)) = emitted else { break };
            prop_assert!(coding.fits(&members) && members.first() >= Some(moved));
            end.repair(&members, &coding, payload);
        }
        let known = relay.highest().map_or(0, |highest| (highest + 1).saturating_sub(moved) as usize);
        prop_assert_eq!(end.counters().innovative as usize, known - relay.deficit());
        while let Some((id, payload)) = end.poll_decoded() {
            check(&payload, encoder.get(id).unwrap());
        }
    }

    /// In longer windows, repairs emitted for each part of the window still carry everything that
    /// the relay knows.
    #[test]
    fn long_windows_are_recoded_piece_by_piece(seed: u64) {
        let mut random = Seed::new(seed).stream("long");
        let encoder = symbols(&mut random, 5, 300);
        let mut relay = Recoder::new(5, Limits::default());
        // The relay lacks one symbol, and receives a repair over the whole window. The repair then
        // determines the missing symbol.
        let lost = 5 + random.below(300);
        for id in (5..305).filter(|id| *id != lost) {
            relay.source(id, encoder.get(id).unwrap().clone());
        }
        relay.repair(&Members::range(5..305), &Coding::Seed(3), encoder.repair(&Members::range(5..305), 3).unwrap());
        prop_assert_eq!(relay.deficit(), 0);
        let mut end = Decoder::new(5, Limits::default());
        for start in (5..305).step_by(50) {
            for _ in 0..53 {
                let (members, coding, payload) = relay.emit(start..start + 50, &mut random).unwrap();
                end.repair(&members, &coding, payload);
            }
        }
        prop_assert_eq!(end.next_undecoded(), 305);
    }
}

#[test]
fn a_moved_window_names_nothing_old() {
    let mut random = Seed::new(4).stream("moved");
    let encoder = symbols(&mut random, 0, 60);
    let mut relay = Recoder::new(0, Limits::default());
    for end in 20..60 {
        let members = Members::range(end - 20..end);
        relay.repair(&members, &Coding::Seed(end as u16), encoder.repair(&members, end as u16).unwrap());
    }
    assert!(relay.emit(0..60, &mut random).is_some());
    relay.advance_to(15);
    assert_eq!(relay.start(), 15);
    let mut end = Decoder::new(15, Limits::default());
    for _ in 0..50 {
        let (members, coding, payload) = relay.emit(0..60, &mut random).unwrap();
        assert!(members.first() >= Some(15));
        end.repair(&members, &coding, payload);
    }
    // The relay emitted only combinations of symbols after the window's start. 15 rows were lost
    // with the symbols before the window.
    assert_eq!(end.deficit(), relay.deficit());
    assert!(end.counters().innovative > 20);
    assert_eq!(relay.emitted(), 51);
    assert!(relay.emit(59..60, &mut random).is_none());
}
