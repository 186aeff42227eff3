//! How a paper's statements are decided: `papers/NNN/model.toml` for numbers,
//! `papers/NNN/trends.toml` for trends.
//!
//! To decide a statement is to give a verdict on it. A closed form is a formula of a paper,
//! implemented in `ripstop_model::published`. The files refer to the paper's numbers and trends by
//! their names in `published.toml`.

use crate::claim::{ClaimExpression, NoNames, check_claim};
use crate::error::{LabError, LabResult};
use crate::experiment::SourceText;
use ripstop_model::published::{Arguments, Value};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use toml::Spanned;

/// The contents of a paper's `model.toml`: how its numbers are decided.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedNumbers {
    /// The paper's number.
    pub(crate) paper: String,
    /// The paper's title.
    pub(crate) title: String,
    /// Numbers that closed forms compute.
    #[serde(default, rename = "comparison")]
    pub(crate) comparisons: Vec<Spanned<NumberComparison>>,
    /// Entries of `published.toml` that closed forms do not compute.
    #[serde(default)]
    pub(crate) elsewhere: Vec<Spanned<Elsewhere>>,
    /// Misprints of the paper.
    #[serde(default, rename = "erratum")]
    pub(crate) errata: Vec<NumberErratum>,
}

/// A `[[comparison]]` table: a printed number, and the function that computes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NumberComparison {
    pub(crate) id: String,
    /// Name of the entry in `published.toml`, if the number has one.
    pub(crate) published: Option<String>,
    #[serde(rename = "where")]
    pub(crate) place: String,
    /// The row of the printed table, if the number is in a table.
    pub(crate) row: Option<String>,
    pub(crate) column: String,
    /// The printed number, with exactly the printed digits.
    pub(crate) printed: String,
    pub(crate) unit: String,
    pub(crate) status: ComparisonStatus,
    /// The relation that must hold between our number and the printed number.
    #[serde(default)]
    pub(crate) relation: NumberRelation,
    /// The interpretation of the paper's text under which the number is right.
    pub(crate) reading: Option<String>,
    /// Our number, if it differs from the printed number.
    pub(crate) corrected: Option<String>,
    /// The reason why the printed number is wrong or differs.
    pub(crate) why: Option<String>,
    pub(crate) function: String,
    arguments: BTreeMap<String, toml::Value>,
}

/// The expected result of comparing a printed number with ours.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ComparisonStatus {
    /// The formula as printed gives the printed number.
    Exact,
    /// The number is right under one interpretation of the paper's text; the field `reading` says
    /// which.
    Reading,
    /// The formula or the number is a misprint.
    Erratum,
    /// Our number differs, although nothing is misprinted.
    Differs,
}

/// The relation that must hold between our number and the printed number.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub(crate) enum NumberRelation {
    /// Our number agrees with the printed number to the last printed digit.
    #[default]
    #[serde(rename = "equals")]
    Equals,
    /// Our number is at least the printed number.
    #[serde(rename = "at least")]
    AtLeast,
    /// Our number is less than the printed number.
    #[serde(rename = "less than")]
    LessThan,
}

/// An entry of `published.toml` that no closed form computes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Elsewhere {
    pub(crate) published: String,
    /// Names of the experiments that simulate the number.
    #[serde(default)]
    pub(crate) experiments: Vec<String>,
    /// What would be needed to check the number, if no experiment simulates it.
    pub(crate) needs: Option<String>,
}

/// An `[[erratum]]` table: a misprint in the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NumberErratum {
    pub(crate) id: String,
    #[serde(rename = "where")]
    pub(crate) place: String,
    pub(crate) printed: String,
    pub(crate) corrected: String,
}

/// The contents of a paper's `trends.toml`: whether closed forms or experiments decide each of its
/// trends.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedTrends {
    #[serde(default, rename = "trend")]
    pub(crate) trends: Vec<Spanned<StatedTrend>>,
}

