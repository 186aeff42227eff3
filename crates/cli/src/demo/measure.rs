//! The measurements of one contender: requests on the idle link, the bulk stream with requests beside it, and
//! a file. Each has a new testbed, whose link loses the same packets for every contender.

use super::contenders::Contender;
use super::report::{
    BulkFacts, ContenderReport, FileReport, RequestStats, Requests as RequestFacts, TunnelFacts, Wire,
};
use super::testbed::{Testbed, TwoWayLink};
use crate::failure::{Failure, Outcome};
use crate::fates::FateLog;
use crate::output;
use crate::progress::Progress;
use ripstop_base::Seed;
use ripstop_net::workload::bulk::Bulk;
use ripstop_net::workload::file::{Destination, Source, Transfer};
use ripstop_net::workload::requests::{Beginning, RequestReport, Requests, Schedule};
use ripstop_net::workload::{self, WorkloadError};
use std::time::{Duration, Instant};

/// The work for each contender.
#[derive(Debug)]
pub(crate) struct DemoPlan {
    pub(crate) setup: DemoSetup,
    pub(crate) source: Source,
    pub(crate) destination: Destination,
}

/// The link and the times of the measurement.
#[derive(Clone, Debug)]
pub(crate) struct DemoSetup {
    pub(crate) path: TwoWayLink,
    pub(crate) seed: Seed,
    /// Start of the measured interval, counted from the start of the bulk connection.
    pub(crate) from: Duration,
    /// End of the measured interval, unless requests take longer.
    pub(crate) seconds: Duration,
    /// Requests on the idle link, and as many beside the bulk stream. None: no requests on the idle link, and
    /// beside the bulk stream as many as arrive.
    pub(crate) requests: Option<usize>,
    pub(crate) rtt: Duration,
}

/// Why a contender has no result.
#[derive(Debug)]
pub(crate) enum NoResult {
    /// This machine does not offer the contender.
    NotOffered(String),
    /// A measurement failed.
    Failed(Failure),
}

/// Measures `contender`.
///
/// # Errors
/// See [`NoResult`].
pub(crate) fn measure(
    contender: Contender,
    plan: &DemoPlan,
    fates: Option<&mut FateLog>,
    progress: &Progress,
) -> Result<ContenderReport, NoResult> {
    let Some(cc) = contender.kernel_cc() else {
        return Err(NoResult::NotOffered("it runs in virtual time only".to_owned()));
    };
    workload::check_congestion(cc).map_err(|error| match error {
        WorkloadError::NoCongestion { .. } | WorkloadError::Forbidden { .. } => {
            NoResult::NotOffered(error.to_string())
        }
        // If namespaces are not allowed, no contender can run.
        WorkloadError::Namespace(error) => NoResult::Failed(super::not_allowed(error)),
        other => NoResult::Failed(failed(contender, other)),
    })?;
    let all = move || {
        let quiet = plan.setup.requests.map(|count| quiet(contender, plan, count, progress)).transpose()?;
        let (bulk, beside_bulk, wire, tunnel) = bulk(contender, plan, fates, progress)?;
        let file = file(contender, plan, progress)?;
        let requests = RequestFacts { quiet, beside_bulk };
        Ok(ContenderReport::new(contender.name(), Some(cc), bulk, requests, Some(file), wire, tunnel))
    };
    all().map_err(NoResult::Failed)
}

fn quiet(contender: Contender, plan: &DemoPlan, count: usize, progress: &Progress) -> Outcome<RequestStats> {
    let testbed = Testbed::set_up(contender, &plan.setup.path, plan.setup.seed.child("quiet"), false)?;
    progress.begin(format!("{}: {count} requests", contender.name()));
    let schedule = Schedule::count(plan.setup.seed.stream("requests"), 2 * plan.setup.rtt, count);
    let limit = plan.connect_limit();
    let end = Instant::now() + limit + schedule.end() + plan.setup.grace();
    let requests = Requests::start(&testbed.route, schedule, Beginning::Connected, limit)
        .map_err(|e| failed(contender, e))?;
    progress.wait_for(
        end,
        || format!("{} of {count} answered", requests.answered()),
        || requests.is_settled(plan.setup.grace()),
    );
    let report = requests.finish().map_err(|e| failed(contender, e))?;
    testbed.tear_down()?;
    Ok(stats(&report))
}

