//! User traffic through a tunnel between two hosts.

use super::hosts::{Pair, lossy, over_v6, perfect};
use super::inside::{Echo, exchange, ping, tcp_both_ways, udp, udp_uncut};
use crate::common::with_namespaces;
use ripstop_base::{Fraction, Rate};
use ripstop_link::LinkConfig;
use std::net::SocketAddr;
use std::time::Duration;

#[test]
fn echoes_of_all_sizes_over_both_families() {
    with_namespaces(|| {
        let pair = Pair::raise(&perfect(), 1500, "");
        let (left, right) = (&pair.left.host, &pair.right.host);
        for (address, headers) in right.inside().into_iter().zip([28, 48]) {
            ping(left, address, 56);
            let echo = Echo::at(right, address);
            let here = if address.is_ipv4() { left.v4() } else { left.v6() };
            let socket = udp_uncut(left, SocketAddr::new(here, 0));
            // Among the lengths are 0, the limits of DNS without and with extensions (RFC 1035, RFC 6891), and the
            // largest length that fits into an inner MTU of 1436 (1500 - 64).
            let largest = 1436 - headers;
            for len in [0, 1, 60, 512, 1232, largest] {
                exchange(&socket, &echo, len);
            }
            let error = socket.send_to(&vec![0; largest + 1], echo.address).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE), "{error}");
            ping(left, address, largest);
        }
        // The kernel sends larger datagrams as fragments.
        ping(left, right.v4(), 8_000);
        ping(right, left.v6(), 8_000);
        for end in pair.ends() {
            let status = end.status();
            let (device, totals) = (status.device.packets, status.totals);
            assert!(device.packets_in >= 20 && device.packets_out >= 20, "{device:?}");
            assert_eq!((device.read_errors, device.write_errors, status.interface.mtu_bytes), (0, 0, 1436));
            assert_eq!(
                (totals.endpoint.wrong_source, totals.endpoint.unsendable, totals.endpoint.body_malformed),
                (0, 0, 0)
            );
            assert_eq!(end.all_rejected(), 0, "{:?}", status.rejected);
            let session = end.session();
            assert_eq!(
                (session.received.recovered, session.received.given_up, session.control.lost),
                (0, 0, 0),
                "{session:?}"
            );
        }
    });
}

#[test]
fn packets_without_a_peer_are_counted() {
    with_namespaces(|| {
        let pair = Pair::raise(&perfect(), 1500, "");
        let socket = udp(&pair.left.host, SocketAddr::new(pair.left.host.v4(), 0));
        for _ in 0..3 {
            socket.send_to(b"to nobody", "10.77.0.99:7").unwrap();
        }
        super::inside::echo_once(&pair.left.host, &pair.right.host);
        let totals = pair.left.status().totals;
        // The count may be higher, because the kernel sends router solicitations to multicast
        // addresses too.
        assert!(totals.endpoint.inner_no_route >= 3, "{totals:?}");
    });
}

#[test]
fn ipv6_outside_carries_both_families() {
    with_namespaces(|| {
        let pair = Pair::raise_to(over_v6(1, 2), &perfect(), 1500, "");
        let (left, right) = (&pair.left.host, &pair.right.host);
        assert_eq!(pair.left.peer().endpoint, Some(over_v6(1, 2).to_string()));
        assert_eq!(pair.right.peer().endpoint, Some(over_v6(1, 1).to_string()));
        for address in right.inside() {
            // 1500 - 84, less the IP and ICMP headers.
            let largest = pair.left.peer().mtu_bytes as usize;
            assert_eq!(largest, 1416);
            ping(left, address, largest - if address.is_ipv4() { 28 } else { 48 });
            tcp_both_ways(left, right, address, 300_000);
        }
        for end in pair.ends() {
            let (peer, status) = (end.peer(), end.status());
            assert!(peer.mtu_bytes <= 1416 && status.interface.mtu_bytes == peer.mtu_bytes, "{peer:?}");
            assert_eq!(end.all_rejected(), 0);
        }
    });
}

#[test]
fn tcp_both_ways_at_once_over_a_lossy_link() {
    with_namespaces(|| {
        let pair = Pair::raise(&lossy(0.05), 1500, "");
        let (left, right) = (&pair.left.host, &pair.right.host);
        std::thread::scope(|scope| {
            for address in right.inside() {
                scope.spawn(move || tcp_both_ways(left, right, address, 1_500_000));
            }
        });
        let lost = pair.link.snapshot();
        assert!(lost.left_to_right.link.lost_channel > 50 && lost.right_to_left.link.lost_channel > 50);
        for end in pair.ends() {
            let (status, session) = (end.status(), end.session());
            assert!(session.received.recovered > 50, "{session:?}");
            assert!(session.repairs_sent.values().sum::<u64>() > 50 && session.control.lost > 50, "{session:?}");
            assert!(session.loss_to_peer > 0.0 && session.overhead > Some(0.0), "{session:?}");
            let (device, udp) = (status.device.packets, status.udp);
            assert_eq!((device.write_errors, device.read_errors, end.all_rejected()), (0, 0, 0), "{device:?}");
            if status.interface.tcp_offload {
                assert!(device.reads < device.packets_in, "no large segment was cut: {device:?}");
            }
            if status.interface.udp_segments > 1 {
                assert!(udp.segmented > 0 && udp.send_calls < udp.sent, "{udp:?}");
            }
        }
    });
}

/// A fast stream over a long path: the daemons pause between turns, and packets share system calls.
#[test]
fn a_stream_is_moved_in_batches() {
    with_namespaces(|| {
        let path = LinkConfig::path(Rate::from_bps(50_000_000), Duration::from_millis(60), Fraction::ZERO);
        let pair = Pair::raise(&path, 1500, "");
        let (left, right) = (&pair.left.host, &pair.right.host);
        tcp_both_ways(left, right, right.v4(), 3_000_000);
        for end in pair.ends() {
            let status = end.status();
            let (interface, device, udp) = (&status.interface, status.device.packets, status.udp);
            assert!(interface.pauses > 0 && interface.pauses < interface.turns, "{interface:?}");
            assert!(interface.turns < device.packets_in + device.packets_out, "{interface:?} {device:?}");
            assert!(udp.receive_calls < udp.received, "{udp:?}");
            if interface.tcp_offload {
                assert!(device.writes < device.packets_out && device.write_errors == 0, "{device:?}");
            }
        }
    });
}
