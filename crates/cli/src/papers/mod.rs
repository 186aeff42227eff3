//! `ripstop papers`: repeats the papers' experiments, and compares the results with what the papers
//! state.

mod check;
pub(crate) mod report;
pub(crate) mod results;

use crate::failure::{Failure, Outcome};
use crate::output::{self, Table};
use clap::Subcommand;
use results::Verification;
use ripstop_base::Fraction;
use ripstop_lab::claim::show_number;
use ripstop_lab::figure::{FigureChart, FigureCurve};
use ripstop_lab::papers::{ModelFigure, NotedReadings, PaperLibrary, ShownStudy, write_pages};
use ripstop_lab::store::ResultStore;
use ripstop_lab::study::{JudgedStudy, Study, Verdict, judge};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// Repeat the experiments and models of the papers, and compare the results with the published numbers
///
/// An experiment is data: scenarios, published numbers, the results of an independent simulation, and the expected
/// verdicts with reasons. The experiments are built into the program. --dir reads other experiments.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    List(ListFlags),
    Show(ShowFlags),
    Run(RunFlags),
    Check(check::Flags),
}

/// List the experiments, and the figures that are computed from closed forms
#[derive(clap::Args)]
struct ListFlags {
    #[command(flatten)]
    source: Source,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Describe an experiment, print the scenario of one of its points, or compute a figure from closed forms
#[derive(clap::Args)]
#[command(after_help = SHOW_EXAMPLES)]
struct ShowFlags {
    /// The experiment or figure, such as 000.fig12 or 003.fig2
    #[arg(value_name = "ID")]
    id: String,
    /// Print the scenario of the point with this number, for `ripstop sim run`
    #[arg(long, value_name = "POINT")]
    scenario: Option<usize>,
    #[command(flatten)]
    source: Source,
    /// Print one JSON object instead of text: all scenarios of an experiment, or all curves of a figure
    #[arg(long, conflicts_with = "scenario")]
    json: bool,
}

/// Run experiments and compare their results with the papers
///
/// The exit status is 1 if a verdict is FAILED, UNEXPECTED or ERROR.
#[derive(clap::Args)]
#[command(after_help = RUN_EXAMPLES)]
struct RunFlags {
    /// Experiments, such as 000.fig12, or papers, such as 003 [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Run only the fast experiments, with few runs: a smoke test of some seconds
    #[arg(long)]
    quick: bool,
    /// The number of threads. This number does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Keep results in this file, and simulate only points that have no result in the file. A result counts only for
    /// the simulator version that computed the result [default: ripstop/papers.redb in the user's cache]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Use no stored results, and do not store the new results
    #[arg(long, conflicts_with = "store")]
    fresh: bool,
    /// Simulate this share of the stored results again, and fail if one of them differs
    #[arg(long, value_name = "SHARE", conflicts_with = "fresh")]
    verify: Option<Fraction>,
    /// The seed that chooses the results for --verify [default: another one each time]
    #[arg(long, value_name = "N", requires = "verify")]
    verify_seed: Option<u64>,
    /// Write a page with figures for each paper into this directory
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    /// Write into this directory the numbers from which verdicts are made, as NNN/results/NAME.json. `papers check`
    /// reads these files
    #[arg(long, value_name = "DIR", conflicts_with = "quick")]
    numbers: Option<PathBuf>,
    #[command(flatten)]
    source: Source,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Source {
    /// Read the experiments from this directory, instead of the experiments that are built into the program.
    /// papers/README.md describes the format
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ripstop papers list
  ripstop papers show 000.fig12
  ripstop papers run 000.fig12
  ripstop papers check                        compare every published number and trend
  ripstop papers run --pages pages            run all experiments (minutes), and write pages";

const SHOW_EXAMPLES: &str = "\
Examples:
  ripstop papers show 000.fig12
  ripstop papers show 003.fig2 --json          the curves of a figure
  ripstop papers show 000.fig12 --scenario 3 > point.toml
  ripstop sim run point.toml --trace events.csv";

const RUN_EXAMPLES: &str = "\
Examples:
  ripstop papers run --quick
  ripstop papers run 003 --pages pages
  ripstop papers run --dir my-papers --json > verdicts.json";

/// Runs the subcommand.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    match &flags.command {
        Command::List(flags) => list(flags),
        Command::Show(flags) => show(flags),
        Command::Run(flags) => judge_all(flags),
        Command::Check(flags) => check::run(flags),
    }
}

#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    title: &'a str,
    #[serde(rename = "where")]
    place: &'a str,
    points: usize,
    numbers: usize,
    claims: usize,
}

