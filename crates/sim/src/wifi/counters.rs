//! What a station counts.

use serde::Serialize;

/// Counters of a station since the start of the run.
///
/// Each frame that a station senses ends as one of `received`, `too_weak`, `deaf`, `ignored`, `collided` or
/// `under_way`. So the sum of these over all stations is the sum, over all frames sent, of the stations that sense them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StationCounters {
    /// Data frames sent, broadcasts and retransmissions included.
    pub data_frames: u64,
    /// Of these, frames that carry data of TCP or UDP, and not only an acknowledgement.
    pub data_frames_with_data: u64,
    /// Of these, XOR frames.
    pub xor_frames: u64,
    /// RTS, CTS and MAC ACK frames sent.
    pub control_frames: u64,
    /// Frames sensed and decoded, for this station or for others.
    pub received: u64,
    /// Frames sensed that were too weak to decode.
    pub too_weak: u64,
    /// Frames missed because the station was sending.
    pub deaf: u64,
    /// Frames ignored beside a frame that was stronger by the capture ratio.
    pub ignored: u64,
    /// Frames destroyed by other frames.
    pub collided: u64,
    /// Of these, frames with a packet for this station, which it could have decoded without the other frames.
    pub collisions: u64,
    /// Exchanges without the answer that the station waited for: a CTS, or a MAC ACK.
    pub failures: u64,
    /// Packets dropped at the retry limit. AODV keeps some of them and sends them again later.
    pub retry_drops: u64,
    /// Packets dropped by the full interface queue.
    pub queue_drops: u64,
    /// Packets dropped because no way leads to their destination.
    pub route_drops: u64,
    /// Packets dropped because the link to their next hop was broken (AODV).
    pub break_drops: u64,
    /// Packets dropped by the full buffer of packets that wait for a route (AODV).
    pub buffer_drops: u64,
    /// Packets dropped after the longest wait for a route (AODV).
    pub expired_drops: u64,
    /// Packets dropped after the largest number of hops, or because they came back to their source (AODV).
    pub loop_drops: u64,
    /// Packets received a second time, because a MAC ACK was lost.
    pub duplicates: u64,
    /// Data frames for this station that it could not answer, because another answer was due.
    pub unanswered: u64,
    /// Frames with a packet from one neighbour for another that were sent alone, because no partner waited.
    pub missed_partners: u64,
    /// Times at which a free MAC found that all packets in its queue were held (Cadence).
    pub held: u64,
    /// Frames in which the next hop passed a packet of this station on, overheard (Cadence).
    pub overheard: u64,
    /// TCP acknowledgements lost in an XOR frame, for which no MAC ACK was due (Cadence).
    pub rider_losses: u64,
    /// XOR frames that this station received and could not decode, because it lacked the other packet.
    pub undecodable: u64,
}

/// What the routing protocol of a station has counted since the start of the run. All 0 with static routing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RoutingCounters {
    /// Route requests of the station's own. Requests that it forwards do not count.
    pub route_requests: u64,
    /// Route replies of the station's own.
    pub route_replies: u64,
    /// Route errors that the station sent.
    pub route_errors: u64,
    /// Packets that the MAC dropped at its retry limit, each a sign of a broken link.
    pub link_breaks: u64,
    /// Of these, packets that the station kept, to repair the route itself.
    pub repairs: u64,
    /// Discoveries that were given up.
    pub failed_discoveries: u64,
}
