//! A run as a capture file for Wireshark and similar programs.

use super::{FlowSpec, Scenario};
use crate::tcp::Variant;
use crate::world::{Body, Happening, Hosts, NetworkPacket, Observer, Owner, STAMPED_HEADERS, TCP_IP_HEADERS};
use etherparse::{IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, TransportHeader, UdpHeader};
use ripstop_base::Time;
use std::io::{self, Write};

/// Writes a capture file of a run. For each flow outside tunnels, the file has the packets that the flow's `from` node
/// sends and receives. For each tunnel, it has the datagrams that the tunnel's first node sends and receives, as UDP.
/// The packets of a flow inside a tunnel do not appear.
///
/// The file shows what `tcpdump` would see at these nodes: headers without payload, with virtual time in nanoseconds.
/// Each node has an address of 10.0.0.0/8, and each flow has its own ports.
///
/// Sequence numbers count payload bytes. The packet that stands for the SYN has 0, and the first payload byte has 1.
/// The simulated receiver sends no SYN-ACK. The capture therefore shows the first acknowledgement as the SYN-ACK. SYN
/// and SYN-ACK have a connection's options: MSS, window scale, SACK permitted. Every segment has the receiver's window.
#[derive(Debug)]
pub struct Capture<W: Write> {
    out: W,
    flows: Vec<Conversation>,
    tunnels: Vec<Conversation>,
    headers: Vec<u8>,
    failed: Option<io::Error>,
}

/// The two ends of a flow or tunnel, and what its headers need.
#[derive(Clone, Debug)]
struct Conversation {
    /// The IPv4 addresses of the node that sends data, and of the node that receives it.
    addresses: [[u8; 4]; 2],
    /// The ports, in the order of `addresses`.
    ports: [u16; 2],
    /// Payload bytes of a full packet.
    payload: u32,
    hosts: Hosts,
    /// The receiver's window in bytes.
    window: u64,
    /// Whether acknowledgements have SACK blocks.
    sack: bool,
    /// Whether the first acknowledgement, which is shown as the SYN-ACK, was captured.
    open: bool,
    /// The sequence number of the first payload byte of each packet, by packet number. For [`Hosts::Kernels`], whose
    /// packets need not be full, there is an entry for each packet captured and for the packet after them. Otherwise
    /// only packets 0 and 1 have entries.
    begins: Vec<u32>,
}

/// The magic number of a pcap file, version 2.4, with nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// The link type of packets that begin with their IP header.
const LINKTYPE_RAW: u32 = 101;
/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;
/// The most bytes that may follow an IPv4 header.
const MOST_CONTENT: usize = 65_535 - IP_HEADER as usize;
/// The UDP port of a tunnel in the capture. It only appears in the headers, and any other port would do.
const TUNNEL_PORT: u16 = 5182;

impl<W: Write> Capture<W> {
    /// Begins a capture of runs of `scenario`.
    ///
    /// # Errors
    /// An error in writing the file's header.
    pub fn new(scenario: &Scenario, mut out: W) -> io::Result<Capture<W>> {
        for word in [MAGIC, 4 << 16 | 2, 0, 0, 65_535, LINKTYPE_RAW] {
            out.write_all(&word.to_le_bytes())?;
        }
        let mut nodes: Vec<&str> =
            scenario.link.iter().flat_map(|link| link.between.iter().map(String::as_str)).collect();
        nodes.extend(scenario.medium.iter().flat_map(|medium| &medium.stations).map(|station| station.name.as_str()));
        nodes.sort_unstable();
        nodes.dedup();
        let address = |name: &str| {
            let k = nodes.partition_point(|node| *node < name) as u32 + 1;
            [10, (k >> 16) as u8, (k >> 8) as u8, k as u8]
        };
        let specs = scenario.flow.iter().flat_map(|spec| (0..spec.count).map(move |_| spec));
        let flow = |(k, spec): (usize, &FlowSpec)| Conversation {
            addresses: [address(&spec.from), address(&spec.to)],
            ports: [10_000 + (k % 50_000) as u16, 5001 + (k / 50_000) as u16],
            payload: spec.packet.get() as u32,
            hosts: spec.hosts(),
            window: u64::from(spec.window) * spec.packet.get(),
            sack: spec.tcp == Variant::Sack || spec.tcp.is_modern(),
            open: false,
            begins: vec![0, 1],
        };
        let tunnels = scenario.tunnel.iter().map(|tunnel| Conversation {
            addresses: tunnel.between.each_ref().map(|node| address(node)),
            ports: [TUNNEL_PORT; 2],
            payload: 0,
            hosts: Hosts::Agents,
            window: 0,
            sack: false,
            open: false,
            begins: Vec::new(),
        });
        Ok(Capture {
            flows: specs.enumerate().map(flow).collect(),
            tunnels: tunnels.collect(),
            headers: Vec::with_capacity(128),
            failed: None,
            out,
        })
    }

