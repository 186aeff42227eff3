//! The sender's side: accepts source symbols and returns repair symbols. A *repair* is a linear
//! combination of source symbols over GF(256). Its *members* are the source symbols that it
//! combines ([`Members`]).

use super::Members;
use super::coding::{Coding, Generator};
use crate::payload::AHEAD;
use crate::{Matrix, Payload};
use std::collections::VecDeque;
use std::ops::Range;

/// Why a repair could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The encoder does not hold a member: the member was forgotten ([`Encoder::forget_to`]), or
    /// has not been pushed yet.
    #[error("source symbol {id} is not held; the encoder holds {first}..{next}")]
    NotHeld {
        /// The first member that is not held.
        id: u64,
        /// The value of [`Encoder::first`].
        first: u64,
        /// The value of [`Encoder::next`].
        next: u64,
    },
    /// The repair would combine no source symbol.
    #[error("a repair needs at least one member")]
    Empty,
    /// The number of coefficients is not the number of members, or a coefficient is 0.
    #[error("a repair of {members} members needs {members} coefficients, and none of them may be 0")]
    Coefficients {
        /// The number of members.
        members: usize,
    },
}

/// Holds the source symbols that may still be combined, and makes repairs from them.
///
/// Source symbols have consecutive identifiers. The caller chooses the first identifier.
/// The symbol with the identifier `u64::MAX` must be the last one: the next identifier would be 0.
#[derive(Clone, Debug)]
pub struct Encoder<P> {
    /// The identifier of `symbols[0]`.
    first: u64,
    /// The source symbols that are held, ascending without gaps.
    symbols: VecDeque<P>,
    /// All symbols with this identifier or a higher identifier have the same length.
    equal_from: u64,
    work: Work<P>,
}

/// Scratch memory of [`Encoder::combine_seeded`] and [`Encoder::combine_explicit`].
#[derive(Clone, Debug)]
struct Work<P> {
    matrix: Matrix,
    /// Memory for the list of source symbols. The list is empty between two uses; `recycle` gives
    /// it the right type.
    sources: Vec<&'static ()>,
    /// The finished repair, until it is returned.
    outputs: Vec<P>,
}

impl<P> Default for Work<P> {
    fn default() -> Work<P> {
        Work { matrix: Matrix::default(), sources: Vec::new(), outputs: Vec::new() }
    }
}

impl<P: Payload> Encoder<P> {
    /// An encoder whose first source symbol will have the identifier `first_id`.
    pub fn new(first_id: u64) -> Encoder<P> {
        Encoder { first: first_id, symbols: VecDeque::new(), equal_from: first_id, work: Work::default() }
    }

    /// Adds the next source symbol, and returns its identifier.
    pub fn push(&mut self, symbol: P) -> u64 {
        let id = self.next();
        let as_long = |last: &P| last.len() == symbol.len();
        if !self.symbols.back().is_some_and(as_long) {
            self.equal_from = id;
        }
        self.symbols.push_back(symbol);
        id
    }

    /// Source symbol `id`, if it is held.
    pub fn get(&self, id: u64) -> Option<&P> {
        let at = usize::try_from(id.checked_sub(self.first)?).ok()?;
        self.symbols.get(at)
    }

    /// Frees all source symbols before `id`.
    pub fn forget_to(&mut self, id: u64) {
        while self.first < id && self.symbols.pop_front().is_some() {
            self.first = self.first.wrapping_add(1);
            if let Some(later) = self.symbols.get(AHEAD) {
                later.prefetch();
            }
        }
    }

    /// The identifier of the lowest source symbol held; [`Encoder::next`] if none is held.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The identifier that the next source symbol will have.
    pub fn next(&self) -> u64 {
        self.first.wrapping_add(self.symbols.len() as u64)
    }

