//! Compares the decoder with plain Gaussian elimination over whole vectors. Each test runs random
//! histories of source symbols, repairs, duplicates, symbols given up, window moves and freed
//! payloads.

use proptest::prelude::*;
use ripstop_base::{Seed, Stream};
use ripstop_codes::window::{Arrival, Coding, Decoder, Encoder, Limits, Members, Pivots};
use ripstop_codes::{Length, Payload, Sketch, Symbol};
use ripstop_gf256::{div, mul};
use std::collections::BTreeSet;

/// The reference: the linear space of everything received, as rows over the symbols `0..width` in
/// reduced row echelon form.
struct Oracle {
    width: usize,
    rows: Vec<Vec<u8>>,
    /// The order in which columns are tried as pivots.
    order: Vec<usize>,
    given_up: BTreeSet<usize>,
}

impl Oracle {
    /// Adds a row. Returns false if the row follows from the other rows.
    fn add(&mut self, mut row: Vec<u8>) -> bool {
        for given_up in &self.given_up {
            assert_eq!(row[*given_up], 0);
        }
        row.resize(self.width, 0);
        let before = self.rows.len();
        self.rows.push(row);
        self.reduce(&self.order.clone());
        self.rows.len() > before
    }

    /// Gauss-Jordan elimination that tries pivots in the given order of columns.
    fn reduce(&mut self, order: &[usize]) {
        let mut done = 0;
        for column in order.iter().copied() {
            let Some(pivot) = (done..self.rows.len()).find(|row| self.rows[*row][column] != 0) else {
                continue;
            };
            self.rows.swap(done, pivot);
            let scale = self.rows[done][column];
            self.rows[done].iter_mut().for_each(|c| *c = div(*c, scale));
            let pivot = self.rows[done].clone();
            for (at, row) in self.rows.iter_mut().enumerate() {
                let factor = row[column];
                if at != done && factor != 0 {
                    row.iter_mut().zip(&pivot).for_each(|(c, p)| *c ^= mul(factor, *p));
                }
            }
            done += 1;
        }
        self.rows.truncate(done);
    }

    /// Keeps only the combinations that do not contain `column`.
    fn give_up(&mut self, column: usize) {
        let order = self.order.clone();
        let others = order.iter().copied().filter(|c| *c != column);
        self.reduce(&std::iter::once(column).chain(others).collect::<Vec<_>>());
        self.rows.retain(|row| row[column] == 0);
        self.reduce(&order);
        self.given_up.insert(column);
    }

    /// The pivots of all rows.
    fn seen(&self) -> BTreeSet<usize> {
        let pivot = |row: &Vec<u8>| self.order.iter().copied().find(|column| row[*column] != 0);
        self.rows.iter().filter_map(pivot).collect()
    }

    /// The symbols that the rows determine.
    fn decoded(&self) -> BTreeSet<usize> {
        let unit = |row: &&Vec<u8>| row.iter().filter(|c| **c != 0).count() == 1;
        self.rows.iter().filter(unit).filter_map(|row| row.iter().position(|c| *c != 0)).collect()
    }
}

/// One random history: an encoder, the decoder under test, and the oracle that it is compared with.
struct World<P> {
    random: Stream,
    first: u64,
    encoder: Encoder<P>,
    decoder: Decoder<P>,
    oracle: Oracle,
    /// Payloads before this identifier may have been freed.
    kept: u64,
    /// Symbols that `poll_decoded` returned.
    delivered: BTreeSet<usize>,
    /// Symbols that arrived as source symbols.
    arrived: BTreeSet<usize>,
    /// The largest number of consecutive symbols that a repair combines. If None, a repair may have
    /// any members.
    near: Option<u64>,
}

impl<P: Payload + PartialEq + std::fmt::Debug> World<P> {
    fn new(seed: u64, limits: Limits, mut content: impl FnMut(&mut Stream) -> P) -> World<P> {
        let mut random = Seed::new(seed).stream("oracle");
        let width = 12 + random.below(60) as usize;
        let first = if random.chance(0.2) { u64::MAX - 80 } else { random.next_u64() >> random.below(64) };
        let first = first.min(u64::MAX - 80);
        let mut encoder = Encoder::new(first);
        for _ in 0..width {
            encoder.push(content(&mut random));
        }
        let mut order: Vec<usize> = (0..width).collect();
        let pivots = if random.chance(0.5) { Pivots::Lowest } else { Pivots::Highest };
        if pivots == Pivots::Highest {
            order.reverse();
        }
        let oracle = Oracle { width, rows: Vec::new(), order, given_up: BTreeSet::new() };
        let (delivered, arrived) = (BTreeSet::new(), BTreeSet::new());
        let decoder = Decoder::with_pivots(first, limits, pivots);
        World { random, first, encoder, decoder, oracle, kept: first, delivered, arrived, near: None }
    }

