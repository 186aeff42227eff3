//! `ripstop demo`: the same transfer over the same lossy link, with and without the tunnel.

mod contenders;
mod estimate;
mod measure;
mod report;
mod simulated;

use crate::failure::{Failure, Outcome};
use crate::fates::FateLog;
use crate::link_flags::LinkFlags;
use crate::output;
use crate::progress::Progress;
use clap::Args;
use contenders::Contender;
use measure::{DemoPlan, NoResult, measure};
use report::Verdict;
use report::{Report, Skipped};
use ripstop_base::Span;
use ripstop_net::os::netns;
use ripstop_net::testbed::TwoWayLink;
use ripstop_net::testbed::measure::TransferSetup;
use ripstop_net::workload::file::{Destination, GENERATED_BYTES, Source};
use std::path::PathBuf;
use std::time::Duration;

/// Compare TCP with and without the tunnel on the same lossy link
///
/// Creates two hosts (network namespaces) and a lossy link between them. A contender is a TCP alone or a TCP
/// in the tunnel. For each contender, the command first measures a bulk stream and small requests at the same
/// time. Then the command measures the transfer of a file. The receiver hashes the file. Needs no root if
/// user namespaces are allowed. The command leaves nothing behind, even if the command is killed.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// Length of each bulk stream [default: 10s or 60 RTT, whichever is longer]
    #[arg(long, value_name = "TIME")]
    seconds: Option<Span>,
    /// Send this file [default: 3 MB of random bytes]
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// The receiver writes the file to this path. Each contender overwrites the file of the previous contender
    /// [default: an unnamed temporary file]
    #[arg(long, value_name = "PATH")]
    save: Option<PathBuf>,
    /// Measure N requests on the idle link, and N more during the bulk stream. 20 requests take a second [default: only
    /// during the bulk stream]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    requests: Option<u32>,
    /// The contenders, separated by commas [default: cubic,bbr,reno,ripstop,ripstop+bbr, without the contenders
    /// that this machine does not offer]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    contenders: Vec<Contender>,
    /// Run in virtual time, with the simulator's TCPs and the losses of the emulated link. Virtual time needs no
    /// namespaces, and the file has no content
    #[arg(long = "virtual", conflicts_with_all = ["file", "save"])]
    is_virtual: bool,
    /// Number of independent runs of each contender, with --virtual. The first run has the losses of the emulated
    /// link [default: 10]
    #[arg(long, value_name = "N", requires = "is_virtual", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,
    /// Write the fate of each packet of the bulk run to this file, one letter per packet (docs/operators/output.md)
    #[arg(long, value_name = "PATH")]
    fates: Option<PathBuf>,
    /// Print one JSON object instead of tables (docs/schemas/demo.schema.json)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    link: LinkFlags,
}

const EXAMPLES: &str = "\
Examples:
  ripstop demo                                    20 Mbit/s, 100 ms, 5 % loss each way
  ripstop demo --loss 20% --contenders cubic,bbr
  ripstop demo --rate 2Mbit/s --rtt 800ms --loss 6% --burst 4
  ripstop demo --file holiday.jpg --save arrived.jpg
  ripstop demo --requests 2000 --json             percentiles of many requests, as JSON
  ripstop demo --virtual --loss 20%               simulate the comparison in some seconds, without namespaces
  ripstop demo --virtual --runs 30 --contenders ripstop,tunnel --json";

