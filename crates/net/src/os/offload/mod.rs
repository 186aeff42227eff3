//! Large segments on a TUN device: one system call moves many packets of a flow.
//!
//! With offload, the kernel puts a virtio header (VIRTIO 1.2, section 5.1.6) in front of each packet. The packet may
//! be a *large segment*: packets of one flow with equal payload lengths, under a single IP and TCP (or UDP) header.
//! [`split`] turns a large segment that was read into packets. [`join`] turns packets that are to be written into
//! large segments. Both work on references, so each payload byte is copied one time: by the caller on the way in, and
//! by the kernel on the way out.

pub mod join;
pub mod split;

/// Length of the virtio header, bytes.
pub const HEADER_LEN: usize = 10;

/// The checksum is partial: the field holds only the sum of the pseudo-header.
const NEEDS_CHECKSUM: u8 = 1;
/// The kinds of large segments.
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const UDP: u8 = 5;
/// Set in the kind if the first packet of a TCP segment carries the flag CWR (RFC 3168).
const ECN: u8 = 0x80;

/// IP protocol numbers.
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// Flags of TCP.
const FIN: u8 = 1;
const PSH: u8 = 8;
const ACK: u8 = 16;
const CWR: u8 = 128;

/// The virtio header. The fields are in the byte order of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Virtio {
    flags: u8,
    /// The kind of the large segment; 0 for a single packet.
    kind: u8,
    /// Length of all headers, bytes. Only a hint when read.
    headers: u16,
    /// Payload length of each packet but the last, bytes.
    segment: u16,
    /// Where the checksummed bytes begin: the start of the TCP or UDP header.
    checksum_from: u16,
    /// Where the checksum is, counted from `checksum_from`.
    checksum_at: u16,
}

impl Virtio {
    fn parse(bytes: &[u8; HEADER_LEN]) -> Virtio {
        let field = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Virtio {
            flags: bytes[0],
            kind: bytes[1],
            headers: field(2),
            segment: field(4),
            checksum_from: field(6),
            checksum_at: field(8),
        }
    }

    fn bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        (bytes[0], bytes[1]) = (self.flags, self.kind);
        let fields = [self.headers, self.segment, self.checksum_from, self.checksum_at];
        for (room, field) in bytes[2..].chunks_exact_mut(2).zip(fields) {
            room.copy_from_slice(&field.to_ne_bytes());
        }
        bytes
    }
}

/// A sum of 16-bit words in one's complement arithmetic (RFC 1071).
#[derive(Clone, Copy, Debug, Default)]
struct Sum(u64);

impl Sum {
    /// Adds `bytes`. All calls but the last one need an even length.
    fn add(mut self, bytes: &[u8]) -> Sum {
        // Words of the machine's byte order are added, and `fold` swaps the result (RFC 1071, section 2 (B)). The
        // carries of 64-bit additions are counted in the upper half of 128 bits. Two sums let the additions overlap.
        let (mut even, mut odd) = (0u128, 0u128);
        let mut blocks = bytes.chunks_exact(16);
        for block in &mut blocks {
            if let (Some(a), Some(b)) = (block.first_chunk::<8>(), block.last_chunk::<8>()) {
                even += u128::from(u64::from_ne_bytes(*a));
                odd += u128::from(u64::from_ne_bytes(*b));
            }
        }
        let mut last = [0; 16];
        last[..blocks.remainder().len()].copy_from_slice(blocks.remainder());
        let rest = u128::from_ne_bytes(last);
        let total = even + odd + (rest & u128::from(u64::MAX)) + (rest >> 64);
        let folded = (total & 0xffff_ffff) + (total >> 32 & 0xffff_ffff) + (total >> 64);
        self.0 += folded as u64;
        self
    }

    /// Adds a number in network byte order.
    fn add_word(self, word: u16) -> Sum {
        Sum(self.0 + u64::from(u16::from_ne_bytes(word.to_be_bytes())))
    }

    /// The sum as a 16-bit number in network byte order.
    fn fold(self) -> [u8; 2] {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (sum as u16).to_ne_bytes()
    }

    /// The checksum: the complement of the sum.
    fn checksum(self) -> [u8; 2] {
        self.fold().map(|byte| !byte)
    }
}

/// The headers of a packet, as far as this module needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    is_v4: bool,
    protocol: u8,
    /// Where the TCP or UDP header begins.
    transport: usize,
    /// Where the payload begins.
    payload: usize,
}

impl Shape {
    /// The shape of a packet with a TCP or UDP header at `transport`. None: there is no such header.
    fn at(packet: &[u8], transport: usize, protocol: u8) -> Option<Shape> {
        let is_v4 = match packet.first()? >> 4 {
            4 => true,
            6 => false,
            _ => return None,
        };
        let (least, header) = match protocol {
            PROTOCOL_UDP => (8, 8),
            PROTOCOL_TCP => (20, usize::from(packet.get(transport + 12)? >> 4) * 4),
            _ => return None,
        };
        let payload = transport + header;
        let fits = transport >= if is_v4 { 20 } else { 40 } && header >= least && payload <= packet.len();
        fits.then_some(Shape { is_v4, protocol, transport, payload })
    }

    /// The sum of the pseudo-header for a transport header and payload of `len` bytes (RFC 9293, RFC 768, RFC 8200).
    fn pseudo(&self, packet: &[u8], len: usize) -> Sum {
        let addresses = if self.is_v4 { packet.get(12..20) } else { packet.get(8..40) };
        Sum::default().add(addresses.unwrap_or_default()).add_word(u16::from(self.protocol)).add_word(len as u16)
    }

