//! Notices that the path may no longer carry the largest datagrams, without ICMP (RFC 8899, section
//! 4.3).
//!
//! On such a path all large datagrams are lost, and smaller ones arrive. Random loss does not look
//! like this: a datagram that arrives proves the sizes up to its own.

/// A datagram is large if it is longer than this share of the path's MTU.
///
/// The MTU search goes down to 1280 bytes, .85 of the usual 1500, and the path may carry any size
/// in between. So datagrams well below the MTU must count. With half the value, random loss of
/// small datagrams hides lost large ones. With a value near 1, datagrams that are a little smaller
/// than the MTU are lost without notice.
const LARGE: f64 = 0.5;
/// Number of large datagrams in a row that must be lost.
///
/// At 30 % random loss, 12 losses in a row are 5 in 10 million. Half the value starts needless
/// searches. Double the value finds a smaller MTU later.
const LOST: u32 = 12;
/// Number of smaller datagrams that must arrive meanwhile. They show that the path works.
///
/// Half the value may mistake the end of an outage for a smaller MTU. Double the value finds a
/// smaller MTU later.
const ARRIVED: u32 = 2;

/// Counts since the last datagram that arrived and was as long as one of the lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlackHole {
    /// Large datagrams that were lost.
    lost: u32,
    /// The shortest of them, bytes.
    shortest: u32,
    /// Shorter datagrams that arrived.
    arrived: u32,
    suspected: bool,
    /// The longest datagram that arrived since [`BlackHole::take_longest`], bytes.
    longest: u32,
}

/// What the fate of a datagram says of the path's MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Nothing new.
    None,
    /// The path may no longer carry large datagrams.
    Suspicion,
    /// A large datagram has arrived after the suspicion.
    Proof,
}

impl Evidence {
    /// This evidence and the `next`: the newer counts.
    pub(super) fn and(self, next: Evidence) -> Evidence {
        if next == Evidence::None { self } else { next }
    }
}

impl BlackHole {
    /// Takes the fate of a datagram of `bytes` bytes. `mtu` is the path's MTU, bytes.
    pub(super) fn settle(&mut self, bytes: u32, lost: bool, mtu: u32) -> Evidence {
        if lost {
            // A datagram above the MTU is a probe of a larger size.
            if bytes <= mtu && f64::from(bytes) > LARGE * f64::from(mtu) {
                self.shortest = if self.lost == 0 { bytes } else { self.shortest.min(bytes) };
                self.lost = self.lost.saturating_add(1);
            }
        } else {
            self.longest = self.longest.max(bytes);
            if self.lost > 0 && bytes >= self.shortest {
                let before = std::mem::replace(self, BlackHole { longest: self.longest, ..BlackHole::default() });
                return if before.suspected { Evidence::Proof } else { Evidence::None };
            }
            self.arrived = self.arrived.saturating_add(u32::from(self.lost > 0));
        }
        if !self.suspected && self.lost >= LOST && self.arrived >= ARRIVED {
            self.suspected = true;
            return Evidence::Suspicion;
        }
        Evidence::None
    }

    /// Whether the last large datagrams were lost. Probes of a silence should then be small.
    pub(super) fn wants_small(&self) -> bool {
        self.lost >= LOST / 4
    }

    /// The longest datagram that arrived since the last call, bytes. 0: none arrived.
    pub(super) fn take_longest(&mut self) -> u32 {
        std::mem::take(&mut self.longest)
    }

    /// Begins anew, because the path's MTU has changed.
    pub(super) fn reset(&mut self) {
        *self = BlackHole::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    #[test]
    fn a_hole_is_noticed_and_random_loss_is_not() {
        let mut hole = BlackHole::default();
        let mut noticed = 0;
        for k in 0..40 {
            let small = k % 4 == 0;
            let evidence = hole.settle(if small { 100 } else { 1500 }, !small, 1500);
            noticed += u32::from(evidence == Evidence::Suspicion);
        }
        assert_eq!(noticed, 1);
        assert_eq!(hole.settle(1500, false, 1500), Evidence::Proof);

        let (mut random, mut hole) = (Seed::new(1).stream("loss"), BlackHole::default());
        for _ in 0..100_000 {
            let bytes = if random.chance(0.1) { 100 } else { 1500 };
            assert_eq!(hole.settle(bytes, random.chance(0.3), 1500), Evidence::None, "seed 1");
        }
    }

    /// The path carries 1322 of 1500 bytes, and the datagrams have 1100 to 1329.
    #[test]
    fn a_hole_a_little_below_the_largest_traffic_is_noticed() {
        let mut hole = BlackHole::default();
        let sizes = [1329, 1100, 1329, 1320, 80];
        let noticed = (0..60).position(|k| {
            let bytes = sizes[k % sizes.len()];
            hole.settle(bytes, bytes > 1322, 1500) == Evidence::Suspicion
        });
        assert_eq!(noticed, Some(27), "the twelfth lost datagram");
        assert_eq!(hole.settle(1320, false, 1500), Evidence::None, "the path has carried this size before");
    }

    #[test]
    fn a_lost_probe_of_a_larger_size_does_not_count() {
        let mut hole = BlackHole::default();
        for k in 0..100 {
            let bytes = if k % 3 == 0 { 100 } else { 1500 };
            assert_eq!(hole.settle(bytes, bytes == 1500, 1400), Evidence::None);
        }
    }

    #[test]
    fn an_outage_is_no_hole() {
        let mut hole = BlackHole::default();
        for k in 0..1_000 {
            assert_eq!(hole.settle(if k % 3 == 0 { 100 } else { 1500 }, true, 1500), Evidence::None);
        }
    }
}
