//! TCP segments as bytes: reading fields, changing an acknowledgement, and making segments without data.

use crate::inner::checksum::{adjusted, checksum, sum};
use crate::inner::{IPV4_HEADER, IPV6_HEADER, Inner, TCP};
use ripstop_codes::Symbol;
use std::net::{IpAddr, SocketAddr};

pub(super) const FIN: u8 = 1;
pub(super) const SYN: u8 = 2;
pub(super) const RST: u8 = 4;
pub(super) const ACK: u8 = 16;
pub(super) const ECE: u8 = 64;

/// Length of a TCP header without options, bytes.
const TCP_HEADER: usize = 20;
/// Hop limit of segments that this end makes. The usual default; half and double the value still reach every host.
const HOPS: u8 = 64;
/// The largest window scale (RFC 7323, section 2.3).
const MAX_SCALE: u8 = 14;

/// A whole TCP segment in an IP packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    tcp: &'a [u8],
    /// Length of the TCP header with options, bytes.
    header: usize,
}

/// What the options of a SYN say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SynOptions {
    /// The window scale; None: the option is missing.
    pub(super) scale: Option<u8>,
    /// Whether the timestamps option is present.
    pub(super) timestamps: bool,
    /// False: the connection may use a mechanism that needs to see every acknowledgement, or that nobody else can
    /// write: MD5 (RFC 2385), TCP-AO (RFC 5925), Multipath TCP (RFC 8684) or accurate ECN.
    pub(super) plain: bool,
}

impl<'a> Segment<'a> {
    /// Reads the segment in an IP packet. None: not a TCP segment, a fragment, or malformed.
    pub(super) fn parse(packet: &'a [u8]) -> Option<Segment<'a>> {
        let inner = Inner::parse(packet).ok()?;
        let tcp = inner.tcp()?;
        let (from, to) = inner.ports?;
        let header = usize::from(tcp[12] >> 4) * 4;
        (TCP_HEADER..=tcp.len()).contains(&header).then_some(Segment {
            source: SocketAddr::new(inner.source, from),
            destination: SocketAddr::new(inner.destination, to),
            tcp,
            header,
        })
    }

    /// The sequence number.
    pub(super) fn seq(&self) -> u32 {
        word(&self.tcp[4..8])
    }

    /// The acknowledgement number; None without the flag ACK.
    pub(super) fn ack(&self) -> Option<u32> {
        self.has(ACK).then(|| word(&self.tcp[8..12]))
    }

    /// The window field, not scaled.
    pub(super) fn window(&self) -> u16 {
        u16::from_be_bytes([self.tcp[14], self.tcp[15]])
    }

    /// Whether at least one of the flags is set.
    pub(super) fn has(&self, flags: u8) -> bool {
        self.tcp[13] & flags != 0
    }

    /// Length of the data, bytes.
    pub(super) fn len(&self) -> u32 {
        (self.tcp.len() - self.header) as u32
    }

    /// The timestamps option: TSval and TSecr (RFC 7323).
    pub(super) fn timestamps(&self) -> Option<(u32, u32)> {
        let content = self.options().find(|(kind, content)| *kind == 8 && content.len() == 8)?.1;
        Some((word(&content[..4]), word(&content[4..])))
    }

    /// What the options of a SYN say.
    pub(super) fn syn_options(&self) -> SynOptions {
        let mut found = SynOptions { scale: None, timestamps: false, plain: true };
        for (kind, content) in self.options() {
            match (kind, content) {
                (3, [scale]) => found.scale = Some((*scale).min(MAX_SCALE)),
                (8, _) => found.timestamps = true,
                (19 | 29 | 30, _) => found.plain = false,
                _ => {}
            }
        }
        // Accurate ECN is asked for with the bit AE in front of the flags.
        found.plain &= self.tcp[12] & 1 == 0;
        found
    }

    /// Kind and content of each option. Ends at the first malformed option.
    fn options(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let mut rest = &self.tcp[TCP_HEADER..self.header];
        std::iter::from_fn(move || {
            while let [1, after @ ..] = rest {
                rest = after;
            }
            let [kind, len, ..] = *rest else { return None };
            let content = rest.get(2..usize::from(len)).filter(|_| kind != 0)?;
            rest = &rest[usize::from(len)..];
            Some((kind, content))
        })
    }
}

/// Changes the acknowledgement number and the window of a TCP segment, and removes its SACK blocks. A wrong checksum
/// stays wrong. Packets without a TCP segment are not changed.
pub(super) fn set_acknowledgement(packet: &mut [u8], ack: u32, window: u16) {
    change_header(packet, |tcp| write_acknowledgement(tcp, ack, window));
}

/// As [`set_acknowledgement`]. Also changes TSval and TSecr, if the segment has the timestamps option.
pub(super) fn refresh(packet: &mut [u8], ack: u32, window: u16, (value, echo): (u32, u32)) {
    change_header(packet, |tcp| {
        write_acknowledgement(tcp, ack, window);
        if let Some(at) = timestamps_at(&tcp[TCP_HEADER..]).map(|at| TCP_HEADER + at) {
            tcp[at..at + 4].copy_from_slice(&value.to_be_bytes());
            tcp[at + 4..at + 8].copy_from_slice(&echo.to_be_bytes());
        }
    });
}

/// Changes the header of a TCP segment, and corrects its checksum. A wrong checksum stays wrong.
fn change_header(packet: &mut [u8], change: impl FnOnce(&mut [u8])) {
    let Some((at, header)) = header_of(packet) else { return };
    let tcp = &mut packet[at..at + header];
    let old = u16::from_be_bytes([tcp[16], tcp[17]]);
    (tcp[16], tcp[17]) = (0, 0);
    let before = sum(0, tcp);
    change(tcp);
    let new = adjusted(old, before, sum(0, tcp));
    tcp[16..18].copy_from_slice(&new.to_be_bytes());
}

fn write_acknowledgement(tcp: &mut [u8], ack: u32, window: u16) {
    tcp[8..12].copy_from_slice(&ack.to_be_bytes());
    tcp[14..16].copy_from_slice(&window.to_be_bytes());
    remove_sack(&mut tcp[TCP_HEADER..]);
}

/// A segment without data, from `source` to `destination`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bare {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: u8,
    pub(super) window: u16,
    /// TSval and TSecr.
    pub(super) timestamps: Option<(u32, u32)>,
}

