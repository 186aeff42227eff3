//! The thread that watches and restores.

use super::pace::{Pace, Urgency};
use super::report::Report;
use super::restore::{Restored, Restorer};
use super::{KeeperShared, PROTOCOL, lock};
use crate::os::clock::since_boot;
use crate::os::netlink::{Notice, Watch};
use crate::os::tun::Tun;
use ipnet::IpNet;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::BTreeSet;
use std::fmt;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

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
    pace: Pace,
    /// How many times the device could not be created again.
    failures: u32,
}

impl KeeperThread {
    pub(super) fn new(shared: Arc<KeeperShared>, watch: Watch, restorer: Restorer, open: Open) -> KeeperThread {
        let mut pace = Pace::default();
        pace.check_at(Duration::ZERO);
        KeeperThread { shared, watch, restorer, open, report: Report::default(), pace, failures: 0 }
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
            self.read_notices(now);
            if asked.is_some() || self.pace.due().is_some_and(|due| due <= now) {
                self.pace.begin(now);
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
        let due = [self.pace.due(), self.report.due()].into_iter().flatten().min();
        let wait = due.map(|due| due.saturating_sub(since_boot()));
        let mut files = [
            PollFd::new(self.watch.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.shared.wake.as_fd(), PollFlags::POLLIN),
        ];
        let _ = ppoll(&mut files, wait.map(TimeSpec::from), None);
        let _ = self.shared.wake.read();
    }

    /// Asks for a check if a notification concerns the device, or a prefix whose packets go into the device.
    fn read_notices(&mut self, now: Duration) {
        let KeeperThread { shared, watch, restorer, pace, .. } = self;
        let mut wanted: Option<BTreeSet<IpNet>> = None;
        watch.read(|notice| {
            let route = match notice {
                // Without a notification, the kernel removes the routes through a device that is taken down.
                Notice::Link(index) if index == restorer.index() || !restorer.refused().is_empty() => {
                    return pace.note_change(now, Urgency::Refused);
                }
                Notice::Link(_) => return,
                Notice::Missed => {
                    restorer.doubt_all();
                    return pace.note_change(now, Urgency::Leaks);
                }
                Notice::Route(route) => route,
            };
            let wanted = wanted.get_or_insert_with(|| lock(&shared.wish).routes.inside().collect());
            let is_own = route.protocol == PROTOCOL || route.device == Some(restorer.index());
            let urgency = match (is_own, wanted.contains(&route.prefix)) {
                (false, false) => return,
                (false, true) if route.is_set => {
                    restorer.note_rival(route.prefix, route.metric);
                    Urgency::Leaks
                }
                (true, true) if !route.is_set && route.metric == restorer.guard_metric() => Urgency::Leaks,
                _ => Urgency::Refused,
            };
            pace.note_change(now, urgency);
        });
    }

    fn check(&mut self, now: Duration) {
        let wish = lock(&self.shared.wish).clone();
        let before = self.restorer.refused().clone();
        match self.restorer.restore(&wish) {
            Ok(Some(restored)) => self.note(now, restored),
            Ok(None) => self.recreate(now, &wish),
            Err(error) => {
                tracing::warn!(%error, "the kernel's routes cannot be read, so the device is not watched; trying again");
                self.pace.check_at(now + AFTER_ERROR);
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
        self.pace.note_repair(now);
        let mut counters = lock(&self.shared.counters);
        counters.brought_up += u64::from(restored.brought_up);
        counters.mtu += u64::from(restored.mtu);
        counters.addresses += restored.addresses.len() as u64;
        counters.routes += restored.routes.len() as u64;
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
                self.pace.check_again(now);
                return;
            }
            Err(error) => error,
        };
        self.failures += 1;
        if self.failures == 1 {
            tracing::warn!(
                %error,
                "another program has removed the device, and it cannot be created yet; packets for the peers' networks are \
                 refused meanwhile"
            );
        }
        if self.failures < MOST_TRIES {
            self.pace.check_at(now + FIRST_WAIT * (1 << (self.failures - 1)));
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
