//! The receiver's side: source symbols from encoding symbols.

mod echelon;
mod inactivation;

use super::{LtCode, LtError, Neighbours, Ones, Peeling, all};
use crate::Payload;
use echelon::Echelon;
use inactivation::Plan;

/// Whether an encoding symbol added to what the decoder knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The symbol is no sum of earlier symbols. One degree of freedom less is missing.
    Innovative,
    /// The symbol is a sum of earlier symbols. It is dropped. If only one of its neighbours was
    /// unknown, it has still made this source symbol known.
    Redundant,
}

/// What a [`Decoder`] has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecoderCounters {
    /// Encoding symbols that arrived.
    pub received: u64,
    /// Encoding symbols that were sums of earlier symbols.
    pub redundant: u64,
    /// Source symbols that peeling decoded, including source symbols that arrived themselves.
    pub peeled: u64,
    /// Source symbols that inactivation decoding decoded.
    pub eliminated: u64,
    /// Those of the eliminated source symbols that were inactive.
    pub inactivated: u64,
    /// XORs of one payload into another. A sum of n payloads counts as n - 1.
    pub xors: u64,
}

/// Decodes a block from encoding symbols.
///
/// A source symbol is available as soon as it can be peeled. All source symbols are available when
/// the received symbols determine the block.
#[derive(Clone, Debug)]
pub struct Decoder<P> {
    neighbours: Neighbours,
    /// The space of what has arrived.
    echelon: Echelon,
    /// The state of the received symbols in `received`, and the source symbols that are known.
    peeling: Peeling,
    /// The innovative symbols that had more than one unknown neighbour when they arrived, with their
    /// neighbours. Empty when the block is complete.
    received: Vec<(u64, P)>,
    /// The source symbols that are known.
    decoded: Vec<Option<P>>,
    counters: DecoderCounters,
}

impl<P: Payload> Decoder<P> {
    /// A decoder for a block of `k` source symbols.
    ///
    /// # Errors
    /// If `k` is 0 or more than [`MAX_BLOCK`](super::MAX_BLOCK).
    pub fn new(code: LtCode, k: usize) -> Result<Decoder<P>, LtError> {
        Ok(Decoder {
            neighbours: Neighbours::new(code, k)?,
            echelon: Echelon::new(),
            peeling: Peeling::new(k)?,
            received: Vec::with_capacity(k),
            decoded: vec![None; k],
            counters: DecoderCounters::default(),
        })
    }

    /// Takes an encoding symbol. Symbols may arrive in any order and more than once.
    pub fn receive(&mut self, seed: u32, payload: P) -> Arrival {
        self.counters.received += 1;
        let neighbours = self.neighbours.of(seed);
        let unknown = neighbours & !self.peeling.known();
        let innovative = self.echelon.insert(unknown);
        if unknown.is_power_of_two() {
            // Even if elimination could find this source symbol later, it is available now.
            self.peeling.learn(unknown);
            self.counters.peeled += 1;
            self.store(unknown.trailing_zeros() as usize, neighbours, payload);
            self.peel();
        } else if innovative {
            self.peeling.push(neighbours);
            self.received.push((neighbours, payload));
        }
        if self.echelon.rank() == self.decoded.len() {
            if !self.peeling.is_complete() {
                self.eliminate();
            }
            self.received.clear();
        }
        if innovative {
            Arrival::Innovative
        } else {
            self.counters.redundant += 1;
            Arrival::Redundant
        }
    }

    /// The degrees of freedom that are missing: the number of innovative symbols that must still
    /// arrive.
    pub fn missing(&self) -> usize {
        self.decoded.len() - self.echelon.rank()
    }

    /// Whether all source symbols are known.
    pub fn is_complete(&self) -> bool {
        self.peeling.is_complete()
    }

    /// The source symbols that are known: bit i is set if source symbol i is known.
    pub fn known(&self) -> u64 {
        self.peeling.known()
    }

    /// Source symbol `i`. None if it is not known, or if the block has no such symbol.
    pub fn get(&self, i: usize) -> Option<&P> {
        self.decoded.get(i)?.as_ref()
    }

    /// What the decoder has done so far.
    pub fn counters(&self) -> DecoderCounters {
        self.counters
    }

    /// Stores a source symbol: `payload` minus all its other `neighbours`, which are known.
    fn store(&mut self, symbol: usize, neighbours: u64, payload: P) {
        let others = neighbours & !(1 << symbol);
        let decoded = if others == 0 { payload } else { sum(&payload, others, &self.decoded, &mut self.counters) };
        self.decoded[symbol] = Some(decoded);
    }

    /// Peels as far as possible.
    fn peel(&mut self) {
        while let Some((index, symbol)) = self.peeling.pop() {
            let (neighbours, payload) = &self.received[index];
            let others = neighbours & !(1 << symbol);
            self.decoded[symbol] = Some(sum(payload, others, &self.decoded, &mut self.counters));
            self.counters.peeled += 1;
        }
    }

    /// Decodes all missing source symbols by inactivation decoding. The received symbols determine
    /// them. Each source symbol is computed in one sum.
    fn eliminate(&mut self) {
        let known = self.peeling.known();
        let missing = all(self.decoded.len()) & !known;
        let Some(plan) = Plan::new(self.peeling.unknown(), missing) else { return };
        let (received, decoded, counters) = (&self.received, &mut self.decoded, &mut self.counters);
        let inactive = plan.inactive();
        for symbol in Ones(inactive) {
            let solution = plan.solution(symbol);
            let addends = || Ones(solution).filter_map(|i| received.get(i));
            let sources = addends().fold(0, |sum, (neighbours, _)| sum ^ neighbours) & known;
            counters.xors += u64::from(solution.count_ones() + sources.count_ones()) - 1;
            let mut payloads = addends().map(|(_, payload)| payload);
            let sources = Ones(sources).filter_map(|i| decoded.get(i)?.as_ref());
            decoded[symbol] = payloads.next().map(|first| P::sum(first, payloads.chain(sources)));
        }
        for (index, symbol) in plan.peeled() {
            let (neighbours, payload) = &received[index];
            decoded[symbol] = Some(sum(payload, neighbours & !(1 << symbol), decoded, counters));
        }
        counters.eliminated += u64::from(missing.count_ones());
        counters.inactivated += u64::from(inactive.count_ones());
        self.peeling.learn(missing);
    }
}

/// The sum of `first` and those of `payloads` that are in a mask.
#[inline]
fn sum<P: Payload>(first: &P, mask: u64, payloads: &[Option<P>], counters: &mut DecoderCounters) -> P {
    counters.xors += u64::from(mask.count_ones());
    P::sum(first, Ones(mask).filter_map(|i| payloads.get(i)?.as_ref()))
}
