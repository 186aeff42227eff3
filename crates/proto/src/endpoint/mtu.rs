//! Path MTU discovery with the tunnel session's own probes, after RFC 8899. The search needs no
//! ICMP.
//!
//! A probe is a datagram that is padded to the size to be tested. The search begins at the
//! configured size, which most paths carry. A size is too large when three probes of this size in a
//! row are lost, or more on a path that loses many datagrams of all sizes. If the size in use is too
//! large, the search goes down to [`BASE`], so that traffic flows again soon. If longer datagrams
//! arrive meanwhile, the search goes down to their length. From there the search goes up, one usual
//! size at a time, until a size is too large. Every minute the search goes on upwards.
//!
//! During a session, the tunnel notices that all large datagrams are lost while small ones arrive
//! (`tunnel/black_hole.rs`). Then the size in use is probed again. A large datagram that arrives ends
//! the doubt, so random loss does not lower the MTU.

use crate::path::Arrivals;
use ripstop_base::Time;
use std::time::Duration;

/// Usual path MTUs, bytes of an IP datagram: jumbo frames, Ethernet, PPPoE, tunnels, the minimum of
/// IPv6 (RFC 8200). If a path's MTU lies between two of these sizes, the search finds the smaller
/// size.
const SIZES: [u32; 10] = [9000, 1500, 1492, 1480, 1460, 1440, 1420, 1400, 1340, 1280];
/// The size to which the search goes down, bytes: BASE_PLPMTU of RFC 8899. IPv6 paths must carry it.
/// A smaller value needs more steps upwards. A larger value fails on more paths.
const BASE: u32 = 1280;
/// The smallest size that the search tries, bytes. Every IPv4 host must accept datagrams of 576
/// bytes (RFC 791). Half the value helps no known path. Double the value fails on IPv4 paths with
/// small MTUs.
const LEAST: u32 = 576;
/// After this number of lost probes of one size, the search concludes that the size is too large, if the path loses little.
/// A probe counts as lost when a later datagram has arrived, or when a silence begins. During a silence no probe counts,
/// because the path may carry nothing. With double the value, a step down takes 2 s. With half the value, 2 % of losses
/// cause an error in 1 of 50 searches.
const LEAST_TRIES: u32 = 3;
/// The largest number of lost probes of one size after which the search goes on. At 42 % losses, this number makes an error
/// as rare as [`ERROR`]. With double the value, a step down takes up to 5 s on a path that loses more. With half the value,
/// 30 % of losses cause an error in 1 of 120 searches.
const MOST_TRIES: u32 = 8;
/// The chance that random losses alone look like a size that is too large. An error makes the sender give up all packets
/// that no longer fit. With half the value, 20 % of losses still need 5 probes. With double the value, 20 % of losses need 4.
const ERROR: f64 = 0.001;
/// Time between two probes of the same size. With [`LEAST_TRIES`] probes, a step down takes about a
/// second. With half the value, a step down takes half as long. Double the value keeps a black hole
/// open for longer.
const PAUSE: Duration = Duration::from_millis(300);
/// Time between two searches for a larger size. RFC 8899 (section 5.1.1) recommends 10 minutes for
/// PMTU_RAISE_TIMER. A search costs six datagrams, so a minute is affordable. Half the value finds
/// a larger MTU sooner and sends more probes. Double the value finds it later.
const UPWARDS: Duration = Duration::from_secs(60);

/// The search for the MTU of one peer's path.
#[derive(Clone, Debug)]
pub(super) struct MtuSearch {
    /// The configured size. The search never goes above this size.
    ceiling: u32,
    /// The size in use.
    current: u32,
    /// Whether the peer has received a probe of the size in use, and nothing raises a doubt.
    confirmed: bool,
    /// A larger size that is being probed.
    candidate: Option<u32>,
    /// A size whose probes were lost in this search. The search does not go there again.
    refused: Option<u32>,
    /// How many probes of the size that is being probed were lost so far.
    lost: u32,
    /// The longest datagram that arrived after the first lost probe of this size, bytes.
    carried: u32,
    /// When the next probe is due.
    next_probe: Time,
    /// Whether a result of the search was announced.
    is_announced: bool,
}

