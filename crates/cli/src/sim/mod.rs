//! `ripstop sim`: networks in virtual time.

mod fec;
mod measure;
mod preset;
mod show;
mod sources;
mod tandem;

pub(crate) use measure::cpu_time_of_thread;
pub(crate) use preset::{FlagKind, Preset, PresetFlag};
pub(crate) use show::Result as SimResult;

use crate::failure::{Failure, Outcome};
use clap::Subcommand;
use measure::MeasureFlags;
use ripstop_sim::scenario::Scenario;
use std::path::{Path, PathBuf};

/// Simulate TCP over lossy networks, in virtual time
///
/// The links are those of `ripstop emulate`, and what codes is what runs on the wire. Equal seeds give equal results, on every
/// machine and with any number of threads.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Tandem(Box<tandem::Flags>),
    Fec(fec::Flags),
    Run(RunFlags),
}

/// Run a scenario from a file: any topology of links and flows
#[derive(clap::Args)]
#[command(after_help = RUN_EXAMPLES)]
struct RunFlags {
    /// The scenario, as TOML (docs/simulator.md)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    measure: MeasureFlags,
}

const EXAMPLES: &str = "\
Examples:
  ripstop sim tandem --loss 1.5% --tcp reno --runs 10
  ripstop sim tandem --loss 1.5% --print-scenario > chain.toml
  ripstop sim fec --k 20 --n 22 --unit-loss 1% --warmup 100s
  ripstop sim run chain.toml --json";

const RUN_EXAMPLES: &str = "\
Examples:
  ripstop sim run chain.toml
  ripstop sim run chain.toml --runs 100 --seed 7 --interval 350s,650s --json";

/// Runs the simulation that was asked for.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    match &flags.command {
        Command::Tandem(flags) => tandem::run(flags),
        Command::Fec(flags) => fec::run(flags),
        Command::Run(flags) => {
            let mut scenario = flags.measure.expect(read(&flags.file)?);
            flags.measure.apply(&mut scenario.run);
            measure::run(&scenario, &flags.measure, measure::common_flag)
        }
    }
}

fn read(path: &Path) -> Outcome<Scenario> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::work(path.display(), error))?;
    Scenario::parse(&text).map_err(|error| Failure::Config(format!("{}:{error}", path.display())))
}
