//! A link between two namespaces in real time, in user space.
//!
//! Each namespace gets a TUN device. What the kernel sends into one is offered to the
//! [`ripstop_link::Link`] of that direction and comes out of the other when the link says so: rate,
//! queue, delay, losses and all are those of the simulator, drawn from the same streams. No kernel
//! module and no `netem` are needed, so it runs in containers.
//!
//! The devices offer the kernel no offload: a packet here is a packet of at most the MTU, and loss
//! is drawn for each. Without offload the kernel computes every checksum before the packet comes
//! here and verifies it after, so a bit flipped on the way is found by the receiving kernel (in an
//! IPv6 header's unprotected fields, or an IPv4 header's version, by whoever it misleads).
//!
//! One thread moves the packets, before all ordinary threads where the system allows it. A busy
//! machine makes it late all the same: how late every packet was handed over is in the report, so
//! that a measurement on a noisy machine can be told from a good one.

mod direction;
mod report;

pub use report::{DirectionReport, Lateness, Snapshot};

use crate::os::netns::Namespace;
use crate::os::priority::{Priority, raise_this_thread};
use crate::os::tun::{Tun, TunConfig, TunError};
use crate::worker::Worker;
use direction::Direction;
use ipnet::IpNet;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use ripstop_base::{Seed, Time};
use ripstop_link::{ConfigError, Link, LinkConfig};
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The name of the link from left to right, for its random streams: a simulation that gives its
/// link this name, the same settings and the same seed loses the same packets.
pub const LEFT_TO_RIGHT: &str = "link/0";
/// The name of the link from right to left; see [`LEFT_TO_RIGHT`].
pub const RIGHT_TO_LEFT: &str = "link/1";

/// What is emulated.
#[derive(Clone, Debug)]
pub struct EmulatorConfig {
    /// The device in the left namespace.
    pub left: Side,
    /// The device in the right namespace.
    pub right: Side,
    /// What happens to packets from left to right. Its epoch is the emulator's start.
    pub left_to_right: LinkConfig,
    /// What happens to packets from right to left.
    pub right_to_left: LinkConfig,
    /// MTU of both devices, in bytes. A smaller one in a link's settings makes a hole in which
    /// packets vanish without a word.
    pub mtu: u16,
    /// Where the random streams come from.
    pub seed: Seed,
    /// Whether the fate of each packet is kept for [`Emulator::take_fates`], which is then to be called now and then: a packet
    /// takes a byte.
    pub fates: bool,
}

/// One end of the link.
#[derive(Clone, Debug)]
pub struct Side {
    /// Name of the device, at most 15 bytes.
    pub device: String,
    /// Its addresses with the prefix that is reached through it, at most one of IPv4. Both sides
    /// share the prefix, or the caller sets routes.
    pub addresses: Vec<IpNet>,
}

/// Why there is no emulator.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    /// A link's settings cannot be.
    #[error("{direction}: {source}")]
    Link {
        /// `left to right` or `right to left`.
        direction: &'static str,
        /// Which setting.
        source: ConfigError,
    },
    /// A device could not be made.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// Something else the system refused.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// A running link. Dropping it stops it and takes its devices away.
#[derive(Debug)]
pub struct Emulator {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the handle and the thread share. The directions belong to the thread alone: it is never
/// made to wait, and tells its counters when asked.
#[derive(Debug)]
struct Shared {
    left: Tun,
    right: Tun,
    worker: Worker<Snapshot>,
    /// Left to right, right to left.
    fates: Mutex<[Vec<u8>; 2]>,
}

/// What the thread works on.
#[derive(Debug)]
struct State {
    left_to_right: Direction,
    right_to_left: Direction,
    priority: Priority,
}

/// How many packets of a direction are read before the other has its turn.
const BATCH: usize = 32;

/// So many fates are kept by the thread at most.
const FATES: usize = 4096;

/// What the kernel holds for us while we are not running: a whole window of a fast sender, so that
/// nothing is lost that the link did not lose.
const DEVICE_QUEUE_PACKETS: u32 = 16_384;

impl Emulator {
    /// Makes both devices and starts to move packets.
    ///
    /// # Errors
    /// A setting that cannot be, or a device that could not be made.
    pub fn start(
        config: &EmulatorConfig,
        left: &Namespace,
        right: &Namespace,
    ) -> Result<Emulator, EmulateError> {
        let link = |settings: &LinkConfig, name, direction| {
            Link::new(settings, config.seed, name).map_err(|source| EmulateError::Link { direction, source })
        };
        let left_to_right = link(&config.left_to_right, LEFT_TO_RIGHT, "left to right")?;
        let right_to_left = link(&config.right_to_left, RIGHT_TO_LEFT, "right to left")?;
        let system = |what| move |source: io::Error| EmulateError::System { what, source };
        let device = |side: &Side, namespace| -> Result<Tun, EmulateError> {
            let tun = Tun::open(
                namespace,
                &TunConfig {
                    name: Some(side.device.clone()),
                    addresses: side.addresses.clone(),
                    mtu: config.mtu,
                    offload: false,
                    queue_packets: DEVICE_QUEUE_PACKETS,
                },
            )?;
            tun.set_nonblocking(true).map_err(system("making a TUN device non-blocking"))?;
            Ok(tun)
        };
        let shared = Arc::new(Shared {
            left: device(&config.left, left)?,
            right: device(&config.right, right)?,
            worker: Worker::new().map_err(system("making an event descriptor"))?,
            fates: Mutex::default(),
        });
        let state = State {
            left_to_right: Direction::new(left_to_right, config.mtu, config.fates),
            right_to_left: Direction::new(right_to_left, config.mtu, config.fates),
            priority: Priority::default(),
        };
        let mover = shared.clone();
        let thread = std::thread::Builder::new()
            .name("emulator".into())
            .spawn(move || mover.run(state))
            .map_err(system("starting a thread"))?;
        Ok(Emulator { shared, thread: Some(thread) })
    }

