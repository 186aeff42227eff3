//! Experiments as they are written: `papers/NNN/NAME.toml`.

use super::expression::Expression;
use super::measure::Measure;
use super::points::{self, Point};
use super::published::{Cited, Published};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Table, Value};

/// An experiment of a paper: what is simulated, what the paper says about it, and what we expect to find.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Experiment {
    /// Paper and name, such as `000.fig12`; by the file's own name.
    #[serde(skip)]
    pub(super) id: String,
    /// What it shows.
    pub(super) title: String,
    /// Where it stands in the paper.
    #[serde(rename = "where")]
    pub(super) place: String,
    /// Where else it stands.
    pub(super) also: Option<String>,
    /// What a reader should know.
    pub(super) about: String,
    /// What is simulated.
    #[serde(rename = "set")]
    pub(super) sets: Vec<Set>,
    /// Numbers.
    #[serde(default, rename = "check")]
    pub(super) checks: Vec<Check>,
    /// Trends.
    #[serde(default, rename = "claim")]
    pub(super) claims: Vec<Claim>,
    /// For people who would rather look.
    #[serde(default, rename = "figure")]
    pub(super) figures: Vec<Figure>,
    /// Of each set its points; filled in when the file is read.
    #[serde(skip)]
    pub(super) points: Vec<Vec<Point>>,
}

/// Scenarios that differ in a few parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Set {
    /// Its name within the experiment.
    pub(super) name: Spanned<String>,
    /// Independent runs of each point.
    pub(super) runs: u32,
    /// Runs with `--quick`; the set is left out there when this is.
    pub(super) quick: Option<u32>,
    /// Parameters that take each of their values with each value of the others.
    #[serde(default)]
    pub(super) grid: BTreeMap<String, Vec<Value>>,
    /// Parameters that change together, row by row.
    #[serde(default)]
    pub(super) rows: Vec<Table>,
    /// Whether the first run is recorded event by event.
    #[serde(default)]
    pub(super) trace: bool,
    /// The scenario's `[run]`; durations and the like.
    #[serde(default)]
    pub(super) run: Table,
    /// A chain of equal links.
    pub(super) tandem: Option<Spanned<Value>>,
    /// A link with block FEC.
    pub(super) fec: Option<Spanned<Value>>,
    /// Any scenario: its links and flows.
    pub(super) scenario: Option<Spanned<Value>>,
}

/// Numbers of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Check {
    /// The set that is measured.
    pub(super) set: Spanned<String>,
    /// What is measured.
    pub(super) measure: Measure,
    /// Relative difference from the paper's number that is allowed; two half-widths always are.
    #[serde(default = "two_percent")]
    pub(super) within: f64,
    /// The same from the reference's number; as `within` when left out.
    pub(super) reference_within: Option<f64>,
    /// Who made the reference.
    pub(super) by: Option<String>,
    /// The numbers.
    pub(super) cells: Vec<Spanned<Cell>>,
}

fn two_percent() -> f64 {
    0.02
}

/// A number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Cell {
    /// The point: all that its parameters must be, and `flow` and `interval` where not the whole is meant.
    #[serde(default)]
    pub(super) at: Table,
    /// The paper's number, by its name in `published.toml`; the mean of several.
    #[serde(default)]
    pub(super) published: Vec<String>,
    /// What an independent simulation got: mean and half of its 95 % interval.
    pub(super) reference: Option<Vec<f64>>,
    /// Allowed relative difference, where not that of the check.
    pub(super) within: Option<f64>,
    /// What we expect of the paper's number.
    #[serde(default)]
    pub(super) expect: Expect,
    /// Why it is not reproduced.
    pub(super) because: Option<String>,
    /// Why the reference's number is another one; it is to agree when left out.
    pub(super) reference_differs: Option<String>,
}

/// What becomes of a paper's number.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Expect {
    /// Ours agrees with it.
    #[default]
    Reproduced,
    /// Ours does not, and we know why.
    Differs,
    /// The paper does not say enough to try.
    NotReproducible,
}

/// A trend.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Claim {
    /// Its name in `published.toml`.
    pub(super) id: Option<Spanned<String>>,
    /// What is claimed, in our words.
    pub(super) text: String,
    /// All of these.
    pub(super) holds: Vec<Spanned<String>>,
    /// Whether at least one of them does not hold; with why.
    #[serde(default)]
    pub(super) fails: bool,
    /// Why it does not hold.
    pub(super) because: Option<String>,
    /// As written, understood; filled in when the file is read.
    #[serde(skip)]
    pub(super) expressions: Vec<Expression>,
}

/// Curves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Figure {
    /// What it shows.
    pub(super) title: String,
    /// The set that is drawn.
    pub(super) set: Spanned<String>,
    /// The parameter along the axis; `time` for a series, or a recorded window.
    pub(super) x: String,
    /// What is drawn.
    pub(super) y: Measure,
    /// Points where these parameters have these values.
    #[serde(default)]
    pub(super) at: Table,
    /// Whether the axis has equal steps for equal factors.
    #[serde(default)]
    pub(super) log_x: bool,
    /// The same of the other.
    #[serde(default)]
    pub(super) log_y: bool,
}

/// What is wrong with a file: line, field, and what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{name}:{line}: {problem}")]
pub(super) struct FileError {
    /// The file.
    pub(super) name: String,
    /// Counted from 1.
    pub(super) line: usize,
    /// With the field.
    pub(super) problem: String,
}

