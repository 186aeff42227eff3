//! The receiver of a station: which frame it follows, and what overlapping frames do to it.
//!
//! A receiver follows the first frame that it senses, even if the frame is too weak to decode. A later frame that is
//! weaker, at least by the capture ratio, is ignored. Any other later frame is a collision, and both frames are lost.
//! Even a very strong later frame is never decoded. The powers of several frames do not add. This is the receiver of
//! ns-2.

use super::frame::Head;
use ripstop_base::Time;
use std::time::Duration;

/// A frame as one station receives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reception {
    pub(super) sender: u32,
    pub(super) head: Head,
    /// Whether the frame is strong enough to decode.
    pub(super) decodes: bool,
    /// Whether a random loss destroys the frame at the station.
    pub(super) is_lost: bool,
    pub(super) power: f64,
    /// When the frame begins at the station.
    pub(super) begins: Time,
    /// When the frame ends at the station.
    pub(super) ends: Time,
    /// Until when the frame reserves the medium.
    pub(super) reserved: Time,
}

impl Reception {
    /// Whether the station can decode the frame if the station is silent and no other frame interferes.
    #[inline]
    pub(super) fn is_readable(&self) -> bool {
        self.decodes && !self.is_lost
    }
}

/// A station's receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiver {
    state: ReceiverState,
    /// The frame that is followed.
    followed: Option<Reception>,
    /// Whether the station could decode this frame if there were no other frames. The frame must be readable
    /// ([`Reception::is_readable`]), and the station must be silent during the frame.
    intact: bool,
}

/// What has happened to the frame that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReceiverState {
    /// The frame can be decoded so far.
    Decoding,
    /// The frame is too weak to decode.
    TooWeak,
    /// A random loss destroys the frame.
    Lost,
    /// The station was sending during a part of the frame.
    Deaf,
    /// Frames have collided. The frame that ends last is followed.
    Collided,
}

/// What the beginning of a frame did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The receiver follows the frame.
    Followed,
    /// The receiver ignores the frame, because it follows a stronger frame.
    Ignored,
    /// The frame has collided with the frame that was followed. The receiver follows the frame that ends last.
    Collision {
        /// The frame that ends first. It is lost, and the receiver does not follow it.
        lost: Head,
        /// Whether the lost frame could have been decoded without the other frame.
        intact: bool,
    },
}

/// The outcome of a frame that the receiver followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Decoded,
    TooWeak,
    Lost,
    Deaf,
    Collided {
        /// Whether the frame could have been decoded without the other frames.
        intact: bool,
    },
}

impl Receiver {
    pub(super) fn new() -> Receiver {
        Receiver { state: ReceiverState::Decoding, followed: None, intact: false }
    }

