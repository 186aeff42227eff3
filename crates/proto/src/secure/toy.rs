//! A Diffie-Hellman function for fuzz targets only: powers modulo a prime of 61 bits. It has no
//! security, and takes a hundredth of the time of X25519. `cargo fuzz` sets `cfg(fuzzing)`; no other
//! build contains this file.

use snow::Error;
use snow::types::{Dh, Random};

/// The prime 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;
/// The base of the powers. Any other number that is not a small power of another one would do.
const BASE: u64 = 37;

/// The public key of `private`.
pub(super) fn public(private: &[u8; 32]) -> [u8; 32] {
    padded(power(BASE, number(private)))
}

/// The key pair of one end.
#[derive(Default)]
pub(super) struct ToyDh {
    private: [u8; 32],
    public: [u8; 32],
}

impl Dh for ToyDh {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        32
    }

    fn priv_len(&self) -> usize {
        32
    }

    fn set(&mut self, privkey: &[u8]) {
        self.private.copy_from_slice(privkey);
        self.public = public(&self.private);
    }

    fn generate(&mut self, rng: &mut dyn Random) -> Result<(), Error> {
        let mut private = [0; 32];
        rng.try_fill_bytes(&mut private)?;
        self.set(&private);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &self.private
    }

    fn dh(&self, pubkey: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let key: &[u8; 32] = pubkey.first_chunk().ok_or(Error::Dh)?;
        out[..32].copy_from_slice(&padded(power(number(key) % PRIME, number(&self.private))));
        Ok(())
    }
}

fn number(key: &[u8; 32]) -> u64 {
    u64::from_le_bytes([key[0], key[1], key[2], key[3], key[4], key[5], key[6], key[7]])
}

fn padded(number: u64) -> [u8; 32] {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_le_bytes());
    key
}

fn power(base: u64, exponent: u64) -> u64 {
    // 2^61 is 1 modulo the prime. So the upper bits of a product are added to the lower ones.
    let fold = |n: u128| (n & u128::from(PRIME)) + (n >> 61);
    let times = |a: u64, b: u64| fold(fold(u128::from(a) * u128::from(b))) as u64 % PRIME;
    let (mut result, mut square, mut left) = (1, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        left /= 2;
    }
    result
}