fn bulk(
    contender: Contender,
    plan: &DemoPlan,
    fates: Option<&mut FateLog>,
    progress: &Progress,
) -> Outcome<(BulkFacts, RequestStats, Wire, Option<TunnelFacts>)> {
    let mut testbed = Testbed::set_up(contender, &plan.setup.path, plan.setup.seed, fates.is_some())?;
    progress.begin(format!("{}: bulk", contender.name()));
    let arrivals = plan.setup.seed.stream("requests");
    let schedule = match plan.setup.requests {
        Some(count) => Schedule::count(arrivals, plan.setup.from, count),
        None => Schedule::until(arrivals, plan.setup.from, plan.setup.seconds),
    };
    let length = plan.setup.seconds.max(schedule.end());
    let failed = |error| failed(contender, error);
    let bulk = Bulk::start(&testbed.route, plan.setup.seed, length).map_err(failed)?;
    let start = bulk.start_time();
    let requests = Requests::start(&testbed.route, schedule, Beginning::At(start), length).map_err(failed)?;
    let mark = || Mark {
        at: start.elapsed(),
        bulk: bulk.received(),
        requests: requests.received(),
        offered: testbed.snapshot().left_to_right.link.offered_bytes,
    };
    let message = || {
        let mean = 8.0 * bulk.received() as f64 / start.elapsed().as_secs_f64().max(1e-3);
        format!("{} on average", output::rate(mean))
    };
    progress.wait_until(start + plan.setup.from, message);
    let first = mark();
    progress.wait_until(start + length, message);
    let last = mark();
    // The last replies still arrive beside the bulk stream, as the earlier ones did.
    progress
        .wait_for(Instant::now() + plan.setup.grace(), message, || requests.is_settled(plan.setup.grace()));
    let asked = requests.finish().map_err(failed)?;
    let mut whole = bulk.finish().map_err(failed)?;
    whole.cpu += testbed.tunnel_cpu();
    let tunnel = testbed.tunnel_facts();
    if let Some(log) = fates {
        log.write(contender.name(), &testbed.fates())?;
    }
    let wire = Wire::of(&testbed.tear_down()?);
    Ok((BulkFacts::between(&first, &last, &whole), stats(&asked), wire, tunnel))
}

fn file(contender: Contender, plan: &DemoPlan, progress: &Progress) -> Outcome<FileReport> {
    let testbed = Testbed::set_up(contender, &plan.setup.path, plan.setup.seed.child("file"), false)?;
    progress.begin(format!("{}: file", contender.name()));
    let limit = plan.setup.file_limit(plan.source.bytes);
    let failed = |error| failed(contender, error);
    let transfer = Transfer::start(&testbed.route, &plan.source, &plan.destination, limit).map_err(failed)?;
    let shown = |n: u64| output::bytes(n as f64);
    progress.wait_for(
        Instant::now() + limit,
        || format!("{} of {}", shown(transfer.received()), shown(plan.source.bytes)),
        || transfer.is_finished(),
    );
    let arrived_bytes = transfer.received();
    let arrived = transfer.finish().map_err(failed)?;
    testbed.tear_down()?;
    Ok(FileReport::new(&plan.source, arrived_bytes, arrived, limit))
}

impl DemoSetup {
    /// Longest wait for the reply to a request.
    pub(super) fn grace(&self) -> Duration {
        (10 * self.rtt).max(Duration::from_secs(2))
    }

    /// Longest time of a file of `bytes`: the length of the bulk run, or three times what a perfect sender
    /// needs if that is longer.
    pub(super) fn file_limit(&self, bytes: u64) -> Duration {
        let perfect = self.path.forth.rate.time_for(usize::try_from(bytes).unwrap_or(usize::MAX));
        let through = 1.0 - self.path.forth.loss.mean();
        let slack =
            Duration::try_from_secs_f64(3.0 * perfect.as_secs_f64() / through).unwrap_or(Duration::MAX);
        slack.saturating_add(20 * self.rtt).max(self.seconds).min(Duration::from_secs(86_400))
    }
}

impl DemoPlan {
    fn connect_limit(&self) -> Duration {
        self.setup.seconds.max(Duration::from_secs(30))
    }
}

/// Counters at one moment of the bulk run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Time since the start of its connection.
    pub(crate) at: Duration,
    /// Bytes of the stream received.
    pub(crate) bulk: u64,
    /// Bytes of requests received.
    pub(crate) requests: u64,
    /// IP bytes offered to the link in the data direction.
    pub(crate) offered: u64,
}

/// The statistics of requests.
pub(super) fn stats(report: &RequestReport) -> RequestStats {
    let seconds = |p| report.percentile(p).map(|d| d.as_secs_f64());
    RequestStats {
        n: report.n(),
        unanswered: report.unanswered(),
        p50_s: seconds(0.5),
        p90_s: seconds(0.9),
        p99_s: seconds(0.99),
    }
}

fn failed(contender: Contender, error: WorkloadError) -> Failure {
    Failure::work(contender.name(), error)
}
