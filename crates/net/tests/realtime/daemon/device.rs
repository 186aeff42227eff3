//! The device and its routes while other programs change them. No packet for the networks behind a peer may leave by another
//! route.

use super::hosts::{End, Host, PORT, Pair, link, over_v4, perfect, until};
use super::inside::{Echo, connected, echo_once, exchange, udp};
use crate::common::with_namespaces;
use ripstop_net::os::ip::ip;
use ripstop_net::os::netns::Namespace;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The addresses to which the left host sends: two in the prefixes of the device's addresses, and two in networks behind
/// the peer.
const DESTINATIONS: [&str; 4] = ["10.77.0.2:9", "10.9.0.1:9", "[fd77::2]:9", "[fd99::1]:9"];

/// Two hosts with a tunnel. The left host's default routes lead to the right host too, outside of the tunnel.
struct Leak {
    pair: Pair,
    /// What has arrived through the tunnel, for each destination.
    tunnel: [UdpSocket; 4],
    /// What has arrived outside of the tunnel, for IPv4 and IPv6.
    outside: [UdpSocket; 2],
    sender: Sender,
}

impl Leak {
    fn raise() -> Leak {
        let (left, right) = (Host::new(1), Host::new(2));
        let link = link(1, &left, &right, &perfect(), 1500);
        for (host, address) in [(&right, "10.9.0.1/32"), (&right, "fd99::1/128")] {
            ip(&host.namespace, &["addr", "add", address, "dev", "lo"]).unwrap();
        }
        for (family, gateway) in [("-4", "198.18.1.2"), ("-6", "fd00:1::2")] {
            ip(&left.namespace, &[family, "route", "add", "default", "via", gateway, "dev", "wire1"]).unwrap();
        }
        let right_end = right.up("", &[left.as_peer("")]);
        let peer = with_networks(&right, &format!("endpoint = \"{}\"", over_v4(1, 2)));
        let left_end = left.up("", &[peer]);
        let pair = Pair { left: left_end, right: right_end, link };
        pair.connect();
        let tunnel = DESTINATIONS.map(|to| receiver(&right, to, "rip0"));
        let outside = ["0.0.0.0:9", "[::]:9"].map(|at| receiver(&right, at, "wire1"));
        let sender = Sender::start(&left);
        Leak { pair, tunnel, outside, sender }
    }

    fn left(&self) -> &End {
        &self.pair.left
    }

    fn ip(&self, arguments: &str) {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        ip(&self.left().host.namespace, &arguments).unwrap();
    }

    /// Waits until packets arrive through the tunnel at all destinations. Packets that were under way do not count.
    fn flows(&self, after: &str) {
        for (receiver, destination) in self.tunnel.iter().zip(DESTINATIONS) {
            count(receiver);
            std::thread::sleep(Duration::from_millis(10));
            count(receiver);
            until(&format!("packets arrive at {destination} after {after}"), || count(receiver) > 0);
        }
    }

    fn leaked(&self) -> usize {
        self.outside.iter().map(count).sum()
    }
}

/// The peer's section with two networks behind the peer.
fn with_networks(peer: &Host, more: &str) -> String {
    peer.as_peer(more).replace("allowed-ips = [", "allowed-ips = [\"10.9.0.0/16\", \"fd99::/48\", ")
}

/// A socket for datagrams that arrive through a device.
fn receiver(host: &Host, address: &str, device: &str) -> UdpSocket {
    let address: SocketAddr = address.parse().unwrap();
    host.namespace
        .run(|| {
            let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP)).unwrap();
            if address.is_ipv6() {
                socket.set_only_v6(true).unwrap();
            }
            socket.set_reuse_address(true).unwrap();
            socket.bind_device(Some(device.as_bytes())).unwrap();
            socket.bind(&address.into()).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket.into()
        })
        .unwrap()
}

/// Takes all datagrams from a socket and returns their number.
fn count(socket: &UdpSocket) -> usize {
    std::iter::from_fn(|| socket.recv(&mut [0; 100]).ok()).count()
}

