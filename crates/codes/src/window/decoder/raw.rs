//! Repairs with their members and coefficients: as they arrived ([`Repair`]), and as the decoder
//! stores them ([`Raw`]).

use super::known::Known;
use crate::window::coding::Generator;
use crate::window::{Coding, Members};
use std::ops::Range;

/// A stored repair: its payload, members and coefficients. The payload is as it arrived, except
/// that a fold subtracts known members from it.
#[derive(Clone, Debug)]
pub(super) struct Raw<P> {
    pub(super) payload: P,
    pub(super) members: Members,
    pub(super) coding: Coding,
    /// Members before this identifier have been subtracted from the payload, except those in
    /// `rest`.
    pub(super) folded: u64,
    /// The symbols that the payload still contains besides the members from `folded` on, each with
    /// its coefficient.
    pub(super) rest: Vec<(u64, u8)>,
}

impl<P> Raw<P> {
    /// A repair with copies of `members` and `coding`; nothing has been subtracted from it.
    pub(super) fn new(members: &Members, coding: &Coding, payload: P) -> Raw<P> {
        Raw { payload, members: members.clone(), coding: coding.clone(), folded: 0, rest: Vec::new() }
    }

    /// The bytes that the repair's lists take: single members, explicit coefficients, and `rest`.
    pub(super) fn lists(&self) -> usize {
        let explicit = match &self.coding {
            Coding::Explicit(bytes) => bytes.len(),
            Coding::Seed(_) => 0,
        };
        size_of_val(self.members.singles()) + explicit + size_of_val(&self.rest[..])
    }

    /// What the repair combines.
    pub(super) fn repair(&self) -> Repair<'_, P> {
        let Raw { payload, members, coding, folded, rest } = self;
        Repair { payload, members, coding, folded: *folded, rest }
    }
}

/// A view of a repair. The fields are those of [`Raw`].
#[derive(Debug)]
pub(super) struct Repair<'a, P> {
    pub(super) payload: &'a P,
    pub(super) members: &'a Members,
    pub(super) coding: &'a Coding,
    folded: u64,
    pub(super) rest: &'a [(u64, u8)],
}

impl<'a, P> Repair<'a, P> {
    /// A repair from which nothing has been subtracted.
    pub(super) fn arrived(members: &'a Members, coding: &'a Coding, payload: &'a P) -> Repair<'a, P> {
        Repair { payload, members, coding, folded: 0, rest: &[] }
    }

    /// The single members and the part of the tail that have not been subtracted yet. The payload
    /// also contains the symbols in `rest`.
    pub(super) fn parts(&self) -> (&'a [u64], Range<u64>) {
        let singles = self.members.singles();
        let tail = self.members.tail();
        let singles = &singles[singles.partition_point(|id| *id < self.folded)..];
        (singles, tail.start.max(self.folded).min(tail.end)..tail.end)
    }

    /// Calls `each` with the symbols that the payload still combines, as ranges of identifiers.
    pub(super) fn spans(&self, mut each: impl FnMut(Range<u64>)) {
        let (singles, tail) = self.parts();
        self.rest.iter().map(|(id, _)| id).chain(singles).for_each(|id| each(*id..*id + 1));
        if !tail.is_empty() {
            each(tail);
        }
    }

    /// Writes the repair's coefficients for the known symbols to `out`, one byte for each symbol,
    /// at the index that [`Known::place`] returns. Bytes of symbols that are not members stay 0. If
    /// the layout has gaps ([`Known::gaps`]), members in the gaps get their coefficients as well.
    /// `out` must be zeros.
    pub(super) fn coefficients(&self, known: &Known, out: &mut [u8], buffer: &mut Vec<u8>) {
        let (singles, tail) = self.parts();
        if known.gaps {
            self.tail_over(&tail, known.span(), out);
        } else if !tail.is_empty() {
            self.tail_of_known(&tail, known, out, buffer);
        }
        for (id, c) in self.rest {
            if let Some(at) = known.place(*id) {
                out[at] = *c;
            }
        }
        for id in singles {
            if let (Some(at), Some(c)) = (known.place(*id), self.coding.of(self.members, *id)) {
                out[at] = c;
            }
        }
    }

    /// Writes the coefficients of those members of `tail` that are in `span`. The byte of
    /// `span.start`, a multiple of eight, is `out[0]`. `out` consists of whole words.
    fn tail_over(&self, tail: &Range<u64>, span: Range<u64>, out: &mut [u8]) {
        let (start, end) = (span.start.max(tail.start), span.end.min(tail.end));
        if start >= end {
            return;
        }
        let (from, to) = ((start - span.start) as usize, (end - span.start) as usize);
        match self.coding {
            Coding::Seed(seed) => Generator::new(*seed).fill_words(start..end, &mut out[from & !7..]),
            Coding::Explicit(bytes) => {
                let skip = self.members.singles().len() + (start - self.members.tail().start) as usize;
                out[from..to].copy_from_slice(&bytes[skip..][..to - from]);
            }
        }
    }

    /// Writes the coefficients of the known members of `tail`. The layout has no gaps.
    fn tail_of_known(&self, tail: &Range<u64>, known: &Known, out: &mut [u8], buffer: &mut Vec<u8>) {
        let bytes = match self.coding {
            Coding::Explicit(bytes) => {
                let skip = (tail.start - self.members.tail().start) as usize;
                &bytes[self.members.singles().len() + skip..]
            }
            Coding::Seed(seed) => {
                buffer.resize((tail.end - tail.start) as usize, 0);
                Generator::new(*seed).fill(tail.start, buffer);
                &buffer[..]
            }
        };
        for (c, id) in out.iter_mut().zip(known.ids()) {
            if let Some(byte) = id.checked_sub(tail.start).and_then(|at| bytes.get(usize::try_from(at).ok()?)) {
                *c = *byte;
            }
        }
    }
}
