//! Who the peers are, and the sealing of everything that passes between them; sans-I/O.
//!
//! [`Peers`] is one end of the tunnel with all its peers: it runs the handshakes
//! (`Noise_IK_25519_{AESGCM|ChaChaPoly}_BLAKE2s`), seals and opens datagrams in place, refuses replays,
//! follows peers that roam, and renews keys. Time is an argument, entropy too ([`Entropy`]); it reads no
//! clock at all, so a clock that jumps locks nobody out.
//!
//! # Driving it
//!
//! As a session: one input ([`Peers::handle_datagram`], [`Peers::handle_timeout`], [`Peers::connect`],
//! [`Peers::seal`]), then all outputs ([`Peers::poll_transmit`], [`Peers::poll_event`],
//! [`Peers::poll_timeout`]) until they are empty, then the next input.
//!
//! A received datagram is one look-up of its index, a replay check and one AEAD call; a sent one is an array
//! look-up and one AEAD call. **Neither allocates**, but for the `seal` that finds the key due for renewal and
//! starts a handshake. Handshakes allocate (Noise state, messages, keys), as do adding a peer and events.
//!
//! # Keys, numbers, epochs
//!
//! A handshake gives a key for each direction. The initiator uses them once the response authenticates and
//! must send something then ([`SecureEvent::Established`]); the responder keeps them waiting until a datagram
//! authenticates under them. So a replayed initiation leads nowhere, whatever any clock says. Keys are renewed
//! by age and use; superseded keys still open what is in flight. If both ends start at once, both
//! handshakes may end well, and both ends settle on the one started by the lower public key.
//!
//! The caller numbers its datagrams, upwards from 0, over all keys. When either end has restarted (it shows a new
//! *instance* in its handshake), numbers begin anew on both sides: a new *epoch*. Every opened datagram
//! and every sealed one names its epoch, so that a session cannot mistake one for the other.

mod aead;
mod config;
mod entropy;
mod index;
mod key;
mod load;
mod mac;
mod noise;
mod peer;
mod peers;
mod replay;
#[cfg(test)]
mod tests;

pub use aead::{Key, Suite};
pub use config::{
    Incoming, Rejected, SealError, SecureConfig, SecureCounters, SecureEvent, SecureTransmit, silence_limit,
};
pub use entropy::Entropy;
pub use key::{KeyError, PrivateKey, PublicKey};
pub use peers::Peers;
pub use replay::{REPLAY_WINDOW, ReplayWindow, Seen};

/// One of the peers of a [`Peers`]; never reused, also when the peer is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub(crate) u32);

impl PeerId {
    /// The peer that was added as the `index`-th, counted from 0.
    pub const fn from_index(index: u32) -> PeerId {
        PeerId(index)
    }

    /// A small number, counted from 0 in the order of [`Peers::add`]: an index for tables.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
