//! The measurements on a testbed: requests on the idle link, a bulk stream with requests at the
//! same time, and the transfer of a file.
//!
//! Each measurement sets up a new testbed: two hosts and the link between them (see `mod.rs`). A
//! [`Carriage`] says which TCP the transfers use, and whether they go through the tunnel. Testbeds
//! with equal seeds lose the same packets with every carriage.

use super::{Carriage, Testbed, TestbedError, TunnelRepairs, TwoWayLink};
use crate::emulate::EmulatorSnapshot;
use crate::workload::WorkloadError;
use crate::workload::bulk::{Bulk, BulkReport};
use crate::workload::file::{Arrived, Destination, Source, Transfer};
use crate::workload::requests::{Beginning, RequestReport, Requests, Schedule};
use ripstop_base::Seed;
use std::time::{Duration, Instant};

/// The link and the times of the measurements.
#[derive(Clone, Debug)]
pub struct TransferSetup {
    /// The link.
    pub path: TwoWayLink,
    /// Seed of the losses, of the times at which requests are due, and of the bytes sent.
    pub seed: Seed,
    /// Start of the measured interval, counted from the start of the bulk connection.
    pub from: Duration,
    /// End of the measured interval, counted from the same start. The interval ends later if the
    /// last request is due later.
    pub seconds: Duration,
    /// Number of requests on the idle link. The same number of requests is made during the bulk
    /// stream. None: no requests on the idle link, and requests until `seconds` during the bulk
    /// stream.
    pub requests: Option<usize>,
    /// The round-trip time of the link without queues.
    pub rtt: Duration,
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// The requests on the idle link.
    Requests {
        /// Requests answered so far.
        answered: usize,
        /// Requests in all.
        of: usize,
    },
    /// The bulk stream.
    Bulk {
        /// Mean rate since the start of the connection, in bit/s.
        mean_bps: f64,
    },
    /// The file.
    File {
        /// Bytes that have arrived so far.
        received: u64,
        /// Length of the file in bytes.
        of: u64,
    },
}

/// Waits while a measurement runs, and shows its progress.
pub trait Watcher {
    /// A step begins.
    fn begin(&self, step: &str);

    /// Waits until `end`, or earlier until `done` returns true. `stage` returns the progress of the
    /// step.
    fn wait(&self, end: Instant, stage: &dyn Fn() -> Stage, done: &dyn Fn() -> bool);
}

/// Counters at one moment of the bulk measurement.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Time since the start of the bulk connection.
    pub at: Duration,
    /// Bytes of the stream received.
    pub bulk: u64,
    /// Bytes of requests received.
    pub requests: u64,
    /// IP bytes that had been offered to the link in the data direction one delay of the link before `at`: without
    /// queues, the bytes that had arrived at `at` or were lost.
    pub offered: u64,
}

/// The results of a bulk stream with requests at the same time.
#[derive(Debug)]
pub struct BulkMeasurement {
    /// The counters at the start of the measured interval and at its end.
    pub marks: [Mark; 2],
    /// The stream from the start of its connection to its end. Its CPU time includes the tunnel's.
    pub whole: BulkReport,
    /// The requests during the stream.
    pub requests: RequestReport,
    /// What the tunnel repaired; None without a tunnel.
    pub tunnel: Option<TunnelRepairs>,
    /// The link's counters at the end.
    pub link: EmulatorSnapshot,
    /// What the link did with each packet, one letter per packet ([`ripstop_link::Fate::letter`]):
    /// in the data direction, then in the other direction. Empty if the caller did not ask for the
    /// fates.
    pub fates: [Vec<u8>; 2],
}

/// The results of requests on the idle link.
#[derive(Debug)]
pub struct RequestMeasurement {
    /// The requests.
    pub requests: RequestReport,
    /// The link's counters at the end.
    pub link: EmulatorSnapshot,
}

/// The result of a file's transfer.
#[derive(Debug)]
pub struct FileMeasurement {
    /// Bytes that arrived.
    pub arrived_bytes: u64,
    /// When the whole file had arrived, and the file's hash; None: the file did not arrive within
    /// `limit`.
    pub arrived: Option<Arrived>,
    /// The time limit of the transfer.
    pub limit: Duration,
}

impl TransferSetup {
    /// Measures `count` requests on the idle link.
    ///
    /// # Errors
    /// See [`TestbedError`].
    pub fn measure_requests(
        &self,
        carriage: Carriage<'_>,
        count: usize,
        watcher: &impl Watcher,
    ) -> Result<RequestMeasurement, TestbedError> {
        let testbed = Testbed::set_up(carriage, &self.path, self.seed.child("quiet"), false)?;
        watcher.begin(&format!("{}: {count} requests", carriage.name));
        let schedule = Schedule::count(self.seed.stream("requests"), 2 * self.rtt, count);
        let limit = self.seconds.max(Duration::from_secs(30));
        let end = Instant::now() + limit + schedule.end() + self.grace();
        let requests =
            Requests::start(&testbed.route, schedule, Beginning::Connected, limit).map_err(carriage.failed())?;
        let stage = || Stage::Requests { answered: requests.answered(), of: count };
        watcher.wait(end, &stage, &|| requests.is_settled(self.grace()));
        let requests = requests.finish().map_err(carriage.failed())?;
        Ok(RequestMeasurement { requests, link: testbed.tear_down()? })
    }

