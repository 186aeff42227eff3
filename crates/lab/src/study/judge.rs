//! Judges a study: compares published numbers and claims with the results of its cells.
//!
//! A study is an experiment that states what its results should be, and a cell is one of its
//! scenarios (see `mod.rs`). The reference of a number is the result of an independent simulation,
//! such as one with ns-2.

use super::Study;
use super::choice::CellChoice;
use super::readings::{CellReadings, WantedNumber};
use super::scope::StudyScope;
use super::text::{ExpectedVerdict, NumberCell, NumberCheck, StudyClaim};
use crate::claim::decide;
use crate::measure::MeasuredNumber;
use crate::published::Published;
use serde::Serialize;

/// The verdict on a number or a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The result agrees with the paper's number, or the paper's claim holds.
    Reproduced,
    /// The paper has no number. The result agrees with the reference.
    Agrees,
    /// The result differs from the paper, as expected; the study says why.
    Differs,
    /// The paper does not say enough to repeat its simulation.
    NotReproducible,
    /// The number or claim was expected to be reproduced, but is not reproduced.
    Failed,
    /// The study says that the result differs, but it agrees; or the study says that the claim
    /// fails, but it holds. The reason that the study states is wrong.
    Unexpected,
    /// The number or claim cannot be evaluated.
    Error,
    /// The study says that the result differs or that the claim fails. There were too few runs to
    /// decide whether the study is right.
    Undecided,
    /// Cells that the number or claim needs were not run.
    NotRun,
}

/// A number from the results, compared with the paper's number and with a reference.
#[derive(Debug, Serialize)]
pub struct NumberVerdict {
    /// Name of the cell's set.
    pub set: String,
    /// The values of the cell's keys, as text. If the check names a flow or an interval, the text
    /// also has the flow or the interval.
    pub at: String,
    /// Name of the measure.
    pub measure: String,
    /// Unit of the measure; empty for a number without a unit.
    pub unit: String,
    /// Names of the paper's numbers in `published.toml`.
    pub names: Vec<String>,
    /// The paper's numbers, as printed.
    pub published: Option<Vec<f64>>,
    /// The measured number; None if the cell was not run or has no value.
    pub ours: Option<f64>,
    /// Half the width of the 95 % confidence interval of `ours`.
    pub ours_ci95: Option<f64>,
    /// The reference: the number of an independent simulation.
    pub reference: Option<f64>,
    /// Half the width of the 95 % confidence interval of `reference`.
    pub reference_ci95: Option<f64>,
    /// The program or person that made the reference.
    pub reference_by: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason for the verdict, if there is one to state.
    pub why: Option<String>,
}

/// The verdict on a claim.
#[derive(Debug, Serialize)]
pub struct ClaimVerdict {
    /// Name of the trend in `published.toml`.
    pub id: Option<String>,
    /// The claim in words.
    pub text: String,
    /// The assertions of the claim that were evaluated.
    pub assertions: Vec<AssertionVerdict>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason for the verdict, if there is one to state.
    pub why: Option<String>,
}

/// One assertion of a claim, evaluated.
#[derive(Debug, Serialize)]
pub struct AssertionVerdict {
    /// The assertion as written.
    pub text: String,
    /// Whether the assertion holds; None if it cannot be evaluated.
    pub holds: Option<bool>,
    /// The values that decided the assertion, or why it cannot be evaluated.
    pub values: String,
}

/// The verdicts on all numbers and claims of a study.
#[derive(Debug, Serialize)]
pub struct JudgedStudy {
    /// Name of the study.
    pub id: String,
    /// Title of the study.
    pub title: String,
    /// The figure, table or section of the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// The verdicts on numbers.
    pub entries: Vec<NumberVerdict>,
    /// The verdicts on claims.
    pub claims: Vec<ClaimVerdict>,
}

impl Verdict {
    /// The verdict as text for people.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::NotReproducible => "not reproducible",
            Verdict::Failed => "FAILED",
            Verdict::Unexpected => "UNEXPECTED",
            Verdict::Error => "ERROR",
            Verdict::Undecided => "undecided",
            Verdict::NotRun => "not run",
        }
    }

    /// Whether the verdict makes the program exit with an error.
    pub fn is_wrong(self) -> bool {
        matches!(self, Verdict::Failed | Verdict::Unexpected | Verdict::Error)
    }
}

impl JudgedStudy {
    /// The verdicts on all numbers, then on all claims.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        self.entries.iter().map(|e| e.verdict).chain(self.claims.iter().map(|c| c.verdict))
    }
}

