//! A configuration that is accepted starts, and carries packets: random configurations, and the errors of the host.

use super::hosts::{Host, key};
use crate::common::with_namespaces;
use ripstop_base::{Seed, Stream};
use ripstop_net::daemon::{Daemon, DaemonConfig, DaemonConfigError};
use ripstop_net::os::ip::ip;
use ripstop_net::os::netns::Namespace;
use ripstop_net::os::tun::{Tun, TunConfig};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

/// The number of configurations; `RIPSTOP_CHECK_CASES` sets another one.
const CASES: u64 = 400;
/// The first case; `RIPSTOP_CHECK_FIRST` sets another one. A failure prints the case that replays it.
const FIRST: u64 = 0;

/// What is compared is static: the text of the file. The host is always the same: its link has 198.18.0.1/24, and no
/// other program uses a port or a device.
#[test]
fn what_is_accepted_starts_and_carries_packets() {
    with_namespaces(|| {
        let host = Namespace::create("checked").unwrap();
        let addresses = ["198.18.0.1/24", "fd00:1::1/64"].map(|address| address.parse().unwrap()).into();
        let link = TunConfig { name: Some("wire0".into()), addresses, ..TunConfig::default() };
        let _link = Tun::open(&host, &link).unwrap();
        let number = |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
        let (first, cases) = (number("RIPSTOP_CHECK_FIRST", FIRST), number("RIPSTOP_CHECK_CASES", CASES));
        let (mut accepted, mut refused) = (0, 0);
        for case in first..first + cases {
            let text = random(&mut Seed::new(case).stream("configuration"));
            match DaemonConfig::parse(&text, Path::new("t.toml")) {
                Ok(config) => {
                    accepted += 1;
                    let outcome = host.run(|| try_out(&config)).unwrap();
                    assert_eq!(outcome, Ok(()), "RIPSTOP_CHECK_FIRST={case} RIPSTOP_CHECK_CASES=1 replays\n{text}");
                }
                Err(DaemonConfigError::Content { line, problem, .. }) => {
                    refused += 1;
                    let written = text.lines().nth(line - 1).unwrap_or_default();
                    let field = problem.split(':').next().unwrap_or_default();
                    assert!(written.starts_with(field), "RIPSTOP_CHECK_FIRST={case}: line {line}: {problem}\n{text}");
                }
                Err(error) => panic!("RIPSTOP_CHECK_FIRST={case}: {error}\n{text}"),
            }
        }
        assert!(cases < CASES || (accepted >= 50 && refused >= 50), "{accepted} accepted, {refused} refused");
    });
}

/// Starts a daemon, and sends a packet to each network behind the peer.
fn try_out(config: &DaemonConfig) -> Result<(), String> {
    let daemon = Daemon::start(config).map_err(|error| format!("the daemon does not start: {error}"))?;
    let device = nix::net::if_::if_nametoindex(config.name.as_str()).map_err(|errno| errno.to_string())?;
    for own in &config.addresses {
        // A host that answers is reached in the same way from the tunnel.
        let address = at(own.addr(), 0, device);
        // The kernel makes an IPv6 address usable a moment after it was set.
        let bound = (0..200)
            .find_map(|_| TcpListener::bind(address).map_err(|_| std::thread::sleep(Duration::from_millis(5))).ok());
        let listener = bound.ok_or_else(|| format!("{own} is no address of this host"))?;
        let to = listener.local_addr().unwrap();
        TcpStream::connect_timeout(&to, Duration::from_secs(5))
            .map_err(|error| format!("{own} does not answer: {error}"))?;
    }
    for prefix in config.peers.iter().flat_map(|peer| &peer.allowed_ips) {
        let Some(target) = target(prefix.address(), prefix.prefix_len(), config) else { continue };
        let before = daemon.status().unwrap().device.packets.packets_in;
        let any: IpAddr = if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0)).unwrap();
        socket.send_to(b"x", at(target, 9, device)).map_err(|error| format!("no packet to {target}: {error}"))?;
        let is_carried = || {
            (0..200).any(|_| {
                let arrived = daemon.status().unwrap().device.packets.packets_in > before;
                if !arrived {
                    std::thread::sleep(Duration::from_millis(5));
                }
                arrived
            })
        };
        if !is_carried() {
            return Err(format!("a packet to {target} does not enter the device"));
        }
    }
    daemon.stop();
    Ok(())
}

