//! Runs a scenario, prints the result, and checks the expectations.

use super::record::{AirFlags, record};
use super::show;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use nix::time::{ClockId, clock_gettime};
use ripstop_lab::cell::CellResult;
use ripstop_lab::expect::judge_expectations;
use ripstop_sim::scenario::{self, RunTotals, Scenario, ScenarioError, ScenarioReport};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How to run a scenario, and what to do with the result.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "The measurement")]
pub(super) struct OutputFlags {
    /// The number of threads. This number does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Write the packets at the sending nodes in the first run to this file, as a capture for Wireshark
    #[arg(long, value_name = "FILE")]
    pub(super) pcap: Option<PathBuf>,
    /// Write every event of the first run to this file, as CSV
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
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

/// Runs `scenario` and prints the result. The caller must have checked the scenario. `air` says how to record the
/// frames on the scenario's media.
pub(super) fn run(scenario: &Scenario, flags: &OutputFlags, air: &AirFlags) -> Outcome<()> {
    let wrong = |error: ScenarioError| Failure::Usage(error.to_string());
    if flags.threads == Some(0) {
        return Err(Failure::flag("--threads", "0 threads run nothing; write at least 1"));
    }
    if flags.print_scenario {
        return output::print(&scenario.to_toml().map_err(wrong)?);
    }
    record(scenario, flags, air)?;
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
    let figures = serde_json::to_value(&report).map_err(|error| Failure::work("the report", error))?;
    let each = |run: &RunTotals| show::numbers(&ScenarioReport::new(scenario, std::slice::from_ref(run)));
    let result = CellResult {
        per_run: flags.per_run.then(|| runs.iter().map(each).collect()),
        expectations: judge_expectations(scenario, &figures),
        wall_s: began.elapsed().as_secs_f64(),
        cpu_s: cpu_time().saturating_sub(cpu).as_secs_f64(),
        ..CellResult::new(scenario, &report)
    };
    if flags.json { output::json(&result) } else { output::print(&show::table(&result)) }?;
    let wrong: Vec<String> =
        result.expectations.iter().filter(|one| one.met != Some(true)).map(show::not_met).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::work("not as expected", wrong.join("; "))) }
}

/// CPU time that this process has used.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}
