//! The *keeper*: a thread that keeps the device and its routes as the configuration wants them, whoever changes them.
//!
//! The keeper watches the kernel's notifications ([`crate::os::netlink`]). After a change it compares the device (up, MTU,
//! addresses, routes) with what is wanted, and restores what is missing. A device that was removed is created again. The
//! packet thread never waits for the keeper.
//!
//! Between a change and its repair, packets for the peers' networks must not leave by another route. So each prefix that
//! is routed into the device also has a *guard route*: an `unreachable` route with a metric so high that the kernel
//! uses it only when the route into the device is missing. Guard routes do not depend on the device. They are removed when
//! the daemon stops. They stay when it is killed or ends because of an error: packets are then refused until the next
//! start. The metric says to which device a guard route belongs, so that the next start finds it.

mod pace;
mod report;
mod restore;
mod thread;

use super::config::DaemonConfig;
use super::packet_loop::open_device;
use super::routes::WantedRoutes;
use crate::os::netlink::{Netlink, Watch};
use crate::os::netns::Namespace;
use crate::os::tun::Tun;
use crate::worker::wakeup;
use ipnet::IpNet;
use nix::sys::eventfd::EventFd;
use restore::Restorer;
use ripstop_base::counters;
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use thread::KeeperThread;

/// The number with which the daemon marks its routes (`proto` in the output of `ip route`). No program in the list of
/// iproute2 (`rt_protos`) has it. Another free number would do as well.
pub(super) const PROTOCOL: u8 = 82;
/// The lowest metric of a guard route. The lower 16 bits are a hash of the device's name. Any value above the metrics that
/// other programs use would do: the highest that is known is that of NetworkManager for a bad connection, 20 000 above
/// its usual 100 to 1000.
const GUARD_METRIC: u32 = 0xffff_0000;
/// The longest time for which a reload waits for its routes. 5000 routes take less than half a second. Half or double the
/// value has no effect, unless the machine is very busy.
const SETTLE: Duration = Duration::from_secs(5);

/// The keeper of a daemon's device. Dropping this value stops the thread and removes the guard routes.
#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<KeeperShared>,
    /// The thread's state, until the thread starts.
    prepared: Option<KeeperThread>,
    thread: Option<JoinHandle<Restorer>>,
    /// Whether the guard routes stay when this value is dropped.
    leaves_guards: bool,
}

/// What the keeper and the packet thread share.
#[derive(Debug)]
pub(super) struct KeeperShared {
    wish: Mutex<Wish>,
    /// Wakes the keeper when `wish` or `stop` has changed, or when a check is wanted.
    wake: EventFd,
    stop: AtomicBool,
    checks: Mutex<Checks>,
    /// Notified when `checks.done` changes.
    checked: Condvar,
    news: Mutex<News>,
    /// Whether `news` has something for the packet thread.
    has_news: AtomicBool,
    /// Wakes the packet thread.
    packet_wakeup: Arc<EventFd>,
    counters: Mutex<KeeperCounters>,
}

/// What the device should be.
#[derive(Clone, Debug)]
struct Wish {
    mtu: u32,
    addresses: Vec<IpNet>,
    routes: WantedRoutes,
}

/// How many checks were asked for, and how many of them are done.
#[derive(Debug, Default)]
struct Checks {
    asked: u64,
    done: u64,
}

/// What the packet thread must know.
#[derive(Debug, Default)]
pub(super) struct News {
    /// A device that replaces the one that was removed.
    pub(super) device: Option<Tun>,
    /// Why the device could not be created again. The daemon cannot go on.
    pub(super) failure: Option<String>,
    /// The prefixes whose routes the kernel has refused.
    pub(super) refused: Option<BTreeSet<IpNet>>,
}

counters! {
    /// What the keeper has restored.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct KeeperCounters {
        /// Times that the device was brought up again, because another program had taken it down.
        pub brought_up: u64 => ("brought_up", "device_brought_up_total"),
        /// Times that the device's MTU was restored, because another program had changed it.
        pub mtu: u64 => ("mtu_restored", "device_mtu_restored_total"),
        /// Addresses of the device that were restored, because another program had removed them.
        pub addresses: u64 => ("addresses_restored", "device_addresses_restored_total"),
        /// Routes into the device, and guard routes, that were restored, because another program had removed or
        /// replaced them.
        pub routes: u64 => ("routes_restored", "device_routes_restored_total"),
        /// Times that the device was created again, because another program had removed it.
        pub recreated: u64 => ("recreated", "device_recreated_total"),
        /// Prefixes in `allowed-ips` that have no route now, because the kernel refuses the route.
        pub refused: u64 => ("routes_refused", "device_routes_refused"),
    }
}

