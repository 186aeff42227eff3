//! What the endpoint has noticed: a word to the log, and what follows from it.

use super::{Mover, Peer};
use ripstop_proto::endpoint::EndpointEvent;
use ripstop_proto::secure::PeerId;

impl Mover {
    /// Says what happened, and does what follows from it.
    pub(super) fn note(&mut self, event: EndpointEvent) {
        let now = self.shared.worker.now();
        let named =
            |peers: &[Peer], id: PeerId| peers.get(id.index()).map_or_else(String::new, |p| p.name.clone());
        match event {
            EndpointEvent::Connected { peer, again } => {
                let name = named(&self.peers, peer);
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.connected = Some(now);
                    peer.restarts += u64::from(again);
                    (peer.silent, peer.unreachable, peer.next_lookup) = (false, false, None);
                }
                tracing::info!(peer = %name, again, "connected");
            }
            EndpointEvent::Unreachable { peer, silent_for } => {
                tracing::warn!(peer = %named(&self.peers, peer), silent_for = ?silent_for, "peer unreachable, trying on");
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.unreachable = true;
                    peer.next_lookup = peer.lookup.is_some().then_some(now);
                }
            }
            EndpointEvent::Reachable { peer } => {
                tracing::info!(peer = %named(&self.peers, peer), "peer reachable again");
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    (peer.unreachable, peer.next_lookup) = (false, None);
                }
            }
            EndpointEvent::Roamed { peer, from: None, to } => {
                tracing::info!(peer = %named(&self.peers, peer), at = %to, "peer has called");
            }
            EndpointEvent::Roamed { peer, from: Some(from), to } => {
                tracing::info!(peer = %named(&self.peers, peer), %from, %to, "peer has moved");
            }
            EndpointEvent::Silent { peer } => {
                // Lost packets alone do this now and then; what lasts is said when the peer is unreachable.
                tracing::debug!(peer = %named(&self.peers, peer), "nothing heard from the peer");
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.silent = true;
                }
            }
            EndpointEvent::Heard { peer } => {
                tracing::debug!(peer = %named(&self.peers, peer), "peer heard again");
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.silent = false;
                }
            }
            EndpointEvent::Closed { peer } => {
                tracing::info!(peer = %named(&self.peers, peer), "peer closed the session");
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.connected = None;
                }
            }
            EndpointEvent::Mtu { peer, inner_mtu } => {
                tracing::info!(peer = %named(&self.peers, peer), inner_mtu, "MTU to the peer");
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.mtu = Some(inner_mtu);
                }
                self.fit_mtu();
            }
        }
    }
}
