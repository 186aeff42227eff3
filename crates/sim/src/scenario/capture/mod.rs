//! A run as a capture file for Wireshark and similar programs.
//!
//! [`Capture`] has the packets at the sending nodes, and [`AirCapture`] has the frames on the air of the media.

mod air;
mod conversation;
mod dot11;
mod pcap;

pub use air::{AirCapture, AirFrameCounts};

use crate::scenario::Scenario;
use crate::world::{Happening, NetworkPacket, Observer, Owner};
use conversation::Conversations;
use pcap::{LinkType, PcapFile};
use ripstop_base::Time;
use std::io::{self, Write};

/// The TTL of a packet at its sender. It appears only in the headers, and any value above the number of hops would do.
const TIME_TO_LIVE: u8 = 64;

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
    file: PcapFile<W>,
    conversations: Conversations,
    headers: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Begins a capture of runs of `scenario`.
    ///
    /// # Errors
    /// An error in writing the file's header.
    pub fn new(scenario: &Scenario, out: W) -> io::Result<Capture<W>> {
        Ok(Capture {
            file: PcapFile::new(out, LinkType::Raw)?,
            conversations: Conversations::new(scenario),
            headers: Vec::with_capacity(128),
        })
    }

    /// Writes buffered data.
    ///
    /// # Errors
    /// The first error in writing.
    pub fn finish(self) -> io::Result<()> {
        self.file.finish()
    }

    /// Builds the headers of a packet.
    fn build(&mut self, packet: &NetworkPacket, owner: Owner) -> Result<(), String> {
        let conversation = self.conversations.of(owner)?;
        conversation.note(&packet.body, packet.bytes);
        self.headers.clear();
        conversation.headers(packet)?.write(TIME_TO_LIVE, &mut self.headers)
    }
}

impl<W: Write> Observer for Capture<W> {
    fn note(&mut self, now: Time, happening: Happening<'_>) {
        let (packet, owner) = match happening {
            Happening::Offered { packet, owner, first: true, .. } if !packet.back => (packet, owner),
            Happening::Arrived { packet, owner, last: true, .. } if packet.back => (packet, owner),
            _ => return,
        };
        if !self.file.is_whole() {
            return;
        }
        match self.build(packet, owner) {
            Ok(()) => self.file.write(now, &self.headers, packet.bytes),
            Err(problem) => self.file.fail(problem),
        }
    }
}
