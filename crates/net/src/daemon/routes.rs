//! Which prefixes this host routes into the device: the networks behind the peers, without those that may hold the
//! address of a peer. [`super::keeper`] sets the routes.

use super::config::DaemonConfig;
use super::resolve::name_servers;
use ipnet::IpNet;
use ripstop_proto::endpoint::IpPrefix;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

/// The prefix length in bits below which a prefix counts as a default route while the endpoint of any peer is a host
/// name: the name may resolve to an address inside the prefix. The largest private network, 10.0.0.0/8, is still routed,
/// until the name resolves to an address inside. At half the value, `0.0.0.0/1` and `128.0.0.0/1` still count. At double the
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

/// Why a prefix gets no route: datagrams to a peer or to a name server would enter the tunnel that needs their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The address of a peer lies inside the prefix.
    Peer(IpAddr),
    /// The endpoint of a peer is a host name, and this name server of the host lies inside the prefix.
    NameServer(IpAddr),
    /// The endpoint of a peer is a host name, which may resolve to an address inside the prefix.
    Name,
}

impl WantedRoutes {
    /// The routes for `config` while the peers are at the addresses `hosts`, in addition to their configured addresses. A
    /// prefix that lies in the prefix of a device's address needs no route. A prefix that contains an address of a peer
    /// gets none: datagrams to this peer would enter the tunnel. While an endpoint is a host name, the same is true for the
    /// addresses of the host's name `servers`.
    pub(super) fn of(config: &DaemonConfig, hosts: &[IpAddr], servers: &BTreeSet<IpAddr>) -> WantedRoutes {
        let numeric = config.peers.iter().filter_map(|peer| Some(peer.endpoint.as_ref()?.address()?.ip()));
        let hosts: BTreeSet<IpAddr> = numeric.chain(hosts.iter().copied()).collect();
        let named = config.peers.iter().any(|peer| peer.endpoint.as_ref().is_some_and(|to| to.address().is_none()));
        let connected = config.addresses.iter().filter(|address| address.prefix_len() < address.max_prefix_len());
        let mut wanted = WantedRoutes {
            connected: connected.map(|address| (address.trunc(), address.addr())).collect(),
            ..WantedRoutes::default()
        };
        for (peer, prefix) in candidates(config) {
            let at_name = || (named && prefix.prefix_len() < DEFAULT_LIKE).then_some(Reason::Name);
            let at_server = || host_inside(servers, &prefix).filter(|_| named).map(Reason::NameServer);
            match host_inside(&hosts, &prefix).map(Reason::Peer).or_else(at_name).or_else(at_server) {
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

    /// Logs the prefixes that get no route, without those that got none `before` for the same reason.
    pub(super) fn warn_of_new(&self, before: &WantedRoutes) {
        for one in self.left_out.iter().filter(|one| !before.left_out.contains(one)) {
            let LeftOut { peer, prefix, reason } = one;
            tracing::warn!(%peer, %prefix, "no route set: {reason}");
        }
    }
}

impl DaemonConfig {
    /// What the daemon warns of at its start: the prefixes in `allowed-ips` that get no route, each with the reason. Reads the
    /// addresses of this host's name servers.
    pub fn route_warnings(&self) -> Vec<String> {
        let wanted = WantedRoutes::of(self, &[], &name_servers());
        let words = |LeftOut { peer, prefix, reason }| format!("allowed-ips of {peer}: no route to {prefix}: {reason}");
        wanted.left_out.into_iter().map(words).collect()
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
            Reason::NameServer(server) => write!(
                f,
                "the endpoint of a peer is a host name, and the name server {server} lies inside the prefix, so the name \
                 could not be resolved; write the address as `endpoint`, or use another name server"
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
            "[interface]\nprivate-key = \"{}\"\naddress = [\"10.77.0.1/24\", \"fd77::1/128\"]\n\
             [[peer]]\npublic-key = \"{}\"\nallowed-ips = {allowed}\nendpoint = \"{endpoint}\"\n",
            *private.to_base64(),
            peer.public()
        );
        DaemonConfig::parse(&text, Path::new("t.toml")).unwrap()
    }

    fn wanted(config: &DaemonConfig, hosts: &[&str], servers: &[&str]) -> (Vec<String>, Vec<(String, Reason)>) {
        let [hosts, servers] = [hosts, servers].map(|list| list.iter().map(|host| host.parse().unwrap()));
        let wanted = WantedRoutes::of(config, &hosts.collect::<Vec<_>>(), &servers.collect());
        let left_out = wanted.left_out.iter().map(|one| (one.prefix.to_string(), one.reason));
        (wanted.routed.iter().map(ToString::to_string).collect(), left_out.collect())
    }

    #[test]
    fn routes_follow_prefixes_and_endpoints() {
        let allowed = "[\"10.77.0.2\", \"10.9.0.0/16\", \"10.8.0.0/16\"]";
        let both = vec!["10.8.0.0/16".to_owned(), "10.9.0.0/16".to_owned()];
        let one = vec!["10.8.0.0/16".to_owned()];
        let without = |reason| vec![("10.9.0.0/16".to_owned(), reason)];
        assert_eq!(wanted(&config(allowed, "192.0.2.1:5182"), &[], &["10.9.0.53"]), (both.clone(), vec![]));
        // A configured, a resolved and a learned address inside a prefix take its route away.
        let host = "10.9.0.5";
        let expected = (one.clone(), without(Reason::Peer(host.parse().unwrap())));
        assert_eq!(wanted(&config(allowed, "10.9.0.5:5182"), &[], &[]), expected);
        let named = config(allowed, "vpn.example:5182");
        assert_eq!(wanted(&named, &[host], &[]), expected);
        assert_eq!(wanted(&named, &["192.0.2.1"], &["127.0.0.53"]), (both, vec![]));
        // The name could not be resolved through the tunnel.
        let server = "10.9.0.53";
        let expected = (one, without(Reason::NameServer(server.parse().unwrap())));
        assert_eq!(wanted(&named, &["192.0.2.1"], &[server]), expected);
    }

    #[test]
    fn a_default_route_is_left_out_while_an_endpoint_is_a_name() {
        let allowed = "[\"0.0.0.0/0\", \"::/0\", \"10.0.0.0/8\"]";
        let (routed, left_out) = wanted(&config(allowed, "vpn.example:5182"), &[], &[]);
        assert_eq!(routed, ["10.0.0.0/8"]);
        assert_eq!(left_out, [("0.0.0.0/0".to_owned(), Reason::Name), ("::/0".to_owned(), Reason::Name)]);
        // An address of IPv4 does not lie in `::/0`.
        let (routed, left_out) = wanted(&config(allowed, "192.0.2.1:5182"), &[], &[]);
        assert_eq!(routed, ["10.0.0.0/8", "::/0"]);
        assert_eq!(left_out, [("0.0.0.0/0".to_owned(), Reason::Peer("192.0.2.1".parse().unwrap()))]);
    }

    #[test]
    fn the_prefix_of_one_address_is_no_connected_network() {
        let config = config("[\"10.9.0.0/16\"]", "192.0.2.1:5182");
        let wanted = WantedRoutes::of(&config, &[], &BTreeSet::new());
        assert_eq!(wanted.connected, [("10.77.0.0/24".parse().unwrap(), "10.77.0.1".parse().unwrap())]);
        assert_eq!(wanted.inside().map(|net| net.to_string()).collect::<Vec<_>>(), ["10.77.0.0/24", "10.9.0.0/16"]);
    }
}
