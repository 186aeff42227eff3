//! What the tunnel and its user tell each other apart from inner packets: events, and packets about the path.

use super::Tunnel;
use super::inner::InnerPacket;
use ripstop_base::Time;

/// The largest number of packets about the path that wait to be sent. A peer can ask for any number of
/// answers. Half the value still answers two challenges of different addresses at once. Double the
/// value only takes more memory.
const MOST_PATH_PACKETS: usize = 4;

/// How many packets tell the peer that the session ends. If all are lost, the peer sends into the dead session until it
/// notices the silence. At 5 % of random loss that happens in one of 8000 ends. Half the value makes it one of 400. Double
/// the value has no use.
const CLOSE_COPIES: u8 = 3;

/// How a session ends at this end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Closing {
    /// How many packets have still to tell the peer about the end.
    copies: u8,
    /// Whether they leave before the ingress queue is empty.
    at_once: bool,
}

impl Closing {
    /// Whether a packet that tells the peer about the end leaves now. `is_empty`: the ingress queue is empty.
    pub(super) fn take_copy(&mut self, is_empty: bool) -> bool {
        let is_due = self.copies > 0 && (is_empty || self.at_once);
        self.copies -= u8::from(is_due);
        is_due
    }
}

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

    /// Ends the session. When the ingress queue is empty, [`Session::poll_transmit`](crate::session::Session) returns the
    /// packets that tell the peer about the end.
    pub fn close(&mut self) {
        self.closing = Closing { copies: CLOSE_COPIES, at_once: false };
    }

    /// Ends the session like [`Tunnel::close`], but does not wait for the ingress queue. Does nothing if the peer was told.
    pub fn close_now(&mut self) {
        self.closing.at_once = true;
    }

    /// Gives up all symbols that packets wait for, because the peer sends nothing more in this session.
    /// [`Session::poll_deliver`](crate::session::Session) then returns these packets.
    pub fn release_held(&mut self, now: Time) {
        self.receiver.release(now);
    }

    /// Reports that the peer has ended the session. A peer may say so in any number of datagrams, but the session ends
    /// one time.
    pub(super) fn note_closed(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            self.events.push_back(TunnelEvent::Closed);
        }
    }
}
