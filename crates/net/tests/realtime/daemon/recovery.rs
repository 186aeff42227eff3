//! Peers that start late, stop, and come back.

use super::hosts::{Host, Pair, link, over_v4, perfect, until};
use super::inside::{echo_once, ping, udp};
use crate::common::with_namespaces;
use ripstop_net::os::ip::ip;
use std::net::SocketAddr;

#[test]
fn a_peer_that_comes_late_is_found() {
    with_namespaces(|| {
        let (left, right) = (Host::new(1), Host::new(2));
        let _link = link(1, &left, &right, &perfect(), 1500);
        let caller = left.up("", &[right.as_peer(&format!("endpoint = \"{}\"", over_v4(1, 2)))]);
        // A packet that is sent before the peer starts must wait.
        let socket = udp(&left, SocketAddr::new(left.v4(), 0));
        socket.send_to(b"early", SocketAddr::new(right.v4(), 9)).unwrap();
        until("the peer is reported as unreachable", || caller.peer().unreachable);
        let (peer, totals) = (caller.peer(), caller.status().totals);
        assert!(!peer.connected && peer.counts.sessions == 0 && peer.waiting > 0, "{peer:?}");
        assert!(totals.secure.initiations > 0 && totals.secure.initiations_repeated > 3, "{totals:?}");
        until("handshakes continue", || {
            caller.status().totals.secure.initiations_repeated > totals.secure.initiations_repeated
        });

        let late = right.up("", &[left.as_peer("")]);
        let heard = udp(&right, SocketAddr::new(right.v4(), 9));
        until("both are connected", || caller.is_connected() && late.is_connected());
        let mut packet = [0; 100];
        let (len, _) = heard.recv_from(&mut packet).unwrap();
        assert_eq!(&packet[..len], b"early");
        let peer = caller.peer();
        assert!(!peer.unreachable && peer.counts.sessions == 1 && peer.waiting == 0, "{peer:?}");
        ping(&right, left.v6(), 56);
    });
}

#[test]
fn a_peer_that_closes_and_returns_is_found_again() {
    with_namespaces(|| {
        let Pair { left, right, link: _link } = Pair::raise(&perfect(), 1500, "");
        echo_once(&left.host, &right.host);
        let host = right.host.clone();
        let last = right.daemon.stop().expect("the last state");
        assert!(last.peers[0].connected && last.device.packets.packets_in > 0);
        assert!(ip(&host.namespace, &["link", "show", "rip0"]).is_err(), "the device must disappear with the daemon");
        until("the end of the session is noticed", || !left.is_connected());
        let peer = left.peer();
        assert_eq!((peer.counts.sessions, peer.connected_s), (1, None), "{peer:?}");

        // The restarted host knows no address, so the other host must notice the restart.
        let again = host.up("", &[left.host.as_peer("")]);
        let socket = udp(&left.host, SocketAddr::new(left.host.v4(), 0));
        socket.send_to(b"anybody there?", SocketAddr::new(host.v4(), 9)).unwrap();
        until("both are connected", || left.is_connected() && again.is_connected());
        echo_once(&left.host, &host);
        let peer = left.peer();
        assert_eq!((peer.counts.sessions, peer.counts.restarts), (2, 1), "{peer:?}");
        assert!(peer.connected_s.is_some());
    });
}

#[test]
fn a_peer_that_moves_is_followed() {
    with_namespaces(|| {
        let pair = Pair::raise(&perfect(), 1500, "");
        let (left, right) = (&pair.left, &pair.right);
        echo_once(&left.host, &right.host);
        assert_eq!(right.peer().endpoint, Some(over_v4(1, 1).to_string()));
        ip(&left.host.namespace, &["addr", "del", "198.18.1.1/24", "dev", "wire1"]).unwrap();
        ip(&left.host.namespace, &["addr", "add", "198.18.1.77/24", "dev", "wire1"]).unwrap();
        echo_once(&left.host, &right.host);
        assert_eq!(right.peer().endpoint, Some("198.18.1.77:5182".to_owned()));
        assert_eq!((right.status().totals.addresses.roamed, right.peer().counts.sessions), (1, 1));
        assert_eq!((left.status().totals.addresses.roamed, left.peer().counts.sessions), (0, 1));
    });
}

/// The left host follows the right host to another address. Then both hosts move at once, and the right host returns to
/// the address that the left host's configuration names.
#[test]
fn hosts_that_both_move_meet_at_the_configured_address() {
    with_namespaces(|| {
        let pair = Pair::raise(&perfect(), 1500, "");
        let (left, right) = (&pair.left, &pair.right);
        let move_to = |host: &Host, device: &str, from: &str, to: &str| {
            ip(&host.namespace, &["addr", "del", from, "dev", device]).unwrap();
            ip(&host.namespace, &["addr", "add", to, "dev", device]).unwrap();
        };
        echo_once(&left.host, &right.host);
        move_to(&right.host, "wire1", "198.18.1.2/24", "198.18.1.78/24");
        echo_once(&right.host, &left.host);
        until("the left host follows", || left.peer().endpoint == Some("198.18.1.78:5182".to_owned()));
        move_to(&right.host, "wire1", "198.18.1.78/24", "198.18.1.2/24");
        move_to(&left.host, "wire1", "198.18.1.1/24", "198.18.1.77/24");
        let probe = udp(&left.host, SocketAddr::new(left.host.v4(), 0));
        let far = SocketAddr::new(right.host.v4(), 9);
        until("both hosts know the new addresses", || {
            probe.send_to(&[0; 100], far).unwrap();
            let ends = [left, right].map(|end| end.peer().endpoint);
            ends == [Some(over_v4(1, 2).to_string()), Some("198.18.1.77:5182".to_owned())]
        });
        echo_once(&left.host, &right.host);
    });
}

/// The daemon stops while packets wait for their turn at a fixed rate. It sends them before it ends.
#[test]
fn an_end_that_stops_sends_what_is_queued() {
    with_namespaces(|| {
        // 60 packets of about 1100 bytes take 53 ms.
        let sends_all = || {
            let Pair { left, right, link: _link } = Pair::raise(&perfect(), 1500, "rate = \"10Mbit/s\"");
            let socket = udp(&left.host, SocketAddr::new(left.host.v4(), 0));
            let before = left.status().device.packets.packets_in;
            for _ in 0..60 {
                socket.send_to(&[0; 1000], SocketAddr::new(right.host.v4(), 9)).unwrap();
            }
            until("the daemon has the packets", || left.status().device.packets.packets_in >= before + 60);
            let queued = left.session().queue_packets;
            let last = left.daemon.stop().expect("the last state").peers.remove(0).session.expect("a session");
            queued > 10 && last.queue_packets == 0
        };
        // On a busy machine, the packets may have left before the daemon stops, or its time may be over too soon.
        until("a daemon that stops sends what is queued", sends_all);
    });
}
