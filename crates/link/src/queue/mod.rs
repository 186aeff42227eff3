//! The packets that wait for serialisation, and the queue disciplines that manage them.

mod fair;
mod pie;
mod waiting;

pub(crate) use fair::{Entry, FairQueue, Taken};
pub(crate) use pie::Pie;
pub(crate) use waiting::{Waiting, has_room};

/// What active queue management does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The packet passes.
    Pass,
    /// The packet passes, marked with Congestion Experienced.
    Mark,
    /// The packet is dropped.
    Drop,
}
