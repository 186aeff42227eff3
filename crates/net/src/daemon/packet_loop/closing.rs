//! The end of the sessions when the daemon stops.

use super::PacketLoop;
use super::waiting::wait;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use ripstop_base::Time;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// The longest time, 200 ms, for which a daemon that stops goes on to send. What waits in the send queues is worth one or
/// two round trips, and applications count on it. With half the value, paths of more than 100 ms lose a part of it. With
/// double the value, a stop takes up to 400 ms if a peer with queued packets does not answer.
const CLOSING: Duration = Duration::from_millis(200);

impl PacketLoop {
    /// Ends all sessions. Goes on to send and deliver until nothing is queued, for at most [`CLOSING`]. Then the peers are told
    /// about the end. The device is not read any more.
    pub(super) fn close(&mut self) -> io::Result<()> {
        let end = self.shared.worker.now() + CLOSING;
        self.endpoint.close();
        loop {
            self.drain();
            let now = self.shared.worker.now();
            if !self.has_queued() {
                return Ok(());
            }
            if now >= end {
                self.endpoint.close_now();
                self.drain();
                return Ok(());
            }
            self.wait_for_socket(end)?;
            // Reports of the peers make room for further datagrams.
            self.read_datagrams()?;
            let now = self.shared.worker.now();
            if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
                self.endpoint.handle_timeout(now);
            }
        }
    }

    /// Whether datagrams wait for the socket, or inner packets for their turn in either direction.
    fn has_queued(&self) -> bool {
        let mut peers = self.endpoint.peers();
        self.blocked
            || self.endpoint.has_undelivered()
            || peers.any(|peer| self.endpoint.backlog_packets(peer).is_some_and(|packets| packets > 0))
    }

    /// Waits until the socket is ready, or a time-out is due, at most until `end`.
    fn wait_for_socket(&self, end: Time) -> io::Result<()> {
        let due = self.endpoint.poll_timeout().map_or(end, |at| at.min(end)).since(self.shared.worker.now());
        let spare = PollFd::new(self.spare_ports.as_fd(), PollFlags::POLLIN);
        let mut files = [PollFd::new(self.udp.as_fd(), self.wanted()), spare];
        match ppoll(
            &mut files,
            wait(self.endpoint.has_undelivered(), self.blocked, Some(due)).map(TimeSpec::from),
            None,
        ) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}
