//! Inner packets: `Inner::parse` is compared with packets that another library built.

use etherparse::{IpFragOffset, Ipv4Header, PacketBuilder, SlicedPacket};
use proptest::prelude::*;
use ripstop_proto::inner::{Inner, NotIp, clamp_mss, packet_len};
use ripstop_proto::packets::symbol;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const V4: ([u8; 4], [u8; 4]) = ([10, 0, 0, 1], [192, 168, 7, 9]);
const V6: ([u8; 16], [u8; 16]) = ([0xfd; 16], [7; 16]);

fn udp4(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(V4.0, V4.1, 64).udp(5000, 53).write(&mut packet, payload).unwrap();
    packet
}

fn udp6(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv6(V6.0, V6.1, 64).udp(5000, 53).write(&mut packet, payload).unwrap();
    packet
}

/// `udp6` with extension headers (type, body after the next-header byte) in front of the UDP header.
fn with_extensions(extensions: &[(u8, &[u8])]) -> Vec<u8> {
    let plain = udp6(b"payload");
    let mut packet = plain[..40].to_vec();
    packet[6] = extensions.first().map_or(17, |e| e.0);
    for (i, (_, body)) in extensions.iter().enumerate() {
        packet.push(extensions.get(i + 1).map_or(17, |e| e.0));
        packet.extend_from_slice(body);
    }
    packet.extend_from_slice(&plain[40..]);
    let len = (packet.len() - 40) as u16;
    packet[4..6].copy_from_slice(&len.to_be_bytes());
    packet
}

#[test]
fn reads_both_versions() {
    let packet = udp4(b"question");
    let inner = Inner::parse(&packet).unwrap();
    assert_eq!(inner.bytes, packet);
    assert_eq!(inner.source, IpAddr::V4(Ipv4Addr::from(V4.0)));
    assert_eq!(inner.destination, IpAddr::V4(Ipv4Addr::from(V4.1)));
    assert_eq!((inner.protocol, inner.ports, inner.fragment), (17, Some((5000, 53)), false));
    let packet = udp6(b"question");
    let inner = Inner::parse(&packet).unwrap();
    assert_eq!(inner.source, IpAddr::V6(Ipv6Addr::from(V6.0)));
    assert_eq!(inner.destination, IpAddr::V6(Ipv6Addr::from(V6.1)));
    assert_eq!((inner.protocol, inner.ports, inner.payload_at), (17, Some((5000, 53)), 40));
}

#[test]
fn trims_what_follows_and_rejects_what_is_missing() {
    for packet in [udp4(b"1234567"), udp6(b"1234567")] {
        let mut padded = packet.clone();
        padded.extend_from_slice(&[0xee; 13]);
        assert_eq!(Inner::parse(&padded).unwrap().bytes, packet);
        for cut in 0..packet.len() {
            assert!(Inner::parse(&packet[..cut]).is_err(), "{cut}");
        }
        let len = packet.len();
        assert_eq!(Inner::parse(&packet[..len - 1]), Err(NotIp::Length { announced: len, present: len - 1 }));
    }
    assert_eq!(Inner::parse(&[]), Err(NotIp::Empty));
    assert_eq!(Inner::parse(&[0x55; 60]), Err(NotIp::Version(5)));
    let mut short = udp4(b"");
    short[0] = 0x44;
    assert_eq!(Inner::parse(&short), Err(NotIp::HeaderLength(16)));
    short[0] = 0x4f;
    assert_eq!(Inner::parse(&short), Err(NotIp::HeaderLength(60)), "header beyond the total length");
    assert_eq!(packet_len(&[0x60, 0, 0]), Err(NotIp::Header(3)));
}

#[test]
fn flows_are_fixed_for_ever_and_tell_packets_apart() {
    // Both ends compute these hashes, and recorded results depend on them: they must not change.
    let flow = |packet: &[u8]| Inner::parse(packet).unwrap().flow();
    assert_eq!(flow(&udp4(b"a")), flow(&udp4(b"another")));
    assert_eq!(flow(&udp4(b"")), FLOW_4, "{:#x}", flow(&udp4(b"")));
    assert_eq!(flow(&udp6(b"")), FLOW_6, "{:#x}", flow(&udp6(b"")));
    let mut seen = std::collections::BTreeSet::new();
    for source in 0..64u16 {
        for destination in 0..64u16 {
            for last in 0..4 {
                let mut packet = Vec::new();
                PacketBuilder::ipv4([10, 0, 0, last], V4.1, 9)
                    .udp(source, destination)
                    .write(&mut packet, &[])
                    .unwrap();
                seen.insert(flow(&packet));
            }
        }
    }
    assert_eq!(seen.len(), 64 * 64 * 4);
}

const FLOW_4: u64 = 0x4d9a7f5f5c8d018b;
const FLOW_6: u64 = 0x8b68d82fe87cf696;

