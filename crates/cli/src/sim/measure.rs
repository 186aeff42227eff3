//! How often and how long a scenario is run, in every command that runs one.

use super::show;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use nix::time::{ClockId, clock_gettime};
use ripstop_base::Span;
use ripstop_sim::scenario::{
    self, Capture, ExpectSpec, Report, RunSpec, RunTotals, Scenario, ScenarioError, Trace,
};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Flags of a measurement.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "The measurement")]
pub(crate) struct MeasureFlags {
    /// Virtual time of a run, its warm-up included [default: 1000s]
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// Time at the beginning of a run that is not measured [default: 0s]
    #[arg(long, value_name = "TIME")]
    warmup: Option<Span>,
    /// Independent runs; intervals are Student's t over them [default: 10]
    #[arg(long, value_name = "N")]
    runs: Option<u32>,
    /// Where all randomness comes from [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Measure this part of the run on its own; may be given several times
    #[arg(long, value_name = "A,B", value_parser = interval)]
    interval: Vec<[Span; 2]>,
    /// Also measure each piece of this length: a series over time, in `--json`
    #[arg(long, value_name = "TIME")]
    sample: Option<Span>,
    /// Exit with status 1 unless a figure of the result is as expected: `goodput_bps>=480e3`, `flows[0].timeouts<=3`; may be given
    /// several times
    #[arg(long, value_name = "FIGURE>=NUMBER")]
    expect: Vec<ExpectSpec>,
    /// At most so many threads; the result does not depend on it [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Write what the sending nodes see in the first run to this file, as a capture for Wireshark
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Write every event of the first run to this file, as CSV
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Also put each run's own figures into the JSON object, for statistics of your own
    #[arg(long, requires = "json")]
    per_run: bool,
    /// Print the scenario as TOML, for `ripstop sim run`, and run nothing
    #[arg(long)]
    print_scenario: bool,
}

fn interval(text: &str) -> Result<[Span; 2], String> {
    let (from, to) = text.split_once(',').ok_or("two moments with a comma between, such as `350s,650s`")?;
    let span = |text: &str| text.trim().parse::<Span>().map_err(|error| error.to_string());
    Ok([span(from)?, span(to)?])
}

impl MeasureFlags {
    /// What was given takes the place of what stands in `run`.
    pub(super) fn apply(&self, run: &mut RunSpec) {
        run.duration = self.duration.unwrap_or(run.duration);
        run.warmup = self.warmup.unwrap_or(run.warmup);
        run.runs = self.runs.unwrap_or(run.runs);
        run.seed = self.seed.unwrap_or(run.seed);
        run.sample = self.sample.or(run.sample);
        if !self.interval.is_empty() {
            run.intervals.clone_from(&self.interval);
        }
    }

    /// What was given is expected as well.
    pub(super) fn expect(&self, mut scenario: Scenario) -> Scenario {
        scenario.expect.extend(self.expect.iter().cloned());
        scenario
    }
}

/// The flag of a field that every scenario has, if it has one.
pub(super) fn common_flag(field: &str) -> Option<&'static str> {
    if field.starts_with("expect") {
        return Some("--expect");
    }
    let name = field.strip_prefix("run.")?;
    [
        ("duration", "--duration"),
        ("warmup", "--warmup"),
        ("runs", "--runs"),
        ("seed", "--seed"),
        ("intervals", "--interval"),
        ("sample", "--sample"),
    ]
    .into_iter()
    .find_map(|(field, flag)| name.starts_with(field).then_some(flag))
}

/// Runs `scenario` and prints what was measured. `flag` names the flag that a field was given by.
pub(super) fn run(
    scenario: &Scenario,
    flags: &MeasureFlags,
    flag: impl Fn(&str) -> Option<&'static str>,
) -> Outcome<()> {
    let wrong = |error: ScenarioError| match flag(&error.field) {
        Some(flag) => Failure::flag(flag, error.problem),
        None => Failure::Usage(error.to_string()),
    };
    scenario.check().map_err(wrong)?;
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
    let report = Report::new(scenario, &runs);
    let each = |run: &RunTotals| show::numbers(&Report::new(scenario, std::slice::from_ref(run)));
    let result = show::Result {
        scenario,
        seed: scenario.run.seed,
        runs: scenario.run.runs,
        report: &report,
        per_run: flags.per_run.then(|| runs.iter().map(each).collect()),
        wall_s: began.elapsed().as_secs_f64(),
        cpu_s: cpu_time().saturating_sub(cpu).as_secs_f64(),
    };
    if flags.json { output::json(&result) } else { output::print(&result.table()) }?;
    let missed: Vec<String> =
        report.expectations.iter().filter(|expect| !expect.met).map(show::missed).collect();
    if missed.is_empty() { Ok(()) } else { Err(Failure::work("not as expected", missed.join("; "))) }
}

/// Why a run was not recorded.
enum Recording {
    Scenario(ScenarioError),
    File(Failure),
}

/// Makes the first run once more, with those looking on who were asked for.
fn record(scenario: &Scenario, flags: &MeasureFlags) -> Result<(), Recording> {
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

/// CPU time that this thread has spent.
pub(crate) fn cpu_time_of_thread() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}
