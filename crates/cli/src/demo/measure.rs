//! The measurements of one contender on the emulated link.

use super::contenders::Contender;
use super::report::{
    BulkFacts, ContenderReport, FileReport, RequestStats, Requests as RequestFacts, TunnelFacts, Wire,
};
use crate::failure::Failure;
use crate::fates::FateLog;
use crate::output;
use crate::progress::Progress;
use ripstop_net::emulate::EmulateError;
use ripstop_net::os::tun::TunError;
use ripstop_net::testbed::measure::{Stage, TransferSetup, Watcher};
use ripstop_net::testbed::{Carriage, Carrier, TestbedError};
use ripstop_net::workload::file::{Destination, Source};
use ripstop_net::workload::requests::RequestReport;
use ripstop_net::workload::{self, WorkloadError};
use std::time::Instant;

/// What to measure for each contender.
#[derive(Debug)]
pub(crate) struct DemoPlan {
    pub(crate) setup: TransferSetup,
    pub(crate) source: Source,
    pub(crate) destination: Destination,
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
    let name = contender.name();
    let Some(congestion) = contender.kernel_cc() else {
        return Err(NoResult::NotOffered("this contender runs only in virtual time".to_owned()));
    };
    workload::check_congestion(congestion).map_err(|error| match error {
        WorkloadError::NoCongestion { .. } | WorkloadError::Forbidden { .. } => NoResult::NotOffered(error.to_string()),
        // If namespaces are not allowed, no contender can run.
        WorkloadError::Namespace(error) => NoResult::Failed(super::not_allowed(error)),
        other => NoResult::Failed(Failure::work(name, other)),
    })?;
    let carrier = if contender.is_tunnelled() { Carrier::Ripstop } else { Carrier::Link };
    let carriage = Carriage { name, congestion, carrier };
    let failed = |error| {
        NoResult::Failed(match error {
            // Nothing was measured yet: this machine has no TUN devices, or does not allow a TUN device.
            TestbedError::Emulate(EmulateError::Tun(TunError::NoDriver | TunError::NotAllowed { .. })) => {
                super::not_allowed(error)
            }
            other => other.into(),
        })
    };
    let DemoPlan { setup, source, destination } = plan;
    let quiet = setup.requests.map(|count| setup.measure_requests(carriage, count, progress));
    let quiet = quiet.transpose().map_err(failed)?;
    let bulk = setup.measure_bulk(carriage, fates.is_some(), progress).map_err(failed)?;
    if let Some(log) = fates {
        log.write(name, &bulk.fates).map_err(NoResult::Failed)?;
    }
    let file = setup.measure_file(carriage, source, destination, progress).map_err(failed)?;
    let [first, last] = &bulk.marks;
    let tunnel = bulk
        .tunnel
        .map(|repairs| TunnelFacts { recovered_packets: repairs.recovered, given_up_packets: repairs.given_up });
    Ok(ContenderReport::new(
        name,
        Some(congestion),
        BulkFacts::between(first, last, &bulk.whole),
        RequestFacts { quiet: quiet.as_ref().map(|quiet| stats(&quiet.requests)), beside_bulk: stats(&bulk.requests) },
        Some(FileReport::new(source, file.arrived_bytes, file.arrived, file.limit)),
        Wire::of(&bulk.link),
        tunnel,
    ))
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

impl Watcher for Progress {
    fn begin(&self, step: &str) {
        Progress::begin(self, step.to_owned());
    }

    fn wait(&self, end: Instant, stage: &dyn Fn() -> Stage, done: &dyn Fn() -> bool) {
        let message = || match stage() {
            Stage::Requests { answered, of } => format!("{answered} of {of} answered"),
            Stage::Bulk { mean_bps } => format!("{} on average", output::rate(mean_bps)),
            Stage::File { received, of } => {
                format!("{} of {}", output::bytes(received as f64), output::bytes(of as f64))
            }
        };
        self.wait_for(end, message, done);
    }
}
