//! A link between two namespaces in real time, in user space.
//!
//! Each namespace gets a TUN device. A packet that the kernel sends into one device is offered to
//! the [`ripstop_link::Link`] of that direction. The packet leaves the other device at the time
//! that the link gives. The link treats rate, queue, delay and losses as in the simulator, with the
//! same random streams. A random stream is a sequence of random numbers, derived from the seed and a name. No
//! kernel module and no `netem` are needed, so the emulator runs in containers.
//!
//! If the link has a block code, each packet is really coded: it is cut into units, repair units are
//! computed, the units that the link loses are erased, and the decoded bytes are forwarded.
//!
//! The devices have no offload: a packet here is at most as long as the MTU, and loss is drawn for
//! each packet. Without offload the sending kernel computes every checksum before the emulator
//! reads the packet. The receiving kernel checks the checksums, and therefore detects a flipped
//! bit, except in the unprotected fields of an IPv6 header and in an IPv4 header's version.
//!
//! One thread moves the packets. If the system allows real-time priority, the thread runs before
//! all ordinary threads. On a busy machine the thread may still be late. The report says how late
//! the packets were, so a measurement on a noisy machine can be recognised.

mod block_code;
mod direction;
mod report;

pub use block_code::BlockCodeCounters;
pub use report::{EmulatedDirectionReport, EmulatorSnapshot, Lateness};

use crate::os::netns::Namespace;
use crate::os::priority::{Priority, raise_this_thread};
use crate::os::tun::{Tun, TunConfig, TunError};
use crate::worker::Worker;
use direction::Direction;
use ipnet::IpNet;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use ripstop_base::{Seed, Time};
use ripstop_codes::block::BlockError;
use ripstop_link::{Link, LinkConfig, LinkConfigError};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The name of the left-to-right link in random streams. A simulated link with this name, the same settings
/// and the same seed loses the same packets.
pub const LEFT_TO_RIGHT: &str = "link/0";
/// The name of the right-to-left link in random streams; see [`LEFT_TO_RIGHT`].
pub const RIGHT_TO_LEFT: &str = "link/1";

/// The settings of an emulator.
#[derive(Clone, Debug)]
pub struct EmulatorConfig {
    /// The device in the left namespace.
    pub left: EmulatorSide,
    /// The device in the right namespace.
    pub right: EmulatorSide,
    /// The link for packets from left to right. The link's time begins at the emulator's start.
    pub left_to_right: LinkConfig,
    /// The link for packets from right to left.
    pub right_to_left: LinkConfig,
    /// MTU of both devices, in bytes. A link with a smaller MTU silently drops larger packets.
    pub mtu: u16,
    /// The seed from which all random streams are derived.
    pub seed: Seed,
    /// Whether to keep the fate of each packet (delivered, or lost and how), one byte per packet.
    /// [`Emulator::take_fates`] must then be called regularly.
    pub fates: bool,
}

/// One end of the link.
#[derive(Clone, Debug)]
pub struct EmulatorSide {
    /// Name of the device, at most 15 bytes.
    pub device: String,
    /// The device's addresses, each with the prefix reached through the device; at most one IPv4 address. Either both
    /// sides share the prefix or the caller sets routes.
    pub addresses: Vec<IpNet>,
}

impl EmulatorSide {
    /// Checks the settings of the device with an MTU of `mtu` bytes. [`Emulator::start`] does so too.
    ///
    /// # Errors
    /// [`TunError::Config`] for the first invalid setting.
    pub fn check(&self, mtu: u16) -> Result<(), TunError> {
        self.device(mtu).check()
    }

    fn device(&self, mtu: u16) -> TunConfig {
        TunConfig {
            name: Some(self.device.clone()),
            addresses: self.addresses.clone(),
            mtu,
            offload: false,
            queue_packets: DEVICE_QUEUE_PACKETS,
        }
    }
}

impl EmulatorConfig {
    /// A link with an MTU of 1500 bytes between the devices `wire0` of two namespaces. `addresses` are the devices'
    /// addresses, left and right, in a common prefix of 24 bits. The fates of packets are not kept.
    pub fn new(addresses: [Ipv4Addr; 2], left_to_right: LinkConfig, right_to_left: LinkConfig, seed: Seed) -> Self {
        let [left, right] = addresses.map(|address| EmulatorSide {
            device: "wire0".to_owned(),
            addresses: vec![IpNet::new_assert(address.into(), 24)],
        });
        EmulatorConfig { left, right, left_to_right, right_to_left, mtu: 1500, seed, fates: false }
    }
}

