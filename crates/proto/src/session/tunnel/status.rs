//! What a tunnel is doing, for people and metrics.

use super::Tunnel;
use super::ingress::QueueDrops;
use super::inner::InnerPacket;
use super::order::OrderCounts;
use super::receive::ReceiveCounts;
use super::repair::RepairCounts;
use crate::control::rate::View;
use std::time::Duration;

/// What the sending half did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounts {
    /// InnerPacket packets taken in.
    pub taken: u64,
    /// InnerPacket packets that were malformed.
    pub malformed: u64,
    /// InnerPacket packets longer than the tunnel's MTU.
    pub too_long: u64,
    /// Source symbols sent.
    pub sources: u64,
    /// Their bytes.
    pub source_bytes: u64,
    /// Bytes of repair symbols sent.
    pub repair_bytes: u64,
    /// Datagrams sent, of all kinds.
    pub datagrams: u64,
    /// Their bytes, IP and UDP headers included.
    pub bytes: u64,
    /// Times that everything in flight was given up because nothing was heard.
    pub silences: u64,
    /// Probes sent because the last datagrams had no report for a little more than a round trip.
    pub tail_probes: u64,
    /// Symbols that the peer had not decoded at its last report.
    pub peer_undecoded: u64,
    /// Datagrams that reached the peer with Congestion Experienced, by its last report.
    pub peer_marked: u64,
    /// Repairs sent ahead for bulk that brought the peer nothing new.
    pub peer_redundant: u64,
}

/// A tunnel's state at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The rate controller's view of the path to the peer.
    pub path: View,
    /// Rate of sending, byte/s.
    pub pacing_rate: f64,
    /// Bytes that may be in flight, and that are.
    pub window: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Estimated loss towards the peer, all causes.
    pub loss: f64,
    /// Estimated mean length of its bursts, packets.
    pub mean_burst: f64,
    /// Datagrams settled, and lost, towards the peer.
    pub settled: (u64, u64),
    /// Datagrams taken for lost that arrived after all.
    pub spurious: u64,
    /// Packets and bytes waiting on the way in.
    pub backlog: (usize, usize),
    /// Symbols outstanding, and those of them known to be lost.
    pub outstanding: (usize, usize),
    /// Symbols the sending half gave up.
    pub given_up: u64,
    /// Symbols not decoded here, repairs held for them, and packets held for order.
    pub receiving: (usize, usize, usize),
    /// What the sending half did.
    pub sent: SendCounts,
    /// What the way in dropped.
    pub drops: QueueDrops,
    /// Repairs sent.
    pub repairs: RepairCounts,
    /// What the receiving half did.
    pub received: ReceiveCounts,
    /// What the way out did.
    pub order: OrderCounts,
}

pub(super) fn of<P: InnerPacket>(tunnel: &Tunnel<P>) -> Status {
    let (received, order) = tunnel.receiver.counts();
    Status {
        path: tunnel.rate.view(),
        pacing_rate: tunnel.rate.pacing_rate(tunnel.ingress.backlog().1),
        window: tunnel.rate.window(),
        in_flight: tunnel.sent_history.in_flight(),
        srtt: tunnel.sent_history.srtt(),
        loss: tunnel.loss.expected(),
        mean_burst: tunnel.loss.mean_burst(),
        settled: tunnel.loss.totals(),
        spurious: tunnel.sent_history.losses().1,
        backlog: tunnel.ingress.backlog(),
        outstanding: (tunnel.sources.len(), tunnel.sources.lost_count()),
        given_up: tunnel.sources.given_up(),
        receiving: tunnel.receiver.backlog(),
        sent: tunnel.counts,
        drops: tunnel.ingress.drops(),
        repairs: tunnel.repairs.counts(),
        received,
        order,
    }
}
