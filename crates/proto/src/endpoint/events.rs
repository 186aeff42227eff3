//! The events of [`Peers`](crate::secure::Peers): new keys, changed addresses, and problems with a peer. And the events of
//! the sessions.

use super::EndpointEvent;
use super::sessions::Sessions;
use crate::path::PathPacket;
use crate::secure::{PeerId, SecureEvent};
use crate::wire::handshake::keepalive_of;
use ripstop_base::Time;
use std::net::SocketAddr;

impl Sessions {
    /// Handles the events of [`Peers`](crate::secure::Peers): starts sessions when keys are established, and passes the
    /// other events on.
    pub(super) fn handle_secure_events(&mut self, now: Time) {
        while let Some(event) = self.secure.poll_event() {
            match event {
                SecureEvent::Established { peer, epoch, peer_mtu, peer_capabilities, .. } => {
                    let family = self.secure.endpoint(peer);
                    if self.paths.get(peer).is_some_and(|path| path.epoch() != Some(epoch)) {
                        self.release_held(now, peer);
                    }
                    let Some(path) = self.paths.get_mut(peer) else { continue };
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
                    self.paths.mark_ready(peer);
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
                    if let Some(path) = self.paths.get_mut(peer) {
                        path.request_path_packet(now, PathPacket::Challenge(token));
                    }
                    self.paths.mark_ready(peer);
                }
                SecureEvent::PresharedMismatch { peer, mismatch, from } => {
                    self.events.push_back(EndpointEvent::PresharedMismatch { peer, mismatch, from });
                }
            }
        }
    }

    /// Notes the address to which a peer's datagrams go from now on.
    pub(super) fn address_changed(&mut self, now: Time, peer: PeerId, to: &SocketAddr) {
        if let Some(session) = self.paths.get_mut(peer).and_then(|path| path.session.as_mut()) {
            session.address_changed(now, to, &self.config, &mut self.events);
        }
    }

    /// Collects the events of a peer's session.
    pub(super) fn collect_events(&mut self, now: Time, peer: PeerId) {
        let Some(path) = self.paths.get_mut(peer) else { return };
        let was_closed = path.is_closed();
        path.take_events(now, &mut self.events);
        let has_closed = path.is_closed() && !was_closed;
        if path.end_false_session() {
            self.counters.false_reports += 1;
            self.secure.forget(peer);
        }
        if has_closed {
            self.peer_closed(now, peer);
        }
    }
}
