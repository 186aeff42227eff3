//! The transfer of a file over one TCP connection. The receiver writes and hashes the file.

use super::{Route, WorkloadError, accept, connect, join, read, thread, write_all};
use ripstop_base::Seed;
use sha2::{Digest, Sha256};
use socket2::Socket;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PORT: u16 = 5002;

/// Size of the generated file, in bytes. The generated file is sent if the user gives no file.
pub const GENERATED_BYTES: usize = 3_000_000;

/// The file to send.
#[derive(Debug)]
pub struct Source {
    file: File,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
}

/// Where the receiver writes the file.
#[derive(Clone, Debug)]
pub enum Destination {
    /// An unnamed file in the directory for temporary files. The file disappears when it is closed.
    Unnamed,
    /// A file with this name, created or overwritten.
    Named(PathBuf),
}

/// A running transfer. Dropping this value stops the transfer.
#[derive(Debug)]
pub struct Transfer {
    shared: Arc<Shared>,
    sender: Option<JoinHandle<Result<(), WorkloadError>>>,
    receiver: Option<JoinHandle<Result<Option<Arrived>, WorkloadError>>>,
    /// Keeps the sender's socket open until the receiver has the whole file.
    _socket: Arc<Socket>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    received: AtomicU64,
}

/// A file that arrived completely.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Time from the start of the connection until the file was on the receiver's disk.
    pub after: Duration,
    /// SHA-256 of the bytes that arrived.
    pub sha256: [u8; 32],
}

