//! Folds: known symbols are subtracted from the stored repairs, so that these symbols can be freed.
//!
//! A fold of all stored repairs may take much work: gigabytes when thousands of repairs wait. So a fold may take
//! several steps ([`Limits::step`](super::Limits::step)). The symbols are freed when all repairs are folded.

use super::Decoder;
use super::components::Component;
use super::payloads::PayloadWork;
use super::raw::{Raw, Repair};
use crate::Payload;

/// The smallest number of known payloads that a fold frees together. Unit: payloads. While fewer
/// can be freed, there is no fold, unless the history is full ([`Decoder::release`]).
///
/// A fold reads each stored repair once, whatever the number of payloads. Half the value folds
/// twice as often. Double the value keeps twice as many payloads that could have been freed.
const FOLD: u64 = 256;

/// The number of stored repairs from which one matrix product subtracts known payloads. Unit:
/// repairs. A product reads each known payload once for all its repairs. With half the value, known
/// payloads are read twice as often. Double the value needs twice the scratch memory.
const FOLD_ROWS: usize = 8;

/// A fold that takes several steps.
#[derive(Clone, Debug)]
pub(super) struct Folding {
    /// Known symbols before this identifier are subtracted.
    to: u64,
    /// The components that may have repairs to fold, with the next one at the end. A component may occur more than
    /// once.
    components: Vec<u32>,
}

impl<P: Payload> Decoder<P> {
    /// Frees known payloads before `Decoder::keep`. While rows wait, stored repairs may contain
    /// these payloads. In this case nothing is freed until [`FOLD`] payloads can be freed at the
    /// same time, or `must` is true, and not before all repairs are folded.
    pub(super) fn release(&mut self, must: bool) {
        let freed = self.released.min(self.late);
        if self.folding.is_none() && freed >= self.keep && self.symbols.origin() >= self.keep {
            return;
        }
        let mut to = self.keep;
        if self.rows() == 0 {
            self.folding = None;
        } else if self.folding.is_some() || freed < self.keep {
            if self.folding.is_none() && !must && self.keep - freed.max(self.symbols.origin()) < FOLD {
                return;
            }
            // Payloads without content need no fold, but are freed at the same moments. So a
            // decoder accepts the same repairs whether payloads have content or not.
            if P::CONTENT {
                let Some(folded) = self.fold_all() else { return };
                to = folded;
            }
        }
        self.symbols.free(freed..to);
        self.released = self.released.max(to);
        self.late = u64::MAX;
        // Cells before the lowest unknown symbol can be removed.
        let end = to.min(self.next_undecoded());
        self.symbols.drop_before(end);
        self.base = self.base.max(self.symbols.origin());
        self.gone.remove_before(self.symbols.origin());
    }

    /// Notes that repairs of the current component may contain symbol `id` and `id` is known, or that they were not
    /// folded yet. A fold that has passed the component visits it again.
    pub(super) fn fold_again(&mut self, id: u64) {
        if let Some(folding) = &mut self.folding
            && id < folding.to
            && folding.components.last() != Some(&self.current_id)
        {
            folding.components.push(self.current_id);
        }
    }

    /// Folds all components as far as this step allows. When all are folded, returns the identifier before which known
    /// symbols may be freed.
    fn fold_all(&mut self) -> Option<u64> {
        if self.is_spent() {
            return None;
        }
        let mut folding = self.folding.take().unwrap_or_else(|| self.all_to_fold());
        while let Some(component) = folding.components.last().copied() {
            if self.space_of(component).rows() > 0 {
                let folded = !self.is_spent() && {
                    self.select(component);
                    self.fold(folding.to)
                };
                if !folded {
                    self.folding = Some(folding);
                    return None;
                }
            }
            folding.components.pop();
        }
        Some(folding.to)
    }

    /// A fold of all components with rows, up to `Decoder::keep`.
    fn all_to_fold(&self) -> Folding {
        let all = (0..self.components()).rev();
        Folding { to: self.keep, components: all.filter(|at| self.space_of(*at).rows() > 0).collect() }
    }

