//! Which datagram numbers were received already (RFC 6479, with 64-bit words).

/// How far back numbers may come late: more than a tenth of a second at a gigabit per second.
pub const REPLAY_WINDOW: u64 = 16_384;

const WORDS: usize = REPLAY_WINDOW as usize / 64 + 1;

/// A window over the highest [`REPLAY_WINDOW`] numbers: each number passes once.
pub struct ReplayWindow {
    /// Bit n % 64 of word (n / 64) % WORDS says whether n was received. One word more than the window,
    /// so that the words of the window's two ends never coincide.
    words: Box<[u64; WORDS]>,
    /// One past the highest number marked.
    end: u64,
}

/// Why a number does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It passed before.
    Before,
    /// It lies below the window.
    TooOld,
}

impl Default for ReplayWindow {
    fn default() -> ReplayWindow {
        ReplayWindow { words: Box::new([0; WORDS]), end: 0 }
    }
}

impl ReplayWindow {
    /// Whether `number` may pass; it changes nothing, so a forged datagram leaves no trace.
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

    /// Notes that `number`, which [`ReplayWindow::check`] let pass, was received. Returns whether it is
    /// the highest so far. The highest number of all, 2^64 - 1, cannot be noted, and is never sent.
    #[inline]
    pub fn mark(&mut self, number: u64) -> bool {
        let highest = number >= self.end;
        if highest {
            // Clear the words that come into the window; all of them, if it jumps.
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

    /// One past the highest number received; 0 when there is none.
    #[inline]
    pub fn end(&self) -> u64 {
        self.end
    }
}

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
