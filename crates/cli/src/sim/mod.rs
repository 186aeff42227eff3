//! `ripstop sim`: simulates networks in virtual time.

mod flags;
mod output;
mod record;
mod show;

use crate::failure::{Failure, Outcome, WrongFlag};
use clap::Subcommand;
use flags::{MeasureFlags, PresetCommand, PresetFlags};
use ripstop_lab::expect::check_scenario;
use ripstop_lab::files::read_text;
use ripstop_lab::preset::{Preset, measured, parameter_of_run};
use ripstop_sim::scenario::{Scenario, ScenarioError};
use std::path::{Path, PathBuf};

/// Simulate TCP over lossy networks, in virtual time
///
/// The simulated links run the code of `ripstop emulate`. The simulated tunnels run the code of `ripstop up`. Equal
/// seeds give equal results, on every machine and with any number of threads.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: SimCommand,
}

#[derive(Subcommand)]
enum SimCommand {
    Tandem(PresetFlags<TandemCommand>),
    Fec(PresetFlags<FecCommand>),
    String(PresetFlags<StringCommand>),
    Mesh(PresetFlags<MeshCommand>),
    Run(RunFlags),
}

struct TandemCommand;

impl PresetCommand for TandemCommand {
    const PRESET: Preset = Preset::Tandem;
    const ABOUT: [&str; 2] = [
        "Simulate TCP over a chain of equal lossy links (paper 000, fig. 8)",
        "All flows run from the first node to the last. --loss, --delay, --rate and --queue apply to each link in each \
         direction.",
    ];
    const EXAMPLES: &'static str = "\
Examples:
  ripstop sim tandem --loss 1.5%                          paper 000, table I: Reno at q = .015
  ripstop sim tandem --loss 1.5% --nc --redundancy 1.09   the same with TCP/NC
  ripstop sim tandem --loss 5% --tcp sack --rto-min 1s --runs 50 --json
  ripstop sim tandem --rate 0.9Mbit/s --start 0s,350s --stop 1000s,650s --interval 350s,650s
  ripstop sim tandem --loss 2% --burst 5 --queue 20 --print-scenario > chain.toml";
}

struct FecCommand;

impl PresetCommand for FecCommand {
    const PRESET: Preset = Preset::Fec;
    const ABOUT: [&str; 2] = [
        "Simulate TCP over a link that sends each block of K units as N units (paper 003)",
        "A packet with its 40 bytes of headers fills --packet-blocks blocks. A packet is lost if one of its blocks \
         loses more than N - K units. Acknowledgements come back without loss.",
    ];
    const EXAMPLES: &'static str = "\
Examples:
  ripstop sim fec --k 20 --n 22 --loss 1% --warmup 100s        paper 003, fig. 5
  ripstop sim fec --k 10 --n 12 --flows 4 --json                    fig. 9
  ripstop sim fec --k 20 --n 24 --stay-bad 0.5 --tcp sack           fig. 13";
}

struct StringCommand;

impl PresetCommand for StringCommand {
    const PRESET: Preset = Preset::String;
    const HAS_AIR: bool = true;
    const ABOUT: [&str; 2] = [
        "Simulate TCP or UDP over a string of 802.11 stations, with XOR coding and adaptive back-off (paper 002)",
        "The flow runs from the first station to the last. Neighbouring stations can decode each other's frames.",
    ];
    const EXAMPLES: &'static str = "\
Examples:
  ripstop sim string --nodes 10 --window 20 --capture 20              paper 002, fig. 7: the standard MAC
  ripstop sim string --xor on --backoff adaptive --k learned --json   paper 002, fig. 14: the new MAC with coding
  ripstop sim string --acks off --runs 30                             acknowledgements out of band
  ripstop sim string --nodes 3 --traffic udp --direction both --xor on
  ripstop sim string --nodes 5 --spacing 200m,150m,200m,240m --print-scenario > string.toml
  ripstop sim string --xor on --air-pcap air.pcap --timeline air.svg --timeline-from 10s --timeline-for 50ms";
}

