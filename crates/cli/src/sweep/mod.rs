//! `ripstop sweep`: runs a grid of simulations. A simulation is skipped if its result is already in the store.

pub(crate) mod show;

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::papers::report;
use crate::run_cells::{RunStyle, run_missing};
use crate::table_files::{TableFiles, is_same};
use ripstop_lab::cell::whole_simulator;
use ripstop_lab::experiment::{Experiment, GridCell, pick_cells};
use ripstop_lab::papers::read_study;
use ripstop_lab::run::{CellState, CellTask, RunEnd, StateCounts, find_states};
use ripstop_lab::store::ResultStore;
use ripstop_lab::study::{StoredReadings, judge};
use ripstop_lab::table::ResultTable;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Run a grid of simulations; skip simulations whose results are in the store
///
/// Each cell of the plan is one `ripstop sim`. The store finds a result by its scenario, seed, number of runs and
/// simulator version, so an interrupted sweep continues where it stopped. The number of jobs does not change the
/// results, and interruptions do not change the results. docs/researchers/experiments.md describes plans.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// The plan, as TOML
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// The file that keeps the results [default: PLAN.results.redb, beside the plan]
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    store: Option<PathBuf>,
    #[command(flatten)]
    files: TableFiles,
    /// Use only cells in which KEY has this VALUE. May be repeated: several values of one key are alternatives, and
    /// different keys must all match
    #[arg(long, value_name = "KEY=VALUE", help_heading = "The cells")]
    only: Vec<String>,
    /// Run all cells again, and replace the stored results
    #[arg(long, help_heading = "The cells")]
    force: bool,
    /// Continue when a cell fails or is invalid
    #[arg(long, help_heading = "The cells")]
    keep_going: bool,
    /// List the cells, and say which cells have results; run nothing. With --csv, write the results that exist
    #[arg(long, conflicts_with = "force", help_heading = "The cells")]
    dry_run: bool,
    /// The number of runs at the same time. This number does not change the results [default: one for each core]
    #[arg(long, value_name = "N", help_heading = "The cells")]
    jobs: Option<usize>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
