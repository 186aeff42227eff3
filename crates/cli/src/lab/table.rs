//! `ripstop lab table`: prints the stored results of an experiment.

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::papers::report;
use crate::sweep::show;
use crate::table_files::TableFiles;
use ripstop_lab::cell::whole_simulator;
use ripstop_lab::experiment::pick_cells;
use ripstop_lab::papers::find_study;
use ripstop_lab::run::{CellTask, StateCounts, find_states};
use ripstop_lab::store::ResultStore;
use ripstop_lab::study::{StoredReadings, judge};
use ripstop_lab::table::ResultTable;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Print the stored results of an experiment and the verdicts on the experiment's claims; run nothing
///
/// The exit status is 1 if a claim does not hold or cannot be evaluated. A claim whose cells are missing has the
/// verdict `not run`. This verdict does not change the exit status.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TableFlags {
    /// The experiment: a file, or the ID of a paper's experiment such as 000.fig12
    #[arg(value_name = "EXPERIMENT")]
    experiment: String,
    /// The store with the results
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
    /// Use only cells in which KEY has this VALUE. May be repeated: several values of one key are alternatives, and
    /// different keys must all match
    #[arg(long, value_name = "KEY=VALUE")]
    only: Vec<String>,
    #[command(flatten)]
    files: TableFiles,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ripstop lab table sweep.toml --store sweep.results.redb
  ripstop lab table 000.fig12 --store results.redb --csv -";

/// Prints and writes the table.
pub(super) fn run(flags: &TableFlags) -> Outcome<()> {
    let began = Instant::now();
    let (study, published) = find_study(&flags.experiment)?;
    let experiment = &study.experiment;
    let cells =
        pick_cells(experiment, study.all_cells(), &flags.only).map_err(|problem| Failure::flag("--only", problem))?;
    flags.files.check(flags.json, &[&flags.store, Path::new(&flags.experiment)])?;
    let store = ResultStore::open_if_there(&flags.store)?;
    let store = store.ok_or_else(|| Failure::work(flags.store.display(), "there is no such file"))?;
    let tasks: Vec<CellTask> = cells.iter().map(|cell| cell.task(experiment)).collect();
    let states = find_states(&tasks, Some(&store))?;
    let table = ResultTable { experiment, cells: &cells, states: &states, store: Some(&store) };
    let files = flags.files.write(&table)?;
    let judged =
        study.states_something().then(|| judge(&study, &StoredReadings::new(&study, &store), &published, false));
    let counts = StateCounts::of(&states);
    if flags.json {
        let frame = show::Frame {
            plan: flags.experiment.clone(),
            store: flags.store.display().to_string(),
            version: whole_simulator(),
            counts: &counts,
            estimate_s: None,
            wall_s: began.elapsed().as_secs_f64(),
            judged: judged.as_ref(),
        };
        show::json(&frame, &table)?;
    } else if !flags.files.csv_is_output() {
        let verdicts = judged.as_ref().map(|judged| report::experiment(judged) + "\n");
        let written: String = files.iter().map(|file| format!(", {}", file.display())).collect();
        let last =
            format!("{} cells: {} with results, {} missing{written}\n", counts.cells, counts.reused, counts.missing);
        output::print(&(show::table(&table)? + "\n" + &verdicts.unwrap_or_default() + &last))?;
    }
    report::refuse_wrong(&judged)
}
