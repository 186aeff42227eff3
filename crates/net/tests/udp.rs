//! UDP sockets on devices and addresses of this test's own namespaces.

mod common;

use common::with_namespaces;
use ripstop_net::os::ip::ip;
use ripstop_net::os::netns::Namespace;
use ripstop_net::os::udp::{DatagramBatch, ReceiveBuffers, SendOutcome, Udp};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Receives until `want` datagrams have come. Returns the sender and the length of each.
fn receive(socket: &mut Udp, want: usize) -> Vec<(SocketAddr, usize)> {
    let (mut got, mut buffers, start) = (Vec::new(), ReceiveBuffers::default(), Instant::now());
    while got.len() < want {
        assert!(start.elapsed() < Duration::from_secs(60), "timed out: {got:?}");
        let _ = socket.receive(&mut buffers, |from, datagram, _| got.push((from, datagram.len())));
    }
    got
}

/// A probe of the MTU search is too large. The smaller datagram behind it in the same batch arrives, and GSO goes on.
#[test]
fn a_datagram_behind_one_that_is_too_large_is_sent() {
    with_namespaces("a_datagram_behind_one_that_is_too_large_is_sent", || {
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
    with_namespaces("a_datagram_from_port_0_is_dropped_and_counted", || {
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
