//! The endpoint's events: logs each event, and updates what the daemon knows about the peer.

use super::{PacketLoop, PeerState};
use ripstop_proto::endpoint::EndpointEvent;
use ripstop_proto::inner::early_acks::Connection;
use ripstop_proto::secure::{PeerId, PresharedMismatch};

impl PacketLoop {
    /// Logs the event and acts on it.
    pub(super) fn handle_event(&mut self, event: EndpointEvent) {
        let now = self.shared.worker.now();
        match event {
            EndpointEvent::Connected { peer, again } => {
                let name = named(&self.peers, peer);
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.connected = Some(now);
                    peer.restarts += u64::from(again);
                    (peer.silent, peer.unreachable) = (false, false);
                }
                self.schedule_lookup(peer.index(), None);
                tracing::info!(peer = %name, again, "connected");
            }
            EndpointEvent::Unreachable { peer, silent_for } => {
                tracing::warn!(peer = %named(&self.peers, peer), silent_for = ?silent_for, "peer unreachable; handshakes continue");
                let address = self.endpoint.peer_status(peer).and_then(|status| status.endpoint);
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    (peer.unreachable, peer.last_address) = (true, address);
                }
                self.forget_local_address(peer);
                self.schedule_lookup(peer.index(), Some(now));
            }
            EndpointEvent::Reachable { peer } => {
                tracing::info!(peer = %named(&self.peers, peer), "peer reachable again");
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.unreachable = false;
                }
                self.schedule_lookup(peer.index(), None);
            }
            EndpointEvent::Roamed { peer, from: None, to } => {
                tracing::info!(peer = %named(&self.peers, peer), at = %to, "learned the peer's address");
            }
            EndpointEvent::Roamed { peer, from: Some(from), to } => {
                tracing::info!(peer = %named(&self.peers, peer), %from, %to, "peer changed its address");
            }
            event @ (EndpointEvent::ConnectionReset { .. }
            | EndpointEvent::PresharedMismatch { .. }
            | EndpointEvent::BlocksIgnored { .. }) => warn_of(event, &self.peers),
            EndpointEvent::Silent { peer } => {
                // Random loss alone sometimes causes such a silence. If the silence lasts, the peer becomes
                // unreachable, which is logged as a warning.
                tracing::debug!(peer = %named(&self.peers, peer), "the peer reports no datagrams");
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.silent = true;
                }
                self.forget_local_address(peer);
            }
            EndpointEvent::Heard { peer } => {
                tracing::debug!(peer = %named(&self.peers, peer), "the peer reports datagrams again");
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
            EndpointEvent::FalseReport { peer } => {
                let name = named(&self.peers, peer);
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.connected = None;
                }
                tracing::warn!(peer = %name, "session ended: the peer acknowledged datagrams that were never sent");
            }
            EndpointEvent::Mtu { peer, inner_mtu } => {
                tracing::info!(peer = %named(&self.peers, peer), inner_mtu, "MTU to the peer");
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.mtu = Some(inner_mtu);
                }
                self.update_device_mtu();
            }
        }
    }

    /// Lets the system choose this host's address for the next datagrams to a peer that does not answer. The route to the
    /// peer may have moved to another network, on which the address that the peer has called is of no use.
    fn forget_local_address(&mut self, peer: PeerId) {
        if let Some(endpoint) = self.endpoint.peer_status(peer).and_then(|status| status.endpoint) {
            self.udp.forget_local_address(&endpoint);
        }
    }
}

/// Warns of a fault that needs a change by the operator, or that a user has noticed.
fn warn_of(event: EndpointEvent, peers: &[PeerState]) {
    match event {
        EndpointEvent::ConnectionReset { peer, connection: Connection { local, remote } } => {
            tracing::warn!(
                peer = %named(peers, peer),
                %local,
                %remote,
                "TCP connection reset: data that `acks = \"seen\"` had acknowledged could not be delivered"
            );
        }
        EndpointEvent::PresharedMismatch { peer, mismatch } => {
            let peer = named(peers, peer);
            tracing::warn!(%peer, "no connection: {}; set the same `preshared-key` on both hosts", problem_of(mismatch));
        }
        EndpointEvent::BlocksIgnored { peer } => {
            tracing::warn!(
                peer = %named(peers, peer),
                "the peer receives no repairs of `code = \"block\"`, so no loss is recovered: update the peer, or write `code = \"window\"`"
            );
        }
        _ => {}
    }
}

/// The name of a peer in the log. A peer that was removed has none.
fn named(peers: &[PeerState], id: PeerId) -> String {
    peers.get(id.index()).map_or_else(String::new, |peer| peer.name.clone())
}

/// What is wrong with the two ends' pre-shared keys.
fn problem_of(mismatch: PresharedMismatch) -> &'static str {
    match mismatch {
        PresharedMismatch::OnlyPeer => "the peer has a pre-shared key for this host, and this host has none",
        PresharedMismatch::OnlyThisEnd => "this host has a pre-shared key for the peer, and the peer has none",
        PresharedMismatch::Differ => "the peer's answer does not authenticate: the pre-shared keys differ",
    }
}
