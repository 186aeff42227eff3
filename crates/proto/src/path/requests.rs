//! What the user of a path asks it to send: probes, packets about the path, and the end of the session.

use std::collections::VecDeque;

/// The largest number of packets about the path that wait to be sent. A peer can ask for any number of
/// answers. Half the value still answers two challenges of different addresses at once. Double the
/// value only takes more memory.
const MOST_PATH_PACKETS: usize = 4;

/// How many packets tell the peer that the session ends. If all are lost, the peer sends into the dead session until it
/// notices the silence. At 5 % of random loss that happens in one of 8000 ends. Half the value makes it one of 400. Double
/// the value has no use.
const CLOSE_COPIES: u8 = 3;

/// A packet about the path, which the user of the tunnel requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPacket {
    /// A challenge with this token.
    Challenge(u64),
    /// The answer to a challenge with this token.
    Answer(u64),
}

/// The requests that have not been met yet.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Padding of a requested probe that has not been sent yet, bytes.
    probe: Option<u16>,
    /// Requested packets about the path that have not been sent yet.
    packets: VecDeque<PathPacket>,
    /// How many packets have still to tell the peer about the end of the session.
    close_copies: u8,
    /// Whether they leave before everything that waits.
    closes_at_once: bool,
}

impl Requests {
    /// Requests a probe with `padding` zero bytes. The new probe replaces an earlier one that has not been sent yet.
    pub(crate) fn request_probe(&mut self, padding: u16) {
        self.probe = Some(padding);
    }

    /// Requests a packet about the path. At most four packets wait; a further one is dropped.
    pub(crate) fn request_packet(&mut self, packet: PathPacket) {
        if self.packets.len() < MOST_PATH_PACKETS && !self.packets.contains(&packet) {
            self.packets.push_back(packet);
        }
    }

    /// Whether a requested packet about the path waits to be sent.
    pub(crate) fn has_packet(&self) -> bool {
        !self.packets.is_empty()
    }

    /// The next packet about the path.
    pub(crate) fn take_packet(&mut self) -> Option<PathPacket> {
        self.packets.pop_front()
    }

    /// The padding of the next probe.
    pub(crate) fn take_probe(&mut self) -> Option<u16> {
        let padding = self.probe.take()?;
        // An empty probe follows. If only small datagrams arrive, its report tells that the padded probe is lost.
        self.probe = (padding > 0).then_some(0);
        Some(padding)
    }

    /// Requests packets that tell the peer about the end, when nothing waits any more.
    pub(crate) fn close(&mut self) {
        (self.close_copies, self.closes_at_once) = (CLOSE_COPIES, false);
    }

    /// Lets these packets leave at once. Does nothing if the peer was told.
    pub(crate) fn close_now(&mut self) {
        self.closes_at_once = true;
    }

    /// Whether a packet that tells the peer about the end leaves now. `is_empty`: nothing waits.
    pub(crate) fn take_close(&mut self, is_empty: bool) -> bool {
        let is_due = self.close_copies > 0 && (is_empty || self.closes_at_once);
        self.close_copies -= u8::from(is_due);
        is_due
    }
}
