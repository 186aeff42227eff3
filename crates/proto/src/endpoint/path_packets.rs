//! Limits on the packets about the path that a peer can cause: challenges, and answers to challenges.
//!
//! The rate controller does not limit these packets, because a peer that has moved needs them at once. Each of them stays
//! in the sent-packet history for up to a minute, because the peer need not report it. So their number is limited here.

use crate::path::PathPacket;
use crate::tokens::TokenBucket;
use ripstop_base::Time;

/// Largest rate of challenges to one peer, and largest rate of answers to its challenges. Unit: packets per second. An
/// honest end challenges at most 4 addresses, each 2 times a second, so its rate is at most 8. The packets of a minute
/// take 80 kB of the sent-packet history. Half the value is just above the honest rate. Double the value takes twice the
/// memory.
const PER_SECOND: f64 = 20.0;
/// Largest number of such packets at the same time. With half the value, a peer whose address changes with each datagram
/// waits longer for its proof. Double the value has no use: at most 4 packets wait.
const BURST: f64 = 20.0;

/// How many packets about the path may be sent now.
pub(super) struct PathLimits {
    challenges: TokenBucket,
    answers: TokenBucket,
}

impl PathLimits {
    pub(super) fn new(now: Time) -> PathLimits {
        let full = TokenBucket::full(PER_SECOND, BURST, now);
        PathLimits { challenges: full, answers: full }
    }

    /// Whether `packet` may be sent. If so, counts it.
    pub(super) fn admits(&mut self, now: Time, packet: &PathPacket) -> bool {
        match packet {
            PathPacket::Challenge(_) => self.challenges.take(now, 1.0),
            PathPacket::Answer(_) => self.answers.take(now, 1.0),
        }
    }
}
