//! A run as a capture file, for Wireshark and its kin.

use super::{FlowSpec, Scenario};
use crate::network::{Body, Happening, Observer, Owner, Packet, TCP_IP_HEADERS};
use etherparse::{PacketBuilder, TcpOptionElement};
use ripstop_base::Time;
use std::io::{self, Write};

/// Writes what the node at the beginning of each route sends and receives as a capture file with nanoseconds of virtual time: what
/// `tcpdump` would see there. Headers are captured, payload is not.
///
/// Each node has an address of 10.0.0.0/8, each flow ports of its own. Sequence numbers count payload bytes, from 1 on behind the
/// packet that stands for the SYN. A tunnel's datagrams are UDP.
#[derive(Debug)]
pub struct Capture<W: Write> {
    out: W,
    flows: Vec<Ends>,
    tunnels: Vec<Ends>,
    headers: Vec<u8>,
    failed: Option<io::Error>,
}

/// Who talks, and in which size.
#[derive(Clone, Copy, Debug)]
struct Ends {
    addresses: [[u8; 4]; 2],
    ports: [u16; 2],
    payload: u32,
}

/// Nanosecond capture (pcap), version 2.4.
const MAGIC: u32 = 0xa1b2_3c4d;
/// The packets begin with their IP header.
const LINKTYPE_RAW: u32 = 101;
/// IPv4 and UDP.
const UDP_IP_HEADERS: u32 = 28;
const TUNNEL_PORT: u16 = 5182;

impl<W: Write> Capture<W> {
    /// A capture of runs of `scenario`.
    ///
    /// # Errors
    /// What writing the file's header said.
    pub fn new(scenario: &Scenario, mut out: W) -> io::Result<Capture<W>> {
        for word in [MAGIC, 4 << 16 | 2, 0, 0, 65_535, LINKTYPE_RAW] {
            out.write_all(&word.to_le_bytes())?;
        }
        let mut nodes: Vec<&str> =
            scenario.link.iter().flat_map(|link| link.between.iter().map(String::as_str)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let address = |name: &str| {
            let k = nodes.partition_point(|node| *node < name) as u32 + 1;
            [10, (k >> 16) as u8, (k >> 8) as u8, k as u8]
        };
        let specs = scenario.flow.iter().flat_map(|spec| (0..spec.count).map(move |_| spec));
        let flow = |(k, spec): (usize, &FlowSpec)| Ends {
            addresses: [address(&spec.from), address(&spec.to)],
            ports: [10_000 + (k % 50_000) as u16, 5001 + (k / 50_000) as u16],
            payload: spec.packet.get() as u32,
        };
        let tunnels = scenario.tunnel.iter().map(|tunnel| Ends {
            addresses: tunnel.between.each_ref().map(|node| address(node)),
            ports: [TUNNEL_PORT; 2],
            payload: 0,
        });
        Ok(Capture {
            flows: specs.enumerate().map(flow).collect(),
            tunnels: tunnels.collect(),
            headers: Vec::with_capacity(128),
            failed: None,
            out,
        })
    }

    /// Writes out what is buffered.
    ///
    /// # Errors
    /// The first that writing met.
    pub fn finish(mut self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)?;
        self.out.flush()
    }

    fn write(&mut self, now: Time, packet: &Packet, owner: Owner) -> io::Result<()> {
        self.headers.clear();
        let length = self.build(packet, owner).map_err(io::Error::other)?;
        // The headers say the length of the whole packet; only they are there.
        self.headers[2..4].copy_from_slice(&(packet.bytes.min(65_535) as u16).to_be_bytes());
        let sum = ipv4_checksum(&self.headers[..20]);
        self.headers[10..12].copy_from_slice(&sum.to_be_bytes());
        let nanos = now.as_nanos();
        let (seconds, rest) = ((nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32);
        for word in [seconds, rest, length, packet.bytes.max(length)] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(&self.headers)
    }

    /// Builds the headers; returns how long they are.
    fn build(&mut self, packet: &Packet, owner: Owner) -> Result<u32, String> {
        let ends = match owner {
            Owner::Flow(k) => self.flows[k as usize],
            Owner::Tunnel(k) => self.tunnels[k as usize],
        };
        let (from, to) = if packet.back { (1, 0) } else { (0, 1) };
        let ip = PacketBuilder::ipv4(ends.addresses[from], ends.addresses[to], 64);
        let (source, destination) = (ends.ports[from], ends.ports[to]);
        let byte = |number: u64| match number {
            0 => 0,
            n => (1 + (n - 1).wrapping_mul(u64::from(ends.payload))) as u32,
        };
        match &packet.body {
            Body::Data(number) => {
                let tcp = ip.tcp(source, destination, byte(*number), u16::MAX);
                let tcp = if *number == 0 { tcp.syn() } else { tcp.ack(1) };
                tcp.write(&mut self.headers, &[])
            }
            // The layer below TCP: shown as the segment that is newest in it.
            Body::Coded(combination) => {
                let newest = combination.members.last().unwrap_or(0);
                ip.tcp(source, destination, byte(newest), u16::MAX).ack(1).write(&mut self.headers, &[])
            }
            Body::Seen(answer) => {
                let tcp = ip.tcp(source, destination, 1, u16::MAX).ack(byte(answer.first_unseen));
                tcp.write(&mut self.headers, &[])
            }
            Body::Ack(ack) => {
                let tcp = ip.tcp(source, destination, 1, u16::MAX).ack(byte(ack.next));
                let mut blocks = ack.blocks().map(|block| (byte(block.start), byte(block.end)));
                match blocks.next() {
                    None => tcp.write(&mut self.headers, &[]),
                    Some(first) => {
                        let rest = [blocks.next(), blocks.next(), None];
                        let options = [
                            TcpOptionElement::Noop,
                            TcpOptionElement::Noop,
                            TcpOptionElement::SelectiveAcknowledgement(first, rest),
                        ];
                        let tcp = tcp.options(&options).map_err(|error| error.to_string())?;
                        tcp.write(&mut self.headers, &[])
                    }
                }
            }
            Body::Datagram(_) => ip.udp(source, destination).write(&mut self.headers, &[]),
        }
        .map_err(|error| error.to_string())?;
        let least = if matches!(packet.body, Body::Datagram(_)) { UDP_IP_HEADERS } else { TCP_IP_HEADERS };
        Ok((self.headers.len() as u32).max(least))
    }
}

impl<W: Write> Observer for Capture<W> {
    fn note(&mut self, now: Time, happening: Happening<'_>) {
        let (packet, owner) = match happening {
            Happening::Offered { packet, owner, first: true, .. } if !packet.back => (packet, owner),
            Happening::Arrived { packet, owner, last: true, .. } if packet.back => (packet, owner),
            _ => return,
        };
        if self.failed.is_none() {
            self.failed = self.write(now, packet, owner).err();
        }
    }
}

/// The Internet checksum (RFC 1071) of a header whose own field counts as zero.
fn ipv4_checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).enumerate().filter(|(k, _)| *k != 5);
    let sum: u32 = words.map(|(_, pair)| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
