//! What is measured of one contender: requests on the quiet link, the bulk stream with requests
//! beside it, and a file. Each on a fresh stage whose link loses the same packets for every
//! contender.

use super::contenders::Contender;
use super::report::{
    BulkFacts, ContenderReport, FileReport, RequestStats, Requests as RequestFacts, TunnelFacts, Wire,
};
use super::stage::{Path, Stage};
use crate::failure::{Failure, Outcome};
use crate::fates::FateLog;
use crate::output;
use crate::progress::Progress;
use crate::workload::bulk::Bulk;
use crate::workload::file::{Destination, Source, Transfer};
use crate::workload::requests::{Beginning, RequestReport, Requests, Schedule};
use crate::workload::{self, WorkloadError};
use ripstop_base::Seed;
use std::time::{Duration, Instant};

/// What every contender is put through.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) course: Course,
    pub(crate) source: Source,
    pub(crate) destination: Destination,
}

/// The link, and how long what is measured on it.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) path: Path,
    pub(crate) seed: Seed,
    /// Where the measured interval begins, counted from the start of the bulk's connection.
    pub(crate) from: Duration,
    /// Where it ends, unless requests take longer.
    pub(crate) seconds: Duration,
    /// How many requests, quiet and beside the bulk each; None: none quiet, and as many beside the
    /// bulk as come.
    pub(crate) requests: Option<usize>,
    pub(crate) rtt: Duration,
}

/// Why a contender has no result.
#[derive(Debug)]
pub(crate) enum NoResult {
    /// This machine does not offer it.
    NotOffered(String),
    /// Something failed.
    Failed(Failure),
}

/// Measures `contender`.
///
/// # Errors
/// See [`NoResult`].
pub(crate) fn measure(
    contender: Contender,
    plan: &Plan,
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
        // That namespaces are not allowed is no contender's fault.
        WorkloadError::Namespace(error) => NoResult::Failed(super::not_allowed(error)),
        other => NoResult::Failed(failed(contender, other)),
    })?;
    let all = move || {
        let quiet = plan.course.requests.map(|count| quiet(contender, plan, count, progress)).transpose()?;
        let (bulk, beside_bulk, wire, tunnel) = bulk(contender, plan, fates, progress)?;
        let file = file(contender, plan, progress)?;
        let requests = RequestFacts { quiet, beside_bulk };
        Ok(ContenderReport::new(contender.name(), Some(cc), bulk, requests, Some(file), wire, tunnel))
    };
    all().map_err(NoResult::Failed)
}

fn quiet(contender: Contender, plan: &Plan, count: usize, progress: &Progress) -> Outcome<RequestStats> {
    let stage = Stage::raise(contender, &plan.course.path, plan.course.seed.child("quiet"), false)?;
    progress.begin(format!("{}: {count} requests", contender.name()));
    let schedule = Schedule::count(plan.course.seed.stream("requests"), 2 * plan.course.rtt, count);
    let limit = plan.connect_limit();
    let end = Instant::now() + limit + schedule.end() + plan.course.grace();
    let requests = Requests::start(&stage.route, schedule, Beginning::Connected, limit)
        .map_err(|e| failed(contender, e))?;
    progress.wait_for(
        end,
        || format!("{} of {count} answered", requests.answered()),
        || requests.is_settled(plan.course.grace()),
    );
    let report = requests.finish().map_err(|e| failed(contender, e))?;
    stage.strike()?;
    Ok(stats(&report))
}

