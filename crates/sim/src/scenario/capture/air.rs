//! The air of the media as a capture file: one record for each IEEE 802.11 frame.

use super::TIME_TO_LIVE;
use super::conversation::{Conversations, IP_HEADER, NodeAddresses, PacketHeaders};
use super::dot11::{Control, DATA_HEADER, DataHeader, ETHERTYPE_IPV4, ETHERTYPE_XOR, LLC_HEADER, MacAddress, Radiotap};
use super::pcap::{LinkType, PcapFile};
use crate::scenario::Scenario;
use crate::wifi::{AirContent, AirEvent, AirFrame, AirPacket, FrameKind, Load};
use crate::world::{Happening, NetworkPacket, Observer, Owner};
use etherparse::{IpNumber, Ipv4Header, UdpHeader};
use ripstop_base::Time;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

/// The power at which stations send, dBm: 281.8 mW, ns-2's default. The simulator only compares powers, so another
/// value would shift all signals in a capture and change nothing else. Double the power adds 3 dB.
const SENT_DBM: f64 = 24.5;
/// The UDP port of AODV (RFC 3561, section 12).
const AODV_PORT: u16 = 654;
/// Bytes of a UDP header.
const UDP_HEADER: u16 = 8;
/// Number of packets of a medium that are remembered, so that later frames can show them. A packet is needed until the
/// last station has finished with the packet. The queues of 1000 stations hold 50,000 packets. With half the value,
/// such a medium would get frames with the content "unknown" (IP protocol 255). Double the value doubles the memory,
/// which is at most 15 MB per medium.
const MEMORY: usize = 65_536;
/// The IP protocol of a packet whose content is not known any more: reserved by IANA.
const UNKNOWN: IpNumber = IpNumber(255);
/// The version of an XOR frame's body.
const XOR_VERSION: u8 = 1;

/// Writes a capture of the air of all media of a run: IEEE 802.11 frames with radiotap headers (link type 127).
///
/// The capture shows the frames as a monitor receives them. This monitor hears every frame and loses no frame. The
/// capture has one record for each frame that a station sends, at the time at which the frame begins, in order of time.
/// The capture does not show what a receiver loses to collisions. The [timeline](crate::scenario::AirTimeline) shows
/// these losses.
///
/// - Station k of medium m has the address `02:00:mm:mm:kk:kk`. XOR frames go to the group `03:00:mm:mm:ff:fe`. The
///   network's identifier (BSSID) is `02:01:mm:mm:00:00`.
/// - The payload of IP packets is cut. The lengths are the lengths of the whole frames, without FCS: MAC header 24,
///   LLC/SNAP 8, IP packet. MAC header, LLC/SNAP and FCS have 36 bytes, but the preset `ns2` charges only 34 bytes for
///   them.
/// - The antenna signal is the signal at the frame's receiver. Broadcasts and XOR frames have no antenna signal.
/// - An AODV message is UDP on port 654, in the format of RFC 3561. The simulator charges ns-2's size for such a
///   message.
/// - An XOR frame has the ethertype 0x88b5. Its body has the packets in clear instead of their XOR. Integers are
///   big-endian: version 1 (1 byte), number of packets (1). Then follow, for each packet: address of the receiver (6
///   bytes), number of the packet on the medium (8), length of the IP packet (2), sequence number (2), whether the
///   packet was sent before (1), length of the packet's headers (1), and the packet's IP and transport headers. The
///   frame has the sequence number and the retry bit of the first packet.
#[derive(Debug)]
pub struct AirCapture<W: Write> {
    file: PcapFile<W>,
    conversations: Conversations,
    media: Vec<MediumMemory>,
    record: Vec<u8>,
    counts: AirFrameCounts,
}

/// How many frames of each kind a capture has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirFrameCounts {
    /// Requests to send.
    pub rts: u64,
    /// Clears to send.
    pub cts: u64,
    /// MAC ACKs.
    pub acks: u64,
    /// Frames with one packet for one station.
    pub data: u64,
    /// XOR frames.
    pub xor: u64,
    /// Broadcasts.
    pub broadcasts: u64,
    /// Packets with unknown content in these frames.
    pub unknown: u64,
}