/// Judges all numbers and claims of a study.
///
/// `few` says that the cells had fewer runs than the file gives, as with `--quick`. The verdict is
/// then [`Verdict::Undecided`] if a result agrees but was expected to differ.
pub fn judge(study: &Study, readings: &dyn CellReadings, published: &Published, few: bool) -> JudgedStudy {
    let numbers = study.checks.iter().flat_map(|check| check.cells.iter().map(move |cell| (check, cell.as_ref())));
    JudgedStudy {
        id: study.id.clone(),
        title: study.title.clone(),
        place: study.place.clone(),
        entries: numbers.map(|(check, cell)| number(study, readings, published, check, cell, few)).collect(),
        claims: study.claims.iter().map(|one| claim(study, readings, one, few)).collect(),
    }
}

fn number(
    study: &Study,
    readings: &dyn CellReadings,
    published: &Published,
    check: &NumberCheck,
    cell: &NumberCell,
    few: bool,
) -> NumberVerdict {
    // `Study::read` has checked that set and measure exist and that exactly one cell is selected.
    let set = study.experiment.set(check.set.as_ref()).unwrap_or(0);
    let choice = CellChoice::of_table(&cell.at).unwrap_or_default();
    let meant = choice.select(study, set);
    let place = meant.first().map_or(0, |cell| cell.place);
    let measure = study.measure(check.measure.as_ref());
    let (name, unit) = measure.as_ref().map_or_else(
        |_| (check.measure.as_ref().clone(), String::new()),
        |m| (m.name().to_owned(), m.unit().to_owned()),
    );
    let there = readings.is_there(set, place);
    let ours = match there {
        false => Ok(None),
        true => measure
            .and_then(|measure| readings.read(&WantedNumber { set, place, measure: &measure, at: &choice.place })),
    };
    let cited = published.mean(&cell.published);
    let reference = cell
        .reference
        .as_ref()
        .and_then(|pair| Some(MeasuredNumber { mean: *pair.first()?, ci95: pair.get(1).copied() }));
    let within = cell.within.unwrap_or(check.within);
    let reference_within = cell.within.or(check.reference_within).unwrap_or(check.within);
    let (verdict, why) = match &ours {
        Err(problem) => (Verdict::Error, Some(problem.clone())),
        Ok(None) if !there => (Verdict::NotRun, None),
        Ok(None) => (Verdict::Error, Some(format!("`{name}` was not measured"))),
        Ok(Some(ours)) => {
            let paper =
                cited.as_ref().map(|cited| agree(*ours, MeasuredNumber { mean: cited.mean, ci95: None }, within));
            let other = reference.map(|reference| agree(*ours, reference, reference_within));
            verdict(paper, other, cell, few)
        }
    };
    let ours = ours.ok().flatten();
    let mut label: Vec<String> = meant.first().map(|cell| cell.label(&study.experiment)).into_iter().collect();
    label.retain(|text| !text.is_empty());
    label.extend(choice.place.flow.map(|flow| format!("flow {flow}")));
    label.extend(choice.place.interval.map(|[from, to]| format!("{from} s to {to} s")));
    NumberVerdict {
        set: check.set.as_ref().clone(),
        at: label.join(", "),
        measure: name,
        unit,
        names: cell.published.clone(),
        published: cited.map(|cited| cited.each),
        ours: ours.map(|number| number.mean),
        ours_ci95: ours.and_then(|number| number.ci95),
        reference: reference.map(|number| number.mean),
        reference_ci95: reference.and_then(|number| number.ci95),
        reference_by: check.by.clone().filter(|_| reference.is_some()),
        verdict,
        why,
    }
}

/// Whether two numbers agree. The allowed difference is `within` times `theirs`, or two half-widths
/// if two half-widths are more. The half-width of the difference is the root of the sum of two
/// squares: the squares of the half-widths of the two numbers.
fn agree(ours: MeasuredNumber, theirs: MeasuredNumber, within: f64) -> bool {
    let width = ours.ci95.unwrap_or(0.0).hypot(theirs.ci95.unwrap_or(0.0));
    (ours.mean - theirs.mean).abs() <= (within * theirs.mean.abs()).max(2.0 * width)
}

