//! The status server: a thread that answers requests for the status (a Unix socket, JSON) and for metrics
//! (HTTP, for Prometheus). It serves several clients at the same time. A slow client delays no other client and no
//! packet.

use super::config::{DaemonConfig, StatusSocket};
use super::{DaemonError, Shared, prometheus};
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, open, renameat};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat, fstat};
use nix::unistd::{User, fchownat, geteuid, gethostname};
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time within which a connection must be over: the request read and the answer sent. With half
/// the value, a scrape over a slow path may fail. With double the value, idle connections take their
/// places for twice as long.
const DEADLINE: Duration = Duration::from_secs(2);
/// The largest number of connections at a time. When one more comes, the connection that has been idle
/// for the longest time is closed. A scrape sends its request at once, so idle connections do not keep it
/// out. Half the value still serves several scrapers. Double the value takes more descriptors and memory.
const MOST_CONNECTIONS: usize = 32;
/// The longest HTTP request that is read, in bytes. Prometheus sends a few hundred bytes. The limit
/// bounds the memory that a client can occupy.
const MAX_REQUEST: usize = 8192;

/// The age, 100 ms, up to which the last page of metrics is served again. A page needs a snapshot, which takes time of the
/// packet thread for each peer, so clients must not cause any number of snapshots. Scrapes are a second or more apart, so
/// each of them gets a fresh page. With half the value, clients can cause 20 snapshots a second instead of 10. With
/// double the value, a page may be 200 ms old.
const PAGE_AGE: Duration = Duration::from_millis(100);

/// The running status server. Dropping this value stops the server and removes the socket's file.
#[derive(Debug)]
pub(super) struct StatusServer {
    wakeup: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
    path: Option<PathBuf>,
}

/// The open sockets of the status server.
#[derive(Debug)]
pub(super) struct Listeners {
    status: Option<(UnixListener, PathBuf)>,
    metrics: Option<TcpListener>,
}

/// Opens the sockets that the configuration asks for. The status socket belongs to `owner`; None: to the user of this
/// process.
///
/// # Errors
/// A socket could not be opened, and the configuration names it.
pub(super) fn open_sockets(config: &DaemonConfig, owner: Option<&User>) -> Result<Listeners, DaemonError> {
    let status = match &config.status {
        None => None,
        Some(StatusSocket::At(path)) => {
            let what = format!("opening the status socket {}", path.display());
            Some((listen(path, owner).map_err(DaemonError::system(what))?, path.clone()))
        }
        Some(StatusSocket::Default(path)) => {
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            match made.and_then(|()| listen(path, owner)) {
                Ok(listener) => Some((listener, path.clone())),
                Err(error) => {
                    let path = path.display();
                    tracing::warn!(%path, %error, "there is no status socket; `status = ...` sets another path");
                    None
                }
            }
        }
    };
    let metrics = config.metrics.as_ref().map(|address| {
        let what = format!("listening for metrics on TCP {address}");
        let listener = address.resolve().and_then(TcpListener::bind);
        let listener = listener.and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        listener.map_err(DaemonError::system(what))
    });
    Ok(Listeners { status, metrics: metrics.transpose()? })
}

