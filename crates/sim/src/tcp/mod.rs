//! TCP in virtual time, in packets: senders, a receiver, and what passes between them.
//!
//! Tahoe, Reno, NewReno, SACK and Vegas decide as ns-2's one-way agents do, so that results can be compared with its own
//! (window and threshold in packets, a clock in ticks, no handshake but a first packet without data). Like all sessions here
//! they have neither clock nor timer: an input comes with the time, then [`Sender::poll_transmit`] is drained and
//! [`Sender::timeout`] says when to call next.
//!
//! CUBIC and BBR stand on a sender of today's kernels ([`SenderConfig::linux`]); to its user it is the same. [`TrafficSource`] says
//! when a connection has something to send.

mod bbr;
mod classic;
mod cubic;
mod distribution;
mod hystart;
mod linux_reno;
mod modern;
mod newreno;
mod receiver;
mod reno;
mod rto;
mod sack;
mod sender;
mod source;
mod tahoe;
mod vegas;

pub use distribution::{Distribution, Period};
pub use modern::Mechanisms;
pub use receiver::{Reassembly, Receiver};
pub use rto::RtoConfig;
pub use sender::{SenderConfig, TcpCounts};
pub use source::{Completion, Demand, Packing, Pattern, SourceConfig, SourceError, TrafficSource};
pub use vegas::VegasConfig;

use classic::Classic;
use cubic::{Cubic, Flavour};
use linux_reno::LinuxReno;
use modern::{Algorithm, Modern};
use newreno::NewReno;
use reno::Reno;
use ripstop_base::{Stream, Time};
use sack::Sack;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;
use vegas::Vegas;

/// SACK blocks in an acknowledgement at most (RFC 2018).
pub const MAX_BLOCKS: usize = 3;

/// A congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Every loss begins anew.
    Tahoe,
    /// Fast recovery.
    Reno,
    /// Fast recovery over many losses.
    #[default]
    NewReno,
    /// Selective acknowledgements.
    Sack,
    /// Delay decides.
    Vegas,
    /// A cubic function of the time since the last loss (RFC 9438, RFC 9406), on a sender of today.
    Cubic,
    /// The same as Linux has it: HyStart instead of HyStart++, and slower where Reno's window decides.
    #[serde(rename = "linux-cubic")]
    LinuxCubic,
    /// The rate that the path delivers, on a sender of today.
    Bbr,
    /// Reno's window on a sender of today, as Linux has it.
    #[serde(rename = "linux-reno")]
    LinuxReno,
}

/// Bytes of a header of IP and TCP.
const HEADER: usize = 40;
/// Bytes of a SACK block.
const BLOCK: usize = 8;