/// A host in a network behind the peer; None if the host itself decides what happens to its packets.
fn target(network: IpAddr, len: u8, config: &DaemonConfig) -> Option<IpAddr> {
    let ip: IpAddr = match network {
        _ if network.is_multicast() => return None,
        IpAddr::V4(v4) if len == 32 => v4.into(),
        IpAddr::V6(v6) if len == 128 => v6.into(),
        IpAddr::V4(_) if len == 0 => [192, 0, 2, 77].into(),
        IpAddr::V6(_) if len == 0 => "2001:db8:77::1".parse().unwrap(),
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() | 1).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() | 1).into(),
    };
    let is_elsewhere = match ip {
        // The link of the host, its own addresses, and addresses that no host has.
        IpAddr::V4(v4) => {
            v4.octets()[..3] == [198, 18, 0] || [0, 127].contains(&v4.octets()[0]) || v4.octets()[0] >= 224
        }
        IpAddr::V6(v6) => {
            v6.segments()[..2] == [0xfd00, 1] || v6.is_loopback() || v6.to_ipv4_mapped().is_some() || v6.is_multicast()
        }
    };
    let is_edge = config.addresses.iter().any(|own| own.addr() == ip || own.broadcast() == ip || own.network() == ip);
    (!is_elsewhere && !is_edge).then_some(ip)
}

fn at(ip: IpAddr, port: u16, device: u32) -> SocketAddr {
    match ip {
        IpAddr::V6(v6) if v6.is_unicast_link_local() => SocketAddrV6::new(v6, port, 0, device).into(),
        _ => SocketAddr::new(ip, port),
    }
}

/// A configuration, of which about half are valid.
fn random(draw: &mut Stream) -> String {
    let mut pick = |list: &[&str]| list[draw.below(list.len() as u64) as usize].to_owned();
    let mut v4 = |usual: &str| {
        if pick(&["usual", "usual", "usual", "usual", "odd"]) == "usual" {
            return usual.to_owned();
        }
        let first = pick(&[
            "0.0.0",
            "10.0.0",
            "10.77.0",
            "100.64.0",
            "127.0.0",
            "169.254.7",
            "172.16.255",
            "192.168.0",
            "223.255.255",
            "224.0.0",
            "240.0.0",
            "255.255.255",
        ]);
        let last = pick(&["0", "1", "2", "3", "127", "128", "254", "255"]);
        format!("{first}.{last}/{}", pick(&["0", "1", "4", "8", "16", "24", "25", "29", "30", "31", "32", "33"]))
    };
    let (own4, allowed4) = (v4("10.77.0.1/24"), v4("10.77.0.2/32"));
    let mut v6 = |usual: &str| {
        if pick(&["usual", "usual", "usual", "usual", "odd"]) == "usual" {
            return usual.to_owned();
        }
        let first =
            pick(&["::", "fd77::", "fd78:1:2::", "fe80::", "ff02::", "2001:db8::", "::ffff:0:", "fec0::", "64:ff9b::"]);
        let last = pick(&["0", "1", "2", "ff", "ffff", "a:b"]);
        format!("{first}{last}/{}", pick(&["0", "1", "3", "8", "48", "64", "96", "112", "126", "127", "128", "129"]))
    };
    let (own6, allowed6) = (v6("fd77::1/64"), v6("fd77::2/128"));
    let mut rarely =
        |key: &str, values: &[&str]| match pick(&["no", "no", "no", "no", "no", "no", "no", "yes"]).as_str() {
            "yes" => format!("{key} = {}\n", pick(values)),
            _ => String::new(),
        };
    let port = rarely("port", &["0", "5182", "65535", "65536", "\"x\""]);
    let listen = match port.is_empty() {
        true => rarely(
            "listen",
            &[
                "\"0.0.0.0:0\"",
                "\"[::]:5182\"",
                "\"198.18.0.1:5182\"",
                "\"[fd00:1::1]:1\"",
                "\"224.0.0.1:1\"",
                "\"10.77.0.1:1\"",
                "\"[::ffff:0.0.0.0]:1\"",
                "\"[fe80::1]:1\"",
                "\"255.255.255.255:1\"",
            ],
        ),
        false => String::new(),
    };
    let interface = [
        port,
        listen,
        rarely(
            "name",
            &[
                "\"rip0\"",
                "\"fifteen-letters\"",
                "\"sixteen-letters-\"",
                "\"..\"",
                "\"all\"",
                "\"default\"",
                "\"lo\"",
                "\"a b\"",
                "\"x:y\"",
                "\"a%d\"",
                "\"\"",
            ],
        ),
        rarely("mtu", &["639", "640", "1000", "1280", "1344", "1500", "9000", "65535", "65536"]),
        rarely(
            "metrics",
            &[
                "\"127.0.0.1:9482\"",
                "\"[::1]:0\"",
                "\"10.77.0.1:x\"",
                "\"0.0.0.0:9482\"",
                "\"239.1.1.1:9482\"",
                "\"[fe80::1]:9482\"",
            ],
        ),
        rarely("status", &["\"\"", "\"/\"", "\"a/\""]),
    ];
    let peer = [
        rarely(
            "endpoint",
            &[
                "\"198.18.0.2:5182\"",
                "\"[fd00:1::2]:5182\"",
                "\"0.0.0.0:1\"",
                "\"10.77.0.9:1\"",
                "\"[fe80::2]:1\"",
                "\"[fe80::2%wire0]:1\"",
                "\"[fe80::2%none]:1\"",
                "\"10.77:1\"",
                "\"224.0.0.1:1\"",
                "\"127.0.0.1:1\"",
            ],
        ),
        rarely("keepalive", &["1", "0", "65535", "65536"]),
        rarely("name", &["\"berlin\"", "\"a\\nb\"", "\"\\u001b[2J\"", "\"\""]),
    ];
    format!(
        "[interface]\nprivate-key = \"{}\"\naddress = [\"{own4}\", \"{own6}\"]\n{}[[peer]]\npublic-key = \"{}\"\n\
         allowed-ips = [\"{allowed4}\", \"{allowed6}\"]\n{}",
        *key(1).to_base64(),
        interface.concat(),
        key(2).public(),
        peer.concat()
    )
}