fn list(flags: &ListFlags) -> Outcome<()> {
    let library = PaperLibrary::open(flags.source.dir.as_deref())?;
    fn listed(study: &Study) -> Listed<'_> {
        Listed {
            id: &study.id,
            title: &study.title,
            place: &study.place,
            points: study.experiment.sets().iter().map(|set| set.cells()).sum(),
            numbers: study.checks.iter().map(|check| check.cells.len()).sum(),
            claims: study.claims.len(),
        }
    }
    let all: Vec<Listed<'_>> = library.experiments.iter().map(listed).collect();
    if flags.json {
        let drawn = |figure: &ModelFigure| serde_json::json!({ "id": figure.id, "title": figure.title, "where": figure.place, "curves": figure.curves() });
        let figures: Vec<serde_json::Value> = library.figures.iter().map(drawn).collect();
        return output::json(&serde_json::json!({ "experiments": all, "figures": figures }));
    }
    let mut table = Table::titled(["", "points", "numbers", "claims"]);
    for one in all {
        table.row([
            format!("{:<16}{} ({})", one.id, one.title, one.place),
            one.points.to_string(),
            one.numbers.to_string(),
            one.claims.to_string(),
        ]);
    }
    let mut figures = Table::titled(["figures of closed forms", "curves"]);
    for one in &library.figures {
        figures.row([format!("{:<16}{}", one.id, one.title), one.curves().to_string()]);
    }
    let figures = if library.figures.is_empty() { String::new() } else { format!("\n{}", figures.render()) };
    output::print(&(table.render() + &figures))
}

fn show(flags: &ShowFlags) -> Outcome<()> {
    let library = PaperLibrary::open(flags.source.dir.as_deref())?;
    if let Some(figure) = library.figures.iter().find(|figure| figure.id == flags.id) {
        return show_figure(figure, &library, flags);
    }
    let chosen = library.chosen(std::slice::from_ref(&flags.id))?;
    let [k] = chosen[..] else {
        return Err(Failure::Usage(format!("`{}` is a paper; name an experiment of this paper", flags.id)));
    };
    let experiment = &library.experiments[k];
    let cells = || (0..experiment.experiment.sets().len()).flat_map(|set| experiment.cells(set));
    let scenario = |cell: &ripstop_lab::experiment::GridCell| {
        let found = experiment.experiment.resolve(cell.set, cell.place);
        found.map_err(|wrong| Failure::Config(format!("{}: {}", experiment.id, wrong.problem)))
    };
    if let Some(number) = flags.scenario {
        let Some(cell) = cells().nth(number) else {
            let problem = format!("there is no point {number}; write a number from 0 to {}", cells().count() - 1);
            return Err(Failure::flag("--scenario", problem));
        };
        let text = scenario(cell)?.scenario().to_toml();
        return output::print(&text.map_err(|error| Failure::Config(error.to_string()))?);
    }
    if flags.json {
        let point = |cell: &ripstop_lab::experiment::GridCell| -> Outcome<serde_json::Value> {
            let set = &experiment.experiment.sets()[cell.set].name;
            let at = cell.label(&experiment.experiment);
            Ok(serde_json::json!({ "set": set, "at": at, "scenario": scenario(cell)?.scenario() }))
        };
        let points: Vec<serde_json::Value> = cells().map(point).collect::<Outcome<_>>()?;
        return output::json(&serde_json::json!({
            "id": experiment.id, "title": experiment.title, "where": experiment.place, "about": experiment.about, "points": points,
        }));
    }
    output::print(&report::describe(experiment))
}

fn show_figure(figure: &ModelFigure, library: &PaperLibrary, flags: &ShowFlags) -> Outcome<()> {
    if flags.scenario.is_some() {
        return Err(Failure::flag(
            "--scenario",
            format!("`{}` is computed from closed forms, so it has no scenario; leave out --scenario", figure.id),
        ));
    }
    let chart = figure.compute(&library.published).map_err(Failure::Config)?;
    if !flags.json {
        return output::print(&describe(figure, &chart));
    }
    let curve = |curve: &FigureCurve| {
        let (x, y): (Vec<f64>, Vec<f64>) = curve.points.iter().map(|point| (point.0, point.1)).unzip();
        serde_json::json!({ "name": curve.name, "x": x, "y": y })
    };
    let curves: Vec<serde_json::Value> = chart.curves.iter().map(curve).collect();
    output::json(&serde_json::json!({
        "id": figure.id, "title": figure.title, "where": figure.place, "about": figure.about, "x": chart.x, "y": chart.y, "curves": curves,
    }))
}

/// The object that `papers run --json` prints.
#[derive(Serialize)]
struct Outcomes<'a> {
    version: &'static str,
    quick: bool,
    experiments: &'a [JudgedStudy],
    /// The number of verdicts of each kind.
    verdicts: std::collections::BTreeMap<Verdict, usize>,
    points_simulated: usize,
    points_kept: usize,
    /// The number of stored results that were simulated again and are equal.
    points_verified: usize,
    wall_s: f64,
}

