//! What goes into [`super::Peers`] and what comes out: settings, events, verdicts, counters.

use super::aead::Suite;
use super::{PeerId, PublicKey};
use crate::wire::{Kind, Malformed};
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;
use thiserror::Error;

/// Settings of an end. The defaults suit everybody; tests and small machines may want others.
#[derive(Clone, Debug, PartialEq)]
pub struct SecureConfig {
    /// The cipher suite to propose. Both are accepted from others.
    pub suite: Suite,
    /// The largest inner packet that this end takes, bytes; told to peers.
    pub inner_mtu: u16,
    /// Extensions that this end understands; told to peers. None is defined.
    pub capabilities: u32,
    /// Age at which the end that started a key renews it; the other end does 15 s later.
    pub rekey_after: Duration,
    /// Age at which a key is dead.
    pub reject_after: Duration,
    /// Datagrams sealed by a key after which it is renewed.
    pub rekey_messages: u64,
    /// Datagrams sealed by a key after which it seals no more. With packets below 2^11 bytes, AES-GCM stays
    /// within an advantage of 2^-57 up to 2^28 of them (RFC 9001, appendix B.1.1).
    pub reject_messages: u64,
    /// Wait for an answer before the first message of a handshake is repeated; it grows by half each time.
    pub first_retry: Duration,
    /// What that wait grows to.
    pub max_retry: Duration,
    /// How long a handshake goes unanswered until the peer is reported unreachable.
    pub unreachable_after: Duration,
    /// Handshakes from anybody in a second; beyond it a cookie is demanded. About 200 us of CPU each.
    pub handshakes_per_second: u32,
    /// Handshakes in a second from one address, when a cookie is demanded.
    pub handshakes_per_address: u32,
}

impl Default for SecureConfig {
    fn default() -> SecureConfig {
        SecureConfig {
            suite: Suite::preferred(),
            inner_mtu: 1436,
            capabilities: 0,
            rekey_after: Duration::from_secs(120),
            reject_after: Duration::from_secs(180),
            rekey_messages: 1 << 27,
            reject_messages: 1 << 28,
            first_retry: Duration::from_millis(250),
            max_retry: Duration::from_secs(3),
            unreachable_after: Duration::from_secs(5),
            handshakes_per_second: 100,
            handshakes_per_address: 10,
        }
    }
}

/// How long a peer may leave unanswered what asks for an answer before the caller should start a new
/// handshake with [`super::Peers::connect`]: max(1 s, 4 RTT).
pub fn silence_limit(rtt: Duration) -> Duration {
    rtt.saturating_mul(4).max(Duration::from_secs(1))
}

/// Something that the caller may want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecureEvent {
    /// New keys are in use.
    Established {
        /// With whom.
        peer: PeerId,
        /// The peer's numbers and ours begin anew when it differs from the one before.
        epoch: u64,
        /// This end started the handshake: it must now seal something, a probe if there is nothing else,
        /// because the peer moves to the new keys when it hears them.
        initiator: bool,
        /// The cipher suite.
        suite: Suite,
        /// The largest inner packet that the peer takes, bytes.
        peer_mtu: u16,
        /// The extensions that the peer understands.
        peer_capabilities: u32,
    },
    /// A handshake with the peer has gone unanswered for long. Said once; it is tried on for ever.
    Unreachable {
        /// Who does not answer.
        peer: PeerId,
        /// For how long.
        silent_for: Duration,
    },
    /// The peer that was unreachable has answered.
    Reachable {
        /// Who answers again.
        peer: PeerId,
    },
    /// The peer's datagrams come from another address now, and ours go there.
    Roamed {
        /// Who moved.
        peer: PeerId,
        /// Where from; None when the peer had no address yet.
        from: Option<SocketAddr>,
        /// Where to.
        to: SocketAddr,
    },
}

/// What became of a received datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// It is authentic and new; its body lies open in the buffer.
    Transport {
        /// Who sent it.
        peer: PeerId,
        /// Which run of numbers it belongs to.
        epoch: u64,
        /// Its number.
        number: u64,
        /// What its body is.
        kind: Kind,
        /// Where in the buffer the body is.
        body: Range<usize>,
    },
    /// It was part of a handshake with a peer, and has been dealt with.
    Handshake {
        /// With whom.
        peer: PeerId,
    },
    /// It was dropped, and counted.
    Rejected(Rejected),
}

