//! The program `ripstop`.
//!
//! Each command is a module. The module has the command's flags and a function `run`. The exit status is 0 if the
//! command did its work, 1 if the command failed, and 2 if the arguments or the input are invalid.

// A write to a full or closed standard error would panic: `output` prints.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod demo;
mod emulate;
mod failure;
mod fates;
mod fec_flags;
#[cfg(test)]
mod flag_reference;
mod keys;
mod lab;
mod link_flags;
mod model;
mod output;
mod papers;
mod plan;
mod progress;
mod run_cells;
mod signals;
mod sim;
mod speed;
mod status;
mod sweep;
mod table_files;
mod up;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// An encrypted tunnel that hides packet loss from TCP, with a simulator and a planner.
#[derive(Parser)]
#[command(name = "ripstop", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Quantities have units: 20Mbit/s, 100ms, 5% or 0.05, 3.2MB. Without a unit, a rate is in bit/s, a time in
seconds, a size in bytes, a queue in packets.

Examples:
  ripstop demo                    compare TCP with and without the tunnel on a lossy link
  ripstop demo --loss 20% --json  the same at 20 % loss, as JSON
  ripstop emulate --help          put a lossy link between two network namespaces
  ripstop keys new --out key      make a key for this host
  ripstop up ripstop.toml         run the tunnel daemon (docs/operators/)
  ripstop status                  show the state of the running tunnel
  ripstop speed                   measure how fast this machine codes and encrypts
  ripstop sim tandem --loss 1.5%  simulate TCP over a chain of lossy links
  ripstop sweep plan.toml         simulate a grid; skip cells whose results are stored
  ripstop lab --help              run cells of experiments on any machine
  ripstop plan --rate 20Mbit/s --rtt 550ms --loss 4%  predict what a link will carry, and what to use on it
  ripstop model fec --optimise    compute the papers' closed forms for a link
  ripstop papers check            compare the papers' figures with the models
  ripstop papers run 000.fig12    repeat a published experiment, and compare the results";

#[derive(Subcommand)]
enum Command {
    Demo(demo::Flags),
    Emulate(emulate::Flags),
    Up(up::Flags),
    Keys(keys::Flags),
    Speed(speed::Flags),
    Status(status::Flags),
    Sim(sim::Flags),
    Sweep(sweep::Flags),
    Lab(lab::Flags),
    Model(model::Flags),
    Papers(papers::Flags),
    Plan(plan::Flags),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Demo(flags) => demo::run(&flags),
        Command::Emulate(flags) => emulate::run(&flags),
        Command::Up(flags) => up::run(&flags),
        Command::Keys(flags) => keys::run(&flags),
        Command::Speed(flags) => speed::run(&flags),
        Command::Status(flags) => status::run(&flags),
        Command::Sim(flags) => sim::run(&flags),
        Command::Sweep(flags) => sweep::run(&flags),
        Command::Lab(flags) => lab::run(&flags),
        Command::Model(flags) => model::run(&flags),
        Command::Papers(flags) => papers::run(&flags),
        Command::Plan(flags) => plan::run(&flags),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
