//! The wait between two turns of the packet thread.

use super::{PacketLoop, Readable};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use ripstop_base::Time;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// After a packet from the device has ended a pause early, this number of pauses ignores the device. A packet of an
/// interactive flow, which sends rarely, leaves without delay. A flow that sends often does not end every pause. Double
/// the value delays interactive packets more often. With half the value, up to one in eight pauses is cut short.
const IGNORING: u32 = 15;
/// Shortest wait while the socket is blocked; see [`wait`]. Timers then wake the thread at most 100
/// times a second. The wait ends early when the socket becomes writable, so the value delays
/// only timers.
const MIN_BLOCKED_WAIT: Duration = Duration::from_millis(10);

impl PacketLoop {
    /// Waits for the next turn. Returns what is readable.
    pub(super) fn wait_for_input(&mut self, more: bool) -> io::Result<Readable> {
        let now = self.shared.worker.now();
        let endpoint = &mut self.endpoint;
        let pause = self.moderation.pause(now, || endpoint.take_active_paths()).filter(|_| !more && !self.blocked);
        let wanted = self.wanted();
        let mut files = [
            PollFd::new(self.shared.worker.wakeup().as_fd(), PollFlags::POLLIN),
            // A removed device reports an error at once and for ever, so another descriptor is in its place.
            match self.device_gone {
                false => PollFd::new(self.tun.as_fd(), PollFlags::POLLIN),
                true => PollFd::new(self.shared.worker.wakeup().as_fd(), PollFlags::POLLIN),
            },
            PollFd::new(self.udp.as_fd(), wanted),
            PollFd::new(self.spare_ports.as_fd(), PollFlags::POLLIN),
        ];
        let watches_device = self.ignoring == 0 || self.attentive > 0;
        let (watched, wait) = match pause {
            // A pause ignores the socket, and time-outs may be late by the length of the pause.
            Some(pause) => (if watches_device { 2 } else { 1 }, Some(pause)),
            None => (4, self.wait(now, more)),
        };
        match ppoll(&mut files[..watched], wait.map(TimeSpec::from), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let [wakeup, device, socket, spare] = files.map(|file| file.revents().unwrap_or(PollFlags::empty()));
        if !wakeup.is_empty() {
            self.shared.worker.clear_wakeup();
        }
        if pause.is_none() {
            let socket = socket.intersects(!PollFlags::POLLOUT) || !spare.is_empty();
            return Ok(Readable { device: !device.is_empty(), socket });
        }
        self.pauses += 1;
        let readable = Readable { device: !watches_device || !device.is_empty(), socket: true };
        self.ignoring = if device.is_empty() { self.ignoring.saturating_sub(1) } else { IGNORING };
        self.attentive = self.attentive.saturating_sub(1);
        Ok(readable)
    }

    /// How long to wait for the next event; None: wait until a descriptor is readable.
    fn wait(&self, now: Time, more: bool) -> Option<Duration> {
        let lookup = self.lookups.first().map(|(at, _)| *at);
        let due = [self.endpoint.poll_timeout(), lookup, self.spare_ports.next_due()].into_iter().flatten().min();
        let due = if self.spare_ports.blocked { Some(now) } else { due };
        wait(more, self.blocked, due.map(|at| at.since(now)))
    }

    /// What to wait for at the socket of the listening port. A blocked spare port is tried again after
    /// [`MIN_BLOCKED_WAIT`] at the latest.
    pub(super) fn wanted(&self) -> PollFlags {
        match self.blocked && !self.spare_ports.blocked {
            true => PollFlags::POLLIN | PollFlags::POLLOUT,
            false => PollFlags::POLLIN,
        }
    }
}

/// How long to wait; None: there is no time limit. `due` is the time until the next time-out. If there may be `more`
/// data to read, there is no wait. While the socket is blocked, no datagrams are taken from the endpoint, so the
/// endpoint's time-out may lie in the past. The wait then lasts at least [`MIN_BLOCKED_WAIT`], so timers may be late by
/// that time. The wait ends early when the socket becomes writable.
pub(super) fn wait(more: bool, blocked: bool, due: Option<Duration>) -> Option<Duration> {
    match due {
        _ if more => Some(Duration::ZERO),
        Some(due) if blocked => Some(due.max(MIN_BLOCKED_WAIT)),
        due => due,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_socket_limits_the_wait() {
        let (now, soon) = (Some(Duration::ZERO), Some(Duration::from_secs(1)));
        assert_eq!(wait(false, false, now), now);
        assert_eq!(wait(false, true, now), Some(MIN_BLOCKED_WAIT));
        assert_eq!((wait(false, true, soon), wait(true, true, soon)), (soon, now));
        assert_eq!((wait(false, true, None), wait(true, false, None)), (None, now));
    }
}
