//! The look-ups of peers' endpoints: of host names, and of all endpoints while the peer is unreachable.

use super::PacketLoop;
use crate::daemon::routes;
use ripstop_base::Time;
use std::time::Duration;

/// Time between two look-ups of a peer's endpoint, while the look-up fails or the peer is unreachable. A changed DNS entry
/// is noticed after this time at the latest. Each look-up of an unreachable peer tries the next address. Half the value
/// doubles the load on the name server. The load is small with both values.
const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);

impl PacketLoop {
    /// Starts the look-ups of peers' endpoints that are due, and uses the answers that have come.
    pub(super) fn resolve_names(&mut self, now: Time) {
        while let Some((at, index)) = self.lookups.first().copied()
            && at <= now
        {
            self.schedule_lookup(index, Some(now + RESOLVE_INTERVAL));
            if let Some(name) = self.peers.get(index).and_then(|peer| peer.configured.as_ref()) {
                self.resolver.ask(index, name);
            }
        }
        while let Some(answer) = self.resolver.poll() {
            let Some(peer) = self.peers.get_mut(answer.peer).filter(|peer| peer.awaits(&answer)) else { continue };
            match answer.addresses {
                Ok(addresses) => {
                    let known = self.endpoint.peer_status(peer.id).and_then(|status| status.endpoint);
                    let usable = addresses.into_iter().filter(|address| self.udp.reaches(address)).collect();
                    let Some(to) = peer.choose_address(usable, known) else {
                        tracing::warn!(peer = %peer.name, "the peer's endpoint has no address that this host can reach");
                        continue;
                    };
                    if known != Some(to) {
                        tracing::info!(peer = %peer.name, %to, "trying this address of the peer");
                        routes::check(&self.config, to.ip());
                    }
                    self.endpoint.set_endpoint(now, peer.id, to);
                    if !peer.unreachable {
                        self.schedule_lookup(answer.peer, None);
                    }
                }
                Err(error) => {
                    tracing::warn!(peer = %peer.name, %error, "the peer's name could not be resolved; trying again later")
                }
            }
        }
    }

    /// Sets when to look up the endpoint of the peer with this index; None: no look-up is needed.
    pub(super) fn schedule_lookup(&mut self, index: usize, at: Option<Time>) {
        let Some(peer) = self.peers.get_mut(index) else { return };
        let at = at.filter(|_| peer.configured.is_some());
        if let Some(before) = std::mem::replace(&mut peer.next_lookup, at) {
            self.lookups.remove(&(before, index));
        }
        self.lookups.extend(at.map(|at| (at, index)));
    }
}
