//! The log of a daemon: lines wait in a bounded queue for a thread of their own, which writes them.
//!
//! A write to standard error can fail (a full disk, a reader that has ended) or wait for ever (a full pipe, a stopped
//! terminal). Neither may hold up the packets or the end of the daemon. So a thread that logs a line only puts the line
//! into the queue. A line that finds the queue full, or that cannot be written, is lost and counted. After the next line
//! that is written, one line reports how many were lost.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The largest number of bytes that wait to be written: 256 kB, about 2000 lines. A start with 1000 peers logs as much at
/// once. Half the value loses lines of such a start if the reader is slow. Double the value only takes more memory.
const MOST_BYTES: usize = 256_000;

/// Lines lost in this process, for [`lost_lines`].
static LOST: AtomicU64 = AtomicU64::new(0);

/// How many lines of this process's logs were lost, because they could not be written or too many lines waited.
pub fn lost_lines() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// A log. Clones share one queue. Each call of [`io::Write::write`] takes a whole line, and never waits for the reader of
/// the log.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Notified when a line was put into the queue, and when all lines are written.
    changed: Condvar,
    lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    lines: VecDeque<Vec<u8>>,
    /// Bytes of `lines`.
    bytes: usize,
    /// Whether the thread is writing a line, which is no longer in `lines`.
    writing: bool,
}

impl Log {
    /// A log whose lines wait until [`Log::start`] is called.
    pub fn new() -> Log {
        Log::default()
    }

    /// Starts the thread that writes the lines to `to`. The thread has the rights of the calling thread, and ends with the
    /// process. After lost lines the thread calls `report` with their number; `report` may log.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(&self, to: OwnedFd, report: impl Fn(u64) + Send + 'static) -> io::Result<()> {
        let log = self.clone();
        std::thread::Builder::new().name("log".into()).spawn(move || log.write_lines(&to, report)).map(drop)
    }

    /// Waits until all lines are written or lost, for at most `limit`.
    pub fn flush(&self, limit: Duration) {
        let end = Instant::now() + limit;
        let mut queue = self.lock();
        while queue.writing || !queue.lines.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            queue = self.0.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Puts a line into the queue. The line ends with a newline.
    pub fn push(&self, line: &[u8]) {
        let mut queue = self.lock();
        if queue.bytes + line.len() > MOST_BYTES {
            drop(queue);
            return self.lose();
        }
        queue.bytes += line.len();
        queue.lines.push_back(line.to_vec());
        drop(queue);
        self.0.changed.notify_all();
    }

    fn lose(&self) {
        self.0.lost.fetch_add(1, Ordering::Relaxed);
        LOST.fetch_add(1, Ordering::Relaxed);
    }

    /// The thread's loop.
    fn write_lines(&self, to: &OwnedFd, report: impl Fn(u64)) {
        let mut reported = 0;
        // Whether the last line was written in part, so that the next line must begin on a line of its own.
        let mut torn = false;
        loop {
            let line = self.next_line();
            let newline: &[u8] = if torn { b"\n" } else { b"" };
            let written = write_all(to, newline).and_then(|()| write_all(to, &line));
            match written {
                Ok(()) => {
                    torn = false;
                    let lost = self.0.lost.load(Ordering::Relaxed);
                    if lost > reported {
                        report(lost - reported);
                        reported = lost;
                    }
                }
                Err(begun) => {
                    torn |= begun;
                    self.lose();
                }
            }
            let mut queue = self.lock();
            queue.writing = false;
            drop(queue);
            self.0.changed.notify_all();
        }
    }

    /// Waits for a line and takes it out of the queue.
    fn next_line(&self) -> Vec<u8> {
        let mut queue = self.lock();
        loop {
            if let Some(line) = queue.lines.pop_front() {
                queue.bytes -= line.len();
                queue.writing = true;
                return line;
            }
            queue = self.0.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A poisoned lock is usable: no code that can panic runs under it.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl io::Write for Log {
    /// Takes `line` as one line. Never fails.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes all of `bytes`, and waits as long as the reader needs. The error says whether a part was written.
fn write_all(to: &OwnedFd, bytes: &[u8]) -> Result<(), bool> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match nix::unistd::write(to, rest) {
            Ok(0) => return Err(rest.len() < bytes.len()),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(Errno::EINTR) => {}
            // Another process has made the descriptor non-blocking.
            Err(Errno::EAGAIN) => {
                let _ = poll(&mut [PollFd::new(to.as_fd(), PollFlags::POLLOUT)], PollTimeout::NONE);
            }
            Err(_) => return Err(rest.len() < bytes.len()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{BufRead, BufReader};
    use std::sync::mpsc::channel;

    /// More lines than a pipe (64 kB) and the queue hold.
    const MANY: usize = 10_000;

    #[test]
    fn a_pipe_that_nobody_reads_holds_nobody_up() {
        let (reader, writer) = io::pipe().unwrap();
        let (log, (sender, reports)) = (Log::new(), channel());
        log.start(writer.into(), move |lines| sender.send(lines).unwrap()).unwrap();
        for n in 0..MANY {
            log.push(format!("line {n:059}\n").as_bytes());
        }
        log.flush(Duration::from_millis(10));
        let lost = log.0.lost.load(Ordering::Relaxed);
        // The queue, the pipe and the line that is being written hold the other lines.
        let held = (MOST_BYTES + 65_536) / 65 + 2;
        assert!((MANY - held..MANY).contains(&(lost as usize)), "{lost} lines lost");
        // Now somebody reads. The lines that were kept arrive, and the lost ones are reported.
        let kept = MANY - lost as usize;
        let lines = std::thread::spawn(move || BufReader::new(reader).lines().take(kept).map(Result::unwrap).collect());
        let lines: Vec<String> = lines.join().unwrap();
        assert_eq!((lines.len(), &lines[0]), (kept, &format!("line {:059}", 0)));
        log.flush(Duration::from_secs(60));
        assert_eq!(reports.try_iter().sum::<u64>(), lost);
        assert!(lost_lines() >= lost);
    }

    #[test]
    fn a_full_disk_loses_lines_and_ends_nothing() {
        let log = Log::new();
        log.start(File::options().write(true).open("/dev/full").unwrap().into(), |_| {}).unwrap();
        for _ in 0..3 {
            log.push(b"a line\n");
        }
        log.flush(Duration::from_secs(60));
        assert_eq!(log.0.lost.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn lines_wait_for_the_start_of_the_thread() {
        let log = Log::new();
        log.push(b"early\n");
        let (reader, writer) = io::pipe().unwrap();
        log.start(writer.into(), |_| {}).unwrap();
        assert_eq!(BufReader::new(reader).lines().next().unwrap().unwrap(), "early");
    }
}
