//! TCP in virtual time, counted in packets: senders, a receiver, and the acknowledgements between them.
//!
//! Tahoe, Reno, NewReno, SACK and Vegas behave like ns-2's one-way agents, so that results can be compared with ns-2.
//! Window and threshold are counted in packets, and the retransmission time-out is computed in clock ticks. A first
//! packet without data replaces the handshake.
//!
//! CUBIC, BBR and `linux-reno` run on the modern sender, which works as in today's kernels ([`SenderConfig::linux`]).
//! Both kinds of sender have the same interface.
//!
//! A sender has no clock and no timer. The caller passes each input with the time, drains [`Sender::poll_transmit`],
//! and calls [`Sender::on_timeout`] at [`Sender::timeout`]. [`TrafficSource`] says when a connection has something to
//! send.

mod bbr;
mod classic;
mod cubic;
mod distribution;
mod hystart;
mod linux_reno;
mod modern;
mod receiver;
mod reno;
mod rto;
mod sack;
mod sender;
mod source;
mod vegas;

pub use distribution::{Distribution, Period};
pub use modern::Mechanisms;
pub use receiver::{Reassembly, Receiver};
pub use rto::RtoConfig;
pub use sender::{SenderConfig, TcpCounts, VegasConfig};
pub use source::{Completion, Demand, Packing, Pattern, SourceConfig, SourceError, TrafficSource};

use classic::Classic;
use cubic::{Cubic, Flavour};
use linux_reno::LinuxReno;
use modern::{Algorithm, Modern};
use reno::{NewReno, Reno};
use ripstop_base::{Stream, Time};
use sack::Sack;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;
use vegas::Vegas;

/// The largest number of SACK blocks in an acknowledgement. Three blocks fit into a header with time stamps (RFC 2018,
/// section 3). With one block, no later acknowledgement repeats the block of a lost acknowledgement. Six blocks do not
/// fit into the header.
pub const MAX_BLOCKS: usize = 3;

/// A congestion control algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Every loss restarts slow start from one packet.
    Tahoe,
    /// Fast retransmit and fast recovery.
    Reno,
    /// Fast recovery that repairs several losses.
    #[default]
    NewReno,
    /// Selective acknowledgements (SACK).
    Sack,
    /// The window follows the round-trip time instead of losses.
    Vegas,
    /// The window is a cubic function of the time since the last loss (RFC 9438, RFC 9406). Modern sender.
    Cubic,
    /// CUBIC as in Linux, with HyStart instead of HyStart++. The estimate of Reno's window grows more slowly. Before
    /// the first loss, the window grows faster. Modern sender.
    #[serde(rename = "linux-cubic")]
    LinuxCubic,
    /// The sending rate follows the delivery rate of the path. Modern sender.
    Bbr,
    /// Reno's window as in Linux. Modern sender.
    #[serde(rename = "linux-reno")]
    LinuxReno,
}

/// Bytes of the headers of IPv4 and TCP without options (RFC 791, RFC 9293).
const HEADER: usize = 40;
/// Bytes of a SACK block: two sequence numbers of 4 bytes (RFC 2018, section 3).
const BLOCK: usize = 8;

impl Variant {
    /// All algorithms with their names in flags and files.
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

    /// Whether the algorithm runs on the modern sender, which has an exact clock and detects losses by time.
    pub fn is_modern(self) -> bool {
        match self {
            Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Sack | Variant::Vegas => false,
            Variant::Cubic | Variant::LinuxCubic | Variant::Bbr | Variant::LinuxReno => true,
        }
    }

    /// Bytes of packet `number` on the wire. `payload` is the payload of a full packet. The first packet, the SYN, is a
    /// header alone.
    ///
    /// With Vegas every packet, also the first packet, has `payload` bytes and no header, as in ns-2.
    pub fn packet_bytes(self, number: u64, payload: usize) -> usize {
        match (self, number) {
            (Variant::Vegas, _) => payload,
            (_, 0) => HEADER,
            _ => HEADER + payload,
        }
    }