    /// Subtracts the known symbols before `to` from the stored repairs of the current component: from one block of
    /// repairs, and from more if this step allows. Returns whether all repairs are folded.
    fn fold(&mut self, to: u64) -> bool {
        self.counters.folds += 1;
        let mut work = std::mem::take(&mut self.payload_work);
        let mut raws = std::mem::take(&mut self.current.raws);
        let read = size_of::<Component<P>>() + raws.len() * size_of::<Raw<P>>() + self.current.lists;
        self.counters.work_bytes += read as u64;
        // Repairs from which nothing can be subtracted are skipped. So a repair costs work again
        // only after more of its members have become known.
        let due = |raw: &&mut Raw<P>| {
            let (singles, tail) = raw.repair().parts();
            singles.first().is_some_and(|id| *id < to)
                || !tail.is_empty() && tail.start < to
                || raw.rest.iter().any(|(id, _)| *id < to && !self.is_unknown(*id))
        };
        let mut due: Vec<&mut Raw<P>> = raws.iter_mut().flatten().filter(due).collect();
        let mut rest = &mut due[..];
        while !rest.is_empty() {
            let rows = self.fold_rows(rest);
            let (block, others) = std::mem::take(&mut rest).split_at_mut(rows);
            rest = others;
            let before: usize = block.iter().map(|raw| raw.lists()).sum();
            let combined = self.fold_block(&mut work, block, to);
            self.current.lists = self.current.lists + block.iter().map(|raw| raw.lists()).sum::<usize>() - before;
            self.count_combinations(combined);
            if self.is_spent() {
                break;
            }
        }
        let done = rest.is_empty();
        self.current.raws = raws;
        self.current_held = self.current.held();
        self.payload_work = work;
        done
    }

    /// The number of the first repairs of `due` that are folded together. At least 1.
    fn fold_rows(&self, due: &[&mut Raw<P>]) -> usize {
        let members = |rows: usize| due[..rows].iter().map(|raw| raw.members.len() + raw.rest.len()).sum::<usize>();
        let fits = |rows: &usize| members(*rows).saturating_mul(*rows * self.longest) <= self.limits.step;
        (1..=due.len().min(FOLD_ROWS)).rev().find(fits).unwrap_or(1)
    }

    /// Subtracts the known symbols before `to` from `block`, and returns the number of payloads
    /// that were combined.
    fn fold_block(&self, work: &mut PayloadWork, block: &mut [&mut Raw<P>], to: u64) -> u64 {
        let raws: Vec<Repair<'_, P>> = block.iter().map(|raw| raw.repair()).collect();
        self.find_known(work, &raws, &[], to);
        let factors = work.factors_without_known(&raws);
        let combined = factors.as_ref().map_or(0, |factors| (factors.rows() * factors.columns()) as u64);
        let folded = factors.map_or(Vec::new(), |factors| self.combine_known(work, &raws, &factors));
        let rests: Vec<Vec<(u64, u8)>> = raws.iter().map(|raw| self.unfolded(raw, to)).collect();
        let mut folded = folded.into_iter();
        for (raw, rest) in block.iter_mut().zip(rests) {
            raw.payload = folded.next().unwrap_or_else(|| raw.payload.clone());
            raw.rest = rest;
            raw.folded = raw.folded.max(to);
        }
        combined
    }

    /// The new `rest` of `raw` after a fold: the symbols that the fold does not subtract. These are
    /// unknown members before `to`, and entries of `raw.rest` that are unknown or not before `to`.
    fn unfolded(&self, raw: &Repair<'_, P>, to: u64) -> Vec<(u64, u8)> {
        let mut rest: Vec<(u64, u8)> = Vec::new();
        let unknown = |id: u64| self.is_unknown(id);
        rest.extend(raw.rest.iter().filter(|(id, _)| *id >= to || unknown(*id)));
        let (singles, tail) = raw.parts();
        let singles = singles.iter().copied().filter(|id| *id < to && unknown(*id));
        let tail = tail.start..tail.end.min(to);
        for id in singles.chain(self.unknown.iter_in(&tail)) {
            rest.extend(raw.coding.of(raw.members, id).map(|c| (id, c)));
        }
        rest.sort_unstable_by_key(|(id, _)| *id);
        rest
    }
}
