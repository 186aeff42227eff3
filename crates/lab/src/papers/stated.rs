//! What is to come of what a paper states: `papers/NNN/model.toml` for numbers, `papers/NNN/trends.toml` for trends.

use crate::claim::{ClaimExpression, NoNames, check_claim};
use crate::error::{LabError, LabResult};
use crate::experiment::SourceText;
use ripstop_model::published::{Arguments, Value};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use toml::Spanned;

/// A paper's `model.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedNumbers {
    /// The paper's number.
    pub(crate) paper: String,
    /// The paper's title.
    pub(crate) title: String,
    /// StatedNumbers that closed forms compute.
    #[serde(default, rename = "comparison")]
    pub(crate) comparisons: Vec<Spanned<NumberComparison>>,
    /// StatedNumbers that they do not.
    #[serde(default)]
    pub(crate) elsewhere: Vec<Spanned<Elsewhere>>,
    /// What is wrong in print.
    #[serde(default, rename = "erratum")]
    pub(crate) errata: Vec<NumberErratum>,
}

/// A printed number, and the function that computes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NumberComparison {
    pub(crate) id: String,
    /// The entry of `published.toml`, where it is one.
    pub(crate) published: Option<String>,
    #[serde(rename = "where")]
    pub(crate) place: String,
    pub(crate) row: Option<String>,
    pub(crate) column: String,
    /// With the digits that are printed.
    pub(crate) printed: String,
    pub(crate) unit: String,
    pub(crate) status: ComparisonStatus,
    /// What is to be true of ours and the printed one.
    #[serde(default)]
    pub(crate) relation: NumberRelation,
    pub(crate) reading: Option<String>,
    /// Ours, where the printed one does not come out.
    pub(crate) corrected: Option<String>,
    pub(crate) why: Option<String>,
    pub(crate) function: String,
    arguments: BTreeMap<String, toml::Value>,
}

/// What becomes of a printed number.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ComparisonStatus {
    /// The formula as printed gives it.
    Exact,
    /// It comes out under a reading that is named.
    Reading,
    /// The formula or the number is misprinted.
    Erratum,
    /// Ours is another, and nothing is misprinted.
    Differs,
}

/// How ours is to stand to the printed number.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub(crate) enum NumberRelation {
    /// To the last printed digit.
    #[default]
    #[serde(rename = "equals")]
    Equals,
    #[serde(rename = "at least")]
    AtLeast,
    #[serde(rename = "less than")]
    LessThan,
}

/// A published entry that no closed form computes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Elsewhere {
    pub(crate) published: String,
    /// The experiments that simulate it.
    #[serde(default)]
    pub(crate) experiments: Vec<String>,
    /// What it would take.
    pub(crate) needs: Option<String>,
}

/// Something that is wrong in print.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NumberErratum {
    pub(crate) id: String,
    #[serde(rename = "where")]
    pub(crate) place: String,
    pub(crate) printed: String,
    pub(crate) corrected: String,
}

/// A paper's `trends.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedTrends {
    #[serde(default, rename = "trend")]
    pub(crate) trends: Vec<Spanned<StatedTrend>>,
}

/// Who decides a trend.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct StatedTrend {
    pub(crate) id: String,
    pub(crate) decided_by: TrendJudge,
    /// Experiments with a claim about it.
    #[serde(default)]
    pub(crate) experiments: Vec<String>,
    /// The trend of which their claims are, where it is another paper's.
    pub(crate) claim: Option<String>,
    /// What it would take.
    pub(crate) needs: Option<String>,
    /// All of these, where closed forms decide.
    #[serde(default)]
    pub(crate) holds: Vec<Spanned<String>>,
    /// Parts of these claims by name.
    #[serde(default)]
    pub(super) define: BTreeMap<String, Spanned<String>>,
    /// `holds` with its parts, understood; filled in when the file is read.
    #[serde(skip)]
    pub(crate) claims: Vec<ClaimExpression>,
    /// Under which reading it holds.
    pub(crate) note: Option<String>,
    /// Whether it does not hold; with why.
    #[serde(default)]
    pub(crate) fails: bool,
    pub(crate) because: Option<String>,
}

/// What decides a trend.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TrendJudge {
    /// Curves of closed forms.
    Model,
    /// Experiments.
    Simulation,
    /// Nothing yet.
    Nothing,
}

