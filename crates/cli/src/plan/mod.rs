//! `ripstop plan`.

mod campaign;
mod draw;
mod fit;
mod scenes;

use crate::failure::Outcome;
use ripstop_model::plan::Scheme;
use std::path::PathBuf;

/// Plan
#[derive(clap::Args)]
pub(crate) struct Flags {
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    links: u64,
    #[arg(long)]
    store: PathBuf,
    #[arg(long)]
    threads: usize,
}

pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    let store = campaign::store(&flags.store)?;
    let cases = campaign::cases(flags.seed, flags.links, &store, flags.threads)?;
    let fitted: Vec<_> = Scheme::FITTED.iter().map(|s| (*s, fit::fit(*s, &cases))).collect();
    crate::output::print(&fit::source(flags.seed, flags.links, &fitted))
}
