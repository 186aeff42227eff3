//! The tunnel daemon: a front end (the TUN device), a UDP socket, and the protocol's [`ripstop_proto::endpoint::Endpoint`]
//! between them.
//!
//! One thread, the *packet thread*, moves the packets, and owns all state on the packets' path. So
//! no packet waits for a lock. A second thread, the *status server*, answers requests for status
//! and metrics. The answers come from snapshots that the packet thread takes between two turns of
//! its loop. A third thread, the *keeper*, keeps the device and its routes as they are wanted. A few threads resolve host
//! names.
//!
//! ```text
//!   kernel -> TUN (GSO) -> Endpoint -> UDP (GSO, ECN) -> peer
//!   peer -> UDP (GRO) -> Endpoint -> TUN (GRO) -> kernel
//! ```
//!
//! With GSO and GRO one system call moves many packets as one large segment.
//!
//! A daemon works in the network namespace of the thread that starts it. The device and the routes into it
//! disappear when the process ends in any way. After a kill or an error, the guard routes (`keeper.rs`) and the status
//! socket's file remain; the next start replaces them.

mod config;
mod keeper;
mod packet_loop;
mod prometheus;
mod redundancy;
mod resolve;
mod routes;
mod status;
mod status_server;

pub use config::{
    DEFAULT_NAME, DEFAULT_PORT, DaemonConfig, DaemonConfigError, HostPort, InsecureFile, Listen, PeerSettings,
    STATUS_DIRECTORY, StatusSocket, read_key,
};
pub use prometheus::render as render_metrics;
pub use redundancy::{BudgetCounts, ClassRedundancy, RedundancyFromPeer, RedundancyStatus, RedundancyToPeer};
pub use resolve::limit_wait;
pub use status::{
    ControlCounts, DaemonPeerStatus, DaemonStatus, DeviceCounters, DeviceStatus, InterfaceStatus, KeeperCounters,
    LookupCounters, LoopCounters, PeerCounters, SessionStatus, Totals,
};

use crate::os::epoll::Reactor;
use crate::os::heap::keep_large_blocks_apart;
use crate::os::netns::{Namespace, NetnsError};
use crate::os::privileges;
use crate::os::tun::TunError;
use crate::worker::{Worker, wakeup};
use keeper::Keeper;
use nix::sys::eventfd::EventFd;
use nix::unistd::User;
use packet_loop::{Device, Network, PacketLoop};
use ripstop_proto::endpoint::AddPeerError;
use ripstop_proto::secure::{Entropy, PresharedKey, PrivateKey};
use status_server::StatusServer;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use zeroize::Zeroizing;

/// Why a daemon could not be started.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The device could not be created.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// Two peers have the same key or prefix, or a peer has this host's own key.
    #[error(transparent)]
    Peer(#[from] AddPeerError),
    /// The namespace of the caller cannot be determined.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
    /// Another error of the system.
    #[error("{what}: {source}")]
    System {
        /// The step that failed, and what may help.
        what: String,
        /// The system's error.
        source: io::Error,
    },
}

impl DaemonError {
    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> DaemonError {
        let what = what.into();
        move |source| DaemonError::System { what, source }
    }
}

/// A running tunnel daemon. Dropping this value stops the daemon.
#[derive(Debug)]
pub struct Daemon {
    shared: Arc<Shared>,
    /// The current configuration.
    config: DaemonConfig,
    /// Keeps the device as it is wanted; None for a daemon without a device.
    keeper: Option<Keeper>,
    packet_loop: Option<JoinHandle<()>>,
    status_server: Option<StatusServer>,
}

/// State shared by the daemon's threads.
#[derive(Debug)]
struct Shared {
    worker: Worker<DaemonStatus>,
    /// Why the packet thread ended, if nobody stopped it.
    error: OnceLock<String>,
    /// Becomes readable when the packet thread has ended.
    ended: EventFd,
    /// The configuration that the packet thread must take over.
    new_config: Mutex<Option<DaemonConfig>>,
    /// Whether `new_config` is set.
    has_new_config: AtomicBool,
}