/// A `[[trend]]` table: how one trend is decided.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct StatedTrend {
    pub(crate) id: String,
    pub(crate) decided_by: TrendJudge,
    /// Names of the experiments that have a claim about the trend.
    #[serde(default)]
    pub(crate) experiments: Vec<String>,
    /// Name of the trend that these claims cite, if they cite the same trend of another paper.
    pub(crate) claim: Option<String>,
    /// What would be needed to decide the trend, if nothing decides it.
    pub(crate) needs: Option<String>,
    /// Claims about closed forms, all of which must hold. Only for trends that closed forms decide.
    #[serde(default)]
    pub(crate) holds: Vec<Spanned<String>>,
    /// Expressions with names. Where a claim in `holds` contains such a name, the expression is
    /// inserted.
    #[serde(default)]
    pub(super) define: BTreeMap<String, Spanned<String>>,
    /// The parsed claims of `holds`, with the expressions of `define` inserted. This list is filled
    /// when the file is read.
    #[serde(skip)]
    pub(crate) claims: Vec<ClaimExpression>,
    /// The interpretation of the paper's text under which the trend holds.
    pub(crate) note: Option<String>,
    /// Whether we expect the trend not to hold; `because` says why.
    #[serde(default)]
    pub(crate) fails: bool,
    pub(crate) because: Option<String>,
}

/// What decides a trend.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TrendJudge {
    /// Claims about closed forms.
    Model,
    /// Claims of experiments.
    Simulation,
    /// Nothing decides the trend yet.
    Nothing,
}

impl StatedNumbers {
    /// Parses `model.toml`.
    ///
    /// # Errors
    /// Fails when the file is invalid. The error says line, field, what is wrong and what would be
    /// right.
    pub(crate) fn parse(name: &str, text: &str) -> LabResult<StatedNumbers> {
        let numbers: StatedNumbers = read(name, text)?;
        for spanned in &numbers.comparisons {
            let (at, one) = (spanned.span().start, spanned.as_ref());
            let wrong = |problem: &str| Err(error(name, text, at, format!("`{}`: {problem}", one.id)));
            if one.printed.parse::<f64>().is_err() {
                return wrong("`printed` must be a number, written with exactly the printed digits");
            }
            if (one.status == ComparisonStatus::Reading) != one.reading.is_some() {
                return wrong("`reading` must be given with the status \"reading\", and with no other status");
            }
            let other = matches!(one.status, ComparisonStatus::Erratum | ComparisonStatus::Differs);
            if other != one.corrected.is_some() || other != one.why.is_some() {
                return wrong(
                    "`corrected` and `why` must be given with the status \"erratum\" or \"differs\", and with no other",
                );
            }
        }
        for spanned in &numbers.elsewhere {
            let one = spanned.as_ref();
            if one.experiments.is_empty() != one.needs.is_some() {
                let problem = format!("`{}`: write either `experiments` or `needs`", one.published);
                return Err(error(name, text, spanned.span().start, problem));
            }
        }
        Ok(numbers)
    }
}

impl StatedTrends {
    /// Parses `trends.toml`.
    ///
    /// # Errors
    /// The same as for [`StatedNumbers::parse`].
    pub(crate) fn parse(name: &str, text: &str) -> LabResult<StatedTrends> {
        let mut trends: StatedTrends = read(name, text)?;
        for spanned in &mut trends.trends {
            let at = spanned.span().start;
            let one = spanned.as_mut();
            one.read_claims().map_err(|(at, problem)| error(name, text, at, problem))?;
            let problem = if (one.decided_by == TrendJudge::Nothing) != one.needs.is_some() {
                "`needs` must be given with `decided-by = \"nothing\"`, and with no other value of `decided-by`"
            } else if one.decided_by == TrendJudge::Simulation && one.experiments.is_empty() {
                "`experiments` is missing: write the names of the experiments that decide the trend"
            } else if one.decided_by == TrendJudge::Nothing && !one.experiments.is_empty() {
                "with `experiments`, write `decided-by = \"simulation\"` or `decided-by = \"model\"`"
            } else if one.fails != one.because.is_some() || (one.fails && one.decided_by != TrendJudge::Model) {
                "`because` and `fails = true` must be given together, and only with `decided-by = \"model\"`"
            } else if (one.decided_by == TrendJudge::Model) == one.holds.is_empty() {
                "`holds` must have claims with `decided-by = \"model\"`, and with no other value of `decided-by`"
            } else {
                continue;
            };
            return Err(error(name, text, at, format!("`{}`: {problem}", one.id)));
        }
        Ok(trends)
    }
}

