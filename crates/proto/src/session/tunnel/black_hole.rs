//! Notices that the path may no longer carry the largest datagrams, without ICMP (RFC 8899, section
//! 4.3).
//!
//! On such a path all large datagrams are lost, and small ones arrive. Random loss does not look like
//! this: one large datagram that arrives proves the size.

/// A datagram is large if it is longer than this share of the path's MTU.
///
/// The next usual MTU is at most 9 % smaller. Half the value counts datagrams that a smaller MTU
/// carries too. With a value near 1, few datagrams count.
const LARGE: f64 = 0.9;
/// Number of large datagrams in a row that must be lost.
///
/// At 30 % random loss, 12 losses in a row are 5 in 10 million. Half the value starts needless
/// searches. Double the value finds a smaller MTU later.
const LOST: u32 = 12;
/// Number of small datagrams that must arrive meanwhile. They show that the path works.
///
/// Half the value may mistake the end of an outage for a smaller MTU. Double the value finds a
/// smaller MTU later.
const ARRIVED: u32 = 2;

/// Counts since the last large datagram that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlackHole {
    lost: u32,
    arrived: u32,
    suspected: bool,
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
        let large = f64::from(bytes) > LARGE * f64::from(mtu);
        match (large, lost) {
            (true, false) => {
                let suspected = std::mem::take(self).suspected;
                return if suspected { Evidence::Proof } else { Evidence::None };
            }
            (true, true) => self.lost = self.lost.saturating_add(1),
            (false, false) if self.lost > 0 => self.arrived = self.arrived.saturating_add(1),
            (false, _) => {}
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

    #[test]
    fn an_outage_is_no_hole() {
        let mut hole = BlackHole::default();
        for k in 0..1_000 {
            assert_eq!(hole.settle(if k % 3 == 0 { 100 } else { 1500 }, true, 1500), Evidence::None);
        }
    }
}
