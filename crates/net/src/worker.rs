//! A thread that works, and those that ask it how it stands. It is never made to wait for them: it answers between two of its
//! turns, all that have asked so far with one snapshot.

use nix::sys::eventfd::{EfdFlags, EventFd};
use ripstop_base::Time;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a working thread shares with those that start, ask and stop it. `T` is the snapshot that it gives of itself.
#[derive(Debug)]
pub(crate) struct Worker<T> {
    start: Instant,
    /// Wakes the thread, to be asked or to stop.
    bell: Arc<EventFd>,
    stop: AtomicBool,
    /// How many snapshots were asked for, and how many of these questions have their answer.
    asked: AtomicU64,
    answered: AtomicU64,
    told: Mutex<Told<T>>,
    news: Condvar,
}

#[derive(Debug)]
struct Told<T> {
    /// Which question the snapshot answers.
    answer: u64,
    snapshot: Option<T>,
    /// The thread has ended; there will be no other.
    last: bool,
}

impl<T: Clone> Worker<T> {
    /// Time begins now.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    pub(crate) fn new() -> io::Result<Worker<T>> {
        Ok(Worker {
            start: Instant::now(),
            bell: Arc::new(bell()?),
            stop: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            told: Mutex::new(Told { answer: 0, snapshot: None, last: false }),
            news: Condvar::new(),
        })
    }

    pub(crate) fn now(&self) -> Time {
        Time::ZERO + self.start.elapsed()
    }

    /// What wakes the thread when something was written to it.
    pub(crate) fn bell(&self) -> &Arc<EventFd> {
        &self.bell
    }

    /// A snapshot of now or a little later; the last one, once the thread has ended. None when it ended before it ever told.
    pub(crate) fn ask(&self) -> Option<T> {
        let ticket = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        self.ring();
        let pending = |told: &mut Told<T>| told.answer < ticket && !told.last;
        let told = self.news.wait_while(self.lock(), pending).unwrap_or_else(PoisonError::into_inner);
        told.snapshot.clone()
    }

    /// Whether the thread still works.
    pub(crate) fn is_running(&self) -> bool {
        !self.lock().last
    }

    /// Asks the thread to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.ring();
    }

    /// For the thread: whether it is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// For the thread, which the bell has woken: it may ring again.
    pub(crate) fn heard(&self) {
        let _ = self.bell.read();
    }

    /// For the thread, between two turns: answers those who asked, if anybody did.
    pub(crate) fn tell(&self, snapshot: impl FnOnce() -> T) {
        let asked = self.asked.load(Ordering::SeqCst);
        if asked != self.answered.swap(asked, Ordering::SeqCst) {
            let snapshot = Some(snapshot());
            *self.lock() = Told { answer: asked, snapshot, last: false };
            self.news.notify_all();
        }
    }

    /// For the thread, as the last that it does: `snapshot` is its last state; what was told before stays, if there is none.
    pub(crate) fn end(&self, snapshot: Option<T>) {
        let mut told = self.lock();
        told.snapshot = snapshot.or(told.snapshot.take());
        told.last = true;
        drop(told);
        self.news.notify_all();
    }

    fn ring(&self) {
        // It fails only when the bell was rung 2^64 times and not heard.
        let _ = self.bell.write(1);
    }

    /// No code that could panic runs under the lock.
    fn lock(&self) -> MutexGuard<'_, Told<T>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A descriptor that is readable once something was written to it.
///
/// # Errors
/// When the system has no more descriptors.
pub(crate) fn bell() -> io::Result<EventFd> {
    EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map_err(io::Error::from)
}
