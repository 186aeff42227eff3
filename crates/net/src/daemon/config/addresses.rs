//! Which addresses a configuration may name, and for what. A refusal is the end of a sentence, and says what would be right.
//!
//! The kernel takes some of the refused addresses, and then carries no packet: for example the broadcast address of a
//! network as an address of the device. Whether this host has an address or a device is not judged here.

use super::HostPort;
use crate::os::zoned::{ZonedAddress, is_link_local};
use ipnet::IpNet;
use ripstop_proto::endpoint::IpPrefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Checks an address of the device with its prefix.
pub(super) fn check_own(address: IpNet) -> Result<(), String> {
    let ip = address.addr();
    let wrong = |problem: &str| {
        Err(format!(
            "`{address}` {problem}; write the address of a host in it, for example \"{}\"",
            first_host(address)
        ))
    };
    if let Some(kind) = no_host(ip).or_else(|| ip.is_loopback().then_some("a loopback address")) {
        return Err(format!(
            "`{address}` is {kind}, not the address of a host; write for example \"10.77.0.1/24\" or \"fd77::1/64\""
        ));
    }
    // The kernel adds no route for such a network, so no packet would enter the device.
    if address.prefix_len() == 0 || address.network() == IpAddr::V4(Ipv4Addr::UNSPECIFIED) {
        return Err(format!(
            "`{address}` has too short a prefix: the kernel adds no route for it; write for example \"{ip}/{}\"",
            if ip.is_ipv4() { 24 } else { 64 }
        ));
    }
    // The two addresses of a /31 or a /127 are addresses of hosts (RFC 3021 and RFC 6164).
    let has_network_address = address.prefix_len() + 2 <= address.max_prefix_len();
    match ip {
        _ if !has_network_address => Ok(()),
        IpAddr::V4(_) if ip == address.network() => wrong("is the address of the network itself"),
        IpAddr::V4(_) if ip == address.broadcast() => wrong("is the broadcast address of the network"),
        IpAddr::V6(_) if ip == address.network() => {
            wrong("is the address of every router in the network (RFC 4291, section 2.6.1)")
        }
        _ => Ok(()),
    }
}

/// Reads a network behind a peer. `own` are the addresses of the device.
pub(super) fn allowed(text: &str, own: &[IpNet]) -> Result<IpPrefix, String> {
    let prefix: IpPrefix = text.parse().map_err(|error| format!("{error}"))?;
    let ip: IpAddr = text.trim().split('/').next().and_then(|ip| ip.parse().ok()).unwrap_or(prefix.address());
    // Silence would be dangerous: the network of `10.0.0.1/0` is the whole Internet.
    if ip != prefix.address() {
        let bits = if ip.is_ipv4() { 32 } else { 128 };
        return Err(format!(
            "`{}` is an address inside the network {prefix}; write \"{prefix}\" for the network, or \"{ip}/{bits}\" for this \
             address alone",
            text.trim()
        ));
    }
    let whole = |net: &str| net.parse::<IpPrefix>().is_ok_and(|net| covers(net, prefix));
    let useless = [
        ("127.0.0.0/8", "loopback addresses"),
        ("::1/128", "the loopback address"),
        ("0.0.0.0/32", "the unspecified address"),
        ("::/128", "the unspecified address"),
        ("255.255.255.255/32", "the broadcast address"),
        ("::ffff:0:0/96", "IPv4-mapped addresses, which no packet has"),
    ];
    if let Some((_, kind)) = useless.into_iter().find(|(net, _)| whole(net)) {
        return Err(format!(
            "{prefix}: the kernel sends no packet for {kind} into a tunnel; write a network behind the peer"
        ));
    }
    if prefix.prefix_len() == if ip.is_ipv4() { 32 } else { 128 } {
        if own.iter().any(|own| own.addr() == ip) {
            return Err(format!("{prefix} is this host's own address; write the peer's address"));
        }
        let is_broadcast =
            |own: &&IpNet| ip.is_ipv4() && own.prefix_len() <= 30 && (own.broadcast() == ip || own.network() == ip);
        if let Some(own) = own.iter().find(is_broadcast) {
            return Err(format!(
                "{prefix} is the broadcast address or the network address of {}; write the peer's address",
                own.trunc()
            ));
        }
    }
    Ok(prefix)
}

