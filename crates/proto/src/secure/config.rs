//! The public types of [`super::Peers`]: settings, events, results for received datagrams, errors,
//! counters.
//!
//! `mod.rs` explains *seal*, *epoch* and *receiver index*. A handshake message ends with two codes,
//! mac1 and mac2. The code mac1 proves that the sender knows the receiver's public key. The code
//! mac2 proves that the sender has a *cookie*. A cookie is a code that the receiver sent to the
//! sender's address shortly before.

use super::aead::Suite;
use super::{PeerId, PublicKey};
use crate::wire::{Kind, Malformed};
use ripstop_base::counters;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;
use thiserror::Error;

/// Settings of handshakes and keys. The defaults suit every link; tests and slow machines may need
/// other values.
#[derive(Clone, Debug, PartialEq)]
pub struct SecureConfig {
    /// The cipher suite that this end proposes. This end accepts both suites from a peer.
    pub suite: Suite,
    /// The largest inner packet that this end accepts, bytes. The handshake announces this value to
    /// the peer.
    pub inner_mtu: u16,
    /// The extensions that this end understands, as bits. The handshake announces the lower 16 bits to the peer. The upper
    /// 16 bits announce keep-alives ([`super::Peers::set_keepalive`]).
    pub capabilities: u32,
    /// The wall clock (UTC since 1970) at the time zero of the caller's clock. Initiations carry this
    /// time, so that a peer refuses recorded initiations also after a restart of either end. Only
    /// the order matters: a wrong clock costs one more round trip, when it has gone back since the
    /// last run.
    pub wall_clock: Duration,
    /// The age at which a key is renewed by a new handshake. The end that started the key's
    /// handshake renews the key when this end seals a datagram with a key of this age. The other
    /// end renews the key when the key is 15 s older, if the key has not been renewed by then. So
    /// both ends rarely start a handshake at the same time.
    pub rekey_after: Duration,
    /// The age at which a key stops sealing and opening datagrams.
    pub reject_after: Duration,
    /// How many datagrams a key seals before it is renewed.
    pub rekey_messages: u64,
    /// The largest number of datagrams that a key seals. With packets below 2^11 bytes, an
    /// attacker's advantage against AES-GCM stays below 2^-57 for 2^28 datagrams (RFC 9001,
    /// appendix B.1.1).
    pub reject_messages: u64,
    /// How long this end waits for a response before it sends the initiation again. Each further
    /// wait is longer by half, up to `max_retry`. A random time of up to a quarter of the wait is
    /// added to each wait.
    pub first_retry: Duration,
    /// The longest wait for a response before the initiation is sent again, without the random
    /// addition.
    pub max_retry: Duration,
    /// How long a peer leaves handshakes unanswered before [`SecureEvent::Unreachable`] reports the
    /// peer.
    pub unreachable_after: Duration,
    /// How many handshake messages per second this end processes without a cookie. When more
    /// messages arrive, this end is *under load* and demands cookies. A handshake costs about 200
    /// us of CPU.
    pub handshakes_per_second: u32,
    /// How many handshake messages per second this end processes while it is under load, from all
    /// addresses that are no peer's. These messages must carry a valid cookie. 1000 messages take a
    /// fifth of a CPU core. With half the value, a thousand peers that restart at the same time
    /// connect within 2 s instead of 1 s. With double the value, strangers may take twice the CPU
    /// time.
    pub handshakes_with_cookie: u32,
    /// How many messages with a cookie per second from one address (for IPv6, one /64) this end
    /// processes while it is under load. The address of a peer has this limit and no other, so that
    /// strangers cannot keep the peer out.
    pub handshakes_per_address: u32,
    /// How many messages with a cookie per second from one network (an IPv4 /24, an IPv6 /48) this
    /// end processes while it is under load, without those from the addresses of peers. The network
    /// gets as many cookies ([`SecureConfig::replies_per_prefix`]). With half the value, a network
    /// with many peers connects half as fast under load. With double the value, five networks of
    /// strangers suffice to use up `handshakes_with_cookie`.
    pub handshakes_per_network: u32,
    /// How many new handshakes per second this end completes with one peer, whichever end starts them. Repetitions do not
    /// count. When the limit is reached, datagrams under new keys are refused until a handshake is earned, and this end's
    /// own initiations wait. So a handshake is late, but not lost. A peer renews its keys every
    /// [`SecureConfig::rekey_after`], and starts at most one handshake in 5 s because of a silence. With half the value, a
    /// peer that restarts more than [`SecureConfig::handshakes_saved`] times in a row waits for up to 2 s at each restart.
    /// With double the value, a hostile peer can begin twice as many sessions.
    pub handshakes_per_peer: u32,
    /// How many of these handshakes a peer may save up. With half the value, a peer that restarts ten times within 10 s
    /// waits. With double the value, a hostile peer can begin twice as many sessions at once.
    pub handshakes_saved: u32,
    /// How many answers per second this end sends to senders that may be forged: cookies, repeated
    /// responses, and responses that name a stamp. An answer has at most 158 bytes with IP and UDP
    /// headers, and is shorter than the message that caused it. 2000 answers take 2.5 Mbit/s at
    /// most. With half the value, a peer waits twice as long for its cookie during a flood.
    pub replies_per_second: u32,
    /// How many of these answers per second this end sends to one network (an IPv4 /24, an IPv6
    /// /48). The limit keeps this end from flooding a network whose addresses an attacker forges.
    pub replies_per_prefix: u32,
}