    /// All counters at one moment, which is now or a little later: the thread tells them between two
    /// of its turns.
    pub fn snapshot(&self) -> Snapshot {
        let shared = &*self.shared;
        let mut snapshot = shared.worker.ask().unwrap_or_default();
        snapshot.left_to_right.overflowed = shared.left.overflows().ok();
        snapshot.right_to_left.overflowed = shared.right.overflows().ok();
        snapshot
    }

    /// Whether packets are being moved; false after an error, which the snapshot names.
    pub fn is_running(&self) -> bool {
        self.shared.worker.is_running()
    }

    /// The fates of packets by [`ripstop_link::Fate::letter`], left to right and right to left, in the order in which they were
    /// offered: those since the last call, but for the last few while it runs. Nothing unless they are kept.
    pub fn take_fates(&self) -> [Vec<u8>; 2] {
        std::mem::take(&mut *self.shared.fates())
    }

    /// Ends the link; then counters and fates are the last ones.
    pub fn halt(&mut self) {
        self.shared.worker.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Stops, takes the devices away and returns the last counters. What is on its way is dropped;
    /// it stands under `in_flight`.
    pub fn stop(mut self) -> Snapshot {
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
    /// No code that could panic runs under the lock.
    fn fates(&self) -> MutexGuard<'_, [Vec<u8>; 2]> {
        self.fates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: moves packets until it is stopped or cannot go on, and tells its last counters.
    fn run(&self, mut state: State) {
        // The kernel may otherwise delay a timer by 50 us to join it with others.
        let _ = nix::sys::prctl::set_timerslack(1);
        state.priority = raise_this_thread();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.move_packets(&mut state)));
        let error = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the emulator's thread panicked; its words are on stderr".to_owned()),
        };
        state.move_fates(self);
        self.worker.end(Some(self.snapshot(&state, error, false)));
    }

    fn move_packets(&self, state: &mut State) -> io::Result<()> {
        // Readable until shown otherwise.
        let (mut left, mut right) = (true, true);
        loop {
            let more = state.turn(self, left, right)?;
            if state.left_to_right.fates() + state.right_to_left.fates() >= FATES {
                state.move_fates(self);
            }
            self.worker.tell(|| self.snapshot(state, None, true));
            let wait = if more {
                Some(Duration::ZERO)
            } else {
                state.next_due().map(|due| due.since(self.worker.now()))
            };
            let mut files = [
                PollFd::new(self.left.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.right.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.worker.bell().as_fd(), PollFlags::POLLIN),
            ];
            match ppoll(&mut files, wait.map(TimeSpec::from), None) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [l, r, bell] = files.map(|file| file.revents().is_some_and(|events| !events.is_empty()));
            (left, right) = (l, r);
            if bell {
                self.worker.heard();
                if self.worker.is_stopped() {
                    return Ok(());
                }
            }
        }
    }

    fn snapshot(&self, state: &State, error: Option<String>, running: bool) -> Snapshot {
        Snapshot {
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
    /// Puts the fates kept so far where they are asked for.
    fn move_fates(&mut self, shared: &Shared) {
        let mut logs = shared.fates();
        self.left_to_right.move_fates(&mut logs[0]);
        self.right_to_left.move_fates(&mut logs[1]);
    }

    /// Reads what the kernel has for us, up to a batch a direction, and hands over what is due.
    /// Whether there may be more to read.
    fn turn(&mut self, shared: &Shared, left: bool, right: bool) -> io::Result<bool> {
        let now = || shared.worker.now();
        let mut more = false;
        if left {
            more |= self.left_to_right.take_in(BATCH, now, |packet| shared.left.recv(packet))?;
        }
        self.left_to_right.hand_over(now, |packet| shared.right.send(packet));
        if right {
            more |= self.right_to_left.take_in(BATCH, now, |packet| shared.right.recv(packet))?;
        }
        self.right_to_left.hand_over(now, |packet| shared.left.send(packet));
        Ok(more)
    }

    /// When the next packet is to be handed over.
    fn next_due(&self) -> Option<Time> {
        [self.left_to_right.next_due(), self.right_to_left.next_due()].into_iter().flatten().min()
    }
}
