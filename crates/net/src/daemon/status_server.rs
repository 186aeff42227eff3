//! The status server: a thread that answers requests for the status (a Unix socket, JSON) and for metrics
//! (HTTP, for Prometheus). A slow client delays the next client but never a packet.

use super::config::{DaemonConfig, StatusSocket};
use super::{DaemonError, Shared, prometheus};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time within which an HTTP request must arrive. One write of an answer may block for at most
/// this time too. A slower client is disconnected. The server answers one client at a time. So with
/// a larger value, a slow client can delay the next client for longer.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The longest HTTP request that is read, in bytes. Prometheus sends a few hundred bytes. The limit
/// bounds the memory that a client can occupy.
const MAX_REQUEST: usize = 8192;

/// The running status server. Dropping this value stops the server and removes the socket's file.
#[derive(Debug)]
pub(super) struct StatusServer {
    wakeup: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
    path: Option<PathBuf>,
}

impl StatusServer {
    pub(super) fn open(config: &DaemonConfig, shared: Arc<Shared>) -> Result<StatusServer, DaemonError> {
        let status = match &config.status {
            None => None,
            Some(StatusSocket::At(path)) => {
                let what = format!("opening the status socket {}", path.display());
                Some((listen(path).map_err(DaemonError::system(what))?, path.clone()))
            }
            Some(StatusSocket::Default(path)) => {
                let made = path.parent().map_or(Ok(()), fs::create_dir_all);
                match made.and_then(|()| listen(path)) {
                    Ok(listener) => Some((listener, path.clone())),
                    Err(error) => {
                        let path = path.display();
                        tracing::warn!(%path, %error, "there is no status socket; `status = ...` sets another path");
                        None
                    }
                }
            }
        };
        let (status, path) = status.unzip();
        let metrics = config.metrics.map(|address| {
            let what = format!("listening for metrics on TCP {address}");
            TcpListener::bind(address).map_err(DaemonError::system(what))
        });
        let wakeup = EventFd::from_flags(EfdFlags::EFD_CLOEXEC)
            .map_err(|errno| DaemonError::system("making an event descriptor")(errno.into()))?;
        let mut status_server = StatusServer { wakeup: Arc::new(wakeup), thread: None, path };
        let metrics = metrics.transpose()?;
        let wakeup = status_server.wakeup.clone();
        let thread = std::thread::Builder::new()
            .name("status_server".into())
            .spawn(move || serve(&shared, &wakeup, status.as_ref(), metrics.as_ref()))
            .map_err(DaemonError::system("starting a thread"))?;
        status_server.thread = Some(thread);
        Ok(status_server)
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        let _ = self.wakeup.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// A socket at `path` that only its owner may use. The socket of a killed daemon is replaced.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is not a socket has this name"));
        }
        Ok(_) => match UnixStream::connect(path) {
            Ok(_) => {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "another ripstop daemon answers at this socket"));
            }
            Err(_) => fs::remove_file(path)?,
        },
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn serve(shared: &Shared, wakeup: &EventFd, status: Option<&UnixListener>, metrics: Option<&TcpListener>) {
    loop {
        let mut files = vec![PollFd::new(wakeup.as_fd(), PollFlags::POLLIN)];
        files.extend(status.map(|l| PollFd::new(l.as_fd(), PollFlags::POLLIN)));
        files.extend(metrics.map(|l| PollFd::new(l.as_fd(), PollFlags::POLLIN)));
        match poll(&mut files, PollTimeout::NONE) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => {
                return tracing::error!(%error, "the status server ends; restart the daemon to start it again");
            }
        }
        let mut ready = files.iter().map(|file| file.any().unwrap_or(false));
        if ready.next() == Some(true) {
            return;
        }
        if let Some(listener) = status
            && ready.next() == Some(true)
            && let Some((stream, _)) = accepted(listener.accept())
        {
            let _ = send_status(shared, stream);
        }
        if let Some(listener) = metrics
            && ready.next() == Some(true)
            && let Some((stream, _)) = accepted(listener.accept())
        {
            let _ = answer_http(shared, stream);
        }
    }
}

/// The accepted connection. After an error, such as no free descriptor, waits 100 ms so as not to
/// retry in a busy loop.
fn accepted<T>(outcome: io::Result<T>) -> Option<T> {
    if outcome.is_err() {
        std::thread::sleep(Duration::from_millis(100));
    }
    outcome.ok()
}

/// Sends the status as one line of JSON.
fn send_status(shared: &Shared, mut stream: UnixStream) -> io::Result<()> {
    stream.set_write_timeout(Some(TIMEOUT))?;
    let Some(status) = shared.worker.request() else { return Ok(()) };
    let mut text = serde_json::to_vec(&status)?;
    text.push(b'\n');
    stream.write_all(&text)
}

/// Reads one HTTP request (RFC 9112) and sends the answer.
fn answer_http(shared: &Shared, mut stream: TcpStream) -> io::Result<()> {
    stream.set_write_timeout(Some(TIMEOUT))?;
    let end = Instant::now() + TIMEOUT;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|w| w == b"\r\n\r\n") && request.len() < MAX_REQUEST {
        let left = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            n => request.extend_from_slice(&piece[..n]),
        }
        if Instant::now() >= end {
            return Ok(());
        }
    }
    let line = String::from_utf8_lossy(request.split(|byte| *byte == b'\r').next().unwrap_or_default());
    let mut words = line.split(' ');
    let (status, body) = match (words.next(), words.next().map(|path| path.split('?').next())) {
        (Some("GET"), Some(Some("/metrics" | "/"))) => match shared.worker.request() {
            Some(status) => ("200 OK", prometheus::render(&status)),
            None => ("503 Service Unavailable", "the daemon has ended\n".to_owned()),
        },
        (Some("GET"), _) => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET is supported\n".to_owned()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
