//! A tunnel's state and counts at one moment, for people and metrics.

use super::Tunnel;
use crate::coding::{BlockCounts, ClassCounts, CodingCounts, ReceiveCounts, RepairCounts};
use crate::control::redundancy::Explanation;
use crate::packets::{HintCounts, InnerPacket, OrderCounts, PieceCounts, QueueDrops, SupplyCounts};
use crate::path::PathStatus;

/// One class of packets: its counts, and why it has the present number of repairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassStatus {
    /// What was sent.
    pub counts: ClassCounts,
    /// Whether packets behave as their DSCP or ports hint.
    pub hints: HintCounts,
    /// Why the class has the present number of proactive repairs.
    pub explanation: Explanation,
    /// Limit on repair bytes per source byte.
    pub max_overhead: f64,
    /// Proactive repairs that were due but not sent, because the budget was used up.
    pub over_budget: u64,
}

/// A tunnel's state at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The path to the peer.
    pub path: PathStatus,
    /// Bulk packets to the peer.
    pub bulk: ClassStatus,
    /// Interactive packets to the peer.
    pub interactive: ClassStatus,
    /// Number of packets, and number of bytes, in the ingress queue.
    pub backlog: (usize, usize),
    /// Number of outstanding symbols (see [`Tunnel::outstanding`]), and how many of these symbols
    /// are known to be lost.
    pub outstanding: (usize, usize),
    /// Three numbers at this end: missing symbols, repairs held for missing symbols, and packets
    /// that wait for earlier packets.
    pub receiving: (usize, usize, usize),
    /// What became of the packets that the user has sent.
    pub taken: SupplyCounts,
    /// Counts of the sending half.
    pub sent: CodingCounts,
    /// Packets that the ingress queue dropped.
    pub drops: QueueDrops,
    /// Repairs sent.
    pub repairs: RepairCounts,
    /// What the block code has sent; None if the code is not a block code.
    pub blocks: Option<BlockCounts>,
    /// Counts of the receiving half.
    pub received: ReceiveCounts,
    /// Counts of in-order delivery.
    pub order: OrderCounts,
    /// What became of the pieces of packets that were longer than the peer's tunnel MTU.
    pub pieces: PieceCounts,
    /// Symbols that did not hold a valid inner packet.
    pub malformed: u64,
}

impl<P: InnerPacket> Tunnel<P> {
    /// The recent loss of the direction that loses more, a share from 0 to 1. It covers what this end sent and what the
    /// peer sent.
    pub fn highest_loss(&self) -> f64 {
        self.path.highest_loss()
    }
}

/// The status of `tunnel`.
pub(super) fn of<P: InnerPacket>(tunnel: &Tunnel<P>) -> Status {
    let (order, pieces) = tunnel.delivery.counts();
    let (missing, held) = tunnel.coding.received().backlog();
    let path = tunnel.path_view(tunnel.now);
    let losses = tunnel.path.losses();
    let measured = (losses.proactive(tunnel.now), losses.proactive_interactive(tunnel.now).share);
    let [bulk, interactive] = tunnel.coding.explain(tunnel.now, &path, measured);
    let (sent, taken, repairs) = (tunnel.coding.counts(), tunnel.supply.counts(), tunnel.coding.repair_counts());
    Status {
        path: tunnel.path.status(tunnel.supply.backlog().1),
        bulk: ClassStatus {
            counts: sent.bulk,
            hints: taken.bulk,
            explanation: bulk,
            max_overhead: tunnel.config.max_overhead_bulk,
            over_budget: repairs.over_budget - repairs.over_budget_interactive,
        },
        interactive: ClassStatus {
            counts: sent.interactive,
            hints: taken.interactive,
            explanation: interactive,
            max_overhead: tunnel.config.max_overhead_interactive,
            over_budget: repairs.over_budget_interactive,
        },
        backlog: tunnel.supply.backlog(),
        outstanding: tunnel.coding.outstanding(),
        receiving: (missing, held, tunnel.delivery.waiting()),
        taken,
        sent,
        drops: tunnel.supply.drops(),
        repairs,
        blocks: tunnel.coding.block_counts(),
        received: tunnel.coding.received().counts(),
        order,
        pieces,
        malformed: tunnel.delivery.malformed(),
    }
}
