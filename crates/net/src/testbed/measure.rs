//! What is measured on a testbed: requests on the idle link, a bulk stream with requests beside it, and a file.
//!
//! Each measurement has a new testbed. Testbeds with equal seeds lose the same packets, whatever carries the transfers.

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
    /// Seed of the losses, the requests' moments and the content.
    pub seed: Seed,
    /// Start of the measured interval, counted from the start of the bulk connection.
    pub from: Duration,
    /// End of the measured interval, unless requests take longer.
    pub seconds: Duration,
    /// Requests on the idle link, and as many beside the bulk stream. None: no requests on the idle link, and beside the bulk
    /// stream as many as arrive.
    pub requests: Option<usize>,
    /// The round-trip time of the link without queues.
    pub rtt: Duration,
}

/// How far a measurement is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// Requests that were answered, of so many.
    Requests {
        /// Answered.
        answered: usize,
        /// All.
        of: usize,
    },
    /// The mean rate of the bulk stream so far, bit/s.
    Bulk {
        /// bit/s.
        mean_bps: f64,
    },
    /// Bytes of the file that have arrived, of so many.
    File {
        /// Arrived.
        received: u64,
        /// All.
        of: u64,
    },
}

/// Waits while a measurement runs, and shows how far it is.
pub trait Watcher {
    /// A step begins.
    fn begin(&self, step: &str);

    /// Waits until `end`, or until `done`. `stage` tells how far the step is.
    fn wait(&self, end: Instant, stage: &dyn Fn() -> Stage, done: &dyn Fn() -> bool);
}

/// Counters at one moment of the bulk run.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Time since the start of its connection.
    pub at: Duration,
    /// Bytes of the stream received.
    pub bulk: u64,
    /// Bytes of requests received.
    pub requests: u64,
    /// IP bytes offered to the link in the data direction.
    pub offered: u64,
}

/// A bulk stream with requests beside it.
#[derive(Debug)]
pub struct BulkMeasurement {
    /// The counters at the start of the measured interval, and at its end.
    pub marks: [Mark; 2],
    /// The stream as a whole. Its CPU time includes the tunnel's.
    pub whole: BulkReport,
    /// The requests beside it.
    pub requests: RequestReport,
    /// What the tunnel repaired; None without a tunnel.
    pub tunnel: Option<TunnelRepairs>,
    /// The link's counters at the end.
    pub link: EmulatorSnapshot,
    /// The fate of each packet in the data direction and back; empty where they were not asked for.
    pub fates: [Vec<u8>; 2],
}

/// A file's transfer.
#[derive(Debug)]
pub struct FileMeasurement {
    /// Bytes that arrived.
    pub arrived_bytes: u64,
    /// When it had arrived, and its hash; None: not within the limit.
    pub arrived: Option<Arrived>,
    /// The limit.
    pub limit: Duration,
}

impl TransferSetup {
    /// Measures `count` requests on the idle link.
    ///
    /// # Errors
    /// See [`TestbedError`].
    pub fn measure_requests(
        &self,
        carriage: Carriage,
        count: usize,
        watcher: &impl Watcher,
    ) -> Result<RequestReport, TestbedError> {
        let testbed = Testbed::set_up(carriage, &self.path, self.seed.child("quiet"), false)?;
        watcher.begin(&format!("{}: {count} requests", carriage.name));
        let schedule = Schedule::count(self.seed.stream("requests"), 2 * self.rtt, count);
        let limit = self.seconds.max(Duration::from_secs(30));
        let end = Instant::now() + limit + schedule.end() + self.grace();
        let requests = Requests::start(&testbed.route, schedule, Beginning::Connected, limit)
            .map_err(carriage.failed())?;
        let stage = || Stage::Requests { answered: requests.answered(), of: count };
        watcher.wait(end, &stage, &|| requests.is_settled(self.grace()));
        let report = requests.finish().map_err(carriage.failed())?;
        testbed.tear_down()?;
        Ok(report)
    }

    /// Measures a bulk stream with requests beside it. `fates` tells whether to keep the packets' fates.
    ///
    /// # Errors
    /// See [`TestbedError`].
    pub fn measure_bulk(
        &self,
        carriage: Carriage,
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
        let requests = Requests::start(&testbed.route, schedule, Beginning::At(start), length)
            .map_err(carriage.failed())?;
        let mark = || Mark {
            at: start.elapsed(),
            bulk: bulk.received(),
            requests: requests.received(),
            offered: testbed.snapshot().left_to_right.link.offered_bytes,
        };
        let stage = || Stage::Bulk {
            mean_bps: 8.0 * bulk.received() as f64 / start.elapsed().as_secs_f64().max(1e-3),
        };
        watcher.wait(start + self.from, &stage, &|| false);
        let first = mark();
        watcher.wait(start + length, &stage, &|| false);
        let last = mark();
        // The last replies still arrive beside the bulk stream, as the earlier ones did.
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
        carriage: Carriage,
        source: &Source,
        destination: &Destination,
        watcher: &impl Watcher,
    ) -> Result<FileMeasurement, TestbedError> {
        let testbed = Testbed::set_up(carriage, &self.path, self.seed.child("file"), false)?;
        watcher.begin(&format!("{}: file", carriage.name));
        let limit = self.file_limit(source.bytes);
        let transfer =
            Transfer::start(&testbed.route, source, destination, limit).map_err(carriage.failed())?;
        let stage = || Stage::File { received: transfer.received(), of: source.bytes };
        watcher.wait(Instant::now() + limit, &stage, &|| transfer.is_finished());
        let arrived_bytes = transfer.received();
        let arrived = transfer.finish().map_err(carriage.failed())?;
        testbed.tear_down()?;
        Ok(FileMeasurement { arrived_bytes, arrived, limit })
    }

    /// Longest wait for the reply to a request.
    pub fn grace(&self) -> Duration {
        (10 * self.rtt).max(Duration::from_secs(2))
    }

    /// Longest time of a file of `bytes`: the length of the bulk run, or three times what a perfect sender
    /// needs if that is longer.
    pub fn file_limit(&self, bytes: u64) -> Duration {
        let perfect = self.path.forth.rate.time_for(usize::try_from(bytes).unwrap_or(usize::MAX));
        let through = 1.0 - self.path.forth.loss.mean();
        let slack =
            Duration::try_from_secs_f64(3.0 * perfect.as_secs_f64() / through).unwrap_or(Duration::MAX);
        slack.saturating_add(20 * self.rtt).max(self.seconds).min(Duration::from_secs(86_400))
    }
}

impl Carriage {
    fn failed(self) -> impl Fn(WorkloadError) -> TestbedError {
        move |source| TestbedError::Workload { name: self.name, source }
    }
}
