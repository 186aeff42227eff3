//! Peers, their keys, and the encryption of all datagrams, without I/O.
//!
//! [`Peers`] is one end of the tunnel with all its peers. It
//!
//! - runs the handshakes (Noise IK: `Noise_IK_25519_{AESGCM|ChaChaPoly}_BLAKE2s`),
//! - *seals* datagrams (encrypts and authenticates them) and *opens* them (checks and decrypts
//!   them), in place,
//! - refuses replayed datagrams,
//! - follows peers that *roam*, that is, change their address, as soon as they have proven the new
//!   address,
//! - and renews keys.
//!
//! The caller passes in the time, the wall clock and the random bytes ([`Entropy`]). The module reads
//! no clock. A host with a wrong wall clock can still connect.
//!
//! # How to drive it
//!
//! The caller repeats the three steps of [`Session`](crate::session::Session):
//!
//! 1. Give one input: call [`Peers::handle_datagram`], [`Peers::handle_timeout`],
//!    [`Peers::connect`] or [`Peers::seal`].
//! 2. Take all outputs: call [`Peers::poll_transmit`] and [`Peers::poll_event`] until they return
//!    `None`. A caller with data to send calls [`Peers::poll_initiation`] before the data, and
//!    [`Peers::poll_reply`] after the data.
//! 3. Wait for the next input, or until the time that [`Peers::poll_timeout`] returns.
//!
//! A received datagram costs one look-up of its receiver index, one replay check and one AEAD call.
//! A sent datagram costs one array look-up and one AEAD call. **Sending and receiving allocate no
//! memory**, with one exception: if a key is due for renewal, [`Peers::seal`] starts a handshake.
//! Handshakes, events and [`Peers::add`] allocate.
//!
//! # Keys, numbers, epochs
//!
//! A handshake has two messages. The *initiator* sends the *initiation*, and the *responder*
//! answers with the *response*. The result is what this module calls a *session*: one key for each
//! direction. Each end chooses a random *receiver index* for the session. The peer writes this
//! index into each datagram, so that the receiving end finds the session.
//!
//! The initiator uses the keys as soon as the response authenticates. The initiator must then send
//! a datagram ([`SecureEvent::Established`]). The responder uses the keys as soon as a datagram
//! authenticates under them. So a replayed initiation never changes a session.
//!
//! Each initiation carries a *stamp*, which is larger than all earlier stamps of the same peer. The
//! responder keeps the largest stamp of each peer, and refuses initiations with smaller stamps. A
//! responder that has restarted has forgotten the stamps. A replay may then take a place among the
//! pending handshakes, but the peer's next initiation has a larger stamp and takes precedence. If
//! the peer's wall clock has gone back, its stamps are too small. The responder then answers with
//! the stamp to exceed, in a response that only the peer can read. The peer starts again with a
//! larger stamp.
//!
//! When a key has a certain age, or has sealed a certain number of datagrams, a new handshake
//! renews the key. The superseded keys still open datagrams that are in flight. If both ends start
//! a handshake at the same time, both handshakes may succeed: they *cross*. Both ends then use the
//! handshake that the end with the lower public key started.
//!
//! The caller numbers its datagrams upwards from 0. The numbers continue across key changes. When
//! an end adds a peer, it draws a random *instance*, and its handshakes with the peer carry this
//! instance. So the peer notices a restart. After a restart of either end, numbers begin at 0 again
//! in both directions: a new *epoch* begins. [`Peers::seal`] takes the epoch as an argument, and
//! each opened datagram comes with its epoch. So the caller never mixes datagrams of different
//! epochs.

mod aead;
mod answering;
mod calling;
mod config;
mod entropy;
mod index;
mod key;
mod load;
mod mac;
mod noise;
mod paths;
mod peer;
mod peers;
mod rejections;
mod replay;
mod replies;
#[cfg(test)]
mod tests;
#[cfg(fuzzing)]
mod toy;

pub use aead::{Key, Suite};
pub use config::{
    AddressCounters, DatagramCounters, Incoming, PresharedMismatch, Rejected, SealError, SecureConfig, SecureCounters,
    SecureEvent, SecureTransmit,
};
pub use entropy::Entropy;
pub use key::{KeyError, PresharedKey, PrivateKey, PublicKey};
pub use peers::Peers;
pub use rejections::Rejection;
pub use replay::{REPLAY_WINDOW, ReplayWindow, Seen};

/// Identifies a peer within a [`Peers`]. The identifier of a removed peer is not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub(crate) u32);

impl PeerId {
    /// The identifier of the peer that was added at position `index`, counted from 0.
    pub const fn from_index(index: u32) -> PeerId {
        PeerId(index)
    }

    /// The peer's position in the order of [`Peers::add`], counted from 0. The position can serve
    /// as an index into tables.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
