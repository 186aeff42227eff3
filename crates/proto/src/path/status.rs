//! A path's state and counts at one moment, for people and metrics.

use super::{Carried, Path, PathCounts, ReceivedCounts};
use crate::control::loss::Losses;
use crate::control::rate::View;
use std::time::Duration;

/// A path's state at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathStatus {
    /// The rate controller's view of the path to the peer.
    pub view: View,
    /// Pacing rate, byte/s.
    pub pacing_rate: f64,
    /// Limit on the bytes in flight.
    pub window: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Estimated share of datagrams to the peer that are lost, from all causes. At the beginning of a session it is a guess.
    pub loss: f64,
    /// The same from what was measured alone ([`LossEstimator::measured`](crate::control::loss::LossEstimator::measured)).
    pub measured_loss: f64,
    /// Datagrams to the peer that were lost because they were longer than the path carries. They do not count as losses.
    pub too_large: u64,
    /// Estimated mean length of a run of losses to the peer, packets.
    pub mean_burst: f64,
    /// The losses from the peer, over its last 600 datagrams or so.
    pub losses_from_peer: Losses,
    /// Two counts of datagrams to the peer: datagrams whose fate is known, and lost datagrams.
    pub settled: (u64, u64),
    /// Datagrams declared lost, reports included. The number never falls.
    pub lost: u64,
    /// Datagrams declared lost that arrived after all.
    pub spurious: u64,
    /// Counts of the datagrams sent.
    pub sent: PathCounts,
    /// Counts of the datagrams received.
    pub received: ReceivedCounts,
}

impl<C: Carried> Path<C> {
    /// The state of the path while `waiting` bytes wait to be sent.
    pub(crate) fn status(&self, waiting: usize) -> PathStatus {
        let (lost, spurious) = self.history.losses();
        PathStatus {
            view: self.rate.view(),
            pacing_rate: self.rate.pacing_rate(waiting),
            window: self.rate.window(),
            in_flight: self.history.in_flight(),
            srtt: self.history.srtt(),
            loss: self.losses.get().expected(),
            measured_loss: self.losses.get().measured(),
            too_large: self.too_large.total(),
            mean_burst: self.losses.get().mean_burst(),
            losses_from_peer: self.received.losses(),
            settled: self.losses.get().totals(),
            lost,
            spurious,
            sent: self.counts,
            received: self.received.counts(),
        }
    }

    /// The recent loss of the direction that loses more, a share from 0 to 1. It covers what this end sent and what the
    /// peer sent.
    pub(crate) fn highest_loss(&self) -> f64 {
        self.losses.get().expected().max(self.received.losses().share)
    }
}
