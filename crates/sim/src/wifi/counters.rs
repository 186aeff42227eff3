//! What a station counts.

use serde::Serialize;

/// Counters of a station since the start of the run.
///
/// Each frame that a station senses is counted one time, in `received`, `lost_frames`, `too_weak`, `deaf`, `ignored` or
/// `collided`, at the latest when the frame ends there. So each frame adds to the sum of these six counters the number
/// of stations that sense it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StationCounters {
    /// TCP acknowledgements that entered the medium at this station. A relayed acknowledgement does not count again.
    pub acks_entered: u64,
    /// Data frames sent, broadcasts and retransmissions included.
    pub data_frames: u64,
    /// The part of `data_frames` that carries data of TCP or UDP.
    pub data_frames_with_data: u64,
    /// The part of `data_frames` that are XOR frames.
    pub xor_frames: u64,
    /// RTS, CTS and MAC ACK frames sent.
    pub control_frames: u64,
    /// Frames sensed and decoded, for this station or for others.
    pub received: u64,
    /// Frames that the station followed and could have decoded, but that a random loss destroyed.
    pub lost_frames: u64,
    /// Frames sensed that were too weak to decode.
    pub too_weak: u64,
    /// Frames missed because the station was sending.
    pub deaf: u64,
    /// Frames ignored because an earlier frame was stronger, at least by the capture ratio.
    pub ignored: u64,
    /// Frames destroyed by other frames.
    pub collided: u64,
    /// The part of `collided` with a packet for this station that it could have decoded without the other frames.
    pub collisions: u64,
    /// Failed attempts: the CTS or the MAC ACK did not come. An XOR frame counts one failure for each packet without
    /// MAC ACK.
    pub failures: u64,
    /// Packets that the MAC gave up at the retry limit. AODV keeps some of these packets and sends them again later.
    pub retry_drops: u64,
    /// Packets dropped because the interface queue was full.
    pub queue_drops: u64,
    /// Packets for this station that a random loss destroyed above the MAC.
    pub lost_packets: u64,
    /// Packets dropped because there was no route to their destination.
    pub route_drops: u64,
    /// Packets dropped because the link to their next hop was broken (AODV).
    pub break_drops: u64,
    /// Packets dropped because the buffer of packets that wait for a route was full (AODV).
    pub buffer_drops: u64,
    /// Packets dropped because they had waited too long for a route (AODV).
    pub expired_drops: u64,
    /// Packets dropped because they had passed the largest number of hops, or had come back to their source (AODV).
    pub loop_drops: u64,
    /// Packets received again, because an earlier MAC ACK was lost.
    pub duplicates: u64,
    /// Decoded RTS, data and XOR frames for this station that it could not answer. Another response was due, or the
    /// frame did not fit the exchange that the station was in.
    pub unanswered: u64,
    /// Frames in which a relayed packet was sent alone, because no partner waited. 0 without XOR coding.
    pub missed_partners: u64,
    /// How many times a free MAC found all packets in its queue held back (Cadence).
    pub held: u64,
    /// Held packets that left as partners in XOR frames (Cadence).
    pub free_rides: u64,
    /// Overheard frames in which the next hop passed on a packet that this station had sent (Cadence).
    pub overheard: u64,
    /// TCP acknowledgements lost in XOR frames. No MAC ACK was due for them, so they were not sent again (Cadence).
    pub rider_losses: u64,
    /// XOR frames for this station from which it could not decode its packet, because it did not know the other packet.
    pub undecodable: u64,
}

/// What the routing protocol of a station has counted since the start of the run. All counters are 0 with static
/// routing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RoutingCounters {
    /// Route requests that the station originated. Forwarded requests do not count.
    pub route_requests: u64,
    /// Route replies that the station originated.
    pub route_replies: u64,
    /// Route errors that the station sent.
    pub route_errors: u64,
    /// Packets that the MAC gave up at its retry limit. AODV takes each of them for a broken link.
    pub link_breaks: u64,
    /// The part of `link_breaks` after which the station kept the packet and repaired the route itself.
    pub repairs: u64,
    /// Discoveries that were given up.
    pub failed_discoveries: u64,
}
