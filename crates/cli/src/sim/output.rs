//! Runs a scenario; records, prints and judges its result.

use super::show;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use nix::time::{ClockId, clock_gettime};
use ripstop_lab::cell::CellResult;
use ripstop_sim::scenario::{self, Capture, RunTotals, Scenario, ScenarioError, ScenarioReport, Trace};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How to run a scenario, and what to do with the result.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "The measurement")]
pub(super) struct OutputFlags {
    /// The number of threads; the result does not depend on it [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Write the packets at the sending nodes in the first run to this file, as a capture for Wireshark
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Write every event of the first run to this file, as CSV
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Also put the figures of each run into the JSON object
    #[arg(long, requires = "json")]
    per_run: bool,
    /// Print the scenario as TOML, for `ripstop sim run`, and run nothing
    #[arg(long)]
    print_scenario: bool,
}

/// Runs `scenario`, which has passed its check, and prints the result.
pub(super) fn run(scenario: &Scenario, flags: &OutputFlags) -> Outcome<()> {
    let wrong = |error: ScenarioError| Failure::Usage(error.to_string());
    if flags.threads == Some(0) {
        return Err(Failure::flag("--threads", "0 threads run nothing; write at least 1"));
    }
    if flags.print_scenario {
        return output::print(&scenario.to_toml().map_err(wrong)?);
    }
    record(scenario, flags).map_err(|failure| match failure {
        Recording::Scenario(error) => wrong(error),
        Recording::File(failure) => failure,
    })?;
    let (began, cpu) = (Instant::now(), cpu_time());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (progress, done) = (Progress::new(), AtomicU64::new(0));
    progress.begin("simulating".to_owned());
    let runs = scenario::run_all(scenario, flags.threads.unwrap_or(cores), || {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress.show(|| format!("{done} of {} runs", scenario.run.runs));
    })
    .map_err(wrong)?;
    drop(progress);
    let report = ScenarioReport::new(scenario, &runs);
    let each = |run: &RunTotals| show::numbers(&ScenarioReport::new(scenario, std::slice::from_ref(run)));
    let result = CellResult {
        per_run: flags.per_run.then(|| runs.iter().map(each).collect()),
        wall_s: began.elapsed().as_secs_f64(),
        cpu_s: cpu_time().saturating_sub(cpu).as_secs_f64(),
        ..CellResult::new(scenario, &report)
    };
    if flags.json { output::json(&result) } else { output::print(&show::table(&result)) }?;
    let wrong: Vec<String> =
        result.expectations.iter().filter(|one| one.met != Some(true)).map(show::not_met).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::work("not as expected", wrong.join("; "))) }
}

/// Why recording a run failed.
enum Recording {
    Scenario(ScenarioError),
    File(Failure),
}

/// Performs the first run once more, outside the measurement, and writes its packets (`--pcap`) and
/// events (`--trace`) to files. Does nothing without these flags.
fn record(scenario: &Scenario, flags: &OutputFlags) -> Result<(), Recording> {
    if flags.pcap.is_none() && flags.trace.is_none() {
        return Ok(());
    }
    let failed = |path: &Option<PathBuf>| {
        let path = path.clone().unwrap_or_default();
        move |error: io::Error| Recording::File(Failure::work(path.display(), error))
    };
    let create = |path: &PathBuf| File::create(path).map(BufWriter::new);
    let open = |path: &Option<PathBuf>| path.as_ref().map(create).transpose().map_err(failed(path));
    let capture = open(&flags.pcap)?.map(|file| Capture::new(scenario, file));
    let trace = open(&flags.trace)?.map(|file| Trace::new(scenario, file));
    let mut observers =
        (capture.transpose().map_err(failed(&flags.pcap))?, trace.transpose().map_err(failed(&flags.trace))?);
    scenario::run_once(scenario, 0, &mut observers).map_err(Recording::Scenario)?;
    let (capture, trace) = observers;
    capture.map_or(Ok(()), Capture::finish).map_err(failed(&flags.pcap))?;
    trace.map_or(Ok(()), Trace::finish).map_err(failed(&flags.trace))
}

/// CPU time that this process has spent.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}
