//! What this end announces of its keep-alives, and what follows when the peer is not heard.

use super::PeerId;
use super::config::SecureEvent;
use super::peers::{Peers, get};
use std::time::Duration;

impl Peers {
    /// Sets the interval of this end's keep-alives to the peer, which later handshakes announce. False if the peer is not
    /// known.
    pub fn set_keepalive(&mut self, peer: PeerId, interval: Option<Duration>) -> bool {
        get(&mut self.peers, peer).map(|peer| peer.keepalive = interval).is_some()
    }

    /// Reports that the peer is unreachable, because the caller has not heard what it expects. Does nothing if the peer was
    /// reported already.
    pub fn note_unreachable(&mut self, peer: PeerId, silent_for: Duration) {
        if let Some(peer) = get(&mut self.peers, peer)
            && !std::mem::replace(&mut peer.unreachable, true)
        {
            self.shared.events.push_back(SecureEvent::Unreachable { peer: peer.id, silent_for });
        }
    }
}
