//! A real file over one TCP connection, written and hashed at the far end.

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

/// The size of the file that is made when none is given, in bytes.
pub(crate) const GENERATED_BYTES: usize = 3_000_000;

/// The file to be sent.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    /// Its length, in bytes.
    pub(crate) bytes: u64,
    /// Its SHA-256.
    pub(crate) sha256: [u8; 32],
}

/// Where the far end writes what arrives.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
    /// A file without a name in the directory for temporary files; it goes with the process.
    Unnamed,
    /// A file of this name, made or overwritten.
    Named(PathBuf),
}

/// A transfer under way. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Transfer {
    shared: Arc<Shared>,
    sender: Option<JoinHandle<Result<(), WorkloadError>>>,
    receiver: Option<JoinHandle<Result<Option<Arrived>, WorkloadError>>>,
    /// The sender's end stays open until the receiver has everything.
    _socket: Arc<Socket>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    received: AtomicU64,
}

/// A file that arrived whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// From the start of the connection until it was on the far end's disk.
    pub(crate) after: Duration,
    /// What arrived, hashed.
    pub(crate) sha256: [u8; 32],
}

impl Source {
    /// The user's file.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn open(path: &Path) -> io::Result<Source> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Source::hashed(file)
    }

    /// A file of incompressible bytes.
    ///
    /// # Errors
    /// When there is no room for temporary files.
    pub(crate) fn generate(seed: Seed) -> io::Result<Source> {
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
    /// Whether what arrives can be written there, and is not written over `source`. A file that is
    /// there is left as it is, and none is left that was not.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(&self, source: &Source) -> io::Result<()> {
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

/// The file at the far end. Unless it is kept it goes when it is dropped: half a file must not pass for one.
#[derive(Debug)]
struct Incoming {
    file: File,
    /// Where it is, when it has a name and is no device or pipe.
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
            // Somebody may have been faster.
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
    /// Starts to connect and to send. Gives up connecting after `limit`.
    ///
    /// # Errors
    /// What the system refused at once: the place for the file above all.
    pub(crate) fn start(
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
        let mut from =
            source.file.try_clone().map_err(WorkloadError::system("reading the file to be sent"))?;
        // The clone shares its position with all others.
        from.rewind().map_err(WorkloadError::system("reading the file to be sent"))?;
        let shared = Arc::new(Shared::default());
        let start = Instant::now();
        let mut transfer =
            Transfer { shared: shared.clone(), sender: None, receiver: None, _socket: socket.clone() };

        let there = shared.clone();
        transfer.receiver = Some(thread("file receiver", move || {
            let receive = |source| WorkloadError::System { what: "receiving the file".to_owned(), source };
            let write = |source| WorkloadError::System {
                what: format!(
                    "the far end could not write {place} after {} bytes",
                    there.received.load(Ordering::Relaxed)
                ),
                source,
            };
            let Some(socket) = accept(&listener, &there.stop).map_err(receive)? else { return Ok(None) };
            let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
            loop {
                match read(&socket, &mut buffer, &there.stop) {
                    Ok(0) if there.stop.load(Ordering::Relaxed) => return Ok(None),
                    Ok(0) => break,
                    Ok(n) => {
                        out.file.write_all(&buffer[..n]).map_err(write)?;
                        hash.update(&buffer[..n]);
                        there.received.fetch_add(n as u64, Ordering::Relaxed);
                    }
                    Err(_) if there.stop.load(Ordering::Relaxed) => return Ok(None),
                    Err(error) => return Err(receive(error)),
                }
            }
            // A full disk may show only now. What is no file has nothing to synchronise.
            match out.file.sync_all() {
                Err(error) if error.kind() != io::ErrorKind::InvalidInput => return Err(write(error)),
                _ => {}
            }
            let after = start.elapsed();
            out.keep();
            Ok(Some(Arrived { after, sha256: hash.finalize().into() }))
        })?);
        transfer.sender = Some(thread("file sender", move || {
            let outcome = (|| -> io::Result<()> {
                if !connect(&socket, to, limit)? {
                    return Ok(());
                }
                let mut buffer = vec![0; 1 << 16];
                loop {
                    let n = from.read(&mut buffer)?;
                    if n == 0 {
                        // The receiver sees the end of the file; the kernel goes on until it does.
                        return socket.shutdown(std::net::Shutdown::Write);
                    }
                    if !write_all(&socket, &buffer[..n], &shared.stop)? {
                        return Ok(());
                    }
                }
            })();
            match outcome {
                Err(source) if !shared.stop.load(Ordering::Relaxed) => {
                    Err(WorkloadError::System { what: "sending the file".to_owned(), source })
                }
                _ => Ok(()),
            }
        })?);
        Ok(transfer)
    }

    /// Bytes that have arrived so far.
    pub(crate) fn received(&self) -> u64 {
        self.shared.received.load(Ordering::Relaxed)
    }

    /// Whether the far end is done, well or not.
    pub(crate) fn is_finished(&self) -> bool {
        self.receiver.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops the transfer. None when the file had not arrived whole.
    ///
    /// # Errors
    /// Why it broke: what happened at the far end before what that did to the sender.
    pub(crate) fn finish(mut self) -> Result<Option<Arrived>, WorkloadError> {
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
        assert!(!directory.path().join("other").exists(), "the check leaves nothing");
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
        // A device stays in any case.
        drop(Destination::Named("/dev/null".into()).create().unwrap());
        assert!(Path::new("/dev/null").exists());
    }

    #[test]
    fn a_directory_is_no_file() {
        assert!(Source::open(&std::env::temp_dir()).is_err());
        assert!(Source::open(Path::new("/no/such/file")).is_err());
    }
}