    fn members(&mut self, reach: u64) -> Members {
        if let Some(most) = self.near {
            // The members are a few consecutive symbols, and now and then one lower symbol.
            let start = self.random.below(reach);
            let tail = start..(start + 1 + self.random.below(most)).min(reach);
            let far = self.random.chance(0.1).then(|| self.random.below(start + 1)).filter(|far| *far < start);
            let shift = |id: u64| id + self.first;
            let tail = shift(tail.start)..shift(tail.end);
            return Members::new(far.into_iter().map(shift).collect(), tail).unwrap();
        }
        let start = self.random.below(reach);
        let tail_start = start + self.random.below(reach - start + 1);
        let tail = tail_start..(tail_start + self.random.below(12)).min(reach);
        let density = self.random.unit();
        let mut singles: Vec<u64> = (start..tail_start).filter(|_| self.random.chance(density)).collect();
        singles.truncate(60);
        if singles.is_empty() && tail.is_empty() {
            singles.push(start);
        }
        let shift = |id: u64| id + self.first;
        Members::new(singles.into_iter().map(shift).collect(), shift(tail.start)..shift(tail.end)).unwrap()
    }

    fn index(&self, id: u64) -> usize {
        (id - self.first) as usize
    }

    fn step(&mut self, reach: u64) {
        // If `near` is set, fewer steps are source symbols. Repairs then join more components.
        let least = if self.near.is_some() { 38 } else { 0 };
        match least + self.random.below(100 - least) {
            0..=44 => self.source(reach),
            45..=89 => self.repair(reach),
            90..=93 => {
                let id = self.first + self.random.below(reach);
                let unknown = !self.decoder.is_decoded(id) && !self.decoder.is_given_up(id);
                let open = unknown && id >= self.decoder.start();
                assert_eq!(self.decoder.give_up(id), open);
                if open {
                    let column = self.index(id);
                    self.oracle.give_up(column);
                }
            }
            94..=95 => {
                let to = self.first + self.random.below(reach / 2 + 1);
                self.decoder.advance_to(to);
                for column in 0..self.index(to) {
                    let id = self.first + column as u64;
                    if !self.oracle.decoded().contains(&column) && !self.oracle.given_up.contains(&column) {
                        self.oracle.give_up(column);
                        assert!(!self.decoder.is_decoded(id) || self.decoder.get(id).is_none());
                    }
                }
            }
            _ => {
                let to = self.first + self.random.below(reach + 1);
                self.decoder.keep_from(to);
                self.kept = self.kept.max(to);
            }
        }
        self.compare();
    }

    fn source(&mut self, reach: u64) {
        let id = self.first + self.random.below(reach);
        let column = self.index(id);
        let payload = self.encoder.get(id).unwrap().clone();
        let known = self.oracle.decoded().contains(&column);
        let arrival = self.decoder.source(id, payload);
        if self.oracle.given_up.contains(&column) {
            assert_eq!(arrival, Arrival::Old);
        } else if known {
            assert!(matches!(arrival, Arrival::Duplicate | Arrival::Old), "{arrival:?}");
        } else {
            assert_eq!(arrival, Arrival::Innovative);
            self.arrived.insert(column);
            let mut row = vec![0; self.oracle.width];
            row[column] = 1;
            assert!(self.oracle.add(row));
        }
    }

    fn repair(&mut self, reach: u64) {
        let members = self.members(reach);
        let seed = self.random.next_u64() as u16;
        let (coding, payload) = if self.random.chance(0.5) || members.len() > 64 {
            (Coding::Seed(seed), self.encoder.repair(&members, seed).unwrap())
        } else {
            let coefficients: Vec<u8> = members.iter().map(|_| 1 + self.random.below(255) as u8).collect();
            let payload = self.encoder.explicit(&members, &coefficients).unwrap();
            (Coding::Explicit(coefficients), payload)
        };
        let mut row = vec![0; self.oracle.width];
        for (id, c) in members.iter().zip(coding.all(&members)) {
            row[self.index(id)] = c;
        }
        let decoded = self.oracle.decoded();
        let lost = |id: u64| self.oracle.given_up.contains(&self.index(id));
        let gone = members.iter().any(lost);
        let freed = members.iter().any(|id| id < self.kept && decoded.contains(&self.index(id)));
        let news = members.iter().any(|id| !lost(id) && !decoded.contains(&self.index(id)));
        let arrival = self.decoder.repair(&members, &coding, payload);
        match arrival {
            Arrival::Innovative => assert!(!gone && self.oracle.add(row), "{members:?}"),
            Arrival::Redundant => assert!(!news || !self.oracle.add(row), "{members:?}"),
            Arrival::Unusable => assert!(news && (gone || freed), "{members:?}"),
            Arrival::Old => assert!(members.last() < Some(self.decoder.start())),
            other => panic!("{other:?} for {members:?}"),
        }
    }

