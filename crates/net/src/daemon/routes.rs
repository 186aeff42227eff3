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
    add(config, namespace, device, |_| true);
}

/// Adds and removes routes when the configuration changes from `old` to `new`.
pub(super) fn change(old: &DaemonConfig, new: &DaemonConfig, namespace: &Namespace) {
    let has =
        |config: &DaemonConfig, prefix: &IpPrefix| config.peers.iter().any(|peer| peer.allowed_ips.contains(prefix));
    let all = old.peers.iter().flat_map(|peer| &peer.allowed_ips);
    for prefix in all.filter(|prefix| !is_connected(old, prefix) && !has(new, prefix)) {
        // The operator may have removed the route already.
        let _ = ip(namespace, &["route", "del", &prefix.to_string(), "dev", &old.name]);
    }
    add(new, namespace, &old.name, |prefix| !has(old, prefix));
}

/// Adds the routes for the prefixes that are `wanted`.
fn add(config: &DaemonConfig, namespace: &Namespace, device: &str, wanted: impl Fn(&IpPrefix) -> bool) {
    for peer in &config.peers {
        for prefix in peer.allowed_ips.iter().filter(|prefix| wanted(prefix) && !is_connected(config, prefix)) {
            if let Some(host) = endpoints(config).find(|host| prefix.contains(*host)) {
                tracing::warn!(
                    peer = %peer.name, %prefix,
                    "no route set: the peer at {host} lies inside the prefix, so datagrams to the peer would enter \
                     the tunnel; set the routes yourself"
                );
                continue;
            }
            if let Err(error) = ip(namespace, &["route", "add", &prefix.to_string(), "dev", device]) {
                tracing::warn!(peer = %peer.name, %prefix, %error, "no route set; set the route yourself");
            }
        }
    }
}

/// Warns when `host`, the resolved address of a peer, lies in a prefix of any peer's `allowed_ips`.
pub(super) fn check(config: &DaemonConfig, host: IpAddr) {
    let all = config.peers.iter().flat_map(|peer| &peer.allowed_ips);
    for prefix in all.filter(|prefix| prefix.contains(host)) {
        tracing::warn!(%prefix, "a peer's address {host} lies inside a prefix that is routed through the tunnel: datagrams to the peer enter the tunnel; add a route to this address outside the tunnel");
    }
}

fn endpoints(config: &DaemonConfig) -> impl Iterator<Item = IpAddr> {
    config.peers.iter().filter_map(|peer| Some(peer.endpoint.as_ref()?.address()?.ip()))
}

fn is_connected(config: &DaemonConfig, prefix: &IpPrefix) -> bool {
    let Ok(prefix) = IpNet::new(prefix.address(), prefix.prefix_len()) else { return false };
    config.addresses.iter().any(|address| address.contains(&prefix))
}
