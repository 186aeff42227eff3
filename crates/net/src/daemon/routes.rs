//! Which prefixes this host routes into the device: the networks behind the peers, without those that hold the configured
//! address of a peer. [`super::keeper`] sets the routes.
//!
//! The routes change only with the configuration. What a name server answers, or where a peer moves to, changes no route:
//! otherwise a peer could make packets for another peer's network leave by another route.

use super::config::{DaemonConfig, HostPort};
use super::resolve::name_servers;
use crate::os::zoned::is_link_local;
use ipnet::IpNet;
use ripstop_proto::endpoint::IpPrefix;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

/// The prefix length in bits below which a prefix counts as a default route while the endpoint of any peer is a host
/// name: the name probably resolves to an address inside the prefix. The largest private network, 10.0.0.0/8, is routed,
/// and an address inside is not used. At half the value, `0.0.0.0/1` and `128.0.0.0/1` still count. At double the
/// value, 10.0.0.0/8 would get no route.
const DEFAULT_LIKE: u8 = 8;

/// The routes into the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedRoutes {
    /// The prefixes in the peers' `allowed-ips` that need a route.
    pub(super) routed: BTreeSet<IpNet>,
    /// The prefixes of the device's addresses, each with the address. The kernel makes these routes with the addresses.
    pub(super) connected: Vec<(IpNet, IpAddr)>,
    /// The prefixes that get no route, each with the reason.
    pub(super) left_out: Vec<LeftOut>,
}

/// A prefix that gets no route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// The name of the peer to whose `allowed-ips` the prefix belongs.
    pub(super) peer: String,
    pub(super) prefix: IpNet,
    pub(super) reason: Reason,
}

/// Why a prefix gets no route: datagrams to a peer would enter the tunnel that carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The configured address of a peer lies inside the prefix.
    Peer(IpAddr),
    /// The endpoint of a peer is a host name, which may resolve to an address inside the prefix.
    Name,
}

impl WantedRoutes {
    /// The routes for `config` while peers are at the addresses `hosts`, in addition to their configured addresses. A prefix
    /// that lies in the prefix of a device's address needs no route. A prefix that contains the address of a peer gets none:
    /// datagrams to this peer would enter the tunnel.
    pub(super) fn of(config: &DaemonConfig, hosts: impl IntoIterator<Item = IpAddr>) -> WantedRoutes {
        let endpoints = || config.peers.iter().filter_map(|peer| peer.endpoint.as_ref());
        let hosts: BTreeSet<IpAddr> = endpoints().filter_map(|to| Some(to.address()?.ip())).chain(hosts).collect();
        let named = endpoints().any(|to| to.address().is_none());
        // Every device has a network of link-local addresses of its own.
        let is_network =
            |address: &&IpNet| address.prefix_len() < address.max_prefix_len() && !is_link_local(address.addr());
        let connected = config.addresses.iter().filter(is_network);
        let mut wanted = WantedRoutes {
            connected: connected.map(|address| (address.trunc(), address.addr())).collect(),
            ..WantedRoutes::default()
        };
        for (peer, prefix) in candidates(config) {
            let at_name = || (named && prefix.prefix_len() < DEFAULT_LIKE).then_some(Reason::Name);
            match host_inside(&hosts, &prefix).map(Reason::Peer).or_else(at_name) {
                Some(reason) => wanted.left_out.push(LeftOut { peer: peer.to_owned(), prefix, reason }),
                None => drop(wanted.routed.insert(prefix)),
            }
        }
        wanted
    }

