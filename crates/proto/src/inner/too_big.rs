//! The answer to an inner packet that is too long for its peer: ICMP "fragmentation needed" (RFC
//! 792, RFC 1191) or ICMPv6 "packet too big" (RFC 4443). The packet's sender then sends shorter
//! packets (path MTU discovery).

use super::checksum::{checksum, sum};
use super::{IPV4_HEADER, IPV6_HEADER, Inner};
use std::net::IpAddr;

/// Protocol number of ICMP.
const ICMP: u8 = 1;
/// Protocol number of ICMPv6.
const ICMPV6: u8 = 58;
/// Length of an ICMP header, bytes.
const ICMP_HEADER: usize = 8;
/// Largest length of an answer over IPv4, bytes (RFC 1812, section 4.3.2.3).
const MAX_V4: usize = 576;
/// Largest length of an answer over IPv6, bytes: the minimum MTU of IPv6 (RFC 4443, section 2.4).
const MAX_V6: usize = 1280;
/// Hop limit of an answer. The usual default; half and double the value still reach every host.
const HOPS: u8 = 64;

/// The ICMP message that tells the sender of `packet` that packets of at most `mtu` bytes fit. None
/// if RFC 1122 (section 3.2.2) or RFC 4443 (section 2.4) forbid an answer: to an ICMP error, to a
/// fragment other than the first, to a multicast or broadcast packet, or to a source that is not
/// one host.
///
/// The message goes to the packet's source. Its own source is the packet's destination, because
/// the tunnel need not have an address. The message quotes the beginning of the packet.
///
/// An IPv4 packet without the flag "don't fragment" gets the same answer. The tunnel does not
/// fragment inner packets.
pub fn too_big(packet: &[u8], mtu: u16) -> Option<Vec<u8>> {
    let inner = Inner::parse(packet).ok()?;
    if !may_answer(&inner) {
        return None;
    }
    match (inner.source, inner.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let quoted = &inner.bytes[..inner.bytes.len().min(MAX_V4 - IPV4_HEADER - ICMP_HEADER)];
            let len = IPV4_HEADER + ICMP_HEADER + quoted.len();
            let mut answer = vec![0; IPV4_HEADER];
            // Version 4, a header of five words, and the traffic class of the packet's network
            // control (RFC 1812, section 4.3.2.5).
            (answer[0], answer[1]) = (0x45, 0xc0);
            answer[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            (answer[8], answer[9]) = (HOPS, ICMP);
            answer[12..16].copy_from_slice(&destination.octets());
            answer[16..20].copy_from_slice(&source.octets());
            let sum = checksum(0, &answer);
            answer[10..12].copy_from_slice(&sum.to_be_bytes());
            // Type 3 (destination unreachable), code 4 (fragmentation needed).
            answer.extend_from_slice(&[3, 4, 0, 0, 0, 0]);
            answer.extend_from_slice(&mtu.to_be_bytes());
            answer.extend_from_slice(quoted);
            let sum = checksum(0, &answer[IPV4_HEADER..]);
            answer[IPV4_HEADER + 2..][..2].copy_from_slice(&sum.to_be_bytes());
            Some(answer)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let quoted = &inner.bytes[..inner.bytes.len().min(MAX_V6 - IPV6_HEADER - ICMP_HEADER)];
            let len = (ICMP_HEADER + quoted.len()) as u16;
            let mut answer = vec![0; IPV6_HEADER];
            answer[0] = 0x60;
            answer[4..6].copy_from_slice(&len.to_be_bytes());
            (answer[6], answer[7]) = (ICMPV6, HOPS);
            answer[8..24].copy_from_slice(&destination.octets());
            answer[24..40].copy_from_slice(&source.octets());
            // Type 2 (packet too big).
            answer.extend_from_slice(&[2, 0, 0, 0]);
            answer.extend_from_slice(&u32::from(mtu).to_be_bytes());
            answer.extend_from_slice(quoted);
            // The pseudo-header: both addresses, the length and the protocol (RFC 8200, section
            // 8.1).
            let pseudo = sum(0, &answer[8..40]) + u32::from(len) + u32::from(ICMPV6);
            let sum = checksum(pseudo, &answer[IPV6_HEADER..]);
            answer[IPV6_HEADER + 2..][..2].copy_from_slice(&sum.to_be_bytes());
            Some(answer)
        }
        _ => None,
    }
}

