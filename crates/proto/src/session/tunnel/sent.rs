//! What the coding layer has put into datagrams, and what it learns of them.

use super::blocks::Blocks;
use super::repair::Repairs;
use super::sources::Sources;
use super::{Tunnel, TunnelEvent};
use crate::packets::InnerPacket;
use crate::path::{Carried, Outcome};
use std::collections::VecDeque;

/// What a datagram carried for the coding layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Source symbol `id`.
    Source(u64),
    /// An exact repair for the group with this number (see `repair/`).
    Exact(u64),
    /// The proactive repair with this number.
    Proactive(u64),
    /// A repair of a block.
    BlockRepair,
    /// A window announcement.
    Window,
}

impl Carried for Sent {
    /// For sources and repairs, the tunnel waits until the symbols are decoded.
    fn is_awaited(self) -> bool {
        self == Sent::Window
    }
}

/// Tells the part of the tunnel that supplied a datagram's content what became of the datagram.
///
/// Sets `announce` when a window announcement was lost, so that a new announcement is sent.
pub(super) fn apply_outcome<P: InnerPacket>(
    outcome: Outcome<Sent>,
    sources: &mut Sources<P>,
    repairs: &mut Repairs,
    announce: &mut bool,
    events: &mut VecDeque<TunnelEvent>,
    blocks: &mut Option<Blocks<P>>,
) {
    match outcome {
        Outcome::Received(Sent::Source(id)) | Outcome::Late(Sent::Source(id)) => sources.received(id),
        Outcome::Lost(Sent::Source(id)) => sources.lost(id),
        Outcome::Received(Sent::Exact(group)) => repairs.exact_settled(group, true),
        Outcome::Lost(Sent::Exact(group)) => repairs.exact_settled(group, false),
        Outcome::Received(Sent::Proactive(number)) => repairs.proactive_settled(number, true),
        Outcome::Lost(Sent::Proactive(number)) => repairs.proactive_settled(number, false),
        Outcome::Received(Sent::BlockRepair) => events.extend(Tunnel::<P>::note_block_fate(blocks, true)),
        Outcome::Lost(Sent::BlockRepair) => events.extend(Tunnel::<P>::note_block_fate(blocks, false)),
        Outcome::Lost(Sent::Window) => *announce = true,
        _ => {}
    }
}
