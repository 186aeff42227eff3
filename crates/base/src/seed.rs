//! One master seed, many independent random streams.
//!
//! A stream is named by three values: the master seed, the run index, and a name such as
//! `link/2/loss`. The three values are hashed to a 64-bit state, which SplitMix64 expands to the
//! state of xoshiro256++ (Blackman and Vigna 2019). The same three values give the same numbers on
//! every machine and with every number of threads. A new stream does not change the numbers of
//! other streams.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fmt;
use std::str::FromStr;

/// A master seed and the index of an independent run. The text form is only the master seed, in
/// decimal digits. A text with `0x` and hexadecimal digits can be read too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed {
    /// The number that the user chooses.
    master: u64,
    /// The index of the run. The first run is 0.
    run: u64,
}

impl Seed {
    /// The master seed `master`, run 0.
    pub const fn new(master: u64) -> Seed {
        Seed { master, run: 0 }
    }

    /// The same master seed for the independent run `run`.
    pub const fn run(self, run: u64) -> Seed {
        Seed { run, ..self }
    }

    /// The master seed. For a [`Seed::child`] the master seed is a hash, not the number that the
    /// user gave.
    pub const fn master(self) -> u64 {
        self.master
    }

    /// A new random stream for `name`. Equal seeds and names give equal streams.
    pub fn stream(self, name: &str) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(self.hash(name)))
    }

    /// A new seed derived from this seed, for a part of the program that makes its own streams.
    pub fn child(self, name: &str) -> Seed {
        Seed { master: self.hash(name), run: self.run }
    }

    /// The 64-bit hash of master seed, run and name.
    fn hash(self, name: &str) -> u64 {
        // FNV-1a hashes the name. Then two steps of SplitMix64 mix in the master seed and the run.
        let mut h: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in name.bytes() {
            h = (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        mix(mix(h ^ self.master).wrapping_add(self.run.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }
}

/// One step of SplitMix64: adds its increment and applies its finaliser.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.master)
    }
}

impl FromStr for Seed {
    type Err = std::num::ParseIntError;
    fn from_str(s: &str) -> Result<Seed, Self::Err> {
        let s = s.trim();
        match s.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).map(Seed::new),
            None => s.parse().map(Seed::new),
        }
    }
}

/// A deterministic stream of random numbers. Made by [`Seed::stream`].
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on [0, 1), with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`. Always draws exactly one number, so that later numbers of the
    /// stream do not depend on `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Uniform on `0..n`. For n = 0 the result is 0. The bias is below n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Exponentially distributed with the given mean, in the unit of `mean`.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // `libm` gives the same bits on every machine; the platform's `ln` may not.
        -mean * libm::log(1.0 - self.unit())
    }

    /// Fills `bytes` with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_fixed_for_ever() {
        // Recorded results depend on these numbers, so the numbers must never change.
        let mut s = Seed::new(1).stream("link/0/loss");
        let first: Vec<u64> = (0..3).map(|_| s.next_u64()).collect();
        assert_eq!(first, [10466455062745826071, 15674549603932070249, 12987425405388194662]);
    }

    #[test]
    fn streams_differ_by_master_run_and_name() {
        let seed = Seed::new(7);
        let draw = |mut s: Stream| s.next_u64();
        let all = [
            draw(seed.stream("a")),
            draw(seed.stream("b")),
            draw(seed.run(1).stream("a")),
            draw(Seed::new(8).stream("a")),
            draw(seed.child("a").stream("a")),
        ];
        for (i, x) in all.iter().enumerate() {
            assert!(!all[..i].contains(x));
        }
    }

    #[test]
    fn unit_and_below_stay_in_range() {
        let mut s = Seed::new(3).stream("range");
        let mut sum = 0.0;
        for _ in 0..10_000 {
            let u = s.unit();
            assert!((0.0..1.0).contains(&u));
            assert!(s.below(7) < 7);
            sum += s.exponential(2.0);
        }
        assert_eq!(s.below(0), 0);
        assert!((sum / 10_000.0 - 2.0).abs() < 0.1);
    }

    #[test]
    fn parses_decimal_and_hex() {
        assert_eq!("42".parse(), Ok(Seed::new(42)));
        assert_eq!("0x2a".parse(), Ok(Seed::new(42)));
        assert!("forty-two".parse::<Seed>().is_err());
    }
}
