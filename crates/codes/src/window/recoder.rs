//! The relay's side: accepts the symbols that pass the relay, and makes new combinations of these
//! symbols without decoding first.

use super::{Arrival, Coding, Decoder, DecoderCounters, Limits, Members};
use crate::Payload;
use ripstop_base::Stream;
use std::ops::Range;

/// Accepts the source symbols and repairs that pass a relay, and makes new repairs from them.
///
/// The new repairs are random combinations of the received symbols. So a relay can repair the
/// losses of the next hop before the relay can decode. [`Recoder::emit`] makes repairs with at most
/// [`MAX_SINGLES`](super::MAX_SINGLES) members.
///
/// An emitted repair contains no other information than the received symbols. If enough repairs are
/// emitted, they carry all received information that can be expressed with repairs of at most
/// [`MAX_SINGLES`](super::MAX_SINGLES) members.
#[derive(Clone, Debug)]
pub struct Recoder<P> {
    /// Holds the received symbols as linearly independent rows. It removes known symbols from
    /// repairs.
    basis: Decoder<P>,
    /// The number of repairs that were made.
    emitted: u64,
}

impl<P: Payload> Recoder<P> {
    /// A recoder for source symbols from `first_id` on.
    pub fn new(first_id: u64, limits: Limits) -> Recoder<P> {
        Recoder { basis: Decoder::new(first_id, limits), emitted: 0 }
    }

    /// Accepts source symbol `id`, which passed the relay.
    pub fn source(&mut self, id: u64, payload: P) -> Arrival {
        let arrival = self.basis.source(id, payload);
        self.settle(arrival)
    }

    /// Accepts a repair that passed the relay.
    pub fn repair(&mut self, members: &Members, coding: &Coding, payload: P) -> Arrival {
        let arrival = self.basis.repair(members, coding, payload);
        self.settle(arrival)
    }

    /// A new random combination of known symbols in `ids`, and of received combinations whose
    /// unknown symbols are all in `ids`. Both are combined from the lowest symbol up, until there
    /// are [`MAX_SINGLES`](super::MAX_SINGLES) members. None if there is no such symbol or
    /// combination.
    pub fn emit(&mut self, ids: Range<u64>, entropy: &mut Stream) -> Option<(Members, Coding, P)> {
        let combination = self.basis.recombine(ids, || 1 + entropy.below(255) as u8)?;
        self.emitted += 1;
        Some(combination)
    }

    /// A new random combination of everything that is known from the window's start on, with any
    /// number of members. No packet has room for more than [`MAX_SINGLES`](super::MAX_SINGLES)
    /// members, so this function is for relays in a simulation. None when nothing is known.
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

    /// The highest source symbol heard of. None before any symbol has been heard of.
    pub fn highest(&self) -> Option<u64> {
        self.basis.highest()
    }

    /// The number of innovative combinations that are still missing before the relay knows all
    /// symbols up to the highest.
    pub fn deficit(&self) -> usize {
        self.basis.deficit()
    }

    /// The number of received combinations that do not determine a symbol's value yet.
    pub fn rows(&self) -> usize {
        self.basis.rows()
    }

    /// The number of combinations that were emitted.
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
