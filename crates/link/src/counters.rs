//! What a link has done so far.

use serde::Serialize;
use std::time::Duration;

/// Everything a link counts, from its start. Packets and bytes unless a name says otherwise; a copy
/// made by duplication is counted in `duplicated` alone.
///
/// `offered = refused_mtu + refused_policer + refused_queue + serialised` and
/// `serialised = lost_channel + lost_blackout + delivered` hold at every moment, and every count is
/// made at the time of the offer: `delivered` includes packets that are still on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Packets offered.
    pub offered: u64,
    /// Bytes offered.
    pub offered_bytes: u64,
    /// Packets larger than the MTU.
    pub refused_mtu: u64,
    /// Packets the policer refused.
    pub refused_policer: u64,
    /// Packets that found the queue full.
    pub refused_queue: u64,
    /// Packets that took their slot on the link.
    pub serialised: u64,
    /// Bytes that took their slot on the link, those that a block code adds not counted.
    pub serialised_bytes: u64,
    /// Packets lost by the loss model, or with a block of their units.
    pub lost_channel: u64,
    /// Packets among those that only a block code's losses took.
    pub lost_fec: u64,
    /// Packets lost in a blackout.
    pub lost_blackout: u64,
    /// Packets that arrive.
    pub delivered: u64,
    /// Bytes that arrive, copies not counted.
    pub delivered_bytes: u64,
    /// Delivered packets that arrive twice.
    pub duplicated: u64,
    /// Delivered packets with a flipped bit.
    pub corrupted: u64,
    /// Delivered packets that met congestion: the queue had no room for them within [`mark`](crate::LinkConfig::mark).
    pub congested: u64,
    /// Delivered packets that jitter delayed by more than 0 ns.
    pub jittered: u64,
    /// Delivered packets that reordering held back.
    pub held_back: u64,
    /// Delivered packets that arrive before one that was offered earlier.
    pub overtakes: u64,
    /// Units sent under a block code, padding and repairs included; fictive ones of an idle link are
    /// not counted.
    pub units_sent: u64,
    /// Units that the channel lost.
    pub units_lost: u64,
    /// Blocks that lost units, and no more than their code makes good.
    pub blocks_recovered: u64,
    /// Blocks that lost more units than their code makes good.
    pub blocks_lost: u64,
    /// Scheduled changes that have come to apply to some packet.
    pub changes_applied: u64,
    /// Most packets that ever waited at once, the one being serialised not counted.
    pub queue_max_packets: u64,
    /// Most bytes that ever waited at once, the packet being serialised not counted.
    pub queue_max_bytes: u64,
    /// Longest wait before serialisation began, in nanoseconds.
    pub wait_max_ns: u64,
    /// The queue integrated over time, in packet-nanoseconds: every packet's wait, added up.
    pub queue_packet_ns: u128,
    /// The queue integrated over time, in byte-nanoseconds.
    pub queue_byte_ns: u128,
}

impl Counters {
    /// Packets refused or lost, for whatever reason.
    pub fn not_delivered(&self) -> u64 {
        self.offered - self.delivered
    }

    /// The mean number of packets waiting over `elapsed` (Little's law); 0 when `elapsed` is zero.
    pub fn mean_queue_packets(&self, elapsed: Duration) -> f64 {
        per(self.queue_packet_ns, elapsed)
    }

    /// The mean number of bytes waiting over `elapsed`; 0 when `elapsed` is zero.
    pub fn mean_queue_bytes(&self, elapsed: Duration) -> f64 {
        per(self.queue_byte_ns, elapsed)
    }

    /// The mean wait before serialisation of the packets let in; zero when there were none.
    pub fn mean_wait(&self) -> Duration {
        let mean = self.queue_packet_ns.checked_div(u128::from(self.serialised)).unwrap_or(0);
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }
}

fn per(integral: u128, elapsed: Duration) -> f64 {
    if elapsed.is_zero() { 0.0 } else { integral as f64 / elapsed.as_nanos() as f64 }
}
