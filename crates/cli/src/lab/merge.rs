//! `ripstop lab merge`: merges the results of many machines into one store.

use crate::failure::Outcome;
use crate::output;
use ripstop_lab::merge::merge;
use ripstop_lab::store::ResultStore;
use std::path::PathBuf;

/// Merge stores and single results into one store
///
/// If two results are from the same cell and the same simulator version, only `wall_s`, `cpu_s` and `per_run` may
/// differ. If anything else differs, nothing is merged and the exit status is 1.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MergeFlags {
    /// The store that receives the results. A store that does not exist is created
    #[arg(value_name = "INTO.redb")]
    into: PathBuf,
    /// What to merge: stores (*.redb), and files with one or more results of `ripstop lab cell`
    #[arg(value_name = "FROM", required = true)]
    from: Vec<PathBuf>,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ripstop lab merge all.redb north.redb south.redb
  ripstop lab merge sweep.results.redb results/*.json --json";

/// Merges the stores and results into one store.
pub(super) fn run(flags: &MergeFlags) -> Outcome<()> {
    let counts = merge(&ResultStore::open_or_create(&flags.into)?, &flags.from)?;
    if flags.json {
        return output::json(&counts);
    }
    output::print(&format!("{} results: {} added, {} already there\n", counts.results, counts.added, counts.known))
}