/// What the capture knows about a medium.
#[derive(Debug)]
struct MediumMemory {
    number: u16,
    /// The IPv4 addresses of the stations.
    stations: Vec<[u8; 4]>,
    preamble: Duration,
    /// Carrier frequency, Hz.
    frequency: f64,
    /// The headers of packets, by their numbers, and the sequence numbers with which stations sent them.
    packets: BTreeMap<u64, Remembered>,
    /// The next sequence number of each station.
    next: Vec<u16>,
    /// For each station, the last AODV message that the station sent to a single neighbour. An entry has the IP packet
    /// with the message, and the sequence number of this packet.
    messages: Vec<Option<(Vec<u8>, u16)>>,
}

/// A packet that was on the air.
#[derive(Debug)]
struct Remembered {
    headers: PacketHeaders,
    /// The stations that sent the packet, with the sequence numbers that they gave it.
    senders: Vec<(u32, u16)>,
}

/// A packet as a frame in the capture shows it.
struct Shown {
    /// The packet's IP and transport headers, or the whole packet if it has an AODV message.
    bytes: Vec<u8>,
    /// The length of the IP packet.
    length: u32,
    sequence: u16,
    /// Whether the station has sent the packet before.
    retry: bool,
}

impl<W: Write> AirCapture<W> {
    /// Begins a capture of runs of `scenario`.
    ///
    /// # Errors
    /// An error in writing the file's header.
    pub fn new(scenario: &Scenario, out: W) -> io::Result<AirCapture<W>> {
        let addresses = NodeAddresses::new(scenario);
        let media = scenario.medium.iter().enumerate().map(|(number, medium)| {
            let config = medium.config();
            let stations: Vec<_> = medium.stations.iter().map(|station| addresses.of(&station.name)).collect();
            MediumMemory {
                number: number as u16,
                preamble: config.preamble,
                frequency: config.frequency,
                packets: BTreeMap::new(),
                next: vec![0; stations.len()],
                messages: vec![None; stations.len()],
                stations,
            }
        });
        Ok(AirCapture {
            file: PcapFile::new(out, LinkType::Radiotap)?,
            conversations: Conversations::new(scenario),
            media: media.collect(),
            record: Vec::with_capacity(256),
            counts: AirFrameCounts::default(),
        })
    }

    /// How many frames were written so far.
    pub fn counts(&self) -> AirFrameCounts {
        self.counts
    }

    /// Writes buffered data.
    ///
    /// # Errors
    /// The first error in writing.
    pub fn finish(self) -> io::Result<()> {
        self.file.finish()
    }

    /// Builds the record of a frame, and returns the length of the whole frame with its radiotap header.
    fn build(
        &mut self,
        medium: usize,
        frame: &AirFrame<NetworkPacket>,
        owners: [Option<Owner>; 2],
    ) -> Result<u32, String> {
        let AirCapture { conversations, media, record, counts, .. } = self;
        let medium = media.get_mut(medium).ok_or("the frame belongs to no medium of the scenario")?;
        record.clear();
        medium.radiotap(frame).write(record);
        let before = record.len() as u32;
        let receiver = frame.to[0].map(|to| medium.address(to));
        let control = match frame.kind {
            FrameKind::Rts => Some((Control::Rts(medium.address(frame.station)), &mut counts.rts)),
            FrameKind::Cts => Some((Control::Cts, &mut counts.cts)),
            FrameKind::Ack => Some((Control::Ack, &mut counts.acks)),
            FrameKind::Data | FrameKind::Xor | FrameKind::Broadcast => None,
        };
        if let Some((control, count)) = control {
            *count += 1;
            control.write(frame.reserves, receiver.ok_or("a control frame has no receiver")?, record);
            return Ok(record.len() as u32);
        }
        let mut shown = Vec::with_capacity(2);
        for (packet, owner) in
            frame.packets.iter().zip(owners).filter_map(|(packet, owner)| Some((packet.as_ref()?, owner)))
        {
            let (one, known) = medium.show(packet, owner, frame.station, frame.kind, conversations)?;
            counts.unknown += u64::from(!known);
            shown.push(one);
        }
        let [first, ..] = &shown[..] else { return Err("a data frame carries no packet".to_owned()) };
        let (to, ethertype) = match frame.kind {
            FrameKind::Xor => (medium.group(), ETHERTYPE_XOR),
            FrameKind::Broadcast => ([0xff; 6], ETHERTYPE_IPV4),
            _ => (receiver.ok_or("a data frame has no receiver")?, ETHERTYPE_IPV4),
        };
        let addresses = [to, medium.address(frame.station), medium.network()];
        DataHeader { reserves: frame.reserves, retry: first.retry, addresses, sequence: first.sequence }
            .write(ethertype, record);
        match frame.kind {
            FrameKind::Xor => {
                counts.xor += 1;
                let receivers = frame.to.map(|to| medium.address(to.unwrap_or(u32::MAX)));
                let numbers = frame.packets.each_ref().map(|packet| packet.as_ref().map_or(0, |packet| packet.id));
                write_xor_body(&shown, receivers, numbers, record);
            }
            FrameKind::Broadcast => {
                counts.broadcasts += 1;
                record.extend(&first.bytes);
            }
            _ => {
                counts.data += 1;
                record.extend(&first.bytes);
            }
        }
        let longest = shown.iter().map(|packet| packet.length).max().unwrap_or(0);
        Ok(before + DATA_HEADER + LLC_HEADER + longest)
    }
}