    /// Where the checksum of the transport header is in the packet.
    fn checksum_at(&self) -> usize {
        self.transport + if self.protocol == PROTOCOL_UDP { 6 } else { 16 }
    }
}

/// Sets the length in an IP header, and the header checksum of IPv4. `len` is the length of the packet.
fn set_length(header: &mut [u8], is_v4: bool, transport: usize, len: usize) {
    if is_v4 {
        header[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        header[10..12].fill(0);
        let checksum = Sum::default().add(&header[..transport]).checksum();
        header[10..12].copy_from_slice(&checksum);
    } else {
        header[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
    }
}

/// Adds `step` to a 16-bit or 32-bit number in network byte order.
fn advance(field: &mut [u8], step: u32) {
    let mut carry = step;
    for byte in field.iter_mut().rev() {
        carry += u32::from(*byte);
        *byte = carry as u8;
        carry >>= 8;
    }
}

#[cfg(test)]
mod tests {
    use super::join::Joiner;
    use super::split::split;
    use super::*;
    use ripstop_base::{Seed, Stream};

    /// A TCP or UDP packet with valid checksums.
    pub(super) fn packet(is_v4: bool, protocol: u8, id: u16, position: u32, payload: &[u8]) -> Vec<u8> {
        let transport = if is_v4 { 20 } else { 40 };
        let header = if protocol == PROTOCOL_UDP { 8 } else { 32 };
        let mut packet = vec![0; transport + header];
        if is_v4 {
            packet[0] = 0x45;
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            (packet[8], packet[9]) = (64, protocol);
            packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        } else {
            packet[0] = 0x60;
            (packet[6], packet[7]) = (protocol, 64);
            packet[8..40].copy_from_slice(&[0xfd; 32]);
        }
        packet[transport + 1] = 7;
        if protocol == PROTOCOL_UDP {
            packet[transport + 4..transport + 6].copy_from_slice(&(8 + payload.len() as u16).to_be_bytes());
        } else {
            packet[transport + 4..transport + 8].copy_from_slice(&position.to_be_bytes());
            (packet[transport + 12], packet[transport + 13]) = (8 << 4, ACK);
        }
        packet.extend_from_slice(payload);
        let len = packet.len();
        set_length(&mut packet, is_v4, transport, len);
        sign(&mut packet, transport, protocol);
        packet
    }

    /// Sets the checksum of the transport header.
    pub(super) fn sign(packet: &mut [u8], transport: usize, protocol: u8) {
        let shape = Shape::at(packet, transport, protocol).unwrap();
        packet[shape.checksum_at()..][..2].fill(0);
        let sum = shape.pseudo(packet, packet.len() - transport).add(&packet[transport..]);
        packet[shape.checksum_at()..][..2].copy_from_slice(&sum.checksum());
    }

    fn bytes(random: &mut Stream, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        random.fill(&mut bytes);
        bytes
    }

    /// What a kernel would give back for the packets written: the large segments, split again. Also returns the number
    /// of writes.
    pub(super) fn through(packets: &[Vec<u8>]) -> (Vec<Vec<u8>>, usize) {
        let (mut got, mut writes) = (Vec::new(), 0);
        let mut joiner = Joiner::new(true, true);
        joiner.join(packets.iter().map(|packet| (0, packet.as_slice())));
        joiner.each(
            |index| &packets[index],
            |slices| {
                writes += 1;
                let mut whole: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
                split(&mut whole, &mut |parts| got.push(parts.concat())).unwrap();
            },
        );
        (got, writes)
    }

    #[test]
    fn sums_agree_with_a_sum_of_words() {
        let mut random = Seed::new(3).stream("sums");
        for len in 0..200 {
            let data = bytes(&mut random, len);
            let mut slow: u32 =
                data.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b))).sum();
            while slow >> 16 != 0 {
                slow = (slow & 0xffff) + (slow >> 16);
            }
            assert_eq!(u32::from(u16::from_be_bytes(Sum::default().add(&data).fold())), slow, "{len} bytes");
        }
        assert_eq!(Sum::default().add(&[255; 64]).fold(), [255, 255]);
    }

    #[test]
    fn what_is_joined_is_split_into_the_same_packets() {
        let mut random = Seed::new(4).stream("join and split");
        for run in 0..300 {
            let (is_v4, protocol) = (run % 2 == 0, if run % 3 == 0 { PROTOCOL_UDP } else { PROTOCOL_TCP });
            let len = 1 + random.below(1_400) as usize;
            let mut packets = Vec::new();
            let mut position = random.next_u64() as u32;
            for i in 0..1 + random.below(60) {
                let len = if random.chance(0.05) { 1 + random.below(len as u64) as usize } else { len };
                let mut one = packet(is_v4, protocol, i as u16, position, &bytes(&mut random, len));
                if random.chance(0.03) {
                    // A packet damaged before it entered the tunnel arrives as damaged as it was.
                    let last = one.len() - 1;
                    one[last] ^= 1 << (i % 8);
                }
                packets.push(one);
                position = position.wrapping_add(len as u32);
            }
            let (got, _) = through(&packets);
            assert!(got == packets, "run {run}: seed 4");
        }
    }

    #[test]
    fn headers_survive_their_bytes() {
        let header = Virtio { flags: 1, kind: TCP6, headers: 72, segment: 1400, checksum_from: 40, checksum_at: 16 };
        assert_eq!(Virtio::parse(&header.bytes()), header);
        let mut number = [0, 255, 255, 250];
        advance(&mut number, 1400);
        assert_eq!(u32::from_be_bytes(number), 0x00ff_fffa + 1400);
    }
}
