//! The message authentication codes (MACs) of handshake messages, and cookies, after WireGuard's
//! design (Donenfeld, "WireGuard: Next Generation Kernel Network Tunnel", sections 5.3 and 5.4.7).
//!
//! Each handshake message ends with two MACs:
//!
//! - mac1 proves that the sender knows the receiver's public key. The receiver ignores a message
//!   with a wrong mac1, at the cost of one hash.
//! - mac2 proves that the sender receives datagrams at the address that it sends from. The receiver
//!   demands mac2 under load, that is, when too many handshake messages arrive. The sender makes
//!   mac2 with a *cookie*: a code that the receiver sends to this address in a *cookie reply*.

use super::entropy::{Entropy, array};
use super::key::PublicKey;
use crate::wire::handshake::{CookieReply, MAC_LEN};
use blake2::digest::consts::U16;
use blake2::digest::{Digest, KeyInit, Mac};
use blake2::{Blake2s256, Blake2sMac};
use chacha20poly1305::aead::AeadInPlace;
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use ripstop_base::Time;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use zeroize::Zeroizing;

/// How long an end uses a cookie that it received. The end that makes cookies changes its secret at
/// this interval too. 120 s is WireGuard's value. With half the value, cookies must be renewed
/// twice as often under load. With double the value, a stolen cookie works for twice as long.
pub(crate) const COOKIE_LIFE: Duration = Duration::from_secs(120);

/// A code that proves that its owner receives datagrams at an address. The owner uses the code for
/// [`COOKIE_LIFE`].
pub(crate) type Cookie = [u8; MAC_LEN];

/// The keys for the MACs of messages to the *receiver*, the owner of a public key. These keys are
/// computed from the public key alone.
#[derive(Clone)]
pub(crate) struct MacKeys {
    /// The key of mac1.
    mac1: [u8; 32],
    /// The key that encrypts cookie replies of the receiver.
    cookie: [u8; 32],
}

impl MacKeys {
    pub(crate) fn of(receiver: &PublicKey) -> MacKeys {
        let key =
            |label: &[u8]| Blake2s256::new().chain_update(label).chain_update(receiver.as_bytes()).finalize().into();
        MacKeys { mac1: key(b"Ripstop 1 mac1"), cookie: key(b"Ripstop 1 cookie") }
    }

    /// Writes the two MACs at the end of a message to the receiver. Without a cookie, mac2 is zero.
    pub(crate) fn sign(&self, message: &mut [u8], cookie: Option<&Cookie>) {
        let Some((content, macs)) = message.split_last_chunk_mut::<{ 2 * MAC_LEN }>() else { return };
        let mac1 = mac(&self.mac1, &[content]);
        macs[..MAC_LEN].copy_from_slice(&mac1);
        let mac2 = cookie.map_or([0; MAC_LEN], |cookie| mac(cookie, &[content, &mac1]));
        macs[MAC_LEN..].copy_from_slice(&mac2);
    }

    /// Whether mac1 of a message to the receiver is right. Runs in constant time.
    pub(crate) fn verify_mac1(&self, message: &[u8]) -> bool {
        let Some((content, macs)) = message.split_last_chunk::<{ 2 * MAC_LEN }>() else { return false };
        verify(&self.mac1, &[content], &macs[..MAC_LEN])
    }

    /// Decrypts the cookie in a cookie reply of the receiver. `mac1` is the mac1 of the answered
    /// message. None if the reply does not authenticate.
    pub(crate) fn open_cookie(&self, reply: &CookieReply, mac1: &[u8; MAC_LEN]) -> Option<Cookie> {
        let (sealed, tag) = reply.sealed.split_first_chunk::<MAC_LEN>()?;
        let mut cookie = *sealed;
        XChaCha20Poly1305::new(&self.cookie.into())
            .decrypt_in_place_detached(XNonce::from_slice(&reply.nonce), mac1, &mut cookie, Tag::from_slice(tag))
            .ok()?;
        Some(cookie)
    }
}

/// The mac1 of a message. A cookie reply is encrypted with the answered message's mac1 as
/// associated data, so the reply is valid for no other message.
pub(crate) fn mac1_of(message: &[u8]) -> [u8; MAC_LEN] {
    match message.split_last_chunk::<{ 2 * MAC_LEN }>() {
        Some((_, macs)) => std::array::from_fn(|i| macs[i]),
        None => [0; MAC_LEN],
    }
}

