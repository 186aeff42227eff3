//! `ripstop demo --virtual`: measures the demo's contenders (TCPs with and without the tunnel) in
//! the simulator instead of on the emulated link. This mode needs no namespaces, takes seconds, and
//! gives confidence intervals.

use super::contenders::Contender;
use super::measure::stats;
use super::report::{BulkFacts, ContenderReport, FileReport, OverRuns, Requests as RequestFacts, TunnelFacts, Wire};
use crate::failure::{Failure, Outcome};
use crate::fates::FateLog;
use crate::progress::Progress;
use ripstop_base::Seed;
use ripstop_lab::trial::{BulkTraffic, Measured, Trial};
use ripstop_link::Fate;
use ripstop_net::testbed::measure::TransferSetup;
use ripstop_net::workload::file::GENERATED_BYTES;
use ripstop_net::workload::requests::{RequestReport, Schedule};
use ripstop_sim::engine::{Sample, replicate};
use ripstop_sim::scenario::delay_statistic;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Default number of independent runs.
pub(super) const RUNS: u32 = 10;

/// The first note of the report.
pub(super) const NOTE: &str = "virtual: the simulator's models of TCP (Linux's CUBIC and Reno, and BBR) and the \
                               tunnel's session ran in virtual time. There was no kernel, no encryption and no \
                               handshake, and the file had no content";

/// Measures `contender` in `runs` runs, as [`super::measure::measure`] does in real time. The first run has
/// the losses of the emulated link with the same seed.
///
/// # Errors
/// An invalid link, or packets that left the tunnel damaged, twice or out of order.
pub(super) fn measure(
    contender: Contender,
    setup: &TransferSetup,
    runs: u32,
    fates: Option<&mut FateLog>,
    progress: &Progress,
) -> Outcome<ContenderReport> {
    let name = contender.name();
    progress.begin(format!("{name}, in virtual time"));
    let done = AtomicU64::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let keep = fates.is_some();
    let all: Vec<Run> = replicate(u64::from(runs), cores, |k| {
        let run = Run::of(contender, setup, setup.seed.run(k), keep && k == 0);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress.show(|| format!("{done} of {runs} runs"));
        run
    })
    .into_iter()
    .collect::<Outcome<_>>()?;
    let Some(first) = all.first() else {
        return Err(Failure::flag("--runs", "0 runs measure nothing; write at least 1"));
    };
    if let Some(log) = fates {
        let [forth, back] = &first.bulk.fates;
        log.write(name, &[forth, back].map(|way| way.iter().map(Fate::letter).collect()))?;
    }
    Ok(summary(contender, setup, &all))
}

/// `Ok`: the latency of an answered request. `Err`: how long an unanswered request waited.
type Latency = Result<Duration, Duration>;

/// One independent run.
struct Run {
    /// The latencies of the requests on the idle link. None unless `--requests` was given.
    quiet: Option<Vec<Latency>>,
    /// The results of the bulk stream, and of the requests during the bulk stream.
    bulk: Measured,
    /// End of the measured interval.
    until: Duration,
    /// The results of the file's transfer, and the time limit of the transfer. None if the contender cannot send a
    /// file.
    file: Option<(Measured, Duration)>,
}

impl Run {
    fn of(contender: Contender, setup: &TransferSetup, seed: Seed, fates: bool) -> Outcome<Run> {
        let arrivals = || seed.stream("requests");
        let base = Trial {
            links: [setup.path.forth.clone(), setup.path.back.clone()],
            scheme: contender.scheme(),
            bulk: BulkTraffic::None,
            requests: Vec::new(),
            from: setup.from,
            until: setup.seconds,
            grace: setup.grace(),
            fates: false,
            seed,
        };
        let perform = |trial: Trial| -> Outcome<Measured> {
            let measured = trial.run(|_| ()).map_err(|error| Failure::work("the virtual link", error))?;
            match measured.violations {
                0 => Ok(measured),
                n => Err(Failure::Work(format!(
                    "{}: {n} packets arrived damaged, twice or out of order; repeat the run with `--seed {seed}`",
                    contender.name()
                ))),
            }
        };
        let quiet = match setup.requests {
            None => None,
            Some(count) => {
                let schedule = Schedule::count(arrivals(), 2 * setup.rtt, count);
                let (requests, until) = (schedule.moments().to_vec(), schedule.end());
                let from = setup.from.min(until);
                let seed = seed.child("quiet");
                Some(perform(Trial { requests, from, until, seed, ..base.clone() })?.latencies)
            }
        };
        let schedule = match setup.requests {
            Some(count) => Schedule::count(arrivals(), setup.from, count),
            None => Schedule::until(arrivals(), setup.from, setup.seconds),
        };
        let until = setup.seconds.max(schedule.end());
        let requests = schedule.moments().to_vec();
        let trial = Trial { bulk: BulkTraffic::Endless, requests, until, seed, fates, ..base.clone() };
        let bulk = perform(trial)?;
        let file = if contender.has_file() {
            let limit = setup.file_limit(GENERATED_BYTES as u64);
            let (bulk, grace) = (BulkTraffic::File(GENERATED_BYTES as u64), Duration::ZERO);
            let from = setup.from.min(limit);
            Some((perform(Trial { bulk, from, until: limit, grace, seed: seed.child("file"), ..base })?, limit))
        } else {
            None
        };
        Ok(Run { quiet, bulk, until, file })
    }

