//! One end of the tunnel as a running program: a TUN device, a UDP socket, and
//! [`ripstop_proto::endpoint::Endpoint`] between them.
//!
//! One thread moves the packets and owns all that they pass: nothing on their way is locked or shared. A second one,
//! the *desk*, answers who asks for status or metrics; it gets a snapshot from the first between two of its
//! turns. Names are looked up on threads of their own.
//!
//! ```text
//!   kernel -> TUN (GSO) -> Endpoint -> UDP (GSO, ECN) -> peer
//!   peer -> UDP (GRO) -> Endpoint -> TUN (GRO) -> kernel
//! ```
//!
//! A daemon works in the network namespace of the thread that starts it. Its device vanishes with it, however it
//! ends, and the routes with the device; only the file of the status socket may stay, and the next start replaces it.

mod config;
mod desk;
mod mover;
mod prometheus;
mod resolve;
mod routes;
mod status;

pub use config::{
    ConfigError, DEFAULT_NAME, DEFAULT_PORT, DaemonConfig, HostPort, Listen, PeerSettings, STATUS_DIRECTORY,
    StatusSocket, read_key,
};
pub use prometheus::render as render_metrics;
pub use status::{DaemonStatus, DeviceCounters, InterfaceStatus, PeerStatus, SessionStatus, Totals};

use crate::os::netns::{Namespace, NetnsError};
use crate::os::tun::TunError;
use crate::worker::{Worker, bell};
use desk::Desk;
use mover::Mover;
use nix::sys::eventfd::EventFd;
use ripstop_proto::endpoint::AddPeerError;
use ripstop_proto::secure::Entropy;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// Why there is no daemon.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The device could not be made.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// Two peers of one key or prefix.
    #[error(transparent)]
    Peer(#[from] AddPeerError),
    /// The namespace of the caller is not known.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
    /// Something else the system refused.
    #[error("{what}: {source}")]
    System {
        /// What was tried, and what may help.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl DaemonError {
    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> DaemonError {
        let what = what.into();
        move |source| DaemonError::System { what, source }
    }
}

/// A running end of the tunnel. Dropping it stops it.
#[derive(Debug)]
pub struct Daemon {
    shared: Arc<Shared>,
    mover: Option<JoinHandle<()>>,
    desk: Option<Desk>,
}

/// What the threads share.
#[derive(Debug)]
struct Shared {
    worker: Worker<DaemonStatus>,
    /// Why the thread that moves packets has ended, if nobody wished so.
    error: OnceLock<String>,
    /// Rung when it has ended.
    ended: EventFd,
}

impl Daemon {
    /// Makes the device in the caller's network namespace, takes the port, and begins to call the peers.
    ///
    /// # Errors
    /// What the system does not allow, in words that say what to do.
    pub fn start(config: &DaemonConfig) -> Result<Daemon, DaemonError> {
        let event = || DaemonError::system("making an event descriptor");
        let shared = Arc::new(Shared {
            worker: Worker::new().map_err(event())?,
            error: OnceLock::new(),
            ended: bell().map_err(event())?,
        });
        // Refused now rather than later, when nothing could be done but to stop.
        getrandom::fill(&mut [0; 1])
            .map_err(|error| DaemonError::system("asking the system for randomness")(error.into()))?;
        // Made in this order: what fails most comes first.
        let mover = Mover::new(config, &Namespace::current()?, shared.clone())?;
        let desk = Desk::open(config, shared.clone())?;
        let thread = std::thread::Builder::new()
            .name("tunnel".into())
            .spawn(move || mover.run())
            .map_err(DaemonError::system("starting a thread"))?;
        Ok(Daemon { shared, mover: Some(thread), desk: Some(desk) })
    }

    /// Its state at one moment; None when it has ended before it ever told.
    pub fn status(&self) -> Option<DaemonStatus> {
        self.shared.worker.ask()
    }

    /// Whether packets are being moved.
    pub fn is_running(&self) -> bool {
        self.shared.worker.is_running()
    }

    /// Readable once no packets are moved any more.
    pub fn ended(&self) -> &EventFd {
        &self.shared.ended
    }

    /// Why it ended, when nobody wished so.
    pub fn error(&self) -> Option<String> {
        self.shared.error.get().cloned()
    }

    /// Says good-bye to the peers, takes the device away, and returns the last state.
    pub fn stop(mut self) -> Option<DaemonStatus> {
        self.halt();
        self.status()
    }

    fn halt(&mut self) {
        self.shared.worker.stop();
        if let Some(thread) = self.mover.take() {
            let _ = thread.join();
        }
        self.desk = None;
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.halt();
    }
}

/// The operating system's randomness.
struct System;

impl Entropy for System {
    fn fill(&mut self, bytes: &mut [u8]) {
        // It answered at the start; a system that stops to can be given no keys.
        getrandom::fill(bytes).expect("the system gives randomness");
    }
}

/// A new private key, from the operating system's randomness.
///
/// # Errors
/// When the system gives none.
pub fn generate_key() -> io::Result<ripstop_proto::secure::PrivateKey> {
    let mut bytes = zeroize::Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bytes)?;
    Ok(ripstop_proto::secure::PrivateKey::from_bytes(*bytes))
}
