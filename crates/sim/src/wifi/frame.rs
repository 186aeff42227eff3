//! Frames: what stations send on the air.

use std::time::Duration;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// A MAC ACK.
    Ack,
    /// One packet for one station.
    Data,
    /// Two packets, XORed, for one station each.
    Xor,
    /// One packet for all stations. Nobody acknowledges it.
    Broadcast,
}

/// The kind of a frame and its receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: FrameKind,
    /// The receiver, or the two receivers of an XOR frame, the forward one first. [`NOBODY`] if there is none.
    pub(super) to: [u32; 2],
}

/// What the MAC header of a frame says. The packets of the frame stay with its sender until they are received,
/// and so does the content of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) head: Head,
    /// How long the medium stays reserved after the frame.
    pub(super) reserves: Duration,
    /// How long the frame is on the air.
    pub(super) airtime: Duration,
}

/// Stands for a receiver that does not exist.
pub(super) const NOBODY: u32 = u32::MAX;

impl Frame {
    /// A frame for the stations `to`.
    pub(super) fn new(kind: FrameKind, to: [u32; 2], reserves: Duration, airtime: Duration) -> Frame {
        Frame { head: Head { kind, to }, reserves, airtime }
    }
}

impl Head {
    /// Whether the frame is for `station`. A broadcast is for all.
    #[inline]
    pub(super) fn is_for(&self, station: usize) -> bool {
        self.kind == FrameKind::Broadcast || self.to.contains(&(station as u32))
    }

    /// Whether the frame has a packet for `station`.
    #[inline]
    pub(super) fn carries_packet_for(&self, station: usize) -> bool {
        let carries = matches!(self.kind, FrameKind::Data | FrameKind::Xor | FrameKind::Broadcast);
        carries && self.is_for(station)
    }
}