    /// Bytes of an acknowledgement on the wire. SACK blocks count only for senders that use them. With a modern sender
    /// a reported duplicate counts as one more block. At most [`MAX_BLOCKS`] blocks count in all.
    pub fn ack_bytes(self, ack: &Ack) -> usize {
        let blocks = match self {
            Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Vegas => 0,
            Variant::Sack => ack.blocks().count(),
            Variant::Cubic | Variant::LinuxCubic | Variant::Bbr | Variant::LinuxReno => {
                (ack.blocks().count() + usize::from(ack.duplicate().is_some())).min(MAX_BLOCKS)
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
            format!("`{name}` is not a TCP; write one of {}", Variant::NAMES.map(|(_, known)| known).join(", "))
        })
    }
}

/// An acknowledgement. Packets are named by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The first packet that has not arrived.
    pub next: u64,
    /// A packet that arrived again (D-SACK, RFC 2883); `NO_PACKET` if none did. Acknowledgements are copied often, so
    /// they are kept small.
    duplicate: u64,
    /// Whether the receiver echoes a mark of Congestion Experienced (the flag ECE, RFC 3168).
    pub echo: bool,
    /// The start and the end of each block, counted from `next`, in 32 bits. An unused entry is an empty range.
    blocks: [(u32, u32); MAX_BLOCKS],
}

/// A number that no packet has.
const NO_PACKET: u64 = u64::MAX;

impl Ack {
    /// Acknowledges everything before `next`. The `blocks` lie beyond `next`. Only the first [`MAX_BLOCKS`] blocks are
    /// kept. A block that extends further than 2^32 - 1 packets beyond `next` is cut off at this distance.
    pub fn new(next: u64, blocks: impl IntoIterator<Item = Range<u64>>) -> Ack {
        let mut ack = Ack { next, duplicate: NO_PACKET, echo: false, blocks: [(0, 0); MAX_BLOCKS] };
        let beyond = |number: u64| u32::try_from(number.saturating_sub(next)).unwrap_or(u32::MAX);
        for (slot, block) in ack.blocks.iter_mut().zip(blocks) {
            *slot = (beyond(block.start), beyond(block.end));
        }
        ack
    }

    /// A packet that arrived again (D-SACK, RFC 2883).
    pub fn duplicate(&self) -> Option<u64> {
        (self.duplicate != NO_PACKET).then_some(self.duplicate)
    }

    /// The acknowledgement with a report of a packet that arrived again.
    #[must_use]
    pub fn with_duplicate(self, duplicate: Option<u64>) -> Ack {
        Ack { duplicate: duplicate.unwrap_or(NO_PACKET), ..self }
    }

    /// The acknowledgement with this value of `echo`.
    #[must_use]
    pub fn with_echo(self, echo: bool) -> Ack {
        Ack { echo, ..self }
    }

    /// The blocks beyond `next` that have arrived.
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
    /// A sender as in ns-2.
    Classic(Box<Classic>),
    /// A sender as in today's kernels.
    Modern(Box<Modern>),
}

/// Evaluates an expression on the sender in use. The caller gives one expression for both families, or one expression
/// for each family.
macro_rules! dispatch {
    ($family:expr, $sender:ident => $call:expr) => {
        dispatch!($family, $sender => $call, $sender => $call)
    };
    ($family:expr, $classic:ident => $of_classic:expr, $modern:ident => $of_modern:expr) => {
        match $family {
            Family::Classic($classic) => $of_classic,
            Family::Modern($modern) => $of_modern,
        }
    };
}

impl Sender {
    /// A sender with nothing to send yet. `random` draws the phase of an ns-2 sender's clock ticks, and the phase in
    /// which each of BBR's gain cycles begins.
    pub fn new(variant: Variant, config: SenderConfig, random: &mut Stream) -> Sender {
        let modern = |algorithm| Family::Modern(Box::new(Modern::new(config, algorithm)));
        let classic =
            |algorithm, random: &mut Stream| Family::Classic(Box::new(Classic::new(algorithm, config, random)));
        let family = match variant {
            Variant::Cubic => modern(Algorithm::Cubic(Cubic::new(Flavour::Rfc))),
            Variant::LinuxCubic => modern(Algorithm::Cubic(Cubic::new(Flavour::Linux))),
            Variant::Bbr => modern(Algorithm::Bbr(bbr::Bbr::new(random))),
            Variant::LinuxReno => modern(Algorithm::Reno(LinuxReno)),
            Variant::Tahoe => classic(classic::Algorithm::Tahoe, random),
            Variant::Reno => classic(classic::Algorithm::Reno(Reno::default()), random),
            Variant::NewReno => classic(classic::Algorithm::NewReno(NewReno::default()), random),
            Variant::Sack => classic(classic::Algorithm::Sack(Sack::default()), random),
            Variant::Vegas => classic(classic::Algorithm::Vegas(Vegas::new(config.vegas, config.window)), random),
        };
        Sender { family }
    }