impl MediumMemory {
    /// The address of station `k`.
    fn address(&self, k: u32) -> MacAddress {
        self.numbered([0x02, 0], k as u16)
    }

    /// The address of the group to which XOR frames go.
    fn group(&self) -> MacAddress {
        self.numbered([0x03, 0], 0xfffe)
    }

    /// The identifier of the network (BSSID).
    fn network(&self) -> MacAddress {
        self.numbered([0x02, 1], 0)
    }

    fn numbered(&self, [first, second]: [u8; 2], k: u16) -> MacAddress {
        let ([a, b], [c, d]) = (self.number.to_be_bytes(), k.to_be_bytes());
        [first, second, a, b, c, d]
    }

    fn radiotap(&self, frame: &AirFrame<NetworkPacket>) -> Radiotap {
        Radiotap {
            timestamp: (frame.at + self.preamble).as_nanos() / 1000,
            rate: frame.rate,
            frequency: self.frequency,
            signal: frame.gain.map(|gain| SENT_DBM + 10.0 * libm::log10(gain)),
        }
    }

    /// The next sequence number of a station, 12 bits.
    fn take_number(&mut self, station: u32) -> u16 {
        let Some(next) = self.next.get_mut(station as usize) else { return 0 };
        let number = *next;
        *next = (number + 1) & 0x0fff;
        number
    }

    /// The packet as a frame of `station` shows it, and whether its content is known.
    fn show(
        &mut self,
        packet: &AirPacket<NetworkPacket>,
        owner: Option<Owner>,
        station: u32,
        kind: FrameKind,
        conversations: &mut Conversations,
    ) -> Result<(Shown, bool), String> {
        if packet.load == Load::Routing {
            return self.show_message(packet, station, kind);
        }
        if let (AirContent::Packet(content), Some(owner), false) =
            (&packet.content, owner, self.packets.contains_key(&packet.id))
        {
            let headers = conversations.of(owner)?.headers(content)?;
            self.packets.insert(packet.id, Remembered { headers, senders: Vec::new() });
            if self.packets.len() > MEMORY {
                self.packets.pop_first();
            }
        }
        let sent_before = self
            .packets
            .get(&packet.id)
            .and_then(|known| known.senders.iter().find(|(sender, _)| *sender == station).map(|(_, number)| *number));
        let sequence = sent_before.unwrap_or_else(|| self.take_number(station));
        let mut bytes = Vec::with_capacity(96);
        let known = self.packets.get_mut(&packet.id);
        let is_known = known.is_some();
        if let Some(known) = known {
            if sent_before.is_none() {
                known.senders.push((station, sequence));
            }
            let time_to_live = u16::from(TIME_TO_LIVE).saturating_sub(packet.forwards).max(1) as u8;
            known.headers.write(time_to_live, &mut bytes)?;
        } else {
            let content = packet.bytes.saturating_sub(IP_HEADER).min(u32::from(u16::MAX) - IP_HEADER) as u16;
            write_ip(content, 1, UNKNOWN, [[0; 4]; 2], &mut bytes)?;
        }
        let retry = sent_before.is_some() || (!is_known && packet.failures > 0);
        Ok((Shown { length: packet.bytes.max(bytes.len() as u32), bytes, sequence, retry }, is_known))
    }