/// Reads the endpoint of a peer. `own` are the addresses of the device.
pub(super) fn endpoint(text: &str, own: &[IpNet]) -> Result<HostPort, String> {
    let example = "write for example \"vpn.example.org:5182\", \"192.0.2.1:5182\" or \"[2001:db8::1]:5182\"";
    let endpoint = HostPort::parse(text).ok_or_else(|| match text.trim().parse::<ZonedAddress>() {
        // The text has the form of an address. Its zone is wrong, or its port is 0.
        Ok(_) => format!("`{text}` has no port; {example}"),
        Err(error) if text.contains('%') => format!("`{text}` {error}"),
        Err(_) => format!("`{text}` is not a host with a port; {example}"),
    })?;
    let Some(ip) = endpoint.ip() else { return Ok(endpoint) };
    if endpoint.zone().is_none() && is_link_local(ip) {
        let error =
            text.trim().parse::<ZonedAddress>().map(|_| String::new()).unwrap_or_else(|error| error.to_string());
        return Err(format!("`{text}` {error}"));
    }
    if let Some(kind) = no_host(ip) {
        return Err(format!(
            "`{text}` has {kind}, not the address of a host; {}",
            correction(ip, endpoint.port, example)
        ));
    }
    if let Some(own) = own.iter().find(|own| own.contains(&ip) && endpoint.zone().is_none()) {
        return Err(format!(
            "`{text}` lies inside the device's own network {}, so datagrams to the peer would enter the tunnel; write the \
             peer's address outside the tunnel",
            own.trunc()
        ));
    }
    Ok(endpoint)
}

/// Reads an address to listen on.
pub(super) fn to_listen(text: &str, example: &str) -> Result<ZonedAddress, String> {
    let address: ZonedAddress = text.parse().map_err(|error| {
        let error: crate::os::zoned::ZoneError = error;
        match text.contains("fe") || text.contains('%') {
            true => format!("`{text}` {error}; write for example {example}"),
            false => format!("`{text}` is not an address with a port; write for example {example}"),
        }
    })?;
    match no_host(address.ip()).filter(|_| !address.ip().is_unspecified()) {
        Some(kind) => Err(format!(
            "`{text}` has {kind}, at which no program can listen; {}",
            correction(address.ip(), address.port(), &format!("write for example {example}"))
        )),
        None => Ok(address),
    }
}

/// What the address is, if it cannot be the address of one host.
fn no_host(ip: IpAddr) -> Option<&'static str> {
    match ip {
        _ if ip.is_unspecified() => Some("the unspecified address"),
        _ if ip.is_multicast() => Some("a multicast address"),
        IpAddr::V4(v4) if v4.is_broadcast() => Some("the broadcast address"),
        IpAddr::V4(v4) if v4.octets()[0] == 0 => Some("an address of \"this network\" (0.0.0.0/8)"),
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => Some("an IPv4-mapped address"),
        _ => None,
    }
}

/// What to write instead of an address that [`no_host`] refuses.
fn correction(ip: IpAddr, port: u16, example: &str) -> String {
    let v4 = match ip {
        IpAddr::V6(v6) => v6.to_ipv4_mapped(),
        IpAddr::V4(_) => None,
    };
    v4.map_or(example.to_owned(), |v4| format!("write \"{v4}:{port}\""))
}

fn covers(outer: IpPrefix, inner: IpPrefix) -> bool {
    outer.prefix_len() <= inner.prefix_len() && outer.contains(inner.address())
}

