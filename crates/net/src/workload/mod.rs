//! The traffic on the link under test: sockets of the kernel's own TCP in two namespaces.
//!
//! Each workload has its own threads and a flag that stops them. No call except `connect` blocks
//! longer than `POLL_INTERVAL` without checking the flag. `connect` blocks for at most its limit.
//! Data goes from the client to the server. Only the replies to requests go back.

pub use bulk::PORT as BULK_PORT;
pub use requests::PORT as REQUEST_PORT;

pub mod bulk;
pub mod file;
pub mod requests;

use crate::os::netns::{Namespace, NetnsError};
use nix::time::{ClockId, clock_gettime};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest time that an accept, a read, a write or a sleep blocks before the stop flag is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The two hosts of a workload, the server's address, and the congestion control of the workload's sockets.
#[derive(Clone, Debug)]
pub struct Route {
    /// The client's host. The client sends the data.
    pub client: Namespace,
    /// The server's host.
    pub server: Namespace,
    /// The server's address, as the client sees it.
    pub address: IpAddr,
    /// The congestion control of every socket, by its name in the kernel.
    pub congestion: &'static str,
}

/// Why a workload failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The kernel does not have this congestion control.
    #[error("this kernel has no congestion control `{name}` (`modprobe tcp_{name}` may load it)")]
    NoCongestion {
        /// The name of the congestion control.
        name: &'static str,
    },
    /// The kernel does not allow this user to use this congestion control.
    #[error(
        "congestion control `{name}` is not allowed here; run as root: \
         `sysctl net.ipv4.tcp_allowed_congestion_control=\"reno {name}\"`"
    )]
    Forbidden {
        /// The name of the congestion control.
        name: &'static str,
    },
    /// Another error of the system.
    #[error("{what}: {source}")]
    System {
        /// The step that failed.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The namespace could not be entered.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
}

impl WorkloadError {
    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> WorkloadError {
        let what = what.into();
        move |source| WorkloadError::System { what, source }
    }
}

/// Checks that sockets in a new namespace may use this congestion control.
///
/// # Errors Such sockets may not use this congestion control; the error says why.
pub fn check_congestion(name: &'static str) -> Result<(), WorkloadError> {
    let host = Namespace::create("probe")?;
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let route = Route { client: host.clone(), server: host, address, congestion: name };
    route.socket(&route.client).map(drop)
}

impl Route {
    /// A listening socket of the server.
    fn listen(&self, port: u16) -> Result<Socket, WorkloadError> {
        let socket = self.socket(&self.server)?;
        let address = SocketAddr::new(self.address, port);
        socket
            .set_reuse_address(true)
            .and_then(|()| socket.bind(&address.into()))
            .and_then(|()| socket.listen(8))
            .map_err(WorkloadError::system(format!("listening on {address} in namespace {}", self.server)))?;
        Ok(socket)
    }

    /// A TCP socket in `namespace`. The congestion control is set before any packet is sent. Accepted connections
    /// inherit the congestion control from the listening socket.
    fn socket(&self, namespace: &Namespace) -> Result<Socket, WorkloadError> {
        let domain = if self.address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = namespace
            .run(|| Socket::new(domain, Type::STREAM, Some(Protocol::TCP)))?
            .map_err(WorkloadError::system("making a TCP socket"))?;
        socket.set_tcp_congestion(self.congestion.as_bytes()).map_err(|source| match source.kind() {
            ErrorKind::NotFound => WorkloadError::NoCongestion { name: self.congestion },
            ErrorKind::PermissionDenied => WorkloadError::Forbidden { name: self.congestion },
            _ => WorkloadError::System { what: format!("setting congestion control {}", self.congestion), source },
        })?;
        socket
            .set_read_timeout(Some(POLL_INTERVAL))
            .and_then(|()| socket.set_write_timeout(Some(POLL_INTERVAL)))
            // With a linger time of zero, a closed socket disappears immediately. Otherwise the
            // kernel would try for minutes to deliver data that nobody reads, and keep the
            // namespace alive. Accepted connections inherit the linger time.
            .and_then(|()| socket.set_linger(Some(Duration::ZERO)))
            .map_err(WorkloadError::system("setting a TCP socket up"))?;
        Ok(socket)
    }
}

/// Connects the socket. Returns false if there is no connection within `limit`.
fn connect(socket: &Socket, to: SocketAddr, limit: Duration) -> io::Result<bool> {
    match socket.connect_timeout(&to.into(), limit) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::TimedOut => Ok(false),
        Err(error) => Err(error),
    }
}

/// The first connection to `listener`, with time-outs set; None if the workload was stopped before
/// a connection came.
fn accept(listener: &Socket, stop: &AtomicBool) -> io::Result<Option<Socket>> {
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_read_timeout(Some(POLL_INTERVAL))?;
                socket.set_write_timeout(Some(POLL_INTERVAL))?;
                return Ok(Some(socket));
            }
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Reads one time. Returns the number of bytes; 0 at the end of the stream, or if the workload was
/// stopped.
fn read(mut socket: &Socket, buffer: &mut [u8], stop: &AtomicBool) -> io::Result<usize> {
    while !stop.load(Ordering::Relaxed) {
        match socket.read(buffer) {
            Err(error) if is_pause(&error) => {}
            other => return other,
        }
    }
    Ok(0)
}

/// Fills `buffer`. Returns false at the end of the stream, or if the workload was stopped.
fn read_full(socket: &Socket, buffer: &mut [u8], stop: &AtomicBool) -> io::Result<bool> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read(socket, &mut buffer[filled..], stop)? {
            0 => return Ok(false),
            n => filled += n,
        }
    }
    Ok(true)
}

/// Writes all of `bytes`. Returns false if the workload was stopped.
fn write_all(mut socket: &Socket, mut bytes: &[u8], stop: &AtomicBool) -> io::Result<bool> {
    while !bytes.is_empty() {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        match socket.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Starts a named thread.
fn thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, WorkloadError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(WorkloadError::system("starting a thread"))
}

/// The result of a thread. A panic of the thread is passed on.
fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// CPU time of the calling thread so far.
fn thread_cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

/// Sleeps until `moment`. Returns false if the workload was stopped before `moment`.
fn sleep_until(moment: Instant, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        match moment.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => std::thread::sleep(left.min(POLL_INTERVAL)),
            _ => return true,
        }
    }
}
