//! Inner packets of endpoints: real IP packets with IPv4 and UDP headers, a label, and content derived from the label.
//!
//! The receiving end rebuilds the packet from its label, so any damaged byte is noticed.

use super::label::Label;
use crate::world::packet::Ecn;
use ripstop_base::Seed;
use ripstop_codes::Symbol;
use ripstop_proto::packets::symbol::unframe;
use std::net::Ipv4Addr;

/// The length of the shortest packet, bytes: IPv4 header (20), UDP header (8), and the label (12).
pub(super) const LEAST: u32 = 20 + 8 + 12;
/// The IP header's traffic class for packets that are delivered as soon as they arrive: DSCP 46, Expedited Forwarding
/// (RFC 3246). A tunnel recognises these packets by this traffic class.
const EXPEDITED: u8 = 46 << 2;
/// The bits of the ECN field in the traffic class (RFC 3168).
const ECN: u8 = 3;

/// Makes the inner packet with this label, from one inner address to another.
pub(super) fn inner_packet(label: Label, from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let len = label.len.clamp(LEAST, 65_535) as usize;
    let mut bytes = vec![0; len];
    bytes[0] = 0x45;
    bytes[1] = if label.immediate { EXPEDITED } else { 0 } | label.ecn.bits();
    bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    bytes[8] = 64;
    bytes[9] = 17;
    bytes[12..16].copy_from_slice(&from.octets());
    bytes[16..20].copy_from_slice(&to.octets());
    let checksum = ones_complement(&bytes[..20]);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes[20..22].copy_from_slice(&(1000 + label.flow as u16).to_be_bytes());
    bytes[22..24].copy_from_slice(&5000u16.to_be_bytes());
    bytes[24..26].copy_from_slice(&((len - 20) as u16).to_be_bytes());
    bytes[28..32].copy_from_slice(&label.flow.to_be_bytes());
    bytes[32..40].copy_from_slice(&label.sequence.to_be_bytes());
    // The content differs between any two packets, so a packet that is mistaken for another is noticed.
    Seed::new(u64::from(label.flow) << 32).run(label.sequence).stream("content").fill(&mut bytes[40..]);
    bytes
}

/// The Internet checksum of an IPv4 header (RFC 1071).
fn ones_complement(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

/// The label of a delivered packet. None unless the packet equals, byte for byte, the packet that [`inner_packet`]
/// makes for this label.
pub(super) fn label_of(symbol: &Symbol) -> Option<Label> {
    let (_, bytes) = unframe(symbol.as_slice()).ok()?;
    let address = |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(at..at + 4)?).ok()?));
    let label = Label {
        flow: u32::from_be_bytes(bytes.get(28..32)?.try_into().ok()?),
        sequence: u64::from_be_bytes(bytes.get(32..40)?.try_into().ok()?),
        len: bytes.len() as u32,
        immediate: bytes[1] & !ECN == EXPEDITED,
        ecn: Ecn::from_bits(bytes[1] & ECN)?,
    };
    (inner_packet(label, address(12)?, address(16)?) == bytes).then_some(label)
}

/// Whether a delivered packet is an ICMP message. The packets of [`inner_packet`] are not.
pub(super) fn is_icmp(symbol: &Symbol) -> bool {
    unframe(symbol.as_slice()).is_ok_and(|(_, bytes)| bytes.get(9) == Some(&1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_is_noticed() {
        let label = Label { flow: 3, sequence: 77, len: 120, immediate: false, ecn: Ecn::Capable };
        let (from, to) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let symbol = Symbol::from_parts(&[&[0], &inner_packet(label, from, to)]);
        assert_eq!(label_of(&symbol), Some(label));
        for at in 1..symbol.len() {
            let mut changed = symbol.clone();
            changed.edit(|bytes| bytes[at] ^= 0x10);
            assert_ne!(label_of(&changed), Some(label), "byte {at}");
        }
    }
}
