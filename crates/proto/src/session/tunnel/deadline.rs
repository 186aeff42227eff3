//! How long a symbol waits for its repairs.

use super::TunnelConfig;
use ripstop_base::Time;
use std::time::Duration;

/// The largest decrease of the deadline, s for each second.
///
/// When a queue has drained, the round-trip time falls at once. The symbols that this queue dropped have waited
/// for the long round trips, and their repairs are still under way. With half the value, a flow waits longer for a packet
/// that never comes. With double the value, more of these symbols are given up.
const FALLS: f64 = 0.25;
/// Least deadline while the round-trip time is unknown: handshake messages were lost, and the peer has not reported yet.
///
/// At 500 kbit/s, the queue of the first 32 packets takes .8 s. With half the value, slow paths of a second lose their
/// first packets. With double the value, a flow waits for twice as long if its first packets never come.
const FIRST: Duration = Duration::from_secs(4);

/// The deadline of all outstanding symbols. See [`TunnelConfig::deadline`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    value: Duration,
    /// The longest wait in the ingress queue. It follows the path at once: an inner TCP that has filled the queue must
    /// learn so.
    in_queue: Duration,
    /// When `value` was computed.
    at: Time,
}

impl Deadline {
    pub(super) fn new(now: Time) -> Deadline {
        Deadline { value: Duration::ZERO, in_queue: Duration::ZERO, at: now }
    }

    /// Computes the deadline from the path's MTU `mtu`, the smoothed round-trip time `srtt`, whether that is `known`, the path's rate
    /// `rate`, byte/s, and the time that repairs of the lost packets take at the present pace, `repairs`, s.
    pub(super) fn update(
        &mut self,
        now: Time,
        (config, mtu): (&TunnelConfig, u32),
        (srtt, known): (Duration, bool),
        (rate, repairs): (f64, f64),
    ) {
        let least = match (config.deadline, known) {
            (Some(_), _) => Duration::ZERO,
            (None, false) => FIRST,
            (None, true) => self.value.saturating_sub(now.since(self.at).mul_f64(FALLS)),
        };
        let value = config.kept(mtu, srtt, rate, repairs).max(least);
        *self = Deadline { value, in_queue: config.deadline_at(mtu, srtt, rate, 0.0), at: now };
    }

    /// The longest wait of a packet in the ingress queue.
    pub(super) fn in_queue(self) -> Duration {
        self.in_queue
    }

    pub(super) fn get(self) -> Duration {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::{BlockLength, BlockSettings, Code};

    #[test]
    fn the_deadline_rises_at_once_and_falls_slowly() {
        let config = TunnelConfig::default();
        let mut deadline = Deadline::new(Time::ZERO);
        let at = |seconds: u64, srtt: u64, repairs: f64, deadline: &mut Deadline| {
            deadline.update(
                Time::from_millis(1000 * seconds),
                (&config, 1500),
                (Duration::from_millis(srtt), seconds > 0),
                (1e7, repairs),
            );
            deadline.get().as_secs_f64()
        };
        assert_eq!(at(0, 100, 0.0, &mut deadline), 4.0, "the round-trip time is unknown");
        assert_eq!(at(1, 100, 0.0, &mut deadline), 3.75, "the first symbols still wait for their repairs");
        assert_eq!(at(1, 500, 0.0, &mut deadline), 4.0);
        assert_eq!(at(2, 100, 0.0, &mut deadline), 3.75);
        assert_eq!(at(6, 100, 0.0, &mut deadline), 2.75);
        assert_eq!(at(7, 100, 3.0, &mut deadline), 6.0, "twice the time of the repairs");
        assert_eq!(at(8, 100, 30.0, &mut deadline), 10.0);
        assert_eq!(at(60, 100, 0.0, &mut deadline), 1.0);
        let config = TunnelConfig { deadline: Some(Duration::from_millis(5)), ..TunnelConfig::default() };
        assert_eq!(at(61, 1000, 0.0, &mut deadline), 8.0);
        assert_eq!(at(62, 100, 3.0, &mut deadline), 7.75);
        assert_eq!(deadline.in_queue(), Duration::from_secs(1), "the queue follows the path at once");
        deadline.update(Time::from_millis(60_000), (&config, 1500), (Duration::from_secs(1), false), (1e7, 1.0));
        assert_eq!(deadline.get(), Duration::from_millis(5));
    }

    /// A block code repeats nothing, so the lost packets need no time for repairs.
    #[test]
    fn a_block_code_keeps_a_symbol_for_two_round_trips() {
        let code = Code::Block(BlockSettings { k: 8, n: BlockLength::Measured });
        let mut deadline = Deadline::new(Time::ZERO);
        let mut update = |deadline_s: Option<u64>, srtt: u64, repairs: f64| {
            let config =
                TunnelConfig { code, deadline: deadline_s.map(Duration::from_secs), ..TunnelConfig::default() };
            deadline.update(
                Time::from_millis(60_000),
                (&config, 1500),
                (Duration::from_millis(srtt), true),
                (1e7, repairs),
            );
            (deadline.get().as_millis(), deadline.in_queue().as_millis())
        };
        assert_eq!(update(None, 100, 5.0), (1_000, 1_000));
        assert_eq!(update(None, 4_000, 5.0), (8_000, 32_000));
        assert_eq!(update(Some(20), 4_000, 5.0), (20_000, 20_000));
    }
}