#[test]
fn fragments_share_a_flow_without_ports() {
    let whole = udp4(&[7; 100]);
    let mut flows = Vec::new();
    for (more, offset) in [(true, 0u16), (true, 5), (false, 9)] {
        let (mut header, rest) = Ipv4Header::from_slice(&whole).unwrap();
        header.more_fragments = more;
        header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
        let mut packet = Vec::new();
        header.write(&mut packet).unwrap();
        packet.extend_from_slice(rest);
        let inner = Inner::parse(&packet).unwrap();
        assert!(inner.fragment && inner.ports.is_none());
        flows.push(inner.flow());
    }
    assert!(flows.windows(2).all(|pair| pair[0] == pair[1]));
    assert_ne!(flows[0], Inner::parse(&whole).unwrap().flow());
    let mut dont = whole;
    dont[6] = 0x40;
    assert!(!Inner::parse(&dont).unwrap().fragment, "a packet with the flag don't-fragment is no fragment");
}

#[test]
fn walks_extension_headers() {
    let eight = [0u8; 7];
    let plain = udp6(b"payload");
    let flow = Inner::parse(&plain).unwrap().flow();
    for extensions in [
        &[(0u8, &eight[..])][..],
        &[(0, &eight), (60, &eight), (43, &eight)],
        &[(51, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
        // An atomic fragment (RFC 6946) is a whole packet.
        &[(44, &[0, 0, 0, 1, 2, 3, 4])],
    ] {
        let packet = with_extensions(extensions);
        let inner = Inner::parse(&packet).unwrap();
        assert_eq!((inner.protocol, inner.ports), (17, Some((5000, 53))), "{extensions:?}");
        assert_eq!(inner.flow(), flow);
    }
    for offset in [[0, 1], [0, 8], [1, 0]] {
        let packet = with_extensions(&[(0, &eight), (44, &[0, offset[0], offset[1], 1, 2, 3, 4])]);
        let inner = Inner::parse(&packet).unwrap();
        assert!(inner.fragment && inner.ports.is_none() && inner.protocol == 17);
    }
    // A packet whose extension headers go beyond the end of the packet is accepted: its addresses
    // suffice to forward it.
    let packet = with_extensions(&[(0, &[200, 0, 0, 0, 0, 0, 0])]);
    let inner = Inner::parse(&packet).unwrap();
    assert_eq!((inner.protocol, inner.ports), (0, None));
}

#[test]
fn reads_traffic_class() {
    for class in 0..=255u8 {
        let mut four = udp4(b"x");
        four[1] = class;
        let mut six = udp6(b"x");
        six[0] = 0x60 | class >> 4;
        six[1] = class << 4;
        for packet in [four, six] {
            let inner = Inner::parse(&packet).unwrap();
            assert_eq!((inner.dscp(), inner.ecn()), (class >> 2, class & 3));
        }
    }
}

#[test]
fn knows_bare_acknowledgements() {
    let tcp = |flags: fn(
        etherparse::PacketBuilderStep<etherparse::TcpHeader>,
    ) -> etherparse::PacketBuilderStep<etherparse::TcpHeader>,
               payload: &[u8]| {
        let mut packet = Vec::new();
        flags(PacketBuilder::ipv4(V4.0, V4.1, 64).tcp(1, 2, 3, 4)).write(&mut packet, payload).unwrap();
        Inner::parse(&packet).unwrap().is_bare_ack()
    };
    assert!(tcp(|b| b.ack(9), &[]));
    assert!(!tcp(|b| b.ack(9), &[1]));
    assert!(!tcp(|b| b.ack(9).syn(), &[]));
    assert!(!tcp(|b| b.ack(9).fin(), &[]));
    assert!(!tcp(|b| b.ack(9).rst(), &[]));
    assert!(!tcp(|b| b, &[]));
    assert!(!Inner::parse(&udp4(&[])).unwrap().is_bare_ack());
}

proptest! {
    #[test]
    fn never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..200), first in 0u8..4) {
        if let Some(byte) = bytes.first_mut() {
            *byte = [0x45, 0x60, 0x4f, *byte][usize::from(first)];
        }
        if bytes.len() > 6 && first < 3 {
            let (at, base) = if first == 1 { (4, 40) } else { (2, 0) };
            let len = (bytes.len() - base.min(bytes.len())) as u16;
            bytes[at..at + 2].copy_from_slice(&len.to_be_bytes());
        }
        if let Ok(inner) = Inner::parse(&bytes) {
            prop_assert!(inner.bytes.len() <= bytes.len());
            prop_assert!(inner.payload_at <= inner.bytes.len());
            let _ = (inner.flow(), inner.is_bare_ack());
            // Compare with an independent parser where that parser accepts the packet.
            if let Ok(sliced) = SlicedPacket::from_ip(inner.bytes) {
                let ports = match sliced.transport {
                    Some(etherparse::TransportSlice::Udp(u)) => Some((u.source_port(), u.destination_port())),
                    Some(etherparse::TransportSlice::Tcp(t)) => Some((t.source_port(), t.destination_port())),
                    _ => None,
                };
                if ports.is_some() {
                    prop_assert_eq!(inner.ports, ports);
                }
            }
        }
        let _ = symbol::unframe(&bytes);
        let mut changed = bytes.clone();
        clamp_mss(&mut changed, 1400);
        prop_assert_eq!(changed.len(), bytes.len());
    }
}
