//! The wait between two turns of the packet thread.

use super::Readable;
use super::device::Device;
use super::moderation::Moderation;
use super::network::Network;
use crate::daemon::status::DaemonStatus;
use crate::worker::Worker;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use ripstop_base::Time;
use ripstop_proto::endpoint::Endpoint;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// After a packet from the device has ended a pause early, this number of pauses ignores the device. A packet of an
/// interactive flow, which sends rarely, leaves without delay. A flow that sends often does not end every pause. Double
/// the value delays interactive packets more often. With half the value, up to one in eight pauses is cut short.
const IGNORING: u32 = 15;
/// After a short packet was delivered, this number of pauses watches the device for the answer. The first pause may end
/// for another packet. Half the value misses such answers. Double the value shortens more pauses.
const ATTENTIVE: u32 = 2;
/// Shortest wait while the socket is blocked; see [`wait`]. Timers then wake the thread at most 100
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

/// What a wait may wait for.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) worker: &'a Worker<DaemonStatus>,
    pub(super) network: &'a Network,
    pub(super) device: Option<&'a Device>,
}

impl Waits {
    pub(super) fn new(now: Time) -> Waits {
        Waits { moderation: Moderation::new(now), turns: 0, pauses: 0, ignoring: 0, attentive: 0 }
    }

    /// Notes that a short packet was delivered, whose answer should not wait.
    pub(super) fn expect_answer(&mut self) {
        self.attentive = ATTENTIVE;
    }

    /// Waits for the next turn. Returns what is readable. `due` is the next time-out.
    pub(super) fn wait(
        &mut self,
        sources: Sources<'_>,
        endpoint: &mut Endpoint,
        due: Option<Time>,
        more: bool,
    ) -> io::Result<Readable> {
        let Sources { worker, network, device } = sources;
        let (now, blocked) = (worker.now(), network.is_blocked());
        let pause = self.moderation.pause(now, || endpoint.take_active_paths()).filter(|_| !more && !blocked);
        let mut files = [
            PollFd::new(worker.wakeup().as_fd(), PollFlags::POLLIN),
            // A removed device reports an error at once and for ever, so another descriptor is in its place.
            match device.filter(|device| !device.is_gone()) {
                Some(device) => PollFd::new(device.tun().as_fd(), PollFlags::POLLIN),
                None => PollFd::new(worker.wakeup().as_fd(), PollFlags::POLLIN),
            },
            PollFd::new(network.udp.as_fd(), network.wanted()),
            PollFd::new(network.spare_ports.as_fd(), PollFlags::POLLIN),
        ];
        let watches_device = self.ignoring == 0 || self.attentive > 0;
        let (watched, wait) = match pause {
            // A pause ignores the socket, and time-outs may be late by the length of the pause.
            Some(pause) => (if watches_device { 2 } else { 1 }, Some(pause)),
            None => (4, wait(more, blocked, due.map(|at| at.since(now)))),
        };
        match ppoll(&mut files[..watched], wait.map(TimeSpec::from), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let [wakeup, device, socket, spare] = files.map(|file| file.revents().unwrap_or(PollFlags::empty()));
        if !wakeup.is_empty() {
            worker.clear_wakeup();
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