/// Sends to all destinations once a millisecond, with a new socket each time, until this value is dropped.
struct Sender {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    fn start(host: &Host) -> Sender {
        let stop = Arc::new(AtomicBool::new(false));
        let (namespace, stopped) = (host.namespace.clone(), stop.clone());
        let work = move || {
            while !stopped.load(Ordering::Relaxed) {
                for to in DESTINATIONS {
                    let to: SocketAddr = to.parse().unwrap();
                    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                    // While the device is missing, the kernel refuses the packet.
                    let _ = UdpSocket::bind(any).unwrap().send_to(b"secret", to);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let thread = std::thread::spawn(move || namespace.run(work).unwrap());
        Sender { stop, thread: Some(thread) }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(std::thread::panicking() || ended.is_ok());
        }
    }
}

#[test]
fn no_change_of_the_device_lets_packets_leave_by_another_route() {
    with_namespaces(|| {
        let leak = Leak::raise();
        leak.flows("the start");
        let (mut sending, mut receiving) = connected(&leak.pair);
        let device = || leak.left().status().device.restored;
        let disable_ipv6 = || {
            let key = "/proc/sys/net/ipv6/conf/rip0/disable_ipv6";
            leak.left().host.namespace.run(|| std::fs::write(key, "1")).unwrap().unwrap();
        };
        let changes: [(&str, &dyn Fn()); 9] = [
            ("down", &|| leak.ip("link set rip0 down")),
            ("down and up", &|| {
                leak.ip("link set rip0 down");
                leak.ip("link set rip0 up");
            }),
            ("the loss of all addresses", &|| leak.ip("addr flush dev rip0")),
            ("the loss of a route", &|| leak.ip("route del 10.9.0.0/16 dev rip0")),
            ("the loss of the network's route", &|| leak.ip("route del 10.77.0.0/24 dev rip0")),
            ("the loss of the IPv6 routes", &|| leak.ip("-6 route flush dev rip0")),
            ("the loss of the guard routes", &|| leak.ip("route flush proto 82 type unreachable")),
            ("another MTU", &|| leak.ip("link set rip0 mtu 1000")),
            ("disable_ipv6", &disable_ipv6),
        ];
        for (what, change) in changes {
            change();
            leak.flows(what);
            assert_eq!(leak.leaked(), 0, "packets left by another route after {what}: {:?}", device());
            sending.write_all(what.as_bytes()).unwrap();
            let mut got = vec![0; what.len()];
            receiving.read_exact(&mut got).unwrap();
            assert_eq!(got, what.as_bytes(), "the connection goes on");
        }
        until("everything is counted", || {
            let device = device();
            device.brought_up >= 1 && device.mtu >= 1 && device.addresses >= 4
        });
        assert!(device().routes >= 6 && device().recreated == 0, "{:?}", device());
        let mtu = ip(&leak.left().host.namespace, &["link", "show", "rip0"]).unwrap();
        assert!(!mtu.contains("mtu 1000"), "{mtu}");
        // What the operator adds stays.
        leak.ip("addr add 10.66.0.1/24 dev rip0");
        leak.ip("link set rip0 mtu 1001");
        until("the MTU is restored", || device().mtu >= 2);
        assert!(ip(&leak.left().host.namespace, &["addr", "show", "rip0"]).unwrap().contains("10.66.0.1/24"));
        assert_eq!(leak.leaked(), 0);
    });
}

/// Another program sets routes to the same prefixes. The daemon puts its routes before them, and leaves them where they are.
#[test]
fn routes_of_other_programs_come_second() {
    with_namespaces(|| {
        let leak = Leak::raise();
        leak.flows("the start");
        let restored = || leak.left().status().device.restored.routes;
        // The kernel prefers the route into the tunnel by its metric.
        leak.ip("-6 route add fd99::/48 via fd00:1::2 dev wire1");
        leak.ip("route add 10.9.0.0/16 via 198.18.1.2 dev wire1 metric 1");
        leak.ip("route append 10.9.0.0/16 via 198.18.1.2 dev wire1");
        leak.flows("routes with a higher metric");
        assert_eq!(leak.leaked(), 0);
        let changes = [
            "route replace 10.9.0.0/16 via 198.18.1.2 dev wire1 src 198.18.1.1",
            "route prepend 10.77.0.0/24 via 198.18.1.2 dev wire1",
            "-6 route replace fd99::/48 via fd00:1::2 dev wire1 metric 1",
            "-6 route add fd77::/64 via fd00:1::2 dev wire1 metric 1",
            "route replace throw 10.9.0.0/16",
        ];
        for change in changes {
            let before = restored();
            leak.ip(change);
            until(&format!("the route is restored after {change}"), || restored() > before);
            leak.flows(change);
            // Packets that left before the repair may be under way.
            leak.leaked();
            leak.flows(change);
            assert_eq!(leak.leaked(), 0, "packets left by another route after {change}");
        }
        let four = ip(&leak.left().host.namespace, &["-4", "route"]).unwrap();
        assert!(four.contains("10.77.0.0/24 via 198.18.1.2") && four.contains("throw 10.9.0.0/16"), "{four}");
        assert_eq!(leak.left().status().device.restored.refused, 0);
    });
}

/// A route that another program had set before the start stays in use, until it is removed.
#[test]
fn a_prefix_that_was_routed_before_is_taken_over_later() {
    with_namespaces(|| {
        let (left, right) = (Host::new(1), Host::new(2));
        let _link = link(1, &left, &right, &perfect(), 1500);
        let others = ["10.9.0.0/16", "10.77.0.0/24"];
        let change = |what: &str, prefix: &str| {
            ip(&left.namespace, &["route", what, prefix, "via", "198.18.1.2", "dev", "wire1"]).unwrap();
        };
        others.iter().for_each(|prefix| change("add", prefix));
        let end = left.up("", &[with_networks(&right, "")]);
        let refused = || end.status().device.restored.refused;
        let first = |prefix: &str| ip(&left.namespace, &["-4", "route", "show", prefix]).unwrap();
        assert_eq!(refused(), 2);
        for prefix in others {
            assert!(first(prefix).starts_with(&format!("{prefix} via 198.18.1.2")), "{}", first(prefix));
        }
        change("del", others[1]);
        until("the network of the device's address is taken over", || refused() == 1);
        // The kernel removes the other route, and sends no notification about that.
        ip(&left.namespace, &["link", "set", "wire1", "down"]).unwrap();
        until("the network behind the peer is taken over", || refused() == 0);
        for prefix in others {
            assert!(first(prefix).starts_with(&format!("{prefix} dev rip0")), "{}", first(prefix));
        }
    });
}

#[test]
fn a_device_that_is_removed_is_created_again() {
    with_namespaces(|| {
        let leak = Leak::raise();
        leak.flows("the start");
        let elsewhere = Namespace::create("elsewhere").unwrap();
        let changes: [(&str, &dyn Fn()); 3] = [
            ("the loss of the device", &|| leak.ip("link del rip0")),
            ("another name", &|| leak.ip("link set rip0 name other0")),
            ("a move to another namespace", &|| {
                let mut holder = Command::new("sleep");
                holder.arg("60");
                let mut child = elsewhere.spawn(holder).unwrap();
                leak.ip(&format!("link set other0 netns {}", child.id()));
                let _ = child.kill();
                let _ = child.wait();
            }),
        ];
        for (what, change) in changes {
            change();
            leak.flows(what);
            assert_eq!(leak.leaked(), 0, "packets left by another route after {what}");
        }
        assert_eq!(leak.left().status().device.restored.recreated, 2);
        echo_once(&leak.left().host, &leak.pair.right.host);

        // The name is taken, so the device cannot be created again. The guard routes stay.
        let script = "ip link set rip0 name gone0 && ip tuntap add dev rip0 mode tap && ip link del gone0";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let output = leak.left().host.namespace.output(command).unwrap();
        assert!(output.status.success(), "{output:?}");
        until("the daemon ends", || !leak.left().daemon.is_running());
        let error = leak.left().daemon.error().unwrap();
        assert!(error.contains("removed the device") && error.contains("refused until"), "{error}");
        let Leak { pair: Pair { left: End { host, daemon }, .. }, outside, sender, .. } = leak;
        drop(daemon);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(outside.iter().map(count).sum::<usize>(), 0, "the guard routes are gone");

        // The next start finds them, and its end removes them.
        ip(&host.namespace, &["link", "del", "rip0"]).unwrap();
        let again = host.up("", &[with_networks(&Host { number: 2, ..host.clone() }, "")]);
        assert_eq!(again.status().device.restored.refused, 0);
        again.daemon.stop();
        until("packets take the default route after a stop", || outside.iter().all(|socket| count(socket) > 0));
        for family in ["-4", "-6"] {
            let left = ip(&host.namespace, &[family, "route", "show", "proto", "82"]).unwrap();
            assert_eq!(left, "");
        }
        drop(sender);
    });
}

#[test]
fn routes_lead_into_the_tunnel_and_go_with_it() {
    with_namespaces(|| {
        let host = Host::new(1);
        let end = host.up("name = \"inside0\"", &[with_networks(&Host::new(2), "")]);
        let routes = |family: &str| ip(&host.namespace, &[family, "route", "show", "dev", "inside0"]);
        let (four, six) = (routes("-4").unwrap(), routes("-6").unwrap());
        assert!(four.contains("10.9.0.0/16") && four.contains("10.77.0.0/24"), "{four}");
        assert!(six.contains("fd99::/48") && six.contains("fd77::/64"), "{six}");
        assert!(!four.contains("10.77.0.2"), "an address in the device's own prefix needs no route: {four}");
        let all = ip(&host.namespace, &["-4", "route"]).unwrap();
        assert!(all.contains("unreachable 10.9.0.0/16") && all.contains("unreachable 10.77.0.0/24"), "{all}");
        end.daemon.stop();
        assert_eq!(ip(&host.namespace, &["-4", "route"]).unwrap(), "");
    });
}

/// Many routes are set in few calls, at the start and by a new configuration.
#[test]
fn thousands_of_routes_are_set_and_removed() {
    with_namespaces(|| {
        let host = Host::new(1);
        let peer = |prefixes: std::ops::Range<u32>| {
            let prefixes: Vec<String> =
                prefixes.map(|n| format!("\"10.{}.{}.0/24\"", 100 + n / 256, n % 256)).collect();
            Host::new(2).as_peer("").replace("allowed-ips = [", &format!("allowed-ips = [{}, ", prefixes.join(", ")))
        };
        let mut end = host.up("", &[peer(0..1500)]);
        let routes = |kind: &[&str]| {
            let words = [&["-4", "route", "show", "proto", "82"], kind].concat();
            ip(&host.namespace, &words).unwrap().lines().count()
        };
        // The prefix of the device's address has a guard route too.
        assert_eq!((routes(&["dev", "rip0"]), routes(&["type", "unreachable"])), (1500, 1501));
        end.daemon.reload(&host.config("", &[peer(1000..3000)]));
        assert_eq!((routes(&["dev", "rip0"]), routes(&["type", "unreachable"])), (2000, 2001));
        assert_eq!(end.status().device.restored.routes, 0, "nobody else has removed a route");
    });
}

/// The value of a counter in /proc/net/snmp or snmp6 of a namespace.
fn kernel_counter(host: &Host, group: &str, name: &str) -> u64 {
    let table = |path: &str| host.namespace.run(|| std::fs::read_to_string(path)).unwrap().unwrap();
    if group.is_empty() {
        let table = table("/proc/thread-self/net/snmp6");
        let line = table.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', '\t']));
        return line.unwrap().trim().parse().unwrap();
    }
    let table = table("/proc/thread-self/net/snmp");
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(": "));
    let at = lines.next().unwrap().split(' ').position(|one| one == name).unwrap();
    lines.next().unwrap().split(' ').nth(at).unwrap().parse().unwrap()
}

/// A hub forwards packets between two spokes. The kernel does not tell the spokes to reach each other directly.
#[test]
fn a_hub_sends_no_redirects() {
    with_namespaces(|| {
        let [hub, one, two] = [1, 2, 3].map(Host::new);
        let _links = [link(1, &one, &hub, &perfect(), 1500), link(2, &two, &hub, &perfect(), 1500)];
        for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            hub.namespace.run(|| std::fs::write(format!("/proc/sys/net/{key}"), "1")).unwrap().unwrap();
        }
        let hub_end = hub.up("", &[one.as_peer(""), two.as_peer("")]);
        let spokes = [(&one, 1), (&two, 2)].map(|(spoke, number)| {
            let all = "allowed-ips = [\"10.77.0.0/24\", \"fd77::/64\"]";
            let own = hub.as_peer(&format!("endpoint = \"{}\"", over_v4(number, 2)));
            spoke.up("", &[own.replace(&format!("allowed-ips = [\"{}\", \"{}\"]", hub.v4(), hub.v6()), all)])
        });
        until("both spokes are connected", || hub_end.is_connected() && spokes.iter().all(End::is_connected));
        for (from, to) in [(one.v4(), two.v4()), (one.v6(), two.v6())] {
            let echo = Echo::at(&two, to);
            let socket = udp(&one, SocketAddr::new(from, 0));
            (0..5).for_each(|_| exchange(&socket, &echo, 100));
        }
        assert!(kernel_counter(&hub, "Ip", "ForwDatagrams") >= 10);
        assert_eq!(kernel_counter(&hub, "Icmp", "OutRedirects"), 0);
        assert!(kernel_counter(&hub, "", "Ip6OutForwDatagrams") >= 10);
        assert_eq!(kernel_counter(&hub, "", "Icmp6OutRedirects"), 0);
        // With the kernel's usual setting there are redirects.
        let setting = "/proc/sys/net/ipv4/conf/all/send_redirects";
        hub.namespace.run(|| std::fs::write(setting, "1")).unwrap().unwrap();
        let (echo, socket) = (Echo::at(&two, two.v4()), udp(&one, SocketAddr::new(one.v4(), 0)));
        until("the kernel sends a redirect", || {
            exchange(&socket, &echo, 100);
            kernel_counter(&hub, "Icmp", "OutRedirects") > 0
        });
    });
}

/// A peer sends to the daemon's port through the tunnel.
#[test]
fn datagrams_through_the_own_device_are_dropped() {
    with_namespaces(|| {
        let pair = Pair::raise(&perfect(), 1500, "");
        for (from, to) in pair.right.host.inside().into_iter().zip(pair.left.host.inside()) {
            let (socket, before) = (udp(&pair.right.host, SocketAddr::new(from, 0)), pair.left.rejected("own_device"));
            socket.send_to(&[0; 100], SocketAddr::new(to, PORT)).unwrap();
            until("the datagram is dropped", || pair.left.rejected("own_device") == before + 1);
        }
        assert_eq!(pair.left.all_rejected(), 2);
    });
}