    /// All prefixes whose packets go into the device.
    pub(super) fn inside(&self) -> impl Iterator<Item = IpNet> + '_ {
        self.connected.iter().map(|(prefix, _)| *prefix).chain(self.routed.iter().copied())
    }

    /// Sentences about the name `servers` to which questions go into the tunnel, if the endpoint of a peer is a host name.
    fn servers_inside(&self, config: &DaemonConfig, servers: &BTreeSet<IpAddr>) -> Vec<String> {
        let is_name = |to: &HostPort| to.address().is_none();
        let Some(name) = config.peers.iter().filter_map(|peer| peer.endpoint.as_ref()).find(|to| is_name(to)) else {
            return Vec::new();
        };
        let inside =
            servers.iter().filter_map(|server| Some((server, self.inside().find(|one| one.contains(server))?)));
        let words = |(server, prefix)| {
            format!(
                "the name server {server} lies in {prefix}, which is routed into the tunnel: `{}` cannot be resolved before the \
                 tunnel is up; write the address as `endpoint`, or use another name server",
                name.host
            )
        };
        inside.map(words).collect()
    }

    /// Logs the name servers of this host that only the tunnel reaches, if a name must be resolved.
    pub(super) fn warn_of_servers(&self, config: &DaemonConfig) {
        for problem in self.servers_inside(config, &name_servers()) {
            tracing::warn!("questions to a name server enter the tunnel: {problem}");
        }
    }

    /// Logs the prefixes that get no route, without those that got none `before` for the same reason.
    pub(super) fn warn_of_new(&self, before: &WantedRoutes) {
        for one in self.left_out.iter().filter(|one| !before.left_out.contains(one)) {
            let LeftOut { peer, prefix, reason } = one;
            tracing::warn!(%peer, %prefix, "no route set: {reason}");
        }
    }
}

impl DaemonConfig {
    /// What the daemon warns of at its start: the prefixes in `allowed-ips` that get no route, each with the reason, and the
    /// name servers of this host that only the tunnel reaches.
    pub fn route_warnings(&self) -> Vec<String> {
        let wanted = WantedRoutes::of(self, []);
        let servers = wanted.servers_inside(self, &name_servers());
        let words =
            |LeftOut { peer, prefix, reason }| format!("allowed-ips of {peer}: no route set to {prefix}: {reason}");
        wanted.left_out.into_iter().map(words).chain(servers).collect()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Peer(host) => write!(
                f,
                "the peer at {host} lies inside the prefix, so datagrams to the peer would enter the tunnel; set the routes \
                 yourself"
            ),
            Reason::Name => f.write_str(
                "the endpoint of a peer is a host name, and its address may lie inside the prefix; write the address as \
                 `endpoint`, and set the routes yourself",
            ),
        }
    }
}

/// The prefixes in the peers' `allowed-ips` that lie in no prefix of a device's address, each with the peer's name.
pub(super) fn candidates(config: &DaemonConfig) -> impl Iterator<Item = (&str, IpNet)> {
    let prefixes = config.peers.iter().flat_map(|peer| peer.allowed_ips.iter().map(|prefix| (&*peer.name, *prefix)));
    let prefixes = prefixes.filter_map(|(peer, prefix)| Some((peer, net(&prefix)?)));
    prefixes.filter(|(_, prefix)| !config.addresses.iter().any(|address| address.contains(prefix)))
}

/// The prefix as the endpoint knows it.
pub(super) fn prefix_of(net: &IpNet) -> Option<IpPrefix> {
    IpPrefix::new(net.addr(), net.prefix_len())
}

fn net(prefix: &IpPrefix) -> Option<IpNet> {
    IpNet::new(prefix.address(), prefix.prefix_len()).ok()
}

