//! The receiver of a station: which frame it follows, and what overlapping frames do to it.
//!
//! A receiver follows the first frame that it senses, even one that is too weak to decode. A later frame that is
//! weaker by the capture ratio is ignored. Any other later frame destroys both: a collision. A later frame is never
//! followed, however strong, and the powers of several frames do not add. This is the receiver of ns-2.

use ripstop_base::Time;

/// A station's receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiver {
    state: ReceiverState,
    /// The sender of the frame that is followed.
    sender: u32,
    /// The power of this frame.
    power: f64,
    /// When this frame ends here.
    ends: Time,
    /// Whether this frame could be decoded without other frames: strong enough, and heard while the station was silent.
    intact: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReceiverState {
    /// No frame is followed.
    Idle,
    /// A frame is followed, and can be decoded so far.
    Decoding,
    /// A frame is followed that is too weak to decode.
    TooWeak,
    /// A frame is followed, but the station was sending during a part of it.
    Deaf,
    /// Frames have collided. The one that ends last is followed.
    Collided,
}

/// What the beginning of a frame did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The receiver follows the frame.
    Followed,
    /// The receiver ignores the frame beside a stronger one.
    Ignored,
    /// The frame has collided with the frame that was followed. The receiver follows the one that ends last.
    Collision {
        /// The sender of the other frame, which is lost and followed no more.
        lost: u32,
        /// Whether the lost frame could have been decoded without the other.
        intact: bool,
    },
}

/// How a frame was received that the receiver followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Decoded,
    TooWeak,
    Deaf,
    Collided {
        /// Whether the frame could have been decoded without the others.
        intact: bool,
    },
}

impl Receiver {
    pub(super) fn new() -> Receiver {
        Receiver { state: ReceiverState::Idle, sender: 0, power: 0.0, ends: Time::ZERO, intact: false }
    }

    /// Whether no frame is sensed.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.state == ReceiverState::Idle
    }

    /// Takes the beginning of a frame of `sender` that ends at `ends`. `decodes`: it is strong enough to decode.
    /// `sending`: this station is sending. `capture` is the ratio by which a later frame must be weaker.
    pub(super) fn begin(
        &mut self,
        sender: u32,
        power: f64,
        ends: Time,
        [decodes, sending]: [bool; 2],
        capture: f64,
    ) -> Beginning {
        let intact = decodes && !sending;
        if self.is_idle() {
            let state = match (decodes, sending) {
                (_, true) => ReceiverState::Deaf,
                (false, _) => ReceiverState::TooWeak,
                (true, false) => ReceiverState::Decoding,
            };
            *self = Receiver { state, sender, power, ends, intact };
            return Beginning::Followed;
        }
        if self.power >= capture * power {
            return Beginning::Ignored;
        }
        self.state = ReceiverState::Collided;
        if ends <= self.ends {
            return Beginning::Collision { lost: sender, intact };
        }
        let lost = Beginning::Collision { lost: self.sender, intact: self.intact };
        *self = Receiver { state: ReceiverState::Collided, sender, power, ends, intact };
        lost
    }

    /// The station begins to send, and so misses the frame that it follows.
    pub(super) fn deafen(&mut self) {
        self.intact = false;
        if matches!(self.state, ReceiverState::Decoding | ReceiverState::TooWeak) {
            self.state = ReceiverState::Deaf;
        }
    }

    /// Takes the end of a frame of `sender`. None if the receiver did not follow this frame.
    pub(super) fn end(&mut self, sender: u32, now: Time) -> Option<Ending> {
        if self.is_idle() || self.sender != sender || self.ends != now {
            return None;
        }
        match self.state {
            ReceiverState::Idle => None,
            ReceiverState::Decoding => Some(Ending::Decoded),
            ReceiverState::TooWeak => Some(Ending::TooWeak),
            ReceiverState::Deaf => Some(Ending::Deaf),
            ReceiverState::Collided => Some(Ending::Collided { intact: self.intact }),
        }
    }

    /// Follows no frame any more.
    pub(super) fn release(&mut self) {
        self.state = ReceiverState::Idle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTACT: [bool; 2] = [true, false];
    fn at(us: u64) -> Time {
        Time::from_micros(us)
    }

    #[test]
    fn a_weaker_later_frame_is_ignored_by_capture_and_destroys_otherwise() {
        for (capture, first, ending) in [
            (10.0, Beginning::Ignored, Ending::Decoded),
            (20.0, Beginning::Collision { lost: 2, intact: true }, Ending::Collided { intact: true }),
        ] {
            let mut receiver = Receiver::new();
            assert_eq!(receiver.begin(1, 16.0, at(100), INTACT, capture), Beginning::Followed);
            assert_eq!(receiver.begin(2, 1.0, at(90), INTACT, capture), first);
            assert_eq!(receiver.end(2, at(90)), None);
            assert_eq!(receiver.end(1, at(100)), Some(ending));
        }
    }

    #[test]
    fn a_stronger_later_frame_is_never_captured() {
        let mut receiver = Receiver::new();
        receiver.begin(1, 1.0, at(100), INTACT, 10.0);
        assert_eq!(receiver.begin(2, 1e6, at(200), INTACT, 10.0), Beginning::Collision { lost: 1, intact: true });
        assert_eq!(receiver.end(1, at(100)), None);
        assert_eq!(receiver.end(2, at(200)), Some(Ending::Collided { intact: true }));
    }

    #[test]
    fn a_station_that_sends_hears_nothing() {
        let mut receiver = Receiver::new();
        receiver.begin(1, 1.0, at(100), INTACT, 10.0);
        receiver.deafen();
        assert_eq!(receiver.end(1, at(100)), Some(Ending::Deaf));
        receiver.release();
        receiver.begin(1, 1.0, at(300), [true, true], 10.0);
        assert_eq!(receiver.end(1, at(300)), Some(Ending::Deaf));
    }
}
