//! `ripstop model`: the papers' closed forms as commands.
//!
//! Each subcommand is a module. The module has the subcommand's flags, JSON object and text. The formulas are in
//! `ripstop_model`. In JSON, a value is null if the value is infinite or was not asked for.

mod arguments;
mod fec;
mod mesh;
mod monte_carlo;
mod print;
mod redundancy;
mod stations;
mod string;
mod tcp;
mod tcpnc;

pub(crate) use arguments::{Named, answer};

use crate::failure::Outcome;
use clap::Subcommand;

/// Compute throughput, redundancy, stations and capacities by the papers' closed forms
///
/// Some formulas are wrong in print. The command computes the corrected formula; with --as-printed, the command
/// computes the printed formula. The defaults of the flags are the papers' values. docs/researchers/models.md names the
/// equation behind each result, the accuracy of the result, and the errors in print.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Tcp(tcp::Flags),
    Tcpnc(tcpnc::Flags),
    Redundancy(redundancy::Flags),
    Stations(Box<stations::Flags>),
    Fec(fec::Flags),
    String(string::Flags),
    Mesh(mesh::Flags),
}

const EXAMPLES: &str = "\
Examples:
  ripstop model tcp --loss 1.5% --rtt 100ms
  ripstop model tcpnc --loss 10% --redundancy 1.13 --srtt 830ms --rate 2Mbit/s
  ripstop model redundancy --loss 10% --window 50 --target 0.8
  ripstop model stations --protocol tcpnc --loss 2% --rate 2Mbit/s --stations 4
  ripstop model fec --k 20 --unit-loss 1% --optimise
  ripstop model string --nodes 10
  ripstop model mesh --hops 3 --link-loss 5% --flows 4 --json";

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    match &flags.command {
        Command::Tcp(flags) => tcp::run(flags),
        Command::Tcpnc(flags) => tcpnc::run(flags),
        Command::Redundancy(flags) => redundancy::run(flags),
        Command::Stations(flags) => stations::run(flags),
        Command::Fec(flags) => fec::run(flags),
        Command::String(flags) => string::run(flags),
        Command::Mesh(flags) => mesh::run(flags),
    }
}
