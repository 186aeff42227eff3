//! One TCP stream that always has data to send: incompressible bytes, counted by the receiver.

use super::{Route, WorkloadError, accept, connect, join, read, thread, thread_cpu, write_all};
use crate::os::tcp;
use ripstop_base::Seed;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// TCP port of the server of the stream.
pub const PORT: u16 = 5001;

/// A running stream. Dropping this value stops the stream.
#[derive(Debug)]
pub struct Bulk {
    shared: Arc<Shared>,
    start: Instant,
    sender: Option<JoinHandle<Result<(Duration, u64), WorkloadError>>>,
    receiver: Option<JoinHandle<Result<Duration, WorkloadError>>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    received: AtomicU64,
    first_100kb: OnceLock<Duration>,
    first_1mb: OnceLock<Duration>,
}

/// The figures of a stream from the start of its connection to its end.
#[derive(Clone, Copy, Debug)]
pub struct BulkReport {
    /// Bytes received.
    pub received: u64,
    /// Time until the first 100 kB had arrived; None: fewer bytes arrived.
    pub first_100kb: Option<Duration>,
    /// Time until the first 1 MB had arrived; None: fewer bytes arrived.
    pub first_1mb: Option<Duration>,
    /// CPU time of sender and receiver.
    pub cpu: Duration,
    /// Packets that the sender's TCP retransmitted.
    pub retransmits: u64,
}

impl Bulk {
    /// Starts to connect and then to send. If connecting takes longer than `limit`, nothing is sent
    /// and the report has 0 bytes received.
    ///
    /// # Errors
    /// A socket or a thread cannot be set up. Later errors come from [`Bulk::finish`].
    pub fn start(route: &Route, seed: Seed, limit: Duration) -> Result<Bulk, WorkloadError> {
        Bulk::start_on(route, PORT, seed, limit)
    }

    /// Starts a stream to another port than [`PORT`]. So several streams can go to one address.
    ///
    /// # Errors
    /// See [`Bulk::start`].
    pub fn start_on(route: &Route, port: u16, seed: Seed, limit: Duration) -> Result<Bulk, WorkloadError> {
        let listener = route.listen(port)?;
        let socket = route.socket(&route.client)?;
        let to = SocketAddr::new(route.address, port);
        let mut block = vec![0; 1 << 20];
        seed.stream("bulk").fill(&mut block);
        let shared = Arc::new(Shared::default());
        let start = Instant::now();
        let mut bulk = Bulk { shared: shared.clone(), start, sender: None, receiver: None };

        let there = shared.clone();
        bulk.receiver = Some(thread("bulk receiver", move || {
            let receive = || -> std::io::Result<()> {
                let Some(socket) = accept(&listener, &there.stop)? else { return Ok(()) };
                let mut buffer = vec![0; 1 << 18];
                loop {
                    match read(&socket, &mut buffer, &there.stop)? {
                        0 => return Ok(()),
                        n => there.count(n, start),
                    }
                }
            };
            there.outcome("receiving the stream", receive()).map(|()| thread_cpu())
        })?);
        bulk.sender = Some(thread("bulk sender", move || {
            let send = || -> std::io::Result<()> {
                if connect(&socket, to, limit)? {
                    while write_all(&socket, &block, &shared.stop)? {}
                }
                Ok(())
            };
            shared.outcome("sending the stream", send())?;
            let retransmits =
                tcp::retransmits(&socket).map_err(WorkloadError::system("reading the counters of a TCP socket"))?;
            Ok((thread_cpu(), retransmits))
        })?);
        Ok(bulk)
    }

    /// When the stream began to connect.
    pub fn start_time(&self) -> Instant {
        self.start
    }

    /// Bytes received so far.
    pub fn received(&self) -> u64 {
        self.shared.received.load(Ordering::Relaxed)
    }

    /// Stops the stream.
    ///
    /// # Errors
    /// The error that ended the stream.
    pub fn finish(mut self) -> Result<BulkReport, WorkloadError> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let sent = self.sender.take().map(join).transpose()?;
        let received = self.receiver.take().map(join).transpose()?;
        let (sender_cpu, retransmits) = sent.unwrap_or_default();
        Ok(BulkReport {
            received: self.received(),
            first_100kb: self.shared.first_100kb.get().copied(),
            first_1mb: self.shared.first_1mb.get().copied(),
            cpu: sender_cpu + received.unwrap_or_default(),
            retransmits,
        })
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn count(&self, bytes: usize, start: Instant) {
        let total = self.received.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        for (mark, reached) in [(100_000, &self.first_100kb), (1_000_000, &self.first_1mb)] {
            if total >= mark && reached.get().is_none() {
                // Only this thread sets the value.
                let _ = reached.set(start.elapsed());
            }
        }
    }

    /// The result of one side. Errors after the stop are ignored, because the stop causes them.
    fn outcome(&self, what: &str, outcome: std::io::Result<()>) -> Result<(), WorkloadError> {
        match outcome {
            Err(source) if !self.stop.load(Ordering::Relaxed) => {
                Err(WorkloadError::System { what: what.to_owned(), source })
            }
            _ => Ok(()),
        }
    }
}
