//! The kinds of packets that events of `tunnel` and `endpoint` have in common.

use ripstop_proto::wire::{Kind, SymbolKind};

/// The kind that an event brings: the lower half of its byte, and for some kinds the upper half too. None: the event brings
/// no packet, or one that only one of the targets knows.
pub(super) fn common_kind(event: u8) -> Option<Kind> {
    Some(match (event % 16, event >> 4) {
        (0, 12) => Kind::Source(SymbolKind::Piece),
        (0, _) => Kind::Source(SymbolKind::Packet),
        (1, _) => Kind::RepairBySeed,
        (2, _) => Kind::RepairExplicit,
        (3, 12) => Kind::PathReport,
        (3, 13) => Kind::SymbolReport,
        (3, _) => Kind::Report,
        (4, _) => Kind::Window,
        (5, _) => Kind::Probe,
        (6, _) => Kind::Close,
        _ => return None,
    })
}