    /// Whether no frame is sensed.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.followed.is_none()
    }

    /// The frame that is followed.
    #[inline]
    pub(super) fn followed(&self) -> Option<&Reception> {
        self.followed.as_ref()
    }

    /// When the followed frame ends. [`Time::NEVER`] if no frame is followed.
    #[inline]
    pub(super) fn ends(&self) -> Time {
        self.followed.map_or(Time::NEVER, |reception| reception.ends)
    }

    /// The earliest time at which DIFS may begin after the followed frame, if station `k` sends nothing. A frame for
    /// station `k` does not reserve the medium for the station. Any other frame reserves the medium if it is decoded.
    /// If it is not decoded, the station is silent for `shyness`. It is not known yet whether the frame will be
    /// decoded, so the earlier time counts.
    pub(super) fn quiet_from(&self, k: usize, shyness: Duration) -> Time {
        let Some(Reception { head, ends, reserved, .. }) = self.followed else { return Time::NEVER };
        if head.is_for(k) { ends } else { reserved.min(ends + shyness) }
    }

    /// Handles the beginning of the frame `new`. `sending` tells whether this station is sending. A later frame is
    /// ignored if it is weaker, at least by the ratio `capture`.
    pub(super) fn begin(&mut self, new: Reception, sending: bool, capture: f64) -> Beginning {
        let intact = new.is_readable() && !sending;
        let Some(old) = self.followed else {
            let state = match (sending, new.decodes, new.is_lost) {
                (true, ..) => ReceiverState::Deaf,
                (false, false, _) => ReceiverState::TooWeak,
                (false, true, true) => ReceiverState::Lost,
                (false, true, false) => ReceiverState::Decoding,
            };
            *self = Receiver { state, followed: Some(new), intact };
            return Beginning::Followed;
        };
        if old.power >= capture * new.power {
            return Beginning::Ignored;
        }
        self.state = ReceiverState::Collided;
        if new.ends <= old.ends {
            return Beginning::Collision { lost: new.head, intact };
        }
        let lost = Beginning::Collision { lost: old.head, intact: self.intact };
        *self = Receiver { state: ReceiverState::Collided, followed: Some(new), intact };
        lost
    }

    /// The station begins to send, and so misses the frame that it follows.
    pub(super) fn deafen(&mut self) {
        self.intact = false;
        if self.state != ReceiverState::Collided {
            self.state = ReceiverState::Deaf;
        }
    }

    /// The followed frame, and its outcome if it ends now. None if no frame is followed.
    pub(super) fn end(&self) -> Option<(Reception, Ending)> {
        let ending = match self.state {
            ReceiverState::Decoding => Ending::Decoded,
            ReceiverState::TooWeak => Ending::TooWeak,
            ReceiverState::Lost => Ending::Lost,
            ReceiverState::Deaf => Ending::Deaf,
            ReceiverState::Collided => Ending::Collided { intact: self.intact },
        };
        Some((self.followed?, ending))
    }

    /// Stops following the frame.
    pub(super) fn release(&mut self) {
        self.followed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{FrameKind, Head, NOBODY};
    use super::*;

    fn reception(sender: u32, power: f64, ends: u64) -> Reception {
        let head = Head { kind: FrameKind::Data, to: [sender, NOBODY] };
        let ends = Time::from_micros(ends);
        let (decodes, is_lost, begins) = (true, false, Time::ZERO);
        Reception { sender, head, decodes, is_lost, power, begins, ends, reserved: ends }
    }

    fn ending(receiver: &Receiver) -> Option<(u32, Ending)> {
        receiver.end().map(|(reception, ending)| (reception.sender, ending))
    }

    #[test]
    fn a_weaker_later_frame_is_ignored_by_capture_and_destroys_otherwise() {
        let (strong, weak) = (reception(1, 16.0, 100), reception(2, 1.0, 90));
        for (capture, second, end) in [
            (10.0, Beginning::Ignored, Ending::Decoded),
            (20.0, Beginning::Collision { lost: weak.head, intact: true }, Ending::Collided { intact: true }),
        ] {
            let mut receiver = Receiver::new();
            assert_eq!(receiver.begin(strong, false, capture), Beginning::Followed);
            assert_eq!(receiver.begin(weak, false, capture), second);
            assert_eq!(ending(&receiver), Some((1, end)));
        }
    }

    #[test]
    fn a_stronger_later_frame_is_never_captured() {
        let (first, second) = (reception(1, 1.0, 100), reception(2, 1e6, 200));
        let mut receiver = Receiver::new();
        receiver.begin(first, false, 10.0);
        assert_eq!(receiver.begin(second, false, 10.0), Beginning::Collision { lost: first.head, intact: true });
        assert_eq!(receiver.ends(), Time::from_micros(200));
        assert_eq!(ending(&receiver), Some((2, Ending::Collided { intact: true })));
    }

    #[test]
    fn a_lost_frame_is_followed_to_its_end_and_destroys_others_like_any_frame() {
        let lost = Reception { is_lost: true, ..reception(1, 1.0, 100) };
        let mut receiver = Receiver::new();
        assert_eq!(receiver.begin(lost, false, 10.0), Beginning::Followed);
        assert_eq!(ending(&receiver), Some((1, Ending::Lost)));
        let later = reception(2, 1.0, 90);
        assert_eq!(receiver.begin(later, false, 10.0), Beginning::Collision { lost: later.head, intact: true });
        assert_eq!(ending(&receiver), Some((1, Ending::Collided { intact: false })));
        receiver.release();
        receiver.begin(lost, false, 10.0);
        receiver.deafen();
        assert_eq!(ending(&receiver), Some((1, Ending::Deaf)));
    }

    #[test]
    fn a_station_that_sends_hears_nothing() {
        let mut receiver = Receiver::new();
        receiver.begin(reception(1, 1.0, 100), false, 10.0);
        receiver.deafen();
        assert_eq!(ending(&receiver), Some((1, Ending::Deaf)));
        receiver.release();
        receiver.begin(reception(1, 1.0, 300), true, 10.0);
        assert_eq!(ending(&receiver), Some((1, Ending::Deaf)));
    }
}