impl Bare {
    /// The segment in an IP packet, as a symbol. None: the addresses are not of one family.
    pub(super) fn to_symbol(self) -> Option<Symbol> {
        let mut tcp = Vec::with_capacity(32);
        tcp.extend(self.source.port().to_be_bytes());
        tcp.extend(self.destination.port().to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        let words = if self.timestamps.is_some() { 8 } else { 5 };
        tcp.extend([words << 4, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        if let Some((value, echo)) = self.timestamps {
            // Two bytes of padding in front, as RFC 7323, appendix A recommends.
            tcp.extend([1, 1, 8, 10]);
            tcp.extend(value.to_be_bytes());
            tcp.extend(echo.to_be_bytes());
        }
        let (ip, addresses) = self.ip_header(tcp.len())?;
        // The pseudo-header: both addresses, the protocol and the length (RFC 9293, section 3.1).
        let pseudo = sum(0, &ip[addresses..]) + u32::from(TCP) + tcp.len() as u32;
        let check = checksum(pseudo, &tcp);
        tcp[16..18].copy_from_slice(&check.to_be_bytes());
        Some(Symbol::from_parts(&[&[0], &ip, &tcp]))
    }

    /// The IP header for `len` bytes of payload, and where the addresses begin in it.
    fn ip_header(&self, len: usize) -> Option<(Vec<u8>, usize)> {
        match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let mut ip = vec![0; IPV4_HEADER];
                ip[0] = 0x45;
                ip[2..4].copy_from_slice(&((IPV4_HEADER + len) as u16).to_be_bytes());
                // The flag "don't fragment".
                ip[6] = 0x40;
                (ip[8], ip[9]) = (HOPS, TCP);
                ip[12..16].copy_from_slice(&source.octets());
                ip[16..20].copy_from_slice(&destination.octets());
                let check = checksum(0, &ip);
                ip[10..12].copy_from_slice(&check.to_be_bytes());
                Some((ip, 12))
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let mut ip = vec![0; IPV6_HEADER];
                ip[0] = 0x60;
                ip[4..6].copy_from_slice(&(len as u16).to_be_bytes());
                (ip[6], ip[7]) = (TCP, HOPS);
                ip[8..24].copy_from_slice(&source.octets());
                ip[24..40].copy_from_slice(&destination.octets());
                Some((ip, 8))
            }
            _ => None,
        }
    }
}

/// Where the TCP header begins in a packet, and its length with options.
fn header_of(packet: &[u8]) -> Option<(usize, usize)> {
    let inner = Inner::parse(packet).ok()?;
    let tcp = inner.tcp()?;
    let header = usize::from(tcp[12] >> 4) * 4;
    (TCP_HEADER..=tcp.len()).contains(&header).then_some((inner.payload_at, header))
}

/// Overwrites SACK blocks (RFC 2018) with no-operation options.
fn remove_sack(options: &mut [u8]) {
    let mut at = 0;
    loop {
        match *options.get(at..).unwrap_or_default() {
            [1, ..] => at += 1,
            [0, ..] | [] | [_] => return,
            [kind, len, ..] => {
                let end = at + usize::from(len);
                if len < 2 || end > options.len() {
                    return;
                }
                if kind == 5 {
                    options[at..end].fill(1);
                }
                at = end;
            }
        }
    }
}

/// Where TSval and TSecr begin in the options. None: there is no whole timestamps option.
fn timestamps_at(options: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *options.get(at..)? {
            [1, ..] => at += 1,
            [8, 10, ..] => return (at + 10 <= options.len()).then_some(at + 2),
            [0, ..] | [] | [_] | [_, 0 | 1, ..] => return None,
            [_, len, ..] => at += usize::from(len),
        }
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
