//! MSS clamping: the MSS option of TCP SYNs is lowered, so that segments fit the tunnel's MTU. The
//! segments then fit even where ICMP is blocked.

use super::{IPV4_HEADER, IPV6_HEADER, Inner};

/// Lowers the MSS option of a TCP SYN to the largest value that fits, and corrects the TCP
/// checksum. `mtu` is the length of the largest inner packet, bytes. Other packets, and SYNs with a
/// small enough MSS, are not changed. Returns whether the packet was changed.
///
/// `packet` must have a complete TCP checksum: checksum offload to a network card must be off.
pub fn clamp_mss(packet: &mut [u8], mtu: u16) -> bool {
    let Some((tcp_at, option_at, mss, limit)) = find(packet, mtu) else { return false };
    if mss <= limit {
        return false;
    }
    let header = &mut packet[tcp_at..];
    let sum = u16::from_be_bytes([header[16], header[17]]);
    // RFC 1624, equation 3: HC' = ~(~HC + ~m + m'). HC is the checksum, m the changed word. A field
    // at an odd offset is added with its bytes swapped (RFC 1071, section 2B).
    let turn = |word: u16| if (option_at + 2) % 2 == 1 { word.swap_bytes() } else { word };
    let mut new = u32::from(!sum) + u32::from(!turn(mss)) + u32::from(turn(limit));
    new = (new & 0xffff) + (new >> 16);
    new = (new & 0xffff) + (new >> 16);
    header[16..18].copy_from_slice(&(!(new as u16)).to_be_bytes());
    header[option_at + 2..option_at + 4].copy_from_slice(&limit.to_be_bytes());
    true
}

/// Finds the MSS option of a SYN. Returns four numbers: the offset of the TCP header, the option's
/// offset in that header, the option's value, and the largest value that fits.
fn find(packet: &[u8], mtu: u16) -> Option<(usize, usize, u16, u16)> {
    let inner = Inner::parse(packet).ok()?;
    let tcp = inner.tcp()?;
    if tcp[13] & 0b10 == 0 {
        return None;
    }
    // RFC 6691: the MSS is the MTU minus the fixed headers. The sender of a segment subtracts the
    // length of its options.
    let headers = 20 + if inner.source.is_ipv4() { IPV4_HEADER } else { IPV6_HEADER };
    let limit = mtu.saturating_sub(headers as u16);
    let options = tcp.get(20..usize::from(tcp[12] >> 4) * 4)?;
    let mut at = 0;
    loop {
        match *options.get(at..)? {
            [0, ..] | [] => return None,
            [1, ..] => at += 1,
            [2, 4, high, low, ..] => {
                return Some((inner.payload_at, 20 + at, u16::from_be_bytes([high, low]), limit));
            }
            // An option has at least two bytes, its kind and its length. A smaller length is
            // malformed.
            [_, len, ..] if len >= 2 => at += usize::from(len),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, TcpOptionElement, TcpSlice};

    /// A SYN with `nops` no-operation options in front of the MSS option.
    fn syn(v6: bool, nops: usize, mss: u16, flags_ack: bool) -> Vec<u8> {
        let mut options = vec![TcpOptionElement::Noop; nops];
        options.push(TcpOptionElement::MaximumSegmentSize(mss));
        options.push(TcpOptionElement::WindowScale(7));
        let builder = if v6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 64)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        };
        let mut builder = builder.tcp(40_000, 443, 7, 65_000).syn();
        if flags_ack {
            builder = builder.ack(9);
        }
        let mut packet = Vec::new();
        builder.options(&options).unwrap().write(&mut packet, &[]).unwrap();
        packet
    }

    fn checksum_holds(packet: &[u8]) -> bool {
        let inner = Inner::parse(packet).unwrap();
        let tcp = TcpSlice::from_slice(inner.tcp().unwrap()).unwrap();
        let sum = match (inner.source, inner.destination) {
            (std::net::IpAddr::V4(s), std::net::IpAddr::V4(d)) => {
                tcp.calc_checksum_ipv4(s.octets(), d.octets()).unwrap()
            }
            (std::net::IpAddr::V6(s), std::net::IpAddr::V6(d)) => {
                tcp.calc_checksum_ipv6(s.octets(), d.octets()).unwrap()
            }
            _ => unreachable!("both addresses are of one packet"),
        };
        sum == tcp.checksum()
    }

    #[test]
    fn lowers_what_does_not_fit_and_mends_the_checksum() {
        for v6 in [false, true] {
            for nops in 0..4 {
                for ack in [false, true] {
                    for mss in [1460u16, 1461, 65_535, 1397, 1396, 1376, 1377] {
                        let mut packet = syn(v6, nops, mss, ack);
                        assert!(checksum_holds(&packet));
                        let limit = if v6 { 1376 } else { 1396 };
                        assert_eq!(clamp_mss(&mut packet, 1436), mss > limit, "{v6} {nops} {mss}");
                        assert!(checksum_holds(&packet), "{v6} {nops} {mss}");
                        assert_eq!(find(&packet, 1436).unwrap().2, mss.min(limit));
                        assert!(!clamp_mss(&mut packet, 1436), "a second call must change nothing");
                    }
                }
            }
        }
    }

    #[test]
    fn leaves_everything_else_alone() {
        let mut packet = syn(false, 0, 1460, false);
        packet[20 + 13] = 0x10; // an ACK
        let before = packet.clone();
        assert!(!clamp_mss(&mut packet, 576));
        let mut packet = syn(false, 0, 1460, false);
        packet[6] = 0x20; // a fragment
        assert!(!clamp_mss(&mut packet, 576));
        assert_eq!(before.len(), packet.len());
        // No change: an option of length 1, an option that ends beyond the header, an MSS of 0, an
        // empty list of options.
        for options in [[5, 1, 2, 4], [5, 40, 2, 4], [2, 4, 0, 0], [0, 2, 4, 9]] {
            let mut packet = syn(false, 0, 1460, false);
            packet[40..44].copy_from_slice(&options);
            let changed = clamp_mss(&mut packet, 1436);
            assert!(!changed, "{options:?}");
        }
    }
}