impl MtuSearch {
    /// A search that begins at `ceiling`.
    pub(super) fn new(now: Time, ceiling: u32) -> MtuSearch {
        let ceiling = ceiling.max(LEAST);
        MtuSearch {
            ceiling,
            current: ceiling,
            confirmed: false,
            candidate: None,
            refused: None,
            lost: 0,
            carried: 0,
            next_probe: now,
            is_announced: false,
        }
    }

    /// Whether the size in use is proven, and no result of the search was announced.
    pub(super) fn is_first_proof(&self) -> bool {
        self.confirmed && !self.is_announced
    }

    /// Notes that the size in use is announced as a result of the search.
    pub(super) fn note_announced(&mut self) {
        self.is_announced = true;
    }

    /// The size in use, bytes.
    pub(super) fn current(&self) -> u32 {
        self.current
    }

    /// Probes the size in use again, because all large datagrams are lost.
    pub(super) fn doubt(&mut self, now: Time) {
        if self.confirmed {
            self.confirmed = false;
            self.candidate = None;
            self.lost = 0;
            self.next_probe = now;
        }
    }

    /// Ends the doubt: a large datagram has arrived.
    pub(super) fn prove(&mut self, now: Time) {
        if !self.confirmed {
            self.confirmed = true;
            self.lost = 0;
            self.next_probe = now + UPWARDS;
        }
    }

    /// The size to probe now; None if no probe is due.
    pub(super) fn poll_probe(&mut self, now: Time) -> Option<u32> {
        if now < self.next_probe {
            return None;
        }
        if self.confirmed && self.candidate.is_none() {
            if self.above().is_none() {
                // The last search ended at a size that was refused. A new search begins.
                self.refused = None;
            }
            self.candidate = self.above();
        }
        let size = if self.confirmed { self.candidate } else { Some(self.current) };
        self.next_probe = now + if size.is_some() { PAUSE } else { UPWARDS };
        size
    }

    /// When the next probe is due. None if the configured size is in use and confirmed.
    pub(super) fn next_probe(&self) -> Option<Time> {
        (!self.confirmed || self.current < self.ceiling).then_some(self.next_probe)
    }

    /// Notes that a probe of `size` bytes has arrived (`received`) or is lost. `arrivals` are those since the last probe was
    /// settled. Returns whether the size in use has changed.
    pub(super) fn settled(&mut self, now: Time, size: u32, received: bool, arrivals: Arrivals) -> bool {
        if received {
            let larger = size > self.current;
            if size >= self.current {
                self.current = size;
                self.confirmed = true;
                self.candidate = None;
                self.lost = 0;
                self.next_probe = if self.above().is_some() { now } else { now + UPWARDS };
            }
            return larger;
        }
        if size != self.candidate.unwrap_or(self.current) {
            return false;
        }
        // With the first lost probe, datagrams are reported that left before the path may have changed.
        self.carried = if self.lost == 0 { 0 } else { self.carried.max(arrivals.longest) };
        self.lost += 1;
        if self.lost < tries(arrivals.loss) {
            return false;
        }
        self.lost = 0;
        if self.candidate.is_none() && self.carried >= self.current {
            self.prove(now);
            return false;
        }
        self.refused = Some(size);
        if self.candidate.take().is_some() {
            self.next_probe = now + UPWARDS;
            return false;
        }
        let below = if self.current > BASE { BASE } else { LEAST };
        let below = below.max(self.carried).min(self.current);
        let changed = below < self.current;
        self.current = below;
        self.confirmed = false;
        self.next_probe = now;
        changed
    }

