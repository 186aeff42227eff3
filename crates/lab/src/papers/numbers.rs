//! Verdicts on the numbers that a paper prints.
//!
//! `model.toml` lists the numbers that a closed form computes, and the numbers that experiments
//! simulate. A closed form is a formula of a paper, implemented in `ripstop_model::published`. The
//! entries of `published.toml` are all numbers that the paper prints.

use super::library::{PaperLibrary, StatedPaper};
use super::stated::{ComparisonStatus, NumberComparison, NumberRelation};
use super::verdict::{JudgedStudies, PaperVerdict, worst_of};
use crate::error::{LabError, LabResult};
use crate::published::PublishedEntry;
use crate::study::{ClaimVerdict, JudgedStudy};
use ripstop_model::published::{agrees, evaluate};
use serde::Serialize;

/// A number that a paper prints, compared with ours.
#[derive(Debug, Serialize)]
pub struct CheckedNumber {
    /// Name of the comparison, or of the entry in `published.toml`.
    pub id: String,
    /// Name of the entry in `published.toml`.
    pub published: Option<String>,
    /// The place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// Row and column, if the number is in a table; otherwise the quantity that the number gives.
    pub what: String,
    /// Unit; empty for a number without a unit.
    pub unit: String,
    /// The number with exactly the printed digits. None for a table.
    pub printed: Option<String>,
    /// Our number; None if no closed form and no experiment gives one.
    pub ours: Option<f64>,
    /// The right number, if the printed number is wrong or differs from ours.
    pub corrected: Option<String>,
    /// The verdict.
    pub verdict: PaperVerdict,
    /// The reason for the verdict, if the verdict has one.
    pub why: Option<String>,
    /// Names of the experiments that simulate the number (`ripstop papers run`).
    pub run: Vec<String>,
}

/// The verdicts on all numbers of a paper. Closed forms compute some numbers, and experiments
/// simulate other numbers. The rest cannot be checked.
pub(super) fn judge(
    paper: &str,
    stated: &StatedPaper,
    library: &PaperLibrary,
    judged: &JudgedStudies,
) -> LabResult<Vec<CheckedNumber>> {
    let mut all = Vec::new();
    for spanned in &stated.numbers.comparisons {
        let one = spanned.as_ref();
        if let Some(stranger) = one.published.as_ref().filter(|id| library.published.entry(id).is_none()) {
            let problem = format!("`{}`: `published.toml` has no entry `{stranger}`", one.id);
            return Err(LabError::Input(format!("{}: {problem}", stated.path)));
        }
        all.push(computed(one, &stated.path)?);
    }
    let cited = simulated(paper, library, judged);
    let mut elsewhere = Vec::new();
    for one in stated.numbers.elsewhere.iter().map(|spanned| spanned.as_ref()) {
        let Some(entry) = library.published.entry(&one.published) else {
            let problem = format!("`elsewhere`: `published.toml` has no entry `{}`", one.published);
            return Err(LabError::Input(format!("{}: {problem}", stated.path)));
        };
        if let Some(stranger) = one.experiments.iter().find(|id| !library.experiments.iter().any(|e| e.id == **id)) {
            let problem = format!("`elsewhere`: there is no experiment `{stranger}`");
            return Err(LabError::Input(format!("{}: {problem}", stated.path)));
        }
        let (verdict, why) = match &one.needs {
            Some(needs) => (PaperVerdict::NotCheckable, Some(format!("needs {needs}"))),
            None => by_experiments(&one.published, &one.experiments, judged),
        };
        elsewhere.push(CheckedNumber { verdict, why, run: one.experiments.clone(), ..of_entry(entry) });
    }
    // The remaining entries should be parameters, definitions or quoted numbers, which cannot be
    // checked. An entry of another kind was forgotten in `model.toml`, so its verdict is a failure.
    let mentioned = |id: &str| {
        let named =
            |one: &CheckedNumber| one.published.as_deref().is_some_and(|name| name.split('[').next() == Some(id));
        all.iter().chain(&cited).chain(&elsewhere).any(named)
    };
    let own = library.published.entries.iter().filter(|entry| entry.id.starts_with(&format!("{paper}.")));
    let rest: Vec<CheckedNumber> = own
        .filter(|entry| !mentioned(&entry.id))
        .map(|entry| {
            let (verdict, why) = match entry.kind.as_str() {
                "parameter" => (PaperVerdict::NotCheckable, "a parameter: given, not computed"),
                "definition" => (PaperVerdict::NotCheckable, "a definition: given, not computed"),
                "claim" => (PaperVerdict::NotCheckable, "quoted, or an example: the paper does not compute it"),
                _ => (PaperVerdict::Failed, "`model.toml` does not mention it, and no experiment does"),
            };
            CheckedNumber { verdict, why: Some(why.to_owned()), ..of_entry(entry) }
        })
        .collect();
    all.extend(cited);
    all.extend(elsewhere);
    all.extend(rest);
    Ok(all)
}