impl Default for SecureConfig {
    fn default() -> SecureConfig {
        SecureConfig {
            suite: Suite::preferred(),
            inner_mtu: 1436,
            capabilities: 0,
            wall_clock: Duration::ZERO,
            rekey_after: Duration::from_secs(120),
            reject_after: Duration::from_secs(180),
            rekey_messages: 1 << 27,
            reject_messages: 1 << 28,
            first_retry: Duration::from_millis(250),
            max_retry: Duration::from_secs(3),
            unreachable_after: Duration::from_secs(5),
            handshakes_per_second: 100,
            handshakes_with_cookie: 1_000,
            handshakes_per_address: 10,
            handshakes_per_network: 100,
            handshakes_per_peer: 1,
            handshakes_saved: 10,
            replies_per_second: 2_000,
            replies_per_prefix: 100,
        }
    }
}

/// A change that the caller may act on or report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecureEvent {
    /// New keys are in use.
    Established {
        /// The peer.
        peer: PeerId,
        /// The epoch: how many times datagram numbers have begun at 0. If the previous event of
        /// this peer had another epoch, an end has restarted. The numbers then begin at 0 again in
        /// both directions.
        epoch: u64,
        /// Whether this end started the handshake. If so, this end must now seal and send a
        /// datagram: a probe, if no data waits. The peer uses the new keys only after the first
        /// datagram under them.
        initiator: bool,
        /// The cipher suite.
        suite: Suite,
        /// The largest inner packet that the peer accepts, bytes.
        peer_mtu: u16,
        /// The extensions that the peer understands, and the interval of its keep-alives
        /// ([`keepalive_of`](crate::wire::handshake::keepalive_of)).
        peer_capabilities: u32,
    },
    /// The peer has not answered handshakes for [`SecureConfig::unreachable_after`]. The event is
    /// not repeated before the peer answers. This end continues to send initiations.
    Unreachable {
        /// The peer.
        peer: PeerId,
        /// How long ago the first unanswered initiation was sent, or the peer was last heard.
        silent_for: Duration,
    },
    /// A peer that was reported as unreachable has answered.
    Reachable {
        /// The peer.
        peer: PeerId,
    },
    /// The peer has proven that it receives at another address. This end's datagrams now go to the
    /// new address.
    Roamed {
        /// The peer.
        peer: PeerId,
        /// The former address; None if no address was known.
        from: Option<SocketAddr>,
        /// The new address.
        to: SocketAddr,
    },
    /// A datagram of the peer came from an address that is not proven. The caller must send a
    /// challenge with this token to [`super::Peers::challenged_address`], and pass the token in the
    /// peer's answer to [`super::Peers::handle_answer`]. The challenge is repeated.
    ChallengeDue {
        /// The peer.
        peer: PeerId,
        /// The token.
        token: u64,
    },
    /// A handshake failed because the ends do not have the same pre-shared key. The event is
    /// reported once for each kind of mismatch, until a handshake succeeds.
    PresharedMismatch {
        /// The peer.
        peer: PeerId,
        /// How the keys differ.
        mismatch: PresharedMismatch,
        /// The source address of the message that shows it.
        from: SocketAddr,
    },
}

/// The result of [`super::Peers::handle_datagram`]: what a received datagram was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// The datagram is authentic and new. Its decrypted body is in the buffer.
    Transport {
        /// The sender.
        peer: PeerId,
        /// The epoch that the number belongs to.
        epoch: u64,
        /// The datagram's number.
        number: u64,
        /// What the body holds.
        kind: Kind,
        /// Where the body is in the buffer.
        body: Range<usize>,
    },
    /// The datagram was part of a handshake and has been processed.
    Handshake {
        /// The peer.
        peer: PeerId,
    },
    /// The datagram was dropped and counted.
    Rejected(Rejected),
}