A plan:
  [base]                      common to all cells: a preset and its flags, or scenario = \"FILE.toml\"
  preset = \"tandem\"
  runs = 5
  [grid]                      all combinations of the values
  tcp = [\"reno\", \"sack\"]
  loss = { from = \"0%\", to = \"5%\", steps = 6 }
  [[cases]]                   each combination is run in each case
  case = \"plain\"
  [[cases]]
  case = \"coded\"
  nc = true
  redundancy = 1.2

Examples:
  ripstop sweep plan.toml --dry-run
  ripstop sweep plan.toml --csv results.csv
  ripstop sweep plan.toml --only tcp=reno --only loss=1% --json";

/// Runs the cells of a plan that have no result. Then prints the results of all cells, and writes them to files.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    let began = Instant::now();
    let jobs = match flags.jobs {
        Some(jobs @ 1..=4096) => jobs,
        Some(jobs) => return Err(Failure::flag("--jobs", format!("{jobs} jobs are not possible; write 1 to 4096"))),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let (study, published) = read_study(&flags.plan)?;
    let plan = &study.experiment;
    let cells = pick_cells(plan, study.all_cells(), &flags.only).map_err(|problem| Failure::flag("--only", problem))?;
    if !flags.keep_going {
        study.refuse_wrong_cells()?;
    }
    let path = flags.store.clone().unwrap_or_else(|| flags.plan.with_extension("results.redb"));
    flags.check_files(&path)?;
    let store = match flags.dry_run {
        true => ResultStore::open_if_there(&path)?,
        false => Some(ResultStore::open_or_create(&path)?),
    };
    let tasks: Vec<CellTask> = cells.iter().map(|cell| cell.task(plan)).collect();
    let mut states = find_states(&tasks, store.as_ref())?;
    if let Some(store) = store.as_ref().filter(|_| !flags.dry_run) {
        let ended = flags.run_missing(jobs, plan, &cells, &tasks, &mut states, store)?;
        refuse_what_is_not_whole(flags, plan, &cells, &states, &ended)?;
    }
    let sweep = ResultTable { experiment: plan, cells: &cells, states: &states, store: store.as_ref() };
    let files = flags.files.write(&sweep)?;
    let counts = StateCounts::of(&states);
    let judged = store
        .as_ref()
        .filter(|_| !flags.dry_run && study.states_something())
        .map(|store| judge(&study, &StoredReadings::new(&study, store), &published, false));
    let estimate_s = if flags.dry_run { sweep.estimate(jobs)? } else { None };
    if flags.json {
        let frame = show::Frame {
            plan: flags.plan.display().to_string(),
            store: path.display().to_string(),
            version: whole_simulator(),
            counts: &counts,
            estimate_s,
            wall_s: began.elapsed().as_secs_f64(),
            judged: judged.as_ref(),
        };
        show::json(&frame, &sweep)?;
    } else if !flags.files.csv_is_output() {
        let text = match flags.dry_run {
            true => show::dry(&sweep) + "\n" + &show::left(&counts, estimate_s, jobs),
            false => {
                let verdicts = judged.as_ref().map(|judged| report::experiment(judged) + "\n");
                show::table(&sweep)?
                    + "\n"
                    + &verdicts.unwrap_or_default()
                    + &show::done(&counts, began.elapsed().as_secs_f64(), &path, &files)
            }
        };
        output::print(&text)?;
    }
    if let Some(k) = states.iter().position(|state| matches!(state, CellState::Failed(_)))
        && !flags.dry_run
    {
        return Err(failed(plan, &cells, &states, k, ""));
    }
    report::refuse_wrong(&judged)
}

impl Flags {
    /// Runs the cells without a result. With `--force`, runs all cells.
    fn run_missing(
        &self,
        jobs: usize,
        plan: &Experiment,
        cells: &[GridCell],
        tasks: &[CellTask],
        states: &mut [CellState],
        store: &ResultStore,
    ) -> Outcome<RunEnd> {
        if self.force {
            let reused = states.iter_mut().filter(|state| **state == CellState::Reused);
            reused.for_each(|state| *state = CellState::Missing);
        }
        let cell = {
            let plan = plan.clone();
            let places: Vec<(usize, usize)> = cells.iter().map(|cell| (cell.set, cell.place)).collect();
            move |k: usize| plan.resolve(places[k].0, places[k].1).ok()
        };
        let style = RunStyle { what: "sweeping", threads: jobs, keep_going: self.keep_going };
        run_missing(tasks, cell, states, store, style)
    }

    /// Checks the files that the flags name. The check is before the work, so that no file is refused after the work.
    fn check_files(&self, store: &Path) -> Outcome<()> {
        self.files.check(self.json, &[&self.plan, store])?;
        if is_same(store, &self.plan) {
            return Err(Failure::flag("--store", "this file is the plan; write another name"));
        }
        Ok(())
    }
}

/// Returns the failure of a sweep that was stopped, or in which a cell failed. The message says how
/// many results there are and how to continue. After a failure, the caller writes no table.
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
            "stopped: {there} of {} cells have results; repeat the command to continue{}",
            cells.len(),
            if flags.files.has_csv() { ", or add --dry-run to write the results so far" } else { "" }
        ))),
        RunEnd::Failed(k) => Err(failed(
            plan,
            cells,
            states,
            *k,
            &format!("; {there} of {} cells have results; add --keep-going to run the other cells", cells.len()),
        )),
    }
}

fn failed(plan: &Experiment, cells: &[GridCell], states: &[CellState], k: usize, more: &str) -> Failure {
    let CellState::Failed(problem) = &states[k] else { return Failure::OutputClosed };
    let count = states.iter().filter(|state| matches!(state, CellState::Failed(_))).count();
    let others = if count > 1 { format!("{count} cells failed; the first: ") } else { String::new() };
    Failure::Work(format!("{others}cell {} ({}): {problem}{more}", cells[k].index + 1, cells[k].name(plan)))
}
