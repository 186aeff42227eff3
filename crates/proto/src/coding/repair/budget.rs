//! The budgets that limit proactive repairs.

use ripstop_base::Time;

/// The budget saves up for at most this number of full packets.
///
/// Half the value refuses repairs for runs of losses on a path that lost nothing before. Double the value lets a flow that
/// was clean for long send twice as many repairs at once.
const BURST_PACKETS: f64 = 20.0;

/// A budget of repair bytes (a token bucket). Each source symbol sent adds tokens in proportion to
/// its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Repair bytes that each source byte adds.
    share: f64,
    /// Repair bytes that may be sent now.
    tokens: f64,
    /// Limit on `tokens`.
    burst: f64,
}

impl Budget {
    /// Creates a budget for packets of `packet` bytes. The budget starts with its limit times
    /// min(`share`, 1).
    pub(super) fn new(share: f64, packet: u32) -> Budget {
        let burst = BURST_PACKETS * f64::from(packet);
        Budget { share, tokens: share.min(1.0) * burst, burst }
    }

    /// Sets the length of the packets, bytes.
    pub(super) fn set_packet(&mut self, packet: u32) {
        self.burst = BURST_PACKETS * f64::from(packet);
        self.tokens = self.tokens.min(self.burst);
    }

    pub(super) fn earn(&mut self, bytes: u32) {
        self.tokens = (self.tokens + self.share * f64::from(bytes)).min(self.burst);
    }

    pub(super) fn allows(&self, bytes: u32) -> bool {
        self.tokens >= f64::from(bytes)
    }

    /// Takes a repair of `bytes` bytes from the budget. Probes of a silence leave without asking [`Budget::allows`], so
    /// the debt is limited too.
    pub(super) fn spend(&mut self, bytes: u32) {
        self.tokens = (self.tokens - f64::from(bytes)).max(-self.burst);
    }
}

/// While other packets wait, repairs for interactive packets take at most this part of the path's rate.
///
/// An interactive flow of 30 kbit/s is small on a fast path, but its repairs took a fifth of a path of 300 kbit/s. The
/// figures are the share of CUBIC inside beside 20 requests a second, at 500 kbit/s, 100 ms and 5 % loss: .78. Without a
/// limit .65, with double the value .73. With half the value .80, and one of ten requests takes 287 ms instead of 227.
const INTERACTIVE_PART: f64 = 0.0625;
/// Unused parts of the rate are kept for this time, s: requests come in groups.
///
/// Half the value refuses repairs of a group although the path has carried few. Double the value lets the repairs of a
/// group delay the packets that wait.
const KEPT_FOR: f64 = 0.25;
/// Least number of bytes that are kept, so that a slow path repairs at all: two small datagrams. Half the value is less
/// than a datagram. Double the value sends more repairs on a path of 50 kbit/s than [`INTERACTIVE_PART`] means.
const LEAST_KEPT: f64 = 400.0;
/// Headers of a repair's datagram, bytes: IPv4 and UDP (28), the packet's header and tag, and the repair's fields. Half the
/// value takes repairs of small packets for cheaper than they are. Double the value refuses some that have room.
const HEADERS: f64 = 60.0;

/// The part of the path's rate that repairs for interactive packets may take (a token bucket that fills with time).
#[derive(Clone, Copy, Debug)]
pub(super) struct PathPart {
    /// Bytes that may be sent now.
    tokens: f64,
    /// When the bucket was last filled.
    filled: Time,
    /// Whether the last repair was refused.
    pub(super) refused: bool,
}

impl PathPart {
    pub(super) fn new() -> PathPart {
        PathPart { tokens: LEAST_KEPT, filled: Time::ZERO, refused: false }
    }

    /// Whether a repair of `bytes` bytes may leave on a path of `rate` byte/s. `again`: its packets have a repair already.
    /// Such a repair leaves half of the bucket to packets without a repair.
    pub(super) fn take(&mut self, now: Time, bytes: u32, again: bool, rate: f64) -> bool {
        let most = (KEPT_FOR * INTERACTIVE_PART * rate).max(LEAST_KEPT);
        let more = now.since(self.filled).as_secs_f64() * INTERACTIVE_PART * rate;
        self.tokens = (self.tokens + more).min(most);
        self.filled = now;
        let cost = f64::from(bytes) + HEADERS;
        self.refused = self.tokens < cost + if again { 0.5 * most } else { 0.0 };
        if !self.refused {
            self.tokens -= cost;
        }
        !self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn repairs_take_a_part_of_the_rate() {
        let mut part = PathPart::new();
        let mut sent = 0;
        for ms in 0..10_000 {
            let now = Time::ZERO + Duration::from_millis(ms);
            sent += u32::from(part.take(now, 140, false, 32_000.0));
        }
        assert_eq!(sent, 101, "9.999 s at 2000 byte/s, and 400 bytes at the beginning, are 101 repairs of 200 bytes");
        assert!(part.refused);
    }

    #[test]
    fn a_second_repair_leaves_room_for_first_repairs() {
        let mut part = PathPart::new();
        let now = Time::ZERO + Duration::from_secs(1);
        let rate = 16.0 * 4.0 * 1000.0;
        assert_eq!([(); 4].map(|()| part.take(now, 140, true, rate)), [true, true, false, false]);
        assert_eq!([(); 4].map(|()| part.take(now, 140, false, rate)), [true, true, true, false]);
    }
}
