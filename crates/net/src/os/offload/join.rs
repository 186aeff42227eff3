//! Joins packets of a flow into large segments.
//!
//! Packets are joined only if the receiver of the large segment can make the same packets of it again. The only
//! difference is the flag PSH, which all packets but the last lose. Receivers use PSH as a hint at most (RFC 9293,
//! section 3.9.1), and the packets that were joined arrive together.

use super::{
    ACK, HEADER_LEN, NEEDS_CHECKSUM, PROTOCOL_TCP, PROTOCOL_UDP, PSH, Shape, TCP4, TCP6, UDP, Virtio, set_length,
};
use std::io::IoSlice;

/// The largest number of packets in a large segment. The kernel accepts at most 64 UDP packets. 46 packets of 1400
/// bytes fill a segment, so the limit matters only for shorter packets. Half the value makes more segments. Double
/// the value makes the kernel refuse UDP segments.
const MOST_PACKETS: usize = 64;
/// Longest large segment, bytes: the largest length in an IPv4 header.
const LONGEST: usize = 65_535;
/// The number of large segments that may still grow. A packet of another flow closes the oldest segment. The number
/// bounds the search for a packet's flow. Half the value makes more segments if more than four flows are mixed. Double
/// the value doubles the longest search.
const OPEN: usize = 8;
/// Longest IP and TCP headers, bytes: 40 for IPv6 without extension headers, 60 for TCP.
const LONGEST_HEADERS: usize = 100;

/// Joins packets. The value is kept from batch to batch to reuse its memory.
#[derive(Debug)]
pub struct Joiner {
    tcp: bool,
    udp: bool,
    groups: Vec<Group>,
    members: Vec<Member>,
}

/// A packet of a group.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Where the payload begins. The bytes before it are in `Group::headers`.
    payload: usize,
    /// The index of the next packet of the group.
    next: Option<usize>,
}

/// Packets that are written together.
#[derive(Debug)]
struct Group {
    flow: u64,
    /// The headers of the first packet.
    headers: [u8; LONGEST_HEADERS],
    /// None: the group is one packet that is written as it is.
    shape: Option<Shape>,
    /// Payload length of each packet but the last, bytes.
    segment: usize,
    /// Length of all payloads, bytes.
    payload: usize,
    packets: usize,
    /// The indices of the first and the last packet.
    first: usize,
    last: usize,
    /// Whether the last packet has the flag PSH.
    push: bool,
    /// Whether no further packet may be added.
    closed: bool,
}

impl Joiner {
    /// `tcp` and `udp` tell which large segments the device takes.
    pub fn new(tcp: bool, udp: bool) -> Joiner {
        Joiner { tcp, udp, groups: Vec::new(), members: Vec::new() }
    }

    /// Groups `packets`. Each packet comes with a hash of its flow.
    pub fn join<'a>(&mut self, packets: impl Iterator<Item = (u64, &'a [u8])>) {
        self.groups.clear();
        self.members.clear();
        for (index, (flow, packet)) in packets.enumerate() {
            let shape = self.joinable(packet);
            self.members.push(Member { payload: shape.map_or(0, |shape| shape.payload), next: None });
            let open = self.groups.len().saturating_sub(OPEN);
            let group = self.groups[open..].iter_mut().rev().find(|group| group.flow == flow);
            if let (Some(group), Some(shape)) = (group, shape)
                && group.add(packet, shape)
            {
                let last = std::mem::replace(&mut group.last, index);
                self.members[last].next = Some(index);
            } else {
                self.groups.push(Group::new(flow, index, packet, shape));
            }
        }
    }

    /// Calls `write` for each group, with the parts of the data to write: a virtio header, the packet's headers and the
    /// payloads. `packet` returns the packet with this index of those that were given to [`Joiner::join`]. The packets
    /// of a flow stay in order.
    pub fn each<'a>(&self, packet: impl Fn(usize) -> &'a [u8], mut write: impl FnMut(&[IoSlice<'_>])) {
        for group in &self.groups {
            let (virtio, headers, len) = group.head();
            let mut parts = [IoSlice::new(&[]); MOST_PACKETS + 2];
            (parts[0], parts[1]) = (IoSlice::new(&virtio), IoSlice::new(&headers[..len]));
            let (mut count, mut next) = (2, Some(group.first));
            while let (Some(index), Some(part)) = (next, parts.get_mut(count)) {
                let member = self.members[index];
                *part = IoSlice::new(packet(index).get(member.payload..).unwrap_or_default());
                (count, next) = (count + 1, member.next);
            }
            write(&parts[..count]);
        }
    }

    /// The shape of a packet that may be part of a large segment. None: the packet is written alone.
    fn joinable(&self, packet: &[u8]) -> Option<Shape> {
        let shape = match packet.first()? >> 4 {
            // No options, and no fragment (RFC 791, section 3.1).
            4 if packet[0] == 0x45 && packet.len() >= 28 && packet[6] & 0x3f == 0 && packet[7] == 0 => {
                Shape::at(packet, 20, packet[9])?
            }
            6 => Shape::at(packet, 40, *packet.get(6)?)?,
            _ => return None,
        };
        let wanted = match shape.protocol {
            // Only the flags ACK and PSH.
            PROTOCOL_TCP => self.tcp && packet[shape.transport + 13] & !PSH == ACK,
            PROTOCOL_UDP => {
                let len = u16::from_be_bytes([packet[shape.transport + 4], packet[shape.transport + 5]]);
                let has_checksum = packet[shape.checksum_at()..][..2] != [0, 0];
                self.udp && usize::from(len) == packet.len() - shape.transport && has_checksum
            }
            _ => false,
        };
        (wanted && shape.payload < packet.len()).then_some(shape)
    }
}

