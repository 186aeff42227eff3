//! Verdicts on the trends that a paper states.
//!
//! A trend is a statement such as "throughput falls as the loss rate grows". For each trend,
//! `trends.toml` says what decides it: claims about closed forms, claims of experiments, or nothing
//! yet. A closed form is a formula of a paper, implemented in `ripstop_model::published`.

use super::library::{PaperLibrary, StatedPaper};
use super::stated::{StatedTrend, TrendJudge};
use super::verdict::{JudgedStudies, PaperVerdict, worst_of};
use crate::claim::{ClaimFinding, NoNames, decide as decide_claim};
use crate::error::{LabError, LabResult};
use serde::Serialize;

/// A trend that a paper states, with our verdict.
#[derive(Debug, Serialize)]
pub struct CheckedTrend {
    /// Name of the trend.
    pub id: String,
    /// The place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// The trend in words.
    pub text: String,
    /// What decides the trend: `model` (closed forms), `simulation` (experiments) or `nothing`.
    pub decided_by: &'static str,
    /// The verdict.
    pub verdict: PaperVerdict,
    /// The values that decided the trend.
    pub evidence: Option<String>,
    /// The reason for the verdict, if the verdict has one.
    pub why: Option<String>,
    /// Names of the experiments that have a claim about the trend (`ripstop papers run`).
    pub run: Vec<String>,
}

/// The verdicts on all trends of a paper. A trend that is missing in `trends.toml` fails.
pub(super) fn judge(
    paper: &str,
    stated: &StatedPaper,
    library: &PaperLibrary,
    judged: &JudgedStudies,
) -> LabResult<Vec<CheckedTrend>> {
    let specs: Vec<&StatedTrend> = stated.trends.trends.iter().map(|spanned| spanned.as_ref()).collect();
    let wrong =
        |problem: String| LabError::Input(format!("{}: {problem}", stated.path.replace("model.toml", "trends.toml")));
    if let Some(stranger) = specs.iter().find(|spec| !library.published.has_trend(&spec.id)) {
        return Err(wrong(format!("`published.toml` has no trend `{}`", stranger.id)));
    }
    let own = format!("{paper}.");
    let mut all = Vec::new();
    for published in library.published.trends.iter().filter(|trend| trend.id.starts_with(&own)) {
        let mut decided = CheckedTrend {
            id: published.id.clone(),
            place: published.place.clone(),
            text: published.assertion.clone(),
            decided_by: "nothing",
            verdict: PaperVerdict::Failed,
            evidence: None,
            why: Some("`trends.toml` does not say what decides this trend".to_owned()),
            run: Vec::new(),
        };
        if let Some(spec) = specs.iter().find(|spec| spec.id == published.id) {
            let not_expected = why_not_expected(spec, library).map_err(wrong)?;
            decided.run.clone_from(&spec.experiments);
            decide(&mut decided, spec, not_expected, judged).map_err(wrong)?;
        }
        all.push(decided);
    }
    Ok(all)
}

fn decide(
    decided: &mut CheckedTrend,
    spec: &StatedTrend,
    not_expected: Option<String>,
    judged: &JudgedStudies,
) -> Result<(), String> {
    (decided.decided_by, decided.verdict, decided.why) = match spec.decided_by {
        TrendJudge::Nothing => {
            ("nothing", PaperVerdict::NotCheckable, spec.needs.as_ref().map(|needs| format!("needs {needs}")))
        }
        TrendJudge::Simulation => {
            let id = spec.claim.as_ref().unwrap_or(&spec.id);
            let studies = spec.experiments.iter().filter_map(|id| judged.get(id));
            let claims: Vec<_> =
                studies.flat_map(|study| &study.claims).filter(|claim| claim.id.as_ref() == Some(id)).collect();
            let values = claims.iter().flat_map(|claim| &claim.assertions).map(|one| one.values.clone());
            let values: Vec<String> = values.collect();
            decided.evidence = (!values.is_empty()).then(|| values.join("; "));
            let verdict = worst_of(claims.iter().map(|claim| claim.verdict));
            let why = claims.iter().find(|claim| PaperVerdict::from(claim.verdict) == verdict);
            ("simulation", verdict, why.and_then(|claim| claim.why.clone()).or(not_expected))
        }
        TrendJudge::Model => {
            let (verdict, why) = match by_closed_forms(spec) {
                Ok(found) => {
                    decided.evidence = Some(found.values);
                    computed(found.holds, spec, not_expected)
                }
                Err(problem) => (PaperVerdict::Error, Some(problem)),
            };
            ("model", verdict, why)
        }
    };
    Ok(())
}

