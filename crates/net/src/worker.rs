//! A worker thread and the handle through which other threads ask for its state. The worker never
//! waits for the other threads. Between two turns of its loop, the worker answers all pending
//! requests with one snapshot.

use crate::os::clock::Clock;
use nix::sys::eventfd::{EfdFlags, EventFd};
use ripstop_base::Time;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// State shared by a worker thread and the threads that start, query and stop it. `T` is the worker's
/// snapshot.
#[derive(Debug)]
pub(crate) struct Worker<T> {
    clock: Clock,
    /// Wakes the worker when it has a request or must stop.
    wakeup: Arc<EventFd>,
    stop: AtomicBool,
    /// Number of snapshots requested so far.
    asked: AtomicU64,
    /// How many of the requests have been answered.
    answered: AtomicU64,
    /// The last snapshot, and the number of the last request that this snapshot answers.
    state: Mutex<Answer<T>>,
    /// Notified when `state` changes.
    changed: Condvar,
}

#[derive(Debug)]
struct Answer<T> {
    /// The number of the last request that the snapshot answers.
    request: u64,
    snapshot: Option<T>,
    /// Whether the worker has ended. If so, there will be no newer snapshot.
    last: bool,
}

impl<T: Clone> Worker<T> {
    /// Starts the worker's clock.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub(crate) fn new() -> io::Result<Worker<T>> {
        Ok(Worker {
            clock: Clock::start(),
            wakeup: Arc::new(wakeup()?),
            stop: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            state: Mutex::new(Answer { request: 0, snapshot: None, last: false }),
            changed: Condvar::new(),
        })
    }

    /// The worker's clock.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// The descriptor that wakes the worker. A thread wakes the worker by writing to this
    /// descriptor.
    pub(crate) fn wakeup(&self) -> &Arc<EventFd> {
        &self.wakeup
    }

    /// A snapshot taken now or a little later. If the worker has ended, this is the worker's last snapshot, or None if
    /// the worker made no snapshot.
    pub(crate) fn request(&self) -> Option<T> {
        let ticket = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        self.wake();
        let pending = |state: &mut Answer<T>| state.request < ticket && !state.last;
        let state = self.changed.wait_while(self.lock(), pending).unwrap_or_else(PoisonError::into_inner);
        state.snapshot.clone()
    }

    /// Whether the worker is still running.
    pub(crate) fn is_running(&self) -> bool {
        !self.lock().last
    }

    /// Asks the worker to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Called by the worker: whether it must end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Called by the worker after a wake-up: clears the wake-up, so that the next wake-up is
    /// noticed.
    pub(crate) fn clear_wakeup(&self) {
        let _ = self.wakeup.read();
    }

    /// Called by the worker between two turns: answers all pending requests.
    pub(crate) fn answer(&self, snapshot: impl FnOnce() -> T) {
        let asked = self.asked.load(Ordering::SeqCst);
        if asked != self.answered.swap(asked, Ordering::SeqCst) {
            let snapshot = Some(snapshot());
            *self.lock() = Answer { request: asked, snapshot, last: false };
            self.changed.notify_all();
        }
    }

    /// Called by the worker as its last action. `snapshot` is the worker's final state; None keeps the last snapshot.
    pub(crate) fn end(&self, snapshot: Option<T>) {
        let mut state = self.lock();
        state.snapshot = snapshot.or(state.snapshot.take());
        state.last = true;
        drop(state);
        self.changed.notify_all();
    }

    fn wake(&self) {
        // The write fails only after 2^64 wake-ups that were not cleared.
        let _ = self.wakeup.write(1);
    }

    /// A poisoned lock is usable: no code that can panic runs under it.
    fn lock(&self) -> MutexGuard<'_, Answer<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A descriptor that becomes readable when a thread writes to it.
///
/// # Errors
/// The system has no more descriptors.
pub(crate) fn wakeup() -> io::Result<EventFd> {
    EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map_err(io::Error::from)
}
