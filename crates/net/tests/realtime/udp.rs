//! UDP sockets on devices and addresses of this test's own namespaces.

use crate::common::with_namespaces;
use ripstop_net::os::ip::ip;
use ripstop_net::os::netns::Namespace;
use ripstop_net::os::udp::{DatagramBatch, ReceiveBuffers, SendOutcome, Udp};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Receives until `want` datagrams have come. Returns the sender and the length of each.
fn receive(socket: &mut Udp, want: usize) -> Vec<(SocketAddr, usize)> {
    let (mut got, mut buffers, start) = (Vec::new(), ReceiveBuffers::default(), Instant::now());
    while got.len() < want {
        assert!(start.elapsed() < Duration::from_secs(60), "timed out: {got:?}");
        let _ = socket.receive(&mut buffers, |from, datagram, _| {
            got.push((from, datagram.len()));
            true
        });
    }
    got
}

/// A probe of the MTU search is too large. The smaller datagram behind it in the same batch arrives, and GSO goes on.
#[test]
fn a_datagram_behind_one_that_is_too_large_is_sent() {
    with_namespaces(|| {
        let host = Namespace::create("host").unwrap();
        ip(&host, &["link", "set", "lo", "mtu", "1500"]).unwrap();
        let bind = || Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (mut from, mut to) = (host.run(bind).unwrap(), host.run(bind).unwrap());
        let here = to.local_addr().unwrap();
        let segments = from.segments();
        let mut batch = DatagramBatch::default();
        batch.push(here, 1600, true, segments);
        batch.push(here, 800, true, segments);
        while !batch.is_empty() {
            assert_eq!(from.send(&mut batch), SendOutcome::All);
        }
        assert_eq!(receive(&mut to, 1), [(from.local_addr().unwrap(), 800)]);
        let counters = from.counters();
        assert_eq!((counters.too_large, counters.sent, counters.refused), (1, 1, 0), "{counters:?}");
        assert_eq!(from.segments(), segments);
    });
}

/// The kernel refuses answers to port 0, and strangers must not cause refused answers.
#[test]
fn a_datagram_from_port_0_is_dropped_and_counted() {
    with_namespaces(|| {
        let host = Namespace::create("host").unwrap();
        let mut to = host.run(|| Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap()).unwrap();
        let port = to.local_addr().unwrap().port().to_be_bytes();
        let raw = host.run(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap()).unwrap();
        for source in [0, 9] {
            // A UDP header without checksum, and four bytes.
            let datagram = [0, source, port[0], port[1], 0, 12, 0, 0, 1, 2, 3, 4];
            raw.send_to(&datagram, &SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        }
        assert_eq!(receive(&mut to, 1), [(SocketAddr::from(([127, 0, 0, 1], 9)), 4)]);
        assert_eq!((to.from_port_zero(), to.counters().received), (1, 2));
    });
}

/// Adds an address to the loopback device, and waits until sockets can have it. The kernel makes an IPv6 address usable in
/// a work queue of its own.
fn add_address(host: &Namespace, address: &str) {
    let ip_address: IpAddr = address.parse().unwrap();
    ip(host, &["addr", "add", address, "dev", "lo"]).unwrap();
    let start = Instant::now();
    while host.run(|| UdpSocket::bind((ip_address, 0))).unwrap().is_err() {
        assert!(start.elapsed() < Duration::from_secs(60), "no socket can have {address}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A host with several addresses answers from the address that was called, as long as it has this address.
#[test]
fn answers_come_from_the_address_that_was_called() {
    with_namespaces(|| {
        let host = Namespace::create("host").unwrap();
        ["10.9.0.1", "10.9.0.2", "fd09::1", "fd09::2"].into_iter().for_each(|address| add_address(&host, address));
        let bind = |at: &str| host.run(|| Udp::bind(at.parse().unwrap()).unwrap()).unwrap();
        let mut batch = DatagramBatch::default();
        let mut send = |from: &mut Udp, to: SocketAddr, lens: &[usize]| {
            for len in lens {
                batch.push(to, *len, true, from.segments());
            }
            while !batch.is_empty() {
                assert_eq!(from.send(&mut batch), SendOutcome::All);
            }
        };
        for (listen, caller, called) in [
            ("0.0.0.0:0", "10.9.0.1:0", "10.9.0.2"),
            ("[::]:0", "10.9.0.1:0", "10.9.0.2"),
            ("[::]:0", "[fd09::1]:0", "fd09::2"),
        ] {
            let (mut server, mut client) = (bind(listen), bind(caller));
            let called: SocketAddr = (called.parse::<IpAddr>().unwrap(), server.local_addr().unwrap().port()).into();
            let here = client.local_addr().unwrap();
            send(&mut client, called, &[10]);
            assert_eq!(receive(&mut server, 1), [(here, 10)]);
            // Two datagrams in one call, and one alone.
            send(&mut server, here, &[20, 20]);
            send(&mut server, here, &[30]);
            assert_eq!(receive(&mut client, 3), [(called, 20), (called, 20), (called, 30)]);
            // Without the address, answers come from another one, with one failed call.
            let device = ["addr", "del", &called.ip().to_string(), "dev", "lo"];
            ip(&host, &device).unwrap();
            let (calls, other) = (server.counters().send_calls, SocketAddr::new(here.ip(), called.port()));
            send(&mut server, here, &[40]);
            send(&mut server, here, &[50]);
            assert_eq!(receive(&mut client, 2), [(other, 40), (other, 50)]);
            assert_eq!((server.counters().send_calls, server.counters().refused), (calls + 3, 0));
            add_address(&host, &called.ip().to_string());
            // A peer that does not answer is sent to from the address that the system chooses.
            send(&mut client, called, &[60]);
            receive(&mut server, 1);
            send(&mut server, here, &[70]);
            server.forget_local_address(&here);
            send(&mut server, here, &[80]);
            assert_eq!(receive(&mut client, 2), [(called, 70), (other, 80)]);
        }
    });
}