/// The verdict of the experiments `ids` on the entry `entry`, and the reason for it.
///
/// If claims of these experiments have the entry's name as their `id`, only these claims count. The
/// values in these claims are the evidence. Otherwise all numbers and claims of the experiments
/// count together.
fn by_experiments(entry: &str, ids: &[String], judged: &JudgedStudies) -> (PaperVerdict, Option<String>) {
    let studies: Vec<&JudgedStudy> = ids.iter().filter_map(|id| judged.get(id)).collect();
    let claims = studies.iter().flat_map(|study| &study.claims);
    let own: Vec<&ClaimVerdict> = claims.filter(|claim| claim.id.as_deref() == Some(entry)).collect();
    if !own.is_empty() {
        let verdict = worst_of(own.iter().map(|claim| claim.verdict));
        let values = own.iter().flat_map(|claim| &claim.assertions).map(|one| one.values.clone());
        let reason = own.iter().find(|claim| PaperVerdict::from(claim.verdict) == verdict);
        let words: Vec<String> = values.chain(reason.and_then(|claim| claim.why.clone())).collect();
        return (verdict, (!words.is_empty()).then(|| words.join("; ")));
    }
    let verdict = worst_of(studies.iter().flat_map(|study| study.verdicts().collect::<Vec<_>>()));
    let numbers = studies.iter().flat_map(|study| study.entries.iter().map(|one| (one.verdict, &one.why)));
    let claims = studies.iter().flat_map(|study| study.claims.iter().map(|one| (one.verdict, &one.why)));
    let mut reasons = numbers.chain(claims).filter(|(own, _)| PaperVerdict::from(*own) == verdict);
    (verdict, reasons.find_map(|(_, why)| why.clone()))
}

/// Computes one number by a closed form, and gives the verdict on the printed number.
fn computed(one: &NumberComparison, path: &str) -> LabResult<CheckedNumber> {
    let value = evaluate(&one.function, &one.arguments())
        .map_err(|error| LabError::Input(format!("{path}: `{}`: {error}", one.id)))?;
    // `printed` is a number, because `StatedNumbers::parse` has checked it. If `corrected` is not a
    // number, no value agrees with it.
    let same = |printed: &str| agrees(value, printed).unwrap_or(false);
    let bound: f64 = one.printed.parse().unwrap_or(f64::NAN);
    let holds = match one.relation {
        NumberRelation::Equals => same(&one.printed),
        NumberRelation::AtLeast => value >= bound,
        NumberRelation::LessThan => value < bound,
    };
    let right = one.corrected.as_deref().is_some_and(same);
    let failed = |why: String| (PaperVerdict::Failed, Some(why));
    let (verdict, why) = match (one.status, holds, right) {
        (ComparisonStatus::Exact, true, _) => (PaperVerdict::Reproduced, None),
        (ComparisonStatus::Reading, true, _) => (PaperVerdict::Reading, one.reading.clone()),
        (ComparisonStatus::Exact | ComparisonStatus::Reading, false, _) => {
            failed(format!("{value} is not {}{}", one.relation.word(), one.printed))
        }
        (ComparisonStatus::Erratum, false, true) => (PaperVerdict::Erratum, one.why.clone()),
        (ComparisonStatus::Differs, false, true) => (PaperVerdict::Differs, one.why.clone()),
        (ComparisonStatus::Erratum | ComparisonStatus::Differs, true, _) => {
            let said = one.why.clone().unwrap_or_default();
            (
                PaperVerdict::Unexpected,
                Some(format!(
                    "our number agrees with the printed one, although `model.toml` says that it does not: {said}"
                )),
            )
        }
        (ComparisonStatus::Erratum | ComparisonStatus::Differs, false, false) => {
            failed(format!("{value} is not {}", one.corrected.as_deref().unwrap_or_default()))
        }
    };
    let row = one.row.iter().map(String::as_str);
    Ok(CheckedNumber {
        id: one.id.clone(),
        published: one.published.clone(),
        place: one.place.clone(),
        what: [one.column.as_str()].into_iter().chain(row).collect::<Vec<_>>().join(", "),
        unit: one.unit.clone(),
        printed: Some(one.relation.word().to_owned() + &one.printed),
        ours: Some(value),
        corrected: one.corrected.clone(),
        verdict,
        why,
        run: Vec::new(),
    })
}

