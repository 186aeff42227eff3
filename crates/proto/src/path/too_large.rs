//! The number of datagrams that were lost because the path is too small for them. The sender knows it, and the receiver does
//! not: it sees missing numbers, and would take them for random losses. So the sender tells the receiver, by a probe whose
//! padding is the number modulo 255, plus 1. Probes of the path's MTU have more padding, and other probes have none.

/// The padding of a notice is the number modulo this value, plus 1. Half the value tells large numbers in twice as many
/// notices. Double the value reaches the padding of the smallest MTU probe (503 bytes).
const MODULUS: u64 = 255;
/// The largest number of datagrams that one notice adds. A receiver takes a smaller number than the last one for an old notice,
/// so a step must be less than half of [`MODULUS`]. With half the value, a path that shrinks under a window of 1000
/// datagrams needs 20 notices.
const STEP: u64 = 100;

/// What this end tells the peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TooLarge {
    /// The number of datagrams so far.
    total: u64,
    /// The number that the peer has been told.
    told: u64,
    /// Whether a notice is in flight.
    is_in_flight: bool,
}

impl TooLarge {
    /// Counts datagrams that the path was too small for.
    pub(crate) fn add(&mut self, datagrams: u64) {
        self.total += datagrams;
    }

    /// The number of these datagrams so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The number to tell the peer in a notice that leaves now. None: no notice is due.
    pub(crate) fn notice(&mut self) -> Option<u64> {
        let is_due = self.told < self.total && !self.is_in_flight;
        self.is_in_flight |= is_due;
        is_due.then(|| self.total.min(self.told + STEP))
    }

    /// The padding of the notice that tells `number`, bytes.
    pub(crate) fn padding(number: u64) -> u16 {
        (1 + number % MODULUS) as u16
    }

    /// Takes the fate of the notice that told `number`.
    pub(crate) fn settled(&mut self, number: u64, received: bool) {
        self.is_in_flight = false;
        if received {
            self.told = self.told.max(number);
        }
    }
}

/// What the peer has told this end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeersTooLarge {
    total: u64,
}

impl PeersTooLarge {
    /// Takes a probe with `padding` bytes of padding, which may be a notice.
    pub(crate) fn take(&mut self, padding: u16) {
        let Some(number) = u64::from(padding).checked_sub(1).filter(|number| *number < MODULUS) else { return };
        let step = (number + MODULUS - self.total % MODULUS) % MODULUS;
        if step <= MODULUS / 2 {
            self.total += step;
        }
    }

    /// The number of the peer's datagrams that its path was too small for.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_learns_the_number_in_spite_of_losses() {
        let (mut here, mut there) = (TooLarge::default(), PeersTooLarge::default());
        assert_eq!(here.notice(), None);
        here.add(3);
        let mut sent = 0;
        for k in 0..100 {
            here.add(if k == 10 { 1000 } else { 0 });
            let Some(number) = here.notice() else { continue };
            assert_eq!(here.notice(), None, "one notice at a time");
            sent += 1;
            let (arrives, is_known) = (k % 3 != 0, k % 4 != 0);
            if arrives {
                there.take(TooLarge::padding(number));
            }
            here.settled(number, arrives && is_known);
        }
        assert_eq!((here.told, there.total()), (1003, 1003));
        assert!((11..40).contains(&sent), "{sent}");
    }

    #[test]
    fn old_notices_and_other_probes_change_nothing() {
        let mut there = PeersTooLarge::default();
        there.take(TooLarge::padding(90));
        for padding in [TooLarge::padding(20), TooLarge::padding(90), 0, 503, 1407] {
            there.take(padding);
        }
        assert_eq!(there.total(), 90);
    }
}
