//! Notices that the path may no longer carry the largest datagrams, without ICMP (RFC 8899, section
//! 4.3).
//!
//! On such a path all large datagrams are lost, and smaller ones arrive. Random loss does not look
//! like this: a datagram that arrives proves the sizes up to its own.

/// A datagram up to this length says nothing when it is lost. Unit: bytes.
///
/// The MTU search goes down to 576 bytes, which every IPv4 host accepts (RFC 791). Half the value
/// counts the losses of an outage for which shorter datagrams arrive later. Double the value is
/// nearly 1280, so holes between these sizes are found later.
const SMALL: u32 = 576;
/// Number of datagrams that must be lost while only shorter ones arrive.
///
/// At 30 % random loss, 12 losses in a row are 5 in 10 million. Half the value starts needless
/// searches. Double the value finds a smaller MTU later.
const LOST: usize = 12;
/// Number of shorter datagrams that must arrive meanwhile. They show that the path works.
///
/// Half the value may mistake the end of an outage for a smaller MTU. Double the value finds a
/// smaller MTU later.
const ARRIVED: u32 = 2;
/// Weight of one datagram in [`Arrivals::loss`].
///
/// The mean reaches over 64 datagrams, so an outage of a minute ago no longer counts. Half the value needs twice as long to
/// learn the losses of a new path. With double the value, chance moves a mean of 20 % by .05 instead of .035.
const WEIGHT: f64 = 1.0 / 64.0;

/// The lost datagrams that are longer than all that arrived after them.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlackHole {
    /// The lengths of the longest [`LOST`] of them, bytes.
    lost: Vec<u32>,
    /// Shorter datagrams that arrived meanwhile.
    arrived: u32,
    suspected: bool,
    arrivals: Arrivals,
}

/// What the traffic says of a path's MTU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// The longest datagram that arrived since [`Tunnel::take_arrivals`](crate::session::tunnel::Tunnel::take_arrivals). Unit: bytes of the
    /// IP datagram. 0: none arrived.
    pub longest: u32,
    /// The share of recent datagrams that were lost although the path carries their length: a datagram of this length or
    /// a longer one arrived later.
    pub loss: f64,
}

/// What the fate of a datagram says of the path's MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Nothing new.
    None,
    /// The path may no longer carry large datagrams.
    Suspicion,
    /// A large datagram has arrived after the suspicion.
    Proof,
}

impl Evidence {
    /// This evidence and the `next`: the newer counts.
    pub(crate) fn and(self, next: Evidence) -> Evidence {
        if next == Evidence::None { self } else { next }
    }
}

impl BlackHole {
    /// Takes the fate of a datagram of `bytes` bytes. `mtu` is the path's MTU, bytes.
    pub(crate) fn settle(&mut self, bytes: u32, lost: bool, mtu: u32) -> Evidence {
        if lost {
            // A datagram above the MTU is a probe of a larger size.
            if (SMALL + 1..=mtu).contains(&bytes) {
                self.note_lost(bytes);
            }
        } else {
            self.arrivals.longest = self.arrivals.longest.max(bytes);
            self.count(false);
            if !self.lost.is_empty() {
                let before = self.lost.len();
                self.lost.retain(|length| *length > bytes);
                (self.lost.len()..before).for_each(|_| self.count(true));
                self.arrived = self.arrived.saturating_add(1);
            }
            if self.lost.is_empty() {
                self.arrived = 0;
                let suspected = std::mem::take(&mut self.suspected);
                return if suspected { Evidence::Proof } else { Evidence::None };
            }
        }
        if !self.suspected && self.lost.len() >= LOST && self.arrived >= ARRIVED {
            self.suspected = true;
            return Evidence::Suspicion;
        }
        Evidence::None
    }

    /// Counts a datagram whose length the path carries.
    fn count(&mut self, lost: bool) {
        self.arrivals.loss += (f64::from(u8::from(lost)) - self.arrivals.loss) * WEIGHT;
    }

    /// Remembers a lost datagram. If the list is full, the shortest gives way.
    fn note_lost(&mut self, bytes: u32) {
        if self.lost.len() < LOST {
            self.lost.push(bytes);
        } else if let Some(shortest) = self.lost.iter_mut().min() {
            *shortest = bytes.max(*shortest);
        }
    }

    /// Whether the last large datagrams were lost. Probes of a silence should then be small.
    pub(crate) fn wants_small(&self) -> bool {
        self.lost.len() >= LOST / 4
    }

    /// What the traffic says of the path's MTU since the last call.
    pub(crate) fn take_arrivals(&mut self) -> Arrivals {
        let arrivals = self.arrivals;
        self.arrivals.longest = 0;
        arrivals
    }

    /// Begins anew, because the path's MTU has changed. The losses stay as they are.
    pub(crate) fn reset(&mut self) {
        let arrivals = Arrivals { longest: 0, ..self.arrivals };
        *self = BlackHole { arrivals, ..BlackHole::default() };
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

    /// Datagrams of 1300 bytes arrive on a path of 1400 bytes, but for random losses. They prove nothing about 1500 bytes.
    #[test]
    fn random_losses_of_shorter_datagrams_hide_no_hole() {
        let (mut random, mut hole) = (Seed::new(1).stream("loss"), BlackHole::default());
        let mut noticed = vec![];
        for k in 0..10_000 {
            let bytes = if k % 2 == 0 { 1300 } else { 1500 };
            let evidence = hole.settle(bytes, bytes > 1400 || random.chance(0.3), 1500);
            noticed.extend((evidence != Evidence::None).then_some((k, evidence)));
        }
        assert!(matches!(noticed[..], [(20..30, Evidence::Suspicion)]), "seed 1: {noticed:?}");
    }

    #[test]
    fn a_lost_probe_of_a_larger_size_does_not_count() {
        let mut hole = BlackHole::default();
        for k in 0..100 {
            let bytes = if k % 3 == 0 { 100 } else { 1500 };
            assert_eq!(hole.settle(bytes, bytes == 1500, 1400), Evidence::None);
        }
    }

    /// 20 % of all datagrams are lost at random. Then the path carries 1400 of 1500 bytes.
    #[test]
    fn a_hole_adds_nothing_to_the_random_losses() {
        let (mut random, mut hole) = (Seed::new(1).stream("loss"), BlackHole::default());
        let mut run = |datagrams: u32, mtu: u32| {
            let (mut sum, mut least, mut most) = (0.0, 1.0_f64, 0.0_f64);
            for k in 0..datagrams {
                let bytes = if k % 4 == 0 { 100 } else { 1500 };
                hole.settle(bytes, bytes > mtu || random.chance(0.2), 1500);
                let loss = hole.take_arrivals().loss;
                (sum, least, most) = (sum + loss, least.min(loss), most.max(loss));
            }
            (sum / f64::from(datagrams), least, most)
        };
        run(500, 1500);
        let (mean, least, most) = run(10_000, 1500);
        assert!((0.14..0.22).contains(&mean) && least > 0.03 && most < 0.4, "seed 1: {mean} {least} {most}");
        let (_, _, most) = run(200, 1400);
        assert!(most < 0.4, "seed 1: {most}");
    }

    #[test]
    fn an_outage_is_no_hole() {
        let mut hole = BlackHole::default();
        for k in 0..1_000 {
            assert_eq!(hole.settle(if k % 3 == 0 { 100 } else { 1500 }, true, 1500), Evidence::None);
        }
    }
}