    /// The repair of `members` with the coefficients that follow from `seed`
    /// ([`coefficient`](super::coefficient)).
    ///
    /// # Errors
    /// If there are no members, or a member is not held.
    pub fn repair(&self, members: &Members, seed: u16) -> Result<P, EncodeError> {
        let repairs = self.repairs(members, &[seed])?;
        repairs.into_iter().next().ok_or(EncodeError::Empty)
    }

    /// One repair of `members` for each of `seeds`. Computing the repairs together is much cheaper
    /// than computing them one by one.
    ///
    /// # Errors
    /// If there are no members, or a member is not held.
    pub fn repairs(&self, members: &Members, seeds: &[u16]) -> Result<Vec<P>, EncodeError> {
        let mut repairs = Vec::with_capacity(seeds.len());
        self.repairs_into(members, seeds, &mut repairs)?;
        Ok(repairs)
    }

    /// Like [`Encoder::repairs`], but appends the repairs to `repairs`.
    ///
    /// # Errors
    /// If there are no members, or a member is not held.
    pub fn repairs_into(&self, members: &Members, seeds: &[u16], repairs: &mut Vec<P>) -> Result<(), EncodeError> {
        let mut sources = Vec::new();
        self.sources(members, &mut sources)?;
        let mut matrix = Matrix::zero(seeds.len(), sources.len());
        for (m, seed) in seeds.iter().enumerate() {
            Generator::new(*seed).members(members, matrix.row_mut(m));
        }
        P::combine_into(&matrix, &sources, repairs);
        Ok(())
    }

    /// The repair of `members` with the given coefficients, one nonzero byte for each member.
    ///
    /// # Errors
    /// If there are no members, a member is not held, or the coefficients do not fit the members.
    pub fn explicit(&self, members: &Members, coefficients: &[u8]) -> Result<P, EncodeError> {
        let mut sources = Vec::new();
        self.sources(members, &mut sources)?;
        let wrong = EncodeError::Coefficients { members: sources.len() };
        if !Coding::Explicit(coefficients.to_vec()).fits(members) {
            return Err(wrong);
        }
        let matrix = Matrix::from_bytes(1, sources.len(), coefficients.to_vec()).ok_or(wrong)?;
        P::combine(&matrix, &sources).into_iter().next().ok_or(wrong)
    }

    /// The repair of the contiguous members `ids` with the coefficients that follow from `seed`.
    /// The result is the same as with [`Encoder::repair`]. This function reuses scratch memory. It
    /// is for callers that need one repair at a time.
    ///
    /// # Errors
    /// If `ids` is empty, or a member is not held.
    pub fn combine_seeded(&mut self, ids: Range<u64>, seed: u16) -> Result<P, EncodeError> {
        if !P::CONTENT {
            // If all members have the same length, the repair has this length too. A copy of the
            // first member is then the result.
            if ids.start >= self.equal_from && ids.end <= self.next() && !ids.is_empty() {
                return self.get(ids.start).cloned().ok_or(EncodeError::Empty);
            }
            return self.longest(ids, |_| true);
        }
        let start = ids.start;
        self.combine(ids, |row| Generator::new(seed).fill(start, row))
    }

    /// The repair of the consecutive symbols from `start` on with these coefficients, one byte for
    /// each symbol. A symbol with coefficient 0 is not a member. Reuses scratch memory.
    ///
    /// # Errors
    /// If there are no coefficients, or a symbol is not held. For payloads without content
    /// ([`Payload::CONTENT`]), also if all coefficients are 0.
    pub fn combine_explicit(&mut self, start: u64, coefficients: &[u8]) -> Result<P, EncodeError> {
        let ids = start..start.saturating_add(coefficients.len() as u64);
        if !P::CONTENT {
            return self.longest(ids, |at| coefficients[at] != 0);
        }
        self.combine(ids, |row| row.copy_from_slice(coefficients))
    }