impl Source {
    /// The file that the user named.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path) -> io::Result<Source> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Source::hashed(file)
    }

    /// A new file of incompressible bytes.
    ///
    /// # Errors
    /// There is no room for temporary files.
    pub fn generate(seed: Seed) -> io::Result<Source> {
        let mut bytes = vec![0; GENERATED_BYTES];
        seed.stream("file").fill(&mut bytes);
        let mut file = tempfile::tempfile()?;
        file.write_all(&bytes)?;
        file.rewind()?;
        Source::hashed(file)
    }

    fn hashed(mut file: File) -> io::Result<Source> {
        let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(Source { file, bytes, sha256: hash.finalize().into() }),
                Ok(n) => {
                    hash.update(&buffer[..n]);
                    bytes += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Destination {
    /// Checks that the receiver can write to the destination and that the destination is not
    /// `source`. An existing file is not changed, and no new file remains.
    ///
    /// # Errors
    /// The destination cannot be written, or it is the source.
    pub fn check(&self, source: &Source) -> io::Result<()> {
        let Destination::Named(path) = self else { return Ok(()) };
        let is_new = path.symlink_metadata().is_err();
        let there = File::options().create(true).append(true).open(path)?.metadata()?;
        if is_new {
            std::fs::remove_file(path)?;
        }
        let sent = source.file.metadata()?;
        if (there.dev(), there.ino()) == (sent.dev(), sent.ino()) {
            return Err(io::Error::other("it is the file to be sent"));
        }
        Ok(())
    }

    fn create(&self) -> Result<Incoming, WorkloadError> {
        let create = || -> io::Result<Incoming> {
            let (file, path) = match self {
                Destination::Unnamed => (tempfile::tempfile()?, None),
                Destination::Named(path) => (File::create(path)?, Some(path.clone())),
            };
            let is_file = file.metadata()?.is_file();
            Ok(Incoming { file, path: path.filter(|_| is_file) })
        };
        create().map_err(WorkloadError::system(format!("making {self} at the far end")))
    }
}

/// The file at the receiver. If this value is dropped without [`Incoming::keep`], a named file is
/// deleted, because an incomplete file must not look complete.
#[derive(Debug)]
struct Incoming {
    file: File,
    /// The path to delete; None for an unnamed file, a device or a pipe.
    path: Option<PathBuf>,
}

impl Incoming {
    fn keep(mut self) {
        self.path = None;
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // An error is ignored: another process may have deleted the file.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Destination::Unnamed => write!(f, "a file in {}", std::env::temp_dir().display()),
            Destination::Named(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Transfer {
    /// Starts to connect and to send. If connecting takes longer than `limit`, nothing is sent.
    ///
    /// # Errors
    /// The destination cannot be created, the source cannot be read, or a socket or thread cannot
    /// be set up. Later errors come from [`Transfer::finish`].
    pub fn start(
        route: &Route,
        source: &Source,
        destination: &Destination,
        limit: Duration,
    ) -> Result<Transfer, WorkloadError> {
        let listener = route.listen(PORT)?;
        let socket = Arc::new(route.socket(&route.client)?);
        let to = SocketAddr::new(route.address, PORT);
        let mut out = destination.create()?;
        let place = destination.to_string();
        let mut from = source.file.try_clone().map_err(WorkloadError::system("reading the file to be sent"))?;
        // All clones of the file share one position.
        from.rewind().map_err(WorkloadError::system("reading the file to be sent"))?;
        let shared = Arc::new(Shared::default());
        let start = Instant::now();
        let mut transfer = Transfer { shared: shared.clone(), sender: None, receiver: None, _socket: socket.clone() };

        let there = shared.clone();
        transfer.receiver = Some(thread("file receiver", move || {
            let sha256 = receive_into(&mut out, &place, &listener, &there)?;
            let after = start.elapsed();
            Ok(sha256.map(|sha256| {
                out.keep();
                Arrived { after, sha256 }
            }))
        })?);
        transfer.sender = Some(thread("file sender", move || {
            let outcome = send_from(&mut from, &socket, to, limit, &shared);
            match outcome {
                Err(source) if !shared.stop.load(Ordering::Relaxed) => {
                    Err(WorkloadError::System { what: "sending the file".to_owned(), source })
                }
                _ => Ok(()),
            }
        })?);
        Ok(transfer)
    }

    /// Bytes received so far.
    pub fn received(&self) -> u64 {
        self.shared.received.load(Ordering::Relaxed)
    }

    /// Whether the receiver has finished, with success or not.
    pub fn is_finished(&self) -> bool {
        self.receiver.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops the transfer. None if the file had not arrived completely.
    ///
    /// # Errors Why the transfer failed. If the receiver fails, the sender fails too: the
    /// receiver's error is then returned. After the file has arrived, an error of the sender does
    /// not count.
    pub fn finish(mut self) -> Result<Option<Arrived>, WorkloadError> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let arrived = self.receiver.take().map_or(Ok(None), join)?;
        match self.sender.take().map_or(Ok(()), join) {
            Err(error) if arrived.is_none() => Err(error),
            _ => Ok(arrived),
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

/// The receiver: writes the bytes that arrive to `out`, and returns their SHA-256. Returns None if the transfer was
/// stopped before the end of the file.
fn receive_into(
    out: &mut Incoming,
    place: &str,
    listener: &Socket,
    shared: &Shared,
) -> Result<Option<[u8; 32]>, WorkloadError> {
    let receive = |source| WorkloadError::System { what: "receiving the file".to_owned(), source };
    let write = |source| WorkloadError::System {
        what: format!("the receiver could not write {place} after {} bytes", shared.received.load(Ordering::Relaxed)),
        source,
    };
    let Some(socket) = accept(listener, &shared.stop).map_err(receive)? else { return Ok(None) };
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match read(&socket, &mut buffer, &shared.stop) {
            Ok(0) if shared.stop.load(Ordering::Relaxed) => return Ok(None),
            Ok(0) => break,
            Ok(n) => {
                out.file.write_all(&buffer[..n]).map_err(write)?;
                hash.update(&buffer[..n]);
                shared.received.fetch_add(n as u64, Ordering::Relaxed);
            }
            Err(_) if shared.stop.load(Ordering::Relaxed) => return Ok(None),
            Err(error) => return Err(receive(error)),
        }
    }
    // A full disk may be reported only here. Devices and pipes cannot be synchronised, which is not an error.
    match out.file.sync_all() {
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => Err(write(error)),
        _ => Ok(Some(hash.finalize().into())),
    }
}

/// The sender: connects within `limit` and sends all of `from`, unless it is stopped.
fn send_from(from: &mut File, socket: &Socket, to: SocketAddr, limit: Duration, shared: &Shared) -> io::Result<()> {
    if !connect(socket, to, limit)? {
        return Ok(());
    }
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            // The receiver sees the end of the file. The kernel keeps sending until all data is
            // acknowledged.
            return socket.shutdown(std::net::Shutdown::Write);
        }
        if !write_all(socket, &buffer[..n], &shared.stop)? {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_file_is_what_its_seed_says() {
        let source = Source::generate(Seed::new(1)).unwrap();
        let mut bytes = vec![0; GENERATED_BYTES];
        Seed::new(1).stream("file").fill(&mut bytes);
        assert_eq!(source.bytes, bytes.len() as u64);
        assert_eq!(source.sha256, <[u8; 32]>::from(Sha256::digest(&bytes)));
        assert_ne!(source.sha256, Source::generate(Seed::new(2)).unwrap().sha256);
    }

    #[test]
    fn the_file_to_be_sent_is_not_written_over() {
        let directory = tempfile::tempdir().unwrap();
        let (sent, link) = (directory.path().join("sent"), directory.path().join("link"));
        std::fs::write(&sent, "precious").unwrap();
        std::os::unix::fs::symlink(&sent, &link).unwrap();
        let source = Source::open(&sent).unwrap();
        for path in [&sent, &link] {
            assert!(Destination::Named(path.clone()).check(&source).is_err());
        }
        assert!(Destination::Named(directory.path().join("no/such")).check(&source).is_err());
        for right in [Destination::Named(directory.path().join("other")), Destination::Unnamed] {
            right.check(&source).unwrap();
        }
        assert!(!directory.path().join("other").exists(), "the check must leave no file");
        assert_eq!(std::fs::read(&sent).unwrap(), b"precious");
    }

    #[test]
    fn half_a_file_does_not_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("arrived");
        let destination = Destination::Named(path.clone());
        drop(destination.create().unwrap());
        assert!(!path.exists());
        destination.create().unwrap().keep();
        assert!(path.exists());
        // A device is never deleted.
        drop(Destination::Named("/dev/null".into()).create().unwrap());
        assert!(Path::new("/dev/null").exists());
    }

    #[test]
    fn a_directory_is_no_file() {
        assert!(Source::open(&std::env::temp_dir()).is_err());
        assert!(Source::open(Path::new("/no/such/file")).is_err());
    }
}