/// Whether all claims of a trend hold, with the values that decide the claims. If a claim does not
/// hold, the values are those of the first claim that does not hold.
fn by_closed_forms(spec: &StatedTrend) -> Result<ClaimFinding, String> {
    let mut values = Vec::with_capacity(spec.claims.len());
    for (claim, text) in spec.claims.iter().zip(&spec.holds) {
        let found = decide_claim(claim, &NoNames);
        let found = found.map_err(|problem| format!("`{}` cannot be evaluated: {problem}", text.as_ref()))?;
        if !found.holds {
            return Ok(ClaimFinding { values: format!("`{}`: {}", text.as_ref(), found.values), ..found });
        }
        values.push(found.values);
    }
    Ok(ClaimFinding { holds: true, values: values.join("; ") })
}

/// The verdict on a trend that closed forms decide.
fn computed(holds: bool, spec: &StatedTrend, not_expected: Option<String>) -> (PaperVerdict, Option<String>) {
    match (holds, spec.fails) {
        (true, false) => {
            let both: Vec<String> = spec.note.iter().cloned().chain(not_expected).collect();
            (PaperVerdict::Holds, (!both.is_empty()).then(|| both.join(" ")))
        }
        (false, true) => (PaperVerdict::DoesNotHold, spec.because.clone()),
        (true, true) => {
            let said = spec.because.clone().unwrap_or_default();
            (
                PaperVerdict::Unexpected,
                Some(format!("the trend holds, although `trends.toml` says that it does not: {said}")),
            )
        }
        (false, false) => (PaperVerdict::Failed, Some("does not hold".to_owned())),
    }
}

/// A sentence that says why the experiments are not expected to show the whole trend. None if the
/// experiments are expected to show the whole trend. The function fails if an experiment that the
/// trend names has no claim about the trend.
fn why_not_expected(spec: &StatedTrend, library: &PaperLibrary) -> Result<Option<String>, String> {
    let id = spec.claim.as_ref().unwrap_or(&spec.id);
    let mut not_expected = Vec::new();
    for name in &spec.experiments {
        let found = library.experiments.iter().find(|experiment| experiment.id == *name);
        let experiment = found.ok_or_else(|| format!("`{}`: there is no experiment `{name}`", spec.id))?;
        let mut own = experiment
            .claims
            .iter()
            .filter(|claim| claim.id.as_ref().is_some_and(|known| known.as_ref() == id))
            .peekable();
        if own.peek().is_none() {
            return Err(format!("`{}`: the experiment `{name}` has no claim with the id `{id}`", spec.id));
        }
        not_expected.extend(own.filter_map(|claim| claim.because.clone()));
    }
    let words = || format!("Simulations are not expected to show the whole trend: {}.", not_expected.join("; "));
    Ok((!not_expected.is_empty()).then(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_trend_that_does_not_hold_fails_unless_it_is_said_to() {
        let spec = |fails: bool| StatedTrend {
            id: "009.t".into(),
            decided_by: TrendJudge::Model,
            experiments: Vec::new(),
            claim: None,
            needs: None,
            holds: Vec::new(),
            define: BTreeMap::default(),
            claims: Vec::new(),
            note: (!fails).then(|| "as read".into()),
            fails,
            because: fails.then(|| "so".into()),
        };
        let verdict = |holds, fails| computed(holds, &spec(fails), Some("Not there.".into()));
        assert_eq!(verdict(true, false), (PaperVerdict::Holds, Some("as read Not there.".into())));
        assert_eq!(verdict(false, true), (PaperVerdict::DoesNotHold, Some("so".into())));
        assert_eq!(verdict(true, true).0, PaperVerdict::Unexpected);
        assert_eq!(verdict(false, false).0, PaperVerdict::Failed);
        assert!(
            PaperVerdict::Failed.is_wrong()
                && PaperVerdict::Unexpected.is_wrong()
                && !PaperVerdict::DoesNotHold.is_wrong()
        );
    }
}
