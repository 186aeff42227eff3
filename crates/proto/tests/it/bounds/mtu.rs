//! Peers with different MTUs: each peer limits only the packets to itself.

use super::world::{address, inside, private, udp};
use ripstop_base::{Seed, Time};
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig, inner_packet};
use ripstop_proto::inner::Inner;
use ripstop_proto::secure::{PeerId, Peers, SecureConfig, SecureEvent};
use ripstop_proto::session::Reception;
use ripstop_proto::wire::{HEADER_LEN, Kind, TAG_LEN};
use std::time::Duration;

const PEER: PeerId = PeerId::from_index(0);

/// A server that has sessions with one peer for each of `mtus`. The peers are numbered from 2 on.
fn server(mtus: &[u16]) -> Endpoint {
    let seed = Seed::new(3);
    let stream = |name: &str| Box::new(seed.stream(name));
    let mut server = Endpoint::new(private(seed, 1), EndpointConfig::default(), stream("endpoint"), stream("secure"));
    let mut buffer = [0; 2000];
    for (n, inner_mtu) in (2u8..).zip(mtus) {
        let allowed_ips = vec![format!("{}/32", inside(n)).parse().unwrap(), format!("fd00::{n}/128").parse().unwrap()];
        let peer = PeerConfig {
            public: private(seed, n).public(),
            endpoint: None,
            allowed_ips,
            keepalive: None,
            preshared: None,
        };
        server.add_peer(Time::ZERO, &peer).unwrap();
        let config = SecureConfig { inner_mtu: *inner_mtu, ..SecureConfig::default() };
        let mut peers = Peers::new(private(seed, n), config, stream(&format!("peer/{n}")));
        let id = peers.add(private(seed, 1).public(), Some(address(1))).unwrap();
        peers.connect(Time::ZERO, id);
        let mut epoch = None;
        for _ in 0..10 {
            while let Some(out) = peers.poll_transmit() {
                server.handle_datagram(Time::ZERO, address(n), &mut out.contents.to_vec(), Reception::default());
            }
            while let Some(out) = server.poll_transmit(Time::ZERO, &mut buffer) {
                if out.to == address(n) {
                    peers.handle_datagram(Time::ZERO, address(1), &mut buffer[..out.len]);
                }
            }
            while let Some(event) = peers.poll_event() {
                if let SecureEvent::Established { epoch: new, .. } = event {
                    epoch = Some(new);
                }
            }
        }
        let mut datagram = vec![0; HEADER_LEN + TAG_LEN];
        peers.seal(Time::ZERO, PEER, epoch.expect("a session"), 0, Kind::Probe, &mut datagram).unwrap();
        server.handle_datagram(Time::ZERO, address(n), &mut datagram, Reception::default());
    }
    while server.poll_event().is_some() {}
    server
}

/// The inner packets that the server returns to its inside.
fn answers(server: &mut Endpoint) -> Vec<Vec<u8>> {
    while server.poll_transmit(Time::ZERO, &mut [0; 2000]).is_some() {}
    std::iter::from_fn(|| server.poll_deliver()).map(|(_, delivered)| inner_packet(&delivered).to_vec()).collect()
}

#[test]
fn one_peer_does_not_shrink_the_packets_of_another() {
    let mut server = server(&[1436, 100]);
    let mtus = [0, 1].map(|n| server.peer_status(PeerId::from_index(n)).unwrap().inner_mtu);
    assert_eq!(mtus, [1436, 512], "a value below 512 counts as 512");
    // A packet of 1400 bytes fits the first peer only.
    server.handle_inner(Time::ZERO, &udp(inside(9), inside(2), 1400));
    assert_eq!(answers(&mut server), Vec::<Vec<u8>>::new());
    server.handle_inner(Time::ZERO, &udp(inside(9), inside(3), 1400));
    let told = answers(&mut server);
    let inner = Inner::parse(&told[0]).unwrap();
    assert_eq!((inner.source.to_string(), inner.destination.to_string()), ("10.0.0.3".into(), "10.0.0.9".into()));
    assert_eq!((told.len(), inner.protocol), (1, 1));
    assert_eq!(told[0][20..28][..2], [3, 4], "fragmentation needed");
    assert_eq!(told[0][26..28], 512u16.to_be_bytes());
    let (status, counters) = (server.peer_status(PeerId::from_index(1)).unwrap(), server.counters());
    assert_eq!((counters.inner_too_long, counters.too_big_sent), (1, 1));
    assert_eq!(status.tunnel.unwrap().taken.too_long, 1);
    // A packet of the reported length passes.
    server.handle_inner(Time::ZERO, &udp(inside(9), inside(3), 512));
    assert_eq!((answers(&mut server).len(), server.counters().inner_too_long), (0, 1));
}

#[test]
fn ipv6_packets_are_answered_too() {
    let mut server = server(&[1436, 1300]);
    let mut packet = vec![0; 1400];
    (packet[0], packet[6], packet[7], packet[8], packet[24]) = (0x60, 17, 64, 0xfd, 0xfd);
    packet[4..6].copy_from_slice(&1360u16.to_be_bytes());
    (packet[23], packet[39]) = (9, 3);
    server.handle_inner(Time::ZERO, &packet);
    let told = answers(&mut server);
    assert_eq!((told.len(), told[0][6], told[0][40]), (1, 58, 2), "packet too big");
    assert_eq!(told[0][44..48], 1300u32.to_be_bytes());
    assert_eq!(told[0][48..], packet[..told[0].len() - 48]);
}

#[test]
fn icmp_messages_are_limited() {
    let mut server = server(&[600]);
    for _ in 0..500 {
        server.handle_inner(Time::ZERO, &udp(inside(9), inside(2), 1400));
    }
    assert_eq!(answers(&mut server).len(), 50);
    for ms in 0..1000 {
        server.handle_inner(Time::ZERO + Duration::from_millis(ms), &udp(inside(9), inside(2), 1400));
    }
    assert_eq!(answers(&mut server).len(), 49);
    assert_eq!((server.counters().inner_too_long, server.counters().too_big_sent), (1_500, 99));
}

#[test]
fn a_removed_peer_gives_its_memory_back() {
    let mut server = server(&[1436, 1436]);
    let empty = server.memory();
    for _ in 0..20 {
        server.handle_inner(Time::ZERO, &udp(inside(9), inside(2), 1400));
    }
    assert!(server.memory() > empty + 20_000, "{} bytes", server.memory());
    assert!(server.remove_peer(PEER) && server.memory() <= empty);
}
