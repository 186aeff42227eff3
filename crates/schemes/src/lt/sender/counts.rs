//! The counters of the sender.

/// The sender's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LtSenderCounts {
    /// Packets accepted from TCP, each counted one time.
    pub accepted: u64,
    /// Packets that TCP sent again although the sender has them.
    pub repeated: u64,
    /// Packets that came before an earlier packet, and are kept until this earlier packet comes.
    pub out_of_order: u64,
    /// Packets dropped because the sender holds as many packets as it may
    /// ([`LtConfig::most_held`](super::super::LtConfig::most_held)), or because the connection is not open.
    pub refused: u64,
    /// Blocks begun.
    pub blocks: u64,
    /// Blocks begun with fewer packets than a full block.
    pub flushed: u64,
    /// Blocks that are known to be decoded.
    pub decoded: u64,
    /// Requests to open the connection.
    pub opens: u64,
    /// Symbols sent.
    pub packets: u64,
    /// Bytes of the packets with symbols.
    pub bytes: u64,
    /// Symbols sent after the first round of their block.
    pub topped_up: u64,
    /// Packets that asked for an LT-ACK.
    pub requests: u64,
    /// LT-ACKs taken.
    pub lt_acks: u64,
    /// LT-ACKs dropped because they name packets or blocks that were never sent, or belong to
    /// another session.
    pub invalid: u64,
    /// Number of times that the sender's timer has ended without feedback.
    pub timeouts: u64,
    /// Acknowledgements for TCP.
    pub tcp_acks: u64,
    /// Acknowledgements for TCP that repeat the previous one, because a packet is missing.
    pub repeated_acks: u64,
    /// Acknowledgements for TCP that only update the window.
    pub window_updates: u64,
    /// Number of times that equation (11) gave 0, and the bound of 1 block applied.
    pub clamped: u64,
    /// The largest number of packets held at one time, packets in blocks included.
    pub most_held: u64,
}
