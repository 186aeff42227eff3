//! Cuts a large segment into packets.

use super::{
    CWR, ECN, FIN, HEADER_LEN, NEEDS_CHECKSUM, PROTOCOL_TCP, PROTOCOL_UDP, PSH, Shape, Sum, TCP4, TCP6, UDP, Virtio,
    advance, set_length,
};

/// Longest IP and TCP headers of a large segment, bytes: 40 for IPv6, 20 for extension headers or IP options, 60 for
/// TCP. The kernel makes no longer headers of its own. A longer header is refused. Half the value is too short for
/// TCP options over IPv6. Double the value has no effect.
const LONGEST_HEADERS: usize = 120;

/// Data from the device that cannot be cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Calls `take` for each packet of `data`: a virtio header, then a packet or a large segment. Each packet consists of
/// one or two parts. Its checksums are complete. Returns the number of packets.
///
/// # Errors
/// The headers do not fit the data, or the kind of the large segment is not known.
pub fn split(data: &mut [u8], take: &mut impl FnMut(&[&[u8]])) -> Result<usize, Malformed> {
    let (header, packet) = data.split_first_chunk_mut::<HEADER_LEN>().ok_or(Malformed)?;
    let virtio = Virtio::parse(header);
    if virtio.kind == 0 {
        if virtio.flags & NEEDS_CHECKSUM != 0 {
            complete(packet, virtio).ok_or(Malformed)?;
        }
        take(&[packet]);
        return Ok(1);
    }
    let protocol = match virtio.kind & !ECN {
        TCP4 | TCP6 => PROTOCOL_TCP,
        UDP => PROTOCOL_UDP,
        _ => return Err(Malformed),
    };
    let shape = Shape::at(packet, virtio.checksum_from.into(), protocol).ok_or(Malformed)?;
    cut(packet, shape, usize::from(virtio.segment), take).ok_or(Malformed)
}

/// Completes the partial checksum of a single packet. None: the header does not fit the packet.
fn complete(packet: &mut [u8], virtio: Virtio) -> Option<()> {
    let from = usize::from(virtio.checksum_from);
    let sum = Sum::default().add(packet.get(from..)?);
    // The value 0 would mean that a UDP packet has no checksum (RFC 768).
    let checksum = if sum.checksum() == [0, 0] { [255, 255] } else { sum.checksum() };
    packet.get_mut(from + usize::from(virtio.checksum_at)..)?.get_mut(..2)?.copy_from_slice(&checksum);
    Some(())
}

/// Cuts a large segment with payloads of `segment` bytes. Returns the number of packets. None: the headers do not fit
/// the segment.
fn cut(packet: &[u8], shape: Shape, segment: usize, take: &mut impl FnMut(&[&[u8]])) -> Option<usize> {
    let (headers, payload) = packet.split_at_checked(shape.payload)?;
    if segment == 0 || payload.is_empty() || headers.len() > LONGEST_HEADERS {
        return None;
    }
    let mut room = [0; LONGEST_HEADERS];
    let header = &mut room[..headers.len()];
    header.copy_from_slice(headers);
    let Shape { is_v4, transport, .. } = shape;
    let is_tcp = shape.protocol == PROTOCOL_TCP;
    let (checksum_at, flags_at) = (shape.checksum_at(), transport + 13);
    let flags = if is_tcp { header[flags_at] } else { 0 };
    let count = payload.len().div_ceil(segment);
    for (i, part) in payload.chunks(segment).enumerate() {
        let len = headers.len() + part.len();
        if is_tcp {
            // FIN and PSH belong to the last packet, and CWR to the first (RFC 3168, section 6.1.2).
            let first = if i == 0 { 0 } else { CWR };
            let last = if i + 1 == count { 0 } else { FIN | PSH };
            header[flags_at] = flags & !first & !last;
        } else {
            header[transport + 4..transport + 6].copy_from_slice(&((len - transport) as u16).to_be_bytes());
        }
        set_length(header, is_v4, transport, len);
        header[checksum_at..checksum_at + 2].fill(0);
        let sum = shape.pseudo(header, len - transport).add(&header[transport..]).add(part);
        let checksum = if !is_tcp && sum.checksum() == [0, 0] { [255, 255] } else { sum.checksum() };
        header[checksum_at..checksum_at + 2].copy_from_slice(&checksum);
        take(&[header, part]);
        if is_v4 {
            // Each packet has an identification of its own (RFC 6864, section 4).
            advance(&mut header[4..6], 1);
        }
        if is_tcp {
            advance(&mut header[transport + 4..transport + 8], part.len() as u32);
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;

    fn parts(data: &mut [u8]) -> Result<Vec<Vec<u8>>, Malformed> {
        let mut got = Vec::new();
        split(data, &mut |parts| got.push(parts.concat()))?;
        Ok(got)
    }

    #[test]
    fn a_partial_checksum_is_completed() {
        let whole = packet(true, PROTOCOL_TCP, 0, 1, &[1, 2, 3]);
        let mut partial = whole.clone();
        let shape = Shape::at(&whole, 20, PROTOCOL_TCP).unwrap();
        let pseudo = shape.pseudo(&whole, whole.len() - 20).fold();
        partial[36..38].copy_from_slice(&pseudo);
        let header = Virtio { flags: NEEDS_CHECKSUM, checksum_from: 20, checksum_at: 16, ..Virtio::default() }.bytes();
        assert_eq!(parts(&mut [&header[..], &partial].concat()), Ok(vec![whole]));
    }

    #[test]
    fn flags_stay_with_their_packets() {
        let mut large = packet(true, PROTOCOL_TCP, 0, 1, &[9; 25]);
        large[33] |= CWR | PSH | FIN;
        let header = Virtio {
            flags: NEEDS_CHECKSUM,
            kind: TCP4 | ECN,
            segment: 10,
            checksum_from: 20,
            checksum_at: 16,
            headers: 52,
        };
        let got = parts(&mut [&header.bytes()[..], &large].concat()).unwrap();
        let seen: Vec<_> = got.iter().map(|p| (p.len(), p[33] & (CWR | PSH | FIN), p[27], p[5])).collect();
        assert_eq!(seen, [(62, CWR, 1, 0), (62, 0, 11, 1), (57, PSH | FIN, 21, 2)]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let large = packet(false, PROTOCOL_TCP, 0, 1, &[9; 25]);
        let header = |kind, segment, from| {
            Virtio { flags: NEEDS_CHECKSUM, kind, segment, checksum_from: from, checksum_at: 16, headers: 72 }.bytes()
        };
        assert!(parts(&mut [&header(TCP6, 10, 40)[..], &large].concat()).is_ok());
        for (kind, segment, from) in [(TCP6, 0, 40), (TCP6, 10, 90), (TCP6, 10, 2), (9, 10, 40), (0, 10, 200)] {
            assert_eq!(
                parts(&mut [&header(kind, segment, from)[..], &large].concat()),
                Err(Malformed),
                "{kind} {from}"
            );
        }
        for len in 0..HEADER_LEN + 72 {
            let mut cut = [&header(TCP6, 10, 40)[..], &large].concat();
            assert_eq!(parts(&mut cut[..len]), Err(Malformed), "{len} bytes");
        }
    }
}
