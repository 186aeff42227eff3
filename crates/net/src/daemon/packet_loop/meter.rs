//! The rates at which inner packets go to and come from a peer.

use super::{PacketLoop, PeerState};
use crate::os::heap::return_free_pages;
use ripstop_base::Time;
use std::time::Duration;

/// The least time between two readings of a meter. A rate is a mean over one to two such intervals. With half the value,
/// rates vary more from one reading to the next. With double the value, they follow a change later.
const INTERVAL: Duration = Duration::from_secs(1);

/// Two readings of the running totals of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    older: Reading,
    newer: Reading,
}

/// The totals at one time.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Time,
    sent: u64,
    received: u64,
}

impl Meter {
    pub(super) fn new(now: Time) -> Meter {
        let zero = Reading { at: now, sent: 0, received: 0 };
        Meter { older: zero, newer: zero }
    }

    /// Notes the totals of bytes sent and received.
    fn read(&mut self, now: Time, sent: u64, received: u64) {
        self.older = self.newer;
        // A new session counts from zero again.
        if sent < self.older.sent {
            self.older.sent = 0;
        }
        self.newer = Reading { at: now, sent, received };
    }

    /// The rates in each direction, bit/s. The totals are those of this moment.
    pub(super) fn rates(&self, now: Time, sent: u64, received: u64) -> (f64, f64) {
        let span = now.since(self.older.at).as_secs_f64().max(1e-3);
        let rate = |total: u64, before: u64| 8.0 * total.saturating_sub(before) as f64 / span;
        (rate(sent, self.older.sent), rate(received, self.older.received))
    }
}

impl PacketLoop {
    /// Reads the meters of all peers, once per [`INTERVAL`]. Returns freed memory to the system.
    pub(super) fn measure(&mut self, now: Time) {
        if now.since(self.measured) < INTERVAL {
            return;
        }
        self.measured = now;
        if self.heap.is_due(now, self.endpoint.memory()) {
            return_free_pages();
        }
        for index in 0..self.peers.len() {
            let (sent, received) = (self.sent_bytes(&self.peers[index]), self.peers[index].received.1);
            self.peers[index].meter.read(now, sent, received);
        }
    }

    /// Bytes of inner packets sent to the peer in the current session.
    pub(super) fn sent_bytes(&self, peer: &PeerState) -> u64 {
        self.endpoint.sent_source_bytes(peer.id).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_means_over_the_last_seconds() {
        let at = Time::from_millis;
        let mut meter = Meter::new(at(0));
        assert_eq!(meter.rates(at(0), 0, 0), (0.0, 0.0));
        assert_eq!(meter.rates(at(500), 1000, 2000), (16_000.0, 32_000.0));
        meter.read(at(1000), 2000, 0);
        meter.read(at(2000), 4000, 1000);
        assert_eq!(meter.rates(at(3000), 6000, 1000), (16_000.0, 4_000.0));
        // A new session begins.
        meter.read(at(3000), 500, 1000);
        assert_eq!(meter.rates(at(3000), 500, 1000).0, 4_000.0);
    }
}
