//! The program `ripstop`: TCP made fast over lossy links.
//!
//! Every command is a module with its flags and a function `run`. Exit status: 0 when the command
//! did its work, 1 when it could not, 2 when it was asked in the wrong words.

mod demo;
mod emulate;
mod failure;
mod fates;
mod fec_flags;
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
mod workload;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// TCP made fast over lossy links, by coding packets together.
#[derive(Parser)]
#[command(name = "ripstop", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Quantities are written as people write them: 20Mbit/s, 100ms, 5% or 0.05, 3.2MB; a bare number is
bit/s, seconds, a fraction, bytes, or packets for queues.

Examples:
  ripstop demo                    one transfer over a lossy link, scheme by scheme
  ripstop demo --loss 20% --json  the same at 20 % loss, for a program to read
  ripstop emulate --help          a lossy link between two network namespaces of yours
  ripstop keys new --out key      a key for this end of a tunnel
  ripstop up ripstop.toml         this end of a tunnel (docs/operating.md)
  ripstop status                  what it is doing
  ripstop speed                   what this machine can do, beside what bounds it
  ripstop sim tandem --loss 1.5%  TCP over a chain of lossy links, in virtual time
  ripstop sweep plan.toml         a grid of such simulations, and only what is not there yet
  ripstop lab --help              cells of experiments, run on any machine
  ripstop plan --rate 20Mbit/s --rtt 550ms --loss 4%  what a link will bring, and what to use on it
  ripstop model fec --optimise    what the papers' closed forms say of a link
  ripstop papers check            what the papers state beside what the models compute
  ripstop papers run 000.fig12    an experiment of a paper, and its numbers beside ours";

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
