//! Several peers on one interface.

use super::hosts::{End, Host, link, lossy, over_v4, over_v6, perfect, until};
use super::inside::{Echo, exchange, ping, tcp_both_ways, udp};
use crate::common::with_namespaces;
use ripstop_net::os::ip::ip;
use std::net::SocketAddr;

/// A hub, and three hosts that connect to the hub. Each host has its own lossy link. One host uses
/// IPv6.
#[test]
fn three_peers_at_once() {
    with_namespaces(|| {
        let hub = Host::new(9);
        let spokes = [1, 2, 3].map(Host::new);
        let _links = [1, 2, 3].map(|n| link(n, &hub, &spokes[usize::from(n) - 1], &lossy(0.02), 1500));
        let hub_end = hub.up("", &spokes.each_ref().map(|spoke| spoke.as_peer("")));
        let ends = spokes.each_ref().map(|spoke| {
            let at = if spoke.number == 3 { over_v6(3, 1) } else { over_v4(spoke.number, 1) };
            // The host reaches all addresses inside the tunnel through the hub.
            let peer = hub
                .as_peer(&format!("endpoint = \"{at}\""))
                .replace(&format!("\"{}\", \"{}\"", hub.v4(), hub.v6()), "\"10.77.0.0/24\", \"fd77::/64\"");
            spoke.up("", &[peer])
        });
        until("all are connected", || hub_end.is_connected() && ends.iter().all(End::is_connected));
        let echo = Echo::at(&hub, hub.v4());
        std::thread::scope(|scope| {
            for spoke in &spokes {
                let (hub, echo) = (&hub, &echo);
                scope.spawn(move || {
                    ping(spoke, hub.v6(), 56);
                    let socket = udp(spoke, SocketAddr::new(spoke.v4(), 0));
                    // Over IPv6, inner packets have at most 1416 bytes.
                    let longest = if spoke.number == 3 { 1388 } else { 1408 };
                    for len in [60, 512, 1200, longest] {
                        exchange(&socket, echo, len);
                    }
                });
                // From the hub to each host, all three at the same time.
                scope.spawn(move || tcp_both_ways(hub, spoke, spoke.v4(), 600_000));
            }
        });
        for peer in hub_end.status().peers {
            let session = peer.session.expect("a session");
            assert!(peer.counts.received_bytes > 600_000, "{}: {}", peer.name, peer.counts.received_bytes);
            assert!(session.received.recovered > 0 && session.repairs_sent.values().sum::<u64>() > 0, "{session:?}");
        }
        assert_eq!(hub_end.status().totals.endpoint.wrong_source, 0);
        // Datagrams over IPv6 have room for smaller inner packets. This does not shrink the packets
        // to the other peers: the device's MTU is the largest of the peers' MTUs.
        let mtus: Vec<u32> = hub_end.status().peers.iter().map(|peer| peer.mtu_bytes).collect();
        assert_eq!((mtus.iter().min(), mtus.iter().max()), (Some(&1416), Some(&1436)), "{mtus:?}");
        assert_eq!(hub_end.status().interface.mtu_bytes, 1436);

        // From one host to another through the hub, whose kernel forwards the packets.
        let forward = || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        if hub.namespace.run(forward).unwrap().is_ok() {
            tcp_both_ways(&spokes[0], &spokes[1], spokes[1].v4(), 100_000);
        }
    });
}

#[test]
fn a_peer_may_send_only_from_its_allowed_ips() {
    with_namespaces(|| {
        let pair = super::hosts::Pair::raise(&super::hosts::perfect(), 1500, "");
        let (left, right) = (&pair.left.host, &pair.right.host);
        ip(&left.namespace, &["addr", "add", "10.77.0.66/24", "dev", "rip0"]).unwrap();
        let heard = udp(right, SocketAddr::new(right.v4(), 9));
        let socket = udp(left, "10.77.0.66:0".parse().unwrap());
        socket.send_to(b"as somebody else", heard.local_addr().unwrap()).unwrap();
        let honest = udp(left, SocketAddr::new(left.v4(), 0));
        honest.send_to(b"as myself", heard.local_addr().unwrap()).unwrap();
        let mut packet = [0; 100];
        let (len, _) = heard.recv_from(&mut packet).unwrap();
        assert_eq!(&packet[..len], b"as myself");
        until("the packet was counted", || pair.right.status().totals.endpoint.wrong_source == 1);
    });
}

/// The called host has a second address, from which the kernel would not answer by itself.
#[test]
fn the_address_that_was_called_answers() {
    with_namespaces(|| {
        let [left, right] = [1, 2].map(Host::new);
        let _link = link(1, &left, &right, &perfect(), 1500);
        for address in ["198.18.1.77/24", "fd00:1::77/64"] {
            ip(&right.namespace, &["addr", "add", address, "dev", "wire1"]).unwrap();
        }
        for called in ["198.18.1.77:5182", "[fd00:1::77]:5182"] {
            let right_end = right.up("", &[left.as_peer("")]);
            let left_end = left.up("", &[right.as_peer(&format!("endpoint = \"{called}\""))]);
            until("both are connected", || left_end.is_connected() && right_end.is_connected());
            tcp_both_ways(&left, &right, right.v4(), 200_000);
            assert_eq!(left_end.peer().endpoint.as_deref(), Some(called));
            let totals = left_end.status().totals;
            assert_eq!((totals.addresses.roamed, totals.addresses.challenged), (0, 0), "{totals:?}");
        }
    });
}

/// Two daemons on one host, with different devices and ports, and a peer whose name is resolved.
#[test]
fn a_peer_is_found_by_name() {
    with_namespaces(|| {
        let host = Host::new(1);
        let other = Host { number: 2, ..host.clone() };
        let called = other.up("name = \"other\"\nport = 5183", &[host.as_peer("")]);
        let caller = host.up("", &[other.as_peer("endpoint = \"localhost:5183\"")]);
        until("both are connected", || called.is_connected() && caller.is_connected());
        let endpoint: SocketAddr = caller.peer().endpoint.unwrap().parse().unwrap();
        assert!(endpoint.ip().is_loopback() && endpoint.port() == 5183, "{endpoint}");

        // A port or device in use gives an error that says what to do.
        let refused = |interface: &str| {
            let config = host.config(interface, &[]);
            let daemon = host.namespace.run(|| ripstop_net::daemon::Daemon::start(&config)).unwrap();
            daemon.map(|_| ()).unwrap_err().to_string()
        };
        let words = refused("name = \"third\"");
        assert!(words.contains("UDP port 5182") && words.contains("set `port` in [interface]"), "{words}");
        let words = refused("port = 5184");
        assert!(words.contains("rip0"), "{words}");
    });
}
