//! `ripstop lab cells` prints the cells of an experiment that have no result yet. `ripstop lab cell`
//! runs one cell.

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::run_cells::{RunStyle, run_missing};
use ripstop_base::text::read_text;
use ripstop_lab::cell::CellText;
use ripstop_lab::experiment::pick_cells;
use ripstop_lab::papers::find_study;
use ripstop_lab::run::{CellState, CellTask, RunEnd, find_states};
use ripstop_lab::store::ResultStore;
use std::io::Read;
use std::path::PathBuf;

/// Print the cells of an experiment, each as one line of JSON
#[derive(clap::Args)]
#[command(after_help = CELLS_EXAMPLES)]
pub(super) struct CellsFlags {
    /// The experiment: a file, or the ID of a paper's experiment such as 000.fig12
    #[arg(value_name = "EXPERIMENT")]
    experiment: String,
    /// Use only cells in which KEY has this VALUE. May be repeated: several values of one key are alternatives, and
    /// different keys must all match
    #[arg(long, value_name = "KEY=VALUE")]
    only: Vec<String>,
    /// Leave out the cells whose results are in this store
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

const CELLS_EXAMPLES: &str = "\
Examples:
  ripstop lab cells 000.fig12 > cells.jsonl
  ripstop lab cells sweep.toml --store sweep.results.redb | wc -l      cells without a result";

/// Read one cell from standard input, run it, and print its result
///
/// The result is one line of JSON, the same object that `ripstop sim --json` prints. The exit status is 0 if the cell
/// was run, 1 if the run failed, and 2 if the input is not a cell or is a cell for another simulator.
#[derive(clap::Args)]
#[command(after_help = CELL_EXAMPLES)]
pub(super) struct CellFlags {
    /// Run the cell even if the cell was made for another simulator. The result names the one that ran
    /// the cell
    #[arg(long)]
    any_simulator: bool,
    /// The number of threads. This number does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

const CELL_EXAMPLES: &str = "\
Examples:
  ripstop lab cells 000.fig12 | head -n 1 | ripstop lab cell > result.json
  ripstop lab cells sweep.toml | parallel --pipe -N1 ripstop lab cell --threads 1 > results.jsonl";

/// The largest number of bytes that are read as a cell. This is far more than a scenario of 1000 links needs.
const MOST_BYTES: u64 = 16 << 20;

/// Prints the cells of an experiment that have no result in the store.
pub(super) fn print_cells(flags: &CellsFlags) -> Outcome<()> {
    let (study, _) = find_study(&flags.experiment)?;
    study.refuse_wrong_cells()?;
    let experiment = &study.experiment;
    let cells =
        pick_cells(experiment, study.all_cells(), &flags.only).map_err(|problem| Failure::flag("--only", problem))?;
    let store = match &flags.store {
        Some(path) => ResultStore::open_if_there(path)?,
        None => None,
    };
    let tasks: Vec<CellTask> = cells.iter().map(|cell| cell.task(experiment)).collect();
    let states = find_states(&tasks, store.as_ref())?;
    for (cell, _) in cells.iter().zip(&states).filter(|(_, state)| **state == CellState::Missing) {
        let lab_cell = experiment.resolve(cell.set, cell.place);
        let lab_cell = lab_cell.map_err(|wrong| experiment.source().wrong(wrong.at, wrong.problem))?;
        let name = format!("{}: {}", study.id, cell.name(experiment));
        output::json(&CellText::of(name.trim_end_matches(": ").to_owned(), &lab_cell))?;
    }
    Ok(())
}

/// Runs one cell.
pub(super) fn run_cell(flags: &CellFlags) -> Outcome<()> {
    if flags.threads == Some(0) {
        return Err(Failure::flag("--threads", "0 threads run nothing; write at least 1"));
    }
    let text = read_text(std::io::stdin().lock().take(MOST_BYTES));
    let text = text.map_err(|error| Failure::work("standard input", error))?;
    let cell = CellText::parse(&text)?.cell(flags.any_simulator)?;
    let threads = flags.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let store = ResultStore::in_memory()?;
    let (task, key) = (CellTask::of(&cell), cell.key());
    let mut states = [CellState::Missing];
    let style = RunStyle { what: "simulating", threads, keep_going: false };
    match run_missing(&[task], move |_| Some(cell.clone()), &mut states, &store, style)? {
        RunEnd::All => {}
        RunEnd::Stopped => return Err(Failure::Work("stopped: the cell was not run to its end".to_owned())),
        RunEnd::Failed(_) => {
            let [CellState::Failed(problem)] = &states else { return Err(Failure::OutputClosed) };
            return Err(Failure::work("the cell", problem));
        }
    }
    let result = store.get(&key)?.ok_or_else(|| Failure::work("the cell", "the run left no result in the store"))?;
    output::print(&(result + "\n"))
}