impl Variant {
    /// All of them with their names, as flags and files write them.
    pub const NAMES: [(Variant, &'static str); 9] = [
        (Variant::Tahoe, "tahoe"),
        (Variant::Reno, "reno"),
        (Variant::NewReno, "newreno"),
        (Variant::Sack, "sack"),
        (Variant::Vegas, "vegas"),
        (Variant::Cubic, "cubic"),
        (Variant::LinuxCubic, "linux-cubic"),
        (Variant::Bbr, "bbr"),
        (Variant::LinuxReno, "linux-reno"),
    ];

    /// Whether it stands on a sender of today: exact times instead of a clock that ticks, losses told by time.
    pub fn is_modern(self) -> bool {
        match self {
            Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Sack | Variant::Vegas => false,
            Variant::Cubic | Variant::LinuxCubic | Variant::Bbr | Variant::LinuxReno => true,
        }
    }

    /// Bytes of packet `number` on the wire when `payload` bytes of data fill a packet: a header more, and the first, the
    /// SYN, is only a header. Vegas sends the payload alone, in the first packet as well: so does ns-2's agent.
    pub fn packet_bytes(self, number: u64, payload: usize) -> usize {
        match (self, number) {
            (Variant::Vegas, _) => payload,
            (_, 0) => HEADER,
            _ => HEADER + payload,
        }
    }

    /// Bytes of an acknowledgement on the wire: its blocks are told to senders that heed them only.
    pub fn ack_bytes(self, ack: &Ack) -> usize {
        let blocks = match self {
            Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Vegas => 0,
            Variant::Sack => ack.blocks().count(),
            Variant::Cubic | Variant::LinuxCubic | Variant::Bbr | Variant::LinuxReno => {
                (ack.blocks().count() + usize::from(ack.duplicate.is_some())).min(MAX_BLOCKS)
            }
        };
        HEADER + BLOCK * blocks
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(name: &str) -> Result<Variant, String> {
        let found = Variant::NAMES.iter().find(|(_, known)| *known == name).map(|(variant, _)| *variant);
        found.ok_or_else(|| {
            format!(
                "there is no TCP `{name}`; there are {}",
                Variant::NAMES.map(|(_, known)| known).join(", ")
            )
        })
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The first packet that has not arrived.
    pub next: u64,
    /// A packet that arrived, and had arrived before (D-SACK, RFC 2883).
    pub duplicate: Option<u64>,
    /// Counted from `next`: acknowledgements are copied a lot.
    blocks: [(u32, u32); MAX_BLOCKS],
}

impl Ack {
    /// Everything before `next`, and the `blocks` beyond it (the first [`MAX_BLOCKS`] of them, up to 2^32 packets away).
    pub fn new(next: u64, blocks: impl IntoIterator<Item = Range<u64>>) -> Ack {
        let mut ack = Ack { next, duplicate: None, blocks: [(0, 0); MAX_BLOCKS] };
        let beyond = |number: u64| u32::try_from(number.saturating_sub(next)).unwrap_or(u32::MAX);
        for (slot, block) in ack.blocks.iter_mut().zip(blocks) {
            *slot = (beyond(block.start), beyond(block.end));
        }
        ack
    }

    /// What has arrived beyond `next`, as far as the acknowledgement says.
    pub fn blocks(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let number = |beyond: u32| self.next + u64::from(beyond);
        let known = self.blocks.iter().filter(|(start, end)| start < end);
        known.map(move |(start, end)| number(*start)..number(*end))
    }
}

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    family: Family,
}

#[derive(Clone, Debug)]
enum Family {
    Classic(Box<Classic>),
    Modern(Box<Modern>),
}

/// The same of whichever it is.
macro_rules! dispatch {
    ($self:ident, $sender:ident => $call:expr) => {
        match &$self.family {
            Family::Classic($sender) => $call,
            Family::Modern($sender) => $call,
        }
    };
    (mut $self:ident, $sender:ident => $call:expr) => {
        match &mut $self.family {
            Family::Classic($sender) => $call,
            Family::Modern($sender) => $call,
        }
    };
}

impl Sender {
    /// A sender with nothing to send yet. `random` says where between two ticks its clock is, and where BBR's cycles begin.
    pub fn new(variant: Variant, config: SenderConfig, random: &mut Stream) -> Sender {
        let modern = |algorithm| Family::Modern(Box::new(Modern::new(config, algorithm)));
        let classic = |algorithm, random: &mut Stream| {
            Family::Classic(Box::new(Classic::new(algorithm, config, random)))
        };
        let family = match variant {
            Variant::Cubic => modern(Algorithm::Cubic(Cubic::new(Flavour::Rfc))),
            Variant::LinuxCubic => modern(Algorithm::Cubic(Cubic::new(Flavour::Linux))),
            Variant::Bbr => modern(Algorithm::Bbr(bbr::Bbr::new(random))),
            Variant::LinuxReno => modern(Algorithm::Reno(LinuxReno)),
            Variant::Tahoe => classic(classic::Algorithm::Tahoe, random),
            Variant::Reno => classic(classic::Algorithm::Reno(Reno::default()), random),
            Variant::NewReno => classic(classic::Algorithm::NewReno(NewReno::default()), random),
            Variant::Sack => classic(classic::Algorithm::Sack(Sack::default()), random),
            Variant::Vegas => {
                classic(classic::Algorithm::Vegas(Vegas::new(config.vegas, config.window)), random)
            }
        };
        Sender { family }
    }

    /// There are `packets` more to send (`u64::MAX`: without end). The first of a connection carries no data.
    pub fn offer(&mut self, now: Time, packets: u64) {
        dispatch!(mut self, sender => sender.offer(now, packets));
    }

    /// Nothing new is sent any more; what was sent is still repaired.
    pub fn stop(&mut self) {
        dispatch!(mut self, sender => sender.stop());
    }

    /// An acknowledgement has arrived.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        dispatch!(mut self, sender => sender.on_ack(now, ack));
    }

    /// The time is `now`; does what a time-out asks for, if it has come.
    pub fn on_timeout(&mut self, now: Time) {
        dispatch!(mut self, sender => sender.on_timeout(now));
    }

    /// The number of the next packet that leaves now.
    pub fn poll_transmit(&mut self) -> Option<u64> {
        dispatch!(mut self, sender => sender.poll())
    }

    /// When [`Sender::on_timeout`] wants to be called; [`Time::NEVER`] when nothing is under way. The pacing of BBR is part of
    /// it. (After the last acknowledgement it is called once more: a sender that was idle for so long begins anew with one
    /// packet.)
    pub fn timeout(&self) -> Time {
        dispatch!(self, sender => sender.timeout())
    }

    /// The congestion window, packets; it may exceed the receiver's.
    pub fn cwnd(&self) -> f64 {
        dispatch!(self, sender => sender.cwnd())
    }

    /// The smoothed round-trip time (of the older variants in whole ticks); None before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        dispatch!(self, sender => sender.srtt())
    }

    /// Packets acknowledged, the first without data included.
    pub fn acknowledged(&self) -> u64 {
        dispatch!(self, sender => sender.acknowledged())
    }

    /// What it did so far.
    pub fn counts(&self) -> TcpCounts {
        dispatch!(self, sender => sender.counts())
    }

    /// The state of one of the older variants.
    #[cfg(test)]
    fn classic(&mut self) -> &mut Classic {
        match &mut self.family {
            Family::Classic(classic) => classic,
            Family::Modern(_) => panic!("one of the older variants is meant"),
        }
    }

    /// How often the mechanisms of CUBIC and BBR did their work; all zero for the older variants.
    pub fn mechanisms(&self) -> Mechanisms {
        match &self.family {
            Family::Classic(_) => Mechanisms::default(),
            Family::Modern(sender) => sender.mechanisms(),
        }
    }
}