impl RunFlags {
    /// Which stored results to simulate again. Without `--verify-seed`, the seed comes from the clock.
    fn verification(&self) -> Option<Verification> {
        let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let seed = self.verify_seed.unwrap_or_else(clock);
        self.verify.map(|share| Verification { share: share.get(), seed })
    }

    /// Opens the store of results. With `--fresh`, the store is in memory. The store is also in
    /// memory if `--store` is missing and the user has no cache directory.
    fn open_store(&self) -> Outcome<ResultStore> {
        let usual = || self.store.clone().or_else(results::usual_file);
        let Some(path) = (if self.fresh { None } else { usual() }) else {
            return Ok(ResultStore::in_memory()?);
        };
        // If the directory in the user's cache is missing, the directory is created. A directory
        // that the user names must exist.
        if let (None, Some(folder)) = (&self.store, path.parent()) {
            std::fs::create_dir_all(folder).map_err(|error| Failure::work(folder.display(), error))?;
        }
        Ok(ResultStore::open_or_create(&path)?)
    }
}

fn judge_all(flags: &RunFlags) -> Outcome<()> {
    if flags.threads == Some(0) {
        return Err(Failure::flag("--threads", "0 threads run nothing; write at least 1"));
    }
    let began = Instant::now();
    let library = PaperLibrary::open(flags.source.dir.as_deref())?;
    let chosen: Vec<&Study> = library.chosen(&flags.ids)?.into_iter().map(|k| &library.experiments[k]).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let verification = flags.verification();
    let found = results::run(&chosen, flags.quick, flags.threads.unwrap_or(cores), &flags.open_store()?, verification)?;
    let mut judged = Vec::new();
    for (study, results) in chosen.iter().zip(&found.studies) {
        let noted = NotedReadings::new(study, results);
        let verdicts = judge(study, &noted, &library.published, flags.quick);
        if let Some(directory) = &flags.numbers {
            write_numbers(directory, study, &noted.numbers().to_text())?;
        }
        if !flags.json {
            output::print(&(report::experiment(&verdicts) + "\n"))?;
        }
        judged.push(verdicts);
    }
    if let Some(directory) = &flags.pages {
        let shown = chosen.iter().zip(&found.studies).zip(&judged);
        let shown: Vec<ShownStudy<'_>> =
            shown.map(|((study, results), judged)| ShownStudy { study, results, judged }).collect();
        write_pages(directory, &shown)?;
    }
    if flags.json {
        output::json(&Outcomes {
            version: env!("CARGO_PKG_VERSION"),
            quick: flags.quick,
            experiments: &judged,
            verdicts: report::count(&judged),
            points_simulated: found.counts.run,
            points_kept: found.counts.reused,
            points_verified: found.verified,
            wall_s: began.elapsed().as_secs_f64(),
        })?;
    } else {
        let verified = verification.map_or_else(String::new, |Verification { seed, .. }| {
            format!(", {} of them simulated again and equal (seed {seed})", found.verified)
        });
        let took = format!(
            "{} points simulated, {} from the store{verified}, {:.1} s\n",
            found.counts.run,
            found.counts.reused,
            began.elapsed().as_secs_f64()
        );
        output::print(&format!("{}\n{took}", report::summary(&judged)))?;
    }
    report::refuse_wrong(&judged)
}

/// Writes to a file the numbers that the verdicts of an experiment need. `papers check` reads this file.
fn write_numbers(directory: &Path, study: &Study, text: &str) -> Outcome<()> {
    let folder = directory.join(study.paper()).join("results");
    std::fs::create_dir_all(&folder).map_err(|error| Failure::work(folder.display(), error))?;
    let name = study.id.split_once('.').map_or(study.id.as_str(), |(_, name)| name);
    let path = folder.join(format!("{name}.json"));
    std::fs::write(&path, text).map_err(|error| Failure::work(path.display(), error))
}

/// Describes what the figure shows, and lists the curves as tables.
fn describe(figure: &ModelFigure, chart: &FigureChart) -> String {
    let mut text = format!("{}  {} ({})\n\n{}\n", figure.id, figure.title, figure.place, figure.about.trim());
    let _ = writeln!(text, "\n{} by {}", chart.y, chart.x);
    for curve in &chart.curves {
        let _ = writeln!(text, "\n{}", curve.name);
        let mut table = Table::default();
        // The table of a curve has at most 15 points, so that the table fits on a screen.
        let step = curve.points.len().div_ceil(15).max(1);
        for (x, y, _) in curve.points.iter().step_by(step) {
            table.row([format!("  {}", show_number(*x)), show_number(*y)]);
        }
        text += &table.render();
    }
    text
}
