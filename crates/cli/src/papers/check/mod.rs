//! `ripstop papers check`: what the papers state beside what the models compute, number by number and trend by trend.

mod numbers;
mod page;
mod print;
mod trends;

use super::Source;
use super::library::{Library, Stated};
use super::stated::Erratum;
use crate::failure::{Failure, Outcome};
use crate::output;
use numbers::Number;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use trends::Decided;

/// Set what the papers state beside what their closed forms compute: exit status 1 when something that should hold does not
///
/// Every published number and every published trend has a verdict; those of simulations name the experiments of `ripstop papers run` that decide
/// them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// Papers, such as 000 [default: all]
    #[arg(value_name = "PAPER")]
    papers: Vec<String>,
    #[command(flatten)]
    source: Source,
    /// Write a page for each paper into this directory, with the figures that closed forms draw
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    /// Print one JSON object (docs/schemas/check.schema.json) instead of tables
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ripstop papers check
  ripstop papers check 002 003
  ripstop papers check --json > verdicts.json
  ripstop papers check --pages pages           and the figures of closed forms
  ripstop papers check --dir papers            after a change there, without a new build";

/// What becomes of something that a paper states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// A number, to its last digit, by the formula as printed.
    Reproduced,
    /// A number, under the reading that is named.
    Reading,
    /// Misprinted; what is right is given.
    Erratum,
    /// Ours is another, for a reason that is given.
    Differs,
    /// A trend of computed curves.
    Holds,
    /// A trend that does not, for a reason that is given.
    DoesNotHold,
    /// Experiments decide it.
    Simulated,
    /// There is nothing to compute, or nothing to compute it with.
    NotCheckable,
    /// It should hold, and does not.
    Failed,
    /// It is said not to hold, and does.
    Unexpected,
}

/// A paper's verdicts.
#[derive(Serialize)]
struct Paper<'a> {
    id: &'a str,
    title: &'a str,
    numbers: Vec<Number>,
    trends: Vec<Decided>,
    errata: Vec<Misprint<'a>>,
}

/// Something that is wrong in print.
#[derive(Serialize)]
struct Misprint<'a> {
    id: &'a str,
    #[serde(rename = "where")]
    place: &'a str,
    printed: &'a str,
    corrected: &'a str,
}

#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    papers: Vec<Paper<'a>>,
    /// How many of each kind.
    numbers: BTreeMap<Verdict, usize>,
    trends: BTreeMap<Verdict, usize>,
}

/// Judges and prints.
pub(super) fn run(flags: &Flags) -> Outcome<()> {
    let library = Library::open(flags.source.dir.as_deref())?;
    let chosen = chosen(&library, &flags.papers)?;
    let mut papers = Vec::new();
    for (id, stated) in chosen {
        papers.push(judge(id, stated, &library)?);
    }
    let mut report = Report {
        version: env!("CARGO_PKG_VERSION"),
        papers,
        numbers: BTreeMap::new(),
        trends: BTreeMap::new(),
    };
    for paper in &report.papers {
        paper.numbers.iter().for_each(|one| *report.numbers.entry(one.verdict).or_default() += 1);
        paper.trends.iter().for_each(|one| *report.trends.entry(one.verdict).or_default() += 1);
    }
    if let Some(directory) = &flags.pages {
        page::write(directory, &report.papers, &library)?;
    }
    if flags.json {
        output::json(&report)?;
    } else {
        output::print(&print::text(&report))?;
    }
    let all = report.numbers.iter().chain(&report.trends);
    match all.filter(|(verdict, _)| verdict.is_wrong()).map(|(_, n)| n).sum::<usize>() {
        0 => Ok(()),
        n => Err(Failure::Work(format!("{n} verdicts are not as they should be"))),
    }
}

fn judge<'a>(id: &'a str, stated: &'a Stated, library: &Library) -> Outcome<Paper<'a>> {
    let misprint = |erratum: &'a Erratum| Misprint {
        id: &erratum.id,
        place: &erratum.place,
        printed: &erratum.printed,
        corrected: &erratum.corrected,
    };
    Ok(Paper {
        id,
        title: &stated.numbers.title,
        numbers: numbers::judge(id, stated, library)?,
        trends: trends::judge(id, stated, library)?,
        errata: stated.numbers.errata.iter().map(misprint).collect(),
    })
}

/// The papers that were asked for; all that have a `model.toml` without a name.
fn chosen<'a>(library: &'a Library, names: &[String]) -> Outcome<Vec<(&'a str, &'a Stated)>> {
    if let Some(stranger) = names.iter().find(|name| !library.stated.contains_key(*name)) {
        let all: Vec<&str> = library.stated.keys().map(String::as_str).collect();
        return Err(Failure::Usage(format!("there is no paper `{stranger}`; there are {}", all.join(", "))));
    }
    if library.stated.is_empty() {
        return Err(Failure::flag("--dir", "there is no NNN/model.toml in it, so nothing to check"));
    }
    let wanted = |id: &str| names.is_empty() || names.iter().any(|name| name == id);
    let all = library.stated.iter().map(|(id, stated)| (id.as_str(), stated));
    Ok(all.filter(|(id, _)| wanted(id)).collect())
}

impl Verdict {
    /// For people.
    fn word(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Reading => "reading",
            Verdict::Erratum => "erratum",
            Verdict::Differs => "differs",
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Simulated => "simulated",
            Verdict::NotCheckable => "not checkable",
            Verdict::Failed => "FAILED",
            Verdict::Unexpected => "UNEXPECTED",
        }
    }

    /// Whether the program is to say so by its exit status.
    fn is_wrong(self) -> bool {
        matches!(self, Verdict::Failed | Verdict::Unexpected)
    }
}
