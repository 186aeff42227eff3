//! Estimates the losses of the peer's direction from the numbers of the peer's datagrams.
//!
//! The reports about this end's datagrams come in that direction, so these losses say for how long this end may wait for
//! a report.

use crate::control::loss::Losses;

/// The estimates cover about this number of recent datagrams of the peer.
///
/// With half the value, the estimates vary more. With double the value, they follow a change of the path later; a
/// receiver that only reports sends this number in about 30 s.
const MEMORY: f64 = 600.0;

/// The recent losses of the peer's direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerLosses {
    /// Datagrams lost, datagrams sent, and runs of losses, since the session began.
    totals: (u64, u64, u64),
    /// The same for the recent datagrams.
    lost: f64,
    sent: f64,
    runs: f64,
}

impl PeerLosses {
    /// Takes the totals since the session began: datagrams that have not arrived, datagrams sent, and runs of losses.
    ///
    /// A datagram that arrives late lowers the first total, so reordering counts as a loss for a short time only. All totals
    /// fall when the peer tells that datagrams were too large for its path.
    pub(crate) fn update(&mut self, lost: u64, sent: u64, runs: u64) {
        let since = |now: u64, then: u64| now as f64 - then as f64;
        self.sent = (self.sent + since(sent, self.totals.1)).max(0.0);
        self.lost = (self.lost + since(lost, self.totals.0)).max(0.0);
        self.runs = (self.runs + since(runs, self.totals.2)).max(0.0);
        self.totals = (lost, sent, runs);
        if self.sent > MEMORY {
            let keep = MEMORY / self.sent;
            self.sent *= keep;
            self.lost *= keep;
            self.runs *= keep;
        }
    }

    /// The share of the peer's datagrams lost, and the mean length of a run of losses, at least 1.
    pub(crate) fn get(&self) -> Losses {
        Losses { share: self.lost / self.sent.max(1.0), burst: (self.lost / self.runs.max(1.0)).max(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_datagrams_count() {
        let mut peer = PeerLosses::default();
        assert_eq!(peer.get(), Losses { share: 0.0, burst: 1.0 });
        peer.update(100, 500, 10);
        assert_eq!(peer.get(), Losses { share: 0.2, burst: 10.0 });
        peer.update(100, 5_000, 10);
        assert!(peer.get().share < 0.03, "{peer:?}");
    }

    #[test]
    fn late_datagrams_are_no_losses() {
        let mut peer = PeerLosses::default();
        peer.update(8, 100, 2);
        peer.update(0, 100, 2);
        assert_eq!(peer.get(), Losses { share: 0.0, burst: 1.0 });
    }
}
