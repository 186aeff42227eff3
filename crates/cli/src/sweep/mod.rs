//! `ripstop sweep`: many simulations, of which only those are run whose results are not there.

mod show;

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::run_cells::{RunStyle, run_missing};
use ripstop_lab::cell::SIMULATOR;
use ripstop_lab::experiment::{Experiment, GridCell, SourceText, pick_cells};
use ripstop_lab::files;
use ripstop_lab::run::{CellState, CellTask, RunEnd, StateCounts, find_states};
use ripstop_lab::store::ResultStore;
use ripstop_lab::table::{self, ResultTable};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Run a grid of simulations, and only those whose results are not there yet
///
/// Each cell of the plan is one `ripstop sim`. Its result is kept in the store under its whole scenario, its seed, its runs and the
/// version of the simulator; a sweep that is stopped, by whatever means, goes on where it was. The result depends neither on the
/// number of jobs nor on interruptions. docs/sweep.md describes plans.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// The plan, as TOML
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// The file that keeps the results [default: PLAN.results.redb, beside the plan]
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    store: Option<PathBuf>,
    /// Write a table with a row for each cell to this file; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    csv: Option<PathBuf>,
    /// Write the same table to this file, for columnar tools
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    parquet: Option<PathBuf>,
    /// Only the cells with this value; several for one key mean any of them, keys all of them
    #[arg(long, value_name = "KEY=VALUE", help_heading = "The cells")]
    only: Vec<String>,
    /// Run also what is there, and keep the new results
    #[arg(long, help_heading = "The cells")]
    force: bool,
    /// Go on when a cell fails or cannot be
    #[arg(long, help_heading = "The cells")]
    keep_going: bool,
    /// List the cells, what is done and what is left, and run nothing; with --csv, write what is there
    #[arg(long, conflicts_with = "force", help_heading = "The cells")]
    dry_run: bool,
    /// So many runs at a time; the result does not depend on it [default: one for each core]
    #[arg(long, value_name = "N", help_heading = "The cells")]
    jobs: Option<usize>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
