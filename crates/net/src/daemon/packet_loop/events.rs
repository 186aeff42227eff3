//! The endpoint's events: logs each event, and updates what the daemon knows about the peer.

use super::{PacketLoop, PeerState};
use crate::log::{Admitted, LineLimit};
use ripstop_base::Time;
use ripstop_proto::endpoint::EndpointEvent;
use ripstop_proto::packets::early_acks::Connection;
use ripstop_proto::secure::{PeerId, PresharedMismatch};

/// A kind of line that a peer can cause. Each kind has a limit of its own for each peer.
#[derive(Clone, Copy, Debug)]
enum Line {
    Connected,
    Unreachable,
    Reachable,
    Address,
    Silent,
    Heard,
    Closed,
    FalseReport,
    Mtu,
    ConnectionReset,
    PresharedMismatch,
    BlocksIgnored,
}

/// The limits of one peer's lines, one for each [`Line`].
#[derive(Debug, Default)]
pub(super) struct LineLimits([LineLimit; Line::BlocksIgnored as usize + 1]);

impl LineLimits {
    fn admit(&mut self, line: Line) -> Option<Admitted> {
        self.0.get_mut(line as usize)?.admit()
    }
}

impl PacketLoop {
    /// Logs the event and acts on it.
    pub(super) fn handle_event(&mut self, event: EndpointEvent) {
        self.log_event(event);
        let now = self.shared.worker.now();
        match event {
            EndpointEvent::Connected { peer, again } => {
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.connected = Some(now);
                    peer.has_met = true;
                    peer.counts.restarts += u64::from(again);
                    peer.untried.clear();
                    (peer.silent, peer.unreachable) = (false, false);
                }
                self.network.spare_ports.keep(peer);
                self.lookups.schedule(&mut self.peers, peer.index(), None);
            }
            EndpointEvent::Unreachable { peer, .. } => {
                let address = self.endpoint.peer_status(peer).and_then(|status| status.endpoint);
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    (peer.unreachable, peer.last_address) = (true, address);
                }
                self.forget_local_address(peer);
                self.network.spare_ports.keep(peer);
                self.change_port(now, peer.index());
                self.lookups.schedule(&mut self.peers, peer.index(), Some(now));
            }
            EndpointEvent::Reachable { peer } => {
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.unreachable = false;
                }
                self.network.spare_ports.keep(peer);
                self.lookups.schedule(&mut self.peers, peer.index(), None);
            }
            EndpointEvent::Roamed { peer, .. } => {
                self.network.spare_ports.close(&mut self.reactor, peer);
            }
            EndpointEvent::Silent { peer } => {
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.silent = true;
                }
                self.forget_local_address(peer);
            }
            EndpointEvent::Heard { peer } => {
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.silent = false;
                }
            }
            EndpointEvent::Closed { peer } | EndpointEvent::FalseReport { peer } => {
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.connected = None;
                }
            }
            EndpointEvent::Mtu { peer, inner_mtu, .. } => {
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.mtu = Some(inner_mtu);
                }
                if let Some(device) = &mut self.device {
                    device.update_mtu(&self.config, &self.peers);
                }
            }
            EndpointEvent::ConnectionReset { .. }
            | EndpointEvent::PresharedMismatch { .. }
            | EndpointEvent::BlocksIgnored { .. } => {}
        }
    }

    /// Changes the source ports that are due.
    pub(super) fn change_ports(&mut self, now: Time) {
        while let Some(index) = self.network.spare_ports.take_due(now) {
            self.change_port(now, index);
        }
    }

    /// Changes the source port to an unreachable peer, if this host calls the peer.
    fn change_port(&mut self, now: Time, index: usize) {
        let calls = |peer: &&mut PeerState| !peer.removed && peer.configured.is_some();
        let Some(peer) = self.peers.get_mut(index).filter(calls) else { return };
        let Some(to) = self.endpoint.peer_status(peer.id).and_then(|status| status.endpoint) else { return };
        let can_open = self.network.udp.reaches(&to);
        self.network.spare_ports.change(&mut self.reactor, now, peer, to, can_open);
    }

    /// Logs the event, unless too many lines of this kind came from the peer.
    fn log_event(&mut self, event: EndpointEvent) {
        let (line, id) = line_of(&event);
        // A peer that was removed has no name and no limit.
        let Some(state) = self.peers.get_mut(id.index()) else { return };
        let Some(Admitted { left_out }) = state.lines.admit(line) else { return };
        let peer = &state.name;
        match event {
            EndpointEvent::Connected { again, .. } => tracing::info!(%peer, again, left_out, "connected"),
            EndpointEvent::Unreachable { silent_for, .. } if state.has_met => {
                tracing::warn!(%peer, ?silent_for, left_out, "peer unreachable; handshakes continue");
            }
            EndpointEvent::Unreachable { silent_for, .. } => {
                let (own_key, preshared) = (self.endpoint.public(), preshared_advice(state.has_preshared));
                tracing::warn!(
                    %peer,
                    ?silent_for,
                    left_out,
                    "peer unreachable; handshakes continue; no answer to any handshake so far: check its address and port, the firewalls on the way, that \
                     its daemon runs and has the same version of ripstop, that `public-key` here is the peer's, that its configuration has this host's public key {own_key}, and that \
                     {preshared}"
                );
            }
            EndpointEvent::Reachable { .. } => tracing::info!(%peer, left_out, "peer reachable again"),
            EndpointEvent::Roamed { from: None, to, .. } => {
                tracing::info!(%peer, at = %to, left_out, "learned the peer's address");
            }
            EndpointEvent::Roamed { from: Some(from), to, .. } => {
                tracing::info!(%peer, %from, %to, left_out, "peer changed its address");
            }
            // Random loss alone sometimes causes such a silence. If the silence lasts, the peer becomes
            // unreachable, which is logged as a warning.
            EndpointEvent::Silent { .. } => tracing::debug!(%peer, left_out, "the peer reports no datagrams"),
            EndpointEvent::Heard { .. } => tracing::debug!(%peer, left_out, "the peer reports datagrams again"),
            EndpointEvent::Closed { .. } => tracing::info!(%peer, left_out, "peer closed the session"),
            EndpointEvent::FalseReport { .. } => tracing::warn!(
                %peer,
                left_out,
                "session ended: the peer acknowledged datagrams that were never sent"
            ),
            EndpointEvent::Mtu { inner_mtu, is_found: true, .. } => {
                tracing::info!(%peer, inner_mtu, left_out, "MTU to the peer");
            }
            // The size that the settings allow, which the path may not carry.
            EndpointEvent::Mtu { inner_mtu, is_found: false, .. } => {
                tracing::debug!(%peer, inner_mtu, left_out, "the search for the MTU begins");
            }
            EndpointEvent::ConnectionReset { connection: Connection { local, remote }, .. } => tracing::warn!(
                %peer,
                %local,
                %remote,
                left_out,
                "TCP connection reset: data that `acks = \"seen\"` had acknowledged could not be delivered"
            ),
            EndpointEvent::PresharedMismatch { mismatch, from, .. } => {
                let problem = problem_of(mismatch);
                tracing::warn!(%peer, %from, left_out, "no connection: {problem}; set the same `preshared-key` on both hosts");
            }
            EndpointEvent::BlocksIgnored { .. } => tracing::warn!(
                %peer,
                left_out,
                "the peer receives no repairs of `code = \"block\"`, so no loss is recovered: update the peer, or write `code = \"window\"`"
            ),
        }
    }

    /// Lets the system choose this host's address for the next datagrams to a peer that does not answer. The route to the
    /// peer may have moved to another network, on which the address that the peer has called is of no use.
    fn forget_local_address(&mut self, peer: PeerId) {
        if let Some(endpoint) = self.endpoint.peer_status(peer).and_then(|status| status.endpoint) {
            self.network.udp.forget_local_address(&endpoint);
        }
    }
}

