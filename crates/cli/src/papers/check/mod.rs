//! `ripstop papers check`: compares what the papers state with closed forms and with stored results
//! of experiments.

mod print;

use super::Source;
use crate::failure::{Failure, Outcome};
use crate::output;
use ripstop_lab::papers::{
    CheckedPaper, PaperLibrary, PaperVerdict, StatedPaper, check_paper, judge_known, write_model_pages,
};
use ripstop_lab::store::ResultStore;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Compare each published number and trend with closed forms and stored results
///
/// Every published number and every published trend gets a verdict. The results of simulations are read from --store,
/// or from the numbers that `papers run --numbers` wrote. An experiment counts as not run if the experiment was changed
/// after its results were made. Results are outdated if the code that they used was changed. The exit status is 1 if a
/// verdict is FAILED, UNEXPECTED or ERROR.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// Papers, such as 000 [default: all]
    #[arg(value_name = "PAPER")]
    papers: Vec<String>,
    #[command(flatten)]
    source: Source,
    /// Read the results of `papers run` from this file [default: the numbers in papers/NNN/results]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Also exit with status 1 if a verdict needs an experiment that was not run, or if results are outdated
    #[arg(long)]
    require_all: bool,
    /// Write a page for each paper into this directory, with figures computed from closed forms
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    /// Print one JSON object (docs/schemas/check.schema.json) instead of tables
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ripstop papers check
  ripstop papers check 002 003 --require-all
  ripstop papers check --json > verdicts.json
  ripstop papers check --pages pages           also write a page for each paper, with figures
  ripstop papers check --dir papers            read the directory `papers` instead of the built-in files";

#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    papers: Vec<CheckedPaper<'a>>,
    /// For each verdict, how many published numbers have this verdict.
    numbers: BTreeMap<PaperVerdict, usize>,
    /// For each verdict, how many published trends have this verdict.
    trends: BTreeMap<PaperVerdict, usize>,
    /// The experiments whose kept numbers were made by code that has changed since.
    outdated: Vec<&'a str>,
}

/// Judges the published numbers and trends, and prints the verdicts.
pub(super) fn run(flags: &Flags) -> Outcome<()> {
    let library = PaperLibrary::open(flags.source.dir.as_deref())?;
    let store = match &flags.store {
        Some(path) => {
            let found = ResultStore::open_if_there(path)?;
            Some(found.ok_or_else(|| Failure::work(path.display(), "there is no such file"))?)
        }
        None => None,
    };
    let judged = judge_known(&library, store.as_ref());
    let mut papers = Vec::new();
    for (id, stated) in chosen(&library, &flags.papers)? {
        papers.push(check_paper(id, stated, &library, &judged)?);
    }
    let (mut numbers, mut trends) = (BTreeMap::new(), BTreeMap::new());
    for paper in &papers {
        paper.numbers.iter().for_each(|one| *numbers.entry(one.verdict).or_default() += 1);
        paper.trends.iter().for_each(|one| *trends.entry(one.verdict).or_default() += 1);
    }
    let mut outdated = library.outdated();
    outdated.retain(|study| papers.iter().any(|paper| study.split('.').next() == Some(paper.id)));
    let report = Report { version: env!("CARGO_PKG_VERSION"), papers, numbers, trends, outdated };
    if let Some(directory) = &flags.pages {
        write_model_pages(directory, &report.papers, &library)?;
    }
    if flags.json {
        output::json(&report)?;
    } else {
        output::print(&print::text(&report))?;
    }
    let count = |is: &dyn Fn(PaperVerdict) -> bool| -> usize {
        let all = report.numbers.iter().chain(&report.trends);
        all.filter(|(verdict, _)| is(**verdict)).map(|(_, n)| n).sum()
    };
    match (count(&PaperVerdict::is_wrong), count(&|verdict| verdict == PaperVerdict::NotRun)) {
        (0, not_run) if flags.require_all && not_run > 0 => Err(Failure::Work(format!(
            "{not_run} verdicts need experiments that were not run: run `ripstop papers run`"
        ))),
        (0, _) if flags.require_all && !report.outdated.is_empty() => Err(Failure::Work(format!(
            "the results of {} are outdated: the code that they used has changed; run `ripstop papers run`",
            report.outdated.join(", ")
        ))),
        (0, _) => Ok(()),
        (n, _) => Err(Failure::Work(format!("{n} verdicts are FAILED, UNEXPECTED or ERROR"))),
    }
}

/// The papers that the user named. If the user named no paper, all papers that have a `model.toml`.
fn chosen<'a>(library: &'a PaperLibrary, names: &[String]) -> Outcome<Vec<(&'a str, &'a StatedPaper)>> {
    if let Some(stranger) = names.iter().find(|name| !library.stated.contains_key(*name)) {
        let all: Vec<&str> = library.stated.keys().map(String::as_str).collect();
        return Err(Failure::Usage(format!("there is no paper `{stranger}`; the papers are {}", all.join(", "))));
    }
    if library.stated.is_empty() {
        return Err(Failure::flag("--dir", "this directory has no file NNN/model.toml, so there is nothing to check"));
    }
    let wanted = |id: &str| names.is_empty() || names.iter().any(|name| name == id);
    let all = library.stated.iter().map(|(id, stated)| (id.as_str(), stated));
    Ok(all.filter(|(id, _)| wanted(id)).collect())
}
