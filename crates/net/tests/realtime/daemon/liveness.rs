//! Dead peers in the status, in the metrics and in the alerts of the page for operators.

use super::alerts::{Reading, documented, fires, rule};
use super::hosts::{Host, Pair, link, over_v4, perfect, until};
use super::inside::{echo_once, udp};
use crate::common::with_namespaces;
use ripstop_net::os::ip::ip;
use std::net::SocketAddr;
use std::time::Duration;

/// Only the caller has keep-alives, as the documents teach it. The path fails, so each host sees the other one die.
#[test]
fn dead_peers_are_unreachable_and_alerts_fire() {
    with_namespaces(|| {
        let (left, right) = (Host::new(1), Host::new(2));
        let link = link(1, &left, &right, &perfect(), 1500);
        let keepalive = "keepalive = \"1s\"";
        let called = right.up("", &[left.as_peer("")]);
        let alone = Reading::of(&called);
        assert!(fires(&rule("peer_connected"), [&alone, &alone]), "a peer that never came is no healthy peer");
        let caller = left.up("", &[right.as_peer(&format!("endpoint = \"{}\"\n{keepalive}", over_v4(1, 2)))]);
        let pair = Pair { left: caller, right: called, link };
        pair.connect();
        echo_once(&pair.left.host, &pair.right.host);
        let rules = documented();
        assert!(rules.len() >= 5, "{rules:?}");
        let healthy = pair.ends().map(Reading::of);
        std::thread::sleep(Duration::from_millis(500));
        for (end, before) in pair.ends().into_iter().zip(&healthy) {
            let now = Reading::of(end);
            for rule in &rules {
                assert!(!fires(rule, [before, &now]), "`{rule}` fires although nothing is wrong");
            }
            let peer = end.peer();
            assert!(peer.connected && !peer.unreachable && peer.last_heard_s.is_some_and(|age| age < 30.0), "{peer:?}");
        }
        ip(&pair.right.host.namespace, &["link", "set", "wire1", "down"]).unwrap();
        for (end, before) in pair.ends().into_iter().zip(&healthy) {
            until("the peer is unreachable", || end.peer().unreachable);
            let peer = end.peer();
            assert!(!peer.connected && peer.connected_s.is_none() && !peer.silent, "{peer:?}");
            assert!(peer.last_heard_s.is_some_and(|age| age > 2.0), "{peer:?}");
            let now = Reading::of(end);
            assert!(fires(&rule("unreachable"), [before, &now]));
            // The rule for the keep-alives of this test.
            let heard = rule("last_heard").replace("> 90", "> 1.5");
            assert!(fires(&heard, [before, &now]), "{heard}");
        }
        ip(&pair.right.host.namespace, &["link", "set", "wire1", "up"]).unwrap();
        pair.connect();
        assert_eq!(pair.left.peer().counts.sessions, 1, "the session goes on");
    });
}

/// The called host stops and comes back. Packets of the caller, and of the called host's peer, all arrive.
#[test]
fn no_packet_is_lost_to_a_closed_session() {
    with_namespaces(|| {
        let (left, right) = (Host::new(1), Host::new(2));
        let _link = link(1, &left, &right, &perfect(), 1500);
        let start = |host: &Host| match host.number {
            1 => left.up("", &[right.as_peer(&format!("endpoint = \"{}\"", over_v4(1, 2)))]),
            _ => right.up("", &[left.as_peer("")]),
        };
        let mut ends = [start(&left), start(&right)];
        for round in 0..6 {
            until("both are connected", || ends.iter().all(|end| end.is_connected()));
            let stopped = round % 2;
            let [a, b] = ends;
            let (stays, stops) = if stopped == 0 { (b, a) } else { (a, b) };
            let (from, to) = (stays.host.clone(), stops.host.clone());
            let restarts = stays.peer().counts.sessions;
            stops.daemon.stop();
            until("the end is noticed", || !stays.peer().connected);
            let closed = Reading::of(&stays);
            assert!(fires(&rule("peer_connected"), [&closed, &closed]));
            let sender = udp(&from, SocketAddr::new(from.v4(), 0));
            let send = |byte| sender.send_to(&[byte; 100], SocketAddr::new(to.v4(), 9)).unwrap();
            (0..5).for_each(|n| _ = send(n));
            // The packets may come before the device's address can be used.
            let receiver = udp(&to, SocketAddr::from(([0, 0, 0, 0], 9)));
            let again = start(&to);
            (5..10).for_each(|n| _ = send(n));
            let mut packet = [0; 200];
            for n in 0..10 {
                let (len, _) = receiver.recv_from(&mut packet).unwrap_or_else(|error| panic!("packet {n}: {error}"));
                assert_eq!(packet[..len], [n; 100], "round {round}");
            }
            let peer = stays.peer();
            assert_eq!((peer.counts.sessions, peer.counts.waited_in_vain), (restarts + 1, 0), "{peer:?}");
            ends = if stopped == 0 { [again, stays] } else { [stays, again] };
        }
    });
}