impl StatedNumbers {
    /// Reads `model.toml`.
    ///
    /// # Errors
    /// Line, field, what is wrong and what would be right.
    pub(crate) fn parse(name: &str, text: &str) -> LabResult<StatedNumbers> {
        let numbers: StatedNumbers = read(name, text)?;
        for spanned in &numbers.comparisons {
            let (at, one) = (spanned.span().start, spanned.as_ref());
            let wrong = |problem: &str| Err(error(name, text, at, format!("`{}`: {problem}", one.id)));
            if one.printed.parse::<f64>().is_err() {
                return wrong("`printed` must be a plain number with its digits");
            }
            if (one.status == ComparisonStatus::Reading) != one.reading.is_some() {
                return wrong("`reading` names the reading of a status \"reading\", and only there");
            }
            let other = matches!(one.status, ComparisonStatus::Erratum | ComparisonStatus::Differs);
            if other != one.corrected.is_some() || other != one.why.is_some() {
                return wrong(
                    "`corrected` and `why` belong to a status \"erratum\" or \"differs\", and only there",
                );
            }
        }
        for spanned in &numbers.elsewhere {
            let one = spanned.as_ref();
            if one.experiments.is_empty() != one.needs.is_some() {
                let problem = format!("`{}`: either `experiments` or `needs`", one.published);
                return Err(error(name, text, spanned.span().start, problem));
            }
        }
        Ok(numbers)
    }
}

impl StatedTrends {
    /// Reads `trends.toml`.
    ///
    /// # Errors
    /// As [`StatedNumbers::parse`].
    pub(crate) fn parse(name: &str, text: &str) -> LabResult<StatedTrends> {
        let mut trends: StatedTrends = read(name, text)?;
        for spanned in &mut trends.trends {
            let at = spanned.span().start;
            let one = spanned.as_mut();
            one.read_claims().map_err(|(at, problem)| error(name, text, at, problem))?;
            let problem = if (one.decided_by == TrendJudge::Nothing) != one.needs.is_some() {
                "`needs` says what it takes to decide what nothing decides, and only there"
            } else if one.decided_by == TrendJudge::Simulation && one.experiments.is_empty() {
                "`experiments` is missing: which of them decide?"
            } else if one.decided_by == TrendJudge::Nothing && !one.experiments.is_empty() {
                "with `experiments` it is decided by \"simulation\""
            } else if one.fails != one.because.is_some() || (one.fails && one.decided_by != TrendJudge::Model)
            {
                "`because` says why a trend of the models fails: with `fails = true`, and only there"
            } else if (one.decided_by == TrendJudge::Model) == one.holds.is_empty() {
                "`holds` has the claims of a trend that is decided by \"model\", and only of that"
            } else {
                continue;
            };
            return Err(error(name, text, at, format!("`{}`: {problem}", one.id)));
        }
        Ok(trends)
    }
}

impl StatedTrend {
    /// Reads `holds`, with its parts in their places. The error has the byte where the fault stands.
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
    /// As the models take them.
    pub(crate) fn arguments(&self) -> Arguments {
        arguments(&self.arguments)
    }
}

/// Arguments as the models take them; what is neither number nor word is a word that none of them knows.
pub(crate) fn arguments(table: &BTreeMap<String, toml::Value>) -> Arguments {
    let value = |value: &toml::Value| match value {
        toml::Value::Integer(number) => Value::Number(*number as f64),
        toml::Value::Float(number) => Value::Number(*number),
        toml::Value::String(word) => Value::Word(word.clone()),
        other => Value::Word(other.to_string()),
    };
    table.iter().map(|(name, given)| (name.clone(), value(given))).collect()
}

/// Reads a file, or says on which line it is wrong.
pub(crate) fn read<T: DeserializeOwned>(name: &str, text: &str) -> LabResult<T> {
    toml::from_str(text).map_err(|wrong| {
        let at = wrong.span().map_or(0, |span| span.start);
        error(name, text, at, wrong.message().trim_end().to_owned())
    })
}

/// A problem at a byte of a file.
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
            ("needs = \"a thing\"", "", "n:12: `009.b`: either"),
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
            ("nothing\"\nneeds = \"a thing\"", "model\"", "`holds` has the claims"),
            ("nothing\"\nneeds = \"a thing\"", "model\"\nholds = [\"1 <\"]", "t:4:10: a number, a name"),
            ("nothing\"\nneeds = \"a thing\"", "model\"\nholds = [\"x < 2\"]", "there is no `x`"),
            ("decided-by", "decided", "unknown field"),
        ] {
            let said_there = StatedTrends::parse("t", &TRENDS.replace(from, to)).unwrap_err().to_string();
            assert!(said_there.contains(said), "{to}: {said_there}");
        }
    }
}