    /// The repair of payloads that have a length but no bytes ([`Payload::CONTENT`]): a copy of the
    /// longest member. A symbol of `ids` is a member if `taken` returns true for its index in
    /// `ids`.
    fn longest(&self, ids: Range<u64>, taken: impl Fn(usize) -> bool) -> Result<P, EncodeError> {
        if ids.is_empty() {
            return Err(EncodeError::Empty);
        }
        let missing = |id| EncodeError::NotHeld { id, first: self.first, next: self.next() };
        if ids.start < self.first || ids.end > self.next() {
            return Err(missing(if ids.start < self.first { ids.start } else { self.next() }));
        }
        let (start, end) = ((ids.start - self.first) as usize, (ids.end - self.first) as usize);
        let mut longest: Option<&P> = None;
        for (at, symbol) in self.symbols.range(start..end).enumerate() {
            if taken(at) && longest.is_none_or(|longest| longest.len() < symbol.len()) {
                longest = Some(symbol);
            }
        }
        longest.cloned().ok_or(EncodeError::Empty)
    }

    /// The repair of `ids` with the coefficients that `fill` writes.
    fn combine(&mut self, ids: Range<u64>, fill: impl FnOnce(&mut [u8])) -> Result<P, EncodeError> {
        let mut work = std::mem::take(&mut self.work);
        let mut sources: Vec<&P> = recycle(std::mem::take(&mut work.sources));
        let listed = self.sources(&Members::range(ids), &mut sources);
        if listed.is_ok() {
            work.matrix.reset(1, sources.len());
            fill(work.matrix.row_mut(0));
            P::combine_into(&work.matrix, &sources, &mut work.outputs);
        }
        work.sources = recycle(sources);
        let combination = work.outputs.pop();
        self.work = work;
        listed.and_then(|()| combination.ok_or(EncodeError::Empty))
    }

    /// Appends the members' payloads to `sources`.
    fn sources<'a>(&'a self, members: &Members, sources: &mut Vec<&'a P>) -> Result<(), EncodeError> {
        let missing = |id| EncodeError::NotHeld { id, first: self.first, next: self.next() };
        // The first and last members are checked before memory is reserved, because a wrong range
        // may have very many members.
        for id in [members.first().ok_or(EncodeError::Empty)?, members.last().ok_or(EncodeError::Empty)?] {
            self.get(id).ok_or(missing(id))?;
        }
        sources.reserve(members.len());
        for id in members.singles() {
            sources.push(self.get(*id).ok_or(missing(*id))?);
        }
        let tail = members.tail();
        if !tail.is_empty() {
            // The first and last members are held, so all identifiers between them are held too.
            let start = (tail.start - self.first) as usize;
            let end = (tail.end - self.first) as usize;
            let (front, back) = self.symbols.as_slices();
            let split = front.len();
            let front = &front[start.min(split)..end.min(split)];
            let back = &back[start.saturating_sub(split)..end.saturating_sub(split)];
            sources.extend(front);
            sources.extend(back);
        }
        Ok(())
    }
}

