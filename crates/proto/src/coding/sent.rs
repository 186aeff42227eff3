//! What the coding layer has put into datagrams, and what it learns of them.

use crate::path::Carried;

/// What a datagram carried for the coding layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
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
    /// For sources and repairs, the coder waits until the symbols are decoded.
    fn is_awaited(self) -> bool {
        self == Sent::Window
    }
}