/// Runs the command.
///
/// # Errors
/// Invalid flags, missing permissions, a failed measurement, or a file that arrived damaged.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    let setup = setup(flags)?;
    if let Some(contender) = flags.contenders.iter().find(|c| !flags.is_virtual && c.kernel_cc().is_none()) {
        let words = format!("`{}` exists only in the simulator; add --virtual", contender.name());
        return Err(Failure::flag("--contenders", words));
    }
    let mut report = Report {
        version: env!("CARGO_PKG_VERSION"),
        link: flags.link.facts(),
        is_virtual: flags.is_virtual,
        runs: flags.runs.unwrap_or(if flags.is_virtual { simulated::RUNS } else { 1 }),
        run_s: setup.seconds.as_secs_f64(),
        measured_from_s: setup.from.as_secs_f64(),
        estimated_s: None,
        contenders: Vec::new(),
        verdict: None,
        skipped: Vec::new(),
        notes: notes(&setup),
    };
    if flags.is_virtual {
        simulate(flags, &setup, &mut report)?;
    } else {
        measure_all(flags, setup, &mut report)?;
    }
    report.verdict = Verdict::of(&report.contenders);
    if flags.json {
        output::json(&report)?;
    } else {
        output::print(&report.tables())?;
    }
    check(&report)
}

impl Flags {
    fn contenders(&self) -> &[Contender] {
        if self.contenders.is_empty() { &Contender::USUAL } else { &self.contenders }
    }

    fn fate_log(&self) -> Outcome<Option<FateLog>> {
        self.fates.as_deref().map(FateLog::create).transpose()
    }
}

/// Measures all contenders in virtual time.
fn simulate(flags: &Flags, setup: &TransferSetup, report: &mut Report) -> Outcome<()> {
    let mut fates = flags.fate_log()?;
    let contenders = flags.contenders();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let time = estimate::simulated(contenders, setup, report.runs, cores, GENERATED_BYTES as u64);
    header(flags, report.runs, time)?;
    report.notes.insert(0, simulated::NOTE.to_owned());
    let mut progress = Progress::new();
    for (k, contender) in contenders.iter().enumerate() {
        progress.set_scope(scope(k, contenders));
        report.add(simulated::measure(*contender, setup, report.runs, fates.as_mut(), &progress)?);
    }
    Ok(())
}

/// Measures all contenders on the emulated link, one after the other.
fn measure_all(flags: &Flags, setup: TransferSetup, report: &mut Report) -> Outcome<()> {
    let plan = plan(flags, setup)?;
    // This call must come before the first thread is started.
    netns::gain_privilege().map_err(not_allowed)?;
    let asked = !flags.contenders.is_empty();
    let contenders = flags.contenders();
    let mut fates = flags.fate_log()?;
    let time = estimate::real(contenders, &plan.setup, plan.source.bytes);
    report.estimated_s = Some(time.as_secs_f64());
    header(flags, 1, time)?;
    let mut progress = Progress::new();
    for (k, contender) in contenders.iter().enumerate() {
        progress.set_scope(scope(k, contenders));
        match measure(*contender, &plan, fates.as_mut(), &progress) {
            Ok(result) => report.add(result),
            Err(NoResult::NotOffered(reason)) if asked => return Err(Failure::Work(reason)),
            Err(NoResult::NotOffered(reason)) => {
                report.skipped.push(Skipped { name: contender.name(), reason });
            }
            Err(NoResult::Failed(failure)) => return Err(failure),
        }
    }
    Ok(())
}

/// The position of contender `k` among all contenders, for the progress line.
fn scope(k: usize, contenders: &[Contender]) -> String {
    format!("contender {} of {}, ", k + 1, contenders.len())
}

/// Prints what will run, and the estimated time of the run. With `--json`, prints nothing.
fn header(flags: &Flags, runs: u32, time: Duration) -> Outcome<()> {
    if flags.json {
        return Ok(());
    }
    let place = if flags.is_virtual { "virtual link, virtual time: " } else { "" };
    let contenders = match flags.contenders() {
        [one] => one.name().to_owned(),
        all => format!("{} contenders", all.len()),
    };
    let runs = match runs {
        _ if !flags.is_virtual => String::new(),
        1 => ", 1 run each".to_owned(),
        runs => format!(", {runs} runs each"),
    };
    let time = estimate::words(time);
    let link = flags.link.words();
    output::print(&format!("{place}{link}, seed {}\n{contenders}{runs}: {time}\n\n", flags.link.seed))
}