#[test]
fn a_taken_name_is_said() {
    with_namespaces(|| {
        let host = Host::new(1);
        // A TAP device carries frames of Ethernet.
        ip(&host.namespace, &["tuntap", "add", "rip0", "mode", "tap"]).unwrap();
        let start = || {
            let config = host.config("port = 0", &[]);
            host.namespace.run(|| Daemon::start(&config)).unwrap().map(drop).unwrap_err().to_string()
        };
        let words = start();
        assert!(
            words.contains("another network device has this name") && words.contains("`name` in [interface]"),
            "{words}"
        );
        ip(&host.namespace, &["link", "del", "rip0"]).unwrap();
        let _running = host.up("port = 0", &[]);
        let words = start();
        assert!(words.contains("another program uses it") && !words.contains("namespace"), "{words}");
    });
}

/// Two hosts reach each other by link-local addresses. The address that the status shows can be configured.
#[test]
fn an_endpoint_has_a_zone() {
    with_namespaces(|| {
        let (left, right) = (Host::new(1), Host::new(2));
        let _link = super::hosts::link(1, &left, &right, &super::hosts::perfect(), 1500);
        for host in [&left, &right] {
            ip(&host.namespace, &["addr", "add", &format!("fe80::{}/64", host.number), "dev", "wire1", "nodad"])
                .unwrap();
        }
        let right_end = right.up("listen = \"[fe80::2%wire1]:5182\"", &[left.as_peer("")]);
        let shown = "[fe80::2%wire1]:5182";
        let left_end = left.up("", &[right.as_peer(&format!("endpoint = \"{shown}\""))]);
        super::hosts::until("both ends have a session", || left_end.is_connected() && right_end.is_connected());
        assert_eq!(left_end.peer().endpoint.as_deref(), Some(shown));
        assert_eq!(right_end.peer().endpoint.as_deref(), Some("[fe80::1%wire1]:5182"));
    });
}

/// The device of the zone comes after the daemon has started.
#[test]
fn an_endpoint_without_an_address_shows_its_name() {
    with_namespaces(|| {
        let endpoint = "endpoint = \"[fe80::2%later0]:5182\"";
        let end = Host::new(1).up("port = 0", &[Host::new(2).as_peer(endpoint)]);
        let peer = end.peer();
        assert_eq!((peer.endpoint, peer.configured_endpoint.as_deref()), (None, Some("[fe80::2%later0]:5182")));
    });
}