/// How the pre-shared keys of the two ends differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PresharedMismatch {
    /// Only the peer has a pre-shared key for this end.
    OnlyPeer,
    /// Only this end has a pre-shared key for the peer.
    OnlyThisEnd,
    /// The peer's response does not authenticate: probably the two keys differ.
    Differ,
}

/// Why a received datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Rejected {
    /// The datagram is not of this protocol.
    #[error("malformed datagram: {0}")]
    Malformed(Malformed),
    /// No session has the datagram's receiver index. The datagram belongs to an earlier session or
    /// is forged.
    #[error("no session has this receiver index")]
    NoSession,
    /// The datagram does not authenticate: it is damaged or forged.
    #[error("the datagram does not authenticate")]
    Forged,
    /// A datagram with this number was received before.
    #[error("replay of datagram {0}")]
    Replayed(u64),
    /// The number lies below the replay window ([`super::REPLAY_WINDOW`]), so this end cannot tell
    /// whether the datagram is a replay.
    #[error("datagram {0} is older than the replay window")]
    TooOld(u64),
    /// The key is older than [`SecureConfig::reject_after`].
    #[error("the key has expired")]
    Expired,
    /// The cipher suite is unknown.
    #[error("unknown cipher suite {0}")]
    Suite(u8),
    /// The handshake message's mac1 is wrong: the sender does not know this end's public key.
    #[error("handshake message for another key")]
    Mac1,
    /// This end is under load, and the message carries no valid cookie. This end answered with a
    /// cookie.
    #[error("under load: a cookie is demanded")]
    CookieDemanded,
    /// The message carries a valid cookie, but too many such messages come from its address, from its
    /// network, or from all addresses ([`SecureConfig::handshakes_per_address`],
    /// [`SecureConfig::handshakes_per_network`], [`SecureConfig::handshakes_with_cookie`]).
    #[error("too many handshakes from this address, its network, or all together")]
    AddressLimit,
    /// The Noise message does not decrypt: it is damaged, forged, or for another key.
    #[error("the handshake message does not authenticate")]
    HandshakeForged,
    /// The initiation is authentic, but its sender is not a configured peer.
    #[error("handshake from {0}, which is no peer")]
    UnknownPeer(PublicKey),
    /// The initiation was received before, or an initiation with a larger stamp was received.
    #[error("replay of an initiation")]
    HandshakeReplayed,
    /// A response or cookie reply that answers no handshake under way.
    #[error("answer to a handshake that is not under way")]
    Unsolicited,
    /// Only one of the ends has a pre-shared key for the other.
    #[error("only one of the ends has a pre-shared key")]
    Preshared,
    /// The datagram is the first under new keys, and too many handshakes with its sender were completed
    /// ([`SecureConfig::handshakes_per_peer`]).
    #[error("too many handshakes with this peer")]
    PeerLimit,
}

impl Rejected {
    /// Names of the reasons, in the order of [`DatagramCounters::rejected`].
    pub const NAMES: [&'static str; 16] = [
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
        "preshared",
        "peer_limit",
    ];

    /// Whether an operator should know of the datagram. Datagrams of former sessions, copies and late answers are normal
    /// after a restart, and on paths that duplicate. [`SecureEvent::PresharedMismatch`] reports the pre-shared keys.
    pub fn is_alarming(&self) -> bool {
        match self {
            Rejected::NoSession
            | Rejected::Replayed(_)
            | Rejected::TooOld(_)
            | Rejected::Expired
            | Rejected::HandshakeReplayed
            | Rejected::Unsolicited
            | Rejected::Preshared => false,
            Rejected::Malformed(_)
            | Rejected::Forged
            | Rejected::Suite(_)
            | Rejected::Mac1
            | Rejected::CookieDemanded
            | Rejected::AddressLimit
            | Rejected::HandshakeForged
            | Rejected::PeerLimit
            | Rejected::UnknownPeer(_) => true,
        }
    }

    /// The reason's position in [`Rejected::NAMES`].
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
            Rejected::Preshared => 14,
            Rejected::PeerLimit => 15,
        }
    }
}

