//! A tunnel's state and counts at one moment, for people and metrics.

use super::Tunnel;
use super::blocks::BlockCounts;
use super::repair::RepairCounts;
use crate::coding::ReceiveCounts;
use crate::control::redundancy::Explanation;
use crate::packets::{Class, Hint, InnerPacket, OrderCounts, PieceCounts, QueueDrops};
use crate::path::PathStatus;
use ripstop_base::counters;

counters! {
    /// Counts of the sending half.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SendCounts {
        /// Inner packets accepted from the user.
        pub taken: u64,
        /// Inner packets dropped because they were malformed.
        pub malformed: u64,
        /// Inner packets dropped because they were longer than the tunnel's MTU.
        pub too_long: u64,
        /// Inner packets that were longer than the tunnel's MTU and were sent in pieces.
        pub cut: u64 => ("packets_cut", "packets_cut_total"),
        /// Source symbols sent. Each piece of a packet is one.
        pub sources: u64 => ("sources_sent", "sent_sources_total"),
        /// Bytes of source symbols sent.
        pub source_bytes: u64,
        /// Bytes of repair symbols sent.
        pub repair_bytes: u64,
        /// Counts of bulk packets.
        pub bulk: ClassCounts,
        /// Counts of interactive packets.
        pub interactive: ClassCounts,
        /// Symbols that the sender gave up because memory was short and the peer was silent. They count as given up
        /// too.
        pub given_up_for_memory: u64 => ("given_up_for_memory", "given_up_for_memory_total"),
        /// Symbols that the peer had not decoded, according to its last report.
        pub peer_undecoded: u64,
        /// Repairs over a range of symbols (mostly proactive) that brought the peer nothing new, according to its
        /// last report.
        pub peer_redundant: u64 => ("repairs_wasted", "repairs_wasted_total"),
    }
}

counters! {
    /// Counts of one class of packets.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ClassCounts {
        /// Source symbols sent.
        pub packets: u64 => ("packets", "packets_total"),
        /// Bytes of these source symbols.
        pub bytes: u64 => ("packet_bytes", "packet_bytes_total"),
        /// Proactive repairs sent.
        pub repairs: u64 => ("repairs", "repairs_total"),
        /// Bytes of these proactive repairs.
        pub repair_bytes: u64 => ("repair_bytes", "repair_bytes_total"),
        /// Packets whose DSCP or ports hinted at this class.
        pub hinted: u64 => ("hinted"),
        /// Packets of this class among those with the hint. The others behaved like the other class.
        pub followed: u64 => ("hinted_followed"),
    }
}

impl SendCounts {
    /// The counts of a class.
    pub(super) fn of_class(&mut self, class: Class) -> &mut ClassCounts {
        match class {
            Class::Bulk => &mut self.bulk,
            Class::Interactive => &mut self.interactive,
        }
    }

    /// Counts a packet with this hint that got this class.
    pub(super) fn hinted(&mut self, hint: Hint, class: Class) {
        let hinted = match hint {
            Hint::None => return,
            Hint::Interactive => Class::Interactive,
            Hint::Bulk => Class::Bulk,
        };
        let counts = self.of_class(hinted);
        counts.hinted += 1;
        counts.followed += u64::from(class == hinted);
    }
}

/// One class of packets: its counts, and why it has the present number of repairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassStatus {
    /// The counts.
    pub counts: ClassCounts,
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
    /// Symbols that the sending half gave up without knowing that they were received.
    pub given_up: u64,
    /// Three numbers at this end: missing symbols, repairs held for missing symbols, and packets
    /// that wait for earlier packets.
    pub receiving: (usize, usize, usize),
    /// Counts of the sending half.
    pub sent: SendCounts,
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
    let (missing, held) = tunnel.receiver.backlog();
    let path = tunnel.path_view(tunnel.now);
    let losses = tunnel.path.losses();
    let measured = (losses.proactive(tunnel.now), losses.proactive_interactive(tunnel.now).share);
    let [bulk, interactive] = tunnel.repairs.explain(tunnel.now, &path, measured);
    let (counts, repairs) = (tunnel.counts, tunnel.repairs.counts());
    Status {
        path: tunnel.path.status(tunnel.ingress.backlog().1),
        bulk: ClassStatus {
            counts: counts.bulk,
            explanation: bulk,
            max_overhead: tunnel.config.max_overhead_bulk,
            over_budget: repairs.over_budget - repairs.over_budget_interactive,
        },
        interactive: ClassStatus {
            counts: counts.interactive,
            explanation: interactive,
            max_overhead: tunnel.config.max_overhead_interactive,
            over_budget: repairs.over_budget_interactive,
        },
        backlog: tunnel.ingress.backlog(),
        outstanding: (tunnel.sources.len(), tunnel.sources.lost_count()),
        given_up: tunnel.sources.given_up(),
        receiving: (missing, held, tunnel.delivery.waiting()),
        sent: counts,
        drops: tunnel.ingress.drops(),
        repairs,
        blocks: tunnel.blocks.as_ref().map(|blocks| blocks.counts()),
        received: tunnel.receiver.counts(),
        order,
        pieces,
        malformed: tunnel.delivery.malformed(),
    }
}
