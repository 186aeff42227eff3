//! Routes through the device to the networks behind the peers. The routes disappear with the
//! device.

use super::config::DaemonConfig;
use crate::os::ip::ip;
use crate::os::netns::Namespace;
use ipnet::IpNet;
use ripstop_proto::endpoint::IpPrefix;
use std::net::IpAddr;

/// Adds a route for every prefix in the peers' `allowed_ips` that lies in no prefix of the device's
/// own addresses. A prefix that contains the numeric `endpoint` of a peer gets no route. If a route is
/// not set, the daemon logs this, and the operator must set the route.
///
/// If an `endpoint` is a host name, its address is not known yet. [`check`] logs a warning, if
/// needed, when the name is resolved.
pub(super) fn install(config: &DaemonConfig, namespace: &Namespace, device: &str) {
    candidates(config).for_each(|candidate| candidate.add(namespace, device));
}

/// Adds and removes routes when the configuration changes from `old` to `new`. The daemon does not touch a route that is
/// wanted before and after, and warns only about prefixes that newly get no route.
pub(super) fn change(old: &DaemonConfig, new: &DaemonConfig, namespace: &Namespace) {
    for prefix in removed(old, new) {
        // The operator may have removed the route already.
        let _ = ip(namespace, &["route", "del", &prefix.to_string(), "dev", &old.name]);
    }
    added(old, new).for_each(|candidate| candidate.add(namespace, &old.name));
}

/// Warns when `host`, the resolved address of a peer, lies in a prefix of any peer's `allowed_ips`.
pub(super) fn check(config: &DaemonConfig, host: IpAddr) {
    let all = config.peers.iter().flat_map(|peer| &peer.allowed_ips);
    for prefix in all.filter(|prefix| prefix.contains(host)) {
        tracing::warn!(%prefix, "a peer's address {host} lies inside a prefix that is routed through the tunnel: datagrams to the peer enter the tunnel; add a route to this address outside the tunnel");
    }
}

/// A prefix that needs a route through the device.
struct Candidate<'a> {
    peer: &'a str,
    prefix: IpPrefix,
    /// The address of a peer that lies inside the prefix. The prefix then gets no route.
    inside: Option<IpAddr>,
}

impl Candidate<'_> {
    /// Adds the route, or says why there is none.
    fn add(&self, namespace: &Namespace, device: &str) {
        let Candidate { peer, prefix, inside } = self;
        if let Some(host) = inside {
            tracing::warn!(
                %peer, %prefix,
                "no route set: the peer at {host} lies inside the prefix, so datagrams to the peer would enter \
                 the tunnel; set the routes yourself"
            );
            return;
        }
        if let Err(error) = ip(namespace, &["route", "add", &prefix.to_string(), "dev", device]) {
            tracing::warn!(%peer, %prefix, %error, "no route set; set the route yourself");
        }
    }
}

/// The prefixes in the peers' `allowed_ips`, except those in a prefix of the device's own addresses.
fn candidates(config: &DaemonConfig) -> impl Iterator<Item = Candidate<'_>> {
    let prefixes = config.peers.iter().flat_map(|peer| peer.allowed_ips.iter().map(|prefix| (&*peer.name, *prefix)));
    prefixes.filter(|(_, prefix)| !is_connected(config, prefix)).map(|(peer, prefix)| Candidate {
        peer,
        prefix,
        inside: endpoints(config).find(|host| prefix.contains(*host)),
    })
}

/// The prefixes that have a route with `old`, and must have none with `new`.
fn removed(old: &DaemonConfig, new: &DaemonConfig) -> Vec<IpPrefix> {
    let routed = |config| candidates(config).filter(|candidate| candidate.inside.is_none());
    let after: Vec<IpPrefix> = routed(new).map(|candidate| candidate.prefix).collect();
    routed(old).map(|candidate| candidate.prefix).filter(|prefix| !after.contains(prefix)).collect()
}

/// The candidates of `new` that are not already routed, or left out for the same reason, with `old`.
fn added<'a>(old: &DaemonConfig, new: &'a DaemonConfig) -> impl Iterator<Item = Candidate<'a>> {
    let before: Vec<_> = candidates(old).map(|candidate| (candidate.prefix, candidate.inside)).collect();
    candidates(new).filter(move |candidate| !before.contains(&(candidate.prefix, candidate.inside)))
}

fn endpoints(config: &DaemonConfig) -> impl Iterator<Item = IpAddr> {
    config.peers.iter().filter_map(|peer| Some(peer.endpoint.as_ref()?.address()?.ip()))
}

fn is_connected(config: &DaemonConfig, prefix: &IpPrefix) -> bool {
    let Ok(prefix) = IpNet::new(prefix.address(), prefix.prefix_len()) else { return false };
    config.addresses.iter().any(|address| address.contains(&prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_proto::secure::PrivateKey;
    use std::path::Path;

    fn config(allowed: &str, endpoint: &str) -> DaemonConfig {
        let [private, peer] = [1, 2].map(|byte| PrivateKey::from_bytes([byte; 32]));
        let text = format!(
            "[interface]\nprivate-key = \"{}\"\naddress = \"10.77.0.1/24\"\n\
             [[peer]]\npublic-key = \"{}\"\nallowed-ips = {allowed}\nendpoint = \"{endpoint}\"\n",
            *private.to_base64(),
            peer.public()
        );
        DaemonConfig::parse(&text, Path::new("t.toml")).unwrap()
    }

    #[test]
    fn routes_follow_prefixes_and_endpoints() {
        let allowed = "[\"10.77.0.2\", \"10.9.0.0/16\", \"10.8.0.0/16\"]";
        let far = config(allowed, "192.0.2.1:5182");
        let change = |old: &DaemonConfig, new: &DaemonConfig| {
            let added = added(old, new).map(|one| (one.prefix.to_string(), one.inside.map(|host| host.to_string())));
            let removed: Vec<_> = removed(old, new).iter().map(IpPrefix::to_string).collect();
            (removed, added.collect::<Vec<_>>())
        };
        let route = |prefix: &str| (prefix.to_owned(), None);
        let without = |prefix: &str, host: &str| (prefix.to_owned(), Some(host.to_owned()));
        assert_eq!(change(&far, &far), (vec![], vec![]));
        // A new endpoint inside a prefix takes its route away, and an endpoint that leaves gives it back.
        let inside = config(allowed, "10.9.0.5:5182");
        let gone = (vec!["10.9.0.0/16".to_owned()], vec![without("10.9.0.0/16", "10.9.0.5")]);
        assert_eq!(change(&far, &inside), gone);
        assert_eq!(change(&inside, &inside), (vec![], vec![]));
        assert_eq!(change(&inside, &far), (vec![], vec![route("10.9.0.0/16")]));
        // A prefix without a route is not removed: the operator may have set a route.
        let fewer = config("[\"10.77.0.2\", \"10.8.0.0/16\"]", "10.9.0.5:5182");
        assert_eq!(change(&inside, &fewer), (vec![], vec![]));
        assert_eq!(change(&far, &fewer), (vec!["10.9.0.0/16".to_owned()], vec![]));
        assert_eq!(change(&fewer, &inside), (vec![], vec![without("10.9.0.0/16", "10.9.0.5")]));
    }
}