/// The verdict on a number, and the reason for it. `paper` says whether the result agrees with the
/// paper's number, and `reference` whether it agrees with the reference. None means that the paper
/// or the reference has no number.
fn verdict(paper: Option<bool>, reference: Option<bool>, cell: &NumberCell, few: bool) -> (Verdict, Option<String>) {
    if reference == Some(false) && cell.reference_differs.is_none() {
        return (Verdict::Failed, Some("our number differs from the reference by more than the check allows".into()));
    }
    if reference == Some(true) && cell.reference_differs.is_some() && !few {
        return (
            Verdict::Unexpected,
            Some("our number agrees with the reference, although the experiment says that it differs".into()),
        );
    }
    let because = || match (&cell.because, &cell.reference_differs) {
        (Some(why), Some(other)) => Some(format!("{why}; the reference: {other}")),
        (why, other) => why.clone().or_else(|| other.clone()),
    };
    match (paper, cell.expect) {
        (None, _) if cell.reference_differs.is_some() => (Verdict::Differs, because()),
        (None, _) => (Verdict::Agrees, None),
        (Some(true), ExpectedVerdict::Reproduced) => (Verdict::Reproduced, because()),
        (Some(false), ExpectedVerdict::Reproduced) => {
            (Verdict::Failed, Some("our number differs from the paper's by more than the check allows".into()))
        }
        (Some(false), ExpectedVerdict::Differs) => (Verdict::Differs, because()),
        (Some(true), ExpectedVerdict::Differs) if few => (Verdict::Undecided, because()),
        (Some(true), ExpectedVerdict::Differs) => (
            Verdict::Unexpected,
            Some(format!(
                "our number agrees with the paper's, although the experiment says that it differs: {}",
                because().unwrap_or_default()
            )),
        ),
        (Some(_), ExpectedVerdict::NotReproducible) => (Verdict::NotReproducible, because()),
    }
}