    /// Writes buffered data.
    ///
    /// # Errors
    /// The first error in writing.
    pub fn finish(mut self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)?;
        self.out.flush()
    }

    fn write(&mut self, now: Time, packet: &NetworkPacket, owner: Owner) -> io::Result<()> {
        self.build(packet, owner).map_err(io::Error::other)?;
        let length = self.headers.len() as u32;
        let nanos = now.as_nanos();
        let (seconds, rest) = ((nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32);
        for word in [seconds, rest, length, packet.bytes.max(length)] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(&self.headers)
    }

    /// Builds the headers, which state the length of the whole packet. The payload is left out.
    fn build(&mut self, packet: &NetworkPacket, owner: Owner) -> Result<(), String> {
        let conversation = match owner {
            Owner::Flow(k) => &mut self.flows[k as usize],
            Owner::Tunnel(k) => &mut self.tunnels[k as usize],
            Owner::Endpoints(_) => {
                return Err("the packet belongs to no flow and no tunnel of the scenario".to_owned());
            }
        };
        let (from, to) = if packet.back { (1, 0) } else { (0, 1) };
        let transport = match &packet.body {
            Body::Datagram(_) | Body::Udp(_) | Body::Sealed(_) => {
                let length = packet.bytes.saturating_sub(IP_HEADER).min(u32::from(u16::MAX)) as u16;
                TransportHeader::Udp(UdpHeader {
                    source_port: conversation.ports[from],
                    destination_port: conversation.ports[to],
                    length,
                    checksum: 0,
                })
            }
            body => {
                conversation.note(body, packet.bytes);
                let answers = matches!(body, Body::Ack(_) | Body::Seen(_));
                let opens = answers && !conversation.open;
                conversation.open |= answers;
                TransportHeader::Tcp(conversation.segment(body, [from, to], opens)?)
            }
        };
        let protocol = if let TransportHeader::Udp(_) = transport { IpNumber::UDP } else { IpNumber::TCP };
        let least = transport.header_len();
        let content = (packet.bytes.saturating_sub(IP_HEADER) as usize).clamp(least, MOST_CONTENT);
        let [source, destination] = [conversation.addresses[from], conversation.addresses[to]];
        let ip =
            Ipv4Header::new(content as u16, 64, protocol, source, destination).map_err(|error| error.to_string())?;
        self.headers.clear();
        ip.write(&mut self.headers).map_err(|error| error.to_string())?;
        transport.write(&mut self.headers).map_err(|error| error.to_string())
    }
}

impl Conversation {
    /// Records the sequence number at which the packet after `body` begins. With [`Hosts::Kernels`] (hosts that behave
    /// like Linux) a packet may be short, so this number must be recorded. Other hosts send only full packets.
    fn note(&mut self, body: &Body, bytes: u32) {
        if let Body::Data(number) = body
            && *number > 0
            && *number == self.begins.len() as u64 - 1
            && self.hosts == Hosts::Kernels
        {
            self.begins.push(self.byte(*number).wrapping_add(bytes.saturating_sub(STAMPED_HEADERS)));
        }
    }

    /// The sequence number of the first payload byte of packet `number`. Packets that are not in `begins` count as
    /// full.
    fn byte(&self, number: u64) -> u32 {
        let seen = usize::try_from(number).ok().and_then(|at| self.begins.get(at));
        seen.copied().unwrap_or_else(|| (1 + number.wrapping_sub(1).wrapping_mul(u64::from(self.payload))) as u32)
    }

    /// The shift that fits the receiver's window into 16 bits (RFC 7323, section 2.3).
    fn window_scale(&self) -> u8 {
        (0..14).find(|shift| self.window >> shift <= u64::from(u16::MAX)).unwrap_or(14)
    }

    /// The header of a TCP segment. `opens`: the segment is the SYN-ACK.
    fn segment(&self, body: &Body, [from, to]: [usize; 2], opens: bool) -> Result<TcpHeader, String> {
        let byte = |number: u64| self.byte(number);
        let (sequence, acknowledged) = match body {
            Body::Data(number) => (byte(*number), (*number > 0).then_some(1)),
            Body::Both(both) => (byte(both.0), Some(1)),
            // A combination of segments (TCP/NC) is shown as the newest segment in it.
            Body::Coded(combination) => (byte(combination.members.last().unwrap_or(0)), Some(1)),
            Body::Seen(answer) => (1, Some(byte(answer.first_unseen))),
            Body::Ack(ack) => (1, Some(byte(ack.next))),
            Body::Datagram(_) | Body::Udp(_) | Body::Sealed(_) => (0, None),
        };
        let syn = acknowledged.is_none() || opens;
        let sequence = if opens { 0 } else { sequence };
        // The window of a SYN is not scaled (RFC 7323, section 2.2).
        let window = self.window >> if syn { 0 } else { self.window_scale() };
        let window = window.min(u64::from(u16::MAX)) as u16;
        let mut tcp = TcpHeader::new(self.ports[from], self.ports[to], sequence, window);
        tcp.acknowledgment_number = acknowledged.unwrap_or(0);
        (tcp.ack, tcp.syn) = (acknowledged.is_some(), syn);
        let mut options = Vec::with_capacity(16);
        if syn {
            let segment = self.payload.min(u32::from(u16::MAX)) as u16;
            options.push(TcpOptionElement::MaximumSegmentSize(segment));
            options.extend([TcpOptionElement::Noop, TcpOptionElement::WindowScale(self.window_scale())]);
            options.extend(self.sack.then_some(TcpOptionElement::SelectiveAcknowledgementPermitted));
        } else if self.hosts == Hosts::Kernels {
            // A real header has time stamps in these twelve bytes. The simulator has no time stamps.
            options.extend((0..STAMPED_HEADERS - TCP_IP_HEADERS).map(|_| TcpOptionElement::Noop));
        }
        if let Body::Ack(ack) = body
            && !syn
        {
            // A duplicate is reported before the blocks (RFC 2883, section 4).
            let again = ack.duplicate.map(|number| (byte(number), byte(number + 1)));
            let blocks = ack.blocks().map(|block| (byte(block.start), byte(block.end)));
            let mut blocks = again.into_iter().chain(blocks);
            if let Some(first) = blocks.next() {
                let sack = TcpOptionElement::SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), None]);
                options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop, sack]);
            }
        }
        tcp.set_options(&options).map_err(|error| error.to_string())?;
        Ok(tcp)
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
