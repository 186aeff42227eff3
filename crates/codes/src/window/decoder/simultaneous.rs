//! Decodes repairs that arrive together by inverting one small matrix, where that is possible.
//!
//! Normally the decoder reduces each repair by the waiting rows, and updates which symbols are seen
//! and decoded. There is a cheaper way if n repairs of the same members arrive together, n members
//! are unknown, and no row contains these n members. The repairs' coefficients at the n members
//! then form an n x n matrix. Its inverse gives all n symbols in one step.

use super::raw::Repair;
use super::{Arrival, Cell, Decoder};
use crate::Payload;
use crate::window::{Coding, Members};
use ripstop_gf256::CHUNK;

impl<P: Payload> Decoder<P> {
    /// Accepts repair symbols that arrived together and are all combinations of `members`. Returns
    /// the outcome of each repair.
    ///
    /// The result is the same as if [`Decoder::repair`] were called for each repair in turn. Only
    /// the order of the decoded symbols and some counters may differ. If the repairs decode all
    /// unknown members, this function takes much less time.
    pub fn repairs(&mut self, members: &Members, repairs: Vec<(Coding, P)>) -> Vec<Arrival> {
        self.begin();
        let Some(unknown) = self.decodable_by(members, &repairs) else {
            return self.one_by_one(members, repairs);
        };
        let (count, needed) = (repairs.len(), unknown.len());
        if let Some(last) = members.last() {
            self.extend_to(last);
        }
        let used = repairs[..needed].iter();
        let raws: Vec<Repair<'_, P>> = used.map(|(coding, p)| Repair::arrived(members, coding, p)).collect();
        let mut work = std::mem::take(&mut self.payload_work);
        let solved = self.solve(&mut work, members, &raws, &unknown);
        let combined = solved.as_ref().map_or(0, |_| work.combined());
        self.count_combinations(combined);
        self.payload_work = work;
        let Some(payloads) = solved else {
            return self.one_by_one(members, repairs);
        };
        self.counters.innovative += needed as u64;
        self.counters.redundant += (count - needed) as u64;
        self.counters.simultaneous += needed as u64;
        self.learn(&unknown, payloads);
        let mut arrivals = vec![Arrival::Innovative; needed];
        arrivals.resize(count, Arrival::Redundant);
        arrivals
    }

    /// Accepts each repair by itself.
    fn one_by_one(&mut self, members: &Members, repairs: Vec<(Coding, P)>) -> Vec<Arrival> {
        repairs.into_iter().map(|(coding, payload)| self.repair(members, &coding, payload)).collect()
    }

    /// The unknown members, ascending, if `repairs` may be able to decode all of them without the
    /// waiting rows. None if payloads have no content, a repair is unusable, or a row contains an
    /// unknown member. Also None if there are more than [`CHUNK`] unknown members, or fewer repairs
    /// than unknown members.
    fn decodable_by(&self, members: &Members, repairs: &[(Coding, P)]) -> Option<Vec<u64>> {
        let (first, last) = (members.first()?, members.last()?);
        let most = repairs.len().min(CHUNK);
        let usable = P::CONTENT
            && last < self.horizon()
            && last >= self.base
            && first >= self.symbols.origin()
            && members.len() <= self.limits.members
            && repairs.iter().all(|(coding, _)| coding.fits(members))
            && self.holds(members);
        if !usable {
            return None;
        }
        let tail = members.tail();
        let known_to = self.next();
        let singles = members.singles().iter().copied();
        let mut unknown: Vec<u64> = Vec::with_capacity(most + 1);
        unknown.extend(singles.filter(|id| *id >= known_to || self.is_unknown(*id)));
        // All members above the highest symbol heard of are unknown. There may be very many, so the
        // list ends when it is too long.
        let unheard = tail.start.max(known_to)..tail.end;
        for range in self.unknown.ranges_in(&tail).chain([unheard]) {
            let room = (most + 1).saturating_sub(unknown.len());
            unknown.extend(range.take(room));
        }
        let untouched = |id: &u64| *id >= known_to || self.cell(*id) == Some(Cell::Untouched);
        (!unknown.is_empty() && unknown.len() <= most && unknown.iter().all(untouched)).then_some(unknown)
    }

