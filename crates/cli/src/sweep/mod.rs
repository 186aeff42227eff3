//! `ripstop sweep`: many simulations, of which only those are run whose results are not there.

mod base;
mod cells;
mod columns;
mod missing;
#[cfg(feature = "parquet")]
mod parquet;
mod place;
mod plan;
mod range;
mod results;
mod show;
mod value;
mod work;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::output;
use crate::store::{Store, VERSION};
use base::Base;
use cells::Cell;
use columns::State;
use missing::Ended;
use place::Source;
use plan::Plan;
use results::{Counts, Sweep};
use ripstop_base::Place;
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
    let mut plan = Plan::read(Source::read(&flags.plan)?)?;
    let base = Base::of(&mut plan)?;
    let cells = cells::only(&plan, &base, cells::all(&plan, &base, VERSION), &flags.only)?;
    if !flags.keep_going {
        refuse_what_cannot_be(&plan, &cells)?;
    }
    let path = flags.store.clone().unwrap_or_else(|| flags.plan.with_extension("results.redb"));
    flags.check_files(&path)?;
    let store = match flags.dry_run {
        true => Store::open_if_there(&path)?,
        false => Some(Store::open_or_create(&path)?),
    };
    let mut states = states_of(&plan, &cells, store.as_ref())?;
    if let Some(store) = store.as_ref().filter(|_| !flags.dry_run) {
        if flags.force {
            states
                .iter_mut()
                .filter(|state| **state == State::Reused)
                .for_each(|state| *state = State::Missing);
        }
        let ended = missing::run_missing(&plan, &base, &cells, &mut states, store, jobs, flags.keep_going)?;
        refuse_what_is_not_whole(flags, &plan, &cells, &states, &ended)?;
    }
    let sweep = Sweep { plan: &plan, cells: &cells, states: &states, store: store.as_ref() };
    let files = flags.write(&sweep)?;
    let counts = Counts::of(&states);
    let estimate_s = if flags.dry_run { sweep.estimate(jobs)? } else { None };
    if flags.json {
        let frame = show::Frame {
            plan: flags.plan.display().to_string(),
            store: path.display().to_string(),
            version: VERSION,
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
    match states.iter().position(|state| matches!(state, State::Failed(_))) {
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
            files::check(flag, path)?;
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
    fn write(&self, sweep: &Sweep<'_>) -> Outcome<Vec<PathBuf>> {
        let mut files = Vec::new();
        if let Some(path) = &self.csv {
            match self.csv_is_output() {
                true => sweep
                    .csv(&mut std::io::stdout().lock())
                    .map_err(|error| error.of("printing the result"))?,
                false => {
                    files::whole(path, |out| sweep.csv(out))?;
                    files.push(path.clone());
                }
            }
        }
        #[cfg(feature = "parquet")]
        if let Some(path) = &self.parquet {
            files::whole(path, |out| parquet::write(sweep, out))?;
            files.push(path.clone());
        }
        Ok(files)
    }
}

fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The first cell whose settings make no scenario is an error of the plan.
fn refuse_what_cannot_be(plan: &Plan, cells: &[Cell]) -> Outcome<()> {
    let Some((cell, wrong)) = cells.iter().find_map(|cell| Some((cell, cell.key.as_ref().err()?))) else {
        return Ok(());
    };
    let of_cell = match plan.keys.is_empty() {
        true => String::new(),
        false => format!(" (cell {}: {})", cell.index + 1, cell.name(plan)),
    };
    Err(plan.source.wrong(wrong.at, format!("{}{of_cell}", wrong.problem)))
}

fn states_of(plan: &Plan, cells: &[Cell], store: Option<&Store>) -> Outcome<Vec<State>> {
    let there = match store {
        Some(store) => store.has(cells.iter().map(|cell| cell.key.as_ref().ok()))?,
        None => vec![false; cells.len()],
    };
    let state = |(cell, there): (&Cell, bool)| match &cell.key {
        Err(wrong) => {
            let Place { line, column } = plan.source.place(wrong.at);
            State::Failed(format!("{}:{line}:{column}: {}", plan.source.path.display(), wrong.problem))
        }
        Ok(_) if there => State::Reused,
        Ok(_) => State::Missing,
    };
    Ok(cells.iter().zip(there).map(state).collect())
}

/// A sweep that did not come to its end says what is there and how to go on. It writes no table.
fn refuse_what_is_not_whole(
    flags: &Flags,
    plan: &Plan,
    cells: &[Cell],
    states: &[State],
    ended: &Ended,
) -> Outcome<()> {
    let there = states.iter().filter(|state| state.is_there()).count();
    match ended {
        Ended::All => Ok(()),
        Ended::Stopped => Err(Failure::Work(format!(
            "stopped: {there} of {} cells are there; the same command goes on from here{}",
            cells.len(),
            if flags.csv.is_some() { ", --dry-run writes what is there" } else { "" }
        ))),
        Ended::Failed(k) => Err(failed(
            plan,
            cells,
            states,
            *k,
            &format!("; {there} of {} cells are there, --keep-going runs the others", cells.len()),
        )),
    }
}

fn failed(plan: &Plan, cells: &[Cell], states: &[State], k: usize, more: &str) -> Failure {
    let State::Failed(problem) = &states[k] else { return Failure::OutputClosed };
    let count = states.iter().filter(|state| matches!(state, State::Failed(_))).count();
    let others = if count > 1 { format!("{count} cells failed; the first: ") } else { String::new() };
    Failure::Work(format!("{others}cell {} ({}): {problem}{more}", cells[k].index + 1, cells[k].name(plan)))
}
