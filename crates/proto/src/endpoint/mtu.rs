//! The path's MTU, found by probes of the session itself (after RFC 8899): no ICMP needed.
//!
//! The search begins at the configured size, which most paths carry, and steps down when probes of that size are lost
//! while smaller datagrams arrive; now and then it looks whether a larger size has become possible.

use ripstop_base::Time;
use std::time::Duration;

/// Sizes that paths have (IP datagrams, bytes): Ethernet, PPPoE, tunnels, IPv6's least.
const SIZES: [u32; 10] = [9000, 1500, 1492, 1480, 1460, 1440, 1420, 1400, 1340, 1280];
/// Below this nothing is tried: IPv6 demands 1280, and IPv4 paths with less are gone.
const LEAST: u32 = 576;
/// So many probes of a size must be lost, with other datagrams received meanwhile.
const TRIES: u32 = 3;
/// Between probes of one size.
const PAUSE: Duration = Duration::from_millis(300);
/// Between looks upwards.
const UPWARDS: Duration = Duration::from_secs(600);

/// The search for one peer's path.
#[derive(Clone, Debug)]
pub(super) struct MtuSearch {
    /// Never above this: what was configured.
    ceiling: u32,
    /// The size in use.
    current: u32,
    /// Whether it is known to pass.
    confirmed: bool,
    /// A size above the current one that is being tried.
    candidate: Option<u32>,
    lost: u32,
    next_probe: Time,
}

impl MtuSearch {
    /// A search that begins at `ceiling`.
    pub(super) fn new(now: Time, ceiling: u32) -> MtuSearch {
        let ceiling = ceiling.max(LEAST);
        MtuSearch { ceiling, current: ceiling, confirmed: false, candidate: None, lost: 0, next_probe: now }
    }

    /// The size in use, bytes.
    pub(super) fn current(&self) -> u32 {
        self.current
    }

    /// The size to probe now, if it is time.
    pub(super) fn poll_probe(&mut self, now: Time) -> Option<u32> {
        if now < self.next_probe {
            return None;
        }
        if self.confirmed && self.candidate.is_none() {
            self.candidate = self.above();
        }
        let size = if self.confirmed { self.candidate } else { Some(self.current) };
        self.next_probe = now + if size.is_some() { PAUSE } else { UPWARDS };
        size
    }

    /// When to probe next.
    pub(super) fn next_probe(&self) -> Option<Time> {
        (!self.confirmed || self.above().is_some()).then_some(self.next_probe)
    }

    /// A probe of `size` bytes has arrived, or is lost. True when the size in use changed.
    pub(super) fn settled(&mut self, now: Time, size: u32, received: bool) -> bool {
        if received {
            let larger = size > self.current;
            if size >= self.current {
                self.current = size;
                self.confirmed = true;
                self.candidate = None;
                self.lost = 0;
                self.next_probe = now + UPWARDS;
            }
            return larger;
        }
        if size != self.candidate.unwrap_or(self.current) {
            return false;
        }
        self.lost += 1;
        if self.lost < TRIES {
            return false;
        }
        self.lost = 0;
        if self.candidate.take().is_some() {
            self.next_probe = now + UPWARDS;
            return false;
        }
        let below = SIZES.iter().copied().find(|size| *size < self.current).unwrap_or(LEAST);
        let changed = below < self.current;
        self.current = below;
        self.confirmed = false;
        self.next_probe = now;
        changed
    }

    fn above(&self) -> Option<u32> {
        let next = SIZES.iter().rev().copied().find(|size| *size > self.current).unwrap_or(self.ceiling);
        (self.current < self.ceiling).then_some(next.min(self.ceiling))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches on a path that carries up to `mtu` bytes, each probe lost by chance in addition with one in `loss`.
    fn search(ceiling: u32, mtu: u32, seconds: u64) -> MtuSearch {
        let mut search = MtuSearch::new(Time::ZERO, ceiling);
        for ms in 0..seconds * 1000 {
            let now = Time::from_millis(ms);
            if let Some(size) = search.poll_probe(now) {
                search.settled(now, size, size <= mtu);
            }
        }
        search
    }

    #[test]
    fn finds_the_largest_size_that_passes() {
        assert_eq!(search(1500, 1500, 1).current(), 1500);
        assert_eq!(search(1500, 1400, 20).current(), 1400);
        assert_eq!(search(1500, 1450, 20).current(), 1440);
        assert_eq!(search(1500, 600, 20).current(), LEAST);
        assert_eq!(search(100, 1500, 1).current(), LEAST);
    }

    #[test]
    fn looks_upwards_now_and_then() {
        let mut s = search(1500, 1400, 20);
        assert!(s.next_probe().is_some());
        let mut at = s.next_probe().unwrap();
        for _ in 0..20 {
            if let Some(size) = s.poll_probe(at) {
                s.settled(at, size, true);
            }
            at = s.next_probe().unwrap_or(at);
        }
        assert_eq!(s.current(), 1500);
        assert_eq!(s.next_probe(), None, "nothing is above the ceiling");
    }
}
