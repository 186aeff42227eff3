//! The datagrams of a handshake: initiation, response, cookie reply. Each of them has a fixed
//! layout. [`crate::secure`] encrypts and decrypts the Noise messages inside them.
//!
//! In a handshake, each end chooses a random number, its *receiver index*. The peer writes this
//! index into each datagram that it sends, so that the receiving end finds the datagram's session.
//!
//! Initiation and response end with two message authentication codes, mac1 and mac2. The module
//! `mac` of [`crate::secure`] describes them and the *cookie* that mac2 needs.

use super::bytes::{Malformed, Reader, Writer};
use std::time::Duration;

/// The version of the protocol.
pub const VERSION: u8 = 3;
/// The length of a message authentication code, and of a cookie, bytes.
pub const MAC_LEN: usize = 16;
/// The length of the header of an initiation, bytes. The header is the Noise prologue: it is
/// authenticated, but not encrypted.
pub const INITIATION_HEADER_LEN: usize = 8;
/// The length of Noise message 1 (ephemeral key, sealed static key, sealed [`Hello`]), bytes.
pub const NOISE_1_LEN: usize = 32 + 48 + 16 + Hello::LEN;
/// The length of Noise message 2 (ephemeral key, sealed [`Hello`]), bytes.
pub const NOISE_2_LEN: usize = 32 + 16 + Hello::LEN;
/// The length of an initiation, bytes. A response is shorter. So an attacker who sends initiations
/// with a victim's source address cannot amplify traffic to the victim.
pub const INITIATION_LEN: usize = INITIATION_HEADER_LEN + NOISE_1_LEN + 2 * MAC_LEN;
/// The length of a response, bytes.
pub const RESPONSE_LEN: usize = 12 + NOISE_2_LEN + 2 * MAC_LEN;
/// The length of a cookie reply, bytes.
pub const COOKIE_REPLY_LEN: usize = 8 + 24 + MAC_LEN + 16;

/// The bit in the suite code of an initiation that says that the handshake uses a pre-shared key.
pub const PRESHARED: u8 = 0x10;

/// Type byte of an initiation.
pub const INITIATION: u8 = 0x01;
/// Type byte of a response.
pub const RESPONSE: u8 = 0x02;
/// Type byte of a cookie reply.
pub const COOKIE_REPLY: u8 = 0x03;

/// The first message of a handshake, from the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initiation<'a> {
    /// Code of the cipher suite: 1 AES-256-GCM, 2 ChaCha20-Poly1305; plus [`PRESHARED`] if the
    /// handshake uses a pre-shared key.
    pub suite: u8,
    /// The initiator's receiver index. The response and the responder's datagrams carry this index.
    pub sender: u32,
    /// Noise message 1.
    pub noise: &'a [u8; NOISE_1_LEN],
}

impl<'a> Initiation<'a> {
    /// The header's bytes. They are also the Noise prologue.
    pub fn header(suite: u8, sender: u32) -> [u8; INITIATION_HEADER_LEN] {
        let s = sender.to_be_bytes();
        [INITIATION, suite, VERSION, 0, s[0], s[1], s[2], s[3]]
    }

    /// Writes the datagram with zero MACs.
    pub fn to_bytes(&self) -> [u8; INITIATION_LEN] {
        let mut bytes = [0; INITIATION_LEN];
        bytes[..INITIATION_HEADER_LEN].copy_from_slice(&Self::header(self.suite, self.sender));
        bytes[INITIATION_HEADER_LEN..][..NOISE_1_LEN].copy_from_slice(self.noise);
        bytes
    }

    /// Parses a datagram of exactly [`INITIATION_LEN`] bytes. The caller checks the suite and the
    /// MACs.
    ///
    /// # Errors
    /// The datagram does not have this layout.
    pub fn parse(datagram: &'a [u8]) -> Result<Initiation<'a>, Malformed> {
        let mut r = Reader::new(datagram);
        let [kind, suite, version, zero] = r.array("type")?;
        if kind != INITIATION {
            return Err(Malformed::Type(kind));
        }
        if version != VERSION {
            return Err(Malformed::Value("version"));
        }
        if zero != 0 {
            return Err(Malformed::Form("type"));
        }
        let sender = u32::from_be_bytes(r.array("sender index")?);
        let noise = noise(&mut r)?;
        Ok(Initiation { suite, sender, noise })
    }
}

/// The second message of a handshake, from the responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The responder's receiver index. The initiator's datagrams carry this index.
    pub sender: u32,
    /// The initiator's receiver index, from the initiation.
    pub receiver: u32,
    /// Noise message 2.
    pub noise: &'a [u8; NOISE_2_LEN],
}

impl<'a> Response<'a> {
    /// Writes the datagram with zero MACs.
    pub fn to_bytes(&self) -> [u8; RESPONSE_LEN] {
        let mut bytes = [0; RESPONSE_LEN];
        bytes[0] = RESPONSE;
        bytes[4..8].copy_from_slice(&self.sender.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.receiver.to_be_bytes());
        bytes[12..][..NOISE_2_LEN].copy_from_slice(self.noise);
        bytes
    }

    /// Parses a datagram of exactly [`RESPONSE_LEN`] bytes.
    ///
    /// # Errors
    /// The datagram does not have this layout.
    pub fn parse(datagram: &'a [u8]) -> Result<Response<'a>, Malformed> {
        let mut r = Reader::new(datagram);
        typed(&mut r, RESPONSE)?;
        let sender = u32::from_be_bytes(r.array("sender index")?);
        let receiver = u32::from_be_bytes(r.array("receiver index")?);
        let noise = noise(&mut r)?;
        Ok(Response { sender, receiver, noise })
    }
}

/// The answer to a handshake message from an end that receives too many of them. The sender of the
/// message must repeat the message, with a mac2 made from the cookie. The mac2 proves that the
/// sender receives datagrams at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieReply {
    /// The field `sender` of the answered message.
    pub receiver: u32,
    /// The nonce of XChaCha20-Poly1305.
    pub nonce: [u8; 24],
    /// The encrypted cookie.
    pub sealed: [u8; MAC_LEN + 16],
}