/// Whether the RFCs allow an ICMP error as an answer to the packet.
fn may_answer(inner: &Inner<'_>) -> bool {
    let one_host = |address: IpAddr| match address {
        IpAddr::V4(v4) => !v4.is_multicast() && !v4.is_broadcast() && !v4.is_unspecified() && !v4.is_loopback(),
        IpAddr::V6(v6) => !v6.is_multicast() && !v6.is_unspecified() && !v6.is_loopback(),
    };
    let kind = inner.bytes.get(inner.payload_at).copied();
    let error = match inner.protocol {
        // ICMP queries: echo, router discovery, timestamp, information and address mask.
        ICMP => !kind.is_some_and(|kind| matches!(kind, 0 | 8..=10 | 13..=18)),
        ICMPV6 => kind.is_none_or(|kind| kind < 128),
        _ => false,
    };
    let later_fragment = match inner.source {
        IpAddr::V4(_) => u16::from_be_bytes([inner.bytes[6], inner.bytes[7]]) & 0x1fff != 0,
        // The fragment's offset is not known here. A fragment is answered only in IPv4.
        IpAddr::V6(_) => inner.fragment,
    };
    one_host(inner.source) && one_host(inner.destination) && !error && !later_fragment
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Icmpv4Type, Icmpv6Type, NetSlice, PacketBuilder, SlicedPacket, TransportSlice, icmpv4, icmpv6};

    fn udp(v6: bool, len: usize) -> Vec<u8> {
        let builder = if v6 {
            PacketBuilder::ipv6([0xfd; 16], [7; 16], 64)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [192, 168, 7, 9], 64)
        };
        let mut packet = Vec::new();
        builder.udp(5000, 53).write(&mut packet, &vec![0xab; len]).unwrap();
        packet
    }

    #[test]
    fn tells_the_sender_the_mtu() {
        for (v6, len, most) in [(false, 1400, MAX_V4), (false, 100, MAX_V4), (true, 1400, MAX_V6), (true, 3, MAX_V6)] {
            let packet = udp(v6, len);
            let answer = too_big(&packet, 1200).unwrap();
            let header = if v6 { IPV6_HEADER } else { IPV4_HEADER };
            assert_eq!(answer.len(), (header + ICMP_HEADER + packet.len()).min(most));
            assert_eq!(answer[header + ICMP_HEADER..], packet[..answer.len() - header - ICMP_HEADER]);
            let (to, from) = (Inner::parse(&answer).unwrap(), Inner::parse(&packet).unwrap());
            assert_eq!((to.source, to.destination), (from.destination, from.source));
            let sliced = SlicedPacket::from_ip(&answer).unwrap();
            match (sliced.net.unwrap(), sliced.transport.unwrap()) {
                (NetSlice::Ipv4(ip), TransportSlice::Icmpv4(icmp)) => {
                    let mtu = icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: 1200 };
                    assert_eq!(icmp.icmp_type(), Icmpv4Type::DestinationUnreachable(mtu));
                    assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
                    assert_eq!(checksum(0, &answer[header..]), 0, "the checksum of the message");
                }
                (NetSlice::Ipv6(ip), TransportSlice::Icmpv6(icmp)) => {
                    assert_eq!(icmp.icmp_type(), Icmpv6Type::PacketTooBig { mtu: 1200 });
                    let (source, destination) = (ip.header().source(), ip.header().destination());
                    assert!(icmp.is_checksum_valid(source, destination));
                    assert_eq!(icmpv6::TYPE_PACKET_TOO_BIG, answer[header]);
                }
                other => panic!("not ICMP: {other:?}"),
            }
        }
    }

    #[test]
    fn some_packets_get_no_answer() {
        assert!(too_big(&[], 1200).is_none());
        let error = |v6| too_big(&udp(v6, 600), 1200).unwrap();
        assert!(too_big(&error(false), 1200).is_none() && too_big(&error(true), 1200).is_none());
        let mut fragment = udp(false, 600);
        fragment[6] = 0x20;
        assert!(too_big(&fragment, 1200).is_some(), "the first fragment");
        fragment[7] = 9;
        assert!(too_big(&fragment, 1200).is_none());
        for (at, byte) in [(12, 224), (16, 239), (12, 127)] {
            let mut packet = udp(false, 600);
            packet[at] = byte;
            assert!(too_big(&packet, 1200).is_none(), "byte {at} is {byte}");
        }
        let mut multicast = udp(true, 600);
        multicast[24] = 0xff;
        assert!(too_big(&multicast, 1200).is_none());
        let mut echo = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [192, 168, 7, 9], 64).icmpv4_echo_request(1, 2);
        builder.write(&mut echo, &[0; 1400]).unwrap();
        assert!(too_big(&echo, 1200).is_some(), "ping finds the path's MTU");
    }
}
