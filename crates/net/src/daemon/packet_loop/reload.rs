//! Changes of the peers while the daemon runs.

use super::{PacketLoop, PeerState};
use crate::daemon::config::{DaemonConfig, HostPort, PeerSettings};
use ripstop_base::Time;
use ripstop_proto::endpoint::PeerConfig;
use ripstop_proto::secure::PresharedKey;

impl PacketLoop {
    /// Takes over the peers of a new configuration, if there is one. Sessions with peers that stay go on.
    pub(super) fn reload(&mut self, now: Time) {
        let Some(config) = self.shared.new_config() else { return };
        for peer in self.peers.iter_mut().filter(|peer| !peer.removed) {
            if !config.peers.iter().any(|settings| settings.public == peer.public) {
                peer.remove();
                self.endpoint.remove_peer(peer.id);
                tracing::info!(peer = %peer.name, "peer removed");
            }
        }
        for settings in &config.peers {
            let known = self.peers.iter().position(|peer| !peer.removed && peer.public == settings.public);
            match known {
                Some(index) => self.change_peer(now, index, settings),
                None => self.add_peer(now, settings),
            }
        }
        let routes = config.peers.iter().filter_map(|settings| {
            let peer = self.peers.iter().find(|peer| !peer.removed && peer.public == settings.public)?;
            Some(settings.allowed_ips.iter().map(|prefix| (*prefix, peer.id)))
        });
        let routes: Vec<_> = routes.flatten().collect();
        self.endpoint.set_routes(routes);
        let peers = self.peers.iter().enumerate();
        self.lookups = peers.filter_map(|(index, peer)| Some((peer.next_lookup?, index))).collect();
        self.config = config;
        self.update_device_mtu();
    }

    fn add_peer(&mut self, now: Time, settings: &PeerSettings) {
        let address = settings.endpoint.as_ref().and_then(HostPort::address);
        // The routes are set later, because a prefix may have belonged to another peer.
        let peer = PeerConfig {
            public: settings.public,
            preshared: settings.preshared.clone(),
            endpoint: address,
            allowed_ips: Vec::new(),
            keepalive: settings.keepalive,
        };
        match self.endpoint.add_peer(now, &peer) {
            Ok(id) => {
                let lookup = settings.endpoint.clone().filter(|_| address.is_none());
                self.peers.push(PeerState::new(id, settings, lookup, now));
                tracing::info!(peer = %settings.name, "peer added");
            }
            Err(error) => tracing::warn!(peer = %settings.name, %error, "peer not added"),
        }
    }

    fn change_peer(&mut self, now: Time, index: usize, settings: &PeerSettings) {
        let before = self.config.peers.iter().find(|peer| peer.public == settings.public);
        let peer = &mut self.peers[index];
        peer.name.clone_from(&settings.name);
        self.endpoint.set_keepalive(now, peer.id, settings.keepalive);
        if !is_same(before.and_then(|peer| peer.preshared.as_ref()), settings.preshared.as_ref()) {
            self.endpoint.set_preshared(peer.id, settings.preshared.clone());
        }
        if before.is_some_and(|peer| peer.endpoint == settings.endpoint) {
            return;
        }
        let address = settings.endpoint.as_ref().and_then(HostPort::address);
        peer.lookup = settings.endpoint.clone().filter(|_| address.is_none());
        peer.next_lookup = peer.lookup.is_some().then_some(now);
        if let Some(address) = address {
            self.endpoint.set_endpoint(now, peer.id, address);
        }
    }
}

fn is_same(before: Option<&PresharedKey>, after: Option<&PresharedKey>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => before.same(after),
        (None, None) => true,
        _ => false,
    }
}

/// The settings of `[interface]` that differ. They need a restart.
pub(in crate::daemon) fn needs_restart(old: &DaemonConfig, new: &DaemonConfig) -> Vec<&'static str> {
    let tunnels = [old, new].map(|config| format!("{:?}", config.tunnel));
    let differ = [
        ("private-key", old.public() != new.public()),
        ("address", old.addresses != new.addresses),
        ("port or listen", old.listen != new.listen),
        ("name", old.name != new.name),
        ("mtu, rate, redundancy, code, ecn, max-overhead, classes or deadline", tunnels[0] != tunnels[1]),
        ("acks", old.acks != new.acks),
        ("memory", old.memory != new.memory),
        ("work", old.work_per_second != new.work_per_second),
        ("metrics", old.metrics != new.metrics),
        ("user", old.user != new.user),
        ("status", old.status != new.status),
    ];
    differ.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
