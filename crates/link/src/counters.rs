//! The counters of a link.

use serde::Serialize;
use std::time::Duration;

/// All counters of a link since its start. A copy made by duplication is counted only in
/// `duplicated`.
///
/// Two equations hold at every moment: `offered = refused_mtu + refused_policer + refused_queue +
/// dropped_aqm + serialised + waiting` and `serialised = lost_channel + lost_blackout + delivered`.
/// A packet is counted when its fate is decided, so `delivered` includes packets that have not
/// arrived yet. `waiting` stands for the packets whose fate is not decided yet. There are none unless
/// the queue discipline is CoDel or FQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkCounters {
    /// Packets offered.
    pub offered: u64,
    /// Bytes offered.
    pub offered_bytes: u64,
    /// Packets refused because they were larger than the MTU.
    pub refused_mtu: u64,
    /// Packets that the policer refused.
    pub refused_policer: u64,
    /// Packets refused because the queue was full.
    pub refused_queue: u64,
    /// Packets dropped by the queue discipline (CoDel, PIE or FQ) to keep the queue short.
    pub dropped_aqm: u64,
    /// ECN-capable packets that the queue discipline marked instead of dropping them.
    pub marked_aqm: u64,
    /// Packets that FQ sent after a packet that had been offered later.
    pub overtaken_in_queue: u64,
    /// Packets serialised, that is, sent on the link. Some of them are lost later.
    pub serialised: u64,
    /// Bytes serialised, without the repair units and padding of a block code.
    pub serialised_bytes: u64,
    /// Packets lost by the loss model, or (under a block code, [`Fec`](crate::Fec)) because a block
    /// of their units was lost.
    pub lost_channel: u64,
    /// Packets of `lost_channel` that were lost only because of a block: the loss model for packets
    /// would have let them pass.
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
    /// Delivered packets that met congestion as the setting [`mark`](crate::LinkConfig::mark)
    /// defines it. Packets that are not ECN-capable count too.
    pub congested: u64,
    /// Delivered packets that jitter delayed by more than 0 ns.
    pub jittered: u64,
    /// Delivered packets that reordering held back, so that others could overtake them.
    pub held_back: u64,
    /// Delivered packets that arrive before a packet that was offered earlier.
    pub overtakes: u64,
    /// Units sent under a block code, including padding and repair units. Steps that a two-state
    /// chain makes while the link is idle (see [`Fec`](crate::Fec)) are not counted.
    pub units_sent: u64,
    /// Units that the channel lost.
    pub units_lost: u64,
    /// Blocks that lost units, but no more than the block code repairs.
    pub blocks_recovered: u64,
    /// Blocks that lost more units than the block code repairs.
    pub blocks_lost: u64,
    /// Scheduled changes that apply at the moment when the last bit of the latest offered packet
    /// leaves. If that packet was refused, the moment when the link is free again counts instead.
    pub changes_applied: u64,
    /// Steps of the rate trace that have begun when the last bit of the latest serialised packet
    /// leaves, the first step not counted. Without a rate trace, changes of the schedule count.
    pub rate_steps: u64,
    /// Largest number of waiting packets. The packet being serialised is not counted.
    pub queue_max_packets: u64,
    /// Largest number of waiting bytes. The packet being serialised is not counted.
    pub queue_max_bytes: u64,
    /// Longest wait before serialisation began, in nanoseconds.
    pub wait_max_ns: u64,
    /// Queue length integrated over time, in packet-nanoseconds: the sum of all packets' waiting
    /// times.
    pub queue_packet_ns: u128,
    /// Queue length integrated over time, in byte-nanoseconds: the sum of each packet's size times
    /// its waiting time.
    pub queue_byte_ns: u128,
}

impl LinkCounters {
    /// Packets refused or lost, for any reason.
    pub fn not_delivered(&self) -> u64 {
        self.offered - self.delivered
    }

    /// Mean number of waiting packets during the time `elapsed` since the start (Little's law); 0
    /// when `elapsed` is zero.
    pub fn mean_queue_packets(&self, elapsed: Duration) -> f64 {
        per(self.queue_packet_ns, elapsed)
    }

    /// Mean number of waiting bytes during the time `elapsed` since the start; 0 when `elapsed` is
    /// zero.
    pub fn mean_queue_bytes(&self, elapsed: Duration) -> f64 {
        per(self.queue_byte_ns, elapsed)
    }

    /// Mean wait before serialisation of the packets that were not refused; zero when there were
    /// none.
    pub fn mean_wait(&self) -> Duration {
        let mean = self.queue_packet_ns.checked_div(u128::from(self.serialised)).unwrap_or(0);
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }
}

/// `integral` divided by `elapsed` in nanoseconds; 0 if `elapsed` is zero.
fn per(integral: u128, elapsed: Duration) -> f64 {
    if elapsed.is_zero() { 0.0 } else { integral as f64 / elapsed.as_nanos() as f64 }
}