/// Adds a hint to an error about namespaces: `--virtual` works without namespaces.
fn not_allowed(error: impl Into<Failure>) -> Failure {
    match error.into() {
        Failure::Work(words) => Failure::Work(format!(
            "{words}\n`ripstop demo --virtual` needs no namespaces: it simulates the same contenders in virtual time"
        )),
        other => other,
    }
}

/// Fails if no contender could run, or if a file arrived damaged.
fn check(report: &Report) -> Outcome<()> {
    if report.contenders.is_empty() {
        let reasons: Vec<&str> = report.skipped.iter().map(|s| s.reason.as_str()).collect();
        return Err(Failure::Work(format!("no contender can run here: {}", reasons.join("; "))));
    }
    match report.contenders.iter().find(|c| c.sha256_ok == Some(false)) {
        Some(c) => Err(Failure::Work(format!("{}: the file arrived damaged", c.name))),
        None => Ok(()),
    }
}

/// Returns the link and the measured interval. Checks flags that depend on each other.
fn setup(flags: &Flags) -> Outcome<TransferSetup> {
    let (forth, back) = flags.link.directions()?;
    flags.link.warn();
    for (rate, flag) in [(forth.rate, "--rate"), (back.rate, "--rate-back")] {
        if rate.bps() == 0 {
            return Err(Failure::flag(flag, "the demonstration needs a rate, for example `20Mbit/s`"));
        }
    }
    if flags.link.loss.get() == 1.0 || flags.link.loss_back().get() == 1.0 {
        return Err(Failure::flag("--loss", "at 100% nothing arrives; write a smaller share"));
    }
    let rtt = flags.link.rtt.duration();
    if rtt > Duration::from_secs(60) {
        return Err(Failure::flag(
            "--rtt",
            format!("{} is too long for a demonstration; write at most 60s", flags.link.rtt),
        ));
    }
    let from = (20 * rtt).max(Duration::from_secs(2));
    let seconds = match flags.seconds {
        Some(span) => span.duration(),
        None => (60 * rtt).max(Duration::from_secs(10)),
    };
    let least = from + Duration::from_secs(1);
    if seconds < least {
        return Err(Failure::flag(
            "--seconds",
            format!(
                "{} is too short: goodput is measured only after the first {} (20 RTT, at least 2 s); write at \
                 least {}",
                Span::from(seconds),
                Span::from(from),
                Span::from(least)
            ),
        ));
    }
    if seconds > Duration::from_secs(86_400) {
        return Err(Failure::flag("--seconds", "a run longer than a day is not possible; write at most 86400"));
    }
    Ok(TransferSetup {
        path: TwoWayLink { forth, back },
        seed: flags.link.seed,
        from,
        seconds,
        requests: flags.requests.map(|n| n as usize),
        rtt,
    })
}

/// The work for each contender.
fn plan(flags: &Flags, setup: TransferSetup) -> Outcome<DemoPlan> {
    let source = match &flags.file {
        Some(path) => Source::open(path)
            .map_err(|e| Failure::flag("--file", format!("{} cannot be read: {e}", path.display())))?,
        None => Source::generate(flags.link.seed).map_err(|e| Failure::work("making the file to be sent", e))?,
    };
    let destination = flags.save.clone().map_or(Destination::Unnamed, Destination::Named);
    destination.check(&source).map_err(|e| Failure::flag("--save", format!("{destination} cannot be written: {e}")))?;
    Ok(DemoPlan { setup, source, destination })
}

fn notes(setup: &TransferSetup) -> Vec<String> {
    let mut notes = Vec::new();
    if setup.seconds < 60 * setup.rtt {
        notes.push(format!(
            "in runs shorter than 60 RTT ({}), the measured share of the link's capacity is inaccurate",
            Span::from(60 * setup.rtt)
        ));
    }
    notes
}
