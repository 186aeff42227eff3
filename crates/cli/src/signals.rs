//! The signals that end a command, read from a file descriptor.

use crate::failure::{Failure, Outcome};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// SIGINT (Ctrl-C), SIGTERM and SIGHUP.
pub(crate) struct Signals(SignalFd);

impl Signals {
    /// Blocks the signals in the calling thread. Threads started later inherit the signal mask, so call this
    /// function before the first thread is started.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn block() -> Outcome<Signals> {
        let set: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
        set.thread_block()
            .and_then(|()| SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK))
            .map(Signals)
            .map_err(|errno| Failure::work("catching Ctrl-C", errno))
    }

    /// Waits for a signal, for at most 200 ms and not beyond `end`. Returns true if a signal came or `end` was
    /// reached.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn should_end(&self, end: Option<Instant>) -> Outcome<bool> {
        /// The longest wait of one call. Between two calls, the caller checks its other conditions and does its
        /// regular work. With half the value, the caller reacts twice as fast and wakes up twice as often.
        const LONGEST_WAIT: Duration = Duration::from_millis(200);
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let mut files = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut files, Some(TimeSpec::from(left.map_or(LONGEST_WAIT, |left| left.min(LONGEST_WAIT)))), None) {
            Ok(0) | Err(Errno::EINTR) => Ok(left.is_some_and(|left| left <= LONGEST_WAIT)),
            Ok(_) => Ok(true),
            Err(errno) => Err(Failure::work("waiting for Ctrl-C", errno)),
        }
    }

    /// Waits until a signal comes or `file` becomes readable. Returns the signal, or None if `file` is
    /// readable.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn wait_or(&self, file: BorrowedFd<'_>) -> Outcome<Option<Signal>> {
        let failed = |errno| Failure::work("waiting for Ctrl-C", errno);
        loop {
            let mut files = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN), PollFd::new(file, PollFlags::POLLIN)];
            match ppoll(&mut files, None, None) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(failed(errno)),
            }
            if let Some(signal) = self.0.read_signal().map_err(failed)? {
                return Ok(i32::try_from(signal.ssi_signo).ok().and_then(|n| Signal::try_from(n).ok()));
            }
            if files[1].any().unwrap_or(false) {
                return Ok(None);
            }
        }
    }
}
