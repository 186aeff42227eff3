//! What a datagram carried, and what became of it.

/// What a datagram carried. `C` names the content that the layer above has supplied, such as a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content<C> {
    /// Something of the layer above.
    Carried(C),
    /// A probe with this number of padding bytes.
    Probe(u32),
    /// A probe with this number of padding bytes that is longer than the path's MTU in use. Its loss says nothing about other
    /// datagrams.
    LargerProbe(u32),
    /// A probe that tells the peer this number of datagrams that the path was too small for (see `too_large.rs`).
    TooLarge(u64),
    /// A report, the end of the session, a challenge or an answer. Such a datagram does not ask for a
    /// report.
    Unasking,
    /// Nothing: the number was skipped (see `skips.rs`).
    Skipped,
}

/// The name of a datagram's content in the layer above the path.
pub(crate) trait Carried: Copy {
    /// Whether the path waits for a report of this datagram itself. Otherwise the layer above knows for how long reports
    /// are awaited: for symbols, until they are decoded.
    fn is_awaited(self) -> bool;
}

impl<C: Carried> Content<C> {
    /// Whether the path waits for a report of this datagram itself.
    pub(crate) fn is_awaited(self) -> bool {
        match self {
            Content::Carried(carried) => carried.is_awaited(),
            Content::Probe(_) | Content::LargerProbe(_) | Content::TooLarge(_) => true,
            Content::Unasking | Content::Skipped => false,
        }
    }
}

impl<C> Content<C> {
    /// Whether the datagram asks for a report. A skipped number that a peer acknowledges all the same counts as a datagram
    /// that asks.
    pub(crate) fn asks(&self) -> bool {
        !matches!(self, Content::Unasking)
    }
}

/// What has become known about a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome<C> {
    /// The datagram arrived.
    Received(C),
    /// The datagram is declared lost.
    Lost(C),
    /// The datagram was declared lost, but has arrived.
    Late(C),
}

#[cfg(test)]
impl Carried for () {
    fn is_awaited(self) -> bool {
        false
    }
}