/// Why a received datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Rejected {
    /// It is no datagram of this protocol.
    #[error("malformed datagram: {0}")]
    Malformed(Malformed),
    /// No session has its receiver index: a stray from an earlier session, or a guess.
    #[error("no session has this receiver index")]
    NoSession,
    /// It does not authenticate: damaged or forged.
    #[error("the datagram does not authenticate")]
    Forged,
    /// Its number was received before.
    #[error("replay of datagram {0}")]
    Replayed(u64),
    /// Its number lies below the replay window.
    #[error("datagram {0} is older than the replay window")]
    TooOld(u64),
    /// Its key is too old.
    #[error("the key has expired")]
    Expired,
    /// The cipher suite is unknown.
    #[error("unknown cipher suite {0}")]
    Suite(u8),
    /// mac1 is not for our key: the sender does not know whom it talks to.
    #[error("handshake message for another key")]
    Mac1,
    /// A cookie was demanded, because there are too many handshakes.
    #[error("under load: a cookie is demanded")]
    CookieDemanded,
    /// Too many handshakes from this address.
    #[error("too many handshakes from this address")]
    AddressLimit,
    /// The Noise message does not open: damaged, forged, or for another key.
    #[error("the handshake message does not authenticate")]
    HandshakeForged,
    /// The initiation is authentic, but from somebody that is no peer.
    #[error("handshake from {0}, which is no peer")]
    UnknownPeer(PublicKey),
    /// The initiation was received before, or is from before what we have.
    #[error("replay of an initiation")]
    HandshakeReplayed,
    /// A response or cookie to nothing that we sent.
    #[error("answer to a handshake that is not under way")]
    Unsolicited,
}

impl Rejected {
    /// Names of the reasons, in the order of [`SecureCounters::rejected`].
    pub const NAMES: [&'static str; 14] = [
        "malformed",
        "no_session",
        "forged",
        "replayed",
        "too_old",
        "expired",
        "suite",
        "mac1",
        "cookie_demanded",
        "address_limit",
        "handshake_forged",
        "unknown_peer",
        "handshake_replayed",
        "unsolicited",
    ];

    /// The reason's place in [`Rejected::NAMES`].
    pub fn index(&self) -> usize {
        match self {
            Rejected::Malformed(_) => 0,
            Rejected::NoSession => 1,
            Rejected::Forged => 2,
            Rejected::Replayed(_) => 3,
            Rejected::TooOld(_) => 4,
            Rejected::Expired => 5,
            Rejected::Suite(_) => 6,
            Rejected::Mac1 => 7,
            Rejected::CookieDemanded => 8,
            Rejected::AddressLimit => 9,
            Rejected::HandshakeForged => 10,
            Rejected::UnknownPeer(_) => 11,
            Rejected::HandshakeReplayed => 12,
            Rejected::Unsolicited => 13,
        }
    }
}

/// Why a datagram could not be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SealError {
    /// There is no usable key; a handshake is under way if the peer's address is known.
    #[error("no session with the peer yet")]
    NoSession,
    /// The peer has restarted since: the session of this epoch is over.
    #[error("the session is of epoch {given}, the peer's is {current}")]
    Epoch {
        /// The epoch given.
        given: u64,
        /// The epoch now.
        current: u64,
    },
    /// The number, or a higher one, was used before. Sealing it again would give away the key stream.
    #[error("datagram number {given} was used; the next is {next}")]
    Number {
        /// The number given.
        given: u64,
        /// The lowest that may be used.
        next: u64,
    },
    /// The buffer has no room for header and tag.
    #[error("a datagram of {0} bytes has no room for header and tag")]
    Buffer(usize),
}

/// A datagram to send: part of a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecureTransmit {
    /// Where to.
    pub to: SocketAddr,
    /// What.
    pub contents: Vec<u8>,
}

/// What happened so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecureCounters {
    /// Datagrams sealed.
    pub sealed: u64,
    /// Datagrams opened.
    pub opened: u64,
    /// Opened datagrams that a superseded key opened.
    pub opened_by_old_key: u64,
    /// Received datagrams dropped, by reason: [`Rejected::NAMES`].
    pub rejected: [u64; Rejected::NAMES.len()],
    /// Handshakes started.
    pub initiations: u64,
    /// Initiations sent again.
    pub initiations_repeated: u64,
    /// Initiations answered.
    pub responses: u64,
    /// Responses sent again.
    pub responses_repeated: u64,
    /// Handshakes completed, in either role.
    pub established: u64,
    /// Of these, with a peer that already had a session: keys renewed.
    pub renewed: u64,
    /// Of these, such that numbers began anew.
    pub epochs: u64,
    /// Both ends started at once, and the other end's handshake did not displace ours.
    pub crossed: u64,
    /// Cookies given.
    pub cookies_given: u64,
    /// Cookies received.
    pub cookies_received: u64,
    /// Peers that moved to another address.
    pub roamed: u64,
}