/// Why a datagram could not be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SealError {
    /// There is no usable key. If the peer's address is known, a handshake is under way.
    #[error("no session with the peer yet")]
    NoSession,
    /// The epoch that the caller passed is over: one of the ends has restarted.
    #[error("the datagram is of epoch {given}; the current epoch is {current}")]
    Epoch {
        /// The epoch that the caller passed.
        given: u64,
        /// The current epoch.
        current: u64,
    },
    /// A datagram with this number or a higher one was sealed before, or the number is 2^64 - 1.
    /// Two datagrams sealed with the same number would reveal how their contents differ.
    #[error("datagram number {given} cannot be used; the next number is {next}")]
    Number {
        /// The number that the caller passed.
        given: u64,
        /// The lowest number that may be used.
        next: u64,
    },
    /// The buffer has no room for header and tag.
    #[error("a datagram of {0} bytes has no room for header and tag")]
    Buffer(usize),
}

/// A handshake datagram to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecureTransmit {
    /// The peer; None if the datagram answers a sender that may be a stranger.
    pub peer: Option<PeerId>,
    /// The destination.
    pub to: SocketAddr,
    /// The datagram's bytes.
    pub contents: Vec<u8>,
}

counters! {
    /// Counters since the start of the process.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct SecureCounters {
        /// Datagrams sealed, opened and rejected.
        pub datagrams: DatagramCounters,
        /// Handshakes started.
        pub initiations: u64 => ("handshakes_started", "handshakes_started_total"),
        /// Handshake messages repeated because the peer did not answer.
        pub initiations_repeated: u64 => ("handshakes_repeated", "handshakes_repeated_total"),
        /// Handshakes answered.
        pub responses: u64 => ("handshakes_answered", "handshakes_answered_total"),
        /// Responses sent again because the initiation arrived again.
        pub responses_repeated: u64,
        /// Handshakes completed, in either role.
        pub established: u64 => ("handshakes_completed", "handshakes_total"),
        /// Completed handshakes that renewed the keys of a session.
        pub renewed: u64 => ("keys_renewed", "keys_renewed_total"),
        /// Completed handshakes that began a new epoch.
        pub epochs: u64,
        /// Recorded handshakes refused and answered with the stamp to exceed.
        pub stamps_named: u64 => ("stamps_named", "stamps_named_total"),
        /// Handshakes repeated because this host's wall clock had gone back.
        pub stamps_corrected: u64 => ("stamps_corrected", "stamps_corrected_total"),
        /// Completed handshakes that were not used because of a *crossing*: both ends had started a handshake at
        /// the same time. Both handshakes succeeded, and the ends use the handshake that this end started.
        pub crossed: u64,
        /// Cookies sent, because too many handshakes came at the same time.
        pub cookies_given: u64 => ("cookies_sent", "cookies_sent_total"),
        /// Handshakes put off, because too many handshakes with one peer were completed.
        pub initiations_delayed: u64 => ("handshakes_delayed", "handshakes_delayed_total"),
        /// Answers to handshakes not sent: too many were due, to one network or to all.
        pub replies_limited: u64 => ("replies_limited", "replies_limited_total"),
        /// Answers to handshakes dropped, because the socket was blocked.
        pub replies_dropped: u64 => ("replies_dropped", "replies_dropped_total"),
        /// Handshakes that failed because the hosts do not have the same pre-shared key.
        pub preshared_mismatches: u64 => ("preshared_mismatches", "preshared_mismatches_total"),
        /// Cookies received.
        pub cookies_received: u64,
        /// Addresses of peers.
        pub addresses: AddressCounters,
    }
}

/// Numbers of datagrams since the start of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounters {
    /// Datagrams sealed.
    pub sealed: u64,
    /// Datagrams opened.
    pub opened: u64,
    /// Datagrams opened with a superseded key. They are counted in `opened` too.
    pub opened_by_old_key: u64,
    /// Received datagrams dropped, by reason in the order of [`Rejected::NAMES`].
    pub rejected: [u64; Rejected::NAMES.len()],
}

counters! {
    /// Counters of the peers' addresses since the start of the process.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct AddressCounters {
        /// Changes of a peer's address.
        pub roamed: u64 => ("roamed", "roamed_total"),
        /// Challenges sent to addresses from which datagrams of a peer came.
        pub challenged: u64 => ("paths_challenged", "paths_challenged_total"),
        /// Challenged addresses that the peer has proven.
        pub proven: u64 => ("paths_proven", "paths_proven_total"),
        /// Challenged addresses from which no answer came: the address was forged, or the path works in one
        /// direction only.
        pub refused: u64 => ("paths_refused", "paths_refused_total"),
    }
}