impl Keeper {
    /// Sets the routes of the device `tun`. [`Keeper::start`] then begins to watch. Must be called in the device's
    /// namespace.
    ///
    /// # Errors
    /// The kernel's tables cannot be read. A route that the kernel refuses is logged, and is no error.
    pub(super) fn prepare(
        config: &DaemonConfig,
        namespace: &Namespace,
        tun: &Tun,
        mtu: u32,
        routes: WantedRoutes,
        packet_wakeup: Arc<EventFd>,
    ) -> io::Result<Keeper> {
        let watch = Watch::open()?;
        let mut restorer = Restorer::new(Netlink::open()?, tun.index(), GUARD_METRIC | hash(&config.name));
        let wish = Wish { mtu, addresses: config.addresses.clone(), routes };
        restorer.restore(&wish)?;
        let shared = Arc::new(KeeperShared {
            wish: Mutex::new(wish),
            wake: wakeup()?,
            stop: AtomicBool::new(false),
            checks: Mutex::default(),
            checked: Condvar::new(),
            news: Mutex::default(),
            has_news: AtomicBool::new(false),
            packet_wakeup,
            counters: Mutex::default(),
        });
        shared.note_refused(restorer.refused());
        let (config, namespace) = (config.clone(), namespace.clone());
        let open = Box::new(move |mtu| {
            let tun = open_device(&config, &namespace, mtu).map_err(|error| error.to_string())?;
            tun.set_nonblocking(true).map_err(|error| error.to_string())?;
            Ok(tun)
        });
        let prepared = Some(KeeperThread::new(shared.clone(), watch, restorer, open));
        Ok(Keeper { shared, prepared, thread: None, leaves_guards: false })
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn start(&mut self) -> io::Result<()> {
        let Some(prepared) = self.prepared.take() else { return Ok(()) };
        self.thread = Some(std::thread::Builder::new().name("keeper".into()).spawn(move || prepared.run())?);
        Ok(())
    }

    /// The part that the packet thread uses.
    pub(super) fn shared(&self) -> &Arc<KeeperShared> {
        &self.shared
    }

    /// Checks the device now, and waits until everything that was wanted before this call is done.
    pub(super) fn settle(&self) {
        let mut checks = lock(&self.shared.checks);
        checks.asked += 1;
        let ticket = checks.asked;
        self.shared.wake();
        let wait = self.shared.checked.wait_timeout_while(checks, SETTLE, |checks| checks.done < ticket);
        drop(wait);
    }

    /// Leaves the guard routes where they are, because the daemon does not end as its operator wants.
    pub(super) fn leave_guards(&mut self) {
        self.leaves_guards = true;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.end();
        let running = self.thread.take().and_then(|thread| thread.join().ok());
        let restorer = running.or_else(|| self.prepared.take().map(KeeperThread::into_restorer));
        if let Some(mut restorer) = restorer.filter(|_| !self.leaves_guards)
            && let Err(error) = restorer.remove_guards()
        {
            tracing::warn!(%error, "the guard routes could not be removed; the next start removes them");
        }
    }
}

impl KeeperShared {
    /// Sets the wanted MTU. The keeper sets it soon.
    pub(super) fn want_mtu(&self, mtu: u32) {
        lock(&self.wish).mtu = mtu;
        self.check();
    }

    /// Sets the wanted routes. The keeper sets them soon.
    pub(super) fn want_routes(&self, routes: WantedRoutes) {
        lock(&self.wish).routes = routes;
        self.check();
    }

    /// Ends the keeper, before the device is closed. Otherwise the keeper would create the device again.
    pub(super) fn end(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Asks for a check of the device.
    pub(super) fn check(&self) {
        lock(&self.checks).asked += 1;
        self.wake();
    }

    /// What the keeper has for the packet thread. Called in each turn of the packet thread.
    pub(super) fn news(&self) -> Option<News> {
        self.has_news.swap(false, Ordering::AcqRel).then(|| std::mem::take(&mut *lock(&self.news)))
    }

    /// What was restored so far.
    pub(super) fn counters(&self) -> KeeperCounters {
        *lock(&self.counters)
    }

    fn publish(&self, change: impl FnOnce(&mut News)) {
        change(&mut lock(&self.news));
        self.has_news.store(true, Ordering::Release);
        let _ = self.packet_wakeup.write(1);
    }

    fn note_refused(&self, refused: &BTreeSet<IpNet>) {
        lock(&self.counters).refused = refused.len() as u64;
        self.publish(|news| news.refused = Some(refused.clone()));
    }

    fn wake(&self) {
        let _ = self.wake.write(1);
    }
}

/// A poisoned lock is usable: no code that can panic runs under it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A hash of 16 bits (FNV-1a, folded).
fn hash(name: &str) -> u32 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 16 ^ hash) & 0xffff
}
