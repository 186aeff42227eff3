//! TCP in virtual time, in packets: senders, a receiver, and what passes between them.
//!
//! Tahoe, Reno, NewReno, SACK and Vegas decide as ns-2's one-way agents do, so that results can be compared with its own
//! (window and threshold in packets, a clock in ticks, no handshake but a first packet without data). Like all sessions here
//! they have neither clock nor timer: an input comes with the time, then [`Sender::poll_transmit`] is drained and
//! [`Sender::timeout`] says when to call next.

mod newreno;
mod receiver;
mod reno;
mod rto;
mod sack;
mod sender;
mod tahoe;
mod vegas;

#[cfg(test)]
mod tests;

pub use receiver::{Reassembly, Receiver};
pub use rto::RtoConfig;
pub use sender::{SenderConfig, SenderCounts};
pub use vegas::VegasConfig;

use newreno::NewReno;
use reno::Reno;
use ripstop_base::{Stream, Time};
use sack::Sack;
use sender::Core;
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
}

/// Bytes of a header of IP and TCP.
const HEADER: usize = 40;
/// Bytes of a SACK block.
const BLOCK: usize = 8;

impl Variant {
    /// All of them with their names, as flags and files write them.
    pub const NAMES: [(Variant, &'static str); 5] = [
        (Variant::Tahoe, "tahoe"),
        (Variant::Reno, "reno"),
        (Variant::NewReno, "newreno"),
        (Variant::Sack, "sack"),
        (Variant::Vegas, "vegas"),
    ];

    /// Bytes of packet `number` on the wire when `payload` bytes of data fill a packet: a header more, and the first, the
    /// SYN, is only a header. Vegas sends the payload alone, in the first packet as well: so does ns-2's agent.
    pub fn packet_bytes(self, number: u64, payload: usize) -> usize {
        match (self, number) {
            (Variant::Vegas, _) => payload,
            (_, 0) => HEADER,
            _ => HEADER + payload,
        }
    }

    /// Bytes of an acknowledgement on the wire: its blocks are told to the SACK sender only.
    pub fn ack_bytes(self, ack: &Ack) -> usize {
        HEADER + if self == Variant::Sack { BLOCK * ack.blocks().count() } else { 0 }
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
    blocks: [(u64, u64); MAX_BLOCKS],
}

impl Ack {
    /// Everything before `next`, and the `blocks` beyond it (the first [`MAX_BLOCKS`] of them).
    pub fn new(next: u64, blocks: impl IntoIterator<Item = Range<u64>>) -> Ack {
        let mut ack = Ack { next, blocks: [(0, 0); MAX_BLOCKS] };
        for (slot, block) in ack.blocks.iter_mut().zip(blocks) {
            *slot = (block.start, block.end);
        }
        ack
    }

    /// What has arrived beyond `next`, as far as the acknowledgement says.
    pub fn blocks(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.blocks.iter().map(|(start, end)| *start..*end).filter(|block| !block.is_empty())
    }
}

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    core: Core,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Tahoe,
    Reno(Reno),
    NewReno(NewReno),
    Sack(Sack),
    Vegas(Vegas),
}

impl Sender {
    /// A sender with nothing to send yet. `random` says where between two ticks its clock is.
    pub fn new(variant: Variant, config: SenderConfig, random: &mut Stream) -> Sender {
        let law = match variant {
            Variant::Tahoe => Law::Tahoe,
            Variant::Reno => Law::Reno(Reno::default()),
            Variant::NewReno => Law::NewReno(NewReno::default()),
            Variant::Sack => Law::Sack(Sack::default()),
            Variant::Vegas => Law::Vegas(Vegas::new(config.vegas, config.window)),
        };
        Sender { core: Core::new(config, random), law }
    }

    /// There are `packets` more to send (`u64::MAX`: without end). The first of a connection carries no data.
    pub fn offer(&mut self, now: Time, packets: u64) {
        let first = u64::from(self.core.end == 0);
        self.core.end = self.core.end.saturating_add(packets).saturating_add(first);
        self.core.fill(now, self.core.window(), u32::MAX);
        self.note_sent(now);
    }

    /// Nothing new is sent any more; what was sent is still repaired.
    pub fn stop(&mut self) {
        self.core.end = self.core.max;
    }

    /// An acknowledgement has arrived.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.core.counts.acks += 1;
        self.core.counts.duplicate_acks += u64::from(ack.next == self.core.una);
        match &mut self.law {
            Law::Tahoe => tahoe::on_ack(&mut self.core, now, ack),
            Law::Reno(law) => law.on_ack(&mut self.core, now, ack),
            Law::NewReno(law) => law.on_ack(&mut self.core, now, ack),
            Law::Sack(law) => law.on_ack(&mut self.core, now, ack),
            Law::Vegas(law) => law.on_ack(&mut self.core, now, ack),
        }
        self.note_sent(now);
    }

    /// The time is `now`; does what a time-out asks for, if it has come.
    pub fn on_timeout(&mut self, now: Time) {
        if now < self.core.deadline {
            return;
        }
        match &mut self.law {
            Law::Tahoe => {
                self.core.time_out(now);
                self.core.fill(now, self.core.window(), u32::MAX);
            }
            Law::Reno(law) => law.on_timeout(&mut self.core, now),
            Law::NewReno(law) => law.on_timeout(&mut self.core, now),
            Law::Sack(law) => law.on_timeout(&mut self.core, now),
            Law::Vegas(law) => law.on_timeout(&mut self.core, now),
        }
        self.note_sent(now);
    }

    /// The number of the next packet that leaves now.
    pub fn poll_transmit(&mut self) -> Option<u64> {
        self.core.poll()
    }

    /// When [`Sender::on_timeout`] wants to be called; [`Time::NEVER`] when nothing is under way. (After the last
    /// acknowledgement it is called once more: a sender that was idle for so long begins anew with one packet.)
    pub fn timeout(&self) -> Time {
        self.core.deadline
    }

    /// The congestion window, packets; it may exceed the receiver's.
    pub fn cwnd(&self) -> f64 {
        self.core.cwnd
    }

    /// The smoothed round-trip time, in whole ticks; None before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.core.rto.srtt()
    }

    /// Packets acknowledged, the first without data included.
    pub fn acknowledged(&self) -> u64 {
        self.core.una
    }

    /// What it did so far.
    pub fn counts(&self) -> SenderCounts {
        self.core.counts
    }

    fn note_sent(&mut self, now: Time) {
        if let Law::Vegas(law) = &mut self.law {
            self.core.sent_now().for_each(|number| law.on_sent(now, number));
        }
    }
}