/// The first address of a host in the network, with the prefix.
fn first_host(net: IpNet) -> String {
    let first: IpAddr = match net.network() {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits().saturating_add(1)).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits().saturating_add(1)).into(),
    };
    format!("{first}/{}", net.prefix_len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_device_are_addresses_of_hosts() {
        let check = |text: &str| check_own(text.parse().unwrap());
        for text in [
            "10.0.0.1/24",
            "10.0.0.0/31",
            "10.0.0.1/31",
            "10.0.0.255/32",
            "10.0.0.255/16",
            "fd77::/127",
            "fd77::ffff/64",
            "fe80::1/64",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        for (text, words) in [
            ("224.0.0.1/24", "a multicast address"),
            ("0.0.0.0/0", "the unspecified address"),
            ("0.1.2.3/24", "0.0.0.0/8"),
            ("127.0.0.1/8", "a loopback address"),
            ("255.255.255.255/32", "the broadcast address"),
            (
                "10.77.0.255/24",
                "is the broadcast address of the network; write the address of a host in it, for example \"10.77.0.1/24\"",
            ),
            ("10.77.0.0/24", "is the address of the network itself"),
            ("10.77.0.3/30", "is the broadcast address"),
            ("10.0.0.1/0", "too short a prefix: the kernel adds no route for it; write for example \"10.0.0.1/24\""),
            ("10.0.0.1/4", "too short a prefix"),
            ("fd77::1/0", "for example \"fd77::1/64\""),
            ("ff02::1/64", "a multicast address"),
            ("::1/128", "a loopback address"),
            ("::/64", "the unspecified address"),
            ("fd77::/64", "every router in the network"),
            ("::ffff:10.0.0.1/120", "an IPv4-mapped address"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn networks_behind_a_peer_have_no_host_bits() {
        let own: Vec<IpNet> = ["10.77.0.1/24", "fd77::1/64"].map(|own| own.parse().unwrap()).into();
        for text in
            ["10.77.0.2", "10.77.0.2/32", "0.0.0.0/0", "::/0", "10.77.0.0/24", "fd77::2", "224.0.0.0/4", "fe80::/10"]
        {
            assert!(allowed(text, &own).is_ok(), "{text}");
        }
        for (text, words) in [
            ("10.0.0.1/0", "write \"0.0.0.0/0\" for the network, or \"10.0.0.1/32\""),
            ("10.0.0.1/24", "write \"10.0.0.0/24\""),
            ("fd00::1/64", "write \"fd00::/64\" for the network, or \"fd00::1/128\""),
            ("127.0.0.0/8", "loopback"),
            ("127.0.0.1", "loopback"),
            ("::1/128", "loopback"),
            ("0.0.0.0/32", "unspecified"),
            ("255.255.255.255", "broadcast"),
            ("::ffff:0:0/96", "IPv4-mapped"),
            ("10.77.0.1", "this host's own address"),
            ("fd77::1/128", "this host's own address"),
            ("10.77.0.255", "the broadcast address or the network address of 10.77.0.0/24"),
            ("10.0.0.0/33", "not an address prefix"),
        ] {
            let error = allowed(text, &own).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn endpoints_are_addresses_of_hosts() {
        let own: Vec<IpNet> = vec!["10.77.0.1/24".parse().unwrap()];
        for text in
            ["a.example:1", "192.0.2.1:1", "127.0.0.1:1", "[fe80::a%e0]:5182", "[fe80::a%3]:5182", "[fd00::1]:1"]
        {
            assert_eq!(endpoint(text, &own).map(|endpoint| endpoint.to_string()), Ok(text.to_owned()));
        }
        for (text, words) in [
            ("[fe80::a]:5182", "for example `[fe80::a%eth0]:5182`"),
            ("[fd00::a%e0]:5182", "write `[fd00::a]:5182`"),
            ("[fe80::a%]:5182", "no valid zone"),
            ("0.0.0.0:5182", "the unspecified address"),
            ("224.0.0.1:5182", "a multicast address"),
            ("255.255.255.255:5182", "the broadcast address"),
            ("[::ffff:192.0.2.1]:5182", "write \"192.0.2.1:5182\""),
            ("10.77.0.2:5182", "would enter the tunnel"),
            ("192.0.2:5182", "not a host with a port"),
            ("192.0.2.300:5182", "not a host with a port"),
            ("192.0.2.1:0", "has no port"),
        ] {
            let error = endpoint(text, &own).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn programs_listen_on_addresses_of_this_host() {
        let listen = |text: &str| to_listen(text, "\"0.0.0.0:1\"");
        for text in ["0.0.0.0:5182", "[::]:5182", "127.0.0.1:0", "[fe80::1%e0]:5182"] {
            assert_eq!(listen(text).map(|address| address.to_string()), Ok(text.to_owned()));
        }
        for (text, words) in [
            ("[fe80::1]:1", "%eth0"),
            ("224.0.0.1:1", "a multicast address"),
            ("[ff02::1]:1", "a multicast address"),
            ("255.255.255.255:1", "the broadcast address"),
            ("[::ffff:127.0.0.1]:9482", "write \"127.0.0.1:9482\""),
            ("9482", "not an address with a port"),
        ] {
            let error = listen(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
