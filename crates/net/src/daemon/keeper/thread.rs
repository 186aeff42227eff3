//! The thread that watches and restores.

use super::report::Report;
use super::restore::{Restored, Restorer};
use super::{KeeperShared, PROTOCOL, lock};
use crate::os::clock::since_boot;
use crate::os::netlink::Watch;
use crate::os::tun::Tun;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::fmt;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The time from a notification to the check: 20 ms. A program that changes the device makes several changes, and one
/// check repairs them all. Meanwhile the guard routes refuse packets, unless they were removed too. Half the value makes
/// more checks; double the value refuses packets for longer.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// How many times this wait doubles while another program changes the device again and again: up to 1.28 s. Then two
/// programs that disagree take little time. With one step less, they take twice the time.
const MOST_DOUBLINGS: u32 = 6;
/// After this time without a repair, the wait is [`DEBOUNCE`] again. With half the value, a program that changes the
/// device every 6 s is not slowed down; with double the value, a second accident within 20 s is repaired a little later.
const CALM: Duration = Duration::from_secs(10);
/// How many times the keeper tries to create the device again. The first wait is 50 ms, and each wait is twice as long as
/// the one before, so the last try comes after 6 s. Another program may hold the device's name for a moment. Half
/// the number of tries ends after .7 s, double the number after half an hour.
const MOST_TRIES: u32 = 8;
/// The wait after the first try.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The wait after the kernel's tables could not be read.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// Creates the device with this MTU again. The error says why that is not possible.
type Open = Box<dyn FnMut(u32) -> Result<Tun, String> + Send>;

/// The state of the thread.
pub(super) struct KeeperThread {
    shared: Arc<KeeperShared>,
    watch: Watch,
    restorer: Restorer,
    open: Open,
    report: Report,
    /// When the next check is due.
    due: Option<Duration>,
    /// How many of the last checks have restored something, and the time of the last one.
    streak: (u32, Duration),
    /// How many times the device could not be created again.
    failures: u32,
}

impl KeeperThread {
    pub(super) fn new(shared: Arc<KeeperShared>, watch: Watch, restorer: Restorer, open: Open) -> KeeperThread {
        let (report, streak) = (Report::default(), (0, Duration::ZERO));
        KeeperThread { shared, watch, restorer, open, report, due: Some(Duration::ZERO), streak, failures: 0 }
    }

    pub(super) fn into_restorer(self) -> Restorer {
        self.restorer
    }

    /// Watches and restores until the keeper is stopped.
    pub(super) fn run(mut self) -> Restorer {
        loop {
            self.wait();
            if self.shared.stop.load(Ordering::SeqCst) {
                return self.restorer;
            }
            let now = since_boot();
            let asked = {
                let checks = lock(&self.shared.checks);
                (checks.asked > checks.done).then_some(checks.asked)
            };
            if self.watch.concerns(self.restorer.index(), PROTOCOL) {
                let at = now + self.debounce(now);
                self.due = Some(self.due.map_or(at, |due| due.min(at)));
            }
            if asked.is_some() || self.due.is_some_and(|due| due <= now) {
                self.due = None;
                self.check(now);
            }
            if let Some(asked) = asked {
                lock(&self.shared.checks).done = asked;
                self.shared.checked.notify_all();
            }
            self.report.flush(now);
        }
    }

    /// Waits for a notification, a wish, or the next time-out.
    fn wait(&self) {
        let due = [self.due, self.report.due()].into_iter().flatten().min();
        let wait = due.map(|due| due.saturating_sub(since_boot()));
        let mut files = [
            PollFd::new(self.watch.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.shared.wake.as_fd(), PollFlags::POLLIN),
        ];
        let _ = ppoll(&mut files, wait.map(TimeSpec::from), None);
        let _ = self.shared.wake.read();
    }

    fn debounce(&self, now: Duration) -> Duration {
        let (count, last) = self.streak;
        let doublings = if now.saturating_sub(last) < CALM { count.min(MOST_DOUBLINGS) } else { 0 };
        DEBOUNCE * (1 << doublings)
    }

    fn check(&mut self, now: Duration) {
        let wish = lock(&self.shared.wish).clone();
        let before = self.restorer.refused().clone();
        match self.restorer.restore(&wish) {
            Ok(Some(restored)) => self.note(now, restored),
            Ok(None) => self.recreate(now, &wish),
            Err(error) => {
                tracing::warn!(%error, "the kernel's routes cannot be read, so the device is not watched; trying again");
                self.due = Some(now + AFTER_ERROR);
            }
        }
        if *self.restorer.refused() != before {
            self.shared.note_refused(self.restorer.refused());
        }
    }

    fn note(&mut self, now: Duration, restored: Restored) {
        if restored == Restored::default() {
            return;
        }
        let (count, last) = self.streak;
        self.streak = (if now.saturating_sub(last) < CALM { count + 1 } else { 1 }, now);
        let mut counters = lock(&self.shared.counters);
        counters.brought_up += u64::from(restored.brought_up);
        counters.mtu += u64::from(restored.mtu);
        counters.addresses += restored.addresses;
        counters.routes += restored.routes;
        drop(counters);
        self.report.add(restored);
    }

    /// Creates the device again, and gives it to the packet thread.
    fn recreate(&mut self, now: Duration, wish: &super::Wish) {
        if self.failures >= MOST_TRIES || self.shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let error = match (self.open)(wish.mtu) {
            Ok(tun) => {
                self.restorer.set_index(tun.index());
                // A device that was removed at once is noticed by the next check.
                let _ = self.restorer.restore(wish);
                self.failures = 0;
                lock(&self.shared.counters).recreated += 1;
                self.report.add_recreated();
                self.shared.publish(|news| news.device = Some(tun));
                self.due = Some(now + DEBOUNCE);
                return;
            }
            Err(error) => error,
        };
        self.failures += 1;
        if self.failures < MOST_TRIES {
            self.due = Some(now + FIRST_WAIT * (1 << (self.failures - 1)));
            return;
        }
        let failure = format!(
            "another program has removed the device, and it cannot be created again: {error}; packets for the peers' \
             networks are refused until the daemon is started again"
        );
        self.shared.publish(|news| news.failure = Some(failure));
    }
}

impl fmt::Debug for KeeperThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeeperThread").field("restorer", &self.restorer).finish_non_exhaustive()
    }
}
