//! The two messages of the Noise IK and IKpsk2 handshakes, with entropy as an argument. IKpsk2 mixes
//! a pre-shared key into the second message.
//!
//! The crate `snow` implements the handshake. `snow` needs random bytes only for the ephemeral key,
//! and asks a *resolver* for these bytes. The resolver here gives `snow` 32 bytes of the caller's
//! entropy, and refuses a second request. `snow` does not overwrite its own copies of ephemeral
//! keys in memory. A handshake state exists for half a minute at most.

use super::aead::{Key, Suite};
use super::entropy::{Entropy, array};
use super::key::{PresharedKey, PrivateKey, PublicKey};
use crate::wire::handshake::{Hello, NOISE_1_LEN, NOISE_2_LEN};
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error, HandshakeState};
use zeroize::{Zeroize, Zeroizing};

/// The keys of a finished handshake.
pub(crate) struct Keys {
    /// Encrypts the datagrams that this end sends.
    pub(crate) seal: Key,
    /// Decrypts the datagrams that this end receives.
    pub(crate) open: Key,
}

/// Starts a handshake with `peer`. Returns the handshake state, which [`finish`] needs, and the first
/// message, which contains `hello`, encrypted. The responder must use the same `prologue`.
pub(crate) fn initiate(
    suite: Suite,
    own: &PrivateKey,
    (peer, preshared): (&PublicKey, Option<&PresharedKey>),
    prologue: &[u8],
    hello: &Hello,
    entropy: &mut dyn Entropy,
) -> Result<(HandshakeState, [u8; NOISE_1_LEN]), Error> {
    let builder = builder((suite, preshared.is_some()), own, prologue, entropy)?;
    let mut state = builder.remote_public_key(peer.as_bytes())?.build_initiator()?;
    mix(&mut state, preshared)?;
    let mut message = [0; NOISE_1_LEN];
    let len = state.write_message(&hello.to_bytes(), &mut message)?;
    debug_assert_eq!(len, NOISE_1_LEN);
    Ok((state, message))
}

/// A decrypted initiation: the handshake state, the sender's key, and the payload.
pub(crate) struct Opened {
    pub(crate) state: HandshakeState,
    pub(crate) peer: PublicKey,
    pub(crate) hello: Hello,
}

/// Decrypts message 1 of a handshake with or without a pre-shared key. Costs two curve
/// multiplications.
pub(crate) fn open_initiation(
    suite: (Suite, bool),
    own: &PrivateKey,
    prologue: &[u8],
    message: &[u8; NOISE_1_LEN],
    entropy: &mut dyn Entropy,
) -> Result<Opened, Error> {
    let mut state = builder(suite, own, prologue, entropy)?.build_responder()?;
    let mut payload = [0; NOISE_1_LEN];
    let len = state.read_message(message, &mut payload)?;
    let peer = state.get_remote_static().and_then(|key| key.try_into().ok()).ok_or(Error::Input)?;
    let hello = Hello::parse(&payload[..len]).map_err(|_| Error::Input)?;
    Ok(Opened { state, peer: PublicKey::from_bytes(peer), hello })
}

/// Answers a decrypted initiation. Returns message 2 and the keys. Costs two curve multiplications
/// and the generation of a key pair.
pub(crate) fn respond(
    suite: Suite,
    mut state: HandshakeState,
    preshared: Option<&PresharedKey>,
    hello: &Hello,
) -> Result<([u8; NOISE_2_LEN], Keys), Error> {
    mix(&mut state, preshared)?;
    let mut message = [0; NOISE_2_LEN];
    let len = state.write_message(&hello.to_bytes(), &mut message)?;
    debug_assert_eq!(len, NOISE_2_LEN);
    let keys = split(suite, &mut state);
    Ok((message, keys))
}

/// Decrypts message 2. A message that does not authenticate leaves the state unchanged.
pub(crate) fn finish(
    suite: Suite,
    state: &mut HandshakeState,
    message: &[u8; NOISE_2_LEN],
) -> Result<(Hello, Keys), Error> {
    let mut payload = [0; NOISE_2_LEN];
    let len = state.read_message(message, &mut payload)?;
    let hello = Hello::parse(&payload[..len]).map_err(|_| Error::Input)?;
    Ok((hello, split(suite, state)))
}

/// The two keys of a finished handshake, for this end.
fn split(suite: Suite, state: &mut HandshakeState) -> Keys {
    let (mut first, mut second) = state.dangerously_get_raw_split();
    let (from_initiator, from_responder) = (Key::new(suite, &first), Key::new(suite, &second));
    first.zeroize();
    second.zeroize();
    if state.is_initiator() {
        Keys { seal: from_initiator, open: from_responder }
    } else {
        Keys { seal: from_responder, open: from_initiator }
    }
}