/// An empty list of another element type that reuses the memory of `list`. The standard library
/// collects in place here, because all references have the same size.
fn recycle<'b, A, B>(mut list: Vec<&A>) -> Vec<&'b B> {
    list.clear();
    list.into_iter().filter_map(|_| None).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Symbol;
    use crate::window::coefficient;
    use ripstop_gf256::mul;

    fn encoder(first: u64, count: u8) -> Encoder<Symbol> {
        let mut encoder = Encoder::new(first);
        for i in 0..count {
            assert_eq!(encoder.push(Symbol::from_slice(&[i + 1; 3])), first + u64::from(i));
        }
        encoder
    }

    #[test]
    fn the_longest_is_found_whether_all_are_as_long_or_not() {
        let mut encoder = Encoder::new(7);
        for (step, len) in [3, 3, 3, 9, 9, 2, 2, 2, 2, 5, 5].into_iter().enumerate() {
            encoder.push(crate::Length(len));
            if step == 7 {
                encoder.forget_to(9);
            }
            for start in 5..encoder.next() + 2 {
                for end in start..encoder.next() + 2 {
                    let made = encoder.combine_seeded(start..end, 1);
                    let members = Members::range(start..end);
                    let wanted = encoder.repair(&members, 1);
                    assert_eq!(made.is_ok(), wanted.is_ok(), "{start}..{end} of {step}");
                    assert_eq!(made.ok(), wanted.ok(), "{start}..{end} of {step}");
                }
            }
        }
    }

    #[test]
    fn repairs_combine_their_members() {
        let encoder = encoder(1000, 9);
        let members = Members::new(vec![1001, 1004], 1006..1009).unwrap();
        let repairs = encoder.repairs(&members, &[5, 6]).unwrap();
        for (repair, seed) in repairs.iter().zip([5, 6]) {
            let sum = |sum, id| sum ^ mul(coefficient(seed, id), (id - 999) as u8);
            assert_eq!(repair.as_slice(), [members.iter().fold(0, sum); 3]);
            assert_eq!(*repair, encoder.repair(&members, seed).unwrap());
            assert_eq!(*repair, encoder.explicit(&members, &Coding::Seed(seed).all(&members)).unwrap());
        }
        assert_eq!(encoder.repairs(&members, &[]), Ok(vec![]));
    }

    #[test]
    fn one_at_a_time_is_as_many_together() {
        let mut encoder = encoder(1000, 9);
        for ids in [1000..1009, 1003..1004, 1001..1008] {
            let members = Members::range(ids.clone());
            assert_eq!(encoder.combine_seeded(ids.clone(), 7), encoder.repair(&members, 7));
            let all = Coding::Seed(7).all(&members);
            assert_eq!(encoder.combine_explicit(ids.start, &all), encoder.repair(&members, 7));
        }
        // A symbol with coefficient 0 is left out.
        let without = encoder.explicit(&Members::new(vec![1000], 1002..1003).unwrap(), &[5, 6]);
        assert_eq!(encoder.combine_explicit(1000, &[5, 0, 6]), without);
        assert_eq!(encoder.combine_seeded(5..5, 1), Err(EncodeError::Empty));
        let missing = Err(EncodeError::NotHeld { id: 1009, first: 1000, next: 1009 });
        assert_eq!(encoder.combine_seeded(1000..1010, 1), missing);
        assert!(encoder.combine_explicit(u64::MAX, &[1, 2]).is_err());
    }

    #[test]
    fn what_is_forgotten_cannot_be_coded() {
        let mut encoder = encoder(10, 6);
        encoder.forget_to(13);
        encoder.forget_to(11);
        assert_eq!((encoder.first(), encoder.next(), encoder.get(12)), (13, 16, None));
        let error = encoder.repair(&Members::range(10..14), 1).unwrap_err();
        assert_eq!(error, EncodeError::NotHeld { id: 10, first: 13, next: 16 });
        assert_eq!(error.to_string(), "source symbol 10 is not held; the encoder holds 13..16");
        encoder.forget_to(100);
        assert_eq!((encoder.first(), encoder.next()), (16, 16));
        assert_eq!(encoder.push(Symbol::from_slice(b"x")), 16);
    }

    #[test]
    fn wrong_members_are_errors() {
        let encoder = encoder(10, 6);
        assert_eq!(encoder.repair(&Members::default(), 1), Err(EncodeError::Empty));
        // No memory is allocated for a tail that reaches to the last identifier.
        for members in [Members::range(10..u64::MAX), Members::range(0..12), Members::one(16)] {
            assert!(matches!(encoder.repair(&members, 1), Err(EncodeError::NotHeld { .. })));
        }
        let members = Members::range(10..12);
        assert_eq!(encoder.explicit(&members, &[1]), Err(EncodeError::Coefficients { members: 2 }));
        assert_eq!(encoder.explicit(&members, &[1, 0]), Err(EncodeError::Coefficients { members: 2 }));
    }
}
