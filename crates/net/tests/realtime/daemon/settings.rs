//! Every setting has its effect, as the counters show.

use super::hosts::{Host, Pair, link, lossy, over_v4, perfect, until};
use super::inside::{tcp_both_ways, udp};
use crate::common::with_namespaces;
use ripstop_net::daemon::SessionStatus;
use std::net::SocketAddr;

/// Proactive repairs sent.
fn proactive(session: &SessionStatus) -> u64 {
    session.repairs_sent["bulk"] + session.repairs_sent["interactive"]
}

#[test]
fn redundancy_is_what_was_asked_for() {
    with_namespaces(|| {
        // The configured share of repairs is sent, although no datagram is lost.
        let pair = Pair::raise(&perfect(), 1500, "redundancy = 1.25\nmax-overhead = { bulk = \"100%\" }");
        tcp_both_ways(&pair.left.host, &pair.right.host, pair.right.host.v4(), 300_000);
        for end in pair.ends() {
            let session = end.session();
            let share = proactive(&session) as f64 / session.sent.sources as f64;
            assert!((0.15..0.35).contains(&share) && session.repairs_sent["exact"] == 0, "{session:?}");
        }
        // No proactive repair is sent, although many datagrams are lost. Lost packets are repaired
        // on request.
        for settings in ["redundancy = \"none\"", "redundancy = 1.5\nmax-overhead = { bulk = 0, interactive = 0 }"] {
            let pair = Pair::raise(&lossy(0.05), 1500, settings);
            tcp_both_ways(&pair.left.host, &pair.right.host, pair.right.host.v4(), 300_000);
            for end in pair.ends() {
                let session = end.session();
                assert!(proactive(&session) == 0 && session.repairs_sent["exact"] > 0, "{settings}: {session:?}");
            }
        }
    });
}

#[test]
fn the_rate_is_found_or_given() {
    with_namespaces(|| {
        for (rate, states) in [
            ("fair", &["startup", "drain", "down", "cruise", "up"][..]),
            ("scavenge", &["startup", "drain", "down", "cruise", "up"][..]),
            ("30Mbit/s", &["fixed"][..]),
        ] {
            let pair = Pair::raise(&lossy(0.01), 1500, &format!("rate = \"{rate}\""));
            tcp_both_ways(&pair.left.host, &pair.right.host, pair.right.host.v4(), 200_000);
            let session = pair.left.session();
            assert!(states.contains(&session.state.as_ref()), "{rate}: {session:?}");
            if rate == "30Mbit/s" {
                assert_eq!(session.bandwidth_bps, 30e6);
            }
        }
    });
}

#[test]
fn deadline_bounds_the_wait_for_a_packet() {
    with_namespaces(|| {
        // The deadline is shorter than the round-trip time. A lost packet without a repair cannot be
        // recovered in time.
        let pair = Pair::raise(&lossy(0.2), 1500, "deadline = \"1ms\"\nredundancy = \"none\"");
        let socket = udp(&pair.left.host, SocketAddr::new(pair.left.host.v4(), 0));
        let sink = udp(&pair.right.host, SocketAddr::new(pair.right.host.v4(), 9));
        until("both ends give up a packet", || {
            socket.send_to(&[0; 500], sink.local_addr().unwrap()).unwrap();
            pair.left.session().control.given_up_sending > 0 && pair.right.session().received.given_up > 0
        });
    });
}

#[test]
fn keepalives_leave_an_idle_end() {
    with_namespaces(|| {
        // Two tunnels that differ only in the setting `keepalive`. Handshakes and the MTU search send a bounded number
        // of datagrams.
        let pairs = ["", "keepalive = \"1s\""].map(|keepalive| {
            let (left, right) = (Host::new(1), Host::new(2));
            let link = link(1, &left, &right, &perfect(), 1500);
            let called = right.up("", &[left.as_peer("")]);
            let peer = right.as_peer(&format!("{keepalive}\nendpoint = \"{}\"", over_v4(1, 2)));
            let pair = Pair { left: left.up("", &[peer]), right: called, link };
            pair.connect();
            pair
        });
        let [idle, awake] = pairs.each_ref().map(|pair| &pair.right);
        until("keep-alives arrive", || awake.session().arrived.datagrams >= idle.session().arrived.datagrams + 6);
        assert_eq!(awake.status().device.packets.packets_out, 0, "no inner packet may arrive");
    });
}