/// The verdicts on the paper's numbers that experiments cite. Each number appears one time.
fn simulated(paper: &str, library: &PaperLibrary, judged: &JudgedStudies) -> Vec<CheckedNumber> {
    let own = format!("{paper}.");
    let cited = library
        .experiments
        .iter()
        .filter_map(|study| judged.get(&study.id))
        .flat_map(|study| study.entries.iter().map(move |entry| (study, entry)))
        .flat_map(|(study, entry)| entry.names.iter().map(move |name| (study, entry, name)));
    let mut all: Vec<(CheckedNumber, Vec<crate::study::Verdict>)> = Vec::new();
    for (study, entry, name) in cited.filter(|(.., name)| name.starts_with(&own)) {
        let k = match all.iter().position(|(known, _)| known.id == *name) {
            Some(k) => k,
            None => {
                let id = name.split('[').next().unwrap_or(name);
                let Some(published) = library.published.entry(id) else { continue };
                let printed = library.published.number(name).ok().map(|number| number.to_string());
                let number =
                    CheckedNumber { id: name.clone(), published: Some(name.clone()), printed, ..of_entry(published) };
                all.push((number, Vec::new()));
                all.len() - 1
            }
        };
        let (number, verdicts) = &mut all[k];
        verdicts.push(entry.verdict);
        number.ours = number.ours.or(entry.ours);
        number.why = number.why.take().or_else(|| entry.why.clone());
        if !number.run.contains(&study.id) {
            number.run.push(study.id.clone());
        }
    }
    let decided = |(number, verdicts): (CheckedNumber, Vec<_>)| CheckedNumber {
        verdict: worst_of(verdicts.into_iter()),
        ..number
    };
    all.into_iter().map(decided).collect()
}

/// An entry in `published.toml` as a [`CheckedNumber`]. The caller replaces the verdict.
fn of_entry(entry: &PublishedEntry) -> CheckedNumber {
    CheckedNumber {
        id: entry.id.clone(),
        published: Some(entry.id.clone()),
        place: entry.place.clone(),
        what: entry.quantity.clone(),
        unit: entry.units.clone(),
        printed: entry.printed(),
        ours: None,
        corrected: None,
        verdict: PaperVerdict::NotCheckable,
        why: None,
        run: Vec::new(),
    }
}

impl NumberRelation {
    /// The words to print before the printed number.
    fn word(self) -> &'static str {
        match self {
            NumberRelation::Equals => "",
            NumberRelation::AtLeast => "at least ",
            NumberRelation::LessThan => "less than ",
        }
    }
}

/// The reasons for the given verdict. Each reason is listed one time, with the names of its
/// numbers.
pub fn reasons(numbers: &[CheckedNumber], verdict: PaperVerdict) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for number in numbers.iter().filter(|number| number.verdict == verdict) {
        let Some(why) = number.why.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(&number.id),
            None => reasons.push((why, vec![&number.id])),
        }
    }
    reasons
}

/// Our number with two more decimals than the printed number has.
pub fn digits(ours: f64, number: &CheckedNumber) -> String {
    let printed = number.printed.as_deref().unwrap_or_default();
    let decimals = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
    format!("{ours:.*}", decimals + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{AssertionVerdict, Verdict};

    fn claim(id: Option<&str>, verdict: Verdict, values: &str, why: Option<&str>) -> ClaimVerdict {
        ClaimVerdict {
            id: id.map(str::to_owned),
            text: "a claim".into(),
            assertions: vec![AssertionVerdict { text: "1 < 2".into(), holds: Some(true), values: values.into() }],
            verdict,
            why: why.map(str::to_owned),
        }
    }

    #[test]
    fn a_claim_with_the_name_of_an_entry_decides_this_entry_alone() {
        let judged = |claims: Vec<ClaimVerdict>| {
            let study = JudgedStudy {
                id: "009.x".into(),
                title: String::new(),
                place: String::new(),
                entries: Vec::new(),
                claims,
            };
            JudgedStudies::from([("009.x".to_owned(), study)])
        };
        let of = |entry: &str, all: &JudgedStudies| by_experiments(entry, &["009.x".to_owned()], all);
        let all = judged(vec![
            claim(Some("009.gain"), Verdict::Differs, "0.4 and 1.4", Some("idle air")),
            claim(Some("009.saturation"), Verdict::Reproduced, "5 % away", None),
            claim(None, Verdict::Reproduced, "-", None),
        ]);
        assert_eq!(of("009.gain", &all), (PaperVerdict::Differs, Some("0.4 and 1.4; idle air".into())));
        assert_eq!(of("009.saturation", &all), (PaperVerdict::Reproduced, Some("5 % away".into())));
        // No claim has this name, so all claims count.
        assert_eq!(of("009.other", &all), (PaperVerdict::Differs, Some("idle air".into())));
        let failed = judged(vec![claim(Some("009.gain"), Verdict::Failed, "0.4 and 1.4", None)]);
        assert!(of("009.gain", &failed).0.is_wrong());
    }
}