    /// Adds `packets` to send; `u64::MAX` means without end. `packets` does not count a connection's first packet,
    /// which carries no data.
    pub fn offer(&mut self, now: Time, packets: u64) {
        dispatch!(&mut self.family, sender => sender.offer(now, packets));
    }

    /// Stops sending new packets. Lost packets are still retransmitted.
    pub fn stop(&mut self) {
        dispatch!(&mut self.family, sender => sender.stop());
    }

    /// Handles an acknowledgement.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        dispatch!(&mut self.family, sender => sender.on_ack(now, ack));
    }

    /// Handles a time-out that is due at `now`, if there is one.
    pub fn on_timeout(&mut self, now: Time) {
        dispatch!(&mut self.family, sender => sender.on_timeout(now));
    }

    /// The number of the next packet to send now.
    pub fn poll_transmit(&mut self) -> Option<u64> {
        dispatch!(&mut self.family, classic => classic.core.poll(), modern => modern.out.pop_front())
    }

    /// What the headers of packet `number`, which [`Sender::poll_transmit`] has just returned, say about congestion:
    /// whether the packet is ECN-capable, and whether it has the flag CWR (RFC 3168).
    ///
    /// Only new packets with data are ECN-capable (RFC 3168, section 6.1.5). The first new packet after a reduction has
    /// the flag.
    pub fn ecn_flags(&mut self, number: u64) -> (bool, bool) {
        dispatch!(&mut self.family, _classic => (false, false), modern => modern.ecn_flags(number))
    }

    /// When to call [`Sender::on_timeout`]: the earliest timer, BBR's pacing timer included. [`Time::NEVER`] when no
    /// timer runs.
    ///
    /// An ns-2 algorithm has one more time-out after its last acknowledgement. An idle sender then restarts with one
    /// packet.
    pub fn timeout(&self) -> Time {
        dispatch!(&self.family, classic => classic.core.deadline, modern => modern.timeout())
    }

    /// The congestion window in packets. It may exceed the receiver's window.
    pub fn cwnd(&self) -> f64 {
        dispatch!(&self.family, classic => classic.core.cwnd, modern => modern.flow.cwnd)
    }

    /// The smoothed round-trip time; None before the first sample. The ns-2 algorithms round this time to clock ticks.
    pub fn srtt(&self) -> Option<Duration> {
        dispatch!(&self.family, classic => classic.core.rto.srtt(), modern => modern.flow.rtt.smoothed())
    }

    /// Packets acknowledged in order, including the first packet, which carries no data.
    pub fn acknowledged(&self) -> u64 {
        dispatch!(&self.family, classic => classic.core.una, modern => modern.flow.una_and_nxt().0)
    }

    /// The counters of the sender.
    pub fn counts(&self) -> TcpCounts {
        dispatch!(&self.family, classic => classic.core.counts, modern => modern.counts)
    }

    /// The state of an ns-2 algorithm.
    #[cfg(test)]
    fn classic(&mut self) -> &mut Classic {
        match &mut self.family {
            Family::Classic(classic) => classic,
            Family::Modern(_) => panic!("the test needs an ns-2 algorithm"),
        }
    }

    /// How many times each mechanism of the modern sender acted. All counters are 0 for the ns-2 algorithms.
    pub fn mechanisms(&self) -> Mechanisms {
        dispatch!(&self.family, _classic => Mechanisms::default(), modern => modern.flow.mechanisms)
    }
}