impl StatedTrend {
    /// Parses the claims of `holds` and inserts the expressions of `define`. An error has the byte
    /// position of the fault in the file.
    fn read_claims(&mut self) -> Result<(), (usize, String)> {
        let parse = |text: &Spanned<String>| -> Result<ClaimExpression, (usize, String)> {
            text.as_ref().parse().map_err(|problem| (text.span().start, problem))
        };
        for text in &self.holds {
            let mut claim = parse(text)?;
            for (name, part) in &self.define {
                claim = claim.with_part(name, &parse(part)?);
            }
            check_claim(&claim, &NoNames).map_err(|problem| (text.span().start, problem))?;
            self.claims.push(claim);
        }
        Ok(())
    }
}

impl NumberComparison {
    /// The arguments in the form that the closed forms take.
    pub(crate) fn arguments(&self) -> Arguments {
        arguments(&self.arguments)
    }
}

/// Converts TOML values to arguments of closed forms. Any value other than a number or a text
/// becomes a word that every closed form rejects.
pub(crate) fn arguments(table: &BTreeMap<String, toml::Value>) -> Arguments {
    let value = |value: &toml::Value| match value {
        toml::Value::Integer(number) => Value::Number(*number as f64),
        toml::Value::Float(number) => Value::Number(*number),
        toml::Value::String(word) => Value::Word(word.clone()),
        other => Value::Word(other.to_string()),
    };
    table.iter().map(|(name, given)| (name.clone(), value(given))).collect()
}

/// Parses a TOML file. An error names the line.
pub(crate) fn read<T: DeserializeOwned>(name: &str, text: &str) -> LabResult<T> {
    toml::from_str(text).map_err(|wrong| {
        let at = wrong.span().map_or(0, |span| span.start);
        error(name, text, at, wrong.message().trim_end().to_owned())
    })
}

/// An error at the byte `at` of a file.
pub(crate) fn error(name: &str, text: &str, at: usize, problem: String) -> LabError {
    SourceText { path: name.into(), text: text.to_owned() }.wrong(at, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: &str = r#"paper = "009"
title = "t"
[[comparison]]
id = "009.a"
where = "w"
column = "c"
printed = "0.50"
unit = "u"
status = "exact"
function = "path_loss"
arguments = { link_loss = 0.5, links = 1 }
[[elsewhere]]
published = "009.b"
needs = "a thing"
"#;

    const TRENDS: &str = "[[trend]]\nid = \"009.t\"\ndecided-by = \"nothing\"\nneeds = \"a thing\"\n";

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let numbers = StatedNumbers::parse("n", NUMBERS).map_err(|e| e.to_string()).unwrap();
        assert_eq!(numbers.comparisons[0].as_ref().arguments()["links"], Value::Number(1.0));
        for (from, to, said) in [
            ("\"0.50\"", "\"half\"", "n:3: `009.a`: `printed`"),
            ("\"exact\"", "\"reading\"", "n:3: `009.a`: `reading`"),
            ("\"exact\"", "\"erratum\"", "n:3: `009.a`: `corrected` and `why`"),
            ("\"exact\"", "\"right\"", "n:9: unknown variant `right`"),
            ("column", "colum", "n:6: unknown field `colum`"),
            ("needs = \"a thing\"", "", "n:12: `009.b`: write either"),
        ] {
            let said_there = StatedNumbers::parse("n", &NUMBERS.replace(from, to)).unwrap_err().to_string();
            let (line, words) = said.split_once(' ').unwrap_or((said, ""));
            assert!(said_there.starts_with(line) && said_there.contains(words), "{to}: {said_there}");
        }
        assert!(StatedTrends::parse("t", TRENDS).is_ok());
        for (from, to, said) in [
            ("\"nothing\"", "\"model\"", "`needs`"),
            ("needs = \"a thing\"", "experiments = [\"009.x\"]", "`needs`"),
            ("nothing\"\nneeds = \"a thing\"", "simulation\"", "`experiments` is missing"),
            ("nothing\"\nneeds = \"a thing\"", "model\"\nfails = true", "`because`"),
            ("nothing\"\nneeds = \"a thing\"", "model\"", "`holds` must have claims"),
            ("nothing\"\nneeds = \"a thing\"", "model\"\nholds = [\"1 <\"]", "t:4:10: a number, a name"),
            ("nothing\"\nneeds = \"a thing\"", "model\"\nholds = [\"x < 2\"]", "there is no `x`"),
            ("decided-by", "decided", "unknown field"),
        ] {
            let said_there = StatedTrends::parse("t", &TRENDS.replace(from, to)).unwrap_err().to_string();
            assert!(said_there.contains(said), "{to}: {said_there}");
        }
    }
}