/// The lowest of the addresses `hosts` that lies inside `prefix`. Takes logarithmic time: there may be thousands of both.
fn host_inside(hosts: &BTreeSet<IpAddr>, prefix: &IpNet) -> Option<IpAddr> {
    hosts.range(prefix.network()..=prefix.broadcast()).next().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_proto::secure::PrivateKey;
    use std::path::Path;

    fn config(allowed: &str, endpoint: &str) -> DaemonConfig {
        let [private, peer] = [1, 2].map(|byte| PrivateKey::from_bytes([byte; 32]));
        let text = format!(
            "[interface]\nprivate-key = \"{}\"\naddress = [\"10.77.0.1/24\", \"fd77::1/128\", \"fe80::1/64\"]\n\
             [[peer]]\npublic-key = \"{}\"\nallowed-ips = {allowed}\nendpoint = \"{endpoint}\"\n",
            *private.to_base64(),
            peer.public()
        );
        DaemonConfig::parse(&text, Path::new("t.toml")).unwrap()
    }

    fn wanted(config: &DaemonConfig) -> (Vec<String>, Vec<(String, Reason)>) {
        let wanted = WantedRoutes::of(config, []);
        let left_out = wanted.left_out.iter().map(|one| (one.prefix.to_string(), one.reason));
        (wanted.routed.iter().map(ToString::to_string).collect(), left_out.collect())
    }

    #[test]
    fn routes_follow_the_configuration() {
        let allowed = "[\"10.77.0.2\", \"10.9.0.0/16\", \"10.8.0.0/16\"]";
        let both = vec!["10.8.0.0/16".to_owned(), "10.9.0.0/16".to_owned()];
        assert_eq!(wanted(&config(allowed, "192.0.2.1:5182")), (both.clone(), vec![]));
        // A configured address inside a prefix takes its route away. A name does not.
        let left_out = vec![("10.9.0.0/16".to_owned(), Reason::Peer("10.9.0.5".parse().unwrap()))];
        assert_eq!(wanted(&config(allowed, "10.9.0.5:5182")), (vec!["10.8.0.0/16".to_owned()], left_out));
        let named = config(allowed, "vpn.example:5182");
        assert_eq!(wanted(&named), (both, vec![]));
        // When a configuration is read again, the present address of a peer counts too.
        let again = WantedRoutes::of(&named, ["10.9.0.7".parse().unwrap()]);
        assert_eq!(again.left_out[0].reason, Reason::Peer("10.9.0.7".parse().unwrap()));
    }

    #[test]
    fn name_servers_inside_the_tunnel_are_named() {
        let servers: BTreeSet<IpAddr> = ["10.9.0.53", "127.0.0.53"].map(|server| server.parse().unwrap()).into();
        let said = |endpoint: &str| {
            let config = config("[\"10.9.0.0/16\"]", endpoint);
            WantedRoutes::of(&config, []).servers_inside(&config, &servers)
        };
        let sentences = said("vpn.example:5182");
        assert!(sentences.len() == 1 && sentences[0].contains("10.9.0.53 lies in 10.9.0.0/16"), "{sentences:?}");
        assert!(sentences[0].contains("`vpn.example`"), "{sentences:?}");
        assert_eq!(said("192.0.2.1:5182"), [""; 0], "no name must be resolved");
    }

    #[test]
    fn a_default_route_is_left_out_while_an_endpoint_is_a_name() {
        let allowed = "[\"0.0.0.0/0\", \"::/0\", \"10.0.0.0/8\"]";
        let (routed, left_out) = wanted(&config(allowed, "vpn.example:5182"));
        assert_eq!(routed, ["10.0.0.0/8"]);
        assert_eq!(left_out, [("0.0.0.0/0".to_owned(), Reason::Name), ("::/0".to_owned(), Reason::Name)]);
        // An address of IPv4 does not lie in `::/0`.
        let (routed, left_out) = wanted(&config(allowed, "192.0.2.1:5182"));
        assert_eq!(routed, ["10.0.0.0/8", "::/0"]);
        assert_eq!(left_out, [("0.0.0.0/0".to_owned(), Reason::Peer("192.0.2.1".parse().unwrap()))]);
    }

    #[test]
    fn the_prefix_of_one_address_is_no_connected_network() {
        let config = config("[\"10.9.0.0/16\"]", "192.0.2.1:5182");
        let wanted = WantedRoutes::of(&config, []);
        assert_eq!(wanted.connected, [("10.77.0.0/24".parse().unwrap(), "10.77.0.1".parse().unwrap())]);
        assert_eq!(wanted.inside().map(|net| net.to_string()).collect::<Vec<_>>(), ["10.77.0.0/24", "10.9.0.0/16"]);
    }
}