    /// Compares everything that the decoder reports with the oracle.
    fn compare(&mut self) {
        let mut last = None;
        while let Some((id, payload)) = self.decoder.poll_decoded() {
            self.check_payload(id, &payload);
            let column = self.index(id);
            assert!(!self.arrived.contains(&column) && self.delivered.insert(column), "{id} was delivered twice");
            assert!(last < Some(id), "{id} was delivered out of order");
            last = Some(id);
        }
        let (seen, decoded) = (self.oracle.seen(), self.oracle.decoded());
        let heard = self.decoder.highest().map_or(0, |highest| self.index(highest) + 1);
        for column in 0..self.oracle.width {
            let id = self.first + column as u64;
            if self.oracle.given_up.contains(&column) {
                assert!(
                    id < self.decoder.start() || !self.decoder.is_seen(id),
                    "{column} was given up but counts as seen"
                );
                continue;
            }
            assert_eq!(self.decoder.is_seen(id), seen.contains(&column), "is_seen of {column} is wrong");
            assert_eq!(self.decoder.is_decoded(id), decoded.contains(&column), "is_decoded of {column} is wrong");
            let known = self.arrived.contains(&column) || self.delivered.contains(&column);
            assert_eq!(decoded.contains(&column), known, "delivery of {column} is wrong");
        }
        let open = |set: &BTreeSet<usize>| -> Vec<u64> {
            let missing = (0..heard).filter(|c| !set.contains(c) && !self.oracle.given_up.contains(c));
            missing.map(|column| self.first + column as u64).collect()
        };
        let (unseen, undecoded) = (open(&seen), open(&decoded));
        let next = self.first + heard as u64;
        assert_eq!(self.decoder.unseen().iter().collect::<Vec<_>>(), unseen);
        assert_eq!(self.decoder.missing().collect::<Vec<_>>(), undecoded);
        assert_eq!(self.decoder.deficit(), unseen.len());
        assert_eq!(self.decoder.undecoded(), undecoded.len());
        assert_eq!(self.decoder.rows(), undecoded.len() - unseen.len());
        assert_eq!(self.decoder.next_unseen(), unseen.first().copied().unwrap_or(next));
        assert_eq!(self.decoder.next_undecoded(), undecoded.first().copied().unwrap_or(next));
    }

    fn check_payload(&self, id: u64, payload: &P) {
        let original = self.encoder.get(id).unwrap();
        // A recovered symbol is as long as the longest payload that it was computed from, and
        // padded with zeros.
        let difference = ripstop_codes::Matrix::from_bytes(1, 2, vec![1, 1]).unwrap();
        let sum = P::combine(&difference, &[original, payload]);
        let zero = P::combine(&difference, &[payload, payload]);
        assert!(payload.len() >= original.len(), "symbol {id} is too short");
        assert!(!P::CONTENT || sum == zero, "symbol {id} has wrong content");
    }
}

fn symbol(random: &mut Stream) -> Symbol {
    let longest = if random.chance(0.5) { 20 } else { 300 };
    let len = 1 + random.below(longest) as usize;
    Symbol::build(len, |bytes| random.fill(bytes))
}

fn sketch(random: &mut Stream) -> Sketch {
    let mut content = [0; 16];
    random.fill(&mut content);
    Sketch::new(1 + random.below(1400) as usize, content)
}

fn run<P: Payload + PartialEq + std::fmt::Debug>(mut world: World<P>, steps: usize) -> Decoder<P> {
    for step in 0..steps {
        // The window grows gradually, as sources are sent.
        let reach = (6 + world.oracle.width * step / steps).min(world.oracle.width) as u64;
        world.step(reach);
    }
    world.decoder
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn bytes_decode_as_gauss_says(seed: u64) {
        run(World::new(seed, Limits::default(), symbol), 150);
    }

    #[test]
    fn lengths_decode_as_gauss_says(seed: u64) {
        let decoder = run(World::new(seed, Limits::default(), |random| Length(1 + random.below(1400) as usize)), 150);
        // Without content, no payloads are combined.
        prop_assert_eq!((decoder.counters().payload_combinations, decoder.counters().folds), (0, 0));
    }

    #[test]
    fn sketches_decode_as_gauss_says(seed: u64) {
        run(World::new(seed, Limits::default(), sketch), 150);
    }
}

#[test]
fn rows_that_have_nothing_in_common_are_one_when_a_repair_joins_them() {
    let mut joined = 0;
    for seed in 0..300 {
        let mut world = World::new(seed, Limits::default(), symbol);
        world.near = Some(2 + seed % 4);
        joined += run(world, 150).counters().joined;
        let mut world = World::new(seed, Limits { history: 3, ..Limits::default() }, sketch);
        (world.near, world.kept) = (Some(2 + seed % 4), u64::MAX);
        joined += run(world, 150).counters().joined;
        let mut world = World::new(seed, Limits::default(), |random| Length(1 + random.below(1400) as usize));
        world.near = Some(2 + seed % 4);
        joined += run(world, 150).counters().joined;
    }
    assert!(joined > 200, "only {joined} components were joined");
}

#[test]
fn waiting_rows_are_folded_when_history_is_short() {
    let mut folds = 0;
    let mut recovered = 0;
    for seed in 0..200 {
        // Freed payloads make later repairs unusable, but waiting rows must not be affected.
        let limits = Limits { history: 3, ..Limits::default() };
        let mut world = World::new(seed, limits, symbol);
        world.kept = u64::MAX;
        let decoder = run(world, 120);
        folds += decoder.counters().folds;
        recovered += decoder.counters().decoded;
    }
    assert!(folds > 100 && recovered > 1000, "only {folds} folds, {recovered} recovered");
}
