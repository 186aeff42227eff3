//! The codes, and the neighbours of an encoding symbol.

use super::tables::{REPAIRS, WEIGHTS, degrees};
use super::{LtError, MAX_BLOCK, RobustSoliton, all, checked};
use crate::hash::{STEP, mix};

/// Which code a block has. Sender and receiver must use the same code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LtCode {
    /// Luby's robust soliton distribution of degrees.
    Soliton(RobustSoliton),
    /// A distribution of degrees that was optimised for small blocks ([`DEGREES`](super::DEGREES)).
    Optimised,
    /// The seeds 0 to K - 1 are the source symbols. Seed K is the XOR of the whole block. Other
    /// symbols combine K / 2 or K / 2 + 1 source symbols. Seeds should be used in ascending order,
    /// because the first repairs were chosen to complement each other
    /// ([`REPAIRS`](super::REPAIRS)).
    Systematic,
}

impl LtCode {
    /// The neighbours of an encoding symbol: a mask with bit i set if the symbol combines source
    /// symbol i. The mask has at least one bit for `k` from 1 to [`MAX_BLOCK`]. For other `k` it is
    /// 0.
    ///
    /// This function is part of the wire format and never changes; the [module](super) has its
    /// definition. For a soliton code it computes the distribution each time. [`Neighbours`]
    /// computes it once.
    pub fn neighbours(&self, k: usize, seed: u32) -> u64 {
        Neighbours::new(*self, k).map_or(0, |neighbours| neighbours.of(seed))
    }
}

/// Computes the neighbours of a block's encoding symbols.
#[derive(Clone, Debug)]
pub struct Neighbours {
    degrees: Degrees,
    /// The number of source symbols.
    k: usize,
}

/// How the number of neighbours is chosen.
#[derive(Clone, Debug)]
enum Degrees {
    /// All nonempty sets of neighbours are equally likely.
    Uniform,
    /// Each degree as often as its weight says.
    Listed([u8; WEIGHTS]),
    /// The probability of each degree and of all smaller degrees, in units of 2^-32.
    Soliton(Box<[u32; MAX_BLOCK]>),
    /// Source symbols, then about half of the block.
    Systematic,
}

impl Neighbours {
    /// Neighbours in a block of `k` symbols.
    ///
    /// # Errors
    /// If `k` is 0 or more than [`MAX_BLOCK`].
    pub fn new(code: LtCode, k: usize) -> Result<Neighbours, LtError> {
        let k = checked(k)?;
        let degrees = match code {
            LtCode::Soliton(soliton) => Degrees::Soliton(Box::new(soliton.thresholds(k))),
            LtCode::Optimised => degrees(k).map_or(Degrees::Uniform, Degrees::Listed),
            LtCode::Systematic => Degrees::Systematic,
        };
        Ok(Neighbours { degrees, k })
    }

    /// The number of source symbols in the block.
    #[inline]
    pub fn k(&self) -> usize {
        self.k
    }

    /// The neighbours of the encoding symbol `seed`; see [`LtCode::neighbours`].
    #[inline]
    pub fn of(&self, seed: u32) -> u64 {
        let mut draws = Draws::new(u64::from(seed));
        let degree = match &self.degrees {
            Degrees::Uniform => return 1 + draws.below(0, all(self.k)),
            Degrees::Systematic if (seed as usize) < self.k => return 1 << seed,
            Degrees::Systematic if seed as usize == self.k => return all(self.k),
            Degrees::Systematic => {
                draws = Draws::new(u64::from(seed) + u64::from(REPAIRS[self.k]));
                (self.k / 2 + draws.below(0, 2) as usize).max(1)
            }
            Degrees::Listed(degrees) => usize::from(degrees[draws.below(0, WEIGHTS as u64) as usize]),
            Degrees::Soliton(thresholds) => {
                let draw = draws.at(0);
                (1 + thresholds[..self.k].partition_point(|threshold| *threshold <= draw)).min(self.k)
            }
        };
        draws.choose(degree, self.k)
    }
}

/// The random numbers of one seed.
#[derive(Clone, Copy)]
struct Draws {
    key: u64,
}

impl Draws {
    #[inline]
    fn new(seed: u64) -> Draws {
        Draws { key: mix((seed + 1).wrapping_mul(STEP)) }
    }

    /// Draw `i`: 32 random bits.
    #[inline]
    fn at(self, i: u64) -> u32 {
        (self.word(i / 2) >> (32 * (i % 2))) as u32
    }

    /// The draws `2 i` (low half) and `2 i + 1` (high half).
    #[inline]
    fn word(self, i: u64) -> u64 {
        mix(self.key.wrapping_add(i.wrapping_mul(STEP)))
    }

    /// Draw `i` as a number below `n`, which is at most 2^32.
    #[inline]
    fn below(self, i: u64, n: u64) -> u64 {
        scaled(self.at(i), n)
    }

    /// A random set of `d` of `k` source symbols, by Floyd's algorithm with the draws 1 to `d`.
    #[inline]
    fn choose(self, d: usize, k: usize) -> u64 {
        let start = (k - d) as u64;
        let mut set = Set(0);
        set.add(self.at(1), start);
        for pair in 1..=d as u64 / 2 {
            let draws = self.word(pair);
            set.add(draws as u32, start + 2 * pair - 1);
            if 2 * pair < d as u64 {
                set.add((draws >> 32) as u32, start + 2 * pair);
            }
        }
        set.0
    }
}

