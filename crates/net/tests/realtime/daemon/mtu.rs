//! Paths whose MTU differs from the configured MTU, paths whose MTU falls, and paths with an unusual MTU.

use super::hosts::{Host, PORT, Pair, link, lossy, perfect, until};
use super::inside::{Echo, Flow, exchange, ping, tcp_both_ways, udp_uncut};
use crate::common::with_namespaces;
use ripstop_base::Bytes;
use ripstop_link::LinkConfig;
use ripstop_net::os::ip::ip;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

/// The path silently drops packets that are larger than its MTU.
#[test]
fn a_hole_in_the_path_is_found() {
    with_namespaces(|| {
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
    with_namespaces(|| {
        let pair = Pair::raise(&perfect(), 1460, "");
        found(&pair, 1396);
        for end in pair.ends() {
            let udp = end.status().udp;
            assert!(udp.too_large > 0 && udp.refused == 0, "{udp:?}");
        }
    });
}

/// A router with a small MTU forwards several datagrams of a sender as one packet, and drops all of them if one is too large.
#[test]
fn a_router_drops_only_the_probes() {
    with_namespaces(|| {
        let (left, router, right) = (Host::new(1), Host::new(3), Host::new(2));
        let mut holder = Command::new("sleep");
        holder.arg("60");
        let mut holder = router.namespace.spawn(holder).unwrap();
        let of_router = holder.id().to_string();
        for (host, side, network) in [(&left, "west", "192.0.2"), (&right, "east", "198.51.100")] {
            let [own, gateway] = [1, 254].map(|n| format!("{network}.{n}"));
            let wire = ["link", "add", "wire", "type", "veth", "peer", "name", side, "netns", &of_router];
            ip(&host.namespace, &wire).unwrap();
            ip(&host.namespace, &["addr", "add", &format!("{own}/24"), "dev", "wire"]).unwrap();
            ip(&host.namespace, &["link", "set", "wire", "up"]).unwrap();
            ip(&host.namespace, &["route", "add", "default", "via", &gateway]).unwrap();
            ip(&router.namespace, &["addr", "add", &format!("{gateway}/24"), "dev", side]).unwrap();
            ip(&router.namespace, &["link", "set", side, "up"]).unwrap();
        }
        let _ = holder.kill();
        let _ = holder.wait();
        ip(&router.namespace, &["link", "set", "east", "mtu", "1280"]).unwrap();
        router.namespace.run(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")).unwrap().unwrap();
        let _right = right.up("", &[left.as_peer("")]);
        let end = left.up("", &[right.as_peer(&format!("endpoint = \"198.51.100.1:{PORT}\""))]);
        until("both are connected", || end.is_connected());
        until("the path's MTU is known", || end.peer().mtu_bytes == 1280 - 64);
        let session = end.session();
        assert!(session.loss_to_peer < 0.005 && session.control.too_large >= 3, "{session:?}");
        assert_eq!(session.control.lost, session.control.too_large, "other datagrams were lost with the probes");
    });
}

/// Waits until both hosts know that inner packets of `inner` bytes fit, and sends packets of that size.
fn found(pair: &Pair, inner: u32) {
    let (left, right) = (&pair.left.host, &pair.right.host);
    for end in pair.ends() {
        until("the path's MTU is known", || end.peer().mtu_bytes == inner);
        let status = end.status();
        assert_eq!(status.interface.mtu_bytes, inner);
        assert!(status.device.packets.mtu_changes > 0);
        // The probes that the path does not carry are no losses.
        let session = end.session();
        assert!(session.loss_to_peer < 0.005 && session.control.too_large >= 3, "{session:?}");
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
    with_namespaces(|| {
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

/// An MTU below the minimum of IPv6: everything that IPv6 promises still works, and no datagram exceeds the limit.
#[test]
fn a_small_mtu_serves_ipv6_in_pieces() {
    with_namespaces(|| {
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
        assert!(pair.left.status().totals.endpoint.mss_clamped > 0 && pair.left.session().taken.cut == 0);
        let echo = Echo::at(right, right.v6());
        let socket = udp_uncut(left, SocketAddr::new(left.v6(), 0));
        exchange(&socket, &echo, 1280 - 48);
        for end in pair.ends() {
            let session = end.session();
            assert_eq!((session.taken.cut, session.pieces.joined, session.pieces.dropped), (1, 1, 0));
            assert_eq!(session.queue_drops["too_long"], 0, "{session:?}");
        }
        // The sender of a larger packet over IPv4 learns the MTU.
        let socket = udp_uncut(left, SocketAddr::new(left.v4(), 0));
        socket.send_to(&[0; 1_000], SocketAddr::new(right.v4(), 9)).unwrap();
        until("the packet is counted", || pair.left.session().queue_drops["too_long"] == 1);
    });
}

/// How long a connection may stand still after the path's MTU fell. The goal is 5 s; the rest allows for a busy machine.
const STILL: Duration = Duration::from_secs(20);

/// The path's MTU falls to 1300 bytes and then to 1280, without ICMP. Connections over IPv4 and IPv6, in both directions,
/// established before and after, go on.
#[test]
fn connections_go_on_when_the_mtu_falls() {
    with_namespaces(|| {
        for (name, loss, settings) in
            [("without loss", 0.0, ""), ("acks", 0.0, "acks = \"seen\""), ("with loss", 0.1, "")]
        {
            let Pair { left, right, link: mut path } = Pair::raise(&narrow(loss, 1500), 1500, settings);
            let (left, right) = (&left, &right);
            let mut flows = four(&left.host, &right.host);
            flows.iter().for_each(|flow| flow.carry(400_000));
            for mtu in [1300, 1280] {
                drop(path);
                path = link(1, &left.host, &right.host, &narrow(loss, mtu), 1500);
                flows.iter().for_each(Flow::restart_clock);
                flows.extend(four(&left.host, &right.host));
                flows.iter().for_each(|flow| flow.carry(200_000));
                let still: Vec<Duration> = flows.iter().map(Flow::longest_still).collect();
                println!("{name}, path MTU {mtu}: {still:.2?}");
                assert!(still.iter().all(|still| *still < STILL), "{name}, {mtu}: {still:?}");
            }
            assert!([left, right].iter().all(|end| end.peer().mtu_bytes < 1300));
        }
    });
}

/// The path's MTU falls while the tunnel is idle. Then each host in turn sends, so that the other one knows nothing of the
/// path's MTU.
#[test]
fn new_connections_work_when_the_mtu_fell_in_silence() {
    with_namespaces(|| {
        for (name, loss, mtu) in [("without loss", 0.0, 1300), ("with loss", 0.1, 1280)] {
            let Pair { left, right, link: path } = Pair::raise(&narrow(loss, 1500), 1500, "");
            until("the first probes have arrived", || {
                [&left, &right].iter().all(|end| end.session().arrived.datagrams >= 3)
            });
            drop(path);
            let _path = link(1, &left.host, &right.host, &narrow(loss, mtu), 1500);
            for (from, to) in [(&right, &left), (&left, &right)] {
                for address in to.host.inside() {
                    let new: Vec<Flow> = (0..2).map(|_| Flow::new(&from.host, &to.host, address)).collect();
                    new.iter().for_each(|flow| flow.carry(150_000));
                    let still: Vec<Duration> = new.iter().map(Flow::longest_still).collect();
                    println!("{name}, to {address}: {still:.2?}");
                    assert!(still.iter().all(|still| *still < STILL), "{name}, to {address}: {still:?}");
                }
            }
        }
    });
}

/// A path that carries datagrams of up to `mtu` bytes, and says nothing of longer ones.
fn narrow(loss: f64, mtu: u64) -> LinkConfig {
    LinkConfig { mtu: Some(Bytes::new(mtu)), ..lossy(loss) }
}

/// A TCP connection for each direction and IP version.
fn four(left: &Host, right: &Host) -> Vec<Flow> {
    let to = |from: &Host, to: &Host| to.inside().map(|address| Flow::new(from, to, address));
    [to(left, right), to(right, left)].into_iter().flatten().collect()
}
