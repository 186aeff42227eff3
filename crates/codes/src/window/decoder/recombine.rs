//! Makes new combinations for a relay to send on. A combination is made from everything that a
//! decoder holds, or from everything that the decoder knows about a range of symbols. `mod.rs`
//! explains rows, pivots and components; `echelon/mod.rs` explains transforms.

use super::{Cell, Decoder, Place};
use crate::window::{Coding, MAX_SINGLES, Members};
use crate::{Matrix, Payload};
use ripstop_gf256::mul;
use std::collections::BTreeMap;
use std::ops::Range;

impl<P: Payload> Decoder<P> {
    /// One combination of everything known about the symbols from the window's start on. It
    /// combines all rows, and all known symbols whose payload is held. Each row and symbol gets a
    /// factor from `draw`, which must not return 0. The number of members is not limited. None when
    /// nothing is known.
    pub(in crate::window) fn recombine_all(&mut self, mut draw: impl FnMut() -> u8) -> Option<(Members, Coding, P)> {
        let start = self.base.max(self.symbols.origin());
        // The combination's coefficients, one for each symbol from `start` on, in scratch memory.
        let mut sum = std::mem::take(&mut self.buffer);
        sum.clear();
        sum.resize((self.next() - start) as usize, 0);
        let mut known = Vec::new();
        for id in start..self.next() {
            if self.get(id).is_some() {
                let c = draw();
                sum[(id - start) as usize] = c;
                known.push((id, c));
            }
        }
        for id in start..self.next() {
            if let Some(Cell::Pivot(_)) = self.cell(id) {
                sum[(id - start) as usize] = draw();
            }
        }
        let mut parts = Vec::new();
        self.with_each(|decoder| {
            let mut transform = std::mem::take(&mut decoder.payload_work.transforms);
            transform.reset(1, decoder.current.space.slots());
            decoder.current.space.mix(|pivot| sum[(pivot - start) as usize], transform.row_mut(0));
            for (id, c) in decoder.current.space.mixed() {
                sum[(id - start) as usize] = c;
            }
            parts.extend(decoder.combine_payloads(&transform, &std::mem::take(&mut known)));
            decoder.payload_work.transforms = transform;
        });
        let ids: Vec<u64> = (start..).zip(&sum).filter(|(_, c)| **c != 0).map(|(id, _)| id).collect();
        // A symbol whose coefficients cancelled out is not a member.
        sum.retain(|c| *c != 0);
        let coding = Coding::Explicit(sum.clone());
        self.buffer = sum;
        let members = Members::unlimited(&ids).filter(|members| !members.is_empty())?;
        Some((members, coding, total(parts)?))
    }

    /// A combination of known symbols in `ids`, and of rows whose unknown symbols are all in `ids`.
    /// Symbols and rows are combined in ascending order, where a row counts as its pivot, until
    /// there are [`MAX_SINGLES`] members. Each symbol and row gets a factor from `draw`, which must
    /// not return 0. None if there is no such symbol or row.
    pub(in crate::window) fn recombine(
        &mut self,
        ids: Range<u64>,
        mut draw: impl FnMut() -> u8,
    ) -> Option<(Members, Coding, P)> {
        let mut sum: BTreeMap<u64, u8> = BTreeMap::new();
        self.drop_unused_payloads();
        let mut transforms: BTreeMap<u32, Matrix> = BTreeMap::new();
        let mut known = Vec::new();
        for id in ids.start.max(self.symbols.origin())..ids.end.min(self.next()) {
            if sum.len() >= MAX_SINGLES {
                break;
            }
            match self.cell(id) {
                Some(Cell::Known) if self.get(id).is_some() => {
                    let c = draw();
                    *sum.entry(id).or_default() ^= c;
                    known.push((id, c));
                }
                Some(Cell::Pivot(Place { component, at })) => {
                    let (space, row) = (self.space_of(component), at as usize);
                    let fresh = space.free_part(row).filter(|(id, _)| !sum.contains_key(id)).count();
                    let inside = space.free_part(row).all(|(id, _)| ids.contains(&id));
                    if !inside || sum.len() + 1 + fresh > MAX_SINGLES {
                        continue;
                    }
                    let c = draw();
                    *sum.entry(id).or_default() ^= c;
                    for (free, coefficient) in space.free_part(row) {
                        *sum.entry(free).or_default() ^= mul(c, coefficient);
                    }
                    let ours = transforms.entry(component).or_insert_with(|| Matrix::zero(1, space.slots()));
                    let theirs = space.transform(row);
                    ours.row_mut(0).iter_mut().zip(theirs).for_each(|(t, x)| *t ^= mul(c, *x));
                }
                _ => {}
            }
        }
        // A symbol whose coefficients cancelled out is not a member.
        sum.retain(|_, c| *c != 0);
        let members: Vec<u64> = sum.keys().copied().collect();
        let members = Members::from_ids(&members).filter(|members| !members.is_empty())?;
        let mut parts = Vec::new();
        if transforms.is_empty() {
            parts = self.combine_payloads(&Matrix::zero(1, self.current.space.slots()), &known);
        }
        for (component, transform) in transforms {
            self.select(component);
            parts.extend(self.combine_payloads(&transform, &std::mem::take(&mut known)));
        }
        Some((members, Coding::Explicit(sum.into_values().collect()), total(parts)?))
    }
}

/// The sum of `parts`, one payload for each component. None if there are no parts.
fn total<P: Payload>(parts: Vec<P>) -> Option<P> {
    if parts.len() < 2 {
        return parts.into_iter().next();
    }
    let mut ones = Matrix::zero(1, parts.len());
    ones.row_mut(0).fill(1);
    P::combine(&ones, &parts.iter().collect::<Vec<_>>()).into_iter().next()
}