impl CookieReply {
    /// Writes the datagram.
    pub fn to_bytes(&self) -> [u8; COOKIE_REPLY_LEN] {
        let mut bytes = [0; COOKIE_REPLY_LEN];
        bytes[0] = COOKIE_REPLY;
        bytes[4..8].copy_from_slice(&self.receiver.to_be_bytes());
        bytes[8..32].copy_from_slice(&self.nonce);
        bytes[32..].copy_from_slice(&self.sealed);
        bytes
    }

    /// Parses a datagram of exactly [`COOKIE_REPLY_LEN`] bytes.
    ///
    /// # Errors
    /// The datagram does not have this layout.
    pub fn parse(datagram: &[u8]) -> Result<CookieReply, Malformed> {
        let mut r = Reader::new(datagram);
        typed(&mut r, COOKIE_REPLY)?;
        let receiver = u32::from_be_bytes(r.array("receiver index")?);
        let (nonce, sealed) = (r.array("nonce")?, r.array("cookie")?);
        r.end()?;
        Ok(CookieReply { receiver, nonce, sealed })
    }
}

/// The encrypted payload of an initiation and of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The sender's instance: a number that is drawn at random when the sender adds the peer. A new
    /// instance means that the sender has restarted, and that the sender's datagram numbers begin
    /// at 0 again.
    pub instance: [u8; 8],
    /// The receiver's instance as the sender knows it. Zeros if the sender does not know this
    /// instance.
    pub peer_instance: [u8; 8],
    /// The full number of the next datagram from the sender to `peer_instance`. If `peer_instance`
    /// is the receiver's own instance, the receiver completes truncated numbers with this number.
    pub next_number: u64,
    /// The largest inner packet that the sender of the message accepts, bytes.
    pub inner_mtu: u16,
    /// What the sender supports and does. The upper 16 bits are the interval of the sender's keep-alives in seconds; see
    /// [`keepalive_of`]. Each of the lower 16 bits stands for an extension. An end ignores bits that it does not know.
    pub capabilities: u32,
    /// The order of initiations. In an initiation: larger than in all earlier initiations of this
    /// sender to this peer, also across restarts if the sender's wall clock is right. In a
    /// response: the stamp of the answered initiation. If the initiation is refused because the
    /// responder has received a larger stamp, the response carries that larger stamp.
    pub stamp: u64,
}

/// The bits of [`Hello::capabilities`] that announce keep-alives in this interval. Parts of a second are rounded up. An
/// interval above 65 535 s is announced as 65 535 s.
pub fn keepalive_bits(interval: Option<Duration>) -> u32 {
    interval.map_or(0, |interval| (interval.as_secs_f64().ceil() as u32).clamp(1, 0xffff) << 16)
}

/// The interval of the keep-alives that these [`Hello::capabilities`] announce. None: no keep-alives.
pub fn keepalive_of(capabilities: u32) -> Option<Duration> {
    let seconds = capabilities >> 16;
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

impl Hello {
    /// The length of the payload, bytes.
    pub const LEN: usize = 8 + 8 + 8 + 2 + 4 + 8;

    /// The payload's bytes.
    pub fn to_bytes(&self) -> [u8; Hello::LEN] {
        let mut bytes = [0; Hello::LEN];
        // The buffer has exactly the needed length, so `Writer::new` succeeds.
        if let Ok(mut w) = Writer::new(&mut bytes, Hello::LEN) {
            w.bytes(&self.instance);
            w.bytes(&self.peer_instance);
            w.uint::<8>(self.next_number);
            w.uint::<2>(u64::from(self.inner_mtu));
            w.uint::<4>(u64::from(self.capabilities));
            w.uint::<8>(self.stamp);
            w.finish();
        }
        bytes
    }

    /// Parses a payload.
    ///
    /// # Errors
    /// The payload does not have this layout.
    pub fn parse(bytes: &[u8]) -> Result<Hello, Malformed> {
        let mut r = Reader::new(bytes);
        let hello = Hello {
            instance: r.array("instance")?,
            peer_instance: r.array("peer instance")?,
            next_number: u64::from_be_bytes(r.array("next number")?),
            inner_mtu: u16::from_be_bytes(r.array("inner MTU")?),
            capabilities: u32::from_be_bytes(r.array("capabilities")?),
            stamp: u64::from_be_bytes(r.array("stamp")?),
        };
        r.end()?;
        Ok(hello)
    }
}

/// Reads the type byte `kind` and three zero bytes.
fn typed(r: &mut Reader<'_>, kind: u8) -> Result<(), Malformed> {
    let [got, zeros @ ..] = r.array::<4>("type")?;
    match (got == kind, zeros) {
        (true, [0, 0, 0]) => Ok(()),
        (true, _) => Err(Malformed::Form("type")),
        (false, _) => Err(Malformed::Type(got)),
    }
}

/// Reads a Noise message of fixed length. Skips the two MACs after the message, which
/// [`crate::secure`] checks.
fn noise<'a, const N: usize>(r: &mut Reader<'a>) -> Result<&'a [u8; N], Malformed> {
    let noise = r.take(N, "Noise message")?.first_chunk().ok_or(Malformed::Short("Noise message"))?;
    r.take(2 * MAC_LEN, "MACs")?;
    r.end()?;
    Ok(noise)
}
