//! The names of a world's nodes, and handoffs: the packets that nodes pass to each other without a link between them.
//!
//! The module [`super`] describes the run loop; `drive` describes how handoffs are passed on.

use super::packet::{Body, EcnFlags, NetworkPacket};

/// A node, by kind. The number is the node's place in the world's list of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeId {
    /// A TCP flow with its two hosts.
    Tcp(u32),
    /// A source of UDP datagrams with its sink.
    Udp(u32),
    /// One end of a session, or a relay.
    Session(SessionId),
}

/// A node that runs a session, by kind. The number is the node's place in the world's list of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionId {
    /// One end of a tunnel, which exchanges typed packets.
    Tunnel(u32),
    /// A whole endpoint, which exchanges sealed bytes.
    Endpoint(u32),
    /// The TCP/NC coding layer below a sending TCP.
    NcSender(u32),
    /// The TCP/NC coding layer below a receiving TCP.
    NcReceiver(u32),
    /// A TCP/NC relay, which recodes combinations on their way.
    NcRelay(u32),
    /// The sending end of TCP/LT: the gateway for a download, the client for an upload.
    LtSender(u32),
    /// The receiving end of TCP/LT: the client for a download, the gateway for an upload.
    LtReceiver(u32),
}

/// A packet that one node passes to another at the same place and time.
///
/// Nodes never call each other. A node appends its handoffs to a queue, and the world passes them on after the node has
/// returned.
#[derive(Debug)]
pub(super) enum Handoff {
    /// A flow's packet enters this session.
    Enter(SessionId, Entering),
    /// A packet leaves a session, for the host of flow `flow`.
    Leave {
        /// The number of the flow.
        flow: u32,
        /// What the packet's headers say about congestion.
        flags: EcnFlags,
        /// The packet's content.
        body: Body,
    },
    /// A session puts a packet on a route.
    Send {
        /// The number of the route.
        route: u32,
        /// Whether the packet takes the route's way back.
        back: bool,
        /// The packet's size in bytes, IP headers included.
        bytes: u32,
        /// The packet's content.
        body: Body,
    },
    /// A packet has reached the end of a route that has no links.
    Arrive(NetworkPacket),
}

/// A flow's packet that is about to enter a session.
#[derive(Debug)]
pub(super) struct Entering {
    /// The number of the flow.
    pub(super) flow: u32,
    /// Whether the packet travels towards the flow's sender, as acknowledgements do.
    pub(super) back: bool,
    /// The session at the other end, where the packet comes out.
    pub(super) to: SessionId,
    /// The packet's size: IP bytes for a tunnel or an endpoint, payload bytes for a coding layer.
    pub(super) bytes: u32,
    /// Whether the other end delivers the packet as soon as it arrives, instead of in order.
    pub(super) immediate: bool,
    /// What the packet's headers say about congestion.
    pub(super) flags: EcnFlags,
    /// The packet's content.
    pub(super) body: Body,
}

/// Where the packets of a flow's hosts go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlet {
    /// Packets go onto the links of this route: data on the way there, acknowledgements on the way back.
    Route(u32),
    /// Data goes into this coding layer. The layer acknowledges in place of the receiving TCP, so no acknowledgement
    /// enters the layer.
    Coding(SessionId),
    /// Data goes onto the links of this route, which lead to a gateway. The gateway acknowledges, so the receiving TCP
    /// does not.
    Gateway(u32),
    /// Data goes into the session of a gateway's client. Acknowledgements go onto the way back of this route, which
    /// leads to the gateway.
    Client(SessionId, u32),
    /// Packets go into a session: data into the first end, acknowledgements into the second end.
    Session([SessionId; 2]),
}
