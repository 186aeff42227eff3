//! What decisions about repairs know of the path.

use crate::control::loss::Losses;
use std::time::Duration;

/// The properties of the path on which decisions about repairs depend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathView {
    /// Expected losses, for exact repairs.
    pub(crate) losses: Losses,
    /// Expected losses, for proactive repairs. The share is 0 on a clean path. The share is at most
    /// `View::codable` of the rate controller.
    pub(crate) proactive: Losses,
    /// Like `proactive`, for interactive packets. Such losses count for longer.
    pub(crate) sparse: Losses,
    /// Smoothed round-trip time.
    pub(crate) srtt: Duration,
    /// How long the ends wait for a symbol before they give up the symbol.
    pub(crate) deadline: Duration,
    /// Longest repair body that fits a datagram, bytes.
    pub(crate) room: u32,
    /// The time to send what waits at the suppliers at the path's rate, in round trips.
    pub(crate) waiting: f64,
    /// Number of full-size packets that the path carries in a round trip.
    pub(crate) packets: f64,
    /// The path's rate, byte/s.
    pub(crate) rate: f64,
}
