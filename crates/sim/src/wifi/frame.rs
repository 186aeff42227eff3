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
    /// The XOR of two packets, each for a different station.
    Xor,
    /// One packet for all stations. No station acknowledges the frame.
    Broadcast,
}

/// The kind of a frame and its receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: FrameKind,
    /// The receivers of the frame. An XOR frame has two, and the forward receiver (see `pairing`) comes first. Any
    /// other frame has at most one. [`NOBODY`] fills each empty place.
    pub(super) to: [u32; 2],
}

/// A frame without its content. The sender keeps the packets of the frame, or the content of a broadcast, until the
/// receivers take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) head: Head,
    /// How long the medium stays reserved after the frame.
    pub(super) reserves: Duration,
    /// How long the frame is on the air.
    pub(super) airtime: Duration,
}

/// The station number that stands for no single receiver.
pub(super) const NOBODY: u32 = u32::MAX;

impl Frame {
    /// A frame for the stations `to`.
    pub(super) fn new(kind: FrameKind, to: [u32; 2], reserves: Duration, airtime: Duration) -> Frame {
        Frame { head: Head { kind, to }, reserves, airtime }
    }
}

impl Head {
    /// Whether the frame is for `station`. A broadcast is for all stations.
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