    /// Marks symbols that no row contains as decoded, and stores their payloads.
    fn learn(&mut self, ids: &[u64], payloads: Vec<P>) {
        self.unknown.remove_all(ids);
        self.free.remove_all(ids);
        for (id, payload) in ids.iter().copied().zip(payloads) {
            self.recover(id, payload);
        }
        self.free_unneeded();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Symbol;
    use crate::window::{Encoder, Limits, Pivots};
    use ripstop_base::Seed;

    /// Everything that a decoder reports.
    fn told(decoder: &mut Decoder<Symbol>) -> impl PartialEq + std::fmt::Debug {
        // If repairs are handled one by one, the symbols may be decoded in another order.
        let mut decoded: Vec<_> = std::iter::from_fn(|| decoder.poll_decoded()).collect();
        decoded.sort_by_key(|(id, _)| *id);
        let missing: Vec<u64> = decoder.missing().collect();
        let unseen: Vec<u64> = decoder.unseen().iter().collect();
        (decoded, missing, unseen, decoder.rows(), decoder.highest(), decoder.start())
    }

    #[test]
    fn together_is_as_one_by_one() {
        let mut at_once = 0;
        for run in 0..400 {
            let mut random = Seed::new(77).run(run).stream("together");
            let first = 1000 * run;
            let mut encoder = Encoder::new(first);
            for _ in 0..150 {
                encoder.push(Symbol::build(1 + random.below(200) as usize, |bytes| random.fill(bytes)));
            }
            let pivots = if run % 2 == 0 { Pivots::Lowest } else { Pivots::Highest };
            let mut one = Decoder::with_pivots(first, Limits::default(), pivots);
            let loss = [0.05, 0.3, 0.9][run as usize % 3];
            let mut next = first;
            for step in 0..12 {
                let burst = next..next + random.below(12);
                next = burst.end;
                for id in burst {
                    if !random.chance(loss) {
                        one.source(id, encoder.get(id).unwrap().clone());
                    }
                }
                if random.chance(0.1) {
                    one.give_up(first + random.below(next - first + 1));
                }
                let start = first + random.below(next - first + 1);
                let singles: Vec<u64> = (first..start).filter(|_| random.chance(0.03)).take(60).collect();
                let members = Members::new(singles, start..(next + random.below(3)).min(first + 150)).unwrap();
                let count = random.below(40) as u16;
                // Now and then two seeds are equal, which makes the matrix singular.
                let seeds: Vec<u16> = (0..count).map(|i| 50 * step + i + u16::from(random.chance(0.02))).collect();
                let Ok(payloads) = encoder.repairs(&members, &seeds) else { continue };
                let coding = |seed: u16| match seed % 5 {
                    0 => Coding::Explicit(Coding::Seed(seed).all(&members)),
                    _ => Coding::Seed(seed),
                };
                let repairs: Vec<(Coding, Symbol)> = seeds.iter().map(|s| coding(*s)).zip(payloads).collect();
                let mut all = one.clone();
                let arrivals: Vec<Arrival> = repairs.iter().map(|(c, p)| one.repair(&members, c, p.clone())).collect();
                assert_eq!(all.repairs(&members, repairs), arrivals, "run {run}: arrivals differ");
                at_once += all.counters().simultaneous - one.counters().simultaneous;
                let (mut one_told, mut all_told) = (one.clone(), all.clone());
                assert_eq!(told(&mut all_told), told(&mut one_told), "run {run}: results differ");
                for id in all_told.missing().chain([first, next]) {
                    assert_eq!(all_told.is_given_up(id), one_told.is_given_up(id), "run {run}: {id}");
                }
                (all_told, one_told) = (all, one);
                told(&mut all_told);
                told(&mut one_told);
                // Continue with either decoder: later results must not differ.
                one = if random.chance(0.5) { all_told } else { one_told };
                for id in first..next {
                    if let Some(symbol) = one.get(id) {
                        // A decoded symbol is as long as the longest member, and padded with zeros.
                        let (held, sent) = (symbol.as_slice(), encoder.get(id).unwrap().as_slice());
                        assert!(held.starts_with(sent), "run {run}: {id} is wrong");
                        assert!(held[sent.len()..].iter().all(|byte| *byte == 0), "run {run}: {id}");
                    }
                }
            }
        }
        assert!(at_once > 1000, "only {at_once} symbols were decoded together");
    }

    #[test]
    fn what_is_not_usable_is_refused_as_ever() {
        let mut decoder: Decoder<Symbol> = Decoder::new(100, Limits::default());
        let symbol = Symbol::from_slice(b"x");
        let repair = |seed| (Coding::Seed(seed), symbol.clone());
        assert_eq!(decoder.repairs(&Members::range(100..110), Vec::new()), []);
        assert_eq!(decoder.repairs(&Members::default(), vec![repair(1)]), [Arrival::Unusable]);
        let far = Members::range(100..u64::MAX);
        assert_eq!(decoder.repairs(&far, vec![repair(1), repair(2)]), [Arrival::Beyond; 2]);
        assert_eq!(decoder.repairs(&Members::range(10..20), vec![repair(1)]), [Arrival::Old]);
        let wrong = vec![repair(1), (Coding::Explicit(vec![1]), symbol.clone())];
        assert_eq!(decoder.repairs(&Members::range(100..102), wrong), [Arrival::Innovative, Arrival::Unusable]);
    }
}