impl StatusServer {
    pub(super) fn start(listeners: Listeners, shared: Arc<Shared>) -> Result<StatusServer, DaemonError> {
        let Listeners { status, metrics } = listeners;
        let (status, path) = status.unzip();
        let wakeup = EventFd::from_flags(EfdFlags::EFD_CLOEXEC)
            .map_err(|errno| DaemonError::system("making an event descriptor")(errno.into()))?;
        let mut status_server = StatusServer { wakeup: Arc::new(wakeup), thread: None, path };
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

/// A socket at `path` that only `owner` may use. The socket of a killed daemon is replaced.
///
/// The socket is made in a new directory that only this process's user may enter, and moved to `path` when it has its
/// permissions and its owner. So nobody else can connect at any moment, and no other file changes its owner.
fn listen(path: &Path, owner: Option<&User>) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "a file that is not a socket has this name"));
        }
        Ok(_) if UnixStream::connect(path).is_ok() => {
            return Err(io::Error::new(ErrorKind::AddrInUse, "another ripstop daemon answers at this socket"));
        }
        _ => {}
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut maker = tempfile::Builder::new();
    maker.prefix(".ripstop-").permissions(fs::Permissions::from_mode(0o700));
    let private = maker.tempdir_in(parent).map_err(plain)?;
    let directory = own_directory(private.path())?;
    // Everything below happens in this directory, whatever another user makes of its path.
    let made = format!("/proc/self/fd/{}/{MADE}", directory.as_raw_fd());
    let listener = UnixListener::bind(made)?;
    fchmodat(&directory, MADE, Mode::from_bits_truncate(0o600), FchmodatFlags::NoFollowSymlink)?;
    if let Some(user) = owner {
        fchownat(&directory, MADE, Some(user.uid), Some(user.gid), AtFlags::AT_SYMLINK_NOFOLLOW).map_err(|errno| {
            let error = io::Error::from(errno);
            io::Error::new(error.kind(), format!("giving it to the user {}: {error}", user.name))
        })?;
    }
    renameat(&directory, MADE, AT_FDCWD, path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The name of the socket in its private directory.
const MADE: &str = "s";

/// Opens a directory that this process has just made. A user who owns the directory above it can put another directory or
/// a link in its place; both are refused.
fn own_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let directory = open(path, flags, Mode::empty())?;
    let found = fstat(&directory)?;
    if found.st_uid != geteuid().as_raw() || found.st_mode & 0o077 != 0 {
        return Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "another user replaces files in this directory; write a path in a directory that only root may change",
        ));
    }
    Ok(directory)
}

/// The error without the temporary directory's random name.
fn plain(error: io::Error) -> io::Error {
    error.raw_os_error().map_or(error, io::Error::from_raw_os_error)
}

/// The last page of metrics.
#[derive(Default)]
struct LastPage {
    text: String,
    /// When the page was made; None: there is no page yet.
    made: Option<Instant>,
}

impl LastPage {
    /// The page, if it is younger than [`PAGE_AGE`] at `now`, or else the new page that `make` returns. None: there is no
    /// page any more.
    fn get(&mut self, now: Instant, make: impl FnOnce() -> Option<String>) -> Option<String> {
        if self.made.is_none_or(|made| now.saturating_duration_since(made) >= PAGE_AGE) {
            (self.text, self.made) = (make()?, Some(now));
        }
        Some(self.text.clone())
    }
}

