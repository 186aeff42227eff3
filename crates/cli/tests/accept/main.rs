//! The target figures of the program, measured in real time on the emulator. `make accept` runs them.
//!
//! Each subject has a file. A subject measures cells: a figure, its bound, and whether the bound holds. Each figure is
//! the median over the runs. The last lines count the cells that miss their bounds. The program ends with status 1 if a
//! cell misses. A cell whose bound is out of reach today stays, so that the count says how far the program is.
//!
//! Plain BBR on the same link is the control: if its share is too low, the machine is too busy for a result. A miss
//! also says so if the emulator was late.
//!
//! `RIPSTOP_ACCEPT_RUNS` is the number of runs, and `RIPSTOP_ACCEPT_ONLY` a list of subjects with commas.

mod agree;
#[path = "../common/mod.rs"]
mod common;
mod demonstration;
mod fair;
mod path;
mod report;
mod shares;
mod speed;
mod steps;
mod tails;

use report::Report;
use ripstop_net::os::netns::gain_privilege;
use std::process::ExitCode;

/// A subject: it measures its cells, and adds them to the report.
type Subject = fn(&mut Report) -> Result<(), String>;

/// The subjects, in the order of the points.
const SUBJECTS: [(&str, Subject); 7] = [
    ("shares", shares::measure),
    ("tails", tails::measure),
    ("fair", fair::measure),
    ("steps", steps::measure),
    ("speed", speed::measure),
    ("demo", demonstration::measure),
    ("agree", agree::measure),
];

/// The number of runs by default. The number is odd, so that one run is the median.
const RUNS: u64 = 3;

fn main() -> ExitCode {
    let setting = |name| std::env::var(name).ok().filter(|words| !words.is_empty());
    let runs = setting("RIPSTOP_ACCEPT_RUNS").map_or(Some(RUNS), |words| words.parse().ok().filter(|n| *n > 0));
    let Some(runs) = runs else {
        eprintln!("RIPSTOP_ACCEPT_RUNS must be a whole number from 1 on");
        return ExitCode::FAILURE;
    };
    let only = setting("RIPSTOP_ACCEPT_ONLY");
    let only: Option<Vec<&str>> = only.as_ref().map(|words| words.split(',').map(str::trim).collect());
    let names: Vec<&str> = SUBJECTS.iter().map(|(name, _)| *name).collect();
    if let Some(wrong) = only.iter().flatten().find(|name| !names.contains(name)) {
        eprintln!("there is no subject `{wrong}`; RIPSTOP_ACCEPT_ONLY may list {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    // This call must come before the first thread is started.
    if let Err(error) = gain_privilege() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let mut report = Report::new(runs);
    for (name, subject) in SUBJECTS {
        if only.as_ref().is_some_and(|only| !only.contains(&name)) {
            continue;
        }
        report.begin(name);
        // A subject that fails does not keep the others from running.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| subject(&mut report)));
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => report.failed(&error),
            Err(_) => report.failed("a panic; the message is above"),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
