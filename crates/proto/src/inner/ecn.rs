//! Explicit Congestion Notification in an IP header (RFC 3168).

/// Marks an ECN-capable IP packet with Congestion Experienced, and corrects the checksum of an IPv4
/// header. Other packets are not changed. Returns whether the packet now carries the mark.
pub fn mark_congestion(packet: &mut [u8]) -> bool {
    const CAPABLE: std::ops::RangeInclusive<u8> = 1..=2;
    const MARK: u8 = 3;
    match packet {
        // IPv4: the ECN field is the two low bits of the second byte.
        [first, class, ..] if *first >> 4 == 4 && packet.len() >= 20 => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            if !CAPABLE.contains(&(packet[1] & MARK)) {
                return packet[1] & MARK == MARK;
            }
            packet[1] |= MARK;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            // RFC 1624, equation 3: HC' = ~(~HC + ~m + m'). HC is the checksum, m the changed word.
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            let mut new = u32::from(!sum) + u32::from(!before) + u32::from(after);
            new = (new & 0xffff) + (new >> 16);
            new = (new & 0xffff) + (new >> 16);
            packet[10..12].copy_from_slice(&(!(new as u16)).to_be_bytes());
            true
        }
        // IPv6: the ECN field is bits 4 and 5 of the second byte. Bit 0 is the least significant
        // bit.
        [first, second, ..] if *first >> 4 == 6 => {
            if CAPABLE.contains(&(*second >> 4 & MARK)) {
                *second |= MARK << 4;
            }
            *second >> 4 & MARK == MARK
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner::Inner;
    use etherparse::{Ipv4HeaderSlice, PacketBuilder};

    fn packet(v6: bool, ecn: u8) -> Vec<u8> {
        let builder = match v6 {
            false => PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
            true => PacketBuilder::ipv6([1; 16], [2; 16], 64),
        };
        let mut packet = Vec::new();
        builder.udp(1, 2).write(&mut packet, &[7; 40]).unwrap();
        if v6 {
            packet[1] |= ecn << 4;
        } else {
            packet[1] |= ecn;
            let sum = Ipv4HeaderSlice::from_slice(&packet).unwrap().to_header().calc_header_checksum();
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }

    #[test]
    fn capable_packets_are_marked_and_others_are_not() {
        for v6 in [false, true] {
            for (ecn, after) in [(0, 0), (1, 3), (2, 3), (3, 3)] {
                let mut packet = packet(v6, ecn);
                let before = packet.clone();
                assert_eq!(mark_congestion(&mut packet), after == 3, "{v6} {ecn}");
                assert_eq!(Inner::parse(&packet).unwrap().ecn(), after, "{v6} {ecn}");
                assert_eq!(packet == before, ecn == after, "{v6} {ecn}");
                if !v6 {
                    let header = Ipv4HeaderSlice::from_slice(&packet).unwrap().to_header();
                    assert_eq!(header.calc_header_checksum(), header.header_checksum, "{ecn}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_packet_stays_as_it_is() {
        for bytes in [&[][..], &[0x45], &[0x45, 2, 0, 0], &[0x12; 40]] {
            let mut copy = bytes.to_vec();
            assert!(!mark_congestion(&mut copy), "{bytes:?}");
            assert_eq!(copy, bytes);
        }
    }
}
