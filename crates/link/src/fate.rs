//! What becomes of a packet.

use ripstop_base::Time;
use serde::Serialize;

/// What becomes of one offered packet; known at once, because nothing that follows can change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the link forgets the packet: its fate is the caller's to carry out"]
pub enum Fate {
    /// It is serialised and arrives.
    Delivered(Delivery),
    /// It is serialised, spends its slot on the link, and is lost on the way.
    Lost {
        /// When its last bit leaves the sender.
        departure: Time,
        /// Why it does not arrive.
        reason: Reason,
    },
    /// It never enters the link, and costs it nothing.
    Refused {
        /// Why it was not let in.
        reason: Reason,
    },
}

/// How a packet that arrives does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When its last bit leaves the sender.
    pub departure: Time,
    /// When it is handed to the receiver.
    pub arrival: Time,
    /// When a second copy of it is handed to the receiver; never before `arrival`.
    pub copy: Option<Time>,
    /// Whether it met congestion, and is marked if it is ECN-capable.
    pub congested: bool,
    /// The damage done to it (to the copy as well).
    pub corruption: Option<Corruption>,
}

/// A single flipped bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// Offset of the byte hit, below the packet's size.
    pub byte: usize,
    /// Which bit of it: 0 is the least significant, 7 the most.
    pub bit: u8,
}

/// Why a packet does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Refused: larger than the MTU.
    Mtu,
    /// Refused: the policer's bucket held too few tokens.
    Policer,
    /// Refused: the drop-tail queue was full.
    Queue,
    /// Lost by the loss model.
    Channel,
    /// Lost because a block of its units lost more of them than its code makes good.
    Fec,
    /// Lost because its last bit left during a blackout.
    Blackout,
}

impl Fate {
    /// When the packet's last bit leaves the sender; None for a refused packet.
    pub fn departure(&self) -> Option<Time> {
        match self {
            Fate::Delivered(delivery) => Some(delivery.departure),
            Fate::Lost { departure, .. } => Some(*departure),
            Fate::Refused { .. } => None,
        }
    }

    /// When the packet first arrives; None when it does not.
    pub fn arrival(&self) -> Option<Time> {
        self.delivery().map(|d| d.arrival)
    }

    /// How the packet arrives; None when it does not.
    pub fn delivery(&self) -> Option<Delivery> {
        match self {
            Fate::Delivered(delivery) => Some(*delivery),
            _ => None,
        }
    }

    /// The fate as a letter of a log, ASCII: `.` it arrives, `c` it arrives damaged; `x` lost by the channel, `f` with a block of
    /// its units, `b` in a blackout; `q` refused by the queue, `p` by the policer, `m` for its size.
    pub fn letter(&self) -> u8 {
        match self {
            Fate::Delivered(Delivery { corruption: Some(_), .. }) => b'c',
            Fate::Delivered(_) => b'.',
            Fate::Lost { reason, .. } | Fate::Refused { reason } => match reason {
                Reason::Mtu => b'm',
                Reason::Policer => b'p',
                Reason::Queue => b'q',
                Reason::Channel => b'x',
                Reason::Fec => b'f',
                Reason::Blackout => b'b',
            },
        }
    }

    /// Why the packet does not arrive; None when it does.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Fate::Delivered(_) => None,
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
    /// Flips the bit in `packet`; does nothing when the packet is shorter than the one offered.
    pub fn apply(&self, packet: &mut [u8]) {
        if let Some(byte) = packet.get_mut(self.byte) {
            *byte ^= 1 << (self.bit & 7);
        }
    }
}
