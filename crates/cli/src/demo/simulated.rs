//! `--virtual`: the tunnel session alone on a virtual link, where namespaces are not allowed or nobody wants to wait.

use super::measure::{Course, stats};
use super::report::{BulkFacts, ContenderReport, Requests as RequestFacts, Wire};
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use crate::workload::requests::{RequestReport, Schedule};
use ripstop_sim::tunnel::{Measured, Trial};
use std::time::Duration;

/// The contender's name in the results.
const NAME: &str = "tunnel (virtual)";

/// What a reader of the figures should know first.
pub(super) const NOTE: &str = "virtual: the tunnel session alone, in virtual time. No kernel, no TCP, no encryption and no \
                               handshake took part; the source never runs dry, and of each full packet 52 bytes are taken \
                               for headers of IP and TCP";

/// Measures the session as [`super::measure::measure`] does a contender: requests alone, then the bulk with requests
/// beside it.
///
/// # Errors
/// A link that cannot be, and packets that came out damaged, twice or out of order.
pub(super) fn measure(course: &Course, progress: &Progress) -> Outcome<ContenderReport> {
    let arrivals = || course.seed.stream("requests");
    let quiet = match course.requests {
        None => None,
        Some(count) => {
            let schedule = Schedule::count(arrivals(), 2 * course.rtt, count);
            Some(run(course, "quiet", &schedule, schedule.end(), progress)?)
        }
    };
    let schedule = match course.requests {
        Some(count) => Schedule::count(arrivals(), course.from, count),
        None => Schedule::until(arrivals(), course.from, course.seconds),
    };
    let until = course.seconds.max(schedule.end());
    let bulk = run(course, "bulk", &schedule, until, progress)?;
    let requests =
        RequestFacts { quiet: quiet.as_ref().map(|m| stats(&report(m))), beside_bulk: stats(&report(&bulk)) };
    Ok(ContenderReport::new(NAME, None, facts(course, &bulk, until), requests, None, wire(&bulk)))
}

/// One run: named `quiet`, of the requests alone.
fn run(
    course: &Course,
    name: &str,
    schedule: &Schedule,
    until: Duration,
    progress: &Progress,
) -> Outcome<Measured> {
    progress.begin(format!("{NAME}: {name}"));
    let trial = Trial {
        links: [course.path.forth.clone(), course.path.back.clone()],
        bulk: name != "quiet",
        requests: schedule.moments().to_vec(),
        from: course.from.min(until),
        until,
        grace: course.grace(),
        seed: course.seed.child(name),
    };
    let shown = |at: Duration| {
        progress.show(|| {
            format!(
                "{} of {} of virtual time",
                output::time(at.as_secs_f64()),
                output::time(until.as_secs_f64())
            )
        });
    };
    let measured = trial.run(shown).map_err(|error| Failure::work("the virtual link", error))?;
    match measured.violations {
        0 => Ok(measured),
        n => Err(Failure::Work(format!(
            "{NAME}: {n} packets came out damaged, twice or out of order; `--seed {}` shows it again",
            course.seed
        ))),
    }
}

fn report(measured: &Measured) -> RequestReport {
    RequestReport::of(measured.latencies.iter().copied())
}

fn facts(course: &Course, bulk: &Measured, until: Duration) -> BulkFacts {
    let useful = (bulk.bulk_bytes.0 + bulk.request_bytes) as f64;
    let seconds = |d: Option<Duration>| d.map(|d| d.as_secs_f64());
    BulkFacts {
        goodput_bps: 8.0 * bulk.bulk_bytes.0 as f64 / (until - course.from).as_secs_f64(),
        sent_per_useful: (useful > 0.0).then(|| bulk.offered_bytes as f64 / useful),
        goodput_whole_run_bps: 8.0 * bulk.bulk_bytes.1 as f64 / until.as_secs_f64(),
        first_100kb_s: seconds(bulk.first_100kb),
        first_1mb_s: seconds(bulk.first_1mb),
        cpu_s_per_gb: None,
    }
}

fn wire(bulk: &Measured) -> Wire {
    Wire {
        offered_packets: bulk.link.offered,
        offered_bytes: bulk.link.offered_bytes,
        lost_packets: bulk.link.lost_channel + bulk.link.lost_blackout,
        queue_full_packets: bulk.link.refused_queue,
        queue_max_bytes: bulk.link.queue_max_bytes,
        late_p99_s: None,
        emulator_dropped_packets: 0,
    }
}
