//! Peers, their keys, and the encryption of all datagrams; sans-I/O.
//!
//! [`Peers`] is one end of the tunnel with all its peers. It runs the handshakes
//! (`Noise_IK_25519_{AESGCM|ChaChaPoly}_BLAKE2s`), seals and opens datagrams in place, refuses replays,
//! follows peers that roam, and renews keys. Time and entropy ([`Entropy`]) are arguments. The module reads no
//! clock, so a wrong system time locks no peer out.
//!
//! # How to drive it
//!
//! The contract is that of [`crate::session`]:
//!
//! 1. one input: [`Peers::handle_datagram`], [`Peers::handle_timeout`], [`Peers::connect`] or [`Peers::seal`];
//! 2. all outputs, until they are empty: [`Peers::poll_transmit`], [`Peers::poll_event`];
//! 3. a wait for the next input, or until [`Peers::poll_timeout`].
//!
//! A received datagram costs one look-up of its index, one replay check and one AEAD call. A sent datagram costs one
//! array look-up and one AEAD call. **Neither allocates**, except the `seal` that starts a handshake because the key
//! is due for renewal. Handshakes, events and [`Peers::add`] allocate.
//!
//! # Keys, numbers, epochs
//!
//! A handshake gives one key for each direction. The initiator uses the keys once the response authenticates, and must
//! then send a datagram ([`SecureEvent::Established`]). The responder uses the keys once a datagram authenticates under
//! them. So a replayed initiation has no effect, and no clock is needed to detect it.
//!
//! Keys are renewed by age and by number of datagrams. Superseded keys still open datagrams that are in flight. If both
//! ends start a handshake at once, both handshakes may succeed. Both ends then use the handshake that the end with the
//! lower public key started.
//!
//! The caller numbers its datagrams upwards from 0, across key changes. Each start of an end has a random *instance*,
//! which its handshakes show. When an end has restarted, numbers begin at 0 again on both sides: a new *epoch*. Each
//! sealed and each opened datagram comes with its epoch, so that a session never takes a datagram of another epoch.

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

/// Identifies a peer within a [`Peers`]. The identifier of a removed peer is not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub(crate) u32);

impl PeerId {
    /// The peer that was added as the `index`-th, counted from 0.
    pub const fn from_index(index: u32) -> PeerId {
        PeerId(index)
    }

    /// The peer's place in the order of [`Peers::add`], from 0 on. Use it as an index of tables.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