fn bulk(
    contender: Contender,
    plan: &Plan,
    fates: Option<&mut FateLog>,
    progress: &Progress,
) -> Outcome<(BulkFacts, RequestStats, Wire, Option<TunnelFacts>)> {
    let mut stage = Stage::raise(contender, &plan.course.path, plan.course.seed, fates.is_some())?;
    progress.begin(format!("{}: bulk", contender.name()));
    let arrivals = plan.course.seed.stream("requests");
    let schedule = match plan.course.requests {
        Some(count) => Schedule::count(arrivals, plan.course.from, count),
        None => Schedule::until(arrivals, plan.course.from, plan.course.seconds),
    };
    let length = plan.course.seconds.max(schedule.end());
    let failed = |error| failed(contender, error);
    let bulk = Bulk::start(&stage.route, plan.course.seed, length).map_err(failed)?;
    let start = bulk.start_time();
    let requests = Requests::start(&stage.route, schedule, Beginning::At(start), length).map_err(failed)?;
    let mark = || Mark {
        at: start.elapsed(),
        bulk: bulk.received(),
        requests: requests.received(),
        offered: stage.snapshot().left_to_right.link.offered_bytes,
    };
    let message = || {
        let mean = 8.0 * bulk.received() as f64 / start.elapsed().as_secs_f64().max(1e-3);
        format!("{} on average", output::rate(mean))
    };
    progress.wait_until(start + plan.course.from, message);
    let first = mark();
    progress.wait_until(start + length, message);
    let last = mark();
    // The last replies are still to come, beside the bulk as those before.
    progress
        .wait_for(Instant::now() + plan.course.grace(), message, || requests.is_settled(plan.course.grace()));
    let asked = requests.finish().map_err(failed)?;
    let mut whole = bulk.finish().map_err(failed)?;
    whole.cpu += stage.tunnel_cpu();
    let tunnel = stage.tunnel_facts();
    if let Some(log) = fates {
        log.write(contender.name(), &stage.fates())?;
    }
    let wire = Wire::of(&stage.strike()?);
    Ok((BulkFacts::between(&first, &last, &whole), stats(&asked), wire, tunnel))
}

fn file(contender: Contender, plan: &Plan, progress: &Progress) -> Outcome<FileReport> {
    let stage = Stage::raise(contender, &plan.course.path, plan.course.seed.child("file"), false)?;
    progress.begin(format!("{}: file", contender.name()));
    let limit = plan.course.file_limit(plan.source.bytes);
    let failed = |error| failed(contender, error);
    let transfer = Transfer::start(&stage.route, &plan.source, &plan.destination, limit).map_err(failed)?;
    let shown = |n: u64| output::bytes(n as f64);
    progress.wait_for(
        Instant::now() + limit,
        || format!("{} of {}", shown(transfer.received()), shown(plan.source.bytes)),
        || transfer.is_finished(),
    );
    let arrived_bytes = transfer.received();
    let arrived = transfer.finish().map_err(failed)?;
    stage.strike()?;
    Ok(FileReport::new(&plan.source, arrived_bytes, arrived, limit))
}

impl Course {
    /// How long an unanswered request is waited for.
    pub(super) fn grace(&self) -> Duration {
        (10 * self.rtt).max(Duration::from_secs(2))
    }

    /// How long a file of `bytes` may take: what the bulk takes, and at least three times what a perfect
    /// sender would need.
    pub(super) fn file_limit(&self, bytes: u64) -> Duration {
        let perfect = self.path.forth.rate.time_for(usize::try_from(bytes).unwrap_or(usize::MAX));
        let through = 1.0 - self.path.forth.loss.mean();
        let slack =
            Duration::try_from_secs_f64(3.0 * perfect.as_secs_f64() / through).unwrap_or(Duration::MAX);
        slack.saturating_add(20 * self.rtt).max(self.seconds).min(Duration::from_secs(86_400))
    }
}

impl Plan {
    fn connect_limit(&self) -> Duration {
        self.course.seconds.max(Duration::from_secs(30))
    }
}

/// What had happened at a moment of the bulk's run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Since the start of its connection.
    pub(crate) at: Duration,
    /// Bytes of the stream that the receiver had.
    pub(crate) bulk: u64,
    /// Bytes of requests that the receiver had.
    pub(crate) requests: u64,
    /// IP bytes offered to the link in the data direction.
    pub(crate) offered: u64,
}

/// What is told of requests.
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