/// A growing set of source symbols.
struct Set(u64);

impl Set {
    /// Adds a random symbol of the symbols 0 to `last`, or `last` if the set has this symbol
    /// already.
    #[inline]
    fn add(&mut self, draw: u32, last: u64) {
        let symbol = 1 << scaled(draw, last + 1);
        // Both sets are computed, because the processor cannot predict which one is needed.
        let (with_symbol, with_last) = (self.0 | symbol, self.0 | 1 << last);
        self.0 = if with_symbol == self.0 { with_last } else { with_symbol };
    }
}

/// A number below `n` from 32 random bits.
#[inline]
fn scaled(draw: u32, n: u64) -> u64 {
    (u64::from(draw) * n) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lt::Ones;

    fn soliton(c: f64, delta: f64) -> LtCode {
        LtCode::Soliton(RobustSoliton::new(c, delta).unwrap())
    }

    /// The code that a test vector names.
    fn code(name: &str) -> LtCode {
        match name {
            "optimised" => LtCode::Optimised,
            "systematic" => LtCode::Systematic,
            "soliton .1 .5" => soliton(0.1, 0.5),
            "soliton .1 .05" => soliton(0.1, 0.05),
            "soliton .02 .9" => soliton(0.02, 0.9),
            "soliton 3 1" => soliton(3.0, 1.0),
            other => panic!("there is no code {other}"),
        }
    }

    #[test]
    fn neighbours_never_change() {
        let vectors = include_str!("../../vectors/lt.csv");
        let mut checked = 0;
        for line in vectors.lines().filter(|line| !line.starts_with('#') && !line.starts_with("code")) {
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let (k, seed) = (fields[1].parse().unwrap(), fields[2].parse().unwrap());
            let want = u64::from_str_radix(fields[3], 16).unwrap();
            assert_eq!(code(fields[0]).neighbours(k, seed), want, "{line}");
            checked += 1;
        }
        assert!(checked >= 500, "only {checked} test vectors were checked");
    }

    #[test]
    fn neighbours_are_in_the_block() {
        for code in [LtCode::Optimised, LtCode::Systematic, soliton(0.1, 0.5), soliton(10.0, 1e-6)] {
            for k in 1..=MAX_BLOCK {
                let neighbours = Neighbours::new(code, k).unwrap();
                for seed in (0..200).chain(u32::MAX - 20..=u32::MAX) {
                    let mask = neighbours.of(seed);
                    assert!(mask != 0 && mask & !all(k) == 0, "{code:?}, K = {k}, seed {seed}: {mask:x}");
                }
            }
            assert_eq!((code.neighbours(0, 1), code.neighbours(65, 1)), (0, 0));
            assert!(Neighbours::new(code, 65).is_err());
        }
    }

    #[test]
    fn the_systematic_code_has_its_form() {
        for k in 1..=MAX_BLOCK {
            let neighbours = Neighbours::new(LtCode::Systematic, k).unwrap();
            assert!((0..k).all(|i| neighbours.of(i as u32) == 1 << i));
            assert_eq!(neighbours.of(k as u32), all(k));
            let degrees: Vec<usize> = (1..100).map(|i| Ones(neighbours.of((k + i) as u32)).count()).collect();
            assert!(degrees.iter().all(|d| [(k / 2).max(1), k / 2 + 1].contains(d)), "K = {k}: {degrees:?}");
            let both = degrees.contains(&(k / 2 + 1)) && degrees.contains(&(k / 2).max(1));
            assert!(both, "K = {k}: {degrees:?}");
        }
    }

    #[test]
    fn source_symbols_are_equally_frequent() {
        for (code, k) in [(LtCode::Optimised, 16), (LtCode::Optimised, 5), (soliton(0.1, 0.5), 64)] {
            let neighbours = Neighbours::new(code, k).unwrap();
            let mut counts = vec![0f64; k];
            for seed in 0..50_000 {
                Ones(neighbours.of(seed)).for_each(|i| counts[i] += 1.0);
            }
            let mean = counts.iter().sum::<f64>() / k as f64;
            // The bound is at more than 5 standard deviations.
            assert!(counts.iter().all(|n| (n - mean).abs() < 5.0 * mean.sqrt()), "{code:?}: {counts:?}");
        }
    }

    #[test]
    fn degrees_have_their_weights() {
        let neighbours = Neighbours::new(LtCode::Optimised, 16).unwrap();
        let mut counts = [0u32; 17];
        (0..64_000).for_each(|seed| counts[Ones(neighbours.of(seed)).count()] += 1);
        let mut want = [0u32; 17];
        degrees(16).unwrap().iter().for_each(|d| want[usize::from(*d)] += 1000);
        let close = |(n, want): (&u32, &u32)| n.abs_diff(*want) as f64 <= 5.0 * f64::from(*want).sqrt();
        assert!(counts.iter().zip(&want).all(close), "{counts:?}, not {want:?}");
    }
}