    /// An AODV message as a UDP datagram. Without `destination`, the datagram goes to all neighbours.
    fn datagram(
        &self,
        station: u32,
        destination: Option<[u8; 4]>,
        time_to_live: u32,
        body: &[u8],
    ) -> Result<Vec<u8>, String> {
        let source = self.stations.get(station as usize).copied().unwrap_or_default();
        let length = UDP_HEADER.saturating_add(body.len() as u16);
        let mut bytes = Vec::with_capacity(64);
        let addresses = [source, destination.unwrap_or([255; 4])];
        write_ip(length, time_to_live.clamp(1, 255) as u8, IpNumber::UDP, addresses, &mut bytes)?;
        UdpHeader { source_port: AODV_PORT, destination_port: AODV_PORT, length, checksum: 0 }
            .write(&mut bytes)
            .map_err(|error| error.to_string())?;
        bytes.extend(body);
        Ok(bytes)
    }

    /// A packet with an AODV message.
    ///
    /// Decides whether the frame is a retransmission. A broadcast is never a retransmission. Any other message is a
    /// retransmission in two cases. Either its receiver already has the message, or an attempt has failed and the
    /// message equals the last message of the station. A failed RTS alone is no earlier transmission of the message.
    fn show_message(
        &mut self,
        packet: &AirPacket<NetworkPacket>,
        station: u32,
        kind: FrameKind,
    ) -> Result<(Shown, bool), String> {
        let shown = |bytes: Vec<u8>, sequence, retry| Shown { length: bytes.len() as u32, bytes, sequence, retry };
        let last = self.messages.get(station as usize).cloned().flatten();
        let AirContent::Routing(message) = &packet.content else {
            let (bytes, sequence) = last.ok_or("an AODV message that was never sent is sent again")?;
            return Ok((shown(bytes, sequence, true), true));
        };
        let body = message.encode(|k| self.stations.get(k as usize).copied().unwrap_or_default());
        let destination = message.destination().and_then(|k| self.stations.get(k as usize).copied());
        let bytes = self.datagram(station, destination, message.time_to_live(), &body)?;
        if kind == FrameKind::Broadcast {
            return Ok((shown(bytes, self.take_number(station), false), true));
        }
        if let Some((datagram, sequence)) = last.filter(|(datagram, _)| packet.failures > 0 && *datagram == bytes) {
            return Ok((shown(datagram, sequence, true), true));
        }
        let sequence = self.take_number(station);
        if let Some(last) = self.messages.get_mut(station as usize) {
            *last = Some((bytes.clone(), sequence));
        }
        Ok((shown(bytes, sequence, false), true))
    }
}

/// Appends the body of an XOR frame, as [`AirCapture`] describes it.
fn write_xor_body(packets: &[Shown], receivers: [MacAddress; 2], numbers: [u64; 2], out: &mut Vec<u8>) {
    out.extend([XOR_VERSION, packets.len() as u8]);
    for ((packet, receiver), number) in packets.iter().zip(receivers).zip(numbers) {
        out.extend(receiver);
        out.extend(number.to_be_bytes());
        out.extend((packet.length.min(u32::from(u16::MAX)) as u16).to_be_bytes());
        out.extend(packet.sequence.to_be_bytes());
        out.extend([u8::from(packet.retry), packet.bytes.len().min(255) as u8]);
        out.extend(&packet.bytes);
    }
}

/// Appends an IPv4 header.
fn write_ip(
    content: u16,
    time_to_live: u8,
    protocol: IpNumber,
    [source, destination]: [[u8; 4]; 2],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let ip =
        Ipv4Header::new(content, time_to_live, protocol, source, destination).map_err(|error| error.to_string())?;
    ip.write(out).map_err(|error| error.to_string())
}

impl<W: Write> Observer for AirCapture<W> {
    fn hears_air(&self) -> bool {
        true
    }

    fn note(&mut self, _: Time, happening: Happening<'_>) {
        match happening {
            Happening::Offered { packet, owner, first: true, .. } if !packet.back => {
                if let Ok(conversation) = self.conversations.of(owner) {
                    conversation.note(&packet.body, packet.bytes);
                }
            }
            Happening::Air { medium, event: AirEvent::Sent(frame), owners } if self.file.is_whole() => {
                match self.build(medium, frame, owners) {
                    Ok(length) => self.file.write(frame.at, &self.record, length),
                    Err(problem) => self.file.fail(problem),
                }
            }
            _ => {}
        }
    }
}