impl Group {
    fn new(flow: u64, index: usize, packet: &[u8], shape: Option<Shape>) -> Group {
        let mut group = Group {
            flow,
            headers: [0; LONGEST_HEADERS],
            shape,
            segment: 0,
            payload: packet.len(),
            packets: 1,
            first: index,
            last: index,
            push: false,
            closed: true,
        };
        if let Some(shape) = shape {
            group.headers[..shape.payload].copy_from_slice(&packet[..shape.payload]);
            group.segment = packet.len() - shape.payload;
            group.payload = group.segment;
            // One checksum replaces those of the packets. So a packet with a wrong checksum is not joined: the error
            // must stay visible.
            group.closed = !is_valid(packet, shape);
        }
        group
    }

    /// Adds a packet. Returns false if the packet does not belong to the group. Then no later packet may be added
    /// either, because the packets of a flow stay in order.
    fn add(&mut self, packet: &[u8], shape: Shape) -> bool {
        let len = packet.len() - shape.payload;
        let fits = !self.closed
            && self.shape == Some(shape)
            && len <= self.segment
            && self.packets < MOST_PACKETS
            && shape.payload + self.payload + len <= LONGEST
            && self.continues(packet, shape)
            && is_valid(packet, shape);
        if !fits {
            self.closed = true;
            return false;
        }
        self.payload += len;
        self.packets += 1;
        self.push = shape.protocol == PROTOCOL_TCP && packet[shape.transport + 13] & PSH != 0;
        self.closed = len < self.segment;
        true
    }

    /// Whether the headers of `packet` are those of the next packet.
    fn continues(&self, packet: &[u8], shape: Shape) -> bool {
        let headers = &self.headers[..shape.payload];
        let same = |from: usize, to: usize| headers[from..to] == packet[from..to];
        let transport = shape.transport;
        let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let ip = if shape.is_v4 {
            // The identification of a packet that may not be fragmented has no meaning (RFC 6864). Other packets need
            // successive identifications, because cutting gives them such.
            let next = word(headers, 4).wrapping_add(self.packets as u16);
            let unfragmented = packet[6] & 0x40 != 0;
            same(0, 2) && same(6, 10) && same(12, 20) && (unfragmented || word(packet, 4) == next)
        } else {
            same(0, 4) && same(6, 40)
        };
        if shape.protocol == PROTOCOL_UDP {
            return ip && same(transport, transport + 4);
        }
        let number = |bytes: &[u8]| bytes[transport + 4..].first_chunk().map_or(0, |b| u32::from_be_bytes(*b));
        ip && same(transport, transport + 4)
            && number(packet) == number(headers).wrapping_add(self.payload as u32)
            && same(transport + 8, transport + 13)
            && same(transport + 14, transport + 16)
            && same(transport + 18, shape.payload)
    }

    /// The virtio header, the headers, and the length of the headers.
    fn head(&self) -> ([u8; HEADER_LEN], [u8; LONGEST_HEADERS], usize) {
        let mut headers = self.headers;
        let Some(shape) = self.shape else { return (Virtio::default().bytes(), headers, 0) };
        if self.packets == 1 {
            return (Virtio::default().bytes(), headers, shape.payload);
        }
        let len = shape.payload + self.payload;
        set_length(&mut headers[..shape.payload], shape.is_v4, shape.transport, len);
        let is_udp = shape.protocol == PROTOCOL_UDP;
        if is_udp {
            let at = shape.transport + 4;
            headers[at..at + 2].copy_from_slice(&((len - shape.transport) as u16).to_be_bytes());
        } else {
            headers[shape.transport + 13] = if self.push { ACK | PSH } else { ACK };
        }
        let partial = shape.pseudo(&headers, len - shape.transport).fold();
        headers[shape.checksum_at()..][..2].copy_from_slice(&partial);
        let virtio = Virtio {
            flags: NEEDS_CHECKSUM,
            kind: match (is_udp, shape.is_v4) {
                (true, _) => UDP,
                (false, true) => TCP4,
                (false, false) => TCP6,
            },
            headers: shape.payload as u16,
            segment: self.segment as u16,
            checksum_from: shape.transport as u16,
            checksum_at: (shape.checksum_at() - shape.transport) as u16,
        };
        (virtio.bytes(), headers, shape.payload)
    }
}