A plan:
  [base]                      what all cells have: a preset and its flags, or scenario = \"FILE.toml\"
  preset = \"tandem\"
  runs = 5
  [grid]                      each value with each
  tcp = [\"reno\", \"sack\"]
  loss = { from = \"0%\", to = \"5%\", steps = 6 }
  [[cases]]                   and with each of these
  case = \"plain\"
  [[cases]]
  case = \"coded\"
  nc = true
  redundancy = 1.2

Examples:
  ripstop sweep plan.toml --dry-run
  ripstop sweep plan.toml --csv results.csv
  ripstop sweep plan.toml --only tcp=reno --only loss=1% --json";

/// Runs what is left of a plan, and prints and writes all of it.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    let began = Instant::now();
    let jobs = match flags.jobs {
        Some(jobs @ 1..=4096) => jobs,
        Some(jobs) => return Err(Failure::flag("--jobs", format!("{jobs} jobs; from 1 to 4096"))),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let plan = Experiment::read(SourceText::read(&flags.plan)?, &[])?;
    let cells =
        pick_cells(&plan, plan.cells(), &flags.only).map_err(|problem| Failure::flag("--only", problem))?;
    if !flags.keep_going {
        refuse_what_cannot_be(&plan, &cells)?;
    }
    let path = flags.store.clone().unwrap_or_else(|| flags.plan.with_extension("results.redb"));
    flags.check_files(&path)?;
    let store = match flags.dry_run {
        true => ResultStore::open_if_there(&path)?,
        false => Some(ResultStore::open_or_create(&path)?),
    };
    let tasks: Vec<CellTask> = cells.iter().map(|cell| cell.task(&plan)).collect();
    let mut states = find_states(&tasks, store.as_ref())?;
    if let Some(store) = store.as_ref().filter(|_| !flags.dry_run) {
        if flags.force {
            let reused = states.iter_mut().filter(|state| **state == CellState::Reused);
            reused.for_each(|state| *state = CellState::Missing);
        }
        let cell = {
            let plan = plan.clone();
            let places: Vec<(usize, usize)> = cells.iter().map(|cell| (cell.set, cell.place)).collect();
            move |k: usize| plan.resolve(places[k].0, places[k].1).ok()
        };
        let style = RunStyle { what: "sweeping", threads: jobs, keep_going: flags.keep_going };
        let ended = run_missing(&tasks, cell, &mut states, store, style)?;
        refuse_what_is_not_whole(flags, &plan, &cells, &states, &ended)?;
    }
    let sweep = ResultTable { experiment: &plan, cells: &cells, states: &states, store: store.as_ref() };
    let files = flags.write(&sweep)?;
    let counts = StateCounts::of(&states);
    let estimate_s = if flags.dry_run { sweep.estimate(jobs)? } else { None };
    if flags.json {
        let frame = show::Frame {
            plan: flags.plan.display().to_string(),
            store: path.display().to_string(),
            version: SIMULATOR,
            counts: &counts,
            estimate_s,
            wall_s: began.elapsed().as_secs_f64(),
        };
        show::json(&frame, &sweep)?;
    } else if !flags.csv_is_output() {
        let text = match flags.dry_run {
            true => show::dry(&sweep) + "\n" + &show::left(&counts, estimate_s, jobs),
            false => {
                show::table(&sweep)?
                    + "\n"
                    + &show::done(&counts, began.elapsed().as_secs_f64(), &path, &files)
            }
        };
        output::print(&text)?;
    }
    match states.iter().position(|state| matches!(state, CellState::Failed(_))) {
        Some(k) if !flags.dry_run => Err(failed(&plan, &cells, &states, k, "")),
        _ => Ok(()),
    }
}

impl Flags {
    /// Whether the table goes to standard output.
    fn csv_is_output(&self) -> bool {
        self.csv.as_deref() == Some(Path::new("-"))
    }

    /// What would only come out when all is done.
    fn check_files(&self, store: &Path) -> Outcome<()> {
        if self.csv_is_output() && self.json {
            return Err(Failure::flag(
                "--csv",
                "standard output is taken by --json; write the name of a file",
            ));
        }
        let files = [
            ("--csv", self.csv.as_deref().filter(|_| !self.csv_is_output())),
            #[cfg(feature = "parquet")]
            ("--parquet", self.parquet.as_deref()),
        ];
        for (flag, path) in files.iter().filter_map(|(flag, path)| Some((*flag, (*path)?))) {
            files::check(path).map_err(|problem| Failure::flag(flag, problem))?;
            let same = |other: &Path| path == other || is_same(path, other);
            if same(&self.plan) || same(store) {
                return Err(Failure::flag(flag, "this file is the plan or the store; write another name"));
            }
        }
        if is_same(store, &self.plan) || store == self.plan {
            return Err(Failure::flag("--store", "this file is the plan; write another name"));
        }
        Ok(())
    }

    /// Writes the files that were asked for, and names them.
    fn write(&self, sweep: &ResultTable<'_>) -> Outcome<Vec<PathBuf>> {
        let mut files = Vec::new();
        if let Some(path) = &self.csv {
            let mut too_many = false;
            match self.csv_is_output() {
                true => {
                    too_many = sweep
                        .csv(&mut std::io::stdout().lock())
                        .map_err(|error| Failure::from(error.of("printing the result")))?;
                }
                false => {
                    files::whole(path, |out| {
                        too_many = sweep.csv(out)?;
                        Ok(())
                    })?;
                    files.push(path.clone());
                }
            }
            if too_many {
                let most = table::MOST_FLOWS;
                eprintln!(
                    "note: cells with more than {most} flows have no columns for each flow; --json has them"
                );
            }
        }
        #[cfg(feature = "parquet")]
        if let Some(path) = &self.parquet {
            files::whole(path, |out| table::write_parquet(sweep, out))?;
            files.push(path.clone());
        }
        Ok(files)
    }
}

fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The first cell whose settings make no scenario is an error of the plan.
fn refuse_what_cannot_be(plan: &Experiment, cells: &[GridCell]) -> Outcome<()> {
    let Some((cell, wrong)) = cells.iter().find_map(|cell| Some((cell, cell.key.as_ref().err()?))) else {
        return Ok(());
    };
    let of_cell = match plan.keys().is_empty() {
        true => String::new(),
        false => format!(" (cell {}: {})", cell.index + 1, cell.name(plan)),
    };
    Err(plan.source().wrong(wrong.at, format!("{}{of_cell}", wrong.problem)).into())
}

/// A sweep that did not come to its end says what is there and how to go on. It writes no table.
fn refuse_what_is_not_whole(
    flags: &Flags,
    plan: &Experiment,
    cells: &[GridCell],
    states: &[CellState],
    ended: &RunEnd,
) -> Outcome<()> {
    let there = states.iter().filter(|state| state.is_there()).count();
    match ended {
        RunEnd::All => Ok(()),
        RunEnd::Stopped => Err(Failure::Work(format!(
            "stopped: {there} of {} cells are there; the same command goes on from here{}",
            cells.len(),
            if flags.csv.is_some() { ", --dry-run writes what is there" } else { "" }
        ))),
        RunEnd::Failed(k) => Err(failed(
            plan,
            cells,
            states,
            *k,
            &format!("; {there} of {} cells are there, --keep-going runs the others", cells.len()),
        )),
    }
}

fn failed(plan: &Experiment, cells: &[GridCell], states: &[CellState], k: usize, more: &str) -> Failure {
    let CellState::Failed(problem) = &states[k] else { return Failure::OutputClosed };
    let count = states.iter().filter(|state| matches!(state, CellState::Failed(_))).count();
    let others = if count > 1 { format!("{count} cells failed; the first: ") } else { String::new() };
    Failure::Work(format!("{others}cell {} ({}): {problem}{more}", cells[k].index + 1, cells[k].name(plan)))
}