impl Experiment {
    /// Reads an experiment and checks all that can be before it is run.
    ///
    /// # Errors
    /// Line, field, what is wrong and what would be right.
    pub(super) fn parse(
        id: &str,
        name: &str,
        text: &str,
        published: &Published,
    ) -> Result<Experiment, FileError> {
        let error = |at: usize, problem: String| FileError {
            name: name.to_owned(),
            line: text.get(..at).unwrap_or(text).matches('\n').count() + 1,
            problem,
        };
        let mut experiment: Experiment = toml::from_str(text).map_err(|wrong| {
            error(wrong.span().map_or(0, |span| span.start), wrong.message().trim_end().to_owned())
        })?;
        experiment.id = id.to_owned();
        let wrong = |(at, problem): (usize, String)| error(at, problem);
        experiment.points =
            experiment.sets.iter().map(points::expand).collect::<Result<_, _>>().map_err(wrong)?;
        experiment.check_names().map_err(wrong)?;
        experiment.check_cells(published).map_err(wrong)?;
        experiment.read_claims(published).map_err(wrong)?;
        Ok(experiment)
    }

    /// The set of this name.
    pub(super) fn set(&self, name: &str) -> Option<usize> {
        self.sets.iter().position(|set| set.name.as_ref() == name)
    }

    /// Whether `other`, as a user wrote it, means this: its name, or that of its paper.
    pub(super) fn is(&self, other: &str) -> bool {
        self.id == other || self.paper() == other
    }

    /// The paper's number.
    pub(super) fn paper(&self) -> &str {
        self.id.split('.').next().unwrap_or(&self.id)
    }

    fn known(&self, name: &Spanned<String>) -> Result<usize, (usize, String)> {
        self.set(name.as_ref()).ok_or_else(|| {
            let all: Vec<&str> = self.sets.iter().map(|set| set.name.as_ref().as_str()).collect();
            let problem = format!("`set`: there is no `{}`; there are {}", name.as_ref(), all.join(", "));
            (name.span().start, problem)
        })
    }

    fn check_names(&self) -> Result<(), (usize, String)> {
        for (k, set) in self.sets.iter().enumerate() {
            if self.set(set.name.as_ref()) != Some(k) {
                let problem = format!("`name`: two sets are called `{}`", set.name.as_ref());
                return Err((set.name.span().start, problem));
            }
        }
        for figure in &self.figures {
            let set = self.known(&figure.set)?;
            let named = |name: &String| self.points[set].iter().all(|point| point.get(name).is_some());
            if figure.x != "time" && !named(&figure.x) {
                let problem = format!("`x`: the set has no parameter `{}`", figure.x);
                return Err((figure.set.span().start, problem));
            }
            if let Some(stranger) = figure.at.keys().find(|name| !named(name)) {
                let problem = format!("`at`: the set has no parameter `{stranger}`");
                return Err((figure.set.span().start, problem));
            }
        }
        Ok(())
    }

    fn check_cells(&self, published: &Published) -> Result<(), (usize, String)> {
        for check in &self.checks {
            let set = self.known(&check.set)?;
            for cell in &check.cells {
                let (at, cell) = (cell.span().start, cell.as_ref());
                let wrong = |problem: String| (at, problem);
                let place = points::Place::of_table(&cell.at).map_err(|p| wrong(format!("`at`: {p}")))?;
                let found = place.select(&self.points[set]);
                if found.len() != 1 {
                    let all: Vec<String> = self.points[set].iter().map(Point::label).collect();
                    return Err(wrong(format!(
                        "`at`: {} points of `{}` are meant, not one; there are: {}",
                        found.len(),
                        check.set.as_ref(),
                        all.join("; ")
                    )));
                }
                place.check(&found[0].scenario).map_err(|p| wrong(format!("`at`: {p}")))?;
                for name in &cell.published {
                    published.number(name).map_err(|p| wrong(format!("`published`: {p}")))?;
                }
                if cell.published.is_empty() && cell.reference.is_none() {
                    return Err(wrong(
                        "`published` or `reference` is missing: there is nothing to compare".into(),
                    ));
                }
                if cell.reference.as_ref().is_some_and(|pair| !(1..=2).contains(&pair.len())) {
                    return Err(wrong("`reference`: [mean] or [mean, half of its interval]".into()));
                }
                if (cell.expect == Expect::Reproduced) == cell.because.is_some() {
                    return Err(wrong(
                        "`because` says why a number is not reproduced: with `expect` \"differs\" or \
                         \"not-reproducible\", and only there"
                            .into(),
                    ));
                }
                if cell.expect != Expect::Reproduced && cell.published.is_empty() {
                    return Err(wrong("`expect` is about `published`, which is missing".into()));
                }
            }
        }
        Ok(())
    }

    fn read_claims(&mut self, published: &Published) -> Result<(), (usize, String)> {
        let mut claims = std::mem::take(&mut self.claims);
        for claim in &mut claims {
            if let Some(id) = &claim.id
                && !published.has_trend(id.as_ref())
            {
                let problem = format!("`id`: `published.toml` has no trend `{}`", id.as_ref());
                return Err((id.span().start, problem));
            }
            if claim.holds.is_empty() || claim.fails != claim.because.is_some() {
                let at = claim.holds.first().map_or(0, |first| first.span().start);
                let problem =
                    "a claim has assertions in `holds`; with `fails = true` also `because`, and only then";
                return Err((at, format!("{problem} (claim: {})", claim.text)));
            }
            for text in &claim.holds {
                let read = Expression::parse(text.as_ref()).and_then(|e| e.check(self).map(|()| e));
                let expression = read.map_err(|problem| {
                    (text.span().start, format!("`holds`: {problem} in `{}`", text.as_ref()))
                })?;
                claim.expressions.push(expression);
            }
        }
        self.claims = claims;
        Ok(())
    }
}

impl Cell {
    /// The paper's numbers, and their mean.
    pub(super) fn cited(&self, published: &Published) -> Option<Cited> {
        published.mean(&self.published)
    }
}
