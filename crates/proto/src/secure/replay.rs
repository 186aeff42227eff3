//! The replay window: a record of the datagram numbers that were received already. A datagram whose
//! number is in this record is a replay. The design is that of RFC 6479, with 64-bit words.

/// How many numbers the window covers, counted down from the highest number. A late datagram is
/// accepted if its number is in the window. At 1 Gbit/s, 16 384 datagrams of 1500 bytes take 0.2 s,
/// so a datagram is accepted up to 0.2 s late. With half the value, it is accepted up to 0.1 s
/// late. Double the value takes twice the memory: one bit for each number.
pub const REPLAY_WINDOW: u64 = 16_384;

/// The number of 64-bit words in the window.
const WORDS: usize = REPLAY_WINDOW as usize / 64 + 1;

/// A window over the highest [`REPLAY_WINDOW`] numbers. The window accepts each number one time.
pub struct ReplayWindow {
    /// Bit n % 64 of word (n / 64) % WORDS says whether number n was received. The array has one
    /// word more than [`REPLAY_WINDOW`] bits need. So the lowest and the highest numbers never
    /// share a word.
    words: Box<[u64; WORDS]>,
    /// The highest number marked, plus one.
    end: u64,
}

/// Why a number is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The number was received before.
    Before,
    /// The number lies below the window.
    TooOld,
}

impl Default for ReplayWindow {
    fn default() -> ReplayWindow {
        ReplayWindow { words: Box::new([0; WORDS]), end: 0 }
    }
}

impl ReplayWindow {
    /// Checks whether `number` may be accepted. The check does not change the window, so the caller
    /// can check a number before it knows whether the datagram is authentic.
    ///
    /// # Errors
    /// The number was received before, or lies below the window.
    #[inline]
    pub fn check(&self, number: u64) -> Result<(), Seen> {
        if number >= self.end {
            return Ok(());
        }
        if self.end - number > REPLAY_WINDOW {
            return Err(Seen::TooOld);
        }
        let (word, bit) = place(number);
        if self.words[word] & bit == 0 { Ok(()) } else { Err(Seen::Before) }
    }

    /// Marks `number`, which [`ReplayWindow::check`] accepted, as received. Returns whether
    /// `number` is the highest so far. A replay of the number 2^64 - 1 is not refused, but no
    /// sender uses this number.
    #[inline]
    pub fn mark(&mut self, number: u64) -> bool {
        let highest = number >= self.end;
        if highest {
            // Clear the words that the new numbers use. After a jump by more than the window, all
            // words are cleared.
            let (from, to) = (self.end.div_ceil(64), number / 64);
            if to >= from {
                let steps = (to - from + 1).min(WORDS as u64);
                (0..steps).for_each(|i| self.words[((to - i) % WORDS as u64) as usize] = 0);
            }
            self.end = number.saturating_add(1);
        }
        let (word, bit) = place(number);
        self.words[word] |= bit;
        highest
    }

    /// The highest number received, plus one; 0 if no number was received.
    #[inline]
    pub fn end(&self) -> u64 {
        self.end
    }
}

/// The index of the word that holds the bit of `number`, and the bit in it.
#[inline]
fn place(number: u64) -> (usize, u64) {
    ((number / 64 % WORDS as u64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn lets_each_number_pass_once_within_the_window() {
        let mut window = ReplayWindow::default();
        assert_eq!(window.check(u64::MAX - 1), Ok(()));
        assert!(window.mark(REPLAY_WINDOW));
        assert_eq!(window.check(REPLAY_WINDOW), Err(Seen::Before));
        assert_eq!(window.check(0), Err(Seen::TooOld));
        assert_eq!(window.check(1), Ok(()));
        assert!(!window.mark(1));
        assert_eq!(window.check(1), Err(Seen::Before));
        assert!(window.mark(u64::MAX - 1));
        assert_eq!(window.check(REPLAY_WINDOW), Err(Seen::TooOld));
        assert_eq!(window.check(u64::MAX - 2), Ok(()));
    }

    proptest! {
        #[test]
        fn is_a_set_with_a_floor(steps in prop::collection::vec((any::<bool>(), 0u64..40_000), 1..300)) {
            let (mut window, mut truth) = (ReplayWindow::default(), BTreeSet::new());
            for (ahead, distance) in steps {
                let distance = if ahead { distance % 300 * (distance % 7) } else { distance };
                let number = if ahead { window.end() + distance } else { window.end().saturating_sub(distance) };
                let expected = if window.end().saturating_sub(number) > REPLAY_WINDOW {
                    Err(Seen::TooOld)
                } else if truth.contains(&number) {
                    Err(Seen::Before)
                } else {
                    Ok(())
                };
                prop_assert_eq!(window.check(number), expected);
                if expected.is_ok() {
                    prop_assert_eq!(window.mark(number), truth.last().is_none_or(|last| number > *last));
                    truth.insert(number);
                }
            }
        }
    }
}
