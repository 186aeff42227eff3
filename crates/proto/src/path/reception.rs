//! What the receiving host knows about the arrival of a packet.

use std::time::Duration;

/// What the receiving host knows about the arrival of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reception {
    /// Whether the packet was marked Congestion Experienced (RFC 3168).
    pub ce: bool,
    /// How long the packet has waited in this host until the session took it. The estimates of delays and rates
    /// do not count this time as a delay of the path.
    pub waited: Duration,
}
