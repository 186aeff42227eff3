//! The erasure floor p_e: the loss that remains when we send no faster than the path carries and
//! its queue is short. Congestion and policers cannot enter it; random loss does.

use super::{GainClass, Settled};

/// The floor never exceeds this; more is not a path but an outage.
const CAP: f64 = 0.6;

/// So many packets are remembered however long they take: a rate at which fewer come in all the time would never learn that its
/// losses are the path's own, and fall on for them.
const LEAST: f64 = 60.0;

/// Exponentially forgotten counts.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: f64,
    lost: f64,
}

impl Count {
    fn add(&mut self, settled: Settled) {
        self.packets += f64::from(settled.packets);
        self.lost += f64::from(settled.lost);
    }

    fn fade(&mut self, keep: f64) {
        self.packets *= keep;
        self.lost *= keep;
    }
}

/// Estimator of the erasure floor.
#[derive(Clone, Debug, Default)]
pub(super) struct ErasureFloor {
    below: Count,
    at: Count,
    floor: f64,
}

impl ErasureFloor {
    /// Forgets with the time constant `tau` s after `dt` s, down to [`LEAST`] packets.
    pub(super) fn fade(&mut self, dt: f64, tau: f64) {
        let packets = self.below.packets + self.at.packets;
        let keep = (-dt / tau).exp().max((LEAST / packets).min(1.0));
        self.below.fade(keep);
        self.at.fade(keep);
    }

    /// Takes in packets sent at `class` and reported while the queue was short.
    pub(super) fn add(&mut self, class: GainClass, settled: Settled) {
        match class {
            GainClass::Below => self.below.add(settled),
            GainClass::At => self.at.add(settled),
            GainClass::Above => return,
        }
        let packets = self.below.packets + self.at.packets;
        if packets < 30.0 {
            return;
        }
        let mut floor = (self.below.lost + self.at.lost) / packets;
        if self.below.packets >= 20.0 {
            // A policer drops what is sent at its rate but not what is sent below it.
            let n0 = self.below.packets;
            let p0 = self.below.lost / n0;
            floor = floor.min(p0 + 2.0 * ((p0 * (1.0 - p0)).max(0.25 / n0) / n0).sqrt());
        }
        self.floor = floor.min(CAP);
    }

    /// The floor, 0..=.6.
    pub(super) fn get(&self) -> f64 {
        self.floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policer_does_not_raise_the_floor() {
        let mut e = ErasureFloor::default();
        for _ in 0..20 {
            e.add(GainClass::At, Settled { packets: 100, lost: 20 });
            e.add(GainClass::Below, Settled { packets: 30, lost: 0 });
        }
        assert!(e.get() < 0.02, "{}", e.get());
    }

    #[test]
    fn a_slow_sender_learns_the_floor_too() {
        let mut e = ErasureFloor::default();
        for _ in 0..60 {
            e.fade(0.5, 1.5);
            e.add(GainClass::At, Settled { packets: 4, lost: 1 });
        }
        assert!((e.get() - 0.25).abs() < 0.01, "{}", e.get());
    }

    #[test]
    fn random_loss_is_the_floor() {
        let mut e = ErasureFloor::default();
        for _ in 0..20 {
            e.add(GainClass::At, Settled { packets: 100, lost: 20 });
            e.add(GainClass::Below, Settled { packets: 30, lost: 6 });
            e.add(GainClass::Above, Settled { packets: 100, lost: 90 });
        }
        assert!((e.get() - 0.2).abs() < 0.01, "{}", e.get());
    }
}
