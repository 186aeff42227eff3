//! The relay's side: takes the symbols that pass the relay, and makes new combinations of them
//! without decoding first.

use super::{Arrival, Coding, Decoder, DecoderCounters, Limits, Members};
use crate::Payload;
use ripstop_base::Stream;
use std::ops::Range;

/// Takes the source symbols and repairs that pass a relay, and makes new repairs from them.
///
/// The new repairs are random combinations of the received symbols. So a relay can repair the
/// losses of the next hop without waiting until it can decode. [`Recoder::emit`] makes repairs with
/// at most [`MAX_SINGLES`](super::MAX_SINGLES) members.
///
/// An emitted repair contains no other information than the received symbols. Enough emitted
/// repairs carry all received information that can be expressed with this number of members.
#[derive(Clone, Debug)]
pub struct Recoder<P> {
    /// Holds the received symbols as linearly independent rows. It removes known symbols from
    /// repairs.
    basis: Decoder<P>,
    /// How many repairs were made.
    emitted: u64,
}

impl<P: Payload> Recoder<P> {
    /// A recoder for source symbols from `first_id` on.
    pub fn new(first_id: u64, limits: Limits) -> Recoder<P> {
        Recoder { basis: Decoder::new(first_id, limits), emitted: 0 }
    }

    /// Takes source symbol `id`, which passed the relay.
    pub fn source(&mut self, id: u64, payload: P) -> Arrival {
        let arrival = self.basis.source(id, payload);
        self.settle(arrival)
    }

    /// Takes a repair that passed the relay.
    pub fn repair(&mut self, members: &Members, coding: &Coding, payload: P) -> Arrival {
        let arrival = self.basis.repair(members, coding, payload);
        self.settle(arrival)
    }

    /// A new random combination of everything that is known about the symbols in `ids` alone. Known
    /// symbols and rows are taken from the lowest symbol up, until there are
    /// [`MAX_SINGLES`](super::MAX_SINGLES) members. None when nothing is known about `ids` alone.
    pub fn emit(&mut self, ids: Range<u64>, entropy: &mut Stream) -> Option<(Members, Coding, P)> {
        let combination = self.basis.recombine(ids, || 1 + entropy.below(255) as u8)?;
        self.emitted += 1;
        Some(combination)
    }

    /// A new random combination of everything that is known from the window's start on, with any
    /// number of members. No packet has room for more than [`MAX_SINGLES`](super::MAX_SINGLES)
    /// members, so this is for relays in a simulation. None when nothing is known.
    pub fn emit_all(&mut self, entropy: &mut Stream) -> Option<(Members, Coding, P)> {
        let combination = self.basis.recombine_all(|| 1 + entropy.below(255) as u8)?;
        self.emitted += 1;
        Some(combination)
    }

    /// Moves the window's start to `id`: no later repair involves a symbol before `id`. Knowledge
    /// that concerns only symbols from `id` on is kept.
    pub fn advance_to(&mut self, id: u64) {
        self.basis.advance_to(id);
        self.basis.keep_from(id);
    }

    /// The window's start.
    pub fn start(&self) -> u64 {
        self.basis.start()
    }

    /// The highest source symbol heard of. None before the first.
    pub fn highest(&self) -> Option<u64> {
        self.basis.highest()
    }

    /// How many more innovative combinations the relay needs to know all symbols up to the highest.
    pub fn deficit(&self) -> usize {
        self.basis.deficit()
    }

    /// How many received combinations do not determine a symbol's value yet.
    pub fn rows(&self) -> usize {
        self.basis.rows()
    }

    /// How many combinations were emitted.
    pub fn emitted(&self) -> u64 {
        self.emitted
    }

    /// The counters of the received symbols.
    pub fn counters(&self) -> &DecoderCounters {
        self.basis.counters()
    }

    /// Discards decoded symbols, because a relay delivers nothing.
    fn settle(&mut self, arrival: Arrival) -> Arrival {
        while self.basis.poll_decoded().is_some() {}
        arrival
    }
}