    /// The next larger size to probe. None if the configured size is in use, or if the next size was
    /// refused in this search.
    fn above(&self) -> Option<u32> {
        let next =
            SIZES.iter().rev().copied().find(|size| *size > self.current).unwrap_or(self.ceiling).min(self.ceiling);
        (next > self.current && self.refused.is_none_or(|refused| next < refused)).then_some(next)
    }
}

/// The number of probes of one size that must be lost, if the path loses this share of datagrams at random.
fn tries(loss: f64) -> u32 {
    let tries = ERROR.ln() / loss.clamp(f64::MIN_POSITIVE, 0.999).ln();
    (tries.ceil() as u32).clamp(LEAST_TRIES, MOST_TRIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(longest: u32) -> Arrivals {
        Arrivals { longest, loss: 0.0 }
    }

    /// Runs a search for `seconds` on a path that carries datagrams of up to `mtu` bytes.
    fn search(ceiling: u32, mtu: u32, seconds: u64) -> MtuSearch {
        let mut search = MtuSearch::new(Time::ZERO, ceiling);
        for ms in 0..seconds * 1000 {
            let now = Time::from_millis(ms);
            if let Some(size) = search.poll_probe(now) {
                search.settled(now, size, size <= mtu, arrivals(0));
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
    fn a_doubt_is_decided_by_probes_or_by_a_large_datagram() {
        let mut search = search(1500, 1500, 1);
        search.doubt(Time::from_millis(2_000));
        assert_eq!(search.poll_probe(Time::from_millis(2_000)), Some(1500));
        search.prove(Time::from_millis(2_100));
        assert_eq!((search.current(), search.next_probe()), (1500, None));
        search.doubt(Time::from_millis(3_000));
        for ms in 3_000..20_000 {
            let now = Time::from_millis(ms);
            if let Some(size) = search.poll_probe(now) {
                search.settled(now, size, size <= 1400, arrivals(0));
            }
        }
        assert_eq!(search.current(), 1400);
    }

    /// All probes are lost by chance, and the traffic arrives.
    #[test]
    fn lost_probes_do_not_shrink_the_mtu_below_the_traffic() {
        let lose = |sizes: [u32; 3]| {
            let (mut search, now) = (MtuSearch::new(Time::ZERO, 1500), Time::from_millis(1));
            let changed = sizes.map(|longest| search.settled(now, 1500, false, arrivals(longest)));
            (changed[2], search.current(), search.next_probe().is_none())
        };
        assert_eq!(lose([0, 0, 0]), (true, 1280, false));
        assert_eq!(lose([0, 1430, 1390]), (true, 1430, false));
        assert_eq!(lose([0, 100, 1500]), (false, 1500, true), "the traffic proves the size in use");
        assert_eq!(lose([1500, 0, 0]), (true, 1280, false), "this datagram may have left before the path changed");
    }

    #[test]
    fn more_losses_need_more_probes() {
        let needed = [0.0, 0.01, 0.09, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0].map(tries);
        assert_eq!(needed, [3, 3, 3, 4, 5, 6, 8, 8, 8]);
        let mut search = MtuSearch::new(Time::ZERO, 1500);
        let lose = |k: u64| search.settled(Time::from_millis(k), 1500, false, Arrivals { longest: 0, loss: 0.2 });
        assert_eq!((0..5).map(lose).collect::<Vec<_>>(), [false, false, false, false, true]);
    }

    #[test]
    fn looks_upwards_now_and_then() {
        let mut s = search(1500, 1400, 20);
        assert!(s.next_probe().is_some());
        let mut at = s.next_probe().unwrap();
        for _ in 0..20 {
            if let Some(size) = s.poll_probe(at) {
                s.settled(at, size, true, arrivals(0));
            }
            at = s.next_probe().unwrap_or(at);
        }
        assert_eq!(s.current(), 1500);
        assert_eq!(s.next_probe(), None, "no size above the ceiling may be probed");
    }
}