impl Shared {
    /// The configuration to take over, if there is one. Called in each turn of the packet thread.
    fn new_config(&self) -> Option<DaemonConfig> {
        if !self.has_new_config.swap(false, Ordering::AcqRel) {
            return None;
        }
        self.new_config.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Daemon {
    /// Creates the device in the caller's network namespace, opens the port, and starts handshakes with the
    /// peers.
    ///
    /// # Errors
    /// The step that failed, and what to do.
    pub fn start(config: &DaemonConfig) -> Result<Daemon, DaemonError> {
        Daemon::start_with(config, None, || Ok(()))
    }

    /// Starts the daemon like [`Daemon::start`], and gives up all rights of the calling thread that the
    /// running daemon does not need: all capabilities except CAP_NET_ADMIN, and its user, if `user` is
    /// set. For a process that has no other thread.
    ///
    /// # Errors
    /// The step that failed, and what to do.
    pub fn start_reduced(config: &DaemonConfig) -> Result<Daemon, DaemonError> {
        keep_large_blocks_apart();
        let user = config.user.as_deref().map(|name| user_named(name).map(|user| (name, user))).transpose()?;
        let owner = user.as_ref().map(|(_, user)| user);
        Daemon::start_with(config, owner, || {
            let what = match &user {
                Some((name, _)) => format!("changing to the user `{name}` (only root can change the user)"),
                None => "giving up privileges".to_owned(),
            };
            privileges::reduce(owner).map_err(DaemonError::system(what))
        })
    }

    /// Starts the daemon. The status socket belongs to `owner`. Calls `prepared` when everything is open that needs
    /// rights, before the first thread is started.
    fn start_with(
        config: &DaemonConfig,
        owner: Option<&User>,
        prepared: impl FnOnce() -> Result<(), DaemonError>,
    ) -> Result<Daemon, DaemonError> {
        let event = || DaemonError::system("making an event descriptor");
        let shared = Arc::new(Shared {
            worker: Worker::new().map_err(event())?,
            error: OnceLock::new(),
            ended: wakeup().map_err(event())?,
            new_config: Mutex::new(None),
            has_new_config: AtomicBool::new(false),
        });
        // If the system gives no random bytes, this call fails now, and no later call fails during
        // a session.
        getrandom::fill(&mut [0; 1])
            .map_err(|error| DaemonError::system("asking the system for randomness")(error.into()))?;
        // This call opens the port and the device. These steps fail most often, so they come before
        // the status server and the thread.
        let namespace = Namespace::current()?;
        let mut reactor = Reactor::new().map_err(DaemonError::system("making epoll descriptors"))?;
        let network = Network::open(&config.listen, shared.worker.clock(), &mut reactor)?;
        let (device, mut keeper) = Device::open(config, &namespace, shared.worker.wakeup().clone(), &mut reactor)?;
        let packet_loop = PacketLoop::new(config, shared.clone(), reactor, network, Some(device))?;
        let listeners = status_server::open_sockets(config, owner)?;
        prepared()?;
        let status_server = StatusServer::start(listeners, shared.clone())?;
        keeper.start().map_err(DaemonError::system("starting a thread"))?;
        let thread = std::thread::Builder::new()
            .name("tunnel".into())
            .spawn(move || packet_loop.run())
            .map_err(DaemonError::system("starting a thread"))?;
        let config = config.clone();
        Ok(Daemon {
            shared,
            config,
            keeper: Some(keeper),
            packet_loop: Some(thread),
            status_server: Some(status_server),
        })
    }

    /// Takes over the peers of a new configuration: adds, removes and changes peers. Sessions with
    /// peers that stay go on. Restores the device if another program has changed it. Returns the changed settings of `[interface]`, which need a restart.
    pub fn reload(&mut self, config: &DaemonConfig) -> Vec<&'static str> {
        let restart = packet_loop::needs_restart(&self.config, config);
        // The settings of the interface stay those of the start.
        let merged = DaemonConfig { peers: config.peers.clone(), ..self.config.clone() };
        *self.shared.new_config.lock().unwrap_or_else(PoisonError::into_inner) = Some(merged.clone());
        self.shared.has_new_config.store(true, Ordering::Release);
        // The request wakes the packet thread, and waits until it has taken the configuration over.
        let _ = self.shared.worker.request();
        self.keeper.iter().for_each(Keeper::settle);
        self.config = merged;
        restart
    }

    /// The daemon's state at one moment; None if the daemon ended before its first snapshot.
    pub fn status(&self) -> Option<DaemonStatus> {
        self.shared.worker.request()
    }

    /// Whether the packet thread is running.
    pub fn is_running(&self) -> bool {
        self.shared.worker.is_running()
    }

    /// Becomes readable when the packet thread has ended.
    pub fn ended(&self) -> &EventFd {
        &self.shared.ended
    }

    /// Why the packet thread ended, if nobody stopped it.
    pub fn error(&self) -> Option<String> {
        self.shared.error.get().cloned()
    }

    /// Closes the sessions with the peers, removes the device, and returns the last state.
    pub fn stop(mut self) -> Option<DaemonStatus> {
        self.halt();
        self.status()
    }

    fn halt(&mut self) {
        self.shared.worker.stop();
        if let Some(thread) = self.packet_loop.take() {
            let _ = thread.join();
        }
        if self.shared.error.get().is_some() {
            self.keeper.iter_mut().for_each(Keeper::leave_guards);
        }
        self.status_server = None;
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.halt();
    }
}

fn user_named(name: &str) -> Result<User, DaemonError> {
    let what = || DaemonError::system(format!("looking up the user `{name}` (the key `user` of [interface])"));
    let found = User::from_name(name).map_err(|errno| what()(errno.into()))?;
    found.ok_or_else(|| what()(io::Error::new(io::ErrorKind::NotFound, "there is no such user")))
}

/// The operating system's random number generator.
struct System;

impl Entropy for System {
    fn fill(&mut self, bytes: &mut [u8]) {
        // The generator worked when the daemon started. Without random bytes no keys can be made,
        // so the daemon must stop.
        getrandom::fill(bytes).expect("the system gives randomness");
    }
}

/// A new private key, made from random bytes of the operating system.
///
/// # Errors
/// The system gives no random bytes.
pub fn generate_key() -> io::Result<PrivateKey> {
    Ok(PrivateKey::from_bytes(*random_bytes()?))
}

/// A new pre-shared key, made from random bytes of the operating system.
///
/// # Errors
/// The system gives no random bytes.
pub fn generate_preshared_key() -> io::Result<PresharedKey> {
    Ok(PresharedKey::from_bytes(*random_bytes()?))
}

fn random_bytes() -> io::Result<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bytes)?;
    Ok(bytes)
}
