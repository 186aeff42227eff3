//! Which prefixes this host routes into the device: the networks behind the peers, without those that may hold the
//! address of a peer. [`super::keeper`] sets the routes.

use super::config::DaemonConfig;
use ipnet::IpNet;
use ripstop_proto::endpoint::IpPrefix;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The prefix length in bits below which a prefix counts as a default route while the endpoint of any peer is a host
/// name: the name may resolve to an address inside the prefix, and the name server may lie there too. The largest private
/// network, 10.0.0.0/8, is still routed. At half the value, `0.0.0.0/1` and `128.0.0.0/1` still count. At double the
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
    /// The address of a peer that lies inside the prefix. None: the endpoint of a peer is a host name, which may resolve
    /// to such an address.
    pub(super) host: Option<IpAddr>,
}

impl WantedRoutes {
    /// The routes for `config` while the peers are at the addresses `hosts`, in addition to their configured addresses. A
    /// prefix that lies in the prefix of a device's address needs no route. A prefix that contains an address of a peer
    /// gets none: datagrams to this peer would enter the tunnel.
    pub(super) fn of(config: &DaemonConfig, hosts: &[IpAddr]) -> WantedRoutes {
        let numeric = config.peers.iter().filter_map(|peer| Some(peer.endpoint.as_ref()?.address()?.ip()));
        let hosts: BTreeSet<IpAddr> = numeric.chain(hosts.iter().copied()).collect();
        let named = config.peers.iter().any(|peer| peer.endpoint.as_ref().is_some_and(|to| to.address().is_none()));
        let connected = config.addresses.iter().filter(|address| address.prefix_len() < address.max_prefix_len());
        let mut wanted = WantedRoutes {
            connected: connected.map(|address| (address.trunc(), address.addr())).collect(),
            ..WantedRoutes::default()
        };
        for (peer, prefix) in candidates(config) {
            let host = host_inside(&hosts, &prefix);
            if host.is_some() || (named && prefix.prefix_len() < DEFAULT_LIKE) {
                wanted.left_out.push(LeftOut { peer: peer.to_owned(), prefix, host });
            } else {
                wanted.routed.insert(prefix);
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
        for LeftOut { peer, prefix, host } in self.left_out.iter().filter(|one| !before.left_out.contains(one)) {
            match host {
                Some(host) => tracing::warn!(
                    %peer, %prefix,
                    "no route set: the peer at {host} lies inside the prefix, so datagrams to the peer would enter \
                     the tunnel; set the routes yourself"
                ),
                None => tracing::warn!(
                    %peer, %prefix,
                    "no route set: the endpoint of a peer is a host name, and its address may lie inside the prefix; \
                     write the address as `endpoint`, and set the routes yourself"
                ),
            }
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

    fn wanted(config: &DaemonConfig, hosts: &[&str]) -> (Vec<String>, Vec<(String, Option<String>)>) {
        let hosts: Vec<_> = hosts.iter().map(|host| host.parse().unwrap()).collect();
        let wanted = WantedRoutes::of(config, &hosts);
        let left_out =
            wanted.left_out.iter().map(|one| (one.prefix.to_string(), one.host.map(|host| host.to_string())));
        (wanted.routed.iter().map(ToString::to_string).collect(), left_out.collect())
    }

    #[test]
    fn routes_follow_prefixes_and_endpoints() {
        let allowed = "[\"10.77.0.2\", \"10.9.0.0/16\", \"10.8.0.0/16\"]";
        let both = vec!["10.8.0.0/16".to_owned(), "10.9.0.0/16".to_owned()];
        let one = vec!["10.8.0.0/16".to_owned()];
        let without = |prefix: &str, host: &str| vec![(prefix.to_owned(), Some(host.to_owned()))];
        assert_eq!(wanted(&config(allowed, "192.0.2.1:5182"), &[]), (both.clone(), vec![]));
        // A configured, a resolved and a learned address inside a prefix take its route away.
        let expected = (one, without("10.9.0.0/16", "10.9.0.5"));
        assert_eq!(wanted(&config(allowed, "10.9.0.5:5182"), &[]), expected);
        assert_eq!(wanted(&config(allowed, "vpn.example:5182"), &["10.9.0.5"]), expected);
        assert_eq!(wanted(&config(allowed, "vpn.example:5182"), &["192.0.2.1"]), (both, vec![]));
    }

    #[test]
    fn a_default_route_is_left_out_while_an_endpoint_is_a_name() {
        let allowed = "[\"0.0.0.0/0\", \"::/0\", \"10.0.0.0/8\"]";
        let (routed, left_out) = wanted(&config(allowed, "vpn.example:5182"), &[]);
        assert_eq!(routed, ["10.0.0.0/8"]);
        assert_eq!(left_out, [("0.0.0.0/0".to_owned(), None), ("::/0".to_owned(), None)]);
        // An address of IPv4 does not lie in `::/0`.
        let (routed, left_out) = wanted(&config(allowed, "192.0.2.1:5182"), &[]);
        assert_eq!(routed, ["10.0.0.0/8", "::/0"]);
        assert_eq!(left_out, [("0.0.0.0/0".to_owned(), Some("192.0.2.1".to_owned()))]);
    }

    #[test]
    fn the_prefix_of_one_address_is_no_connected_network() {
        let wanted = WantedRoutes::of(&config("[\"10.9.0.0/16\"]", "192.0.2.1:5182"), &[]);
        assert_eq!(wanted.connected, [("10.77.0.0/24".parse().unwrap(), "10.77.0.1".parse().unwrap())]);
        assert_eq!(wanted.inside().map(|net| net.to_string()).collect::<Vec<_>>(), ["10.77.0.0/24", "10.9.0.0/16"]);
    }
}
