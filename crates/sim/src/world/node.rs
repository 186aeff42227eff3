//! The nodes of a world, by kind and number, and what passes between two of them at one moment.

use super::packet::{Body, NetworkPacket};

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeId {
    /// A TCP flow with its two hosts.
    Tcp(u32),
    /// A source of UDP datagrams with its sink.
    Udp(u32),
    /// A session.
    Session(SessionId),
}

/// A node that is one end of a session, or a relay of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionId {
    /// An end of a tunnel: typed packets.
    Tunnel(u32),
    /// A whole endpoint: sealed bytes.
    Endpoint(u32),
    /// The coding layer below a sending TCP.
    NcSender(u32),
    /// The coding layer below a receiving TCP.
    NcReceiver(u32),
    /// A node on the way that codes anew.
    NcRelay(u32),
}

/// Something that one node hands to another at the same place and moment. Nodes never call each other: the world takes the
/// next handoff when the node that wrote it has returned.
#[derive(Debug)]
pub(super) enum Handoff {
    /// A packet of a flow enters a session.
    Enter(SessionId, Entering),
    /// A packet of flow `flow` comes out of a session.
    Leave {
        /// The number of the flow.
        flow: u32,
        /// What it is.
        body: Body,
    },
    /// A packet has come to the end of a route without a link.
    Arrive(NetworkPacket),
}

/// A packet of a flow on its way into a session.
#[derive(Debug)]
pub(super) struct Entering {
    /// The number of the flow.
    pub(super) flow: u32,
    /// Whether it is for the flow's sender.
    pub(super) back: bool,
    /// The session at the other end.
    pub(super) to: SessionId,
    /// Its size: IP bytes for a tunnel or an endpoint, bytes of payload for a coding layer.
    pub(super) bytes: u32,
    /// Whether it is delivered as soon as it is there, and not in order.
    pub(super) immediate: bool,
    /// What it is.
    pub(super) body: Body,
}

/// Where what a host sends goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlet {
    /// Onto the links of this route: data on its way there, acknowledgements on its way back.
    Route(u32),
    /// Into a coding layer, data only: the layer acknowledges for the receiver.
    Coding(SessionId),
    /// Into the two ends of a session: data into the first, acknowledgements into the second.
    Session([SessionId; 2]),
}