    fn goodput(&self, setup: &TransferSetup) -> f64 {
        8.0 * self.bulk.bulk_bytes.0 as f64 / (self.until - setup.from).as_secs_f64()
    }

    fn sent_per_useful(&self) -> Option<f64> {
        let useful = (self.bulk.bulk_bytes.0 + self.bulk.request_bytes) as f64;
        (useful > 0.0).then(|| self.bulk.offered_bytes as f64 / useful)
    }
}

/// The results of all runs together.
fn summary(contender: Contender, setup: &TransferSetup, runs: &[Run]) -> ContenderReport {
    let goodput: Sample = runs.iter().map(|run| run.goodput(setup)).collect();
    let sent: Sample = runs.iter().filter_map(Run::sent_per_useful).collect();
    let whole: Sample = runs.iter().map(|run| 8.0 * run.bulk.bulk_bytes.1 as f64 / run.until.as_secs_f64()).collect();
    let over_runs = OverRuns {
        goodput_bps: goodput.statistic(),
        share: Default::default(),
        sent_per_useful: sent.statistic(),
        delay_s: delay_statistic(runs.iter().map(|run| &run.bulk.delays)),
    };
    let facts = BulkFacts {
        goodput_bps: over_runs.goodput_bps.mean.unwrap_or(0.0),
        sent_per_useful: over_runs.sent_per_useful.mean,
        goodput_whole_run_bps: whole.statistic().mean.unwrap_or(0.0),
        first_100kb_s: mean_of_all(runs.iter().map(|run| run.bulk.first_100kb)),
        first_1mb_s: mean_of_all(runs.iter().map(|run| run.bulk.first_1mb)),
        cpu_s_per_gb: None,
        tcp_retransmitted_packets: runs.iter().map(|run| run.bulk.retransmits).sum(),
    };
    let together = |runs: Vec<&[Latency]>| stats(&RequestReport::of(runs.concat()));
    let quiet: Option<Vec<&[Latency]>> = runs.iter().map(|run| run.quiet.as_deref()).collect();
    let requests = RequestFacts {
        quiet: quiet.map(together),
        beside_bulk: together(runs.iter().map(|run| run.bulk.latencies.as_slice()).collect()),
    };
    let files: Option<Vec<&(Measured, Duration)>> = runs.iter().map(|run| run.file.as_ref()).collect();
    let file = files.filter(|files| !files.is_empty()).map(|files| FileReport {
        size_bytes: GENERATED_BYTES as u64,
        arrived_bytes: files.iter().map(|(file, _)| file.bulk_bytes.1).sum::<u64>() / files.len() as u64,
        took_s: mean_of_all(files.iter().map(|(file, _)| file.complete)),
        limit_s: files[0].1.as_secs_f64(),
        sha256: None,
        arrived_sha256: None,
    });
    let wire = runs.first().map(|run| wire(&run.bulk)).unwrap_or_default();
    let tunnel = tunnel(runs);
    ContenderReport::new(contender.name(), contender.cc(), facts, requests, file, wire, tunnel).over(over_runs)
}

/// The mean of `times` in seconds. `times` has one item for each run. None if the item of a run is None.
fn mean_of_all(times: impl Iterator<Item = Option<Duration>>) -> Option<f64> {
    let times: Option<Vec<Duration>> = times.collect();
    times?.iter().map(Duration::as_secs_f64).collect::<Sample>().statistic().mean
}

/// The tunnel's counters, summed over all runs. None for a contender without the tunnel.
fn tunnel(runs: &[Run]) -> Option<TunnelFacts> {
    let each: Option<Vec<_>> = runs.iter().map(|run| run.bulk.tunnel).collect();
    each.map(|each| TunnelFacts {
        recovered_packets: each.iter().map(|losses| losses.recovered).sum(),
        given_up_packets: each.iter().map(|losses| losses.given_up).sum(),
    })
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
