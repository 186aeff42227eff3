//! The events of [`Peers`](crate::secure::Peers): new keys, changed addresses, and problems with a peer.

use super::{Endpoint, EndpointEvent, get};
use crate::path::PathPacket;
use crate::secure::{PeerId, SecureEvent};
use crate::wire::handshake::keepalive_of;
use ripstop_base::Time;
use std::net::SocketAddr;

impl Endpoint {
    /// Handles the events of [`Peers`](crate::secure::Peers): starts sessions when keys are established, and passes the
    /// other events on.
    pub(super) fn handle_secure_events(&mut self, now: Time) {
        while let Some(event) = self.secure.poll_event() {
            match event {
                SecureEvent::Established { peer, epoch, peer_mtu, peer_capabilities, .. } => {
                    let family = self.secure.endpoint(peer);
                    if get(&mut self.paths, peer).is_some_and(|path| path.epoch != Some(epoch)) {
                        self.release_held(now, peer);
                    }
                    let Some(path) = get(&mut self.paths, peer) else { continue };
                    if path.has_closed(epoch) {
                        self.begin_anew(now, peer);
                        continue;
                    }
                    path.liveness.announced(keepalive_of(peer_capabilities));
                    path.liveness.heard(now, false);
                    let mut entropy = [0; 8];
                    self.entropy.fill(&mut entropy);
                    let entropy = u64::from_le_bytes(entropy);
                    path.established(now, epoch, peer_mtu, family, entropy, &self.config, &mut self.events);
                    if self.closing {
                        path.close();
                    }
                    self.mark_ready(peer);
                }
                SecureEvent::Unreachable { peer, silent_for } => {
                    self.events.push_back(EndpointEvent::Unreachable { peer, silent_for });
                }
                SecureEvent::Reachable { peer } => self.events.push_back(EndpointEvent::Reachable { peer }),
                SecureEvent::Roamed { peer, from, to } => {
                    self.address_changed(now, peer, &to);
                    self.events.push_back(EndpointEvent::Roamed { peer, from, to });
                }
                SecureEvent::ChallengeDue { peer, token } => {
                    if let Some(path) = get(&mut self.paths, peer) {
                        path.request_path_packet(now, PathPacket::Challenge(token));
                    }
                    self.mark_ready(peer);
                }
                SecureEvent::PresharedMismatch { peer, mismatch, from } => {
                    self.events.push_back(EndpointEvent::PresharedMismatch { peer, mismatch, from });
                }
            }
        }
    }

    /// Notes the address to which a peer's datagrams go from now on.
    pub(super) fn address_changed(&mut self, now: Time, peer: PeerId, to: &SocketAddr) {
        if let Some(path) = get(&mut self.paths, peer) {
            path.address_changed(now, to, &self.config, &mut self.events);
        }
    }
}
