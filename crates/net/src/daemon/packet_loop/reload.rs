//! Changes of the peers while the daemon runs.

use super::{PacketLoop, PeerState};
use crate::daemon::config::{DaemonConfig, HostPort, PeerSettings};
use ripstop_base::Time;
use ripstop_proto::endpoint::PeerConfig;
use ripstop_proto::secure::PresharedKey;
use ripstop_proto::session::tunnel::TunnelConfig;

impl PacketLoop {
    /// Takes over the peers of a new configuration, if there is one. Sessions with peers that stay go on.
    pub(super) fn reload(&mut self, now: Time) {
        let Some(config) = self.shared.new_config() else { return };
        let mut removed = Vec::new();
        for peer in self.peers.iter_mut().filter(|peer| !peer.removed) {
            if !config.peers.iter().any(|settings| settings.public == peer.public) {
                self.lookups.forget(peer.failures);
                peer.remove();
                self.endpoint.remove_peer(peer.id);
                removed.push(peer.id);
                tracing::info!(peer = %peer.name, "peer removed");
            }
        }
        removed.into_iter().for_each(|peer| {
            self.network.spare_ports.close(&mut self.reactor, peer);
        });
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
        self.lookups.follow(&self.peers);
        self.config = config;
        if let Some(device) = &mut self.device {
            device.update_routes(&self.config, &mut self.endpoint, &self.peers);
            device.update_mtu(&self.config, &self.peers);
        }
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
                self.peers.push(PeerState::new(id, settings, now));
                tracing::info!(peer = %settings.name, "peer added");
                self.network.warn_if_out_of_reach(&settings.name, address);
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
            peer.has_preshared = settings.preshared.is_some();
            self.endpoint.set_preshared(peer.id, settings.preshared.clone());
        }
        if before.is_some_and(|peer| peer.endpoint == settings.endpoint) {
            return;
        }
        let address = settings.endpoint.as_ref().and_then(HostPort::address);
        self.lookups.forget(peer.failures);
        peer.configure(settings.endpoint.clone(), now);
        if let Some(address) = address {
            self.endpoint.set_endpoint(now, peer.id, address);
        }
        self.network.warn_if_out_of_reach(&settings.name, address);
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
    // `header` follows from the endpoints of the peers, not from a setting of `[interface]`.
    let tunnels = [old, new].map(|config| format!("{:?}", TunnelConfig { header: 0, ..config.tunnel.clone() }));
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

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_proto::secure::PrivateKey;
    use std::path::Path;

    fn config(interface: &str, endpoint: &str) -> DaemonConfig {
        let [private, peer] = [1, 2].map(|byte| PrivateKey::from_bytes([byte; 32]));
        let text = format!(
            "[interface]\nprivate-key = \"{}\"\naddress = \"10.77.0.1/24\"\n{interface}\n\
             [[peer]]\npublic-key = \"{}\"\nallowed-ips = \"10.77.0.2\"\nendpoint = \"{endpoint}\"\n",
            *private.to_base64(),
            peer.public()
        );
        DaemonConfig::parse(&text, Path::new("t.toml")).unwrap()
    }

    #[test]
    fn only_changed_settings_need_a_restart() {
        let old = config("", "192.0.2.1:5182");
        // Over IPv6 a datagram has longer headers, but no setting has changed.
        assert_eq!(needs_restart(&old, &config("", "[2001:db8::1]:5182")), [""; 0]);
        let changed = needs_restart(&old, &config("mtu = 1400\nacks = \"seen\"", "[2001:db8::1]:5182"));
        assert!(matches!(changed[..], [tunnel, "acks"] if tunnel.starts_with("mtu")), "{changed:?}");
    }
}
