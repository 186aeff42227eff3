//! Static X25519 keys and their text form: 44 characters of base64, as in WireGuard.

use super::entropy::{Entropy, array};
use base64ct::{Base64, Encoding};
#[cfg(not(fuzzing))]
use curve25519_dalek::montgomery::MontgomeryPoint;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use zeroize::Zeroizing;

/// The error for a text that is not a key. Its message does not repeat the text, because the text
/// may be a private key with a typing error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a key: a key is 32 bytes in 44 characters of base64, such as `ripstop keys new` prints")]
pub struct KeyError;

/// A public X25519 key, which identifies a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The key with the given bytes (RFC 7748, section 5).
    pub const fn from_bytes(bytes: [u8; 32]) -> PublicKey {
        PublicKey(bytes)
    }

    /// The key's bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;
    fn from_str(s: &str) -> Result<PublicKey, KeyError> {
        decode(s).map(|bytes| PublicKey(*bytes))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Base64::encode_string(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

/// A private X25519 key.
///
/// When the key is dropped, its memory is overwritten with zeros. `Debug` does not print the key.
/// The key's text form is read and written in constant time.
#[derive(Clone)]
pub struct PrivateKey(Zeroizing<[u8; 32]>);

impl PrivateKey {
    /// A new random key.
    pub fn generate(entropy: &mut dyn Entropy) -> PrivateKey {
        PrivateKey::from_bytes(array(entropy))
    }

    /// The key with the given bytes. Some bits are set to the values that X25519 requires
    /// ("clamped": RFC 7748, section 5).
    pub fn from_bytes(bytes: [u8; 32]) -> PrivateKey {
        PrivateKey(Zeroizing::new(curve25519_dalek::scalar::clamp_integer(bytes)))
    }

    /// The public key that belongs to this private key.
    pub fn public(&self) -> PublicKey {
        #[cfg(fuzzing)]
        return PublicKey(super::toy::public(&self.0));
        #[cfg(not(fuzzing))]
        PublicKey(MontgomeryPoint::mul_base_clamped(*self.0).to_bytes())
    }

    /// The key as text, for a file that only its owner reads.
    pub fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(Base64::encode_string(&*self.0))
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for PrivateKey {
    type Err = KeyError;
    fn from_str(s: &str) -> Result<PrivateKey, KeyError> {
        decode(s).map(|bytes| PrivateKey::from_bytes(*bytes))
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

/// A pre-shared key: a secret that two peers share in addition to their static keys. An attacker who
/// records the traffic and later breaks X25519 cannot read the traffic without this key.
///
/// When the key is dropped, its memory is overwritten with zeros. `Debug` does not print the key.
#[derive(Clone)]
pub struct PresharedKey(Zeroizing<[u8; 32]>);

impl PresharedKey {
    /// A new random key.
    pub fn generate(entropy: &mut dyn Entropy) -> PresharedKey {
        PresharedKey(Zeroizing::new(array(entropy)))
    }

    /// The key with the given bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> PresharedKey {
        PresharedKey(Zeroizing::new(bytes))
    }

    /// The key as text, for files that only their owners read.
    pub fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(Base64::encode_string(&*self.0))
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether the keys are equal. Runs in constant time.
    pub fn same(&self, other: &PresharedKey) -> bool {
        self.0.iter().zip(other.0.iter()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }
}

impl FromStr for PresharedKey {
    type Err = KeyError;
    fn from_str(s: &str) -> Result<PresharedKey, KeyError> {
        decode(s).map(PresharedKey)
    }
}

impl fmt::Debug for PresharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PresharedKey(..)")
    }
}

fn decode(text: &str) -> Result<Zeroizing<[u8; 32]>, KeyError> {
    // 44 characters without padding decode to 33 bytes. The buffer has room for 33 bytes, so the
    // decoder accepts such a text, and the check of the length below refuses it.
    let mut buffer = Zeroizing::new([0; 33]);
    let bytes = Base64::decode(text.trim(), &mut *buffer).map_err(|_| KeyError)?;
    let bytes: [u8; 32] = bytes.try_into().map_err(|_| KeyError)?;
    Ok(Zeroizing::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    #[test]
    fn public_halves_are_those_of_rfc_7748() {
        // RFC 7748, section 5.2: the result of one iteration, which begins with k = u = 9.
        let mut nine = [0; 32];
        nine[0] = 9;
        let public = PrivateKey::from_bytes(nine).public();
        let hex: String = public.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
    }

    #[test]
    fn text_comes_back_and_secrets_stay_inside() {
        let key = PrivateKey::generate(&mut Seed::new(1).stream("key"));
        let text = key.to_base64();
        assert_eq!(text.len(), 44);
        assert_eq!(text.parse::<PrivateKey>().unwrap().public(), key.public());
        let public = key.public().to_string();
        assert_eq!(public.parse(), Ok(key.public()));
        assert_eq!(format!(" {public}\n").parse(), Ok(key.public()));
        assert!(!format!("{key:?}").contains(&text[..8]));
        let shared = PresharedKey::generate(&mut Seed::new(2).stream("key"));
        let text = shared.to_base64();
        assert!(text.parse::<PresharedKey>().unwrap().same(&shared));
        assert!(!shared.same(&PresharedKey::from_bytes([0; 32])));
        assert!(!format!("{shared:?}").contains(&text[..8]));
    }

    #[test]
    fn wrong_texts_are_refused_without_repeating_them() {
        let long = "A".repeat(44);
        for text in ["", "secret", "AAAA", &long, &"A".repeat(10_000), "????????????????????????????????????????????"] {
            assert_eq!(text.parse::<PublicKey>(), Err(KeyError), "{text}");
        }
        assert!(!KeyError.to_string().contains("secret"));
        let zero = format!("{}=", "A".repeat(43));
        assert_eq!(zero.parse::<PublicKey>(), Ok(PublicKey([0; 32])));
    }
}