/// Why the emulator could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    /// A link's settings are not valid.
    #[error("{direction}: {source}")]
    Link {
        /// `left to right` or `right to left`.
        direction: &'static str,
        /// The invalid setting.
        source: LinkConfigError,
    },
    /// There is no block code with the N and K of a link.
    #[error("{direction}: {source}")]
    BlockCode {
        /// `left to right` or `right to left`.
        direction: &'static str,
        /// Why there is no such code.
        source: BlockError,
    },
    /// A device could not be created.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// Another error of the system.
    #[error("{what}: {source}")]
    System {
        /// The step that failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// A running emulator. Dropping this value stops the emulator and removes its devices.
#[derive(Debug)]
pub struct Emulator {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// State shared by the handle and the emulator's thread. The two [`Direction`]s belong to the
/// thread alone, so the thread never waits for a lock on them. The thread publishes its counters on
/// request.
#[derive(Debug)]
struct Shared {
    left: Tun,
    right: Tun,
    worker: Worker<EmulatorSnapshot>,
    /// Fates of packets from left to right, then from right to left.
    fates: Mutex<[Vec<u8>; 2]>,
}

/// The state of the emulator's thread.
#[derive(Debug)]
struct State {
    left_to_right: Direction,
    right_to_left: Direction,
    priority: Priority,
}

/// The largest number of packets that are read from one direction before the other direction has
/// its turn. Larger batches delay the other direction. Smaller batches cost more system calls per
/// packet at high rates.
const BATCH: usize = 32;

/// The number of fates at which the thread moves them to the shared log. With a smaller value, the
/// thread takes the log's lock more often. With a larger value, more of the latest fates are
/// missing in what [`Emulator::take_fates`] returns. The results of the emulation do not depend on
/// this value.
const MAX_KEPT_FATES: usize = 4096;

/// Length of each device's queue, in packets. The kernel holds these packets while the emulator is
/// not scheduled. The queue is longer than the window of a fast sender, so only the link loses
/// packets.
const DEVICE_QUEUE_PACKETS: u32 = 16_384;

impl Emulator {
    /// Creates both devices and starts to move packets.
    ///
    /// # Errors
    /// An invalid setting, or a device that could not be created.
    pub fn start(config: &EmulatorConfig, left: &Namespace, right: &Namespace) -> Result<Emulator, EmulateError> {
        let direction = |settings: &LinkConfig, name, direction| {
            let link = Link::new(settings, config.seed, name);
            let link = link.map_err(|source| EmulateError::Link { direction, source })?;
            let made = Direction::new(link, settings.fec.as_ref(), config.mtu, config.fates);
            made.map_err(|source| EmulateError::BlockCode { direction, source })
        };
        let left_to_right = direction(&config.left_to_right, LEFT_TO_RIGHT, "left to right")?;
        let right_to_left = direction(&config.right_to_left, RIGHT_TO_LEFT, "right to left")?;
        let system = |what| move |source: io::Error| EmulateError::System { what, source };
        let device = |side: &EmulatorSide, namespace| -> Result<Tun, EmulateError> {
            let tun = Tun::open(namespace, &side.device(config.mtu))?;
            tun.set_nonblocking(true).map_err(system("making a TUN device non-blocking"))?;
            Ok(tun)
        };
        let shared = Arc::new(Shared {
            left: device(&config.left, left)?,
            right: device(&config.right, right)?,
            worker: Worker::new().map_err(system("making an event descriptor"))?,
            fates: Mutex::default(),
        });
        let state = State { left_to_right, right_to_left, priority: Priority::default() };
        let mover = shared.clone();
        let thread = std::thread::Builder::new()
            .name("emulator".into())
            .spawn(move || mover.run(state))
            .map_err(system("starting a thread"))?;
        Ok(Emulator { shared, thread: Some(thread) })
    }

    /// All counters at one moment, now or a little later: the thread publishes the counters between two passes of its
    /// loop.
    pub fn snapshot(&self) -> EmulatorSnapshot {
        let shared = &*self.shared;
        let mut snapshot = shared.worker.request().unwrap_or_default();
        snapshot.left_to_right.overflowed = shared.left.overflows().ok();
        snapshot.right_to_left.overflowed = shared.right.overflows().ok();
        snapshot
    }

    /// Whether the emulator is running. False after an error, which the snapshot names.
    pub fn is_running(&self) -> bool {
        self.shared.worker.is_running()
    }

    /// The fates of packets since the last call, as letters of [`ripstop_link::Fate::letter`] in the order in which the
    /// link decided them. This is the order of the offers, except with CoDel and FQ: left to right, then right to left. The most recent fates may be missing while the emulator
    /// runs. Empty unless fates are kept.
    pub fn take_fates(&self) -> [Vec<u8>; 2] {
        std::mem::take(&mut *self.shared.fates())
    }

    /// Stops the emulator. Counters and fates are final afterwards.
    pub fn halt(&mut self) {
        self.shared.worker.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Stops the emulator, removes its devices and returns the last counters. Packets in flight are dropped
    /// and counted in `in_flight`.
    pub fn stop(mut self) -> EmulatorSnapshot {
        self.halt();
        self.snapshot()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.halt();
    }
}

impl Shared {
    /// A poisoned lock is usable: no code that can panic runs under it.
    fn fates(&self) -> MutexGuard<'_, [Vec<u8>; 2]> {
        self.fates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: moves packets until the emulator is stopped or an error occurs, then publishes the last counters.
    fn run(&self, mut state: State) {
        // Without this call the kernel may delay a timer by 50 us to combine it with others (timerslack).
        let _ = nix::sys::prctl::set_timerslack(1);
        state.priority = raise_this_thread();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.move_packets(&mut state)));
        let error = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the emulator's thread panicked; the message is on stderr".to_owned()),
        };
        state.move_fates(self);
        self.worker.end(Some(self.snapshot(&state, error, false)));
    }

    fn move_packets(&self, state: &mut State) -> io::Result<()> {
        // The first turn reads from both devices.
        let (mut left, mut right) = (true, true);
        loop {
            let more = state.turn(self, left, right)?;
            if state.left_to_right.fates() + state.right_to_left.fates() >= MAX_KEPT_FATES {
                state.move_fates(self);
            }
            self.worker.answer(|| self.snapshot(state, None, true));
            let wait =
                if more { Some(Duration::ZERO) } else { state.next_due().map(|due| due.since(self.worker.now())) };
            let mut files = [
                PollFd::new(self.left.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.right.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.worker.wakeup().as_fd(), PollFlags::POLLIN),
            ];
            match ppoll(&mut files, wait.map(TimeSpec::from), None) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [l, r, wakeup] = files.map(|file| file.revents().is_some_and(|events| !events.is_empty()));
            (left, right) = (l, r);
            if wakeup {
                self.worker.clear_wakeup();
                if self.worker.is_stopped() {
                    return Ok(());
                }
            }
        }
    }

    fn snapshot(&self, state: &State, error: Option<String>, running: bool) -> EmulatorSnapshot {
        EmulatorSnapshot {
            elapsed_s: self.worker.now().as_secs_f64(),
            running,
            error,
            priority: state.priority,
            left_to_right: state.left_to_right.report(),
            right_to_left: state.right_to_left.report(),
        }
    }
}

impl State {
    /// Moves the kept fates to the shared log.
    fn move_fates(&mut self, shared: &Shared) {
        let mut logs = shared.fates();
        self.left_to_right.move_fates(&mut logs[0]);
        self.right_to_left.move_fates(&mut logs[1]);
    }

    /// Reads up to [`BATCH`] packets for each direction, and writes the packets that are due. Returns whether there may
    /// be more to read.
    fn turn(&mut self, shared: &Shared, left: bool, right: bool) -> io::Result<bool> {
        let now = || shared.worker.now();
        let mut more = false;
        if left {
            more |= self.left_to_right.read_packets(BATCH, now, |packet| shared.left.recv(packet))?;
        }
        self.left_to_right.deliver_due(now, |packet| shared.right.send(packet));
        if right {
            more |= self.right_to_left.read_packets(BATCH, now, |packet| shared.right.recv(packet))?;
        }
        self.right_to_left.deliver_due(now, |packet| shared.left.send(packet));
        Ok(more)
    }

    /// When the next packet is due.
    fn next_due(&self) -> Option<Time> {
        [self.left_to_right.next_due(), self.right_to_left.next_due()].into_iter().flatten().min()
    }
}
