//! The messages of AODV (RFC 3561, section 5): route requests, route replies and route errors.

use ripstop_base::Time;
use std::time::Duration;

/// IPv4 header, bytes.
const IP_HEADER: u32 = 20;

/// A message of the routing protocol.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::wifi) enum Message {
    Request(RouteRequest),
    Reply(RouteReply),
    Error(RouteError),
}

/// A route request (RREQ). The originator broadcasts the request. Stations that cannot answer the request broadcast it
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wifi) struct RouteRequest {
    /// The number of the request. Each originator numbers its own requests.
    pub(in crate::wifi) id: u32,
    pub(in crate::wifi) originator: u32,
    pub(in crate::wifi) originator_sequence: u32,
    pub(in crate::wifi) destination: u32,
    /// The smallest sequence number that a route may have to answer the request.
    pub(in crate::wifi) destination_sequence: u32,
    /// Hops from the originator to the station that receives the request.
    pub(in crate::wifi) hops: u32,
    /// How many more times the request may be sent.
    pub(in crate::wifi) time_to_live: u32,
    /// When the originator sent the request.
    pub(in crate::wifi) since: Time,
}

/// A route reply (RREP). The reply travels hop by hop to the originator of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wifi) struct RouteReply {
    /// The originator of the request.
    pub(in crate::wifi) originator: u32,
    /// The station that the route leads to.
    pub(in crate::wifi) destination: u32,
    pub(in crate::wifi) destination_sequence: u32,
    /// Hops from the station that receives the reply to the destination.
    pub(in crate::wifi) hops: u32,
    /// How long the route may be used.
    pub(in crate::wifi) lifetime: Duration,
    /// How many more times the reply may be sent.
    pub(in crate::wifi) time_to_live: u32,
    /// When the originator sent the request.
    pub(in crate::wifi) since: Time,
}

/// A route error (RERR): destinations that the sender does not reach any more, each with the sequence number of the
/// lost route. The error is broadcast to neighbours, and never forwarded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::wifi) struct RouteError {
    pub(in crate::wifi) unreachable: Vec<(u32, u32)>,
}

impl Message {
    /// The size of the message with its IP header, bytes.
    pub(in crate::wifi) fn bytes(&self) -> u32 {
        IP_HEADER
            + match self {
                Message::Request(_) => 28,
                Message::Reply(_) => 24,
                Message::Error(error) => 4 + 8 * error.unreachable.len() as u32,
            }
    }
}
