//! The rates at which inner packets go to and come from a peer.

use super::PeerState;
use ripstop_base::Time;
use ripstop_proto::endpoint::Endpoint;
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

/// Reads the meters of all peers.
#[derive(Debug)]
pub(super) struct Meters {
    /// When the meters were last read.
    last: Time,
}

impl Meters {
    pub(super) fn new(now: Time) -> Meters {
        Meters { last: now }
    }

    /// Reads the meters, once per [`INTERVAL`]. Returns whether it did.
    pub(super) fn read(&mut self, now: Time, endpoint: &Endpoint, peers: &mut [PeerState]) -> bool {
        let is_due = now.since(self.last) >= INTERVAL;
        if is_due {
            self.last = now;
            for peer in peers {
                let (sent, received) = (sent_bytes(endpoint, peer), peer.counts.received_bytes);
                peer.meter.read(now, sent, received);
            }
        }
        is_due
    }
}

/// Bytes of inner packets sent to the peer in the current session.
pub(super) fn sent_bytes(endpoint: &Endpoint, peer: &PeerState) -> u64 {
    endpoint.sent_source_bytes(peer.id).unwrap_or(0)
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