    /// Measures a bulk stream with requests at the same time. `fates` tells whether to keep what
    /// the link did with each packet.
    ///
    /// # Errors
    /// See [`TestbedError`].
    pub fn measure_bulk(
        &self,
        carriage: Carriage<'_>,
        fates: bool,
        watcher: &impl Watcher,
    ) -> Result<BulkMeasurement, TestbedError> {
        let mut testbed = Testbed::set_up(carriage, &self.path, self.seed, fates)?;
        watcher.begin(&format!("{}: bulk", carriage.name));
        let arrivals = self.seed.stream("requests");
        let schedule = match self.requests {
            Some(count) => Schedule::count(arrivals, self.from, count),
            None => Schedule::until(arrivals, self.from, self.seconds),
        };
        let length = self.seconds.max(schedule.end());
        let bulk = Bulk::start(&testbed.route, self.seed, length).map_err(carriage.failed())?;
        let start = bulk.start_time();
        let requests =
            Requests::start(&testbed.route, schedule, Beginning::At(start), length).map_err(carriage.failed())?;
        let stage = || Stage::Bulk { mean_bps: 8.0 * bulk.received() as f64 / start.elapsed().as_secs_f64().max(1e-3) };
        let mark = |at: Duration| {
            watcher.wait(start + at.saturating_sub(self.path.forth.delay.duration()), &stage, &|| false);
            let offered = testbed.snapshot().left_to_right.link.offered_bytes;
            watcher.wait(start + at, &stage, &|| false);
            Mark { at: start.elapsed(), bulk: bulk.received(), requests: requests.received(), offered }
        };
        let (first, last) = (mark(self.from), mark(length));
        // The bulk stream continues while the last replies arrive, so the last requests meet the
        // same load as the earlier requests.
        watcher.wait(Instant::now() + self.grace(), &stage, &|| requests.is_settled(self.grace()));
        let requests = requests.finish().map_err(carriage.failed())?;
        let mut whole = bulk.finish().map_err(carriage.failed())?;
        whole.cpu += testbed.tunnel_cpu();
        let tunnel = testbed.tunnel_repairs();
        let fates = if fates { testbed.fates() } else { Default::default() };
        let link = testbed.tear_down()?;
        Ok(BulkMeasurement { marks: [first, last], whole, requests, tunnel, link, fates })
    }

    /// Measures the transfer of the file `source`.
    ///
    /// # Errors
    /// See [`TestbedError`].
    pub fn measure_file(
        &self,
        carriage: Carriage<'_>,
        source: &Source,
        destination: &Destination,
        watcher: &impl Watcher,
    ) -> Result<FileMeasurement, TestbedError> {
        let testbed = Testbed::set_up(carriage, &self.path, self.seed.child("file"), false)?;
        watcher.begin(&format!("{}: file", carriage.name));
        let limit = self.file_limit(source.bytes);
        let transfer = Transfer::start(&testbed.route, source, destination, limit).map_err(carriage.failed())?;
        let stage = || Stage::File { received: transfer.received(), of: source.bytes };
        watcher.wait(Instant::now() + limit, &stage, &|| transfer.is_finished());
        let arrived_bytes = transfer.received();
        let arrived = transfer.finish().map_err(carriage.failed())?;
        testbed.tear_down()?;
        Ok(FileMeasurement { arrived_bytes, arrived, limit })
    }

    /// Longest wait for the reply to the last request.
    pub fn grace(&self) -> Duration {
        (10 * self.rtt).max(Duration::from_secs(2))
    }

    /// Longest time for the transfer of a file of `bytes`: three times what a perfect sender needs
    /// at this loss rate, plus 20 round trips. The limit is at least the length of the bulk run,
    /// and at most one day.
    pub fn file_limit(&self, bytes: u64) -> Duration {
        let perfect = self.path.forth.rate.time_for(usize::try_from(bytes).unwrap_or(usize::MAX));
        let through = 1.0 - self.path.forth.loss.mean();
        let slack = Duration::try_from_secs_f64(3.0 * perfect.as_secs_f64() / through).unwrap_or(Duration::MAX);
        slack.saturating_add(20 * self.rtt).max(self.seconds).min(Duration::from_secs(86_400))
    }
}

impl Carriage<'_> {
    fn failed(self) -> impl Fn(WorkloadError) -> TestbedError {
        let name = self.name;
        move |source| TestbedError::Workload { name, source }
    }
}
