//! Verdicts: what the papers state beside what was measured.

use super::evaluate::{self, Finding};
use super::experiment::{Cell, Check, Claim, Expect, Experiment};
use super::measure::Number;
use super::points::Place;
use super::published::Published;
use serde::Serialize;
use serde_json::Value;

/// What becomes of a number or a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// The paper's number, or its trend.
    Reproduced,
    /// An independent simulation's number; the paper has none.
    Agrees,
    /// Not the paper's, for a reason that is given.
    Differs,
    /// The paper does not say enough.
    NotReproducible,
    /// It should hold, and does not.
    Failed,
    /// It is said to differ, and does not: the reason given is wrong.
    Unexpected,
    /// It is said to differ; too few runs to tell.
    Undecided,
    /// Left out.
    NotRun,
}

/// A number beside the paper's.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    pub(super) set: String,
    /// The point, and which flow or interval.
    pub(super) at: String,
    pub(super) measure: &'static str,
    pub(super) unit: &'static str,
    /// Where the paper's numbers stand in `published.toml`.
    pub(super) names: Vec<String>,
    pub(super) published: Option<Vec<f64>>,
    pub(super) ours: Option<f64>,
    pub(super) ours_ci95: Option<f64>,
    pub(super) reference: Option<f64>,
    pub(super) reference_ci95: Option<f64>,
    pub(super) reference_by: Option<String>,
    pub(super) verdict: Verdict,
    pub(super) why: Option<String>,
}

/// A trend.
#[derive(Debug, Serialize)]
pub(super) struct ClaimVerdict {
    /// Its name in `published.toml`.
    pub(super) id: Option<String>,
    pub(super) text: String,
    pub(super) assertions: Vec<Assertion>,
    pub(super) verdict: Verdict,
    pub(super) why: Option<String>,
}

/// A part of a trend.
#[derive(Debug, Serialize)]
pub(super) struct Assertion {
    pub(super) text: String,
    pub(super) holds: bool,
    /// What it came to.
    pub(super) values: String,
}

/// An experiment's.
#[derive(Debug, Serialize)]
pub(super) struct Judged {
    pub(super) id: String,
    pub(super) title: String,
    #[serde(rename = "where")]
    pub(super) place: String,
    pub(super) entries: Vec<Entry>,
    pub(super) claims: Vec<ClaimVerdict>,
}

impl Verdict {
    /// For people.
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::NotReproducible => "not reproducible",
            Verdict::Failed => "FAILED",
            Verdict::Unexpected => "UNEXPECTED",
            Verdict::Undecided => "undecided",
            Verdict::NotRun => "not run",
        }
    }

    /// Whether the program is to say so by its exit status.
    pub(super) fn is_wrong(self) -> bool {
        matches!(self, Verdict::Failed | Verdict::Unexpected)
    }
}

impl Judged {
    /// All verdicts.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        self.entries.iter().map(|e| e.verdict).chain(self.claims.iter().map(|c| c.verdict))
    }
}

/// Judges an experiment. `results` has of each set the results of its points, null where they were not run. With `few` runs what is said to
/// differ may stay undecided.
pub(super) fn judge(
    experiment: &Experiment,
    results: &[Vec<Value>],
    published: &Published,
    few: bool,
) -> Judged {
    let entries = experiment
        .checks
        .iter()
        .flat_map(|check| check.cells.iter().map(move |cell| (check, cell.as_ref())))
        .map(|(check, cell)| entry(experiment, results, published, check, cell, few))
        .collect();
    Judged {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        place: experiment.place.clone(),
        entries,
        claims: experiment.claims.iter().map(|c| claim(experiment, results, c, few)).collect(),
    }
}

