//! Paths whose MTU differs from the configured MTU, and paths with an unusual MTU.

use crate::common::with_namespaces;
use crate::hosts::{Pair, perfect, until};
use crate::inside::{Echo, exchange, ping, tcp_both_ways, udp_uncut};
use ripstop_base::Bytes;
use ripstop_link::LinkConfig;
use std::net::SocketAddr;

/// The path silently drops packets that are larger than its MTU.
#[test]
fn a_hole_in_the_path_is_found() {
    with_namespaces("mtu::a_hole_in_the_path_is_found", || {
        let path = LinkConfig { mtu: Some(Bytes::new(1400)), ..perfect() };
        let pair = Pair::raise(&path, 1500, "");
        found(&pair, 1336);
        let refused = pair.link.snapshot();
        assert!(refused.left_to_right.link.refused_mtu > 0 && refused.right_to_left.link.refused_mtu > 0);
    });
}

/// The first hop refuses packets that are larger than its MTU.
#[test]
fn a_small_first_hop_is_found() {
    with_namespaces("mtu::a_small_first_hop_is_found", || {
        let pair = Pair::raise(&perfect(), 1460, "");
        found(&pair, 1396);
        for end in pair.ends() {
            let udp = end.status().udp;
            assert!(udp.too_large > 0 && udp.refused == 0, "{udp:?}");
        }
    });
}

/// Waits until both hosts know that inner packets of `inner` bytes fit, and sends packets of that size.
fn found(pair: &Pair, inner: u32) {
    let (left, right) = (&pair.left.host, &pair.right.host);
    for end in pair.ends() {
        until("the path's MTU is known", || end.peer().mtu_bytes == inner);
        let status = end.status();
        assert_eq!(status.interface.mtu_bytes, inner);
        assert!(status.device.mtu_changes > 0);
    }
    let echo = Echo::at(right, right.v4());
    let socket = udp_uncut(left, SocketAddr::new(left.v4(), 0));
    exchange(&socket, &echo, inner as usize - 28);
    let error = socket.send_to(&vec![0; inner as usize - 27], echo.address).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE), "{error}");
    ping(left, right.v4(), 4_000);
    tcp_both_ways(left, right, right.v6(), 300_000);
}

/// An MTU above Ethernet's, on a path configured for it.
#[test]
fn a_large_mtu_is_used() {
    with_namespaces("mtu::a_large_mtu_is_used", || {
        let pair = Pair::raise(&perfect(), 9000, "mtu = 9000");
        let (left, right) = (&pair.left.host, &pair.right.host);
        let socket = udp_uncut(left, SocketAddr::new(left.v4(), 0));
        let echo = Echo::at(right, right.v4());
        exchange(&socket, &echo, 9000 - 64 - 28);
        tcp_both_ways(left, right, right.v6(), 1_000_000);
        for end in pair.ends() {
            assert_eq!((end.peer().mtu_bytes, end.status().interface.mtu_bytes), (8936, 8936));
            let udp = end.status().udp;
            assert!(udp.sent_bytes / udp.sent > 2_000, "no large datagrams were sent: {udp:?}");
        }
    });
}

/// An MTU below the minimum of IPv6: TCP and IPv4 still work, and no packet exceeds the limit.
#[test]
fn a_small_mtu_serves_what_it_can() {
    with_namespaces("mtu::a_small_mtu_serves_what_it_can", || {
        let pair = Pair::raise(&perfect(), 1500, "mtu = 1000");
        let (left, right) = (&pair.left.host, &pair.right.host);
        for end in pair.ends() {
            // The device keeps an MTU of 1280: with a smaller MTU, the kernel would remove IPv6
            // from the device.
            assert_eq!((end.peer().mtu_bytes, end.status().interface.mtu_bytes), (936, 1280));
        }
        for address in right.inside() {
            ping(left, address, 800);
            tcp_both_ways(left, right, address, 200_000);
        }
        let session = pair.left.session();
        assert!(pair.left.status().totals.mss_clamped > 0 && session.queue_drops["too_long"] == 0, "{session:?}");
        // Larger packets that are not TCP are dropped and counted.
        let socket = udp_uncut(left, SocketAddr::new(left.v4(), 0));
        socket.send_to(&[0; 1_000], SocketAddr::new(right.v4(), 9)).unwrap();
        until("the packet is counted", || pair.left.session().queue_drops["too_long"] == 1);
    });
}