/// Makes and verifies cookies. A table of cookies is not needed: a cookie is a MAC of the sender's
/// address, made with a secret.
pub(crate) struct CookieJar {
    /// The current secret and the previous one, so that a cookie stays valid when the secret
    /// changes.
    secrets: [Zeroizing<[u8; 32]>; 2],
    /// The time at which the secret changes next.
    rotate_at: Time,
}

impl CookieJar {
    pub(crate) fn new(entropy: &mut dyn Entropy) -> CookieJar {
        let secrets = [Zeroizing::new(array(entropy)), Zeroizing::new(array(entropy))];
        CookieJar { secrets, rotate_at: Time::ZERO }
    }

    /// Whether mac2 of a message from `from` was made with a cookie that this end gave to the
    /// address `from`.
    pub(crate) fn verify_mac2(
        &mut self,
        now: Time,
        message: &[u8],
        from: SocketAddr,
        entropy: &mut dyn Entropy,
    ) -> bool {
        self.rotate(now, entropy);
        let Some((content, mac2)) = message.split_last_chunk::<MAC_LEN>() else { return false };
        // A sender without a cookie writes zeros. A code of zeros that is right has a probability of 2^-128.
        if *mac2 == [0; MAC_LEN] {
            return false;
        }
        self.secrets.iter().any(|secret| verify(&cookie(secret, from), &[content], mac2))
    }

    /// The cookie reply to a message from `from`. `receiver` is the index that the message's sender
    /// chose; `ours` are this end's MAC keys.
    pub(crate) fn reply(
        &mut self,
        now: Time,
        ours: &MacKeys,
        message: &[u8],
        receiver: u32,
        from: SocketAddr,
        entropy: &mut dyn Entropy,
    ) -> Option<CookieReply> {
        self.rotate(now, entropy);
        let nonce: [u8; 24] = array(entropy);
        let mut cookie = cookie(&self.secrets[0], from);
        let tag = XChaCha20Poly1305::new(&ours.cookie.into())
            .encrypt_in_place_detached(XNonce::from_slice(&nonce), &mac1_of(message), &mut cookie)
            .ok()?;
        let mut sealed = [0; 2 * MAC_LEN];
        sealed[..MAC_LEN].copy_from_slice(&cookie);
        sealed[MAC_LEN..].copy_from_slice(&tag);
        Some(CookieReply { receiver, nonce, sealed })
    }

    /// Changes the secret if the time for the change has come.
    fn rotate(&mut self, now: Time, entropy: &mut dyn Entropy) {
        if now >= self.rotate_at {
            self.secrets.swap(0, 1);
            self.secrets[0] = Zeroizing::new(array(entropy));
            self.rotate_at = now + COOKIE_LIFE;
        }
    }
}

/// The cookie for the address and port `from`.
fn cookie(secret: &[u8; 32], from: SocketAddr) -> Cookie {
    let port = from.port().to_be_bytes();
    match from.ip() {
        IpAddr::V4(v4) => mac(secret, &[&v4.octets(), &port]),
        IpAddr::V6(v6) => mac(secret, &[&v6.octets(), &port]),
    }
}

/// Keyed BLAKE2s with 16 bytes of output (RFC 7693).
fn keyed(key: &[u8], parts: &[&[u8]]) -> Blake2sMac<U16> {
    // Keys in this file have 16 or 32 bytes; BLAKE2s allows up to 32.
    let mut mac = <Blake2sMac<U16> as KeyInit>::new_from_slice(key).expect("a key of at most 32 bytes");
    parts.iter().for_each(|part| mac.update(part));
    mac
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; MAC_LEN] {
    keyed(key, parts).finalize().into_bytes().into()
}

fn verify(key: &[u8], parts: &[&[u8]], expected: &[u8]) -> bool {
    keyed(key, parts).verify_slice(expected).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macs_are_those_of_the_wire_format() {
        // Another implementation of BLAKE2s computed the expected codes. The bytes of the key are
        // 0, 1, .. 31, those of the content 0, 1, .. 99, and those of the cookie 200, 201, .. 215.
        let keys = MacKeys::of(&PublicKey::from_bytes(std::array::from_fn(|i| i as u8)));
        let mut message: Vec<u8> = (0..100).collect();
        message.resize(132, 0xff);
        keys.sign(&mut message, Some(&std::array::from_fn(|i| 200 + i as u8)));
        let hex: String = message[100..].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "70381e4f25634e914dbaf54a861e17cac54c2e42e862ad86c0852f7272892fe1");
        keys.sign(&mut message, None);
        assert!(keys.verify_mac1(&message));
        assert_eq!(message[116..], [0; 16]);
    }
}
