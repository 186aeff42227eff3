//! The two ends of each flow and tunnel in a capture: their addresses, and the headers of their packets.

use crate::scenario::{FlowSpec, Scenario};
use crate::tcp::Variant;
use crate::world::{Body, Hosts, NetworkPacket, Owner, STAMPED_HEADERS, TCP_IP_HEADERS};
use etherparse::{IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, TransportHeader, UdpHeader};

/// Bytes of an IPv4 header without options.
pub(super) const IP_HEADER: u32 = 20;
/// The largest number of bytes that may follow an IPv4 header.
const MOST_CONTENT: usize = 65_535 - IP_HEADER as usize;
/// The UDP port of a tunnel in the capture. It appears only in the headers, and any other port would do.
const TUNNEL_PORT: u16 = 5182;

/// The IPv4 address of each node: 10.0.0.1 for the first node by name, 10.0.0.2 for the second, and so on.
#[derive(Clone, Debug)]
pub(super) struct NodeAddresses {
    /// The names of the nodes, sorted.
    nodes: Vec<String>,
}

/// The flows and tunnels of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Conversations {
    flows: Vec<Conversation>,
    tunnels: Vec<Conversation>,
}

/// The two ends of a flow or tunnel, and the data that the headers of its packets need.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
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
    /// packets need not be full, the list has an entry for each captured packet, and for the packet after the last of
    /// these. Otherwise only packets 0 and 1 have entries.
    begins: Vec<u32>,
}

/// The headers of a packet, which state the length of the whole packet.
#[derive(Clone, Debug)]
pub(super) struct PacketHeaders {
    /// The addresses of source and destination.
    pub(super) addresses: [[u8; 4]; 2],
    pub(super) transport: TransportHeader,
    /// The bytes after the IP header.
    pub(super) content: u16,
}

impl PacketHeaders {
    /// Appends the headers to `out`. The payload is left out.
    ///
    /// # Errors
    /// If the headers cannot be written.
    pub(super) fn write(&self, time_to_live: u8, out: &mut Vec<u8>) -> Result<(), String> {
        let protocol = if let TransportHeader::Udp(_) = self.transport { IpNumber::UDP } else { IpNumber::TCP };
        let [source, destination] = self.addresses;
        let ip = Ipv4Header::new(self.content, time_to_live, protocol, source, destination)
            .map_err(|error| error.to_string())?;
        ip.write(out).map_err(|error| error.to_string())?;
        self.transport.write(out).map_err(|error| error.to_string())
    }
}

impl NodeAddresses {
    pub(super) fn new(scenario: &Scenario) -> NodeAddresses {
        let mut nodes: Vec<String> = scenario.link.iter().flat_map(|link| link.between.iter().cloned()).collect();
        nodes.extend(scenario.medium.iter().flat_map(|medium| &medium.stations).map(|station| station.name.clone()));
        nodes.sort_unstable();
        nodes.dedup();
        NodeAddresses { nodes }
    }

    /// The address of the node with this name.
    pub(super) fn of(&self, name: &str) -> [u8; 4] {
        let k = self.nodes.partition_point(|node| node.as_str() < name) as u32 + 1;
        [10, (k >> 16) as u8, (k >> 8) as u8, k as u8]
    }
}

impl Conversations {
    pub(super) fn new(scenario: &Scenario) -> Conversations {
        let addresses = NodeAddresses::new(scenario);
        let specs = scenario.flow.iter().flat_map(|spec| (0..spec.count).map(move |_| spec));
        let flow = |(k, spec): (usize, &FlowSpec)| Conversation {
            addresses: [addresses.of(&spec.from), addresses.of(&spec.to)],
            ports: [10_000 + (k % 50_000) as u16, 5001 + (k / 50_000) as u16],
            payload: spec.packet.get() as u32,
            hosts: spec.hosts(),
            window: u64::from(spec.window) * spec.packet.get(),
            sack: spec.tcp == Variant::Sack || spec.tcp.is_modern(),
            open: false,
            begins: vec![0, 1],
        };
        let tunnels = scenario.tunnel.iter().map(|tunnel| Conversation {
            addresses: tunnel.between.each_ref().map(|node| addresses.of(node)),
            ports: [TUNNEL_PORT; 2],
            payload: 0,
            hosts: Hosts::Agents,
            window: 0,
            sack: false,
            open: false,
            begins: Vec::new(),
        });
        Conversations { flows: specs.enumerate().map(flow).collect(), tunnels: tunnels.collect() }
    }

    /// The conversation that a packet belongs to.
    ///
    /// # Errors
    /// If the packet belongs to no flow and no tunnel of the scenario.
    pub(super) fn of(&mut self, owner: Owner) -> Result<&mut Conversation, String> {
        let found = match owner {
            Owner::Flow(k) => self.flows.get_mut(k as usize),
            Owner::Tunnel(k) => self.tunnels.get_mut(k as usize),
            Owner::Endpoints(_) => None,
        };
        found.ok_or_else(|| "the packet belongs to no flow and no tunnel of the scenario".to_owned())
    }
}

impl Conversation {
    /// Records the sequence number at which the packet after `body` begins. With [`Hosts::Kernels`] (hosts that behave
    /// like Linux) a packet may be short, so this number must be recorded. Other hosts send only full packets.
    pub(super) fn note(&mut self, body: &Body, bytes: u32) {
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

    /// The headers of a packet. The first acknowledgement for which this method is called becomes the SYN-ACK.
    ///
    /// # Errors
    /// If no TCP header can express the content of the packet.
    pub(super) fn headers(&mut self, packet: &NetworkPacket) -> Result<PacketHeaders, String> {
        let (from, to) = if packet.back { (1, 0) } else { (0, 1) };
        let transport = match &packet.body {
            // The packets of TCP/LT are shown as UDP datagrams, because they carry no TCP segment of their own.
            Body::Datagram(_) | Body::Udp(_) | Body::Sealed(_) | Body::Symbol(_) | Body::LtAck(_) => {
                let length = packet.bytes.saturating_sub(IP_HEADER).min(u32::from(u16::MAX)) as u16;
                TransportHeader::Udp(UdpHeader {
                    source_port: self.ports[from],
                    destination_port: self.ports[to],
                    length,
                    checksum: 0,
                })
            }
            body => {
                let answers = matches!(body, Body::Ack(_) | Body::Seen(_) | Body::Granted { .. } | Body::Admitted(_));
                let opens = answers && !self.open;
                self.open |= answers;
                TransportHeader::Tcp(self.segment(body, [from, to], opens)?)
            }
        };
        let least = transport.header_len();
        let content = (packet.bytes.saturating_sub(IP_HEADER) as usize).clamp(least, MOST_CONTENT) as u16;
        Ok(PacketHeaders { addresses: [self.addresses[from], self.addresses[to]], transport, content })
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
            Body::Granted { next, .. } => (1, Some(byte(*next))),
            Body::Admitted(admitted) => (1, Some(byte(admitted.0.next))),
            Body::Datagram(_) | Body::Udp(_) | Body::Sealed(_) | Body::Symbol(_) | Body::LtAck(_) => (0, None),
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
            let again = ack.duplicate().map(|number| (byte(number), byte(number + 1)));
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