struct MeshCommand;

impl PresetCommand for MeshCommand {
    const PRESET: Preset = Preset::Mesh;
    const HAS_AIR: bool = true;
    const ABOUT: [&str; 2] = [
        "Simulate TCP between a server and a client behind the gateway of a wireless mesh (paper 004)",
        "A wired link joins the server and the gateway. A string of 802.11 stations joins the gateway and the client. \
         Only the wireless hops lose packets at random.",
    ];
    const EXAMPLES: &'static str = "\
Examples:
  ripstop sim mesh --link-loss 5% --short-retry 1             plain TCP without MAC retransmissions, as in paper 004
  ripstop sim mesh --link-loss 5% --errors per-frame          losses that the MAC can repair
  ripstop sim mesh --link-loss 10% --short-retry 1 --scheme tcp-nc --redundancy 2.1
  ripstop sim mesh --link-loss 10% --short-retry 1 --scheme tcp-lt          TCP/LT between gateway and client
  ripstop sim mesh --link-loss 10% --short-retry 1 --scheme tcp-lt --lt repaired --block 8
  ripstop sim mesh --down 2 --up 2 --runs 20 --json           fairness: `jain` in the JSON
  ripstop sim mesh --traffic udp --short-retry 1              what the path carries without TCP
  ripstop sim mesh --hops 2 --rts on --print-scenario > mesh.toml";
}

/// Run a scenario from a file: any topology of links and flows
#[derive(clap::Args)]
#[command(after_help = RUN_EXAMPLES)]
struct RunFlags {
    /// The scenario, as TOML (docs/researchers/simulator.md)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    measure: MeasureFlags,
}

const EXAMPLES: &str = "\
Examples:
  ripstop sim tandem --loss 1.5% --tcp reno --runs 10
  ripstop sim tandem --loss 1.5% --print-scenario > chain.toml
  ripstop sim fec --k 20 --n 22 --loss 1% --warmup 100s
  ripstop sim string --nodes 10 --window 20 --xor on
  ripstop sim mesh --link-loss 5% --short-retry 1
  ripstop sim run chain.toml --json";

const RUN_EXAMPLES: &str = "\
Examples:
  ripstop sim run chain.toml
  ripstop sim run chain.toml --runs 100 --seed 7 --interval 350s,650s --json";

/// Runs the simulation that was asked for.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    match &flags.command {
        SimCommand::Tandem(flags) => run_preset(flags),
        SimCommand::Fec(flags) => run_preset(flags),
        SimCommand::String(flags) => run_preset(flags),
        SimCommand::Mesh(flags) => run_preset(flags),
        SimCommand::Run(flags) => {
            let scenario = measured(read(&flags.file)?, &flags.measure.given)?;
            check_scenario(&scenario).map_err(|error| match parameter_of_run(&error.field) {
                Some(name) => WrongFlag::new(&format!("--{name}"), error.problem).into(),
                None => wrong(error),
            })?;
            output::run(&scenario, &flags.measure.output, &flags.measure.air)
        }
    }
}

fn run_preset<C: PresetCommand>(flags: &PresetFlags<C>) -> Outcome<()> {
    let scenario = C::PRESET.scenario(&flags.given)?;
    for warning in C::PRESET.warnings(&flags.given)? {
        crate::output::note(format_args!("warning: {warning}"));
    }
    output::run(&scenario, &flags.output, &flags.air)
}

fn wrong(error: ScenarioError) -> Failure {
    Failure::Usage(error.to_string())
}

fn read(path: &Path) -> Outcome<Scenario> {
    let text = read_text(path).map_err(|error| Failure::work(path.display(), error))?;
    // A file that the scenario names is beside the scenario.
    let beside = |file: &str| {
        let file = path.parent().unwrap_or(std::path::Path::new("")).join(file);
        read_text(&file).map_err(|error| format!("cannot read the file: {error}"))
    };
    Scenario::parse_with(&text, beside).map_err(|error| Failure::Config(format!("{}:{error}", path.display())))
}