/// Gives the handshake its pre-shared key, which message 2 mixes into the keys.
fn mix(state: &mut HandshakeState, preshared: Option<&PresharedKey>) -> Result<(), Error> {
    preshared.map_or(Ok(()), |key| state.set_psk(2, key.as_bytes()))
}

fn builder<'a>(
    (suite, preshared): (Suite, bool),
    own: &'a PrivateKey,
    prologue: &'a [u8],
    entropy: &mut dyn Entropy,
) -> Result<Builder<'a>, Error> {
    let resolver = Resolver { ephemeral: Zeroizing::new(array(entropy)) };
    let params = suite.noise_name(preshared).parse()?;
    Builder::with_resolver(params, Box::new(resolver)).local_private_key(own.as_bytes())?.prologue(prologue)
}

/// Tells `snow` which implementations to use: its default implementations for X25519 and BLAKE2s,
/// `ring` for the ciphers, and the caller's bytes as random bytes.
struct Resolver {
    ephemeral: Zeroizing<[u8; 32]>,
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Once(Some(self.ephemeral.clone()))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        #[cfg(fuzzing)]
        return matches!(choice, DHChoice::Curve25519).then(|| Box::<super::toy::ToyDh>::default() as Box<dyn Dh>);
        #[cfg(not(fuzzing))]
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        RingResolver.resolve_cipher(choice)
    }
}

/// A source of random bytes that answers only one request. All further requests fail, so that no
/// ephemeral key is used twice.
struct Once(Option<Zeroizing<[u8; 32]>>);