fn claim(study: &Study, readings: &dyn CellReadings, claim: &StudyClaim, few: bool) -> ClaimVerdict {
    let scope = StudyScope { study, readings: Some(readings) };
    let sets = claim.expressions.iter().flat_map(|e| e.references()).filter_map(|r| Some(scope.target(r).ok()?.set));
    let there = |set: usize| study.cells(set).iter().all(|cell| readings.is_there(set, cell.place));
    let left_out = !sets.collect::<Vec<_>>().into_iter().all(there);
    let mut why = claim.because.clone();
    let mut assertions = Vec::new();
    if !left_out {
        for (text, expression) in claim.holds.iter().zip(&claim.expressions) {
            let (holds, values) = match decide(expression, &scope) {
                Ok(finding) => (Some(finding.holds), finding.values),
                Err(problem) => (None, problem),
            };
            assertions.push(AssertionVerdict { text: text.as_ref().clone(), holds, values });
        }
    }
    let all = assertions.iter().map(|assertion| assertion.holds).collect::<Option<Vec<bool>>>();
    let verdict = match (all.map(|all| all.into_iter().all(|holds| holds)), claim.fails) {
        _ if left_out => Verdict::NotRun,
        (None, _) => {
            let problem = assertions.iter().find(|assertion| assertion.holds.is_none());
            why = problem.map(|assertion| format!("cannot be evaluated: {}", assertion.values));
            Verdict::Error
        }
        (Some(true), false) => Verdict::Reproduced,
        (Some(false), true) => Verdict::Differs,
        (Some(true), true) if few => Verdict::Undecided,
        (Some(true), true) => {
            why = Some(format!(
                "the claim holds, although the experiment says that it does not: {}",
                claim.because.as_deref().unwrap_or_default()
            ));
            Verdict::Unexpected
        }
        (Some(false), false) => Verdict::Failed,
    };
    ClaimVerdict {
        id: claim.id.as_ref().map(|id| id.as_ref().clone()),
        text: claim.text.clone(),
        assertions,
        verdict,
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::SourceText;
    use crate::study::CellResults;
    use serde_json::Value;
    use serde_json::json;

    const EXPERIMENT: &str = r#"
title = "t"
where = "table 1"
about = "a"

[[set]]
name = "s"
grid = { q = [0.01, 0.02, 0.03] }
[set.base.run]
runs = 2
[set.base.tandem]
hops = 1
link = { rate = "1Mbit/s", loss = "$q" }
flow = [{ tcp = "reno" }]

[[check]]
set = "s"
measure = "goodput"
within = 0.05
cells = [{ at = { q = 0.01 }, published = ["a"], MORE }]

[[claim]]
text = "c"
holds = ["ASSERTION"]
"#;

    fn study(text: String, published: &Published) -> Study {
        Study::read("9.t", SourceText { path: "t".into(), text }, published).unwrap()
    }

    fn judged(more: &str, assertion: &str, goodputs: [f64; 3], few: bool) -> JudgedStudy {
        let mut published = Published::default();
        published.add("[[entry]]\nid = \"a\"\nvalue = 1.0\n").unwrap();
        let text = EXPERIMENT.replace("MORE", more).replace("ASSERTION", assertion);
        let study = study(text, &published);
        let result = |mbps: f64| json!({"goodput_bps": {"mean": mbps * 1e6, "ci95": 1e4, "n": 2}});
        judge(&study, &CellResults(vec![goodputs.map(result).to_vec()]), &published, few)
    }

    #[test]
    fn a_number_out_of_tolerance_fails() {
        let verdict = |more: &str, ours: f64| judged(more, "1 < 2", [ours, 0.5, 0.2], false).entries[0].verdict;
        let differs = r#"expect = "differs", because = "x""#;
        for (more, ours, want) in [
            ("", 1.04, Verdict::Reproduced),
            ("", 1.06, Verdict::Failed),
            ("", 0.94, Verdict::Failed),
            // Two half-widths of 0.01 each are allowed.
            ("within = 0.001", 1.019, Verdict::Reproduced),
            ("within = 0.001", 1.021, Verdict::Failed),
            ("within = 0.001, reference = [1.02, 0.0]", 1.019, Verdict::Reproduced),
            ("reference = [1.2, 0.0]", 1.04, Verdict::Failed),
            ("reference = [1.2, 0.1]", 1.04, Verdict::Reproduced),
            (r#"reference = [1.2, 0.0], reference-differs = "y""#, 1.04, Verdict::Reproduced),
            (r#"reference = [1.04, 0.0], reference-differs = "y""#, 1.04, Verdict::Unexpected),
            (differs, 1.06, Verdict::Differs),
            (differs, 1.04, Verdict::Unexpected),
            (r#"expect = "not-reproducible", because = "x""#, 7.0, Verdict::NotReproducible),
        ] {
            assert_eq!(verdict(more, ours), want, "{more} {ours}");
        }
        assert_eq!(judged(differs, "1 < 2", [1.0, 0.5, 0.2], true).entries[0].verdict, Verdict::Undecided);
        let without = judged("", "1 < 2", [f64::NAN, 0.5, 0.2], false);
        assert_eq!(without.entries[0].verdict, Verdict::Error);
    }

    #[test]
    fn a_trend_that_does_not_hold_fails() {
        let falling = |goodputs| judged("", "falling(goodput[s, q=*])", goodputs, false);
        assert_eq!(falling([1.0, 0.5, 0.2]).claims[0].verdict, Verdict::Reproduced);
        let wrong = falling([1.0, 0.5, 0.7]);
        assert_eq!(wrong.claims[0].verdict, Verdict::Failed);
        assert_eq!(wrong.claims[0].assertions[0].values, "[1 0.5 0.7] (fails from x = 0.02 to x = 0.03)");
        let fails = "1 > 2\"]\nfails = true\nbecause = \"x\"#";
        let fails = fails.replace('#', "").replace("x\"", "x\"\n#");
        assert_eq!(judged("", &fails, [1.0; 3], false).claims[0].verdict, Verdict::Differs);
        let holds = fails.replace("1 > 2", "goodput[s, q=0.01] > 0.1");
        assert_eq!(judged("", &holds, [1.0; 3], false).claims[0].verdict, Verdict::Unexpected);
        assert_eq!(judged("", &holds, [1.0; 3], true).claims[0].verdict, Verdict::Undecided);
    }

    #[test]
    fn what_cannot_be_evaluated_is_an_error() {
        let fails = "goodput[s, q=0.01] > 1\"]\nfails = true\nbecause = \"x\"#";
        let fails = fails.replace('#', "").replace("x\"", "x\"\n#");
        for assertion in ["goodput[s, q=0.01] > 0.1", "falling(goodput[s, q=*])", &fails] {
            let judged = judged("", assertion, [f64::NAN, 0.5, 0.2], false);
            assert_eq!(judged.claims[0].verdict, Verdict::Error, "{assertion}");
            let why = judged.claims[0].why.as_deref().unwrap_or_default();
            assert!(why.contains("`goodput` was not measured at q = 0.01"), "{why}");
            assert!(judged.verdicts().any(Verdict::is_wrong));
        }
    }

    #[test]
    fn what_was_not_run_is_not_judged() {
        let mut published = Published::default();
        published.add("[[entry]]\nid = \"a\"\nvalue = 1.0\n").unwrap();
        let text = EXPERIMENT.replace("MORE", "").replace("ASSERTION", "goodput[s, q=0.01] > 1");
        let nothing = CellResults(vec![vec![Value::Null; 3]]);
        let judged = judge(&study(text, &published), &nothing, &published, true);
        assert!(judged.verdicts().all(|verdict| verdict == Verdict::NotRun));
    }
}