fn entry(
    experiment: &Experiment,
    results: &[Vec<Value>],
    published: &Published,
    check: &Check,
    cell: &Cell,
    few: bool,
) -> Entry {
    // The file was checked: set and place are there, and mean one point.
    let set = experiment.set(check.set.as_ref()).unwrap_or(0);
    let place = Place::of_table(&cell.at).unwrap_or_default();
    let at = experiment.points[set]
        .iter()
        .position(|point| !place.select(std::slice::from_ref(point)).is_empty())
        .unwrap_or(0);
    let result = &results[set][at];
    let ours = check.measure.read(result, &place);
    let cited = cell.cited(published);
    let reference = cell
        .reference
        .as_ref()
        .and_then(|pair| Some(Number { mean: *pair.first()?, ci95: pair.get(1).copied() }));
    let within = cell.within.unwrap_or(check.within);
    let reference_within = cell.within.or(check.reference_within).unwrap_or(check.within);
    let (verdict, why) = match ours {
        None if result.is_null() => (Verdict::NotRun, None),
        None => (Verdict::Failed, Some(format!("`{}` was not measured", check.measure.name()))),
        Some(ours) => {
            let paper =
                cited.as_ref().map(|cited| agree(ours, Number { mean: cited.mean, ci95: None }, within));
            let other = reference.map(|reference| agree(ours, reference, reference_within));
            verdict(paper, other, cell, few)
        }
    };
    let mut label: Vec<String> = Vec::new();
    if !experiment.points[set][at].at.is_empty() {
        label.push(experiment.points[set][at].label());
    }
    label.extend(place.flow.map(|flow| format!("flow {flow}")));
    label.extend(place.interval.map(|[from, to]| format!("{from} s to {to} s")));
    Entry {
        set: check.set.as_ref().clone(),
        at: label.join(", "),
        measure: check.measure.name(),
        unit: check.measure.unit(),
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

/// Within a share, or two half-widths (the root of the sum of the squares of both).
fn agree(ours: Number, theirs: Number, within: f64) -> bool {
    let width = ours.ci95.unwrap_or(0.0).hypot(theirs.ci95.unwrap_or(0.0));
    (ours.mean - theirs.mean).abs() <= (within * theirs.mean.abs()).max(2.0 * width)
}

/// Of whether the paper's number and the reference's agree, where there are any.
fn verdict(
    paper: Option<bool>,
    reference: Option<bool>,
    cell: &Cell,
    few: bool,
) -> (Verdict, Option<String>) {
    if reference == Some(false) && cell.reference_differs.is_none() {
        return (Verdict::Failed, Some("not the reference's number".into()));
    }
    if reference == Some(true) && cell.reference_differs.is_some() && !few {
        return (Verdict::Unexpected, Some("said to differ from the reference, and does not".into()));
    }
    let because = || match (&cell.because, &cell.reference_differs) {
        (Some(why), Some(other)) => Some(format!("{why}; the reference: {other}")),
        (why, other) => why.clone().or_else(|| other.clone()),
    };
    match (paper, cell.expect) {
        (None, _) if cell.reference_differs.is_some() => (Verdict::Differs, because()),
        (None, _) => (Verdict::Agrees, None),
        (Some(true), Expect::Reproduced) => (Verdict::Reproduced, because()),
        (Some(false), Expect::Reproduced) => (Verdict::Failed, Some("not the paper's number".into())),
        (Some(false), Expect::Differs) => (Verdict::Differs, because()),
        (Some(true), Expect::Differs) if few => (Verdict::Undecided, because()),
        (Some(true), Expect::Differs) => (
            Verdict::Unexpected,
            Some(format!("agrees, though said to differ: {}", because().unwrap_or_default())),
        ),
        (Some(_), Expect::NotReproducible) => (Verdict::NotReproducible, because()),
    }
}

fn claim(experiment: &Experiment, results: &[Vec<Value>], claim: &Claim, few: bool) -> ClaimVerdict {
    let left_out = claim
        .expressions
        .iter()
        .flat_map(|e| e.sets())
        .any(|set| experiment.set(set).is_none_or(|set| results[set].iter().any(Value::is_null)));
    let mut why = claim.because.clone();
    let mut assertions = Vec::new();
    if !left_out {
        for (text, expression) in claim.holds.iter().zip(&claim.expressions) {
            let found = evaluate::decide(expression, experiment, results);
            let Finding { holds, values } =
                found.unwrap_or_else(|problem| Finding { holds: false, values: problem });
            assertions.push(Assertion { text: text.as_ref().clone(), holds, values });
        }
    }
    let verdict = match (assertions.iter().all(|a| a.holds), claim.fails) {
        _ if left_out => Verdict::NotRun,
        (true, false) => Verdict::Reproduced,
        (false, true) => Verdict::Differs,
        (true, true) if few => Verdict::Undecided,
        (true, true) => {
            why =
                Some(format!("holds, though said not to: {}", claim.because.as_deref().unwrap_or_default()));
            Verdict::Unexpected
        }
        (false, false) => Verdict::Failed,
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
    use serde_json::json;

    const EXPERIMENT: &str = r#"
title = "t"
where = "table 1"
about = "a"

[[set]]
name = "s"
runs = 2
grid = { q = [0.01, 0.02, 0.03] }
[set.tandem]
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

    fn judged(more: &str, assertion: &str, goodputs: [f64; 3], few: bool) -> Judged {
        let mut published = Published::default();
        published.add("[[entry]]\nid = \"a\"\nvalue = 1.0\n").unwrap();
        let text = EXPERIMENT.replace("MORE", more).replace("ASSERTION", assertion);
        let experiment =
            Experiment::parse("9.t", "t", &text, &published).map_err(|e| format!("{e}: {text}")).unwrap();
        let result = |mbps: f64| json!({"goodput_bps": {"mean": mbps * 1e6, "ci95": 1e4, "n": 2}});
        judge(&experiment, &[goodputs.map(result).to_vec()], &published, few)
    }

    #[test]
    fn a_number_out_of_tolerance_fails() {
        let verdict =
            |more: &str, ours: f64| judged(more, "1 < 2", [ours, 0.5, 0.2], false).entries[0].verdict;
        let differs = r#"expect = "differs", because = "x""#;
        for (more, ours, want) in [
            ("", 1.04, Verdict::Reproduced),
            ("", 1.06, Verdict::Failed),
            ("", 0.94, Verdict::Failed),
            // Two half-widths of .01 each.
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
        assert_eq!(without.entries[0].verdict, Verdict::Failed);
    }

    #[test]
    fn a_trend_that_does_not_hold_fails() {
        let falling = |goodputs| judged("", "falling(goodput[s, q=*])", goodputs, false);
        assert_eq!(falling([1.0, 0.5, 0.2]).claims[0].verdict, Verdict::Reproduced);
        let wrong = falling([1.0, 0.5, 0.7]);
        assert_eq!(wrong.claims[0].verdict, Verdict::Failed);
        assert_eq!(wrong.claims[0].assertions[0].values, "[1 0.5 0.7] (not from 0.02 to 0.03)");
        let fails = "1 > 2\"]\nfails = true\nbecause = \"x\"#";
        let fails = fails.replace('#', "").replace("x\"", "x\"\n#");
        assert_eq!(judged("", &fails, [1.0; 3], false).claims[0].verdict, Verdict::Differs);
        let holds = fails.replace("1 > 2", "goodput[s, q=0.01] > 0.1");
        assert_eq!(judged("", &holds, [1.0; 3], false).claims[0].verdict, Verdict::Unexpected);
        assert_eq!(judged("", &holds, [1.0; 3], true).claims[0].verdict, Verdict::Undecided);
    }

    #[test]
    fn what_was_not_run_is_not_judged() {
        let mut published = Published::default();
        published.add("[[entry]]\nid = \"a\"\nvalue = 1.0\n").unwrap();
        let text = EXPERIMENT.replace("MORE", "").replace("ASSERTION", "goodput[s, q=0.01] > 1");
        let experiment = Experiment::parse("9.t", "t", &text, &published).unwrap();
        let judged = judge(&experiment, &[vec![Value::Null; 3]], &published, true);
        assert!(judged.verdicts().all(|verdict| verdict == Verdict::NotRun));
    }
}
