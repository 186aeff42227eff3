//! What the tunnel and its user tell each other apart from inner packets: events, and packets about the path.

use super::Tunnel;
use super::inner::InnerPacket;

/// The largest number of packets about the path that wait to be sent. A peer can ask for any number of
/// answers. Half the value still answers two challenges of different addresses at once. Double the
/// value only takes more memory.
const MOST_PATH_PACKETS: usize = 4;

/// A packet about the path, which the user of the tunnel requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPacket {
    /// A challenge with this token.
    Challenge(u64),
    /// The answer to a challenge with this token.
    Answer(u64),
}

/// An event that the tunnel reports to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelEvent {
    /// Datagrams were sent, and the peer did not report in time. The path may have failed.
    Silent,
    /// A report of the peer has arrived after a silence.
    Heard,
    /// The peer ended the session. There is one such event for each session.
    Closed,
    /// The peer has acknowledged a datagram that was never sent. The session must end, because no
    /// report of the peer can be believed.
    FalseReport,
    /// It has become known whether a probe arrived. See [`Tunnel::request_probe`](super::Tunnel::request_probe).
    /// If no report comes, there is no such event.
    Probe {
        /// Padding of the probe, bytes.
        padding: u32,
        /// True: the probe arrived. False: the probe is lost.
        received: bool,
    },
    /// All large datagrams are lost, and small ones arrive: the path's MTU may have become smaller.
    LargeLost,
    /// A large datagram has arrived after [`TunnelEvent::LargeLost`].
    LargeReceived,
    /// The peer receives datagrams, but no block repairs: it is too old for [`Code::Block`](super::Code::Block).
    BlocksIgnored,
}

impl<P: InnerPacket> Tunnel<P> {
    /// Requests a packet about the path: a challenge, or the answer to one. The packet leaves before
    /// all other packets. At most four packets wait; a further one is dropped.
    pub fn request_path_packet(&mut self, packet: PathPacket) {
        if self.path_packets.len() < MOST_PATH_PACKETS && !self.path_packets.contains(&packet) {
            self.path_packets.push_back(packet);
        }
    }

    /// Whether a requested packet about the path waits to be sent.
    pub fn has_path_packet(&self) -> bool {
        !self.path_packets.is_empty()
    }

    /// Reports that the peer has ended the session. A peer may say so in any number of datagrams, but the session ends
    /// one time.
    pub(super) fn note_closed(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            self.events.push_back(TunnelEvent::Closed);
        }
    }
}
