//! The relay's side: received combinations in, new combinations of them out, without decoding first.

use super::{Arrival, Coding, Decoder, DecoderCounters, Limits, Members};
use crate::Payload;
use ripstop_base::Stream;
use std::ops::Range;

/// Takes source symbols and repairs of a flow that passes, and makes new repairs from them: random
/// combinations of what was received, so that a relay can make good the losses of the next hop
/// without waiting until it could decode, and without naming more than
/// [`MAX_SINGLES`](super::MAX_SINGLES) members.
///
/// What it emits lies in the space of what it received and, when drawn often enough, spans all of it
/// that fits those members.
#[derive(Clone, Debug)]
pub struct Recoder<P> {
    /// Holds what was received as a reduced basis, which removes from a repair whatever the relay
    /// knows already.
    basis: Decoder<P>,
    emitted: u64,
}

impl<P: Payload> Recoder<P> {
    /// A recoder for source symbols from `first_id` on.
    pub fn new(first_id: u64, limits: Limits) -> Recoder<P> {
        Recoder { basis: Decoder::new(first_id, limits), emitted: 0 }
    }

    /// Takes source symbol `id`, which passed.
    pub fn source(&mut self, id: u64, payload: P) -> Arrival {
        let arrival = self.basis.source(id, payload);
        self.settle(arrival)
    }

    /// Takes a repair that passed.
    pub fn repair(&mut self, members: &Members, coding: &Coding, payload: P) -> Arrival {
        let arrival = self.basis.repair(members, coding, payload);
        self.settle(arrival)
    }

    /// A new random combination of what is known about the symbols in `ids`, from the lowest on until
    /// as many are involved as an explicit repair can name. None when nothing is known about them.
    pub fn emit(&mut self, ids: Range<u64>, entropy: &mut Stream) -> Option<(Members, Coding, P)> {
        let combination = self.basis.recombine(ids, || 1 + entropy.below(255) as u8)?;
        self.emitted += 1;
        Some(combination)
    }

    /// A new random combination of everything that is known from the window's start on, however many symbols that
    /// involves: no packet has room for it beyond [`MAX_SINGLES`](super::MAX_SINGLES), so this is for relays of a
    /// simulation. None when nothing is known.
    pub fn emit_all(&mut self, entropy: &mut Stream) -> Option<(Members, Coding, P)> {
        let combination = self.basis.recombine_all(|| 1 + entropy.below(255) as u8)?;
        self.emitted += 1;
        Some(combination)
    }

    /// Moves the window: nothing emitted will involve a symbol before `id`. What is known about later
    /// symbols alone is kept.
    pub fn advance_to(&mut self, id: u64) {
        self.basis.advance_to(id);
        self.basis.keep_from(id);
    }

    /// The window's start.
    pub fn start(&self) -> u64 {
        self.basis.start()
    }

    /// The highest source symbol heard of.
    pub fn highest(&self) -> Option<u64> {
        self.basis.highest()
    }

    /// How many degrees of freedom are missing for the relay to know all symbols up to the highest.
    pub fn deficit(&self) -> usize {
        self.basis.deficit()
    }

    /// How many combinations are held that are not decoded.
    pub fn rows(&self) -> usize {
        self.basis.rows()
    }

    /// How many combinations were emitted.
    pub fn emitted(&self) -> u64 {
        self.emitted
    }

    /// What was received.
    pub fn counters(&self) -> &DecoderCounters {
        self.basis.counters()
    }

    /// A relay delivers nothing.
    fn settle(&mut self, arrival: Arrival) -> Arrival {
        while self.basis.poll_decoded().is_some() {}
        arrival
    }
}