/// One client.
struct Connection {
    stream: Stream,
    /// What the client has sent so far.
    request: Vec<u8>,
    /// The answer; None while the request is not complete.
    answer: Option<Vec<u8>>,
    /// How many bytes of the answer were sent.
    sent: usize,
    /// When the connection is closed.
    end: Instant,
}

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Connection {
    fn new(stream: Stream, answer: Option<Vec<u8>>) -> Connection {
        Connection { stream, request: Vec::new(), answer, sent: 0, end: Instant::now() + DEADLINE }
    }

    /// Whether the client owes this end something.
    fn is_idle(&self) -> bool {
        self.answer.is_none()
    }

    /// Reads and writes what is possible now. Returns whether the connection goes on.
    fn advance(&mut self, shared: &Shared, page: &mut LastPage) -> bool {
        if self.answer.is_none() && !self.read_request(shared, page) {
            return false;
        }
        let Some(answer) = &self.answer else { return true };
        while let Some(rest) = answer.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(0) => return false,
                Ok(n) => self.sent += n,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        false
    }

    /// Reads an HTTP request (RFC 9112), and makes the answer when the request is complete. Returns false
    /// if the client has closed the connection, or after an error.
    fn read_request(&mut self, shared: &Shared, page: &mut LastPage) -> bool {
        let mut piece = [0; 1024];
        while !self.request.windows(4).any(|w| w == b"\r\n\r\n") && self.request.len() < MAX_REQUEST {
            match self.stream.read(&mut piece) {
                Ok(0) => return false,
                Ok(n) => self.request.extend_from_slice(&piece[..n]),
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        self.answer = Some(answer_http(shared, page, &self.request));
        true
    }
}

fn serve(shared: &Shared, wakeup: &EventFd, status: Option<&UnixListener>, metrics: Option<&TcpListener>) {
    let (mut connections, mut page) = (Vec::<Connection>::new(), LastPage::default());
    loop {
        let mut files = vec![PollFd::new(wakeup.as_fd(), PollFlags::POLLIN)];
        files.extend(status.map(|l| PollFd::new(l.as_fd(), PollFlags::POLLIN)));
        files.extend(metrics.map(|l| PollFd::new(l.as_fd(), PollFlags::POLLIN)));
        files.extend(connections.iter().map(|connection| {
            let wanted = if connection.is_idle() { PollFlags::POLLIN } else { PollFlags::POLLOUT };
            PollFd::new(connection.stream.as_fd(), wanted)
        }));
        let next = connections.iter().map(|connection| connection.end).min();
        let wait = next.map_or(PollTimeout::NONE, |end| {
            let left = end.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        });
        match poll(&mut files, wait) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => {
                return tracing::error!(%error, "the status server ends; restart the daemon to start it again");
            }
        }
        if files[0].any().unwrap_or(false) {
            return;
        }
        drop(files);
        accept_some(&mut connections, shared, &mut page, status, metrics);
        let now = Instant::now();
        connections.retain_mut(|connection| connection.end > now && connection.advance(shared, &mut page));
    }
}

/// Accepts clients that wait, at most [`MOST_CONNECTIONS`], so that the clients accepted before have their turn too. When
/// there are too many, closes the oldest idle connection, or the oldest one.
fn accept_some(
    connections: &mut Vec<Connection>,
    shared: &Shared,
    page: &mut LastPage,
    status: Option<&UnixListener>,
    metrics: Option<&TcpListener>,
) {
    for _ in 0..MOST_CONNECTIONS {
        let unix = status.map(|listener| listener.accept().map(|(stream, _)| Stream::Unix(stream)));
        let tcp = || metrics.map(|listener| listener.accept().map(|(stream, _)| Stream::Tcp(stream)));
        let waiting = |outcome: &io::Result<Stream>| {
            outcome.as_ref().map_or_else(|error| error.kind() != ErrorKind::WouldBlock, |_| true)
        };
        let Some(outcome) = unix.filter(waiting).or_else(|| tcp().filter(waiting)) else { return };
        let Ok(stream) = outcome else {
            // For example, no descriptor is free. A pause keeps the loop from running busily.
            std::thread::sleep(Duration::from_millis(100));
            return;
        };
        let nonblocking = match &stream {
            Stream::Unix(stream) => stream.set_nonblocking(true),
            Stream::Tcp(stream) => stream.set_nonblocking(true),
        };
        if nonblocking.is_err() {
            continue;
        }
        // A client of the Unix socket sends no request.
        let answer = matches!(stream, Stream::Unix(_)).then(|| status_line(shared));
        let mut fresh = Connection::new(stream, answer);
        if fresh.advance(shared, page) {
            if connections.len() >= MOST_CONNECTIONS {
                connections.remove(connections.iter().position(Connection::is_idle).unwrap_or(0));
            }
            connections.push(fresh);
        }
    }
}

/// The status as one line of JSON; empty if the daemon has ended.
fn status_line(shared: &Shared) -> Vec<u8> {
    let status = shared.worker.request();
    let mut text = status.and_then(|status| serde_json::to_vec(&status).ok()).unwrap_or_default();
    if !text.is_empty() {
        text.push(b'\n');
    }
    text
}

/// A new page of metrics; None if the daemon has ended.
fn make_page(shared: &Shared) -> Option<String> {
    shared.worker.request().map(|status| prometheus::render(&status))
}

/// The answer to an HTTP request.
fn answer_http(shared: &Shared, page: &mut LastPage, request: &[u8]) -> Vec<u8> {
    let line = String::from_utf8_lossy(request.split(|byte| *byte == b'\r').next().unwrap_or_default());
    let mut words = line.split(' ');
    let (status, body) = match (words.next(), words.next().map(|path| path.split('?').next())) {
        _ if !is_for_this_host(request) => (
            "403 Forbidden",
            "the Host header must be an IP address, a name without a dot, or the name that `hostname` prints\n"
                .to_owned(),
        ),
        (Some("GET"), Some(Some("/metrics" | "/"))) => match page.get(Instant::now(), || make_page(shared)) {
            Some(page) => ("200 OK", page),
            None => ("503 Service Unavailable", "the daemon has ended\n".to_owned()),
        },
        (Some("GET"), _) => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET is supported\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// Whether the header Host names this host: by an address, by a name without a dot, such as `localhost`, or by the name that
/// hostname(1) prints. Any other name may belong to a web page that has let its name point here, to read the answer in its
/// visitor's browser (DNS rebinding). Nobody can register a name without a dot. A request without the header does not come
/// from a browser.
fn is_for_this_host(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let headers = text.split("\r\n").skip(1).take_while(|line| !line.is_empty());
    let hosts =
        headers.filter_map(|line| line.split_once(':').filter(|(name, _)| name.trim().eq_ignore_ascii_case("host")));
    hosts.map(|(_, value)| value.trim()).all(|value| {
        let host = match value.strip_prefix('[') {
            Some(v6) => v6.split(']').next().unwrap_or_default(),
            None => value.split(':').next().unwrap_or_default(),
        };
        let is_own_name = || gethostname().is_ok_and(|name| name.to_string_lossy().eq_ignore_ascii_case(host));
        !host.is_empty() && (host.parse::<IpAddr>().is_ok() || !host.contains('.') || is_own_name())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{Worker, wakeup};
    use std::sync::atomic::AtomicBool;
    use std::sync::{Mutex, OnceLock};

    #[test]
    fn a_young_page_is_served_again() {
        let (mut page, start, mut made) = (LastPage::default(), Instant::now(), 0);
        let mut at = |millis: u64| {
            page.get(start + Duration::from_millis(millis), || {
                made += 1;
                Some(format!("page {made}"))
            })
        };
        let pages = [0, 1, 99, 100, 150, 199, 200].map(|millis| at(millis).unwrap());
        assert_eq!(pages, ["page 1", "page 1", "page 1", "page 2", "page 2", "page 2", "page 3"]);
        assert_eq!(page.get(start + Duration::from_secs(1), || None), None);
    }

    #[test]
    fn only_requests_for_this_host_are_answered() {
        let own = gethostname().unwrap().to_string_lossy().into_owned();
        let answered =
            |headers: &str| is_for_this_host(format!("GET /metrics HTTP/1.1\r\n{headers}\r\n\r\n").as_bytes());
        for host in ["127.0.0.1:9482", "192.0.2.1", "[::1]:9482", "[fd00::1]", "localhost:9482", "gateway", &own] {
            assert!(answered(&format!("Accept: */*\r\nHost: {host}")), "{host}");
        }
        assert!(answered("Accept: */*"));
        for host in ["evil.example", "127.0.0.1.evil.example:9482", "localhost.evil.example", "", "[evil.example]"] {
            assert!(!answered(&format!("host:{host}")), "{host}");
        }
        assert!(!answered("Host: 127.0.0.1\r\nHost: evil.example"));
    }

    #[test]
    fn a_replaced_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (own, link, shared) =
            (directory.path().join("own"), directory.path().join("link"), directory.path().join("shared"));
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(&own).unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::symlink(&own, &link).unwrap();
        assert!(own_directory(&own).is_ok());
        assert!(own_directory(&link).is_err());
        assert_eq!(own_directory(&shared).unwrap_err().kind(), ErrorKind::PermissionDenied);
    }

    #[test]
    fn one_round_accepts_a_bounded_number_of_clients() {
        let shared = Shared {
            worker: Worker::new().unwrap(),
            error: OnceLock::new(),
            ended: wakeup().unwrap(),
            new_config: Mutex::new(None),
            has_new_config: AtomicBool::new(false),
        };
        shared.worker.end(None);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let _clients: Vec<_> =
            (0..MOST_CONNECTIONS + 5).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        let (mut connections, mut page) = (Vec::new(), LastPage::default());
        accept_some(&mut connections, &shared, &mut page, None, Some(&listener));
        assert_eq!(connections.len(), MOST_CONNECTIONS);
        let waiting = std::iter::from_fn(|| listener.accept().ok()).count();
        assert_eq!(waiting, 5);
    }
}