impl Random for Once {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
        match self.0.take() {
            Some(bytes) if dest.len() == bytes.len() => {
                dest.copy_from_slice(&*bytes);
                Ok(())
            }
            _ => Err(Error::Rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::handshake::Initiation;
    use ripstop_base::Seed;

    const HELLO: Hello =
        Hello { instance: [1; 8], peer_instance: [2; 8], next_number: 3, inner_mtu: 1400, capabilities: 0, stamp: 4 };

    #[test]
    fn our_keys_are_what_snow_would_use() {
        for suite in [Suite::Aes256Gcm, Suite::ChaCha20Poly1305] {
            let mut entropy = Seed::new(1).stream("noise");
            let (a, b) = (PrivateKey::generate(&mut entropy), PrivateKey::generate(&mut entropy));
            let prologue = Initiation::header(suite as u8, 77);
            let (mut ours, first) = initiate(suite, &a, (&b.public(), None), &prologue, &HELLO, &mut entropy).unwrap();
            // The other end calls `snow` directly, and has an ephemeral key of its own.
            let resolver = Resolver { ephemeral: Zeroizing::new([5; 32]) };
            let mut theirs = Builder::with_resolver(suite.noise_name(false).parse().unwrap(), Box::new(resolver))
                .local_private_key(b.as_bytes())
                .unwrap()
                .prologue(&prologue)
                .unwrap()
                .build_responder()
                .unwrap();
            let mut payload = [0; 200];
            let len = theirs.read_message(&first, &mut payload).unwrap();
            assert_eq!(Hello::parse(&payload[..len]), Ok(HELLO));
            assert_eq!(theirs.get_remote_static(), Some(&a.public().as_bytes()[..]));
            let mut second = [0; NOISE_2_LEN];
            theirs.write_message(&HELLO.to_bytes(), &mut second).unwrap();
            let (hello, keys) = finish(suite, &mut ours, &second).unwrap();
            assert_eq!(hello, HELLO);
            let theirs = theirs.into_stateless_transport_mode().unwrap();
            for number in [0, 1, 0x0102_0304_0506_0708] {
                let mut sealed = [0; 21];
                theirs.write_message(number, b"hello", &mut sealed).unwrap();
                assert_eq!(keys.open.open(number, &[], &mut sealed).map(|body| &*body), Some(&b"hello"[..]));
                let mut body = *b"reply";
                let tag = keys.seal.seal(number, &[], &mut body).unwrap();
                let sealed = [&body[..], &tag].concat();
                let len = theirs.read_message(number, &sealed, &mut payload).unwrap();
                assert_eq!(&payload[..len], b"reply");
            }
        }
    }

    #[test]
    fn a_wrong_prologue_or_key_does_not_open() {
        let mut entropy = Seed::new(2).stream("noise");
        let suite = Suite::ChaCha20Poly1305;
        let (a, b) = (PrivateKey::generate(&mut entropy), PrivateKey::generate(&mut entropy));
        let (_, message) = initiate(suite, &a, (&b.public(), None), b"one", &HELLO, &mut entropy).unwrap();
        let mut opens = |suite, preshared, own: &PrivateKey, prologue: &[u8]| {
            open_initiation((suite, preshared), own, prologue, &message, &mut entropy).is_ok()
        };
        assert!(!opens(suite, false, &b, b"two"));
        assert!(!opens(suite, false, &a, b"one"));
        assert!(!opens(suite, true, &b, b"one"));
        assert!(!opens(Suite::Aes256Gcm, false, &b, b"one"));
        assert!(opens(suite, false, &b, b"one"));
    }

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
    }

    /// Checks one published vector: the handshake's messages, its hash, and the datagrams under its
    /// keys. The test uses this module's resolver, and `Key` for the datagrams.
    fn check_vector(vector: &str) {
        let field = |name: &str| vector.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let key = |name: &str| -> [u8; 32] { hex(field(name).unwrap()).try_into().unwrap() };
        let name = field("protocol_name").unwrap();
        let preshared = field("init_psk").map(|_| PresharedKey::from_bytes(key("init_psk")));
        let suite = [Suite::Aes256Gcm, Suite::ChaCha20Poly1305]
            .into_iter()
            .find(|suite| suite.noise_name(preshared.is_some()) == name)
            .expect("a protocol of this module");
        let end = |who: &str| {
            let resolver = Resolver { ephemeral: Zeroizing::new(key(&format!("{who}_ephemeral"))) };
            let (own, prologue) = (key(&format!("{who}_static")), hex(field(&format!("{who}_prologue")).unwrap()));
            let builder = Builder::with_resolver(name.parse().unwrap(), Box::new(resolver));
            let builder = builder.local_private_key(&own).unwrap().prologue(&prologue).unwrap();
            let mut state = match who {
                "init" => builder.remote_public_key(&key("init_remote_static")).unwrap().build_initiator().unwrap(),
                _ => builder.build_responder().unwrap(),
            };
            mix(&mut state, preshared.as_ref()).unwrap();
            state
        };
        let (mut initiator, mut responder) = (end("init"), end("resp"));
        let messages = vector.lines().filter_map(|line| line.strip_prefix("message ")?.split_once(' '));
        let messages: Vec<(Vec<u8>, Vec<u8>)> = messages.map(|(plain, sealed)| (hex(plain), hex(sealed))).collect();
        assert_eq!(messages.len(), 6);
        let (mut made, mut read) = ([0; 300], [0; 300]);
        for (n, (payload, ciphertext)) in messages[..2].iter().enumerate() {
            let (from, to) = if n == 0 { (&mut initiator, &mut responder) } else { (&mut responder, &mut initiator) };
            let len = from.write_message(payload, &mut made).unwrap();
            assert_eq!(made[..len], ciphertext[..], "{name}, message {n}");
            let len = to.read_message(ciphertext, &mut read).unwrap();
            assert_eq!(read[..len], payload[..]);
        }
        assert_eq!(initiator.get_handshake_hash(), hex(field("handshake_hash").unwrap()));
        let (ours, theirs) = (split(suite, &mut initiator), split(suite, &mut responder));
        for (n, (payload, ciphertext)) in messages[2..].iter().enumerate() {
            let (from, to) = if n % 2 == 0 { (&ours, &theirs) } else { (&theirs, &ours) };
            let (number, mut body) = (n as u64 / 2, payload.clone());
            let tag = from.seal.seal(number, &[], &mut body).unwrap();
            body.extend_from_slice(&tag);
            assert_eq!(&body, ciphertext, "{name}, datagram {n}");
            assert_eq!(to.open.open(number, &[], &mut body).unwrap(), payload);
        }
    }

    #[test]
    fn published_vectors_are_met() {
        let file = include_str!("../../tests/vectors/noise.txt");
        let vectors: Vec<&str> = file.split("\n\n").filter(|text| text.starts_with("protocol_name")).collect();
        assert_eq!(vectors.len(), 4);
        vectors.into_iter().for_each(check_vector);
    }

    #[test]
    fn ephemeral_keys_are_given_once() {
        let mut once = Once(Some(Zeroizing::new([7; 32])));
        let mut bytes = [0; 32];
        assert!(once.try_fill_bytes(&mut bytes).is_ok() && bytes == [7; 32]);
        assert!(once.try_fill_bytes(&mut bytes).is_err());
        assert!(Once(Some(Zeroizing::new([7; 32]))).try_fill_bytes(&mut [0; 16]).is_err());
    }
}