/// Whether the checksum of a packet is right.
fn is_valid(packet: &[u8], shape: Shape) -> bool {
    let segment = &packet[shape.transport..];
    shape.pseudo(packet, segment.len()).add(segment).fold() == [255, 255]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{packet, sign, through};
    use super::*;

    /// `count` packets of a TCP flow, 1000 bytes each.
    fn flow(count: u16) -> Vec<Vec<u8>> {
        (0..count).map(|i| packet(true, PROTOCOL_TCP, i, 1000 * u32::from(i), &[i as u8; 1000])).collect()
    }

    /// The flags of the packets that come out, and the number of writes, after `change` changed packet 5 of 10.
    fn changed(change: impl Fn(&mut Vec<u8>)) -> (Vec<u8>, usize) {
        let mut packets = flow(10);
        change(&mut packets[5]);
        let (got, writes) = through(&packets);
        let bare = |packets: &[Vec<u8>]| -> Vec<Vec<u8>> { packets.iter().map(|p| p[52..].to_vec()).collect() };
        assert_eq!(bare(&got), bare(&packets), "payloads and their order");
        (got.iter().map(|p| p[33]).collect(), writes)
    }

    #[test]
    fn a_flow_is_joined_up_to_the_limits() {
        assert_eq!(through(&flow(64)), (flow(64), 1));
        assert_eq!(through(&flow(70)), (flow(70), 2), "65535 bytes");
        let short: Vec<_> = (0..100).map(|i| packet(false, PROTOCOL_UDP, 0, 0, &[i; 20])).collect();
        assert_eq!(through(&short), (short.clone(), 2), "64 packets");
    }

    #[test]
    fn push_does_not_end_a_segment() {
        let push = |p: &mut Vec<u8>| {
            p[33] |= PSH;
            sign(p, 20, PROTOCOL_TCP);
        };
        assert_eq!(changed(push), (vec![ACK; 10], 1));
        let mut packets = flow(3);
        push(&mut packets[2]);
        assert_eq!(through(&packets), (packets.clone(), 1));
    }

    #[test]
    fn packets_that_differ_are_not_joined() {
        let set = |at: usize, to: u8| {
            move |p: &mut Vec<u8>| {
                p[at] = to;
                set_length(p, true, 20, 1052);
                sign(p, 20, PROTOCOL_TCP);
            }
        };
        for (at, what) in
            [(1, "DSCP"), (5, "identification"), (8, "TTL"), (35, "window"), (31, "acknowledgement"), (45, "options")]
        {
            let (_, writes) = changed(set(at, 99));
            assert_eq!(writes, 3, "{what}");
        }
        // A FIN is written alone. The packets after it do not continue the first segment.
        assert_eq!(changed(set(33, ACK | 1)).1, 3);
        // A shorter packet ends a segment.
        let (_, writes) = changed(|p| *p = packet(true, PROTOCOL_TCP, 5, 5000, &[5; 400]));
        assert_eq!(writes, 2);
    }

    #[test]
    fn mixed_flows_are_joined_each_for_itself() {
        let packets: Vec<Vec<u8>> = (0..30u16)
            .map(|i| {
                let mut one = packet(true, PROTOCOL_TCP, i / 3, 1000 * u32::from(i / 3), &[i as u8; 1000]);
                one[20] = (i % 3) as u8;
                sign(&mut one, 20, PROTOCOL_TCP);
                one
            })
            .collect();
        let mut joiner = Joiner::new(true, false);
        joiner.join(packets.iter().map(|p| (u64::from(p[20]), p.as_slice())));
        let mut sizes = Vec::new();
        joiner.each(|i| &packets[i], |parts| sizes.push(parts.len()));
        assert_eq!(sizes, [12, 12, 12]);
        joiner.tcp = false;
        joiner.join(packets.iter().map(|p| (u64::from(p[20]), p.as_slice())));
        let mut writes = 0;
        joiner.each(|i| &packets[i], |_| writes += 1);
        assert_eq!(writes, 30, "a device without TCP segments");
    }
}