/// The kind of the line that reports the event, and the peer.
fn line_of(event: &EndpointEvent) -> (Line, PeerId) {
    match *event {
        EndpointEvent::Connected { peer, .. } => (Line::Connected, peer),
        EndpointEvent::Unreachable { peer, .. } => (Line::Unreachable, peer),
        EndpointEvent::Reachable { peer } => (Line::Reachable, peer),
        EndpointEvent::Roamed { peer, .. } => (Line::Address, peer),
        EndpointEvent::Silent { peer } => (Line::Silent, peer),
        EndpointEvent::Heard { peer } => (Line::Heard, peer),
        EndpointEvent::Closed { peer } => (Line::Closed, peer),
        EndpointEvent::FalseReport { peer } => (Line::FalseReport, peer),
        EndpointEvent::Mtu { peer, .. } => (Line::Mtu, peer),
        EndpointEvent::ConnectionReset { peer, .. } => (Line::ConnectionReset, peer),
        EndpointEvent::PresharedMismatch { peer, .. } => (Line::PresharedMismatch, peer),
        EndpointEvent::BlocksIgnored { peer } => (Line::BlocksIgnored, peer),
    }
}

/// What must be so of the pre-shared keys, as far as this host knows.
fn preshared_advice(has_preshared: bool) -> &'static str {
    match has_preshared {
        true => "it has the same `preshared-key` for this host",
        false => "it has no `preshared-key` for this host, because this host has none for it",
    }
}

/// What is wrong with the two ends' pre-shared keys.
fn problem_of(mismatch: PresharedMismatch) -> &'static str {
    match mismatch {
        PresharedMismatch::OnlyPeer => "the peer has a pre-shared key for this host, and this host has none",
        PresharedMismatch::OnlyThisEnd => "this host has a pre-shared key for the peer, and the peer has none",
        PresharedMismatch::Differ => "the peer's answer does not authenticate: the pre-shared keys differ",
    }
}
