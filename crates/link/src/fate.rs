//! The fate of an offered packet.

use ripstop_base::Time;
use serde::Serialize;

/// The fate of one offered packet. A fate other than [`Fate::Queued`] is final: nothing that follows
/// can change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the link does not keep the packet; the caller must carry out its fate"]
pub enum Fate {
    /// The packet is serialised and arrives.
    Delivered(Delivery),
    /// The packet is serialised, uses its time on the link, and is lost.
    Lost {
        /// When the packet's last bit leaves the sender.
        departure: Time,
        /// Why the packet does not arrive.
        reason: DropReason,
    },
    /// The packet waits, and its fate is not decided yet. Only CoDel and FQ answer so. The caller
    /// keeps the packet until [`Link::poll`](crate::Link::poll) tells its fate.
    Queued,
    /// The packet takes no time on the link.
    Refused {
        /// Why the packet was refused.
        reason: DropReason,
    },
}

/// When and how a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When the last bit leaves the sender.
    pub departure: Time,
    /// When the packet reaches the receiver.
    pub arrival: Time,
    /// When a second copy reaches the receiver, never before `arrival`. None: there is no copy.
    pub copy: Option<Time>,
    /// Whether the packet met congestion. The caller marks an ECN-capable packet that met
    /// congestion (Congestion Experienced, RFC 3168).
    pub congested: bool,
    /// The bit that is flipped, in the copy as well. None: the packet is intact.
    pub corruption: Option<Corruption>,
}

/// A single flipped bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// Offset of the byte with the flipped bit, less than the packet's size.
    pub byte: usize,
    /// The flipped bit of this byte: 0 is the least significant, 7 the most significant.
    pub bit: u8,
}

/// Why a packet does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// Refused: larger than the MTU.
    Mtu,
    /// Refused: the policer's bucket held too few tokens.
    Policer,
    /// Refused: the queue was full.
    Queue,
    /// Dropped by the queue discipline (CoDel, PIE or FQ), to keep the queue short.
    Aqm,
    /// Lost by the loss model.
    Channel,
    /// Lost because one block of its units lost more units than the block code repairs.
    Fec,
    /// Lost because its last bit left during a blackout.
    Blackout,
}

impl Fate {
    /// When the packet's last bit leaves the sender; None for a refused packet and while the packet
    /// waits.
    pub fn departure(&self) -> Option<Time> {
        match self {
            Fate::Delivered(delivery) => Some(delivery.departure),
            Fate::Lost { departure, .. } => Some(*departure),
            Fate::Refused { .. } | Fate::Queued => None,
        }
    }

    /// When the packet first arrives. None if the packet does not arrive.
    pub fn arrival(&self) -> Option<Time> {
        self.delivery().map(|d| d.arrival)
    }

    /// How the packet arrives. None if the packet does not arrive.
    pub fn delivery(&self) -> Option<Delivery> {
        match self {
            Fate::Delivered(delivery) => Some(*delivery),
            _ => None,
        }
    }

    /// The fate as one ASCII letter of a log:
    ///
    /// * `.`: the packet arrives. `c`: the packet arrives with a flipped bit.
    /// * `x`: the channel loses the packet. `f`: a block of the packet's units is lost. `b`: the
    ///   packet is lost in a blackout.
    /// * `w`: the packet waits. `a`: the queue discipline drops it.
    /// * `q`: the queue refuses the packet. `p`: the policer refuses it. `m`: the packet is larger
    ///   than the MTU.
    pub fn letter(&self) -> u8 {
        match self {
            Fate::Delivered(Delivery { corruption: Some(_), .. }) => b'c',
            Fate::Delivered(_) => b'.',
            Fate::Queued => b'w',
            Fate::Lost { reason, .. } | Fate::Refused { reason } => match reason {
                DropReason::Mtu => b'm',
                DropReason::Policer => b'p',
                DropReason::Queue => b'q',
                DropReason::Aqm => b'a',
                DropReason::Channel => b'x',
                DropReason::Fec => b'f',
                DropReason::Blackout => b'b',
            },
        }
    }

    /// Why the packet does not arrive. None if the packet arrives or waits.
    pub fn reason(&self) -> Option<DropReason> {
        match self {
            Fate::Delivered(_) | Fate::Queued => None,
            Fate::Lost { reason, .. } | Fate::Refused { reason } => Some(*reason),
        }
    }
}

impl Delivery {
    /// The arrivals in order of time: one, or two when the packet was duplicated.
    pub fn arrivals(&self) -> impl Iterator<Item = Time> + use<> {
        std::iter::once(self.arrival).chain(self.copy)
    }
}

impl Corruption {
    /// Flips the bit in `packet`. Does nothing if `packet` is too short to have this bit.
    pub fn apply(&self, packet: &mut [u8]) {
        if let Some(byte) = packet.get_mut(self.byte) {
            *byte ^= 1 << (self.bit & 7);
        }
    }
}
