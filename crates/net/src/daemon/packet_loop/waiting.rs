//! The wait between two turns of the packet thread.

use super::moderation::Moderation;
use super::sources::Readable;
use crate::os::epoll::{Reactor, Urgency};
use ripstop_base::Time;
use ripstop_proto::endpoint::Endpoint;
use std::io;
use std::time::Duration;

/// After a packet from the device has ended a pause early, this number of pauses ignores the device. A packet of an
/// interactive flow, which sends rarely, leaves without delay. A flow that sends often does not end every pause. Double
/// the value delays interactive packets more often. With half the value, up to one in eight pauses is cut short.
const IGNORING: u32 = 15;
/// After a short packet was delivered, this number of pauses watches the device for the answer. The first pause may end
/// for another packet. Half the value misses such answers. Double the value shortens more pauses.
const ATTENTIVE: u32 = 2;
/// Shortest wait while a socket is blocked; see [`Limits::longest`]. Timers then wake the thread at most 100
/// times a second. The wait ends early when the socket becomes writable, so the value delays
/// only timers.
const MIN_BLOCKED_WAIT: Duration = Duration::from_millis(10);

/// Decides how long the thread waits between two turns, and for what.
#[derive(Debug)]
pub(super) struct Waits {
    pub(super) moderation: Moderation,
    /// Number of turns, and number of pauses between two turns.
    pub(super) turns: u64,
    pub(super) pauses: u64,
    /// How many of the next pauses ignore the device, and how many watch the device in any case.
    ignoring: u32,
    attentive: u32,
}

impl Waits {
    pub(super) fn new(now: Time) -> Waits {
        Waits { moderation: Moderation::new(now), turns: 0, pauses: 0, ignoring: 0, attentive: 0 }
    }

    /// Notes that a short packet was delivered, whose answer should not wait.
    pub(super) fn expect_answer(&mut self) {
        self.attentive = ATTENTIVE;
    }

    /// Waits for the next turn, and notes in `readable` what the turn must read. Returns whether this was a pause. After a
    /// pause, all sockets are to be read.
    pub(super) fn wait(
        &mut self,
        reactor: &mut Reactor,
        endpoint: &mut Endpoint,
        now: Time,
        limits: Limits,
        readable: &mut Readable,
    ) -> io::Result<bool> {
        let can_pause = !limits.more && !limits.blocked;
        let pause = self.moderation.pause(now, || endpoint.take_active_paths()).filter(|_| can_pause);
        let watches_device = self.ignoring == 0 || self.attentive > 0;
        let (least, limit) = match pause {
            // A pause ignores the sockets, and time-outs may be late by the length of the pause.
            Some(pause) => (if watches_device { Urgency::Prompt } else { Urgency::Control }, Some(pause)),
            None => (Urgency::Bulk, limits.longest(now)),
        };
        readable.clear();
        reactor.wait(least, limit, |ready| readable.note(ready))?;
        if pause.is_some() {
            self.pauses += 1;
            self.ignoring = if readable.device { IGNORING } else { self.ignoring.saturating_sub(1) };
            self.attentive = self.attentive.saturating_sub(1);
            readable.device |= !watches_device;
        }
        Ok(pause.is_some())
    }
}

/// What limits a wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The next time-out.
    pub(super) due: Option<Time>,
    /// Whether a socket has no room for the next datagrams.
    pub(super) blocked: bool,
    /// Whether there may be more to read at once.
    pub(super) more: bool,
}

impl Limits {
    /// How long to wait; None: there is no time limit. If there may be more data to read, there is no wait. While a socket
    /// is blocked, no datagrams are taken from the endpoint, so the endpoint's time-out may lie in the past. The wait then
    /// lasts at least [`MIN_BLOCKED_WAIT`], so timers may be late by that time. The wait ends early when the socket becomes
    /// writable.
    pub(super) fn longest(self, now: Time) -> Option<Duration> {
        match self.due.map(|at| at.since(now)) {
            _ if self.more => Some(Duration::ZERO),
            Some(due) if self.blocked => Some(due.max(MIN_BLOCKED_WAIT)),
            due => due,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_socket_limits_the_wait() {
        let wait = |more, blocked, due: Option<Duration>| {
            Limits { due: due.map(|due| Time::ZERO + due), blocked, more }.longest(Time::ZERO)
        };
        let (now, soon) = (Some(Duration::ZERO), Some(Duration::from_secs(1)));
        assert_eq!(wait(false, false, now), now);
        assert_eq!(wait(false, true, now), Some(MIN_BLOCKED_WAIT));
        assert_eq!((wait(false, true, soon), wait(true, true, soon)), (soon, now));
        assert_eq!((wait(false, true, None), wait(true, false, None)), (None, now));
    }
}
